//! What a run says of its pages: the report of WebSTONE (Trent and Sake 1995, section 7), the lines
//! of its later versions, and what neither had.
//!
//! Every line of the old report is there, under its old name and in its old order, with one word
//! spelt right, and counted as in 1995. Their definitions are in
//! `docs/methodology/pages.md`, "The lines of 1995".

mod classic;
mod json;
mod run_lines;

use record::Run;
use stats::{Distribution, PageSummary, PagesSummary, ServerSummary, Visits};

use crate::clean;
use crate::figure::{self, NONE};
use classic::{ClassicTotals, over};

/// The report of 1995, line by line, after the lines of the run.
pub(crate) fn classic(run: &Run, pages: &PagesSummary) -> Vec<String> {
    let block = |(number, page): (usize, &PageSummary)| classic::page_block(number, page);
    let blocks = pages.pages.iter().enumerate().flat_map(block);
    let totals = ClassicTotals::of(run, pages).lines();
    let lines = run_lines::run_lines(run).into_iter();
    lines.chain(blocks).chain(totals).collect()
}

pub(crate) fn beyond(run: &Run, pages: &PagesSummary) -> Vec<String> {
    let PagesSummary { all, left_out, .. } = pages;
    let (rate, interval) = a_minute(pages.per_minute, pages.per_minute_ci95, pages.wanders);
    let mut lines = vec![format!(
        "Complete pages a minute: {rate} {interval}, over {:.2} s ({} version {})",
        pages.window_s,
        clean(&run.plan.suite.name),
        run.plan.suite.version,
    )];
    if all.connects == 0 && all.complete > 0 {
        lines.push("No connection was opened in the measurement window: all were kept".to_owned());
    }
    let times = [
        ("Page loads", &all.load),
        ("To the first byte of a page", &all.first_byte),
        ("Files", &all.file),
    ];
    for (what, times) in times {
        let times = times.as_ref();
        lines.extend(times.map(|times| format!("{what}: {}", figure::times(times))));
    }
    lines.push(format!(
        "Files retrieved: {}, failed: {}",
        all.files, all.failed
    ));
    let megabytes = over(all.bytes_received as f64, pages.window_s) / 1e6;
    let clients = f64::from(run.plan.load.users);
    lines.push(format!(
        "Throughput of complete pages: {megabytes:.2} MB/s, {:.3} MB/s for each client ({NONE})",
        megabytes / clients.max(1.0)
    ));
    lines.push(format!(
        "Load factor (mean number of requests in progress): {:.2} ({NONE}), of {} clients",
        pages.in_progress, run.plan.load.users
    ));
    lines.extend(pages.servers.iter().map(server_line));
    if all.incomplete > 0 {
        lines.push(format!(
            "Incomplete pages: {}, with {} bytes that the throughput of complete pages does not include",
            all.incomplete, all.bytes_apart
        ));
    }
    if *left_out != Visits::default() {
        lines.push(format!(
            "Outside the measurement window: complete pages: {}, incomplete: {}, files: {}, bytes: {}",
            left_out.complete,
            left_out.incomplete,
            left_out.files,
            left_out.bytes_received + left_out.bytes_apart
        ));
    }
    lines
}

/// What WebStone reported from version 2.0 on, under its names, of all files that came.
pub(crate) fn later(run: &Run, pages: &PagesSummary) -> Vec<String> {
    let totals = ClassicTotals::of(run, pages);
    let all = &pages.all;
    let rate = |count: u64| over(count as f64, pages.window_s);
    let mut lines = vec![
        format!(
            "Server connection rate: {:.2} connections/sec, {:.2} files/sec",
            rate(all.connects),
            rate(all.files)
        ),
        format!("Server error rate: {:.4} err/sec", rate(all.failed)),
        format!(
            "Error Level: {:.4} %",
            over(100.0 * all.failed as f64, (all.failed + all.files) as f64)
        ),
        format!("Sum of client response times: {:.6} sec", totals.response_s),
    ];
    let row = |what: &str, values: [Option<String>; 4]| {
        let [average, sd, min, max] = values.map(|value| value.unwrap_or_else(|| "-".to_owned()));
        format!("{what:<24}{average:>14}{sd:>14}{min:>14}{max:>14}")
    };
    let headers = ["Average", "Std Dev", "Minimum", "Maximum"];
    lines.push(row("", headers.map(|header| Some(header.to_owned()))));
    for (what, times) in [
        ("Connect time (sec)", &all.connect),
        ("Response time (sec)", &all.file),
    ] {
        let of = |part: fn(&Distribution) -> Option<f64>| {
            let ns = times.as_ref().and_then(part);
            ns.map(|ns| format!("{:.6}", ns / 1e9))
        };
        lines.push(row(
            what,
            [
                of(|times| Some(times.mean)),
                of(|times| times.sd),
                of(|times| Some(times.min as f64)),
                of(|times| Some(times.max as f64)),
            ],
        ));
    }
    for (what, sizes) in [
        ("Response size (bytes)", &all.came.size),
        ("Body size (bytes)", &all.came.body),
    ] {
        let some = |value: f64| (sizes.n > 0).then(|| format!("{value:.0}"));
        lines.push(row(
            what,
            [
                some(sizes.mean()),
                sizes.sd().map(|sd| format!("{sd:.0}")),
                some(sizes.min as f64),
                some(sizes.max as f64),
            ],
        ));
    }
    lines
}

fn server_line(server: &ServerSummary) -> String {
    let ServerSummary {
        url,
        users,
        per_minute,
        per_minute_ci95,
        wanders,
        visits,
    } = server;
    let times = visits.load.as_ref();
    let times = times.map_or(String::new(), |load| {
        format!("; page loads: {}", figure::times(load))
    });
    let clients = if *users == 1 { "client" } else { "clients" };
    let (rate, interval) = a_minute(*per_minute, *per_minute_ci95, *wanders);
    format!(
        "Of {}: {rate} pages a minute {interval} for {users} {clients}, {} complete, {} incomplete{times}",
        clean(url),
        visits.complete,
        visits.incomplete,
    )
}

/// A rate of complete pages, and in brackets its interval and whether to trust that.
pub(crate) fn a_minute(rate: f64, ci95: Option<(f64, f64)>, wanders: bool) -> (String, String) {
    let (rate, range) = figure::rate(rate, ci95);
    let range = range.as_deref().unwrap_or(NONE);
    let caveat = if wanders {
        "; possibly too narrow, because throughput wandered: measure longer"
    } else {
        ""
    };
    (rate, format!("({range}{caveat})"))
}

/// Seconds of all of them together.
fn total(times: &Option<Distribution>) -> f64 {
    let sum = |times: &Distribution| times.mean * times.n as f64 / 1e9;
    times.as_ref().map_or(0.0, sum)
}

/// Seconds on average.
fn average(times: &Option<Distribution>) -> f64 {
    times.as_ref().map_or(0.0, |times| times.mean / 1e9)
}

/// Seconds of the longest.
fn longest(times: &Option<Distribution>) -> f64 {
    times.as_ref().map_or(0.0, |times| seconds(times.max))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
