//! `--fail-if`: which rows fail its condition, and which are undecided.

use report::{Comparisons, Versus};
use stats::{Certainty, Compared, Verdict};

use crate::args::Gate;
use crate::exit::{ExitStatus, Failed};
use crate::output::tell;

/// Why a gate is refused where there is one run of each.
const ONE_RUN: &str = "--fail-if needs several runs of each server, because one run of each does not \
                       show how much runs of one server differ";

/// Refuses a gate where there is one run of each; `remedy` says how to get more.
pub(super) fn refuse(remedy: &str) -> Failed {
    Failed::Usage(format!("{ONE_RUN}: {remedy}"))
}

/// What a gate makes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passage {
    Passes,
    Fails,
    /// It may be slower than allowed, or fail more often.
    Undecided,
}

impl Gate {
    /// Looks at times and failures of a row.
    fn passage(self, row: &Compared, same_within: f64) -> Passage {
        let is_too_slow = row
            .ratio
            .is_some_and(|ratio| ratio.verdict == Verdict::Slower && ratio.value >= 1.0 + self.by);
        if matches!(row.verdict, Verdict::Broken | Verdict::Lost) || is_too_slow {
            return Passage::Fails;
        }
        if row.verdict == Verdict::Gained {
            return Passage::Passes;
        }
        let limit = 1.0 + self.by.max(same_within);
        // A few slow runs are in the means over all of them, and not in their usual ratio.
        let is_below = |found: &Certainty| found.most() < limit;
        let times_are_fine = !row.is_disqualified() && row.evidence().is_some_and(is_below);
        let failures_are_fine = row.doubtful == 0
            && row
                .failing
                .is_none_or(|failing| failing.verdict == Verdict::Repaired);
        // Nothing is known of times that A does not have.
        let is_repaired = row.ratio.is_none() && row.verdict == Verdict::Repaired;
        if is_repaired || (times_are_fine && failures_are_fine) {
            Passage::Passes
        } else {
            Passage::Undecided
        }
    }
}

/// Reports that a gate has no result, because the measurement ended early.
pub(super) fn not_judged(gate: Option<Gate>) {
    if gate.is_some() {
        tell("prestan: --fail-if has no result, because the measurement ended early");
    }
}

/// Judges all rows of all comparisons.
pub(super) fn judge(comparisons: &Comparisons, gate: Option<Gate>) -> Result<ExitStatus, Failed> {
    let disqualified = disqualified(comparisons);
    let Some(gate) = gate else {
        return disqualified.map_or(Ok(ExitStatus::Done), Err);
    };
    let named = |wanted: Passage, name: fn(&Compared) -> String| {
        names(comparisons, name, |row, same_within| {
            gate.passage(row, same_within) == wanted
        })
    };
    let failed = named(Passage::Fails, |row| {
        format!("{} ({})", row.name, row.verdict.name())
    });
    let undecided = named(Passage::Undecided, |row| row.name.clone());
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
            "prestan: undecided (may be slower than the limit, may fail more often, or could not be \
             compared): {}",
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

/// Rows whose times have no verdict, because the load generator may have changed them.
fn disqualified(comparisons: &Comparisons) -> Option<Failed> {
    let names = names(
        comparisons,
        |row| row.name.clone(),
        |row, _| row.is_disqualified(),
    );
    (!names.is_empty()).then(|| {
        Failed::inconclusive(format!(
            "the load generator may have changed the times of {} in half of the pairs of runs or more; \
             stop other programs, or use another machine",
            names.join(", ")
        ))
    })
}

/// Rows of which that is so, with the name of the server where several are compared with A.
fn names(
    comparisons: &Comparisons,
    name: fn(&Compared) -> String,
    is_so: impl Fn(&Compared, f64) -> bool,
) -> Vec<String> {
    let is_one = comparisons.versus.len() == 1;
    let of_server = |versus: &'_ Versus| -> Vec<String> {
        let comparison = &versus.comparison;
        let rows = comparison.rows.iter();
        let rows = rows.filter(|row| is_so(row, comparison.same_within));
        rows.map(|row| {
            if is_one {
                name(row)
            } else {
                format!("{} of {}", name(row), versus.name)
            }
        })
        .collect()
    };
    comparisons.versus.iter().flat_map(of_server).collect()
}
