//! The course of a measure: more than a mean shows, added up in bounded memory.
//!
//! ```text
//! operations that count --+--> response, transfer, whole   times, exact up to 65,536
//!                         +--> parts                       the mean of the logarithm, along the run
//!                         +--> peaks                       the slowest of each short time
//!                         '--> answered twice, opened      what went on beside the answers
//! ```
//!
//! Neither the order of the operations nor the number of threads leaves a trace.

use std::collections::BTreeMap;

use record::{Nanos, Outcome, Sample, Timing};

use crate::bins::{Bin, Bins};
use crate::interval::interval_of_batches;
use crate::times::Times;
use crate::{Batch, Distribution};

/// Bins along the run that are merged into parts.
const PARTS: usize = 1 << 10;

/// Bins along the run of which the slowest operation is known. Periods of less than a hundredth of
/// the run are seen in them, and one row takes 64 KiB.
const PEAKS: usize = 1 << 12;

#[derive(Debug, Clone)]
pub(crate) struct Course {
    /// *First* minus *sent*.
    pub(crate) response: Times,
    /// *Done* minus *first*.
    pub(crate) transfer: Times,
    /// *Done* minus *sent*: until the response was complete, streamed or not.
    pub(crate) whole: Times,
    pub(crate) parts: Bins<CoursePart>,
    /// Of operations that opened no connection: opening one is no slowness of the operation.
    pub(crate) peaks: Bins<Peak>,
    /// Operations that count, and those among them for which a connection was opened.
    pub(crate) operations: u64,
    pub(crate) opened: u64,
    /// Connecting, TLS included, of all of these.
    pub(crate) connecting: u128,
    /// Operations whose request was sent twice on one connection: a 401 came before the response.
    /// In a pipeline they are also those behind such a request.
    pub(crate) challenged: u64,
    /// How often each status came as expected.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Bytes of requests and of responses.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Of each run, the times in `whole`.
    pub(crate) runs: Vec<Batch>,
    /// Seconds of the run that `parts` and `peaks` are of.
    pub(crate) seconds: Option<f64>,
    begin: Nanos,
    is_longest: bool,
}

impl Default for Course {
    fn default() -> Course {
        Course {
            response: Times::default(),
            transfer: Times::default(),
            whole: Times::default(),
            parts: Bins::new(PARTS, 0),
            peaks: Bins::new(PEAKS, 0),
            operations: 0,
            opened: 0,
            connecting: 0,
            challenged: 0,
            statuses: BTreeMap::new(),
            sent: 0,
            received: 0,
            runs: Vec::new(),
            seconds: None,
            begin: 0,
            is_longest: false,
        }
    }
}

impl Course {
    /// An empty course; the run whose course is examined has a window of `seconds`.
    pub(crate) fn with_seconds(seconds: Option<f64>) -> Course {
        Course {
            seconds,
            ..Course::default()
        }
    }

    /// Starts another run, which began at `begin` on the time line of all runs: operations added
    /// from now on are of it. Events in the course of a run are those of the longest.
    pub(crate) fn begin_run(&mut self, begin: Nanos, is_longest: bool) {
        (self.begin, self.is_longest) = (begin, is_longest);
        self.runs.push(Batch::default());
    }

    pub(crate) fn add(&mut self, sample: &Sample) {
        self.operations += 1;
        self.sent += sample.bytes_sent;
        self.received += sample.bytes_received;
        self.opened += u64::from(sample.connect.is_some());
        self.connecting += sample.connect.map_or(0, |connect| {
            u128::from(connect.tcp) + u128::from(connect.tls.unwrap_or(0))
        });
        self.challenged += u64::from(sample.resent && sample.connect.is_none());
        if let (Outcome::Ok, Some(status)) = (sample.outcome, sample.status) {
            *self.statuses.entry(status).or_default() += 1;
        }
        if sample.outcome != Outcome::Ok || sample.timing == Timing::Missed {
            return;
        }
        let (moments, at) = (&sample.moments, sample.moments.started);
        let Some(response) = moments.response() else {
            return;
        };
        let moment = self.begin + at;
        self.response.add(moment, response);
        if self.is_longest {
            self.parts.at(at).add(response);
            if sample.connect.is_none() {
                self.peaks.at(at).add(response);
            }
        }
        let since = |begin: Option<Nanos>| moments.done?.checked_sub(begin?);
        self.transfer.add_some(moment, since(moments.first));
        if let Some(whole) = since(moments.sent) {
            self.whole.add(moment, whole);
            if let Some(run) = self.runs.last_mut() {
                run.add(whole);
            }
        }
    }

    /// With several runs, the interval of the mean comes from how much they differ.
    pub(crate) fn describe_whole(&self) -> Option<Distribution> {
        let times = self.whole.describe()?;
        let runs = self.runs.iter().filter(|run| run.n > 0);
        let runs: Vec<Batch> = runs.copied().collect();
        Some(Distribution {
            ci95: interval_of_batches(&runs).or(times.ci95),
            ..times
        })
    }

    /// The times, each with how often it occurs, ascending.
    pub(crate) fn sorted(times: &Times) -> Vec<(Nanos, u64)> {
        let mut all = Vec::new();
        times.for_each(|value, count| all.push((value, count)));
        all
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CoursePart {
    n: u64,
    logarithms: f64,
}

impl CoursePart {
    fn add(&mut self, response: Nanos) {
        self.n += 1;
        // A time of nothing has no logarithm; a nanosecond is the unit of the clock.
        self.logarithms += (response.max(1) as f64).ln();
    }

    /// Mean of the logarithms: few slow operations do not move it much.
    pub(crate) fn mean(&self) -> f64 {
        self.logarithms / self.n as f64
    }
}

impl Bin for CoursePart {
    fn count(&self) -> u64 {
        self.n
    }

    fn absorb(&mut self, other: &CoursePart) {
        self.n += other.n;
        self.logarithms += other.logarithms;
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Peak {
    n: u64,
    /// The slowest response that began in it.
    pub(crate) slowest: Nanos,
}

impl Peak {
    fn add(&mut self, response: Nanos) {
        self.n += 1;
        self.slowest = self.slowest.max(response);
    }
}

impl Bin for Peak {
    fn count(&self) -> u64 {
        self.n
    }

    fn absorb(&mut self, other: &Peak) {
        self.n += other.n;
        self.slowest = self.slowest.max(other.slowest);
    }
}
