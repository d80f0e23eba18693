//! Suites with several targets, named by steps.

use serde_json::{Value, json};
use testbed::fault::Rule;

use crate::interruption::kill;
use crate::roles::write;
use crate::support::faulty::{Faulty, status};
use crate::support::load::{plain, until};
use crate::support::real::started;
use crate::support::{Outcome, Prestan};

/// Resources written at the origin are read at the other target.
const SUITE: &str = "
suite: publishing
targets:
  origin: where documents are written
  copy: where they are read
constraints:
  read: failures(Read) == 0
tests:
  - name: Publishing
    setup:
      - PUT: doc
        body: {size: 1KiB}
      COPIED
    loop:
      - LOCK: doc
        body:
          xml: |
            <lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>
        save: {token: lock-token}
      - PUT: doc
        headers: {If: '({{ token }})'}
        body: {size: 1KiB}
        measure: Write
      - UNLOCK: doc
        headers: {Lock-Token: '{{ token }}'}
      - GET: doc
        target: copy
        expect: {body: {size: 1KiB}}
        measure: Read
";

/// Two servers with nothing in common: the document is written to both.
fn apart() -> String {
    let copied = "- PUT: doc\n        target: copy\n        body: {size: 1KiB}";
    SUITE.replace("COPIED", copied)
}

fn publish(text: &str, url: &str, options: &str) -> Outcome {
    let (_directory, path) = write(text);
    let run = prestan!("run {} {url} -q --json - -r 5", path);
    run.words(options).run()
}

/// The option for the target `copy`.
fn copy_at(url: &str) -> String {
    format!("--target copy={url}")
}

/// Rows of a result by their targets.
fn rows_of(result: &Value) -> Value {
    let targets = result["targets"].as_array().unwrap().iter();
    let pairs = targets.map(|of| json!([of["name"], of["url"], of["rows"]]));
    pairs.collect()
}

fn measured(server: &Faulty, measure: &str) -> usize {
    server.measured(measure).len()
}

/// Servers for the two targets.
fn both() -> [Faulty; 2] {
    [plain(), plain()]
}

#[track_caller]
fn assert_nothing_left(origin: &Faulty, copy: &Faulty) {
    assert_eq!(origin.left(), [""; 0]);
    assert_eq!(copy.left(), [""; 0]);
}

#[test]
fn each_step_goes_to_its_target_and_nothing_is_left_at_either() {
    let [origin, copy] = both();
    let (here, there) = (origin.url(), copy.url());
    let options = format!("{} -c 2", copy_at(&there));
    let outcome = publish(&apart(), &here, &options).ended(0);
    let result = outcome.json();
    let expected = json!([["origin", here, ["Write"]], ["copy", there, ["Read"]]]);
    assert_eq!(rows_of(&result), expected);
    // A user goes on, uncounted, until the other has finished.
    assert!(measured(&origin, "Write") >= 10 && measured(&origin, "Read") == 0);
    assert!(measured(&copy, "Read") >= 10 && measured(&copy, "Write") == 0);
    assert_nothing_left(&origin, &copy);

    let csv = prestan!(outcome.again() => "report --csv -").run().stdout;
    let urls = csv.lines().skip(1).map(|line| line.split(',').nth(1));
    let urls: Vec<_> = urls.collect();
    assert_eq!(urls, [Some(&*here), Some(&*there)], "{csv}");

    let anonymous = prestan!(outcome.again() => "report --label 'Server A'").run();
    anonymous.stdout_has("Server A");
    anonymous.stdout_has("copy");
    anonymous.stdout_lacks("127.0.0.1");

    let again = prestan!(outcome.again() => "report --log again.csv").run();
    again.stdout_has(&format!("copy {there}"));
    let log = again.read("again.csv");
    let mut lines = log.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let [measure, target] =
        ["measure", "target"].map(|name| head.iter().position(|column| *column == name).unwrap());
    for line in lines {
        let expected = if line[measure] == "Read" { "1" } else { "0" };
        assert_eq!(line[target], expected, "{line:?}");
    }
}

/// The second URL is that of a proxy before the first server: resources made at one exist at the
/// other.
#[test]
fn a_target_may_be_another_way_to_one_before_it() {
    let proxied = plain();
    let text = SUITE.replace("COPIED", "");
    let there = copy_at(&proxied.url());
    publish(&text, &proxied.demo.url(), &there).ended(0);
    assert!(measured(&proxied, "Read") >= 5 && measured(&proxied, "Write") == 0);
    assert_eq!(proxied.left(), [""; 0]);
}

#[test]
fn a_failure_at_one_target_is_of_its_row_only() {
    let origin = plain();
    let fails = Rule::new(status(500, &[], "")).method("GET");
    let copy = Faulty::new(|builder| builder.rule(fails));
    let there = copy_at(&copy.url());
    let outcome = publish(&apart(), &origin.url(), &there).ended(1);
    let result = outcome.json();
    assert_eq!(result["tests"][0]["status"], "ok");
    assert_eq!(result["tests"][1]["status"], "failed");
    assert_nothing_left(&origin, &copy);
}

#[test]
fn a_load_goes_to_all_targets_too() {
    let [origin, copy] = both();
    let (_directory, path) = write(&apart());
    for pace in ["-n 40 -c 4", "--rate 40 -d 1s -c 4"] {
        let load = prestan!("load --writes --mix {} {origin} -q --json -", path);
        let outcome = load.words(&copy_at(&copy.url())).words(pace).run();
        assert_ne!(outcome.code, 1, "{outcome}");
        let rows = |server| ["Write", "Read"].map(|row| measured(server, row));
        let counts = [&origin, &copy].map(rows);
        let [[written, 0], [0, read]] = counts else {
            panic!("{counts:?}")
        };
        assert!(written >= 10 && read >= 10, "{counts:?}");
        assert_nothing_left(&origin, &copy);
    }
}

/// A run that is killed leaves its collection at both.
#[test]
fn what_a_killed_run_left_is_removed_from_all_targets() {
    let [origin, copy] = both();
    let there = copy_at(&copy.url());
    let home = Prestan::new();
    home.file("suite.yaml", &apart());
    let run = prestan!(home => "run suite.yaml {origin} -q --duration 60s");
    let mut running = run.words(&there).spawn();
    until("the copy is read", || {
        assert!(!running.has_ended());
        measured(&copy, "Read") > 0
    });
    assert!(!origin.left().is_empty() && !copy.left().is_empty());
    let killed = kill(running);
    prestan!(killed.again() => "clean {origin}")
        .words(&there)
        .ends(0);
    assert_nothing_left(&origin, &copy);
}

#[test]
fn what_is_wrong_with_targets_of_the_command_line_is_said() {
    let server = plain();
    let table = "
        => --target copy=URL
        --target origin=HERE => is that of the URL
        --target other=HERE => beside that of the URL: copy
        --target copy=HERE --target copy=HERE => given twice
        --target copy=ftp://x/ => ftp
    ";
    for [options, says] in cases::rows(table) {
        let options = options.replace("HERE", &server.url());
        let outcome = publish(&apart(), &server.url(), &options).ended(2);
        outcome.stderr_has(says);
    }
    assert_eq!(server.exchanges().len(), 0);
}

/// Two independent programs.
#[test]
fn real_servers_are_targets_of_one_suite() {
    let (Some(apache), Some(nginx)) = (started("apache"), started("nginx")) else {
        return;
    };
    let before = [&apache, &nginx].map(|server| server.contents().unwrap());
    let there = copy_at(&nginx.url());
    let result = publish(&apart(), &apache.url(), &there).ended(0).json();
    let software = |target: usize| {
        let software = result["targets"][target]["server"]["software"].as_str();
        software.unwrap_or_default().to_lowercase()
    };
    assert!(software(0).contains("apache") && software(1).contains("nginx"));
    let left = [&apache, &nginx].map(|server| server.contents().unwrap());
    assert_eq!(left, before);
}
