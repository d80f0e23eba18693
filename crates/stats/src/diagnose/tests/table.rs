//! Every rule: a server of which it must say something, and nothing else is said of it.

use record::{EventKind, Generator, TestId};

use super::simulated::{Noise, Odd, Row, material, of, plain, run};
use crate::diagnose::case::{Case as Seen, Row as Believed};
use crate::diagnose::{Finding, LeftOut, MANY, RULES, Rule, diagnose};
use crate::testing::generator;

pub(super) const NOISE: Noise = Noise::LogNormal(0.15);

/// A server that is odd in one way.
struct Case {
    rule: &'static str,
    users: u32,
    change: fn(&mut Vec<Row>),
    /// What the finding must be about, and its evidence must have.
    about: &'static str,
    says: &'static str,
}

const fn case(
    rule: &'static str,
    change: fn(&mut Vec<Row>),
    about: &'static str,
    says: &'static str,
) -> Case {
    Case {
        rule,
        users: 1,
        change,
        about,
        says,
    }
}

/// Makes all rows odd, or those whose names begin so.
pub(super) fn each(rows: &mut [Row], prefix: &str, change: impl Fn(&mut Row)) {
    let found = rows.iter_mut().filter(|row| row.name.starts_with(prefix));
    found.for_each(change);
}

/// The number of members in a name.
pub(super) fn size(row: &Row) -> f64 {
    row.name.rsplit_once('x').unwrap().1.parse().unwrap()
}

const CASES: &[Case] = &[
    case(
        "put-against-get",
        |rows| of(rows, "Put1K").us = 8_000.0,
        "Put1K",
        "Get1K",
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
        "n 100",
    ),
    case(
        "copy-of-collection",
        |rows| of(rows, "CopyCol").us = 40_000.0,
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
        |rows| of(rows, "DeleteCol").us = 14_000.0,
        "DeleteCol",
        "Delete 4",
    ),
    case(
        "lock-against-unlock",
        |rows| of(rows, "UnLock").us = 2_000.0,
        "UnLock",
        "Lock 3",
    ),
    case(
        "lock-of-collection",
        |rows| of(rows, "LockCol").us = 2_000.0,
        "LockCol",
        "Lock 3",
    ),
    case(
        "locks-held",
        |rows| each(rows, "LockHeld", |row| row.us += 0.3 * size(row)),
        "LockHeldx10000",
        "LockHeldx0",
    ),
    Case {
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
                each(rows, kind, |row| row.transfer_us = 80.0 * size(row));
            }
        },
        "Depth1x10000",
        "for each member",
    ),
    case(
        "listing-outgrows-members",
        |rows| of(rows, "Collectionsx10000").transfer_us *= 2.5,
        "Collectionsx10000",
        "Collectionsx1000 ",
    ),
    case(
        "depth-zero-counts-members",
        |rows| each(rows, "Depth0", |row| row.us += 0.2 * size(row)),
        "Depth0x10000",
        "Depth0x10 ",
    ),
    case(
        "allprop-against-named",
        |rows| {
            each(rows, "Depth0", |row| row.us = 500.0);
            each(rows, "Allprop", |row| row.transfer_us = 90.0 * size(row));
        },
        "Allpropx10000",
        "Depth1: ",
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
        "Depth1: ",
    ),
    case(
        "buffered-listing",
        |rows| {
            let row = of(rows, "Depth1x10000");
            (row.us, row.transfer_us) = (row.transfer_us, 100.0);
        },
        "Depth1x10000",
        "the whole answer",
    ),
    case(
        "grows-over-the-run",
        |rows| of(rows, "CopyCol").odd = Odd::Grows(0.6),
        "CopyCol",
        "grows by",
    ),
    case(
        "delayed-ack",
        |rows| of(rows, "Get1K").odd = Odd::Pauses(0.4, 40_500.0),
        "Get1K",
        "from the first byte to the last",
    ),
    case(
        "two-modes",
        |rows| of(rows, "Get64K").odd = Odd::Slow(0.2, 8_000.0),
        "Get64K",
        "take",
    ),
    case(
        "slow-at-intervals",
        |rows| of(rows, "MkCol").odd = Odd::Every(10, 12_000.0),
        "MkCol",
        "of 9 distances",
    ),
    case(
        "cold-start",
        |rows| each(rows, "", |row| row.first = 60.0),
        "Put1K",
        "the first",
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
        "distances between new connections are 25 requests",
    ),
    case(
        "asked-twice",
        |rows| each(rows, "", |row| row.odd = Odd::Challenged(1)),
        "Put1K",
        "answered 401 first",
    ),
];

pub(super) fn findings(rows: &[Row], users: u32, seed: u64) -> Vec<Finding> {
    diagnose(&[material(&run(rows, NOISE, users, seed))]).findings
}

#[test]
fn each_rule_finds_what_it_is_for_and_no_other_rule_does() {
    for Case {
        rule,
        users,
        change,
        about,
        says,
    } in CASES
    {
        let mut rows = plain();
        change(&mut rows);
        let found = findings(&rows, *users, 1);
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, [*rule], "{found:#?}");
        let finding = &found[0];
        assert!(
            finding.tests.iter().any(|test| test == about),
            "{finding:#?}"
        );
        let evidence = finding.evidence.join("\n");
        assert!(evidence.contains(says), "no `{says}`: {finding:#?}");
        assert!(
            !finding.text.is_empty() && finding.text.ends_with('.'),
            "{finding:#?}"
        );
        assert!((0.0..=1.0).contains(&finding.weight), "{finding:#?}");
        assert!(
            finding.weight > 0.0 || *rule == "buffered-listing",
            "{finding:#?}"
        );
    }
}

#[test]
fn every_rule_has_a_case_and_a_line_in_the_documents() {
    let cases: Vec<&str> = CASES.iter().map(|case| case.rule).collect();
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    for rule in &rules {
        assert!(cases.contains(rule), "no case of {rule}");
        let document = include_str!("../../../../../docs/METHODOLOGY.md");
        let line = document
            .lines()
            .find(|line| line.starts_with(&format!("| {rule} |")));
        let line = line.unwrap_or_else(|| panic!("{rule} is not in METHODOLOGY.md"));
        let threshold = RULES.iter().find(|own| own.name == *rule).unwrap().at_least;
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells[3].parse(), Ok(threshold), "{line}");
    }
    assert_eq!(cases.len(), rules.len());
}

/// What a rule saves, and at most where it is just what is sure and noticeable; in nanoseconds.
fn saves(rule: &Rule, case: &Seen<'_>) -> Option<(f64, f64)> {
    /// Rules of which a finding need not be noticeable beyond the threshold, nor surely beyond it.
    const EXACT: [&str; 7] = [
        "grows-over-the-run",
        "delayed-ack",
        "two-modes",
        "slow-at-intervals",
        "cold-start",
        "keep-alive-limit",
        "asked-twice",
    ];
    let found = rule.look(case)?;
    let is_its = |row: &Believed<'_>| found.tests.iter().any(|name| name == row.name());
    let whole = case.rows().filter(is_its).filter_map(|row| row.whole());
    let most = whole.map(|mean| match (EXACT.contains(&rule.name), rule.name) {
        (true, _) => 1e-6 * mean.mean * mean.n as f64,
        (false, "depth-zero-counts-members") => (1e6 + 0.1 * mean.mean) * mean.n as f64,
        (false, _) => (1e5 + 0.1 * mean.mean) * mean.n as f64,
    });
    Some((found.weight * case.spent, most.sum()))
}

#[test]
fn what_is_at_its_threshold_weighs_nothing() {
    for Case {
        rule,
        users,
        change,
        ..
    } in CASES
    {
        let mut rows = plain();
        change(&mut rows);
        // A trend without any noise is one of neighbours that are alike.
        let noise = match *rule {
            "grows-over-the-run" => NOISE,
            _ => Noise::None,
        };
        let material = [material(&run(&rows, noise, *users, 1))];
        let case = Seen::of(&material);
        let rule = RULES.iter().find(|own| own.name == *rule).unwrap();
        assert!(saves(rule, &case).is_some(), "{}", rule.name);
        // As high as the threshold may be.
        let (mut found, mut missed) = (rule.at_least, rule.at_least * 1e4);
        for _ in 0..60 {
            let middle = (found * missed).sqrt();
            match saves(&rule.from(middle), &case) {
                Some(_) => found = middle,
                None => missed = middle,
            }
        }
        let (saved, most) = saves(&rule.from(found), &case).unwrap();
        assert!(
            saved <= most,
            "{} at {found}: {saved}, and not {most}",
            rule.name
        );
    }
}

#[test]
fn rows_with_few_operations_are_told() {
    let said = diagnose(&[material(&run(&plain(), NOISE, 1, 2))]);
    let few = plain().iter().filter(|row| row.n < MANY).count();
    assert_eq!(said.few, few);
    assert_eq!(diagnose(&[]).few, 0);
}

#[test]
fn of_a_plain_server_nothing_is_said() {
    for users in [1, 4] {
        for noise in [NOISE, Noise::None] {
            let said = diagnose(&[material(&run(&plain(), noise, users, 2))]);
            assert_eq!(said.findings, []);
            assert_eq!(said.left_out, []);
        }
    }
}

#[test]
fn findings_come_the_dearest_first() {
    let mut rows = plain();
    of(&mut rows, "Put1K").us = 8_000.0;
    each(&mut rows, "LockHeld", |row| row.us += 20.0 * size(row));
    of(&mut rows, "UnLock").us = 2_000.0;
    let found = findings(&rows, 1, 3);
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(
        rules,
        ["locks-held", "put-against-get", "lock-against-unlock"]
    );
    assert!(found.is_sorted_by(|one, next| one.weight >= next.weight));
}

#[test]
fn what_failed_or_is_too_little_gives_no_finding() {
    let odd = |row: &mut Row| {
        row.us = 8_000.0;
        row.odd = Odd::Fails(50);
    };
    let mut failed = plain();
    odd(of(&mut failed, "Put1K"));
    assert_eq!(findings(&failed, 1, 4), []);
    let said = diagnose(&[material(&run(&failed, NOISE, 1, 4))]);
    let [LeftOut::Row { run: 0, row, why }] = &said.left_out[..] else {
        panic!("{:?}", said.left_out);
    };
    assert!(row == "Put1K" && why.contains("2 of 100 failed"), "{why}");

    for n in [0, 1, 2] {
        let mut few = plain();
        for row in &mut few {
            (row.us, row.n) = (row.us * size_of_name(&row.name), n);
        }
        assert_eq!(findings(&few, 1, 5), [], "{n} operations");
    }
    let mut nothing = plain();
    for row in &mut nothing {
        (row.us, row.transfer_us) = (0.0, 0.0);
    }
    assert_eq!(findings(&nothing, 1, 6), []);
    assert_eq!(findings(&[], 1, 7), []);
    assert_eq!(diagnose(&[]).findings, []);
}

/// Anything that differs from row to row.
fn size_of_name(name: &str) -> f64 {
    1.0 + name.len().pow(3) as f64
}

#[test]
fn of_an_inconclusive_run_nothing_is_believed() {
    let mut rows = plain();
    of(&mut rows, "Put1K").us = 8_000.0;
    let mut busy = run(&rows, NOISE, 1, 8);
    let event = busy.events[0].clone();
    let wall = 10_000_000_000;
    busy.events.push(record::Event {
        kind: EventKind::Generator(Generator {
            stalled: wall / 2,
            wall,
            ..generator(TestId(0))
        }),
        ..event
    });
    let said = diagnose(&[material(&busy)]);
    assert_eq!(said.findings, []);
    assert!(
        matches!(&said.left_out[..], [LeftOut::Inconclusive { run: 0, why }] if !why.is_empty()),
        "{:?}",
        said.left_out
    );
}

#[test]
fn rows_of_several_runs_are_looked_at_together() {
    let mut rows = plain();
    of(&mut rows, "ContendedLock").us = 4_000.0;
    let split = rows.len() - 1;
    let first = material(&run(&rows[..split], NOISE, 4, 9));
    let second = material(&run(&rows[split..], NOISE, 4, 9));
    let found = diagnose(&[first, second]).findings;
    let found: Vec<(&str, usize)> = found.iter().map(|found| (found.rule, found.run)).collect();
    assert_eq!(found, [("contended-lock", 1)]);
}
