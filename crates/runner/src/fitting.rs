//! Checks that a run fits its plan, and completes it from the plan: number of users, targets, and
//! constraints of the command line.

use constraint::Constraint;
use engine::{Drive, Endpoint, Pacing, RunPlace, RunSpec};
use record::{BackgroundRecord, ConstraintRecord, ConstraintSense, Http, HttpVersion};
use suite::{AdaptPlan, Plan};

use crate::error::RunnerError;

/// The most users that a load with a changing number of users may need.
fn adapting(
    adapt: &AdaptPlan,
    spec: &RunSpec,
    RunPlace { http, .. }: &RunPlace,
) -> Result<u32, RunnerError> {
    let suite = &spec.plan.suite.name;
    let is_closed =
        matches!(&spec.drive, Drive::Load(load) if matches!(load.pacing, Pacing::Closed));
    if !is_closed {
        return Err(RunnerError::Usage(format!(
            "the suite {suite} changes the number of users while it runs (`adapt`), which only a closed loop \
             can: use `prestan load --mix {suite}`, without --rate and --stages"
        )));
    }
    if http.connections.pipeline > 1 {
        return Err(RunnerError::Usage(format!(
            "the suite {suite} changes the number of users while it runs (`adapt`), and --pipeline cannot be \
             combined with that; leave it out"
        )));
    }
    match spec.users {
        users if users == 1 || users == adapt.most => Ok(adapt.most),
        users => Err(RunnerError::Usage(format!(
            "the suite {suite} says how many users there are (`adapt`: {} to {}), and --users {users} says \
             something else; leave it out",
            adapt.least, adapt.most
        ))),
    }
}

/// Sets the number of users that the plan needs, by its roles or because their number changes, and
/// brings targets into the order of the plan.
pub(crate) fn fit(spec: &mut RunSpec, place: &mut RunPlace) -> Result<(), RunnerError> {
    let plan = &spec.plan;
    let is_of_http1 = |http: &Http| http.version != HttpVersion::Http2;
    let configured = plan
        .tests
        .iter()
        .find(|test| test.http.as_ref().is_some_and(is_of_http1));
    if let (HttpVersion::Http2, Some(test)) = (place.http.connections.version, configured) {
        return Err(RunnerError::Usage(format!(
            "the suite {} says how the test {} uses connections (`http`), which is about HTTP/1; leave out \
             --http 2, or http=2 of the server",
            plan.suite.name, test.name
        )));
    }
    place.others = targets_of(plan, std::mem::take(&mut place.others))?;
    spec.users = match &plan.adapt {
        Some(adapt) => adapting(adapt, spec, place)?,
        None if plan.roles.is_empty() => spec.users,
        None => with_roles(spec)?,
    };
    Ok(())
}

/// The number of users that the roles of a run need.
fn with_roles(
    RunSpec {
        plan, drive, users, ..
    }: &RunSpec,
) -> Result<u32, RunnerError> {
    let suite = &plan.suite.name;
    if let Drive::Load(load) = drive
        && !matches!(load.pacing, Pacing::Closed)
    {
        return Err(RunnerError::Usage(format!(
            "the suite {suite} has roles, whose users begin operations themselves, and --rate and --stages \
             begin them by a schedule; leave these out"
        )));
    }
    let least = plan.least_users().ok_or_else(|| {
        RunnerError::Usage(format!(
            "the suite {suite} has roles whose numbers of users fit no number of users together"
        ))
    })?;
    match *users {
        1 => Ok(least),
        users if users % least == 0 => Ok(users),
        users => Err(RunnerError::Usage(format!(
            "the roles of the suite {suite} are written for {least} users; {users} users do not have them in \
             the same proportion: use {least}, or a multiple of it"
        ))),
    }
}

/// The further targets of a plan, in its order.
fn targets_of(plan: &Plan, others: Vec<Endpoint>) -> Result<Vec<Endpoint>, RunnerError> {
    let suite = &plan.suite.name;
    let (named, spread): (Vec<Endpoint>, Vec<Endpoint>) =
        others.into_iter().partition(|other| other.name.is_some());
    let is_known = |other: &&Endpoint| {
        let mut further = plan.targets.iter().skip(1);
        further.any(|name| Some(name) == other.name.as_ref())
    };
    if let Some(strange) = named.iter().find(|other| !is_known(other)) {
        let name = strange.name.as_deref().unwrap_or_default();
        let has = match &plan.targets[..] {
            [] => format!("the suite {suite} has no targets"),
            [first, ..] if first == name => {
                format!("the target {name} of the suite {suite} is that of the URL")
            }
            [_, further @ ..] => {
                format!(
                    "the suite {suite} has these targets beside that of the URL: {}",
                    further.join(", ")
                )
            }
        };
        return Err(RunnerError::Usage(format!("--target {name}=...: {has}")));
    }
    let mut others = spread;
    for name in plan.targets.iter().skip(1) {
        let mut candidates = named
            .iter()
            .filter(|other| other.name.as_ref() == Some(name));
        match (candidates.next(), candidates.next()) {
            (Some(endpoint), None) => others.push(endpoint.clone()),
            (Some(_), Some(_)) => {
                return Err(RunnerError::Usage(format!(
                    "--target {name}=... is given twice"
                )));
            }
            (None, _) => {
                return Err(RunnerError::Usage(format!(
                    "the suite {suite} also needs the URL of its target {name}: give it with --target \
                     {name}=URL"
                )));
            }
        }
    }
    Ok(others)
}

/// A constraint of the command line, for a plan.
pub fn constraint_for(
    option: &str,
    constraint: &Constraint,
    sense: ConstraintSense,
    plan: &Plan,
) -> Result<ConstraintRecord, RunnerError> {
    suite::constraint_for(option, constraint, sense, plan).map_err(RunnerError::Usage)
}

/// Refuses constraints and conditions about background traffic if the run has none.
pub fn check_background(
    plan: &Plan,
    background: Option<&BackgroundRecord>,
) -> Result<(), RunnerError> {
    let components = background
        .iter()
        .flat_map(|background| &background.components);
    let components: Vec<&str> = components
        .map(|component| component.name.as_str())
        .collect();
    let constraints = plan.constraints.iter();
    let constraints =
        constraints.map(|constraint| (constraint.name.as_str(), constraint.expression.as_str()));
    let conditions = plan
        .conditions
        .iter()
        .map(|condition| ("when", condition.as_str()));
    for (name, expression) in constraints.chain(conditions) {
        // Invalid expressions were refused when the suite was read.
        let Ok(parsed) = Constraint::parse(expression) else {
            continue;
        };
        let refused = parsed.check_components(&components);
        refused.map_err(|why| RunnerError::Usage(format!("{name}: {}", why.marked(expression))))?;
    }
    Ok(())
}
