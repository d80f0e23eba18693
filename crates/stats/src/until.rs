//! What a run may go on for: a statistic whose interval is to become narrow enough.

use std::fmt;
use std::str::FromStr;

/// A statistic of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimedStatistic {
    /// The arithmetic mean.
    Mean,
    /// A percentile, in parts of a thousand: 990 is p99.
    Percentile(u64),
}

impl TimedStatistic {
    /// Those there are, with their names.
    const ALL: [(&'static str, TimedStatistic); 6] = [
        ("mean", TimedStatistic::Mean),
        ("p50", TimedStatistic::Percentile(500)),
        ("p90", TimedStatistic::Percentile(900)),
        ("p95", TimedStatistic::Percentile(950)),
        ("p99", TimedStatistic::Percentile(990)),
        ("p99.9", TimedStatistic::Percentile(999)),
    ];
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
    /// It does not say how narrow the interval is to be.
    #[error(
        "`{0}` has no ±; write a statistic and how narrow its interval is to be, `p99 ±5%` for example"
    )]
    NoSign(String),
    /// A statistic that does not exist.
    #[error("`{name}` is no statistic; there are {}", TimedStatistic::ALL.map(|(name, _)| name).join(", "))]
    NoStatistic {
        /// As it was written.
        name: String,
    },
    /// A share without its sign.
    #[error("`{0}` is no share; write it with its sign, `5%` for example")]
    NoShare(String),
    /// A share that is too small or too large.
    #[error("`{0}` is out of range; more than 0% and at most {WIDEST}% make sense")]
    OutOfRange(String),
    /// A share that is no number.
    #[error("`{0}` is no number")]
    NoNumber(String),
}

/// Greatest share: an interval that reaches down to half of the estimate is no estimate.
const WIDEST: f64 = 50.0;

impl FromStr for Until {
    type Err = UntilError;

    fn from_str(text: &str) -> Result<Until, UntilError> {
        let cut = ["±", "+-", "+/-"]
            .iter()
            .find_map(|sign| text.split_once(sign));
        let Some((name, share)) = cut else {
            return Err(UntilError::NoSign(text.to_owned()));
        };
        Ok(Until {
            statistic: statistic(name.trim())?,
            percent: percent(share.trim())?,
        })
    }
}

fn statistic(name: &str) -> Result<TimedStatistic, UntilError> {
    let known = TimedStatistic::ALL.iter().find(|(known, _)| *known == name);
    let known = known.map(|(_, statistic)| *statistic);
    known.ok_or_else(|| UntilError::NoStatistic {
        name: name.to_owned(),
    })
}

fn percent(share: &str) -> Result<f64, UntilError> {
    let Some(number) = share.strip_suffix('%') else {
        return Err(UntilError::NoShare(share.to_owned()));
    };
    match number.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= WIDEST => Ok(percent),
        Ok(_) => Err(UntilError::OutOfRange(share.to_owned())),
        Err(_) => Err(UntilError::NoNumber(number.to_owned())),
    }
}

impl fmt::Display for Until {
    /// Writes `p99 ±5%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = TimedStatistic::ALL
            .iter()
            .find(|(_, known)| *known == self.statistic);
        match (known, self.statistic) {
            (None, TimedStatistic::Percentile(mille)) => write!(f, "p{}", mille as f64 / 10.0)?,
            (known, _) => f.write_str(known.map_or("mean", |(name, _)| name))?,
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
            ("p99", "has no ±"),
            ("p98 ±5%", "there are mean, p50"),
            ("±5%", "is no statistic"),
            ("p99 ±5", "with its sign"),
            ("p99 ±x%", "`x` is no number"),
            ("p99 ±0%", "out of range"),
            ("p99 ±-1%", "out of range"),
            ("p99 ±51%", "out of range"),
            ("p99 ±NaN%", "out of range"),
        ];
        for (text, expected) in table {
            let error = text.parse::<Until>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
