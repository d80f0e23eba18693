//! Results of operators.

use std::cmp::Ordering;

use crate::TemplateError;
use crate::value::{Later, Value, finite, too_large, unfit};

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
    /// `~`: joins both as texts.
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
    /// Sign of the operator.
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

    /// The result for two numbers; `None` for anything else.
    pub(crate) fn apply_to_numbers<L: Later>(
        self,
        left: &Value<L>,
        right: &Value<L>,
    ) -> Option<Result<Value<L>, TemplateError>> {
        let integers = left.integer().zip(right.integer());
        let found = integers.and_then(|(left, right)| self.apply_to_integers(left, right));
        match found {
            Some(found) => Some(found.map(Value::Integer)),
            None => self.apply_to_reals(left.real()?, right.real()?),
        }
    }

    /// The result for two whole numbers; `None` if it may not be whole.
    fn apply_to_integers(self, left: i128, right: i128) -> Option<Result<i128, TemplateError>> {
        let found = match self {
            TemplateOperator::Add => left.checked_add(right),
            TemplateOperator::Subtract => left.checked_sub(right),
            TemplateOperator::Multiply => left.checked_mul(right),
            TemplateOperator::Quotient | TemplateOperator::Remainder if right == 0 => {
                return Some(Err(by_zero()));
            }
            TemplateOperator::Quotient => floored(left, right).map(|(quotient, _)| quotient),
            TemplateOperator::Remainder => floored(left, right).map(|(_, remainder)| remainder),
            TemplateOperator::Power if right < 0 => return None,
            TemplateOperator::Power => {
                // 0, 1 and -1 may have any exponent.
                let is_small = (-1..=1).contains(&left) && right > 2;
                let right = if is_small { 2 - right % 2 } else { right };
                let right = u32::try_from(right).ok();
                right.and_then(|right| left.checked_pow(right))
            }
            _ => return None,
        };
        Some(found.ok_or_else(too_large))
    }

    fn apply_to_reals<L>(self, left: f64, right: f64) -> Option<Result<Value<L>, TemplateError>> {
        use TemplateOperator::{Add, Divide, Multiply, Power, Quotient, Remainder, Subtract};
        let is_by_zero = match self {
            Divide | Quotient | Remainder => right == 0.0,
            Power => left == 0.0 && right < 0.0,
            _ => false,
        };
        if is_by_zero {
            return Some(Err(by_zero()));
        }
        if self == Power && left < 0.0 && right.fract() != 0.0 {
            let message = "`**` has no meaning for a negative number and a fraction";
            return Some(Err(unfit(message)));
        }
        Some(finite(match self {
            Add => left + right,
            Subtract => left - right,
            Multiply => left * right,
            Divide => left / right,
            Quotient => floored_reals(left, right).0,
            Remainder => floored_reals(left, right).1,
            Power => left.powf(right),
            _ => return None,
        }))
    }

    /// The result for two values with an order; `None` for anything else.
    pub(crate) fn compare<L: Later>(self, left: &Value<L>, right: &Value<L>) -> Option<bool> {
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

/// Quotient and remainder; the quotient is rounded down. `None` if it is too large.
fn floored(left: i128, right: i128) -> Option<(i128, i128)> {
    let (quotient, remainder) = (left.checked_div(right)?, left.checked_rem(right)?);
    Some(if remainder != 0 && (remainder < 0) != (right < 0) {
        (quotient - 1, remainder + right)
    } else {
        (quotient, remainder)
    })
}

/// The same for real numbers: the remainder is exact, and the quotient is computed from it.
fn floored_reals(left: f64, right: f64) -> (f64, f64) {
    let rest = left % right;
    let has_other_sign = rest != 0.0 && (rest < 0.0) != (right < 0.0);
    let remainder = if has_other_sign { rest + right } else { rest };
    let quotient = ((left - rest) / right).round() - f64::from(has_other_sign);
    (quotient, remainder)
}

fn by_zero() -> TemplateError {
    unfit("a division by zero")
}

/// Numbers are equal regardless of their kind, and a named value is equal to its name.
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
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Some(left.cmp(right));
    }
    // Different whole numbers may be rounded to the same real number.
    let whole = |value: &Value<L>| value.integer().or(value.real().map(|real| real as i128));
    let order = left.real()?.partial_cmp(&right.real()?)?;
    Some(order.then(whole(left)?.cmp(&whole(right)?)))
}

fn is_in<L: Later>(left: &Value<L>, right: &Value<L>) -> Option<bool> {
    match right {
        Value::List(items) => Some(items.iter().any(|item| is_equal(item, left))),
        Value::Map(members) => Some(members.contains_key(left.text()?)),
        _ => Some(right.text()?.contains(left.text()?)),
    }
}
