//! Measures the forwarder on this machine: how precise its delay is, what busy-waiting costs, and
//! which rate passes through it: `cargo run --release -p prestan-lab --example measure`.
//!
//! The delay is measured from outside: by the kernel's time stamps of the same datagram at both
//! devices (tcpdump). It needs root, `/dev/net/tun`, `ip`, `tcpdump` and `iperf3`.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Bandwidth, Delay, ForwarderSettings, Impairment, LinkQueue, Namespace, TwoHosts};
use rustix::process::{Pid, Signal, kill_process};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const DATAGRAMS: u32 = 2_000;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("measure: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<()> {
    lab::check_requirements()?;
    println!("delay of 10 ms, one datagram per ms: excess of the delay in us");
    println!("busy-wait us  real-time |    p50    p99    max | processor");
    for asks_for_real_time in [false, true] {
        for busy_wait in [0, 20, 50, 100, 200, 20_000] {
            delay(Duration::from_micros(busy_wait), asks_for_real_time)?;
        }
    }
    println!("iperf3, one TCP connection (cubic), 4 s");
    println!(
        "delay ms  rate Gbit/s  busy-wait us  real-time | received Gbit/s  resent | lateness p50, p99, max us | \
         processor  dropped at devices, by queue"
    );
    for asks_for_real_time in [false, true] {
        for busy_wait in [0, 100] {
            for (delay, rate) in [
                (0, None),
                (1, None),
                (1, Some(1.0)),
                (5, Some(1.0)),
                (10, Some(0.1)),
            ] {
                throughput(
                    delay,
                    rate,
                    Duration::from_micros(busy_wait),
                    asks_for_real_time,
                )?;
            }
        }
    }
    Ok(())
}

fn link(delay: Duration, rate: Option<f64>) -> Impairment {
    Impairment {
        delay: Delay {
            base: delay,
            ..Delay::default()
        },
        bandwidth: rate.map(|rate| Bandwidth {
            bits_per_second: (rate * 1e9) as u64,
            overhead: 24,
            queue: LinkQueue::Frames(1_000),
        }),
        ..Impairment::default()
    }
}

fn delay(busy_wait: Duration, asks_for_real_time: bool) -> Result<()> {
    const DELAY: Duration = Duration::from_millis(10);
    let hosts = TwoHosts::new(&ForwarderSettings {
        forth: link(DELAY, None),
        back: link(DELAY, None),
        busy_wait,
        asks_for_real_time,
        ..ForwarderSettings::default()
    })?;
    let directory = tempfile::tempdir()?;
    let files = ["client.pcap", "server.pcap"].map(|name| directory.path().join(name));
    let captures = [
        tcpdump(&hosts, &hosts.client, &files[0])?,
        tcpdump(&hosts, &hosts.server, &files[1])?,
    ];
    let address = (TwoHosts::SERVER.ipv4, 9);
    let receiver = hosts.server.run(|| UdpSocket::bind(address))??;
    let sender = hosts
        .client
        .run(|| UdpSocket::bind((TwoHosts::CLIENT.ipv4, 0)))??;
    receiver.set_read_timeout(Some(Duration::from_secs(1)))?;
    let before = hosts.forwarder.counters().processor_time;
    let start = Instant::now();
    for number in 0..DATAGRAMS {
        sender.send_to(&number.to_be_bytes(), address)?;
        let next = start + Duration::from_millis(1) * (number + 1);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let elapsed = start.elapsed();
    let used = hosts
        .forwarder
        .counters()
        .processor_time
        .saturating_sub(before);
    let mut datagram = [0; 4];
    while receiver.recv(&mut datagram)? > 0 && datagram != (DATAGRAMS - 1).to_be_bytes() {}
    for mut capture in captures {
        kill_process(Pid::from_child(&capture), Signal::INT)?;
        capture.wait()?;
    }
    let [sent, received] = [stamps(&files[0])?, stamps(&files[1])?];
    let mut excess: Vec<i64> = received
        .iter()
        .filter_map(|(number, at)| Some(at - sent.get(number)? - DELAY.as_nanos() as i64))
        .collect();
    excess.sort_unstable();
    let quantile = |share: f64| match excess.len() {
        0 => f64::NAN,
        count => excess[((count - 1) as f64 * share) as usize] as f64 / 1e3,
    };
    println!(
        "{:12}  {asks_for_real_time:9} | {:6.1} {:6.1} {:6.1} | {:5.1} %  ({} datagrams)",
        busy_wait.as_micros(),
        quantile(0.5),
        quantile(0.99),
        quantile(1.0),
        100.0 * used.as_secs_f64() / elapsed.as_secs_f64(),
        excess.len()
    );
    Ok(())
}

fn tcpdump(hosts: &TwoHosts, namespace: &Namespace, file: &Path) -> Result<Child> {
    let mut command = Command::new("tcpdump");
    command
        .args([
            "-n",
            "-i",
            "eth0",
            "-U",
            "--immediate-mode",
            "-s",
            "128",
            "-Z",
            "root",
        ])
        .args(["--time-stamp-precision=nano", "-w"])
        .arg(file)
        .arg("udp")
        .stderr(Stdio::piped());
    let mut child = hosts.lab.spawn(namespace, command)?;
    let mut lines = BufReader::new(child.stderr.take().ok_or("no standard error")?);
    let mut report = String::new();
    while lines.read_line(&mut report)? > 0 {
        if report.contains("listening on") {
            thread::spawn(move || lines.lines().for_each(drop));
            return Ok(child);
        }
    }
    Err(report.into())
}

/// Time stamps in ns of a capture's datagrams, by the number in their payload.
fn stamps(file: &Path) -> Result<HashMap<u32, i64>> {
    let bytes = fs::read(file)?;
    let field = |at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let mut stamps = HashMap::new();
    let mut at = 24;
    // Headers of a record (16), of Ethernet, IPv4 and UDP.
    const PAYLOAD: usize = 16 + 14 + 20 + 8;
    while let (Some(seconds), Some(nanos), Some(length)) = (field(at), field(at + 4), field(at + 8))
    {
        let number = field(at + PAYLOAD)
            .ok_or("a truncated datagram")?
            .swap_bytes();
        stamps.insert(
            number,
            i64::from(seconds) * 1_000_000_000 + i64::from(nanos),
        );
        at += 16 + length as usize;
    }
    Ok(stamps)
}

fn throughput(
    delay: u64,
    rate: Option<f64>,
    busy_wait: Duration,
    asks_for_real_time: bool,
) -> Result<()> {
    let delay = Duration::from_millis(delay);
    let hosts = TwoHosts::new(&ForwarderSettings {
        forth: link(delay, rate),
        back: link(delay, None),
        busy_wait,
        asks_for_real_time,
        ..ForwarderSettings::default()
    })?;
    let mut server = Command::new("iperf3");
    server
        .args(["-s", "-1", "--forceflush"])
        .stdout(Stdio::piped());
    let mut server = hosts.lab.spawn(&hosts.server, server)?;
    let mut lines = BufReader::new(server.stdout.take().ok_or("no standard output")?).lines();
    while !lines
        .next()
        .ok_or("iperf3 did not start")??
        .contains("listening")
    {}
    let mut client = Command::new("iperf3");
    let address = TwoHosts::SERVER.ipv4.to_string();
    client
        .args(["-c", &address, "-t", "4", "-J"])
        .stdout(Stdio::piped());
    let client = hosts.lab.spawn(&hosts.client, client)?;
    let output = client.wait_with_output()?;
    server.kill()?;
    server.wait()?;
    let report = String::from_utf8_lossy(&output.stdout);
    let last = |key: &str, part: &str| -> f64 {
        let part = report.split(part).last().unwrap_or_default();
        let value = part
            .split(key)
            .nth(1)
            .and_then(|rest| rest.split([',', '\n']).next());
        value
            .and_then(|value| value.trim().parse().ok())
            .unwrap_or(f64::NAN)
    };
    let counters = hosts.forwarder.counters();
    println!(
        "{:8}  {:>11}  {:12}  {asks_for_real_time:9} | {:15.3}  {:6} | {:?} {:?} {:?} | {:.2} s  {}, {}",
        delay.as_millis(),
        rate.map_or("-".to_owned(), |rate| rate.to_string()),
        busy_wait.as_micros(),
        last("\"bits_per_second\":", "\"sum_received\"") / 1e9,
        last("\"retransmits\":", "\"sum_sent\""),
        counters.lateness.quantile(0.5),
        counters.lateness.quantile(0.99),
        counters.lateness.longest(),
        counters.processor_time.as_secs_f64(),
        hosts.dropped_at_devices()?,
        counters.forth.dropped_by_queue,
    );
    Ok(())
}
