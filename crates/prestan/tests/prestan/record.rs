//! Records of runs that are killed, and of runs whose disk fills up.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use testbed::fault::{Fault, Rule};

use crate::interruption::{has_event, kill};
use crate::support::faulty::Faulty;
use crate::support::load::{plain, until};
use crate::support::rows::{assert_adds_up, row};
use crate::support::words::words_of;
use crate::support::{Outcome, Prestan, can_mount, in_a_shell};

/// More than any of these runs gets to.
const ENDLESS: &str = "-r 1000000";

/// A run of Get1K that is saved in `run` below its home.
fn get(server: &Faulty, options: &str) -> Prestan {
    prestan!("{server} --only Get1K --save run").words(options)
}

fn recorded(run: &Path) -> u64 {
    rundir::open(run).map_or(0, |run| run.samples.count())
}

/// Output of `prestan report` for the run that is saved in `run`.
#[track_caller]
fn report(outcome: &Outcome) -> (Value, Outcome) {
    let text = prestan!(outcome.again() => "report run").ends(0);
    let json = prestan!(outcome.again() => "report run --json -").ends(0);
    let document = json.json();
    assert_adds_up(&document);
    assert_eq!(document["complete"]["state"], "aborted", "{document:#}");
    (document, text)
}

#[test]
fn of_a_killed_run_all_but_the_last_second_is_there() {
    let server = plain();
    let running = get(&server, ENDLESS).spawn();
    let kept = running.home().join("run");
    until("something was measured", || {
        server.measured("Get1K").len() >= 100
    });
    let measured = server.measured("Get1K").len() as u64;
    // It is soon readable while the run goes on.
    until("it is recorded", || recorded(&kept) >= measured);
    let outcome = kill(running);

    let (document, text) = report(&outcome);
    let get = row(&document, "Get1K");
    let recorded = get["outcomes"]["ok"].as_u64().unwrap();
    assert!(recorded >= measured, "{get:#}");
    assert!(get["response_us"]["p50"].as_f64().unwrap() > 0.0, "{get:#}");
    let said = "Aborted: the record has no end: prestan was killed, or the run is still going on";
    text.stdout_has(said);
    text.stdout_has("\nGet1K   Rsp = ");
}

/// Cleaning up can take longer than measuring.
#[test]
fn a_run_that_is_killed_while_it_cleans_up_has_all_samples() {
    let stuck = Rule::new(Fault::Hang).method("DELETE").tag("(workspace)");
    let server = Faulty::new(|builder| builder.rule(stuck));
    let running = get(&server, "-r 50").spawn();
    let kept = running.home().join("run");
    until("it has measured", || has_event(&kept, "test_ended"));
    until("its samples are there", || recorded(&kept) == 50);
    let outcome = kill(running);

    let (document, _) = report(&outcome);
    let get = row(&document, "Get1K");
    assert_eq!(get["outcomes"]["ok"], 50, "{get:#}");
    assert_eq!(get["status"], "ok", "{get:#}");
}

/// Ends with status 1, prints reason and place, and the known results, and leaves a readable
/// record.
#[track_caller]
fn assert_disk_was_full(prestan: Prestan, code: i32, said: &str, why: &str) {
    assert_eq!(code, 1, "{said}");
    let message = "the run is not saved completely: ";
    assert!(said.contains(message) && said.contains(why), "{said}");
    assert!(said.contains("`prestan report "), "{said}");
    // In memory there was room.
    assert!(said.contains("\nGet1K   Rsp = "), "{said}");
    let outcome = prestan!(prestan => "--version").run();
    let (document, text) = report(&outcome);
    let recorded = row(&document, "Get1K")["outcomes"]["ok"].as_u64().unwrap();
    assert!((1..REQUESTS).contains(&recorded), "{document:#}");
    text.stdout_has("Aborted: ");
}

/// More requests than fit into the little room that these runs have: 15 bytes each.
const REQUESTS: u64 = 1_200;

/// A server that is slow enough for the room to be filled in steps, and the command line.
fn filling() -> (Faulty, Vec<String>) {
    let slow = Rule::new(Fault::AnswerAfter(Duration::from_millis(4))).tag("(Get1K)");
    let server = Faulty::new(|builder| builder.rule(slow));
    let args = format!("{server} --only Get1K -r {REQUESTS} --save disk/run");
    let args = words_of(&args);
    (server, args)
}

#[test]
fn what_was_recorded_before_the_disk_was_full_can_be_read() {
    if !can_mount() {
        return;
    }
    let (_server, args) = filling();
    let prestan = Prestan::new();
    fs::create_dir(prestan.home().join("disk")).unwrap();
    // The files on this disk disappear with its namespace.
    let script = "mount -t tmpfs -o size=48k tmpfs disk || exit 9
                  \"$@\"; code=$?; cp -r disk/run run; exit $code";
    let (code, said) = in_a_shell(prestan.home(), "unshare -rm sh", script, &args);
    assert_disk_was_full(prestan, code, &said, "No space left on device");
}

/// Only files without samples fit.
#[test]
fn a_record_without_samples_says_so() {
    let server = plain();
    let prestan = Prestan::new();
    let suite = "suite: small\ntests:\n  - name: Save\n    loop: [{PUT: file, body: {size: 16}, measure: Save}]\n";
    prestan.file("small.yaml", suite);
    let args = words_of(&format!("run small.yaml {server} -r 2000 --save run"));
    let script = "ulimit -f 8; \"$@\"";
    let (code, said) = in_a_shell(prestan.home(), "sh", script, &args);
    assert_eq!(code, 1, "{said}");
    let no_samples = "with --save; no samples were saved";
    assert!(said.contains(no_samples), "{said}");
    assert!(!said.contains("`prestan report"), "{said}");
    let (document, text) = report(&prestan!(prestan => "--version").run());
    let save = row(&document, "Save");
    assert_eq!(save["evidence"], "no samples of it were saved", "{save:#}");
    text.stdout_has("\nSave   not saved   no samples of it were saved\n");
}

/// The same where only large files do not fit.
#[test]
fn what_was_recorded_before_a_file_was_too_large_can_be_read() {
    let (_server, args) = filling();
    let prestan = Prestan::new();
    let script = "ulimit -f 32; \"$@\"; code=$?; cp -r disk/run run; exit $code";
    let (code, said) = in_a_shell(prestan.home(), "sh", script, &args);
    assert_disk_was_full(prestan, code, &said, "File too large");
}

#[test]
fn a_directory_that_vanishes_is_missed_aloud() {
    let server = plain();
    let running = get(&server, ENDLESS).spawn();
    let kept = running.home().join("run");
    until("something was measured", || {
        server.measured("Get1K").len() >= 20
    });
    fs::remove_dir_all(&kept).unwrap();

    let outcome = running.end_by(Signal::INT);
    outcome.stderr_has("warning: the run is not saved completely: writing ");
    outcome.stdout_has("\nGet1K   Rsp = ");
    outcome.stdout_lacks("Saved in");
    assert_eq!(server.left(), [""; 0]);
}

/// Others may have put links there, which must not lead to files of the user.
#[test]
fn nothing_is_measured_into_a_directory_with_links_of_our_names() {
    let server = plain();
    for name in ["plan.yaml", "env.json", "events.jsonl"] {
        let prestan = get(&server, "-r 1");
        let victim = prestan.file("victim", "precious");
        let directory = prestan.home().join("run");
        fs::create_dir(&directory).unwrap();
        std::os::unix::fs::symlink(&victim, directory.join(name)).unwrap();
        let outcome = prestan.ends(1);
        outcome.stderr_has(name);
        assert_eq!(fs::read(victim).unwrap(), b"precious");
    }
    assert_eq!(server.exchanges().len(), 0);
}
