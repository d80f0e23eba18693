//! What is read from real captures equals tshark's answers and the counters of the kernel that sent.

mod support;

use support::{Answers, Capture, analyse};
use trace::wireshark::{WiresharkMarks, WiresharkRetransmission};

/// The names of the marks of a segment, as in the answers.
fn names(marks: &WiresharkMarks) -> Vec<&'static str> {
    let resent = marks.retransmission;
    let named = [
        ("retransmission", resent.is_some()),
        (
            "fast_retransmission",
            resent == Some(WiresharkRetransmission::Fast),
        ),
        (
            "spurious_retransmission",
            resent == Some(WiresharkRetransmission::Spurious),
        ),
        ("out_of_order", marks.out_of_order),
        ("lost_segment", marks.lost_segment),
        ("ack_lost_segment", marks.ack_lost_segment),
        ("keep_alive", marks.keep_alive),
        ("keep_alive_ack", marks.keep_alive_ack),
        ("window_update", marks.window_update),
        ("window_full", marks.window_full),
        ("zero_window", marks.zero_window),
        ("zero_window_probe", marks.zero_window_probe),
        ("zero_window_probe_ack", marks.zero_window_probe_ack),
        ("reused_ports", marks.reused_ports),
    ];
    let marked = named.into_iter().filter(|(_, is_marked)| *is_marked);
    marked.map(|(name, _)| name).collect()
}

/// Differences between the marks of a capture and tshark's.
fn differences(capture: &Capture, answers: &Answers) -> Vec<String> {
    let (marks, _) = analyse(capture);
    let mut differences = Vec::new();
    assert_eq!(marks.len(), answers.packets.len(), "{}", capture.name);
    for (marks, answer) in marks.iter().zip(&answers.packets) {
        let place = format!("{} packet {}", capture.name, answer.number);
        if names(marks) != answer.marks {
            differences.push(format!(
                "{place}: {:?}, not {:?}",
                names(marks),
                answer.marks
            ));
        }
        if marks.duplicate_ack != answer.duplicate_ack {
            let (own, other) = (marks.duplicate_ack, answer.duplicate_ack);
            differences.push(format!("{place}: duplicate {own:?}, not {other:?}"));
        }
        let is_near = match (marks.ack_rtt_ns, answer.ack_rtt_ns) {
            (Some(own), Some(other)) => (own - other).abs() < 1000,
            (own, other) => own == other,
        };
        if !is_near {
            let (own, other) = (marks.ack_rtt_ns, answer.ack_rtt_ns);
            differences.push(format!("{place}: round trip {own:?}, not {other:?}"));
        }
    }
    differences
}

#[test]
fn marks_and_round_trips_are_those_of_tshark() {
    let mut differing = Vec::new();
    for capture in Capture::all() {
        differing.extend(differences(&capture, &Answers::kept(&capture)));
    }
    assert!(differing.is_empty(), "\n{}\n", differing.join("\n"));
}

#[test]
fn tshark_still_answers_so() {
    if !support::has_tshark() {
        return;
    }
    for capture in Capture::all() {
        let today = Answers::of_tshark(&capture);
        if std::env::var_os("PRESTAN_BLESS").is_some() {
            std::fs::write(capture.path("tshark.txt"), &today).unwrap();
        }
        let kept = std::fs::read_to_string(capture.path("tshark.txt")).unwrap_or_default();
        assert!(kept == today, "{}: tshark answers otherwise", capture.name);
    }
}

#[test]
fn a_wrong_mark_is_found() {
    let capture = Capture::read("fast");
    let mut answers = Answers::kept(&capture);
    assert_eq!(differences(&capture, &answers), Vec::<String>::new());
    answers.packets[40].marks = vec!["out_of_order".to_owned()];
    let rtt = answers
        .packets
        .iter()
        .position(|packet| packet.ack_rtt_ns.is_some());
    let with_rtt = &mut answers.packets[rtt.unwrap()];
    with_rtt.ack_rtt_ns = with_rtt.ack_rtt_ns.map(|rtt_ns| rtt_ns + 1500);
    assert_eq!(differences(&capture, &answers).len(), 2);
}

#[test]
fn delays_are_those_of_tshark() {
    for capture in Capture::all() {
        let expected = Answers::kept(&capture).delays();
        let (_, traced) = analyse(&capture);
        let requests = traced.connections.iter().flat_map(|of| &of.requests);
        let delays: Vec<_> = requests
            .filter(|request| request.method.as_deref() == Some("GET"))
            .map(|request| request.delay_ns())
            .collect();
        assert_eq!(delays, expected, "{}", capture.name);
    }
}

/// Kinds of retransmissions, and what the kernel calls them.
#[test]
fn kinds_are_those_of_the_kernel_that_sent() {
    use trace::retransmission::RetransmissionKind::*;
    let mut differing = Vec::new();
    for capture in Capture::all() {
        let kernel = capture.kernel();
        let (_, traced) = analyse(&capture);
        let sender = &traced.connections[0].from_server;
        let counts = sender.retransmissions;
        let table = [
            (counts.of(Timeout), "TCPTimeouts"),
            (counts.of(Fast), "TCPFastRetrans"),
            (counts.of(AfterTimeout), "TCPSlowStartRetrans"),
            (counts.of(TailLossProbe), "TCPLossProbes"),
            (counts.total(), "RetransSegs"),
            (sender.duplicate_sacks, "TCPDSACKRecv"),
            (counts.of(Unexplained), "none"),
        ];
        for (own, name) in table {
            let other = kernel.get(name).copied().unwrap_or(0);
            if own != other {
                differing.push(format!("{}: {name} {other}, not {own}", capture.name));
            }
        }
    }
    assert!(differing.is_empty(), "\n{}\n", differing.join("\n"));
}
#[test]
fn debug_dump() {
    let Some(name) = std::env::var_os("DUMP") else {
        return;
    };
    let capture = Capture::read(name.to_str().unwrap());
    let (_, traced) = analyse(&capture);
    for c in &traced.connections {
        for r in &c.from_server.first_retransmissions {
            println!("{:?}", r);
        }
        println!(
            "handshake {:?} rtt {:?} {:?}",
            c.handshake,
            c.from_server.rtt.smallest_ns(),
            c.from_server.overtaken
        );
        for f in trace::findings::findings(c, trace::findings::FindingThresholds { share: 0.0 }) {
            println!(
                "{:?} {:?} n={} {:.1} ms {:.3} {:?} first {:?}",
                f.cause,
                f.end,
                f.count,
                f.time_ns as f64 / 1e6,
                f.share,
                f.detail,
                f.longest.first()
            );
        }
        println!(
            "duration {:.1} ms, requests {:#?}",
            c.duration_ns() as f64 / 1e6,
            c.requests
        );
    }
}
