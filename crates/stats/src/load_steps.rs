//! Results of a load that changes, for each number of users.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use record::{Nanos, Outcome, Sample};

use crate::run_events::RunEvents;
use crate::times::{COARSE_DIGITS, add_all, histogram, record};

/// The time from one change of the number of users to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadStep {
    /// Users at work.
    pub users: u32,
    /// When it began, in nanoseconds since the run began.
    pub from: Nanos,
    /// Seconds from its first operation that counts to its last response.
    pub seconds: f64,
    /// Operations that count and began in it.
    pub operations: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Expected responses to its operations, a second. Without an interval: neighbouring operations
    /// depend on each other, and a step is short.
    pub per_second: Option<f64>,
    /// Median of their response times, in nanoseconds; `None` without any.
    pub p50: Option<Nanos>,
    /// 99th percentile; `None` where no operation lies beyond it.
    pub p99: Option<Nanos>,
}

/// The operations of each step, by its phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoadSteps(BTreeMap<u16, StepTally>);

#[derive(Debug, Clone)]
struct StepTally {
    operations: u64,
    failed: u64,
    first: Nanos,
    last: Nanos,
    times: Histogram<u64>,
}

impl Default for StepTally {
    fn default() -> StepTally {
        StepTally {
            operations: 0,
            failed: 0,
            first: Nanos::MAX,
            last: 0,
            times: histogram(COARSE_DIGITS),
        }
    }
}

impl LoadSteps {
    pub(crate) fn add(&mut self, sample: &Sample) {
        let step = self.0.entry(sample.phase).or_default();
        step.operations += 1;
        step.failed += u64::from(sample.outcome.is_failure());
        step.first = step.first.min(sample.moments.started);
        step.last = step
            .last
            .max(sample.moments.done.unwrap_or(sample.moments.started));
        if let (Outcome::Ok, Some(time)) = (sample.outcome, sample.moments.response()) {
            record(&mut step.times, time);
        }
    }

    pub(crate) fn merge(&mut self, other: &LoadSteps) {
        for (phase, others) in &other.0 {
            let step = self.0.entry(*phase).or_default();
            step.operations += others.operations;
            step.failed += others.failed;
            step.first = step.first.min(others.first);
            step.last = step.last.max(others.last);
            add_all(&mut step.times, &others.times);
        }
    }

    pub(crate) fn described(&self, run_events: &RunEvents) -> Vec<LoadStep> {
        let none = StepTally::default();
        let described = |(phase, users, from): &(u16, u32, Nanos)| {
            let step = self.0.get(phase).unwrap_or(&none);
            let seconds = step.last.saturating_sub(step.first) as f64 / 1e9;
            let expected = step.operations - step.failed;
            let percentile = |q: f64, needs: u64| {
                let times = &step.times;
                (times.len() >= needs).then(|| times.value_at_quantile(q))
            };
            LoadStep {
                users: *users,
                from: *from,
                seconds,
                operations: step.operations,
                failed: step.failed,
                per_second: (seconds > 0.0).then(|| expected as f64 / seconds),
                p50: percentile(0.5, 1),
                p99: percentile(0.99, 100),
            }
        };
        run_events.loads.iter().map(described).collect()
    }
}
