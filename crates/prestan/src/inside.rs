//! What goes on inside of a server on this machine while it is measured: `--inside`, `--pid`.
//!
//! ```text
//! engine --row at work--> WatchedRows --> inside::InsideAccounts --batches-------> record
//!   '--again, not timed--> TracedRows --> inside::CurrentRow, Tracer --calls----'
//! ```

mod traced;

use std::sync::Arc;
use std::time::Duration;

use engine::{Cancel, RowWatch, Settings};
use inside::processes::descendants;
use inside::{InsideAccounts, ServerCounters};
use record::{EventKind, InsideRecord, MeasureId};
use suite::Plan;
use testbed::RealServer;

use crate::args::InsideOptions;
use crate::exit::Failed;
use traced::TracedServer;

/// Shortest batch of operations of a suite, which are done one after the other.
const OF_SUITE: Duration = Duration::from_millis(2);
/// That of a load, whose threads have no time to read counters.
const OF_LOAD: Duration = Duration::from_millis(50);

/// The processes of a server that are watched.
pub(crate) struct WatchedServer {
    counters: ServerCounters,
    traced: TracedServer,
}

impl WatchedServer {
    /// Those that the options name, or of a server that Prestan has started.
    pub(crate) fn of(
        options: &InsideOptions,
        server: Option<&RealServer>,
    ) -> Result<Option<WatchedServer>, Failed> {
        let roots: Vec<u32> = match (&options.pid[..], options.inside, server) {
            ([], false, _) => return Ok(None),
            ([], true, None) => {
                return Err(Failed::Usage(
                    "--inside looks into a server that runs on this machine, and does not know which process it is; start it \
                     with --server NAME, or name its process with --pid PID"
                        .to_owned(),
                ));
            }
            ([], true, Some(server)) => server.pids().collect(),
            (_, _, Some(_)) => {
                return Err(Failed::Usage(
                    "--pid names a server that runs already, and --server starts one; use --inside with --server".to_owned(),
                ));
            }
            (pids, ..) => pids.to_vec(),
        };
        for root in &roots {
            let all = descendants(&[*root]);
            let why = if all.is_empty() {
                "there is no such process"
            } else if all.contains(&std::process::id()) {
                "Prestan itself has been started by it"
            } else {
                continue;
            };
            return Err(Failed::Usage(format!(
                "--pid {root}: {why}; name the first process of the server (`pgrep -o NAME`, or `ss -ltnp` for the one that \
                 listens)"
            )));
        }
        let counters = ServerCounters::of(&roots)
            .map_err(|why| Failed::Usage(format!("looking inside of the server: {why}")))?;
        let directory = server.and_then(|server| Some(server.storage().parent()?.to_owned()));
        Ok(Some(WatchedServer {
            counters,
            traced: TracedServer { roots, directory },
        }))
    }

    /// What stands in the plan of the run.
    pub(crate) fn record(&self) -> InsideRecord {
        InsideRecord {
            missing: self.counters.missing(),
            without_io: self.counters.lacks_io(),
        }
    }

    /// What it counts for the rows of a run.
    pub(crate) fn watch(self, plan: &Plan, settings: &Settings) -> Arc<WatchedRows> {
        let is_load = matches!(settings.drive, engine::Drive::Load(_));
        let shortest = if is_load { OF_LOAD } else { OF_SUITE };
        Arc::new(WatchedRows {
            accounts: InsideAccounts::new(self.counters, shortest),
            is_told_apart: told_apart(plan, settings.users),
            // A load has no rounds to repeat, and may be about a file that exists.
            traced: (!is_load).then_some((self.traced, plan.clone())),
        })
    }
}

/// The rows of a run, and what was counted for them.
pub(crate) struct WatchedRows {
    accounts: InsideAccounts,
    /// Whether what the server does can be said to be for a row, by their places.
    is_told_apart: Vec<bool>,
    /// What is repeated to count system calls.
    traced: Option<(TracedServer, Plan)>,
}

impl WatchedRows {
    /// What was counted, for the record.
    pub(crate) fn end(&self) -> Vec<EventKind> {
        let batches = self.accounts.end().into_iter().map(EventKind::Inside);
        let doubts = self.accounts.doubts().into_iter();
        let doubts = doubts.map(|text| EventKind::Warning { text });
        batches.chain(doubts).collect()
    }

    /// Repeats a few operations of each row, and counts the system calls of the server: for the record, too.
    pub(crate) fn trace(&self, settings: &Settings, cancel: &Cancel) -> Vec<EventKind> {
        let traced = self.traced.iter();
        let pass = traced.map(|(server, plan)| server.pass(plan, settings, cancel));
        pass.flatten().collect()
    }
}

impl RowWatch for WatchedRows {
    fn begins(&self, row: Option<MeasureId>) {
        let is_told_apart = |row: &MeasureId| {
            let known = self.is_told_apart.get(usize::from(row.0));
            known.copied().unwrap_or_default()
        };
        self.accounts.begin(row.filter(is_told_apart));
    }

    fn answered(&self) {}

    fn rests(&self) {
        self.accounts.rest();
    }
}

/// Which rows a server is at work for alone: all of a single user, who does one thing after the other; of several, those
/// whose test does nothing else.
fn told_apart(plan: &Plan, users: u32) -> Vec<bool> {
    let is_told_apart = |(place, measure): (u16, &record::MeasureRecord)| {
        let test = plan.tests.iter().find(|test| test.id == measure.test);
        users == 1 || test.is_some_and(|test| test.only_measure() == Some(MeasureId(place)))
    };
    (0..).zip(&plan.measures).map(is_told_apart).collect()
}
