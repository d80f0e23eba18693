//! COPY, MOVE and DELETE of a collection beside those of a single resource.
//!
//! In the suite `prestan` COPY and MOVE find a collection at their destination, and have to remove it
//! first: what a DELETE takes is theirs by right, and is taken off.

use super::{Found, percent, times};
use crate::diagnose::case::{Case, Mean, NOTICEABLE, PER_MEMBER};
use crate::units::human;

pub(super) fn copy(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let removal = case.response("DeleteCol")?;
    per_member(case, ("COPY", "CopyCol", "Copy"), Some(&removal), at_least)
}

pub(super) fn delete(case: &Case<'_>, at_least: f64) -> Option<Found> {
    per_member(case, ("DELETE", "DeleteCol", "Delete"), None, at_least)
}

pub(super) fn move_(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let (members, all, one) = both(case, "MoveCol", "Move")?;
    let removal = case.response("DeleteCol")?;
    let own = all.mean - removal.mean;
    let is_noticeable = own - at_least * one.mean >= NOTICEABLE;
    if all.low - removal.high < at_least * one.high || !is_noticeable {
        return None;
    }
    Some(Found {
        text: format!(
            "MOVE of a collection with {members} members takes {}, the removal of what it replaces \
             not counted, {} that of a single resource ({}); at most {} a member, if members are \
             why.",
            human(own),
            times(own / one.mean),
            human(one.mean),
            human((own - one.mean) / members)
        ),
        saved: all.beyond(removal.mean + at_least * one.mean),
        ..Found::on(&[&all, &removal, &one])
    })
}

fn per_member(
    case: &Case<'_>,
    (method, all, one): (&str, &str, &str),
    removal: Option<&Mean>,
    at_least: f64,
) -> Option<Found> {
    let (members, all, one) = both(case, all, one)?;
    let (removed, at_most) = removal.map_or((0.0, 0.0), |removal| (removal.mean, removal.high));
    let surely = (all.low - at_most - one.high) / members;
    let own = all.mean - removed;
    let normal = one.mean + members * (at_least * one.mean).max(PER_MEMBER);
    let is_noticeable = own - normal >= NOTICEABLE;
    if surely < (at_least * one.high).max(PER_MEMBER) || !is_noticeable {
        return None;
    }
    let each = (own - one.mean) / members;
    let aside = match removal {
        Some(_) => ", the removal of what it replaces not counted",
        None => "",
    };
    let mut means = vec![&all, &one];
    means.extend(removal);
    Some(Found {
        text: format!(
            "{method} of a collection with {members} members takes {}{aside}: {} for each of them, \
             {} of a {method} of a single resource ({}).",
            human(own),
            human(each),
            percent(each / one.mean),
            human(one.mean)
        ),
        saved: all.beyond(removed + normal),
        ..Found::on(&means)
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
