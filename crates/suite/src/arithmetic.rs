//! Arithmetic with numbers that are only known while a test runs: `{{ n % 1000 }}`, `{{ user * 100
//! + n }}`.
//!
//! This is the part of Jinja's expressions whose operands and results are integers. It is compiled
//! to postfix notation with the plan; evaluating it allocates nothing.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::template::Variable;

/// An expression in postfix notation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Arithmetic(Arc<[PostfixToken]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PostfixToken {
    Constant(i64),
    Variable(Variable),
    Apply(Operator),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Most operands on the stack of an evaluation.
const DEPTH: usize = 16;

/// Operators in postfix notation.
const OPERATORS: [(Operator, &str); 5] = [
    (Operator::Add, "add"),
    (Operator::Subtract, "sub"),
    (Operator::Multiply, "mul"),
    (Operator::Divide, "div"),
    (Operator::Remainder, "rem"),
];

impl Arithmetic {
    pub(crate) fn variable(variable: Variable) -> Arithmetic {
        Arithmetic([PostfixToken::Variable(variable)].into())
    }

    pub(crate) fn constant(number: i64) -> Arithmetic {
        Arithmetic([PostfixToken::Constant(number)].into())
    }

    /// The variable, if the expression is nothing else.
    pub(crate) fn single(&self) -> Option<Variable> {
        match *self.0 {
            [PostfixToken::Variable(variable)] => Some(variable),
            _ => None,
        }
    }

    /// Bytes of its tokens.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// The result of an operation with another one; `None` for an operator whose results are no
    /// integers.
    ///
    /// # Errors
    /// A division by zero, or too many operands on the stack.
    pub(crate) fn applied(
        &self,
        operator: ::template::TemplateOperator,
        other: &Arithmetic,
    ) -> Option<Result<Arithmetic, String>> {
        let operator = match operator {
            ::template::TemplateOperator::Add => Operator::Add,
            ::template::TemplateOperator::Subtract => Operator::Subtract,
            ::template::TemplateOperator::Multiply => Operator::Multiply,
            ::template::TemplateOperator::Quotient => Operator::Divide,
            ::template::TemplateOperator::Remainder => Operator::Remainder,
            _ => return None,
        };
        let divides = matches!(operator, Operator::Divide | Operator::Remainder);
        if divides && *other.0 == [PostfixToken::Constant(0)] {
            return Some(Err("a division by zero".to_owned()));
        }
        let tokens = [&*self.0, &*other.0, &[PostfixToken::Apply(operator)]].concat();
        let found = Arithmetic(tokens.into());
        match found.depth() {
            Some(depth) if depth <= DEPTH => Some(Ok(found)),
            _ => Some(Err(
                "arithmetic with values of the run is nested too deeply".to_owned(),
            )),
        }
    }

    /// Its value; `variable` gives the values of variables. A result too large for 64 bits becomes
    /// the nearest possible one; a quotient or remainder by zero is zero.
    pub fn value(&self, variable: impl Fn(Variable) -> i64) -> i64 {
        let mut waiting = [0; DEPTH];
        let mut top = 0;
        for token in &*self.0 {
            let value = match token {
                PostfixToken::Constant(value) => *value,
                PostfixToken::Variable(name) => variable(*name),
                PostfixToken::Apply(operator) => {
                    top -= 2;
                    operator.apply(waiting[top], waiting[top + 1])
                }
            };
            waiting[top] = value;
            top += 1;
        }
        waiting[0]
    }

    /// Most operands on the stack; `None` if one is missing or left over.
    fn depth(&self) -> Option<usize> {
        let (mut waiting, mut most) = (0_usize, 0);
        for token in &*self.0 {
            if matches!(token, PostfixToken::Apply(_)) {
                waiting = waiting.checked_sub(2)?;
            }
            waiting += 1;
            most = most.max(waiting);
        }
        (waiting == 1).then_some(most)
    }
}

impl Operator {
    /// Quotients are rounded down, and remainders have the sign of the divisor, as in Jinja.
    fn apply(self, left: i64, right: i64) -> i64 {
        match self {
            Operator::Add => left.saturating_add(right),
            Operator::Subtract => left.saturating_sub(right),
            Operator::Multiply => left.saturating_mul(right),
            Operator::Divide => quotient(left, right),
            Operator::Remainder if right == 0 => 0,
            Operator::Remainder => {
                let remainder = left.wrapping_rem(right);
                if remainder != 0 && (remainder < 0) != (right < 0) {
                    remainder + right
                } else {
                    remainder
                }
            }
        }
    }
}

/// Rounded down.
fn quotient(left: i64, right: i64) -> i64 {
    let Some(quotient) = left.checked_div(right) else {
        return if right == 0 { 0 } else { i64::MAX };
    };
    let is_rounded_up = left.wrapping_rem(right) != 0 && (left < 0) != (right < 0);
    quotient - i64::from(is_rounded_up)
}

/// Postfix notation of letters, digits, `-` and `_`: `n_1000_rem`.
impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, token) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("_")?;
            }
            match token {
                PostfixToken::Constant(value) => write!(f, "{value}")?,
                PostfixToken::Variable(Variable::Iteration) => f.write_str("n")?,
                PostfixToken::Variable(Variable::User) => f.write_str("user")?,
                PostfixToken::Variable(Variable::Repetition(position)) => write!(f, "r{position}")?,
                // The parser does not take a text for a number.
                PostfixToken::Variable(Variable::Saved(slot)) => write!(f, "s{slot}")?,
                PostfixToken::Apply(operator) => {
                    let written = OPERATORS.iter().find(|(known, _)| known == operator);
                    f.write_str(written.map_or("", |(_, written)| written))?;
                }
            }
        }
        Ok(())
    }
}

impl FromStr for Arithmetic {
    type Err = String;

    fn from_str(text: &str) -> Result<Arithmetic, String> {
        let token = |word: &str| {
            let operator = OPERATORS.iter().find(|(_, written)| *written == word);
            match (word, operator) {
                (_, Some((operator, _))) => Some(PostfixToken::Apply(*operator)),
                ("n", _) => Some(PostfixToken::Variable(Variable::Iteration)),
                ("user", _) => Some(PostfixToken::Variable(Variable::User)),
                (word, _) => match word.strip_prefix('r') {
                    Some(position) => {
                        let position = position.parse().ok()?;
                        Some(PostfixToken::Variable(Variable::Repetition(position)))
                    }
                    None => word.parse().ok().map(PostfixToken::Constant),
                },
            }
        };
        let tokens: Option<Arc<[PostfixToken]>> = text.split('_').map(token).collect();
        let found = tokens.map(Arithmetic);
        found
            .filter(|found| found.depth().is_some_and(|depth| depth <= DEPTH))
            .ok_or_else(|| format!("`{text}` is no expression in postfix notation"))
    }
}

impl Serialize for Arithmetic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Arithmetic {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Arithmetic, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::template::{Piece, TemplateBounds, Templates, Text};

    /// Compiles an expression; `None` if it has no value that is known only in the run.
    fn read(text: &str) -> Result<Option<Arithmetic>, String> {
        let files = yaml::WrittenValue::plain("1000");
        let params = BTreeMap::from([("files".to_owned(), files)]);
        let bounds = TemplateBounds::default();
        let (templates, _) = Templates::new(&params, &[], &bounds).inside("i")?;
        Ok(match templates.text(&format!("{{{{ {text} }}}}"))? {
            Text::Live(live) => match live.pieces() {
                [Piece::Computed(found)] => Some(found.clone()),
                _ => None,
            },
            Text::Fixed(_) => None,
        })
    }

    fn value(text: &str) -> Option<i64> {
        let found = read(text).unwrap()?;
        Some(found.value(|variable| match variable {
            Variable::Iteration => 2345,
            Variable::User => 3,
            _ => 7,
        }))
    }

    #[test]
    fn values_are_those_of_jinja() {
        let table = [
            ("n % 1000", 345),
            ("n % files", 345),
            ("(n + user * 7) % 10", 6),
            ("n - 1 - 1", 2343),
            ("n // 100 // 2", 11),
            ("2 + 3 * n", 7037),
            ("-n % 1000", 655),
            ("n // -1000", -3),
            ("user * (i - 9)", -6),
            ("--n", 2345),
            (" n%10 ", 5),
        ];
        for (text, expected) in table {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_arithmetic_of_these_numbers_is_left_alone() {
        for text in [
            "n",
            "files % 10",
            "n | upper",
            "name + 1",
            "n / 2",
            "n ** 2",
            "n +",
            "(n",
            "n % 2 == 0",
            "n[0] + 1",
            "",
            "'a' * n",
            "n.x + 1",
            "99999999999999999999 + n",
        ] {
            assert!(!matches!(read(text), Ok(Some(_))), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused() {
        for text in ["n % 0", "n // (0)"] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains("division by zero"), "{refused}");
        }
        let wide = |depth| format!("{}n{}", "1 + (".repeat(depth), ")".repeat(depth));
        assert!(read(&wide(15)).is_ok_and(|found| found.is_some()));
        assert!(read(&wide(16)).is_err());
    }

    #[test]
    fn nothing_overflows() {
        let found = read("n * n * user % user + n // user").unwrap().unwrap();
        for value in [i64::MIN, -1, 0, 1, i64::MAX] {
            for other in [i64::MIN, -1, 0, 1, i64::MAX] {
                found.value(|variable| match variable {
                    Variable::User => other,
                    _ => value,
                });
            }
        }
    }

    proptest! {
        #[test]
        fn postfix_notation_can_be_read_again(text in "(n|user|i|[0-9]{1,3})( ?(\\+|-|\\*|//|%) ?(n|user|i|[1-9]{1,3})){1,6}") {
            if let Ok(Some(found)) = read(&text) {
                let written = found.to_string();
                prop_assert!(written.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)));
                prop_assert_eq!(written.parse::<Arithmetic>().unwrap(), found);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = text.parse::<Arithmetic>();
        }
    }
}
