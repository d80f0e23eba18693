//! Parser: first words, then operators by precedence.

use winnow::ascii::multispace0;
use winnow::combinator::{alt, delimited, fail, opt, repeat, terminated};
use winnow::error::ContextError;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{literal, take_till, take_while};

use crate::ConstraintError;
use crate::statistic::{Characteristic, PartOfRun, Statistic};
use crate::tree::{
    Constraint, ConstraintOperator, ExpressionNode, OPERATORS, Part, WrittenQuantity,
};
use crate::unit::{UNITS, UnitKind, rate_of_bits};

/// Longest constraint, in bytes.
const LONGEST: usize = 2000;
/// Shortest and longest sliding window in seconds: it must contain many evaluations, and its
/// operations must fit into memory.
const LEAST_WINDOW: f64 = 0.1;
const LONGEST_WINDOW: f64 = 3600.0;
/// Deepest nesting of parentheses and negations.
const DEEPEST: usize = 64;

impl Constraint {
    /// Parses a constraint.
    ///
    /// # Errors
    /// The first position that is not in the language, with the expected words.
    pub fn parse(text: &str) -> Result<Constraint, ConstraintError> {
        if text.len() > LONGEST {
            let why = format!("a constraint has at most {LONGEST} characters");
            return Err(ConstraintError::at(LONGEST, why));
        }
        let tokens = tokens(text)?;
        let mut parser = TokenReader {
            tokens: &tokens,
            end: text.trim_end().len(),
            depth: 0,
        };
        let root = parser.level(1)?;
        match parser.tokens.first() {
            None => Ok(Constraint { root }),
            Some(token) => Err(ConstraintError::at(
                token.offset,
                format!("an operator is expected before `{}`", token.text),
            )),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct LanguageToken<'a> {
    offset: usize,
    text: &'a str,
    what: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
enum TokenKind {
    Number(f64),
    /// A name, a unit or a word of the language.
    Word,
    /// A name in quotation marks, without them.
    Quoted,
    Mark,
}

type Input<'a> = LocatingSlice<&'a str>;

fn tokens(text: &str) -> Result<Vec<LanguageToken<'_>>, ConstraintError> {
    let mut input = LocatingSlice::new(text);
    let all: Result<Vec<LanguageToken<'_>>, ContextError> =
        (multispace0, repeat(0.., terminated(token, multispace0)))
            .map(|(_, all): (&str, Vec<LanguageToken<'_>>)| all)
            .parse_next(&mut input);
    let offset = input.current_token_start();
    match (all, text[offset..].chars().next()) {
        (Ok(all), None) => Ok(all),
        (_, Some('"')) => Err(ConstraintError::at(
            offset,
            "the name has no closing quotation mark",
        )),
        (_, Some('=')) => Err(ConstraintError::at(offset, "write `==` to compare")),
        (_, Some(c)) => Err(ConstraintError::at(
            offset,
            format!("`{c}` is not expected"),
        )),
        (Err(_), None) => Err(ConstraintError::at(offset, "it cannot be read")),
    }
}

fn token<'a>(input: &mut Input<'a>) -> Result<LanguageToken<'a>, ContextError> {
    let offset = input.current_token_start();
    let quoted =
        delimited('"', take_till(1.., ['"', '\n']), '"').map(|text| (text, TokenKind::Quoted));
    let word = (
        take_while(1, |c: char| c.is_alphabetic() || c == '_'),
        take_while(0.., |c: char| c.is_alphanumeric() || "_-.".contains(c)),
    )
        .take()
        .map(|text| (text, TokenKind::Word));
    let (text, what) = alt((quoted, number, word, mark)).parse_next(input)?;
    Ok(LanguageToken { offset, text, what })
}

/// A number begins with a digit: a sign is an operator, and `inf` is a word.
fn number<'a>(input: &mut Input<'a>) -> Result<(&'a str, TokenKind), ContextError> {
    let digits = |c: char| c.is_ascii_digit();
    let exponent = (
        alt(('e', 'E')),
        opt(alt(('+', '-'))),
        take_while(1.., digits),
    );
    let text = (
        take_while(1.., digits),
        opt(('.', take_while(1.., digits))),
        opt(exponent),
    )
        .take()
        .parse_next(input)?;
    let number = text.parse().unwrap_or(f64::INFINITY);
    Ok((text, TokenKind::Number(number)))
}

fn mark<'a>(input: &mut Input<'a>) -> Result<(&'a str, TokenKind), ContextError> {
    let marks = [
        "/s", "<=", ">=", "==", "!=", "+/-", "+-", "±", "<", ">", "+", "-", "*", "/", "(", ")",
        ",", "%",
    ];
    for text in marks {
        let followed =
            |rest: &str| text == "/s" && rest[2..].starts_with(|c: char| c.is_alphanumeric());
        if input.starts_with(text) && !followed(input) {
            return literal(text)
                .map(|text| (text, TokenKind::Mark))
                .parse_next(input);
        }
    }
    fail.parse_next(input)
}

struct TokenReader<'a> {
    tokens: &'a [LanguageToken<'a>],
    end: usize,
    depth: usize,
}

impl<'a> TokenReader<'a> {
    fn offset(&self) -> usize {
        self.tokens.first().map_or(self.end, |token| token.offset)
    }

    fn next(&mut self) -> Option<&'a LanguageToken<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    /// Consumes a word or sign of the language, if it is next.
    fn passes(&mut self, text: &str) -> bool {
        let token = self.tokens.first();
        let is_next =
            token.is_some_and(|token| token.text == text && token.what != TokenKind::Quoted);
        if is_next {
            self.next();
        }
        is_next
    }

    fn expects(&mut self, text: &str, why: &str) -> Result<(), ConstraintError> {
        let offset = self.offset();
        if self.passes(text) {
            Ok(())
        } else {
            Err(ConstraintError::at(
                offset,
                format!("`{text}` is expected {why}"),
            ))
        }
    }

    /// Consumes an operator of this level, if it is next.
    fn operator(&mut self, level: u8) -> Option<ConstraintOperator> {
        let of_level = OPERATORS
            .iter()
            .filter(|(_, operator)| operator.level() == level);
        for (text, operator) in of_level {
            if self.passes(text) {
                return Some(*operator);
            }
        }
        None
    }

    /// Parses an expression with operators of this level, and of those that bind more tightly.
    fn level(&mut self, level: u8) -> Result<ExpressionNode, ConstraintError> {
        const NEGATION: u8 = 3;
        const COMPARISON: u8 = 4;
        const TIGHTEST: u8 = 6;
        if level == NEGATION && self.tokens.first().is_some_and(|token| token.text == "not") {
            let offset = self.offset();
            self.next();
            let operand = self.deeper(|parser| parser.level(NEGATION))?;
            let part = Part::Not(Box::new(operand));
            return Ok(ExpressionNode { offset, part });
        }
        if level > TIGHTEST {
            return self.factor();
        }
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(level) {
            let right = self.level(level + 1)?;
            left = ExpressionNode {
                offset: left.offset,
                part: Part::Pair(operator, Box::new(left), Box::new(right)),
            };
            let offset = self.offset();
            if level == COMPARISON && self.operator(level).is_some() {
                let why = "comparisons cannot follow each other; join them by `and`";
                return Err(ConstraintError::at(offset, why));
            }
        }
        Ok(left)
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ConstraintError>,
    ) -> Result<T, ConstraintError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let why = format!("more than {DEEPEST} parentheses or negations are in each other");
            return Err(ConstraintError::at(self.offset(), why));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn factor(&mut self) -> Result<ExpressionNode, ConstraintError> {
        let offset = self.offset();
        let Some(token) = self.next() else {
            let why = "the constraint ends early; a characteristic like p99(Get1K), a quantity like 50 ms or a \
                       name is expected";
            return Err(ConstraintError::at(offset, why));
        };
        let part = match (&token.what, token.text) {
            (TokenKind::Number(number), _) => Part::Quantity(self.quantity(*number)?),
            (TokenKind::Mark, "-") => {
                Part::Negative(Box::new(self.deeper(|parser| parser.factor())?))
            }
            (TokenKind::Mark, "(") => {
                let inner = self.deeper(|parser| parser.level(1))?;
                self.expects(")", "here")?;
                return Ok(inner);
            }
            (TokenKind::Word, "and" | "or" | "not") | (TokenKind::Mark | TokenKind::Quoted, _) => {
                let why = format!(
                    "a characteristic like p99(Get1K), a quantity like 50 ms or a name is expected before `{}`",
                    token.text
                );
                return Err(ConstraintError::at(offset, why));
            }
            (TokenKind::Word, name) => self.named(name, offset)?,
        };
        Ok(ExpressionNode { offset, part })
    }

    fn quantity(&mut self, number: f64) -> Result<WrittenQuantity, ConstraintError> {
        let Some(token) = self.tokens.first() else {
            return Ok(WrittenQuantity { number, unit: None });
        };
        let is_operator = matches!(token.text, "and" | "or" | "not");
        let can_be_unit = match token.what {
            TokenKind::Word => !is_operator,
            TokenKind::Mark => matches!(token.text, "%" | "/s"),
            _ => false,
        };
        if !can_be_unit {
            return Ok(WrittenQuantity { number, unit: None });
        }
        let offset = token.offset;
        let mut name = token.text.to_owned();
        self.next();
        if let Some(rate) = rate_of_bits(&name) {
            self.passes("/s");
            rate.clone_into(&mut name);
        } else if token.what == TokenKind::Word
            && unit(&name).is_some_and(|unit| UNITS[unit].2 == UnitKind::SIZE)
            && self.passes("/s")
        {
            name += "/s";
        }
        let known = unit(&name);
        known
            .map(|unit| WrittenQuantity {
                number,
                unit: Some(unit),
            })
            .ok_or_else(|| {
                let names: Vec<&str> = UNITS.iter().map(|(name, _, _)| *name).collect();
                let why = format!("`{name}` is no unit; there are {}", names.join(", "));
                ConstraintError::at(offset, why)
            })
    }

    /// A characteristic, or a name.
    fn named(&mut self, name: &str, offset: usize) -> Result<Part, ConstraintError> {
        let statistic = Statistic::named(name);
        let is_called = self.passes("(");
        // A suite may name a parameter or a constraint like a characteristic of comparisons.
        let is_name = |statistic: &Statistic| statistic.is_compared() && !is_called;
        let Some(statistic) = statistic.filter(|statistic| !is_name(statistic)) else {
            if !is_called {
                return Ok(Part::Name(name.to_owned()));
            }
            return Err(ConstraintError::at(offset, unknown_statistic(name)));
        };
        let mut characteristic = Characteristic {
            statistic,
            measurement: None,
            part: PartOfRun::Whole,
            samples: None,
            seconds: None,
        };
        if is_called {
            if statistic.is_background() && self.begins_restriction() {
                self.restriction(&mut characteristic)?;
            } else {
                characteristic.measurement = Some(self.measurement()?);
            }
            while self.passes(",") {
                self.restriction(&mut characteristic)?;
            }
            self.expects(")", "behind the measurement")?;
        }
        Ok(Part::Characteristic(characteristic))
    }

    /// True if a restriction is next: a component may be named `last`, too, and its name is
    /// followed by nothing.
    fn begins_restriction(&self) -> bool {
        let is_end = |text: &str| [")", ","].contains(&text);
        match self.tokens {
            [first, second, ..] => {
                ["last", "stage", "samples", "over"].contains(&first.text)
                    && first.what == TokenKind::Word
                    && !is_end(second.text)
            }
            _ => false,
        }
    }

    fn measurement(&mut self) -> Result<String, ConstraintError> {
        let offset = self.offset();
        match self.next() {
            Some(token) if matches!(token.what, TokenKind::Word | TokenKind::Quoted) => {
                Ok(token.text.to_owned())
            }
            _ => Err(ConstraintError::at(
                offset,
                "the name of a measurement is expected; names with blanks or signs need quotation marks",
            )),
        }
    }

    /// `last 10 s`, `stage 2`, `samples >= 100` or `over >= 10 s`.
    fn restriction(&mut self, characteristic: &mut Characteristic) -> Result<(), ConstraintError> {
        let offset = self.offset();
        let argument = self.next().map(|token| token.text);
        if let Some(what @ ("last" | "stage")) = argument {
            return self.part_of_run(what, characteristic);
        }
        self.expects(">=", "behind `samples` or `over`")?;
        let (at, quantity) = self.next_quantity()?;
        let number = quantity.number;
        match (argument, quantity.kind()) {
            (Some("samples"), UnitKind::NUMBER) if number.fract() == 0.0 && number < 1e15 => {
                characteristic.samples = Some(number as u64);
                Ok(())
            }
            (Some("over"), UnitKind::TIME) => {
                characteristic.seconds = Some(quantity.value());
                Ok(())
            }
            (Some("samples" | "over"), _) => Err(ConstraintError::at(
                at,
                "write `samples >= 100` or `over >= 10 s`",
            )),
            _ => Err(ConstraintError::at(
                offset,
                "only `last TIME`, `stage NUMBER`, `samples >= NUMBER` and `over >= TIME` can follow the \
                 measurement",
            )),
        }
    }

    /// The number that is next with its unit, and its offset.
    fn next_quantity(&mut self) -> Result<(usize, WrittenQuantity), ConstraintError> {
        let at = self.offset();
        let Some(TokenKind::Number(number)) = self.next().map(|token| &token.what) else {
            return Err(ConstraintError::at(at, "a number is expected"));
        };
        Ok((at, self.quantity(*number)?))
    }

    fn part_of_run(
        &mut self,
        what: &str,
        characteristic: &mut Characteristic,
    ) -> Result<(), ConstraintError> {
        let (at, quantity) = self.next_quantity()?;
        let number = quantity.number;
        let part = match (what, quantity.kind()) {
            ("last", UnitKind::TIME)
                if (LEAST_WINDOW..=LONGEST_WINDOW).contains(&quantity.value()) =>
            {
                PartOfRun::Last(quantity.value())
            }
            ("last", UnitKind::TIME) => {
                let why = "a sliding window has between 100 ms and an hour";
                return Err(ConstraintError::at(at, why));
            }
            ("stage", UnitKind::NUMBER)
                if number.fract() == 0.0 && (1.0..=1000.0).contains(&number) =>
            {
                PartOfRun::Stage(number as u16)
            }
            _ => {
                let why = "write `last 10 s` or `stage 2`";
                return Err(ConstraintError::at(at, why));
            }
        };
        if characteristic.part != PartOfRun::Whole {
            let why =
                "a characteristic is of one part of the run: one sliding window, or one stage";
            return Err(ConstraintError::at(at, why));
        }
        characteristic.part = part;
        Ok(())
    }
}

fn unit(name: &str) -> Option<usize> {
    UNITS.iter().position(|(known, _, _)| *known == name)
}

pub(crate) fn unknown_statistic(name: &str) -> String {
    let is_old = name == "p999" || name == "p9999";
    let similar = match name {
        "throughput" => Some("rate"),
        _ if is_old => Some("p99.9"),
        _ => nearest::meant(name, Statistic::names().chain(Statistic::compared_names())),
    };
    let advice = similar.map_or_else(String::new, |similar| {
        format!(", did you mean `{similar}`?")
    });
    let all: Vec<&str> = Statistic::names().collect();
    format!(
        "there is no statistic `{name}`{advice}; there are {} and other percentiles",
        all.join(", ")
    )
}
