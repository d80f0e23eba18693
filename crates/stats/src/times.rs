//! A set of times that may be very large, in bounded memory.
//!
//! Up to [`EXACT`] values are kept as they are, and all their figures are exact. Beyond, they go
//! into a histogram of buckets whose width is at most a thousandth of their value (HDR, three
//! significant digits: percentiles, given as the middle of a bucket, are within 0.05 %), while
//! number, minimum, maximum, mean and standard deviation stay exact, and the interval of the mean
//! comes from time bins ([`Bins`]), as do those of the percentiles. Which of both forms a set has
//! depends on its size alone, and neither depends on the order of the values, so sets of several
//! threads or machines merge into the set that one would have recorded.

use hdrhistogram::Histogram;
use record::Nanos;

use crate::Distribution;
use crate::batch::{TimedBatch, half_width_of_share};
use crate::bins::{Bins, Sum};
use crate::distribution::{MeanAndSpread, PER_MILLE, has_enough_beyond, ranks_around};
use crate::interval::{self, interval_of_batches, ratio_interval};

/// Values that are kept as they are: 1 MiB.
pub const EXACT: usize = 1 << 16;

/// Operations below which p99 is the maximum (nearest rank).
pub const P99_NEEDS: u64 = 100;

/// Significant digits of the histogram: buckets are at most 0.1 % wide.
const DIGITS: u8 = 3;

/// Significant digits of coarse times: percentiles are within half a percent.
pub(crate) const COARSE_DIGITS: u8 = 2;

/// Bins along the time axis for the interval of the mean: between this and half of it are in use,
/// several for each batch.
const BINS: usize = 128;

/// Bins for the intervals of percentiles, and the batches into which they are merged. They have
/// histograms, and are fewer for that reason.
const TIMED_BINS: usize = 32;
pub(crate) const TIMED_BATCHES: usize = 16;

/// Values, each with the moment at which its operation began.
#[derive(Debug, Clone)]
pub(crate) struct Times(Form);

#[derive(Debug, Clone)]
enum Form {
    /// All of them: moment and value.
    Exact(Vec<(Nanos, Nanos)>),
    Binned(Box<Binned>),
}

#[derive(Debug, Clone)]
struct Binned {
    n: u64,
    min: Nanos,
    max: Nanos,
    sum: u128,
    squares: u128,
    histogram: Histogram<u64>,
    bins: Bins<Sum>,
    square_bins: Bins<Sum>,
    timed: Bins<TimedBatch>,
}

impl Default for Times {
    fn default() -> Times {
        Times(Form::Exact(Vec::new()))
    }
}

impl Times {
    pub(crate) fn add(&mut self, moment: Nanos, value: Nanos) {
        match &mut self.0 {
            Form::Binned(binned) => binned.add(moment, value),
            Form::Exact(values) if values.len() < EXACT => values.push((moment, value)),
            Form::Exact(_) => self.binned().add(moment, value),
        }
    }

    pub(crate) fn add_some(&mut self, moment: Nanos, value: Option<Nanos>) {
        if let Some(value) = value {
            self.add(moment, value);
        }
    }

    pub(crate) fn merge(&mut self, other: &Times) {
        match (&mut self.0, &other.0) {
            (Form::Exact(values), Form::Exact(others)) if values.len() + others.len() <= EXACT => {
                values.extend_from_slice(others);
            }
            (_, Form::Exact(others)) => {
                let binned = self.binned();
                for (moment, value) in others {
                    binned.add(*moment, *value);
                }
            }
            (_, Form::Binned(others)) => self.binned().merge(others),
        }
    }

    /// The second form of the values, which they take if they have the first.
    fn binned(&mut self) -> &mut Binned {
        if let Form::Exact(values) = &self.0 {
            let mut binned = Binned::new();
            for (moment, value) in values {
                binned.add(*moment, *value);
            }
            self.0 = Form::Binned(Box::new(binned));
        }
        match &mut self.0 {
            Form::Binned(binned) => binned,
            Form::Exact(_) => unreachable!("it has just been replaced"),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match &self.0 {
            Form::Exact(values) => values.len() as u64,
            Form::Binned(binned) => binned.n,
        }
    }

    /// The distribution of the values; `None` without any.
    pub(crate) fn describe(&self) -> Option<Distribution> {
        match &self.0 {
            Form::Exact(_) => Distribution::of(&self.by_time()),
            Form::Binned(binned) => {
                let ranks = PER_MILLE.map(|per_mille| rank(binned.n, per_mille));
                let quantiles = self.at_ranks(ranks)?;
                let ends = (binned.min, binned.max);
                let described = Distribution::from_parts(binned.moments(), ends, quantiles);
                Some(Distribution {
                    percentiles_ci95: self.percentile_intervals(binned, quantiles),
                    ..described
                })
            }
        }
    }

    fn percentile_intervals(
        &self,
        binned: &Binned,
        quantiles: [Nanos; PER_MILLE.len()],
    ) -> [Option<(Nanos, Nanos)>; PER_MILLE.len()] {
        let batches = binned.timed.batches(TIMED_BATCHES);
        let mut intervals = [None; PER_MILLE.len()];
        let of = PER_MILLE.iter().zip(quantiles).zip(&mut intervals);
        for ((per_mille, estimate), interval) in of {
            if batches.len() < interval::LEAST || !has_enough_beyond(binned.n, *per_mille) {
                continue;
            }
            let half = half_width_of_share(batches.iter().map(|batch| batch.share(estimate)));
            let ends = ranks_around(binned.n, *per_mille, half)
                .and_then(|(low, high)| self.at_ranks([low, high]));
            *interval = ends.map(|[low, high]| (low, high));
        }
        intervals
    }

    /// The distribution of the values of several runs together; `None` without any. Runs are the
    /// batches that intervals come from: values of one run depend on each other, and runs of one
    /// server differ.
    pub(crate) fn describe_runs(runs: &[&Times]) -> Option<Distribution> {
        let runs: Vec<&Times> = runs.iter().copied().filter(|run| run.count() > 0).collect();
        if let [one] = runs[..] {
            return one.describe();
        }
        let mut all = Times::default();
        runs.iter().for_each(|run| all.merge(run));
        let described = all.describe()?;
        let sums = runs.iter().map(|run| run.sum() as f64);
        let counts = runs.iter().map(|run| run.count() as f64);
        let ci95 = ratio_interval(sums.zip(counts), described.mean);
        let quantiles = all.at_ranks(PER_MILLE.map(|per_mille| rank(described.n, per_mille)))?;
        let mut percentiles_ci95 = [None; PER_MILLE.len()];
        let of = PER_MILLE.iter().zip(quantiles).zip(&mut percentiles_ci95);
        for ((per_mille, estimate), interval) in of {
            *interval = all.interval_over_runs(&runs, *per_mille, estimate);
        }
        Some(Distribution {
            ci95,
            percentiles_ci95,
            ..described
        })
    }

    /// The interval of that percentile of all values of these runs, from the share of each run's
    /// values that are at most the estimate.
    fn interval_over_runs(
        &self,
        runs: &[&Times],
        per_mille: u64,
        estimate: Nanos,
    ) -> Option<(Nanos, Nanos)> {
        let n = self.count();
        if !has_enough_beyond(n, per_mille) {
            return None;
        }
        let shares = runs.iter().map(|run| (run.count_to(estimate), run.count()));
        let half = half_width_of_share(shares);
        let (low, high) = ranks_around(n, per_mille, half)?;
        let [low, high] = self.at_ranks([low, high])?;
        Some((low, high))
    }

    /// The least value and the greatest; `None` without any.
    pub(crate) fn ends(&self) -> Option<(Nanos, Nanos)> {
        match &self.0 {
            Form::Exact(values) => {
                let of = || values.iter().map(|(_, value)| *value);
                of().min().zip(of().max())
            }
            Form::Binned(binned) => Some((binned.min, binned.max)),
        }
    }

    /// All values with their moments; `None` where there are too many to be kept.
    pub(crate) fn exact(&self) -> Option<&[(Nanos, Nanos)]> {
        match &self.0 {
            Form::Exact(values) => Some(values),
            Form::Binned(_) => None,
        }
    }

    /// The values in time bins, also where they are few.
    pub(crate) fn timed(&self) -> Bins<TimedBatch> {
        self.clone().binned().timed.clone()
    }

    /// Number and sum in the order of time: of each value, or of the bins of a large set.
    pub(crate) fn sums(&self) -> Vec<Sum> {
        match &self.0 {
            Form::Exact(_) => {
                let sum = |value| Sum {
                    n: 1,
                    sum: u128::from(value),
                };
                self.by_time().into_iter().map(sum).collect()
            }
            Form::Binned(binned) => binned.bins.recorded().map(|(_, sum)| *sum).collect(),
        }
    }

    /// Sums of the squared deviations from `mean`, with the numbers of values, in the same order.
    pub(crate) fn squared_deviations(&self, mean: f64) -> Vec<(f64, f64)> {
        match &self.0 {
            Form::Exact(_) => {
                let squared = |value| ((value as f64 - mean).powi(2), 1.0);
                self.by_time().into_iter().map(squared).collect()
            }
            Form::Binned(binned) => {
                let bins = binned.bins.recorded().zip(binned.square_bins.recorded());
                let squared = |((_, sum), (_, squares)): ((Nanos, &Sum), (Nanos, &Sum))| {
                    let n = sum.n as f64;
                    let about_zero = squares.sum as f64 - 2.0 * mean * sum.sum as f64;
                    ((about_zero + n * mean * mean).max(0.0), n)
                };
                bins.map(squared).collect()
            }
        }
    }

    /// How many values are at most `limit`, and how many there are, in the order of time: of each
    /// value, or of the bins of a large set, within two significant digits.
    pub(crate) fn counted_to(&self, limit: Nanos) -> Vec<(f64, f64)> {
        match &self.0 {
            Form::Exact(_) => {
                let counted = |value| (f64::from(u8::from(value <= limit)), 1.0);
                self.by_time().into_iter().map(counted).collect()
            }
            Form::Binned(binned) => {
                let shares = binned.timed.recorded().map(|(_, batch)| batch.share(limit));
                shares.map(|(to, all)| (to as f64, all as f64)).collect()
            }
        }
    }

    /// How far the rank of each value lies from the middle, in the order of time; equal values are
    /// in the order of time. None where there are too many values to be kept.
    pub(crate) fn ranks_by_time(&self) -> Vec<f64> {
        let values = self.by_time();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|index| values[*index]);
        let middle = (values.len() as f64 - 1.0) / 2.0;
        let mut ranks = vec![0.0; values.len()];
        for (rank, index) in order.into_iter().enumerate() {
            ranks[index] = rank as f64 - middle;
        }
        ranks
    }

    /// All values by time; values of the same moment by size, so that the order of recording leaves
    /// no trace. None where there are too many to be kept.
    fn by_time(&self) -> Vec<Nanos> {
        let mut values = self.exact().map(<[_]>::to_vec).unwrap_or_default();
        if !values.is_sorted() {
            values.sort_unstable();
        }
        values.into_iter().map(|(_, value)| value).collect()
    }

    pub(crate) fn sum(&self) -> u128 {
        match &self.0 {
            Form::Exact(values) => values.iter().map(|(_, value)| u128::from(*value)).sum(),
            Form::Binned(binned) => binned.sum,
        }
    }

    /// The values at these places of the sorted set, counted from 1. Places ascend; those beyond
    /// the end give the maximum. `None` for an empty set.
    pub(crate) fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> Option<[Nanos; N]> {
        let (mut found, mut next, mut before, mut last) = ([0; N], 0, 0, None);
        self.for_each(|value, count| {
            before += count;
            while next < N && ranks[next] <= before {
                found[next] = value;
                next += 1;
            }
            last = Some(value);
        });
        found[next..].fill(last?);
        Some(found)
    }

    pub(crate) fn count_from(&self, least: Nanos) -> u64 {
        let mut found = 0;
        self.for_each(|value, count| found += if value >= least { count } else { 0 });
        found
    }

    pub(crate) fn count_to(&self, most: Nanos) -> u64 {
        self.count() - self.count_from(most.saturating_add(1))
    }

    /// The sum of that many of the largest values, of each at most so much.
    pub(crate) fn sum_of_slowest(&self, many: u64, at_most: Nanos) -> u128 {
        let (mut others, mut sum) = (self.count().saturating_sub(many), 0);
        self.for_each(|value, count| {
            let skipped = others.min(count);
            others -= skipped;
            sum += u128::from(value.min(at_most)) * u128::from(count - skipped);
        });
        sum
    }

    /// Every value with how often it occurs, ascending; values of a bucket as its middle.
    pub(crate) fn for_each(&self, mut take: impl FnMut(Nanos, u64)) {
        match &self.0 {
            Form::Exact(values) => {
                let mut values: Vec<Nanos> = values.iter().map(|(_, value)| *value).collect();
                values.sort_unstable();
                values.into_iter().for_each(|value| take(value, 1));
            }
            Form::Binned(binned) => {
                for bucket in binned.histogram.iter_recorded() {
                    let value = bucket.value_iterated_to();
                    let middle = binned.histogram.median_equivalent(value);
                    let value = middle.clamp(binned.min, binned.max);
                    take(value, bucket.count_since_last_iteration());
                }
            }
        }
    }
}

impl Binned {
    fn new() -> Binned {
        Binned {
            n: 0,
            min: Nanos::MAX,
            max: 0,
            sum: 0,
            squares: 0,
            histogram: histogram(DIGITS),
            bins: Bins::new(BINS, 0),
            square_bins: Bins::new(BINS, 0),
            timed: Bins::new(TIMED_BINS, 0),
        }
    }

    fn add(&mut self, moment: Nanos, value: Nanos) {
        self.n += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.squares = self.squares.saturating_add(u128::from(value).pow(2));
        record(&mut self.histogram, value);
        self.bins.at(moment).add(value);
        self.square_bins.at(moment).add_square(value);
        self.timed.at(moment).add(value);
    }

    fn merge(&mut self, other: &Binned) {
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        add_all(&mut self.histogram, &other.histogram);
        self.bins.merge(&other.bins);
        self.square_bins.merge(&other.square_bins);
        self.timed.merge(&other.timed);
    }

    fn moments(&self) -> MeanAndSpread {
        let n = self.n as f64;
        let mean = self.sum as f64 / n;
        let variance = (self.squares as f64 - self.sum as f64 * mean).max(0.0) / (n - 1.0);
        MeanAndSpread {
            n: self.n,
            mean,
            ci95: interval_of_batches(&self.bins.batches(interval::MOST)),
            sd: Some(variance.sqrt()),
        }
    }
}

/// Times of which only counts and percentiles are needed; without any, they take no memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct CoarseTimes(Option<Box<Histogram<u32>>>);

impl CoarseTimes {
    pub(crate) fn add(&mut self, time: Nanos) {
        let times = self
            .0
            .get_or_insert_with(|| Box::new(histogram(COARSE_DIGITS)));
        record(times, time);
    }

    pub(crate) fn merge(&mut self, other: &CoarseTimes) {
        match (&mut self.0, &other.0) {
            (Some(times), Some(others)) => add_all(times, others),
            (times @ None, others) => times.clone_from(others),
            (Some(_), None) => {}
        }
    }

    pub(crate) fn count_between(&self, least: Nanos, most: Nanos) -> u64 {
        let times = self.0.as_ref();
        times.map_or(0, |times| times.count_between(least, most))
    }

    /// A percentile; `None` where no time lies beyond it.
    pub(crate) fn percentile(&self, per_cent: u64) -> Option<Nanos> {
        let times = self.0.as_ref()?;
        // Of fewer than a hundred times, one in a hundred cannot be determined.
        let beyond = times.len() * (100 - per_cent) / 100;
        let quantile = per_cent as f64 / 100.0;
        (beyond > 0).then(|| times.median_equivalent(times.value_at_quantile(quantile)))
    }
}

/// Place of a percentile in `n` sorted values, counted from 1: `ceil(n * per_mille / 1000)`.
pub(crate) fn rank(n: u64, per_mille: u64) -> u64 {
    let rank = (u128::from(n) * u128::from(per_mille)).div_ceil(1000);
    (rank as u64).max(1)
}

/// An empty histogram of that many significant digits that grows as needed.
pub(crate) fn histogram<C: hdrhistogram::Counter>(digits: u8) -> Histogram<C> {
    Histogram::new(digits).expect("five digits are the limit, and it is auto-resizing")
}

pub(crate) fn record<C: hdrhistogram::Counter>(histogram: &mut Histogram<C>, value: Nanos) {
    histogram
        .record(value)
        .expect("it grows as needed, and its buckets are fewer than 2^31");
}

/// Counts all values of another histogram of the same digits.
pub(crate) fn add_all<C: hdrhistogram::Counter>(all: &mut Histogram<C>, other: &Histogram<C>) {
    all.add(other)
        .expect("it grows as needed, and its buckets are fewer than 2^31");
}
