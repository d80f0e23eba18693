//! What a load run is like while it goes on: figures of the last second, and how they look.
//!
//! ```text
//! 43 % =====>------  5.7 s left  10012/s  p50 412 µs  p99 1.20 ms  2 failed (2 wrong status)
//! p99 of each second ▁▁▂▁▁▁█▁▁▁ 0.98 .. 9.71 ms
//! ```

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;
use record::{Nanos, Outcome, Sample, Timing};
use stats::{Lately, Outcomes, Until};

/// Seconds that a sparkline shows.
const SHOWN: usize = 40;
/// Its steps.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What has come since somebody looked, written by whoever takes samples in.
#[derive(Debug, Default)]
pub(crate) struct LiveStatistics(Mutex<LiveCounts>);

#[derive(Debug, Default)]
struct LiveCounts {
    /// Of the whole run.
    outcomes: Outcomes,
    /// What ended before has no part in figures of an interval.
    begun: Nanos,
    /// Of the last interval.
    lately: Lately,
    times: Option<Histogram<u64>>,
    bias: Option<Histogram<u64>>,
    /// What the run goes on for, and how near it is.
    goal: Option<String>,
}

/// An interval of a run, for people.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Figures {
    /// Operations a second.
    pub(crate) rate: f64,
    /// Median and 99th percentile of response times in nanoseconds; in an open loop from the
    /// planned moments on. `None` without any.
    pub(crate) times: Option<(u64, u64)>,
    /// Of the whole run until now.
    pub(crate) outcomes: Outcomes,
    /// For doubts.
    pub(crate) lately: Lately,
    /// What the run goes on for, and how near it is.
    pub(crate) goal: Option<String>,
}

impl LiveStatistics {
    /// The measurement window begins at that moment: the first interval does.
    pub(crate) fn begin(&self, at: Nanos) {
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
                // It grows by itself, so that nothing is out of range.
                times.record(time).unwrap_or_default();
            }
        }
    }

    /// How near the run is to what it goes on for: half the interval, as a share.
    pub(crate) fn set_goal(&self, until: &Until, half_width: Option<f64>) {
        let now = match half_width {
            Some(width) => format!("±{:.1}% now", width * 100.0),
            None => "too early to tell".to_owned(),
        };
        self.lock().goal = Some(format!("until {until}: {now}"));
    }

    /// Operations of the run until now.
    pub(crate) fn operations(&self) -> u64 {
        self.lock().outcomes.total()
    }

    /// The figures since the last time, of that many seconds.
    pub(crate) fn take(&self, seconds: f64) -> Figures {
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
        Figures {
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
        // Counts of a thread that panicked are still counts.
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

/// An empty histogram that grows by itself.
fn times() -> Histogram<u64> {
    Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits are possible"))
}

impl Figures {
    /// `10012/s  p50 412 µs  p99 1.20 ms  0 failed`.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{}/s", rate(self.rate));
        match self.times {
            Some((p50, p99)) => {
                let (p50, p99) = (report::human(p50 as f64), report::human(p99 as f64));
                let _ = write!(line, "  p50 {p50}  p99 {p99}");
            }
            None => line.push_str("  no answer as expected"),
        }
        let _ = write!(line, "  {}", failed(&self.outcomes));
        if let Some(goal) = &self.goal {
            let _ = write!(line, "  {goal}");
        }
        line
    }
}

/// A rate with as many digits as it deserves.
fn rate(rate: f64) -> String {
    let decimals = if rate < 9.95 { 1 } else { 0 };
    format!("{rate:.decimals$}")
}

/// `0 failed`, `12 failed (10 wrong status, 2 timeout)`.
fn failed(outcomes: &Outcomes) -> String {
    let failed = outcomes.failed();
    let kinds: Vec<String> = outcomes
        .iter()
        .filter(|(outcome, n)| !matches!(outcome, Outcome::Ok | Outcome::Cancelled) && *n > 0)
        .map(|(outcome, n)| format!("{n} {outcome}"))
        .collect();
    if kinds.is_empty() {
        format!("{failed} failed")
    } else {
        format!("{failed} failed ({})", kinds.join(", "))
    }
}

/// The last seconds of a run.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<Option<u64>>);

impl History {
    /// Another second.
    pub(crate) fn push(&mut self, figures: &Figures) {
        if self.0.len() == SHOWN {
            self.0.pop_front();
        }
        self.0.push_back(figures.times.map(|(_, p99)| p99));
    }

    /// `p99 of each second ▁▁▂█▁ 0.98 .. 9.71 ms`; nothing before there are two of them.
    pub(crate) fn line(&self) -> Option<String> {
        let times = || self.0.iter().flatten();
        let (least, most) = (times().min()?, times().max()?);
        if self.0.len() < 2 {
            return None;
        }
        let values: Vec<Option<u64>> = self.0.iter().copied().collect();
        let range = report::human_range((*least as f64, *most as f64));
        Some(format!("p99 of each second {} {range}", sparkline(&values)))
    }
}

/// A character for each value, in proportion to the greatest; a blank where there is none.
pub(crate) fn sparkline(values: &[Option<u64>]) -> String {
    let most = values.iter().flatten().max().copied().unwrap_or(0).max(1);
    let step = |value: u64| {
        let place = u128::from(value) * STEPS.len() as u128 / u128::from(most);
        STEPS[(place as usize).min(STEPS.len() - 1)]
    };
    values.iter().map(|value| value.map_or(' ', step)).collect()
}

/// How far a run has come that ends after so many operations or so many seconds, whatever comes
/// first: its share, and the seconds that are left if it goes on like this.
pub(crate) fn share_done(
    (done, requests): (u64, Option<u64>),
    (elapsed, duration): (f64, Option<f64>),
) -> Option<(f64, f64)> {
    let by_requests = requests.map(|requests| done as f64 / requests.max(1) as f64);
    let by_time = duration.map(|duration| elapsed / duration.max(1e-9));
    let shares = by_requests.into_iter().chain(by_time);
    let share = shares.fold(None, |most: Option<f64>, share| {
        Some(most.map_or(share, |most| most.max(share)))
    })?;
    let share = share.clamp(0.0, 1.0);
    let left = if share > 0.0 {
        elapsed / share - elapsed
    } else {
        duration.unwrap_or(0.0)
    };
    Some((share, left))
}

#[cfg(test)]
mod tests {
    use record::MeasureId;
    use stats::testing;

    use super::*;

    fn outcomes(all: &[(Outcome, u64)]) -> Outcomes {
        let each = all
            .iter()
            .flat_map(|(outcome, n)| (0..*n).map(|_| *outcome));
        each.collect()
    }

    #[test]
    fn a_sparkline_is_in_proportion_to_its_greatest_value() {
        let table: [(&[Option<u64>], &str); 7] = [
            (&[], ""),
            (&[None, None], "  "),
            (&[Some(0), Some(0)], "▁▁"),
            (&[Some(7)], "█"),
            (
                &[
                    Some(0),
                    Some(1),
                    Some(2),
                    Some(3),
                    Some(4),
                    Some(5),
                    Some(6),
                    Some(8),
                ],
                "▁▂▃▄▅▆▇█",
            ),
            (&[Some(100), None, Some(50)], "█ ▅"),
            (&[Some(u64::MAX), Some(u64::MAX / 2), Some(1)], "█▄▁"),
        ];
        for (values, expected) in table {
            assert_eq!(sparkline(values), expected, "{values:?}");
        }
    }

    #[test]
    fn figures_are_a_line() {
        let ok = outcomes(&[(Outcome::Ok, 5)]);
        let bad = outcomes(&[
            (Outcome::Ok, 5),
            (Outcome::WrongStatus, 10),
            (Outcome::Timeout, 2),
        ]);
        let cut = outcomes(&[(Outcome::Cancelled, 3)]);
        let table = [
            (
                10_012.3,
                Some((412_000, 1_200_000)),
                ok,
                "10012/s  p50 412 µs  p99 1.20 ms  0 failed",
            ),
            (0.0, None, cut, "0.0/s  no answer as expected  0 failed"),
            (
                3.06,
                Some((0, 42_000_000_000_000)),
                bad,
                "3.1/s  p50 0.000 µs  p99 42000 s  12 failed (10 wrong status, 2 timeout)",
            ),
        ];
        for (rate, times, outcomes, expected) in table {
            let figures = Figures {
                rate,
                times,
                outcomes,
                ..Figures::default()
            };
            assert_eq!(figures.line(), expected);
        }
    }

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
        assert!(second.line().ends_with("until p99 ±5%: ±12.3% now"));
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
        // Some of the run-in come late.
        live.add(&operations(900, 20));
        live.begin(1_000);
        live.add(&operations(999, 7));
        live.add(&operations(1_000, 50));
        let first = live.take(1.0);
        assert_eq!((first.rate, first.outcomes.total()), (50.0, 77));
    }

    #[test]
    fn a_history_has_an_end() {
        let mut history = History::default();
        let second = |p99: Option<u64>| Figures {
            times: p99.map(|p99| (0, p99)),
            ..Figures::default()
        };
        history.push(&second(None));
        assert_eq!(history.line(), None);
        history.push(&second(Some(1_000_000)));
        assert_eq!(
            history.line().unwrap(),
            "p99 of each second  █ 1.00 .. 1.00 ms"
        );
        for _ in 0..100 {
            history.push(&second(Some(2_000_000)));
        }
        assert_eq!(history.line().unwrap().matches('█').count(), SHOWN);
    }

    #[test]
    fn whatever_comes_first_ends_the_bar() {
        let table = [
            ((5, None), (1.0, None), None),
            ((0, Some(10)), (0.0, None), Some((0.0, 0.0))),
            ((5, Some(10)), (1.0, None), Some((0.5, 1.0))),
            ((5, Some(10)), (3.0, Some(4.0)), Some((0.75, 1.0))),
            ((0, None), (0.0, Some(4.0)), Some((0.0, 4.0))),
            ((90, Some(10)), (3.0, Some(4.0)), Some((1.0, 0.0))),
        ];
        for (requests, time, expected) in table {
            assert_eq!(share_done(requests, time), expected);
        }
    }
}
