//! The result of the runs of a series by their constraints: points at which one failed, or is not
//! decided.

use runner::RunnerError;
use stats::{Conclusion, Summary};

use super::fail_if::FAIL_IF;
use crate::exit::ExitStatus;
use terminal::output::print_message;

/// A run of a series, and the name of its point.
pub(crate) struct RunAtPoint<'r> {
    pub(crate) point: String,
    pub(crate) summary: &'r Summary,
}

/// The result of a series by the constraints of its runs, including `--fail-if`; prints failed
/// constraints and their points. Rows do not count.
pub(crate) fn by_constraints(runs: &[RunAtPoint<'_>]) -> Result<ExitStatus, RunnerError> {
    let failed = ended_so(runs, Conclusion::Fail);
    if !failed.is_empty() {
        for (name, points) in failed {
            print_message(&format!("prestan: failed: {name} at {points}"));
        }
        return Ok(ExitStatus::TestFailed);
    }
    let undecided = ended_so(runs, Conclusion::Inconclusive);
    if undecided.is_empty() {
        return Ok(ExitStatus::Done);
    }
    let undecided = undecided.into_iter();
    let undecided = undecided.map(|(name, points)| format!("{name} is not decided at {points}"));
    Err(RunnerError::inconclusive(
        undecided.collect::<Vec<_>>().join("; "),
    ))
}

/// The constraints with this verdict in a run, and the points of these runs, both in the order of
/// the runs.
fn ended_so(runs: &[RunAtPoint<'_>], wanted: Conclusion) -> Vec<(String, String)> {
    let mut names: Vec<&str> = Vec::new();
    for constraint in runs.iter().flat_map(|run| &run.summary.constraints) {
        if constraint.verdict == wanted && !names.contains(&&*constraint.name) {
            names.push(&constraint.name);
        }
    }
    let named = |name: &str| {
        let shown = if name == FAIL_IF {
            name.to_owned()
        } else {
            format!("constraint {name}")
        };
        (shown, points(runs, name, wanted))
    };
    names.into_iter().map(named).collect()
}

/// The points at which a constraint has this verdict: `k=8 of nginx (1 of 2 runs)`.
fn points(runs: &[RunAtPoint<'_>], name: &str, wanted: Conclusion) -> String {
    let is_so = |run: &RunAtPoint<'_>| {
        let mut constraints = run.summary.constraints.iter();
        constraints.any(|constraint| constraint.name == name && constraint.verdict == wanted)
    };
    let mut points: Vec<(&str, usize, usize)> = Vec::new();
    for run in runs {
        let index = points.iter().position(|(point, ..)| *point == run.point);
        let index = index.unwrap_or_else(|| {
            points.push((&run.point, 0, 0));
            points.len() - 1
        });
        let (_, found, all) = &mut points[index];
        *found += usize::from(is_so(run));
        *all += 1;
    }
    let found = points.into_iter().filter(|(_, found, _)| *found > 0);
    let shown = found.map(|(point, found, all)| match all {
        1 => point.to_owned(),
        _ => format!("{point} ({found} of {all} runs)"),
    });
    shown.collect::<Vec<_>>().join(", ")
}
