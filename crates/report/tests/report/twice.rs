//! Every number that stands twice on a site is the same: in tables, in the data that figures are
//! drawn from, in the comparison, and in findings.

use std::collections::BTreeMap;

use proptest::prelude::*;
use record::{EventKind, Run};
use serde_json::Value;
use stats::testing::{RunBuilder, generator};

use crate::galleries::{Measured, files_of};

/// A number where it stands: its value, and how far the digits leave it open. Times are
/// nanoseconds.
#[derive(Debug, Clone, PartialEq)]
struct Number {
    place: String,
    value: f64,
    open: f64,
}

/// Which number: server, row, statistic.
type Name = (String, String, String);

#[derive(Debug, Default)]
struct Numbers(BTreeMap<Name, Vec<Number>>);

impl Numbers {
    fn add(&mut self, [server, row, statistic]: [&str; 3], place: &str, value: f64, open: f64) {
        let name = (server.to_owned(), row.to_owned(), statistic.to_owned());
        let number = Number {
            place: place.to_owned(),
            value,
            open,
        };
        self.0.entry(name).or_default().push(number);
    }

    /// A number as it is printed, with its unit.
    fn add_shown(&mut self, name: [&str; 3], place: &str, shown: &str) {
        if let Some((value, open)) = read(shown) {
            self.add(name, place, value, open);
        }
    }

    fn add_us(&mut self, name: [&str; 3], place: &str, value: &Value) {
        if let Some(us) = value.as_f64() {
            // Nanoseconds are rounded there.
            self.add(name, place, us * 1e3, 0.51);
        }
    }

    fn contradictions(&self) -> Vec<(&Name, &Number, &Number)> {
        let contradiction = |(name, numbers): (&'_ Name, &'_ Vec<Number>)| {
            let first = &numbers[0];
            let differs =
                |other: &&Number| (first.value - other.value).abs() > first.open + other.open;
            let other = numbers.iter().find(differs)?;
            Some((name.clone(), first.clone(), other.clone()))
        };
        let found: Vec<_> = self.0.iter().filter_map(contradiction).collect();
        let known = |(name, _, _): &(Name, Number, Number)| self.0.get_key_value(name).unwrap();
        found
            .iter()
            .map(|of| {
                let (name, numbers) = known(of);
                let number =
                    |wanted: &Number| numbers.iter().find(|number| *number == wanted).unwrap();
                (name, number(&of.1), number(&of.2))
            })
            .collect()
    }

    /// Numbers that stand at two places at least.
    fn twice(&self) -> usize {
        self.0.values().filter(|numbers| numbers.len() > 1).count()
    }
}

/// Reads `407 µs`, `1.23 ms` or `30`: the value, and half a unit of its last digit.
fn read(shown: &str) -> Option<(f64, f64)> {
    let shown = shown.trim().trim_end_matches('*');
    let end = shown.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, unit) = shown.split_at(end.unwrap_or(shown.len()));
    let scale = match unit.trim() {
        "" => 1.0,
        "ns" => 1.0,
        "µs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let decimals = digits
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = digits.parse().ok()?;
    let half = if unit.is_empty() {
        0.0
    } else {
        0.5001 * 10_f64.powi(-(decimals as i32))
    };
    Some((value * scale, half * scale))
}

fn text(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        out += before;
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    (out + rest).replace("&amp;", "&").trim().to_owned()
}

fn rows(table: &str) -> Vec<Vec<String>> {
    let cells = |row: &str| -> Vec<String> {
        let starts = row.match_indices("<t").map(|(at, _)| at);
        let starts = starts.filter(|at| matches!(row.as_bytes().get(at + 2), Some(b'd' | b'h')));
        let starts: Vec<usize> = starts.collect();
        let ends = starts.iter().skip(1).copied().chain([row.len()]);
        let cells = starts.iter().zip(ends);
        cells.map(|(from, to)| row[*from..to].to_owned()).collect()
    };
    table.split("<tr>").skip(1).map(cells).collect()
}

/// The tables of a page whose heading has all of these words.
fn tables<'a>(page: &'a str, words: &[&str]) -> Vec<&'a str> {
    let tables = page.split("<table").skip(1);
    let tables = tables.map(|rest| rest.split("</table>").next().unwrap());
    let head = |table: &str| text(table.split("</tr>").next().unwrap());
    tables
        .filter(|table| words.iter().all(|word| head(table).contains(word)))
        .collect()
}

/// A mean and its interval: `407 µs <small>400 µs .. 420 µs</small>`.
fn split_small(cell: &str) -> (String, Option<String>) {
    match cell.split_once("<small>") {
        Some((mean, rest)) => (
            text(mean),
            Some(text(rest.split("</small>").next().unwrap())),
        ),
        None => (text(cell), None),
    }
}

/// `400 µs .. 420 µs` or `400 .. 420 µs`.
fn add_interval(all: &mut Numbers, [server, row]: [&str; 2], place: &str, shown: &str) {
    let Some((low, high)) = shown.split_once(" .. ") else {
        return;
    };
    let unit = high.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let low = if low.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{low}{unit}")
    } else {
        low.to_owned()
    };
    all.add_shown([server, row, "low"], place, &low);
    all.add_shown([server, row, "high"], place, high);
}

/// Reads the numbers of all files of a site.
fn numbers(servers: &[Measured]) -> Numbers {
    let names: Vec<&str> = servers.iter().map(|server| server.name).collect();
    let mut all = Numbers::default();
    for (path, content) in files_of(servers) {
        let page_server = path
            .strip_prefix("server-")
            .and_then(|name| name.strip_suffix(".html"));
        if path.ends_with(".md") {
            add_markdown(&mut all, &names, &content);
        }
        if !path.ends_with(".html") {
            continue;
        }
        if path == "index.html" {
            add_index(&mut all, &names, &content);
        }
        add_tests(&mut all, &path, page_server, &content);
        add_comparison(&mut all, &path, &names, &content);
        add_figures(&mut all, &path, page_server, &content);
        if let Some((_, data)) = content.split_once("type=\"application/json\"") {
            let (_, data) = data.split_once('>').unwrap();
            let data = data.split("</script>").next().unwrap();
            add_data(
                &mut all,
                &path,
                page_server,
                &serde_json::from_str(data).unwrap(),
            );
        }
    }
    all
}

fn add_markdown(all: &mut Numbers, names: &[&str], content: &str) {
    for line in content
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
    {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for (name, shown) in names.iter().zip(&cells[2..]) {
            all.add_shown([name, cells[1], "mean"], "table.md", shown);
        }
    }
}

fn add_index(all: &mut Numbers, names: &[&str], content: &str) {
    for table in tables(content, names) {
        for row in rows(table).iter().skip(1) {
            let test = text(&row[0]);
            for (name, cell) in names.iter().zip(&row[1..]) {
                let (mean, interval) = split_small(cell);
                all.add_shown([name, &test, "mean"], "index.html", &mean);
                if let Some(interval) = interval {
                    add_interval(all, [name, &test], "index.html", &interval);
                }
            }
        }
    }
}

/// The table of all tests: `Test`, maybe `Server`, `Method`, then figures under their names.
fn add_tests(all: &mut Numbers, path: &str, page_server: Option<&str>, content: &str) {
    for table in tables(content, &["Test", "Method", "p50", "p99"]) {
        let all_rows = rows(table);
        let heads: Vec<String> = all_rows[0].iter().map(|cell| text(cell)).collect();
        for row in all_rows
            .iter()
            .skip(1)
            .filter(|row| row.len() == heads.len())
        {
            let column = |name: &str| heads.iter().position(|head| head == name);
            let server = column("Server").map(|index| text(&row[index]));
            let server = server
                .as_deref()
                .or(page_server)
                .expect("each row has a server");
            let test = text(&row[0]);
            for statistic in ["n", "mean", "p50", "p90", "p99", "max", "failed"] {
                if let Some(index) = column(statistic) {
                    let (shown, _) = split_small(&row[index]);
                    all.add_shown([server, &test, statistic], path, &shown);
                }
            }
            if let Some(index) = column("95 % interval") {
                add_interval(all, [server, &test], path, &text(&row[index]));
            }
        }
    }
}

fn add_comparison(all: &mut Numbers, path: &str, names: &[&str], content: &str) {
    for table in tables(content, &["A: ", "B: "]) {
        for row in rows(table).iter().skip(1) {
            let test = text(&row[0]);
            all.add_shown([names[0], &test, "mean"], path, &text(&row[1]));
            // Mean, ratio, interval and verdict of each.
            for (name, cells) in names[1..].iter().zip(row[2..].chunks(4)) {
                all.add_shown([name, &test, "mean"], path, &text(&cells[0]));
            }
        }
    }
}

/// Numbers from the tables behind the figures of a test.
fn add_figures(all: &mut Numbers, path: &str, page_server: Option<&str>, content: &str) {
    let kinds = [
        (": histogram of response times", "histogram", 3),
        (
            ": share of operations that took no longer",
            "distribution",
            2,
        ),
        (": response times in the order of time", "time line", 5),
    ];
    for figure in content.split("<figcaption>").skip(1) {
        let (title, rest) = figure.split_once("</figcaption>").unwrap();
        let found = kinds.iter().find_map(|(ending, what, column)| {
            Some((text(title.strip_suffix(ending)?), what, *column))
        });
        let (Some((test, what, column)), Some((_, table))) = (found, rest.split_once("<tbody>"))
        else {
            continue;
        };
        let (table, _) = table.split_once("</tbody>").unwrap();
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        let mut first = String::new();
        for row in table.split("<tr>").skip(1) {
            let cells: Vec<&str> = row.split("<td>").skip(1).collect();
            if !cells[0].trim().is_empty() {
                first = text(cells[0]);
            }
            let server = page_server.map_or_else(|| first.clone(), str::to_owned);
            if *what == "distribution" {
                // The last step has all of them, and the longest time.
                if cells[column].trim() == "100 %" {
                    all.add_shown([&server, &test, "max"], path, &text(cells[1]));
                }
            } else if let Ok(count) = cells[column].trim().parse::<f64>() {
                *counts.entry(server).or_default() += count;
            }
        }
        for (server, count) in counts {
            all.add(
                [&server, &test, "n"],
                &format!("{what} of {path}"),
                count,
                0.0,
            );
        }
    }
}

fn add_data(all: &mut Numbers, path: &str, page_server: Option<&str>, data: &Value) {
    let place = format!("data of {path}");
    for run in data["runs"].as_array().unwrap() {
        let server = page_server.unwrap_or(run["name"].as_str().unwrap());
        let tests = run["result"]["tests"].as_array().unwrap();
        for test in tests {
            let row = test["measure"].as_str().unwrap();
            let times = &test["response_us"];
            for statistic in ["mean", "p50", "p90", "p95", "p99", "max", "min"] {
                all.add_us([server, row, statistic], &place, &times[statistic]);
            }
            all.add_us([server, row, "low"], &place, &times["ci95"][0]);
            all.add_us([server, row, "high"], &place, &times["ci95"][1]);
            let mut count = |value: &Value, what: &str| {
                if let Some(n) = value.as_f64() {
                    all.add([server, row, "n"], &format!("{what} of {path}"), n, 0.0);
                }
            };
            count(&times["n"], "data");
        }
    }
    let comparison = &data["comparison"];
    for test in comparison["tests"].as_array().into_iter().flatten() {
        let row = test["measure"].as_str().unwrap();
        let sides = [
            (comparison["a"]["name"].as_str().unwrap(), &test["a_says"]),
            (test["b"].as_str().unwrap(), &test["b_says"]),
        ];
        for (server, says) in sides {
            all.add_us([server, row, "mean"], &place, &says["mean_us"]);
            all.add([server, row, "n"], &place, says["n"].as_f64().unwrap(), 0.0);
            all.add(
                [server, row, "failed"],
                &place,
                says["failed"].as_f64().unwrap(),
                0.0,
            );
        }
    }
    for finding in data["findings"].as_array().into_iter().flatten() {
        let run = finding["run"].as_u64().unwrap() as usize;
        let server = page_server.unwrap_or(data["runs"][run]["name"].as_str().unwrap());
        for piece in finding["evidence"].as_array().unwrap() {
            let row = piece["measure"].as_str().unwrap();
            for figure in piece["figures"].as_array().unwrap() {
                let value = figure["value"]
                    .as_f64()
                    .filter(|_| figure["name"] == "mean");
                if let Some(ns) = value {
                    all.add(
                        [server, row, "mean"],
                        &format!("finding on {path}"),
                        ns,
                        0.51,
                    );
                }
            }
        }
    }
}

/// A run whose tests take so many microseconds, about; of `Lock` one in `stall` takes forty times
/// as long.
fn run(id: &str, us: [u64; 4], stall: u64, failed: u64) -> Run {
    let jitter = |i: u64, us: u64| us + i * 7919 % (us / 4 + 1);
    let builder = RunBuilder::new(1)
        .with(|run| run.plan.run_id = id.to_owned())
        .test("Put1K", &[("Put1K", "PUT")])
        .ok("Put1K", 60, |i| jitter(i, us[0]))
        .event_at(0, |test| EventKind::Generator(generator(test)))
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 70, |i| jitter(i, us[1]))
        .test("Lock", &[("Lock", "LOCK")])
        .ok("Lock", 50, |i| {
            jitter(i, us[2]) * if i % stall == 0 { 8 } else { 1 }
        })
        .test("UnLock", &[("UnLock", "UNLOCK")])
        .ok("UnLock", 50, |i| jitter(i, 9_000))
        .test("Copy", &[("Copy", "COPY")])
        .ok("Copy", 40, |i| jitter(i, us[3]));
    match failed {
        0 => builder.build(),
        some => builder
            .ops("Copy", some, record::Outcome::WrongStatus, |_| 1)
            .build(),
    }
}

/// Three servers, of which the second has slow writes; runs differ, and one fails a little.
fn servers(scales: &[u64], bad: Option<usize>) -> Vec<Measured> {
    let server = |name: &'static str, us: [u64; 4]| {
        let runs = scales.iter().enumerate().map(|(index, scale)| {
            let us = us.map(|us| us * scale / 100);
            run(
                &format!("{name}{index}"),
                us,
                9 + index as u64,
                (index % 2) as u64,
            )
        });
        let mut runs: Vec<Run> = runs.collect();
        if let Some(bad) = bad {
            stall(&mut runs[bad]);
        }
        Measured::of(name, "files", runs)
    };
    vec![
        server("apache", [300, 250, 400, 2_000]),
        server("dufs", [40_000, 250, 500, 900]),
        server("nginx", [500, 700, 80, 3_000]),
    ]
}

/// Makes the load generator the bottleneck of the first test of a run.
fn stall(run: &mut Run) {
    let test = run.plan.measures[0].test;
    for event in &mut run.events {
        if let EventKind::Generator(generator) = &mut event.kind
            && generator.test == test
        {
            generator.cpu = u64::from(generator.workers) * generator.wall;
        }
    }
}

fn assert_consistent(servers: &[Measured]) -> Numbers {
    let numbers = numbers(servers);
    let found = numbers.contradictions();
    assert!(found.is_empty(), "{found:#?}");
    numbers
}

#[test]
fn every_number_that_stands_twice_is_the_same() {
    let servers = servers(&[100, 140, 90, 260], None);
    assert!(servers[1].pooled.summary().tests[0].response.is_some());
    let numbers = assert_consistent(&servers);
    assert!(numbers.twice() > 3 * 4 * 8, "{}", numbers.twice());
    let of = |statistic: &str| {
        let name = ("dufs".to_owned(), "Put1K".to_owned(), statistic.to_owned());
        &numbers.0[&name]
    };
    // Index, table.md, comparison and its data, three pages with a table, two with data.
    assert!(of("mean").len() >= 8, "{:#?}", of("mean"));
    let is_of_finding = |number: &Number| number.place.starts_with("finding");
    assert!(numbers.0.values().flatten().any(is_of_finding));
    assert!(
        of("n").iter().all(|number| number.value == 240.0),
        "{:#?}",
        of("n")
    );
}

#[test]
fn runs_that_the_load_generator_may_have_changed_are_in_no_number() {
    let bad = servers(&[100, 140, 90, 260], Some(3));
    let row = &bad[0].runs[3].1.tests[0];
    assert!(row.disqualified().is_some(), "{:?}", row.warnings);
    let numbers = assert_consistent(&bad);
    let n = &numbers.0[&("apache".to_owned(), "Put1K".to_owned(), "n".to_owned())];
    assert!(n.iter().any(|number| number.value == 180.0), "{n:#?}");
}

#[test]
fn a_number_that_differs_is_seen() {
    let mut servers = servers(&[100, 140, 90], None);
    // As if the page of a server showed its first run only.
    let first = servers[1].runs[0].1.clone();
    servers[1].pooled.material.summary.tests[1].response = first.tests[1].response;
    let numbers = numbers(&servers);
    let found = numbers.contradictions();
    let names: Vec<&str> = found.iter().map(|(name, _, _)| name.1.as_str()).collect();
    assert!(
        names.contains(&"Get1K") && !names.contains(&"Put1K"),
        "{found:#?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn it_is_so_however_runs_differ(scales in prop::collection::vec(20_u64..2_000, 1..5), bad in any::<bool>()) {
        assert_consistent(&servers(&scales, bad.then_some(0)));
    }
}
