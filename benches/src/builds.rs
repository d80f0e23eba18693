//! Cost of a request with this build, compared with another build of Prestan: effects of the
//! profile, or of changes to the path of a request, appear here before they appear in a comparison
//! with other tools.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::BenchReport;
use crate::comparison::Attainment;
use crate::cost::{CostBench, CostSize, interval, ratios};
use crate::load::{Prestan, RequestedClock};
use crate::machine::BenchMachine;
use crate::numbers::Median;
use crate::server::BenchServer;
use crate::table::{BenchTable, micros};

/// Highest upper end of the interval of the ratio at which a request counts as equally expensive.
const MOST: f64 = 1.05;

/// Both builds with each clock.
#[derive(Debug, Serialize, Deserialize)]
pub struct BuildsReport {
    machine: BenchMachine,
    rounds: usize,
    /// Requests of each build in each round.
    requests: u64,
    clocks: Vec<ClockOfBuilds>,
}

/// Processor time per request, in microseconds.
#[derive(Debug, Serialize, Deserialize)]
struct ClockOfBuilds {
    name: String,
    other: Median,
    ours: Median,
    /// Ratio of this build to the other one, round by round.
    ratio: Median,
}

/// Measures both builds round by round, alternating the order.
pub fn run(ours: &Prestan, other: &Prestan, size: CostSize) -> Result<BuildsReport> {
    let nginx = BenchServer::nginx()?;
    let benches = [other, ours].map(|prestan| CostBench::of(prestan, &nginx, size));
    let mut clocks = Vec::new();
    for clock in [RequestedClock::User, RequestedClock::Kernel] {
        let mut costs = [Vec::new(), Vec::new()];
        // The first round is not measured: it warms up the server.
        for round in 0..=size.rounds {
            eprintln!("{} clock: round {round} of {}", clock.name(), size.rounds);
            for build in [round % 2, 1 - round % 2] {
                let cost = benches[build].cost_of(clock)?;
                if round > 0 {
                    costs[build].push(cost);
                }
            }
        }
        let [other, ours] = &costs;
        let median = |values: &[f64]| Median::of(values).context("no rounds");
        clocks.push(ClockOfBuilds {
            name: clock.name().to_owned(),
            other: median(other)?,
            ours: median(ours)?,
            ratio: median(&ratios(ours, other))?,
        });
    }
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    Ok(BuildsReport {
        machine,
        rounds: size.rounds,
        requests: size.requests,
        clocks,
    })
}

impl BenchReport for BuildsReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "Processor time a request, in µs ({} requests of each build in each of {} rounds, as above; median, \
                 the ratio with the 95 % interval of the sign test)",
                self.requests, self.rounds
            ),
            &["clock", "other build", "this build", "ratio", "wanted"],
        );
        for clock in &self.clocks {
            let verdict = Attainment::of(clock.ratio.high <= MOST);
            table.row(vec![
                clock.name.clone(),
                micros(clock.other.value),
                micros(clock.ours.value),
                interval(clock.ratio),
                format!("upper end at most {MOST}: {}", verdict.name()),
            ]);
        }
        vec![table]
    }
}
