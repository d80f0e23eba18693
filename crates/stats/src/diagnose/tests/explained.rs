//! Servers that look odd at first, and of which it is known why: what rules say of them, and do not say.

use super::simulated::{Noise, Odd, material, of, plain, row, run};
use super::table::{NOISE, each, findings, size};
use crate::diagnose::diagnose;
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
    let [finding] = &found[..] else {
        panic!("{found:#?}");
    };
    assert_eq!(finding.rule, "keep-alive-limit");
    assert!(!finding.text.contains("ends them after"), "{finding:#?}");
    assert!(
        finding
            .text
            .ends_with("opened with requests of these rows."),
        "{finding:#?}"
    );
    assert!(
        finding.evidence[0].starts_with("Put1K: 100 connections"),
        "{finding:#?}"
    );
}

#[test]
fn connections_that_cost_next_to_nothing_are_no_finding() {
    let mut rows = plain();
    of(&mut rows, "Put1K").odd = Odd::Opens(2);
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

#[test]
fn forty_milliseconds_in_rows_of_three_methods_are_delays_and_in_one_they_are_work() {
    let late = |names: &[&str]| {
        let mut rows = plain();
        for name in names {
            of(&mut rows, name).us = 41_000.0;
        }
        let found = diagnose(&[material(&run(&rows, Noise::LogNormal(0.02), 1, 3))]).findings;
        found.iter().any(|finding| finding.rule == "delayed-ack")
    };
    assert!(late(&["Get1K", "Move", "Lock"]));
    assert!(!late(&["MkCol"]), "with Report, it is one of two methods");
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
    let text = |users: u32, names: &[&str]| {
        let mut rows = plain();
        rows.retain(|row| !names.contains(&row.name.as_str()));
        each(&mut rows, "LockHeld", |row| row.us += 20.0 * size(row));
        findings(&rows, users, 3).remove(0).text
    };
    let alone = text(1, &[]);
    assert!(
        alone.starts_with("With 10000 locks held on other resources, LOCK takes"),
        "{alone}"
    );
    assert!(!alone.contains(" with "), "{alone}");
    assert!(text(4, &[]).starts_with("With 40000 locks"));
    // Without the row of none: beside some.
    let some = text(2, &["LockHeldx0"]);
    assert!(
        some.starts_with("With 20000 locks") && some.contains(" with 200: each"),
        "{some}"
    );
}

#[test]
fn what_a_number_in_a_name_counts_is_known_or_not_asked() {
    // A suite of somebody's own, over sizes in bytes.
    let mut rows = plain();
    for bytes in [100, 1_000, 10_000] {
        let us = 100.0 * f64::from(bytes);
        rows.push(row(&format!("Searchx{bytes}"), "PROPFIND", us, 20));
    }
    assert_eq!(findings(&rows, 1, 3), []);
    // And what locks cost is no matter of members.
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

/// A run of a test with these rows and that many operations in each, and of another test; the limit
/// of the first test stands in the plan.
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
    let found = diagnose(&[material(&run)]).findings;
    found
        .iter()
        .filter(|finding| finding.rule == "two-modes")
        .count()
}

#[test]
fn requests_of_a_round_are_told_by_the_rows_beside_them() {
    // Twice in each round: there is another row in the test that says so.
    assert_eq!(
        with_modes(&[("Twice", 200), ("Once", 100)], 100, 100),
        1,
        "Once is looked at"
    );
    assert_eq!(with_modes(&[("Twice", 200)], 100, 100), 0);
    // The first test was asked for less often than the others are.
    assert_eq!(with_modes(&[("Get", 400)], 400, 20), 1);
}
