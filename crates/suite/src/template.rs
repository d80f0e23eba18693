//! Templates, evaluated as far as possible before the clock starts.
//!
//! A template may use the suite's parameters, which are known when the plan is made, and
//! *run-time variables*, which are not: `n`, `user`, and names that a step saved. The template
//! engine runs once, at planning time, with each run-time variable bound to a mark that cannot
//! occur in a text; what comes out is cut at the marks. A text without marks is fixed, the others
//! become a list of [`Piece`]s, and filling them in while the test runs is copying bytes.
//!
//! Arithmetic with `n`, `user` and the numbers of repetitions is kept as an expression ([`Arithmetic`]) and
//! evaluated per request. Nothing else can be done with run-time variables but to insert them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Object, ObjectRepr};
use minijinja::{Environment, UndefinedBehavior};
use serde::{Deserialize, Serialize};

use crate::arithmetic::{Arithmetic, Operand};

/// What is only known while the test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Variable {
    /// `n`: how often this user has been through the loop of this test, from 1.
    Iteration,
    /// `user`: number of the user, from 0.
    User,
    /// Something a step saved: index into [`TestPlan::saved`](crate::TestPlan::saved).
    Saved(usize),
    /// Number of a repetition that has a name, from 1: how many named ones it stands in.
    Repetition(usize),
}

/// A text of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Text {
    /// The same every time.
    Fixed(String),
    /// With run-time variables in it.
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
    /// Stands as it is.
    Literal(String),
    /// To be filled in.
    Variable(Variable),
    /// To be evaluated, and filled in as a decimal number.
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
    /// The parts, in order; a fixed text has none but itself.
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
}

/// Evaluates templates of one test.
#[derive(Clone)]
pub(crate) struct Templates<'a> {
    environment: Environment<'static>,
    params: &'a BTreeMap<String, serde_json::Value>,
    saved: &'a [String],
    /// Names of the repetitions that are open, from the outermost on.
    repetitions: Vec<String>,
}

/// Steps of the template engine; a loop over 10,000 properties takes about 100,000.
const FUEL: u64 = 20_000_000;
/// Longest text a template may grow into.
const LONGEST: usize = 64 << 20;
const MARK: char = '\u{1}';

impl<'a> Templates<'a> {
    pub(crate) fn new(
        params: &'a BTreeMap<String, serde_json::Value>,
        saved: &'a [String],
    ) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        // A line end at the end of a body is part of it. Only delimiters can make this fail.
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        environment.set_syntax(syntax.unwrap_or_default());
        Templates {
            environment,
            params,
            saved,
            repetitions: Vec::new(),
        }
    }

    /// The same inside a repetition of that name, and where its number is kept.
    ///
    /// # Errors
    /// When something else has that name.
    pub(crate) fn inside(&self, repetition: &str) -> Result<(Self, usize), String> {
        let own = ["n", "user"].contains(&repetition) || self.params.contains_key(repetition);
        let names = || self.saved.iter().chain(&self.repetitions);
        if own || !is_name(repetition) || names().any(|name| name == repetition) {
            return Err(format!(
                "`{repetition}` cannot be the name of a repetition: it is no name, or it is taken \
                 already"
            ));
        }
        let mut inside = self.clone();
        inside.repetitions.push(repetition.to_owned());
        Ok((inside, self.repetitions.len()))
    }

    /// Evaluates `source`, leaving run-time variables to be filled in.
    pub(crate) fn text(&self, source: &str) -> Result<Text, String> {
        if source.contains(MARK) {
            return Err("a control character (U+0001) stands in the text".to_owned());
        }
        if !source.contains('{') {
            return Ok(Text::Fixed(source.to_owned()));
        }
        self.cut(&self.render(source)?)
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
                let name = name.unwrap_or_else(|| shortened(source));
                Err(format!(
                    "`{name}` has a value only while the test runs, and is needed earlier"
                ))
            }
        }
    }

    /// The same where a number is wanted: one that YAML reads as a number is written in decimal digits.
    pub(crate) fn number(&self, source: &str) -> Result<String, String> {
        let text = self.fixed(source)?;
        Ok(yaml::decimal(text.trim()).unwrap_or(text))
    }

    fn render(&self, source: &str) -> Result<String, String> {
        let mut context: BTreeMap<String, minijinja::Value> = self
            .params
            .iter()
            .map(|(name, value)| (name.clone(), scalar(value)))
            .collect();
        for (index, name) in self.saved.iter().enumerate() {
            context.insert(name.clone(), mark(&format!("s{index}")));
        }
        for (index, name) in self.repetitions.iter().enumerate() {
            context.insert(name.clone(), mark(&format!("r{index}")));
        }
        context.insert("n".to_owned(), mark("n"));
        context.insert("user".to_owned(), mark("u"));
        let (prepared, computed) = self.set_aside(source)?;
        for (index, expression) in computed.iter().enumerate() {
            context.insert(computed_name(index), mark(&format!("e{expression}")));
        }
        let text = self
            .environment
            .render_str(&prepared, context)
            .map_err(|error| self.explain(&error, source))?;
        if text.len() > LONGEST {
            return Err(format!(
                "the text grows to {} MiB; 64 are the limit",
                text.len() >> 20
            ));
        }
        Ok(text)
    }

    /// The source with names in place of arithmetic with run-time variables, and that arithmetic.
    fn set_aside(&self, source: &str) -> Result<(String, Vec<Arithmetic>), String> {
        let (mut prepared, mut computed) = (String::new(), Vec::new());
        let mut rest = source;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inner, behind)) = after.split_once("}}") else {
                break;
            };
            prepared.push_str(before);
            prepared.push_str("{{");
            // `{{- ... -}}` removes blanks around.
            let from = usize::from(inner.starts_with('-'));
            let to = inner.len() - usize::from(inner.len() > from && inner.ends_with('-'));
            let operand = |name: &str| self.operand(name, source);
            match Arithmetic::parse(&inner[from..to], operand)? {
                Some(expression) => {
                    let name = computed_name(computed.len());
                    prepared.push_str(&format!("{} {name} {}", &inner[..from], &inner[to..]));
                    computed.push(expression);
                }
                None => prepared.push_str(inner),
            }
            prepared.push_str("}}");
            rest = behind;
        }
        prepared.push_str(rest);
        Ok((prepared, computed))
    }

    /// What a name stands for in arithmetic; `None` for what is no number, and for names that a statement of the
    /// template sets.
    fn operand(&self, name: &str, source: &str) -> Option<Operand> {
        if is_set_by_statement(name, source) {
            return None;
        }
        let repetition = self.repetitions.iter().position(|own| own == name);
        match (name, repetition) {
            ("n", _) => Some(Operand::Variable(Variable::Iteration)),
            ("user", _) => Some(Operand::Variable(Variable::User)),
            (_, Some(place)) => Some(Operand::Variable(Variable::Repetition(place))),
            _ => self.params.get(name)?.as_i64().map(Operand::Constant),
        }
    }

    fn explain(&self, error: &minijinja::Error, source: &str) -> String {
        use minijinja::ErrorKind;
        let known = || {
            let names: Vec<&str> = ["n", "user"]
                .into_iter()
                .chain(self.params.keys().map(String::as_str))
                .chain(self.saved.iter().map(String::as_str))
                .chain(self.repetitions.iter().map(String::as_str))
                .collect();
            names.join(", ")
        };
        match error.kind() {
            ErrorKind::UndefinedError => {
                format!(
                    "a name in `{}` is not known; known are {}",
                    shortened(source),
                    known()
                )
            }
            ErrorKind::OutOfFuel => format!("`{}` takes too long to evaluate", shortened(source)),
            // A name that is not known is no operand.
            ErrorKind::InvalidOperation
                if error
                    .detail()
                    .is_some_and(|detail| detail.contains("undefined")) =>
            {
                format!(
                    "a name in `{}` is not known; known are {}",
                    shortened(source),
                    known()
                )
            }
            ErrorKind::InvalidOperation => format!(
                "`{}`: {} (with n, user and the names of repetitions, + - * // % and parentheses can be used; \
                 saved names can only be inserted)",
                shortened(source),
                error.detail().unwrap_or("invalid operation")
            ),
            kind => format!(
                "`{}`: {}",
                shortened(source),
                error.detail().unwrap_or(&kind.to_string())
            ),
        }
    }

    fn cut(&self, rendered: &str) -> Result<Text, String> {
        if !rendered.contains(MARK) {
            return Ok(Text::Fixed(rendered.to_owned()));
        }
        let mut pieces = Vec::new();
        for (index, part) in rendered.split(MARK).enumerate() {
            let is_mark = index % 2 == 1;
            if is_mark {
                let computed = part.strip_prefix('e').and_then(|text| text.parse().ok());
                pieces.push(match computed {
                    Some(expression) => Piece::Computed(expression),
                    None => Piece::Variable(self.variable(part)?),
                });
            } else if !part.is_empty() {
                pieces.push(Piece::Literal(part.to_owned()));
            }
        }
        Ok(Text::Live(LiveText::new(pieces)))
    }

    fn variable(&self, mark: &str) -> Result<Variable, String> {
        let place = |kind: char, names: &[String]| -> Option<usize> {
            let index = mark.strip_prefix(kind)?.parse().ok()?;
            (index < names.len()).then_some(index)
        };
        let variable = match mark {
            "n" => Some(Variable::Iteration),
            "u" => Some(Variable::User),
            _ => place('s', self.saved)
                .map(Variable::Saved)
                .or_else(|| place('r', &self.repetitions).map(Variable::Repetition)),
        };
        variable.ok_or_else(|| {
            "n, user, saved names and those of repetitions can be inserted as they are, not changed \
             by a filter"
                .to_owned()
        })
    }

    fn name(&self, variable: Variable) -> String {
        match variable {
            Variable::Iteration => "n".to_owned(),
            Variable::User => "user".to_owned(),
            Variable::Saved(index) => self.saved[index].clone(),
            Variable::Repetition(index) => self.repetitions[index].clone(),
        }
    }
}

/// Stands for arithmetic in a template; no name of a suite begins with `_`.
fn computed_name(index: usize) -> String {
    format!("_computed_{index}")
}

/// Whether a statement (`{% for n in ... %}`) contains that name.
fn is_set_by_statement(name: &str, source: &str) -> bool {
    let statements = source.split("{%").skip(1);
    let mut statements = statements.map(|part| part.split("%}").next().unwrap_or(part));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    statements.any(|statement| statement.split(|c| !is_word(c)).any(|word| word == name))
}

/// Letters, digits and `_`, a letter first.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parameters are numbers, texts and truth values; resolving has refused all else.
fn scalar(value: &serde_json::Value) -> minijinja::Value {
    use serde_json::Value;
    match value {
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(integer), ..) => integer.into(),
            (None, Some(integer), _) => integer.into(),
            (None, None, Some(float)) => float.into(),
            (None, None, None) => number.to_string().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(scalar).collect(),
        Value::Null | Value::Object(_) => minijinja::Value::UNDEFINED,
    }
}

fn mark(name: &str) -> minijinja::Value {
    minijinja::Value::from_object(Mark(format!("{MARK}{name}{MARK}")))
}

/// Stands for a run-time variable. No string, which could be repeated (`n * 2`) or cut.
#[derive(Debug)]
struct Mark(String);

impl Object for Mark {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The beginning of a template, on one line, for a message.
fn shortened(source: &str) -> String {
    let line = source.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 60 {
        return line;
    }
    line.chars().take(57).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> BTreeMap<String, serde_json::Value> {
        BTreeMap::from([
            ("properties".to_owned(), 3.into()),
            ("name".to_owned(), "x".into()),
        ])
    }

    fn text(source: &str) -> Result<Text, String> {
        Templates::new(&params(), &["token".to_owned()]).text(source)
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
            // The loop has an `n` of its own.
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
            "a\u{1}b",
        ] {
            assert!(text(source).is_err(), "{source}");
        }
        assert!(Templates::new(&params(), &[]).fixed("{{ n }}").is_err());
        let forever = "{% for i in range(100000) %}{% for j in range(100000) %}{{ i * j }}{% endfor %}{% \
                       endfor %}";
        assert!(text(forever).unwrap_err().contains("too long"));
    }
}
