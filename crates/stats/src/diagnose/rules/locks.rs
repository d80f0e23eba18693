//! LOCK and UNLOCK, alone, on collections, beside many other locks, and contended.

use super::pairs::{beside, slower};
use super::{Detection, Detector, DiagnosisRule, collections};
use crate::diagnose::case::{Case, Mean, SizeUnit, SoundRow, families};
use crate::diagnose::figure::{count, ratio, text, time};

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "lock-against-unlock",
        // times the work, whichever is the longer: both change one entry of one store.
        at_least: 3.0,
        figures: &[
            "slow",
            "quick",
            "floor",
            "ratio",
            "slow_method",
            "quick_method",
        ],
        find: Detector::Once(lock_against_unlock),
    },
    DiagnosisRule {
        name: "lock-of-collection",
        // times the work of the LOCK of a single resource; a lock with Depth: infinity is one
        // entry, and looking for conflicting locks below it needs one search by path.
        at_least: 2.5,
        figures: &["method", "members", "whole", "single", "ratio", "each"],
        find: Detector::Once(lock_of_collection),
    },
    DiagnosisRule {
        name: "locks-held",
        // times the work with the most locks held as with the fewest.
        at_least: 2.0,
        figures: &[
            "request",
            "locks",
            "with_most",
            "fewest",
            "with_fewest",
            "each",
        ],
        find: Detector::EachTime(held),
    },
    DiagnosisRule {
        name: "contended-lock",
        // times the work of the LOCK of a resource of one's own, with as many users at work.
        at_least: 3.0,
        figures: &["slow", "quick", "floor", "ratio", "users"],
        find: Detector::Once(contended),
    },
];

fn lock_against_unlock(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let pairs = [("Lock", "UnLock"), ("UnLock", "Lock")];
    let (slow, quick, normal) = pairs
        .into_iter()
        .find_map(|pair| slower(case, pair, at_least))?;
    let mut found = beside(case, &slow, &quick);
    found.figures.extend([
        text("slow_method", slow.row.to_uppercase()),
        text("quick_method", quick.row.to_uppercase()),
    ]);
    found.saved = slow.beyond(normal);
    Some(found)
}

fn lock_of_collection(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let mut all: Option<Detection> = None;
    for (whole, single) in [("LockCol", "Lock"), ("UnLockCol", "UnLock")] {
        let Some((members, whole, single)) = collections::both(case, whole, single) else {
            continue;
        };
        let Some(normal) = case.normal_if_slower(&whole, &single, at_least) else {
            continue;
        };
        let found = all.get_or_insert_with(|| Detection {
            figures: vec![
                text("method", single.row.to_uppercase()),
                count("members", members as u64),
                whole.figure("whole"),
                single.figure("single"),
                ratio("ratio", whole.mean / single.mean),
                time("each", (whole.mean - single.mean) / members),
            ],
            ..Detection::on(&[&whole, &single])
        });
        found.add(&[&whole, &single]);
        found.saved += whole.beyond(normal);
    }
    all
}

/// A row beside as many locks as each user holds: the number of all together, and its time.
fn beside_locks((each, row): &(u32, SoundRow<'_>)) -> Option<(u64, Mean)> {
    let locks = u64::from(*each) * u64::from(row.plan().load.users);
    Some((locks, row.response()?))
}

/// A row beside few locks and beside many, and its time at the threshold.
struct LocksHeld {
    fewest: (u64, Mean),
    most: (u64, Mean),
    normal: f64,
}

fn held(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let grown = |family| {
        let rows = case.family(family);
        let (fewest, most) = (beside_locks(rows.first()?)?, beside_locks(rows.last()?)?);
        let normal = case.normal_if_slower(&most.1, &fewest.1, at_least)?;
        (fewest.0 < most.0).then_some(LocksHeld {
            fewest,
            most,
            normal,
        })
    };
    let mut grown: Vec<LocksHeld> = families(SizeUnit::Locks).filter_map(grown).collect();
    grown.sort_by(|one, other| other.most.1.mean.total_cmp(&one.most.1.mean));
    let worst = grown.first()?;
    let ((fewest, few), (most, many)) = (&worst.fewest, &worst.most);
    let request = many
        .row
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x')
        .replace("Held", "")
        .to_uppercase();
    let mut found = Detection {
        figures: vec![
            text("request", request),
            count("locks", *most),
            many.figure("with_most"),
            count("fewest", *fewest),
            few.figure("with_fewest"),
            time("each", (many.mean - few.mean) / (most - fewest) as f64),
        ],
        run: many.run,
        ..Detection::default()
    };
    for held in &grown {
        found.add(&[&held.most.1, &held.fewest.1]);
        found.saved += held.most.1.beyond(held.normal);
    }
    Some(found)
}

fn contended(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let contended = case.busiest("ContendedLock")?;
    let alone = case.busiest("LockHeldx0")?;
    let users = contended.plan().load.users;
    (users > 1 && alone.plan().load.users == users).then_some(())?;
    let (contended, alone) = (contended.response()?, alone.response()?);
    let normal = case.normal_if_slower(&contended, &alone, at_least)?;
    let mut found = beside(case, &contended, &alone);
    found.figures.push(count("users", u64::from(users)));
    found.saved = contended.beyond(normal);
    Some(found)
}
