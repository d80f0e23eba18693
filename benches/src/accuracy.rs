//! Accuracy of reported response times, compared with those on the wire.
//!
//! Every run is captured (see [`capture`]); for each operation, the reported time is compared with
//! the time between the last packet of its request and the first of its response. Other tools
//! report no single operations, so their percentiles are compared with those of the wire, by their
//! own definition of a response time.

use std::fs;
use std::time::Duration;

use anyhow::Result;
use record::HttpVersion;
use serde::{Deserialize, Serialize};
use testbed::FaultServer;
use testbed::fault::Fault;

use crate::BenchReport;
use crate::child;
use crate::comparison::{Attainment, Tolerance, judge};
use crate::load::{self, Closed, Prestan, RequestedClock};
use crate::machine::BenchMachine;
use crate::numbers::Spread;
use crate::observe::observe;
use crate::peers::{Peer, PeerJob};
use crate::samples;
use crate::server::{BenchServer, FILE_BYTES, port_of};
use crate::table::{BenchTable, micros};
use trace::TracedRequest;
use trace::on_wire::{ReportedTime, TimePairs, pair};

/// Connections of the excerpt for README.
const USUAL: u32 = 15;

/// The cells with other tools.
const GET: &str = "GET 1 KiB, nginx";
const HTTP2_GET: &str = "GET 1 KiB, nginx, HTTP/2";

/// Required accuracy of the kernel's clock.
const WANTED: Tolerance = Tolerance { p50: 1.5, p99: 5.0 };

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct AccuracyReport {
    machine: BenchMachine,
    wanted: Tolerance,
    cells: Vec<AccuracyRun>,
    /// Other tools, run by run.
    peers: Vec<PeerRun>,
}

/// One run of Prestan.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AccuracyRun {
    what: String,
    connections: u32,
    clock: String,
    /// Operations compared.
    operations: usize,
    /// Operations without a time in the capture.
    unmatched: u64,
    /// On the wire, in microseconds.
    wire: Spread,
    reported: Spread,
    /// Reported minus wire, operation by operation.
    difference: Spread,
    /// Bound that 99 of 100 differences stay within.
    within: f64,
    /// Median of the server's own times, if it reports them.
    server_p50: Option<f64>,
    /// Operations shorter on the wire than reported by the server, which is impossible.
    shorter_than_server: Option<u64>,
    /// Only of the kernel's clock.
    verdict: Attainment,
}

/// One run of another tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PeerRun {
    tool: String,
    connections: u32,
    /// On the wire, in microseconds.
    wire: Spread,
    /// As reported.
    p50: f64,
    p99: f64,
}

/// Size of the benchmark.
#[derive(Debug, Clone, Copy)]
pub struct AccuracySize {
    gets: u64,
    puts: u64,
    delayed: u64,
    seconds: u64,
}

impl AccuracySize {
    /// The size for the documents.
    pub const FULL: AccuracySize = AccuracySize {
        gets: 50_000,
        puts: 2_000,
        delayed: 1_000,
        seconds: 2,
    };

    /// A short version.
    pub const QUICK: AccuracySize = AccuracySize {
        gets: 5_000,
        puts: 200,
        delayed: 200,
        seconds: 1,
    };
}

/// Measures everything with HTTP/1.
pub fn run(prestan: &Prestan, size: AccuracySize) -> Result<AccuracyReport> {
    let nginx = BenchServer::nginx()?;
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    let mut cells = Vec::new();
    for clock in [RequestedClock::Kernel, RequestedClock::User] {
        for users in [1, 15, 64] {
            let load = nginx.get(users, size.gets, clock);
            cells.push(compared(prestan, GET, load)?);
        }
        for users in [1, 15] {
            let load = nginx.put(users, size.puts, clock);
            cells.push(compared(prestan, "PUT 1 MiB, nginx", load)?);
        }
        for micros in [200, 1000, 5000] {
            let delay = Duration::from_micros(micros);
            cells.push(delayed(prestan, delay, size.delayed, clock)?);
        }
    }
    let peers = Peer::installed().map(|peer| peers(peer, &nginx, &mut machine, size));
    let peers: Vec<Vec<PeerRun>> = peers.collect::<Result<_>>()?;
    Ok(AccuracyReport {
        machine,
        wanted: WANTED,
        cells,
        peers: peers.concat(),
    })
}

/// Measures the same with HTTP/2 in clear text.
pub fn run_http2(prestan: &Prestan, size: AccuracySize) -> Result<AccuracyReport> {
    let nginx = BenchServer::nginx_http2()?;
    let apache = BenchServer::apache_http2()?;
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    machine.add(&apache.version());
    let put = "PUT 1 MiB, nginx, HTTP/2";
    let mut cells = streams(prestan, HTTP2_GET, put, &nginx, size)?;
    let (get, put) = ("GET 1 KiB, Apache, HTTP/2", "PUT 1 MiB, Apache, HTTP/2");
    cells.extend(streams(prestan, get, put, &apache, size)?);
    let h2load = Peer::installed().find(|peer| *peer == Peer::H2load);
    let peers = match h2load {
        Some(h2load) => peers(h2load, &nginx, &mut machine, size)?,
        None => Vec::new(),
    };
    Ok(AccuracyReport {
        machine,
        wanted: WANTED,
        cells,
        peers,
    })
}

fn peers(
    peer: Peer,
    nginx: &BenchServer,
    machine: &mut BenchMachine,
    size: AccuracySize,
) -> Result<Vec<PeerRun>> {
    machine.add(&peer.version());
    let runs = [1, 15, 64].map(|connections| beside(peer, nginx, connections, size));
    runs.into_iter().collect()
}

/// One stream at a time on each connection, by the kernel's clock: the user-space clock works as
/// with HTTP/1.
fn streams(
    prestan: &Prestan,
    get: &str,
    put: &str,
    server: &BenchServer,
    size: AccuracySize,
) -> Result<Vec<AccuracyRun>> {
    let gets = [1, 15, 64].map(|users| {
        let load = server.get(users, size.gets, RequestedClock::Kernel);
        compared(prestan, get, load)
    });
    let puts = [1, 15].map(|users| {
        let load = server.put(users, size.puts, RequestedClock::Kernel);
        compared(prestan, put, load)
    });
    gets.into_iter().chain(puts).collect()
}

/// A run of Prestan, and its requests in the capture.
#[derive(Debug)]
pub struct Observed {
    /// Times that Prestan reports.
    pub reported: Vec<ReportedTime>,
    /// Requests on the wire, including those that are not measured.
    pub requests: Vec<TracedRequest>,
}

/// Runs `prestan load` under a capture.
pub fn observe_load(prestan: &Prestan, closed: Closed<'_>) -> Result<Observed> {
    let save = tempfile::tempdir()?;
    let save = save.path().join("run");
    let mut command = prestan.closed(closed, &save);
    let (_, requests) = observe(port_of(closed.url)?, || load::run(&mut command))?;
    Ok(Observed {
        reported: samples::read(&save)?,
        requests,
    })
}

fn compared(prestan: &Prestan, what: &str, load: Closed<'_>) -> Result<AccuracyRun> {
    let observed = observe_load(prestan, load)?;
    cell(what, load, &pair(&observed.reported, &observed.requests))
}

/// GET of 1 KiB from a server that responds after exactly this time, and records its own times.
fn delayed(
    prestan: &Prestan,
    delay: Duration,
    requests: u64,
    clock: RequestedClock,
) -> Result<AccuracyRun> {
    let fault = Fault::Status {
        code: 200,
        headers: Vec::new(),
        body: vec![b'x'; FILE_BYTES],
    };
    let server = FaultServer::builder()
        .fault(Fault::AnswerAfter(delay))
        .fault(fault)
        .start()?;
    let load = Closed {
        method: "GET",
        url: &server.url(),
        users: 1,
        requests,
        clock,
        version: HttpVersion::Http11,
    };
    let observed = observe_load(prestan, load)?;
    let pairs = pair(&observed.reported, &observed.requests);
    let mut truths = Vec::new();
    let mut shorter = 0;
    for (request, truth) in observed.requests.iter().zip(server.exchanges()) {
        let truth = truth.service_time().unwrap_or_default().as_nanos() as i64;
        let wire = request.response_time_ns();
        shorter += u64::from(wire.is_some_and(|wire| wire < truth));
        truths.push(truth);
    }
    let what = format!("GET 1 KiB, answered after {} ms", delay.as_secs_f64() * 1e3);
    Ok(AccuracyRun {
        server_p50: Spread::of(&truths).map(|spread| spread.p50),
        shorter_than_server: Some(shorter),
        ..cell(&what, load, &pairs)?
    })
}

fn cell(what: &str, load: Closed<'_>, pairs: &TimePairs) -> Result<AccuracyRun> {
    let spread = |nanos: &[i64]| {
        let none = || anyhow::anyhow!("no operation of `{what}` is in the samples and on the wire");
        Spread::of(nanos).ok_or_else(none)
    };
    Ok(AccuracyRun {
        what: what.to_owned(),
        connections: load.users,
        clock: load.clock.name().to_owned(),
        operations: pairs.difference.len(),
        unmatched: pairs.unmatched,
        wire: spread(&pairs.wire)?,
        reported: spread(&pairs.reported)?,
        difference: spread(&pairs.difference)?,
        within: pairs.within().unwrap_or(f64::INFINITY),
        server_p50: None,
        shorter_than_server: None,
        verdict: match load.clock {
            RequestedClock::Kernel => judge(pairs, WANTED),
            RequestedClock::User => Attainment::None,
        },
    })
}

fn beside(
    peer: Peer,
    nginx: &BenchServer,
    connections: u32,
    size: AccuracySize,
) -> Result<PeerRun> {
    let job = PeerJob {
        url: nginx.file_url(),
        connections,
        // A multiple of the connections: with other numbers, some tools send fewer.
        requests: size.gets / u64::from(connections) * u64::from(connections),
        seconds: size.seconds,
        version: nginx.http(),
    };
    let directory = tempfile::tempdir()?;
    let log = directory.path().join("log");
    let mut command = peer.command(job, Some(&log))?;
    let (finished, requests) = observe(nginx.addr()?.port(), || child::run(&mut command))?;
    // Some tools write none.
    let logged = fs::read_to_string(&log).unwrap_or_default();
    let reported = peer.figures(&(finished.stdout + &logged), job)?;
    let wire = requests.iter().filter_map(TracedRequest::response_time_ns);
    let wire: Vec<i64> = wire.collect();
    let none = || anyhow::anyhow!("{} made no requests, or reports no times", peer.name());
    let (p50, p99) = reported.p50_p99_us.ok_or_else(none)?;
    let tool = match nginx.http() {
        HttpVersion::Http2 => format!("{}, HTTP/2", peer.name()),
        _ => peer.name().to_owned(),
    };
    Ok(PeerRun {
        tool,
        connections,
        wire: Spread::of(&wire).ok_or_else(none)?,
        p50,
        p99,
    })
}

impl BenchReport for AccuracyReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut tables = vec![self.differences(), self.beside()];
        if self.cells.iter().any(|cell| cell.server_p50.is_some()) {
            tables.push(self.delays());
        }
        tables
    }

    /// The best-known tools at a usual load; not with HTTP/2.
    fn excerpt(&self) -> Option<(&'static str, BenchTable)> {
        let heads = [
            "tool",
            "p50 on the wire",
            "reported p50",
            "error",
            "p99 on the wire",
            "reported p99",
            "error",
        ];
        let title = format!("GET of 1 KiB over {USUAL} connections, in µs");
        let mut table = BenchTable::new(&title, &heads);
        let line = |tool: &str, wire: Spread, (p50, p99): (f64, f64)| {
            let error = |reported: f64, wire: f64| match (reported / wire * 100.0).round() - 100.0 {
                0.0 => "0 %".to_owned(),
                percent => format!("{percent:+.0} %"),
            };
            vec![
                tool.to_owned(),
                micros(wire.p50),
                micros(p50),
                error(p50, wire.p50),
                micros(wire.p99),
                micros(p99),
                error(p99, wire.p99),
            ]
        };
        let ours = self
            .cells
            .iter()
            .find(|cell| cell.what == GET && cell.clock == "kernel" && cell.connections == USUAL)?;
        let reported = (ours.reported.p50, ours.reported.p99);
        table.row(line("prestan", ours.wire, reported));
        for name in ["wrk", "oha", "k6"] {
            let is_usual = |cell: &&PeerRun| cell.tool == name && cell.connections == USUAL;
            if let Some(cell) = self.peers.iter().find(is_usual) {
                table.row(line(name, cell.wire, (cell.p50, cell.p99)));
            }
        }
        Some(("trust", table))
    }
}

impl AccuracyReport {
    fn differences(&self) -> BenchTable {
        let Tolerance { p50, p99 } = self.wanted;
        let mut table = BenchTable::new(
            &format!(
                "Reported minus wire, operation by operation, in µs (wanted of the kernel's clock: \
                 median within {p50}, 99 % within {p99})"
            ),
            &[
                "what",
                "clock",
                "conn.",
                "n",
                "wire p50",
                "wire p99",
                "p1",
                "p50",
                "p99",
                "max",
                "99 % within",
                "",
            ],
        );
        for cell in &self.cells {
            let difference = cell.difference;
            let n = match cell.unmatched {
                0 => cell.operations.to_string(),
                unmatched => format!("{} ({unmatched} unmatched)", cell.operations),
            };
            table.row(vec![
                cell.what.clone(),
                cell.clock.clone(),
                cell.connections.to_string(),
                n,
                micros(cell.wire.p50),
                micros(cell.wire.p99),
                micros(difference.p1),
                micros(difference.p50),
                micros(difference.p99),
                micros(difference.max),
                micros(cell.within),
                cell.verdict.name().to_owned(),
            ]);
        }
        table
    }

    fn beside(&self) -> BenchTable {
        let heads = [
            "tool",
            "conn.",
            "wire p50",
            "reported p50",
            "wire p99",
            "reported p99",
        ];
        let mut table = BenchTable::new("Reported and on the wire, in µs, GET of 1 KiB", &heads);
        for cell in &self.cells {
            let version = match &*cell.what {
                GET => "",
                HTTP2_GET => "HTTP/2, ",
                _ => continue,
            };
            let Spread { p50, p99, .. } = cell.reported;
            let tool = format!("prestan, {version}{} clock", cell.clock);
            table.row(line(tool, cell.connections, cell.wire, p50, p99));
        }
        for cell in &self.peers {
            let tool = cell.tool.clone();
            table.row(line(tool, cell.connections, cell.wire, cell.p50, cell.p99));
        }
        table
    }

    fn delays(&self) -> BenchTable {
        let heads = [
            "what",
            "clock",
            "server p50",
            "wire p50",
            "reported p50",
            "wire below server",
        ];
        let mut table = BenchTable::new("A known delay in the server, in µs", &heads);
        for cell in &self.cells {
            let Some(server) = cell.server_p50 else {
                continue;
            };
            table.row(vec![
                cell.what.clone(),
                cell.clock.clone(),
                micros(server),
                micros(cell.wire.p50),
                micros(cell.reported.p50),
                cell.shorter_than_server.unwrap_or(0).to_string(),
            ]);
        }
        table
    }
}

fn line(tool: String, connections: u32, wire: Spread, p50: f64, p99: f64) -> Vec<String> {
    vec![
        tool,
        connections.to_string(),
        micros(wire.p50),
        micros(p50),
        micros(wire.p99),
        micros(p99),
    ]
}
