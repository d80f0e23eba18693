//! Templates, evaluated as far as possible before the measurement.
//!
//! A template may use the suite's parameters, which are known when the plan is made, and *run-time
//! variables*, which are not: `n`, `user`, numbers of repetitions, and names that a step saved. A
//! text without them is fixed, the others become a list of [`Piece`]s, and filling them in while
//! the test runs is copying bytes.
//!
//! Arithmetic with `n`, `user` and the numbers of repetitions is kept as an expression
//! ([`Arithmetic`]) and evaluated per request. Run-time variables can only be inserted otherwise.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ::template::{Bounds, Later, Template, TemplateError, TemplateOperator, TextPart, Value};
use serde::{Deserialize, Serialize};
use yaml::{PlainScalar, WrittenValue};

use crate::arithmetic::Arithmetic;
use crate::resolve::Params;
use crate::saved::{SavedName, SavedSlots};

/// Values that are only known while the test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Variable {
    /// `n`: number of this user's iteration of the loop of this test, from 1.
    Iteration,
    /// `user`: number of the user, from 0.
    User,
    /// A value saved by a step: index into [`TestPlan::saved`](crate::TestPlan::saved).
    Saved(usize),
    /// Number of a named repetition, from 1; its index is the number of named ones around it.
    Repetition(usize),
}

/// A text of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Text {
    /// Without run-time variables.
    Fixed(String),
    /// With run-time variables.
    Live(LiveText),
}

/// A text with run-time variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveText {
    pieces: Vec<Piece>,
}

/// Part of a [`LiveText`] text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// A fixed text.
    Literal(String),
    /// A variable to insert.
    Variable(Variable),
    /// An expression to insert as a decimal number.
    Computed(Arithmetic),
}

impl LiveText {
    pub(crate) fn new(pieces: Vec<Piece>) -> Self {
        LiveText { pieces }
    }

    /// The same with its literals changed.
    pub(crate) fn map_literals(self, change: impl Fn(&str) -> String) -> LiveText {
        let piece = |piece| match piece {
            Piece::Literal(text) => Piece::Literal(change(&text)),
            other => other,
        };
        LiveText::new(self.pieces.into_iter().map(piece).collect())
    }

    /// The parts, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

impl Text {
    /// Variables of the parts, in order; a fixed text has none.
    pub fn variables(&self) -> impl Iterator<Item = Variable> + '_ {
        let pieces: &[Piece] = match self {
            Text::Fixed(_) => &[],
            Text::Live(live) => live.pieces(),
        };
        pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(variable) => Some(*variable),
            Piece::Computed(_) | Piece::Literal(_) => None,
        })
    }

    /// True if it contains a value saved by a step.
    pub(crate) fn has_saved(&self) -> bool {
        self.variables()
            .any(|variable| matches!(variable, Variable::Saved(_)))
    }

    /// Its literals with `x` in place of everything else, for checks of its shape.
    pub(crate) fn shape(&self) -> String {
        let pieces = match self {
            Text::Fixed(text) => return text.clone(),
            Text::Live(live) => live.pieces.iter(),
        };
        let shapes = pieces.map(|piece| match piece {
            Piece::Literal(text) => text.as_str(),
            Piece::Variable(_) | Piece::Computed(_) => "x",
        });
        shapes.collect()
    }

    /// The same with its literals changed.
    pub(crate) fn map_literals(self, change: impl Fn(&str) -> String) -> Text {
        match self {
            Text::Fixed(text) => Text::Fixed(change(&text)),
            Text::Live(live) => Text::Live(live.map_literals(change)),
        }
    }
}

/// Limits of all templates of a suite together.
pub(crate) struct TemplateBounds(RefCell<Bounds>);

/// A loop over 10,000 properties takes about 100,000.
const STEPS: u64 = 20_000_000;
/// A suite of 20,000 tests, each with a body of 1 KiB, makes some 40 MiB.
const BYTES: usize = 256 << 20;
/// Longest text of a number, or of one of the words that are allowed in its place.
const LONGEST_NUMBER: usize = 200;

impl Default for TemplateBounds {
    fn default() -> Self {
        TemplateBounds(RefCell::new(Bounds {
            steps: STEPS,
            bytes: BYTES,
        }))
    }
}

/// Evaluates templates of one test.
#[derive(Clone)]
pub(crate) struct Templates<'a> {
    params: &'a Params,
    saved: &'a [SavedName],
    /// Index of each name.
    slots: Rc<BTreeMap<&'a str, usize>>,
    bounds: &'a TemplateBounds,
    filled: Rc<RefCell<SavedSlots>>,
    /// Names of the current repetitions, from the outermost.
    repetitions: Vec<String>,
}

/// A run-time variable, or an expression with one.
#[derive(Debug, Clone, PartialEq)]
enum LiveValue {
    Saved {
        slot: usize,
        name: Rc<str>,
    },
    /// Includes the name of a variable.
    Number {
        value: Arithmetic,
        name: Rc<str>,
    },
}

impl Later for LiveValue {
    fn name(&self) -> String {
        match self {
            LiveValue::Saved { name, .. } | LiveValue::Number { name, .. } => (**name).to_owned(),
        }
    }

    fn size(&self) -> usize {
        match self {
            LiveValue::Saved { .. } => size_of::<LiveValue>(),
            LiveValue::Number { value, .. } => size_of::<LiveValue>() + value.size(),
        }
    }

    fn constant(number: i64) -> Option<LiveValue> {
        Some(LiveValue::Number {
            value: Arithmetic::constant(number),
            name: "".into(),
        })
    }

    fn apply(
        operator: TemplateOperator,
        left: &Self,
        right: &Self,
    ) -> Option<Result<Self, String>> {
        let (
            LiveValue::Number { value, name },
            LiveValue::Number {
                value: other,
                name: other_name,
            },
        ) = (left, right)
        else {
            return None;
        };
        let name = if name.is_empty() { other_name } else { name };
        let value = value.applied(operator, other)?;
        Some(value.map(|value| LiveValue::Number {
            value,
            name: name.clone(),
        }))
    }
}

impl<'a> Templates<'a> {
    pub(crate) fn new(
        params: &'a Params,
        saved: &'a [SavedName],
        bounds: &'a TemplateBounds,
    ) -> Self {
        let slots = saved.iter().enumerate();
        let slots = slots.map(|(slot, saved_name)| (saved_name.name.as_str(), slot));
        Templates {
            params,
            saved,
            slots: Rc::new(slots.collect()),
            bounds,
            filled: Rc::default(),
            repetitions: Vec::new(),
        }
    }

    /// Sets the names that have a value from here on; returns the former ones.
    pub(crate) fn fill(&self, slots: SavedSlots) -> SavedSlots {
        self.filled.replace(slots)
    }

    /// Adds a name that has a value from here on.
    pub(crate) fn saves(&self, name: &str) {
        if let Some(slot) = self.slot(name) {
            self.filled.borrow_mut().insert(slot);
        }
    }

    /// The same inside a repetition of that name, with the index of its number.
    ///
    /// # Errors
    /// The name is used otherwise.
    pub(crate) fn inside(&self, repetition: &str) -> Result<(Self, usize), String> {
        let is_taken = ["n", "user"].contains(&repetition) || self.params.contains_key(repetition);
        let saved = self.saved.iter().map(|saved| &saved.name);
        let mut names = saved.chain(&self.repetitions);
        if is_taken || !is_name(repetition) || names.any(|name| name == repetition) {
            return Err(format!(
                "`{repetition}` cannot be the name of a repetition: it is no name, or it is taken \
                 already"
            ));
        }
        let mut inside = self.clone();
        inside.repetitions.push(repetition.to_owned());
        Ok((inside, self.repetitions.len()))
    }

    /// Evaluates `source`, leaving run-time variables to be inserted.
    pub(crate) fn text(&self, source: &str) -> Result<Text, String> {
        if !source.contains('{') {
            return Ok(Text::Fixed(source.to_owned()));
        }
        let template = Template::parse(source).map_err(|error| self.explain(error))?;
        let named = |name: &str| self.value(name);
        let parts = template.render(&named, &mut self.bounds.0.borrow_mut());
        let mut parts = parts.map_err(|error| self.explain(error))?;
        match &mut parts[..] {
            [] => Ok(Text::Fixed(String::new())),
            [TextPart::Text(text)] => Ok(Text::Fixed(std::mem::take(text))),
            _ => Ok(Text::Live(LiveText::new(
                parts.into_iter().map(piece).collect(),
            ))),
        }
    }

    /// Evaluates `source`, in which no run-time variable may occur.
    pub(crate) fn fixed(&self, source: &str) -> Result<String, String> {
        match self.text(source)? {
            Text::Fixed(text) => Ok(text),
            Text::Live(live) => {
                let name = live.pieces.iter().find_map(|piece| match piece {
                    Piece::Variable(variable) => Some(self.name(*variable)),
                    Piece::Computed(_) | Piece::Literal(_) => None,
                });
                let name = name.map_or("it".to_owned(), |name| format!("`{name}`"));
                Err(format!(
                    "{name} has a value only while the test runs, and is needed earlier"
                ))
            }
        }
    }

    /// Evaluates a number: one that is a number in YAML is converted to decimal digits.
    pub(crate) fn number(&self, source: &str) -> Result<String, String> {
        let text = self.fixed(source)?;
        if text.len() > LONGEST_NUMBER {
            let bytes = text.len();
            return Err(format!("a text of {bytes} bytes is no number"));
        }
        Ok(yaml::decimal(text.trim()).unwrap_or(text))
    }

    pub(crate) fn slot(&self, name: &str) -> Option<usize> {
        self.slots.get(name).copied()
    }

    fn value(&self, name: &str) -> Option<Value<LiveValue>> {
        let number = |variable| {
            let value = Arithmetic::variable(variable);
            Some(Value::Later(LiveValue::Number {
                value,
                name: name.into(),
            }))
        };
        match name {
            "n" => return number(Variable::Iteration),
            "user" => return number(Variable::User),
            _ => {}
        }
        if let Some(repetition) = self.repetitions.iter().position(|known| known == name) {
            return number(Variable::Repetition(repetition));
        }
        let filled = |slot: &usize| self.filled.borrow().contains(*slot);
        if let Some(slot) = self.slot(name).filter(filled) {
            let name = name.into();
            return Some(Value::Later(LiveValue::Saved { slot, name }));
        }
        param(self.params.get(name)?)
    }

    /// The reason why a template has no value, without confidential parts.
    fn explain(&self, error: TemplateError) -> String {
        match error {
            TemplateError::Unknown(name) => match self.slot(&name) {
                Some(slot) => self.saved[slot].unfilled(),
                None => {
                    let names = ["n", "user"].into_iter();
                    let names = names.chain(self.params.keys().map(String::as_str));
                    let names = names.chain(self.saved.iter().map(|saved| saved.name.as_str()));
                    let names = names.chain(self.repetitions.iter().map(String::as_str));
                    format!(
                        "`{name}` is not known; {}",
                        ::nearest::hint(&name, names, "known are")
                    )
                }
            },
            TemplateError::Later(name) => format!(
                "`{name}` has a value only while the test runs, and this is evaluated before: with n, user and \
                 the names of repetitions, + - * // % and parentheses can be used; saved names can only be \
                 inserted"
            ),
            TemplateError::TooLarge => format!(
                "the templates of this suite make more than {} MiB",
                BYTES >> 20
            ),
            TemplateError::TooLong => format!("the template {error}"),
            TemplateError::Syntax(_) | TemplateError::Unfit(_) => format!("in a template: {error}"),
        }
    }

    fn name(&self, variable: Variable) -> String {
        match variable {
            Variable::Iteration => "n".to_owned(),
            Variable::User => "user".to_owned(),
            Variable::Saved(index) => self.saved[index].name.clone(),
            Variable::Repetition(index) => self.repetitions[index].clone(),
        }
    }
}

fn piece(part: TextPart<LiveValue>) -> Piece {
    match part {
        TextPart::Text(text) => Piece::Literal(text),
        TextPart::Later(LiveValue::Saved { slot, .. }) => Piece::Variable(Variable::Saved(slot)),
        TextPart::Later(LiveValue::Number { value, .. }) => match value.single() {
            Some(variable) => Piece::Variable(variable),
            None => Piece::Computed(value),
        },
    }
}

/// Letters, digits and `_`, a letter first.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parameters are numbers, texts, truth values and lists of these; others were refused.
fn param(written: &WrittenValue) -> Option<Value<LiveValue>> {
    if let WrittenValue::List(values) = written {
        let values = values.iter().map(param).collect::<Option<Vec<_>>>();
        return Some(Value::List(Rc::new(values?)));
    }
    let (scalar, text) = written.scalar()?;
    let value = match scalar {
        PlainScalar::Null => return None,
        PlainScalar::Text => return Some(text.into()),
        PlainScalar::Truth(truth) => Value::Flag(truth),
        PlainScalar::Natural(number) => Value::Integer(number.into()),
        PlainScalar::Negative(number) => Value::Integer(number.into()),
        // A whole number of more than 64 bits would lose digits.
        PlainScalar::Real(number) => text.parse().map_or(Value::Real(number), Value::Integer),
    };
    Some(Value::Written(text.into(), Rc::new(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::Position;

    fn params() -> Params {
        Params::from([
            ("properties".to_owned(), WrittenValue::plain("3")),
            ("name".to_owned(), WrittenValue::plain("x")),
        ])
    }

    fn saved(name: String) -> SavedName {
        SavedName {
            name,
            position: Position::default(),
            part: "loop",
        }
    }

    fn text(source: &str) -> Result<Text, String> {
        let (params, bounds) = (params(), TemplateBounds::default());
        let saved = [saved("token".to_owned())];
        let templates = Templates::new(&params, &saved, &bounds);
        templates.saves("token");
        templates.text(source)
    }

    #[test]
    fn a_text_without_run_time_variables_is_fixed() {
        let source = "{% for i in range(properties) %}<{{ name }}{{ i }}/>{% endfor %}";
        assert_eq!(text(source), Ok(Text::Fixed("<x0/><x1/><x2/>".to_owned())));
        assert_eq!(text("plain"), Ok(Text::Fixed("plain".to_owned())));
    }

    #[test]
    fn run_time_variables_are_left_to_be_filled_in() {
        let Ok(Text::Live(live)) = text("a{{ n }}{{ token }}-{{ user }}{{ name }}") else {
            panic!()
        };
        assert_eq!(
            live.pieces(),
            [
                Piece::Literal("a".into()),
                Piece::Variable(Variable::Iteration),
                Piece::Variable(Variable::Saved(0)),
                Piece::Literal("-".into()),
                Piece::Variable(Variable::User),
                Piece::Literal("x".into()),
            ]
        );
    }

    #[test]
    fn arithmetic_is_evaluated_while_the_test_runs() {
        for (source, expected) in [
            ("a-{{ n % 1000 }}", "a-<n_1000_rem>"),
            ("{{- n + properties -}} b", "<n_3_add>b"),
            ("{{ 2 * properties }}", "6"),
            ("{{ n }}{{n*2}}", "<><n_2_mul>"),
            // The loop has its own `n`.
            ("{% for n in range(3) %}{{ n + 1 }}{% endfor %}", "123"),
            (
                "{% for i in range(2) %}{{ user * 2 }},{% endfor %}",
                "<user_2_mul>,<user_2_mul>,",
            ),
        ] {
            let written = match text(source).unwrap() {
                Text::Fixed(text) => text,
                Text::Live(live) => {
                    let pieces = live.pieces().iter();
                    let written = pieces.map(|piece| match piece {
                        Piece::Literal(text) => text.clone(),
                        Piece::Variable(_) => "<>".to_owned(),
                        Piece::Computed(expression) => format!("<{expression}>"),
                    });
                    written.collect()
                }
            };
            assert_eq!(written, expected, "{source}");
        }
    }

    #[test]
    fn what_cannot_be_known_is_an_error() {
        for source in [
            "{{ nmae }}",
            "{{ n / 2 }}",
            "{{ token + 1 }}",
            "{{ n % 0 }}",
            "{{ token | upper }}",
            "{{ n",
            "{% for %}",
            "{% if user == 0 %}a{% endif %}",
        ] {
            assert!(text(source).is_err(), "{source}");
        }
        let bounds = TemplateBounds::default();
        assert!(
            Templates::new(&params(), &[], &bounds)
                .fixed("{{ n }}")
                .is_err()
        );
        let forever = "{% for i in range(100000) %}{% for j in range(100000) %}{{ i * j }}{% endfor %}{% \
                       endfor %}";
        assert!(text(forever).unwrap_err().contains("too long"));
    }

    #[test]
    fn all_templates_of_a_suite_have_one_bound() {
        let (params, bounds) = (params(), TemplateBounds::default());
        let templates = Templates::new(&params, &[], &bounds);
        let half = "{% set half = 'x' * 134000000 %}{{ name }}";
        assert_eq!(templates.text(half), Ok(Text::Fixed("x".to_owned())));
        assert_eq!(templates.text(half), Ok(Text::Fixed("x".to_owned())));
        let refused = templates.text(half).unwrap_err();
        assert_eq!(
            refused,
            "the templates of this suite make more than 256 MiB"
        );
    }

    #[test]
    fn messages_repeat_nothing_of_a_template_that_may_be_secret() {
        for source in [
            "Bearer s3cret{{ 1 / 0 }}",
            "Bearer s3cret{{ nmae }}",
            "Bearer s3cret{{ token + 1 }}",
            "{{ 'Bearer s3cret' 'x' }}",
            "{{ 'Bearer s3cret' + 1 }}",
            "{% for i in range(99999999) %}Bearer s3cret{% endfor %}",
        ] {
            let error = text(source).unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_number_is_short() {
        let (params, bounds) = (params(), TemplateBounds::default());
        let templates = Templates::new(&params, &[], &bounds);
        assert_eq!(
            templates.number("{{ 'a' * 1000000 }}"),
            Err("a text of 1000000 bytes is no number".to_owned())
        );
    }

    #[test]
    fn a_parameter_is_counted_wherever_it_is_copied() {
        let (mut params, bounds) = (params(), TemplateBounds::default());
        let long = WrittenValue::quoted("x".repeat(1 << 20));
        params.insert("p".to_owned(), long);
        let templates = Templates::new(&params, &[], &bounds);
        let refused = templates.text(&"{% set a = p %}".repeat(257)).unwrap_err();
        assert!(refused.contains("256 MiB"), "{refused}");
    }

    /// The number of saved names does not affect the time of a step: a linear search of these would
    /// take minutes.
    #[test]
    fn saved_names_are_found_at_once() {
        let names = (0..50_000).map(|number| saved(format!("s{number:05}")));
        let saved: Vec<SavedName> = names.collect();
        let (params, bounds) = (params(), TemplateBounds::default());
        let templates = Templates::new(&params, &saved, &bounds);
        templates.saves("s49999");
        let begun = std::time::Instant::now();
        let source = "{% for i in range(100000) %}{% set a = s49999 %}{% endfor %}{{ s49999 }}";
        let Ok(Text::Live(live)) = templates.text(source) else {
            panic!()
        };
        let slot = Piece::Variable(Variable::Saved(49_999));
        assert_eq!(live.pieces(), [slot]);
        assert!(begun.elapsed().as_secs() < 20);
    }
}
