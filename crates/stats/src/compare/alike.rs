//! Whether runs did the same, so that their times may be compared.

use std::fmt;

use record::{Environment, PlanRecord};

use super::Side;

/// Why runs cannot be compared. Its `Display` is one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// There is nothing to pair: so many runs of A, and of B.
    Pairs(usize, usize),
    /// This run is there more than once, and would count for as many.
    Twice(String),
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
            Difference::Twice(run) => write!(
                f,
                "the run {run} is given more than once for the same server; a run counts once, so \
                 give different ones"
            ),
            Difference::Plan { what, one, other } => write!(
                f,
                "the runs did not do the same: {what} is {one} in one and {other} in the other; \
                 {}",
                remedy(what)
            ),
        }
    }
}

/// What makes this the same in both.
fn remedy(what: &str) -> &'static str {
    match what {
        CLOCK => "measure both with --clock user, which every machine has",
        _ => "measure again with the same",
    }
}

impl std::error::Error for Difference {}

const CLOCK: &str = "the clock";

/// What to know before a comparison is believed. Its `Display` is one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caveat {
    /// Warnings disqualify rows in so many runs.
    Disqualified(usize),
    /// So many runs did not go through to their end.
    Incomplete(usize),
    /// One run of each, which does not show how much runs differ.
    OneRun,
    /// Servers were not started anew for each run.
    OneProcess,
    /// So many pairs are a run beside itself.
    SameRun(usize),
    /// The runs of so many pairs were not made at the same time.
    Apart(usize),
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
            Caveat::Disqualified(runs) => write!(
                f,
                "the load generator may have changed rows in {runs} of the runs; the pairs concerned \
                 are not in the ratios of these rows"
            ),
            Caveat::Incomplete(runs) => write!(f, "{runs} of the runs did not go through"),
            Caveat::OneRun => f.write_str(
                "one run of each does not show how much runs of one server differ, so there are \
                 ratios and no verdicts; measure both with `--for 60s`, or give several recorded \
                 runs of each as DIR,DIR,...",
            ),
            Caveat::OneProcess => f.write_str(
                "the servers were not started anew for each run: verdicts are about these two \
                 processes, and two processes of one program differ, too; let prestan start them \
                 (--server, or --start-a and --start-b)",
            ),
            Caveat::SameRun(1) => f.write_str("it is the same run on both sides"),
            Caveat::SameRun(pairs) => write!(f, "{pairs} pairs are the same run on both sides"),
            Caveat::Apart(pairs) => write!(
                f,
                "not measured side by side ({pairs} {}): what the machine did between one run and \
                 the other is in the ratios, and nothing here can tell it from the servers; \
                 `prestan compare` with both URLs measures in turns",
                if *pairs == 1 { "pair" } else { "pairs" }
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
    [
        (
            "the suite",
            format!("{} ({:.12})", plan.suite.name, plan.suite.sha256),
        ),
        (
            "the set of parameters",
            serde_json::Value::from_iter(params).to_string(),
        ),
        (CLOCK, format!("{:?}", plan.clock).to_lowercase()),
        ("the number of users", load.users.to_string()),
        ("the number of servers", (1 + plan.others.len()).to_string()),
        (
            "the load",
            match load.in_turn {
                true => format!("{:?}, in the order of the suite", load.pace),
                false => format!("{:?}", load.pace),
            },
        ),
        ("the way of HTTP", load.http.to_string()),
    ]
}

/// What a run does. It may differ from pair to pair.
fn tests_of(plan: &PlanRecord) -> (&'static str, String) {
    let tests: Vec<&str> = plan.measures.iter().map(|row| row.name.as_str()).collect();
    ("the set of tests", tests.join(", "))
}

/// How much a run does. It may differ from pair to pair.
fn amounts(side: &Side<'_>) -> [(&'static str, String); 2] {
    let load = &side.plan.load;
    let requests = load.requests.map_or("none".to_owned(), |n| n.to_string());
    let duration = load
        .duration_s
        .map_or("none".to_owned(), |s| format!("{s} s"));
    [
        ("the number of requests", requests),
        ("the duration", duration),
    ]
}

/// What should do no harm, or what nobody can help.
fn harmless(side: &Side<'_>) -> [(&'static str, String); 6] {
    let (plan, load, machine) = (side.plan, &side.plan.load, &side.env.machine);
    let scheme = plan
        .target
        .split_once("://")
        .map_or("none", |(scheme, _)| scheme);
    let acks = if plan.acks {
        "asked for"
    } else {
        "not asked for"
    };
    [
        ("the version of prestan", plan.prestan.clone()),
        (
            "the machine that measured",
            format!("{} ({} cores, {})", machine.cpu, machine.cores, machine.os),
        ),
        ("the number of rounds to warm up", load.warmup.to_string()),
        ("the scheme of the URL", scheme.to_owned()),
        ("the stamp of acknowledgements", acks.to_owned()),
        ("the timeout", format!("{} s", load.timeout_s)),
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

/// Both are the same run.
fn is_same_run(one: &Side<'_>, other: &Side<'_>) -> bool {
    one.plan.run_id == other.plan.run_id && one.env.started_at == other.env.started_at
}

/// Some of the one was done while the other was under way. Times of day of this format are in the
/// order of their letters.
fn is_beside(one: &Side<'_>, other: &Side<'_>) -> bool {
    let ((begin, end), (begins, ends)) = (times(one.env), times(other.env));
    begin == begins || (begin < ends && begins < end)
}

fn times(env: &Environment) -> (&str, &str) {
    let end = env.ended_at.as_ref().unwrap_or(&env.started_at);
    (&env.started_at, end)
}

/// A run that is there more than once.
fn twice<'a>(runs: &[Side<'a>]) -> Option<&'a str> {
    let mut later = runs.iter().enumerate();
    let found =
        later.find(|(place, run)| runs[..*place].iter().any(|other| is_same_run(run, other)));
    found.map(|(_, run)| run.plan.run_id.as_str())
}

/// What to know of runs that did the same.
pub(super) fn check(a: &[Side<'_>], b: &[Side<'_>]) -> Result<Vec<Caveat>, Difference> {
    if a.len() != b.len() || a.is_empty() {
        return Err(Difference::Pairs(a.len(), b.len()));
    }
    if let Some(run) = twice(a).or_else(|| twice(b)) {
        return Err(Difference::Twice(run.to_owned()));
    }
    let first = a[0].plan;
    let all = || a.iter().chain(b);
    let ways = a.iter().map(|side| (first, side.plan));
    let tests = a.iter().zip(b).map(|(a, b)| (a.plan, b.plan));
    let of_all = ways
        .chain(b.iter().map(|side| (first, side.plan)))
        .map(|(one, other)| differing(essentials(one), essentials(other)).next());
    let of_pairs = tests.map(|(one, other)| differing([tests_of(one)], [tests_of(other)]).next());
    if let Some((what, one, other)) = of_all.chain(of_pairs).flatten().next() {
        return Err(Difference::Plan { what, one, other });
    }
    let mut caveats = Vec::new();
    let is_disqualified = |side: &&Side<'_>| side.summary.disqualified().next().is_some();
    let disqualified = all().filter(is_disqualified).count();
    if disqualified > 0 {
        caveats.push(Caveat::Disqualified(disqualified));
    }
    let is_incomplete = |side: &&Side<'_>| side.summary.complete != crate::Completeness::Complete;
    let incomplete = all().filter(is_incomplete).count();
    if incomplete > 0 {
        caveats.push(Caveat::Incomplete(incomplete));
    }
    if a.len() == 1 {
        caveats.push(Caveat::OneRun);
    }
    let count = |is_so: fn(&Side<'_>, &Side<'_>) -> bool| {
        a.iter().zip(b).filter(|(a, b)| is_so(a, b)).count()
    };
    let same = count(is_same_run);
    if same > 0 {
        caveats.push(Caveat::SameRun(same));
    }
    if all().any(|side| !side.plan.fresh_start) && same < a.len() && a.len() > 1 {
        caveats.push(Caveat::OneProcess);
    }
    let apart = count(|a, b| !is_same_run(a, b) && !is_beside(a, b));
    if apart > 0 {
        caveats.push(Caveat::Apart(apart));
    }
    let of_all = all().flat_map(|side| differing(harmless(&a[0]), harmless(side)));
    let of_pairs = a.iter().zip(b);
    let of_pairs = of_pairs.flat_map(|(a, b)| differing(amounts(a), amounts(b)));
    for (what, one, other) in of_all.chain(of_pairs) {
        let caveat = Caveat::Differs { what, one, other };
        if !caveats.contains(&caveat) {
            caveats.push(caveat);
        }
    }
    Ok(caveats)
}
