//! Ends a load early if it fails.

use std::ops::ControlFlow;
use std::str::FromStr;

use record::{Nanos, Sample};

/// Operations after which a load ends if all of them failed.
const FIRST: u64 = 1_000;
/// Time after which a load ends if all operations failed.
const FIRST_TIME: Nanos = 5_000_000_000;
/// Least number of operations for a share of failures to be judged.
const JUDGED_FROM: u64 = 100;

/// Failures of a load after which it ends.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum MaxFailures {
    /// All operations, for a while.
    #[default]
    All,
    /// This number of operations.
    Number(u64),
    /// This percentage of operations.
    Percent(f64),
    /// A load never ends because of failures.
    Unlimited,
}

impl FromStr for MaxFailures {
    type Err = String;

    /// Parses `100`, `5%` or `none`.
    fn from_str(text: &str) -> Result<MaxFailures, String> {
        if text == "none" {
            return Ok(MaxFailures::Unlimited);
        }
        let percent = text.strip_suffix('%').map(str::trim);
        let read = match percent {
            Some(percent) => percent.parse().ok().map(MaxFailures::Percent),
            None => text.parse().ok().map(MaxFailures::Number),
        };
        let is_sane = |limit: &MaxFailures| match limit {
            MaxFailures::Percent(percent) => (0.0..=100.0).contains(percent),
            _ => true,
        };
        read.filter(is_sane).ok_or_else(|| {
            "write a number of operations (100), a share of them (5%), or none".to_owned()
        })
    }
}

/// Counts failures until they are too many.
#[derive(Debug)]
pub(crate) struct FailureLimit {
    limit: MaxFailures,
    operations: u64,
    failed: u64,
    begun: Nanos,
    reached: Option<String>,
}

impl FailureLimit {
    pub(crate) fn new(limit: MaxFailures) -> FailureLimit {
        FailureLimit {
            limit,
            operations: 0,
            failed: 0,
            begun: Nanos::MAX,
            reached: None,
        }
    }

    /// Counts operations; breaks when too many have failed.
    pub(crate) fn take(&mut self, samples: &[Sample]) -> ControlFlow<()> {
        for sample in samples {
            self.operations += 1;
            self.failed += u64::from(sample.outcome.is_failure());
            self.begun = self.begun.min(sample.moments.started);
            if self.reached.is_none() {
                self.reached = self.judge(sample.moments.done);
            }
        }
        if self.reached.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    pub(crate) fn reached(&self) -> Option<&str> {
        self.reached.as_deref()
    }

    fn judge(&self, now: Option<Nanos>) -> Option<String> {
        let FailureLimit {
            operations, failed, ..
        } = *self;
        match self.limit {
            MaxFailures::Unlimited => None,
            MaxFailures::All if failed < operations => None,
            MaxFailures::All => {
                let time = now.map_or(0, |now| now.saturating_sub(self.begun));
                (operations >= FIRST || time >= FIRST_TIME).then(|| {
                    format!("all of {operations} operations failed; --max-failures none continues")
                })
            }
            MaxFailures::Number(most) => (failed > most).then(|| {
                format!("{failed} of {operations} operations failed (--max-failures {most})")
            }),
            MaxFailures::Percent(most) => {
                let percent = failed as f64 * 100.0 / operations as f64;
                (operations >= JUDGED_FROM && percent > most).then(|| {
                    format!("{failed} of {operations} operations failed (--max-failures {most}%)")
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use record::Outcome;

    use super::*;

    /// The number of operations of a millisecond each, one after the other, after which the load
    /// ends.
    fn ended_after(limit: MaxFailures, ms: u64, fails: impl Fn(u64) -> bool) -> Option<u64> {
        let mut limited = FailureLimit::new(limit);
        let sample = |number: u64| {
            let outcome = if fails(number) {
                Outcome::Reset
            } else {
                Outcome::Ok
            };
            let mut sample = Sample::blank();
            sample.outcome = outcome;
            sample.moments.started = number * ms * 1_000_000;
            sample.moments.done = Some((number + 1) * ms * 1_000_000);
            sample
        };
        (0..5_000).find(|number| limited.take(&[sample(*number)]).is_break())
    }

    #[test]
    fn a_load_ends_when_too_much_fails() {
        use MaxFailures::{All, Number, Percent, Unlimited};
        let all = |_| true;
        let every_tenth = |number| number % 10 == 9;
        let none = |_| false;
        type Fails<'a> = &'a dyn Fn(u64) -> bool;
        let table: [(MaxFailures, u64, Fails<'_>, Option<u64>); 11] = [
            (All, 1, &all, Some(999)),
            (All, 100, &all, Some(49)),
            (All, 30_000, &all, Some(0)),
            (All, 1, &|number| number > 0, None),
            (All, 1, &none, None),
            (Unlimited, 1, &all, None),
            (Number(0), 1, &every_tenth, Some(9)),
            (Number(2), 1, &every_tenth, Some(29)),
            (Percent(9.0), 1, &every_tenth, Some(99)),
            (Percent(10.0), 1, &every_tenth, None),
            (Percent(50.0), 1, &all, Some(99)),
        ];
        for (limit, ms, fails, expected) in table {
            assert_eq!(ended_after(limit, ms, fails), expected, "{limit:?} {ms}");
        }
    }

    #[test]
    fn the_reason_names_what_was_counted() {
        let mut limited = FailureLimit::new(MaxFailures::Number(0));
        let mut failed = Sample::blank();
        failed.outcome = Outcome::Timeout;
        assert!(limited.take(&[Sample::blank(), failed]).is_break());
        let message = limited.reached().unwrap();
        assert_eq!(message, "1 of 2 operations failed (--max-failures 0)");
    }
}
