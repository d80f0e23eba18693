//! Servers with one defect each, by the rule that must find it.

use record::Run;

use super::lacking;
use super::simulated::{Odd, PlainRow, of};
use super::traced;

pub(super) struct RuleCase {
    pub(super) rule: &'static str,
    pub(super) users: u32,
    pub(super) change: fn(&mut Vec<PlainRow>),
    /// Changes of the record beside times.
    pub(super) tells: fn(&mut Run),
    /// Changes where eight users are at work, in a run of its own.
    pub(super) load: fn(&mut Vec<PlainRow>),
    /// Subject that the finding must have, and text that its evidence must contain.
    pub(super) about: &'static str,
    pub(super) says: &'static str,
}

const fn case(
    rule: &'static str,
    change: fn(&mut Vec<PlainRow>),
    about: &'static str,
    says: &'static str,
) -> RuleCase {
    RuleCase {
        rule,
        users: 1,
        change,
        tells: |_| (),
        load: |_| (),
        about,
        says,
    }
}

/// Makes all rows odd, or those whose names begin so.
pub(super) fn each(rows: &mut [PlainRow], prefix: &str, change: impl Fn(&mut PlainRow)) {
    let found = rows.iter_mut().filter(|row| row.name.starts_with(prefix));
    found.for_each(change);
}

/// The number of members in a name.
pub(super) fn size(row: &PlainRow) -> f64 {
    row.name.rsplit_once('x').unwrap().1.parse().unwrap()
}

pub(super) const CASES: &[RuleCase] = &[
    case(
        "put-against-get",
        |rows| of(rows, "Put1K").us = 8_000.0,
        "Put1K",
        "Get1K",
    ),
    case(
        "buffered-get",
        |rows| of(rows, "Get1024K").us = 30_000.0,
        "Get1024K",
        "\"Get1K\"",
    ),
    case(
        "proppatch-against-propfind",
        |rows| {
            of(rows, "ProppatchSingle").us = 6_000.0;
            of(rows, "ProppatchMult").us = 6_100.0;
        },
        "ProppatchSingle",
        "PropfindDeadSingle",
    ),
    case(
        "cost-per-property",
        |rows| of(rows, "PropfindDeadMult").us = 1_800.0,
        "PropfindDeadMult",
        "PropfindDeadSingle",
    ),
    case(
        "copy-of-collection",
        |rows| of(rows, "CopyCol").us = 90_000.0,
        "CopyCol",
        "DeleteCol",
    ),
    case(
        "move-of-collection",
        |rows| of(rows, "MoveCol").us = 9_000.0,
        "MoveCol",
        "DeleteCol",
    ),
    case(
        "delete-of-collection",
        |rows| of(rows, "DeleteCol").us = 90_000.0,
        "DeleteCol",
        "\"Delete\"",
    ),
    case(
        "lock-against-unlock",
        |rows| of(rows, "UnLock").us = 2_000.0,
        "UnLock",
        "\"Lock\"",
    ),
    case(
        "lock-of-collection",
        |rows| of(rows, "LockCol").us = 2_000.0,
        "LockCol",
        "\"Lock\"",
    ),
    case(
        "locks-held",
        |rows| each(rows, "LockHeld", |row| row.us += 0.3 * size(row)),
        "LockHeldx10000",
        "LockHeldx0",
    ),
    RuleCase {
        users: 4,
        ..case(
            "contended-lock",
            |rows| of(rows, "ContendedLock").us = 4_000.0,
            "ContendedLock",
            "LockHeldx0",
        )
    },
    case(
        "cost-per-member",
        |rows| {
            for kind in ["Depth1", "Allprop", "Propname", "Collections"] {
                each(rows, kind, |row| row.transfer_us = 160.0 * size(row));
            }
        },
        "Depth1x10000",
        "each",
    ),
    case(
        "bytes-per-member",
        |rows| each(rows, "Depth1", |row| row.bytes = 2_400 * size(row) as u64),
        "Depth1x10000",
        "bytes",
    ),
    case(
        "listing-outgrows-members",
        |rows| of(rows, "Collectionsx10000").transfer_us *= 2.5,
        "Collectionsx10000",
        "\"Collectionsx1000\"",
    ),
    case(
        "depth-zero-counts-members",
        |rows| each(rows, "Depth0", |row| row.us += 0.2 * size(row)),
        "Depth0x10000",
        "\"Depth0x10\"",
    ),
    case(
        "allprop-against-named",
        |rows| {
            each(rows, "Depth0", |row| row.us = 500.0);
            each(rows, "Allprop", |row| row.transfer_us = 90.0 * size(row));
        },
        "Allpropx10000",
        "\"Depth1\"",
    ),
    case(
        "collections-against-files",
        |rows| {
            each(rows, "Depth0", |row| row.us = 500.0);
            each(rows, "Collections", |row| {
                row.transfer_us = 90.0 * size(row)
            });
        },
        "Collectionsx10000",
        "\"Depth1\"",
    ),
    case(
        "buffered-listing",
        |rows| {
            each(rows, "Depth1", |row| {
                (row.us, row.transfer_us) = (2e6, 100.0)
            });
        },
        "Depth1x10000",
        "whole",
    ),
    case(
        "grows-over-the-run",
        |rows| of(rows, "CopyCol").odd = Odd::Grows(0.6),
        "CopyCol",
        "growth",
    ),
    case(
        "delayed-ack",
        |rows| of(rows, "Get1K").odd = Odd::Pauses(0.4, 40_500.0),
        "Get1K",
        "Transfer",
    ),
    case(
        "two-modes",
        |rows| of(rows, "Get64K").odd = Odd::Slow(0.2, 8_000.0),
        "Get64K",
        "slow_share",
    ),
    case(
        "long-tail",
        |rows| of(rows, "Get64K").odd = Odd::Few(30_000.0),
        "Get64K",
        "p99",
    ),
    case(
        "slow-at-intervals",
        |rows| of(rows, "MkCol").odd = Odd::Every(10, 12_000.0),
        "MkCol",
        "regular_distances",
    ),
    case(
        "cold-start",
        |rows| each(rows, "", |row| row.first = 60.0),
        "Put1K",
        "first",
    ),
    RuleCase {
        load: |rows| of(rows, "Lock").odd = Odd::Fails(10),
        ..case("fails-under-load", |_| (), "Lock", "answer")
    },
    RuleCase {
        load: |rows| each(rows, "P", |row| row.us *= 9.0),
        ..case("does-not-scale", |_| (), "Put1K", "rate_alone")
    },
    case(
        "connection-close",
        |rows| of(rows, "Put1K").odd = Odd::Opens(1),
        "Put1K",
        "opened",
    ),
    case(
        "keep-alive-limit",
        |rows| {
            each(rows, "", |row| {
                row.odd = if row.n == 100 {
                    Odd::Opens(25)
                } else {
                    Odd::Plain
                }
            })
        },
        "Put1K",
        "opened",
    ),
    case(
        "asked-twice",
        |rows| each(rows, "", |row| row.odd = Odd::Challenged(1)),
        "Put1K",
        "challenged",
    ),
    RuleCase {
        tells: |run| lacking::closes(run, "Delete", 204),
        ..case("closes-silently", |_| (), "Delete", "status 204")
    },
    RuleCase {
        tells: |run| lacking::handshakes(run, false),
        ..case("tls-not-resumed", |_| (), "Put1K", "full")
    },
    RuleCase {
        tells: |run| lacking::has_no(run, "GetUnchanged", lacking::no_etag()),
        ..case("no-etag", |_| (), "GetUnchanged", "answer")
    },
    RuleCase {
        tells: |run| lacking::has_no(run, "GetUnchanged", lacking::status(200, None)),
        ..case("etag-ignored", |_| (), "GetUnchanged", "answer")
    },
    case(
        "uncompressed-listing",
        |rows| of(rows, "ListGzip").bytes = 500_000,
        "ListGzip",
        "ListPlain",
    ),
    case(
        "infinity-unbounded",
        |rows| each(rows, "Infinity", |row| row.transfer_us = 85.0 * size(row)),
        "Infinityx10000",
        "until_last_byte",
    ),
    RuleCase {
        tells: |run| lacking::cut_short(run, "Infinityx10"),
        ..case("infinity-cut-short", |_| (), "Infinityx10", "answer")
    },
    RuleCase {
        tells: |run| lacking::has_no(run, "Infinityx100", lacking::status(403, None)),
        ..case(
            "infinity-declined-otherwise",
            |_| (),
            "Infinityx100",
            "answer",
        )
    },
    RuleCase {
        tells: traced::flushes,
        ..case("waits-for-disk", |_| (), "Put1K", "\"share\"")
    },
    RuleCase {
        tells: traced::locks,
        ..case("waits-for-locks", |_| (), "Put1K", "\"share\"")
    },
    RuleCase {
        tells: traced::queries,
        ..case("waits-for-others", |_| (), "PropfindDeadSingle", "5432")
    },
    RuleCase {
        tells: traced::stats_of_members,
        ..case("calls-per-member", |_| (), "Depth1x10000", "1 open, 3 stat")
    },
    RuleCase {
        tells: traced::rewrites,
        ..case("whole-file", |_| (), "Lock", "locks.xml")
    },
    RuleCase {
        tells: traced::copies,
        ..case("moves-by-copying", |_| (), "MoveCol", "\"21\"")
    },
    RuleCase {
        tells: traced::opens,
        ..case("opens-again", |_| (), "Put1K", "DAVLock")
    },
];
