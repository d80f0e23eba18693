//! Properties of every capture, including hostile ones.

use core::net::SocketAddr;

use proptest::prelude::*;

use crate::support::{Capture, analyse};
use trace::AnalysisLimits;
use trace::connections::{TcpConnections, TracedConnections};
use trace::findings::{FindingThresholds, findings};
use trace::retransmission::RetransmissionKind;
use trace::segment::{TcpFlags, TcpOptions, TcpSegment};
use trace::wireshark::WiresharkMarks;

const LIMITS: AnalysisLimits = AnalysisLimits {
    connections: 3,
    passing_connections: 2,
    segments: 64,
    samples: 16,
    points: 8,
    retransmissions: 4,
    requests: 4,
};

/// A segment that owns its payload.
#[derive(Debug, Clone)]
struct OwnedSegment(TcpSegment<'static>, Vec<u8>);

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn number() -> impl Strategy<Value = u32> {
    // Near zero, so that they wrap and meet, or anywhere.
    prop_oneof![
        8 => (0..6000_u32).prop_map(|near| near.wrapping_sub(3000)),
        1 => any::<u32>(),
    ]
}

fn moment() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0..5_000_000_000_i64, 1 => any::<i64>()]
}

fn options() -> impl Strategy<Value = TcpOptions> {
    let block = || proptest::option::weighted(0.3, (number(), number()));
    let sack = [block(), block(), block(), block()];
    let stamps = proptest::option::of((number(), number()));
    let syn = (
        proptest::option::of(any::<u16>()),
        proptest::option::of(any::<u8>()),
        any::<bool>(),
    );
    (sack, stamps, syn).prop_map(|(sack, timestamps, (mss, window_scale, sack_permitted))| {
        TcpOptions {
            mss,
            window_scale,
            sack_permitted,
            sack,
            timestamps,
        }
    })
}

fn segment() -> impl Strategy<Value = OwnedSegment> {
    let ports = (0..3_u16, any::<bool>());
    let numbers = (number(), number(), any::<u16>());
    let heads = prop_oneof![
        Just(b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        Just(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_vec()),
        Just(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec()),
        Just(vec![22, 3, 1, 0, 4, 1, 2, 3, 4, 23, 3, 3, 0, 9]),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let length = prop_oneof![Just(0), 0..4_u32, 0..3000_u32, any::<u32>()];
    // Fewer SYN, FIN and RST than segments with data.
    let flags = (0..16_u8, any::<u8>());
    (moment(), ports, numbers, flags, options(), length, heads).prop_map(
        |(
            at_ns,
            (pair, is_back),
            (sequence, acknowledged, window),
            flags,
            options,
            length,
            bytes,
        )| {
            let (client, server) = (address(4000 + pair), address(80));
            let (source, destination) = if is_back {
                (server, client)
            } else {
                (client, server)
            };
            let bytes = bytes[..bytes.len().min(length as usize)].to_vec();
            let segment = TcpSegment {
                at_ns,
                source,
                destination,
                identification: None,
                sequence,
                acknowledged,
                flags: TcpFlags {
                    syn: flags.0 == 1 || flags.0 == 2,
                    ack: flags.0 != 1,
                    fin: flags.0 == 3,
                    rst: flags.0 == 4,
                    psh: flags.1 & 1 != 0,
                },
                window,
                options,
                length,
                payload: &[],
            };
            OwnedSegment(segment, bytes)
        },
    )
}

fn traced(segments: &[OwnedSegment]) -> TracedConnections {
    let mut connections = TcpConnections::new(LIMITS, None);
    for (packet, OwnedSegment(segment, payload)) in (1..).zip(segments) {
        let segment = TcpSegment {
            payload,
            ..*segment
        };
        connections.add(packet, &segment, &mut |_| ());
    }
    connections.finish(&mut |_| ())
}

fn check(traced: &TracedConnections, limits: &AnalysisLimits) {
    assert!(traced.connections.len() <= limits.connections);
    for connection in &traced.connections {
        assert!(connection.requests.len() <= limits.requests);
        for request in &connection.requests {
            let times = [
                request.response_time_ns(),
                request.total_ns(),
                request.delay_ns(),
            ];
            assert!(times.into_iter().flatten().all(|ns| ns >= 0), "{request:?}");
            assert!(request.request_first_ns >= connection.start_ns);
        }
        let duration_ns = i128::from(connection.duration_ns());
        let waits = connection.waits.iter();
        let waited_ns: i128 = waits.map(|wait| i128::from(wait.total_ns)).sum();
        assert!(waited_ns <= duration_ns, "{waited_ns} of {duration_ns}");
        for finding in findings(connection, FindingThresholds { share: 0.0 }) {
            assert!((0.0..=1.0).contains(&finding.share) && finding.time_ns >= 0);
        }
        for direction in [&connection.from_client, &connection.from_server] {
            assert_eq!(
                direction.payload_bytes,
                direction.unique_bytes + direction.resent_bytes
            );
            assert!(direction.rtt.smallest_ns().unwrap_or(0) >= 0);
            assert!(direction.stamp_rtt.smallest_ns().unwrap_or(0) >= 0);
            assert!(direction.rtt.samples().len() <= limits.samples);
            assert!(direction.first_retransmissions.len() <= limits.retransmissions);
            let counts = direction.retransmissions;
            let by_kind = RetransmissionKind::ALL.map(|kind| counts.of(kind));
            assert_eq!(by_kind.iter().sum::<u64>(), counts.total());
            assert!(counts.spurious() <= counts.total());
            let series = &direction.series;
            assert!(series.segments.points().len() <= limits.points);
            assert!(series.flight.points().len() <= limits.points);
            assert!(series.throughput.bins().count() <= limits.points);
            let bytes: u64 = series.throughput.bins().map(|(_, bytes)| bytes).sum();
            assert_eq!(bytes, direction.unique_bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_segments_give_figures_within_bounds(
        segments in proptest::collection::vec(segment(), 0..120),
    ) {
        check(&traced(&segments), &LIMITS);
    }

    #[test]
    fn where_sequence_numbers_wrap_is_of_no_importance(
        name in prop_oneof![Just("fast"), Just("tail-loss-probe"), Just("ipv6"), Just("spurious-fast")],
        client in any::<u32>(),
        server in any::<u32>(),
    ) {
        let capture = Capture::read(name);
        let (marks, traced) = shifted(&capture, client, server);
        let (expected_marks, expected) = analyse(&capture);
        prop_assert_eq!(marks, expected_marks);
        prop_assert!(traced == expected);
    }
}

/// The capture with sequence numbers moved.
fn shifted(
    capture: &Capture,
    client: u32,
    server: u32,
) -> (Vec<WiresharkMarks>, TracedConnections) {
    let mut connections = TcpConnections::new(AnalysisLimits::default(), None);
    let mut marks = Vec::new();
    for (packet, mut segment) in (1..).zip(capture.segments()) {
        let is_client = segment.destination.port() == 8080;
        let (sent, acknowledged) = if is_client {
            (client, server)
        } else {
            (server, client)
        };
        segment.sequence = segment.sequence.wrapping_add(sent);
        if segment.flags.ack {
            segment.acknowledged = segment.acknowledged.wrapping_add(acknowledged);
        }
        for (first, end) in segment.options.sack.iter_mut().flatten() {
            *first = first.wrapping_add(acknowledged);
            *end = end.wrapping_add(acknowledged);
        }
        marks.extend(connections.add(packet, &segment, &mut |_| ()));
    }
    (marks, connections.finish(&mut |_| ()))
}

#[test]
fn sequence_numbers_that_wrap_within_a_transfer_change_nothing() {
    for name in ["fast", "timeout-window", "random-loss-no-sack"] {
        let capture = Capture::read(name);
        let (expected_marks, expected) = analyse(&capture);
        let first = |port: u16| {
            let mut segments = capture.segments();
            segments
                .find(|segment| segment.source.port() == port)
                .map(|segment| segment.sequence)
        };
        let server = first(8080).map_or(0, u32::wrapping_neg);
        // The server's numbers wrap behind 30,000 bytes.
        let (marks, traced) = shifted(&capture, 0, server.wrapping_sub(30_000));
        assert_eq!(marks, expected_marks, "{name}");
        assert!(traced == expected, "{name}");
    }
}

#[test]
fn all_captures_keep_the_invariants() {
    for capture in Capture::all() {
        let (_, traced) = analyse(&capture);
        check(&traced, &AnalysisLimits::default());
    }
}

#[test]
fn connections_beyond_the_limit_are_counted() {
    let capture = Capture::read("fast");
    let mut connections = TcpConnections::new(LIMITS, None);
    for port in 1..=5 {
        for (packet, mut segment) in (1..).zip(capture.segments().take(10)) {
            for end in [&mut segment.source, &mut segment.destination] {
                if end.port() != 8080 {
                    end.set_port(port);
                }
            }
            let is_analysed = connections.add(packet, &segment, &mut |_| ()).is_some();
            assert_eq!(is_analysed, port <= 3);
        }
    }
    let traced = connections.finish(&mut |_| ());
    assert_eq!((traced.connections.len(), traced.ignored_segments), (3, 20));
}

mod quiet {
    use super::*;

    /// A capture of 1 GB has about a million segments; 10 s are permitted for it, of which reading
    /// packets takes a part.
    #[test]
    #[ignore = "nightly: optimised, and alone on this machine"]
    fn a_million_segments_take_seconds() {
        let captures = Capture::all();
        let start = std::time::Instant::now();
        let mut segments = 0;
        while segments < 1_000_000 {
            for capture in &captures {
                segments += analyse(capture).0.len();
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{segments} segments in {seconds:.2} s");
        assert!(seconds < 5.0, "{seconds} s");
    }
}
