//! Judges the constraints of a plan by what was measured.
//!
//! Figures are in seconds, bytes and parts of a whole, as in the language (`constraint`); times are those that are
//! [waited](crate::TestSummary::waited).

use std::collections::BTreeMap;

use constraint::{
    CheckedConstraint, Constraint, Figure, Figures, Judged, Known, Quantifier, Reading, Scope,
    Statistic,
};
use record::{ConstraintRecord, ConstraintSense, PlanRecord};

use crate::estimated::{
    EstimatedStatistic, FactOfRow, JudgedEstimate, MISS, NoEstimate, RunEstimates,
};
use crate::{
    Conclusion, ConstraintReading, JudgedConstraint, ReadFigure, ReadingUnit, Status, TestSummary,
};

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

/// The figures of a run.
pub(crate) struct RunFigures<'a> {
    pub(crate) estimates: &'a RunEstimates<'a>,
    pub(crate) rows: &'a [TestSummary],
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
            Figure::Vague(known, why) => ReadFigure::Vague {
                value: known.value * scale,
                why,
            },
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
        let place = self.estimates.row_named(measurement);
        match place.and_then(|place| Some((place, self.rows.get(place)?))) {
            Some((place, row)) => self.of_row(place, row, statistic),
            None => unknown("not measured"),
        }
    }
}

fn unknown(why: &str) -> Figure {
    Figure::Unknown(why.to_owned())
}

impl RunFigures<'_> {
    fn of_row(&self, place: usize, row: &TestSummary, statistic: Statistic) -> Figure {
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
        let is_count = matches!(
            statistic,
            Statistic::Operations
                | Statistic::Connections
                | Statistic::BytesSent
                | Statistic::BytesReceived
        );
        if row.may_be_no_failure && !is_count {
            return unknown("the load generator may have caused the failures");
        }
        if row.disqualified().is_some() && !is_count && statistic != Statistic::Failures {
            return unknown("a warning disqualifies the row");
        }
        match source(statistic) {
            Source::Fact(fact, scale) => match self.estimates.fact(place, fact) {
                Some(fact) => {
                    let value = fact as f64 / scale;
                    known(row, value, value, value)
                }
                None => unknown("no operation has a time"),
            },
            Source::Estimate(of, scale) => self.estimate(place, row, of, scale),
        }
    }

    /// An estimate with its interval. Without one, its true value may be any.
    fn estimate(
        &self,
        place: usize,
        row: &TestSummary,
        of: EstimatedStatistic,
        scale: f64,
    ) -> Figure {
        match self.estimates.estimate(place, of, MISS) {
            Ok(JudgedEstimate {
                value, low, high, ..
            }) => known(row, value / scale, low / scale, high / scale),
            Err(why) => match self.estimates.value(place, of) {
                Some(value) => Figure::Vague(
                    Known {
                        low: f64::NEG_INFINITY,
                        high: f64::INFINITY,
                        ..of_row(row, value / scale)
                    },
                    in_words(why),
                ),
                None => Figure::Unknown(in_words(why)),
            },
        }
    }
}

fn known(row: &TestSummary, value: f64, low: f64, high: f64) -> Figure {
    Figure::Known(Known {
        low,
        high,
        ..of_row(row, value)
    })
}

fn of_row(row: &TestSummary, value: f64) -> Known {
    Known {
        value,
        low: value,
        high: value,
        samples: row.operations(),
        seconds: row.window_s.unwrap_or(0.0),
    }
}

/// Where a figure comes from, and how many of its units one of the language has.
enum Source {
    Fact(FactOfRow, f64),
    Estimate(EstimatedStatistic, f64),
}

fn source(statistic: Statistic) -> Source {
    match statistic {
        Statistic::Mean => Source::Estimate(EstimatedStatistic::Mean, SECOND),
        Statistic::Sd => Source::Estimate(EstimatedStatistic::Sd, SECOND),
        Statistic::Percentile(ppm) => Source::Estimate(EstimatedStatistic::Percentile(ppm), SECOND),
        Statistic::Rate => Source::Estimate(EstimatedStatistic::Rate, 1.0),
        Statistic::Goodput => Source::Estimate(EstimatedStatistic::Goodput, 1.0),
        Statistic::FailureRate => Source::Estimate(EstimatedStatistic::FailureRate, 1.0),
        Statistic::Min => Source::Fact(FactOfRow::Min, SECOND),
        Statistic::Max => Source::Fact(FactOfRow::Max, SECOND),
        Statistic::First => Source::Fact(FactOfRow::First, SECOND),
        Statistic::Last => Source::Fact(FactOfRow::Last, SECOND),
        Statistic::Operations => Source::Fact(FactOfRow::Operations, 1.0),
        Statistic::Failures => Source::Fact(FactOfRow::Failures, 1.0),
        Statistic::BytesSent => Source::Fact(FactOfRow::BytesSent, 1.0),
        Statistic::BytesReceived => Source::Fact(FactOfRow::BytesReceived, 1.0),
        Statistic::Connections => Source::Fact(FactOfRow::Connections, 1.0),
    }
}

/// Why there is no interval.
fn in_words(why: NoEstimate) -> String {
    match why {
        NoEstimate::UnknownRow => "not measured".to_owned(),
        NoEstimate::Nothing => "nothing was measured".to_owned(),
        NoEstimate::TooFew { samples, needed } => {
            format!("{samples} operations are too few for an interval; about {needed} are needed")
        }
        NoEstimate::TooShort => "the window is too short for an interval".to_owned(),
        NoEstimate::NotSteady => {
            "the load changed on purpose, or the run waited for its turn".to_owned()
        }
        NoEstimate::Wanders => "the rate went up or down slowly; measure for longer".to_owned(),
    }
}
