//! Share of the server in a suite's time.
//!
//! Samples have measured operations only, while set-up and clean-up are most of a suite's requests.
//! So packets are captured: a request is *at the server* from its last packet to the first of its
//! response, and *outstanding* from its first packet to the last of its response, which includes
//! the transfer of bodies. Both are covered time, overlaps counted once, as a share of the wall
//! time of the whole process, including its start and end.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use testbed::RealServer;
use testbed::real::Recipe;

use crate::comparison::Attainment;
use crate::load::{self, Prestan};
use crate::machine::BenchMachine;
use crate::numbers::covered;
use crate::observe::observe;
use crate::server::port_of;
use crate::table::BenchTable;
use crate::{BenchReport, BenchSize};
use trace::TracedRequest;

/// Required share of the wall time in which a request is at the server.
const WANTED: f64 = 0.9;

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct SuiteReport {
    machine: BenchMachine,
    /// `-r`.
    requests: u32,
    /// Requests on the wire, including set-up and clean-up.
    exchanges: usize,
    /// Of the process, in seconds.
    wall_s: f64,
    cpu_s: f64,
    /// Time in which a request was outstanding, in seconds.
    outstanding_s: f64,
    /// Time in which a request was at the server, in seconds.
    at_server_s: f64,
}

/// Runs the suite against Apache.
pub fn run(prestan: &Prestan, size: BenchSize) -> Result<SuiteReport> {
    let each = size.of(100_u32, 10);
    let recipe = Recipe::named("apache").context("no recipe `apache` in servers/")?;
    let server = RealServer::start(recipe)?;
    let mut machine = BenchMachine::this();
    machine.add(&format!("apache {}", server.installed().version));
    let save = tempfile::tempdir()?;
    let mut command = prestan.command();
    command
        .args([&server.url(), "--quiet"])
        .args(["--requests", &each.to_string()])
        .arg("--save")
        .arg(save.path().join("run"));
    let port = port_of(&server.url())?;
    let (finished, requests) = observe(port, || load::run(&mut command))?;
    Ok(SuiteReport {
        machine,
        requests: each,
        exchanges: requests.len(),
        wall_s: finished.wall.as_secs_f64(),
        cpu_s: finished.cpu.as_secs_f64(),
        outstanding_s: seconds(&requests, |request| {
            Some((request.request_first_ns, request.response_last_ns?))
        }),
        at_server_s: seconds(&requests, |request| {
            Some((request.request_last_ns, request.response_first_ns?))
        }),
    })
}

/// Seconds covered by an interval of each exchange.
fn seconds(
    requests: &[TracedRequest],
    interval: impl Fn(&TracedRequest) -> Option<(i64, i64)>,
) -> f64 {
    let intervals: Vec<_> = requests.iter().filter_map(interval).collect();
    covered(&intervals) as f64 / 1e9
}

impl BenchReport for SuiteReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "prestan URL -r {}, against Apache: {} requests on the wire",
                self.requests, self.exchanges
            ),
            &["", "seconds", "of wall time", "wanted", ""],
        );
        let mut row = |what: &str, seconds: f64, wanted: &str, verdict: Attainment| {
            table.row(vec![
                what.to_owned(),
                format!("{seconds:.2}"),
                format!("{:.1} %", seconds / self.wall_s * 100.0),
                wanted.to_owned(),
                verdict.name().to_owned(),
            ]);
        };
        let holds = Attainment::of(self.at_server_s / self.wall_s > WANTED);
        row(
            "wall time of the process",
            self.wall_s,
            "",
            Attainment::None,
        );
        row("its processor time", self.cpu_s, "", Attainment::None);
        let bound = format!("above {:.0} %", WANTED * 100.0);
        row("a request at the server", self.at_server_s, &bound, holds);
        let outstanding = "a request outstanding, its transfer included";
        row(outstanding, self.outstanding_s, "", Attainment::None);
        vec![table]
    }
}
