//! Rows beside background traffic, in the [parts](crate::BackgroundPart) of its course.
//!
//! As in the [course of a load](crate::LoadCourse), a response is counted where it was complete,
//! and its latency and a failure stand where the operation began.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use record::{Nanos, Outcome, Sample};

use crate::BackgroundCourse;
use crate::load_course::latency;
use crate::times::CoarseTimes;

/// The operations of a row in a part of the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForegroundPart {
    /// Its index in [`BackgroundCourse::parts`].
    pub index: usize,
    /// Expected responses that were complete in it.
    pub done: u64,
    /// Operations that were begun in it and failed.
    pub failed: u64,
    /// Median and 99th percentile of the latencies, from *planned* on in an open loop, else
    /// response times. `None` where no operation lies beyond one.
    pub percentiles: [Option<Nanos>; 2],
}

#[derive(Debug)]
pub(crate) struct ForegroundBuilder {
    course: Arc<BackgroundCourse>,
    open: bool,
    parts: BTreeMap<usize, ForegroundTally>,
}

#[derive(Debug, Default)]
struct ForegroundTally {
    done: u64,
    failed: u64,
    times: CoarseTimes,
}

impl ForegroundBuilder {
    pub(crate) fn new(course: Arc<BackgroundCourse>, open: bool) -> ForegroundBuilder {
        ForegroundBuilder {
            course,
            open,
            parts: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, sample: &Sample) {
        let (moments, outcome) = (&sample.moments, sample.outcome);
        match outcome {
            Outcome::Cancelled => {}
            Outcome::Ok => {
                if let Some(part) = moments.done.and_then(|done| self.at(done)) {
                    part.done += 1;
                }
                let latency = latency(sample, self.open);
                if let (Some(latency), Some(part)) = (latency, self.at(moments.started)) {
                    part.times.add(latency);
                }
            }
            _ => {
                if let Some(part) = self.at(moments.started) {
                    part.failed += 1;
                }
            }
        }
    }

    fn at(&mut self, moment: Nanos) -> Option<&mut ForegroundTally> {
        let index = self.course.part_index(moment)?;
        Some(self.parts.entry(index).or_default())
    }

    pub(crate) fn finish(self) -> Vec<ForegroundPart> {
        let part = |(index, tally): (usize, ForegroundTally)| ForegroundPart {
            index,
            done: tally.done,
            failed: tally.failed,
            percentiles: [50, 99].map(|per_cent| tally.times.percentile(per_cent)),
        };
        self.parts.into_iter().map(part).collect()
    }
}
