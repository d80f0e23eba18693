//! Servers that look defective, with a known explanation: findings to have, and not to have.

use super::cases::{each, size};
use super::simulated::{Noise, Odd, PlainRow, material, of, plain, row, run};
use super::table::{NOISE, findings};
use crate::diagnose::{Quantity, diagnose};
use crate::testing::RunBuilder;

#[test]
fn what_a_limit_of_requests_does_not_explain_is_not_called_one() {
    // A server that ends the connection with each PUT, and others now and then.
    let mut rows = plain();
    each(&mut rows, "", |row| {
        row.odd = if row.n == 100 {
            Odd::Opens(25)
        } else {
            Odd::Plain
        };
    });
    of(&mut rows, "Put1K").odd = Odd::Opens(1);
    let found = findings(&rows, 1, 3);
    let finding = |rule: &str| {
        let found = found.iter().find(|finding| finding.rule == rule);
        found.unwrap_or_else(|| panic!("no {rule}: {found:#?}"))
    };
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(finding("connection-close").tests, ["Put1K"]);
    let limit = finding("keep-alive-limit");
    assert!(!limit.tests.contains(&"Put1K".to_owned()), "{limit:#?}");
    let has_limit = limit.figures.iter().any(|figure| figure.name == "limit");
    assert!(!has_limit, "{limit:#?}");
}

#[test]
fn a_limit_of_a_hundred_requests_is_none_to_speak_of() {
    let mut rows = plain();
    each(&mut rows, "", |row| row.odd = Odd::Opens(100));
    assert_eq!(findings(&rows, 1, 3), []);
}

#[test]
fn connections_that_cost_next_to_nothing_are_no_finding() {
    let mut rows = plain();
    of(&mut rows, "Put1K").odd = Odd::Opens(1);
    let mut run = run(&rows, NOISE, 1, 3);
    let material_of = |run: &record::Run| diagnose(&[material(run)]).findings.len();
    assert_eq!(material_of(&run), 1);
    for connect in run
        .samples
        .iter_mut()
        .filter_map(|one| one.connect.as_mut())
    {
        connect.tcp = 60_000;
    }
    assert_eq!(material_of(&run), 0);
}

/// True if a delayed acknowledgement is found in a server with this change.
fn is_delayed(noise: Noise, change: impl Fn(&mut Vec<PlainRow>)) -> bool {
    let mut rows = plain();
    change(&mut rows);
    let found = diagnose(&[material(&run(&rows, noise, 1, 3))]).findings;
    found.iter().any(|finding| finding.rule == "delayed-ack")
}

#[test]
fn a_delayed_acknowledgement_has_quick_answers_forty_milliseconds_below() {
    let quiet = Noise::LogNormal(0.02);
    assert!(is_delayed(quiet, |rows| {
        of(rows, "Get1K").odd = Odd::Slow(0.3, 40_500.0);
    }));
    // Behind work of 20 ms as well, and there it is 61 ms that are slow.
    assert!(is_delayed(quiet, |rows| {
        of(rows, "Get1K").us = 20_000.0;
        of(rows, "Get1K").odd = Odd::Slow(0.3, 40_500.0);
    }));
    assert!(!is_delayed(quiet, |rows| {
        of(rows, "Get1K").us = 20_000.0;
        of(rows, "Get1K").odd = Odd::Slow(0.3, 21_500.0);
    }));
}

#[test]
fn work_that_takes_forty_milliseconds_is_none() {
    // Listings of a script take 28 to 42 ms, with TCP_QUICKACK as well.
    for work in [28_000.0, 33_000.0, 38_000.0, 41_000.0, 42_000.0] {
        for noise in [0.01, 0.05, 0.1, 0.3] {
            let all = |rows: &mut Vec<PlainRow>| {
                for name in [
                    "Get1K",
                    "Move",
                    "Lock",
                    "Collectionsx1000",
                    "PropfindLiveMult",
                ] {
                    of(rows, name).us = work;
                }
            };
            assert!(!is_delayed(Noise::LogNormal(noise), all), "{work} {noise}");
        }
    }
}

#[test]
fn a_small_answer_that_always_stops_for_forty_milliseconds_is_delayed() {
    let quiet = Noise::LogNormal(0.02);
    assert!(is_delayed(quiet, |rows| of(rows, "Get1K").odd = Odd::Paused(41_500.0)));
    assert!(!is_delayed(quiet, |rows| of(rows, "Get1K").odd = Odd::Paused(30_000.0)));
    assert!(!is_delayed(quiet, |rows| {
        of(rows, "Collectionsx1000").odd = Odd::Paused(41_500.0);
    }));
}

#[test]
fn a_row_that_switches_once_has_no_two_kinds_of_answers() {
    let mut rows = plain();
    of(&mut rows, "Get64K").odd = Odd::Switches(8_000.0);
    assert_eq!(findings(&rows, 1, 3), []);
}

#[test]
fn what_all_rows_have_is_no_fault_of_one() {
    let mut rows = plain();
    each(&mut rows, "", |row| row.odd = Odd::Slow(0.2, 8_000.0));
    let found = findings(&rows, 1, 3);
    assert!(
        found.iter().all(|one| one.rule != "two-modes"),
        "{found:#?}"
    );
}

#[test]
fn in_a_pipeline_nobody_knows_what_was_asked_twice() {
    let mut rows = plain();
    each(&mut rows, "", |row| row.odd = Odd::Challenged(1));
    let mut run = run(&rows, NOISE, 1, 1);
    assert_eq!(diagnose(&[material(&run)]).findings.len(), 1);
    run.plan.load.http.pipeline = 4;
    assert_eq!(diagnose(&[material(&run)]).findings, []);
}

#[test]
fn all_locks_that_are_held_are_counted() {
    let counted = |users: u32, names: &[&str]| {
        let mut rows = plain();
        rows.retain(|row| !names.contains(&row.name.as_str()));
        each(&mut rows, "LockHeld", |row| row.us += 20.0 * size(row));
        let finding = findings(&rows, users, 3).remove(0);
        let count = |name: &str| {
            let figure = finding.figures.iter().find(|figure| figure.name == name);
            match figure.unwrap().value {
                Quantity::Count(count) => count,
                ref other => panic!("{other:?}"),
            }
        };
        (count("fewest"), count("locks"))
    };
    assert_eq!(counted(1, &[]), (0, 10_000));
    assert_eq!(counted(4, &[]), (0, 40_000));
    // Without the row of none: beside some.
    assert_eq!(counted(2, &["LockHeldx0"]), (200, 20_000));
}

#[test]
fn what_a_number_in_a_name_counts_is_known_or_not_asked() {
    // A user's own suite, over sizes in bytes.
    let mut rows = plain();
    for bytes in [100, 1_000, 10_000] {
        let us = 100.0 * f64::from(bytes);
        rows.push(row(&format!("Searchx{bytes}"), "PROPFIND", us, 20));
    }
    assert_eq!(findings(&rows, 1, 3), []);
    // And the cost of locks does not depend on members.
    each(&mut rows, "DiscoveryHeld", |row| {
        row.us += 100.0 * size(row)
    });
    let found = findings(&rows, 1, 3);
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["locks-held"], "{found:#?}");
}

#[test]
fn kinds_of_operations_that_the_record_tells_apart_are_no_modes() {
    let two_modes = |odd: Odd| {
        let mut rows = plain();
        of(&mut rows, "MkCol").n = 400;
        of(&mut rows, "ContendedLock").odd = odd;
        of(&mut rows, "ContendedLock").n = 100;
        findings(&rows, 1, 3).len()
    };
    assert_eq!(two_modes(Odd::Slow(0.3, 30_000.0)), 1);
    assert_eq!(two_modes(Odd::Declined(3, 30_000.0)), 0);
}

/// A run of a test with these rows and that many operations in each, and of another test; the plan
/// contains the limit of the first test.
fn with_modes(rows: &[(&str, u64)], other: u64, limit: u64) -> usize {
    let names: Vec<(&str, &str)> = rows.iter().map(|(name, _)| (*name, "GET")).collect();
    let mut builder = RunBuilder::new(1).test("Both", &names);
    // Quick and slow in turns, in no order.
    let us = |i: u64| {
        if ((i * 2_654_435_761) >> 9) % 100 < 30 {
            90_000 + i % 90
        } else {
            1_000 + i % 90
        }
    };
    for (name, operations) in rows {
        builder = builder.ok(name, *operations, us);
    }
    builder = builder
        .test("Other", &[("Other", "PUT")])
        .ok("Other", other, |i| 300 + i % 9);
    let run = builder
        .with(|run| run.plan.load.requests = Some(limit))
        .build();
    let found = diagnose(&[material(&run), material(&run)]).findings;
    found
        .iter()
        .filter(|finding| finding.rule == "two-modes")
        .count()
}

#[test]
fn requests_of_a_round_are_told_by_the_rows_beside_them() {
    // Twice in each round: another row in the test shows this.
    assert_eq!(
        with_modes(&[("Twice", 200), ("Once", 100)], 100, 100),
        1,
        "Once is looked at"
    );
    assert_eq!(with_modes(&[("Twice", 200)], 100, 100), 0);
    // The first test was to be done less often than the others are.
    assert_eq!(with_modes(&[("Get", 400)], 400, 20), 1);
}
