//! What a run comes to by its constraints.

use constraint::UnitKind;
pub use constraint::WhyUnknown;
use record::ConstraintSense;

use crate::Conclusion;

/// A constraint and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedConstraint {
    /// Its name in the suite, or the option that it was given with.
    pub name: String,
    /// Its expression.
    pub expression: String,
    /// What it means when the expression is true.
    pub sense: ConstraintSense,
    /// Pass or fail if the intervals allow no other result; otherwise inconclusive.
    pub verdict: Conclusion,
    /// What was read for it, in the order of the expression, and of the rows where it names none.
    pub readings: Vec<ConstraintReading>,
}

/// A characteristic at the end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintReading {
    /// As it is written, with its row: `p99(Get1K)`.
    pub characteristic: String,
    /// What its figures count.
    pub unit: UnitKind,
    /// The figures.
    pub figure: ReadFigure,
}

/// The figures of a reading.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadFigure {
    /// A fact, which has no interval.
    Fact(f64),
    /// An estimate, with the ends of its interval.
    Estimate {
        /// The estimate.
        value: f64,
        /// The lower end of its interval.
        low: f64,
        /// The upper end; infinite where the operations give none.
        high: f64,
    },
    /// An estimate without an interval, which decides nothing.
    Vague {
        /// The estimate.
        value: f64,
        /// Why it has no interval.
        why: WhyUnknown,
    },
    /// It has no value, for this reason.
    Unknown(WhyUnknown),
}

impl ReadFigure {
    /// The fact or the estimate; `None` where it is unknown.
    pub fn value(&self) -> Option<f64> {
        match self {
            ReadFigure::Fact(value)
            | ReadFigure::Estimate { value, .. }
            | ReadFigure::Vague { value, .. } => Some(*value),
            ReadFigure::Unknown(_) => None,
        }
    }
}
