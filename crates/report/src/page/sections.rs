//! What stands first on the page, and how it was measured.

use stats::{Completeness, Finding, Status, Summary, TestSummary, Warning};

use super::markup::{list, text};
use super::{Page, PageRun};
use crate::{load, text::configuration};

/// What was measured on what, in one line.
pub(super) fn title(page: &Page<'_>, names: &[String]) -> String {
    let suite = page.runs.first().map(|run| &run.run.plan.suite.name);
    let search = page.search.map(|_| "A search for the load it holds");
    let sweep = page.sweep.map(|sweep| &sweep.suite);
    let what = match (suite, search, sweep) {
        _ if page.title.is_some() => page.title.unwrap_or_default().to_owned(),
        (Some(suite), _, None) => suite.clone(),
        (_, Some(search), None) => search.to_owned(),
        (_, _, Some(suite)) => format!("A sweep of {suite}"),
        (None, None, None) => "Prestan".to_owned(),
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
        return html;
    };
    html += &format!(
        "<p class=\"what\">{}</p>\n",
        text(&first.run.plan.suite.title)
    );
    let line = |(run, name): (&PageRun<'_>, &String)| {
        let (plan, env) = (&run.run.plan, &run.run.env);
        let users = match plan.load.users {
            1 => "1 user".to_owned(),
            users => format!("{users} users"),
        };
        format!(
            "<span class=\"name\">{}</span> {} · {users} · {}",
            text(name),
            text(&plan.target),
            text(&moment(&env.started_at)),
        )
    };
    html += &list("where", page.runs.iter().zip(names).map(line));
    html
}

/// `2026-11-21T04:06:00.123Z` as `2026-11-21 04:06 UTC`.
fn moment(rfc3339: &str) -> String {
    match (
        rfc3339.get(..10),
        rfc3339.get(11..16),
        rfc3339.ends_with('Z'),
    ) {
        (Some(day), Some(time), true) => format!("{day} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// Verdicts, doubts and what failed: what has to be known before any figure is looked at.
pub(super) fn verdict(page: &Page<'_>, names: &[String]) -> String {
    let runs = || page.runs.iter().zip(names);
    let mut html = String::new();
    for (run, name) in runs() {
        html += &inconclusive(run.summary, name, page.runs.len());
    }
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
        html += &section(&format!("Still on the server{of}"), "doubt", left.collect());
        html += &section(&format!("Notes{of}"), "note", notes(run.summary));
    }
    html
}

fn inconclusive(summary: &Summary, name: &str, runs: usize) -> String {
    let reasons: Vec<String> = summary
        .bottlenecks()
        .map(|why| text(&why.to_string()))
        .collect();
    if reasons.is_empty() {
        return String::new();
    }
    let whose = match runs {
        1 => String::new(),
        _ => format!("{}: ", text(name)),
    };
    format!(
        "<div class=\"box bad\"><p><strong>{whose}Inconclusive.</strong> The generator was the \
         bottleneck: the figures are its own, not those of the server.</p>\n{}</div>\n",
        list("reasons", reasons)
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
        "<span class=\"name\">{}</span> <span class=\"ok\">{ok} {tests} ok</span>{}{}",
        text(name),
        part("bad", "failed", &of(Status::Failed)),
        part("doubt", "not supported", &of(Status::NotSupported)),
    );
    html += &match &summary.complete {
        Completeness::Complete => String::new(),
        Completeness::Interrupted => "; interrupted by the user".to_owned(),
        Completeness::Aborted(reason) => format!("; aborted: {}", text(reason)),
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
            [] => test.evidence.iter().map(|why| text(why)).collect(),
            some => some.iter().map(|why| text(why)).collect::<Vec<_>>(),
        };
        format!(
            "<strong>{}</strong> {}",
            text(&test.name),
            list("below", why)
        )
    };
    failed.map(item).collect()
}

/// All doubts but those that stand above already, and the one that a mark in the table tells.
fn warnings(summary: &Summary) -> Vec<String> {
    let told = |warning: &&Warning| {
        warning.is_bottleneck() || matches!(warning, Warning::FewForPercentiles { .. })
    };
    let warnings = summary.warnings.iter().filter(|warning| !told(warning));
    warnings.map(|warning| text(&warning.to_string())).collect()
}

fn notes(summary: &Summary) -> Vec<String> {
    let notes = |test: &TestSummary| -> Vec<String> {
        let note = |note: &String| text(&format!("{}: {note}", test.name));
        test.notes.iter().map(note).collect()
    };
    summary.tests.iter().flat_map(notes).collect()
}

/// What is conspicuous.
pub(super) fn findings(page: &Page<'_>, names: &[String]) -> String {
    let Some(findings) = page.findings else {
        return String::new();
    };
    let inconclusive = page.runs.iter().filter(|run| run.summary.is_inconclusive());
    let found = match (findings, inconclusive.count()) {
        ([], 0) => "<p>Nothing conspicuous.</p>\n".to_owned(),
        ([], _) => "<p>Nothing conspicuous; inconclusive runs were not looked at.</p>\n".to_owned(),
        (some, _) => list("findings", some.iter().map(|finding| found(finding, names))),
    };
    format!("<section id=\"findings\"><h2>What is conspicuous</h2>\n{found}</section>\n")
}

fn found(finding: &Finding, names: &[String]) -> String {
    let whose = match names {
        [_, _, ..] => names
            .get(finding.run)
            .map_or(String::new(), |name| format!("{name}: ")),
        _ => String::new(),
    };
    format!(
        "<h3>{}</h3>\n<p>{}</p>\n{}<p class=\"look\">Look at {}</p>\n",
        text(&format!("{whose}{}", finding.title)),
        text(&finding.text),
        list("evidence", finding.evidence.iter().map(|line| text(line))),
        text(finding.look_at),
    )
}

/// How each run was measured: the lines of the text report.
pub(super) fn measured(page: &Page<'_>, names: &[String]) -> String {
    let of_run = |(run, name): (&PageRun<'_>, &String)| {
        let target = ("Target".to_owned(), run.run.plan.target.clone());
        let mut lines: Vec<(String, String)> = vec![target];
        lines.extend(configuration(run.run, run.summary));
        let memory = run.run.env.machine.memory_bytes as f64 / f64::from(1_u32 << 30);
        lines.push((
            "Memory of the client".to_owned(),
            format!("{memory:.1} GiB"),
        ));
        lines.push(("Seed".to_owned(), run.run.plan.load.seed.to_string()));
        lines.push((
            "Prestan".to_owned(),
            format!("version {}", run.run.plan.prestan),
        ));
        lines.extend(
            load::generator(run.summary)
                .and_then(|line| Some(line.split_once(": ")?.1.to_owned()))
                .map(|line| ("Generator".to_owned(), line)),
        );
        let line = |(what, value): &(String, String)| {
            format!("<dt>{}</dt><dd>{}</dd>\n", text(what), text(value))
        };
        let lines: String = lines.iter().map(line).collect();
        format!("<h3>{}</h3>\n<dl>\n{lines}</dl>\n", text(name))
    };
    page.runs.iter().zip(names).map(of_run).collect()
}
