//! `prestan lab`: networks on this machine, programs in them, and leftovers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use testbed::need_or;

use crate::support::load::{kept, send, until};
use crate::support::real::is_installed;
use crate::support::{Outcome, Prestan, Running};

/// The program, inside of a lab.
pub(crate) const PRESTAN: &str = env!("CARGO_BIN_EXE_prestan");

pub(crate) const PLAIN: &str =
    "hosts: {client: {}, server: {}}\nlinks: [{ends: [client, server]}]\n";

/// True if labs can be built here; with `CI` set, they must.
pub(crate) fn can_build() -> bool {
    need_or(lab::check_requirements()).is_some()
}

#[test]
fn links_are_checked_and_one_that_cannot_be_as_described_fails() {
    if !can_build() {
        return;
    }
    let prestan = Prestan::new();
    let text = "hosts: {a: {}, b: {}, c: {}}\nswitches: {s: {}}\nlinks:\n  - {ends: [a, s]}\n  \
                - {ends: [b, s]}\n  - {ends: [s, c], rate: 20mbit, delay: 5ms}\n";
    prestan.file("right.yaml", text);
    prestan.file("wrong.yaml", &text.replace("20mbit", "10000gbit"));
    let right = prestan!(prestan => "lab check right.yaml").ends(0);
    assert_eq!(right.stdout.matches("  as described").count(), 6, "{right}");
    let wrong = right.again();
    let wrong = prestan!(wrong => "lab check wrong.yaml --json checked.json").ends(1);
    wrong.stdout_has("NOT as described: rate");
    wrong.stderr_has("failed: 2 of 6 wires are not as described (s -> c, c -> s)");
    let document: Value = serde_json::from_str(&wrong.read("checked.json")).unwrap();
    assert_eq!(document["lab"], "wrong.yaml");
    assert_eq!(document["is_as_described"], false);
    let wires = document["wires"].as_array().unwrap();
    assert_eq!(wires.len(), 6);
    for (wire, is_shaped) in wires.iter().zip([false, false, false, false, true, true]) {
        let verdict = json!({
            "is_as_described": !is_shaped, "rate": !is_shaped, "delay": true, "loss": true
        });
        assert_eq!(wire["verdict"], verdict, "{wire}");
    }
    assert_eq!([&wires[4]["from"], &wires[4]["to"]], ["s", "c"]);
    assert_eq!(wires[4]["described"]["rate_bps"], 10_000_000_000_000_u64);
    let delay = wires[4]["measured"]["least_delay_ns"].as_f64().unwrap();
    assert!((5e6..5.2e6).contains(&delay), "{delay}");
}

#[test]
fn commands_run_in_hosts_and_their_exit_status_is_that_of_the_lab() {
    if !can_build() {
        return;
    }
    let prestan = Prestan::new();
    prestan.file("plain.yaml", PLAIN);
    let script = format!(
        "echo here $PRESTAN_LAB_HOST; touch \"$TMPDIR/file\"; echo files $TMPDIR; \
         {PRESTAN} lab exec server -- sh -c 'echo there $PRESTAN_LAB_HOST; ip -br addr show eth0'; \
         getent ahosts server; {PRESTAN} lab exec nobody true; echo refused $?; exit 7"
    );
    let outcome = prestan!(prestan => "lab exec --lab plain.yaml client -- sh -c {script}").ends(7);
    let texts = "here client|there server|198.18.0.2/24|2001:2::2 |refused 2";
    texts.split('|').for_each(|text| outcome.stdout_has(text));
    let (_, files) = outcome.stdout.split_once("\nfiles ").unwrap();
    let files = files.lines().next().unwrap();
    assert!(!Path::new(files).exists(), "{outcome}");
    let missing = prestan!("lab exec --lab link client none-such").ends(127);
    missing.stderr_has("starting none-such failed: No such file");
    let directory = prestan!("lab exec --lab link client /").ends(126);
    directory.stderr_has("starting / failed: Permission denied");
}

#[test]
fn kernel_parameters_that_are_refused_are_named_with_their_key() {
    if !can_build() {
        return;
    }
    let text = "hosts: {a: {sysctl: {KEY}}, b: {}}\nlinks: [{ends: [a, b]}]\n";
    let table = [
        ("none", "1", "correct its name"),
        ("tcp_sack", "often", "give a value that it takes"),
    ];
    for (key, value, remedy) in table {
        let prestan = Prestan::new();
        let key = format!("net.ipv4.{key}");
        prestan.file("lab.yaml", &text.replace("KEY", &format!("{key}: {value}")));
        let outcome = prestan!(prestan => "lab exec --lab lab.yaml a true").ends(2);
        let what = format!(
            "hosts.a.sysctl.{key}: the kernel does not set it to `{value}` in the host `a`"
        );
        outcome.stderr_has(&what);
        outcome.stderr_has(remedy);
    }
}

const BARE: &str = "
hosts: {client: {}, server: {bare: {sampling: all, rto_min: 50ms}}}
routers: {r: {}}
links:
  - {ends: [client, r], rate: 20mbit, queue: 50, delay: 2ms, back: {loss: 1%}}
  - {ends: [r, server]}
";

#[test]
fn files_of_a_bare_host_are_downloaded_through_a_bottleneck_with_loss() {
    if !can_build() {
        return;
    }
    let prestan = Prestan::new();
    prestan.file("bare.yaml", BARE);
    let script = format!(
        "for size in 504 320 160; do {CURL} http://server/${{size}}k || exit 100; done; \
         {CURL} -g 'http://[2001:2:0:1::1]/160k'; {PRESTAN} lab exec server true; echo refused $?"
    );
    let outcome = prestan!(prestan => "lab exec --lab bare.yaml client -- sh -c {script}").run();
    if outcome.code == 127 && std::env::var_os("CI").is_none() {
        eprintln!("skipped: there is no curl");
        return;
    }
    assert_eq!(outcome.code, 0, "{outcome}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let expected = "200 516096|200 327680|200 163840|200 163840|refused 2";
    assert_eq!(lines.join("|"), expected, "{outcome}");
    outcome.stderr_has("`server` is a bare host, which runs no programs");
}

const CURL: &str = "curl -sS --max-time 60 -o /dev/null -w '%{http_code} %{size_download}\\n'";

#[test]
fn a_signal_is_passed_on_to_the_command() {
    if !can_build() {
        return;
    }
    let script = "trap 'exit 9' TERM; touch begun; while :; do sleep 0.1; done";
    let running = prestan!("lab link -- sh -c {script}").spawn();
    until("the command has begun", || {
        running.home().join("begun").exists()
    });
    send(&running, Signal::TERM);
    running.ends(9);
}

#[test]
fn a_signal_to_all_programs_reaches_the_command_once() {
    if !can_build() {
        return;
    }
    // A signal ends `wait` at once.
    let script = "trap 'echo got >> signals' TERM; touch begun; sleep 60 & wait $!; sleep 1 & wait $!; exit 9";
    let running = prestan!("lab link -- sh -c {script}")
        .leading_a_group()
        .spawn();
    until("the command has begun", || {
        running.home().join("begun").exists()
    });
    let group = Pid::from_raw(i32::try_from(running.id()).unwrap()).unwrap();
    kill_process_group(group, Signal::TERM).unwrap();
    assert_eq!(running.ends(9).read("signals"), "got\n");
}

/// Processes of this machine that are in one of these network namespaces, or hold it open.
fn holders(namespaces: &BTreeSet<String>) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let links = processes.flat_map(|process| {
        let path = process.path();
        let descriptors = fs::read_dir(path.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        let descriptors = descriptors.map(|entry| entry.path());
        descriptors.chain([path.join("ns/net")]).collect::<Vec<_>>()
    });
    let targets = links.filter_map(|link| fs::read_link(link).ok());
    targets
        .filter(|target| namespaces.contains(&*target.to_string_lossy()))
        .count()
}

/// Output of the script of the next test: two namespaces, and the directory of temporary files.
fn written(running: &Running) -> Option<Vec<String>> {
    let text = fs::read_to_string(running.home().join("begun")).ok()?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    (lines.len() == 3).then_some(lines)
}

#[test]
fn nothing_is_left_of_a_lab_that_was_killed() {
    if !can_build() {
        return;
    }
    let script = format!(
        "readlink /proc/self/ns/net >> begun; {PRESTAN} lab exec server -- readlink /proc/self/ns/net >> begun; \
         touch \"$TMPDIR/file\"; echo \"$TMPDIR\" >> begun; setsid sleep 1000 & sleep 1000"
    );
    let running = prestan!("lab exec --lab congestion client -- sh -c {script}").spawn();
    until("the command has begun", || written(&running).is_some());
    let lines = written(&running).unwrap();
    let namespaces: BTreeSet<String> = lines[..2].iter().cloned().collect();
    let directory = Path::new(&lines[2]);
    assert_eq!(namespaces.len(), 2, "{lines:?}");
    assert!(directory.join("file").exists());
    assert!(holders(&namespaces) > 3);
    send(&running, Signal::KILL);
    until("everything has ended", || holders(&namespaces) == 0);
    until("its files are removed", || !directory.exists());
    assert_eq!(running.wait().code, -9);
}

/// The shortest response time of a row, in ms.
pub(crate) fn shortest_ms(outcome: &Outcome) -> f64 {
    let run = kept(outcome);
    let samples = run.samples.iter();
    let times = samples.filter_map(|sample| sample.moments.response());
    times.min().unwrap() as f64 / 1e6
}

#[test]
fn client_and_server_of_a_run_are_at_the_two_ends_of_a_link() {
    if !can_build() {
        return;
    }
    let ipv4 = ["apache", "nginx", "lighttpd"];
    let ipv6 = ["apache", "nginx", "lighttpd", "rclone", "chezdav"];
    let table = ipv4.map(|server| (server, "", "198.18.0.2:")).into_iter();
    let table = table.chain(ipv6.map(|server| (server, "--server-ipv6", "[2001:2::2]:")));
    for (server, option, address) in table.filter(|(server, ..)| is_installed(server)) {
        let prestan = prestan!("lab link --delay 10ms").words(option);
        let command = "run prestan --only Get1K -r 5 --server";
        let outcome = prestan!(prestan => "-- {PRESTAN}")
            .words(command)
            .arg(server)
            .ends(0);
        let shortest = shortest_ms(&outcome);
        assert!((20.0..60.0).contains(&shortest), "{shortest} ms\n{outcome}");
        outcome.stdout_has(address);
    }
}

#[test]
fn a_user_namespace_is_enough_also_for_servers_that_must_not_be_root() {
    if !can_build() || !is_installed("apache") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("plain.yaml"), PLAIN).unwrap();
    let mut command = Command::new(PRESTAN);
    lab::user_namespace::enter_before_exec(&mut command);
    command
        .args("lab exec --lab plain.yaml client --".split(' '))
        .arg(PRESTAN)
        .args("run prestan --only Get1K -r 3 --server apache".split(' '))
        .env("XDG_STATE_HOME", home.path())
        .current_dir(home.path());
    let Some(output) = need_or(command.output()) else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("198.18.0.2:"), "{output:?}");
    assert!(text.contains("Get1K "), "{output:?}");
}

/// PUT of 8 KiB through 1 Mbit/s takes some 70 ms until the last byte is on the wire.
const PUTS: &str = "run sizes --only Create --param size=8KiB -r 3 --server nginx";

#[test]
fn response_times_contain_the_time_in_the_queue_of_the_clients_link() {
    if !can_build() || !is_installed("nginx") {
        return;
    }
    let outcome = prestan!("lab link --rate 1mbit -- {PRESTAN}")
        .words(PUTS)
        .ends(0);
    let shortest = shortest_ms(&outcome);
    assert!((60.0..200.0).contains(&shortest), "{shortest} ms");

    // Where a queue discipline of the device shapes, as no lab does, the kernel stamps packets
    // below it.
    let prestan = Prestan::new();
    prestan.file("plain.yaml", PLAIN);
    let script = format!(
        "tc qdisc add dev eth0 root tbf rate 1mbit burst 1600 limit 1000000 || exit 100; {PRESTAN} {PUTS}"
    );
    let outcome = prestan!(prestan => "lab exec --lab plain.yaml client -- sh -c {script}").run();
    if outcome.code == 100 {
        eprintln!("skipped: this kernel has no tbf");
        return;
    }
    let shortest = shortest_ms(&outcome);
    assert!(shortest < 40.0, "{shortest} ms");
}
