//! Judges the constraints of a plan by what was measured.
//!
//! Figures are in seconds, bytes and parts of a whole, as in the language (`constraint`); times are
//! those [to the first byte](crate::TestSummary::first_byte_times).

use std::collections::BTreeMap;

use constraint::{
    CheckedConstraint, Constraint, ConstraintFigure, ConstraintSubject, FigureSource, JudgedTruth,
    Known, PartOfRun, Quantifier, Reading, Scope, Statistic, UnitKind, WhyUnknown,
};
use record::{ConstraintRecord, ConstraintSense, PlanRecord};

use crate::estimated::{EstimatedStatistic, FactOfRow, JudgedEstimate, MISS, RunEstimates};
use crate::parts::PartEstimates;
use crate::{
    BackgroundSummary, Conclusion, ConstraintReading, JudgedConstraint, ReadFigure, Status,
    StatusReason, TestSummary,
};

const SECOND: f64 = 1e9;

pub(crate) struct FiguresOfRun<'a> {
    pub(crate) plan: &'a PlanRecord,
    pub(crate) estimates: &'a RunEstimates<'a>,
    pub(crate) parts: &'a [(PartOfRun, PartEstimates)],
    pub(crate) rows: &'a [TestSummary],
    pub(crate) background: Option<&'a BackgroundSummary>,
    pub(crate) moment: JudgingMoment,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JudgingMoment {
    /// The probability with which an interval may miss the truth.
    pub(crate) miss: f64,
    /// More operations follow: what is a fact at the end of a run may still change.
    pub(crate) goes_on: bool,
}

impl JudgingMoment {
    /// When all was measured.
    pub(crate) const END: JudgingMoment = JudgingMoment {
        miss: MISS,
        goes_on: false,
    };

    /// Between what a fact may lie when all is measured.
    fn ends(self, fact: FactOfRow, value: f64) -> (f64, f64) {
        match fact {
            _ if !self.goes_on => (value, value),
            FactOfRow::First => (value, value),
            FactOfRow::Min => (0.0, value),
            FactOfRow::Last => (0.0, f64::INFINITY),
            // Greatest times and counts only grow.
            _ => (value, f64::INFINITY),
        }
    }
}

pub(crate) fn constraints(figures: &FiguresOfRun<'_>) -> Vec<JudgedConstraint> {
    let plan = figures.plan;
    let parsed: Vec<_> = plan
        .constraints
        .iter()
        .map(|record| (record, Constraint::parse(&record.expression)))
        .collect();
    let scope = Scope {
        subject: ConstraintSubject::Run,
        measurements: figures.estimates.rows().collect(),
        components: None,
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

fn parameters(params: &BTreeMap<String, serde_json::Value>) -> BTreeMap<&str, f64> {
    let numbers = params
        .iter()
        .map(|(name, value)| Some((name.as_str(), value.as_f64()?)));
    numbers.flatten().collect()
}

fn judged(
    record: &ConstraintRecord,
    checked: &CheckedConstraint,
    figures: &FiguresOfRun<'_>,
) -> JudgedConstraint {
    let JudgedTruth { truth, readings } = match record.sense {
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
            unit: UnitKind::NUMBER,
            figure: ReadFigure::Unknown(WhyUnknown::Unreadable(why.to_owned())),
        }],
    }
}

fn reading(reading: Reading) -> ConstraintReading {
    let unit = reading.characteristic.statistic.kind();
    let scale = scale(unit);
    ConstraintReading {
        characteristic: reading.characteristic.to_string(),
        unit,
        figure: match reading.figure {
            ConstraintFigure::Unknown(why) => ReadFigure::Unknown(why),
            ConstraintFigure::Vague(known, why) => ReadFigure::Vague {
                value: known.value * scale,
                why,
            },
            ConstraintFigure::Known(known) if known.low == known.high => {
                ReadFigure::Fact(known.value * scale)
            }
            ConstraintFigure::Known(known) => ReadFigure::Estimate {
                value: known.value * scale,
                low: known.low * scale,
                high: known.high * scale,
            },
        },
    }
}

impl FigureSource for FiguresOfRun<'_> {
    /// Requests that could be measured: what a server does not support is no failure of the run
    /// either. A stop-watch has pauses in it, and is named where it is meant.
    fn rows(&self) -> Vec<String> {
        let could_be = |row: &&TestSummary| {
            matches!(row.status, Status::Ok | Status::Failed) && row.method != record::STOP_WATCH
        };
        let rows = self.rows.iter().filter(could_be);
        rows.map(|row| row.name.clone()).collect()
    }

    fn figure(&self, statistic: Statistic, measurement: &str, part: PartOfRun) -> ConstraintFigure {
        if let Statistic::Background(of) = statistic {
            let Some(background) = self.background else {
                return ConstraintFigure::Unknown(WhyUnknown::NoBackground);
            };
            return background.figure(self.plan, of, measurement, part, self.moment.goes_on);
        }
        let Some(index) = self.estimates.row_named(measurement) else {
            return ConstraintFigure::Unknown(WhyUnknown::NotMeasured);
        };
        match self.part_estimates(part) {
            Ok(estimates) => {
                let figure = self.row_figure(estimates, index, statistic);
                let slides = matches!(part, PartOfRun::Last(_));
                if slides && self.moment.goes_on {
                    still_open(figure)
                } else {
                    figure
                }
            }
            Err(why) => ConstraintFigure::Unknown(why),
        }
    }
}

impl<'a> FiguresOfRun<'a> {
    fn part_estimates(&self, part: PartOfRun) -> Result<&RunEstimates<'a>, WhyUnknown> {
        if part == PartOfRun::Whole {
            return Ok(self.estimates);
        }
        let mut known = self.parts.iter();
        match known
            .find(|(other, _)| *other == part)
            .map(|(_, known)| known)
        {
            Some(PartEstimates::Known(estimates)) => Ok(estimates),
            Some(PartEstimates::TooMany) => Err(WhyUnknown::TooMany),
            Some(PartEstimates::NoStage) | None => Err(WhyUnknown::NoStage),
        }
    }

    /// The summaries of a row; of a page, those of its files.
    fn summaries(&self, index: usize) -> Vec<&TestSummary> {
        let Some(page) = index.checked_sub(self.rows.len()) else {
            return self.rows.get(index).into_iter().collect();
        };
        let pages = self.plan.pages.get(page).into_iter();
        let files = pages.flat_map(|page| &page.files);
        let rows = files.filter_map(|file| self.rows.get(usize::from(file.0)));
        rows.collect()
    }

    fn row_figure(
        &self,
        estimates: &RunEstimates<'_>,
        index: usize,
        statistic: Statistic,
    ) -> ConstraintFigure {
        let rows = self.summaries(index);
        let is = |status: Status| rows.iter().any(|row| row.status == status);
        let was_ended =
            |row: &&TestSummary| matches!(row.evidence, Some(StatusReason::EndedEarly(_)));
        if rows.iter().any(was_ended) {
            return ConstraintFigure::Unknown(WhyUnknown::NotMeasured);
        }
        if is(Status::NotSupported) || is(Status::Skipped) {
            return ConstraintFigure::Unknown(WhyUnknown::NotSupported);
        }
        // Of a page, the parts may be none.
        if rows.iter().all(|row| row.status == Status::NotDrawn) {
            return ConstraintFigure::Unknown(WhyUnknown::NeverChosen);
        }
        let (operations, seconds) = estimates.extent(index);
        if operations == 0 {
            return ConstraintFigure::Unknown(WhyUnknown::NoOperation);
        }
        let is_count = matches!(
            statistic,
            Statistic::Fact(
                FactOfRow::Operations
                    | FactOfRow::Connections
                    | FactOfRow::BytesSent
                    | FactOfRow::BytesReceived
            )
        );
        if rows.iter().any(|row| row.may_be_no_failure) && !is_count {
            return ConstraintFigure::Unknown(WhyUnknown::MayBeNoFailure);
        }
        let is_disqualified = rows.iter().any(|row| row.disqualified().is_some());
        if is_disqualified && !is_count && statistic != Statistic::Fact(FactOfRow::Failures) {
            return ConstraintFigure::Unknown(WhyUnknown::Disqualified);
        }
        let scale = scale(statistic.kind());
        let known = |value, low, high| Known {
            value,
            low,
            high,
            samples: operations,
            seconds,
        };
        match statistic {
            Statistic::Fact(fact) => match estimates.fact(index, fact) {
                Some(count) => {
                    let value = count as f64 / scale;
                    let (low, high) = self.moment.ends(fact, value);
                    ConstraintFigure::Known(known(value, low, high))
                }
                None => ConstraintFigure::Unknown(WhyUnknown::NoTime),
            },
            Statistic::Estimate(of) => self.estimate(estimates, index, of, |value, low, high| {
                known(value / scale, low / scale, high / scale)
            }),
            Statistic::Background(_) | Statistic::Compared(_) => {
                ConstraintFigure::Unknown(WhyUnknown::NotMeasured)
            }
        }
    }

    /// An estimate with its interval. Without one, its true value may be any.
    fn estimate(
        &self,
        estimates: &RunEstimates<'_>,
        index: usize,
        of: EstimatedStatistic,
        known: impl Fn(f64, f64, f64) -> Known,
    ) -> ConstraintFigure {
        match estimates.estimate(index, of, self.moment.miss) {
            Ok(JudgedEstimate { value, low, high }) => {
                ConstraintFigure::Known(known(value, low, high))
            }
            Err(why) => match estimates.value(index, of) {
                Some(value) => {
                    ConstraintFigure::Vague(known(value, f64::NEG_INFINITY, f64::INFINITY), why)
                }
                None => ConstraintFigure::Unknown(why),
            },
        }
    }
}

/// What a sliding window has now decides nothing: it will have something else when the run ends.
fn still_open(figure: ConstraintFigure) -> ConstraintFigure {
    match figure {
        ConstraintFigure::Known(known) | ConstraintFigure::Vague(known, _) => {
            let open = Known {
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
                ..known
            };
            ConstraintFigure::Vague(open, WhyUnknown::NotSteady)
        }
        unknown => unknown,
    }
}

/// How much of `stats` one of the language is: a second has 10^9 nanoseconds.
fn scale(kind: UnitKind) -> f64 {
    match kind {
        UnitKind::TIME => SECOND,
        _ => 1.0,
    }
}
