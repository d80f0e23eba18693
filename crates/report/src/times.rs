//! Statistics of times, each declared once: in documents and sheets by
//! [`Described`](crate::fields::Described), in texts and on pages as a [`TimeStatistic`].

use record::{Nanos, TimeUnit};
use stats::{Bias, Distribution};

use crate::fields::fields;
use crate::json::us;
use crate::units::{human_in, human_range_in};

fields! {
    /// A set of times, in microseconds. Percentiles are by the nearest rank: exact for up to 65,536
    /// times, and within 0.05 % for more.
    Distribution, "Distribution", |times| {
        /// Number of times.
        n @ 0 = times.n,
        /// Arithmetic mean.
        mean @ 0 = us(times.mean),
        /// 95 % interval of the mean, from batch means; null for one time.
        ci95 @ 0 = times.ci95.map(both),
        /// Standard deviation; null for one time. It has no interval: none covers 95 % where times
        /// have a long tail.
        sd @ 0 = times.sd.map(us),
        /// Least.
        min @ 0 = us(times.min as f64),
        /// Median.
        p50 @ 0 = us(times.p50 as f64),
        /// 90th percentile.
        p90 @ 0 = us(times.p90 as f64),
        /// 95th percentile; the maximum when n is below 20.
        p95 @ 0 = us(times.p95 as f64),
        /// 99th percentile; the maximum when n is below 100.
        p99 @ 0 = us(times.p99 as f64),
        /// 99.9th percentile; the maximum when n is below 1000.
        p999 @ 0 = us(times.p999 as f64),
        /// Greatest.
        max @ 0 = us(times.max as f64),
        /// 95 % intervals of p50, p90, p95, p99 and p99.9, in this order (Woodruff 1952); null with
        /// fewer than 10 times beyond the percentile, and where the interval would reach beyond the
        /// times.
        percentiles_ci95 = times.percentiles_ci95.map(|ends| ends.map(ranks).map(both)),
    }
}

fields! {
    /// By how much a user-space clock would have over-reported response times, in microseconds;
    /// negative where it would have under-reported them.
    Bias, "Bias", |bias| {
        /// Operations of which both are known.
        n = bias.n,
        /// Median.
        p50 @ 0 = us(bias.p50 as f64),
        /// 99th percentile.
        p99 @ 0 = us(bias.p99 as f64),
        /// 95 % intervals of both, in this order; null as in the times of a row.
        percentiles_ci95 = bias
            .percentiles_ci95
            .map(|ends| ends.map(|(low, high)| both((low as f64, high as f64)))),
    }
}

/// Both ends of an interval in microseconds.
fn both((low, high): (f64, f64)) -> (f64, f64) {
    (us(low), us(high))
}

fn ranks((low, high): (Nanos, Nanos)) -> (f64, f64) {
    (low as f64, high as f64)
}

/// A statistic of times as people see it.
pub(crate) struct TimeStatistic {
    pub(crate) label: &'static str,
    pub(crate) hint: &'static str,
    /// Nanoseconds; `None` where there are too few times.
    ns: fn(&Distribution) -> Option<f64>,
    interval: StatisticInterval,
}

#[derive(Debug, Clone, Copy)]
enum StatisticInterval {
    /// None, because the statistic is a fact, or because no interval covers the truth.
    Never,
    /// That of the mean.
    OfMean,
    /// That of a percentile in parts of a thousand.
    OfPercentile(u64),
}

use StatisticInterval::{Never, OfMean, OfPercentile};

macro_rules! statistics {
    ($($name:ident: $label:literal, $hint:literal, $ns:expr, $interval:expr;)+) => {
        $(pub(crate) const $name: TimeStatistic = TimeStatistic {
            label: $label,
            hint: $hint,
            ns: $ns,
            interval: $interval,
        };)+

        /// All statistics, in the order of tables that have room for them.
        pub(crate) const STATISTICS: &[&TimeStatistic] = &[$(&$name),+];
    };
}

statistics! {
    MIN: "min", "", |times| Some(times.min as f64), Never;
    P50: "p50", "Half of the operations took no longer", |times| Some(times.p50 as f64), OfPercentile(500);
    P90: "p90", "Nine in ten took no longer", |times| Some(times.p90 as f64), OfPercentile(900);
    P95: "p95", "95 in a hundred took no longer", |times| Some(times.p95 as f64), OfPercentile(950);
    P99: "p99", "99 in a hundred took no longer", |times| Some(times.p99 as f64), OfPercentile(990);
    P999: "p99.9", "999 in a thousand took no longer", |times| Some(times.p999 as f64), OfPercentile(999);
    MAX: "max", "The slowest operation", |times| Some(times.max as f64), Never;
    MEAN: "mean", "Mean response time", |times| Some(times.mean), OfMean;
    SD: "sd", "Standard deviation. It has no interval: none covers 95 % where times have a long tail",
        |times| times.sd, Never;
}

impl TimeStatistic {
    /// The statistic of these times; `None` where there are too few.
    pub(crate) fn of(&self, times: &Distribution) -> Option<f64> {
        (self.ns)(times)
    }

    /// Its 95 % interval; `None` where there is none.
    pub(crate) fn ci95(&self, times: &Distribution) -> Option<(f64, f64)> {
        match self.interval {
            Never => None,
            OfMean => times.ci95,
            OfPercentile(per_mille) => times.percentile_ci95(per_mille).map(ranks),
        }
    }

    /// Condition under which the statistic has no interval; `None` of one that never has any.
    pub(crate) fn without_interval(&self) -> Option<&'static str> {
        match self.interval {
            Never => None,
            OfMean => Some("for one operation"),
            OfPercentile(_) => Some("where there are too few operations"),
        }
    }

    /// The statistic for people, without its interval.
    pub(crate) fn shown(&self, unit: Option<TimeUnit>, times: &Distribution) -> String {
        let ns = self.of(times);
        ns.map_or("-".to_owned(), |ns| human_in(unit, ns))
    }

    pub(crate) fn range(&self, unit: Option<TimeUnit>, times: &Distribution) -> Option<String> {
        self.ci95(times).map(|ends| human_range_in(unit, ends))
    }
}

impl PartialEq for TimeStatistic {
    fn eq(&self, other: &TimeStatistic) -> bool {
        self.label == other.label
    }
}
