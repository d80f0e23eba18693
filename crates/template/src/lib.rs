//! Templates: the expressions, loops and conditions of Jinja, within limits of time and memory.
//!
//! ```text
//! text --> tokens --> tree --> values --> parts: texts, and values that are known only later
//! ```
//!
//! | | |
//! |---|---|
//! | `{{ expression }}` | its value as text |
//! | `{% for a in list %}...{% else %}...{% endfor %}` | once for each item, or the other part without items; `loop.index` counts from 1, `loop.index0` from 0, `loop.first`, `loop.last`, `loop.length` |
//! | `{% if a %}...{% elif b %}...{% else %}...{% endif %}` | the first part whose condition is true |
//! | `{% set a = expression %}`, `{% set a %}...{% endset %}` | a variable for the rest of the loop or text |
//! | `{% raw %}...{% endraw %}`, `{# ... #}` | a text unchanged; nothing |
//!
//! `-` beside a delimiter (`{%- ... -%}`) removes blanks and line ends there. Expressions have
//! numbers, texts, lists and maps; `or`, `and`, `not`, comparisons, `in`, `is`, `~`, `+ - * / // %
//! **`, members (`a.b`, `a["b"]`, `a[0]`, `a[1:3]`), `a if b else c`, filters (`a | upper`) and
//! `range(n)`. [`filters`] lists all filters.
//!
//! A value may be known only later ([`Later`]). It can be inserted, joined to others, and used in
//! arithmetic as far as its type allows.
//!
//! The steps of an evaluation are counted, and so are the bytes of all texts, lists and maps that
//! it makes or receives, even temporary ones ([`Bounds`]). So time and memory are limited, whatever
//! the template.

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
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        Parser::from_text(text)?.template().map(Template)
    }

    /// Evaluates it within the remaining limits; `named` has the values of names.
    pub fn render<L: Later>(
        &self,
        named: &dyn Fn(&str) -> Option<Value<L>>,
        bounds: &mut Bounds,
    ) -> Result<Vec<TextPart<L>>, TemplateError> {
        TemplateEvaluation::new(named, bounds).render(&self.0)
    }

    /// Evaluates it without later values.
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
    /// Parses an expression between `{{` and `}}`.
    pub fn parse(text: &str) -> Result<Expression, TemplateError> {
        Parser::from_expression(text)?.whole().map(Expression)
    }

    /// Its value within the remaining limits; `named` has the values of names.
    pub fn value<L: Later>(
        &self,
        named: &dyn Fn(&str) -> Option<Value<L>>,
        bounds: &mut Bounds,
    ) -> Result<Value<L>, TemplateError> {
        TemplateEvaluation::new(named, bounds).whole(&self.0)
    }

    /// Names in the expression.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.0.names(&mut names);
        names
    }
}
