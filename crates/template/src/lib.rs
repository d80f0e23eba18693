//! Templates: the expressions, loops and conditions of Jinja, within bounds of time and memory.
//!
//! ```text
//! text --> tokens --> tree --> values --> parts: texts, and what is only known later
//! ```
//!
//! | | |
//! |---|---|
//! | `{{ expression }}` | its value as a text |
//! | `{% for a in list %}...{% else %}...{% endfor %}` | once for each item, or the other if there are none; `loop.index` counts from 1, `loop.index0` from 0, `loop.first`, `loop.last`, `loop.length` |
//! | `{% if a %}...{% elif b %}...{% else %}...{% endif %}` | the first whose condition is true |
//! | `{% set a = expression %}`, `{% set a %}...{% endset %}` | a name for the rest of the loop or text |
//! | `{% raw %}...{% endraw %}`, `{# ... #}` | a text as it is; nothing |
//!
//! `-` beside a delimiter (`{%- ... -%}`) removes blanks and line ends there. Expressions have numbers, texts, lists and maps;
//! `or`, `and`, `not`, comparisons, `in`, `is`, `~`, `+ - * / // % **`, members (`a.b`, `a["b"]`, `a[0]`, `a[1:3]`),
//! `a if b else c`, filters (`a | upper`) and `range(n)`. [`filters`] lists those that there are.
//!
//! A value may be known only later ([`Later`]). It can be inserted, be joined to others, and be reckoned with as far as its
//! type allows.
//!
//! The steps of an evaluation are counted, and so are the bytes of the texts, lists and maps that it makes or is given,
//! whether they are kept or not ([`Bounds`]). So time and memory are bounded, whatever a template does.

mod bounds;
mod error;
mod evaluate;
pub mod filters;
mod lexer;
mod operators;
mod parser;
#[cfg(test)]
mod tests;
mod tree;
mod value;

use std::collections::BTreeSet;

use evaluate::TemplateEvaluation;
use parser::Parser;
use tree::{ExpressionTree, TemplateNode};

pub use bounds::Bounds;
pub use error::TemplateError;
pub use operators::TemplateOperator;
pub use value::{Later, Never, TextPart, Value};

/// A text with templates in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<TemplateNode>);

impl Template {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        Parser::of_text(text)?.template().map(Template)
    }

    /// Evaluates it within what is left of these bounds, where `named` gives the values of names.
    ///
    /// # Errors
    /// Why it has no value.
    pub fn render<L: Later>(
        &self,
        named: &dyn Fn(&str) -> Option<Value<L>>,
        bounds: &mut Bounds,
    ) -> Result<Vec<TextPart<L>>, TemplateError> {
        TemplateEvaluation::new(named, bounds).render(&self.0)
    }

    /// Evaluates it where nothing is known only later.
    ///
    /// # Errors
    /// Why it has no value.
    pub fn text(
        &self,
        named: &dyn Fn(&str) -> Option<Value<Never>>,
        bounds: &mut Bounds,
    ) -> Result<String, TemplateError> {
        let parts = self.render(named, bounds)?.into_iter();
        let texts = parts.map(|part| match part {
            TextPart::Text(text) => text,
            TextPart::Later(never) => match never {},
        });
        Ok(texts.collect())
    }
}

/// An expression alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression(ExpressionTree);

impl Expression {
    /// Reads what stands between `{{` and `}}`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Expression, TemplateError> {
        Parser::of_expression(text)?.whole().map(Expression)
    }

    /// Its value within what is left of these bounds, where `named` gives the values of names.
    ///
    /// # Errors
    /// Why it has none.
    pub fn value<L: Later>(
        &self,
        named: &dyn Fn(&str) -> Option<Value<L>>,
        bounds: &mut Bounds,
    ) -> Result<Value<L>, TemplateError> {
        TemplateEvaluation::new(named, bounds).whole(&self.0)
    }

    /// The names in it.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.0.names(&mut names);
        names
    }
}
