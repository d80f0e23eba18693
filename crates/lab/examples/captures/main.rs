//! Makes small captures of HTTP over TCP through an impaired link, at the server's end of it:
//! `cargo run -p prestan-lab --example captures -- DIRECTORY [NAME...]`.
//!
//! Needs root (or CAP_NET_ADMIN), `/dev/net/tun`, `ip` and `tcpdump`.

mod http;
mod scenarios;

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use lab::TwoHosts;
use rustix::process::{Pid, Signal, kill_process};
use scenarios::Scenario;

/// Time without a frame after which a link is empty. Longer than the longest pause at the end of a
/// scenario, and than the delayed ACK of a FIN.
const QUIET: Duration = Duration::from_millis(300);

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(directory) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: captures DIRECTORY [NAME...]");
        return ExitCode::from(2);
    };
    let names: Vec<String> = arguments.collect();
    match make_all(&directory, &names) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("captures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make_all(directory: &Path, names: &[String]) -> Result<(), Box<dyn Error>> {
    lab::check_requirements()?;
    fs::create_dir_all(directory)?;
    let mut list = String::from(
        "# Captures of HTTP over TCP through an impaired link\n\n\
         Made by `cargo run -p prestan-lab --example captures`. Client 198.18.0.1 (2001:2::1), server \
         198.18.0.2 (2001:2::2) port 80; captured by tcpdump at the server's device, where segments have \
         at most the MTU and correct checksums. 10 ms in each direction unless stated otherwise; Cubic. \
         *Lost* is a segment from the server after the capture, so that the capture has it; a segment \
         from the client that is lost is not in the capture. NAME.counters.txt has what the kernels of client and server \
         counted, by the names of nstat: the truth about kinds of retransmission (TcpRetransSegs, \
         TcpExtTCPFastRetrans, TcpExtTCPSlowStartRetrans, TcpExtTCPLossProbes, TcpExtTCPTimeouts, \
         TcpExtTCPDSACKRecv, ...).\n\n\
         | file | contents | on the link, server to client |\n|---|---|---|\n",
    );
    for scenario in scenarios::all() {
        if !names.is_empty() && !names.iter().any(|name| *name == scenario.name) {
            continue;
        }
        let file = directory.join(format!("{}.pcap", scenario.name));
        let summary =
            make(&scenario, &file).map_err(|error| format!("{}: {error}", scenario.name))?;
        println!("{}: {summary}", scenario.name);
        writeln!(
            list,
            "| {}.pcap | {} | {summary} |",
            scenario.name, scenario.contents
        )?;
    }
    fs::write(directory.join("README.md"), list)?;
    Ok(())
}

/// Makes one capture. Returns the counters of the link for frames from the server.
fn make(scenario: &Scenario, file: &Path) -> Result<String, Box<dyn Error>> {
    let hosts = TwoHosts::new(&scenario.link)?;
    hosts.sysctl(scenario.sysctls)?;
    let capture = start_capture(&hosts, file)?;
    (scenario.conversation)(&hosts)?;
    wait_for_quiet(&hosts);
    end_capture(capture)?;
    let dropped = hosts.dropped_at_devices()?;
    if dropped > 0 {
        return Err(format!("the devices dropped {dropped} frames").into());
    }
    let counters = tcp_counters(&hosts)?;
    fs::write(file.with_extension("counters.txt"), counters)?;
    let back = hosts.forwarder.counters().back;
    Ok(format!(
        "{} frames, {} lost as chosen, {} lost at random, {} dropped by the queue, {} reordered, {} \
         duplicated",
        back.frames,
        back.lost_as_chosen,
        back.lost,
        back.dropped_by_queue,
        back.reordered,
        back.duplicated
    ))
}

/// TCP counters of the kernels of both hosts.
fn tcp_counters(hosts: &TwoHosts) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for host in [&hosts.client, &hosts.server] {
        let counters = host.protocol_counters()?;
        let tcp_only = counters.iter().filter(|(name, _)| name.starts_with("Tcp"));
        for (name, value) in tcp_only {
            writeln!(text, "{} {name} {value}", host.label())?;
        }
    }
    Ok(text)
}

/// A running tcpdump, and the thread that reads its output.
struct RunningCapture {
    child: Child,
    report: JoinHandle<String>,
}

fn start_capture(hosts: &TwoHosts, file: &Path) -> Result<RunningCapture, Box<dyn Error>> {
    let mut command = Command::new("tcpdump");
    command
        // In immediate mode the buffer (16 MiB) has room for the longest packet in every slot.
        .args([
            "-n",
            "-i",
            "eth0",
            "-U",
            "--immediate-mode",
            "-s",
            "2048",
            "-B",
            "16384",
        ])
        .args(["-Z", "root", "-w"])
        .arg(file)
        .arg("tcp")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = hosts.lab.spawn(&hosts.server, command)?;
    let errors = child.stderr.take().ok_or("tcpdump has no standard error")?;
    let mut lines = BufReader::new(errors);
    let mut report = String::new();
    while lines.read_line(&mut report)? > 0 {
        if report.contains("listening on") {
            let rest = move || {
                // Unreadable lines are missing from the report, which is then refused.
                let _ = lines.read_to_string(&mut report);
                report
            };
            let report = thread::spawn(rest);
            return Ok(RunningCapture { child, report });
        }
    }
    Err(format!("tcpdump did not start: {}", report.trim()).into())
}

fn end_capture(mut capture: RunningCapture) -> Result<(), Box<dyn Error>> {
    kill_process(Pid::from_child(&capture.child), Signal::INT)?;
    let status = capture.child.wait()?;
    let report = capture.report.join().map_err(|_| "a thread panicked")?;
    let is_complete = report
        .lines()
        .any(|line| line == "0 packets dropped by kernel");
    if !status.success() || !is_complete {
        return Err(format!("tcpdump ended with {status}: {}", report.trim()).into());
    }
    Ok(())
}

/// Waits until nothing has passed the link for a while.
fn wait_for_quiet(hosts: &TwoHosts) {
    let passed = || {
        let counters = hosts.forwarder.counters();
        (
            counters.forth.frames,
            counters.back.frames,
            counters.lateness.count(),
        )
    };
    let mut last = (passed(), Instant::now());
    while last.1.elapsed() < QUIET {
        thread::sleep(Duration::from_millis(10));
        let now = passed();
        if now != last.0 {
            last = (now, Instant::now());
        }
    }
}
