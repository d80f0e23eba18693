//! Whether runs did the same, so that their times may be compared.

use std::fmt;

use record::PlanRecord;

use super::Side;

/// Why runs cannot be compared. Its `Display` is one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// There is nothing to pair: so many runs of A, and of B.
    Pairs(usize, usize),
    /// Something that times depend on: what, and how it is in both.
    Plan {
        /// What differs.
        what: &'static str,
        /// In A, or in the first run.
        one: String,
        /// In the other.
        other: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Pairs(a, b) => write!(
                f,
                "there are {a} runs of one and {b} of the other; runs are compared in pairs, so \
                 give as many of both"
            ),
            Difference::Plan { what, one, other } => write!(
                f,
                "the runs did not do the same: {what} is {one} in one and {other} in the other; \
                 measure again with the same"
            ),
        }
    }
}

impl std::error::Error for Difference {}

/// What to know before a comparison is believed. Its `Display` is one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caveat {
    /// The generator was the bottleneck in so many runs.
    Inconclusive(usize),
    /// So many runs did not go through to their end.
    Incomplete(usize),
    /// One run of each: what differs from run to run is not in the intervals.
    OneRun,
    /// Something differs that should do no harm: what, and how it is in both.
    Differs {
        /// What differs.
        what: &'static str,
        /// In A, or in the first run.
        one: String,
        /// In the other.
        other: String,
    },
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caveat::Inconclusive(runs) => write!(
                f,
                "the generator was the bottleneck in {runs} of the runs: a difference may be its \
                 own"
            ),
            Caveat::Incomplete(runs) => write!(f, "{runs} of the runs did not go through"),
            Caveat::OneRun => f.write_str(
                "one run of each: what differs from one run to the next, a restart of the server \
                 for example, is not in the intervals; several pairs (--repeat) know it",
            ),
            Caveat::Differs { what, one, other } => {
                write!(f, "{what} is {one} in one and {other} in the other")
            }
        }
    }
}

/// What times depend on, in words.
fn essentials(plan: &PlanRecord) -> [(&'static str, String); 7] {
    let load = &plan.load;
    let mut params = plan.params.clone();
    // How often says nothing of how long.
    params.remove("requests");
    let tests: Vec<&str> = plan.measures.iter().map(|row| row.name.as_str()).collect();
    [
        (
            "the suite",
            format!("{} ({:.12})", plan.suite.name, plan.suite.sha256),
        ),
        ("the set of tests", tests.join(", ")),
        (
            "the set of parameters",
            serde_json::Value::from_iter(params).to_string(),
        ),
        ("the clock", format!("{:?}", plan.clock).to_lowercase()),
        ("the number of users", load.users.to_string()),
        ("the load", format!("{:?}", load.pace)),
        ("the way of HTTP", format!("{:?}", load.http)),
    ]
}

/// What should do no harm, or what nobody can help.
fn harmless(side: &Side<'_>) -> [(&'static str, String); 5] {
    let (plan, load, machine) = (side.plan, &side.plan.load, side.machine);
    let requests = load.requests.map_or("none".to_owned(), |n| n.to_string());
    let duration = load
        .duration_s
        .map_or("none".to_owned(), |s| format!("{s} s"));
    [
        ("the version of prestan", plan.prestan.clone()),
        (
            "the machine that measured",
            format!("{} ({} cores, {})", machine.cpu, machine.cores, machine.os),
        ),
        ("the number of requests", requests),
        ("the duration", duration),
        ("the number of rounds to warm up", load.warmup.to_string()),
    ]
}

/// What is not the same in both: what, and how it is in each.
fn differing<const N: usize>(
    one: [(&'static str, String); N],
    other: [(&'static str, String); N],
) -> impl Iterator<Item = (&'static str, String, String)> {
    let both = one.into_iter().zip(other);
    both.filter(|((_, one), (_, other))| one != other)
        .map(|((what, one), (_, other))| (what, one, other))
}

/// What to know of runs that did the same.
pub(super) fn check(a: &[Side<'_>], b: &[Side<'_>]) -> Result<Vec<Caveat>, Difference> {
    if a.len() != b.len() || a.is_empty() {
        return Err(Difference::Pairs(a.len(), b.len()));
    }
    let first = a[0].plan;
    let all = || a.iter().chain(b);
    for side in all() {
        let mut differing = differing(essentials(first), essentials(side.plan));
        if let Some((what, one, other)) = differing.next() {
            return Err(Difference::Plan { what, one, other });
        }
    }
    let mut caveats = Vec::new();
    let inconclusive = all().filter(|side| side.summary.is_inconclusive()).count();
    if inconclusive > 0 {
        caveats.push(Caveat::Inconclusive(inconclusive));
    }
    let is_incomplete = |side: &&Side<'_>| side.summary.complete != crate::Completeness::Complete;
    let incomplete = all().filter(is_incomplete).count();
    if incomplete > 0 {
        caveats.push(Caveat::Incomplete(incomplete));
    }
    if a.len() == 1 {
        caveats.push(Caveat::OneRun);
    }
    for side in all() {
        for (what, one, other) in differing(harmless(&a[0]), harmless(side)) {
            let caveat = Caveat::Differs { what, one, other };
            if !caveats.contains(&caveat) {
                caveats.push(caveat);
            }
        }
    }
    Ok(caveats)
}
