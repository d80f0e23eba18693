//! What stands first on the page, and how it was measured.

use stats::{Completeness, Finding, Status, Summary, TestSummary, Warning, WarningKind};

use super::markup::{list, text};
use super::{Page, PageRun, answers, diagnosis, pages};
use crate::diagnose::{self, Diagnosed};
use crate::reasons::{abort_reason, reason};
use crate::text::{UNKNOWN_SOFTWARE, notes};

/// What was measured on what, in one line.
pub(super) fn title(page: &Page<'_>, names: &[String]) -> String {
    if page.is_diagnosis && page.title.is_none() {
        return diagnosis::title(page);
    }
    let suite = page.runs.first().map(|run| &run.run.plan.suite.name);
    let search = page.search.map(|found| match found.condition {
        Some(_) => "A search for the load it holds",
        None => "The load curve",
    });
    let sweep = page.sweep.map(|sweep| &sweep.suite);
    let what = match (page.title, suite, search, sweep) {
        (Some(title), ..) => title.to_owned(),
        (_, Some(suite), _, None) => suite.clone(),
        (_, _, Some(search), None) => search.to_owned(),
        (_, _, _, Some(suite)) => format!("A sweep of {suite}"),
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
    match &on[..] {
        [] => what,
        [one] => format!("{what} on {one}"),
        [some @ .., last] if some.len() < 4 => format!("{what} on {} and {last}", some.join(", ")),
        many => format!("{what} on {} servers", many.len()),
    }
}

/// The title, and below it what was run where and when.
pub(super) fn head(page: &Page<'_>, names: &[String]) -> String {
    let mut html = format!("<h1>{}</h1>\n", text(&title(page, names)));
    let Some(first) = page.runs.first() else {
        return html + &of_series(page);
    };
    if page.is_diagnosis {
        return html + &diagnosis::head(page, names);
    }
    html += &format!(
        "<p class=\"what\">{}</p>\n",
        text(&first.run.plan.suite.title)
    );
    let line = |(run, name): (&PageRun<'_>, &String)| {
        let (plan, env) = (&run.run.plan, &run.run.env);
        format!(
            "<span class=\"name\">{}</span> {} · {} · {}",
            text(name),
            text(&plan.servers().collect::<Vec<_>>().join(", ")),
            users(plan.load.users),
            text(&moment(&env.started_at)),
        )
    };
    html += &list("where", page.runs.iter().zip(names).map(line));
    html
}

/// `1 user`, `8 users`.
pub(super) fn users(users: u32) -> String {
    match users {
        1 => "1 user".to_owned(),
        users => format!("{users} users"),
    }
}

/// Where a sweep or a search was made.
fn of_series(page: &Page<'_>) -> String {
    let software =
        |software: &Option<String>| text(software.as_deref().unwrap_or(UNKNOWN_SOFTWARE));
    let swept = page.sweep.iter().flat_map(|sweep| &sweep.servers);
    let swept = swept.map(|server| {
        let name = format!(
            "<span class=\"name\">{}</span> {}",
            text(&server.name),
            text(&server.target)
        );
        format!("{name} · {}", software(&server.software))
    });
    let found = page.search.iter().map(|found| {
        let target = format!("<span class=\"name\">{}</span>", text(&found.target));
        format!(
            "{target} · {} · {}",
            software(&found.software),
            text(&found.what)
        )
    });
    list("where", swept.chain(found))
}

/// `2026-11-21T04:06:00.123Z` as `2026-11-21 04:06 UTC`.
pub(super) fn moment(rfc3339: &str) -> String {
    match (
        rfc3339.get(..10),
        rfc3339.get(11..16),
        rfc3339.ends_with('Z'),
    ) {
        (Some(day), Some(time), true) => format!("{day} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// Verdicts, warnings and what failed: what has to be known before any figure is looked at.
pub(super) fn overview(page: &Page<'_>, names: &[String]) -> String {
    let runs = || page.runs.iter().zip(names);
    let mut html = diagnosis::incomplete(page);
    for (run, name) in runs() {
        html += &inconclusive(run.summary, name, page.runs.len());
    }
    html += &list("counts", pages::in_short(page, names));
    html += &answers::in_short(page);
    html += &list(
        "counts",
        runs().map(|(run, name)| counts(run.summary, name)),
    );
    for (run, name) in runs() {
        let of = match page.runs.len() {
            1 => String::new(),
            _ => format!(" of {}", text(name)),
        };
        html += &section(&format!("Failures{of}"), "bad", failures(run.summary));
        html += &section(&format!("Warnings{of}"), "doubt", warnings(run.summary));
        let left = run.summary.left_behind.iter();
        let left = left.map(|left| text(&format!("{}: {}", left.url, left.reason)));
        html += &section(
            &format!("Leftovers on the server{of}"),
            "doubt",
            left.collect(),
        );
        let notes = notes(run.summary).iter().map(|note| text(note)).collect();
        html += &section(&format!("Notes{of}"), "note", notes);
    }
    html
}

fn inconclusive(summary: &Summary, name: &str, runs: usize) -> String {
    let Some(rows) = crate::inconclusive(summary) else {
        return String::new();
    };
    let whose = match runs {
        1 => String::new(),
        _ => format!("{}: ", text(name)),
    };
    format!(
        "<div class=\"box bad\"><p><strong>{whose}Inconclusive:</strong> {}.</p></div>\n",
        text(&rows)
    )
}

/// `Apache: 21 tests ok, 1 failed (Lock), 1 not supported (Copy)`, and how it ended.
fn counts(summary: &Summary, name: &str) -> String {
    let of = |status: Status| -> Vec<&str> {
        let tests = summary.tests.iter().filter(|test| test.status == status);
        tests.map(|test| test.name.as_str()).collect()
    };
    let ok = of(Status::Ok).len();
    let part = |class: &str, word: &str, names: &[&str]| match names {
        [] => String::new(),
        names => format!(
            ", <span class=\"{class}\">{} {word}</span> ({})",
            names.len(),
            text(&names.join(", "))
        ),
    };
    let tests = if ok == 1 { "test" } else { "tests" };
    let mut html = format!(
        "<span class=\"name\">{}</span> <span class=\"ok\">{ok} {tests} ok</span>{}{}{}{}",
        text(name),
        part("bad", "failed", &of(Status::Failed)),
        part("doubt", "not supported", &of(Status::NotSupported)),
        part("doubt", "skipped", &of(Status::Skipped)),
        part("doubt", "not drawn", &of(Status::NotDrawn)),
    );
    html += &match &summary.complete {
        Completeness::Complete => String::new(),
        Completeness::Interrupted => "; interrupted by the user".to_owned(),
        Completeness::Aborted(reason) => {
            format!("; aborted: {}", text(abort_reason(reason.as_deref())))
        }
    };
    html
}

pub(crate) fn section(heading: &str, class: &str, items: Vec<String>) -> String {
    match items.is_empty() {
        true => String::new(),
        false => format!(
            "<div class=\"box {class}\"><h3>{heading}</h3>\n{}</div>\n",
            list("items", items)
        ),
    }
}

fn failures(summary: &Summary) -> Vec<String> {
    let failed = summary
        .tests
        .iter()
        .filter(|test| test.status == Status::Failed);
    let item = |test: &TestSummary| {
        let why = match &test.failures[..] {
            [] => test.evidence.iter().map(|why| text(&reason(why))).collect(),
            some => some
                .iter()
                .map(|why| text(&reason(why)))
                .collect::<Vec<_>>(),
        };
        format!(
            "<strong>{}</strong> {}",
            text(&test.name),
            list("below", why)
        )
    };
    failed.map(item).collect()
}

/// All warnings but the one that a mark in the table gives.
fn warnings(summary: &Summary) -> Vec<String> {
    let is_marked = |warning: &&Warning| warning.kind == WarningKind::FewForPercentiles;
    let warnings = summary
        .warnings
        .iter()
        .filter(|warning| !is_marked(warning));
    warnings
        .map(|warning| text(&crate::warning(warning)))
        .collect()
}

/// The findings, and the rows that were not checked.
pub(super) fn findings(page: &Page<'_>, names: &[String]) -> String {
    let Some(all) = page.diagnosed.filter(|all| !all.is_empty()) else {
        return String::new();
    };
    let several = names.len() > 1;
    let whose = |place: usize| match names.get(place) {
        Some(name) if several => format!("{name}: "),
        _ => String::new(),
    };
    // The sentences about all runs of a server, and the rows with their suites, need no run's name.
    let whose_all = |place: usize| match page.is_diagnosis {
        true => diagnosis::whose(page, place),
        false => whose(place),
    };
    let all = || diagnose::with_places(all);
    let found: String = all()
        .map(|(first, diagnosed)| {
            diagnosis_of(diagnosed, &whose_all(first), |run| whose(first + run))
        })
        .collect();
    let left_out = all().flat_map(|(place, diagnosed)| {
        let rows = diagnose::left_out(diagnosed).into_iter();
        let whose = whose_all(place);
        rows.map(move |row| text(&format!("{whose}{row}")))
    });
    let left_out: Vec<String> = left_out.collect();
    let left_out = match left_out.len() {
        0 => String::new(),
        rows => format!(
            "<details><summary>Rows that were not checked: {rows}</summary>\n{}</details>\n",
            list("items", left_out)
        ),
    };
    let seen_once = all().flat_map(|(place, diagnosed)| {
        let seen = diagnosed.diagnosis.seen_once.iter();
        seen.map(move |finding| {
            let whose = whose(place + finding.run);
            text(&format!("{whose}{}", diagnose::seen_once(finding)))
        })
    });
    let seen_once: Vec<String> = seen_once.collect();
    let seen_once = match seen_once.is_empty() {
        true => String::new(),
        false => format!(
            "<details><summary>{}: {}</summary>\n{}</details>\n",
            diagnose::SEEN_ONCE,
            seen_once.len(),
            list("items", seen_once)
        ),
    };
    format!("<section id=\"findings\"><h2>Findings</h2>\n{found}{seen_once}{left_out}</section>\n")
}

fn diagnosis_of(diagnosed: &Diagnosed, whose_all: &str, whose: impl Fn(usize) -> String) -> String {
    let findings = &diagnosed.diagnosis.findings;
    let said = diagnose::disqualified(diagnosed).into_iter();
    let nothing = findings.is_empty().then(|| diagnose::nothing(diagnosed));
    let said = said.chain(nothing);
    let said: String = said
        .map(|line| format!("<p>{}</p>\n", text(&format!("{whose_all}{line}"))))
        .collect();
    said + &list(
        "findings",
        findings
            .iter()
            .map(|finding| found(finding, &whose(finding.run))),
    )
}

fn found(finding: &Finding, whose: &str) -> String {
    let evidence = diagnose::evidence(finding);
    let evidence = evidence.iter().map(|line| text(line));
    format!(
        "<h3>{}</h3>\n<p>{}</p>\n{}<p class=\"look\">Look at {}</p>\n",
        text(&format!("{whose}{}", diagnose::title(finding))),
        text(&diagnose::sentences::text(finding)),
        list("evidence", evidence),
        text(diagnose::words::words(finding).look_at),
    )
}
