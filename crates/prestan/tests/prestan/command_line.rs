//! Output for users: help, lists, errors, completions, the manual page, and the shape of every kind
//! of report. Snapshots: `cargo xtask bless` writes them again, to be read with `git diff`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use builtin::SUITES;
use insta::assert_snapshot;
use serde_json::Value;

use crate::support::faulty::no_secret_in;
use crate::support::load::plain;
use crate::support::rows::{self, assert_adds_up, statuses};
use crate::support::{Outcome, Prestan, sub_commands};
use crate::support::{names_in, shape};

/// A command line in a terminal of 100 columns, as the words between blanks.
fn prestan(line: &str) -> Prestan {
    let words = line.split(' ').filter(|word| !word.is_empty());
    Prestan::new().env("COLUMNS", "100").args(words)
}

/// Output of a command line that succeeds.
#[track_caller]
fn printed(line: &str) -> String {
    let outcome = prestan(line).run();
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{outcome}");
    outcome.stdout
}

#[test]
fn help_short_and_long() {
    assert_snapshot!("help_short", printed("-h"));
    assert_snapshot!("help_long", printed("--help"));
    // Without arguments, the output explains how to continue.
    let nothing = prestan("").ends(2);
    assert_eq!(nothing.stderr, printed("-h"));
}

#[test]
fn help_of_each_sub_command() {
    for name in sub_commands() {
        assert_snapshot!(format!("help_{name}"), printed(&format!("{name} --help")));
    }
    let actions = ["list", "show", "check", "schema"];
    let texts = actions.map(|action| printed(&format!("suites {action} --help")));
    assert_snapshot!("help_suites_actions", texts.join("\n----\n\n"));
}

#[test]
fn version() {
    let version = concat!("prestan ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(printed("--version"), version);
}

#[test]
fn suites_are_listed_printed_and_checked() {
    let listed = printed("suites");
    assert_eq!(listed.lines().count(), SUITES.len());
    for (line, suite) in listed.lines().zip(SUITES) {
        let title = suite::parse(suite.name, suite.text).unwrap().title;
        let (name, listed) = line.split_once(' ').unwrap();
        assert_eq!((name, listed.trim_start()), (suite.name, &*title));
    }
    assert_eq!(printed("suites list"), printed("suites"));
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let file = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert_eq!(printed("suites show prestan"), file("suites/prestan.yaml"));
    assert_eq!(printed("suites schema"), file("docs/suite.schema.json"));
    assert_snapshot!("suites_check", printed("suites check prestan"));
}

#[test]
fn servers_are_listed_with_what_is_missing() {
    // An empty PATH and home: only other installed servers are found.
    let text = prestan!("servers").env("PATH", "").run().stdout;
    let lines: Vec<&str> = text.lines().collect();
    let recipes = testbed::real::recipes();
    assert_eq!(lines.len(), recipes.len(), "{text}");
    for (line, recipe) in lines.iter().zip(recipes) {
        assert!(line.starts_with(&recipe.name), "{line}");
        assert!(line.contains(&recipe.title), "{line}");
        let found = line.contains("; installed: ") || line.contains("; not installed: ");
        assert!(found, "{line}");
    }
}

/// Suite files with one mistake each.
const BAD_SUITES: [(&str, &str); 5] = [
    ("tab.yaml", "suite: x\ntests:\n\t- name: A\n"),
    ("key.yaml", "suite: x\ntests:\n  - name: A\n    lop: []\n"),
    (
        "name.yaml",
        "suite: x\ntests:\n  - name: A\n    loop:\n      - GET: a\n        measure: A\n      \
         - PUT: \"{{ sise }}\"\n        measure: B\n",
    ),
    (
        "nothing.yaml",
        "suite: x\ntests:\n  - name: A\n    loop:\n      - GET: a\n",
    ),
    (
        "http.yaml",
        "suite: x\nneeds: http\ntests:\n  - name: A\n    loop:\n      - PUT: a\n        measure: A\n",
    ),
];

/// Command lines that cannot be done. Nothing listens on port 1.
const WRONG: [&str; 39 + 32] = [
    "run prestan",
    "run nosuch http://127.0.0.1:1/",
    "run nosuch.yaml --server apache",
    "run prestan http://127.0.0.1:1/ --server apache",
    "run prestan --server iis",
    "suites show nosuch",
    "suites check nosuch.yaml",
    "suites check tab.yaml",
    "suites check key.yaml",
    "suites check name.yaml",
    "suites check nothing.yaml",
    "suites check http.yaml",
    "suites chek key.yaml",
    "demo --param colour=red",
    "demo --param colour",
    "demo --param requests=many",
    "demo --only Foo",
    "demo --skip *",
    "demo -r 0",
    "demo -r abc",
    "demo --seed -1",
    "serve --port 70000",
    "demo -c 0",
    "demo -r 5 --duration 5s",
    "demo --duration 5parsecs",
    "demo --timeout 0s",
    "demo --run-id a/b",
    "demo --save here --no-save",
    "demo -q -v",
    "demo --sed 4",
    "http://127.0.0.1:1/ ann",
    "http://127.0.0.1:1/ --user ann",
    "http://127.0.0.1:1/ --header nonsense",
    "http://127.0.0.1:1/ --header Host:example.org",
    "http://127.0.0.1:1/ --header Authorization:secret",
    "http://127.0.0.1:1/ --header Destination:/elsewhere",
    "http://127.0.0.1:1/ --header X-HTTP-Method:DELETE",
    "http://127.0.0.1:1/ --json - -o -",
    "http://127.0.0.1:1/ --resolve example.org:127.0.0.1",
    "http://127.0.0.1:1/ --key mine.pem",
    "http://127.0.0.1:1/ -4 -6",
    "ftp://127.0.0.1/",
    "report nosuch",
    "lod",
    "loda GET http://127.0.0.1:1/ --rate 5",
    "load GET",
    "load http://127.0.0.1:1/ GET",
    "load --mix suite.yaml GET http://127.0.0.1:1/",
    "load --mix nosuch http://127.0.0.1:1/",
    "load --mix prestan http://127.0.0.1:1/",
    "load --mix http.yaml http://127.0.0.1:1/",
    "load --mix prestan --depth 1 http://127.0.0.1:1/",
    "load DELETE http://127.0.0.1:1/file",
    "load GET http://127.0.0.1:1/file?_method=DELETE",
    "load brew http://127.0.0.1:1/pot",
    "load GET http://127.0.0.1:1/ --rate 0",
    "load GET http://127.0.0.1:1/ --rate 5 --stages 5/s@1s",
    "load GET http://127.0.0.1:1/ --stages 5/s",
    "load GET http://127.0.0.1:1/ --max-waiting 5",
    "load GET http://127.0.0.1:1/ --arrivals constant",
    "load GET http://127.0.0.1:1/ --spin 20us",
    "load GET http://127.0.0.1:1/ --pipeline 4 --rate 10",
    "load GET http://127.0.0.1:1/ --requests 5 --users 10",
    "load GET http://127.0.0.1:1/ --pipeline 4 --http 1.0",
    "load GET http://127.0.0.1:1/ --pipeline 4 --no-keep-alive",
    "load REPORT http://127.0.0.1:1/ --pipeline 17 --body-size 1KiB",
    "load GET http://127.0.0.1:1/ --until p99",
    "load GET http://127.0.0.1:1/ --until rate+-5%",
    "load GET http://127.0.0.1:1/ --expect 20x",
    "load GET http://127.0.0.1:1/ --body-file nosuch",
    "load GET http://x/ --unix-socket nosuch --clock kernel",
];

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    // New suites and servers change no other line.
    let suites: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let servers = testbed::real::recipes().iter();
    let servers: Vec<&str> = servers.map(|recipe| &*recipe.name).collect();
    let names = [suites, servers].map(|names| names.join(", "));
    let mut text = String::new();
    for line in WRONG {
        let prestan = prestan(line);
        for (name, suite) in BAD_SUITES {
            prestan.file(name, suite);
        }
        let outcome = prestan.run();
        let ended = (outcome.code, &*outcome.stdout);
        assert_eq!(ended, (2, ""), "{line}: {outcome}");
        let unwrapped = outcome.stderr.replace("\n  ", " ");
        let names = names.iter().find(|names| unwrapped.contains(*names));
        let stderr = names.map_or(outcome.stderr, |names| unwrapped.replace(names, "..."));
        text.push_str(&format!("$ prestan {line}\n{stderr}\n"));
    }
    assert_snapshot!("wrong_usage", text);
}

#[test]
fn nobody_there_is_no_wrong_usage() {
    let table = "
        http://127.0.0.1:1/ => connection refused
        http://nosuch.invalid/ => looking up the host nosuch.invalid failed
        http://127.0.0.1:1/ -6 => the host 127.0.0.1 has no IPv6 address
        http://x/ --unix-socket nosuch => connecting to the socket nosuch failed
    ";
    for [line, said] in cases::rows(table) {
        prestan(line).ends(4).stderr_has(said);
    }
}

#[test]
fn the_line_of_2004() {
    let server = plain();
    let address = server.server.addr().unwrap();
    let line = format!("{address}/ user pa55-w0rd -r 2 -p 3 --json -");
    let outcome = prestan(&line).ends(0);
    let document = outcome.json();
    assert_adds_up(&document);
    assert_eq!(rows::names(&document), rows::of_prestan());
    assert!(statuses(&document).values().all(|status| *status == "ok"));
    assert_eq!(document["target"], format!("http://{address}/"));
    assert_eq!(document["params"]["properties"], 3);
    assert_eq!(document["params"]["depth"], 10);
    assert_eq!(document["load"]["requests"], 2);
    assert_eq!(document["load"]["users"], 1);
    outcome.stderr_has("the password stands in the process list");
    no_secret_in(&outcome, &["pa55-w0rd", "dXNlcjpwYTU1LXcwcmQ="]);
    // It was used nevertheless.
    let exchanges = server.exchanges();
    let sent = exchanges.last().unwrap().header("authorization");
    assert_eq!(sent, Some("Basic dXNlcjpwYTU1LXcwcmQ="));
}

#[test]
fn completions_know_the_sub_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&format!("completions {shell}"));
        let mut missing = sub_commands();
        missing.retain(|name| !script.contains(name));
        assert_eq!(missing, [""; 0], "{shell}");
        assert!(script.contains("password-file"), "{shell}");
    }
}

/// The long options that a help text describes.
fn options_of(help: &str) -> BTreeSet<&str> {
    let lines = help.lines().map(str::trim_start);
    let lines = lines.filter(|line| line.starts_with('-'));
    // An optional value stands behind it: --rto[=<SETTING>].
    let words = lines.flat_map(|line| line.split([' ', ',', '[']));
    let is_option = |word: &&str| word.starts_with("--") && word.len() > 2;
    words.filter(is_option).collect()
}

/// Options that a manual page does not mention.
fn missing_in<'a>(page: &str, options: &BTreeSet<&'a str>) -> Vec<&'a str> {
    // roff writes an option's hyphens as `\-`, and `\fB` and `\fR` around what is bold.
    let page = page.replace("\\-", "-").replace("\\f", " \\f");
    let page = page.replace("\\fB", " ");
    let words = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let found: BTreeSet<&str> = words.collect();
    let missing = options.iter().filter(|option| !found.contains(*option));
    missing.copied().collect()
}

/// The manual pages of the program and its commands, by the names of their files.
fn every_page() -> BTreeMap<String, String> {
    let written = prestan("man pages").run();
    assert_eq!((written.code, &*written.stderr), (0, ""), "{written}");
    let names = names_in(&written.home().join("pages")).into_iter();
    let page = |name: String| (name.clone(), written.read(&format!("pages/{name}")));
    let pages: BTreeMap<String, String> = names.map(page).collect();
    assert_eq!(printed("man"), pages["prestan.1"]);
    pages
}

#[test]
fn references_between_manual_pages_lead_to_pages() {
    let pages = every_page();
    let words = pages.values().flat_map(|page| page.split_whitespace());
    let references: BTreeSet<String> = words
        .filter_map(|word| word.strip_suffix("(1)"))
        .map(|word| format!("{}.1", word.replace("\\-", "-")))
        .filter(|name| name.starts_with("prestan"))
        .collect();
    let written: BTreeSet<String> = pages.keys().cloned().collect();
    let missing: Vec<&String> = references.difference(&written).collect();
    assert_eq!(missing, [] as [&String; 0]);
    assert!(references.contains("prestan-lab-run.1"), "{references:?}");
    let page = &pages["prestan-lab-run.1"];
    assert!(page.contains(".TH prestan-lab-run 1"), "{page}");
    assert!(page.contains("\\fBprestan lab run\\fR"), "{page}");
}

#[test]
fn the_manual_page_mentions_every_option() {
    let page: String = every_page().into_values().collect();
    let none = [""; 0];
    let mut seen = 0;
    for name in [String::new()].into_iter().chain(sub_commands()) {
        let help = printed(&format!("{name} --help"));
        let options = options_of(&help);
        seen += options.len();
        assert_eq!(missing_in(&page, &options), none, "{name}");
        let dash = if name.is_empty() { "" } else { "-" };
        assert!(page.contains(&format!(".TH prestan{dash}{name}")), "{name}");
    }
    assert!(seen > 60, "{seen}");
    // The synopsis is what one types, and the exit status is part of the page.
    assert!(page.contains("\\fBprestan run\\fR"));
    assert!(page.contains("not a WebDAV server"));
    // This check can fail.
    let shorter = page.replace("insecure", "secure");
    let options = BTreeSet::from(["--insecure", "--header"]);
    assert_eq!(missing_in(&shorter, &options), ["--insecure"]);
}

#[test]
fn every_command_has_a_manual_page_of_its_own() {
    let pages = tempfile::tempdir().unwrap();
    let directory = pages.path().join("man1");
    assert_eq!(printed(&format!("man {}", directory.display())), "");
    for name in sub_commands() {
        let page = fs::read_to_string(directory.join(format!("prestan-{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH prestan-{name} 1")), "{page}");
    }
    let page = fs::read_to_string(directory.join("prestan.1")).unwrap();
    assert!(page.contains("prestan\\-run(1)"), "{page}");
    let below_a_file = directory.join("prestan.1/man1");
    prestan(&format!("man {}", below_a_file.display())).ends(1);
}

/// One run of two tests that every server can do, in all formats.
fn a_run() -> Outcome {
    let line = "demo -q --only Get1K,Locks -r 3 --run-id shape --save run --json - --csv rows.csv";
    prestan(line).ends(0)
}

#[test]
fn shape_of_the_text() {
    let outcome = a_run();
    let report = prestan!(outcome.again() => "report run")
        .env("COLUMNS", "140")
        .run();
    assert_snapshot!("shape_text", shape::shape(&report.stdout));
}

/// Numbers become 0, and texts that change `...`; keys, kinds and order stay.
fn without_numbers(value: &mut Value) {
    match value {
        Value::Number(_) => *value = 0.into(),
        Value::Array(items) => items.iter_mut().for_each(without_numbers),
        Value::Object(members) => {
            for (key, member) in members {
                let changes = [
                    "target",
                    "started_at",
                    "ended_at",
                    "os",
                    "cpu",
                    "sha256",
                    "conclusion",
                    // Not every user may send ICMP.
                    "icmp_us",
                ];
                if changes.contains(&key.as_str()) || (key == "version" && member.is_string()) {
                    *member = "...".into();
                } else if ["notes", "warnings", "inconclusive", "disqualified"]
                    .contains(&key.as_str())
                {
                    // A busy machine causes warnings that a quiet one does not.
                    *member = Value::Array(Vec::new());
                } else {
                    without_numbers(member);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn shape_of_the_json() {
    let mut document = a_run().json();
    without_numbers(&mut document);
    let text = serde_json::to_string_pretty(&document).unwrap();
    assert_snapshot!("shape_json", text);
}

#[test]
fn shape_of_the_csv() {
    let csv = a_run().read("rows.csv");
    let mut lines = csv.split("\r\n");
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let cell = |text: &str| match text {
        "" => "-".to_owned(),
        number if number.parse::<f64>().is_ok() => "#".to_owned(),
        url if url.starts_with("http://") => "<URL>".to_owned(),
        time if time.ends_with('Z') && time.contains(':') => "<TIME>".to_owned(),
        word => word.to_owned(),
    };
    let mut text = String::new();
    for (column, name) in header.iter().enumerate() {
        let cells = rows.iter().filter_map(|row| row.get(column).copied());
        // After the last line there is an empty one.
        let cells: Vec<String> = cells.take(rows.len() - 1).map(cell).collect();
        text.push_str(&format!("{name}: {}\n", cells.join(", ")));
    }
    assert_snapshot!("shape_csv", text);
}
