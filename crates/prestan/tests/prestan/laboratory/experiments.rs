//! `prestan lab run`: whole campaigns in small laboratories, and interruptions.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use experiment::{RecordedTrials, TrialRecord};
use rustix::process::Signal;
use testbed::need_or;

use super::commands::{PRESTAN, can_build};
use crate::labs::{NGINX, experiment};
use crate::support::load::{send, until};
use crate::support::real::is_installed;
use crate::support::{Prestan, names_in};

const BARE: &str =
    "{name: bare, values: {host: {bare: {}}, servers: {server: {recipe: bare, ipv6: true}}}}";

/// `prestan lab run` of a file in its home, which keeps the campaign there.
fn run(prestan: Prestan, more: &str) -> Prestan {
    let files = prestan.home().join("temporary");
    fs::create_dir_all(&files).unwrap();
    prestan!(prestan => "lab run small.yaml --save campaign")
        .env("TMPDIR", files)
        .words(more)
}

/// The trials of a campaign, as far as they are recorded.
fn trials(home: &Path) -> Vec<TrialRecord> {
    let bytes = fs::read(home.join("campaign/trials.jsonl")).unwrap_or_default();
    RecordedTrials::read(&bytes).unwrap().trials
}

/// The figures of a trial lie in these ranges.
fn check_trial(trial: &TrialRecord, ranges: &[(&str, f64, f64)]) {
    assert_eq!(trial.failed, None, "{trial:?}");
    for (name, least, most) in ranges {
        let value = trial.figures.get(*name).unwrap_or(&f64::NAN);
        assert!(
            (*least..=*most).contains(value),
            "{name}: {value}\n{trial:?}"
        );
    }
}

/// 10 ms for a round trip (a busy machine adds some, a delay that is added twice adds 10); 320 KiB
/// take 131 ms at 20 Mbit/s, and more beside others and in slow start.
const EXPECTED: [(&str, f64, f64); 9] = [
    ("path.rtt", 0.010, 0.019),
    ("single.delay", 0.131, 2.0),
    ("single.response_time", 0.010, 1.0),
    ("single.goodput", 1e6, 20e6),
    ("single.unfinished", 0.0, 0.0),
    ("background.share", 0.5, 1.0),
    ("background.failed", 0.0, 0.0),
    ("traffic.noise.rate", 0.8e6, 1.1e6),
    ("server.rtt", 0.010, 0.5),
];

#[test]
fn a_campaign_has_all_trials_and_is_reported_from_its_record() {
    if !can_build() || !is_installed("nginx") {
        return;
    }
    let prestan = Prestan::new();
    prestan.file("small.yaml", &experiment(&format!("{NGINX}, {BARE}"), "1s"));
    let outcome = run(prestan, "--seed 7 --html page.html").ends(0);
    let home = outcome.home();
    assert!(names_in(&home.join("temporary")).is_empty());
    let trials = trials(home);
    assert_eq!(trials.len(), 4, "{outcome}");
    for trial in &trials {
        check_trial(trial, &EXPECTED);
        let facts = &trial.facts;
        if trial.cell.level("server") == "bare" {
            let timeouts = ("server.timeouts", 0.0, 1000.0);
            check_trial(trial, &[timeouts, ("server.srtt", 0.010, 0.5)]);
        } else {
            assert_eq!(facts["congestion of server"], "reno");
            let version = &facts["server in server"];
            assert!(version.starts_with("nginx 1."), "{version}");
        }
    }
    // Of each cell, the captures of the last repetition.
    let captures = names_in(&home.join("campaign/captures"));
    assert_eq!(captures, ["bare-2-server.pcapng", "nginx-2-server.pcapng"]);
    outcome.stdout_has("Table 1");
    let page = outcome.read("page.html");
    assert!(page.contains("Table 1") && page.contains("<svg"), "{page}");
    assert!(home.join("campaign/report.html").exists());
    let record = outcome.read("campaign/campaign.json");
    let links = ["\"link server -> s\"", "\"link s -> server\""];
    assert!(links.iter().any(|link| record.contains(link)), "{record}");
    assert!(record.contains("\"seed\": 7"), "{record}");

    let again = prestan!(outcome.again() => "lab report campaign").ends(0);
    again.stdout_has("Table 1");
    let finished = run(again.again(), "").ends(2);
    finished.stderr_has("has a campaign that is finished");
}

/// Processes whose command line or environment names a directory.
fn users_of(directory: &Path) -> usize {
    let name = directory.as_os_str().as_encoded_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let names = |path: PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes.windows(name.len()).any(|part| part == name)
    };
    let paths = processes.map(|process| process.path());
    paths
        .filter(|path| {
            ["cmdline", "environ"]
                .iter()
                .any(|file| names(path.join(file)))
        })
        .count()
}

#[test]
fn nothing_is_left_of_a_campaign_that_was_killed_and_it_goes_on_where_it_was() {
    if !can_build() || !is_installed("nginx") {
        return;
    }
    let prestan = Prestan::new();
    prestan.file("small.yaml", &experiment(NGINX, "3s"));
    let running = run(prestan, "").spawn();
    let home = running.home().to_owned();
    let files = home.join("temporary");
    until("the second trial measures", || {
        trials(&home).len() == 1 && users_of(&files) > 3
    });
    send(&running, Signal::KILL);
    until("all programs have ended", || users_of(&files) == 0);
    until("its files are removed", || names_in(&files).is_empty());
    // As if it had been killed while it wrote.
    let record = fs::OpenOptions::new()
        .append(true)
        .open(home.join("campaign/trials.jsonl"));
    record
        .unwrap()
        .write_all(b"{\"cell\":{\"server\":")
        .unwrap();
    let killed = running.ends(-9);
    let first = trials(&home).remove(0);
    let outcome = run(killed.again(), "").ends(0);
    outcome.stderr_has("going on with the campaign in campaign: 1 of 2 trials are measured");
    let all = trials(&home);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0], first);
}

#[test]
fn an_interrupted_campaign_says_how_it_goes_on() {
    if !can_build() || !is_installed("nginx") {
        return;
    }
    let prestan = Prestan::new();
    prestan.file("small.yaml", &experiment(NGINX, "20s"));
    let running = run(prestan, "").spawn();
    let files = running.home().join("temporary");
    // The campaign begins after a check of the links, in another laboratory.
    let record = running.home().join("campaign/campaign.json");
    until("a trial settles", || {
        record.exists() && users_of(&files) > 3
    });
    let outcome = running.end_by(Signal::INT);
    outcome.stderr_has("interrupted after 0 of 2 trials; the same command goes on with it");
    assert!(names_in(&outcome.home().join("temporary")).is_empty());
    assert_eq!(trials(outcome.home()).len(), 0);
}

#[test]
fn trials_that_all_fail_alike_end_a_campaign_and_are_measured_again() {
    if !can_build() || !is_installed("nginx") {
        return;
    }
    let wrong = NGINX.replace("recipe: nginx", "recipe: \"nginx,program=/bin/false\"");
    let prestan = Prestan::new();
    prestan.file("small.yaml", &experiment(&wrong, "0s"));
    let outcome = run(prestan, "--repeat 5").ends(4);
    outcome.stderr_has("3 trials in a row failed: trial.servers.server: nginx");
    let failed = trials(outcome.home());
    assert!(failed.iter().all(|trial| trial.failed.is_some()));
    assert_eq!(failed.len(), 3);
    let again = run(outcome.again(), "--repeat 5").run();
    again.stderr_has("0 of 5 trials are measured");
}

#[test]
fn a_suite_is_measured_beside_the_background_of_an_experiment() {
    if !can_build() || !is_installed("nginx") {
        return;
    }
    let prestan = Prestan::new();
    prestan.file("small.yaml", &experiment(NGINX, "500ms"));
    let outcome =
        prestan!(run(prestan, "--suite prestan --only Put1K,MkCol -r 2") => "--repeat 1").ends(0);
    assert!(names_in(&outcome.home().join("temporary")).is_empty());
    let expected = [
        ("single.Put1K.mean", 0.010, 0.5),
        ("single.MkCol.mean", 0.010, 0.5),
        ("background.share", 0.5, 1.0),
        ("traffic.noise.rate", 0.8e6, 1.1e6),
    ];
    check_trial(&trials(outcome.home())[0], &expected);
    outcome.stdout_has("Suite prestan. Mean response time");
    let lines = ["\nTest ", "\nPut1K ", "\nMkCol "];
    lines.iter().for_each(|line| outcome.stdout_has(line));
    let again = "--suite prestan --requests 2 --only Put1K,MkCol --repeat 1";
    let stdout = outcome.stdout.replace("\n ", "");
    assert!(stdout.contains(again), "{outcome}");
}

#[test]
fn an_ordinary_user_measures_in_a_user_namespace() {
    if !can_build() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("small.yaml"), experiment(BARE, "500ms")).unwrap();
    let mut command = Command::new(PRESTAN);
    lab::user_namespace::enter_before_exec(&mut command);
    command
        .args("lab run small.yaml --save campaign --repeat 1".split(' '))
        .env("XDG_STATE_HOME", home.path())
        .current_dir(home.path());
    let Some(output) = need_or(command.output()) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    check_trial(&trials(home.path())[0], &EXPECTED);
}
