//! `--fail-if`: rows that fail its condition, and rows that are undecided.

use std::collections::BTreeMap;

use constraint::{
    CheckedConstraint, ComparedCharacteristic, Constraint, ConstraintSubject, RowTruth, Scope,
    Statistic,
};
use report::{CaseEnd, Comparisons, Versus, compared_in_words, cost_in_words};
use stats::{Compared, ComparedBy, ComparedCost, Comparison, InsideCost, LEAST_STARTS, Verdict};
use suite::Plan;

use crate::RunnerError;

/// The value of `--fail-if`.
#[derive(Debug, Clone, PartialEq)]
pub struct FailCondition {
    /// The comparison fails if this is true of a test.
    pub constraint: Constraint,
    /// Undecided tests fail, too.
    pub undecided: bool,
}

/// The message where there is one run of each server.
const ONE_RUN: &str = "--fail-if needs several runs of each server, because one run of each does not \
                       show how much runs of one server differ";

/// The error of a condition with one run of each server; `remedy` is the way to more runs.
pub fn refuse(remedy: &str) -> RunnerError {
    RunnerError::Usage(format!("{ONE_RUN}: {remedy}"))
}

/// Checks a condition for a comparison of runs of this plan.
pub fn check(
    fail_if: &FailCondition,
    by: ComparedBy,
    plan: &Plan,
    are_looked_into: bool,
) -> Result<(), RunnerError> {
    let names = stats::compared_names(&plan.measures, &plan.pages);
    let condition = checked(fail_if, &names, &plan.params)?;
    if !are_looked_into {
        let remedy = "add --inside for servers that Prestan starts (--server, --start-a and --start-b), or --pid for each that \
                      runs already";
        refuse_inside(&condition, remedy)?;
    }
    refuse_finer(&condition, fail_if, by.same_within)
}

/// Refuses quantities that are known only with `--inside`; `remedy` is the way to get them.
fn refuse_inside(condition: &CheckedConstraint, remedy: &str) -> Result<(), RunnerError> {
    let mut named = condition.characteristics();
    match named.find(|characteristic| characteristic.statistic.is_inside()) {
        Some(of) => Err(RunnerError::Usage(format!(
            "--fail-if: `{}` is known of servers that Prestan looks into, and it does not: {remedy}",
            of.statistic
        ))),
        None => Ok(()),
    }
}

/// The condition, with the names of these rows and parameters.
fn checked(
    fail_if: &FailCondition,
    rows: &[String],
    params: &BTreeMap<String, serde_json::Value>,
) -> Result<CheckedConstraint, RunnerError> {
    let numbers = params.iter();
    let numbers = numbers.filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)));
    let scope = Scope {
        subject: ConstraintSubject::Comparison,
        measurements: rows.iter().map(String::as_str).collect(),
        components: None,
        parameters: numbers.collect(),
        constraints: BTreeMap::new(),
    };
    // Positions refer to the text in the message.
    let text = fail_if.constraint.to_string();
    let parsed = Constraint::parse(&text);
    let checked = parsed.and_then(|parsed| parsed.check(&scope));
    checked.map_err(|why| RunnerError::Usage(format!("--fail-if: {}", why.marked(&text))))
}

/// Refuses a condition on differences that are too small to be told from zero.
fn refuse_finer(
    condition: &CheckedConstraint,
    fail_if: &FailCondition,
    same_within: f64,
) -> Result<(), RunnerError> {
    if !stats::is_finer(condition, same_within) {
        return Ok(());
    }
    Err(RunnerError::Usage(format!(
        "--fail-if '{}': times that differ by {}% count as the same; give a smaller --same-within as well",
        fail_if.constraint,
        same_within * 100.0
    )))
}

/// A condition, and the same with the names of the rows of comparisons.
pub type CheckedCondition<'a> = (&'a FailCondition, CheckedConstraint);

/// Checks a condition for comparisons of runs with these parameters.
pub fn for_rows<'a>(
    fail_if: &'a FailCondition,
    comparisons: &Comparisons,
    params: &BTreeMap<String, serde_json::Value>,
) -> Result<CheckedCondition<'a>, RunnerError> {
    let names: Vec<String> = rows(comparisons).map(|row| row.name.clone()).collect();
    let condition = checked(fail_if, &names, params)?;
    if rows(comparisons).all(|row| row.inside.is_none()) {
        let remedy = "measure again with --inside, or with --pid of the processes that respond";
        refuse_inside(&condition, remedy)?;
    }
    for versus in &comparisons.versus {
        refuse_finer(&condition, fail_if, versus.comparison.same_within)?;
    }
    Ok((fail_if, condition))
}

/// Judges all rows of all comparisons: true if they fail. The rows are logged.
pub fn judge(
    comparisons: &Comparisons,
    fail_if: Option<&CheckedCondition<'_>>,
) -> Result<bool, RunnerError> {
    let disqualified = disqualified(comparisons);
    let Some((fail_if, condition)) = fail_if else {
        return disqualified.map_or(Ok(false), Err);
    };
    let named = |wanted: Option<bool>| -> Vec<String> {
        let of_server = |versus: &Versus| -> Vec<String> {
            let judged = versus.comparison.judged_by(condition).into_iter();
            let judged = judged.filter(|judged| judged.truth == wanted);
            let judged = judged.filter(|judged| is_reason(condition, &versus.comparison, judged));
            let shown = |judged| shown((fail_if, condition), &versus.comparison, judged);
            judged
                .map(|judged| of(comparisons, versus, shown(judged)))
                .collect()
        };
        comparisons.versus.iter().flat_map(of_server).collect()
    };
    let (failed, undecided) = (named(Some(true)), named(None));
    if !failed.is_empty() {
        log::info!("failed: {}", failed.join(", "));
    }
    let is_nothing = rows(comparisons).all(|row| row.verdict == Verdict::NotCompared);
    if is_nothing {
        log::info!("failed: no test could be compared");
    } else if !undecided.is_empty() {
        log::info!(
            "undecided ({} may be true of them, or they could not be compared): {}{}",
            fail_if.constraint,
            undecided.join(", "),
            why_undecided(condition, comparisons)
        );
    }
    let is_failed =
        is_nothing || !failed.is_empty() || (fail_if.undecided && !undecided.is_empty());
    match (is_failed, disqualified) {
        (true, Some(why)) => {
            log::info!("{why}");
            Ok(true)
        }
        (false, Some(why)) => Err(why),
        (is_failed, None) => Ok(is_failed),
    }
}

/// The end of each row of each comparison as a test case. Without a condition, none fails.
pub fn case_ends(
    comparisons: &Comparisons,
    fail_if: Option<&CheckedCondition<'_>>,
) -> Vec<Vec<CaseEnd>> {
    let of_server = |versus: &Versus| -> Vec<CaseEnd> {
        let comparison = &versus.comparison;
        let judged =
            fail_if.map_or_else(Vec::new, |(_, condition)| comparison.judged_by(condition));
        let is_named = |name: &str| {
            let mut all = fail_if
                .iter()
                .flat_map(|(_, condition)| condition.characteristics());
            all.any(|checked| checked.measurement.as_deref() == Some(name))
        };
        let end = |row: &Compared| {
            let row_truth = judged.iter().find(|judged| match &judged.row {
                Some(name) => *name == row.name,
                None => is_named(&row.name),
            });
            let row_truth = row_truth.zip(fail_if);
            let row_truth = row_truth
                .filter(|(row_truth, (_, checked))| is_reason(checked, comparison, row_truth));
            let says = compared_in_words(row);
            match row_truth.map(|(row_truth, (fail_if, _))| (row_truth.truth, fail_if.undecided)) {
                Some((Some(true), _) | (None, true)) => CaseEnd::Failed(says),
                Some((None, false)) => CaseEnd::Skipped(format!("undecided: {says}")),
                _ if row.is_disqualified() || row.verdict == Verdict::NotCompared => {
                    CaseEnd::Skipped(says)
                }
                _ => CaseEnd::Passed,
            }
        };
        comparison.rows.iter().map(end).collect()
    };
    comparisons.versus.iter().map(of_server).collect()
}

/// The reason why numbers of calls are unknown, or known of a few runs only.
fn why_undecided(condition: &CheckedConstraint, comparisons: &Comparisons) -> String {
    if !condition
        .characteristics()
        .any(|characteristic| characteristic.statistic.is_inside())
    {
        return String::new();
    }
    let insides = rows(comparisons).filter_map(|row| row.inside.as_ref());
    let insides: Vec<_> = insides.collect();
    if let Some(by) = insides.iter().find_map(|inside| inside.unseen) {
        return format!(
            "; calls on the storage are unknown: a server uses {}",
            by.name()
        );
    }
    if insides
        .iter()
        .any(|inside| (1..LEAST_STARTS).contains(&inside.traced))
    {
        return format!("; numbers of calls are facts from {LEAST_STARTS} runs of each on");
    }
    String::new()
}

/// True if a row is a reason for the condition: it is named there, or is worse. Other rows only
/// share a condition about named rows.
fn is_reason(condition: &CheckedConstraint, comparison: &Comparison, judged: &RowTruth) -> bool {
    let characteristics = condition.characteristics();
    let named = characteristics.filter_map(|of| of.measurement.as_deref());
    let named: Vec<&str> = named.collect();
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

/// A row with the differences that the condition is about; the condition itself where it names its
/// rows.
fn shown(
    (fail_if, condition): (&FailCondition, &CheckedConstraint),
    comparison: &Comparison,
    judged: RowTruth,
) -> String {
    let Some(name) = judged.row else {
        return fail_if.constraint.to_string();
    };
    let row = comparison.rows.iter().find(|row| row.name == name);
    match row.filter(|_| judged.truth == Some(true)) {
        Some(row) => format!("{name} ({})", reasons(condition, row).join(", ")),
        None => name,
    }
}

/// Differences of a row that the condition is about: `slower`, `cpu more`, `fsync 0 -> 1`.
fn reasons(condition: &CheckedConstraint, row: &Compared) -> Vec<String> {
    let mut reasons = Vec::new();
    for characteristic in condition.characteristics() {
        let cost = match characteristic.statistic {
            Statistic::Compared(ComparedCharacteristic::Processor) => Some(InsideCost::Processor),
            Statistic::Compared(ComparedCharacteristic::Calls(kind)) => {
                Some(InsideCost::Calls(kind))
            }
            _ => None,
        };
        let reason = match cost {
            Some(cost) => {
                let inside = row.inside.as_ref();
                let cost = inside.and_then(|inside| inside.cost(cost));
                cost.and_then(difference)
            }
            None => Some(row.verdict.name().to_owned()),
        };
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
    }
    if reasons.is_empty() {
        reasons.push(row.verdict.name().to_owned());
    }
    reasons
}

/// Difference of a cost: `cpu more`, `fsync 0 -> 1`.
fn difference(cost: &ComparedCost) -> Option<String> {
    match (cost.cost, cost.verdict()) {
        (InsideCost::Processor, verdict @ (Verdict::Slower | Verdict::Faster)) => {
            Some(format!("cpu {}", verdict.name_of_cost()))
        }
        (InsideCost::Processor, _) => None,
        (InsideCost::Calls(_), _) => (cost.a != cost.b).then(|| cost_in_words(cost)),
    }
}

/// An error about rows without a verdict, because the load generator may have changed their times.
fn disqualified(comparisons: &Comparisons) -> Option<RunnerError> {
    let of_server = |versus: &Versus| -> Vec<String> {
        let rows = versus.comparison.rows.iter();
        let rows = rows.filter(|row| row.is_disqualified());
        rows.map(|row| of(comparisons, versus, row.name.clone()))
            .collect()
    };
    let names: Vec<String> = comparisons.versus.iter().flat_map(of_server).collect();
    (!names.is_empty()).then(|| {
        RunnerError::inconclusive(format!(
            "the load generator may have changed the times of {} in half of the pairs of runs or more; \
             stop other programs, or use another machine",
            names.join(", ")
        ))
    })
}

/// All rows of all comparisons.
pub fn rows(comparisons: &Comparisons) -> impl Iterator<Item = &Compared> {
    let versus = comparisons.versus.iter();
    versus.flat_map(|versus| &versus.comparison.rows)
}

/// The name of a row, with the name of the server where several are compared with A.
fn of(comparisons: &Comparisons, versus: &Versus, name: String) -> String {
    match &comparisons.versus[..] {
        [_] => name,
        _ => format!("{name} of {}", versus.name),
    }
}

#[cfg(test)]
mod tests;
