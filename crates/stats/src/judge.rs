//! Judges the constraints of a plan by what was measured.
//!
//! Figures are in seconds, bytes and parts of a whole, as in the language (`constraint`); times are those that are
//! [waited](crate::TestSummary::waited).

use std::collections::BTreeMap;

use constraint::{
    CheckedConstraint, Constraint, Figure, Figures, Judged, Known, Quantifier, Reading, Scope,
    Statistic,
};
use record::{ConstraintRecord, ConstraintSense, PlanRecord, TestId};

use crate::estimate;
use crate::row::RowTally;
use crate::window::{NoWindow, Span};
use crate::{
    Conclusion, ConstraintReading, JudgedConstraint, ReadFigure, ReadingUnit, Status, TestSummary,
};

/// Probability that the interval of an estimate misses the truth, on both sides together.
const MISS: f64 = 0.002;

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

/// The figures of a run.
pub(crate) struct RunFigures<'a> {
    pub(crate) tallies: &'a [RowTally],
    pub(crate) rows: &'a [TestSummary],
    pub(crate) plan: &'a PlanRecord,
    pub(crate) windows: &'a BTreeMap<TestId, Result<Span, NoWindow>>,
}

/// What the constraints of a plan come to.
pub(crate) fn constraints(plan: &PlanRecord, figures: &RunFigures<'_>) -> Vec<JudgedConstraint> {
    let parsed: Vec<_> = plan
        .constraints
        .iter()
        .map(|record| (record, Constraint::parse(&record.expression)))
        .collect();
    let scope = Scope {
        measurements: plan.measures.iter().map(|own| own.name.as_str()).collect(),
        parameters: parameters(&plan.params),
        constraints: parsed
            .iter()
            .filter_map(|(record, parsed)| Some((record.name.as_str(), parsed.as_ref().ok()?)))
            .collect(),
    };
    let judged = |(record, parsed): &(&ConstraintRecord, Result<Constraint, _>)| {
        let checked = parsed.clone().and_then(|parsed| parsed.check(&scope));
        match checked {
            Ok(checked) => judged(record, &checked, figures),
            // The record was written by hand, or by a program with another language.
            Err(why) => unreadable(record, &why.to_string()),
        }
    };
    parsed.iter().map(judged).collect()
}

/// The parameters of a suite that are numbers.
fn parameters(params: &BTreeMap<String, serde_json::Value>) -> BTreeMap<&str, f64> {
    let numbers = params
        .iter()
        .map(|(name, value)| Some((name.as_str(), value.as_f64()?)));
    numbers.flatten().collect()
}

fn judged(
    record: &ConstraintRecord,
    checked: &CheckedConstraint,
    figures: &RunFigures<'_>,
) -> JudgedConstraint {
    let Judged { truth, readings } = match record.sense {
        ConstraintSense::Holds => checked.judge(figures, Quantifier::All),
        ConstraintSense::FailsIf => checked.judge(figures, Quantifier::Any),
        ConstraintSense::Trial => checked.judge_as_measured(figures, Quantifier::All),
    };
    let verdict = match (truth, record.sense) {
        (None, _) => Conclusion::Inconclusive,
        (Some(is_true), ConstraintSense::FailsIf) if is_true => Conclusion::Fail,
        (Some(_), ConstraintSense::FailsIf) | (Some(true), _) => Conclusion::Pass,
        (Some(false), _) => Conclusion::Fail,
    };
    JudgedConstraint {
        name: record.name.clone(),
        expression: record.expression.clone(),
        sense: record.sense,
        verdict,
        readings: readings.into_iter().map(reading).collect(),
    }
}

fn unreadable(record: &ConstraintRecord, why: &str) -> JudgedConstraint {
    JudgedConstraint {
        name: record.name.clone(),
        expression: record.expression.clone(),
        sense: record.sense,
        verdict: Conclusion::Inconclusive,
        readings: vec![ConstraintReading {
            characteristic: record.expression.clone(),
            unit: ReadingUnit::Count,
            figure: ReadFigure::Unknown(why.to_owned()),
        }],
    }
}

fn reading(reading: Reading) -> ConstraintReading {
    let statistic = reading.characteristic.statistic;
    let (unit, scale) = match statistic {
        Statistic::Rate => (ReadingUnit::Rate, 1.0),
        Statistic::Goodput => (ReadingUnit::ByteRate, 1.0),
        Statistic::FailureRate => (ReadingUnit::Share, 1.0),
        Statistic::Operations | Statistic::Failures | Statistic::Connections => {
            (ReadingUnit::Count, 1.0)
        }
        Statistic::BytesSent | Statistic::BytesReceived => (ReadingUnit::Bytes, 1.0),
        _ => (ReadingUnit::Time, SECOND),
    };
    ConstraintReading {
        characteristic: reading.characteristic.to_string(),
        unit,
        figure: match reading.figure {
            Figure::Unknown(why) => ReadFigure::Unknown(why),
            Figure::Known(known) if known.low == known.high => {
                ReadFigure::Fact(known.value * scale)
            }
            Figure::Known(known) => ReadFigure::Estimate {
                value: known.value * scale,
                low: known.low * scale,
                high: known.high * scale,
            },
        },
    }
}

impl Figures for RunFigures<'_> {
    fn rows(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }

    fn figure(&self, statistic: Statistic, measurement: &str) -> Figure {
        let of_name = |row: &&TestSummary| row.name == measurement;
        let mut rows = self.rows.iter().zip(self.tallies).zip(&self.plan.measures);
        let Some(((row, tally), measure)) = rows.find(|((row, _), _)| of_name(row)) else {
            return unknown("not measured");
        };
        let window = self.windows.get(&measure.test);
        let span = window.and_then(|window| window.as_ref().ok()).copied();
        RowFigures { row, tally, span }.figure(statistic)
    }
}

fn unknown(why: &str) -> Figure {
    Figure::Unknown(why.to_owned())
}

/// The figures of a row.
struct RowFigures<'a> {
    row: &'a TestSummary,
    tally: &'a RowTally,
    span: Option<Span>,
}

impl RowFigures<'_> {
    fn figure(&self, statistic: Statistic) -> Figure {
        let row = self.row;
        match row.status {
            Status::NotSupported | Status::Skipped => {
                return unknown("the server does not support it");
            }
            Status::NotDrawn => return unknown("chance never chose it"),
            Status::Ok | Status::Failed => {}
        }
        if row.operations() == 0 {
            return unknown("nothing was measured");
        }
        match statistic {
            Statistic::Operations => self.fact(row.operations() as f64),
            Statistic::Failures if row.may_be_no_failure => {
                unknown("the load generator may have caused the failures")
            }
            Statistic::Failures => self.fact(row.outcomes.failed() as f64),
            Statistic::BytesSent => self.fact(row.bytes_sent as f64),
            Statistic::BytesReceived => self.fact(row.bytes_received as f64),
            Statistic::Connections => self.fact(row.connects.count as f64),
            _ => self.estimated(statistic),
        }
    }

    /// Figures that a warning can disqualify.
    fn estimated(&self, statistic: Statistic) -> Figure {
        if self.row.disqualified().is_some() || self.row.may_be_no_failure {
            return unknown("a warning disqualifies the row");
        }
        let (row, times) = (self.row, self.tally.waited());
        let seconds = |ns: Option<u64>| match ns {
            Some(ns) => self.fact(ns as f64 / SECOND),
            None => unknown("no operation has a time"),
        };
        match statistic {
            Statistic::Min => seconds(self.row.waited().map(|times| times.min)),
            Statistic::Max => seconds(self.row.waited().map(|times| times.max)),
            Statistic::First => seconds(self.tally.first_and_last().map(|ends| ends.0)),
            Statistic::Last => seconds(self.tally.first_and_last().map(|ends| ends.1)),
            Statistic::Rate => self.rate(1.0),
            Statistic::Goodput => {
                let expected = self.tally.throughput().completed().max(1);
                self.rate(self.row.bytes_received as f64 / expected as f64)
            }
            Statistic::FailureRate => {
                let interval = estimate::share(&self.tally.failures_of_batches(), MISS);
                let share = row.outcomes.failed() as f64 / row.operations() as f64;
                self.estimate(Some(share), interval, 1.0)
            }
            Statistic::Percentile(ppm) => {
                let value = times.percentile(ppm).map(|ns| ns as f64);
                self.estimate(value, times.percentile_interval(ppm, MISS), SECOND)
            }
            Statistic::Sd => {
                let value = row.waited().and_then(|times| times.sd);
                self.estimate(value, times.deviation_interval(MISS), SECOND)
            }
            _ => {
                let value = row.waited().map(|times| times.mean);
                self.estimate(value, times.mean_interval(MISS), SECOND)
            }
        }
    }

    /// Expected responses a second, each of which counts for so much.
    fn rate(&self, each: f64) -> Figure {
        let Some(value) = self.row.per_second else {
            return unknown("there is no measurement window");
        };
        // Runs that wait for others, and loads that change on purpose, have no interval in the report either.
        let has_interval = self.row.per_second_ci95.is_some();
        let span = self.span.filter(|_| has_interval);
        let interval = span.and_then(|span| self.tally.throughput().interval(span, MISS));
        let interval = interval.map(|(low, high)| (low * each, high * each));
        self.estimate(Some(value * each), interval, 1.0)
    }

    /// An estimate. Without an interval its true value may be any.
    fn estimate(&self, value: Option<f64>, interval: Option<(f64, f64)>, scale: f64) -> Figure {
        let Some(value) = value else {
            return unknown("no operation has a time");
        };
        let (low, high) = interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        self.known(value / scale, low / scale, high / scale)
    }

    fn fact(&self, value: f64) -> Figure {
        self.known(value, value, value)
    }

    fn known(&self, value: f64, low: f64, high: f64) -> Figure {
        Figure::Known(Known {
            value,
            low,
            high,
            samples: self.row.operations(),
            seconds: self.row.window_s.unwrap_or(0.0),
        })
    }
}
