//! Two rows beside each other.

use super::{Found, percent, times};
use crate::diagnose::case::{Case, Mean, NOTICEABLE};
use crate::units::human;

/// Both rows, where the first takes so many times as long, and noticeably longer.
pub(super) fn slower(
    case: &Case<'_>,
    (slow, quick): (&str, &str),
    at_least: f64,
) -> Option<(Mean, Mean)> {
    let (slow, quick) = (case.response(slow)?, case.response(quick)?);
    let is_noticeable = slow.mean - at_least * quick.mean >= NOTICEABLE;
    (slow.is_times(at_least, &quick) && is_noticeable).then_some((slow, quick))
}

pub(super) fn put_against_get(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let sizes = [
        ("Put1K", "Get1K", "1 KiB"),
        ("Put64K", "Get64K", "64 KiB"),
        ("Put1024K", "Get1024K", "1 MiB"),
    ];
    let mut all: Option<Found> = None;
    for (put, get, size) in sizes {
        // The first byte of a GET comes before the others: it has been read when the last has come.
        let whole = |name| case.row(name)?.whole();
        let (Some(put), Some(get)) = (whole(put), whole(get)) else {
            continue;
        };
        let is_noticeable = put.mean - at_least * get.mean >= NOTICEABLE;
        if !put.is_times(at_least, &get) || !is_noticeable {
            continue;
        }
        let found = all.get_or_insert_with(|| Found {
            run: put.run,
            text: format!(
                "PUT of {size} takes {}, GET of it {}: {} as long.",
                human(put.mean),
                human(get.mean),
                times(put.mean / get.mean)
            ),
            ..Found::default()
        });
        found.add(&[&put, &get]);
        found.saved += put.beyond(at_least * get.mean);
    }
    all
}

pub(super) fn proppatch_against_propfind(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let pair = ("ProppatchSingle", "PropfindDeadSingle");
    let (patch, find) = slower(case, pair, at_least)?;
    Some(Found {
        text: format!(
            "Setting a property takes {}, reading it {}: {} as long.",
            human(patch.mean),
            human(find.mean),
            times(patch.mean / find.mean)
        ),
        saved: patch.beyond(at_least * find.mean),
        ..Found::on(&[&patch, &find])
    })
}

pub(super) fn cost_per_property(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let pairs = [
        ("ProppatchMult", "ProppatchSingle"),
        ("PropfindDeadMult", "PropfindDeadSingle"),
    ];
    let mut all: Option<Found> = None;
    for (many, one) in pairs {
        let Some((further, many, one)) = further_properties(case, many, one) else {
            continue;
        };
        let each = (many.low - one.high) / further;
        let normal = one.mean * (1.0 + at_least * further);
        if each < at_least * one.high || many.mean - normal < NOTICEABLE {
            continue;
        }
        let each = (many.mean - one.mean) / further;
        let said = format!(
            "In {}, each property beyond the first costs {}, {} of a whole request with one ({}).",
            many.row,
            human(each),
            percent(each / one.mean),
            human(one.mean)
        );
        let found = all.get_or_insert_with(|| Found {
            run: many.run,
            ..Found::default()
        });
        found.text = format!("{} {said}", found.text).trim().to_owned();
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
