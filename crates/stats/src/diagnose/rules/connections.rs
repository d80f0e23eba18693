//! Costs beside the responses: connections that are opened, and credentials that are refused.

use std::collections::BTreeMap;

use super::{Detection, Detector, DiagnosisRule};
use crate::Distribution;
use crate::diagnose::case::{Case, NOTICEABLE, SoundRow};
use crate::diagnose::facts::ClosedAfter;
use crate::diagnose::figure::{Evidence, count, share, text, time};
use crate::diagnose::material::Material;

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "connection-close",
        // of all operations are in rows of which nine of ten operations opened a connection,
        // 0.1 ms each at least, although the client keeps connections.
        at_least: 0.02,
        figures: &["opened", "operations", "each", "rows"],
        find: Detector::Once(closed_each_time),
    },
    DiagnosisRule {
        name: "keep-alive-limit",
        // of the operations opened a connection, fewer than 50 requests for each, and 0.1 ms
        // each at least; of 100 requests and more, as servers come, a connection costs each
        // little.
        at_least: 0.02,
        figures: &[
            "opened",
            "operations",
            "share",
            "each",
            "limit",
            "same_distances",
            "distances",
        ],
        find: Detector::Once(keep_alive),
    },
    DiagnosisRule {
        name: "asked-twice",
        // of the operations got a 401 first, although the client had sent its credentials before.
        at_least: 0.1,
        figures: &["challenged", "operations", "share"],
        find: Detector::Once(asked_twice),
    },
    DiagnosisRule {
        name: "closes-silently",
        // connections, and one for each user, were closed within 0.1 s after a response
        // that did not announce it; a server that is started anew closes one for each user.
        at_least: 5.0,
        figures: &["closes", "statuses", "lost"],
        find: Detector::Once(closes_silently),
    },
    DiagnosisRule {
        name: "tls-not-resumed",
        // of the TLS handshakes, of five and one for each user at the least, were full ones,
        // 0.1 ms longer than a TCP handshake, although the client would resume sessions; a server
        // that resumes them does so each time.
        at_least: 0.5,
        figures: &["full", "handshakes", "share", "tls", "tcp"],
        find: Detector::Once(full_handshakes),
    },
];

/// The format of runs from which on samples distinguish full handshakes from resumed ones.
const RECORDS_RESUMED: u32 = 4;

/// Operations that must have met it.
const LEAST: u64 = 5;

/// Share of the operations of a row from which on each of them opens a connection: the first may
/// find one that set-up has opened.
const EACH: f64 = 0.9;

/// Requests from which on a distance of several limits is none by chance.
const LARGE: u64 = 10;

/// Gaps that must be the same for a limit to be named.
const SAME_GAPS: usize = 3;

/// Rows in which connections are kept, but for those that open one each, or only those.
fn kept<'a>(case: &Case<'a>, opens_each: bool) -> Vec<SoundRow<'a>> {
    let is_asked = |row: &SoundRow<'_>| {
        let course = row.course;
        let opens = course.opened as f64 >= EACH * course.operations as f64;
        let is_kept = !row.summary.http.ends_connections();
        is_kept && course.operations > 0 && opens == opens_each
    };
    case.rows().filter(is_asked).collect()
}

fn sum(rows: &[SoundRow<'_>], of: fn(&SoundRow<'_>) -> u64) -> u64 {
    rows.iter().map(of).sum()
}

/// Connections that were opened, for how many operations, and nanoseconds of one of them.
fn opened(rows: &[SoundRow<'_>]) -> (u64, u64, f64) {
    let opened = sum(rows, |row| row.course.opened);
    let operations = sum(rows, |row| row.course.operations);
    let connecting: u128 = rows.iter().map(|row| row.course.connecting).sum();
    (opened, operations, connecting as f64 / opened.max(1) as f64)
}

fn closed_each_time(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let rows = kept(case, true);
    let (opened, operations, each) = opened(&rows);
    let users = rows.iter().map(|row| u64::from(row.plan().load.users));
    let is_enough = opened >= LEAST + users.max()? && each >= NOTICEABLE;
    let of_all = sum(&case.rows().collect::<Vec<_>>(), |row| {
        row.course.operations
    });
    if !is_enough || (opened as f64) < at_least * of_all as f64 {
        return None;
    }
    let mut found = most(&rows, |row| row.course.opened, "opened");
    found.figures = vec![
        count("opened", opened),
        count("operations", operations),
        time("each", each),
        count("rows", rows.len() as u64),
    ];
    found.saved = opened as f64 * each * (1.0 - at_least * of_all as f64 / opened as f64);
    Some(found)
}

fn keep_alive(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let rows = kept(case, false);
    let (opened, operations, each) = opened(&rows);
    let users = rows.iter().map(|row| u64::from(row.plan().load.users));
    let part = opened as f64 / operations.max(1) as f64;
    // Each user opens one, once.
    if opened < LEAST + users.max()? || part < at_least || each < NOTICEABLE {
        return None;
    }
    let mut found = most(&rows, |row| row.course.opened, "opened");
    found.figures = vec![
        count("opened", opened),
        count("operations", operations),
        share("share", part),
        time("each", each),
    ];
    if let Some((limit, same, of)) = rows.iter().find_map(limit) {
        found.figures.extend([
            count("limit", limit),
            count("same_distances", same as u64),
            count("distances", of as u64),
        ]);
    }
    found.saved = opened as f64 * each * (1.0 - at_least / part);
    Some(found)
}

/// After how many requests the server ends a connection: the distance that most connections of a
/// single user have, how many have it, and of how many. A connection that served more belies it.
/// Those opened by requests that are not measured are not known, and make distances of several
/// limits, which a small one has by chance.
fn limit(row: &SoundRow<'_>) -> Option<(u64, usize, usize)> {
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

/// The runs with their places, without those that repeat a suite with as many users.
fn first_runs<'a>(case: &Case<'a>) -> impl Iterator<Item = (usize, &'a Material)> {
    let runs = case.runs();
    let key = |run: &Material| (run.plan.suite.sha256.clone(), run.plan.load.users);
    let is_first = move |(index, run): &(usize, &Material)| {
        !runs[..*index].iter().any(|other| key(other) == key(run))
    };
    runs.iter().enumerate().filter(is_first)
}

fn closes_silently(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let mut after: BTreeMap<u16, ClosedAfter> = BTreeMap::new();
    for closed in first_runs(case).flat_map(|(_, run)| &run.facts.closed) {
        let all = after.entry(closed.status).or_insert(ClosedAfter {
            closes: 0,
            lost: 0,
            ..*closed
        });
        all.closes += closed.closes;
        all.lost += closed.lost;
    }
    let mut after: Vec<ClosedAfter> = after.into_values().collect();
    after.sort_by_key(|closed| std::cmp::Reverse(closed.closes));
    let closes: u64 = after.iter().map(|closed| closed.closes).sum();
    let affected = first_runs(case).filter(|(_, run)| !run.facts.closed.is_empty());
    let users = affected.map(|(_, run)| run.plan.load.users).max()?;
    // A server that is started anew closes one of each user.
    let normal = at_least + f64::from(users);
    if (closes as f64) < normal {
        return None;
    }
    let statuses: Vec<String> = after.iter().map(|one| one.status.to_string()).collect();
    let evidence = |closed: &ClosedAfter| Evidence {
        row: format!("status {}", closed.status),
        figures: vec![count("closes", closed.closes), count("lost", closed.lost)],
    };
    // Some were closed before requests that are not measured.
    let rows: Vec<SoundRow<'_>> = case.rows().filter(|row| row.course.opened > 0).collect();
    let (opened, _, each) = opened(&rows);
    let closes_of = |(_, run): &(usize, &Material)| -> u64 {
        run.facts.closed.iter().map(|closed| closed.closes).sum()
    };
    Some(Detection {
        figures: vec![
            count("closes", closes),
            text("statuses", statuses.join(", ")),
            count("lost", after.iter().map(|closed| closed.lost).sum()),
        ],
        evidence: after.iter().map(evidence).collect(),
        tests: rows.iter().map(|row| row.name().to_owned()).collect(),
        run: first_runs(case).max_by_key(closes_of)?.0,
        saved: closes.min(opened) as f64 * each * (1.0 - normal / closes as f64),
        ..Detection::default()
    })
}

/// Full TLS handshakes, and those that resumed a session.
#[derive(Default)]
struct Handshakes {
    full: f64,
    resumed: f64,
    /// Nanoseconds of the full ones, and of the TCP handshakes before them.
    tls: f64,
    tcp: f64,
}

impl Handshakes {
    fn of(rows: &[SoundRow<'_>]) -> Handshakes {
        let mut all = Handshakes::default();
        for row in rows {
            let connects = &row.summary.connects;
            let count = |times: Option<Distribution>| times.map_or(0.0, |times| times.n as f64);
            let mean = |times: Option<Distribution>| times.map_or(0.0, |times| times.mean);
            let full = count(connects.tls);
            all.full += full;
            all.resumed += count(connects.tls_resumed);
            all.tls += full * mean(connects.tls);
            all.tcp += full * mean(connects.tcp);
        }
        all
    }
}

fn full_handshakes(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let is_recorded = |row: &SoundRow<'_>| {
        let plan = row.plan();
        plan.format >= RECORDS_RESUMED && !plan.load.http.full_handshakes
    };
    let rows: Vec<SoundRow<'_>> = case.rows().filter(is_recorded).collect();
    let all = Handshakes::of(&rows);
    let (tls, tcp) = (all.tls / all.full, all.tcp / all.full);
    let part = all.full / (all.full + all.resumed);
    let users = rows.iter().map(|row| row.plan().load.users).max()?;
    // A resumed session takes a round trip as well, as a TCP handshake does.
    let is_enough = all.full >= (LEAST + u64::from(users)) as f64 && tls - tcp >= NOTICEABLE;
    if !is_enough || part < at_least {
        return None;
    }
    let of_row = |row: &SoundRow<'_>| row.summary.connects.tls.map_or(0, |tls| tls.n);
    Some(Detection {
        figures: vec![
            count("full", all.full as u64),
            count("handshakes", (all.full + all.resumed) as u64),
            share("share", part),
            time("tls", tls),
            time("tcp", tcp),
        ],
        saved: all.full * (tls - tcp) * (1.0 - at_least / part),
        ..most(&rows, of_row, "full")
    })
}

fn asked_twice(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    // In a pipeline, all that waits behind a lost request is sent once more, and no 401 was there.
    let is_alone = |row: &SoundRow<'_>| row.summary.http.pipeline <= 1;
    let rows: Vec<SoundRow<'_>> = case.rows().filter(is_alone).collect();
    let twice = sum(&rows, |row| row.course.challenged);
    let operations = sum(&rows, |row| row.course.operations);
    let part = twice as f64 / operations.max(1) as f64;
    if twice < LEAST || part < at_least {
        return None;
    }
    let mut found = most(&rows, |row| row.course.challenged, "challenged");
    found.figures = vec![
        count("challenged", twice),
        count("operations", operations),
        share("share", part),
    ];
    // The time of a 401 is not recorded: it is no quicker than the quickest response.
    let quickest = |row: &SoundRow<'_>| row.summary.response.map_or(0.0, |times| times.min as f64);
    let lost = |row: &SoundRow<'_>| row.course.challenged as f64 * quickest(row);
    found.saved = rows.iter().map(lost).sum::<f64>() * (1.0 - at_least / part);
    Some(found)
}

/// The rows that met it, by their share, the greatest first.
fn most(rows: &[SoundRow<'_>], met: fn(&SoundRow<'_>) -> u64, name: &'static str) -> Detection {
    let mut rows: Vec<SoundRow<'_>> = rows.iter().copied().filter(|row| met(row) > 0).collect();
    let part = |row: &SoundRow<'_>| met(row) as f64 / row.course.operations as f64;
    rows.sort_by(|one, other| part(other).total_cmp(&part(one)));
    let evidence = |row: &SoundRow<'_>| Evidence {
        row: row.name().to_owned(),
        figures: vec![
            count(name, met(row)),
            count("operations", row.course.operations),
        ],
    };
    Detection {
        evidence: rows.iter().map(evidence).collect(),
        tests: rows.iter().map(|row| row.name().to_owned()).collect(),
        run: rows.first().map_or(0, |row| row.run),
        ..Detection::default()
    }
}
