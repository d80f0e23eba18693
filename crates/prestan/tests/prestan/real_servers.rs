//! The binary against every server of `servers/`: the rows and their correctness, sums, agreement
//! with the server's own log, and an unchanged server at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use record::{Run, Sample};
use serde_json::Value;
use testbed::RealServer;
use testbed::real::{Recipe, recipes, tested_of};

use crate::support::faulty::evidence;
use crate::support::real::{is_installed, started};
use crate::support::rows::{self, assert_adds_up, rows, statuses};
use crate::support::{Outcome, Prestan};

/// Measured operations of a row of a run with [`SMALL`]; MkCol makes three levels and five
/// collections in the lowest.
const OPERATIONS: u64 = 5;
const MKCOLS: u64 = 5 * (3 + 5);

/// Starts a server, or skips the test. It serves a file of its owner, which must survive.
fn start(recipe: &str) -> Option<RealServer> {
    let server = started(recipe)?;
    fs::write(server.storage().join("precious.txt"), "not ours").unwrap();
    Some(server)
}

/// `prestan run prestan URL`, with credentials where the server wants them.
fn measure(server: &RealServer) -> Prestan {
    let mut prestan = prestan!("run prestan {} --json -", server.url());
    if server.recipe().is_http2 {
        prestan = prestan!(prestan => "--http 2");
    }
    let Some((user, password)) = server.credentials() else {
        return prestan;
    };
    let file = prestan.file("password", &password);
    prestan!(prestan => "--user {user} --password-file {}", file)
}

/// The whole suite against one server.
fn whole_suite(recipe: &str) {
    let Some(server) = start(recipe) else {
        return;
    };
    let before = server.contents().unwrap();

    let outcome = prestan!(measure(&server) => "-r 5 -d 3 -w 5").ends(0);
    let document = outcome.json();
    assert_rows(server.recipe(), &document);
    assert_adds_up(&document);
    assert_eq!(server.contents().unwrap(), before);
    assert_eq!(document["left_behind"].as_array().unwrap().len(), 0);
    assert_class(&server.recipe().expected.dav, &document, &outcome);

    let run = rundir::load(&outcome.run()).unwrap();
    assert_eq!(defects_of_numbers(&run.samples), [""; 0]);
    if let Some(log) = server.logs().access {
        assert_log_tells_the_same(&log, &run);
    }
}

/// Each row is as the recipe expects it, with its evidence or its number of operations.
fn assert_rows(recipe: &Recipe, document: &Value) {
    assert_eq!(rows::names(document), rows::of_prestan());
    let mut not_ok = recipe.expected.not_ok.iter();
    let unknown = not_ok.find_map(|group| {
        let mut names = group.rows.iter();
        names.find(|name| !rows::of_prestan().contains(name))
    });
    assert_eq!(unknown, None, "no row has this name");
    for row in rows(document) {
        let name = row["measure"].as_str().unwrap();
        let mut not_ok = recipe.expected.not_ok.iter();
        let not_ok = not_ok.find(|group| group.rows.iter().any(|row| row == name));
        match not_ok.map(|group| as_in_version(&group.evidence, recipe.is_http2)) {
            Some(expected) => {
                // Of another method than that of the row, the row was skipped.
                let is_of_row = expected.split(' ').next() == row["method"].as_str();
                let word = if is_of_row {
                    "not_supported"
                } else {
                    "skipped"
                };
                assert_eq!(row["status"], word, "{row:#}");
                assert!(evidence(row).contains(&expected), "{row:#}");
            }
            None => {
                assert_eq!(row["status"], "ok", "{row:#}");
                let wanted = if name == "MkCol" { MKCOLS } else { OPERATIONS };
                assert_eq!(row["operations"], wanted, "{row:#}");
            }
        }
    }
}

/// HTTP/2 has no reason phrases, so that the registered one is shown.
fn as_in_version(evidence: &str, is_http2: bool) -> String {
    let is_status = |word: &&str| word.len() == 3 && word.parse::<u16>().is_ok();
    let status = evidence.split(' ').find(is_status);
    let Some((before, after)) = status.and_then(|status| evidence.split_once(status)) else {
        return evidence.to_owned();
    };
    let is_phrase = |word: &&str| word.starts_with(|c: char| c.is_ascii_uppercase());
    let phrase = after.split(' ').skip(1).take_while(is_phrase);
    let length = phrase.map(|word| 1 + word.len()).sum::<usize>();
    if !is_http2 || length == 0 {
        return evidence.to_owned();
    }
    let status = wire::response::status_text(status.unwrap().parse().unwrap());
    format!("{before}{status}{}", &after[length..])
}

#[test]
fn evidence_of_http2_has_registered_phrases() {
    let said = "PROPPATCH prop: 405 Not Allowed (x)";
    let registered = "PROPPATCH prop: 405 Method Not Allowed (x)";
    assert_eq!(as_in_version(said, true), registered);
    assert_eq!(as_in_version(said, false), said);
    let inside = "PROPPATCH prop: 207 with 403 Forbidden inside";
    assert_eq!(as_in_version(inside, true), inside);
}

/// The class is in the document and in the text.
fn assert_class(dav: &[String], document: &Value, outcome: &Outcome) {
    assert_eq!(document["server"]["dav"], serde_json::json!(dav));
    let text = prestan!(outcome.again() => "report").run().stdout;
    // A long list is continued on the next line.
    let text = text.replace("\n  ", " ");
    let line = format!("DAV Class: {}\n", dav.join(", "));
    assert!(text.contains(&line), "{text}");
}

/// Two measured requests never carry the same number.
fn defects_of_numbers(samples: &[Sample]) -> Vec<String> {
    let mut times = BTreeMap::<u64, u32>::new();
    for sample in samples {
        *times.entry(sample.number).or_default() += 1;
    }
    let twice = times.iter().filter(|(_, times)| **times > 1);
    let mut defects: Vec<String> = twice.map(|(number, _)| format!("{number} twice")).collect();
    if times.contains_key(&0) {
        defects.push("0 is for what is no operation".to_owned());
    }
    defects
}

/// A line of an access log: `"METHOD PATH HTTP/1.1" STATUS TIME [BYTES] "SUITE: NUMBER (WHAT)"`.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    method: &'a str,
    status: u16,
    number: u64,
    what: &'a str,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Option<Line<'a>> {
        let (_, rest) = text.split_once('"')?;
        let (request, rest) = rest.split_once("\" ")?;
        let (status, label) = rest.split_once(' ')?;
        let label = label.strip_suffix('"')?.rsplit_once('"')?.1;
        let (number, what) = label.strip_prefix("prestan: ")?.split_once(' ')?;
        Some(Line {
            method: request.split(' ').next()?,
            status: status.parse().ok()?,
            number: number.parse().ok()?,
            what: what.strip_prefix('(')?.strip_suffix(')')?,
        })
    }
}

/// Disagreements between the server's log and the run. A repeated request is in the log twice, or
/// once if its first connection ended before it was read.
fn disagreements(log: &str, run: &Run) -> Vec<String> {
    let mut lines = BTreeMap::<u64, Vec<Line>>::new();
    for line in log.lines().filter_map(Line::parse) {
        lines.entry(line.number).or_default().push(line);
    }
    let mut found = Vec::new();
    for sample in &run.samples {
        let measure = &run.plan.measures[usize::from(sample.measure.0)];
        let logged = lines.remove(&sample.number).unwrap_or_default();
        let agrees_with = |line: &Line| {
            line.method == measure.method
                && line.what == measure.name
                && Some(line.status) == sample.status
        };
        let agrees = match logged.as_slice() {
            [line] => agrees_with(line),
            [.., last] => sample.resent && agrees_with(last),
            [] => false,
        };
        if !agrees {
            found.push(format!("{sample:?}\nis in the log as {logged:?}"));
        }
    }
    // The rest was not measured, and is marked so.
    let measured = |line: &Line| {
        let mut measures = run.plan.measures.iter();
        measures.any(|measure| measure.name == line.what)
    };
    let unrecorded = lines.into_values().flatten().filter(measured);
    found.extend(unrecorded.map(|line| format!("{line:?} was not recorded")));
    found
}

/// Joins the access log with the run. Servers write it when they like, lighttpd after seconds.
fn assert_log_tells_the_same(log: &Path, run: &Run) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let found = disagreements(&fs::read_to_string(log).unwrap_or_default(), run);
        let Some(first) = found.first() else { return };
        let is_late = Instant::now() > deadline;
        assert!(!is_late, "{} disagreements: {first}", found.len());
        thread::park_timeout(Duration::from_millis(20)); // between two looks at the file
    }
}

/// The whole suite against each server, with HTTP/2 as well where it has a switch for it.
fn whole_suites<'a>(recipes: impl IntoIterator<Item = &'a Recipe>) {
    for recipe in recipes {
        whole_suite(&recipe.name);
        if recipe.http2 {
            whole_suite(&format!("{},http=2", recipe.name));
        }
    }
}

macro_rules! of_each_file {
    ($($test:ident: $file:literal,)*) => {$(
        #[test]
        fn $test() {
            whole_suites(&tested_of($file));
        }
    )*};
}

builtin::each_server!(of_each_file);

#[test]
#[ignore = "nightly: they are built from source, which takes minutes"]
fn crates() {
    whole_suites(recipes().iter().filter(|recipe| recipe.is_crate()));
}

/// Fifteen users, as in 2004.
fn fifteen_users(recipe: &str, may_fail: &[&str]) {
    let Some(server) = start(recipe) else {
        return;
    };
    let before = server.contents().unwrap();

    let outcome = prestan!(measure(&server) => "-c 15 -r 3 -w 3 -d 2").run();

    let document = outcome.json();
    assert_adds_up(&document);
    // Operations that begin before the last user has begun are left out, so there are always some.
    let left_out = document["left_out"].as_u64().unwrap();
    assert!(left_out > 0);
    let text = prestan!(outcome.again() => "report").run().stdout;
    assert!(text.contains(&format!("\n- {left_out} of ")), "{text}");
    let statuses = statuses(&document);
    let is_failed = |name: &&str| statuses[name] == "failed";
    let failed: Vec<&str> = statuses.keys().copied().filter(is_failed).collect();
    let is_allowed = failed.iter().all(|name| may_fail.contains(name));
    assert!(is_allowed, "{failed:?}: {outcome}");
    assert_eq!(outcome.code, i32::from(!failed.is_empty()), "{outcome}");
    // Exactly the leftovers are reported.
    let clean = server.contents().unwrap() == before;
    let named = !document["left_behind"].as_array().unwrap().is_empty();
    assert_ne!(clean, named, "{outcome}");
    assert!(clean || !may_fail.is_empty(), "{outcome}");
}

/// The lock database of mod_dav_fs is not safe against concurrent requests: it loses locks and
/// unlocks, and then refuses everything below a lock of which one half is lost ("The lock database
/// was found to be corrupt" in its log; seen in 2.4.71, with threads and with processes). So rows
/// of locks may fail, and a resource with such a lock cannot be removed.
#[test]
fn fifteen_users_of_apache() {
    fifteen_users("apache", &["Lock", "UnLock", "LockCol", "UnLockCol"]);
}

#[test]
fn fifteen_users_of_others() {
    fifteen_users("nginx", &[]);
    fifteen_users("lighttpd", &[]);
}

#[test]
fn a_hundred_requests_of_everything_with_the_classic_line() {
    let Some(server) = start("apache") else {
        return;
    };
    let before = server.contents().unwrap();

    let outcome = prestan!("{} -r 100 -d 3 -w 5 --json -", server.url()).ends(0);
    let document = outcome.json();
    assert_adds_up(&document);
    assert_eq!(rows::names(&document), rows::of_prestan());
    for row in rows(&document) {
        let is_deep = row["measure"] == "MkCol";
        let each = if is_deep { MKCOLS / 5 } else { 1 };
        assert_eq!(row["status"], "ok", "{row:#}");
        assert_eq!(row["outcomes"]["ok"], 100 * each, "{row:#}");
    }
    assert_eq!(server.contents().unwrap(), before);
}

#[test]
fn prestan_starts_a_server_by_itself() {
    if !is_installed("apache-digest") {
        return;
    }
    let outcome =
        prestan!("run prestan --server apache-digest --json - -r 5 -d 3 -w 5 --only Get1K,Locks")
            .ends(0);
    let document = outcome.json();
    assert_eq!(rows::names(&document), ["Get1K", "Lock", "UnLock"]);
    assert!(statuses(&document).values().all(|status| *status == "ok"));
    // It disappears with the program.
    let target = document["target"].as_str().unwrap();
    prestan!(outcome.again() => "{target}").ends(4);
}

#[test]
fn a_server_that_nobody_knows_is_a_wrong_usage() {
    let outcome = prestan!("run prestan --server iis").ends(2);
    outcome.stderr_has("apache-digest");
}

/// A run of one measured GET with number 7.
fn run_of_one_get() -> Run {
    let outcome = prestan!("demo --only Get1K -r 1 --warmup 0").run();
    let mut run = rundir::load(&outcome.run()).unwrap();
    run.samples[0].number = 7;
    run
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let mut run = run_of_one_get();
    let sample = run.samples[0].clone();
    assert_eq!(defects_of_numbers(&run.samples), [""; 0]);
    assert_eq!(defects_of_numbers(&[sample.clone(), sample]).len(), 1);

    let good = "\"GET /x HTTP/1.1\" 200 12 \"prestan: 7 (Get1K)\"\n";
    let set_up = "\"PUT /x HTTP/1.1\" 201 12 \"prestan: 6 (Get1K set-up)\"\n";
    let none = [""; 0];
    assert_eq!(disagreements(&format!("{set_up}{good}"), &run), none);
    let twice = format!("{good}{good}");
    for bad in [
        "",
        "\"PUT /x HTTP/1.1\" 200 12 \"prestan: 7 (Get1K)\"\n",
        "\"GET /x HTTP/1.1\" 404 12 \"prestan: 7 (Get1K)\"\n",
        "\"GET /x HTTP/1.1\" 200 12 \"prestan: 7 (Put1K)\"\n",
        &twice,
    ] {
        assert_eq!(disagreements(bad, &run).len(), 1, "{bad}");
    }
    let unrecorded = good.replace("7", "8");
    assert_eq!(disagreements(&format!("{good}{unrecorded}"), &run).len(), 1);
    run.samples[0].resent = true;
    assert_eq!(disagreements(&twice, &run), none);
}
