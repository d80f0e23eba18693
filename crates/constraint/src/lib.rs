//! Constraints on measurements: `p99(Get1K) < 5 ms and failures(Get1K) == 0`.
//!
//! ```text
//! text --parse--> Constraint --check--> CheckedConstraint --judge--> true, false or unknown
//!                   (a tree)   names, units           with the figures of a run
//! ```
//!
//! The grammar, in which blanks may stand anywhere between words:
//!
//! ```text
//! constraint     = conjunction { "or" conjunction }
//! conjunction    = negation { "and" negation }
//! negation       = "not" negation | comparison
//! comparison     = sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum | ( "±" | "+-" ) sum ]
//! sum            = product { ( "+" | "-" ) product }
//! product        = factor { ( "*" | "/" ) factor }
//! factor         = "-" factor | quantity | characteristic | name | "(" constraint ")"
//! quantity       = number [ unit ]
//! unit           = "ns" | "us" | "µs" | "ms" | "s" | "min" | "h" | "%" | size [ "/s" ] | "/s"
//! size           = "B" | "kB" | "MB" | "GB" | "KiB" | "MiB" | "GiB"
//! characteristic = statistic [ "(" measurement { "," restriction } ")" ]
//!                | background [ "(" ( component | restriction ) { "," restriction } ")" ]
//! measurement    = word | '"' characters '"'
//! restriction    = "last" quantity | "stage" number | "samples" ">=" number | "over" ">=" quantity
//! ```
//!
//! A characteristic without a measurement stands for each row of a run in turn; one of background
//! traffic (`background_loss`) without a component stands for all components together. A *name* is
//! a parameter of the suite or another constraint. A comparison of two servers has other
//! characteristics than a run ([`ConstraintSubject`]), which are true or false, or are compared
//! with a share or a number: `slower(Get1K) > 5 % or fsync > 0`.
//!
//! A constraint is judged in Kleene's strong three-valued logic: every estimate is an interval,
//! arithmetic is that of intervals (Moore, *Interval Analysis*, 1966), and a comparison is true if
//! it holds for all values of both sides, false if for none, and unknown otherwise. A quantity that
//! occurs twice in an expression is treated as two quantities, so the result may be unknown where
//! it could be known; it is never wrong for that reason.

mod check;
mod judge;
mod parse;
mod statistic;
mod storage_call;
#[cfg(test)]
mod tests;
mod tree;
mod unit;

pub use check::{CheckedConstraint, ConstraintSubject, Scope};
pub use judge::{
    ALL_COMPONENTS, ConstraintFigure, FigureSource, JudgedTruth, Known, Quantifier, Reading,
    RowTruth, WhyUnknown,
};
pub use statistic::{
    BackgroundCharacteristic, Characteristic, ComparedCharacteristic, EstimatedStatistic,
    FactOfRow, PartOfRun, Statistic,
};
pub use storage_call::StorageCall;
pub use tree::Constraint;
pub use unit::UnitKind;

/// A defect of a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConstraintError {
    /// Bytes of the text before the defect.
    pub offset: usize,
    /// The defect, and what to write instead.
    pub message: String,
}

impl ConstraintError {
    fn at(offset: usize, message: impl Into<String>) -> ConstraintError {
        ConstraintError {
            offset,
            message: message.into(),
        }
    }

    /// The message, and this text with a mark below the defect.
    pub fn marked(&self, text: &str) -> String {
        let before = text.get(..self.offset).unwrap_or(text).chars().count();
        format!("{self}\n\n  {text}\n  {}^", " ".repeat(before))
    }
}
