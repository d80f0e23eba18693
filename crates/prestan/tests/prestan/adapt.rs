//! Loads whose number of users changes with what is measured.

use record::{EventKind, Run};

use crate::roles::write;
use crate::support::faulty::Faulty;
use crate::support::load::{kept, plain};
use crate::support::{Outcome, Prestan};

const SUITE: &str = "
suite: growing
adapt:
  users: [1, 6]
  every: 300ms
RULE
tests:
  - name: Reading
    loop:
      - GET: ''
        measure: Read
";

fn run(server: &Faulty, text: &str, options: &str) -> Outcome {
    let (_directory, path) = write(text);
    let prestan = Prestan::new().words(options).arg(&path);
    prestan!(prestan => "{server} -q --json -").run()
}

fn load(server: &Faulty, rule: &str, options: &str) -> Outcome {
    let options = format!("load {options} --mix");
    run(server, &SUITE.replace("RULE", rule), &options)
}

/// Numbers of users, one after the other.
fn changes(run: &Run) -> Vec<(u32, u16)> {
    let change = |kind: &EventKind| match kind {
        EventKind::LoadChanged { users, phase } => Some((*users, *phase)),
        _ => None,
    };
    let kinds = run.events.iter().map(|event| &event.kind);
    kinds.filter_map(change).collect()
}

/// Numbers of users alone.
fn numbers_of_users(outcome: &Outcome) -> Vec<u32> {
    let changes = changes(&kept(outcome)).into_iter();
    changes.map(|(users, _)| users).collect()
}

#[test]
fn a_ladder_is_climbed_and_its_rungs_have_figures() {
    let server = plain();
    let rule = "  ladder: [1, 4, 2]";
    let options =
        "--duration 5s --fail-if 'operations(Read, stage 2) == 0 or operations(Read, stage 9) > 0'";
    let outcome = load(&server, rule, options);
    let run = kept(&outcome);
    assert_eq!(changes(&run), [(1, 0), (4, 1), (2, 2)], "{outcome}");
    for sample in &run.samples {
        // Operations that were under way when there were fewer users end all the same.
        let most = [1, 4, 2][usize::from(sample.phase)];
        assert!(sample.user < most, "{sample:?}");
    }
    assert_eq!(run.plan.load.users, 6);
    let document = outcome.json();
    let steps = document["load_steps"].as_array().unwrap();
    let figures = |name: &str| -> Vec<u64> {
        let figures = steps.iter().map(|step| step[name].as_u64().unwrap());
        figures.collect()
    };
    assert_eq!(figures("users"), [1, 4, 2]);
    let counted: u64 = figures("operations").iter().sum();
    assert_eq!(document["tests"][0]["operations"], counted);
    // A rate that is changed on purpose has no interval.
    assert!(document["tests"][0]["per_second_ci95"].is_null());
    let text = prestan!(outcome.again() => "report").run();
    text.stdout_has("\n1, 4, 2 users, each for 0.3 s. No intervals: a step is short.\n");
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_load_grows_while_its_condition_is_true_and_shrinks_again() {
    let server = plain();
    let rule = "  raise: operations(Read) < 4000000000\n  lower: p50(Read) > 1 h";
    let outcome = load(&server, rule, "--duration 8s");
    assert_eq!(numbers_of_users(&outcome), [1, 2, 4, 6], "{outcome}");
    // Once there was too much, by an eighth at a time.
    let rule = "  raise: operations(Read) < 50\n  lower: operations(Read) >= 50";
    let outcome = load(&server, rule, "--duration 5s");
    assert_eq!(numbers_of_users(&outcome).last(), Some(&1), "{outcome}");
}

/// Steps of the suite that change the number of users.
const STEPS: &str = "
      - when: operations(Read) > 200
        steps: [{users: 4}]
        else: [{users: 2}]
";

#[test]
fn steps_change_the_number_of_users_and_each_is_kept_for_a_while() {
    let server = plain();
    let suite = SUITE.replace("RULE", "") + STEPS.trim_start_matches('\n');
    let outcome = run(&server, &suite, "load --duration 4s --mix");
    let run = kept(&outcome);
    assert_eq!(changes(&run), [(1, 0), (2, 1), (4, 2)], "{outcome}");
    let events = run.events.iter();
    let changes = events.filter(|event| matches!(event.kind, EventKind::LoadChanged { .. }));
    let at: Vec<u64> = changes.map(|event| event.at).collect();
    assert!(at[2] - at[1] >= 300_000_000, "{at:?}");
    let text = prestan!(outcome.again() => "report").run();
    text.stdout_has("1 to 6 users, as steps of the suite say; each number for 0.3 s at least");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_sent() {
    let server = plain();
    let ladder = SUITE.replace("RULE", "  ladder: [1, 2]");
    let table = "
        load --pipeline 4 --mix => --pipeline cannot be combined with that
        run => only a closed loop can: use `prestan load --mix growing`
        load --rate 10 --mix => only a closed loop can
        load --users 5 --mix => --users 5 says something else
    ";
    for [options, says] in cases::rows(table) {
        run(&server, &ladder, options).ended(2).stderr_has(says);
    }
    assert!(server.exchanges().is_empty());
}
