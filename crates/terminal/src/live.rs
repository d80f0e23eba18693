//! Figures of a load while it goes on.
//!
//! ```text
//! 43 % =====>------  5.7 s left  10012/s  p50 412 µs  p99 1.20 ms  2 failed (2 wrong status)
//! p99 of each second ▁▁▂▁▁▁█▁▁▁ 0.98 .. 9.71 ms
//! ```

use std::collections::VecDeque;
use std::fmt::Write;

use record::Outcome;
use runner::live::LiveFigures;
use stats::Outcomes;

/// Seconds in a sparkline.
const SHOWN: usize = 40;
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `10012/s  p50 412 µs  p99 1.20 ms  0 failed`.
pub(crate) fn line_of(figures: &LiveFigures) -> String {
    let mut line = format!("{}/s", rate(figures.rate));
    match figures.times {
        Some((p50, p99)) => {
            let (p50, p99) = (report::human(p50 as f64), report::human(p99 as f64));
            let _ = write!(line, "  p50 {p50}  p99 {p99}");
        }
        None => line.push_str("  no answer as expected"),
    }
    let _ = write!(line, "  {}", failed(&figures.outcomes));
    if let Some(goal) = &figures.goal {
        let _ = write!(line, "  {goal}");
    }
    line
}

/// A rate rounded to its precision.
fn rate(rate: f64) -> String {
    let decimals = if rate < 9.95 { 1 } else { 0 };
    format!("{rate:.decimals$}")
}

/// `0 failed`, `12 failed (10 wrong status, 2 timeout)`.
fn failed(outcomes: &Outcomes) -> String {
    let failed = outcomes.failed();
    let kinds = outcomes
        .iter()
        .filter(|(outcome, n)| !matches!(outcome, Outcome::Ok | Outcome::Cancelled) && *n > 0);
    let kinds: Vec<String> = kinds.map(|(outcome, n)| format!("{n} {outcome}")).collect();
    if kinds.is_empty() {
        format!("{failed} failed")
    } else {
        format!("{failed} failed ({})", kinds.join(", "))
    }
}

/// Figures of the last seconds of a run.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<Option<u64>>);

impl History {
    pub(crate) fn push(&mut self, figures: &LiveFigures) {
        if self.0.len() == SHOWN {
            self.0.pop_front();
        }
        self.0.push_back(figures.times.map(|(_, p99)| p99));
    }

    /// `p99 of each second ▁▁▂█▁ 0.98 .. 9.71 ms`; `None` before the second second.
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

/// A character for each value, in proportion to the greatest; a blank without a value.
pub(crate) fn sparkline(values: &[Option<u64>]) -> String {
    let most = values.iter().flatten().max().copied().unwrap_or(0).max(1);
    let step = |value: u64| {
        let step = u128::from(value) * STEPS.len() as u128 / u128::from(most);
        STEPS[(step as usize).min(STEPS.len() - 1)]
    };
    values.iter().map(|value| value.map_or(' ', step)).collect()
}

/// Progress of a run that ends after a number of operations or seconds, whichever comes first: its
/// share, and the seconds that are left at this pace.
pub(crate) fn share_done(
    (done, requests): (u64, Option<u64>),
    (elapsed, duration): (f64, Option<f64>),
) -> Option<(f64, f64)> {
    let by_requests = requests.map(|requests| done as f64 / requests.max(1) as f64);
    let by_time = duration.map(|duration| elapsed / duration.max(1e-9));
    let shares = by_requests.into_iter().chain(by_time);
    let share = shares.reduce(f64::max)?.clamp(0.0, 1.0);
    let known = (share > 0.0).then(|| elapsed / share - elapsed);
    Some((share, known.or(duration).unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(all: &[(Outcome, u64)]) -> Outcomes {
        let all = all.iter();
        all.flat_map(|(outcome, n)| (0..*n).map(|_| *outcome))
            .collect()
    }

    #[test]
    fn a_sparkline_is_in_proportion_to_its_greatest_value() {
        let eight = [0, 1, 2, 3, 4, 5, 6, 8].map(Some);
        let table: [(&[Option<u64>], &str); 7] = [
            (&[], ""),
            (&[None, None], "  "),
            (&[Some(0), Some(0)], "▁▁"),
            (&[Some(7)], "█"),
            (&eight, "▁▂▃▄▅▆▇█"),
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
        let failures = [(Outcome::WrongStatus, 10), (Outcome::Timeout, 2)];
        let bad = outcomes(&[&[(Outcome::Ok, 5)], &failures[..]].concat());
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
            let figures = LiveFigures {
                rate,
                times,
                outcomes,
                ..LiveFigures::default()
            };
            assert_eq!(line_of(&figures), expected);
        }
    }

    #[test]
    fn a_history_has_an_end() {
        let mut history = History::default();
        let second = |p99: Option<u64>| LiveFigures {
            times: p99.map(|p99| (0, p99)),
            ..LiveFigures::default()
        };
        history.push(&second(None));
        assert_eq!(history.line(), None);
        history.push(&second(Some(1_000_000)));
        let expected = "p99 of each second  █ 1.00 .. 1.00 ms";
        assert_eq!(history.line().unwrap(), expected);
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
