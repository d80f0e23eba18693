//! What should be fixed first: findings, each with its evidence, from rules that are data.
//!
//! ```text
//! samples --> material (summary, course of each measure) --> case (rows that can be believed)
//!                                                              |
//!                                     RULES, one by one -------+--> findings, the dearest first
//! ```
//!
//! A rule looks at some rows of the suites `prestan`, `listing` and `locks`, or at all rows of any run.
//! It finds something only where the rows are ok and have enough operations, where the difference is
//! sure (the 95 % intervals of both sides keep the distance that the rule asks for; detectors of
//! modes, trends and periods have tests of their own), and where it is large enough to matter. What
//! is not sure is not said. How often rules err on plain servers, and what they find on odd ones, is
//! in `tests`.

mod case;
mod course;
mod drift;
mod line;
mod material;
mod modes;
mod period;
mod rules;
#[cfg(test)]
mod tests;

pub use case::MANY;
pub use material::{Material, material_from};
pub use rules::{RULES, Rule};

use case::Case;

/// Something conspicuous.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the [`Rule`] that found it.
    pub rule: &'static str,
    /// The finding in a few words.
    pub title: &'static str,
    /// The finding in a sentence or two, with figures.
    pub text: String,
    /// What it rests on: figures with their intervals and numbers of operations.
    pub evidence: Vec<String>,
    /// Where in a server to look for the cause.
    pub look_at: &'static str,
    /// The rows that it is about.
    pub tests: Vec<String>,
    /// Which of the runs it was found in.
    pub run: usize,
    /// How much of the time of all that was measured would not be spent if this were as the rule
    /// thinks normal: a share.
    pub weight: f64,
}

/// What rules say of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// What is conspicuous, the dearest first.
    pub findings: Vec<Finding>,
    /// What was not looked at.
    pub left_out: Vec<LeftOut>,
    /// Rows that have too few operations (fewer than [`MANY`]) for the rules that look at how a row
    /// goes on in the course of the run.
    pub few: usize,
}

/// Something that no finding can come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// All of a run: the generator was the bottleneck.
    Inconclusive {
        /// Which run.
        run: usize,
        /// The doubt.
        why: String,
    },
    /// A row of a run, because it failed or is not supported.
    Row {
        /// Which run.
        run: usize,
        /// Name of the row.
        row: String,
        /// Why.
        why: String,
    },
}

/// Diagnoses runs of one server, of different suites: rules may look at several of them. Of rows
/// of the same name, the first is looked at.
pub fn diagnose(runs: &[Material]) -> Diagnosis {
    let case = Case::of(runs);
    let mut findings: Vec<Finding> = RULES.iter().filter_map(|rule| rule.look(&case)).collect();
    findings.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    Diagnosis {
        findings,
        left_out: left_out(runs),
        few: case.few(),
    }
}

fn left_out(runs: &[Material]) -> Vec<LeftOut> {
    let mut all = Vec::new();
    for (run, material) in runs.iter().enumerate() {
        let summary = &material.summary;
        if let Some(why) = summary.bottlenecks().next() {
            let why = why.to_string();
            all.push(LeftOut::Inconclusive { run, why });
            continue;
        }
        let bad = summary.tests.iter().filter(|row| !case::is_good(row));
        all.extend(bad.map(|row| {
            LeftOut::Row {
                run,
                row: row.name.clone(),
                why: row
                    .evidence
                    .clone()
                    .unwrap_or_else(|| "it has no response times".to_owned()),
            }
        }));
    }
    all
}
