//! Trees of templates.

use std::collections::BTreeSet;

use crate::operators::TemplateOperator;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TemplateNode {
    Text(String),
    Value(ExpressionTree),
    For {
        /// One name, or one for each part of an item.
        names: Vec<String>,
        items: ExpressionTree,
        /// Condition of the items.
        condition: Option<ExpressionTree>,
        body: Vec<TemplateNode>,
        /// The body uses `loop`.
        names_loop: bool,
        otherwise: Vec<TemplateNode>,
    },
    If {
        /// Conditions, and the parts that follow them.
        cases: Vec<(ExpressionTree, Vec<TemplateNode>)>,
        otherwise: Vec<TemplateNode>,
    },
    Set {
        name: String,
        value: ExpressionTree,
    },
    SetText {
        name: String,
        body: Vec<TemplateNode>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExpressionTree {
    None,
    Flag(bool),
    Integer(i128),
    Real(f64),
    Text(String),
    List(Vec<ExpressionTree>),
    Map(Vec<(ExpressionTree, ExpressionTree)>),
    Name(String),
    /// `a.b`, `a[b]`
    Member(Box<ExpressionTree>, Box<ExpressionTree>),
    /// `a[b:c]`
    Range(
        Box<ExpressionTree>,
        Option<Box<ExpressionTree>>,
        Option<Box<ExpressionTree>>,
    ),
    Not(Box<ExpressionTree>),
    Negative(Box<ExpressionTree>),
    And(Box<ExpressionTree>, Box<ExpressionTree>),
    Or(Box<ExpressionTree>, Box<ExpressionTree>),
    Operation(TemplateOperator, Box<ExpressionTree>, Box<ExpressionTree>),
    /// `a if b else c`: a, b and c.
    If(Box<(ExpressionTree, ExpressionTree, Option<ExpressionTree>)>),
    /// `a | name(...)`
    Filter(Box<ExpressionTree>, Call),
    /// `a is name(...)`
    Test(Box<ExpressionTree>, Call),
    /// `name(...)`
    Call(Call),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    /// Set for a named argument.
    pub(crate) name: Option<String>,
    pub(crate) value: ExpressionTree,
}

impl ExpressionTree {
    /// Adds the names in it.
    pub(crate) fn names(&self, names: &mut BTreeSet<String>) {
        let mut visit_all = |trees: &mut dyn Iterator<Item = &ExpressionTree>| {
            trees.for_each(|tree| tree.names(names))
        };
        match self {
            ExpressionTree::None
            | ExpressionTree::Flag(_)
            | ExpressionTree::Integer(_)
            | ExpressionTree::Real(_)
            | ExpressionTree::Text(_) => {}
            ExpressionTree::Name(name) => {
                names.insert(name.clone());
            }
            ExpressionTree::List(items) => visit_all(&mut items.iter()),
            ExpressionTree::Map(members) => {
                visit_all(&mut members.iter().flat_map(|(key, value)| [key, value]))
            }
            ExpressionTree::Not(first) | ExpressionTree::Negative(first) => first.names(names),
            ExpressionTree::Member(first, other)
            | ExpressionTree::And(first, other)
            | ExpressionTree::Or(first, other)
            | ExpressionTree::Operation(_, first, other) => {
                visit_all(&mut [&**first, &**other].into_iter())
            }
            ExpressionTree::Range(first, from, to) => {
                let ends = [from, to].into_iter().flatten();
                visit_all(&mut std::iter::once(first).chain(ends).map(|first| &**first));
            }
            ExpressionTree::If(parts) => {
                let (then, condition, otherwise) = &**parts;
                visit_all(&mut [then, condition].into_iter().chain(otherwise));
            }
            ExpressionTree::Filter(first, call) | ExpressionTree::Test(first, call) => {
                let arguments = call.arguments.iter().map(|argument| &argument.value);
                visit_all(&mut std::iter::once(&**first).chain(arguments));
            }
            ExpressionTree::Call(call) => {
                visit_all(&mut call.arguments.iter().map(|argument| &argument.value))
            }
        }
    }
}
