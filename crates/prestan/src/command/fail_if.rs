//! Conditions of the command line that fail a run.

use record::ConstraintSense;
use runner::RunnerError;
use runner::fitting::constraint_for;
use suite::Plan;
use terminal::output::print_message;

use crate::args::FailIfOptions;

/// The result of printing a report; the reason of an early end has priority, and means no result if
/// there was a condition.
pub(crate) fn printed(
    printed: Result<(), RunnerError>,
    ended: Option<RunnerError>,
    is_judged: bool,
) -> Result<(), RunnerError> {
    let Some(why) = ended else { return printed };
    if let Err(unprinted) = printed {
        print_message(&format!("prestan: warning: {unprinted}"));
    }
    Err(without_result(is_judged, why))
}

/// The reason of an early end; reports that a condition has no result.
pub(crate) fn without_result(is_judged: bool, why: RunnerError) -> RunnerError {
    if is_judged {
        print_message("prestan: --fail-if has no result, because the measurement ended early");
    }
    why
}

/// The name of the condition among the constraints of a run.
pub(crate) const FAIL_IF: &str = "--fail-if";

/// Adds the condition to the constraints of a plan.
pub(crate) fn add_condition(options: &FailIfOptions, plan: &mut Plan) -> Result<(), RunnerError> {
    if let Some(condition) = &options.fail_if {
        let constraint = constraint_for(FAIL_IF, condition, ConstraintSense::FailsIf, plan)?;
        plan.constraints.push(constraint);
    }
    Ok(())
}
