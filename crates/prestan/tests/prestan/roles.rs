//! Tests with roles and stop-watches: effects of one kind of users on another.

use std::path::PathBuf;
use std::time::Duration;

use record::{Run, Sample};
use serde_json::Value;
use tempfile::TempDir;
use testbed::fault::{Fault, Rule};

use crate::support::Outcome;
use crate::support::faulty::{Faulty, status};
use crate::support::load::{kept, plain};
use crate::support::rows::{lacks_estimates, names};

/// Readers beside a writer, with a time of each session of the writer and one from a writing to the
/// next reading.
const EDITING: &str = "
suite: editing
params: {requests: 30}
stopwatches:
  Handover: {across: users}
CONSTRAINTS
tests:
  - name: Editing
    shared: true
    setup:
      - PUT: doc
        body: {size: 1KiB}
    roles:
      writer:
        pace: 15ms
        loop:
          - start: OpenToSaved
          - GET: doc
          - think: {constant: 5ms}
          - PUT: saved
            body: {size: 1KiB}
            measure: Write
          - stop: OpenToSaved
          - start: Handover
      reader:
        users: 2
        loop:
          - GET: doc
            measure: Read
          - stop: Handover
";

const FIVE: &str = "constraints:
  reads: p50(Read) < 100 ms
  session: p50(OpenToSaved) < 10 s and min(OpenToSaved) >= 5 ms
  seen: max(Handover) < 10 s
  beside: mean(Read) < 1000 * mean(Write) + 10 s
  clean: failures(Read) == 0 and failures(Write) == 0 and failures(OpenToSaved) == 0";

pub(crate) fn write(text: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("suite.yaml");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

pub(crate) fn run(server: &Faulty, text: &str, options: &str) -> Outcome {
    let (_directory, path) = write(text);
    let prestan = prestan!("run {} {server} -q --json -", path);
    prestan.words(options).run()
}

/// The suite with five constraints, with these iterations.
fn edit(server: &Faulty, requests: u32) -> Outcome {
    let suite = EDITING.replace("CONSTRAINTS", FIVE);
    run(server, &suite, &format!("-r {requests}"))
}

pub(crate) fn row(outcome: &Outcome, name: &str) -> Value {
    crate::support::rows::row(&outcome.json(), name).clone()
}

fn verdicts(outcome: &Outcome) -> Vec<(String, String)> {
    let document = outcome.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = document["constraints"].as_array().unwrap().iter();
    let verdict = |line: &Value| (text(&line["name"]), text(&line["verdict"]));
    all.map(verdict).collect()
}

/// Of these constraints, the last one is about counts.
const FIVE_ABOUT_TIMES: usize = 4;

const PASS: &str = "pass";
const FAIL: &str = "fail";
const INCONCLUSIVE: &str = "inconclusive";

/// The verdicts of all constraints, in their order.
fn all_verdicts(outcome: &Outcome) -> Vec<String> {
    let all = verdicts(outcome).into_iter();
    all.map(|(_, verdict)| verdict).collect()
}

pub(crate) fn verdict(outcome: &Outcome, name: &str) -> String {
    let mut all = verdicts(outcome).into_iter();
    all.find(|(known, _)| known == name).unwrap().1
}

#[test]
fn roles_are_at_work_together_and_stop_watches_are_rows() {
    let server = plain();
    let suite = EDITING.replace("CONSTRAINTS", "");
    let outcome = run(&server, &suite, "-r 30");
    assert!(matches!(outcome.code, 0 | 3), "{outcome}");
    let document = outcome.json();
    let expected = ["Write", "OpenToSaved", "Read", "Handover"];
    assert_eq!(names(&document), expected);
    let roles = &document["roles"];
    assert_eq!(roles[0]["name"], "writer");
    assert_eq!(roles[0]["users"], 1);
    assert_eq!(roles[1]["users"], 2);
    assert_eq!(roles[1]["rows"], serde_json::json!(["Read"]));
    let session = row(&outcome, "OpenToSaved");
    assert_eq!(session["method"], "stop-watch");
    let shortest_us = session["response_us"]["min"].as_f64().unwrap();
    assert!(shortest_us >= 5000.0, "{session}");

    let run = kept(&outcome);
    let [written, sessions, read, handed_over] = expected.map(|name| samples_of(&run, name));
    // The writer does its share, and the readers go on until it has.
    let writes = written.len();
    assert!((30..=31).contains(&writes), "{writes}");
    assert!(read.len() > 60);
    assert!(written.iter().all(|one| (one.role, one.user) == (1, 0)));
    assert!(read.iter().all(|one| one.role == 2 && one.user > 0));
    assert!(handed_over.iter().all(|one| one.role == 2));
    // Each write is seen once, except perhaps the last, which may be after all reads.
    let seen = handed_over.len();
    assert!((writes - 2..=writes).contains(&seen), "{seen}");
    // Iterations of the writer begin 15 ms apart, or later.
    let started = |index: usize| sessions[index].moments.started;
    let total = started(sessions.len() - 1) - started(0);
    assert!(total >= 28 * 15_000_000, "{total}");
    // A session ends with the response of its writing.
    for (session, write) in sessions.iter().zip(written) {
        assert_eq!(session.moments.done, write.moments.done);
    }
    assert_eq!(server.left(), [""; 0]);

    let text = prestan!(outcome.again() => "report").run();
    text.stdout_has("Role reader of Editing: 2 users\n");
    text.stdout_has("pauses included: OpenToSaved, Handover\n");
}

#[test]
fn a_declared_unit_is_that_of_all_times_of_a_row() {
    let server = plain();
    let handover = "  Handover: {across: users}";
    let declared = EDITING
        .replace("CONSTRAINTS\n", "")
        .replace(handover, &format!("{handover}\n  OpenToSaved: {{unit: s}}"));
    let outcome = run(&server, &declared, "").ended(0);
    assert_eq!(row(&outcome, "OpenToSaved")["unit"], "s", "{outcome}");
    assert!(row(&outcome, "Read").get("unit").is_none());
    let page = prestan!(outcome.again() => "report --html page.html").run();
    let page = page.read("page.html");
    let text = prestan!(outcome.again() => "report").run().stdout;
    let line = text.lines().find(|line| line.starts_with("OpenToSaved"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    // At least 5 ms.
    assert!(line.contains("Rsp = 0.0") && line.contains(" s "), "{line}");
    assert!(!line.contains(" ms") && !line.contains("µs"), "{line}");
    let start = page.find(">OpenToSaved</th>").unwrap();
    let cells = &page[start..start + page[start..].find("</tr>").unwrap()];
    assert!(cells.contains(" s<") && !cells.contains(" ms"), "{cells}");

    let wrong = declared.replace("unit: s", "unit: GB");
    let refused = run(&server, &wrong, "").ended(2);
    refused.stderr_has("suite.yaml:6:");
    refused.stderr_has("GB");
}

/// These are the verdicts, but for times of which a busy machine leaves too little to estimate
/// them.
#[track_caller]
fn assert_verdicts(outcome: &Outcome, wanted: [&str; 5]) {
    let found = all_verdicts(outcome);
    let is_busy = lacks_estimates(&outcome.json());
    for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let is_about_times = index < FIVE_ABOUT_TIMES;
        let is_unknown = is_busy && is_about_times && found == INCONCLUSIVE;
        assert!(found == wanted || is_unknown, "{index}: {outcome}");
    }
}

#[test]
fn a_suite_with_roles_ends_in_the_verdict_of_its_constraints() {
    let outcome = edit(&plain(), 60).ended(0);
    assert_verdicts(&outcome, [PASS; 5]);

    // The bound lies within the interval.
    let p50 = &row(&outcome, "OpenToSaved")["response_us"]["p50"];
    let at = format!("constraints:\n  at: p50(OpenToSaved) < {p50} us\n");
    let judged = outcome.judged_by(&at);
    assert_eq!(verdict(&judged, "at"), "inconclusive", "{judged}");
}

#[test]
fn slow_and_failing_servers_have_verdicts_of_their_own() {
    let slow = Rule::new(Fault::Delay(Duration::from_millis(120))).tag("(Read)");
    let slow = edit(&Faulty::new(|builder| builder.rule(slow)), 100);
    assert_verdicts(&slow, [FAIL, PASS, PASS, PASS, PASS]);

    let broken = Rule::new(status(500, &[], "")).tag("(Write)").every(2);
    let outcome = edit(&Faulty::new(|builder| builder.rule(broken)), 60);
    assert_verdicts(&outcome, [PASS, PASS, PASS, PASS, FAIL]);
    assert_eq!(outcome.code, 1, "{outcome}");
    // A session in which the writing failed has no time. The writer's session at the beginning of
    // the window may have begun before it, and so may not count although its writing does.
    let (writes, sessions) = (row(&outcome, "Write"), row(&outcome, "OpenToSaved"));
    let failed = |row: &Value| row["outcomes"]["wrong_status"].as_u64().unwrap();
    let (sessions, writes) = (failed(&sessions), failed(&writes));
    assert!(sessions > 0 && sessions.abs_diff(writes) <= 1, "{outcome}");
}

#[test]
fn numbers_of_users_that_roles_do_not_have_are_refused() {
    let server = plain();
    let text = EDITING.replace("CONSTRAINTS", "");
    let four = run(&server, &text, "-c 4").ended(2);
    four.stderr_has("use 3, or a multiple of it");
    let (_directory, path) = write(&text);
    let open = prestan!("load --writes --mix {} {server} --rate 10", path).ends(2);
    open.stderr_has("has roles, whose users begin operations themselves");
    assert!(server.exchanges().is_empty());
}

#[test]
fn in_a_load_each_user_has_the_operations_of_its_role() {
    let server = plain();
    let (_directory, path) = write(&EDITING.replace("CONSTRAINTS", ""));
    let path = path.display();
    let outcome =
        prestan!("load --writes --mix {path} {server} --users 6 --requests 600 -q --json -").run();
    assert!(matches!(outcome.code, 0 | 3), "{outcome}");
    let run = kept(&outcome);
    let is_second_writer = |sample: &Sample| sample.role == 1 && sample.user == 3;
    assert!(run.samples.iter().any(is_second_writer));
    for sample in &run.samples {
        let expected = if sample.user % 3 == 0 { 1 } else { 2 };
        assert_eq!(sample.role, expected, "{sample:?}");
    }
}

/// A suite of one test with this loop, as a load of so long.
pub(crate) fn load_of(server: &Faulty, steps: &str, duration: &str) -> Outcome {
    let text = format!("suite: watched\ntests:\n  - name: T\n    loop:\n{steps}");
    let (_directory, path) = write(&text);
    let path = path.display();
    prestan!("load --mix {path} {server} --duration {duration} --users 2 -q --json -").run()
}

fn samples_of(run: &Run, name: &str) -> Vec<Sample> {
    let measures = &run.plan.measures;
    let is_of_row = |sample: &&Sample| measures[usize::from(sample.measure.0)].name == name;
    run.samples.iter().filter(is_of_row).cloned().collect()
}

#[test]
fn a_time_that_the_end_of_the_load_cuts_off_is_none() {
    let steps = "
      - start: Span
      - think: {constant: 300ms}
      - GET: ''
        measure: Get
      - stop: Span
";
    let outcome = load_of(&plain(), steps, "2s");
    let spans = samples_of(&kept(&outcome), "Span");
    assert!(spans.len() > 4, "{outcome}");
    let is_whole = |span: &Sample| span.moments.response().unwrap() >= 300_000_000;
    assert!(spans.iter().all(is_whole), "{spans:?}");
}

#[test]
fn users_who_do_nothing_hold_nobody_up() {
    let text = "suite: idle
needs: http
tests:
  - name: T
    roles:
      idle:
        loop:
          - when: p50(Get) > 1 h
            steps: [{GET: '', measure: Never}]
      busy:
        loop:
          - GET: ''
            measure: Get
";
    let outcome = run(&plain(), text, "-r 20");
    assert!(matches!(outcome.code, 0 | 3), "{outcome}");
    let operations = row(&outcome, "Get")["operations"].as_u64().unwrap();
    assert!(operations >= 20, "{outcome}");
    assert_eq!(row(&outcome, "Never")["status"], "not_drawn", "{outcome}");
}
