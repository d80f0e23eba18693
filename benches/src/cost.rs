//! Processor time of the client per request, compared with other load generators and the bare
//! minimum.
//!
//! Every client sends the same requests to the same server, round by round. Within a round the
//! clients follow one another, in an order that changes from round to round, so that drift of the
//! machine affects all of them; each is compared with the floor of its own round.

use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::BenchReport;
use crate::child::{self, FinishedChild};
use crate::comparison::Attainment;
use crate::load::{self, Prestan, RequestedClock};
use crate::machine::BenchMachine;
use crate::numbers::Median;
use crate::peers::{Peer, PeerJob};
use crate::server::BenchServer;
use crate::table::{BenchTable, micros};

/// Kept connections of every client.
const CONNECTIONS: u32 = 64;

/// Factor by which a median may exceed another client's and still count as "at most as much", if
/// its interval is not above it.
const LITTLE_MORE: f64 = 1.05;

/// Size of the benchmark.
#[derive(Debug, Clone, Copy)]
pub struct CostSize {
    pub(crate) rounds: usize,
    pub(crate) requests: u64,
    starts: usize,
}

impl CostSize {
    /// The size for the documents.
    pub const FULL: CostSize = CostSize {
        rounds: 11,
        requests: 150_000,
        starts: 21,
    };

    /// A short version.
    pub const QUICK: CostSize = CostSize {
        rounds: 3,
        requests: 20_000,
        starts: 5,
    };
}

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct CostReport {
    machine: BenchMachine,
    rounds: usize,
    /// Requests of each client in each round; approximately for wrk.
    requests: u64,
    /// The clients, starting with the floor.
    clients: Vec<CostClient>,
    /// `prestan load` with a single request: the cost of start and end.
    start: Start,
}

/// The same with HTTP/2 in clear text, with one stream at a time on each connection.
#[derive(Debug, Serialize, Deserialize)]
pub struct Http2CostReport {
    machine: BenchMachine,
    rounds: usize,
    requests: u64,
    /// The clients, starting with h2load.
    clients: Vec<StreamClient>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CostClient {
    name: String,
    /// Processor time per request, in microseconds.
    cpu: Median,
    /// Multiple of the floor's, round by round.
    of_floor: Median,
    /// Multiple of wrk's, if installed.
    of_wrk: Option<Median>,
    /// Requests per second of wall time, including start and end.
    per_second: Median,
    /// Requirements and their results.
    wanted: Vec<(String, Attainment)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StreamClient {
    name: String,
    /// As of [`CostClient`].
    cpu: Median,
    /// Multiple of h2load's, round by round.
    of_h2load: Median,
    per_second: Median,
    /// At most as much as h2load; no requirement for the kernel's clock.
    verdict: Attainment,
}

/// Cost of start and end.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Start {
    cpu_ms: Median,
    wall_ms: Median,
}

/// A client of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CostContender {
    Floor,
    Prestan(RequestedClock),
    Peer(Peer),
}

/// Result of one run of a client.
#[derive(Debug, Clone, Copy)]
struct CostTurn {
    cpu_us: f64,
    per_second: f64,
}

pub(crate) struct CostBench<'a> {
    prestan: &'a Prestan,
    server: &'a BenchServer,
    requests: u64,
    /// Duration in which wrk sends about the same number of requests.
    seconds: u64,
}

/// Measures everything.
pub fn run(prestan: &Prestan, size: CostSize) -> Result<CostReport> {
    let nginx = BenchServer::nginx()?;
    let mut bench = CostBench::of(prestan, &nginx, size);
    // The first run is not measured; it warms up the server and shows how fast it is.
    let pace = bench.turn(CostContender::Floor)?.per_second;
    bench.seconds = (size.requests as f64 / pace).round().max(1.0) as u64;
    let contenders = contenders();
    let turns = bench.rounds("cost", size.rounds, &contenders)?;
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    Peer::installed().for_each(|peer| machine.add(&peer.version()));
    Ok(CostReport {
        machine,
        rounds: size.rounds,
        requests: size.requests,
        clients: clients(&contenders, &turns).context("no rounds")?,
        start: bench.start(size.starts)?,
    })
}

/// Measures the cost of HTTP/2.
pub fn run_http2(prestan: &Prestan, size: CostSize) -> Result<Http2CostReport> {
    let nginx = BenchServer::nginx_http2()?;
    let bench = CostBench::of(prestan, &nginx, size);
    // Warms up the server.
    bench.turn(CostContender::Peer(Peer::H2load))?;
    let turns = bench.rounds("cost of HTTP/2", size.rounds, &HTTP2_CONTENDERS)?;
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    machine.add(&Peer::H2load.version());
    Ok(Http2CostReport {
        machine,
        rounds: size.rounds,
        requests: size.requests,
        clients: streams(&turns),
    })
}

fn contenders() -> Vec<CostContender> {
    let ours = [
        CostContender::Floor,
        CostContender::Prestan(RequestedClock::User),
        CostContender::Prestan(RequestedClock::Kernel),
    ];
    let peers = Peer::installed().map(CostContender::Peer);
    ours.into_iter().chain(peers).collect()
}

/// A rotation with another start in every round, and reversed in every second.
pub(crate) fn order(round: usize, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).map(|index| (index + round) % count).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

impl CostContender {
    fn name(self) -> String {
        match self {
            CostContender::Floor => "floor".to_owned(),
            CostContender::Prestan(clock) => format!("prestan, {} clock", clock.name()),
            CostContender::Peer(peer) => peer.name().to_owned(),
        }
    }
}

/// h2load first: the others are compared with it.
const HTTP2_CONTENDERS: [CostContender; 3] = [
    CostContender::Peer(Peer::H2load),
    CostContender::Prestan(RequestedClock::User),
    CostContender::Prestan(RequestedClock::Kernel),
];

impl<'a> CostBench<'a> {
    pub(crate) fn of(prestan: &'a Prestan, server: &'a BenchServer, size: CostSize) -> Self {
        CostBench {
            prestan,
            server,
            requests: size.requests,
            seconds: 1,
        }
    }

    /// Processor time per request, in microseconds.
    pub(crate) fn cost_of(&self, clock: RequestedClock) -> Result<f64> {
        Ok(self.turn(CostContender::Prestan(clock))?.cpu_us)
    }

    /// The turns of each contender.
    fn rounds(
        &self,
        what: &str,
        rounds: usize,
        contenders: &[CostContender],
    ) -> Result<Vec<Vec<CostTurn>>> {
        let mut turns: Vec<Vec<CostTurn>> = vec![Vec::new(); contenders.len()];
        for round in 0..rounds {
            eprintln!("{what}: round {} of {rounds}", round + 1);
            for index in order(round, contenders.len()) {
                turns[index].push(self.turn(contenders[index])?);
            }
        }
        Ok(turns)
    }

    fn turn(&self, contender: CostContender) -> Result<CostTurn> {
        let (finished, requests) = match contender {
            CostContender::Floor => (child::run(&mut self.floor()?)?, self.requests),
            CostContender::Prestan(clock) => {
                let finished = self.prestan(clock, self.requests)?;
                (finished, self.requests)
            }
            CostContender::Peer(peer) => {
                let job = PeerJob {
                    url: self.server.file_url(),
                    connections: CONNECTIONS,
                    requests: self.requests,
                    seconds: self.seconds,
                    version: self.server.http(),
                };
                let finished = child::run(&mut peer.command(job, None)?)?;
                let reported = peer.figures(&finished.stdout, job)?;
                (finished, reported.requests)
            }
        };
        Ok(CostTurn {
            cpu_us: finished.cpu.as_secs_f64() * 1e6 / requests as f64,
            per_second: requests as f64 / finished.wall.as_secs_f64(),
        })
    }

    /// This program as the floor.
    fn floor(&self) -> Result<Command> {
        let ourselves = env::current_exe().context("find this program")?;
        let mut command = Command::new(ourselves);
        command
            .args(["floor", &self.server.addr()?.to_string(), "/1k.bin"])
            .args(["--connections", &CONNECTIONS.to_string()])
            .args(["--requests", &self.requests.to_string()]);
        Ok(command)
    }

    fn prestan(&self, clock: RequestedClock, requests: u64) -> Result<FinishedChild> {
        let save = tempfile::tempdir()?;
        let users = CONNECTIONS.min(requests.try_into().unwrap_or(CONNECTIONS));
        let load = self.server.get(users, requests, clock);
        let mut command = self.prestan.closed(load, &save.path().join("run"));
        load::run(command.args(["--threads", "1"]))
    }

    fn start(&self, times: usize) -> Result<Start> {
        let runs = (0..times).map(|_| self.prestan(RequestedClock::User, 1));
        let runs: Vec<FinishedChild> = runs.collect::<Result<_>>()?;
        let median = |time: fn(&FinishedChild) -> Duration| {
            let times = runs.iter().map(|run| time(run).as_secs_f64() * 1e3);
            Median::of(&times.collect::<Vec<_>>()).context("not started even once")
        };
        Ok(Start {
            cpu_ms: median(|run| run.cpu)?,
            wall_ms: median(|run| run.wall)?,
        })
    }
}

/// Results of [`HTTP2_CONTENDERS`], in order.
fn streams(turns: &[Vec<CostTurn>]) -> Vec<StreamClient> {
    let cost = |turns: &[CostTurn]| turns.iter().map(|turn| turn.cpu_us).collect::<Vec<_>>();
    let Some(base) = turns.first().map(|turns| cost(turns)) else {
        return Vec::new();
    };
    let clients = HTTP2_CONTENDERS.iter().zip(turns);
    let clients = clients.filter_map(|(&contender, turns)| {
        let cpu = cost(turns);
        let of_h2load = Median::of(&ratios(&cpu, &base))?;
        let pace: Vec<f64> = turns.iter().map(|turn| turn.per_second).collect();
        Some(StreamClient {
            name: contender.name(),
            cpu: Median::of(&cpu)?,
            of_h2load,
            per_second: Median::of(&pace)?,
            verdict: match contender {
                CostContender::Prestan(_) => {
                    Attainment::of(of_h2load.low <= 1.0 && of_h2load.value <= LITTLE_MORE)
                }
                _ => Attainment::None,
            },
        })
    });
    clients.collect()
}

/// `None` without rounds.
fn clients(contenders: &[CostContender], turns: &[Vec<CostTurn>]) -> Option<Vec<CostClient>> {
    let cost = |turns: &[CostTurn]| turns.iter().map(|turn| turn.cpu_us).collect::<Vec<_>>();
    let position = |wanted| contenders.iter().position(|&contender| contender == wanted);
    let floor = cost(&turns[position(CostContender::Floor)?]);
    let wrk = position(CostContender::Peer(Peer::Wrk)).map(|index| cost(&turns[index]));
    let pairs = contenders.iter().zip(turns);
    pairs
        .map(|(&contender, turns)| {
            let cpu = cost(turns);
            let of_floor = Median::of(&ratios(&cpu, &floor))?;
            let of_wrk = wrk.as_ref().and_then(|wrk| Median::of(&ratios(&cpu, wrk)));
            let pace: Vec<f64> = turns.iter().map(|turn| turn.per_second).collect();
            Some(CostClient {
                name: contender.name(),
                cpu: Median::of(&cpu)?,
                of_floor,
                of_wrk,
                per_second: Median::of(&pace)?,
                wanted: wanted(contender, of_floor, of_wrk),
            })
        })
        .collect()
}

pub(crate) fn ratios(values: &[f64], base: &[f64]) -> Vec<f64> {
    values
        .iter()
        .zip(base)
        .map(|(value, base)| value / base)
        .collect()
}

fn wanted(
    contender: CostContender,
    of_floor: Median,
    of_wrk: Option<Median>,
) -> Vec<(String, Attainment)> {
    let at_most = |median: Median, bound: f64, base: &str| {
        let verdict = Attainment::of(median.value <= bound);
        (format!("at most {bound:.2} times {base}"), verdict)
    };
    let CostContender::Prestan(clock) = contender else {
        return Vec::new();
    };
    match clock {
        RequestedClock::Kernel => vec![at_most(of_floor, 1.4, "the floor")],
        RequestedClock::User => [at_most(of_floor, 1.1, "the floor")]
            .into_iter()
            .chain(of_wrk.map(|of_wrk| at_most(of_wrk, 0.9, "wrk")))
            .collect(),
    }
}

impl BenchReport for CostReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "Processor time of the client a request, in µs ({} requests, 1 KiB GET, \
                 {CONNECTIONS} kept connections, {} rounds; median, with the 95 % interval of the \
                 sign test in brackets)",
                self.requests, self.rounds
            ),
            &[
                "client",
                "µs",
                "of the floor",
                "of wrk",
                "per second",
                "wanted",
            ],
        );
        for client in &self.clients {
            table.row(vec![
                client.name.clone(),
                micros(client.cpu.value),
                interval(client.of_floor),
                client.of_wrk.map_or_else(String::new, interval),
                format!("{:.0}", client.per_second.value),
                verdicts(&client.wanted),
            ]);
        }
        let mut start = BenchTable::new(
            "To start, make one request, keep the run and end, in ms",
            &["", "processor", "wall"],
        );
        start.row(vec![
            "prestan load --total 1".to_owned(),
            interval(self.start.cpu_ms),
            interval(self.start.wall_ms),
        ]);
        vec![table, start]
    }
}

impl BenchReport for Http2CostReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "Processor time of the client a request with HTTP/2 in clear text, in µs ({} requests, 1 KiB \
                 GET, {CONNECTIONS} kept connections, one stream at a time on each, {} rounds; median, with \
                 the 95 % interval of the sign test in brackets; wanted: at most h2load's, which holds if the \
                 interval includes 1 or less and the median is at most {LITTLE_MORE})",
                self.requests, self.rounds
            ),
            &["client", "µs", "of h2load", "per second", "wanted"],
        );
        for client in &self.clients {
            table.row(vec![
                client.name.clone(),
                micros(client.cpu.value),
                interval(client.of_h2load),
                format!("{:.0}", client.per_second.value),
                client.verdict.name().to_owned(),
            ]);
        }
        vec![table]
    }
}

pub(crate) fn interval(median: Median) -> String {
    let Median { value, low, high } = median;
    format!("{value:.2} [{low:.2}, {high:.2}]")
}

fn verdicts(wanted: &[(String, Attainment)]) -> String {
    let reported: Vec<_> = wanted
        .iter()
        .map(|(what, verdict)| format!("{what}: {}", verdict.name()))
        .collect();
    reported.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_a_turn_in_every_round_and_not_always_the_same() {
        let orders: Vec<_> = (0..4).map(|round| order(round, 4)).collect();
        assert_eq!(orders[0], [0, 1, 2, 3]);
        assert_eq!(orders[1], [0, 3, 2, 1]);
        assert_eq!(orders[2], [2, 3, 0, 1]);
        assert_eq!(orders[3], [2, 1, 0, 3]);
    }

    #[test]
    fn a_client_is_compared_with_the_floor_of_its_own_round() {
        let turn = |cpu_us| CostTurn {
            cpu_us,
            per_second: 1.0,
        };
        let user = CostContender::Prestan(RequestedClock::User);
        let contenders = [CostContender::Floor, user, CostContender::Peer(Peer::Wrk)];
        let turns = [[10.0, 20.0, 30.0], [12.0, 21.0, 33.0], [11.0, 22.0, 44.0]];
        let turns = turns.map(|round| round.map(turn).to_vec());
        let clients = clients(&contenders, &turns).unwrap();
        assert_eq!(clients[1].of_floor.value, 1.1);
        let verdicts = clients[1].wanted.iter().map(|(_, verdict)| *verdict);
        assert!(verdicts.eq([Attainment::Ok, Attainment::Missed]));
        assert_eq!(clients[0].wanted, []);
    }

    #[test]
    fn with_http2_h2load_is_what_others_are_compared_with() {
        let verdicts = |of_h2load: [f64; 6]| {
            let turn = |cpu_us| CostTurn {
                cpu_us,
                per_second: 1.0,
            };
            let base = vec![turn(10.0); 6];
            let user = of_h2load.map(|cost| turn(10.0 * cost)).to_vec();
            let clients = streams(&[base, user.clone(), user]);
            let verdicts = clients.iter().map(|client| client.verdict);
            verdicts.collect::<Vec<_>>()
        };
        let (ok, missed, none) = (Attainment::Ok, Attainment::Missed, Attainment::None);
        let cheaper = verdicts([0.8, 0.9, 0.9, 0.9, 0.9, 1.2]);
        // With either clock.
        assert_eq!(cheaper, [none, ok, ok]);
        assert_eq!(verdicts([1.2; 6]), [none, missed, missed]);
        // The same within the uncertainty; more, with certainty; and far too much.
        assert_eq!(verdicts([0.9, 1.03, 1.03, 1.03, 1.03, 1.1])[1], ok);
        assert_eq!(verdicts([1.02, 1.03, 1.03, 1.03, 1.03, 1.1])[1], missed);
        assert_eq!(verdicts([0.9, 1.06, 1.06, 1.06, 1.06, 1.1])[1], missed);
    }
}
