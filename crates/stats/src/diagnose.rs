//! Diagnosis of runs: findings on what to fix first, with evidence, from rules that are data.
//!
//! ```text
//! samples --> material (summary, course of each measure) --> case (rows that can be believed)
//!                                                              |
//!                                     all rules, one by one ---+--> findings, most costly first
//! ```
//!
//! A rule examines some rows of the suites `prestan`, `listing`, `locks` and `features`, or all
//! rows of any run, or the facts in the events of a run. It finds something only where the rows are
//! ok and have enough operations, where the difference is significant (the 95 % intervals of both
//! sides keep the distance that the rule requires; detectors of modes, trends and periods have
//! tests of their own), and where it is large enough to matter. The time of any request (the floor)
//! is subtracted where a rule is about work. A finding that changes with time, or rests on few
//! operations, must be there in a second run, too. How often rules err on plain servers, and what
//! they find on odd ones, is in `tests`.

mod case;
mod course;
mod drift;
mod facts;
mod figure;
mod line;
mod material;
mod modes;
mod path;
mod period;
mod rules;
#[cfg(test)]
mod tests;

pub use case::MANY;
pub(crate) use course::Course;
pub(crate) use facts::ServerFacts;
pub use figure::{Evidence, NamedQuantity, Quantity, ResponsePart};
pub use material::{Material, material_from};
pub use rules::{DiagnosisRule, all_rules};

use record::PlanRecord;

use crate::{Conclusion, StatusReason, TestSummary, Warning};

use case::Case;

/// A problem of a server, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the [`DiagnosisRule`] that found it.
    pub rule: &'static str,
    /// Figures for the sentence about the finding.
    pub figures: Vec<NamedQuantity>,
    /// Rows that are the evidence, the worst first.
    pub evidence: Vec<Evidence>,
    /// The rows that it is about.
    pub tests: Vec<String>,
    /// Which of the runs it was found in.
    pub run: usize,
    /// The finding may come and go or rests on few operations, and its rows were measured once.
    pub is_seen_once: bool,
    /// How much of the time of all that was measured would not be spent if this were as the rule
    /// thinks normal: a share.
    pub weight: f64,
}

/// Results of the rules on runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// Findings: failures, then the most costly first.
    pub findings: Vec<Finding>,
    /// Findings that need a second run to confirm them, the most costly first.
    pub seen_once: Vec<Finding>,
    /// Rows that were not examined.
    pub left_out: Vec<LeftOut>,
    /// Rows that have too few operations (fewer than [`MANY`]) for the rules about the course of a
    /// row during the run.
    pub few: usize,
}

impl Diagnosis {
    /// The rows that were left out because a warning disqualifies them, or because the load
    /// generator may have caused their failures.
    pub fn disqualified(&self) -> impl Iterator<Item = &LeftOut> {
        self.left_out.iter().filter(|left| left.disqualified)
    }
}

/// A row that no finding can come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Which run.
    pub run: usize,
    /// Name of the row.
    pub row: String,
    /// Why.
    pub why: WhyLeftOut,
    /// A warning disqualifies it: the server may be at fault there, or not.
    pub disqualified: bool,
}

/// Why no finding can come from a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// The row failed, or is not supported: what was attempted, and what came back.
    Evidence(StatusReason),
    /// This warning disqualifies it, or its times are those of a cache.
    Warned(Warning),
    /// The row has no response times.
    NoTimes,
}

/// Diagnoses runs of one server, several of them where rules need that. Of rows of the same name,
/// the first is examined; a further run of the same suite confirms a finding, or does not.
pub fn diagnose(runs: &[Material]) -> Diagnosis {
    let case = Case::of(runs);
    let mut findings: Vec<Finding> = all_rules().filter_map(|rule| rule.look(&case)).collect();
    findings.sort_by(|one, other| {
        let is_first = |finding: &Finding| finding.rule == rules::FIRST;
        let by_weight = other.weight.total_cmp(&one.weight);
        is_first(other).cmp(&is_first(one)).then(by_weight)
    });
    let (seen_once, findings) = findings.into_iter().partition(|one| one.is_seen_once);
    Diagnosis {
        findings,
        seen_once,
        left_out: left_out(runs),
        few: case.few(),
    }
}

/// Diagnoses several runs of one suite on one server, merged as `all`. Changes with time are sought
/// in each of `parts` as well: all runs again, in parts that were measured one after the other.
pub fn diagnose_pooled(all: Material, parts: Vec<Material>) -> Diagnosis {
    let runs: Vec<Material> = std::iter::once(all).chain(parts).collect();
    let mut diagnosis = diagnose(&runs);
    diagnosis.left_out.retain(|left| left.run == 0);
    diagnosis
}

/// True if both run the same suite with the same parameters, except for the number of operations
/// and of users: one can confirm the findings in the other.
pub fn does_the_same(one: &PlanRecord, other: &PlanRecord) -> bool {
    let params = |plan: &PlanRecord| {
        let mut params = plan.params_as_written();
        params.remove("requests");
        params
    };
    one.suite.sha256 == other.suite.sha256 && params(one) == params(other)
}

fn left_out(runs: &[Material]) -> Vec<LeftOut> {
    let of_run = |(run, material): (usize, &Material)| {
        let bad = material.summary.tests.iter();
        let bad = bad.filter(|row| !case::is_good(row));
        let left_out = move |row: &TestSummary| LeftOut {
            run,
            row: row.name.clone(),
            why: why(row),
            disqualified: row.conclusion() == Conclusion::Inconclusive,
        };
        bad.map(left_out).collect::<Vec<LeftOut>>()
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

fn why(row: &TestSummary) -> WhyLeftOut {
    let evidence = row.evidence.clone().map(WhyLeftOut::Evidence);
    let warned = || row.not_of_server().cloned().map(WhyLeftOut::Warned);
    evidence.or_else(warned).unwrap_or(WhyLeftOut::NoTimes)
}
