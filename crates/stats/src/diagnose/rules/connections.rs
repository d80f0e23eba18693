//! What goes on beside the answers: connections that are opened, and credentials that are refused.

use super::{Found, percent};
use crate::diagnose::case::{Case, NOTICEABLE, Row};
use crate::units::human;

/// Operations that must have met it.
const LEAST: u64 = 5;

/// Rows that evidence names.
const NAMED: usize = 3;

/// Requests from which on a distance of several limits is none by chance.
const LARGE: u64 = 10;

/// Gaps that must be the same for a limit to be named.
const SAME_GAPS: usize = 3;

pub(super) fn keep_alive(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let kept = |row: &Row<'_>| row.plan().load.http.keep_alive;
    let rows: Vec<Row<'_>> = case.rows().filter(kept).collect();
    let sum = |of: fn(&Row<'_>) -> u64| rows.iter().map(of).sum::<u64>();
    let (opened, operations) = (
        sum(|row| row.course.opened),
        sum(|row| row.course.operations),
    );
    let users = rows
        .iter()
        .map(|row| u64::from(row.plan().load.users))
        .max()?;
    let share = opened as f64 / operations.max(1) as f64;
    let connecting: u128 = rows.iter().map(|row| row.course.connecting).sum();
    let each = connecting as f64 / opened.max(1) as f64;
    // Each user opens one, once.
    if opened < LEAST + users || share < at_least || each < NOTICEABLE {
        return None;
    }
    let mut found = most(&rows, |row| row.course.opened, "connections for");
    found.text = format!(
        "A connection was opened for {opened} of {operations} operations ({}), which took {} each.",
        percent(share),
        human(each)
    );
    match rows.iter().find_map(limit) {
        Some((limit, same, of)) => {
            found.text += &format!(" The server ends them after {limit} requests.");
            found.evidence.push(format!(
                "{same} of {of} distances between new connections are {limit} requests"
            ));
        }
        None => found.text += " They were opened with requests of these rows.",
    }
    found.saved = connecting as f64 * (1.0 - at_least / share);
    Some(found)
}

/// After how many requests the server ends a connection: the distance that most connections of a
/// single user have, how many have it, and of how many. A connection that served more belies it.
/// Those opened by requests that are not measured are not known, and make distances of several
/// limits, which a small one has by chance.
fn limit(row: &Row<'_>) -> Option<(u64, usize, usize)> {
    let material = row.material;
    let opened = &material.opened;
    (material.plan.load.users == 1).then_some(())?;
    let gaps: Vec<u64> = opened.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let same = |gap: u64| gaps.iter().filter(|other| **other == gap).count();
    let most = gaps
        .iter()
        .copied()
        .max_by_key(|gap| (same(*gap), std::cmp::Reverse(*gap)))?;
    let count = same(most);
    let is_beyond = |gap: &&u64| **gap > most && (most < LARGE || !gap.is_multiple_of(most));
    let beyond = gaps.iter().filter(is_beyond).count();
    let is_usual = count >= SAME_GAPS && count * 3 >= gaps.len();
    (is_usual && beyond * 20 <= gaps.len()).then_some((most, count, gaps.len()))
}

pub(super) fn asked_twice(case: &Case<'_>, at_least: f64) -> Option<Found> {
    // In a pipeline, all that waits behind a lost request is sent once more, and no 401 was there.
    let is_alone = |row: &Row<'_>| row.plan().load.http.pipeline <= 1;
    let rows: Vec<Row<'_>> = case.rows().filter(is_alone).collect();
    let sum = |of: fn(&Row<'_>) -> u64| rows.iter().map(of).sum::<u64>();
    let (twice, operations) = (
        sum(|row| row.course.challenged),
        sum(|row| row.course.operations),
    );
    let share = twice as f64 / operations.max(1) as f64;
    if twice < LEAST || share < at_least {
        return None;
    }
    let mut found = most(&rows, |row| row.course.challenged, "answered 401 first, of");
    found.text = format!(
        "{twice} of {operations} operations ({}) were answered 401 first and asked once more. \
         Response times are those of the second answer, so a client waits longer than they say.",
        percent(share)
    );
    // What a 401 takes is not recorded: it is no quicker than the quickest answer.
    let quickest = |row: &Row<'_>| row.summary.response.map_or(0.0, |times| times.min as f64);
    let lost = |row: &Row<'_>| row.course.challenged as f64 * quickest(row);
    found.saved = rows.iter().map(lost).sum::<f64>() * (1.0 - at_least / share);
    Some(found)
}

/// Names the rows that met it most often, by their share.
fn most(rows: &[Row<'_>], met: fn(&Row<'_>) -> u64, words: &str) -> Found {
    let mut rows: Vec<Row<'_>> = rows.iter().copied().filter(|row| met(row) > 0).collect();
    let share = |row: &Row<'_>| met(row) as f64 / row.course.operations as f64;
    rows.sort_by(|one, other| share(other).total_cmp(&share(one)));
    let told = |row: &Row<'_>| {
        format!(
            "{}: {} {words} {} operations",
            row.name(),
            met(row),
            row.course.operations
        )
    };
    Found {
        evidence: rows.iter().take(NAMED).map(told).collect(),
        tests: rows.iter().map(|row| row.name().to_owned()).collect(),
        run: rows.first().map_or(0, |row| row.run),
        ..Found::default()
    }
}
