//! LOCK and UNLOCK, alone, on collections, beside many other locks, and wanted by many.

use super::pairs::slower;
use super::{Found, collections, times};
use crate::diagnose::case::{Case, Counts, Mean, NOTICEABLE, Row, families};
use crate::units::human;

pub(super) fn lock_against_unlock(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let pairs = [("Lock", "UnLock"), ("UnLock", "Lock")];
    let (slow, quick) = pairs
        .into_iter()
        .find_map(|pair| slower(case, pair, at_least))?;
    Some(Found {
        text: format!(
            "{} takes {}, {} {}: {} as long.",
            slow.row.to_uppercase(),
            human(slow.mean),
            quick.row.to_uppercase(),
            human(quick.mean),
            times(slow.mean / quick.mean)
        ),
        saved: slow.beyond(at_least * quick.mean),
        ..Found::on(&[&slow, &quick])
    })
}

pub(super) fn lock_of_collection(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let mut all: Option<Found> = None;
    for (whole, single) in [("LockCol", "Lock"), ("UnLockCol", "UnLock")] {
        let Some((members, whole, single)) = collections::both(case, whole, single) else {
            continue;
        };
        let is_noticeable = whole.mean - at_least * single.mean >= NOTICEABLE;
        if !whole.is_times(at_least, &single) || !is_noticeable {
            continue;
        }
        let said = format!(
            "{} of a collection with {members} members takes {}, {} that of a single resource ({}); \
             at most {} a member, if members are why.",
            single.row.to_uppercase(),
            human(whole.mean),
            times(whole.mean / single.mean),
            human(single.mean),
            human((whole.mean - single.mean) / members)
        );
        let found = all.get_or_insert_with(|| Found {
            run: whole.run,
            ..Found::default()
        });
        found.text = format!("{} {said}", found.text).trim().to_owned();
        found.add(&[&whole, &single]);
        found.saved += whole.beyond(at_least * single.mean);
    }
    all
}

/// A row beside as many locks as each user holds: all of them together, and what it takes.
fn beside_locks((each, row): &(u32, Row<'_>)) -> Option<(u64, Mean)> {
    let locks = u64::from(*each) * u64::from(row.plan().load.users);
    Some((locks, row.response()?))
}

pub(super) fn held(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let grown = |family: &str| {
        let rows = case.family(family);
        let (none, few) = beside_locks(rows.first()?)?;
        let (locks, most) = beside_locks(rows.last()?)?;
        let is_noticeable = most.mean - at_least * few.mean >= NOTICEABLE;
        let is_grown = none < locks && most.is_times(at_least, &few) && is_noticeable;
        is_grown.then_some(((none, few), (locks, most)))
    };
    let mut grown: Vec<_> = families(Counts::Locks).filter_map(grown).collect();
    grown.sort_by(|(_, (_, one)), (_, (_, other))| other.mean.total_cmp(&one.mean));
    let ((none, few), (locks, most)) = grown.first()?;
    let beside = match none {
        0 => String::new(),
        none => format!(" with {none}"),
    };
    let mut found = Found {
        text: format!(
            "With {locks} locks held on other resources, {} takes {} instead of {}{beside}: each \
             more costs every such request {}.",
            most.row
                .trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x')
                .replace("Held", "")
                .to_uppercase(),
            human(most.mean),
            human(few.mean),
            human((most.mean - few.mean) / (locks - none) as f64)
        ),
        run: most.run,
        ..Found::default()
    };
    for ((_, few), (_, most)) in &grown {
        found.add(&[most, few]);
        found.saved += most.beyond(at_least * few.mean);
    }
    Some(found)
}

pub(super) fn contended(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let users = case.row("ContendedLock")?.plan().load.users;
    (users > 1).then_some(())?;
    let (contended, alone) = slower(case, ("ContendedLock", "LockHeldx0"), at_least)?;
    Some(Found {
        text: format!(
            "Where {users} users want the same lock, LOCK takes {}; where each has a resource of \
             its own, {}: {} as long.",
            human(contended.mean),
            human(alone.mean),
            times(contended.mean / alone.mean)
        ),
        saved: contended.beyond(at_least * alone.mean),
        ..Found::on(&[&contended, &alone])
    })
}
