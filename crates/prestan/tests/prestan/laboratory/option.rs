//! `--lab`: commands that measure, inside of a lab.

use std::fs;

use rustix::process::Signal;

use super::commands::{can_build, shortest_ms};
use crate::labs::{GET, with_lab};
use crate::support::Outcome;
use crate::support::load::until;
use crate::support::real::is_installed;

fn load(more: &str) -> Outcome {
    with_lab()
        .words(GET)
        .words("--lab=lab.yaml --total 5")
        .words(more)
        .run()
}

#[test]
fn a_load_runs_in_the_lab_with_the_files_and_the_exit_status_of_this_command() {
    if !can_build() {
        return;
    }
    let outcome = load("--json result.json").ended(0);
    let shortest = shortest_ms(&outcome);
    assert!((10.0..40.0).contains(&shortest), "{shortest} ms\n{outcome}");
    assert!(outcome.home().join("result.json").exists());
    // A count, which no disturbance makes inconclusive.
    load("--fail-if 'operations > 1'").ended(1);
    // The router is nearer.
    let near = load("--lab-host r");
    let shortest = shortest_ms(&near);
    assert!(shortest < 5.0, "{shortest} ms\n{near}");
}

#[test]
fn the_commands_of_two_builds_are_compared_in_a_lab() {
    if !can_build() || !is_installed("rclone") {
        return;
    }
    let command = "exec rclone serve webdav {{ storage }} --config {{ dir }}/rclone.conf --addr {{ host }}:{{ port }} -q";
    let outcome = prestan!(with_lab() => "compare --lab lab.yaml --start-a {command} --start-b {command} --only Get1K \
        -r 20 --repeat 1")
        .run();
    assert!([0, 3].contains(&outcome.code), "{outcome}");
    outcome.stdout_has("Get1K");
}

#[test]
fn a_signal_ends_the_command_in_the_lab_and_the_lab() {
    if !can_build() {
        return;
    }
    let running = with_lab()
        .words(GET)
        .words("--lab lab.yaml --duration 1h --save run")
        .spawn();
    let events = running.home().join("run/events.jsonl");
    until("it measures", || {
        fs::read_to_string(&events).is_ok_and(|text| text.contains("measuring"))
    });
    running.end_by(Signal::INT);
}

/// Connections that the programs of a host began, by its counters, and the requests of a load with
/// new connections.
#[test]
fn an_address_beyond_a_long_way_is_tried_once_with_each_connection() {
    if !can_build() {
        return;
    }
    let prestan = with_lab();
    let lab = fs::read_to_string(prestan.home().join("lab.yaml")).unwrap();
    prestan.file("lab.yaml", &lab.replace("5ms", "150ms"));
    // No host has the second one.
    let script = "b=$(getent ahostsv4 bare-server | cut -d ' ' -f 1 | head -1)
        begun() { awk '/^Tcp:/ {print $6}' /proc/net/snmp | tail -1; }
        before=$(begun)
        PRESTAN load GET http://two.example/160k --resolve two.example:80:$b --resolve two.example:80:${b%.*}.77 \
            --no-keep-alive --requests 10 --warmup 0 >&2
        echo $(($(begun) - before))";
    let script = script.replace("PRESTAN", env!("CARGO_BIN_EXE_prestan"));
    let outcome = prestan!(prestan => "lab exec --lab lab.yaml client -- sh -c {script}").ends(0);
    let begun: u32 = outcome.stdout.trim().parse().unwrap();
    // The first one has to resolve the address, and the preparations have connections of their own.
    assert!((11..16).contains(&begun), "{outcome}");
}
