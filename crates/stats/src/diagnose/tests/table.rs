//! Every rule: a server for which it must have a finding, without any other finding.

use record::{EventKind, Generator};

use super::cases::{CASES, RuleCase, each, size};
use super::simulated::{Noise, Odd, Path, PlainRow, material, of, plain, run, run_over};
use crate::diagnose::case::{Case, SoundRow};
use crate::diagnose::{
    Diagnosis, DiagnosisRule, Finding, LeftOut, MANY, Material, WhyLeftOut, all_rules, diagnose,
};
use crate::testing::generator;
use crate::{StatusReason, WarningKind};

pub(super) const NOISE: Noise = Noise::LogNormal(0.15);

/// Runs of the server of a case behind this path: two of one seed each, and one under load.
fn patient(path: Path, case: &RuleCase, noise: Noise) -> Vec<Material> {
    let mut rows = plain();
    (case.change)(&mut rows);
    let once = |seed| {
        let mut run = run_over(path, &rows, noise, case.users, seed);
        (case.tells)(&mut run);
        material(&run)
    };
    let mut loaded = rows.clone();
    (case.load)(&mut loaded);
    loaded.retain(|row| LOADED.contains(&row.name.as_str()));
    let loaded = material(&run_over(path, &loaded, noise, 8, 7));
    vec![once(1), once(1_001), loaded]
}

/// Rules whose finding saves no time with one user, or is about the first byte and not the last.
const NOTHING_SAVED: [&str; 15] = [
    "fails-under-load",
    "buffered-listing",
    "buffered-get",
    "does-not-scale",
    "bytes-per-member",
    "uncompressed-listing",
    "no-etag",
    "etag-ignored",
    "infinity-unbounded",
    "infinity-cut-short",
    "infinity-declined-otherwise",
    "calls-per-member",
    "whole-file",
    "moves-by-copying",
    "opens-again",
];

/// Rows that are measured with eight users as well.
const LOADED: [&str; 5] = ["Put1K", "Get1K", "Lock", "UnLock", "Copy"];

/// Findings of these rows, measured twice.
pub(super) fn findings(rows: &[PlainRow], users: u32, seed: u64) -> Vec<Finding> {
    findings_over(Path::Loopback, rows, users, seed)
}

fn findings_over(path: Path, rows: &[PlainRow], users: u32, seed: u64) -> Vec<Finding> {
    let once = |seed| material(&run_over(path, rows, NOISE, users, seed));
    diagnose(&[once(seed), once(seed + 1_000)]).findings
}

#[test]
fn each_rule_finds_what_it_is_for_and_no_other_rule_does() {
    for case in CASES {
        let RuleCase {
            rule, about, says, ..
        } = case;
        let found = diagnose(&patient(Path::Loopback, case, NOISE)).findings;
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, [*rule], "{found:#?}");
        let finding = &found[0];
        assert!(
            finding.tests.iter().any(|test| test == about),
            "{finding:#?}"
        );
        let evidence = format!("{:?}", finding.evidence);
        assert!(evidence.contains(says), "no `{says}`: {finding:#?}");
        let names = finding.figures.iter().map(|figure| figure.name);
        let rule = all_rules().find(|known| known.name == *rule).unwrap();
        assert_eq!(names.collect::<Vec<_>>(), rule.figures);
        assert!((0.0..=1.0).contains(&finding.weight), "{finding:#?}");
        assert!(
            finding.weight > 0.0 || NOTHING_SAVED.contains(&rule.name),
            "{finding:#?}"
        );
    }
}

/// Behind 60 ms of network, a delayed acknowledgement is less than a round trip: not looked for.
#[test]
fn the_findings_are_the_same_behind_any_floor() {
    for floor in [0.0, 5_000.0, 60_000.0] {
        for case in CASES {
            let found = diagnose(&patient(Path::Floor(floor), case, NOISE)).findings;
            let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
            match (case.rule, floor > 10_000.0) {
                // Eight users wait for the network most of the time: throughput grows.
                ("does-not-scale", _) if floor > 0.0 => assert_eq!(found, []),
                ("delayed-ack", true) => assert!(!rules.contains(&case.rule), "{found:#?}"),
                ("cost-per-member", true) => assert_eq!(rules, [case.rule], "{found:#?}"),
                // The noise of 60 ms hides a work of some milliseconds.
                (_, true) => assert!(rules.iter().all(|rule| *rule == case.rule), "{found:#?}"),
                _ => assert_eq!(rules, [case.rule], "{floor} us: {found:#?}"),
            }
        }
    }
}

#[test]
fn a_flush_of_a_quarter_of_a_second_is_found_behind_a_slow_network() {
    let mut rows = plain();
    of(&mut rows, "Put1K").us = 250_000.0;
    let found = findings_over(Path::Floor(40_000.0), &rows, 1, 3);
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["put-against-get"], "{found:#?}");
}

#[test]
fn what_is_seen_once_is_no_finding_yet() {
    let plain = material(&run(&plain(), NOISE, 1, 2));
    for rule in ["two-modes", "locks-held", "listing-outgrows-members"] {
        let case = CASES.iter().find(|case| case.rule == rule).unwrap();
        let mut rows = super::simulated::plain();
        (case.change)(&mut rows);
        let odd = material(&run(&rows, NOISE, 1, 1));
        let once = diagnose(std::slice::from_ref(&odd));
        assert_eq!(once.findings, []);
        let [seen] = &once.seen_once[..] else {
            panic!("{once:#?}");
        };
        assert!(seen.rule == rule && seen.is_seen_once, "{seen:#?}");
        let again = diagnose(&[odd.clone(), odd.clone()]);
        assert_eq!((again.findings.len(), again.seen_once.len()), (1, 0));
        let not_again = diagnose(&[odd, plain.clone()]);
        assert_eq!(
            (not_again.findings.len(), not_again.seen_once.len()),
            (0, 0)
        );
    }
}

/// Rows with a result that a few slow operations decide need it in a second run, and a result that
/// a second run contradicts is no finding.
#[test]
fn a_second_measurement_is_heard() {
    let once = |change: fn(&mut PlainRow), seed| {
        let mut rows = plain();
        change(of(&mut rows, "Put1K"));
        material(&run(&rows, NOISE, 1, seed))
    };
    let slow = |row: &mut PlainRow| row.us = 8_000.0;
    let tail = |row: &mut PlainRow| row.odd = Odd::Slow(0.3, 60_000.0);
    let usual = |_: &mut PlainRow| {};
    let rules = |runs: &[Material]| -> (Vec<&'static str>, Vec<&'static str>) {
        let said = diagnose(runs);
        let of = |all: &[Finding]| all.iter().map(|found| found.rule).collect();
        (of(&said.findings), of(&said.seen_once))
    };
    assert_eq!(rules(&[once(slow, 1)]).0, ["put-against-get"]);
    assert_eq!(
        rules(&[once(slow, 1), once(slow, 2)]).0,
        ["put-against-get"]
    );
    assert_eq!(rules(&[once(slow, 1), once(usual, 2)]).0, [""; 0]);
    let (found, seen_once) = rules(&[once(tail, 1)]);
    assert!(!found.contains(&"put-against-get"), "{found:?}");
    assert!(seen_once.contains(&"put-against-get"), "{seen_once:?}");
}

#[test]
fn every_rule_has_a_case_and_a_line_in_the_documents() {
    let cases: Vec<&str> = CASES.iter().map(|case| case.rule).collect();
    let rules: Vec<&str> = all_rules().map(|rule| rule.name).collect();
    for rule in &rules {
        assert!(cases.contains(rule), "no case of {rule}");
        let document = include_str!("../../../../../docs/methodology/diagnosis.md");
        let line = document
            .lines()
            .find(|line| line.starts_with(&format!("| {rule} |")));
        let line = line.unwrap_or_else(|| panic!("{rule} is not in diagnosis.md"));
        let threshold = all_rules()
            .find(|known| known.name == *rule)
            .unwrap()
            .at_least;
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells[3].parse(), Ok(threshold), "{line}");
    }
    assert_eq!(cases.len(), rules.len());
}

/// Nanoseconds that a rule saves, and the most where its result is just significant and noticeable.
fn saves(rule: &DiagnosisRule, case: &Case<'_>) -> Option<(f64, f64)> {
    /// Rules whose finding need not exceed the threshold noticeably, or significantly.
    const EXACT: [&str; 11] = [
        "grows-over-the-run",
        "delayed-ack",
        "two-modes",
        "slow-at-intervals",
        "cold-start",
        "keep-alive-limit",
        "asked-twice",
        "long-tail",
        "connection-close",
        "closes-silently",
        "tls-not-resumed",
    ];
    let found = rule.look(case)?;
    let is_its = |row: &SoundRow<'_>| found.tests.iter().any(|name| name == row.name());
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
    for case in CASES {
        let rule = &case.rule;
        // A trend without any noise is one of neighbours that are alike.
        let noise = match *rule {
            "grows-over-the-run" => NOISE,
            _ => Noise::None,
        };
        let material = patient(Path::Loopback, case, noise);
        let case = Case::of(&material);
        let rule = all_rules().find(|known| known.name == *rule).unwrap();
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
    let odd = |row: &mut PlainRow| {
        row.us = 8_000.0;
        row.odd = Odd::Fails(50);
    };
    let mut failed = plain();
    odd(of(&mut failed, "Put1K"));
    assert_eq!(findings(&failed, 1, 4), []);
    let said = diagnose(&[material(&run(&failed, NOISE, 1, 4))]);
    let [
        LeftOut {
            run: 0,
            row,
            why: WhyLeftOut::Evidence(StatusReason::Failed(outcomes)),
            ..
        },
    ] = &said.left_out[..]
    else {
        panic!("{:?}", said.left_out);
    };
    assert_eq!(
        (&**row, outcomes.failed(), outcomes.total()),
        ("Put1K", 2, 100)
    );

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
fn a_disqualified_row_is_left_out_and_no_other() {
    let mut rows = plain();
    of(&mut rows, "Put1K").us = 8_000.0;
    of(&mut rows, "ContendedLock").us = 4_000.0;
    let quiet = run(&rows, NOISE, 4, 8);
    let mut busy = quiet.clone();
    let mut measures = busy.plan.measures.iter();
    let test = measures
        .find(|measure| measure.name == "Put1K")
        .unwrap()
        .test;
    let event = busy.events[0].clone();
    let wall = 10_000_000_000;
    busy.events.push(record::Event {
        kind: EventKind::Generator(Generator {
            cpu: 2 * wall,
            wall,
            ..generator(test)
        }),
        ..event
    });
    let rules =
        |said: &Diagnosis| -> Vec<&str> { said.findings.iter().map(|found| found.rule).collect() };
    let all = diagnose(&[material(&quiet)]);
    assert_eq!(rules(&all), ["put-against-get", "contended-lock"]);
    let said = diagnose(&[material(&busy)]);
    assert_eq!(rules(&said), ["contended-lock"]);
    let left_out: Vec<&str> = said.disqualified().map(|left| left.row.as_str()).collect();
    let measures = busy.plan.measures.iter();
    let of_test = measures.filter(|measure| measure.test == test);
    let of_test: Vec<&str> = of_test.map(|measure| measure.name.as_str()).collect();
    assert_eq!(left_out, of_test);
    let WhyLeftOut::Warned(warning) = &said.left_out[0].why else {
        panic!("{:?}", said.left_out[0]);
    };
    assert_eq!(warning.kind, WarningKind::Saturated);
}

#[test]
fn rows_of_several_runs_are_looked_at_together() {
    let mut rows = plain();
    of(&mut rows, "ContendedLock").us = 4_000.0;
    let contended = rows.iter().position(|row| row.name == "ContendedLock");
    let split = contended.unwrap();
    let first = material(&run(&rows[..split], NOISE, 4, 9));
    let second = material(&run(&rows[split..], NOISE, 4, 9));
    let found = diagnose(&[first, second]).findings;
    let found: Vec<(&str, usize)> = found.iter().map(|found| (found.rule, found.run)).collect();
    assert_eq!(found, [("contended-lock", 1)]);
}
