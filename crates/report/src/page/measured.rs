//! How runs were measured: the lines of the text report, and those that only pages show.

use maud::{Markup, PreEscaped, html};
use stats::Side;

use super::{ReportPage, ShownPage};
use crate::text::{UNKNOWN_SOFTWARE, configuration};
use crate::{load, search};

pub(crate) fn explained() -> Markup {
    let paragraphs = include_str!("../../page/measured.html").lines();
    html! { @for paragraph in paragraphs { (PreEscaped(paragraph)) } }
}

/// A fact about how a run was measured: its name and its value.
pub(crate) type Fact = (String, String);

/// How the runs of a sweep or a search were measured: facts that all of them have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Common {
    pub(super) name: String,
    pub(super) lines: Vec<Fact>,
}

impl Common {
    /// Runs of the server that is called so, in the order of time.
    pub fn of<'a>(name: &str, runs: impl IntoIterator<Item = Side<'a>>) -> Common {
        let runs: Vec<Side<'a>> = runs.into_iter().collect();
        let mut lines = alike(&runs);
        if let [first, _, ..] = &runs[..] {
            let started = format!("{}, the first at {}", runs.len(), first.env.started_at);
            lines.push(("Runs".to_owned(), started));
        }
        Common {
            name: name.to_owned(),
            lines,
        }
    }
}

/// The lines that all runs have in common. The figures of the other clock belong to each run alone;
/// which clock it was does not.
pub(crate) fn alike(runs: &[Side<'_>]) -> Vec<Fact> {
    let lines = |side: &Side<'_>| {
        let mut lines = lines(*side);
        for (what, value) in &mut lines {
            if what == "Clock" {
                *value = load::clock_name(side.summary).to_owned();
            }
        }
        lines
    };
    let mut all = runs.iter().map(lines);
    let mut common = all.next().unwrap_or_default();
    for other in all {
        common.retain(|line| other.contains(line));
    }
    common
}

pub(crate) fn lines(Side { plan, env, summary }: Side<'_>) -> Vec<Fact> {
    let line = |what: &str, value: String| (what.to_owned(), value);
    let mut lines = vec![line("Target", plan.target.clone())];
    lines.extend(configuration(plan, env, summary));
    let memory = env.machine.memory_bytes as f64 / f64::from(1_u32 << 30);
    lines.push(line("Memory of the client", format!("{memory:.1} GiB")));
    if summary.runs > 1 {
        let runs = format!(
            "{}, put together; the first at {}",
            summary.runs, env.started_at
        );
        lines.push(line("Runs", runs));
    }
    lines.push(line("Seed", plan.load.seed.to_string()));
    lines.push(line("Prestan", format!("version {}", plan.prestan)));
    let generator = load::generator(summary);
    let generator = generator
        .as_ref()
        .and_then(|generator| generator.split_once(": "));
    lines.extend(generator.map(|(_, generator)| line("Load generator", generator.to_owned())));
    lines
}

pub(super) fn measured(of: &ShownPage<'_>) -> Markup {
    let page = of.page;
    let servers_of_series = servers_of_series(page);
    let series = match &page.common[..] {
        [] => &servers_of_series,
        common => common,
    };
    html! {
        (explained())
        @for (run, name) in of.named() { (described(name, &lines(run.side()))) }
        @if let Some(found) = page.search { p { (search::document::how(found)) } }
        @for series in series { (described(&series.name, &series.lines)) }
    }
}

/// Facts about servers from a sweep and a search: the only ones where runs are not at hand.
fn servers_of_series(page: &ReportPage<'_>) -> Vec<Common> {
    let of = |name: &str, target: &str, software: &Option<String>| {
        let software = software.as_deref().unwrap_or(UNKNOWN_SOFTWARE);
        let lines = [("Target", target), ("Server", software)];
        Common {
            name: name.to_owned(),
            lines: lines
                .map(|(what, value)| (what.to_owned(), value.to_owned()))
                .into(),
        }
    };
    let swept = page.sweep.iter().flat_map(|sweep| &sweep.servers);
    let swept = swept.map(|server| of(&server.name, &server.target, &server.software));
    let found = page.search.iter();
    let found = found.map(|found| of(&found.target, &found.target, &found.software));
    swept.chain(found).collect()
}

fn described(name: &str, lines: &[Fact]) -> Markup {
    html! {
        h3 { (name) }
        dl { @for (what, value) in lines { dt { (what) } dd { (value) } } }
    }
}
