//! Results for real captures equal tshark's and the counters of the sending kernel.

use std::collections::HashMap;

use crate::support::{Capture, MARKS, TsharkResults, analyse};
use trace::findings::{FindingDetail, FindingThresholds, SlownessCause, findings};
use trace::retransmission::{RetransmissionKind, SpuriousEvidence};
use trace::tls::TlsContent;
use trace::waits::ConnectionEnd;
use trace::wireshark::{WiresharkMarks, WiresharkRetransmission};

/// The names of the marks of a segment.
fn names(marks: &WiresharkMarks) -> Vec<&'static str> {
    let resent = marks.retransmission;
    let marked = [
        resent.is_some(),
        resent == Some(WiresharkRetransmission::Fast),
        resent == Some(WiresharkRetransmission::Spurious),
        marks.out_of_order,
        marks.lost_segment,
        marks.ack_lost_segment,
        marks.keep_alive,
        marks.keep_alive_ack,
        marks.window_update,
        marks.window_full,
        marks.zero_window,
        marks.zero_window_probe,
        marks.zero_window_probe_ack,
        marks.reused_ports,
    ];
    let marked = MARKS.into_iter().zip(marked);
    marked
        .filter_map(|(name, is_marked)| is_marked.then_some(name))
        .collect()
}

/// Differences between the marks of a capture and tshark's.
fn differences(capture: &Capture, expected: &TsharkResults) -> Vec<String> {
    let (marks, _) = analyse(capture);
    let mut differences = Vec::new();
    assert_eq!(marks.len(), expected.packets.len(), "{}", capture.name);
    for (marks, expected) in marks.iter().zip(&expected.packets) {
        let packet = format!("{} packet {}", capture.name, expected.number);
        if names(marks) != expected.marks {
            differences.push(format!(
                "{packet}: {:?}, not {:?}",
                names(marks),
                expected.marks
            ));
        }
        if marks.duplicate_ack != expected.duplicate_ack {
            let (found, expected) = (marks.duplicate_ack, expected.duplicate_ack);
            differences.push(format!("{packet}: duplicate {found:?}, not {expected:?}"));
        }
        let is_near = match (marks.ack_rtt_ns, expected.ack_rtt_ns) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1000,
            (found, expected) => found == expected,
        };
        if !is_near {
            let (found, expected) = (marks.ack_rtt_ns, expected.ack_rtt_ns);
            differences.push(format!("{packet}: round trip {found:?}, not {expected:?}"));
        }
    }
    differences
}

#[test]
fn marks_and_round_trips_are_those_of_tshark() {
    let mut differing = Vec::new();
    for capture in Capture::all() {
        differing.extend(differences(&capture, &TsharkResults::stored(&capture)));
    }
    assert!(differing.is_empty(), "\n{}\n", differing.join("\n"));
}

#[test]
fn tshark_still_answers_so() {
    if !crate::support::has_tshark() {
        return;
    }
    // It takes half a second to start.
    let captures = Capture::all();
    std::thread::scope(|scope| {
        for half in captures.chunks(captures.len().div_ceil(2)) {
            scope.spawn(|| half.iter().for_each(compare_with_tshark));
        }
    });
}

/// Compares the stored results with those of tshark, or replaces them.
fn compare_with_tshark(capture: &Capture) {
    let today = TsharkResults::from_tshark(capture);
    if std::env::var_os("PRESTAN_BLESS").is_some() {
        std::fs::write(capture.path("tshark.txt"), &today).unwrap();
    }
    let stored = std::fs::read_to_string(capture.path("tshark.txt")).unwrap_or_default();
    assert!(stored == today, "{}: tshark's results differ", capture.name);
}

#[test]
fn a_wrong_mark_is_found() {
    let capture = Capture::read("fast");
    let mut expected = TsharkResults::stored(&capture);
    assert_eq!(differences(&capture, &expected), Vec::<String>::new());
    expected.packets[40].marks = vec!["out_of_order".to_owned()];
    let rtt = expected
        .packets
        .iter()
        .position(|packet| packet.ack_rtt_ns.is_some());
    let with_rtt = &mut expected.packets[rtt.unwrap()];
    with_rtt.ack_rtt_ns = with_rtt.ack_rtt_ns.map(|rtt_ns| rtt_ns + 1500);
    assert_eq!(differences(&capture, &expected).len(), 2);
}

#[test]
fn delays_are_those_of_tshark() {
    for capture in Capture::all() {
        let expected = TsharkResults::stored(&capture).delays();
        let (_, traced) = analyse(&capture);
        let requests = traced
            .connections
            .iter()
            .flat_map(|connection| &connection.requests);
        let delays: Vec<_> = requests
            .filter(|request| request.method.as_deref() == Some("GET"))
            .map(|request| request.delay_ns())
            .collect();
        assert_eq!(delays, expected, "{}", capture.name);
    }
}

/// Cases in which the kernel counts otherwise, with the difference and the reason.
const KERNEL_DIFFERENCES: &[(&str, &str, i64)] = &[
    // Captured at the receiver: a retransmission that was lost again before it is missing, and the
    // cause of another, too.
    ("random-loss", "TCPFastRetrans", -2),
    ("random-loss", "TCPTimeouts", 1),
    ("random-loss", "RetransSegs", -1),
    // Captured at the receiver: a loss without a gap is missing, and the first copy of data that
    // was lost again.
    ("receiver-timeout", "TCPTimeouts", -1),
    ("receiver-timeout", "TCPSlowStartRetrans", -2),
    ("receiver-timeout", "RetransSegs", -3),
    ("receiver-timeout-hole", "TCPFastRetrans", -1),
    ("receiver-timeout-hole", "RetransSegs", -1),
    // A probe that sent new bytes is no retransmission.
    ("random-loss-sender", "TCPLossProbes", -1),
    // The kernel counts the timer of the response to a SYN, too.
    ("syn-ack-loss", "TCPTimeouts", -1),
];

/// Differences between the kinds of retransmissions and the kernel's counters, as in the table
/// above.
fn kernel_differences(capture: &Capture, kernel: &HashMap<String, u64>) -> Vec<String> {
    use RetransmissionKind::{AfterTimeout, Fast, TailLossProbe, Timeout, Unexplained};
    let (_, traced) = analyse(capture);
    let sender = &traced.connections[0].from_server;
    let counts = sender.retransmissions;
    let table = [
        (counts.of(Timeout), "TCPTimeouts"),
        (counts.of(Fast), "TCPFastRetrans"),
        (counts.of(AfterTimeout), "TCPSlowStartRetrans"),
        (counts.of(TailLossProbe), "TCPLossProbes"),
        (counts.total(), "RetransSegs"),
        (sender.duplicate_sacks, "TCPDSACKRecv"),
        (counts.of(Unexplained), "unexplained"),
    ];
    let differences = table.into_iter().filter_map(|(traced_count, name)| {
        let kernel_count = kernel.get(name).copied().unwrap_or(0);
        let difference = traced_count.cast_signed() - kernel_count.cast_signed();
        let known = KERNEL_DIFFERENCES.iter();
        let known = known.filter(|(name_of_capture, counter, _)| {
            *name_of_capture == capture.name && *counter == name
        });
        let expected: i64 = known.map(|(_, _, difference)| difference).sum();
        (difference != expected).then(|| {
            format!(
                "{}: {name} {kernel_count}, not {traced_count}",
                capture.name
            )
        })
    });
    differences.collect()
}

#[test]
fn kinds_are_those_of_the_kernel_that_sent() {
    let captures = Capture::all();
    let differences = captures
        .iter()
        .flat_map(|capture| kernel_differences(capture, &capture.kernel()));
    let differences: Vec<_> = differences.collect();
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
    let mut kernel = captures[0].kernel();
    kernel.insert("TCPTimeouts".to_owned(), 9);
    assert_eq!(kernel_differences(&captures[0], &kernel).len(), 1);
}

/// Captures, their causes, and the end that caused each. No other cause is found.
#[test]
fn findings_are_those_that_the_captures_were_made_for() {
    use ConnectionEnd::{Client, Server};
    use SlownessCause::*;
    let table: &[(&str, &[(SlownessCause, ConnectionEnd)])] = &[
        ("timeout", &[(Timeout, Server), (CongestionWindow, Server)]),
        (
            "tail-loss-probe",
            &[
                (FastRecovery, Server),
                (TailLossProbe, Server),
                (CongestionWindow, Server),
            ],
        ),
        ("syn-loss", &[(HandshakeRetransmission, Client)]),
        (
            "zero-window",
            &[(ZeroWindow, Client), (WindowLimited, Client)],
        ),
        ("window-limited", &[(WindowLimited, Client)]),
        ("nagle", &[(DelayedAcknowledgment, Server)]),
        (
            "persistent",
            &[
                (ClientPause, Client),
                (ServerResponseTime, Server),
                (CongestionWindow, Server),
            ],
        ),
        (
            "after-idle",
            &[
                (ClientPause, Client),
                (CongestionWindow, Server),
                (SlowStartAfterIdle, Server),
            ],
        ),
        (
            "fast",
            &[(CongestionWindow, Server), (FastRecovery, Server)],
        ),
        (
            "spurious-fast",
            &[
                (CongestionWindow, Server),
                (FastRecovery, Server),
                (SpuriousRetransmission, Server),
            ],
        ),
        (
            "spurious-timeout",
            &[
                (Timeout, Server),
                (TailLossProbe, Server),
                (CongestionWindow, Server),
                (SpuriousRetransmission, Server),
            ],
        ),
        ("keep-alive", &[(ClientPause, Client)]),
        (
            "queue",
            &[
                (Queue, Server),
                (ServerResponseTime, Server),
                (CongestionWindow, Server),
            ],
        ),
        // Until the queue has grown, its congestion window limits the server.
        (
            "receiver-queue",
            &[(Queue, Server), (CongestionWindow, Server)],
        ),
        (
            "random-loss-sender",
            &[(CongestionWindow, Server), (FastRecovery, Server)],
        ),
        (
            "random-loss",
            &[
                (CongestionWindow, Server),
                (FastRecovery, Server),
                (Timeout, Server),
            ],
        ),
        (
            "receiver-fast",
            &[
                (FastRecovery, Server),
                (ServerResponseTime, Server),
                (CongestionWindow, Server),
            ],
        ),
        // The whole end of a window is lost, and leaves a silence without a gap.
        (
            "receiver-timeout",
            &[(Timeout, Server), (CongestionWindow, Server)],
        ),
        (
            "receiver-timeout-hole",
            &[
                (Timeout, Server),
                (CongestionWindow, Server),
                (FastRecovery, Server),
            ],
        ),
        // A silence that is not a timer's, at the same point of capture.
        (
            "receiver-pause",
            &[(ServerPause, Server), (CongestionWindow, Server)],
        ),
        ("receiver-window", &[(WindowLimited, Client)]),
    ];
    for (name, expected) in table {
        let (_, traced) = analyse(&Capture::read(name));
        let found = findings(&traced.connections[0], FindingThresholds { share: 0.05 });
        let causes: Vec<_> = found
            .iter()
            .map(|slowness| (slowness.cause, slowness.end))
            .collect();
        assert_eq!(causes, *expected, "{name}: {found:#?}");
        let costs = found
            .windows(2)
            .map(|pair| pair[0].time_ns >= pair[1].time_ns);
        assert!(costs.into_iter().all(|is_sorted| is_sorted), "{name}");
        for finding in &found {
            let longest = finding.longest.first();
            assert!(longest.is_some() == (finding.time_ns > 0), "{name}");
            assert!(
                longest.is_none_or(|wait| wait.from_packet < wait.to_packet),
                "{name}"
            );
        }
    }
}

/// The evidence of some findings, by the settings of the captures.
#[test]
fn findings_have_the_figures_of_what_was_done() {
    let finding = |name: &str, cause: SlownessCause| {
        let (_, traced) = analyse(&Capture::read(name));
        let found = findings(&traced.connections[0], FindingThresholds::default());
        found
            .into_iter()
            .find(|found| found.cause == cause)
            .unwrap()
    };
    let is_ms = |time_ns: i64, from: i64, to: i64| (from..to).contains(&(time_ns / 1_000_000));
    let timeout = finding("timeout", SlownessCause::Timeout);
    assert_eq!(timeout.count, 1);
    assert!(is_ms(timeout.time_ns, 200, 260), "{timeout:?}");
    let syn = finding("syn-loss", SlownessCause::HandshakeRetransmission);
    assert!(is_ms(syn.time_ns, 1000, 1100), "{syn:?}");
    let nagle = finding("nagle", SlownessCause::DelayedAcknowledgment);
    assert!(
        is_ms(nagle.time_ns / nagle.count.cast_signed(), 38, 46),
        "{nagle:?}"
    );
    let reader = finding("zero-window", SlownessCause::ZeroWindow);
    assert!(is_ms(reader.time_ns, 700, 900), "{reader:?}");
    let server = finding("persistent", SlownessCause::ServerResponseTime);
    assert_eq!(server.count, 3);
    assert!(is_ms(server.time_ns, 180, 190), "{server:?}");
    let client = finding("persistent", SlownessCause::ClientPause);
    assert!(is_ms(client.time_ns, 1400, 1420), "{client:?}");
    let limited = finding("window-limited", SlownessCause::WindowLimited);
    let (_, traced) = analyse(&Capture::read("window-limited"));
    let FindingDetail::Window { rate, .. } = limited.detail else {
        panic!("{limited:?}");
    };
    let throughput = traced.connections[0].throughput(ConnectionEnd::Server, false);
    let ratio = throughput.unwrap() / rate;
    assert!((0.7..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn requests_are_those_that_were_sent() {
    let (_, traced) = analyse(&Capture::read("persistent"));
    let requests = &traced.connections[0].requests;
    for (number, request) in requests.iter().enumerate() {
        assert_eq!(request.method.as_deref(), Some("GET"));
        assert_eq!(request.path, Some(format!("/file-{number}")));
        assert_eq!(request.status, Some(200));
        assert_eq!(request.response_bytes, 30_000 + 42);
        assert_eq!(request.from_server.bytes(true), 30_042);
        let response_ms = request.response_time_ns().unwrap() / 1_000_000;
        assert!(
            request.is_clean && (60..65).contains(&response_ms),
            "{request:?}"
        );
        assert!(request.delay_ns() > request.total_ns());
    }
    assert_eq!(requests.len(), 3);

    let (_, traced) = analyse(&Capture::read("nagle"));
    let requests = &traced.connections[0].requests;
    let request_bytes: Vec<_> = requests
        .iter()
        .map(|request| request.request_bytes)
        .collect();
    assert_eq!(request_bytes, [252; 4]);
    assert!(
        requests
            .iter()
            .all(|request| request.is_clean && request.method.as_deref() == Some("PUT"))
    );
}

#[test]
fn records_of_tls_tell_requests_apart() {
    let (_, traced) = analyse(&Capture::read("tls"));
    let connection = &traced.connections[0];
    let requests = &connection.requests;
    assert_eq!(requests.len(), 3);
    // Session tickets come before the first response.
    let clean: Vec<_> = requests.iter().map(|request| request.is_clean).collect();
    assert_eq!(clean, [false, true, true]);
    for request in &requests[1..] {
        let response_ms = request.response_time_ns().unwrap() / 1_000_000;
        assert!((30..36).contains(&response_ms), "{request:?}");
        assert!(request.response_bytes > 20_000);
    }
    let first = connection
        .client_records
        .first()
        .map(|record| record.content);
    assert_eq!(first, Some(TlsContent::Handshake));
    let data = connection.client_records.iter();
    let data = data.filter(|record| record.content == TlsContent::ApplicationData);
    // The end of the handshake and three requests.
    assert_eq!(data.count(), 4);
}

#[test]
fn a_handshake_a_window_and_an_end_are_reported() {
    let (_, traced) = analyse(&Capture::read("reset"));
    let closing = traced.connections[0].closing.unwrap();
    assert!(closing.is_reset && closing.end == ConnectionEnd::Client);

    let (_, traced) = analyse(&Capture::read("syn-loss"));
    let connection = &traced.connections[0];
    assert_eq!(connection.handshake.syns, 2);
    let rtt_ns = connection.handshake.rtt_ns.unwrap();
    assert!((20_000_000..200_000_000).contains(&rtt_ns), "{rtt_ns}");
    let options = connection.from_client.syn_options.unwrap();
    assert_eq!((options.mss, options.sack_permitted), (Some(1460), true));
    assert!(!connection.closing.unwrap().is_reset);

    let (_, traced) = analyse(&Capture::read("zero-window"));
    let from_server = &traced.connections[0].from_server;
    assert_eq!(from_server.zero_windows, 1);
    assert_eq!(from_server.window.unwrap().0, 0);
    // Probes of the closed window.
    assert!(from_server.probes >= 2);
    let (_, traced) = analyse(&Capture::read("keep-alive"));
    assert!(traced.connections[0].from_client.probes >= 1);
}

#[test]
fn ports_that_are_used_again_have_another_connection() {
    let (marks, traced) = analyse(&Capture::read("reused-ports"));
    let [first, second] = &traced.connections[..] else {
        panic!("{} connections", traced.connections.len());
    };
    assert_eq!(marks.iter().filter(|marks| marks.reused_ports).count(), 1);
    assert_eq!(second.first_packet, first.last_packet + 1);
    assert_eq!(
        first.from_server.unique_bytes,
        second.from_server.unique_bytes
    );
    assert_eq!(first.requests.len(), second.requests.len());
}

/// Round trips without retransmissions: each is one of tshark's.
#[test]
fn round_trips_by_acknowledgments_are_among_those_of_tshark() {
    for name in [
        "persistent",
        "after-idle",
        "fast",
        "ipv6",
        "random-loss-sender",
    ] {
        let capture = Capture::read(name);
        let (_, traced) = analyse(&capture);
        let stored = TsharkResults::stored(&capture);
        let expected: Vec<_> = stored
            .packets
            .iter()
            .filter_map(|packet| packet.ack_rtt_ns)
            .collect();
        let found = &traced.connections[0].from_server.rtt;
        assert!(found.count() > 20, "{name}");
        for sample in found.samples() {
            let is_near = |rtt_ns: &i64| (rtt_ns - sample.rtt_ns).abs() < 1000;
            assert!(expected.iter().any(is_near), "{name}: {sample:?}");
        }
        // A clock that ticks every millisecond.
        let by_stamps = traced.connections[0].from_server.stamp_rtt.smallest_ns();
        let difference_ns = by_stamps.unwrap() - found.smallest_ns().unwrap();
        assert!(
            (-1_000_000..2_000_000).contains(&difference_ns),
            "{name}: {difference_ns}"
        );
    }
}

/// Unneeded retransmissions, by their evidence.
#[test]
fn spurious_retransmissions_are_shown_by_sack_and_by_time_stamps() {
    let evidence = |name: &str| {
        let (_, traced) = analyse(&Capture::read(name));
        let all = traced.connections[0]
            .from_server
            .first_retransmissions
            .clone();
        all.iter()
            .filter_map(|retransmission| retransmission.spurious)
            .collect::<Vec<_>>()
    };
    assert_eq!(evidence("fast"), []);
    assert_eq!(evidence("timeout"), []);
    assert_eq!(
        evidence("spurious-fast"),
        [SpuriousEvidence::DuplicateSack; 2]
    );
    let timeout = evidence("spurious-timeout");
    assert_eq!(timeout.len(), 2);
    assert!(
        timeout.contains(&SpuriousEvidence::TimeStamps),
        "{timeout:?}"
    );
}
