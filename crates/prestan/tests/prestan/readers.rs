//! Files for other programs: pages under the policy of a web server, the files of a run, sheets.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use record::{Outcome as Ending, Timing};
use serde_json::Value;

use crate::support::browser::Browser;
use crate::support::heads::answering;
use crate::support::load::{kept, plain};
use crate::support::rows::rows;
use crate::support::{Outcome, Prestan, schema};

/// Two users, so that not all operations count.
fn measured() -> Outcome {
    prestan!(
        "demo -c 2 -r 20 --only Get1K,Put1K --run-id one -q --html page/ --csv rows.csv --junit \
        rows.xml --log operations.csv --json - --seed 18446744073709551615"
    )
    .ends(0)
}

/// Serves the files of a directory with the policy of Jenkins, and scripts beside the page
/// permitted.
fn serve(directory: PathBuf) -> SocketAddr {
    const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'";
    answering(move |head| {
        let head = String::from_utf8_lossy(head);
        let path = head.split(' ').nth(1).unwrap_or_default();
        let body = fs::read(directory.join(path.trim_start_matches('/'))).unwrap_or_default();
        let kind = match path.rsplit('.').next() {
            Some("css") => "text/css",
            Some("js") => "text/javascript",
            _ => "text/html",
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Content-Security-Policy: {POLICY}\r\nConnection: close\r\n\r\n"
        );
        ([head.into_bytes(), body].concat(), false)
    })
}

#[test]
fn a_page_in_a_directory_has_nothing_that_a_policy_strips() {
    let outcome = measured();
    let page = outcome.read("page/index.html");
    assert!(!page.contains("<style") && !page.contains(" style=\""));
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("<script src=\"script.js\"></script>"));
    // A directory that is there needs no slash.
    prestan!(outcome.again() => "report one --html page").ends(0);
    assert_eq!(outcome.read("page/index.html").len(), page.len());

    let Some(mut browser) = Browser::start() else {
        return;
    };
    let server = format!("http://{}/", serve(outcome.home().join("page")));
    browser.open_served(&server, "index.html");
    browser.until("document.documentElement.dataset.ready === 'true'");
    let shown = "getComputedStyle(document.querySelector('.box, .wide, figure')).borderRadius + document.styleSheets.length";
    let shown = browser.evaluate(shown);
    assert!(shown.as_str().unwrap().ends_with('1'), "{shown}");
    assert_eq!(browser.problems(), [""; 0]);
}

#[track_caller]
fn assert_valid(schema: &jsonschema::Validator, document: &Value) {
    let errors = schema.iter_errors(document).map(|error| error.to_string());
    let errors: Vec<String> = errors.collect();
    assert_eq!(errors, [""; 0], "{document:#}");
}

#[test]
fn the_files_of_a_run_keep_to_their_schemas() {
    let outcome = measured();
    let text = |name: &str| fs::read_to_string(outcome.run().join(name)).unwrap();
    let plan = yaml::read(&text("plan.yaml")).unwrap();
    assert_valid(&schema("plan.schema.json"), &plan);
    let env = serde_json::from_str(&text("env.json")).unwrap();
    assert_valid(&schema("env.schema.json"), &env);
    let events = text("events.jsonl");
    assert!(events.lines().count() > 4);
    let event = schema("event.schema.json");
    for line in events.lines() {
        assert_valid(&event, &serde_json::from_str(line).unwrap());
    }
    // A seed that is no double of any reader.
    assert_valid(&schema("result.schema.json"), &outcome.json());
    assert_eq!(outcome.json()["load"]["seed"], "18446744073709551615");
}

#[test]
fn the_times_that_count_are_those_of_the_report() {
    let outcome = measured();
    let run = kept(&outcome);
    let log = outcome.read("operations.csv");
    let flags = log.lines().skip(1).map(|line| line.ends_with(",true"));
    let flags: Vec<bool> = flags.collect();
    assert_eq!(flags.len(), run.samples.len());
    for (index, row) in rows(&outcome.json()).iter().enumerate() {
        let name = row["measure"].as_str().unwrap();
        let mut spans = run.env.counted.iter();
        let span = spans.find(|span| span.measure == name).unwrap();
        let (mut times, mut counted) = (Vec::new(), 0);
        for (sample, flag) in run.samples.iter().zip(&flags) {
            let began = sample.moments.started;
            let counts = usize::from(sample.measure.0) == index
                && (span.from_ns..=span.to_ns).contains(&began);
            // The column and the moments agree.
            if usize::from(sample.measure.0) == index {
                assert_eq!(counts, *flag, "{sample:?}");
            }
            counted += u64::from(counts);
            if counts && sample.outcome == Ending::Ok && sample.timing != Timing::Missed {
                times.extend(sample.moments.response());
            }
        }
        assert_eq!(row["operations"], counted);
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        let expected = row["response_us"]["mean"].as_f64().unwrap();
        assert!((mean / 1e3 - expected).abs() < 1e-3, "{mean} {expected}");
    }
}

#[test]
fn sheets_and_files_of_samples_have_the_time_of_day() {
    let outcome = measured();
    let env = fs::read_to_string(outcome.run().join("env.json")).unwrap();
    let env: Value = serde_json::from_str(&env).unwrap();
    let started = env["started_at"].as_str().unwrap();
    let sheet = outcome.read("rows.csv");
    let mut lines = sheet.lines();
    assert!(lines.next().unwrap().ends_with(",started_at"));
    let end = format!(",{started}");
    assert!(lines.all(|line| line.ends_with(&end)), "{sheet}");
    let samples = fs::read(outcome.run().join("samples-00001.parquet")).unwrap();
    let metadata = String::from_utf8_lossy(&samples);
    assert!(metadata.contains("started_at") && metadata.contains(started));
    // Sums of readers of JUnit.
    let junit = outcome.read("rows.xml");
    for suite in ["<testsuites ", "<testsuite "] {
        let (_, rest) = junit.split_once(suite).unwrap();
        let (_, time) = rest.split_once(" time=\"").unwrap();
        let time: f64 = time.split('"').next().unwrap().parse().unwrap();
        assert!(time > 0.0 && time < 600.0, "{junit}");
    }
}

#[test]
fn a_test_may_have_a_title_in_any_language() {
    const SUITE: &str = "
suite: own
version: 1
title: Own
tests:
  - name: Save
    title: Größe 日本語 👩\u{200d}💻
    loop: [{PUT: page, body: {size: 16}, measure: Write}]
";
    let prestan = Prestan::new();
    let suite = prestan.file("own.yaml", SUITE);
    let server = plain();
    let outcome =
        prestan!(prestan => "run {} {server} -r 5 -q --json - --html page.html", suite).ends(0);
    let title = "Größe 日本語 👩\u{200d}💻";
    assert_eq!(outcome.json()["tests"][0]["title"], title);
    let page = outcome.read("page.html");
    let shown = format!("<p class=\"what\"><bdi>{title}</bdi></p>");
    assert!(page.contains(&shown), "{page}");
}
