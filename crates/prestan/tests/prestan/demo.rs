//! The binary against the embedded server: the whole suite, its outputs and their destinations,
//! choosing and repeating a run, and own suites.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testbed::fault::ServedExchange;

use crate::support::load::{operations, plain};
use crate::support::rows::{self, assert_adds_up, contradictions, row, rows, statuses};
use crate::support::{Prestan, any_failed, names_in, schema};

/// `prestan demo` of a few tests, each measured twice.
fn demo(only: &str) -> Prestan {
    prestan!("demo --only {only} -r 2")
}

/// The same with the report that `prestan report` prints.
fn demo_in_full(only: &str) -> Prestan {
    prestan!(demo(only) => "--layout full")
}

fn docs() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))
}

#[test]
fn the_whole_suite_is_ok_and_is_reported_again_to_the_same_numbers() {
    let outcome = prestan!("demo --json result.json --csv rows.csv --layout full").ends(0);
    let document: Value = serde_json::from_str(&outcome.read("result.json")).unwrap();
    assert_eq!(rows::names(&document), rows::of_prestan());
    assert!(statuses(&document).values().all(|status| *status == "ok"));
    assert_adds_up(&document);
    for row in rows(&document) {
        // Ten levels and a hundred collections in the lowest.
        let each = if row["measure"] == "MkCol" { 110 } else { 1 };
        assert_eq!(row["outcomes"]["ok"], 10 * each, "{row:#}");
    }

    // The server has ended by now.
    let report = || prestan!(outcome.again() => "report");
    assert_eq!(report().run().stdout, outcome.stdout);
    let document = prestan!(report() => "--json -").run();
    assert_eq!(document.stdout, outcome.read("result.json"));
    let sheet = prestan!(report() => "--csv -").run();
    assert_eq!(sheet.stdout, outcome.read("rows.csv"));
    assert_eq!(sheet.stdout.lines().count(), 1 + rows::of_prestan().len());
    let saved = format!("\nSaved in {}\n", outcome.run().display());
    assert!(outcome.stdout.ends_with(&saved), "{outcome}");
}

#[test]
fn the_checks_of_rows_can_fail() {
    let outcome = prestan!(demo("Get1K") => "--json -").ends(0);
    let good = outcome.json();
    assert_adds_up(&good);
    let breakages: [fn(&mut Value); 5] = [
        |result| result["tests"][0]["outcomes"]["timeout"] = 1.into(),
        |result| result["tests"][0]["response_us"]["n"] = 3.into(),
        |result| result["tests"][0]["total_us"]["n"] = 0.into(),
        |result| result["tests"][0]["left_out"] = 1.into(),
        |result| result["left_out"] = 1.into(),
    ];
    for breakage in breakages {
        let mut bad = good.clone();
        breakage(&mut bad);
        assert!(!contradictions(&bad).is_empty(), "{bad:#}");
    }
}

#[test]
fn a_failed_test_is_seen_in_a_text_report() {
    let head = "                        n      p50  failed\n";
    let row = |failed| format!("{head}Get1K  Rsp = 944 µs  10  496 µs       {failed}\n");
    assert!(!any_failed(&row("0")));
    assert!(any_failed(&row("10")));
    assert!(any_failed(&row("failed")));
    assert!(any_failed("Get1K   failed   404 Not Found\n"));
    assert!(any_failed("Get1K   not measured   no workspace\n"));
    assert!(!any_failed("Lock    not supported   405\n"));
}

#[test]
fn a_hundred_users() {
    let outcome = prestan!("demo --skip *1024K --json - -c 100 -w 2 -d 2 -r 2 --warmup 0").ends(0);
    let document = outcome.json();
    assert_adds_up(&document);
    assert!(statuses(&document).values().all(|status| *status == "ok"));
    assert_every_user_did_its_share(&document, 100, 2);
}

#[test]
fn a_thousand_users() {
    let outcome =
        prestan!("demo --only Put1K,UnLock --json - -c 1000 -w 1 -d 1 -r 1 --warmup 0").ends(0);
    let document = outcome.json();
    assert_adds_up(&document);
    assert_every_user_did_its_share(&document, 1000, 1);
}

fn assert_every_user_did_its_share(document: &Value, users: u64, requests: u64) {
    assert_eq!(document["load"]["users"], users);
    for row in rows(document) {
        assert!(operations(row) >= users * requests, "{row:#}");
    }
}

#[test]
fn a_duration_instead_of_a_number() {
    let document = prestan!("demo --only Get1K,Put1K --duration 300ms --json -")
        .ends(0)
        .json();
    assert_adds_up(&document);
    assert_eq!(document["load"]["duration_s"], 0.3);
    assert_eq!(document["load"]["requests"], Value::Null);
    for row in rows(&document) {
        let window = row["window_s"].as_f64().unwrap();
        // It ends with the operation in flight, and begins with the first one.
        assert!((0.15..20.0).contains(&window), "{row:#}");
    }
}

#[test]
fn tests_are_chosen_by_name_and_pattern() {
    let chosen = |arguments: &str| -> String {
        let run = prestan!("demo -r 1 --warmup 0 -d 1 -w 1 --json -").words(arguments);
        rows::names(&run.ends(0).json()).join(" ")
    };
    // In the order of the suite, not of the command line.
    let table = "
        --only Put1K --only Copy,Get1K => Put1K Get1K Copy
        --only Put* --skip *64K => Put1K Put1024K
        --only Locks => Lock UnLock
        --only UnLock => UnLock
        --skip P* --skip *o* --skip Get* => Delete
    ";
    for [arguments, names] in cases::rows(table) {
        assert_eq!(chosen(arguments), names);
    }
}

/// Choices and pauses that are drawn.
const DRAWN: &str = "
suite: drawn
tests:
  - name: Drawn
    setup:
      - PUT: page
        body: {size: 16}
    loop:
      - choose:
          - steps: [{GET: page, measure: Read}]
            weight: 1
          - steps: [{PUT: page, body: {size: 16}, measure: Write}]
            weight: 1
";

#[test]
fn the_same_seed_gives_the_same_run() {
    let server = plain();
    let drawn = |seed: &[&str]| -> (String, u64) {
        let before = server.exchanges().len();
        let prestan = Prestan::new();
        let suite = prestan.file("drawn.yaml", DRAWN);
        let outcome = prestan!(prestan => "run {} {server} -r 40 --json -", suite)
            .args(seed)
            .ends(0);
        let seed = outcome.json()["load"]["seed"].as_u64().unwrap();
        let exchanges = server.exchanges();
        let measured = exchanges[before..].iter().filter(|one| is_measured(one));
        (measured.map(|one| &one.method[..1]).collect(), seed)
    };
    let (first, seed) = drawn(&["--seed", "4"]);
    assert_eq!((first.len(), seed), (40, 4));
    assert!(first.contains('G') && first.contains('P'), "{first}");
    assert_eq!(drawn(&["--seed", "4"]).0, first);
    assert_ne!(drawn(&["--seed", "5"]).0, first);
    // A seed that was drawn is kept with the run, which can so be repeated.
    let (unknown, seed) = drawn(&[]);
    assert_eq!(drawn(&["--seed", &seed.to_string()]).0, unknown);
}

/// The label of a measured request names a row, that of any other a phase or no number.
fn is_measured(exchange: &ServedExchange) -> bool {
    let (number, what) = exchange.label().split_once(" (").unwrap_or_default();
    !number.ends_with(": 0") && !what.contains(' ')
}

#[test]
fn every_request_says_who_sends_it_and_why() {
    let server = plain();
    let outcome = prestan!("{server} --only Put1K -r 4 --warmup 2").ends(0);
    let run = rundir::load(&outcome.run()).unwrap();

    let exchanges = server.exchanges();
    let mut numbers = BTreeSet::new();
    for exchange in &exchanges {
        let agent = exchange.header("user-agent").unwrap();
        assert_eq!(agent, concat!("prestan/", env!("CARGO_PKG_VERSION")));
        let label = exchange.label();
        let number = label.strip_prefix("prestan: ").unwrap();
        let (number, what) = number.split_once(' ').unwrap();
        let number: u64 = number.parse().unwrap();
        let outside = what == "(probe)" || what == "(workspace)";
        assert_eq!(number == 0, outside, "{label}");
        assert!(outside || numbers.insert(number), "{number} twice");
    }
    let numbers_of = |what: &str, method: &str| -> Vec<u64> {
        let sent = exchanges.iter().filter(|one| one.method == method);
        let labels = sent.filter_map(|one| one.label().strip_suffix(what)?.split(' ').nth(1));
        labels.map(|number| number.parse().unwrap()).collect()
    };
    let recorded: Vec<u64> = run.samples.iter().map(|sample| sample.number).collect();
    assert_eq!(numbers_of("(Put1K)", "PUT"), recorded);
    assert_eq!(recorded.len(), 4);
    assert_eq!(numbers_of("(Put1K warm-up)", "PUT").len(), 2);
    assert_eq!(numbers_of("(Put1K not measured)", "DELETE").len(), 4);
}

#[test]
fn warming_up_is_not_recorded() {
    for (rounds, said) in [
        ("0", "Warm-up: none (--warmup 0)"),
        ("3", "Warm-up: 3 rounds of each test"),
    ] {
        let server = plain();
        let outcome = prestan!("{server} --only Get1K -r 4 --warmup {rounds}").ends(0);
        let json = prestan!(outcome.again() => "report --json -").run().json();
        assert_eq!(row(&json, "Get1K")["response_us"]["n"], 4);
        outcome.stdout_has(said);
        let exchanges = server.exchanges();
        let gets = exchanges.iter().filter(|exchange| exchange.method == "GET");
        // The run looks at its marker twice.
        assert_eq!(gets.count(), 4 + 2 + rounds.parse::<usize>().unwrap());
    }
}

fn files_in(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap();
    let files = entries.map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() { files_in(&path) } else { 1 }
    });
    files.sum()
}

#[test]
fn a_run_is_kept_where_one_says_or_not_at_all() {
    let kept = prestan!(demo_in_full("Get1K") => "--save here/it/is").ends(0);
    let path = kept.home().join("here/it/is");
    let files = "plan.yaml suite.yaml env.json events.jsonl samples-00001.parquet";
    for file in files.split(' ') {
        assert!(path.join(file).is_file(), "{file}");
    }
    assert_eq!(kept.runs().len(), 0);
    let again = prestan!(kept.again() => "report here/it/is").run();
    assert_eq!(again.stdout, kept.stdout);

    let none = prestan!(demo("Get1K") => "--no-save").ends(0);
    none.stdout_lacks("Saved in");
    assert_eq!(none.runs().len(), 0);
    assert_eq!(files_in(none.home()), 0);
    let missing = prestan!(none.again() => "report").ends(2);
    missing.stderr_has("no run is kept in ");
}

#[test]
fn the_latest_run_and_a_run_by_name() {
    let first = prestan!(demo_in_full("Get1K") => "--run-id zz-first").ends(0);
    let second =
        prestan!(first.again() => "demo --only Put1K -r 1 --run-id aa-second --layout full")
            .ends(0);
    let latest = prestan!(first.again() => "report").run();
    assert_eq!(latest.stdout, second.stdout);
    let named = prestan!(first.again() => "report zz-first").run();
    assert_eq!(named.stdout, first.stdout);
    let unknown = prestan!(first.again() => "report third").ends(2);
    unknown.stderr_has("no run `third`");
}

#[test]
fn the_report_goes_into_a_file() {
    let outcome = prestan!(demo_in_full("Get1K") => "-o report.txt").ends(0);
    assert_eq!(outcome.stdout, "");
    let again = prestan!(outcome.again() => "report").run();
    assert_eq!(outcome.read("report.txt"), again.stdout);

    // A document on standard output takes the place of the report there, and only there.
    let both = prestan!(demo("Get1K") => "-o report.txt --json -").ends(0);
    assert_eq!(rows::names(&both.json()), ["Get1K"]);
    let says = "prestan on http://";
    assert!(both.read("report.txt").starts_with(says), "{both}");
}

/// Scripts that parse the old report can parse this one; anything else is reported beside it.
#[test]
fn the_layout_of_2004_is_the_old_report_and_nothing_else() {
    let outcome = prestan!(demo("Get1K") => "--layout 2004").ends(0);
    let (head, rows) = outcome.stdout.split_once("* Type of Methods ").unwrap();
    let warming_up = "\n\nServer Warming Up.....Done\n\n";
    assert!(head.contains(warming_up), "{outcome}");
    let (_, row) = rows.trim_end().rsplit_once("\n\n").unwrap();
    let time = row.strip_prefix("Get1K\tRsp = ").unwrap();
    time.strip_suffix(" [us]").unwrap().parse::<u64>().unwrap();
    let hints = [
        "prestan: 1 warning: `prestan report` prints it;",
        " warnings: `prestan report` prints them;",
    ];
    let has_hint = hints.iter().any(|hint| outcome.stderr.contains(hint));
    assert!(has_hint, "{outcome}");
    outcome.stderr_lacks(" 1 warnings");
}

#[test]
fn progress_is_plain_lines_more_or_none() {
    let plain = demo("Get1K,Put1K").ends(0).stderr;
    let lines: Vec<&str> = plain.lines().collect();
    let [first, last] = lines[..] else {
        panic!("{plain}")
    };
    assert!(
        first.contains(" %  ") && first.contains(" s  Put1K"),
        "{plain}"
    );
    assert!(
        last.starts_with("100 %  ") && last.ends_with(" s  Get1K"),
        "{plain}"
    );

    let verbose = prestan!(demo("PropfindLiveSingle,PropfindLiveMult") => "-v").ends(0);
    for said in [
        "PropfindLiveMult: set-up\n",
        "PropfindLiveMult: measuring\n",
        "PropfindLiveMult: the server does not give getcontentlanguage\n",
        "100 %  ",
    ] {
        verbose.stderr_has(said);
    }
    assert_eq!(prestan!(demo("Get1K") => "-q").ends(0).stderr, "");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let outcome = prestan!(demo("Get1K") => "--color never").ends(0);
    let colored = |arguments: &str, no_color: &str| -> bool {
        let report = prestan!(outcome.again() => "report").words(arguments);
        let report = report.env("NO_COLOR", no_color).run();
        report.stdout.contains('\u{1b}')
    };
    assert!(!outcome.stdout.contains('\u{1b}'));
    assert!(!colored("", ""), "standard output is no terminal");
    assert!(!colored("--color never", ""));
    // A killed run is reported in red.
    let env = outcome.run().join("env.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&env).unwrap()).unwrap();
    json["ended_at"] = Value::Null;
    fs::write(&env, json.to_string()).unwrap();
    assert!(colored("--color always", ""));
    assert!(!colored("", ""));
    assert!(colored("--color always", "1"), "the option counts more");
}

#[test]
fn json_follows_the_published_schema() {
    let validator = schema("result.schema.json");
    let defects = |document: &Value| -> Vec<String> {
        let errors = validator.iter_errors(document);
        errors.map(|error| error.to_string()).collect()
    };
    let mut document = prestan!(demo("Get1K,Lock*") => "--json -").ends(0).json();
    assert_eq!(defects(&document), [""; 0]);
    document["tests"][0]["status"] = "fine".into();
    assert_eq!(defects(&document).len(), 1);
}

#[test]
fn the_suite_of_the_documentation_runs() {
    let page = fs::read_to_string(docs().join("SUITES.md")).unwrap();
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (suite, _) = rest.split_once("```").unwrap();
    let server = plain();
    let prestan = Prestan::new();
    let file = prestan.file("my.yaml", suite);

    let check = prestan!("suites check {}", file).run();
    check.stdout_has("suite notes, 2 tests, measures Save, List, LockedPut;");
    // The command line of the page.
    let outcome = prestan!(prestan => "run {} {server} -r 100 -c 4 --json -", file).ends(0);

    let document = outcome.json();
    assert_adds_up(&document);
    assert_eq!(rows::names(&document), ["Save", "List", "LockedPut"]);
    assert!(statuses(&document).values().all(|status| *status == "ok"));
    assert_eq!(server.left(), [""; 0]);
}

const READING: &str = "
suite: reading
needs: http
tests:
  - name: Read
    loop:
      - GET: page.html
        expect: {status: [200], contains: [hello]}
        measure: Read
";

#[test]
fn a_suite_that_needs_no_webdav_makes_nothing_on_the_server() {
    let server = plain();
    fs::write(server.demo.root().join("page.html"), "hello").unwrap();
    let prestan = Prestan::new();
    let file = prestan.file("reading.yaml", READING);
    let outcome = prestan!(prestan => "run {} {server} -c 3 --json -", file).ends(0);

    assert_eq!(statuses(&outcome.json())["Read"], "ok");
    assert_adds_up(&outcome.json());
    let exchanges = server.exchanges();
    let methods: BTreeSet<&str> = exchanges.iter().map(|exchange| &*exchange.method).collect();
    assert_eq!(methods, BTreeSet::from(["GET", "OPTIONS"]));
    assert_eq!(server.left(), ["page.html"]);

    let writing = Prestan::new();
    let file = writing.file("writing.yaml", &READING.replace("- GET", "- PUT"));
    let refused = prestan!(writing => "suites check {}", file).ends(2);
    refused.stderr_has("PUT");
}

/// A process that ends with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // It has usually ended, and nothing is to be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serve_serves_a_directory_until_it_is_stopped() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("files");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("precious.txt"), "not ours").unwrap();
    let mut serving = Serving(
        Command::new(env!("CARGO_BIN_EXE_prestan"))
            .arg("serve")
            .arg(&directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut said = BufReader::new(serving.0.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let url = line.trim_end().rsplit(' ').next().unwrap().to_owned();
    let served = directory.canonicalize().unwrap();
    assert_eq!(line, format!("serving {} at {url}\n", served.display()));

    let outcome = prestan!("{url} -r 1 -d 1 -w 1").ends(0);
    outcome.stdout_has("\nServer: Prestan-demo, HTTP/1.1\n");
    let pid = Pid::from_child(&serving.0);
    kill_process(pid, Signal::TERM).unwrap();

    assert_eq!(serving.0.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert_eq!(names_in(&directory), ["precious.txt"]);
}
