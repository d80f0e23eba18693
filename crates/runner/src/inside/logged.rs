//! The access log of a server that Prestan has started, read after the run and joined to its
//! operations.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use engine::{Cancel, KnownWindow, Sink};
use inside::access_log::{AccessLog, LogUnit};
use record::{EventKind, Outcome, Sample};
use suite::Plan;
use testbed::RealServer;
use testbed::real::LoggedTime;

use super::WatchedRows;

/// Longest time until a server has written its log: lighttpd does so every four seconds.
const WRITTEN_WITHIN: Duration = Duration::from_secs(6);
/// Interval between two looks at the log.
const LOOK: Duration = Duration::from_millis(20);

/// Access log of a server, with the times of requests.
pub(super) struct LogFile {
    path: PathBuf,
    unit: LogUnit,
}

impl LogFile {
    /// The access log of a server, if its recipe has one.
    pub(super) fn of(server: &RealServer) -> Option<LogFile> {
        let logs = server.logs();
        let unit = match logs.time? {
            LoggedTime::Seconds => LogUnit::Seconds,
            LoggedTime::Microseconds => LogUnit::Microseconds,
        };
        let path = logs.access?;
        Some(LogFile { path, unit })
    }

    /// Opens the log at its end, for the operations of this plan.
    pub(super) fn open(&self, plan: &Plan) -> LoggedOperations {
        let rows = plan.measures.iter().map(|row| row.name.clone()).collect();
        LoggedOperations {
            log: AccessLog::open(&self.path, self.unit, &plan.suite.name, rows),
            is_stop_watch: plan.measures.iter().map(|row| row.stop_watch).collect(),
        }
    }
}

/// Operations and the access log that they are looked up in.
pub(super) struct LoggedOperations {
    /// The error is the reason why there is no log.
    log: io::Result<AccessLog>,
    /// By index of the row: a stop-watch, the time between two steps, without a request.
    is_stop_watch: Vec<bool>,
}

impl LoggedOperations {
    fn look_for(&mut self, samples: &[Sample]) {
        let Ok(log) = &mut self.log else {
            return;
        };
        for sample in samples
            .iter()
            .filter(|sample| sample.outcome == Outcome::Ok)
        {
            let place = usize::from(sample.measure.0);
            let is_request = self.is_stop_watch.get(place) == Some(&false);
            if let Some(total) = sample.moments.total().filter(|_| is_request) {
                log.look_for(sample.number, sample.measure, total);
            }
        }
    }

    /// Joins the log with the operations, for the record. Waits until the server has written it.
    pub(super) fn join(self, cancel: &Cancel) -> Vec<EventKind> {
        let joined = self.log.and_then(|mut log| {
            let begun = Instant::now();
            while !log.read()? && begun.elapsed() < WRITTEN_WITHIN && !cancel.is_cancelled() {
                thread::sleep(LOOK);
            }
            Ok(log.join())
        });
        match joined {
            Ok((times, counts)) => {
                let times = times.into_iter().map(EventKind::ServerTimes);
                times.chain([EventKind::AccessLog(counts)]).collect()
            }
            Err(why) => vec![EventKind::Warning {
                text: format!("reading the access log of the server failed: {why}"),
            }],
        }
    }
}

/// Passes samples on, and keeps the keys by which they are found in the access log.
pub(crate) struct LoggedSink<'s> {
    pub(crate) sink: &'s mut dyn Sink,
    pub(crate) rows: Option<&'s WatchedRows>,
}

impl Sink for LoggedSink<'_> {
    fn take(&mut self, samples: &[Sample], window: KnownWindow) -> ControlFlow<()> {
        if let Some(operations) = self
            .rows
            .and_then(WatchedRows::logged)
            .as_deref_mut()
            .and_then(Option::as_mut)
        {
            operations.look_for(samples);
        }
        self.sink.take(samples, window)
    }

    fn measured(&mut self) {
        self.sink.measured();
    }
}
