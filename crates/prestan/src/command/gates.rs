//! What a run fails by, as the command line says it.

use record::ConstraintSense;
use runner::RunnerError;
use runner::fitting::constraint_for;
use suite::Plan;

use crate::args::GateOptions;

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
