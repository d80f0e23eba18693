//! Recorded runs: listed, found by their names, renamed and removed.

use std::fs;
use std::os::unix::fs::symlink;

use rundir::RunDir;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::support::load::plain;
use crate::support::{Outcome, Prestan, schema};

/// A home with runs of these names, the first the oldest.
fn home_with(names: &[&str]) -> Outcome {
    let mut prestan = Prestan::new();
    for name in &names[1..] {
        prestan = short(prestan, name).again();
    }
    let first = short(prestan, names[0]);
    let oldest = first.home().join("state/prestan/runs").join(names[0]);
    let plan = fs::File::options()
        .write(true)
        .open(oldest.join("plan.yaml"));
    let year = std::time::Duration::from_secs(365 * 24 * 3600);
    let past = std::time::SystemTime::now() - year;
    plan.unwrap().set_modified(past).unwrap();
    first
}

fn short(prestan: Prestan, name: &str) -> Outcome {
    prestan!(prestan => "demo -q --only Get1K -r 2 --run-id {name}").ends(0)
}

fn prestan(home: &Outcome, line: &str) -> Outcome {
    home.again().words(line).run()
}

#[track_caller]
fn done(home: &Outcome, line: &str) -> String {
    let outcome = prestan(home, line);
    let ended = (outcome.code, &*outcome.stderr);
    assert_eq!(ended, (0, ""), "{line}: {outcome}");
    outcome.stdout
}
#[track_caller]
fn document(home: &Outcome, line: &str) -> Value {
    serde_json::from_str(&done(home, &format!("{line} --json -"))).unwrap()
}

#[track_caller]
fn refused(home: &Outcome, line: &str, says: &str) {
    prestan(home, line).ended(2).stderr_has(says);
}

fn names(home: &Outcome) -> Vec<String> {
    let document = document(home, "runs");
    let runs = document["runs"].as_array().unwrap().iter();
    let name = |run: &Value| run["name"].as_str().unwrap().to_owned();
    runs.map(name).collect()
}

/// A run that goes on while this exists.
fn goes_on(home: &Outcome, like: &str, name: &str) -> RunDir {
    let runs = home.home().join("state/prestan/runs");
    let run = rundir::load(&runs.join(like)).unwrap();
    let mut env = run.env;
    (env.ended_at, env.conclusion) = (None, None);
    RunDir::create(&runs.join(name), &run.plan, "suite: s\n", &env).unwrap()
}

#[test]
fn runs_are_listed_with_what_became_of_them() {
    let home = home_with(&["monday", "tuesday"]);
    let running = goes_on(&home, "monday", "wednesday");
    let list = done(&home, "runs");
    assert_eq!(list, done(&home, "runs list"));
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 4, "{list}");
    for (line, parts) in lines[1..].iter().zip([
        ["wednesday", "goes on", "KiB", "prestan", "http://"],
        ["tuesday", "20", "KiB", "prestan", "http://"],
        ["monday", "20", "KiB", "prestan", "http://"],
    ]) {
        assert!(line.starts_with(parts[0]), "{list}");
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    drop(running);
    assert!(done(&home, "runs show wed").contains("Result     killed\n"));

    let document = self::document(&home, "runs show monday");
    assert!(schema("runs.schema.json").is_valid(&document), "{document}");
    let run = &document["runs"][0];
    let states = ["pass", "inconclusive"];
    assert!(states.contains(&run["state"].as_str().unwrap()), "{run:#}");
    let report = self::document(&home, "report monday");
    assert_eq!(report["conclusion"], run["state"], "{run:#}");
}

#[test]
fn a_home_without_runs_lists_none() {
    let outcome = prestan!("runs --json -").run();
    assert_eq!(outcome.json()["runs"].as_array().unwrap().len(), 0);
    let none = done(&outcome, "runs");
    assert!(none.starts_with("no run is kept in "), "{none}");
    refused(&outcome, "report nosuch", "no run `nosuch`; ");
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_name() {
    let home = home_with(&["monday", "monday-2", "tuesday"]);
    assert_eq!(done(&home, "report tue"), done(&home, "report tuesday"));
    // The whole name of one is the beginning of another.
    assert!(done(&home, "runs show monday").contains("Run        monday\n"));
    let both = "is the beginning of 2 runs: `monday-2`, `monday`; write more of the name";
    let similar = "no run `tuesdy`; did you mean `tuesday`?";
    for (line, says) in [
        ("report mo", both),
        ("compare mo tuesday", both),
        ("report tuesdy", similar),
        ("compare tuesdy monday", similar),
        ("compare monday tuesdy", similar),
        ("diagnose tuesdy", similar),
        ("diagnose monday tuesdy", similar),
        ("report xyz", "no run `xyz`; `prestan runs --all` lists all"),
        ("report ./nosuch", "no run `./nosuch`"),
        ("runs remove tuesday tuesdy", similar),
    ] {
        refused(&home, line, says);
    }
    assert_eq!(names(&home).len(), 3);
}

#[test]
fn a_run_gets_another_name() {
    let home = home_with(&["monday", "tuesday"]);
    let renamed = done(&home, "runs name mon baseline");
    assert_eq!(renamed, "monday is now baseline\n");
    assert_eq!(names(&home), ["tuesday", "baseline"]);
    assert_eq!(done(&home, "report base"), done(&home, "report baseline"));
    let taken = "the name tuesday is taken";
    refused(&home, "runs name baseline tuesday", taken);
    refused(&home, "runs name baseline a/b", "use up to 64 letters");
    let running = goes_on(&home, "tuesday", "friday");
    let unended = "the run friday has not ended";
    refused(&home, "runs name friday saturday", unended);
    drop(running);
    done(&home, "runs name friday saturday");
}

#[test]
fn runs_are_removed_and_nothing_else_is() {
    let home = home_with(&["monday", "tuesday", "friday"]);
    let runs = home.home().join("state/prestan/runs");
    fs::write(runs.join("tuesday/notes.txt"), "mine").unwrap();
    fs::create_dir(runs.join("other")).unwrap();
    let running = goes_on(&home, "monday", "now");

    let removed = done(&home, "runs remove mon");
    assert!(removed.starts_with("removed: monday ("), "{removed}");
    assert!(removed.contains("\n1 run removed, "), "{removed}");
    let foreign = "notes.txt: is not a file of the run; nothing is removed";
    for (name, why) in [("tuesday", foreign), ("now", "the run has not ended")] {
        let outcome = prestan(&home, &format!("runs remove {name}")).ended(1);
        let said = format!("prestan: removing {name} failed: ");
        assert!(outcome.stderr.starts_with(&said), "{outcome}");
        outcome.stderr_has(why);
    }
    refused(&home, "runs remove other", "no run `other`");
    assert_eq!(names(&home).len(), 3);
    assert!(runs.join("other").is_dir());
    // A running run is kept, regardless of the limit.
    fs::remove_file(runs.join("tuesday/notes.txt")).unwrap();
    done(&home, "runs prune --keep 0 --named");
    assert_eq!(names(&home), ["now"]);
    drop(running);
}

#[test]
fn nothing_in_the_directory_of_a_run_is_followed() {
    let home = home_with(&["monday", "tuesday", "friday"]);
    let runs = home.home().join("state/prestan/runs");
    fs::create_dir(runs.join("monday/beside")).unwrap();
    symlink(runs.join("tuesday"), runs.join("monday/beside/load")).unwrap();
    let pipe = runs.join("friday/events.jsonl");
    fs::remove_file(&pipe).unwrap();
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();

    for name in ["monday", "friday"] {
        let outcome = prestan(&home, &format!("runs remove {name}")).ended(1);
        outcome.stderr_has(&format!("removing {name} failed"));
    }
    let says = "events.jsonl: is no regular file, and nothing";
    refused(&home, "report friday", says);
    assert_eq!(names(&home).len(), 3);
    done(&home, "report tuesday");
    done(&home, "report monday");
}

/// Names as prestan makes them.
const MONDAY: &str = "20260105T100000-0001";
const TUESDAY: &str = "20260106T100000-000a";
const FRIDAY: &str = "20260109T100000-00ff";

#[test]
fn old_runs_are_pruned() {
    // The first is a year old.
    for (limits, removed) in [
        ("--older-than 30d", &[MONDAY][..]),
        ("--older-than 1000d", &[]),
        ("--keep 1", &[TUESDAY, MONDAY]),
        ("--keep 2 --older-than 1h", &[MONDAY]),
        ("--keep-size 1GiB", &[]),
        ("--keep-size 1KiB", &[FRIDAY, TUESDAY, MONDAY]),
    ] {
        let home = home_with(&[MONDAY, TUESDAY, FRIDAY]);
        let line = format!("runs prune {limits}");
        let would = done(&home, &format!("{line} -n"));
        assert_eq!(names(&home), [FRIDAY, TUESDAY, MONDAY]);
        let did = done(&home, &line);
        assert_eq!(would.replace("would be removed", "removed"), did);
        let lines: Vec<&str> = did.lines().collect();
        let said = lines
            .iter()
            .filter_map(|line| line.strip_prefix("removed: "));
        let said: Vec<&str> = said.filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(said, removed, "{did}");
        let total = match removed.len() {
            0 => "no run removed".to_owned(),
            1 => "1 run removed, ".to_owned(),
            runs => format!("{runs} runs removed, "),
        };
        assert!(lines.last().unwrap().starts_with(&total), "{did}");
        assert_eq!(names(&home).len(), 3 - removed.len());
    }
    let usage = "--older-than <TIME>|--keep-size <SIZE>|--keep <N>";
    refused(&prestan!("suites").run(), "runs prune", usage);
}

#[test]
fn a_series_is_listed_pruned_and_removed_as_a_whole() {
    let home = home_with(&["mine-1", "mine-2", MONDAY]);
    let server = plain();
    let url = server.url();
    let quick = format!("--only Get1K -r 2 -q --run-id {FRIDAY}");
    let line = format!("compare {url} {url} --repeat 2 {quick}");
    assert_eq!(prestan(&home, &line).code, 0);
    let listed = |line: &str| -> Vec<String> {
        let list = done(&home, line);
        let lines = list.lines().skip(1);
        let cells = lines.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
        cells.map(|cells| cells.join(" ")).collect()
    };
    let series = format!("{FRIDAY} 4");
    let monday = format!("{MONDAY} 1");
    assert_eq!(listed("runs"), [&*series, &monday, "mine-2 1", "mine-1 1"]);
    for each in ["runs --all", "runs list --all"] {
        assert_eq!(done(&home, each).lines().count(), 1 + 7);
    }
    let document = document(&home, &format!("runs show {FRIDAY}"));
    assert_eq!(document["runs"].as_array().unwrap().len(), 4);
    assert_eq!(document["runs"][0]["series"], FRIDAY, "{document:#}");
    let shown = done(&home, &format!("runs show {FRIDAY}"));
    assert_eq!(shown.lines().count(), 1 + 4);

    assert_eq!(done(&home, "runs show 20260109"), shown);
    refused(&home, "runs show 2026", "is the beginning of 5 runs: ");

    // A run with a name is not part of the series, and is kept, whatever its name begins with.
    let baseline = format!("{FRIDAY}-baseline");
    done(&home, &format!("runs name {FRIDAY}-a1 {baseline}"));
    done(&home, "runs prune --keep 100");
    assert!(names(&home).contains(&baseline));
    let usage = "--all is for the list";
    refused(&home, "runs --all prune --keep 100", usage);
    refused(&home, &line, "there are runs of this name");
    let line = "runs prune --keep 1";
    assert!(done(&home, line).starts_with(&format!("removed: {MONDAY} (")));
    let all = done(&home, "runs prune --keep 0");
    let said = format!("removed: {FRIDAY} (3 runs, ");
    assert!(all.starts_with(&said), "{all}");
    assert!(all.contains("\n3 runs removed, "), "{all}");
    assert_eq!(names(&home).len(), 3);
    assert!(names(&home).contains(&baseline));

    let quick = "--vary requests=2,3 --repeat 2 --only Get1K -q --run-id ours";
    prestan(&home, &format!("sweep {url} {quick}"));
    let listed = listed("runs");
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert_eq!(listed[0], "ours 4");
    let removed = done(&home, "runs remove ours");
    assert!(removed.starts_with("removed: ours (4 runs, "), "{removed}");
    assert_eq!(names(&home).len(), 3);
}

#[test]
fn a_run_that_reached_no_server_is_not_kept() {
    for line in [
        "http://127.0.0.1:1/",
        "http://127.0.0.1:1/ --save here",
        "load http://127.0.0.1:1/",
        "compare http://127.0.0.1:1/ http://127.0.0.1:1/ --repeat 2 -q",
    ] {
        let outcome = Prestan::new().words(line).ends(4);
        outcome.stderr_has("cannot be reached");
        assert!(outcome.runs().is_empty(), "{line}: {outcome}");
        assert!(!outcome.home().join("here").exists(), "{outcome}");
    }
}
