//! How a load changes with what is measured.

use std::time::Duration;

use super::SuiteSource;
use super::constraints::WrittenConditions;
use super::params::Params;
use crate::error::SuiteError;
use crate::place::{Placed, Scalar};
use crate::plan::{AdaptPlan, AdaptRule};
use crate::quantity::parse_duration;
use crate::spec::AdaptSpec;
use crate::template::Templates;

/// The most users that a load may grow to: a bound, not a recommendation.
const MOST_USERS: u32 = 100_000;
/// The shortest time for which a number of users is kept: in less, nothing can be measured.
const SHORTEST: Duration = Duration::from_millis(100);

/// Checks the keys of `adapt`.
pub(super) fn plan(
    file: &SuiteSource<'_>,
    spec: &Placed<AdaptSpec>,
    params: &Params,
    conditions: &WrittenConditions,
) -> Result<AdaptPlan, SuiteError> {
    let Placed {
        value: adapt,
        place,
    } = spec;
    let templates = Templates::new(params, &[]);
    let users = |scalar: &Placed<Scalar>| number_of_users(file, &templates, scalar);
    let [least, most] = &adapt.users;
    let (low, high) = (users(least)?, users(most)?);
    if low > high {
        return Err(file.error(most.place, "the second number of users is the greater one"));
    }
    let every = templates.fixed(&adapt.every.value.0);
    let every = every.and_then(|text| parse_duration(&text));
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
        _ => {
            let why = "`adapt` needs either `ladder`, or `raise` and `lower`";
            return Err(file.error(*place, why));
        }
    };
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
    (low, high): (u32, u32),
    users: impl Fn(&Placed<Scalar>) -> Result<u32, SuiteError>,
) -> Result<Vec<u32>, SuiteError> {
    let mut rungs = Vec::with_capacity(adapt.ladder.len());
    for scalar in &adapt.ladder {
        let rung = users(scalar)?;
        if !(low..=high).contains(&rung) {
            let why = format!("{rung} users are not within `users`, from {low} to {high}");
            return Err(file.error(scalar.place, why));
        }
        rungs.push(rung);
    }
    Ok(rungs)
}

fn number_of_users(
    file: &SuiteSource<'_>,
    templates: &Templates<'_>,
    scalar: &Placed<Scalar>,
) -> Result<u32, SuiteError> {
    let error = |why: String| file.error(scalar.place, why);
    let text = templates.fixed(&scalar.value.0).map_err(error)?;
    match text.trim().parse() {
        Ok(users) if (1..=MOST_USERS).contains(&users) => Ok(users),
        _ => Err(error(format!(
            "`{text}` is no number of users from 1 to {MOST_USERS}"
        ))),
    }
}
