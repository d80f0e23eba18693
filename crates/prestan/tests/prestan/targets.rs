//! Suites with several targets, named by steps.

use serde_json::{Value, json};
use testbed::fault::Rule;

use crate::interruption::kill;
use crate::roles::write;
use crate::support::faulty::{Faulty, status};
use crate::support::load::until;
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
    SUITE.replace(
        "COPIED",
        "- PUT: doc\n        target: copy\n        body: {size: 1KiB}",
    )
}

fn publish(text: &str, url: &str, options: &[&str]) -> Outcome {
    let (_directory, path) = write(text);
    prestan!("run {} {url} -q --json - -r 5", path)
        .args(options)
        .run()
}

fn target(name: &str, url: &str) -> String {
    format!("--target={name}={url}")
}

/// Rows of a result by their targets.
fn rows_of(result: &Value) -> Value {
    let targets = result["targets"].as_array().unwrap().iter();
    let pairs = targets.map(|of| json!([of["name"], of["url"], of["rows"]]));
    pairs.collect()
}

fn asked(server: &Faulty, measure: &str) -> usize {
    server.measured(measure).len()
}

#[test]
fn each_step_goes_to_its_target_and_nothing_is_left_at_either() {
    let [origin, copy] = [(), ()].map(|()| Faulty::new(|builder| builder));
    let (here, there) = (origin.server.url(), copy.server.url());
    let outcome = publish(&apart(), &here, &[&target("copy", &there), "-c", "2"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let result = outcome.json();
    let expected = json!([["origin", here, ["Write"]], ["copy", there, ["Read"]]]);
    assert_eq!(rows_of(&result), expected);
    // A user goes on, uncounted, until the other has finished.
    assert!(asked(&origin, "Write") >= 10 && asked(&origin, "Read") == 0);
    assert!(asked(&copy, "Read") >= 10 && asked(&copy, "Write") == 0);
    assert_eq!((origin.left(), copy.left()), (vec![], vec![]));

    let csv = prestan!(outcome.again() => "report --csv -").run().stdout;
    let urls: Vec<_> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1))
        .collect();
    assert_eq!(urls, [Some(&*here), Some(&*there)], "{csv}");

    let anonymous = prestan!(outcome.again() => "report --label 'Server A'")
        .run()
        .stdout;
    assert!(
        anonymous.contains("Server A") && anonymous.contains("copy"),
        "{anonymous}"
    );
    assert!(!anonymous.contains("127.0.0.1"), "{anonymous}");

    let log = outcome.home().join("again.csv");
    let again = prestan!(outcome.again() => "report --log {}", log).run();
    assert!(
        again.stdout.contains(&format!("copy {there}")),
        "{}",
        again.stdout
    );
    let log = std::fs::read_to_string(log).unwrap();
    let mut lines = log.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let [measure, place] =
        ["measure", "target"].map(|name| head.iter().position(|column| *column == name).unwrap());
    for line in lines {
        let expected = if line[measure] == "Read" { "1" } else { "0" };
        assert_eq!(line[place], expected, "{line:?}");
    }
}

/// The second URL is that of a proxy before the first server: resources made at one exist at the
/// other.
#[test]
fn a_target_may_be_another_way_to_one_before_it() {
    let proxied = Faulty::new(|builder| builder);
    let (here, there) = (proxied.demo.url(), proxied.server.url());
    let text = SUITE.replace("COPIED", "");
    let outcome = publish(&text, &here, &[&target("copy", &there)]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(asked(&proxied, "Read") >= 5 && asked(&proxied, "Write") == 0);
    assert_eq!(proxied.left(), Vec::<String>::new());
}

#[test]
fn a_failure_at_one_target_is_of_its_row_only() {
    let origin = Faulty::new(|builder| builder);
    let copy = Faulty::new(|builder| builder.rule(Rule::new(status(500, &[], "")).method("GET")));
    let there = target("copy", &copy.server.url());
    let outcome = publish(&apart(), &origin.server.url(), &[&there]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let result = outcome.json();
    let status_of = |row: usize| result["tests"][row]["status"].clone();
    assert_eq!((status_of(0), status_of(1)), (json!("ok"), json!("failed")));
    assert_eq!((origin.left(), copy.left()), (vec![], vec![]));
}

#[test]
fn a_load_asks_all_targets_too() {
    let [origin, copy] = [(), ()].map(|()| Faulty::new(|builder| builder));
    let (_directory, path) = write(&apart());
    for pace in ["-n 40 -c 4", "--rate 40 -d 1s -c 4"] {
        let outcome = prestan!(
            "load --writes --mix {} {origin} {} -q --json -",
            path,
            target("copy", &copy.server.url())
        )
        .words(pace)
        .run();
        assert_ne!(outcome.code, 1, "{}", outcome.stderr);
        let counts = [&origin, &copy].map(|server| ["Write", "Read"].map(|row| asked(server, row)));
        let [[written, 0], [0, read]] = counts else {
            panic!("{counts:?}")
        };
        assert!(written >= 10 && read >= 10, "{counts:?}");
        assert_eq!((origin.left(), copy.left()), (vec![], vec![]));
    }
}

/// A run that is killed leaves its collection at both.
#[test]
fn what_a_killed_run_left_is_removed_from_all_targets() {
    let [origin, copy] = [(), ()].map(|()| Faulty::new(|builder| builder));
    let there = target("copy", &copy.server.url());
    let home = Prestan::new();
    let path = home.file("suite.yaml", &apart());
    let mut running = prestan!(home => "run {} {origin} {there} -q --duration 60s", path).spawn();
    let is_there = |server: &Faulty| !server.left().is_empty();
    until("the copy is read", || {
        assert!(!running.has_ended());
        asked(&copy, "Read") > 0
    });
    assert!(is_there(&origin) && is_there(&copy));
    let killed = kill(running);
    let cleaned = prestan!(killed.again() => "clean {origin} {there}").run();
    assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
    assert_eq!((origin.left(), copy.left()), (vec![], vec![]));
}

#[test]
fn what_is_wrong_with_targets_of_the_command_line_is_said() {
    let server = Faulty::new(|builder| builder);
    let url = server.server.url();
    let says = |options: &[String], what: &str| {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let outcome = publish(&apart(), &url, &options);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(what), "{}", outcome.stderr);
    };
    says(&[], "--target copy=URL");
    says(&[target("origin", &url)], "is that of the URL");
    says(&[target("other", &url)], "beside that of the URL: copy");
    says(&[target("copy", &url), target("copy", &url)], "given twice");
    says(&[target("copy", "ftp://x/")], "ftp");
    assert_eq!(server.server.exchanges().len(), 0);
}

/// Two independent programs.
#[test]
fn real_servers_are_targets_of_one_suite() {
    let (Some(apache), Some(nginx)) = (started("apache"), started("nginx")) else {
        return;
    };
    let before = [&apache, &nginx].map(|server| server.contents().unwrap());
    let (here, there) = (apache.url(), nginx.url());
    let outcome = publish(&apart(), &here, &[&target("copy", &there)]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let result = outcome.json();
    let software = |place: usize| {
        let said = result["targets"][place]["server"]["software"].as_str();
        said.unwrap_or_default().to_lowercase()
    };
    assert!(software(0).contains("apache") && software(1).contains("nginx"));
    let left = [&apache, &nginx].map(|server| server.contents().unwrap());
    assert_eq!(left, before);
}
