//! COPY, MOVE and DELETE of a collection beside those of a single resource.
//!
//! In the suite `prestan` COPY and MOVE find a collection at their destination, and have to remove
//! it first: the time of a DELETE is subtracted, and the floor with it, which both contain.

use super::{Detection, Detector, DiagnosisRule};
use crate::diagnose::case::{Case, LEAST_WORK, Mean, NOTICEABLE};
use crate::diagnose::figure::{count, ratio, share, text, time};

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "copy-of-collection",
        // of the work of a single COPY, for each member, and 500 µs at least: nothing is saved
        // by one request, and a file system copies a file in less.
        at_least: 0.8,
        figures: &[
            "method", "members", "all", "each", "one", "share", "removal",
        ],
        find: Detector::Once(copy),
    },
    DiagnosisRule {
        name: "move-of-collection",
        // times the work of the MOVE of a single resource: the same where moving is renaming.
        at_least: 5.0,
        figures: &["members", "own", "one", "ratio", "each"],
        find: Detector::Once(move_),
    },
    DiagnosisRule {
        name: "delete-of-collection",
        // of the work of a single DELETE, for each member, and 500 µs at least: a file system
        // unlinks a file in less.
        at_least: 0.5,
        figures: &["method", "members", "all", "each", "one", "share"],
        find: Detector::Once(delete),
    },
];

/// Nanoseconds that a member may cost, whatever a single request takes: a file is copied or
/// unlinked, and on a busy machine that takes 0.3 ms.
const MEMBER: f64 = 500e3;

fn copy(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let removal = case.response("DeleteCol")?;
    let rows = ("COPY", "CopyCol", "Copy");
    per_member(case, rows, Some(&removal), at_least)
}

fn delete(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let rows = ("DELETE", "DeleteCol", "Delete");
    per_member(case, rows, None, at_least)
}

fn move_(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let (members, all, one) = both(case, "MoveCol", "Move")?;
    let removal = case.response("DeleteCol")?;
    let alone = all.mean - removal.mean;
    let (work, at_most) = case.work(&one);
    let is_noticeable = alone - at_least * work >= NOTICEABLE;
    if all.low - removal.high < at_least * at_most || !is_noticeable {
        return None;
    }
    Some(Detection {
        figures: vec![
            count("members", members as u64),
            time("own", alone),
            one.figure("one"),
            ratio("ratio", alone / work),
            time("each", alone / members),
        ],
        saved: all.beyond(removal.mean + at_least * work),
        ..Detection::on(&[&all, &removal, &one])
    })
}

fn per_member(
    case: &Case<'_>,
    (method, all, one): (&str, &str, &str),
    removal: Option<&Mean>,
    at_least: f64,
) -> Option<Detection> {
    let (members, all, one) = both(case, all, one)?;
    // The floor of the request is in the removal as well; else in the time of a single one.
    let (base, at_most) = match removal {
        Some(removal) => (removal.mean, removal.high),
        None => (one.mean, one.high),
    };
    let (work, work_at_most) = case.work(&one);
    let least_each = (all.low - at_most) / members;
    let normal = base + members * (at_least * work).max(MEMBER);
    let is_noticeable = all.mean - normal >= NOTICEABLE;
    if least_each < (at_least * work_at_most).max(MEMBER) || !is_noticeable {
        return None;
    }
    let each = (all.mean - base) / members;
    let mut means = vec![&all, &one];
    means.extend(removal);
    let mut figures = vec![
        text("method", method),
        count("members", members as u64),
        all.figure("all"),
        time("each", each),
        one.figure("one"),
        share("share", each / work.max(LEAST_WORK)),
    ];
    figures.extend(removal.map(|removal| removal.figure("removal")));
    Some(Detection {
        figures,
        saved: all.beyond(normal),
        ..Detection::on(&means)
    })
}

/// Members of the collections of the suite `prestan`, and both rows.
pub(super) fn both(case: &Case<'_>, all: &str, one: &str) -> Option<(f64, Mean, Mean)> {
    let row = case.row(all)?;
    let number = |name: &str| row.plan().params.get(name)?.as_f64();
    // The topmost of the levels is the collection itself.
    let members = number("depth")? - 1.0 + number("width")?;
    (members >= 1.0).then_some(())?;
    Some((members, row.response()?, case.response(one)?))
}
