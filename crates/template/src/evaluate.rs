//! Evaluation of a tree.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::bounds::LETTERS;
use crate::filters;
use crate::operators::TemplateOperator;
use crate::tree::{Call, ExpressionTree, TemplateNode};
use crate::value::{
    Later, TextPart, Value, known, known_now, later_of, shortened, truth, unfit, unfit_or_later,
};
use crate::{Bounds, TemplateError};

/// Bytes of an item beside its content.
const ITEM: usize = 48;
/// Bytes of a text beside its characters.
const TEXT: usize = 32;
/// Steps to make a `loop`, which is a map.
const LOOP: usize = 10;

type Found<L> = Result<Value<L>, TemplateError>;

/// Names, if given, and values of arguments.
pub(crate) type Arguments<L> = Vec<(Option<String>, Value<L>)>;

/// One evaluation of a template.
pub(crate) struct TemplateEvaluation<'a, L> {
    named: &'a dyn Fn(&str) -> Option<Value<L>>,
    left: &'a mut Bounds,
    /// Variables of statements; the last one of a name is found.
    variables: Vec<(String, Value<L>)>,
}

impl<'a, L: Later> TemplateEvaluation<'a, L> {
    pub(crate) fn new(named: &'a dyn Fn(&str) -> Option<Value<L>>, left: &'a mut Bounds) -> Self {
        TemplateEvaluation {
            named,
            left,
            variables: Vec::new(),
        }
    }

    pub(crate) fn render(
        &mut self,
        nodes: &[TemplateNode],
    ) -> Result<Vec<TextPart<L>>, TemplateError> {
        let mut parts = Vec::new();
        self.nodes(nodes, &mut parts)?;
        Ok(parts)
    }

    /// The value of an expression, which must have one.
    pub(crate) fn whole(&mut self, tree: &ExpressionTree) -> Found<L> {
        let value = self.value(tree)?;
        known(value)
    }

    fn nodes(
        &mut self,
        nodes: &[TemplateNode],
        out: &mut Vec<TextPart<L>>,
    ) -> Result<(), TemplateError> {
        for node in nodes {
            self.left.takes(1)?;
            match node {
                TemplateNode::Text(text) => self.insert_text(text, out)?,
                TemplateNode::Value(tree) => {
                    let value = self.whole(tree)?;
                    self.insert(&value, out)?;
                }
                TemplateNode::For {
                    names,
                    items,
                    condition,
                    body,
                    names_loop,
                    otherwise,
                } => {
                    let items = self.items(items, (names, condition.as_ref()))?;
                    if items.is_empty() {
                        self.nodes(otherwise, out)?;
                    }
                    self.repeat((names, *names_loop), &items, body, out)?;
                }
                TemplateNode::If { cases, otherwise } => {
                    let mut chosen = otherwise;
                    for (condition, body) in cases {
                        let condition = self.value(condition)?;
                        if truth(&condition)? {
                            chosen = body;
                            break;
                        }
                    }
                    self.nodes(chosen, out)?;
                }
                TemplateNode::Set { name, value } => {
                    let value = self.whole(value)?;
                    self.variables.push((name.clone(), value));
                    self.bytes(ITEM)?;
                }
                TemplateNode::SetText { name, body } => {
                    let mut parts = Vec::new();
                    self.nodes(body, &mut parts)?;
                    self.variables.push((name.clone(), joined(parts)));
                }
            }
        }
        Ok(())
    }

    /// The items of a loop that fulfil its condition.
    fn items(
        &mut self,
        items: &ExpressionTree,
        (names, condition): (&[String], Option<&ExpressionTree>),
    ) -> Result<Rc<Vec<Value<L>>>, TemplateError> {
        let items = match self.whole(items)? {
            Value::List(items) => items,
            other => Rc::new(self.listed(&other)?),
        };
        let Some(condition) = condition else {
            return Ok(items);
        };
        let mut taken = Vec::new();
        for item in &*items {
            let known = self.variables.len();
            self.name_item(names, item)?;
            let is_taken = truth(&self.value(condition)?)?;
            self.variables.truncate(known);
            if is_taken {
                self.items_come(1)?;
                taken.push(item.clone());
            }
        }
        Ok(Rc::new(taken))
    }

    fn repeat(
        &mut self,
        (names, names_loop): (&[String], bool),
        items: &[Value<L>],
        body: &[TemplateNode],
        out: &mut Vec<TextPart<L>>,
    ) -> Result<(), TemplateError> {
        for (index, item) in items.iter().enumerate() {
            let known = self.variables.len();
            if names_loop {
                self.left.takes(LOOP)?;
                let position = Value::position(index, items.len());
                self.variables.push(("loop".to_owned(), position));
            }
            self.name_item(names, item)?;
            self.nodes(body, out)?;
            // Variables set in the body end with it.
            self.variables.truncate(known);
        }
        Ok(())
    }

    fn name_item(&mut self, names: &[String], item: &Value<L>) -> Result<(), TemplateError> {
        self.left.takes(names.len())?;
        if let [name] = names {
            self.variables.push((name.clone(), item.clone()));
            return Ok(());
        }
        match item {
            Value::List(parts) if parts.len() == names.len() => {
                let named = names.iter().cloned().zip(parts.iter().cloned());
                self.variables.extend(named);
                Ok(())
            }
            _ => Err(unfit_or_later([item], || {
                format!("an item of the loop is no list of {}", names.len())
            })),
        }
    }

    fn value(&mut self, tree: &ExpressionTree) -> Found<L> {
        self.left.takes(1)?;
        Ok(match tree {
            ExpressionTree::None => Value::None,
            ExpressionTree::Flag(flag) => Value::Flag(*flag),
            ExpressionTree::Integer(number) => Value::Integer(*number),
            ExpressionTree::Real(number) => Value::Real(*number),
            ExpressionTree::Text(text) => {
                self.bytes(text.len())?;
                text.as_str().into()
            }
            ExpressionTree::Name(name) => self.name(name)?,
            ExpressionTree::List(items) => {
                self.items_come(items.len())?;
                let items = items.iter().map(|item| self.whole(item));
                let items = items.collect::<Result<_, _>>()?;
                self.list(items)?
            }
            ExpressionTree::Map(members) => self.map(members)?,
            ExpressionTree::Member(container, name) => self.member(container, name)?,
            ExpressionTree::Range(sliced, first, end) => {
                self.range(sliced, first.as_deref(), end.as_deref())?
            }
            ExpressionTree::Not(operand) => {
                let operand = self.value(operand)?;
                Value::Flag(!truth(&operand)?)
            }
            ExpressionTree::Negative(operand) => {
                let operand = self.whole(operand)?;
                self.operation(TemplateOperator::Subtract, &Value::Integer(0), &operand)?
            }
            ExpressionTree::And(left, right) => {
                let left = self.value(left)?;
                if truth(&left)? {
                    self.value(right)?
                } else {
                    left
                }
            }
            ExpressionTree::Or(left, right) => {
                let left = self.value(left)?;
                if truth(&left)? {
                    left
                } else {
                    self.value(right)?
                }
            }
            ExpressionTree::Operation(operator, left, right) => {
                let (left, right) = (self.whole(left)?, self.whole(right)?);
                self.operation(*operator, &left, &right)?
            }
            ExpressionTree::If(parts) => {
                let (then, condition, otherwise) = &**parts;
                let condition = self.value(condition)?;
                match (truth(&condition)?, otherwise) {
                    (true, _) => self.value(then)?,
                    (false, Some(otherwise)) => self.value(otherwise)?,
                    (false, None) => "".into(),
                }
            }
            ExpressionTree::Filter(value, call) => {
                let value = self.value(value)?;
                let arguments = self.arguments(call)?;
                filters::filter(self, &call.name, value, arguments)?
            }
            ExpressionTree::Test(value, call) => {
                let value = self.value(value)?;
                let arguments = self.arguments(call)?;
                Value::Flag(filters::test(self, &call.name, value, arguments)?)
            }
            ExpressionTree::Call(call) => {
                let arguments = self.arguments(call)?;
                filters::function(self, &call.name, arguments)?
            }
        })
    }

    fn name(&mut self, name: &str) -> Found<L> {
        // Steps of the search.
        self.left.takes(self.variables.len() / LETTERS)?;
        let variable = self
            .variables
            .iter()
            .rev()
            .find(|(variable, _)| variable == name);
        if let Some((_, value)) = variable {
            return Ok(value.clone());
        }
        let value = (self.named)(name).unwrap_or(Value::Missing {
            name: name.into(),
            is_member: false,
        });
        // The value may have been made by this call.
        let before = self.left.steps;
        self.weighs(&value)?;
        let steps = before - self.left.steps;
        self.bytes((steps as usize - 1) * LETTERS)?;
        Ok(value)
    }

    fn map(&mut self, members: &[(ExpressionTree, ExpressionTree)]) -> Found<L> {
        let mut map = BTreeMap::new();
        for (name, value) in members {
            let (name, value) = (self.whole(name)?, self.whole(value)?);
            let no_text = || unfit_or_later([&name], || "the name of a member is no text".into());
            let name = name.text().ok_or_else(no_text)?;
            self.weighs(&value)?;
            self.bytes(ITEM + name.len())?;
            map.insert(name.to_owned(), value);
        }
        Ok(Value::Map(Rc::new(map)))
    }

    fn member(&mut self, tree: &ExpressionTree, name: &ExpressionTree) -> Found<L> {
        let (tree, name) = (self.whole(tree)?, self.whole(name)?);
        let name = name.bare();
        let at = |length: usize, index: i128| usize::try_from(from_end(length, index)).ok();
        let found = match (&tree, name) {
            (Value::List(items), Value::Integer(index)) => {
                at(items.len(), *index).and_then(|index| items.get(index).cloned())
            }
            (Value::Text(text) | Value::Named(text, _), Value::Integer(index)) => {
                self.weighs(&tree)?;
                let index = at(text.chars().count(), *index);
                let letter = index.and_then(|index| text.chars().nth(index));
                letter
                    .map(|letter| self.made(letter.to_string()))
                    .transpose()?
            }
            (_, Value::Text(name) | Value::Named(name, _)) => {
                let members = tree.members();
                let none = || unfit_or_later([&tree], || format!("{} has no members", tree.kind()));
                members.ok_or_else(none)?.get(&**name).cloned()
            }
            (_, Value::Integer(index)) => {
                return Err(unfit_or_later([&tree], || {
                    format!("{} has no member {index}", tree.kind())
                }));
            }
            _ => return Err(self.no_use("a member that is", name)),
        };
        Ok(found.unwrap_or_else(|| Value::Missing {
            name: shortened(name.text().unwrap_or(&name.to_string())).into(),
            is_member: true,
        }))
    }

    fn range(
        &mut self,
        sliced: &ExpressionTree,
        first: Option<&ExpressionTree>,
        end: Option<&ExpressionTree>,
    ) -> Found<L> {
        let sliced = self.whole(sliced)?;
        self.weighs(&sliced)?;
        let mut index = |tree: Option<&ExpressionTree>| -> Result<Option<i128>, TemplateError> {
            let value = tree.map(|tree| self.whole(tree)).transpose()?;
            match value.as_ref().map(Value::bare) {
                None | Some(Value::None) => Ok(None),
                Some(Value::Integer(index)) => Ok(Some(*index)),
                Some(other) => Err(unfit_or_later([other], || {
                    format!("{} is no place", other.kind())
                })),
            }
        };
        let (first, end) = (index(first)?, index(end)?);
        let within = |length: usize| {
            let at = |index: i128| {
                let index = from_end(length, index).max(0);
                usize::try_from(index).unwrap_or(length).min(length)
            };
            let (first, end) = (first.map_or(0, at), end.map_or(length, at));
            first..end.max(first)
        };
        match &sliced {
            Value::List(items) => {
                let items = &items[within(items.len())];
                self.items_come(items.len())?;
                self.list(items.to_vec())
            }
            _ => {
                let Some(text) = sliced.text() else {
                    return Err(self.no_use("a part of", &sliced));
                };
                let within = within(text.chars().count());
                let letters = text.chars().skip(within.start).take(within.len());
                let text: String = letters.collect();
                self.made(text)
            }
        }
    }

    fn arguments(&mut self, call: &Call) -> Result<Arguments<L>, TemplateError> {
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            let value = self.whole(&argument.value)?;
            arguments.push((argument.name.clone(), value));
        }
        Ok(arguments)
    }

    fn operation(
        &mut self,
        operator: TemplateOperator,
        left: &Value<L>,
        right: &Value<L>,
    ) -> Found<L> {
        self.weighs(left)?;
        self.weighs(right)?;
        if operator == TemplateOperator::Join {
            let mut parts = Vec::new();
            self.insert(left, &mut parts)?;
            self.insert(right, &mut parts)?;
            return Ok(joined(parts));
        }
        let (left, right) = (left.bare(), right.bare());
        if left.later().or(right.later()).is_some() {
            return self.operation_later(operator, left, right);
        }
        if let Some(found) = operator.apply_to_numbers(left, right) {
            return found;
        }
        match (operator, left, right) {
            (TemplateOperator::Add, Value::List(items), Value::List(others)) => {
                self.items_come(items.len() + others.len())?;
                return self.list([&items[..], &others[..]].concat());
            }
            (TemplateOperator::Multiply, Value::Integer(times), other)
            | (TemplateOperator::Multiply, other, Value::Integer(times)) => {
                return self.repeated(other, *times);
            }
            _ => {}
        }
        if let (TemplateOperator::Add, Some(left), Some(right)) =
            (operator, left.text(), right.text())
        {
            return self.made([left, right].concat());
        }
        let compared = operator.compare(left, right).map(Value::Flag);
        compared.ok_or_else(|| {
            let (left, right) = (left.kind(), right.kind());
            unfit(format!(
                "`{}` has no meaning for {left} and {right}",
                operator.sign()
            ))
        })
    }

    fn operation_later(
        &mut self,
        operator: TemplateOperator,
        left: &Value<L>,
        right: &Value<L>,
    ) -> Found<L> {
        let operand = |value: &Value<L>| match value {
            Value::Later(later) => Some(later.clone()),
            Value::Integer(number) => L::constant(i64::try_from(*number).ok()?),
            _ => None,
        };
        let both = operand(left).zip(operand(right));
        let found = both.and_then(|(left, right)| L::apply(operator, &left, &right));
        match found {
            Some(found) => {
                let found = found.map_err(TemplateError::Unfit)?;
                self.bytes(found.size())?;
                Ok(Value::Later(found))
            }
            None => Err(later_of([left, right])),
        }
    }

    fn repeated(&mut self, value: &Value<L>, times: i128) -> Found<L> {
        let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
        match value {
            Value::List(items) if items.is_empty() => Ok(value.clone()),
            Value::List(items) => {
                self.items_come(items.len().saturating_mul(times))?;
                let all = std::iter::repeat_n(&items[..], times).flatten();
                self.list(all.cloned().collect())
            }
            _ => {
                let Some(text) = value.text() else {
                    let kind = value.kind();
                    return Err(unfit(format!("`*` has no meaning for {kind} and a number")));
                };
                self.bytes(text.len().saturating_mul(times))?;
                Ok(text.repeat(times).into())
            }
        }
    }

    /// The items of a list, the letters of a text, or the names of a map.
    pub(crate) fn listed(&mut self, value: &Value<L>) -> Result<Vec<Value<L>>, TemplateError> {
        self.weighs(value)?;
        Ok(match value {
            Value::List(items) => {
                self.items_come(items.len())?;
                items.to_vec()
            }
            Value::Map(members) => {
                self.texts_come(members.len(), members.keys().map(String::len).sum())?;
                members.keys().map(|name| name.as_str().into()).collect()
            }
            Value::Text(text) | Value::Named(text, _) => {
                self.texts_come(text.chars().count(), text.len())?;
                let letters = text.chars().map(|letter| letter.to_string().into());
                letters.collect()
            }
            other => return Err(self.no_use("the items of", other)),
        })
    }

    /// Takes the bytes of `count` items, before their memory is allocated.
    pub(crate) fn items_come(&mut self, count: usize) -> Result<(), TemplateError> {
        self.bytes(count.saturating_mul(ITEM))
    }

    /// Takes the bytes of `count` texts with `letters` bytes together.
    pub(crate) fn texts_come(&mut self, count: usize, letters: usize) -> Result<(), TemplateError> {
        self.bytes(count.saturating_mul(ITEM + TEXT).saturating_add(letters))
    }

    /// A list of these items, whose bytes were already taken.
    pub(crate) fn list(&mut self, items: Vec<Value<L>>) -> Found<L> {
        for item in &items {
            self.weighs(item)?;
        }
        Ok(Value::List(Rc::new(items)))
    }

    /// A text that was made, whose bytes are taken here.
    pub(crate) fn made(&mut self, text: String) -> Found<L> {
        self.bytes(text.len())?;
        Ok(text.into())
    }

    /// A value as text; all of it must be known.
    pub(crate) fn shown(&mut self, value: &Value<L>) -> Result<String, TemplateError> {
        known_now([value])?;
        self.left.written(value)
    }

    fn insert_text(&mut self, text: &str, out: &mut Vec<TextPart<L>>) -> Result<(), TemplateError> {
        self.bytes(text.len())?;
        match out.last_mut() {
            Some(TextPart::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => out.push(TextPart::Text(text.to_owned())),
        }
        Ok(())
    }

    fn insert(
        &mut self,
        value: &Value<L>,
        out: &mut Vec<TextPart<L>>,
    ) -> Result<(), TemplateError> {
        match value {
            Value::Later(later) => {
                self.bytes(later.size() + ITEM)?;
                out.push(TextPart::Later(later.clone()));
                Ok(())
            }
            Value::Parts(parts) => parts.iter().try_for_each(|part| match part {
                TextPart::Text(text) => self.insert_text(text, out),
                TextPart::Later(later) => self.insert(&Value::Later(later.clone()), out),
            }),
            _ => {
                let text = self.shown(value)?;
                self.insert_text(&text, out)
            }
        }
    }

    /// Takes the steps of reading a value.
    pub(crate) fn weighs(&mut self, value: &Value<L>) -> Result<(), TemplateError> {
        self.left.weighs(value)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<(), TemplateError> {
        self.left.makes(count)
    }

    /// The error of a value that has no such property.
    pub(crate) fn no_use(&self, what: &str, value: &Value<L>) -> TemplateError {
        match (value, value.later()) {
            (Value::Missing { name, .. }, _) => TemplateError::Unknown((**name).to_owned()),
            (_, Some(_)) => later_of([value]),
            _ => unfit(format!("there is nothing like {what} {}", value.kind())),
        }
    }
}

/// An index; a negative one counts from the end.
fn from_end(length: usize, index: i128) -> i128 {
    match index {
        ..0 => index + length as i128,
        _ => index,
    }
}

/// Joins texts and later values to one value.
fn joined<L: Later>(mut parts: Vec<TextPart<L>>) -> Value<L> {
    match &mut parts[..] {
        [] => "".into(),
        [TextPart::Text(text)] => std::mem::take(text).into(),
        _ => Value::Parts(Rc::new(parts)),
    }
}
