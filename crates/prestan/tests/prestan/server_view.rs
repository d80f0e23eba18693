//! Times that servers give, in Server-Timing and in their logs, beside ours.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use testbed::fault::{Fault, Rule};
use testbed::real::{LoggedTime, UrlScheme, recipes};

use crate::support::faulty::{Faulty, run_of, unwrapped};
use crate::support::load::plain;
use crate::support::real::is_installed;
use crate::support::{Outcome, Prestan};

/// The times of a row that the server gives there.
fn row<'v>(document: &'v Value, name: &str, metric: Option<&str>) -> Option<&'v Value> {
    let rows = document["server_view"]["rows"].as_array()?;
    rows.iter()
        .find(|row| row["measure"] == name && row["metric"].as_str() == metric)
}

fn number(value: &Value) -> f64 {
    let number = value.as_f64();
    number.unwrap_or_else(|| panic!("{value} is no number"))
}

fn sends(header: &str) -> Fault {
    Fault::AddHeader("Server-Timing".to_owned(), header.to_owned())
}

/// A run of PUT and GET on a server that Prestan starts.
fn started(server: &str, options: &str) -> Prestan {
    prestan!("run prestan --server {server} --only Put1K,Get1K -r 40").words(options)
}

/// The configuration of the recipe of nginx, with something else in place of a part of it.
fn nginx_configured(prestan: &Prestan, from: &str, to: &str) -> String {
    let recipe = include_str!("../../../../servers/nginx.yaml");
    let (_, configuration) = recipe.split_once("nginx.conf: |\n").unwrap();
    assert!(configuration.contains(from), "{configuration}");
    let path = prestan.file("nginx.conf", &configuration.replace(from, to));
    format!("file.nginx.conf={}", path.display())
}

#[test]
fn what_responses_say_is_set_against_response_times() {
    let faulty = Faulty::new(|builder| {
        builder
            .rule(Rule::new(Fault::AnswerAfter(Duration::from_millis(20))).tag("(Get1K)"))
            .rule(Rule::new(sends("db;dur=4;desc=\"a, b\", cache;desc=hit")).tag("(Get1K)"))
            .rule(Rule::new(sends("db;dur=1, x;dur=-1, y;dur=nan, a b;dur=2")).tag("(Get1K)"))
            .rule(Rule::new(sends("late;dur=7")).tag("(Put1K)").nth(2))
    });
    let outcome = run_of(&faulty.url(), "Put1K,Get1K", 10).ends(0);
    let document = outcome.json();
    let get = row(&document, "Get1K", Some("db")).unwrap();
    assert_eq!(get["operations"], 10);
    assert_eq!(get["timed"], 10);
    // Both of its occurrences.
    assert_eq!(number(&get["server_us"]["mean"]), 5_000.0, "{get}");
    let ours = number(&get["ours_us"]);
    let share = number(&get["share_percent"]["mean"]);
    assert!((20_000.0..200_000.0).contains(&ours), "{get}");
    assert!((share - 5_000.0 / ours * 100.0).abs() < 0.01, "{get}");
    let [low, high] = [0, 1].map(|end| number(&get["share_percent"]["ci95"][end]));
    assert!(low <= share && share <= high, "{get}");
    // These have no time.
    for metric in ["cache", "x", "y"] {
        let found = row(&document, "Get1K", Some(metric)).unwrap();
        assert_eq!(found["operations"], 10);
        assert_eq!(found["timed"], 0);
        assert_eq!(found["server_us"], Value::Null);
        assert_eq!(found["ours_us"], Value::Null);
    }
    let put = row(&document, "Put1K", Some("late")).unwrap();
    assert_eq!(put["operations"], 1);
    assert_eq!(put["server_us"]["ci95"], Value::Null);
    let rows = document["server_view"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5, "{rows:?}");
    assert_eq!(document["server_view"]["access_log"], Value::Null);

    let again = prestan!(outcome.again() => "report").ends(0);
    let (_, table) = again.stdout.split_once("The server's own view").unwrap();
    let line = table.lines().find(|line| line.contains(" db ")).unwrap();
    assert!(line.contains("Get1K"), "{again}");
    assert!(line.contains("5.00 ms"), "{again}");
}

#[test]
fn a_server_that_says_nothing_has_no_view() {
    let faulty = plain();
    let outcome = run_of(&faulty.url(), "Put1K,Get1K", 3).ends(0);
    assert_eq!(outcome.json()["server_view"], Value::Null);
    let text = prestan!(outcome.again() => "report").run().stdout;
    assert!(!text.contains("own view"), "{text}");
}

#[test]
fn of_a_failed_operation_no_time_is_reported() {
    let faulty = Faulty::new(|builder| {
        builder
            .rule(Rule::new(sends("db;dur=4")).tag("(Get1K)"))
            .rule(Rule::new(Fault::RewriteStatus(404)).tag("(Get1K)").nth(2))
    });
    let document = run_of(&faulty.url(), "Get1K", 5).ends(1).json();
    let get = row(&document, "Get1K", Some("db")).unwrap();
    assert_eq!(get["operations"], 4);
}

#[test]
fn the_header_is_read_over_http2() {
    if !is_installed("nginx") {
        return;
    }
    let prestan = Prestan::new();
    let says = "location / {\n add_header Server-Timing 'app;dur=0.25' always;";
    let parameter = nginx_configured(&prestan, "location / {", says);
    let server = format!("nginx,http=2,{parameter}");
    let outcome =
        prestan!(prestan => "run prestan --server {server} --only Get1K -r 20 -c 3 --json -")
            .ends(0);
    let document = outcome.json();
    let get = row(&document, "Get1K", Some("app")).unwrap();
    assert_eq!(number(&get["server_us"]["mean"]), 250.0, "{get}");
    let tests = document["tests"][0]["operations"].as_f64().unwrap();
    assert!(number(&get["operations"]) >= tests, "{get}");
}

#[test]
fn the_log_of_a_server_is_joined_with_its_operations() {
    let open = recipes().iter();
    let open = open.filter(|recipe| recipe.auth == UrlScheme::None);
    for recipe in open {
        let resolution = match recipe.logs.time {
            Some(LoggedTime::Seconds) => 1000.0,
            Some(LoggedTime::Microseconds) => 1.0,
            None => continue,
        };
        if is_installed(&recipe.name) {
            assert_log_is_joined(&recipe.name, resolution);
        }
    }
}

/// More than a server loses on the mean of forty operations, and less than a wrong unit makes of
/// one.
const LOST_US: f64 = 50_000.0;

fn assert_log_is_joined(server: &str, resolution: f64) {
    let outcome = started(server, "--inside --json -").ends(0);
    let document = outcome.json();
    let log = &document["server_view"]["access_log"];
    assert_eq!(log["operations"], 80, "{server}: {log}");
    assert_eq!(log["joined"], 80, "{server}: {log}");
    for count in ["missing", "ambiguous", "unreadable_lines"] {
        assert_eq!(log[count], 0, "{server}: {log}");
    }
    // DELETE, warm-up and requests before and after.
    assert!(number(&log["other_lines"]) > 40.0, "{server}: {log}");
    for name in ["Put1K", "Get1K"] {
        let found = row(&document, name, None).unwrap();
        assert_eq!(found["timed"], 40, "{found}");
        assert_eq!(number(&found["resolution_us"]), resolution, "{found}");
        let theirs = number(&found["server_us"]["mean"]);
        let ours = number(&found["ours_us"]);
        if resolution < 1000.0 {
            assert!(theirs >= resolution, "{found}");
            assert!(found["share_percent"]["ci95"].is_array(), "{found}");
        }
        // A server that counts milliseconds may round up, and may lose its processor between a
        // response and its log.
        assert!(theirs < ours + resolution + LOST_US, "{found}");
    }
    let again = prestan!(outcome.again() => "report --json -").ends(0);
    assert_eq!(document["server_view"], again.json()["server_view"]);
    let events = fs::read_to_string(outcome.run().join("events.jsonl")).unwrap();
    let has_line = events.contains("PrestanTest-");
    assert!(!has_line, "no line of the log is kept");
}

#[test]
fn several_users_are_distinguished_in_a_log() {
    if !is_installed("apache") {
        return;
    }
    let outcome = started("apache,http=2", "--inside -c 4 --json -").ends(0);
    let document = outcome.json();
    let log = &document["server_view"]["access_log"];
    assert!(number(&log["joined"]) >= 80.0, "{log}");
    assert_eq!(log["missing"], 0, "{log}");
    assert!(row(&document, "Put1K", None).is_some(), "{outcome}");
}

#[test]
fn without_inside_no_log_is_read() {
    if !is_installed("apache") {
        return;
    }
    let outcome = started("apache", "--json -").ends(0);
    assert_eq!(outcome.json()["server_view"], Value::Null);
}

/// A log of another form, and none at all.
#[test]
fn what_is_not_in_a_log_is_said() {
    if !is_installed("nginx") {
        return;
    }
    let directive = "access_log {{ dir }}/log/access.log prestan;";
    let text = |to: &str| -> Outcome {
        let prestan = Prestan::new();
        let parameter = nginx_configured(&prestan, directive, to);
        let server = format!("nginx,{parameter}");
        prestan!(prestan => "run prestan --server {server} --inside --only Get1K -r 5").run()
    };
    let foreign = text("access_log {{ dir }}/log/access.log combined;").ended(0);
    let words = unwrapped(&foreign.stdout);
    for says in [
        "Of 5 operations that were ok, 5 are not joined with the access log: 5 without a line,",
        "lines could not be read.",
    ] {
        assert!(words.contains(says), "{foreign}");
    }
    let none = text("access_log off;").ended(0);
    let says = "reading the access log of the server failed: No such file";
    assert!(unwrapped(&none.stdout).contains(says), "{none}");
}
