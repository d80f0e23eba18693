//! What operators make of two values.

use std::cmp::Ordering;

use crate::TemplateError;
use crate::value::{Later, Value};

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TemplateOperator {
    /// `+`: numbers are added, texts and lists are joined.
    Add,
    /// `-`
    Subtract,
    /// `*`: a text or a list is repeated.
    Multiply,
    /// `/`: never a whole number.
    Divide,
    /// `//`: rounded down.
    Quotient,
    /// `%`: with the sign of the divisor.
    Remainder,
    /// `**`
    Power,
    /// `~`: of both as texts.
    Join,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `in`: a part of a text, an item of a list, a name of a map.
    In,
}

impl TemplateOperator {
    /// As it is written.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            TemplateOperator::Add => "+",
            TemplateOperator::Subtract => "-",
            TemplateOperator::Multiply => "*",
            TemplateOperator::Divide => "/",
            TemplateOperator::Quotient => "//",
            TemplateOperator::Remainder => "%",
            TemplateOperator::Power => "**",
            TemplateOperator::Join => "~",
            TemplateOperator::Equal => "==",
            TemplateOperator::Unequal => "!=",
            TemplateOperator::Less => "<",
            TemplateOperator::AtMost => "<=",
            TemplateOperator::Greater => ">",
            TemplateOperator::AtLeast => ">=",
            TemplateOperator::In => "in",
        }
    }

    /// Of two numbers; `None` for anything else.
    pub(crate) fn of_numbers<L: Later>(
        self,
        left: &Value<L>,
        right: &Value<L>,
    ) -> Option<Result<Value<L>, TemplateError>> {
        if let (Value::Integer(left), Value::Integer(right)) = (left, right)
            && self != TemplateOperator::Divide
            && (self != TemplateOperator::Power || *right >= 0)
        {
            let found = self.of_integers(*left, *right);
            return found.map(|found| found.map(Value::Integer));
        }
        let (left, right) = (left.real()?, right.real()?);
        let is_by_zero = [
            TemplateOperator::Divide,
            TemplateOperator::Quotient,
            TemplateOperator::Remainder,
        ]
        .contains(&self)
            && right == 0.0;
        if is_by_zero {
            return Some(Err(by_zero()));
        }
        Some(Ok(Value::Real(match self {
            TemplateOperator::Add => left + right,
            TemplateOperator::Subtract => left - right,
            TemplateOperator::Multiply => left * right,
            TemplateOperator::Divide => left / right,
            TemplateOperator::Quotient => (left / right).floor(),
            TemplateOperator::Remainder => left - right * (left / right).floor(),
            TemplateOperator::Power => left.powf(right),
            _ => return None,
        })))
    }

    fn of_integers(self, left: i128, right: i128) -> Option<Result<i128, TemplateError>> {
        let found = match self {
            TemplateOperator::Add => left.checked_add(right),
            TemplateOperator::Subtract => left.checked_sub(right),
            TemplateOperator::Multiply => left.checked_mul(right),
            TemplateOperator::Quotient | TemplateOperator::Remainder if right == 0 => {
                return Some(Err(by_zero()));
            }
            TemplateOperator::Quotient => floored(left, right).map(|(quotient, _)| quotient),
            TemplateOperator::Remainder => floored(left, right).map(|(_, remainder)| remainder),
            TemplateOperator::Power => u32::try_from(right)
                .ok()
                .and_then(|right| left.checked_pow(right)),
            _ => return None,
        };
        Some(found.ok_or_else(|| TemplateError::Unfit("a number is too large".to_owned())))
    }

    /// Of two values that can be compared; `None` for anything else.
    pub(crate) fn of_order<L: Later>(self, left: &Value<L>, right: &Value<L>) -> Option<bool> {
        let order = || order(left, right);
        Some(match self {
            TemplateOperator::Equal => is_equal(left, right),
            TemplateOperator::Unequal => !is_equal(left, right),
            TemplateOperator::Less => order()? == Ordering::Less,
            TemplateOperator::AtMost => order()? != Ordering::Greater,
            TemplateOperator::Greater => order()? == Ordering::Greater,
            TemplateOperator::AtLeast => order()? != Ordering::Less,
            TemplateOperator::In => is_in(left, right)?,
            _ => return None,
        })
    }
}

/// Quotient and remainder; the quotient is rounded down. `None` where it is too large.
fn floored(left: i128, right: i128) -> Option<(i128, i128)> {
    let (quotient, remainder) = (left.checked_div(right)?, left.checked_rem(right)?);
    Some(if remainder != 0 && (remainder < 0) != (right < 0) {
        (quotient - 1, remainder + right)
    } else {
        (quotient, remainder)
    })
}

fn by_zero() -> TemplateError {
    TemplateError::Unfit("a division by zero".to_owned())
}

/// Numbers are equal whatever their kind, and what has a name is equal to it.
pub(crate) fn is_equal<L: Later>(left: &Value<L>, right: &Value<L>) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(&**right).all(|(a, b)| is_equal(a, b))
        }
        (Value::Map(left), Value::Map(right)) => {
            let mut members = left.iter().zip(&**right);
            left.len() == right.len() && members.all(|(a, b)| a.0 == b.0 && is_equal(a.1, b.1))
        }
        _ => match order(left, right) {
            Some(order) => order == Ordering::Equal,
            None => left == right,
        },
    }
}

/// The order of numbers and of texts.
pub(crate) fn order<L: Later>(left: &Value<L>, right: &Value<L>) -> Option<Ordering> {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        _ => match (left.text(), right.text()) {
            (Some(left), Some(right)) => Some(left.cmp(right)),
            _ => left.real()?.partial_cmp(&right.real()?),
        },
    }
}

fn is_in<L: Later>(left: &Value<L>, right: &Value<L>) -> Option<bool> {
    match right {
        Value::List(items) => Some(items.iter().any(|item| is_equal(item, left))),
        Value::Map(members) => Some(members.contains_key(left.text()?)),
        _ => Some(right.text()?.contains(left.text()?)),
    }
}
