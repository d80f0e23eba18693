//! Changes of a load by its measurements.

use std::time::Duration;

use super::SuiteSource;
use super::conditions::WrittenConditions;
use super::params::Params;
use crate::error::SuiteError;
use crate::plan::{AdaptPlan, AdaptRule};
use crate::position::{Located, Scalar};
use crate::quantity::duration_with_unit;
use crate::spec::{ActionSpec, AdaptSpec, StepSpec, SuiteSpec};
use crate::template::Templates;

/// Most users of a load: a limit, not a recommendation.
const MOST_USERS: u32 = 100_000;
/// Shortest time between changes: in less, nothing can be measured.
const SHORTEST: Duration = Duration::from_millis(100);

/// Checks the keys of `adapt`.
pub(super) fn plan(
    file: &SuiteSource<'_>,
    spec: &Located<AdaptSpec>,
    steps: &[&Located<Scalar>],
    params: &Params,
    conditions: &WrittenConditions,
) -> Result<AdaptPlan, SuiteError> {
    let Located {
        value: adapt,
        position,
    } = spec;
    let templates = Templates::new(params, &[], &file.bounds);
    let users = |scalar: &Located<Scalar>| number_of_users(file, &templates, scalar);
    let [least, most] = &adapt.users;
    let (low, high) = (users(least)?, users(most)?);
    if low > high {
        let why = "the second number of users is the greater one";
        return Err(file.error(most.position, why));
    }
    let every = templates.number(&adapt.every.value.0);
    let every = every.and_then(|text| duration_with_unit(&text));
    let every = every.map_err(|why| file.error(adapt.every.position, why))?;
    if every < SHORTEST {
        let why = "a number of users is kept for at least 100ms";
        return Err(file.error(adapt.every.position, why));
    }
    let condition = |text: &Located<String>| conditions.add(file, text, |_| None);
    let rule = match (&adapt.ladder[..], &adapt.raise, &adapt.lower) {
        ([], Some(raise), Some(lower)) => AdaptRule::Steer {
            raise: condition(raise)?,
            lower: condition(lower)?,
        },
        ([_, ..], None, None) => AdaptRule::Ladder(ladder(file, adapt, (low, high), users)?),
        ([], None, None) if !steps.is_empty() => AdaptRule::Steps,
        _ => {
            let why = "`adapt` needs either `ladder`, or `raise` and `lower`, or steps `users: N` in its tests";
            return Err(file.error(*position, why));
        }
    };
    for written in steps {
        let number = users(written)?;
        if !matches!(rule, AdaptRule::Steps) {
            let why = "steps change the number of users where `adapt` has no other rule";
            return Err(file.error(written.position, why));
        }
        is_within(file, written, number, (low, high))?;
    }
    Ok(AdaptPlan {
        least: low,
        most: high,
        every,
        rule,
    })
}

fn ladder(
    file: &SuiteSource<'_>,
    adapt: &AdaptSpec,
    bounds: (u32, u32),
    users: impl Fn(&Located<Scalar>) -> Result<u32, SuiteError>,
) -> Result<Vec<u32>, SuiteError> {
    let mut rungs = Vec::with_capacity(adapt.ladder.len());
    for scalar in &adapt.ladder {
        let rung = users(scalar)?;
        is_within(file, scalar, rung, bounds)?;
        rungs.push(rung);
    }
    Ok(rungs)
}

fn is_within(
    file: &SuiteSource<'_>,
    written: &Located<Scalar>,
    number: u32,
    (low, high): (u32, u32),
) -> Result<(), SuiteError> {
    if (low..=high).contains(&number) {
        return Ok(());
    }
    let why = format!("{number} users are not within `users` of `adapt`, from {low} to {high}");
    Err(file.error(written.position, why))
}

/// The steps of a suite that change the number of users.
pub(super) fn steps_of(spec: &SuiteSpec) -> Vec<&Located<Scalar>> {
    let looped = spec.tests.iter().flat_map(|test| test.value.looped());
    let steps = looped.flat_map(StepSpec::and_inside);
    let users = steps.filter_map(|step| match &step.action {
        ActionSpec::Users(users) => Some(users),
        _ => None,
    });
    users.collect()
}

pub(super) fn number_of_users(
    file: &SuiteSource<'_>,
    templates: &Templates<'_>,
    scalar: &Located<Scalar>,
) -> Result<u32, SuiteError> {
    let error = |why: String| file.error(scalar.position, why);
    let text = templates.number(&scalar.value.0).map_err(error)?;
    match text.trim().parse() {
        Ok(users) if (1..=MOST_USERS).contains(&users) => Ok(users),
        _ => Err(error(format!(
            "`{text}` is no number of users from 1 to {MOST_USERS}"
        ))),
    }
}
