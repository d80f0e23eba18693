//! Checks of a constraint: its names, its units, and that it can both hold and fail.

use std::collections::BTreeMap;

use crate::ConstraintError;
use crate::judge::{ConstraintFigure, FigureSource, Known, Quantifier};
use crate::parse::unknown_statistic;
use crate::statistic::{Characteristic, PartOfRun, Statistic};
use crate::storage_call::StorageCall;
use crate::tree::{Constraint, ConstraintOperator, ExpressionNode, Part, WrittenQuantity};
use crate::unit::UnitKind;

/// Subject of a constraint, which decides its characteristics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConstraintSubject {
    /// A run.
    #[default]
    Run,
    /// Two servers that are compared.
    Comparison,
}

/// The names that a constraint can use.
#[derive(Debug, Clone, Default)]
pub struct Scope<'a> {
    /// Subject.
    pub subject: ConstraintSubject,
    /// Names of measurements.
    pub measurements: Vec<&'a str>,
    /// Components of background traffic; `None` if not known yet, and any name is accepted.
    pub components: Option<Vec<&'a str>>,
    /// Numbers, by name.
    pub parameters: BTreeMap<&'a str, f64>,
    /// Other constraints.
    pub constraints: BTreeMap<&'a str, &'a Constraint>,
}

/// A constraint with known names and consistent units. Parameters and other constraints are
/// replaced by their values and expressions.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedConstraint {
    pub(crate) root: ExpressionNode,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Type {
    Truth,
    Number(UnitKind),
}

impl Constraint {
    /// Resolves names, checks that only comparable quantities are compared, and that the result
    /// depends on measurements.
    ///
    /// # Errors
    /// The first defect, with its position and what to write instead.
    pub fn check(&self, scope: &Scope<'_>) -> Result<CheckedConstraint, ConstraintError> {
        let root = resolved(&self.root, scope, &mut Vec::new())?;
        let root = root.unwrap_or_else(|| self.root.clone());
        if !is_truth(&root)? {
            let why = match scope.subject {
                ConstraintSubject::Run => {
                    "a constraint compares something, p99(Get1K) < 50 ms for example"
                }
                ConstraintSubject::Comparison => {
                    "a condition is true or false; write slower > 5 % for example"
                }
            };
            return Err(ConstraintError::at(root.offset, why));
        }
        check_compared(&root)?;
        check_constants(&root)?;
        Ok(CheckedConstraint { root })
    }

    /// Checks that it names only these components of background traffic.
    ///
    /// # Errors
    /// The first unknown name, or any if there are no components.
    pub fn check_components(&self, components: &[&str]) -> Result<(), ConstraintError> {
        let scope = Scope {
            components: Some(components.to_vec()),
            ..Scope::default()
        };
        for node in all(&self.root) {
            if let Part::Characteristic(of) = &node.part
                && of.statistic.is_background()
                && let Some(why) = background_problem(of, of.measurement.as_deref(), &scope)
            {
                return Err(ConstraintError::at(node.offset, why));
            }
        }
        Ok(())
    }

    /// Names of parameters and of other constraints, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let of = |node| match node {
            &ExpressionNode {
                part: Part::Name(ref name),
                ..
            } => Some(name.as_str()),
            _ => None,
        };
        all(&self.root).into_iter().filter_map(of)
    }

    /// Its characteristics, in order.
    pub fn characteristics(&self) -> impl Iterator<Item = &Characteristic> {
        characteristics(&self.root)
    }
}

impl CheckedConstraint {
    /// Characteristics of it and of the constraints that it names, in order.
    pub fn characteristics(&self) -> impl Iterator<Item = &Characteristic> {
        characteristics(&self.root)
    }
}

fn characteristics(root: &ExpressionNode) -> impl Iterator<Item = &Characteristic> {
    all(root).into_iter().filter_map(|node| match &node.part {
        Part::Characteristic(characteristic) => Some(characteristic),
        _ => None,
    })
}

/// A part and all parts below it, in written order.
fn all(node: &ExpressionNode) -> Vec<&ExpressionNode> {
    let below = node.below().flat_map(all);
    std::iter::once(node).chain(below).collect()
}

/// Deepest nesting of constraints in constraints; a deeper one is probably a circle.
const DEEPEST: usize = 16;

/// The tree with names resolved; `None` if it has none.
fn resolved<'a>(
    node: &ExpressionNode,
    scope: &Scope<'a>,
    within: &mut Vec<&'a str>,
) -> Result<Option<ExpressionNode>, ConstraintError> {
    let fail = |why: String| Err(ConstraintError::at(node.offset, why));
    let with = |part| {
        let offset = node.offset;
        Ok(Some(ExpressionNode { offset, part }))
    };
    match &node.part {
        Part::Quantity(_) => Ok(None),
        Part::Characteristic(operand) => match &operand.measurement {
            _ if operand.statistic.is_compared()
                != (scope.subject == ConstraintSubject::Comparison) =>
            {
                fail(other_subject(&operand.statistic.to_string(), scope.subject))
            }
            _ if operand.statistic.is_compared() && !is_whole(operand) => fail(format!(
                "`{}` is about all runs of both servers; write {0}(NAME) without anything behind it",
                operand.statistic
            )),
            component if operand.statistic.is_background() => {
                match background_problem(operand, component.as_deref(), scope) {
                    Some(why) => fail(why),
                    None => Ok(None),
                }
            }
            Some(name) if !scope.measurements.contains(&name.as_str()) => {
                fail(unknown_measurement(name, scope))
            }
            _ => Ok(None),
        },
        Part::Name(name) => {
            let compared = match scope.subject {
                ConstraintSubject::Run => None,
                ConstraintSubject::Comparison => Statistic::compared(name),
            };
            if let Some(statistic) = compared {
                return with(Part::Characteristic(Characteristic {
                    statistic,
                    measurement: None,
                    part: PartOfRun::Whole,
                    samples: None,
                    seconds: None,
                }));
            }
            if let Some(number) = scope.parameters.get(name.as_str()) {
                let number = *number;
                return with(Part::Quantity(WrittenQuantity { number, unit: None }));
            }
            let Some((name, constraint)) = scope.constraints.get_key_value(name.as_str()) else {
                return fail(unknown_name(name, scope));
            };
            if within.contains(name) || within.len() >= DEEPEST {
                let why = if within.contains(name) {
                    format!("`{name}` refers to itself")
                } else {
                    format!(
                        "constraints refer to others {DEEPEST} levels deep, and `{name}` would be one more"
                    )
                };
                return fail(why);
            }
            within.push(name);
            let inner = resolved(&constraint.root, scope, within);
            within.pop();
            // Offsets in its own text mean nothing here: the error is where its name stands.
            let inner = inner.map_err(|why| ConstraintError::at(node.offset, why.message))?;
            let inner = inner.unwrap_or_else(|| constraint.root.clone());
            with(moved(inner, node.offset).part)
        }
        Part::Negative(operand) => match resolved(operand, scope, within)? {
            Some(operand) => with(Part::Negative(Box::new(operand))),
            None => Ok(None),
        },
        Part::Not(operand) => match resolved(operand, scope, within)? {
            Some(operand) => with(Part::Not(Box::new(operand))),
            None => Ok(None),
        },
        Part::Pair(operator, a, b) => {
            let (new_a, new_b) = (resolved(a, scope, within)?, resolved(b, scope, within)?);
            if new_a.is_none() && new_b.is_none() {
                return Ok(None);
            }
            let a = new_a.map_or_else(|| a.clone(), Box::new);
            let b = new_b.map_or_else(|| b.clone(), Box::new);
            with(Part::Pair(*operator, a, b))
        }
    }
}

/// The same tree with one offset for all parts.
fn moved(node: ExpressionNode, offset: usize) -> ExpressionNode {
    let child = |node: Box<ExpressionNode>| Box::new(moved(*node, offset));
    let part = match node.part {
        Part::Negative(inner) => Part::Negative(child(inner)),
        Part::Not(inner) => Part::Not(child(inner)),
        Part::Pair(operator, a, b) => Part::Pair(operator, child(a), child(b)),
        part => part,
    };
    ExpressionNode { offset, part }
}

/// Of the whole run, without a minimum of samples.
fn is_whole(characteristic: &Characteristic) -> bool {
    characteristic.part == PartOfRun::Whole
        && characteristic.samples.is_none()
        && characteristic.seconds.is_none()
}

fn background_problem(
    characteristic: &Characteristic,
    component: Option<&str>,
    scope: &Scope<'_>,
) -> Option<String> {
    if matches!(characteristic.part, PartOfRun::Stage(_)) {
        return Some(format!(
            "`{}` is of the whole run, or of its end: write last 10 s; stages are those of the load",
            characteristic.statistic
        ));
    }
    let known = scope.components.as_ref()?;
    if known.is_empty() {
        return Some(format!(
            "`{}` is about background traffic, and there is none (--background)",
            characteristic.statistic
        ));
    }
    let component = component.filter(|name| !known.contains(name))?;
    Some(format!(
        "no component of the background traffic is called `{component}`; {}",
        nearest::hint(component, known.iter().copied(), "there are")
    ))
}

/// The message about a characteristic that this subject does not have.
fn other_subject(name: &str, subject: ConstraintSubject) -> String {
    match subject {
        ConstraintSubject::Run => format!(
            "`{name}` compares two servers (`prestan compare --fail-if`), and this is about one; there are {} \
             and other percentiles",
            listed(Statistic::names())
        ),
        ConstraintSubject::Comparison => format!(
            "`{name}` is about one server, and this compares two; there are {}",
            listed(Statistic::compared_names())
        ),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn unknown_measurement(name: &str, scope: &Scope<'_>) -> String {
    let hint = nearest::hint(name, scope.measurements.iter().copied(), "there are");
    format!("nothing is measured as `{name}`; {hint}")
}

fn unknown_name(name: &str, scope: &Scope<'_>) -> String {
    let parameters = scope.parameters.keys().copied();
    let known = parameters.chain(scope.constraints.keys().copied());
    if scope.subject == ConstraintSubject::Comparison {
        if scope.measurements.contains(&name) {
            return format!("`{name}` is a test; write slower({name}) for example");
        }
        if let Some(kind) = StorageCall::from_system_call(name) {
            return format!(
                "there is no `{name}`; it is among those of `{}`",
                kind.name()
            );
        }
        let compared = Statistic::compared_names().map(|name| -> &str { name });
        let known = known.chain(compared);
        let all = listed(Statistic::compared_names());
        return match nearest::meant(name, known) {
            Some(similar) => format!("there is no `{name}`; did you mean `{similar}`?"),
            None if Statistic::named(name).is_some() => other_subject(name, scope.subject),
            None => format!("there is no `{name}`; a comparison has {all}"),
        };
    }
    if Statistic::compared(name).is_some() {
        return other_subject(name, scope.subject);
    }
    if scope.measurements.contains(&name) {
        return format!(
            "`{name}` is measured; write which statistic of it, p99({name}) for example"
        );
    }
    match nearest::meant(name, known) {
        Some(similar) => format!("there is no `{name}`; did you mean `{similar}`?"),
        None => format!(
            "`{name}` is no parameter and no constraint; {}",
            unknown_statistic(name)
        ),
    }
}

fn type_of(node: &ExpressionNode) -> Result<Type, ConstraintError> {
    match &node.part {
        Part::Quantity(quantity) => Ok(Type::Number(quantity.kind())),
        Part::Characteristic(of) if of.statistic.is_verdict() => Ok(Type::Truth),
        Part::Characteristic(of) => Ok(Type::Number(of.statistic.kind())),
        // Names are already resolved.
        Part::Name(_) => Ok(Type::Truth),
        Part::Negative(of) => number(of).map(Type::Number),
        Part::Not(of) => truth(of),
        Part::Pair(operator, a, b) => match operator {
            ConstraintOperator::Or | ConstraintOperator::And => truth(a).and_then(|_| truth(b)),
            ConstraintOperator::Times => Ok(Type::Number(number(a)?.times(number(b)?))),
            ConstraintOperator::Over => quotient(a, b),
            ConstraintOperator::Plus | ConstraintOperator::Minus => {
                let kind = alike(a, b)?;
                Ok(Type::Number(kind))
            }
            ConstraintOperator::Within => within(a, b),
            _ => {
                alike(a, b)?;
                check_share(a, b).and_then(|()| check_share(b, a))?;
                Ok(Type::Truth)
            }
        },
    }
}

fn number(node: &ExpressionNode) -> Result<UnitKind, ConstraintError> {
    match type_of(node)? {
        Type::Number(kind) => Ok(kind),
        Type::Truth => Err(ConstraintError::at(
            node.offset,
            "this is true or false, and a number is expected",
        )),
    }
}

/// True for a part that is true or false. `slower` alone is, too: slower by any share.
fn is_truth(node: &ExpressionNode) -> Result<bool, ConstraintError> {
    Ok(type_of(node)? == Type::Truth || is_compared(node))
}

fn is_compared(node: &ExpressionNode) -> bool {
    matches!(&node.part, Part::Characteristic(of) if of.statistic.is_compared())
}

/// Refuses arithmetic on differences between servers: no error rate can be promised for "one row is
/// slower by more than another".
fn check_compared(node: &ExpressionNode) -> Result<(), ConstraintError> {
    let is_calculated = match &node.part {
        Part::Negative(_) => true,
        Part::Pair(operator, a, b) => match operator {
            ConstraintOperator::Or | ConstraintOperator::And => false,
            ConstraintOperator::Plus
            | ConstraintOperator::Minus
            | ConstraintOperator::Times
            | ConstraintOperator::Over => true,
            _ => is_compared(a) && is_compared(b),
        },
        _ => false,
    };
    let within = all(node);
    match within.iter().find(|part| is_compared(part)) {
        Some(compared) if is_calculated => Err(ConstraintError::at(
            compared.offset,
            "what a comparison shows is compared with a share or a number and nothing else: slower(Get1K) > 5 %",
        )),
        _ => node.below().try_for_each(check_compared),
    }
}

fn truth(node: &ExpressionNode) -> Result<Type, ConstraintError> {
    match type_of(node)? {
        Type::Truth => Ok(Type::Truth),
        Type::Number(_) if is_compared(node) => Ok(Type::Truth),
        Type::Number(kind) => Err(ConstraintError::at(
            node.offset,
            format!("this is {}, and a comparison is expected", kind.words()),
        )),
    }
}

fn quotient(a: &ExpressionNode, b: &ExpressionNode) -> Result<Type, ConstraintError> {
    let kind = number(a)?.over(number(b)?);
    match &b.part {
        Part::Quantity(quantity) if quantity.value() == 0.0 => Err(ConstraintError::at(
            b.offset,
            "nothing can be divided by zero",
        )),
        _ => Ok(Type::Number(kind)),
    }
}

/// The unit of both sides, which must be the same.
fn alike(a: &ExpressionNode, b: &ExpressionNode) -> Result<UnitKind, ConstraintError> {
    let (kind_a, kind_b) = (number(a)?, number(b)?);
    if kind_a.is_like(kind_b) {
        return Ok(UnitKind {
            is_share: kind_a.is_share && kind_b.is_share,
            ..kind_a
        });
    }
    // Zero has every unit.
    match (&a.part, &b.part) {
        (_, Part::Quantity(zero)) if is_bare_zero(*zero) => return Ok(kind_a),
        (Part::Quantity(zero), _) if is_bare_zero(*zero) => return Ok(kind_b),
        _ => {}
    }
    let why = match (&a.part, &b.part) {
        (_, Part::Quantity(quantity)) if quantity.unit.is_none() => without_unit(kind_a),
        (Part::Quantity(quantity), _) if quantity.unit.is_none() => without_unit(kind_b),
        _ => format!(
            "{} and {} cannot be compared or added",
            kind_a.words(),
            kind_b.words()
        ),
    };
    Err(ConstraintError::at(b.offset, why))
}

fn is_bare_zero(quantity: WrittenQuantity) -> bool {
    quantity.unit.is_none() && quantity.number == 0.0
}

fn without_unit(kind: UnitKind) -> String {
    format!(
        "{} is compared with a number that has no unit; write {} for example",
        kind.words(),
        kind.example()
    )
}

/// `failure_rate < 1` may mean 1 %, or 100 %; and a number such as `fsync` is not a share.
fn check_share(figure: &ExpressionNode, other: &ExpressionNode) -> Result<(), ConstraintError> {
    let (Part::Characteristic(of), Part::Quantity(quantity)) = (&figure.part, &other.part) else {
        return Ok(());
    };
    let is_bare = quantity.unit.is_none() && quantity.number != 0.0;
    let why = match of.statistic.kind() {
        UnitKind::SHARE if is_bare => without_unit(UnitKind::SHARE),
        UnitKind::NUMBER if quantity.kind() == UnitKind::SHARE => format!(
            "`{}` is a number, and is compared with a share; write {} for example",
            of.statistic,
            UnitKind::NUMBER.example()
        ),
        _ => return Ok(()),
    };
    Err(ConstraintError::at(other.offset, why))
}

fn within(a: &ExpressionNode, b: &ExpressionNode) -> Result<Type, ConstraintError> {
    let is_estimated = matches!(&a.part, Part::Characteristic(of) if matches!(of.statistic, Statistic::Estimate(_)));
    let share = match &b.part {
        Part::Quantity(quantity) if quantity.kind() == UnitKind::SHARE => quantity.value(),
        _ => {
            return Err(ConstraintError::at(
                b.offset,
                "write a share, 5 % for example",
            ));
        }
    };
    if !is_estimated {
        let why =
            "only estimates have intervals: mean, sd, percentiles, rate, goodput and failure_rate";
        return Err(ConstraintError::at(a.offset, why));
    }
    if share <= 0.0 || share > 0.5 {
        let why = "an interval can be at most 50 % of its estimate, and is wider than 0 %";
        return Err(ConstraintError::at(b.offset, why));
    }
    Ok(Type::Truth)
}

/// A source whose figures have all their possible values.
struct Anything;

impl FigureSource for Anything {
    fn rows(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn figure(&self, statistic: Statistic, _: &str, _: PartOfRun) -> ConstraintFigure {
        ConstraintFigure::Known(Known {
            value: 0.0,
            low: 0.0,
            high: statistic.most(),
            samples: u64::MAX,
            seconds: f64::INFINITY,
        })
    }
}

/// The result of comparing a characteristic with itself.
fn self_comparison(part: &Part) -> Option<bool> {
    let Part::Pair(operator, left, right) = part else {
        return None;
    };
    let text = |node: &ExpressionNode| Constraint { root: node.clone() }.to_string();
    (text(left) == text(right)).then_some(matches!(
        operator,
        ConstraintOperator::AtMost | ConstraintOperator::AtLeast | ConstraintOperator::Equal
    ))
}

/// Refuses a comparison whose result does not depend on measurements.
fn check_constants(node: &ExpressionNode) -> Result<(), ConstraintError> {
    if let Part::Pair(operator, _, _) = &node.part
        && !matches!(
            operator,
            ConstraintOperator::And | ConstraintOperator::Or | ConstraintOperator::Within
        )
        && type_of(node)? == Type::Truth
    {
        let alone = CheckedConstraint { root: node.clone() };
        let known = alone.holds(&Anything, Quantifier::All);
        let known = known.or_else(|| self_comparison(&node.part));
        if let Some(known) = known {
            let always = if known { "always" } else { "never" };
            let why = format!("this is {always} true, whatever is measured");
            return Err(ConstraintError::at(node.offset, why));
        }
    }
    node.below().try_for_each(check_constants)
}
