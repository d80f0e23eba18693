//! External generators: shells that stand in for them, and `iperf3` where it is installed.

use std::net::{IpAddr, TcpListener};
use std::time::{Duration, Instant};

use flow::external::{
    ClosedNetwork, ExternalDestination, ExternalFigures, ExternalGenerator, ExternalHandle,
    ExternalReport, ExternalRole, ExternalSettings, ExternalTotals, ReadyCondition,
};
use rustix::process::{Pid, test_kill_process};

use crate::support::{PATIENCE, free_tcp_port};

fn settings(arguments: &[&str]) -> ExternalSettings {
    let arguments = arguments.iter().map(|text| (*text).to_owned());
    let destination = ExternalDestination::loopback("127.0.0.1".parse().unwrap()).unwrap();
    ExternalSettings {
        ready: ReadyCondition::Line("ready".to_owned()),
        stop_patience: Duration::from_secs(5),
        ..ExternalSettings::new(ExternalRole::Source, arguments.collect(), destination)
    }
}

fn shell(script: &str) -> ExternalHandle {
    let settings = settings(&["sh", "-c", script, "{destination}"]);
    ExternalGenerator::start(settings).unwrap()
}

struct Lab;

impl ClosedNetwork for Lab {
    fn contains(&self, address: IpAddr) -> bool {
        address == IpAddr::from([10, 0, 0, 1])
    }
}

#[test]
fn destinations_are_loopback_or_inside_a_laboratory() {
    let table = [
        ("127.0.0.1", true, false),
        ("::1", true, false),
        ("::ffff:127.0.0.2", true, false),
        ("10.0.0.1", false, true),
        ("10.0.0.2", false, false),
        ("0.0.0.0", false, false),
        ("2001:db8::1", false, false),
    ];
    for (address, is_loopback, is_inside) in table {
        let address = address.parse().unwrap();
        let loopback = ExternalDestination::loopback(address);
        assert_eq!(loopback.is_ok(), is_loopback, "{address}");
        let inside = ExternalDestination::inside(&Lab, address);
        assert_eq!(inside.is_ok(), is_inside, "{address}");
        if let Err(error) = inside {
            let error = error.to_string();
            assert!(error.contains("neither loopback nor inside"), "{error}");
        }
    }
    let error = ExternalGenerator::start(settings(&["iperf3", "-c", "192.0.2.1"]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("contains {destination}"), "{error}");
}

#[test]
fn a_generator_is_ready_by_a_line_or_a_port() {
    // The program is a shell, which prints the argument that it received.
    let mut by_line = settings(&["sh", "-c", "echo ready $0; exec sleep 60", "{destination}"]);
    by_line.ready = ReadyCondition::Line("ready 127.0.0.1".to_owned());
    let mut by_port = settings(&["sh", "-c", "exec sleep 60", "{destination}"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    by_port.ready = ReadyCondition::Listening(listener.local_addr().unwrap().port());
    for settings in [by_line, by_port] {
        let generator = ExternalGenerator::start(settings).unwrap();
        generator.ready(PATIENCE).unwrap();
        let end = generator.stop().unwrap();
        assert!(end.status.contains("signal: 15"), "{end:?}");
    }
    let silent = shell("exec sleep 60");
    let error = silent
        .ready(Duration::from_millis(50))
        .unwrap_err()
        .to_string();
    assert!(error.contains("was not ready within 0.05 s"), "{error}");
}

#[test]
fn a_generator_that_fails_says_why() {
    let failing = shell("echo it is broken >&2; exit 3");
    let error = failing.ready(PATIENCE).unwrap_err().to_string();
    let has_reason = error.contains("exit status: 3") && error.contains("it is broken");
    assert!(has_reason, "{error}");
    let absent = settings(&["prestan-no-such-program", "{destination}"]);
    let absent = ExternalGenerator::start(absent).unwrap();
    let error = absent.ready(PATIENCE).unwrap_err().to_string();
    assert!(error.contains("prestan-no-such-program"), "{error}");
}

/// The process number in the output of a generator.
fn number_in(handle: &ExternalHandle, file: &std::path::Path) -> Pid {
    handle.ready(PATIENCE).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

#[test]
fn a_generator_that_ignores_sigterm_is_killed_with_its_group() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!(
        "trap '' TERM; sleep 60 & echo $! > {}; echo ready; while :; do wait; done",
        file.display()
    );
    let mut settings = settings(&["sh", "-c", &script, "{destination}"]);
    settings.stop_patience = Duration::from_millis(100);
    let generator = ExternalGenerator::start(settings).unwrap();
    let grandchild = number_in(&generator, &file);
    let end = generator.stop().unwrap();
    assert!(end.status.contains("signal: 9"), "{end:?}");
    let begin = Instant::now();
    while test_kill_process(grandchild).is_ok() {
        // Until init has reaped it.
        let state = std::fs::read_to_string(format!("/proc/{}/stat", grandchild.as_raw_nonzero()));
        if state.is_ok_and(|state| state.contains(") Z ")) {
            break;
        }
        assert!(begin.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

/// Runs `iperf3` between two ends on loopback; `None` where it is not installed.
fn iperf3(options: &[&str]) -> Option<ExternalFigures> {
    let port = free_tcp_port();
    let text = port.to_string();
    let port_options = ["-p", &text, "--json"];
    let server = ["iperf3", "-s", "-1", "-B", "{destination}"];
    let mut server = settings(&[&server[..], &port_options[..]].concat());
    server.ready = ReadyCondition::Listening(port);
    server.report = ExternalReport::Iperf3;
    let server = ExternalGenerator::start(server).unwrap();
    if let Err(error) = server.ready(PATIENCE) {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return None;
    }
    let client = ["iperf3", "-c", "{destination}", "-b", "8M", "-t", "1"];
    let mut client = settings(&[&client[..], &port_options[..], options].concat());
    client.ready = ReadyCondition::Started;
    client.report = ExternalReport::Iperf3;
    let client = ExternalGenerator::start(client).unwrap();
    let client = client.finish(PATIENCE).unwrap().figures.unwrap();
    let server = server.finish(PATIENCE).unwrap().figures.unwrap();
    Some(client.with_sink(server))
}

#[test]
fn iperf3_is_a_generator_with_a_report() {
    let (udp, tcp) = (&["-u", "-l", "1000"][..], &["-l", "1000"][..]);
    for (options, directions) in [
        (udp, [true, false]),
        (&[udp, &["-R"]].concat(), [false, true]),
        (&[udp, &["--bidir"]].concat(), [true, true]),
        (tcp, [true, false]),
        (&[tcp, &["-R"]].concat(), [false, true]),
        (&[tcp, &["--bidir"]].concat(), [true, true]),
    ] {
        let Some(figures) = iperf3(options) else {
            return;
        };
        for (direction, is_used) in [figures.forward, figures.backward].iter().zip(directions) {
            if !is_used {
                assert_eq!(*direction, ExternalTotals::default(), "{options:?}");
                continue;
            }
            let sent = direction.sent_bytes.unwrap();
            let received = direction.received_bytes.unwrap();
            let packets = direction.packets.map(|packets| 1000 * packets);
            let is_right = (500_000..2_000_000).contains(&sent)
                && (1..=sent).contains(&received)
                && packets.is_none_or(|bytes| bytes == sent);
            assert!(is_right, "{options:?}: {direction:?}");
        }
    }
}
