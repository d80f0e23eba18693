//! What a run is to keep, as the command line says it, and whether the run has it.

use constraint::Constraint;
use record::{BackgroundRecord, ConstraintRecord, ConstraintSense};
use runner::RunnerError;
use suite::Plan;

use crate::args::GateOptions;

/// A constraint of the command line, for a plan.
pub(crate) fn constraint_for(
    option: &str,
    constraint: &Constraint,
    sense: ConstraintSense,
    plan: &Plan,
) -> Result<ConstraintRecord, RunnerError> {
    suite::constraint_for(option, constraint, sense, plan).map_err(RunnerError::Usage)
}

/// Refuses constraints and conditions about background traffic that the run does not have.
pub(crate) fn check_background(
    plan: &Plan,
    background: Option<&BackgroundRecord>,
) -> Result<(), RunnerError> {
    let components = background.iter().flat_map(|own| &own.components);
    let components: Vec<&str> = components.map(|own| own.name.as_str()).collect();
    let constraints = plan.constraints.iter();
    let constraints = constraints.map(|own| (own.name.as_str(), own.expression.as_str()));
    let conditions = plan.conditions.iter().map(|own| ("when", own.as_str()));
    for (name, expression) in constraints.chain(conditions) {
        // Others have been checked when the suite was read.
        let Ok(parsed) = Constraint::parse(expression) else {
            continue;
        };
        let refused = parsed.check_components(&components);
        refused.map_err(|why| RunnerError::Usage(format!("{name}: {}", why.marked(expression))))?;
    }
    Ok(())
}

/// The name of a gate among the constraints of a run.
pub(crate) const GATE: &str = "--fail-if";

/// Adds what a run fails by to the constraints of its plan.
pub(crate) fn add_gate(gate: &GateOptions, plan: &mut Plan) -> Result<(), RunnerError> {
    if let Some(condition) = &gate.fail_if {
        let gate = constraint_for(GATE, condition, ConstraintSense::FailsIf, plan)?;
        plan.constraints.push(gate);
    }
    Ok(())
}
