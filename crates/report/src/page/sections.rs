//! Title, warnings, counts and findings of a page.

use maud::{Markup, html};
use record::{Load, Pace};
use stats::{Completeness, Status, Summary};

use super::markup::{list, moment, named};
use super::subject::Subject;
use super::{PageRun, ReportPage, ShownPage, answers, diagnosis};
use crate::diagnose;
use crate::document::{Words, html_of};
use crate::lists::{enumerated, number_of};
use crate::reasons::abort_reason;
use crate::text::UNKNOWN_SOFTWARE;

pub(super) fn title(page: &ReportPage<'_>, names: &[String]) -> String {
    let (what, on) = measured_on(page, names);
    match on.len() {
        0 => what,
        1..=4 => format!("{what} on {}", enumerated(&on)),
        many => format!("{what} on {many} servers"),
    }
}

/// The same as a heading.
fn heading(page: &ReportPage<'_>, names: &[String]) -> Markup {
    let (what, on) = measured_on(page, names);
    let between = |index: usize| match index {
        0 => " on ",
        last if last + 1 == on.len() => " and ",
        _ => ", ",
    };
    html! {
        h1 {
            (what)
            @match on.len() {
                0..=4 => @for (index, name) in on.iter().enumerate() { (between(index)) bdi { (name) } },
                many => { " on " (many) " servers" },
            }
        }
    }
}

fn measured_on(page: &ReportPage<'_>, names: &[String]) -> (String, Vec<String>) {
    if page.is_diagnosis && page.title.is_none() {
        return (diagnosis::title(page), Vec::new());
    }
    let suite = page.runs.first().map(|run| &run.run.plan.suite.name);
    let search = page.search.map(|found| match found.condition {
        Some(_) => "Search for the largest load",
        None => "Load curve",
    });
    let sweep = page.sweep.map(|sweep| &sweep.suite);
    let what = match (page.title, suite, search, sweep) {
        (Some(title), ..) => title.to_owned(),
        (_, Some(suite), _, None) => suite.clone(),
        (_, _, Some(search), None) => search.to_owned(),
        (_, _, _, Some(suite)) => format!("Sweep of {suite}"),
        (None, None, None, None) => "Prestan".to_owned(),
    };
    let mut on: Vec<String> = names.to_vec();
    if let (true, Some(all)) = (on.is_empty(), page.comparison) {
        on.push(all.name.clone());
        on.extend(all.versus.iter().map(|versus| versus.name.clone()));
    }
    if let (true, Some(sweep)) = (on.is_empty(), page.sweep) {
        on.extend(sweep.servers.iter().map(|server| server.name.clone()));
    }
    if let (true, Some(found)) = (on.is_empty(), page.search) {
        on.push(found.target.clone());
    }
    (what, on)
}

/// The title, and below it what was run where and when.
pub(super) fn head(of: &ShownPage<'_>) -> Markup {
    let page = of.page;
    let circumstances = |run: &PageRun<'_>| {
        let started = moment(&run.run.env.started_at);
        [load_of(&run.run.plan.load), started]
    };
    // What several runs have in common is shown once.
    let common = page.runs.first().map(circumstances).filter(|first| {
        page.runs.len() > 1 && page.runs.iter().all(|run| circumstances(run) == *first)
    });
    let line = |(run, name): (&PageRun<'_>, &str)| {
        let servers = run.run.plan.servers().collect::<Vec<_>>().join(", ");
        let [users, started] = circumstances(run);
        match common {
            Some(_) => named(name, &[&servers]),
            None => named(name, &[&servers, &users, &started]),
        }
    };
    html! {
        (heading(page, of.names))
        @match page.runs.first() {
            None => (series_servers(page)),
            Some(_) if page.is_diagnosis => (diagnosis::head(of)),
            Some(first) => {
                p.what {
                    (first.run.plan.suite.title)
                    @if let Some(parts) = &common { " · " (parts.join(" · ")) }
                }
                (list("where", of.named().map(line)))
            }
        }
    }
}

/// `8 users`, or `open loop, at most 64 in progress`.
fn load_of(load: &Load) -> String {
    match load.pace {
        Pace::Open { .. } => format!("open loop, at most {} in progress", load.users),
        Pace::Rounds | Pace::Closed => number_of(load.users.into(), "user"),
    }
}

fn series_servers(page: &ReportPage<'_>) -> Markup {
    let swept = page.sweep.iter().flat_map(|sweep| &sweep.servers);
    let swept = swept.map(|server| {
        let software = server.software.as_deref().unwrap_or(UNKNOWN_SOFTWARE);
        if server.name == server.target {
            named(&server.name, &[software])
        } else {
            named(&server.name, &[&server.target, software])
        }
    });
    let found = page.search.iter().map(|found| {
        let software = found.software.as_deref().unwrap_or(UNKNOWN_SOFTWARE);
        html! { bdi.name { (found.target) } " · " (software) " · " (found.what) }
    });
    list("where", swept.chain(found))
}

pub(super) fn counts_of_runs(of: &ShownPage<'_>) -> Markup {
    let counts = of.named().map(|(run, name)| counts(run.summary, name));
    list("counts", counts)
}

/// Warnings, failures and notes of each run; nothing where there are none.
pub(super) fn overview(of: &ShownPage<'_>) -> Markup {
    let content = html! {
        (answers::warnings(of.page))
        @if matches!(of.subject, Subject::Comparison | Subject::Growth | Subject::Capacity) {
            (counts_of_runs(of))
        }
        @if matches!(of.subject, Subject::Loads | Subject::Ranks) {
            (list("counts", ended_early(of)))
        }
        @for run in &of.runs {
            (html_of(&[run.failures(), run.warnings(), run.leftovers(), run.notes()]))
        }
    };
    if content.0.is_empty() {
        return content;
    }
    html! { section #overview { h2 { "Warnings and notes" } (content) } }
}

fn ended_early(of: &ShownPage<'_>) -> impl Iterator<Item = Markup> {
    let early = of
        .named()
        .filter(|(run, _)| run.summary.complete != Completeness::Complete);
    early.map(|(run, name)| counts(run.summary, name))
}

/// `Apache: 21 tests ok, 1 failed (Lock), 1 not supported (Copy)`, and how it ended.
fn counts(summary: &Summary, name: &str) -> Markup {
    let of = |status: Status| -> Vec<&str> {
        let tests = summary.tests.iter().filter(|test| test.status == status);
        tests.map(|test| test.name.as_str()).collect()
    };
    let ok = of(Status::Ok).len();
    let others = [
        ("bad", "failed", of(Status::Failed)),
        ("caution", "not supported", of(Status::NotSupported)),
        ("caution", "skipped", of(Status::Skipped)),
        ("caution", "not drawn", of(Status::NotDrawn)),
    ];
    html! {
        bdi.name { (name) } " "
        span.ok { (ok) @if ok == 1 { " test ok" } @else { " tests ok" } }
        @for (class, word, names) in others {
            @if !names.is_empty() {
                ", " span class=(class) { (names.len()) " " (word) } " (" (names.join(", ")) ")"
            }
        }
        @match &summary.complete {
            Completeness::Complete => {},
            Completeness::Interrupted => "; interrupted by the user",
            Completeness::Aborted(reason) => { "; aborted: " (abort_reason(reason.as_deref())) },
        }
    }
}

/// The findings, and the rows that were not checked.
pub(super) fn findings(ShownPage { page, names, .. }: &ShownPage<'_>) -> Markup {
    let Some(all) = page.diagnosed.filter(|all| !all.is_empty()) else {
        return Markup::default();
    };
    let whose = |run: usize| match names.get(run) {
        Some(name) if names.len() > 1 => Words::default().name(name).plain(": "),
        _ => Words::default(),
    };
    // The sentences about all runs of a server, and the rows with their suites, need no run's name.
    let whose_all = |run: usize| {
        if page.is_diagnosis {
            diagnosis::whose(page, run)
        } else {
            whose(run)
        }
    };
    let alerts = diagnose::with_places(all)
        .filter_map(|(first, diagnosed)| diagnose::disqualified(diagnosed, whose_all(first)));
    html! {
        @for alert in alerts { (alert) }
        (diagnose::findings(all, &whose_all, &whose))
    }
}
