//! Files: accepted and refused ones, and the planned flows.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use traffic::{FlowProtocol, IpVersion, Traffic, TrafficSpec};

const EXAMPLES: [&str; 4] = [
    "example.yaml",
    "tcp-both-directions.yaml",
    "congestion-udp.yaml",
    "congestion-ipv6.yaml",
];

fn example(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traffic");
    std::fs::read_to_string(directory.join(name)).unwrap()
}

/// A correct file, of which tests change a part.
const RIGHT: &str = "
models:
  m: {cbr: {rate: 1mbit, block: 1000}}
  s: {cbr: {block: 1000}}
  t: {telnet: {}}
components:
  u: {model: m, protocol: udp}
  c: {model: m, protocol: tcp, window: 64KiB, congestion: cubic}
  p: {model: s, protocol: udp}
loads:
  l: {start: 1s, duration: 2s, flows: [{component: u, n: 2}, {component: c}]}
  r: {rate: 10mbit, flows: [{component: p, n: 2, share: 40%}, {component: p, share: 60%}]}
";

#[test]
fn examples_are_right_and_read_as_what_is_written() {
    for name in EXAMPLES {
        let spec = TrafficSpec::read(name, &example(name)).unwrap();
        Traffic::new(&spec).unwrap_or_else(|error| panic!("{error}"));
        let written = serde_json::to_string(&spec).unwrap();
        let read: TrafficSpec = serde_json::from_str(&written).unwrap();
        assert_eq!(read, spec, "{name}");
    }
}

#[test]
fn the_loads_of_the_papers_are_theirs() {
    let both = Traffic::parse("x", &example(EXAMPLES[1])).unwrap();
    let flows = &both.loads["flows-25"].flows;
    let from = |host: &str| flows.iter().filter(|flow| flow.source == host).count();
    assert_eq!((from("ltpc15"), from("ltpc26")), (25, 25));
    let is_full = |flow: &traffic::PlannedFlow| flow.model.mean_rate_bps().is_none();
    assert!(flows.iter().all(is_full));
    let udp = Traffic::parse("x", &example(EXAMPLES[2])).unwrap();
    let rate = |load: &str| udp.loads[load].flows[0].model.mean_rate_bps();
    let rates = ["C1", "C2", "C3"].map(rate);
    assert_eq!(rates, [Some(10e6), Some(15e6), Some(10e6)]);

    let mixed = Traffic::parse("x", &example(EXAMPLES[3])).unwrap();
    for (load, total, of_ipv6) in [
        ("C1B", 75e6, 0.5),
        ("C2B", 75e6, 0.75),
        ("C3B", 75e6, 0.25),
        ("C4B", 100e6, 0.5),
        ("C5B", 100e6, 0.75),
        ("C6B", 100e6, 0.25),
    ] {
        let flows = &mixed.loads[load].flows;
        assert_eq!(flows.len(), 10);
        let sum = |is_in: &dyn Fn(&traffic::PlannedFlow) -> bool| -> f64 {
            let rates = flows.iter().filter(|flow| is_in(flow));
            rates.map(|flow| flow.model.mean_rate_bps().unwrap()).sum()
        };
        assert!((sum(&|_| true) - total).abs() < 10.0);
        assert!((sum(&|flow| flow.protocol == FlowProtocol::Udp) - 0.1 * total).abs() < 10.0);
        assert!((sum(&|flow| flow.ip == IpVersion::V6) - of_ipv6 * total).abs() < 10.0);
    }
}

#[test]
fn flows_are_planned() {
    let text = RIGHT
        .replace("u, n: 2}", "u, n: 2, direction: both}")
        .replace("udp}\n  c", "udp, port: 20000, source_port: 7000}\n  c");
    let traffic = Traffic::parse("x", &text).unwrap();
    let load = &traffic.loads["l"];
    let times = (load.start_ns, load.end_ns);
    assert_eq!(times, (1_000_000_000, Some(3_000_000_000)));
    let seen: Vec<_> = load
        .flows
        .iter()
        .map(|flow| (flow.number, &*flow.source, flow.sink_port, flow.source_port))
        .collect();
    assert_eq!(
        seen,
        [
            (0, "here", 20_000, Some(7000)),
            (1, "here", 20_001, Some(7001)),
            (2, "there", 20_002, Some(7002)),
            (3, "there", 20_003, Some(7003)),
            // Another protocol.
            (4, "here", 20_000, None),
        ]
    );
    let tcp = &load.flows[4];
    let options = (tcp.window_bytes, tcp.congestion.as_deref());
    assert_eq!(options, (Some(65_536), Some("cubic")));
    // The weights of a share, and ports that no other flow has.
    let shared = &traffic.loads["r"];
    let rates = shared.flows.iter().map(|flow| flow.model.mean_rate_bps());
    let rates: Vec<_> = rates.collect();
    assert_eq!(rates, [Some(2e6), Some(2e6), Some(6e6)]);
    let ports: BTreeSet<u16> = shared.flows.iter().map(|flow| flow.sink_port).collect();
    assert_eq!((ports.len(), shared.end_ns), (3, None));
}

/// The replaced text, its replacement, and the message.
const DEFECTS: &str = "
    model: m, protocol: udp} => model: x, protocol: udp} => components.u.model: there is no model `x`
    component: u => component: x => loads.l.flows[0].component: there is no component `x`
    n: 2}, {component: c} => n: 0} => loads.l.flows[0].n: is 0; a set has at least one flow
    n: 2}, {component: c} => n: 20000} => loads.l.flows: 20000 flows are too many: a load has at most 10000
    n: 2}, {component: c} => n: 4294967295, direction: both}
        => loads.l.flows: 8589934590 flows are too many: a load has at most 10000
    share: 60% => share: 50% => loads.r.flows: the shares add up to 90.00 %, and not to 100 %
    , share: 60% =>  => loads.r.flows[1].share: is missing: the load has a rate, of which each set has a share
    rate: 10mbit, flows => flows => loads.r.rate: is missing: its flows have shares of it
    {component: u, n: 2} => {component: p, n: 2}
        => loads.l.flows[0].component: model `s` has no rate of its own, and this set has no share of one
    {component: u, n: 2} => {component: u, n: 2, weights: [1, 2]}
        => loads.l.flows[0].weights: divide a share, and this set has none
    share: 40% => share: 40%, weights: [1] => loads.r.flows[0].weights: has 1 weights for 2 instances
    share: 40% => share: 40%, weights: [1, -1] => loads.r.flows[0].weights: -1 is not between 0.000001 and 1000000
    p: {model: s, protocol: udp} => p: {model: t, protocol: tcp}
        => loads.r.flows[0].share: model `t` cannot have a share: only full, cbr, on-off and self-similar can be set to a rate
    u: {model: m, => u: {model: t,
        => components.u.model: `t` does not fit into UDP: 100.0 % of its blocks are not between 32 and 65507 bytes, as datagrams are; give min and max
    rate: 1mbit, block: 1000 => rate: 10gbit, every: 1ms
        => components.u.model: `m` does not fit into UDP: its blocks have 1250000 bytes, and a datagram has at most 65507; give a smaller block
    s: {cbr: {block: 1000}} => s: {cbr: {every: 1s}}
        => loads.r.flows[0].share: `s` does not fit into UDP: its blocks have 250000 bytes, and a datagram has at most 65507; give a smaller block
    rate: 1mbit, block: 1000 => rate: 1mbit, block: 31
        => components.u.model: `m` does not fit into UDP: its blocks have 31 bytes, and a datagram needs 32 for its sequence number and time stamp
    rate: 1mbit, block: 1000 => rate: 1mbit => models.m.cbr: has two of the keys rate, block and every
    rate: 1mbit, block: 1000 => rate: 1mbit, block: 17MiB
        => models.m.block: a block of 17MiB is not between 1 byte and 16MiB
    cbr: {rate: 1mbit, block: 1000} => on-off: {on: {constant: 1us}, off: {constant: 1us}, rate: 1kbit, block: 1000}
        => models.m.rate: lets 8000000 periods pass for a block; at most 10000 may
    cbr: {rate: 1mbit, block: 1000} => mmpp: {rates: [1, 0], generator: [[-1e6, 1e6], [1e6, -1e6]], block: {constant: 100}}
        => models.m.generator: lets 2000000 changes of state pass for a block; at most 10000 may
    cbr: {rate: 1mbit, block: 1000} => self-similar: {rate: 1bit, hurst: 0.7, block: 1000}
        => models.m.slot: lets 800000 slots pass for a block; at most 10000 may
    cbr: {rate: 1mbit, block: 1000} => user: {gap: {pareto: {min: 1ms, shape: 0.9}}, block: {constant: 100}}
        => models.m.gap: the mean of this Pareto law is infinite; give a shape above 1, or max
    cbr: {rate: 1mbit, block: 1000} => user: {gap: {constant: 0s}, block: {constant: 100}}
        => models.m.gap: the mean must be at least 1 ns
    cbr: {rate: 1mbit, block: 1000} => user: {gap: {exponential: {mean: 1ms}}, block: {exponential: {mean: 1000}}}
        => components.u.model: `m` does not fit into UDP: 3.1 % of its blocks are not between 32 and 65507 bytes, as datagrams are; give min and max
    cbr: {rate: 1mbit, block: 1000} => user: {gap: {uniform: {min: 2ms, max: 1ms}}, block: {constant: 100}}
        => models.m.gap: min is not below max
    cbr: {rate: 1mbit, block: 1000} => user: {gap: {normal: {mean: 1ms, sd: 1ms, min: 9ms}}, block: {constant: 100}}
        => models.m.gap: only 0.00 % of it lies between min (or 0) and max; choose other parameters
    cbr: {rate: 1mbit, block: 1000} => user: {gap: {constant: 1ms}, block: {gamma: {shape: 1000, scale: 1}}}
        => models.m.block: shape is 1000; it must be between 0.05 and 100
    cbr: {rate: 1mbit, block: 1000} => mmpp: {rates: [1, 2], generator: [[-1, 1], [1, 1]], block: {constant: 100}}
        => models.m.generator[1]: adds up to 2, and not to 0
    cbr: {rate: 1mbit, block: 1000} => mmpp: {rates: [1, 2], generator: [[-1, 1]], block: {constant: 100}}
        => models.m.generator: has 2 rows of 2 numbers, as there are 2 rates
    cbr: {rate: 1mbit, block: 1000} => mmpp: {rates: [1, 2], generator: [[-1, 1], [0, 0]], block: {constant: 100}}
        => models.m.generator: has a state that is never entered or never left
    cbr: {rate: 1mbit, block: 1000} => mmpp: {rates: [.nan], generator: [[0]], block: {constant: 100}}
        => models.m.rates: NaN is not between 0 and 100 million blocks per second
    cbr: {rate: 1mbit, block: 1000} => self-similar: {rate: 1mbit, hurst: 1.2, block: 100}
        => models.m.hurst: must be between 0.55 and 0.95
    cbr: {rate: 1mbit, block: 1000} => gop: {pattern: IBP, fps: 25, i: 5000, p: 2000}
        => models.m.pattern: has a B; give the key b, too
    duration: 2s => duration: 0s => loads.l.duration: the load ends before it has begun
    duration: 2s => end: 1s => loads.l.end: the load ends before it has begun
    duration: 2s => duration: 2s, end: 9s => loads.l.end: stands beside `duration`; one of them is enough
    u: {model: m, protocol: udp => u: {model: m, protocol: udp, window: 64KiB
        => components.u.window: is for TCP, and this is a UDP flow
    u: {model: m, protocol: udp => u: {model: m, protocol: udp, port: 65535
        => components.u.port: instance 1 in loads.l has the port 65536; 65535 is the last
    u: {model: m, protocol: udp => u: {model: m, protocol: udp, port: 9, source_port: 10
        => components.u.port: port 10 is also one of `u` in loads.l
    u: {model: m, protocol: udp => u: {model: m, protocol: udp, sink: here
        => components.u.sink: is the same host as the source; give one of them another name
    ↵  u: => ↵  u v: => components.u v: a name has letters, digits, - and _, at most 64
    rate: 1mbit, block => rate: 1MB, block => x:3:19: `1MB` is no rate; write 64kbit, 10mbit or 1.5gbit (per second)
    rate: 1mbit, block => rat: 1mbit, block => x:3:13: unknown field `rat`
    cbr => cbrr => x:3:
    protocol: udp => protocol: sctp => x:7:
    protocol: udp => protocol: udp, dscp: af49 => x:7:
";

#[test]
fn defects_are_named_with_their_key() {
    cases::assert_refused(RIGHT, DEFECTS, |text| Traffic::parse("x", text));
}

#[test]
fn the_schema_is_the_one_in_docs() {
    schemars::assert_published("traffic.schema.json", &schemars::published::<TrafficSpec>());
}

#[test]
fn code_points_have_their_names() {
    for (name, code_point) in [
        ("ef", 46),
        ("cs1", 8),
        ("af41", 34),
        ("AF11", 10),
        ("63", 63),
        ("be", 0),
    ] {
        let found: traffic::Dscp = name.parse().unwrap();
        assert_eq!(found.code_point(), code_point, "{name}");
    }
    for name in ["64", "cs8", "af44", "af5", "", "-1", "x"] {
        assert!(name.parse::<traffic::Dscp>().is_err(), "{name}");
    }
}

#[test]
fn datagrams_carry_at_least_their_header() {
    let text = RIGHT.replace(
        "cbr: {rate: 1mbit, block: 1000}",
        "user: {gap: {constant: 1ms}, block: {normal: {mean: 130, sd: 30}}}",
    );
    let traffic = Traffic::parse("x", &text).unwrap();
    let traffic::Behaviour::Scheduled(schedule) = traffic.loads["l"].flows[0].behaviour(1) else {
        panic!("it has a schedule");
    };
    let lengths = schedule.take(20_000).map(|departure| departure.bytes);
    assert_eq!(lengths.min(), Some(traffic::LEAST_DATAGRAM));
}

proptest! {
    #[test]
    fn damaged_files_make_nothing_panic(
        which in 0..EXAMPLES.len(),
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        insert in "[-0-9a-z%{}:,. \n]{0,6}",
    ) {
        let text = example(EXAMPLES[which]);
        let begin = at.index(text.len());
        let end = (begin + length).min(text.len());
        let (Some(head), Some(tail)) = (text.get(..begin), text.get(end..)) else {
            return Ok(());
        };
        let Ok(traffic) = Traffic::parse("x", &format!("{head}{insert}{tail}")) else {
            return Ok(());
        };
        for flow in traffic.loads.values().flat_map(|load| &load.flows) {
            if let traffic::Behaviour::Scheduled(schedule) = flow.behaviour(1) {
                prop_assert!(schedule.take(3).all(|departure| departure.bytes > 0));
            }
        }
    }
}
