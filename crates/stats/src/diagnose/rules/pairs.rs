//! Comparison of two rows.

use super::{Detection, Detector, DiagnosisRule};
use crate::diagnose::case::{Case, Mean, NOTICEABLE};
use crate::diagnose::figure::{ratio, share, text, time};

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "put-against-get",
        // times the work; making a file and its entry takes 3 to 6 times the work of reading
        // one on servers that do no more than that.
        at_least: 10.0,
        figures: &["slow", "quick", "floor", "ratio", "size"],
        find: Detector::Once(put_against_get),
    },
    DiagnosisRule {
        name: "buffered-get",
        // of the time of 1 MiB beyond that of 1 KiB passes before the first byte, 5 ms at least:
        // nothing is sent while it is read.
        at_least: 0.5,
        figures: &["more", "first_large", "first_small", "share"],
        find: Detector::Once(buffered_get),
    },
    DiagnosisRule {
        name: "proppatch-against-propfind",
        // times the work; writing a property and reading it use the same store.
        at_least: 8.0,
        figures: &["slow", "quick", "floor", "ratio"],
        find: Detector::Once(proppatch_against_propfind),
    },
    DiagnosisRule {
        name: "cost-per-property",
        // of the work with one property, for each further one, and 100 µs at least: a request
        // with ten then has five times the work of one with one.
        at_least: 0.4,
        figures: &["row", "each", "one", "share"],
        find: Detector::Once(cost_per_property),
    },
];

/// Nanoseconds that a further property may cost: the time of a query of its own in a database.
const PER_PROPERTY: f64 = 100e3;

/// Both rows, and the time of the first at the threshold, where it is significantly and noticeably
/// slower.
pub(super) fn slower(
    case: &Case<'_>,
    (slow, quick): (&str, &str),
    at_least: f64,
) -> Option<(Mean, Mean, f64)> {
    let (slow, quick) = (case.response(slow)?, case.response(quick)?);
    let normal = case.normal_if_slower(&slow, &quick, at_least)?;
    Some((slow, quick, normal))
}

/// The figures of a comparison of two rows: the times of both, and the floor of both.
pub(super) fn beside(case: &Case<'_>, slow: &Mean, quick: &Mean) -> Detection {
    Detection {
        figures: vec![
            slow.figure("slow"),
            quick.figure("quick"),
            time("floor", case.floor.min(quick.low)),
            ratio("ratio", slow.mean / quick.mean),
        ],
        ..Detection::on(&[slow, quick])
    }
}

fn put_against_get(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let sizes = [
        ("Put1K", "Get1K", "1 KiB"),
        ("Put64K", "Get64K", "64 KiB"),
        ("Put1024K", "Get1024K", "1 MiB"),
    ];
    let mut all: Option<Detection> = None;
    for (put, get, size) in sizes {
        // The first byte of a GET comes before the others: it has been read when the last has come.
        let whole = |name| case.row(name)?.whole();
        let (Some(put), Some(get)) = (whole(put), whole(get)) else {
            continue;
        };
        let Some(normal) = case.normal_if_slower(&put, &get, at_least) else {
            continue;
        };
        let first = || {
            let mut found = beside(case, &put, &get);
            found.figures.push(text("size", size));
            found
        };
        let found = all.get_or_insert_with(first);
        found.add(&[&put, &get]);
        found.saved += put.beyond(normal);
    }
    all
}

/// Nanoseconds by which the first byte of a large resource may come later than that of a small one.
const READ: f64 = 5e6;

fn buffered_get(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let (small, large) = (case.row("Get1K")?, case.row("Get1024K")?);
    let (first_small, first_large) = (small.response()?, large.response()?);
    let more = first_large.mean - first_small.mean;
    let whole = large.whole()?.mean - small.whole()?.mean;
    let is_sure = first_large.low - first_small.high >= READ;
    if !is_sure || more < at_least * whole {
        return None;
    }
    Some(Detection {
        figures: vec![
            time("more", more),
            first_large.figure("first_large"),
            first_small.figure("first_small"),
            share("share", more / whole),
        ],
        // Nothing is saved: the last byte comes when it came before.
        ..Detection::on(&[&first_large, &first_small])
    })
}

fn proppatch_against_propfind(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let pair = ("ProppatchSingle", "PropfindDeadSingle");
    let (patch, find, normal) = slower(case, pair, at_least)?;
    Some(Detection {
        saved: patch.beyond(normal),
        ..beside(case, &patch, &find)
    })
}

fn cost_per_property(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let pairs = [
        ("ProppatchMult", "ProppatchSingle"),
        ("PropfindDeadMult", "PropfindDeadSingle"),
    ];
    let mut all: Option<Detection> = None;
    for (many, one) in pairs {
        let Some((further, many, one)) = further_properties(case, many, one) else {
            continue;
        };
        let least_each = (many.low - one.high) / further;
        let (work, at_most) = case.work(&one);
        let normal = one.mean + further * (at_least * work).max(PER_PROPERTY);
        let is_sure = least_each >= (at_least * at_most).max(PER_PROPERTY);
        if !is_sure || many.mean - normal < NOTICEABLE {
            continue;
        }
        let each = (many.mean - one.mean) / further;
        let found = all.get_or_insert_with(|| Detection {
            figures: vec![
                text("row", &many.row),
                time("each", each),
                one.figure("one"),
                share("share", each / one.mean),
            ],
            ..Detection::on(&[&many, &one])
        });
        found.add(&[&many, &one]);
        found.saved += many.beyond(normal);
    }
    all
}

/// Number of properties beyond the first, and both rows.
fn further_properties(case: &Case<'_>, many: &str, one: &str) -> Option<(f64, Mean, Mean)> {
    let row = case.row(many)?;
    let properties = row.plan().params.get("properties")?.as_f64()?;
    (properties >= 2.0).then_some(())?;
    Some((properties - 1.0, row.response()?, case.response(one)?))
}
