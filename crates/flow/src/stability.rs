//! The condition under which a load is stable and a measurement may begin.
//!
//! The rule: in the last `seconds` seconds the summed rate at the sink was within `percent` of its
//! mean, and from the first to the last of them it changed by at most half of that, by the straight
//! line through them (least squares). The wait for it is limited to `patience`.
//!
//! Seconds contain whole blocks. A flow with a block every 300 ms has three or four of them in a
//! second, which are 10 % below and 20 % above the mean, for ever: rates may also deviate, and
//! change, by a [`StabilityRule::granularity`].

use std::time::Duration;

/// When a load is stable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StabilityRule {
    /// Seconds in a row; at least 2.
    pub seconds: usize,
    /// The largest deviation from their mean, in percent of it.
    pub percent: f64,
    /// Deviation of the rate that whole blocks cause without any other reason, in bytes per second:
    /// see [`granularity`].
    pub granularity: f64,
    /// Time limit.
    pub patience: Duration,
}

/// Deviation of the bytes of a second that is caused by whole blocks: for one flow one block, for
/// several, which begin independently, the square root of the sum of the squares.
pub fn granularity(block_bytes: impl IntoIterator<Item = u32>) -> f64 {
    let bytes = block_bytes.into_iter().map(f64::from);
    bytes.map(|bytes| bytes * bytes).sum::<f64>().sqrt()
}

impl Default for StabilityRule {
    /// Three seconds within 5 %, in half a minute.
    fn default() -> StabilityRule {
        StabilityRule {
            seconds: 3,
            percent: 5.0,
            granularity: 0.0,
            patience: Duration::from_secs(30),
        }
    }
}

/// A load that was not stable in time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "the background load did not become stable within {seconds:.0} s: its last rates at the sink \
     were {rates} (at most {percent} % from their mean, without a trend)"
)]
pub struct UnstableLoad {
    /// The time limit.
    pub seconds: f64,
    /// The last rates, for people.
    pub rates: String,
    /// Largest permitted deviation in percent.
    pub percent: f64,
}

/// Watches the summed rate of a load.
#[derive(Debug, Clone)]
pub struct StabilityWatch {
    rule: StabilityRule,
    /// The last rates in bytes per second.
    rates: Vec<f64>,
}

impl StabilityWatch {
    /// A watch without rates.
    pub fn new(rule: StabilityRule) -> StabilityWatch {
        let rates = Vec::new();
        StabilityWatch { rule, rates }
    }

    /// Adds the rate of a second, in bytes per second; true if the load is now stable.
    pub fn push(&mut self, bytes_per_second: f64) -> bool {
        let seconds = self.rule.seconds.max(2);
        if self.rates.len() == seconds {
            self.rates.remove(0);
        }
        self.rates.push(bytes_per_second);
        self.rates.len() == seconds && self.is_stable()
    }

    fn is_stable(&self) -> bool {
        let count = self.rates.len() as f64;
        let mean = self.rates.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let mut along = 0.0;
        let mut squares = 0.0;
        let mut farthest = 0.0_f64;
        for (second, rate) in self.rates.iter().enumerate() {
            let from_middle = second as f64 - middle;
            along += from_middle * (rate - mean);
            squares += from_middle * from_middle;
            farthest = farthest.max((rate - mean).abs());
        }
        let most = mean * self.rule.percent / 100.0;
        let change = along / squares * (count - 1.0);
        let by_blocks = self.rule.granularity;
        // No traffic at all is not a load.
        mean > 0.0 && farthest <= most.max(by_blocks) && change.abs() <= (most / 2.0).max(by_blocks)
    }

    /// The error to report when the time is over.
    pub fn unstable(&self) -> UnstableLoad {
        let rate_text = |rate: &f64| format!("{:.3} MB/s", rate / 1e6);
        let rates: Vec<String> = self.rates.iter().map(rate_text).collect();
        UnstableLoad {
            seconds: self.rule.patience.as_secs_f64(),
            rates: if rates.is_empty() {
                "not reported".to_owned()
            } else {
                rates.join(", ")
            },
            percent: self.rule.percent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_is_near_the_mean_and_without_a_trend() {
        // Rates, and after how many of them the load is stable.
        let table: &[(&[f64], Option<usize>)] = &[
            (&[100.0, 100.0, 100.0], Some(3)),
            (&[100.0, 100.0], None),
            (&[0.0, 0.0, 0.0, 0.0], None),
            (&[10.0, 60.0, 100.0, 101.0, 99.0], Some(5)),
            // Within 5 % of the mean, but rising by more than half of that.
            (&[96.0, 100.0, 104.0], None),
            (&[97.0, 104.0, 98.0], Some(3)),
            (&[100.0, 94.0, 100.0, 94.0, 100.0, 94.0], Some(3)),
            (&[100.0, 80.0, 100.0, 80.0, 100.0, 80.0], None),
            (&[f64::NAN, 100.0, 100.0], None),
        ];
        for (rates, expected) in table {
            let mut watch = StabilityWatch::new(StabilityRule::default());
            let found = rates.iter().position(|rate| watch.push(*rate));
            assert_eq!(found.map(|index| index + 1), *expected, "{rates:?}");
        }
        // Blocks of 100 bytes every 300 ms: three or four of them in each second.
        let granularity = granularity([100]);
        for (rates, expected) in [
            ([300.0, 300.0, 400.0], true),
            ([300.0, 400.0, 300.0], true),
            ([300.0, 300.0, 500.0], false),
            ([0.0, 0.0, 0.0], false),
        ] {
            let mut watch = StabilityWatch::new(StabilityRule {
                granularity,
                ..StabilityRule::default()
            });
            let found = rates.iter().any(|rate| watch.push(*rate));
            assert_eq!(found, expected, "{rates:?}");
        }
        assert_eq!(super::granularity([300, 400]), 500.0);
        let mut watch = StabilityWatch::new(StabilityRule::default());
        watch.push(1_234_567.0);
        let sentence = watch.unstable().to_string();
        let has_figures = sentence.contains("within 30 s") && sentence.contains("1.235 MB/s");
        assert!(has_figures, "{sentence}");
    }
}
