//! Series of runs that end early: results so far are reported, nothing continues in vain, nothing
//! is left behind, and no password appears.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::faulty::{Faulty, PASSWORD, no_secret_in, with_credentials};
use crate::support::load::{file, plain, send, until};
use crate::support::real::is_installed;
use crate::support::{Prestan, Running, names_in};
use rustix::process::Signal;
use testbed::fault::{Fault, Rule};

/// A long comparison of two servers.
fn comparing(a: &Faulty, b: &Faulty, options: &str) -> Running {
    let prestan =
        prestan!("compare {a} {b} --repeat 3 --only Put1K,Get1K,Put64K,Get64K --warmup 1 -r 300");
    with_credentials(prestan.words(options)).spawn()
}

/// The server is in the second pair of tests.
fn in_the_second_pair(server: &Faulty) -> bool {
    server.measured("Put64K").len() > 3
}

#[test]
fn a_comparison_tells_what_was_done_before_a_server_died() {
    let (a, b) = (plain(), plain());
    let running = comparing(&a, &b, "--json comparison.json --fail-if 'slower 5%'");
    until("the second pair", || in_the_second_pair(&b));
    drop(b);
    let outcome = running.ends(4);
    let incomplete = "Incomplete: the comparison ended early: ";
    assert!(outcome.stdout.starts_with(incomplete), "{outcome}");
    let says = "--fail-if has no result, because the measurement ended early";
    outcome.stderr_has(says);
    // The run of the other server has the reason in its record.
    let partner = "the run of another server in this block ended early";
    outcome.stderr_lacks(partner);
    let report = |run| prestan!(outcome.again() => "report {}", run).run();
    let reports = outcome.runs().into_iter().map(report);
    let of_partner = reports.filter(|report| report.stdout.contains(partner));
    assert_eq!(of_partner.count(), 1, "{outcome}");
    outcome.stdout_has("\nPut1K");
    outcome.stdout_has("did not complete");
    assert!(outcome.home().join("comparison.json").exists());
    assert_eq!(a.left(), [""; 0]);
}

#[test]
fn a_comparison_tells_what_was_done_before_ctrl_c() {
    let (a, b) = (plain(), plain());
    let running = comparing(&a, &b, "");
    until("the second pair", || in_the_second_pair(&b));
    let outcome = running.end_by(Signal::INT);
    let says = "Incomplete: the comparison was interrupted.\n";
    assert!(outcome.stdout.starts_with(says), "{outcome}");
    let row = |name: &str| {
        let mut lines = outcome.stdout.lines();
        lines.find(|line| line.starts_with(name)).unwrap()
    };
    assert!(!row("Put1K").contains("not compared"), "{outcome}");
    assert!(row("Get64K").contains("not compared"), "{outcome}");
    outcome.stderr_has("was interrupted; `prestan report");
    for server in [&a, &b] {
        assert_eq!(server.left(), [""; 0]);
    }
    no_secret_in(&outcome, &[PASSWORD]);
}

#[test]
fn a_second_ctrl_c_says_what_is_left_and_how_to_remove_it() {
    let (a, b) = (plain(), plain());
    let running = comparing(&a, &b, "--run-id cut");
    until("it measures", || !a.measured("Put1K").is_empty());
    send(&running, Signal::INT);
    let outcome = running.end_by(Signal::INT);
    if outcome.stderr.contains("stopped at once") {
        outcome.stderr_has(&format!("{}PrestanTest-cut-", a.url()));
        outcome.stderr_has("`prestan clean`");
    }
}

/// Command, number of GET requests before the last run, runs in the report, and its first words.
const LAST_RUNS: &str = "
    run prestan BASE --only Get1K --warmup 0 -r 100 => 0 => Get1K =>
    load GET BASEfile --total 1000 --max-failures none => 0 => GET =>
    sweep BASE --only Get1K --warmup 0 -r 50 --vary width=1,2 --repeat 3 => 250 => Get1K => Incomplete: the sweep
    compare BASE BASE --only Get1K --warmup 0 -r 100 --repeat 2 => 200 => Get1K => Incomplete: the comparison
    webstone --page /file BASE --repeat 50 --children 1,2 => 50 => 1 child => Incomplete: the curve
    search BASEfile --find users --while 'failures == 0' --duration 400ms --to 2
        => 85 => 1 user => Incomplete: the search";

/// Ends each command in its last run, by a signal or else by the death of its server.
fn ended_in_the_last_run(signal: Option<Signal>) {
    for [command, before, has, begins] in cases::rows(LAST_RUNS) {
        let before: usize = before.parse().unwrap();
        let slow = Rule::new(Fault::AnswerAfter(Duration::from_millis(5)));
        let server = Faulty::new(|builder| builder.rule(slow.method("GET")));
        file(&server, "file");
        let words = command.replace("BASE", &server.url());
        let running = Prestan::new().words(&words).spawn();
        let gets = || {
            let exchanges = server.exchanges();
            exchanges.iter().filter(|one| one.method == "GET").count()
        };
        until("the last run", || gets() > before + 20);
        let outcome = match signal {
            Some(signal) => running.end_by(signal),
            None => {
                drop(server);
                running.ends(4)
            }
        };
        outcome.stdout_has(has);
        if !begins.is_empty() {
            let end = signal.map_or("ended early", |_| "was interrupted");
            let first = format!("{begins} {end}");
            assert!(outcome.stdout.starts_with(&first), "{command}: {outcome}");
        }
        outcome.stderr_has(signal.map_or(" refuses connections after ", |_| "was interrupted"));
    }
}

#[test]
fn a_server_that_dies_in_the_last_run_ends_every_command_alike() {
    ended_in_the_last_run(None);
}

#[test]
fn a_server_that_dies_in_a_clean_up_is_noticed_as_well() {
    let stuck = Rule::new(Fault::Hang).method("DELETE").tag("(workspace)");
    let server = Faulty::new(|builder| builder.rule(stuck));
    let running = prestan!("run prestan {server} --only Get1K --warmup 0 -r 5").spawn();
    until("the run cleans up", || {
        let exchanges = server.exchanges();
        exchanges.iter().any(|exchange| exchange.method == "DELETE")
    });
    drop(server);
    let outcome = running.ends(4);
    outcome.stdout_has("Get1K");
    outcome.stderr_has(" refuses connections after the run: ");
}

#[test]
fn a_signal_in_the_last_run_ends_every_command_alike() {
    ended_in_the_last_run(Some(Signal::INT));
    ended_in_the_last_run(Some(Signal::TERM));
}

#[test]
fn no_password_of_a_url_comes_out() {
    let server = plain();
    let secret = server
        .url()
        .replace("http://", &format!("http://ann:{PASSWORD}@"));
    let short = "--only Get1K -r 2 --warmup 0 --repeat 2 --json a.json --html a.html";
    let compare = prestan!("compare {secret} {server} --markdown a.md")
        .words(short)
        .ends(0);
    let sweep = prestan!("sweep {secret} --vary users=1,2 --svg figures")
        .words(short)
        .ends(0);
    let refused = prestan!("diagnose {secret} monday").ends(2);
    let lonely = prestan!("load {secret} GET").ends(2);
    for outcome in [&compare, &sweep, &refused, &lonely] {
        no_secret_in(outcome, &[PASSWORD]);
    }
}

#[test]
fn a_password_from_standard_input_is_for_all_servers() {
    let (a, b) = (plain(), plain());
    let outcome =
        prestan!("compare {a} {b} --user ann --password-file - --only Get1K -r 2 --repeat 2")
            .stdin(&format!("{PASSWORD}\n"))
            .ends(0);
    no_secret_in(&outcome, &[PASSWORD]);
}

#[test]
fn a_name_with_no_room_for_numbers_is_refused() {
    let name = "n".repeat(60);
    let outcome =
        prestan!("compare http://127.0.0.1:1/ http://127.0.0.1:1/ --run-id {name}").ends(2);
    outcome.stderr_has("50 characters");
}

#[test]
fn options_for_other_servers_are_refused_for_our_own() {
    for command in [
        "compare --server nginx --server apache",
        "sweep --server nginx --vary width=1,2",
        "diagnose --server nginx",
    ] {
        let outcome = Prestan::new().words(command).arg("--insecure").ends(2);
        outcome.stderr_has("--insecure");
    }
}

#[test]
fn a_server_that_was_started_for_runs_and_ended_by_itself_is_named() {
    let prestan = Prestan::new();
    let program = env!("CARGO_BIN_EXE_prestan");
    let script = format!(
        "#!/bin/sh
         [ \"$1\" = --version ] && exec echo dufs 1.0
         '{program}' serve --port \"${{3#--port=}}\" \"$1\" & server=$!
         until [ -e \"$1\"/PrestanTest-a-b ]; do sleep 0.01; done
         echo out of memory; kill -9 $server; exit 7"
    );
    let script = prestan.file("server", &script);
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let server = format!("dufs,program={}", script.display());
    let outcome = prestan!(prestan => "run prestan --run-id a-b -r 300 \
        --server {server} --only Put1K,Get1K --warmup 1 -q")
    .ends(4);
    outcome.stderr_has("ended during the run (exit status: 7); its logs");
    outcome.stderr_has("out of memory");
}

#[test]
fn a_signal_ends_the_start_of_a_server_at_once() {
    let table = "
        run listing
        load OPTIONS / => TERM
        webstone --page file1k.html --prepare
        webstone --page file1k.html --prepare --children 1,2
        sweep --vary users=1,2
        search OPTIONS / --find users --while 'failures == 0' => TERM
        diagnose
        compare
    ";
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (command, signal) = match line.split_once(" => ") {
            Some((command, _)) => (command, Signal::TERM),
            None => (line, Signal::INT),
        };
        let prestan = Prestan::new().words(command);
        let files = prestan.home().join("temporary");
        fs::create_dir(&files).unwrap();
        // It never listens.
        let start = "echo $$ > number; mv number started; exec sleep 600 # {{ port }}";
        let prestan = match command {
            "compare" => prestan!(prestan => "--start-a {start} --start-b {start}"),
            _ => prestan!(prestan => "--start {start}"),
        };
        let running = prestan.env("TMPDIR", &files).spawn();
        let started = running.home().join("started");
        until("the server is started", || started.exists());
        let sent = Instant::now();
        let outcome = running.end_by(signal);
        // It has twice the time limit.
        assert!(sent.elapsed() < Duration::from_secs(30), "{outcome}");
        outcome.stderr_has("prestan: interrupted while servers were started");
        assert_eq!(names_in(&files), [""; 0], "{outcome}");
        let number = fs::read_to_string(started).unwrap();
        let is_running = Path::new("/proc").join(number.trim()).exists();
        assert!(!is_running, "{outcome}");
        assert!(outcome.runs().is_empty(), "{outcome}");
    }
}

#[test]
fn nothing_is_left_of_a_server_whose_run_was_killed() {
    if !is_installed("nginx") {
        return;
    }
    let prestan = Prestan::new();
    let files = prestan.home().join("temporary");
    fs::create_dir(&files).unwrap();
    fs::set_permissions(&files, Permissions::from_mode(0o755)).unwrap();
    let running = prestan!(prestan => "run prestan --server nginx -r 100000 --only Get1K")
        .env("TMPDIR", &files)
        .spawn();
    let is_in_use = |name: String| {
        let log = files.join(name).join("log/access.log").metadata();
        log.is_ok_and(|log| log.len() > 0)
    };
    until("requests reach the server", || {
        names_in(&files).into_iter().any(is_in_use)
    });
    send(&running, Signal::KILL);
    until("its files are removed", || names_in(&files).is_empty());
    drop(running.wait());
}
