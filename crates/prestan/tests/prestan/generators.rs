//! Other programs as sources of background traffic: real processes on loopback.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::load::{file, plain, seen, send, until};
use crate::support::{Outcome, Prestan, schema};

const TRAFFIC: &str = r#"
models:
  steady: {cbr: {rate: 800kbit, block: 500}}
components:
  voice: {model: steady, protocol: udp}
generators:
  iperf3:
    sink: {command: [iperf3, -s, "-1", -B, "{destination}", -p, "{port}", --json], report: iperf3}
    source:
      command: [iperf3, -c, "{destination}", -p, "{port}", -t, "0", -u, -b, 8M, -l, "1000", --json]
      report: iperf3
  failing: {source: {command: [sh, -c, "echo it is broken >&2; exit 3", "{destination}"]}}
  short: {source: {command: [sh, -c, "sleep 4; echo usage >&2; echo it is over >&2; echo >&2; exit 3", "{destination}"]}}
  silent:
    source: {command: [sh, -c, "exec sleep 60", "{destination}"], ready: {line: begun}}
    ready_within: 100ms
  stubborn:
    source:
      command: [sh, -c, "trap '' TERM; echo $$ > pid; sleep 60 & echo $! >> pid; echo begun; while :; do wait; done", "{destination}"]
      ready: {line: begun}
    stop_within: 100ms
  own:
    source:
      command: [sh, -c, "echo data > $1/log; echo begun; exec sleep 60", "{destination}", "{directory}"]
      ready: {line: begun}
      decoder: [sh, -c, "wc -c < $0/log | sed 's/^ */bytes: /'", "{directory}"]
      report: {figures: {sent_bytes: "bytes:"}}
  secret: {source: {command: [send, "{destination}", --password, s3cret, "http://ann:s3cret@192.0.2.1/"]}}
loads:
  secret: {generators: [{generator: secret}]}
  iperf3: {generators: [{generator: iperf3}]}
  mixed: {flows: [{component: voice}], generators: [{generator: iperf3, n: 2}]}
  failing: {generators: [{generator: failing}]}
  short: {flows: [{component: voice}], generators: [{generator: short}]}
  silent: {generators: [{generator: silent}]}
  stubborn: {generators: [{generator: stubborn}]}
  own: {duration: 4s, generators: [{generator: own}]}
"#;

/// `prestan` in a home with a traffic file.
fn prestan() -> Prestan {
    let prestan = Prestan::new();
    prestan.file("load.yaml", TRAFFIC);
    prestan
}

/// True if `iperf3` is installed; with `CI` set, it must be.
fn has_iperf3() -> bool {
    let version = std::process::Command::new("iperf3")
        .arg("--version")
        .output();
    if let Err(error) = &version {
        assert!(std::env::var_os("CI").is_none(), "iperf3: {error}");
        eprintln!("skipped: iperf3: {error}");
    }
    version.is_ok()
}

/// A load that is sent for a time.
fn sent(load: &str, time: &str) -> Outcome {
    prestan!(prestan() => "traffic run load.yaml --load {load} --for {time} --json result").run()
}

fn document(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.read("result")).unwrap()
}

#[test]
fn a_check_shows_the_commands_that_a_load_starts() {
    let outcome = prestan!(prestan() => "traffic check load.yaml").ends(0);
    for expected in [
        "load mixed: 1 flow, 800 kbit/s, 2 generators\n",
        "generator iperf3 starts the sink iperf3 -s -1 -B {destination} -p {port} --json\n",
        "generator iperf3#2 starts the source iperf3 -c ",
        "generator failing starts the source sh -c 'echo it is broken >&2; exit 3' {destination}\n",
        "generator secret starts the source ",
    ] {
        outcome.stdout_has(expected);
    }
    outcome.stdout_lacks("s3cret");
}

#[test]
fn iperf3_is_a_source_and_its_own_figures_are_shown() {
    if !has_iperf3() {
        return;
    }
    let outcome = sent("iperf3", "4s").ended(0);
    outcome.stdout_has("0 flows, 1 generator, seed");
    outcome.stdout_has("its own figures, from its start to its end: ");
    let document = document(&outcome);
    let generator = &document["generators"][0];
    let end = &generator["end"];
    assert_eq!(generator["name"], "iperf3");
    let [sent, received] = ["sent_bytes", "received_bytes"].map(|key| end[key].as_u64().unwrap());
    // 4 s of 8 Mbit/s; the sink receives most of it, even on a busy machine. Each end counts until
    // it is stopped, so the sink may have a few datagrams more than the source reported.
    assert!((2_000_000..6_000_000).contains(&sent), "{end}");
    assert!(received > sent / 2 && received < sent + 50_000, "{end}");
    assert_eq!(end["report_error"], Value::Null);
}

#[test]
fn generators_that_do_not_start_are_named() {
    for (load, why) in [
        ("failing", "exit status: 3"),
        ("silent", "was not ready within 0.1 s"),
    ] {
        let begun = Instant::now();
        let outcome = sent(load, "60s");
        // `started` does not mean that it continues: an immediate end ends the load.
        assert_eq!(outcome.code, 4, "{outcome}");
        outcome.stderr_has(&format!("generator {load}"));
        outcome.stderr_has(why);
        assert!(begun.elapsed() < Duration::from_secs(30), "{outcome}");
    }
}

#[test]
fn a_decoder_prints_the_report_and_its_directory_is_removed() {
    let outcome = sent("own", "60s").ended(0);
    let end = document(&outcome)["generators"][0]["end"].clone();
    assert_eq!(end["sent_bytes"], 5, "{end}");
}

#[test]
fn generators_send_on_this_machine_only() {
    let outcome = prestan();
    outcome.file("token", "0123456789abcdef\n");
    let outcome = prestan!(outcome => "traffic run load.yaml --load mixed --sink \
        127.0.0.1:7 --token-file token")
    .ends(2);
    outcome.stderr_has("load mixed has generators");
}

fn is_gone(number: &str) -> bool {
    // It may remain a zombie until init has reaped it.
    let state = std::fs::read_to_string(format!("/proc/{number}/stat"));
    state.map_or(true, |state| state.contains(") Z "))
}

/// The numbers of the processes of a generator.
fn numbers(home: &Path) -> Vec<String> {
    let mut numbers = Vec::new();
    until("the generator has started", || {
        let text = std::fs::read_to_string(home.join("pid")).unwrap_or_default();
        numbers = text.split_whitespace().map(str::to_owned).collect();
        numbers.len() == 2
    });
    numbers
}

#[test]
fn a_generator_that_ignores_sigterm_ends_with_the_run_and_with_its_process() {
    for signal in [Signal::INT, Signal::KILL] {
        let prestan = prestan();
        let home = prestan.home().to_owned();
        let running = prestan!(prestan => "traffic run load.yaml --load stubborn").spawn();
        let numbers = numbers(&home);
        send(&running, signal);
        let sent = Instant::now();
        until("the generator ends", || {
            numbers.iter().all(|number| is_gone(number))
        });
        let left = sent.elapsed();
        assert!(left < Duration::from_secs(2), "{left:?}");
        drop(running.wait());
    }
}

/// A load on a server for this time, beside a load of the traffic file.
fn measured(load: &str, url: &str, duration: &str) -> Prestan {
    let background = format!("load.yaml,load={load},stable=100%");
    prestan!(prestan() => "load GET {url} --duration {duration} --json - --background {background}")
}

#[test]
fn a_run_has_the_figures_of_its_generators_beside_those_of_its_sinks() {
    if !has_iperf3() {
        return;
    }
    let server = plain();
    let outcome = measured("mixed", &file(&server, "doc"), "2s").ends(0);
    let document = outcome.json();
    let background = &document["background"];
    assert_eq!(background["components"][0]["name"], "voice");
    let generators = background["generators"].as_array().unwrap();
    let names: Vec<_> = generators
        .iter()
        .map(|generator| &generator["name"])
        .collect();
    assert_eq!(names, ["iperf3", "iperf3#2"]);
    for generator in generators {
        let received = generator["end"]["received_bytes"].as_u64();
        assert!(received > Some(0), "{generator}");
    }
    assert!(
        schema("result.schema.json").is_valid(&document),
        "{document}"
    );
    let again = prestan!(outcome.again() => "report --json -").run();
    assert_eq!(again.json()["background"], *background);
    let text = prestan!(outcome.again() => "report").run();
    text.stdout_has("- generator iperf3#2 (iperf3 -c ");
}

#[test]
fn a_generator_that_fails_ends_the_background_and_disqualifies_the_run() {
    let server = plain();
    let outcome = measured("short", &file(&server, "doc"), "8s").run();
    assert!(outcome.inconclusive, "{outcome}");
    let failure = &outcome.json()["background"]["failure"];
    let why = "generator short: its source ended (exit status: 3): it is over";
    assert_eq!(failure, why, "{outcome}");
}

#[test]
fn a_generator_that_does_not_start_ends_the_run_before_it_measures() {
    let server = plain();
    let outcome = measured("silent", &file(&server, "doc"), "1s").ends(4);
    assert!(seen(&server, "GET").is_empty(), "{outcome}");
}
