//! Evaluation of constraints with the figures of a run.

use crate::check::CheckedConstraint;
use crate::statistic::{Characteristic, PartOfRun, Statistic};
use crate::tree::{ConstraintOperator, ExpressionNode, Part};

/// Stands for all components of background traffic where a component is expected.
pub const ALL_COMPONENTS: &str = "";

/// The figures of a run.
pub trait FigureSource {
    /// Names of the rows, for characteristics without a measurement.
    fn rows(&self) -> Vec<String>;

    /// A figure of a measurement in a part of the run, in seconds, bytes, operations and parts of a
    /// whole. The measurement is a component if the statistic is about background traffic, or
    /// [`ALL_COMPONENTS`].
    fn figure(&self, statistic: Statistic, measurement: &str, part: PartOfRun) -> ConstraintFigure;
}

/// Value of a characteristic, if known.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstraintFigure {
    /// A value with an interval.
    Known(Known),
    /// A value with an unbounded interval, for this reason.
    Vague(Known, WhyUnknown),
    /// No value, for this reason.
    Unknown(WhyUnknown),
}

/// The reason for a missing value or interval.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyUnknown {
    /// The run has no such row.
    NotMeasured,
    /// The run has no background traffic, or no such component of it.
    NoBackground,
    /// The server does not support it.
    NotSupported,
    /// Random choices never selected it.
    NeverChosen,
    /// The load has no such stage.
    NoStage,
    /// The sliding window has more operations than can be held.
    TooMany,
    /// No operation counts.
    NoOperation,
    /// No operation has a time.
    NoTime,
    /// The failures may have been caused by the load generator.
    MayBeNoFailure,
    /// A warning disqualifies the row.
    Disqualified,
    /// There are too few operations for an interval.
    TooFew {
        /// Number of samples.
        samples: u64,
        /// Approximate number for an interval.
        needed: u64,
    },
    /// The window is too short for an interval.
    TooShort,
    /// The load was changed intentionally, or the run waited for its turn.
    NotSteady,
    /// A rate rose or fell slowly.
    Wanders,
    /// The constraint requires more samples.
    FewerSamples {
        /// Number of samples.
        samples: u64,
        /// Required number.
        least: u64,
    },
    /// The constraint requires a longer time.
    LessTime {
        /// Time of the measurement.
        seconds: f64,
        /// Required time.
        least: f64,
    },
    /// The constraint in the record cannot be parsed.
    Unreadable(String),
}

/// A figure and the samples that it is based on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// The fact or the estimate.
    pub value: f64,
    /// The lower end of its interval; for a fact, the fact.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Number of its samples.
    pub samples: u64,
    /// Seconds over which they were taken.
    pub seconds: f64,
}

/// Meaning of characteristics without a measurement, over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// True if true of every row.
    All,
    /// True if true of any row.
    Any,
}

/// Result of a constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedTruth {
    /// Truth; `None` if the figures do not decide it.
    pub truth: Option<bool>,
    /// Figures that were read, each once.
    pub readings: Vec<Reading>,
}

/// Truth of a constraint for one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowTruth {
    /// The row; `None` if the constraint names all its rows.
    pub row: Option<String>,
    /// Truth; `None` if the figures do not decide it.
    pub truth: Option<bool>,
}

/// A characteristic of a row, and its figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Names the row even if the constraint does not.
    pub characteristic: Characteristic,
    /// Its figure.
    pub figure: ConstraintFigure,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct ValueSpan {
    low: f64,
    high: f64,
}

impl ValueSpan {
    const ALL: ValueSpan = ValueSpan {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    fn of(low: f64, high: f64) -> ValueSpan {
        // Infinity minus infinity, for example.
        if low.is_nan() || high.is_nan() || low > high {
            ValueSpan::ALL
        } else {
            ValueSpan { low, high }
        }
    }

    fn corners(self, other: ValueSpan, combine: impl Fn(f64, f64) -> f64) -> ValueSpan {
        let all = [
            combine(self.low, other.low),
            combine(self.low, other.high),
            combine(self.high, other.low),
            combine(self.high, other.high),
        ];
        if all.iter().any(|corner| corner.is_nan()) {
            return ValueSpan::ALL;
        }
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        ValueSpan::of(low, high)
    }

    fn combined(self, operator: ConstraintOperator, other: ValueSpan) -> ValueSpan {
        match operator {
            ConstraintOperator::Plus => ValueSpan::of(self.low + other.low, self.high + other.high),
            ConstraintOperator::Minus => {
                ValueSpan::of(self.low - other.high, self.high - other.low)
            }
            // Zero times anything is zero, even without an upper end.
            ConstraintOperator::Times => {
                self.corners(other, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b })
            }
            _ if other.low <= 0.0 && other.high >= 0.0 => ValueSpan::ALL,
            _ => self.corners(other, |a, b| a / b),
        }
    }

    /// `true` if it holds for all pairs of values, `false` if for none.
    fn compared(self, operator: ConstraintOperator, other: ValueSpan) -> Option<bool> {
        let (a, b) = (self, other);
        let decided = |always: bool, never: bool| match (always, never) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        let is_one = a.low == a.high && b.low == b.high && a.low == b.low;
        let is_apart = a.high < b.low || b.high < a.low;
        match operator {
            ConstraintOperator::Less => decided(a.high < b.low, a.low >= b.high),
            ConstraintOperator::AtMost => decided(a.high <= b.low, a.low > b.high),
            ConstraintOperator::More => decided(a.low > b.high, a.high <= b.low),
            ConstraintOperator::AtLeast => decided(a.low >= b.high, a.high < b.low),
            ConstraintOperator::Equal => decided(is_one, is_apart),
            _ => decided(is_apart, is_one),
        }
    }
}

struct Evaluation<'a> {
    figures: &'a dyn FigureSource,
    row: Option<&'a str>,
    /// Estimates count without their intervals.
    as_measured: bool,
    readings: Vec<Reading>,
}

impl CheckedConstraint {
    /// Judges by intervals: true or false only if all values within them agree.
    pub fn judge(&self, figures: &dyn FigureSource, over: Quantifier) -> JudgedTruth {
        self.evaluate(figures, over, false)
    }

    /// Judges by estimates without intervals: by what was observed, not what is to be expected.
    pub fn judge_as_measured(&self, figures: &dyn FigureSource, over: Quantifier) -> JudgedTruth {
        self.evaluate(figures, over, true)
    }

    /// Truth; `None` if the figures do not decide it.
    pub fn holds(&self, figures: &dyn FigureSource, over: Quantifier) -> Option<bool> {
        self.judge(figures, over).truth
    }

    /// Judges each row separately.
    pub fn judge_rows(&self, figures: &dyn FigureSource) -> Vec<RowTruth> {
        self.rows_and_readings(figures, false).0
    }

    fn evaluate(
        &self,
        figures: &dyn FigureSource,
        over: Quantifier,
        as_measured: bool,
    ) -> JudgedTruth {
        let (rows, readings) = self.rows_and_readings(figures, as_measured);
        let truths = rows.iter().map(|row| row.truth);
        let truth = match over {
            _ if rows.is_empty() => None,
            Quantifier::All => truths.fold(Some(true), and),
            Quantifier::Any => truths.fold(Some(false), or),
        };
        JudgedTruth { truth, readings }
    }

    fn rows_and_readings(
        &self,
        figures: &dyn FigureSource,
        as_measured: bool,
    ) -> (Vec<RowTruth>, Vec<Reading>) {
        let is_of_rows = self.characteristics().any(|characteristic| {
            characteristic.measurement.is_none() && !characteristic.statistic.is_background()
        });
        let rows = if is_of_rows {
            figures.rows().into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        let mut readings = Vec::new();
        let mut truths = Vec::new();
        for row in rows {
            let mut evaluation = Evaluation {
                figures,
                row: row.as_deref(),
                as_measured,
                readings,
            };
            let truth = evaluation.truth(&self.root);
            readings = evaluation.readings;
            truths.push(RowTruth { row, truth });
        }
        (truths, readings)
    }
}

/// Kleene's conjunction.
fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Kleene's disjunction.
fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    and(a.map(|a| !a), b.map(|b| !b)).map(|neither| !neither)
}

impl Evaluation<'_> {
    fn truth(&mut self, node: &ExpressionNode) -> Option<bool> {
        match &node.part {
            Part::Not(of) => self.truth(of).map(|truth| !truth),
            Part::Characteristic(_) => {
                let nothing = ValueSpan::of(0.0, 0.0);
                self.span(node)?.compared(ConstraintOperator::More, nothing)
            }
            Part::Pair(ConstraintOperator::And, a, b) => {
                let (a, b) = (self.truth(a), self.truth(b));
                and(a, b)
            }
            Part::Pair(ConstraintOperator::Or, a, b) => {
                let (a, b) = (self.truth(a), self.truth(b));
                or(a, b)
            }
            Part::Pair(ConstraintOperator::Within, a, b) => self.is_within(a, b),
            Part::Pair(operator, a, b) => {
                let (a, b) = (self.span(a), self.span(b));
                a?.compared(*operator, b?)
            }
            _ => None,
        }
    }

    fn is_within(&mut self, node: &ExpressionNode, share: &ExpressionNode) -> Option<bool> {
        let (Part::Characteristic(node), Part::Quantity(share)) = (&node.part, &share.part) else {
            return None;
        };
        let known = self.read(node)?;
        let half = (known.high - known.low) / 2.0;
        // A wide interval is not evidence against the condition: more operations make it narrower.
        (half <= share.value() * known.value).then_some(true)
    }

    /// Possible values of a part; `None` if unknown.
    fn span(&mut self, node: &ExpressionNode) -> Option<ValueSpan> {
        match &node.part {
            Part::Quantity(quantity) => Some(ValueSpan::of(quantity.value(), quantity.value())),
            Part::Characteristic(of) => {
                let known = self.read(of)?;
                Some(if self.as_measured {
                    ValueSpan::of(known.value, known.value)
                } else {
                    ValueSpan::of(known.low, known.high)
                })
            }
            Part::Negative(of) => {
                let span = self.span(of)?;
                Some(ValueSpan::of(-span.high, -span.low))
            }
            Part::Pair(operator, a, b) => {
                let (a, b) = (self.span(a), self.span(b));
                Some(a?.combined(*operator, b?))
            }
            Part::Name(_) | Part::Not(_) => None,
        }
    }

    /// The figure of a characteristic, if it has enough samples.
    fn read(&mut self, wanted: &Characteristic) -> Option<Known> {
        let is_of_all = wanted.statistic.is_background() && wanted.measurement.is_none();
        let row = match &wanted.measurement {
            _ if is_of_all => ALL_COMPONENTS,
            Some(measurement) => measurement,
            None => self.row?,
        };
        let figure = match self.figures.figure(wanted.statistic, row, wanted.part) {
            ConstraintFigure::Known(known) => {
                enough(wanted, known).unwrap_or(ConstraintFigure::Known(known))
            }
            ConstraintFigure::Vague(known, why) => {
                enough(wanted, known).unwrap_or(ConstraintFigure::Vague(known, why))
            }
            unknown => unknown,
        };
        let known = match &figure {
            ConstraintFigure::Known(known) | ConstraintFigure::Vague(known, _) => Some(*known),
            ConstraintFigure::Unknown(_) => None,
        };
        let characteristic = Characteristic {
            measurement: (!is_of_all).then(|| row.to_owned()),
            ..wanted.clone()
        };
        let reading = Reading {
            characteristic,
            figure,
        };
        if !self.readings.contains(&reading) {
            self.readings.push(reading);
        }
        known
    }
}

/// The reason why a figure with less than the required samples or time has no value.
fn enough(characteristic: &Characteristic, known: Known) -> Option<ConstraintFigure> {
    let few = characteristic
        .samples
        .filter(|least| known.samples < *least);
    let short = characteristic
        .seconds
        .filter(|least| known.seconds < *least);
    match (few, short) {
        (Some(least), _) => Some(ConstraintFigure::Unknown(WhyUnknown::FewerSamples {
            samples: known.samples,
            least,
        })),
        (None, Some(least)) => Some(ConstraintFigure::Unknown(WhyUnknown::LessTime {
            seconds: known.seconds,
            least,
        })),
        (None, None) => None,
    }
}
