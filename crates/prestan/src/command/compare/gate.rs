//! `--fail-if`: which rows fail its condition, and which are undecided.

use std::collections::BTreeMap;

use constraint::{CheckedConstraint, Constraint, ConstraintSubject, RowTruth, Scope};
use report::{Comparisons, Versus};
use stats::{Comparison, Verdict};
use suite::Plan;

use crate::args::{Gate, Question};
use crate::exit::{ExitStatus, Failed};
use crate::output::tell;

/// Why a gate is refused where there is one run of each.
const ONE_RUN: &str = "--fail-if needs several runs of each server, because one run of each does not \
                       show how much runs of one server differ";

/// Refuses a gate where there is one run of each; `remedy` says how to get more.
pub(super) fn refuse(remedy: &str) -> Failed {
    Failed::Usage(format!("{ONE_RUN}: {remedy}"))
}

/// Checks the condition of a gate, for a comparison of runs of this plan.
pub(super) fn check(question: &Question, plan: &Plan) -> Result<(), Failed> {
    let Some(gate) = &question.fail_if else {
        return Ok(());
    };
    let names = stats::compared_names(&plan.measures, &plan.pages);
    let condition = checked(gate, &names, &plan.params)?;
    refuse_finer(&condition, question)
}

/// The condition, with the names of these rows and parameters.
fn checked(
    gate: &Gate,
    rows: &[String],
    params: &BTreeMap<String, serde_json::Value>,
) -> Result<CheckedConstraint, Failed> {
    let numbers = params.iter();
    let numbers = numbers.filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)));
    let scope = Scope {
        subject: ConstraintSubject::Comparison,
        measurements: rows.iter().map(String::as_str).collect(),
        components: None,
        parameters: numbers.collect(),
        constraints: BTreeMap::new(),
    };
    // The place is that in the text which the message shows.
    let text = gate.condition.to_string();
    let parsed = Constraint::parse(&text);
    let checked = parsed.and_then(|parsed| parsed.check(&scope));
    checked.map_err(|why| Failed::Usage(format!("--fail-if: {}", why.marked(&text))))
}

/// Refuses to tell differences from each other that count as the same.
fn refuse_finer(condition: &CheckedConstraint, question: &Question) -> Result<(), Failed> {
    let Question {
        fail_if: Some(gate),
        same_within,
        ..
    } = question
    else {
        return Ok(());
    };
    if !stats::is_finer(condition, *same_within) {
        return Ok(());
    }
    Err(Failed::Usage(format!(
        "--fail-if '{}': times that differ by {}% count as the same; give a smaller --same-within as well",
        gate.condition,
        same_within * 100.0
    )))
}

/// Reports that a gate has no result, because the measurement ended early.
pub(super) fn not_judged(gate: Option<&CheckedGate<'_>>) {
    if gate.is_some() {
        tell("prestan: --fail-if has no result, because the measurement ended early");
    }
}

/// A gate with its condition, for the rows of comparisons.
pub(super) type CheckedGate<'a> = (&'a Gate, CheckedConstraint);

/// Checks the condition of a gate, for comparisons of runs with these parameters.
pub(super) fn for_rows<'a>(
    question: &'a Question,
    comparisons: &Comparisons,
    params: &BTreeMap<String, serde_json::Value>,
) -> Result<Option<CheckedGate<'a>>, Failed> {
    let Some(gate) = &question.fail_if else {
        return Ok(None);
    };
    let rows = comparisons.versus.iter();
    let rows = rows.flat_map(|versus| versus.comparison.rows.iter());
    let rows: Vec<String> = rows.map(|row| row.name.clone()).collect();
    let condition = checked(gate, &rows, params)?;
    refuse_finer(&condition, question)?;
    Ok(Some((gate, condition)))
}

/// Judges all rows of all comparisons.
pub(super) fn judge(
    comparisons: &Comparisons,
    gate: Option<&CheckedGate<'_>>,
) -> Result<ExitStatus, Failed> {
    let disqualified = disqualified(comparisons);
    let Some((gate, condition)) = gate else {
        return disqualified.map_or(Ok(ExitStatus::Done), Err);
    };
    let named = |wanted: Option<bool>| -> Vec<String> {
        let of_server = |versus: &Versus| -> Vec<String> {
            let judged = versus.comparison.judged_by(condition).into_iter();
            let judged = judged.filter(|judged| judged.truth == wanted);
            let judged = judged.filter(|judged| is_reason(condition, &versus.comparison, judged));
            let shown = |judged| shown(gate, &versus.comparison, judged);
            judged
                .map(|judged| of(comparisons, versus, shown(judged)))
                .collect()
        };
        comparisons.versus.iter().flat_map(of_server).collect()
    };
    let (failed, undecided) = (named(Some(true)), named(None));
    if !failed.is_empty() {
        tell(&format!("prestan: failed: {}", failed.join(", ")));
    }
    let is_nothing = comparisons
        .versus
        .iter()
        .flat_map(|versus| &versus.comparison.rows)
        .all(|row| row.verdict == Verdict::NotCompared);
    if is_nothing {
        tell("prestan: failed: no test could be compared");
    } else if !undecided.is_empty() {
        tell(&format!(
            "prestan: undecided ({} may be true of them, or they could not be compared): {}",
            gate.condition,
            undecided.join(", ")
        ));
    }
    let is_failed = is_nothing || !failed.is_empty() || (gate.undecided && !undecided.is_empty());
    match (is_failed, disqualified) {
        (true, Some(why)) => {
            tell(&format!("prestan: {why}"));
            Ok(ExitStatus::TestFailed)
        }
        (true, None) => Ok(ExitStatus::TestFailed),
        (false, Some(why)) => Err(why),
        (false, None) => Ok(ExitStatus::Done),
    }
}

/// Whether a row is a reason for what the condition is: one that it names, or one that is worse. Another row only
/// shares what it says of those.
fn is_reason(condition: &CheckedConstraint, comparison: &Comparison, judged: &RowTruth) -> bool {
    let named: Vec<&str> = condition
        .characteristics()
        .filter_map(|of| of.measurement.as_deref())
        .collect();
    let (Some(name), [_, ..]) = (&judged.row, &named[..]) else {
        return true;
    };
    let row = comparison.rows.iter().find(|row| row.name == *name);
    let is_worse = row.is_some_and(|row| {
        matches!(
            row.verdict,
            Verdict::Slower | Verdict::Broken | Verdict::Lost
        )
    });
    named.contains(&name.as_str()) || is_worse || judged.truth.is_none()
}

/// A row with its verdict; the condition itself where it names its rows.
fn shown(gate: &Gate, comparison: &Comparison, judged: RowTruth) -> String {
    let Some(name) = judged.row else {
        return gate.condition.to_string();
    };
    let row = comparison.rows.iter().find(|row| row.name == name);
    match row.filter(|_| judged.truth == Some(true)) {
        Some(row) => format!("{name} ({})", row.verdict.name()),
        None => name,
    }
}

/// Rows whose times have no verdict, because the load generator may have changed them.
fn disqualified(comparisons: &Comparisons) -> Option<Failed> {
    let of_server = |versus: &Versus| -> Vec<String> {
        let rows = versus.comparison.rows.iter();
        let rows = rows.filter(|row| row.is_disqualified());
        rows.map(|row| of(comparisons, versus, row.name.clone()))
            .collect()
    };
    let names: Vec<String> = comparisons.versus.iter().flat_map(of_server).collect();
    (!names.is_empty()).then(|| {
        Failed::inconclusive(format!(
            "the load generator may have changed the times of {} in half of the pairs of runs or more; \
             stop other programs, or use another machine",
            names.join(", ")
        ))
    })
}

/// The name of a row, with that of the server where several are compared with A.
fn of(comparisons: &Comparisons, versus: &Versus, name: String) -> String {
    match &comparisons.versus[..] {
        [_] => name,
        _ => format!("{name} of {}", versus.name),
    }
}
