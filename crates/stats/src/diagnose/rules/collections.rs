//! COPY, MOVE and DELETE of a collection beside those of a single resource.

use super::{Found, percent, times};
use crate::diagnose::case::{Case, Mean, NOTICEABLE};
use crate::units::human;

pub(super) fn copy(case: &Case<'_>, at_least: f64) -> Option<Found> {
    per_member(case, ("COPY", "CopyCol", "Copy"), at_least)
}

pub(super) fn delete(case: &Case<'_>, at_least: f64) -> Option<Found> {
    per_member(case, ("DELETE", "DeleteCol", "Delete"), at_least)
}

pub(super) fn move_(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let (members, all, one) = both(case, "MoveCol", "Move")?;
    let is_noticeable = all.mean - at_least * one.mean >= NOTICEABLE;
    if !all.is_times(at_least, &one) || !is_noticeable {
        return None;
    }
    Some(Found {
        text: format!(
            "MOVE of a collection with {members} members takes {}, of a single resource {}: {} as \
             long, {} for each member.",
            human(all.mean),
            human(one.mean),
            times(all.mean / one.mean),
            human((all.mean - one.mean) / members)
        ),
        saved: all.beyond(one.mean),
        ..Found::on(&[&all, &one])
    })
}

fn per_member(
    case: &Case<'_>,
    (method, all, one): (&str, &str, &str),
    at_least: f64,
) -> Option<Found> {
    let (members, all, one) = both(case, all, one)?;
    let surely = (all.low - one.high) / members;
    if surely < at_least * one.high || all.mean - one.mean < NOTICEABLE {
        return None;
    }
    let each = (all.mean - one.mean) / members;
    Some(Found {
        text: format!(
            "{method} of a collection with {members} members takes {}: {} for each of them, {} of \
             a {method} of a single resource ({}).",
            human(all.mean),
            human(each),
            percent(each / one.mean),
            human(one.mean)
        ),
        saved: all.beyond(one.mean * (1.0 + at_least * members)),
        ..Found::on(&[&all, &one])
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
