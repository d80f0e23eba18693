//! The page of a diagnosis: its runs are of one server as a rule, and told apart by their suites.

use super::markup::{list, text};
use super::sections::{moment, users};
use super::{Page, PageRun, names};
use crate::clean;
use crate::diagnose::incomplete;
use crate::text::UNKNOWN_SOFTWARE;

/// `Diagnosis of http://127.0.0.1:8080/dav/`.
pub(super) fn title(page: &Page<'_>) -> String {
    match &targets(page)[..] {
        [one] => format!("Diagnosis of {one}"),
        several => format!("Diagnosis of {} servers", several.len()),
    }
}

/// The server, unless there are several, and below it what was run when.
pub(super) fn head(page: &Page<'_>, names: &[String]) -> String {
    let is_one = targets(page).len() == 1;
    let first = page.runs.first().filter(|_| is_one);
    let software = first.map_or(String::new(), |first| {
        let server = first.run.env.server.as_ref();
        let software = server.and_then(|server| server.software.as_deref());
        format!(
            "<p class=\"what\">{}</p>\n",
            text(software.unwrap_or(UNKNOWN_SOFTWARE))
        )
    });
    let line = |(run, name): (&PageRun<'_>, &String)| {
        let (plan, env) = (&run.run.plan, &run.run.env);
        format!(
            "<span class=\"name\">{}</span> {} · {} · {}",
            text(name),
            text(&plan.suite.title),
            users(plan.load.users),
            text(&moment(&env.started_at)),
        )
    };
    software + &list("where", page.runs.iter().zip(names).map(line))
}

/// Which runs are missing, where the series of runs ended early.
pub(super) fn incomplete(page: &Page<'_>) -> String {
    let all = page.diagnosed.unwrap_or_default().iter();
    let incomplete = all.filter_map(|of| of.incomplete.as_ref()).next();
    incomplete.map_or(String::new(), |of| {
        format!(
            "<div class=\"box bad\"><p><strong>{}</strong> {}</p></div>\n",
            incomplete::HEADING,
            text(&incomplete::sentence(of))
        )
    })
}

/// A name for each run: its suite, its users where they are not those of the first run of this server, and
/// its server where there are several. Runs with the same name are numbered.
pub(super) fn names(page: &Page<'_>) -> Vec<String> {
    let has_several = targets(page).len() > 1;
    let plans = page.runs.iter().map(|run| &run.run.plan);
    let name = |plan: &record::PlanRecord| {
        let mut others = page.runs.iter().map(|run| &run.run.plan);
        let first = others.find(|other| other.target == plan.target);
        let users_of = match first.is_some_and(|first| first.load.users == plan.load.users) {
            true => String::new(),
            false => format!(", {}", users(plan.load.users)),
        };
        let suite = names::shortened(&clean(&plan.suite.name));
        match has_several {
            true => format!("{}: {suite}{users_of}", server(&plan.target)),
            false => format!("{suite}{users_of}"),
        }
    };
    let plain: Vec<String> = plans.map(name).collect();
    let numbered = plain.iter().enumerate().map(|(place, name)| {
        match plain[..place].iter().filter(|other| *other == name).count() {
            0 => name.clone(),
            before => format!("{name} #{}", before + 1),
        }
    });
    numbered.collect()
}

/// What stands before a sentence about all runs of a server: nothing where the page has one server.
pub(super) fn whose(page: &Page<'_>, place: usize) -> String {
    match page.runs.get(place) {
        Some(run) if targets(page).len() > 1 => format!("{}: ", server(&run.run.plan.target)),
        _ => String::new(),
    }
}

/// A URL without its scheme: one server may have several targets.
fn server(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    names::shortened(&clean(rest))
}

/// The URLs of the servers, each once.
fn targets<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let mut targets = Vec::new();
    for run in &page.runs {
        let target = run.run.plan.target.as_str();
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}
