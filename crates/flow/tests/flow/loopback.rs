//! Sources and sinks of one process, over loopback.

use std::net::SocketAddr;
use std::time::Duration;

use flow::FlowTransport::{Tcp, Udp};
use flow::source::{FlowPlan, LoadTotals};
use flow::stability::StabilityRule;
use flow::{
    FlowError, FlowTransport, SharedToken, SinkHandle, SinkLimits, SinkSettings, TrafficSink,
    TrafficSource,
};
use traffic::{DepartureSchedule, PlannedDeparture};

use crate::support::{
    PATIENCE, eventually, free_tcp_port, free_udp_port, plan, sink, sink_on, source, token,
};

fn totals(sink: &SinkHandle, flows: Vec<FlowPlan>) -> LoadTotals {
    let totals = source(sink.address(), flows).finish(PATIENCE).unwrap();
    assert!(totals.failure.is_none(), "{totals:?}");
    totals
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn flows_of_each_kind_arrive() {
    let schedule = |bytes| {
        let blocks = (0..100).map(move |number| PlannedDeparture {
            at_ns: number * 5_000_000,
            bytes,
        });
        Box::new(blocks)
    };
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let sink = sink_on(address, SinkLimits::default());
        let half = SECOND / 2;
        let mut plain = FlowPlan::scheduled(Tcp, schedule(7), 7, None, SECOND);
        plain.options.has_stamps = false;
        let mut in_blocks = FlowPlan::full(Tcp, 8192, half);
        in_blocks.options.no_delay = true;
        let flows = vec![
            FlowPlan::full(Tcp, 8192, half),
            in_blocks,
            FlowPlan::full(Udp, 1460, half),
            FlowPlan::full(Udp, 40_000, half),
            FlowPlan::scheduled(Tcp, schedule(1_000_000), 1_000_000, None, SECOND),
            FlowPlan::scheduled(Udp, schedule(400), 400, None, SECOND),
            plain,
            // Shorter than its header.
            FlowPlan::scheduled(Udp, schedule(1), 1, None, SECOND),
        ];
        let totals = totals(&sink, flows);
        for flow in &totals.flows[..4] {
            assert!(flow.received_bytes > 1_000_000, "{flow:?}");
            assert!(flow.received_bytes <= flow.sent_bytes, "{flow:?}");
        }
        for flow in &totals.flows[..2] {
            assert_eq!(flow.received_bytes, flow.sent_bytes, "{flow:?}");
            assert!(flow.round_trip_us.is_some());
        }
        let [.., blocks, datagrams, plain, short] = &totals.flows[..] else {
            unreachable!("there are eight");
        };
        for (flow, blocks, bytes) in [
            (blocks, 100, 1_000_000),
            (datagrams, 100, 400),
            (short, 100, 28),
        ] {
            let planned = flow.sent_blocks + flow.dropped_blocks + flow.refused_blocks;
            assert_eq!(planned, blocks, "{flow:?}");
            let arrived = flow.received_blocks;
            assert_eq!(flow.sent_blocks, arrived + flow.lost, "{flow:?}");
            assert_eq!(flow.received_bytes, arrived * bytes, "{flow:?}");
        }
        assert_eq!(short.padding_bytes, short.sent_blocks * 27);
        assert_eq!(plain.received_bytes, 7 * plain.sent_blocks);
        assert_eq!(sink.status().last_failure, None);
    }
}

#[test]
fn a_stream_that_begins_late_belongs_to_its_flow_all_the_same() {
    let sink = sink();
    let blocks = (0..10).map(|number| PlannedDeparture {
        at_ns: 3_500_000_000 + number * 10_000_000,
        bytes: 500,
    });
    let flow = FlowPlan::scheduled(Tcp, Box::new(blocks), 500, None, 5 * SECOND);
    let totals = totals(&sink, vec![flow]);
    let flow = &totals.flows[0];
    assert!(!flow.has_failed, "{flow:?}");
    let blocks = (flow.sent_blocks, flow.received_blocks);
    assert_eq!(blocks, (10, 10), "{flow:?}");
    assert_eq!(sink.status().strange_connections, 0);
}

#[test]
fn a_constant_rate_arrives_within_one_percent() {
    let sink = sink();
    let (rate, bytes) = (2_000_000, 1000);
    let paced = FlowPlan::paced(Udp, bytes, rate, 30 * SECOND);
    let source = source(sink.address(), vec![paced]);
    source.ready(PATIENCE).unwrap();
    let readings = source.wait_until_stable(StabilityRule::default()).unwrap();
    let last = &readings[readings.len() - 3..];
    let received = last.iter().map(|reading| reading.flows[0].received_bytes);
    let received: u64 = received.sum();
    let seconds: f64 = last.iter().map(|reading| reading.span.as_secs_f64()).sum();
    let measured = received as f64 / seconds;
    assert!((measured / rate as f64 - 1.0).abs() < 0.01, "{readings:?}");
    let now = source.reading_now(PATIENCE).unwrap();
    assert!(!now.is_full_second && now.span < SECOND, "{now:?}");
    let sessions = sink.readings();
    assert_eq!(sessions.len(), 1);
    assert!(sessions[0].flows[0].bytes > 4_000_000);
    let totals = source.stop().unwrap();
    assert_eq!(totals.flows[0].lost, 0);
    assert!(totals.elapsed < 28 * SECOND);
    let delays = totals.flows[0].delays.unwrap();
    let is_ordered = 0 < delays.p50_ns && delays.p50_ns <= delays.p99_ns;
    assert!(is_ordered, "{delays:?}");
}

#[test]
fn a_load_of_a_file_flows_by_its_schedules() {
    let text = "
models:
  cbr: {cbr: {rate: 1mbit, block: 500}}
  telnet: {telnet: {}}
  full: {full: {}}
components:
  datagrams: {model: cbr, protocol: udp, dscp: ef}
  stream: {model: cbr, protocol: tcp, congestion: reno, window: 64KiB}
  keys: {model: telnet, protocol: tcp}
  full: {model: full, protocol: tcp}
loads:
  all: {flows: [{component: datagrams, n: 2}, {component: stream}, {component: keys}, {component: full}]}
";
    let load = traffic::Traffic::parse("x", text).unwrap();
    let flows = load.loads["all"].flows.iter().map(|flow| {
        let mut plan = FlowPlan::planned(flow, 1, 2 * SECOND);
        assert!(plan.options.sink_port.take().is_some());
        plan
    });
    let sink = sink();
    let totals = totals(&sink, flows.collect());
    let [first, second, stream, keys, full] = &totals.flows[..] else {
        unreachable!("there are five");
    };
    for flow in [first, second, stream] {
        // 250 blocks a second.
        let planned = flow.sent_blocks + flow.dropped_blocks + flow.refused_blocks;
        assert!((499..=501).contains(&planned), "{flow:?}");
        assert_eq!(flow.received_bytes, 500 * flow.received_blocks);
        assert_eq!(flow.excess_blocks, 0);
    }
    assert_eq!((first.dscp, keys.has_failed), (Some(46), false));
    // Keystrokes are sent unchanged, and their pauses are not stalls.
    assert_eq!(keys.received_bytes, keys.sent_blocks, "{keys:?}");
    assert_eq!((keys.padding_bytes, keys.stalls), (0, None), "{keys:?}");
    assert_eq!(full.received_bytes, full.sent_bytes);
    assert_eq!(totals.source_congestion_control[2].as_deref(), Some("reno"));
}

#[test]
fn a_thousand_flows_keep_their_schedules() {
    let sink = sink();
    // The rate is that of a build without optimisation on a busy machine.
    let flow = |_| FlowPlan::paced(Udp, 100, 1000, 2 * SECOND);
    let totals = totals(&sink, (0..1000).map(flow).collect());
    for flow in &totals.flows {
        let planned = flow.sent_blocks + flow.dropped_blocks + flow.refused_blocks;
        assert!((19..=20).contains(&planned), "{flow:?}");
        assert_eq!(flow.sent_blocks, flow.received_blocks + flow.lost);
    }
    let pacing = totals.pacing;
    let is_ordered = pacing.blocks > 15_000 && pacing.p50_ns <= pacing.p99_ns;
    assert!(is_ordered, "{pacing:?}");
}

#[test]
fn an_unsteady_load_is_not_stable() {
    let sink = sink();
    // Half a megabyte in the first 0.2 s of every other second.
    let blocks = (0..50_u64).flat_map(|second| {
        (0..100).map(move |number| PlannedDeparture {
            at_ns: 2_000_000_000 * second + 2_000_000 * number,
            bytes: 5000,
        })
    });
    let flow = FlowPlan::scheduled(Udp, Box::new(blocks), 5000, None, 20 * SECOND);
    let source = source(sink.address(), vec![flow]);
    let rule = StabilityRule {
        patience: 5 * SECOND,
        ..StabilityRule::default()
    };
    let error = source.wait_until_stable(rule).unwrap_err().to_string();
    assert!(
        error.contains("did not become stable within 5 s"),
        "{error}"
    );
}

#[test]
fn loss_at_a_small_buffer_is_seen() {
    let sink = sink();
    let mut flow = FlowPlan::full(Udp, 1000, SECOND / 2);
    flow.options.window_bytes = Some(2048);
    let totals = totals(&sink, vec![flow]);
    let flow = &totals.flows[0];
    assert!(flow.lost > 0 && totals.loss() > 0.0, "{flow:?}");
    assert_eq!(flow.lost, flow.sent_blocks - flow.received_blocks);
    // Loopback loses nothing: it was the buffer, in which datagrams that are joined count as one.
    assert!((1..=flow.lost).contains(&flow.overflowed), "{flow:?}");
}

#[test]
fn what_a_schedule_has_beyond_the_agreement_is_not_sent() {
    let sink = sink();
    let schedule = DepartureSchedule::constant_rate(1000, 4_000_000, 0);
    let flow = FlowPlan::scheduled(Udp, schedule, 1000, Some(1_000_000), 2 * SECOND);
    // A block that is larger than the largest is not sent, either.
    let large = [PlannedDeparture {
        at_ns: 0,
        bytes: 1001,
    }];
    let large = FlowPlan::scheduled(Udp, Box::new(large.into_iter()), 1000, None, SECOND);
    let totals = totals(&sink, vec![flow, large]);
    let [flow, large] = &totals.flows[..] else {
        unreachable!("there are two");
    };
    let agreed = 1_000_000 * 3;
    assert!(flow.sent_bytes <= agreed, "{flow:?}");
    assert!(flow.sent_bytes > agreed * 9 / 10, "{flow:?}");
    assert!(flow.excess_blocks > 4000, "{flow:?}");
    assert_eq!((large.excess_blocks, large.sent_blocks), (1, 0));
}

#[test]
fn a_stream_may_be_silent_before_its_first_block() {
    let sink = sink();
    // Longer than an unidentified connection is kept.
    let block = PlannedDeparture {
        at_ns: 3_500_000_000,
        bytes: 1000,
    };
    let flow = FlowPlan::scheduled(Tcp, Box::new([block].into_iter()), 1000, None, 5 * SECOND);
    let totals = totals(&sink, vec![flow]);
    let flow = &totals.flows[0];
    assert_eq!((flow.received_blocks, flow.has_failed), (1, false));
}

#[test]
fn blocks_that_are_too_late_are_dropped() {
    let sink = sink();
    // All at the same moment: the last ones cannot be sent within the backlog.
    let blocks = (0..1_000_000).map(|_| PlannedDeparture {
        at_ns: 0,
        bytes: 1000,
    });
    let mut flow = FlowPlan::scheduled(Udp, Box::new(blocks), 1000, None, 5 * SECOND);
    flow.options.backlog = Some(Duration::from_millis(20));
    let totals = totals(&sink, vec![flow]);
    let flow = &totals.flows[0];
    assert!(flow.dropped_blocks > 0 && flow.late_blocks > 0, "{flow:?}");
    let planned = flow.sent_blocks + flow.dropped_blocks + flow.refused_blocks;
    assert_eq!(planned, 1_000_000);
    assert!(totals.pacing.max_ns < 25_000_000, "{:?}", totals.pacing);
}

#[test]
fn options_reach_both_ends() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let sink = sink_on(address, SinkLimits::default());
        let flow = |transport: FlowTransport| {
            let mut flow = FlowPlan::paced(transport, 1000, 100_000, SECOND / 2);
            flow.options.dscp = Some(46);
            flow.options.congestion_control = Some("reno".to_owned());
            flow.options.window_bytes = Some(100_000);
            flow.options.bind = Some(SocketAddr::new(sink.address().ip(), 0));
            flow
        };
        let totals = totals(&sink, vec![flow(Udp), flow(Tcp)]);
        assert_eq!(totals.flows[0].dscp, Some(46));
        let reno = Some("reno".to_owned());
        assert_eq!(totals.source_congestion_control, [None, reno.clone()]);
        assert_eq!(totals.sink_congestion_control, [None, reno]);
    }
}

#[test]
fn a_port_that_is_taken_is_refused_with_a_sentence() {
    let sink = sink();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (udp, tcp) = (udp.local_addr().unwrap(), tcp.local_addr().unwrap());
    for (transport, taken) in [(Udp, udp), (Tcp, tcp)] {
        let mut flow = FlowPlan::paced(transport, 1000, 100_000, SECOND);
        flow.options.sink_port = Some(taken.port());
        let source = source(sink.address(), vec![flow]);
        let error = source.ready(PATIENCE).unwrap_err();
        let expected = format!("the sink cannot use port {} of 127.0.0.1", taken.port());
        assert!(error.to_string().contains(&expected), "{error}");
    }
    // The control port works, too.
    let settings = SinkSettings {
        listen: sink.address(),
        token: token(),
        limits: SinkLimits::default(),
    };
    let error = TrafficSink::start(settings).unwrap_err().to_string();
    let expected = format!("listen on {}", sink.address());
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn two_sources_with_the_same_default_ports_share_a_sink() {
    let sink = sink();
    let port = free_udp_port();
    let flows = || {
        [Udp, Tcp].map(|transport| {
            let mut flow = FlowPlan::paced(transport, 1000, 100_000, SECOND);
            flow.options.sink_port = Some(port);
            flow.options.may_move = true;
            flow
        })
    };
    let both = [(); 2].map(|()| source(sink.address(), flows().into()));
    for source in both {
        let totals = source.finish(PATIENCE).unwrap();
        assert!(totals.failure.is_none(), "{totals:?}");
        let lost: Vec<_> = totals.flows.iter().map(|flow| flow.lost).collect();
        assert_eq!(lost, [0, 0]);
        assert!(totals.flows.iter().all(|flow| flow.received_bytes > 0));
    }
}

#[test]
fn limits_and_tokens_are_checked_before_anything_is_sent() {
    let limits = SinkLimits {
        bytes_per_second: Some(1_000_000),
        ..SinkLimits::default()
    };
    let sink = sink_on("127.0.0.1:0", limits);
    let paced = |rate| FlowPlan::paced(Udp, 1000, rate, SECOND);
    let refused = source(sink.address(), vec![paced(1_000_001)]);
    let error = refused.ready(PATIENCE).unwrap_err();
    assert!(matches!(error, FlowError::Refused(_)), "{error}");
    let plan = plan(sink.address(), vec![paced(1000)]);
    let other = SharedToken::new(b"a token of other tests").unwrap();
    let impostor = TrafficSource::start(plan, other).unwrap();
    let error = impostor.finish(PATIENCE).unwrap_err().to_string();
    assert!(error.contains("another token"), "{error}");
    eventually("both sources are gone", || {
        let status = sink.status();
        (status.sessions, status.flows, status.failed_sessions) == (0, 0, 2)
    });
    // Flows within the limits are sent.
    assert!(totals(&sink, vec![paced(1_000_000)]).flows[0].received_bytes > 900_000);
}

#[test]
fn the_rest_of_a_second_ends_with_the_flows() {
    let sink = sink();
    let paced = FlowPlan::paced(Udp, 1000, 100_000, SECOND / 2);
    let source = source(sink.address(), vec![paced]);
    eventually("the flow ends", || !source.is_active());
    let readings = source.readings();
    let last = readings.last().unwrap();
    assert!(!last.is_full_second, "{last:?}");
    // The sink waits 100 ms and longer for data in flight, in which nothing is sent.
    let waited = last.at.saturating_sub(last.span);
    assert!(waited >= SECOND / 11, "{last:?}");
    source.finish(PATIENCE).unwrap();
}

#[test]
fn where_no_sink_is_a_source_says_what_to_do() {
    let address = SocketAddr::from(([127, 0, 0, 1], free_tcp_port()));
    let error_at = |address: SocketAddr| {
        let source = source(address, vec![FlowPlan::paced(Udp, 1000, 100_000, SECOND)]);
        source.finish(PATIENCE).unwrap_err().to_string()
    };
    let error = error_at(address);
    let expected = format!("connect to the sink {address}: Connection refused");
    assert!(error.starts_with(&expected), "{error}");
    assert!(
        error.contains("start `prestan traffic sink` there"),
        "{error}"
    );
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let silent = "did not greet as a sink does (another program may listen there) within 5 s";
    assert_eq!(error_at(address), format!("{address} {silent}"));
}

#[test]
fn a_sink_that_stops_says_so() {
    let sink = sink();
    let paced = FlowPlan::paced(Udp, 1000, 100_000, 60 * SECOND);
    let source = source(sink.address(), vec![paced]);
    source.ready(PATIENCE).unwrap();
    sink.stop();
    let totals = source.finish(2 * SECOND).unwrap();
    let failure = totals.failure.unwrap().to_string();
    assert_eq!(failure, "the sink ended the session: the sink was stopped");
}

#[test]
fn a_source_that_is_dropped_leaves_nothing() {
    let sink = sink();
    let paced = FlowPlan::paced(Udp, 1000, 100_000, 60 * SECOND);
    let source = source(sink.address(), vec![paced]);
    source.ready(PATIENCE).unwrap();
    assert_eq!(sink.status().flows, 1);
    drop(source);
    eventually("the session ends", || sink.status().sessions == 0);
    assert_eq!(sink.status().failed_sessions, 0);
}
