//! The truth of a constraint, as far as figures tell it.

use crate::check::CheckedConstraint;
use crate::statistic::{Characteristic, PartOfRun, Statistic};
use crate::tree::{ConstraintOperator, ExpressionNode, Part};

/// Stands for all components of background traffic where a component is named.
pub const ALL_COMPONENTS: &str = "";

/// The figures of a run.
pub trait FigureSource {
    /// Names of the rows, for characteristics without a measurement.
    fn rows(&self) -> Vec<String>;

    /// A figure of a measurement in a part of the run, in seconds, bytes, operations and parts of a whole. The
    /// measurement is a component where the statistic is of background traffic, or [`ALL_COMPONENTS`].
    fn figure(&self, statistic: Statistic, measurement: &str, part: PartOfRun) -> ConstraintFigure;
}

/// What is known of a characteristic.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstraintFigure {
    /// It has a value.
    Known(Known),
    /// It has a value, and an interval without ends, for this reason.
    Vague(Known, WhyUnknown),
    /// It has none, for this reason.
    Unknown(WhyUnknown),
}

/// Why a characteristic has no value, or no interval.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyUnknown {
    /// The run has no such row.
    NotMeasured,
    /// The run has no background traffic, or no such component of it.
    NoBackground,
    /// The server does not support it.
    NotSupported,
    /// Chance never chose it.
    NeverChosen,
    /// The load has no such stage.
    NoStage,
    /// The sliding window has more operations than are held.
    TooMany,
    /// No operation counts.
    NoOperation,
    /// No operation has a time.
    NoTime,
    /// The load generator may have caused the failures.
    MayBeNoFailure,
    /// A warning disqualifies the row.
    Disqualified,
    /// Operations are too few for an interval; about so many are needed.
    TooFew {
        /// What there is.
        samples: u64,
        /// What would be enough.
        needed: u64,
    },
    /// The window is too short for an interval.
    TooShort,
    /// The load changed on purpose, or the run waited for its turn.
    NotSteady,
    /// A rate went up or down slowly.
    Wanders,
    /// The constraint asks for more samples.
    FewerSamples {
        /// What there is.
        samples: u64,
        /// What it asks for.
        least: u64,
    },
    /// The constraint asks for a longer time.
    LessTime {
        /// What there is.
        seconds: f64,
        /// What it asks for.
        least: f64,
    },
    /// The constraint of the record cannot be read.
    Unreadable(String),
}

/// A figure with what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// The fact or the estimate.
    pub value: f64,
    /// The lower end of its interval; of a fact, the fact.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Samples that it is made of.
    pub samples: u64,
    /// Seconds over which they were taken.
    pub seconds: f64,
}

/// What characteristics without a measurement mean together, over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// True if true of every row.
    All,
    /// True if true of any row.
    Any,
}

/// What a constraint comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedTruth {
    /// Whether it is true; `None` where the figures do not tell.
    pub truth: Option<bool>,
    /// What was read for it, each once.
    pub readings: Vec<Reading>,
}

/// Whether a constraint is true of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowTruth {
    /// The row; `None` where the constraint names all its rows.
    pub row: Option<String>,
    /// Whether it is true; `None` where the figures do not tell.
    pub truth: Option<bool>,
}

/// A characteristic of a row, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// With the row where it names none.
    pub characteristic: Characteristic,
    /// Its figure.
    pub figure: ConstraintFigure,
}

/// Values from the lowest to the highest.
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
        // Infinity less infinity, for example.
        if low.is_nan() || high.is_nan() || low > high {
            ValueSpan::ALL
        } else {
            ValueSpan { low, high }
        }
    }

    /// What an operation makes of the ends of both.
    fn corners(self, other: ValueSpan, of: impl Fn(f64, f64) -> f64) -> ValueSpan {
        let all = [
            of(self.low, other.low),
            of(self.low, other.high),
            of(self.high, other.low),
            of(self.high, other.high),
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
            // Nothing times anything is nothing, also where there is no upper end.
            ConstraintOperator::Times => {
                self.corners(other, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b })
            }
            _ if other.low <= 0.0 && other.high >= 0.0 => ValueSpan::ALL,
            _ => self.corners(other, |a, b| a / b),
        }
    }

    /// Whether it holds for all pairs of values (true), or for none (false).
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

/// A part with the figures of a row.
struct Evaluation<'a> {
    figures: &'a dyn FigureSource,
    row: Option<&'a str>,
    /// Estimates count as what they are in the middle.
    as_measured: bool,
    readings: Vec<Reading>,
}

impl CheckedConstraint {
    /// Judges by intervals: true or false only where no value within them says otherwise.
    pub fn judge(&self, figures: &dyn FigureSource, over: Quantifier) -> JudgedTruth {
        self.evaluate(figures, over, false)
    }

    /// Judges by the estimates themselves, as if they had no intervals: what was, and not what would be.
    pub fn judge_as_measured(&self, figures: &dyn FigureSource, over: Quantifier) -> JudgedTruth {
        self.evaluate(figures, over, true)
    }

    /// Whether it is true; `None` where the figures do not tell.
    pub fn holds(&self, figures: &dyn FigureSource, over: Quantifier) -> Option<bool> {
        self.judge(figures, over).truth
    }

    /// The same of each row on its own.
    pub fn judge_rows(&self, figures: &dyn FigureSource) -> Vec<RowTruth> {
        self.of_rows(figures, false).0
    }

    fn evaluate(
        &self,
        figures: &dyn FigureSource,
        over: Quantifier,
        as_measured: bool,
    ) -> JudgedTruth {
        let (rows, readings) = self.of_rows(figures, as_measured);
        let truths = rows.iter().map(|row| row.truth);
        let truth = match over {
            _ if rows.is_empty() => None,
            Quantifier::All => truths.fold(Some(true), and),
            Quantifier::Any => truths.fold(Some(false), or),
        };
        JudgedTruth { truth, readings }
    }

    fn of_rows(
        &self,
        figures: &dyn FigureSource,
        as_measured: bool,
    ) -> (Vec<RowTruth>, Vec<Reading>) {
        let is_of_rows = self
            .characteristics()
            .any(|of| of.measurement.is_none() && !of.statistic.is_background());
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

    fn is_within(&mut self, of: &ExpressionNode, share: &ExpressionNode) -> Option<bool> {
        let (Part::Characteristic(of), Part::Quantity(share)) = (&of.part, &share.part) else {
            return None;
        };
        let known = self.read(of)?;
        let half = (known.high - known.low) / 2.0;
        // A wide interval says nothing of what is measured: more operations make it narrower.
        (half <= share.value() * known.value).then_some(true)
    }

    /// The values that a part may have; `None` where nothing is known.
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

    /// The figure of a characteristic, if there is enough of it.
    fn read(&mut self, of: &Characteristic) -> Option<Known> {
        let is_of_all = of.statistic.is_background() && of.measurement.is_none();
        let row = match &of.measurement {
            _ if is_of_all => ALL_COMPONENTS,
            Some(measurement) => measurement,
            None => self.row?,
        };
        let figure = match self.figures.figure(of.statistic, row, of.part) {
            ConstraintFigure::Known(known) => {
                enough(of, known).unwrap_or(ConstraintFigure::Known(known))
            }
            ConstraintFigure::Vague(known, why) => {
                enough(of, known).unwrap_or(ConstraintFigure::Vague(known, why))
            }
            unknown => unknown,
        };
        let known = match &figure {
            ConstraintFigure::Known(known) | ConstraintFigure::Vague(known, _) => Some(*known),
            ConstraintFigure::Unknown(_) => None,
        };
        let characteristic = Characteristic {
            measurement: (!is_of_all).then(|| row.to_owned()),
            ..of.clone()
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

/// What is missing of a figure that has fewer samples or less time than was asked for.
fn enough(of: &Characteristic, known: Known) -> Option<ConstraintFigure> {
    let few = of.samples.filter(|least| known.samples < *least);
    let short = of.seconds.filter(|least| known.seconds < *least);
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
