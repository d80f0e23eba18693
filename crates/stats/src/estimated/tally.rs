//! Input of the estimates and facts of a row.

use constraint::WhyUnknown;
use record::{Nanos, Sample};

use super::share::{effective_number, interval_of_share};
use super::times;
use super::{EstimatedStatistic, FactOfRow, JudgedEstimate};
use crate::Outcomes;
use crate::bins::{Bin, Bins};
use crate::interval::t_at;
use crate::throughput::{RateOf, SLOW, Throughput};
use crate::times::Times;
use crate::window::Span;

/// Bins along the time axis for failures: between this and half of it are in use.
const BINS: usize = 512;

/// Completions below which there is no verdict about a rate.
const COMPLETIONS_NEEDED: u64 = 100;

/// By how much the interval of a rate is wider than Student's t makes it. Without that it misses up
/// to 0.25 % on a side where sizes are skewed, or where the capacity wanders; the tail of t with
/// three degrees of freedom falls with the third power.
const WIDER: f64 = 4.0 / 3.0;

#[derive(Debug, Clone)]
pub(crate) struct JudgedTally {
    /// The first time and the last, by the moment at which the operation began; of several at one
    /// moment the least and the greatest, so that the order of recording leaves no trace.
    first: Option<(Nanos, Nanos)>,
    last: Option<(Nanos, Nanos)>,
    ended: Bins<Ended>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    all: u64,
    failed: u64,
}

impl Bin for Ended {
    fn count(&self) -> u64 {
        self.all
    }

    fn absorb(&mut self, other: &Ended) {
        self.all += other.all;
        self.failed += other.failed;
    }
}

impl Default for JudgedTally {
    fn default() -> JudgedTally {
        JudgedTally {
            first: None,
            last: None,
            ended: Bins::new(BINS, 0),
        }
    }
}

impl JudgedTally {
    pub(crate) fn add(&mut self, sample: &Sample) {
        self.add_end(sample.moments.started, sample.outcome.is_failure());
    }

    pub(crate) fn add_end(&mut self, moment: Nanos, failed: bool) {
        let bin = self.ended.at(moment);
        bin.all += 1;
        bin.failed += u64::from(failed);
    }

    /// Adds the time of an expected operation that counts, where it has one.
    pub(crate) fn add_time(&mut self, moment: Nanos, time: Option<Nanos>) {
        let timed = time.map(|time| (moment, time));
        self.take_in(timed, timed);
    }

    pub(crate) fn merge(&mut self, other: &JudgedTally) {
        self.take_in(other.first, other.last);
        self.ended.merge(&other.ended);
    }

    fn take_in(&mut self, first: Option<(Nanos, Nanos)>, last: Option<(Nanos, Nanos)>) {
        self.first = self.first.into_iter().chain(first).min();
        self.last = self.last.into_iter().chain(last).max();
    }

    pub(crate) fn failure_rate(&self, a: f64) -> Option<times::ValueWithEnds> {
        let cells = self.ended.recorded();
        let cells: Vec<(f64, f64)> = cells
            .map(|(_, ended)| (ended.failed as f64, ended.all as f64))
            .collect();
        let failed: f64 = cells.iter().map(|cell| cell.0).sum();
        let all: f64 = cells.iter().map(|cell| cell.1).sum();
        let share = (all > 0.0).then(|| failed / all)?;
        let independent = effective_number(&cells, 1.0, a);
        let ends = interval_of_share(share * independent, independent, a);
        Some((share, ends))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct EstimatedRow<'a> {
    /// Latencies from schedule in an open loop, else response times.
    pub(crate) times: &'a Times,
    pub(crate) throughput: &'a Throughput,
    pub(crate) judged: &'a JudgedTally,
    pub(crate) outcomes: &'a Outcomes,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) connections: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredTime {
    pub(crate) window: Option<Span>,
    /// The load was the same throughout, and the run waited for no other one.
    pub(crate) is_steady: bool,
    /// Seconds of the window without waiting for other runs.
    pub(crate) seconds: f64,
}

impl EstimatedRow<'_> {
    /// An estimate whose interval misses the truth with probability `miss`, half on each side.
    pub(crate) fn estimate(
        &self,
        statistic: EstimatedStatistic,
        measured: MeasuredTime,
        miss: f64,
    ) -> Result<JudgedEstimate, WhyUnknown> {
        let a = miss / 2.0;
        let (value, (low, high)) = match statistic {
            EstimatedStatistic::Mean => times::mean(self.times, a),
            EstimatedStatistic::Sd => times::sd(self.times, a),
            EstimatedStatistic::Percentile(ppm) => times::percentile(self.times, ppm, a),
            EstimatedStatistic::Rate => self.rate(RateOf::Completions, measured, a),
            EstimatedStatistic::Goodput => self.rate(RateOf::Bytes, measured, a),
            EstimatedStatistic::FailureRate => {
                self.judged.failure_rate(a).ok_or(WhyUnknown::NoOperation)
            }
        }?;
        Ok(JudgedEstimate { value, low, high })
    }

    /// The estimate by itself; `None` where there is nothing to estimate.
    pub(crate) fn value(
        &self,
        statistic: EstimatedStatistic,
        measured: MeasuredTime,
    ) -> Option<f64> {
        let a_second = |count: f64| (measured.seconds > 0.0).then(|| count / measured.seconds);
        match statistic {
            EstimatedStatistic::Mean => {
                let n = self.times.count();
                (n > 0).then(|| self.times.sum() as f64 / n as f64)
            }
            EstimatedStatistic::Sd => self.times.describe()?.sd,
            EstimatedStatistic::Percentile(ppm) => times::percentile_of(self.times, ppm).ok(),
            EstimatedStatistic::Rate => a_second(self.throughput.completed() as f64),
            EstimatedStatistic::Goodput => a_second(self.throughput.received() as f64),
            EstimatedStatistic::FailureRate => {
                let all = self.outcomes.total();
                (all > 0).then(|| self.outcomes.failed() as f64 / all as f64)
            }
        }
    }

    fn rate(
        &self,
        of: RateOf,
        measured: MeasuredTime,
        a: f64,
    ) -> Result<times::ValueWithEnds, WhyUnknown> {
        let window = measured.window.ok_or(WhyUnknown::NoOperation)?;
        let samples = self.throughput.completed();
        if !measured.is_steady {
            return Err(WhyUnknown::NotSteady);
        }
        if samples < COMPLETIONS_NEEDED {
            let needed = COMPLETIONS_NEEDED;
            return Err(WhyUnknown::TooFew { samples, needed });
        }
        let rate = self.throughput.with_error(of, window);
        let rate = rate.ok_or(WhyUnknown::TooShort)?;
        if rate.wanders {
            return Err(WhyUnknown::Wanders);
        }
        let half = WIDER * t_at(1.0 - a, SLOW as f64) * rate.error;
        let low = (rate.per_second - half).max(0.0);
        Ok((rate.per_second, (low, rate.per_second + half)))
    }

    /// A fact; `None` for a time where there is none.
    pub(crate) fn fact(&self, fact: FactOfRow) -> Option<u64> {
        let end = |moment: Option<(Nanos, Nanos)>| moment.map(|(_, time)| time);
        match fact {
            FactOfRow::Min => self.times.ends().map(|(min, _)| min),
            FactOfRow::Max => self.times.ends().map(|(_, max)| max),
            FactOfRow::First => end(self.judged.first),
            FactOfRow::Last => end(self.judged.last),
            FactOfRow::Operations => Some(self.outcomes.total()),
            FactOfRow::Failures => Some(self.outcomes.failed()),
            FactOfRow::BytesSent => Some(self.bytes_sent),
            FactOfRow::BytesReceived => Some(self.bytes_received),
            FactOfRow::Connections => Some(self.connections),
        }
    }
}
