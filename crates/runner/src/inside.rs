//! Figures from inside a server on this machine while it is measured: `--inside`, `--pid`.
//!
//! ```text
//! engine --row at work--> WatchedRows --> inside::InsideAccounts --batches-------> record
//!   |--again, not timed--> TracedRows --> inside::CurrentRow, Tracer --calls----|
//!   '--again, not timed--> FlamedRows --> inside::StackSampler --stacks---------|
//! samples --> LoggedSink --> inside::AccessLog --joined by number---------------'
//! ```

mod logged;
mod pass;
mod sampled;
mod traced;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Cancel, RowWatch, RunPlace, RunSpec};
use inside::processes::{descendants, process_of};
use inside::{InsideAccounts, NamedProcesses, ServerCounters, group_members};
use record::{EventKind, InsideRecord, MeasureId};
use suite::Plan;
use testbed::RealServer;

pub(crate) use logged::LoggedSink;
use logged::{LogFile, LoggedOperations};
use traced::TracedServer;

use crate::error::RunnerError;
use crate::run::{Companion, EndedRun};

/// Shortest batch of operations of a suite, whose operations follow one another.
const OF_SUITE: Duration = Duration::from_millis(2);
/// Shortest batch of a load, whose threads have no time to read counters.
const OF_LOAD: Duration = Duration::from_millis(50);

/// After the first ones, one of this many batches is counted, so that response times are not
/// affected.
const SELDOM: u64 = 16;
/// The same where processor times are compared: the disturbance is the same on all sides.
const OFTEN: u64 = 4;

/// Options of `--inside`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InsideRequest {
    /// Looks into a server that Prestan starts.
    pub is_wanted: bool,
    /// System calls are not counted.
    pub no_trace: bool,
}

/// The processes of a watched server.
pub struct WatchedServer {
    counters: ServerCounters,
    /// [`SELDOM`] or [`OFTEN`].
    later: u64,
    traced: TracedServer,
    is_traced: bool,
    /// Its access log, if it has the times of requests.
    log: Option<LogFile>,
    flames: bool,
}

impl WatchedServer {
    /// The processes of a running server, by its first processes, or of a server that Prestan has
    /// started.
    pub(crate) fn of(
        request: InsideRequest,
        pids: &[u32],
        server: Option<&RealServer>,
    ) -> Result<Option<WatchedServer>, RunnerError> {
        let roots: Vec<u32> = match (pids, request.is_wanted, server) {
            ([], false, _) => return Ok(None),
            ([], true, None) => {
                return Err(RunnerError::Usage(
                    "--inside and --flame look into a server that runs on this machine, and do not know which process it is; \
                     start it with --server NAME or --start COMMAND, or name its process with --pid PID"
                        .to_owned(),
                ));
            }
            ([], true, Some(server)) => server.pids().collect(),
            (_, _, Some(_)) => {
                return Err(RunnerError::Usage(
                    "--pid names a server that runs already, and --server starts one; use --inside with --server".to_owned(),
                ));
            }
            (pids, ..) => pids.to_vec(),
        };
        for root in &roots {
            let all = descendants(&[*root]);
            let process = process_of(*root).filter(|process| process != root);
            let why = if let Some(process) = process {
                &format!("this is a thread of the process {process}")
            } else if all.is_empty() {
                "there is no such process"
            } else if all.contains(&std::process::id()) {
                "Prestan itself has been started by it"
            } else {
                continue;
            };
            return Err(RunnerError::Usage(format!(
                "--pid {root}: {why}; name the first process of the server (`pgrep -o NAME`, or `ss -ltnp` for the one that \
                 listens)"
            )));
        }
        let named = Arc::new(NamedProcesses::of(&roots));
        let group = pids.iter().flat_map(|pid| group_members(*pid));
        let mut roots: Vec<u32> = roots.iter().copied().chain(group).collect();
        roots.sort_unstable();
        roots.dedup();
        let counters = ServerCounters::of(&roots)
            .map_err(|why| RunnerError::Usage(format!("looking inside of the server: {why}")))?
            .with_processor_events()
            .until_the_end_of(Arc::clone(&named));
        let directory = server.and_then(|server| Some(server.storage().parent()?.to_owned()));
        Ok(Some(WatchedServer {
            counters,
            later: SELDOM,
            traced: TracedServer {
                roots,
                named,
                directory,
            },
            is_traced: !request.no_trace,
            log: None,
            flames: false,
        }))
    }

    /// Adds the access log, if it has the times of requests. The server must be for this run only:
    /// an earlier run has the same numbers of requests.
    pub(crate) fn with_log(self, server: &RealServer) -> WatchedServer {
        WatchedServer {
            log: LogFile::of(server),
            ..self
        }
    }

    pub(crate) fn with_flames(self, flames: bool) -> WatchedServer {
        WatchedServer { flames, ..self }
    }

    /// Counts more often, for processor times that are compared.
    pub fn compared(self) -> WatchedServer {
        WatchedServer {
            later: OFTEN,
            ..self
        }
    }

    /// Its part in the plan of the run.
    pub fn record(&self) -> InsideRecord {
        InsideRecord {
            missing: self.counters.missing(),
            processes: self.counters.processes(),
            without_io: self.counters.lacks_io(),
            without_threads: self.counters.lacks_threads(),
        }
    }

    /// Counters for the rows of a run.
    pub fn watch(self, spec: &RunSpec) -> Arc<WatchedRows> {
        let is_load = matches!(spec.drive, engine::Drive::Load(_));
        let shortest = if is_load { OF_LOAD } else { OF_SUITE };
        Arc::new(WatchedRows {
            accounts: InsideAccounts::new(self.counters, shortest, self.later),
            is_attributable: attributable(&spec.plan, spec.users),
            // A load has no rounds to repeat, and may be about a file that exists.
            again: (!is_load).then(|| RepeatedTests {
                server: self.traced,
                is_traced: self.is_traced,
                flames: self.flames,
            }),
            log: self.log.map(|file| Mutex::new(Some(file.open(&spec.plan)))),
        })
    }
}

/// The rows of a run, and their counts.
pub struct WatchedRows {
    accounts: InsideAccounts,
    /// By index of the row: work of the server can be attributed to it.
    is_attributable: Vec<bool>,
    again: Option<RepeatedTests>,
    /// The access log of the server, until it is joined.
    log: Option<Mutex<Option<LoggedOperations>>>,
}

/// Tests repeated after the run, to count system calls and to sample stacks.
struct RepeatedTests {
    server: TracedServer,
    is_traced: bool,
    flames: bool,
}

impl WatchedRows {
    /// `None` where there is no access log, and after it is joined.
    fn logged(&self) -> Option<MutexGuard<'_, Option<LoggedOperations>>> {
        let log = self.log.as_ref()?;
        Some(log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn counted(&self) -> Vec<EventKind> {
        let batches = self.accounts.end().into_iter().map(EventKind::Inside);
        let unseen = self.accounts.unseen();
        let unseen = unseen.map(|by| EventKind::UnseenCalls { by });
        let cautions = self.accounts.cautions().into_iter();
        let cautions = cautions.map(|text| EventKind::Warning { text });
        batches.chain(unseen).chain(cautions).collect()
    }

    /// Repeats operations of each row, and counts the system calls of the server; then again for
    /// flame graphs, if requested. Returns events for the record.
    fn repeat(&self, run: (&RunSpec, &RunPlace), cancel: &Cancel) -> Vec<EventKind> {
        let mut events = Vec::new();
        let Some(again) = &self.again else {
            return events;
        };
        if again.is_traced {
            events.extend(again.server.pass(run, cancel));
        }
        if again.flames && !cancel.is_cancelled() {
            let roots = &again.server.roots;
            events.extend(sampled::pass(roots, run, cancel));
        }
        events.extend(cancel.is_cancelled().then_some(EventKind::Interrupted));
        events
    }
}

impl Companion for Arc<WatchedRows> {
    fn end(self: Box<Self>, run: &mut EndedRun<'_>) {
        let mut counted = self.counted();
        // Before the passes that follow, whose requests have the same numbers.
        let log = self.logged().and_then(|mut log| log.take());
        counted.extend(log.map_or(Vec::new(), |log| log.join(run.cancel)));
        counted.into_iter().for_each(|counted| run.add(counted));
        if run.went_through() {
            let repeated = self.repeat((run.spec, run.place), run.cancel);
            repeated.into_iter().for_each(|counted| run.add(counted));
        }
    }
}

impl RowWatch for WatchedRows {
    fn begins(&self, row: Option<MeasureId>) {
        let is_attributable = |row: &MeasureId| {
            let known = self.is_attributable.get(usize::from(row.0));
            known.copied().unwrap_or_default()
        };
        self.accounts.begin(row.filter(is_attributable));
    }

    fn response_arrived(&self) {}

    fn rests(&self) {
        self.accounts.rest();
    }
}

/// Rows to which all work of the server can be attributed: all rows of a single user, whose
/// operations follow one another; with several users, rows whose test has no other row.
fn attributable(plan: &Plan, users: u32) -> Vec<bool> {
    let is_attributable = |(index, measure): (u16, &record::MeasureRecord)| {
        let test = plan.tests.iter().find(|test| test.id == measure.test);
        users == 1 || test.is_some_and(|test| test.only_measure() == Some(MeasureId(index)))
    };
    (0..).zip(&plan.measures).map(is_attributable).collect()
}
