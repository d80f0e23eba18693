//! Compares sources and sinks with iperf3 over loopback: rate at the sink, and processor time of
//! both ends per byte. Rounds of the two alternate; each round gives a ratio.
//!
//! ```text
//! cargo run --release -p prestan-flow --example speed -- [ROUNDS [SECONDS]]
//! cargo run --release -p prestan-flow --example speed -- pacing
//! cargo run --release -p prestan-flow --example speed -- excess
//! ```

#![expect(clippy::unwrap_used, reason = "an example fails by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use flow::source::FlowPlan;
use flow::{
    FlowTransport, SharedToken, SinkLimits, SinkSettings, SourceHandle, SourcePlan, TrafficSink,
    TrafficSource,
};
use wait4::{ResUse, Wait4};

/// The load that both programs send.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    transport: FlowTransport,
    block_bytes: u32,
}

const LOADS: [Load; 3] = [
    Load {
        name: "TCP",
        transport: FlowTransport::Tcp,
        block_bytes: 8192,
    },
    Load {
        name: "UDP 1460",
        transport: FlowTransport::Udp,
        block_bytes: 1460,
    },
    Load {
        name: "UDP 8192",
        transport: FlowTransport::Udp,
        block_bytes: 8192,
    },
];

/// One round of one program.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    bytes_per_second: f64,
    processor_ns_per_byte: f64,
}

fn settings(limits: SinkLimits) -> SinkSettings {
    SinkSettings {
        listen: "127.0.0.1:0".parse().unwrap(),
        token: token(),
        limits,
    }
}

fn token() -> SharedToken {
    SharedToken::new(b"a token of this example").unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["sink"] => sink(),
        ["source", address, load, seconds] => source(address, load, seconds),
        ["pacing"] => pacing(),
        ["excess"] => excess(),
        [] => compare(7, 3),
        [rounds] => compare(rounds.parse().unwrap(), 3),
        [rounds, seconds, ..] => compare(rounds.parse().unwrap(), seconds.parse().unwrap()),
    }
}

fn started(sink: SocketAddr, flows: Vec<FlowPlan>) -> SourceHandle {
    let plan = SourcePlan {
        sink,
        flows,
        threads: 1,
        longest_silence: flow::LONGEST_SILENCE,
    };
    TrafficSource::start(plan, token()).unwrap()
}

/// The sink process; it ends with its standard input.
fn sink() {
    let sink = TrafficSink::start(settings(SinkLimits::default())).unwrap();
    println!("{}", sink.address());
    let _ = std::io::stdin().read(&mut [0]);
}

fn source(address: &str, load: &str, seconds: &str) {
    let load = LOADS[load.parse::<usize>().unwrap()];
    let seconds = Duration::from_secs(seconds.parse().unwrap());
    let flow = FlowPlan::full(load.transport, load.block_bytes, seconds);
    let source = started(address.parse().unwrap(), vec![flow]);
    let totals = source.finish(seconds + Duration::from_secs(20)).unwrap();
    println!("{} {:?}", totals.flows[0].received_bytes, totals.failure);
}

fn processor_seconds(usage: &ResUse) -> f64 {
    (usage.rusage.utime + usage.rusage.stime).as_secs_f64()
}

fn ours(load: usize, seconds: u64) -> Outcome {
    let program = std::env::current_exe().unwrap();
    let mut sink = Command::new(&program)
        .arg("sink")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let mut stdout = BufReader::new(sink.stdout.take().unwrap());
    stdout.read_line(&mut address).unwrap();
    let (load, time) = (load.to_string(), seconds.to_string());
    let mut source = Command::new(&program)
        .args(["source", address.trim(), &load, &time])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = String::new();
    let mut stdout = source.stdout.take().unwrap();
    stdout.read_to_string(&mut output).unwrap();
    let source_usage = source.wait4().unwrap();
    drop(sink.stdin.take());
    let sink_usage = sink.wait4().unwrap();
    let bytes: f64 = output.split(' ').next().unwrap().parse().unwrap();
    assert!(output.trim().ends_with("None"), "{output}");
    let processor = processor_seconds(&source_usage) + processor_seconds(&sink_usage);
    Outcome {
        bytes_per_second: bytes / seconds as f64,
        processor_ns_per_byte: processor * 1e9 / bytes,
    }
}

fn theirs(load: Load, seconds: u64) -> Outcome {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let mut server = Command::new("iperf3")
        .args(["-s", "-1", "--forceflush", "-B", "127.0.0.1", "-p", &port])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("listening")));
    let mut client = Command::new("iperf3");
    let time = seconds.to_string();
    client.args(["-c", "127.0.0.1", "-p", &port, "-J", "-t", &time]);
    if load.transport == FlowTransport::Udp {
        client.args(["-u", "-b", "0", "-l", &load.block_bytes.to_string()]);
    }
    let mut client = client.stdout(Stdio::piped()).spawn().unwrap();
    let report: serde_json::Value = serde_json::from_reader(client.stdout.take().unwrap()).unwrap();
    let client_usage = client.wait4().unwrap();
    lines.for_each(drop);
    let server_usage = server.wait4().unwrap();
    let end = &report["end"];
    let bytes = if load.transport == FlowTransport::Tcp {
        end["sum_received"]["bytes"].as_f64().unwrap()
    } else {
        // Lost datagrams are among the bytes of the sender.
        let lost = end["sum"]["lost_percent"].as_f64().unwrap();
        end["sum"]["bytes"].as_f64().unwrap() * (1.0 - lost / 100.0)
    };
    let processor = processor_seconds(&client_usage) + processor_seconds(&server_usage);
    Outcome {
        bytes_per_second: bytes / seconds as f64,
        processor_ns_per_byte: processor * 1e9 / bytes,
    }
}

fn compare(rounds: usize, seconds: u64) {
    for (number, load) in LOADS.into_iter().enumerate() {
        let mut rates = Vec::new();
        let mut costs = Vec::new();
        let mut outcomes = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            // Each goes first as often as the other.
            let (measured, other) = if round % 2 == 0 {
                let measured = ours(number, seconds);
                (measured, theirs(load, seconds))
            } else {
                let other = theirs(load, seconds);
                (ours(number, seconds), other)
            };
            rates.push(measured.bytes_per_second / other.bytes_per_second);
            costs.push(measured.processor_ns_per_byte / other.processor_ns_per_byte);
            outcomes[0].push(measured);
            outcomes[1].push(other);
        }
        println!("{}", load.name);
        for (name, outcomes) in ["prestan", "iperf3"].into_iter().zip(&outcomes) {
            let median = |figure: fn(&Outcome) -> f64| {
                sorted(outcomes.iter().map(figure).collect())[outcomes.len() / 2]
            };
            println!(
                "  {name:8} {:6.2} GB/s   {:.3} ns of processor time per byte",
                median(|outcome| outcome.bytes_per_second) / 1e9,
                median(|outcome| outcome.processor_ns_per_byte),
            );
        }
        println!("  rate, prestan / iperf3            {}", interval(rates));
        println!("  processor time, prestan / iperf3  {}", interval(costs));
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The median with the interval of the sign test, at the largest level of at least 95 %, if there
/// are enough rounds.
fn interval(values: Vec<f64>) -> String {
    let values = sorted(values);
    let count = values.len();
    let median = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
    // P(fewer than `cut` of `count` are below the median), doubled, is the error.
    let mut error = 2.0 * 0.5_f64.powi(count as i32);
    if error > 0.05 {
        return format!("{median:.2} (no interval of 95 % from {count} rounds)");
    }
    let (mut cut, mut term) = (0, 0.5_f64.powi(count as i32));
    while cut + 1 < count / 2 {
        term *= (count - cut) as f64 / (cut + 1) as f64;
        if error + 2.0 * term > 0.05 {
            break;
        }
        error += 2.0 * term;
        cut += 1;
    }
    let level = 100.0 * (1.0 - error);
    format!(
        "{median:.2} ({level:.1} % interval {:.2} to {:.2}, {count} rounds)",
        values[cut],
        values[count - 1 - cut]
    )
}

/// 1,000 paced flows in one process.
fn pacing() {
    let sink = TrafficSink::start(settings(SinkLimits::default())).unwrap();
    for (transport, gap_ms) in [
        (FlowTransport::Udp, 100),
        (FlowTransport::Udp, 50),
        (FlowTransport::Udp, 20),
        (FlowTransport::Tcp, 100),
    ] {
        let flows = (0..1000).map(|_| {
            let rate = 200 * 1000 / gap_ms;
            FlowPlan::paced(transport, 200, rate, Duration::from_secs(8))
        });
        let source = started(sink.address(), flows.collect());
        let totals = source.finish(Duration::from_secs(30)).unwrap();
        let sum = |figure: fn(&flow::source::FlowReading) -> u64| -> u64 {
            totals.flows.iter().map(figure).sum()
        };
        println!(
            "1,000 flows, {transport:?}, {gap_ms} ms: {} blocks, {} late, {} dropped, {} lost, {} failed; pacing error \
             p50 {} us, p99 {} us, max {} us; failure {:?}",
            sum(|flow| flow.sent_blocks),
            sum(|flow| flow.late_blocks),
            sum(|flow| flow.dropped_blocks),
            sum(|flow| flow.lost),
            sum(|flow| u64::from(flow.has_failed)),
            totals.pacing.p50_ns / 1000,
            totals.pacing.p99_ns / 1000,
            totals.pacing.max_ns / 1000,
            totals.failure,
        );
    }
}

/// A paced flow that requests more than it can send, beside one without a rate.
fn excess() {
    const SECONDS: u64 = 3;
    let time = Duration::from_secs(SECONDS);
    let sink = TrafficSink::start(settings(SinkLimits {
        bytes_per_second: None,
        ..SinkLimits::default()
    }));
    let sink = sink.unwrap();
    for block_bytes in [32, 200, 1460] {
        let sent = |flow: FlowPlan| {
            let source = started(sink.address(), vec![flow]);
            let totals = source.finish(Duration::from_secs(30)).unwrap();
            totals.flows[0].sent_bytes as f64 * 8e-6 / totals.elapsed.as_secs_f64()
        };
        let (mut full, mut paced) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            full.push(sent(FlowPlan::full(FlowTransport::Udp, block_bytes, time)));
            let rate = 10_000_000_000 / 8;
            let flow = FlowPlan::paced(FlowTransport::Udp, block_bytes, rate, time);
            paced.push(sent(flow));
        }
        let ratios = paced.iter().zip(&full).map(|(paced, full)| paced / full);
        println!(
            "UDP {block_bytes}: {:.0} Mbit/s of 10 Gbit/s, {:.0} Mbit/s without a rate; ratio {}",
            sorted(paced.clone())[2],
            sorted(full.clone())[2],
            interval(ratios.collect())
        );
    }
}
