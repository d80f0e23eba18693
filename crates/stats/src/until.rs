//! What a run may go on for: a statistic whose interval is to become narrow enough.

use std::fmt;
use std::str::FromStr;

use constraint::{Constraint, EstimatedStatistic, Statistic};

/// A statistic of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimedStatistic {
    /// The arithmetic mean.
    Mean,
    /// A percentile, in parts of a thousand: 990 is p99.
    Percentile(u64),
}

/// When a run is long enough: half the 95 % interval of a statistic is at most this share of it.
/// Written `p99 ±5%`, or `p99 +-5%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    /// Which statistic.
    pub statistic: TimedStatistic,
    /// The share, in percent.
    pub percent: f64,
}

/// What is wrong with the text of an [`Until`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UntilError {
    /// It is no expression of the language of constraints.
    #[error("{0}")]
    Unreadable(String),
    /// It is one, and none that compares an interval with a share of its estimate.
    #[error(
        "`{0}` is no goal; write a statistic and how narrow its interval is to be, `p99 ±5%` for example"
    )]
    NoGoal(String),
    /// A statistic that is none of times, or a percentile between those that are counted.
    #[error("`{name}` has no such interval; use mean, or a percentile with one decimal at most")]
    NoStatistic {
        /// As it was written.
        name: String,
    },
    /// A share that is too small or too large.
    #[error("{0} % is out of range; more than 0% and at most {WIDEST}% make sense")]
    OutOfRange(String),
}

/// Greatest share: an interval that reaches down to half of the estimate is no estimate.
const WIDEST: f64 = 50.0;

/// A percentile of the language is in parts of a million.
const PER_MILLE: u32 = 1000;

impl FromStr for Until {
    type Err = UntilError;

    fn from_str(text: &str) -> Result<Until, UntilError> {
        let constraint = Constraint::parse(text);
        let constraint = constraint.map_err(|why| UntilError::Unreadable(why.message))?;
        let goal = constraint.precision();
        let (statistic, share) = goal.ok_or_else(|| UntilError::NoGoal(text.to_owned()))?;
        // As it was written: 0.05 is not 5 percent to the last bit.
        let percent = (share * 1e12).round() / 1e10;
        if percent <= 0.0 || percent > WIDEST {
            return Err(UntilError::OutOfRange(percent.to_string()));
        }
        Ok(Until {
            statistic: timed(statistic)?,
            percent,
        })
    }
}

fn timed(statistic: Statistic) -> Result<TimedStatistic, UntilError> {
    match statistic {
        Statistic::Estimate(EstimatedStatistic::Mean) => Ok(TimedStatistic::Mean),
        Statistic::Estimate(EstimatedStatistic::Percentile(ppm)) if ppm % PER_MILLE == 0 => {
            Ok(TimedStatistic::Percentile(u64::from(ppm / PER_MILLE)))
        }
        other => Err(UntilError::NoStatistic {
            name: other.to_string(),
        }),
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statistic {
            TimedStatistic::Mean => f.write_str("mean")?,
            TimedStatistic::Percentile(mille) => write!(f, "p{}", mille as f64 / 10.0)?,
        }
        write!(f, " ±{}%", self.percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_understood_and_written_again() {
        let table = [
            ("p99 ±5%", "p99 ±5%"),
            ("p99±5%", "p99 ±5%"),
            (" p99.9 +-2.5 % ", "p99.9 ±2.5%"),
            ("mean +/-1%", "mean ±1%"),
            ("p50 ±50%", "p50 ±50%"),
            ("p98 ± 5 %", "p98 ±5%"),
        ];
        for (text, expected) in table {
            let until: Until = text.parse().unwrap();
            assert_eq!(until.to_string(), expected);
            assert_eq!(expected.parse(), Ok(until));
        }
    }

    #[test]
    fn what_is_not_understood_is_explained() {
        let table = [
            ("p99", "`p99` is no goal; write a statistic and how narrow"),
            (
                "p98.55 ±5%",
                "use mean, or a percentile with one decimal at most",
            ),
            ("rate ±5%", "`rate` has no such interval"),
            ("p99(Get) ±5%", "is no goal"),
            ("±5%", "is expected before `±`"),
            ("p99 ±5", "is no goal"),
            ("p99 ±x%", "is expected before `%`"),
            ("p99 ±0%", "out of range"),
            ("p99 ±51%", "51 % is out of range"),
            ("p999 ±5%", "is no goal"),
        ];
        for (text, expected) in table {
            let error = text.parse::<Until>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
