//! What a tool that reads the clock in user space would have added to response times.

use record::Nanos;

use crate::times::{Times, rank};

/// Response times of user space minus those of the kernel, in nanoseconds. Mostly positive:
/// waking up takes its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bias {
    /// Operations of which both are known.
    pub n: u64,
    /// Median.
    pub p50: i64,
    /// 99th percentile.
    pub p99: i64,
}

/// Differences of either sign.
#[derive(Debug, Clone, Default)]
pub(crate) struct Differences {
    /// How far the negative ones lie below zero.
    below: Times,
    /// The others.
    above: Times,
}

impl Differences {
    /// Adds the difference of an operation that began at `moment`.
    pub(crate) fn add(&mut self, moment: Nanos, difference: i64) {
        let side = if difference < 0 {
            &mut self.below
        } else {
            &mut self.above
        };
        side.add(moment, difference.unsigned_abs());
    }

    /// Takes in all differences of another set.
    pub(crate) fn merge(&mut self, other: &Differences) {
        self.below.merge(&other.below);
        self.above.merge(&other.above);
    }

    /// What they look like; `None` without any.
    pub(crate) fn describe(&self) -> Option<Bias> {
        let n = self.below.count() + self.above.count();
        Some(Bias {
            n,
            p50: self.at(rank(n, 500))?,
            p99: self.at(rank(n, 990))?,
        })
    }

    /// The difference at that place of the sorted set, counted from 1.
    fn at(&self, rank: u64) -> Option<i64> {
        let below = self.below.count();
        let (side, place, sign) = match rank.checked_sub(below) {
            None | Some(0) => (&self.below, below - rank + 1, -1),
            Some(place) => (&self.above, place, 1),
        };
        let [size] = side.at_ranks([place])?;
        Some(sign * i64::try_from(size).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks_across_zero() {
        let table: [(&[i64], i64, i64); 5] = [
            (&[7], 7, 7),
            (&[-7], -7, -7),
            (&[-5, -3, 4], -3, 4),
            (&[-5, 4, 6], 4, 6),
            (&[-9, -8, -7, 0], -8, 0),
        ];
        for (values, p50, p99) in table {
            let mut differences = Differences::default();
            values.iter().for_each(|value| differences.add(0, *value));
            let n = values.len() as u64;
            assert_eq!(
                differences.describe(),
                Some(Bias { n, p50, p99 }),
                "{values:?}"
            );
        }
        assert_eq!(Differences::default().describe(), None);
    }
}
