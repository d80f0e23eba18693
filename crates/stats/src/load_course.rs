//! Course of a load, part by part: planned and sent operations, response times, and outcomes.
//!
//! An operation is counted where each thing happened: planned at its place in the schedule, sent
//! when it began, done when its response was complete. Its latency and its outcome are counted
//! where it began, as in [the rows](crate::row). A part is long enough that the number of parts is
//! bounded, whatever the length of the load, so memory is bounded; the result does not depend on
//! the order of samples.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use record::{Nanos, Outcome, Sample, Timing};

use crate::bins::{Bin, Bins};
use crate::times::CoarseTimes;

/// No part is shorter than 2^20 ns, a millisecond: shorter ones hold too little.
const SHORTEST: u32 = 20;

/// Operations of a part: enough for its 99th percentile, as long as the number of parts permits.
const ENOUGH: u64 = 200;
const FEWEST: usize = 20;

/// Operations of a part of a short or slow load: enough for its median.
const LEAST: u64 = 5;

/// A load in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadCourse {
    /// A schedule decided when operations began.
    pub open: bool,
    /// One after the other; some may be empty.
    pub parts: Vec<LoadPart>,
}

/// Counts and times of a part of the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPart {
    /// When it begins, in nanoseconds since the run began.
    pub from: Nanos,
    /// How long it is; less at both ends of the load, where nothing happened before or after.
    pub length: Nanos,
    /// Operations that were planned for it; as many as were sent, in a closed loop.
    pub planned: u64,
    /// Operations that were begun in it.
    pub sent: u64,
    /// Expected responses that were complete in it.
    pub done: u64,
    /// Median, 90th and 99th percentile of its latencies: from *planned* on in an open loop, else
    /// response times. `None` where no operation lies beyond one.
    pub percentiles: [Option<Nanos>; 3],
    /// How its operations ended, with the status of their responses.
    pub endings: BTreeMap<OutcomeWithStatus, u64>,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutcomeWithStatus {
    /// Status of its response, if there was one.
    pub status: Option<u16>,
    /// Outcome of the operation.
    pub outcome: Outcome,
}

#[derive(Debug)]
pub(crate) struct LoadCourseBuilder {
    open: bool,
    bins: Bins<PartTally>,
    /// First and last moment of an event.
    ends: Option<(Nanos, Nanos)>,
}

impl LoadCourseBuilder {
    pub(crate) fn new(parts: usize, open: bool) -> LoadCourseBuilder {
        LoadCourseBuilder {
            open,
            bins: Bins::new(parts, SHORTEST),
            ends: None,
        }
    }

    /// Adds an operation that counts, of a run that began at `begin`.
    pub(crate) fn add(&mut self, sample: &Sample, begin: Nanos) {
        let (moments, outcome) = (&sample.moments, sample.outcome);
        if outcome == Outcome::Cancelled {
            return;
        }
        self.at(begin + moments.planned).planned += 1;
        let started = self.at(begin + moments.started);
        started.sent += u64::from(outcome != Outcome::Dropped);
        *started
            .endings
            .entry(OutcomeWithStatus {
                status: sample.status,
                outcome,
            })
            .or_default() += 1;
        if outcome != Outcome::Ok {
            return;
        }
        if let Some(done) = moments.done {
            self.at(begin + done).done += 1;
        }
        if let Some(latency) = latency(sample, self.open) {
            self.at(begin + moments.started).time(latency);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    fn at(&mut self, moment: Nanos) -> &mut PartTally {
        let (first, last) = self.ends.unwrap_or((moment, moment));
        self.ends = Some((first.min(moment), last.max(moment)));
        self.bins.at(moment)
    }

    pub(crate) fn finish(mut self) -> LoadCourse {
        // Failures are drawn, too, and a load of which all fails has no less to show.
        let tallies = self
            .bins
            .iter()
            .flat_map(|(_, tally)| tally.endings.values());
        let done: u64 = tallies.sum();
        loop {
            let parts = self.bins.len();
            let enough = if parts >= 2 * FEWEST { ENOUGH } else { LEAST };
            if parts < 4 || done >= enough * parts as u64 {
                break;
            }
            self.bins.coarsen();
        }
        let (first, last) = self.ends.unwrap_or_default();
        let whole = self.bins.length();
        let part = |(from, tally): (Nanos, &PartTally)| {
            let (begin, end) = (from.max(first), (from + whole).min(last));
            tally.part(begin, end.saturating_sub(begin))
        };
        LoadCourse {
            open: self.open,
            parts: self.bins.iter().map(part).collect(),
        }
    }
}

/// The latency of a successful operation: from *planned* in an open loop, else the response time.
pub(crate) fn latency(sample: &Sample, open: bool) -> Option<Nanos> {
    let moments = &sample.moments;
    let latency = if open {
        moments.from_planned()
    } else {
        moments.response()
    };
    latency.filter(|_| sample.timing != Timing::Missed)
}

#[derive(Debug, Clone, Default)]
struct PartTally {
    planned: u64,
    sent: u64,
    done: u64,
    times: CoarseTimes,
    endings: BTreeMap<OutcomeWithStatus, u64>,
}

impl PartTally {
    fn time(&mut self, time: Nanos) {
        self.times.add(time);
    }

    fn part(&self, from: Nanos, length: Nanos) -> LoadPart {
        LoadPart {
            from,
            length,
            planned: self.planned,
            sent: self.sent,
            done: self.done,
            percentiles: [50, 90, 99].map(|per_cent| self.times.percentile(per_cent)),
            endings: self.endings.clone(),
        }
    }
}

impl Bin for PartTally {
    fn count(&self) -> u64 {
        self.planned + self.sent + self.done
    }

    fn absorb(&mut self, other: &PartTally) {
        self.planned += other.planned;
        self.sent += other.sent;
        self.done += other.done;
        self.times.merge(&other.times);
        for (ending, count) in &other.endings {
            *self.endings.entry(*ending).or_default() += count;
        }
    }
}
