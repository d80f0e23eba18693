//! Changes of a load by its measurements.

use std::time::Duration;

use super::conditions::WrittenConditions;
use super::params::Params;
use super::{SuiteSource, nested};
use crate::error::SuiteError;
use crate::place::{Placed, Scalar};
use crate::plan::{AdaptPlan, AdaptRule};
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
    spec: &Placed<AdaptSpec>,
    steps: &[&Placed<Scalar>],
    params: &Params,
    conditions: &WrittenConditions,
) -> Result<AdaptPlan, SuiteError> {
    let Placed {
        value: adapt,
        place,
    } = spec;
    let templates = Templates::new(params, &[], &file.bounds);
    let users = |scalar: &Placed<Scalar>| number_of_users(file, &templates, scalar);
    let [least, most] = &adapt.users;
    let (low, high) = (users(least)?, users(most)?);
    if low > high {
        return Err(file.error(most.place, "the second number of users is the greater one"));
    }
    let every = templates.number(&adapt.every.value.0);
    let every = every.and_then(|text| duration_with_unit(&text));
    let every = every.map_err(|why| file.error(adapt.every.place, why))?;
    if every < SHORTEST {
        return Err(file.error(
            adapt.every.place,
            "a number of users is kept for at least 100ms",
        ));
    }
    let condition = |text: &Placed<String>| conditions.add(file, text, |_| None);
    let rule = match (&adapt.ladder[..], &adapt.raise, &adapt.lower) {
        ([], Some(raise), Some(lower)) => AdaptRule::Steer {
            raise: condition(raise)?,
            lower: condition(lower)?,
        },
        ([_, ..], None, None) => AdaptRule::Ladder(ladder(file, adapt, (low, high), users)?),
        ([], None, None) if !steps.is_empty() => AdaptRule::Steps,
        _ => {
            let why = "`adapt` needs either `ladder`, or `raise` and `lower`, or steps `users: N` in its tests";
            return Err(file.error(*place, why));
        }
    };
    for written in steps {
        let number = users(written)?;
        if !matches!(rule, AdaptRule::Steps) {
            let why = "steps change the number of users where `adapt` has no other rule";
            return Err(file.error(written.place, why));
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
    users: impl Fn(&Placed<Scalar>) -> Result<u32, SuiteError>,
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
    written: &Placed<Scalar>,
    number: u32,
    (low, high): (u32, u32),
) -> Result<(), SuiteError> {
    if (low..=high).contains(&number) {
        return Ok(());
    }
    let why = format!("{number} users are not within `users` of `adapt`, from {low} to {high}");
    Err(file.error(written.place, why))
}

/// The steps of a suite that change the number of users.
pub(super) fn steps_of(spec: &SuiteSpec) -> Vec<&Placed<Scalar>> {
    fn add<'a>(step: &'a StepSpec, found: &mut Vec<&'a Placed<Scalar>>) {
        if let ActionSpec::Users(users) = &step.action {
            found.push(users);
        }
        nested(step).for_each(|step| add(step, found));
    }
    let mut found = Vec::new();
    for test in &spec.tests {
        let loops = test.value.loops().into_iter();
        let steps = loops.flat_map(|own| own.steps);
        steps.for_each(|step| add(step, &mut found));
    }
    found
}

pub(super) fn number_of_users(
    file: &SuiteSource<'_>,
    templates: &Templates<'_>,
    scalar: &Placed<Scalar>,
) -> Result<u32, SuiteError> {
    let error = |why: String| file.error(scalar.place, why);
    let text = templates.number(&scalar.value.0).map_err(error)?;
    match text.trim().parse() {
        Ok(users) if (1..=MOST_USERS).contains(&users) => Ok(users),
        _ => Err(error(format!(
            "`{text}` is no number of users from 1 to {MOST_USERS}"
        ))),
    }
}
