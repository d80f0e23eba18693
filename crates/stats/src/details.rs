//! What the operations of a row look like, for figures: their distribution, and their course.
//!
//! ```text
//! samples --> window --> counted? --+--> Times ---+--> histogram   ranges that grow by a factor
//!                                   |             '--> steps       the distribution function
//!                                   '--> Line -------> time line   every operation, or buckets
//! ```
//!
//! A figure has room for some hundred marks. Where there are more operations, steps are left out
//! and operations are put together in buckets of time, but nothing that matters is lost: of each
//! bucket the least and the greatest time are kept, and so are both ends of the distribution. What
//! is worked out does not depend on the order of the samples, and takes bounded memory.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use record::{Nanos, Outcome, Pace, Sample, Timing};

use crate::BackgroundCourse;
use crate::bins::{Bin, Bins};
use crate::foreground::{ForegroundBuilder, ForegroundPart};
use crate::load_course::{LoadCourse, LoadCourseBuilder};
use crate::spread::{Bar, spread};
use crate::times::Times;

/// Fewer marks than these show no shape.
const LEAST: usize = 12;

/// How much of a run figures can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// Steps of a distribution function at most.
    pub steps: usize,
    /// Operations or buckets of a time line at most.
    pub buckets: usize,
    /// Ranges of a histogram at most.
    pub ranges: usize,
    /// Parts of the time of a load at most.
    pub parts: usize,
}

impl Resolution {
    /// What a page of less than 5 MB has room for, if it shows so many rows, up to 300: 400
    /// steps, 600 buckets and 40 ranges of each, and fewer where there are many rows.
    pub fn for_rows(rows: usize) -> Resolution {
        const MARKS: usize = 10_300;
        // What a row takes in any case: its figures, as document and as table.
        const FIXED: usize = 30;
        let share = (MARKS / rows.max(1)).saturating_sub(FIXED);
        Resolution {
            steps: share.clamp(LEAST, 400),
            buckets: share.clamp(LEAST, 600),
            ranges: share.clamp(LEAST, 40),
            parts: share.clamp(LEAST, 120),
        }
    }
}

/// What the operations of a row that count look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// Response times in ranges that grow by a constant factor; empty without any.
    pub histogram: Vec<Bar>,
    /// The distribution function of the response times; empty without any.
    pub steps: Vec<DistributionStep>,
    /// Whether every response time has a step of its own.
    pub all_steps: bool,
    /// Response times and failures by the moment at which the operation began.
    pub time_line: TimeLine,
    /// How a load went; `None` of a suite in rounds.
    pub load: Option<LoadCourse>,
    /// Where something happened beside background traffic; empty without any.
    pub foreground: Vec<ForegroundPart>,
}

/// A place where a distribution function rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistributionStep {
    /// A response time in nanoseconds.
    pub value: Nanos,
    /// Response times that are no longer than this one.
    pub count: u64,
}

/// Response times and failures in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeLine {
    /// Every operation that counts.
    Every(Vec<DrawnOperation>),
    /// They were too many: what happened in times of equal length.
    Buckets {
        /// Length of each in nanoseconds.
        length: Nanos,
        /// One after the other; some may be empty.
        buckets: Vec<Bucket>,
    },
}

/// An operation on a time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DrawnOperation {
    /// When it began, in nanoseconds since the run began.
    pub at: Nanos,
    /// Its response time in nanoseconds; `None` for one that failed.
    pub took: Option<Nanos>,
}

/// The operations of a part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// When it begins, in nanoseconds since the run began.
    pub from: Nanos,
    /// Response times.
    pub n: u64,
    /// The least of them in nanoseconds; zero without any.
    pub min: Nanos,
    /// The greatest.
    pub max: Nanos,
    /// All of them together.
    pub sum: u128,
    /// Operations that failed.
    pub failed: u64,
}

#[derive(Debug)]
pub(crate) struct DetailsBuilder {
    resolution: Resolution,
    times: Times,
    line: DrawnLine,
    load: Option<LoadCourseBuilder>,
    foreground: Option<ForegroundBuilder>,
}

impl DetailsBuilder {
    pub(crate) fn new(resolution: Resolution, pace: &Pace) -> DetailsBuilder {
        let load = |open| LoadCourseBuilder::new(resolution.parts, open);
        DetailsBuilder {
            resolution,
            times: Times::default(),
            line: DrawnLine::Every(Vec::new(), resolution.buckets),
            load: match pace {
                Pace::Rounds => None,
                Pace::Closed => Some(load(false)),
                Pace::Open { .. } => Some(load(true)),
            },
            foreground: None,
        }
    }

    pub(crate) fn beside(self, background: Option<&Arc<BackgroundCourse>>) -> DetailsBuilder {
        let open = self.load.as_ref().is_some_and(|load| load.is_open());
        DetailsBuilder {
            foreground: background.map(|course| ForegroundBuilder::new(Arc::clone(course), open)),
            ..self
        }
    }

    /// Adds an operation that counts, of a run that began at `begin` on the time line.
    pub(crate) fn add(&mut self, sample: &Sample, begin: Nanos) {
        let at = begin + sample.moments.started;
        if let Some(load) = &mut self.load {
            load.add(sample, begin);
        }
        if let Some(foreground) = &mut self.foreground {
            foreground.add(sample);
        }
        match sample.outcome {
            // An interrupted operation is no failure of the server.
            Outcome::Cancelled => {}
            Outcome::Ok if sample.timing == Timing::Missed => {}
            Outcome::Ok => {
                if let Some(took) = sample.moments.response() {
                    self.times.add(at, took);
                    self.line.add(at, Some(took));
                }
            }
            _ => self.line.add(at, None),
        }
    }

    pub(crate) fn finish(self) -> Details {
        let resolution = self.resolution;
        let (steps, all_steps) = steps(&self.times, resolution.steps);
        Details {
            histogram: spread(&[&self.times], &[], resolution.ranges),
            steps,
            all_steps,
            time_line: self.line.finish(),
            load: self.load.map(LoadCourseBuilder::finish),
            foreground: self
                .foreground
                .map_or(Vec::new(), ForegroundBuilder::finish),
        }
    }
}

/// The distribution function in at most so many steps, and whether they are all.
///
/// Where steps have to be left out, those stay at which a share of the times is reached: nine in
/// ten of these shares are evenly spread, and the last tenth lies ever more densely towards the
/// slowest operations, which are what one looks for. The first step and the last are always there.
fn steps(times: &Times, most: usize) -> (Vec<DistributionStep>, bool) {
    let mut all: Vec<DistributionStep> = Vec::new();
    let mut before = 0;
    times.for_each(|value, count| {
        before += count;
        match all.last_mut() {
            Some(last) if last.value == value => last.count = before,
            _ => all.push(DistributionStep {
                value,
                count: before,
            }),
        }
    });
    if all.len() <= most {
        return (all, true);
    }
    let wanted = ranks(before, most);
    let mut wanted = wanted.into_iter().peekable();
    let mut kept: Vec<DistributionStep> = Vec::with_capacity(most);
    for step in all {
        if wanted.next_if(|rank| *rank <= step.count).is_some() {
            kept.push(step);
            while wanted.next_if(|rank| *rank <= step.count).is_some() {}
        }
    }
    (kept, false)
}

/// Ranks of `n` times at which steps are kept, ascending; the first and the last are among them.
fn ranks(n: u64, most: usize) -> Vec<u64> {
    let tail = most / 10;
    let even = most - tail;
    let share_of_even = |i: usize| i as f64 / (even - 1) as f64;
    // From 1 % of all to one ten-thousandth of it left.
    let share_of_tail = |i: usize| 1.0 - 0.01 * 1e-4_f64.powf((i + 1) as f64 / tail as f64);
    let shares = (0..even)
        .map(share_of_even)
        .chain((0..tail).map(share_of_tail));
    let mut ranks: Vec<u64> = shares
        .map(|share| ((share * n as f64).ceil() as u64).clamp(1, n))
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// A time line in the making. Which of both forms it has depends on the number of operations alone.
#[derive(Debug)]
enum DrawnLine {
    /// At most so many operations.
    Every(Vec<DrawnOperation>, usize),
    Binned(Bins<OperationTotals>),
}

impl DrawnLine {
    fn add(&mut self, at: Nanos, took: Option<Nanos>) {
        match self {
            DrawnLine::Every(operations, most) if operations.len() < *most => {
                operations.push(DrawnOperation { at, took });
            }
            DrawnLine::Every(operations, most) => {
                let mut bins: Bins<OperationTotals> = Bins::new(*most, 0);
                for operation in operations {
                    bins.at(operation.at).add(operation.took);
                }
                bins.at(at).add(took);
                *self = DrawnLine::Binned(bins);
            }
            DrawnLine::Binned(bins) => bins.at(at).add(took),
        }
    }

    fn finish(self) -> TimeLine {
        match self {
            DrawnLine::Every(mut operations, _) => {
                operations.sort_unstable();
                TimeLine::Every(operations)
            }
            DrawnLine::Binned(bins) => TimeLine::Buckets {
                length: bins.length(),
                buckets: bins
                    .iter()
                    .map(|(from, totals)| totals.bucket(from))
                    .collect(),
            },
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct OperationTotals {
    n: u64,
    ends: Option<(Nanos, Nanos)>,
    sum: u128,
    failed: u64,
}

impl OperationTotals {
    fn add(&mut self, took: Option<Nanos>) {
        self.absorb(&match took {
            None => OperationTotals {
                failed: 1,
                ..OperationTotals::default()
            },
            Some(took) => OperationTotals {
                n: 1,
                ends: Some((took, took)),
                sum: u128::from(took),
                failed: 0,
            },
        });
    }

    fn bucket(&self, from: Nanos) -> Bucket {
        let (min, max) = self.ends.unwrap_or_default();
        Bucket {
            from,
            n: self.n,
            min,
            max,
            sum: self.sum,
            failed: self.failed,
        }
    }
}

impl Bin for OperationTotals {
    fn count(&self) -> u64 {
        self.n + self.failed
    }

    fn absorb(&mut self, other: &OperationTotals) {
        self.n += other.n;
        self.sum += other.sum;
        self.failed += other.failed;
        self.ends = match (self.ends, other.ends) {
            (Some((low, high)), Some((min, max))) => Some((low.min(min), high.max(max))),
            (ends, others) => ends.or(others),
        };
    }
}
