//! The access log of a server that Prestan has started, read after the run and joined to its operations.

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

/// Longest time until a server has written its log: lighttpd does so every four seconds.
const WRITTEN_WITHIN: Duration = Duration::from_secs(6);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(20);

/// Where a server logs its requests with their times.
pub(super) struct LogFile {
    path: PathBuf,
    unit: LogUnit,
}

impl LogFile {
    /// That of a server, if its recipe has one.
    pub(super) fn of(server: &RealServer) -> Option<LogFile> {
        let logs = server.logs();
        let unit = match logs.time? {
            LoggedTime::Seconds => LogUnit::Seconds,
            LoggedTime::Microseconds => LogUnit::Microseconds,
        };
        let path = logs.access?;
        Some(LogFile { path, unit })
    }
}

/// Hands samples on, and keeps what is needed to find them in the log of the server.
pub struct LoggedSink<'s> {
    sink: &'s mut dyn Sink,
    /// The error is why there is none.
    log: Option<io::Result<AccessLog>>,
    /// By place of the row: it is the time between two steps, and no request.
    is_stop_watch: Vec<bool>,
}

impl<'s> LoggedSink<'s> {
    pub(super) fn new(
        sink: &'s mut dyn Sink,
        file: Option<&LogFile>,
        plan: &Plan,
    ) -> LoggedSink<'s> {
        let open = |file: &LogFile| {
            let rows = plan.measures.iter().map(|own| own.name.clone()).collect();
            AccessLog::open(&file.path, file.unit, &plan.suite.name, rows)
        };
        LoggedSink {
            sink,
            log: file.map(open),
            is_stop_watch: plan.measures.iter().map(|own| own.stop_watch).collect(),
        }
    }

    /// Joins the log with the operations, for the record. Until the server has written it, some time may pass.
    pub fn join(self, cancel: &Cancel) -> Vec<EventKind> {
        let Some(log) = self.log else {
            return Vec::new();
        };
        let joined = log.and_then(|mut log| {
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

impl Sink for LoggedSink<'_> {
    fn take(&mut self, samples: &[Sample], window: KnownWindow) -> ControlFlow<()> {
        if let Some(Ok(log)) = &mut self.log {
            let is_ok = |sample: &&Sample| sample.outcome == Outcome::Ok;
            for sample in samples.iter().filter(is_ok) {
                let place = usize::from(sample.measure.0);
                let is_request = self.is_stop_watch.get(place) == Some(&false);
                if let Some(total) = sample.moments.total().filter(|_| is_request) {
                    log.look_for(sample.number, sample.measure, total);
                }
            }
        }
        self.sink.take(samples, window)
    }

    fn measured(&mut self) {
        self.sink.measured();
    }
}
