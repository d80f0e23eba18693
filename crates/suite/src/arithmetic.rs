//! Arithmetic with numbers that are only known while a test runs: `{{ n % 1000 }}`, `{{ user * 100 + n }}`.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = factor (("*" | "//" | "%") factor)*
//! factor  = digits | name | "(" sum ")" | "-" factor
//! ```
//!
//! This is the part of Jinja's expressions whose operands and results are integers. It becomes postfix notation
//! when the plan is made; evaluating it allocates nothing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::template::Variable;

/// An expression in postfix notation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Arithmetic(Box<[PostfixToken]>);

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

/// Operands that wait at a time at most: room for them is on the stack.
const DEPTH: usize = 16;

/// How operators are written in postfix notation.
const OPERATORS: [(Operator, &str); 5] = [
    (Operator::Add, "add"),
    (Operator::Subtract, "sub"),
    (Operator::Multiply, "mul"),
    (Operator::Divide, "div"),
    (Operator::Remainder, "rem"),
];

impl Arithmetic {
    /// Reads an expression, in which `operand` knows the names. `None` for what is no arithmetic, and for what
    /// can be evaluated before: a single name, or nothing but constants.
    ///
    /// # Errors
    /// A division by zero, or more parentheses than an expression of this size needs.
    pub(crate) fn parse(
        text: &str,
        operand: impl Fn(&str) -> Option<Operand>,
    ) -> Result<Option<Arithmetic>, String> {
        let mut reader = ExpressionReader {
            rest: text.trim(),
            operand,
            tokens: Vec::new(),
        };
        let is_whole = reader.sum(0).is_some() && reader.rest.is_empty();
        let tokens = reader.tokens;
        let varies = tokens
            .iter()
            .any(|token| matches!(token, PostfixToken::Variable(_)));
        if !is_whole || !varies || tokens.len() < 2 {
            return Ok(None);
        }
        let found = Arithmetic(tokens.into());
        if found.depth().is_none_or(|depth| depth > DEPTH) {
            return Err(format!("`{text}` is nested too deeply"));
        }
        if found.divides_by_zero() {
            return Err(format!("`{text}` divides by zero"));
        }
        Ok(Some(found))
    }

    /// Its value, where `variable` gives those of the variables. A result that is too large for 64 bits becomes
    /// the nearest that is not; a quotient or remainder by zero is zero.
    pub fn value(&self, variable: impl Fn(Variable) -> i64) -> i64 {
        let mut waiting = [0; DEPTH];
        let mut top = 0;
        for token in &self.0 {
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

    /// Most operands that wait at a time; `None` where one is missing or left over.
    fn depth(&self) -> Option<usize> {
        let (mut waiting, mut most) = (0_usize, 0);
        for token in &self.0 {
            if matches!(token, PostfixToken::Apply(_)) {
                waiting = waiting.checked_sub(2)?;
            }
            waiting += 1;
            most = most.max(waiting);
        }
        (waiting == 1).then_some(most)
    }

    /// Whether a divisor is the constant zero.
    fn divides_by_zero(&self) -> bool {
        let divides = |token: &PostfixToken| {
            matches!(
                token,
                PostfixToken::Apply(Operator::Divide | Operator::Remainder)
            )
        };
        let mut pairs = self.0.windows(2);
        pairs.any(|pair| pair[0] == PostfixToken::Constant(0) && divides(&pair[1]))
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

/// What a name in an expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    Constant(i64),
    Variable(Variable),
}

struct ExpressionReader<'t, F> {
    rest: &'t str,
    operand: F,
    tokens: Vec<PostfixToken>,
}

impl<F: Fn(&str) -> Option<Operand>> ExpressionReader<'_, F> {
    fn sum(&mut self, nested: usize) -> Option<()> {
        self.product(nested)?;
        loop {
            let operator = match () {
                () if self.takes("+") => Operator::Add,
                () if self.takes("-") => Operator::Subtract,
                () => return Some(()),
            };
            self.product(nested)?;
            self.tokens.push(PostfixToken::Apply(operator));
        }
    }

    fn product(&mut self, nested: usize) -> Option<()> {
        self.factor(nested)?;
        loop {
            // A power is no product.
            if self.rest.starts_with("**") {
                return None;
            }
            let operator = match () {
                () if self.takes("*") => Operator::Multiply,
                () if self.takes("//") => Operator::Divide,
                () if self.takes("%") => Operator::Remainder,
                () => return Some(()),
            };
            self.factor(nested)?;
            self.tokens.push(PostfixToken::Apply(operator));
        }
    }

    fn factor(&mut self, nested: usize) -> Option<()> {
        if nested > DEPTH {
            return None;
        }
        if self.takes("(") {
            self.sum(nested + 1)?;
            return self.takes(")").then_some(());
        }
        if self.takes("-") {
            self.tokens.push(PostfixToken::Constant(0));
            self.factor(nested + 1)?;
            self.tokens.push(PostfixToken::Apply(Operator::Subtract));
            return Some(());
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let token = if word.starts_with(|c: char| c.is_ascii_digit()) {
            PostfixToken::Constant(word.parse().ok()?)
        } else {
            match (self.operand)(word)? {
                Operand::Constant(value) => PostfixToken::Constant(value),
                Operand::Variable(variable) => PostfixToken::Variable(variable),
            }
        };
        self.tokens.push(token);
        self.rest = rest.trim_start();
        Some(())
    }

    fn takes(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }
}

/// Postfix notation of letters, digits, `-` and `_`: `n_1000_rem`.
impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, token) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str("_")?;
            }
            match token {
                PostfixToken::Constant(value) => write!(f, "{value}")?,
                PostfixToken::Variable(Variable::Iteration) => f.write_str("n")?,
                PostfixToken::Variable(Variable::User) => f.write_str("user")?,
                PostfixToken::Variable(Variable::Repetition(place)) => write!(f, "r{place}")?,
                // The parser takes no text for a number.
                PostfixToken::Variable(Variable::Saved(slot)) => write!(f, "s{slot}")?,
                PostfixToken::Apply(operator) => {
                    let written = OPERATORS.iter().find(|(own, _)| own == operator);
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
                    Some(place) => {
                        let place = place.parse().ok()?;
                        Some(PostfixToken::Variable(Variable::Repetition(place)))
                    }
                    None => word.parse().ok().map(PostfixToken::Constant),
                },
            }
        };
        let tokens: Option<Box<[PostfixToken]>> = text.split('_').map(token).collect();
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
    use proptest::prelude::*;

    use super::*;

    fn operand(name: &str) -> Option<Operand> {
        match name {
            "n" => Some(Operand::Variable(Variable::Iteration)),
            "user" => Some(Operand::Variable(Variable::User)),
            "i" => Some(Operand::Variable(Variable::Repetition(0))),
            "files" => Some(Operand::Constant(1000)),
            _ => None,
        }
    }

    fn value(text: &str) -> Option<i64> {
        let found = Arithmetic::parse(text, operand).unwrap()?;
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
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused() {
        let deep = format!("{}n{} + 1", "1 + (".repeat(20), ")".repeat(20));
        for text in ["n % 0", "n // (0)"] {
            let refused = Arithmetic::parse(text, operand).unwrap_err();
            assert!(refused.contains("divides by zero"), "{refused}");
        }
        assert!(Arithmetic::parse(&deep, operand).is_ok_and(|found| found.is_none()));
        let wide = format!("{}n{}", "1 + (".repeat(16), ")".repeat(16));
        assert!(Arithmetic::parse(&wide, operand).is_err());
    }

    #[test]
    fn nothing_overflows() {
        let found = Arithmetic::parse("n * n * user % user + n // user", operand);
        let found = found.unwrap().unwrap();
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
            if let Ok(Some(found)) = Arithmetic::parse(&text, operand) {
                let written = found.to_string();
                prop_assert!(written.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)));
                prop_assert_eq!(written.parse::<Arithmetic>().unwrap(), found);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = Arithmetic::parse(&text, operand);
            let _ = text.parse::<Arithmetic>();
        }
    }
}
