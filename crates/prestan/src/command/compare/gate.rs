//! `--fail-if`: whether what was not to happen has happened, and what nobody can know of it.

use report::Comparisons;
use stats::{Compared, Verdict};

use crate::args::Gate;
use crate::exit::{Code, Failed};
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
        let times_are_fine =
            !row.is_disqualified() && row.evidence().is_some_and(|found| found.ci95().1 < limit);
        let failures_are_fine = row
            .failing
            .is_none_or(|failing| failing.verdict == Verdict::Repaired);
        // Nothing is known of times that A does not have.
        let is_repaired = row.ratio.is_none() && row.verdict == Verdict::Repaired;
        match is_repaired || (times_are_fine && failures_are_fine) {
            true => Passage::Passes,
            false => Passage::Undecided,
        }
    }
}

/// Judges all rows of all comparisons.
pub(super) fn judge(comparisons: &Comparisons, gate: Option<Gate>) -> Result<Code, Failed> {
    let disqualified = disqualified(comparisons);
    let Some(gate) = gate else {
        return disqualified.map_or(Ok(Code::Done), Err);
    };
    let named = |wanted: Passage, name: fn(&Compared) -> String| -> Vec<String> {
        let versus = comparisons.versus.iter().map(|versus| &versus.comparison);
        let rows = versus.flat_map(|of| of.rows.iter().map(|row| (row, of.same_within)));
        rows.filter(|(row, same_within)| gate.passage(row, *same_within) == wanted)
            .map(|(row, _)| name(row))
            .collect()
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
            "prestan: undecided, because these tests may be slower than allowed, fail more often, or \
             could not be compared: {}",
            undecided.join(", ")
        ));
    }
    let is_failed = is_nothing || !failed.is_empty() || (gate.undecided && !undecided.is_empty());
    match (is_failed, disqualified) {
        (true, _) => Ok(Code::TestFailed),
        (false, Some(why)) => Err(why),
        (false, None) => Ok(Code::Done),
    }
}

/// Rows whose times have no verdict, because the load generator may have changed them.
fn disqualified(comparisons: &Comparisons) -> Option<Failed> {
    let versus = comparisons.versus.iter();
    let rows = versus.flat_map(|versus| &versus.comparison.rows);
    let rows = rows.filter(|row| row.is_disqualified());
    let mut names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        Failed::inconclusive(format!(
            "the load generator may have changed the times of {} in half of the pairs of runs or more; \
             stop other programs, or use another machine",
            names.join(", ")
        ))
    })
}
