//! `prestan diagnose URL` that fails: its report, and the directory of the interrupted run.

use std::time::Duration;

use rustix::process::Signal;
use testbed::fault::{Fault, Rule};

use crate::support::faulty::Faulty;
use crate::support::load::{plain, until};
use crate::support::{Outcome, Prestan};

/// Rows of the suite `prestan` but for GET.
const NOT_GET: &str = "Prop*,Put*,Copy*,Move*,Delete*,MkCol,Lock*,*64K,*1024K";

/// Measures until the server has seen these requests of the row, and is interrupted then.
fn interrupted_at(server: &Faulty, row: &str, prestan: Prestan) -> Outcome {
    let running = prestan.spawn();
    until("the server has seen measured requests", || {
        server.measured(row).len() >= 5
    });
    let outcome = running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0]);
    outcome
}

/// The last run that was kept, as the message names it.
fn assert_names_last_run(outcome: &Outcome, suite: &str) {
    let run = outcome.runs().pop().unwrap();
    let said = format!(
        "prestan: the run of suite {suite} was interrupted; `prestan report {}` prints what it \
         measured until then",
        run.display()
    );
    outcome.stderr_has(&said);
    let report = prestan!(outcome.again() => "report {}", run).ends(0);
    report.stdout_has("Interrupted by the user");
}

#[test]
fn interrupted_in_its_first_suite_it_names_the_run_and_claims_no_report() {
    let server = plain();
    let prestan = prestan!("diagnose {server} --skip {NOT_GET} -r 1000000 --quiet --json j.json");
    let outcome = interrupted_at(&server, "Get1K", prestan);
    assert_names_last_run(&outcome, "prestan");
    outcome.stderr_has("; there is no diagnosis, because no suite was measured");
    outcome.stderr_lacks("the report is of");
    assert_eq!(outcome.stdout, "");
    assert!(!outcome.home().join("j.json").exists());
}

/// Its server responds slowly to a row of its second suite.
fn slow_later() -> (Faulty, Prestan) {
    let slow = Fault::AnswerAfter(Duration::from_millis(100));
    let server = Faulty::new(|builder| builder.rule(Rule::new(slow).tag("(GetUnchanged)")));
    let prestan = prestan!(
        "diagnose {server} --skip {NOT_GET} --suite prestan,features,listing -r 400 --load-users 8 \
        --quiet --json j.json --html d.html"
    );
    (server, prestan)
}

const MISSING: &str = "Not measured: suite features, suite listing, suite prestan with 8 users.";

#[test]
fn when_its_server_dies_it_says_why_and_what_was_not_measured() {
    let (server, prestan) = slow_later();
    let url = server.url();
    let running = prestan.spawn();
    until("the server has seen measured requests", || {
        server.measured("GetUnchanged").len() >= 5
    });
    drop(server);
    let outcome = running.ends(4);
    let flowed = outcome.stdout.replace('\n', " ");
    let said =
        format!("Incomplete: the diagnosis ended early: {url} refuses connections after run 2: ");
    assert!(flowed.starts_with(&said), "{outcome}");
    assert!(flowed.contains(MISSING), "{outcome}");
}

#[test]
fn interrupted_later_it_says_first_what_was_not_measured() {
    let (server, prestan) = slow_later();
    let outcome = interrupted_at(&server, "GetUnchanged", prestan);
    assert_names_last_run(&outcome, "features");
    let missing = format!("the diagnosis was interrupted. {MISSING}");
    let first = outcome.stdout.lines().next().unwrap();
    assert_eq!(first, format!("Incomplete: {missing}"), "{outcome}");

    let document: serde_json::Value = serde_json::from_str(&outcome.read("j.json")).unwrap();
    assert_eq!(document["incomplete"]["reason"], "interrupted");
    assert_eq!(document["incomplete"]["text"], missing);
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    let page = outcome.read("d.html");
    let title = format!("<title>Diagnosis of {server}</title>");
    assert!(page.contains(&title), "no {title}");
    assert!(
        page.contains(&missing),
        "the page hides that it is incomplete"
    );
}
