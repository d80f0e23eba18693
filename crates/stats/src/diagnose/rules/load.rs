//! What becomes of rows when several users are at work at the same time.

use record::Outcome;

use super::{Detection, Detector, DiagnosisRule};
use crate::TestSummary;
use crate::diagnose::case::{Case, is_good};
use crate::diagnose::figure::{Evidence, count, rate, ratio, reason, text};

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "fails-under-load",
        // operations, and 1 % of the row, are wrong with several users, and none with fewer.
        at_least: 2.0,
        figures: &[
            "users",
            "fewer_users",
            "row",
            "failed",
            "operations",
            "answer",
        ],
        find: Detector::Once(fails),
    },
    DiagnosisRule {
        name: "does-not-scale",
        // of the throughput with all users is reached with fewer already, while that of
        // another row grows to 2.5 times.
        at_least: 0.8,
        figures: &[
            "fewer_users",
            "users",
            "row",
            "rate_alone",
            "rate",
            "growth",
            "best_row",
            "best_growth",
        ],
        find: Detector::Once(does_not_scale),
    },
];

/// Outcomes that a load generator does not cause, however busy it is.
const SERVERS: [Outcome; 5] = [
    Outcome::WrongStatus,
    Outcome::WrongBody,
    Outcome::Unsupported,
    Outcome::Refused,
    Outcome::ProtocolError,
];

/// How many times the throughput of one user the best row must have with several of them: below,
/// the machine may be too small to say anything of the server.
const GROWS: f64 = 2.5;

/// A row with few users and with more, in runs of one suite.
struct Pair<'a> {
    run: usize,
    /// No warning disqualifies it in either run.
    is_sound: bool,
    users: u32,
    alone: &'a TestSummary,
    alone_users: u32,
    loaded: &'a TestSummary,
}

fn pairs<'a>(case: &Case<'a>) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for (run, loaded) in case.runs().iter().enumerate() {
        let users = loaded.plan.load.users;
        let is_base = |other: &&crate::Material| {
            other.plan.suite.name == loaded.plan.suite.name && other.plan.load.users < users
        };
        let Some(base) = case.runs().iter().find(is_base) else {
            continue;
        };
        for row in &loaded.summary.tests {
            let alone = base
                .summary
                .tests
                .iter()
                .find(|other| other.name == row.name);
            pairs.extend(alone.map(|alone| Pair {
                run,
                is_sound: alone.disqualified().is_none()
                    && row.conclusion() != crate::Conclusion::Inconclusive,
                users,
                alone,
                alone_users: base.plan.load.users,
                loaded: row,
            }));
        }
    }
    pairs
}

/// Operations that the server failed, and all of them.
fn failed(row: &TestSummary) -> (u64, u64) {
    let outcomes = row.outcomes.plus(&row.left_out_outcomes);
    let failed = SERVERS.iter().map(|outcome| outcomes.of(*outcome)).sum();
    (failed, outcomes.total())
}

fn fails(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let is_broken = |pair: &Pair<'_>| {
        let (failed, of) = failed(pair.loaded);
        is_good(pair.alone) && failed as f64 >= at_least && failed as f64 >= 0.01 * of as f64
    };
    let mut broken = pairs(case);
    broken.retain(is_broken);
    broken.sort_by_key(|pair| std::cmp::Reverse(failed(pair.loaded).0));
    let worst = broken.first()?;
    let first_failure = |pair: &Pair<'_>| {
        let mut failures = pair.loaded.failures.iter();
        let first = failures.find_map(|group| group.example.as_ref());
        reason("answer", first.or(pair.loaded.evidence.as_ref()))
    };
    let evidence = |pair: &Pair<'_>| Evidence {
        row: pair.loaded.name.clone(),
        figures: vec![
            count("failed", failed(pair.loaded).0),
            count("operations", failed(pair.loaded).1),
            first_failure(pair),
        ],
    };
    let (lost, of) = failed(worst.loaded);
    Some(Detection {
        figures: vec![
            count("users", u64::from(worst.users)),
            count("fewer_users", u64::from(worst.alone_users)),
            text("row", &worst.loaded.name),
            count("failed", lost),
            count("operations", of),
            first_failure(worst),
        ],
        evidence: broken.iter().map(evidence).collect(),
        tests: broken.iter().map(|pair| pair.loaded.name.clone()).collect(),
        run: worst.run,
        ..Detection::default()
    })
}

/// Share of the growth of a user's cycle that must be in the times of its operations: the rest may
/// be requests that are not measured, but also the load generator's own waiting.
const OF_THE_SERVER: f64 = 0.5;

/// Whether the server is why users got no more done: the whole interval is below that growth, and
/// operations take as much longer as more users at the same rate must wait (Little's law).
fn is_held_up(pair: &Pair<'_>, growth: f64, most: f64) -> bool {
    let ends = |row: &TestSummary| row.rate?.ci95;
    let ends = ends(pair.alone).zip(ends(pair.loaded));
    let at_most = ends.map_or(growth, |((low, _), (_, high))| {
        high / low.max(f64::MIN_POSITIVE)
    });
    let cycle = f64::from(pair.users) / f64::from(pair.alone_users.max(1)) / growth;
    let means = pair.alone.total.zip(pair.loaded.total);
    let slower = means.map_or(0.0, |(alone, loaded)| loaded.mean / alone.mean.max(1.0));
    at_most <= most && slower >= OF_THE_SERVER * cycle
}

/// How many times as many operations a second a row has with more users.
fn growth(pair: &Pair<'_>) -> Option<f64> {
    let is_whole = is_good(pair.alone) && is_good(pair.loaded);
    let (alone, loaded) = (pair.alone.per_second()?, pair.loaded.per_second()?);
    (is_whole && alone > 0.0).then_some(loaded / alone)
}

fn does_not_scale(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let pairs = pairs(case).into_iter().filter(|pair| pair.is_sound);
    let grown = pairs.filter_map(|pair| Some((growth(&pair)?, pair)));
    let mut grown: Vec<(f64, Pair<'_>)> = grown.collect();
    grown.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (best, best_row) = grown.last().map(|(best, pair)| (*best, pair.loaded))?;
    let best_name = best_row.name.clone();
    // Users who want the same lock wait for each other.
    let most = 1.0 / at_least;
    grown.retain(|(growth, pair)| {
        is_held_up(pair, *growth, most) && pair.loaded.name != "ContendedLock"
    });
    let (worst_growth, worst) = grown.first().filter(|_| best >= GROWS)?;
    let evidence = |(growth, pair): &(f64, Pair<'_>)| Evidence {
        row: pair.loaded.name.clone(),
        figures: vec![
            rate("rate_alone", pair.alone.per_second().unwrap_or(0.0)),
            rate("rate", pair.loaded.per_second().unwrap_or(0.0)),
            ratio("growth", *growth),
        ],
    };
    Some(Detection {
        figures: vec![
            count("fewer_users", u64::from(worst.alone_users)),
            count("users", u64::from(worst.users)),
            text("row", &worst.loaded.name),
            rate("rate_alone", worst.alone.per_second()?),
            rate("rate", worst.loaded.per_second()?),
            ratio("growth", *worst_growth),
            text("best_row", best_name),
            ratio("best_growth", best),
        ],
        evidence: grown.iter().map(evidence).collect(),
        tests: grown
            .iter()
            .map(|(_, pair)| pair.loaded.name.clone())
            .collect(),
        run: worst.run,
        // With few users nothing is lost.
        ..Detection::default()
    })
}
