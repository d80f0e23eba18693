//! Tests with roles and stop-watches: effects of one kind of users on another.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use testbed::fault::{Fault, Rule};

use crate::support::Outcome;
use crate::support::faulty::{Faulty, status};
use crate::support::load::{kept, plain};
use crate::support::rows::lacks_estimates;

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

pub(crate) fn run(server: &Faulty, text: &str, options: &[&str]) -> Outcome {
    let (_directory, path) = write(text);
    prestan!("run {} {server} -q --json -", path)
        .args(options)
        .run()
}

/// The suite with five constraints, with these iterations.
fn edit(server: &Faulty, requests: &str) -> Outcome {
    run(
        server,
        &EDITING.replace("CONSTRAINTS", FIVE),
        &["-r", requests],
    )
}

fn rows(outcome: &Outcome) -> Vec<Value> {
    outcome.json()["tests"].as_array().unwrap().clone()
}

pub(crate) fn row(outcome: &Outcome, name: &str) -> Value {
    let mut all = rows(outcome).into_iter();
    all.find(|row| row["measure"] == name).unwrap()
}

fn verdicts(outcome: &Outcome) -> Vec<(String, String)> {
    let document = outcome.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = document["constraints"].as_array().unwrap().iter();
    all.map(|line| (text(&line["name"]), text(&line["verdict"])))
        .collect()
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
    let outcome = run(&server, &EDITING.replace("CONSTRAINTS", ""), &["-r", "30"]);
    assert!(matches!(outcome.code, 0 | 3), "{outcome}");
    let names: Vec<Value> = rows(&outcome)
        .iter()
        .map(|row| row["measure"].clone())
        .collect();
    assert_eq!(names, ["Write", "OpenToSaved", "Read", "Handover"]);
    let roles = &outcome.json()["roles"];
    assert_eq!(roles[0]["name"], "writer");
    assert_eq!(
        (&roles[0]["users"], &roles[1]["users"]),
        (&1.into(), &2.into())
    );
    assert_eq!(roles[1]["rows"], serde_json::json!(["Read"]));
    let session = row(&outcome, "OpenToSaved");
    assert_eq!(session["method"], "stop-watch");
    assert!(
        session["response_us"]["min"].as_f64().unwrap() >= 5000.0,
        "{session}"
    );

    let run = kept(&outcome);
    let of = |name: &str| {
        let place = run
            .plan
            .measures
            .iter()
            .position(|measure| measure.name == name)
            .unwrap();
        let samples = run.samples.iter();
        samples
            .filter(move |sample| usize::from(sample.measure.0) == place)
            .collect::<Vec<_>>()
    };
    // The writer does its share, and the readers go on until it has.
    let written = of("Write").len();
    assert!((30..=31).contains(&written), "{written}");
    assert!(of("Read").len() > 60);
    assert!(
        of("Write")
            .iter()
            .all(|sample| (sample.role, sample.user) == (1, 0))
    );
    assert!(
        of("Read")
            .iter()
            .all(|sample| sample.role == 2 && sample.user > 0)
    );
    assert!(of("Handover").iter().all(|sample| sample.role == 2));
    // Each write is seen once, except perhaps the last, which may be after all reads.
    let seen = of("Handover").len();
    assert!((written - 2..=written).contains(&seen), "{seen}");
    // Iterations of the writer begin 15 ms apart, or later.
    let starts: Vec<u64> = of("OpenToSaved")
        .iter()
        .map(|sample| sample.moments.started)
        .collect();
    let total = starts.last().unwrap() - starts[0];
    assert!(total >= 28 * 15_000_000, "{total}");
    // A session ends with the response of its writing.
    for (session, write) in of("OpenToSaved").iter().zip(of("Write")) {
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
    let declared = EDITING.replace("CONSTRAINTS\n", "").replace(
        "  Handover: {across: users}",
        "  Handover: {across: users}\n  OpenToSaved: {unit: s}",
    );
    let outcome = run(&server, &declared, &[]).ended(0);
    assert_eq!(row(&outcome, "OpenToSaved")["unit"], "s", "{outcome}");
    assert!(row(&outcome, "Read").get("unit").is_none());
    let page = prestan!(outcome.again() => "report --html page.html").run();
    let page = std::fs::read_to_string(page.home().join("page.html")).unwrap();
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
    let refused = run(&server, &wrong, &[]).ended(2);
    let told = refused.stderr.contains("suite.yaml:6:") && refused.stderr.contains("GB");
    assert!(told, "{refused}");
}

/// These are the verdicts, but for times of which a busy machine leaves too little to estimate
/// them.
#[track_caller]
fn assert_verdicts(outcome: &Outcome, wanted: [&str; 5]) {
    let found = all_verdicts(outcome);
    let is_busy = lacks_estimates(&outcome.json());
    for (place, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let is_about_times = place < FIVE_ABOUT_TIMES;
        let is_unknown = is_busy && is_about_times && found == INCONCLUSIVE;
        assert!(found == wanted || is_unknown, "{place}: {outcome}");
    }
}

#[test]
fn a_suite_with_roles_ends_in_the_verdict_of_its_constraints() {
    let outcome = edit(&plain(), "60").ended(0);
    assert_verdicts(&outcome, [PASS; 5]);

    // The bound lies within the interval.
    let p50 = row(&outcome, "OpenToSaved")["response_us"]["p50"]
        .as_f64()
        .unwrap();
    let at = format!("constraints:\n  at: p50(OpenToSaved) < {p50} us\n");
    let judged = outcome.judged_by(&at);
    assert_eq!(verdict(&judged, "at"), "inconclusive", "{judged}");
}

#[test]
fn slow_and_failing_servers_have_verdicts_of_their_own() {
    let slow = Rule::new(Fault::Delay(Duration::from_millis(120))).tag("(Read)");
    let slow = edit(&Faulty::new(|builder| builder.rule(slow)), "100");
    assert_verdicts(&slow, [FAIL, PASS, PASS, PASS, PASS]);

    let broken = Rule::new(status(500, &[], "")).tag("(Write)").every(2);
    let outcome = edit(&Faulty::new(|builder| builder.rule(broken)), "60");
    assert_verdicts(&outcome, [PASS, PASS, PASS, PASS, FAIL]);
    assert_eq!(outcome.code, 1, "{outcome}");
    // A session in which the writing failed has no time. The writer's session at the beginning of
    // the window may have begun before it, and so may not count although its writing does.
    let (writes, sessions) = (row(&outcome, "Write"), row(&outcome, "OpenToSaved"));
    let failed = |row: &Value| row["outcomes"]["wrong_status"].as_u64().unwrap();
    assert!(
        failed(&sessions) > 0 && failed(&sessions).abs_diff(failed(&writes)) <= 1,
        "{sessions}"
    );
}

#[test]
fn numbers_of_users_that_roles_do_not_have_are_refused() {
    let server = plain();
    let text = EDITING.replace("CONSTRAINTS", "");
    let four = run(&server, &text, &["-c", "4"]).ended(2);
    four.stderr_has("use 3, or a multiple of it");
    let (_directory, path) = write(&text);
    let open = prestan!("load --writes --mix {} {server} --rate 10", path).ends(2);
    open.stderr_has("has roles, whose users begin operations themselves");
    assert!(server.server.exchanges().is_empty());
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
    assert!(
        run.samples
            .iter()
            .any(|sample| sample.role == 1 && sample.user == 3)
    );
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

/// Nanoseconds of the samples of a row.
fn times(outcome: &Outcome, name: &str) -> Vec<u64> {
    let run = kept(outcome);
    let place = run
        .plan
        .measures
        .iter()
        .position(|measure| measure.name == name);
    let samples = run
        .samples
        .iter()
        .filter(|sample| Some(usize::from(sample.measure.0)) == place);
    samples
        .map(|sample| sample.moments.response().unwrap())
        .collect()
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
    let spans = times(&outcome, "Span");
    assert!(spans.len() > 4, "{outcome}");
    assert!(spans.iter().all(|time| *time >= 300_000_000), "{spans:?}");
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
    let outcome = run(&plain(), text, &["-r", "20"]);
    assert!(matches!(outcome.code, 0 | 3), "{outcome}");
    assert!(
        row(&outcome, "Get")["operations"].as_u64().unwrap() >= 20,
        "{outcome}"
    );
    assert_eq!(row(&outcome, "Never")["status"], "not_drawn", "{outcome}");
}
