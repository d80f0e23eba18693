//! What a tool that reads the clock in user space would have added to response times.

use record::Nanos;

use crate::batch::{TimedBatch, half_width_of_share};
use crate::bins::{Bin, Bins};
use crate::distribution::{half_width_at, has_enough_beyond, ranks_around};
use crate::interval::LEAST;
use crate::times::{TIMED_BATCHES, Times, rank};

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
    /// 95 % intervals of these two, as those of a [`Distribution`](crate::Distribution).
    pub percentiles_ci95: [Option<(i64, i64)>; 2],
}

/// Percentiles of a [`Bias`] in parts of a thousand.
const PER_MILLE: [u64; 2] = [500, 990];

/// Differences of either sign.
#[derive(Debug, Clone, Default)]
pub(crate) struct Differences {
    /// How far the negative ones lie below zero.
    below: Times,
    above: Times,
}

#[derive(Debug, Clone, Default)]
struct Batch {
    below: TimedBatch,
    above: TimedBatch,
}

impl Bin for Batch {
    fn count(&self) -> u64 {
        self.below.count() + self.above.count()
    }

    fn absorb(&mut self, other: &Batch) {
        self.below.absorb(&other.below);
        self.above.absorb(&other.above);
    }
}

impl Batch {
    /// Differences that are at most `limit`, and all.
    fn share(&self, limit: i64) -> (u64, u64) {
        let size = limit.unsigned_abs();
        let at_most = if limit < 0 {
            self.below.at_least(size)
        } else {
            self.below.count() + self.above.at_most(size)
        };
        (at_most, self.count())
    }
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

    pub(crate) fn merge(&mut self, other: &Differences) {
        self.below.merge(&other.below);
        self.above.merge(&other.above);
    }

    pub(crate) fn describe(&self) -> Option<Bias> {
        let n = self.count();
        let [p50, p99] = PER_MILLE.map(|per_mille| self.at(rank(n, per_mille)));
        let (p50, p99) = (p50?, p99?);
        Some(Bias {
            n,
            p50,
            p99,
            percentiles_ci95: self.intervals(n, [p50, p99]),
        })
    }

    /// As with [times](Times::describe_runs), runs are the batches that intervals come from.
    pub(crate) fn describe_runs(runs: &[&Differences]) -> Option<Bias> {
        let runs = runs.iter().copied().filter(|run| run.count() > 0);
        let runs: Vec<&Differences> = runs.collect();
        let mut all = Differences::default();
        runs.iter().for_each(|run| all.merge(run));
        let described = all.describe()?;
        if runs.len() == 1 {
            return Some(described);
        }
        let mut percentiles_ci95 = [None; 2];
        let of = PER_MILLE.into_iter().zip([described.p50, described.p99]);
        for ((per_mille, estimate), interval) in of.zip(&mut percentiles_ci95) {
            let shares = runs.iter().map(|run| (run.count_to(estimate), run.count()));
            let half = half_width_of_share(shares);
            *interval = all.interval(per_mille, half);
        }
        Some(Bias {
            percentiles_ci95,
            ..described
        })
    }

    fn count(&self) -> u64 {
        self.below.count() + self.above.count()
    }

    fn count_to(&self, most: i64) -> u64 {
        let size = most.unsigned_abs();
        if most < 0 {
            self.below.count_from(size)
        } else {
            self.below.count() + self.above.count_to(size)
        }
    }

    /// The interval of a percentile from half that of its share; `None` with too few beyond.
    fn interval(&self, per_mille: u64, half: f64) -> Option<(i64, i64)> {
        let n = self.count();
        let is_there = has_enough_beyond(n, per_mille);
        let (low, high) = ranks_around(n, per_mille, half).filter(|_| is_there)?;
        Some((self.at(low)?, self.at(high)?))
    }

    /// The difference of that rank, counted from 1.
    fn at(&self, rank: u64) -> Option<i64> {
        let below = self.below.count();
        let (side, rank_in_side, sign) = match rank.checked_sub(below) {
            None | Some(0) => (&self.below, below - rank + 1, -1),
            Some(rank_in_side) => (&self.above, rank_in_side, 1),
        };
        let [size] = side.at_ranks([rank_in_side])?;
        Some(sign * i64::try_from(size).unwrap_or(i64::MAX))
    }

    fn intervals(&self, n: u64, estimates: [i64; 2]) -> [Option<(i64, i64)>; 2] {
        let mut intervals = [None; 2];
        if !PER_MILLE
            .iter()
            .any(|per_mille| has_enough_beyond(n, *per_mille))
        {
            return intervals;
        }
        let half = self.half_widths(estimates);
        for ((per_mille, half), interval) in PER_MILLE.into_iter().zip(half).zip(&mut intervals) {
            *interval = half.and_then(|half| self.interval(per_mille, half));
        }
        intervals
    }

    /// Half the 95 % intervals of the shares of differences that are at most these limits; `None`
    /// from too few batches.
    fn half_widths(&self, limits: [i64; 2]) -> [Option<f64>; 2] {
        if let (Some(below), Some(above)) = (self.below.exact(), self.above.exact()) {
            let signed = |size: Nanos| i64::try_from(size).unwrap_or(i64::MAX);
            let below = below.iter().map(|(moment, size)| (*moment, -signed(*size)));
            let above = above.iter().map(|(moment, size)| (*moment, signed(*size)));
            let mut values: Vec<(Nanos, i64)> = below.chain(above).collect();
            values.sort_unstable();
            let values: Vec<i64> = values.into_iter().map(|(_, value)| value).collect();
            return limits.map(|limit| Some(half_width_at(&values, limit)));
        }
        let mut both: Bins<Batch> = self.above.timed().map(|above| Batch {
            above,
            ..Batch::default()
        });
        both.merge(&self.below.timed().map(|below| Batch {
            below,
            ..Batch::default()
        }));
        let batches = both.batches(TIMED_BATCHES);
        let half = |limit| half_width_of_share(batches.iter().map(|batch| batch.share(limit)));
        limits.map(|limit| (batches.len() >= LEAST).then(|| half(limit)))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Distribution;

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
                Some(Bias {
                    n,
                    p50,
                    p99,
                    percentiles_ci95: [None; 2]
                }),
                "{values:?}"
            );
        }
        assert_eq!(Differences::default().describe(), None);
    }

    /// Skewed differences around 11 us that resemble their neighbours.
    fn values(n: u64) -> Vec<i64> {
        let (mut rng, mut state) = (ChaCha8Rng::seed_from_u64(0x5EED), 0.0);
        let values = (0..n).map(|_| {
            state = 0.5 * state + rng.random::<f64>();
            (7_000.0 + 4_000.0 * state * state) as i64
        });
        values.collect()
    }

    fn described(values: &[i64]) -> Bias {
        let mut differences = Differences::default();
        for (moment, value) in (0..).zip(values) {
            differences.add(moment * 1_000, *value);
        }
        differences.describe().unwrap()
    }

    /// An interval of differences is that of times, wherever zero lies: exactly where all of them
    /// are kept, and else within what buckets of two digits can tell.
    #[test]
    fn intervals_are_those_of_times() {
        let exact = crate::times::EXACT as u64;
        for (n, has) in [(19, [false; 2]), (999, [true, false]), (20_000, [true; 2])] {
            let values = values(n);
            let mut times = Times::default();
            for (moment, value) in (0..).zip(&values) {
                times.add(moment * 1_000, value.unsigned_abs());
            }
            let [p50, _, _, p99, _] = times.describe().unwrap().percentiles_ci95;
            let expected = [p50, p99].map(|ends| ends.map(|(low, high)| (low as i64, high as i64)));
            assert_eq!(expected.map(|ends| ends.is_some()), has, "{n}");
            assert_eq!(described(&values).percentiles_ci95, expected, "{n}");
            let shift = described(&values).p50;
            let shifted: Vec<i64> = values.iter().map(|value| value - shift).collect();
            let back = described(&shifted)
                .percentiles_ci95
                .map(|ends| ends.map(|(low, high)| (low + shift, high + shift)));
            assert_eq!(back, expected, "{n}");
        }
        let values = values(3 * exact);
        let expected = Distribution::of(
            &values
                .iter()
                .map(|value| value.unsigned_abs())
                .collect::<Vec<_>>(),
        );
        let [p50, _, _, p99, _] = expected.unwrap().percentiles_ci95;
        for shift in [0, described(&values).p50] {
            let shifted: Vec<i64> = values.iter().map(|value| value - shift).collect();
            let found = described(&shifted).percentiles_ci95;
            for (ends, exact) in found.into_iter().zip([p50, p99]) {
                let ((low, high), (exact_low, exact_high)) = (ends.unwrap(), exact.unwrap());
                let (width, exact_width) = (high - low, exact_high - exact_low);
                println!("{shift}: {low} .. {high}, exactly {exact_low} .. {exact_high}");
                assert!(width > 0 && (width as f64 / exact_width as f64 - 1.0).abs() < 0.5);
                assert!(low + shift <= exact_high as i64 && exact_low as i64 <= high + shift);
            }
        }
    }

    /// Twenty runs whose differences lie 100 ns apart from run to run: the median of all is not
    /// known any better than that, however many operations each has.
    #[test]
    fn intervals_of_several_runs_come_from_how_much_they_differ() {
        let run = |shift: i64| {
            let mut run = Differences::default();
            for (moment, value) in (0..).zip(values(1_000)) {
                run.add(moment * 1_000, value / 100 + shift * 100 - 1_500);
            }
            run
        };
        let runs: Vec<Differences> = (0..20).map(run).collect();
        let runs: Vec<&Differences> = runs.iter().collect();
        let mut all = Differences::default();
        runs.iter().for_each(|run| all.merge(run));
        let (pooled, alone) = (
            Differences::describe_runs(&runs).unwrap(),
            all.describe().unwrap(),
        );
        assert_eq!(
            (pooled.n, pooled.p50, pooled.p99),
            (alone.n, alone.p50, alone.p99)
        );
        // Half of the runs lie below the median almost wholly: its share is known to 0.23, and a
        // range of 2000 ns times twice that is the interval.
        let (low, high) = pooled.percentiles_ci95[0].unwrap();
        assert!((800..1_100).contains(&(high - low)), "{pooled:?}");
        assert_eq!(Differences::describe_runs(&runs[..1]), runs[0].describe());
        assert_eq!(Differences::describe_runs(&[]), None);
    }
}
