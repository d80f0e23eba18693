//! Figures of the last second of a load while it goes on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;
use record::{Nanos, Outcome, Sample, Timing};
use stats::{Lately, Outcomes, Until};

/// Counts since the last look, written where samples are taken in.
#[derive(Debug, Default)]
pub struct LiveStatistics(Mutex<LiveCounts>);

#[derive(Debug, Default)]
struct LiveCounts {
    outcomes: Outcomes,
    /// Start of the measurement: operations that ended before have no part in figures of an
    /// interval.
    begun: Nanos,
    lately: Lately,
    times: Option<Histogram<u64>>,
    bias: Option<Histogram<u64>>,
    /// Goal of the run, and its distance from it.
    goal: Option<String>,
}

/// Figures of an interval for display.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveFigures {
    /// Operations per second.
    pub rate: f64,
    /// Median and 99th percentile of response times in nanoseconds; in an open loop, latencies from
    /// schedule. `None` without operations.
    pub times: Option<(u64, u64)>,
    /// Outcomes of the whole run until now.
    pub outcomes: Outcomes,
    /// Counts for warnings.
    pub lately: Lately,
    /// Goal of the run, and its distance from it.
    pub goal: Option<String>,
}

impl LiveStatistics {
    /// Begins the measurement window, and with it the first interval, at that moment.
    pub fn begin(&self, at: Nanos) {
        let mut counts = self.lock();
        *counts = LiveCounts {
            outcomes: counts.outcomes,
            begun: at,
            goal: counts.goal.take(),
            ..LiveCounts::default()
        };
    }

    /// Counts operations. Costs about 20 ns each.
    pub(crate) fn add(&self, samples: &[Sample]) {
        let mut counts = self.lock();
        for sample in samples {
            counts.outcomes.add(sample.outcome);
            if sample.moments.done.is_some_and(|done| done < counts.begun) {
                continue;
            }
            counts.lately.operations += 1;
            counts.look_at(sample);
            if sample.outcome != Outcome::Ok {
                continue;
            }
            // In a closed loop both begin at the same time, and *sent* is not much later.
            let moments = sample.moments;
            let time = if moments.planned == moments.started {
                moments.response()
            } else {
                moments.from_planned()
            };
            if let Some(time) = time {
                let times = counts.times.get_or_insert_with(times);
                // The histogram grows automatically, so nothing is out of range.
                times.record(time).unwrap_or_default();
            }
        }
    }

    /// Sets the distance from the goal: half the width of the interval, relative to the estimate.
    pub(crate) fn set_goal(&self, until: &Until, half_width: Option<f64>) {
        let now = match half_width {
            Some(width) => format!("±{:.1}% now", width * 100.0),
            None => "too early to tell".to_owned(),
        };
        self.lock().goal = Some(format!("until {until}: {now}"));
    }

    /// Operations of the run until now.
    pub fn operations(&self) -> u64 {
        self.lock().outcomes.total()
    }

    /// Figures since the last call, `seconds` ago.
    pub fn take(&self, seconds: f64) -> LiveFigures {
        let mut counts = self.lock();
        let mut lately = std::mem::take(&mut counts.lately);
        if let Some(bias) = &mut counts.bias {
            lately.bias = (bias.len(), bias.value_at_quantile(0.99).cast_signed());
            bias.reset();
        }
        let times = counts.times.as_mut().filter(|times| !times.is_empty());
        let figures = times.map(|times| {
            let both = (times.value_at_quantile(0.5), times.value_at_quantile(0.99));
            lately.response = both.0;
            times.reset();
            both
        });
        LiveFigures {
            rate: if seconds > 0.0 {
                lately.operations as f64 / seconds
            } else {
                0.0
            },
            times: figures,
            outcomes: counts.outcomes,
            lately,
            goal: counts.goal.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LiveCounts> {
        // Counts of a thread that panicked are still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveCounts {
    fn look_at(&mut self, sample: &Sample) {
        let moments = sample.moments;
        let took = moments
            .done
            .map(|done| done.saturating_sub(moments.started));
        self.lately.under_way += u128::from(took.unwrap_or_default());
        let is_ok = sample.outcome == Outcome::Ok;
        self.lately.answers.0 += u64::from(is_ok);
        match sample.timing {
            Timing::Missed => self.lately.answers.1 += u64::from(is_ok),
            Timing::Kernel { bias: Some(bias) } => {
                let times = self.bias.get_or_insert_with(times);
                times.record(bias.max(0).unsigned_abs()).unwrap_or_default();
            }
            Timing::Kernel { bias: None } | Timing::User => {}
        }
    }
}

/// An empty histogram that grows automatically.
fn times() -> Histogram<u64> {
    Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits are possible"))
}

#[cfg(test)]
mod tests {
    use record::MeasureId;
    use stats::testing;

    use super::*;

    #[test]
    fn an_interval_begins_anew_and_outcomes_add_up() {
        let live = LiveStatistics::default();
        let operations = |outcome, n| vec![testing::sample(MeasureId(0), 0, outcome); n];
        live.add(&operations(Outcome::Ok, 30));
        live.add(&operations(Outcome::Reset, 2));
        let first = live.take(2.0);
        assert_eq!((first.rate, first.outcomes.failed()), (16.0, 2));
        let (p50, p99) = first.times.unwrap();
        assert!(p50.abs_diff(100_000) < 1_000 && p99 == p50, "{p50} {p99}");
        live.set_goal(&"p99 ±5%".parse().unwrap(), Some(0.123));
        let second = live.take(1.0);
        assert_eq!(second.goal.as_deref(), Some("until p99 ±5%: ±12.3% now"));
        assert_eq!((second.rate, second.times), (0.0, None));
        assert_eq!(second.outcomes.total(), 32);
        assert_eq!(live.take(0.0).rate, 0.0);
    }

    #[test]
    fn what_ended_before_the_window_has_no_part_in_a_rate() {
        let live = LiveStatistics::default();
        let operations = |done, n| {
            let mut sample = testing::sample(MeasureId(0), 0, Outcome::Ok);
            sample.moments.done = Some(done);
            vec![sample; n]
        };
        // Some operations of the run-in arrive late.
        live.add(&operations(900, 20));
        live.begin(1_000);
        live.add(&operations(999, 7));
        live.add(&operations(1_000, 50));
        let first = live.take(1.0);
        assert_eq!((first.rate, first.outcomes.total()), (50.0, 77));
    }
}
