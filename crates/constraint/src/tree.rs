//! A constraint as a tree, and as text again.

use std::fmt;

use crate::statistic::{Characteristic, Statistic};
use crate::unit::{UNITS, UnitKind};

/// A well-formed constraint. [`check`](Self::check) checks it against a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    pub(crate) root: ExpressionNode,
}

/// A part of a constraint, with the bytes of the text before it.
#[derive(Debug, Clone)]
pub(crate) struct ExpressionNode {
    pub(crate) offset: usize,
    pub(crate) part: Part,
}

/// The position of a part does not affect its meaning.
impl PartialEq for ExpressionNode {
    fn eq(&self, other: &ExpressionNode) -> bool {
        self.part == other.part
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Quantity(WrittenQuantity),
    Characteristic(Characteristic),
    /// A parameter or a constraint.
    Name(String),
    Negative(Box<ExpressionNode>),
    Not(Box<ExpressionNode>),
    Pair(ConstraintOperator, Box<ExpressionNode>, Box<ExpressionNode>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WrittenQuantity {
    pub(crate) number: f64,
    /// Index into [`UNITS`]; `None` for a number without a unit.
    pub(crate) unit: Option<usize>,
}

impl WrittenQuantity {
    /// In seconds, bytes and parts of a whole.
    pub(crate) fn value(self) -> f64 {
        self.number * self.unit.map_or(1.0, |unit| UNITS[unit].1)
    }

    pub(crate) fn kind(self) -> UnitKind {
        self.unit.map_or(UnitKind::NUMBER, |unit| UNITS[unit].2)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConstraintOperator {
    Or,
    And,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
    /// Half of the interval of the left side is at most the right side, a share of it.
    Within,
    Plus,
    Minus,
    Times,
    Over,
}

/// All operators. A longer one precedes its own prefixes.
pub(crate) const OPERATORS: [(&str, ConstraintOperator); 15] = [
    ("or", ConstraintOperator::Or),
    ("and", ConstraintOperator::And),
    ("<=", ConstraintOperator::AtMost),
    ("<", ConstraintOperator::Less),
    (">=", ConstraintOperator::AtLeast),
    (">", ConstraintOperator::More),
    ("==", ConstraintOperator::Equal),
    ("!=", ConstraintOperator::Unequal),
    ("±", ConstraintOperator::Within),
    ("+-", ConstraintOperator::Within),
    ("+/-", ConstraintOperator::Within),
    ("+", ConstraintOperator::Plus),
    ("-", ConstraintOperator::Minus),
    ("*", ConstraintOperator::Times),
    ("/", ConstraintOperator::Over),
];

/// Precedence, from the loosest; negation is at 3, and an atom at 7.
const NEGATION: u8 = 3;
const ALONE: u8 = 7;

impl ConstraintOperator {
    pub(crate) fn level(self) -> u8 {
        match self {
            ConstraintOperator::Or => 1,
            ConstraintOperator::And => 2,
            ConstraintOperator::Less
            | ConstraintOperator::AtMost
            | ConstraintOperator::More
            | ConstraintOperator::AtLeast
            | ConstraintOperator::Equal
            | ConstraintOperator::Unequal
            | ConstraintOperator::Within => 4,
            ConstraintOperator::Plus | ConstraintOperator::Minus => 5,
            ConstraintOperator::Times | ConstraintOperator::Over => 6,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        let known = OPERATORS.iter().find(|(_, operator)| *operator == self);
        known.map_or("", |(text, _)| text)
    }
}

impl ExpressionNode {
    fn level(&self) -> u8 {
        match &self.part {
            Part::Pair(operator, _, _) => operator.level(),
            Part::Not(_) => NEGATION,
            _ => ALONE,
        }
    }

    pub(crate) fn below(&self) -> impl Iterator<Item = &ExpressionNode> {
        let (first, second) = match &self.part {
            Part::Negative(of) | Part::Not(of) => (Some(&**of), None),
            Part::Pair(_, a, b) => (Some(&**a), Some(&**b)),
            Part::Quantity(_) | Part::Characteristic(_) | Part::Name(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Writes a part of an operation, in parentheses if it binds less tightly than `level`.
    fn write(&self, f: &mut fmt::Formatter<'_>, level: u8) -> fmt::Result {
        if self.level() < level {
            write!(f, "(")?;
            self.write(f, 0)?;
            return write!(f, ")");
        }
        match &self.part {
            Part::Quantity(WrittenQuantity { number, unit }) => {
                write!(f, "{number}")?;
                unit.map_or(Ok(()), |unit| write!(f, " {}", UNITS[unit].0))
            }
            Part::Characteristic(characteristic) => write!(f, "{characteristic}"),
            Part::Name(name) => f.write_str(name),
            Part::Negative(of) => {
                f.write_str("-")?;
                of.write(f, ALONE)
            }
            Part::Not(of) => {
                f.write_str("not ")?;
                of.write(f, NEGATION)
            }
            Part::Pair(operator, a, b) => {
                // Operations of a level associate to the left; comparisons do not follow others.
                let level = operator.level();
                let is_chain = level != ConstraintOperator::Less.level();
                a.write(f, if is_chain { level } else { level + 1 })?;
                write!(f, " {} ", operator.text())?;
                b.write(f, level + 1)
            }
        }
    }
}

impl Constraint {
    /// The statistic and the share, if the constraint is `p99 ± 5 %` without a measurement.
    pub fn precision(&self) -> Option<(Statistic, f64)> {
        let Part::Pair(ConstraintOperator::Within, of, share) = &self.root.part else {
            return None;
        };
        match (&of.part, &share.part) {
            (Part::Characteristic(of), Part::Quantity(share))
                if share.kind() == UnitKind::SHARE =>
            {
                of.measurement
                    .is_none()
                    .then(|| (of.statistic, share.value()))
            }
            _ => None,
        }
    }

    /// Renames measurements: `new` has the new name of one, `None` if it is unchanged.
    #[must_use]
    pub fn renamed(mut self, new: &impl Fn(&str) -> Option<String>) -> Constraint {
        self.root.rename(new);
        self
    }
}

impl ExpressionNode {
    fn rename(&mut self, new: &impl Fn(&str) -> Option<String>) {
        match &mut self.part {
            Part::Characteristic(Characteristic {
                measurement: Some(name),
                ..
            }) => {
                if let Some(new) = new(name) {
                    *name = new;
                }
            }
            Part::Negative(of) | Part::Not(of) => of.rename(new),
            Part::Pair(_, a, b) => {
                a.rename(new);
                b.rename(new);
            }
            Part::Characteristic(_) | Part::Quantity(_) | Part::Name(_) => {}
        }
    }
}

impl fmt::Display for Constraint {
    /// Writes single blanks, and no unnecessary parentheses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.write(f, 0)
    }
}
