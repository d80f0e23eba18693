//! Conditions on comparisons of which the truth is known.

use constraint::{Constraint, ConstraintSubject, Scope};

use super::super::*;
use super::simulated::{Stream, judged, row};

const SAME_WITHIN: f64 = 0.02;

pub(super) fn checked(text: &str) -> constraint::CheckedConstraint {
    let scope = Scope {
        subject: ConstraintSubject::Comparison,
        measurements: vec!["0"],
        ..Scope::default()
    };
    Constraint::parse(text).unwrap().check(&scope).unwrap()
}

/// Rows of all kinds, judged together; pairs of logarithms of ratios around these.
fn rows(seed: u64) -> Vec<Compared> {
    let rng = &mut Stream::new(seed);
    let mut rows = Vec::new();
    for index in 0..40 {
        let (shift, spread) = (0.01 * f64::from(index % 10 - 3), 0.002 * rng.uniform());
        let pairs = if index % 13 == 12 { 1 } else { 8 };
        let mut draw = || (0..pairs).map(|_| shift + spread * rng.normal()).collect();
        let observed = Observations {
            means: draw(),
            medians: draw(),
            pooled: shift,
        };
        let shares = match index % 8 {
            1 => vec![(0.0, 1.0); 8],
            3 => vec![(1.0, 0.0); 8],
            5 => vec![(0.0, 0.1), (0.0, 0.0), (0.0, 0.0)],
            _ => Vec::new(),
        };
        let ratio = (index % 11 != 10).then(|| Ratio::new(&observed)).flatten();
        let mut row = row(ratio, Failing::from_shares(&shares));
        row.name = index.to_string();
        row.reached = 8;
        row.disqualified = if index % 7 == 6 { 4 } else { 0 };
        row.doubtful = usize::from(index % 9 == 8);
        if index % 17 == 16 {
            row.verdict = [Verdict::Lost, Verdict::Gained][usize::from(index > 20)];
            row.ratio = None;
            row.failing = None;
            row.disqualified = 0;
            row.doubtful = 0;
        }
        rows.push(row);
    }
    judged(rows)
}

/// Meaning of `slower 5%`: true if it fails, `None` if it is undecided.
fn usual(row: &Compared, by: f64) -> Option<bool> {
    let is_too_slow = row
        .ratio
        .is_some_and(|ratio| ratio.verdict == Verdict::Slower && ratio.value >= 1.0 + by);
    if matches!(row.verdict, Verdict::Broken | Verdict::Lost) || is_too_slow {
        return Some(true);
    }
    let limit = 1.0 + by.max(SAME_WITHIN);
    let times_are_fine =
        !row.is_disqualified() && row.evidence().is_some_and(|found| found.most() < limit);
    let is_repaired = |failing: Failing| failing.verdict == Verdict::Repaired;
    let failures_are_fine = row.doubtful == 0 && row.failing.is_none_or(is_repaired);
    let passes = row.verdict == Verdict::Gained
        || row.ratio.is_none() && row.verdict == Verdict::Repaired
        || times_are_fine && failures_are_fine;
    passes.then_some(false)
}

pub(super) fn comparison(rows: Vec<Compared>) -> Comparison {
    Comparison {
        rows,
        caveats: Vec::new(),
        pairs: 8,
        same_within: SAME_WITHIN,
        since: Since::Sent,
    }
}

#[test]
fn slower_by_a_share_is_what_the_verdicts_say() {
    let mut seen = Vec::new();
    for seed in 0..20 {
        let comparison = comparison(rows(seed));
        for (by, text) in [
            (0.0, "slower"),
            (0.02, "slower >= 2 %"),
            (0.05, "slower >= 5 %"),
        ] {
            for (row, judged) in comparison
                .rows
                .iter()
                .zip(comparison.judged_by(&checked(text)))
            {
                let expected = usual(row, by);
                assert_eq!(judged.truth, expected, "{text}: {row:#?}");
                seen.push((row.verdict, expected));
            }
        }
    }
    for verdict in Verdict::ALL {
        assert!(
            seen.iter().any(|(found, _)| *found == verdict),
            "{verdict:?}"
        );
    }
    for truth in [Some(true), Some(false), None] {
        assert!(seen.iter().any(|(_, found)| *found == truth), "{truth:?}");
    }
}

#[test]
fn the_other_words_are_the_verdicts_of_the_rows() {
    for seed in 0..20 {
        let comparison = comparison(rows(seed));
        for row in &comparison.rows {
            let truth = |text: &str| {
                let judged = comparison.judged_by(&checked(text));
                let mut judged = judged.into_iter();
                let judged = judged.find(|judged| judged.row.as_deref() == Some(&*row.name));
                judged.unwrap().truth
            };
            for verdict in [
                Verdict::Broken,
                Verdict::Repaired,
                Verdict::Lost,
                Verdict::Gained,
                Verdict::Inconclusive,
            ] {
                let found = truth(verdict.name());
                assert_eq!(found == Some(true), row.verdict == verdict, "{row:#?}");
                let is_clear = row.doubtful == 0 && row.failing.is_none();
                let is_known = row.verdict != Verdict::NotCompared && is_clear;
                assert!(found.is_some() || !is_known, "{row:#?}");
            }
            // A row that is faster is not slower, and the reverse.
            if row.verdict == Verdict::Faster && row.failing.is_none() {
                assert_eq!(truth("slower"), Some(false), "{row:#?}");
                let is_sure = row.doubtful == 0 && !row.is_disqualified();
                assert_eq!(truth("faster"), is_sure.then_some(true), "{row:#?}");
            }
            if row.verdict == Verdict::Slower {
                assert_eq!(truth("faster"), Some(false), "{row:#?}");
            }
            if matches!(row.verdict, Verdict::Broken | Verdict::Lost) {
                assert_eq!(truth("slower > 1000 %"), Some(true), "{row:#?}");
                assert_eq!(truth("faster < 10 %"), Some(true), "{row:#?}");
            }
        }
    }
}

#[test]
fn what_counts_as_the_same_is_not_told_apart() {
    for (text, expected) in [
        ("slower", false),
        ("not slower", false),
        ("slower >= 2 %", false),
        ("slower > 1.9 %", true),
        ("slower(\"0\") > 5 % or broken", false),
        ("slower > 5 % or slower(\"0\") > 1 %", true),
        ("faster < 1 %", true),
        ("faster < 2 %", false),
        ("inconclusive", false),
    ] {
        assert_eq!(is_finer(&checked(text), SAME_WITHIN), expected, "{text}");
        assert!(!is_finer(&checked(text), 0.0), "{text}");
    }
}
