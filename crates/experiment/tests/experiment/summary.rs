//! Summaries of small campaigns that can be computed by hand.

use std::collections::BTreeMap;

use experiment::{
    CampaignSummary, CellEstimate, LevelCombination, PairVerdict, TrialRecord, summarise,
};
use proptest::prelude::*;

use crate::support::{campaign, recorded, right};

/// A trial of each cell in each repetition, with figures by cell and repetition.
fn trials(
    cells: &[LevelCombination],
    figures: impl Fn(&LevelCombination, u32) -> Vec<(&'static str, f64)>,
) -> Vec<TrialRecord> {
    let trial = |cell: &_, repetition| recorded(cell, repetition, &figures(cell, repetition));
    let repetitions = 1..=4;
    repetitions
        .flat_map(|repetition| cells.iter().map(move |cell| trial(cell, repetition)))
        .collect()
}

/// Delays that differ between servers, loads and `C2`, with one noise in all cells of a repetition.
fn delay(cell: &LevelCombination, repetition: u32) -> Vec<(&'static str, f64)> {
    let trials = |factor, level, times| {
        if cell.level(factor) == level {
            times
        } else {
            1.0
        }
    };
    let noise = [0.0, 0.004, 0.001, -0.003][repetition as usize % 4]
        * f64::from(cell.level("server").len() as u32);
    let block = [1.0, 1.2, 1.1, 0.9][repetition as usize % 4];
    let delay =
        trials("mix", "C2", 4.0) * trials("load", "100", 1.02) * trials("server", "bare", 3.0);
    vec![
        ("single.delay", delay * block * (1.0 + noise)),
        ("server.new", 4e6),
    ]
}

#[test]
fn repetitions_that_are_all_the_same_predict_nothing() {
    let spec = right();
    let campaign = campaign(&spec, spec.all_cells(), 4);
    let summary = summarise(&spec, &campaign, &trials(&campaign.cells, delay));
    for (figure, predicts) in [("single.delay", true), ("server.new", false)] {
        let cells = summary.cells.iter().filter(|cell| cell.figure == figure);
        let predictions: Vec<bool> = cells
            .map(|cell| cell.estimate.prediction.is_some())
            .collect();
        assert!(!predictions.is_empty(), "{figure}");
        assert!(
            predictions.iter().all(|prediction| *prediction == predicts),
            "{figure}"
        );
    }
}

fn mean(estimate: &CellEstimate) -> f64 {
    (estimate.mean.unwrap_or(f64::NAN) * 1000.0).round() / 1000.0
}

#[test]
fn a_campaign_is_summarised() {
    let spec = right();
    let campaign = campaign(&spec, spec.all_cells(), 4);
    let summary = summarise(&spec, &campaign, &trials(&campaign.cells, delay));
    assert_eq!((summary.planned_trials, summary.ended_trials), (40, 40));
    assert_eq!(summary.cells.len(), 40);
    let table = &summary.tables[0];
    assert_eq!(table.rows, [["Apache"], ["nginx"], ["bare"]]);
    assert_eq!(table.row_factors, ["Server"]);
    // The mean of both loads: (1 + 1.02) / 2 times the blocks' mean, in seconds.
    let means: Vec<f64> = table.cells.iter().map(|row| mean(&row[0])).collect();
    assert!(
        (means[0] - 1.0605).abs() < 0.01 && (means[2] / means[0] - 3.0).abs() < 0.03,
        "{means:?}"
    );
    let published: Vec<_> = table.cells.iter().map(|row| row[0].published).collect();
    assert_eq!(published, [Some(0.75), None, Some(2.0)]);
    // The noise of blocks affects both sides of a pair, and so not its order.
    assert_eq!(table.orders[0].same, 1);
    let interval = table.cells[0][0]
        .interval
        .unwrap_or_else(|| panic!("four repetitions"));
    assert!(interval.low < means[0] && means[0] < interval.high);
    // Table 9 is about Apache, in Mbit/s; it has no shares.
    let table = &summary.tables[1];
    assert_eq!(table.rows.len(), 4);
    assert_eq!(table.rows[0], ["C1", "75 Mbit/s"]);
    assert_eq!(
        (mean(&table.cells[3][0]), table.cells[3][1].mean),
        (4.0, None)
    );
    let chart = &summary.charts[0];
    assert_eq!((chart.groups.len(), chart.bars.len()), (2, 3));
    assert_eq!(
        chart.values[1][1].mean, None,
        "nginx is not measured with C2"
    );
    let findings: Vec<_> = summary
        .findings
        .iter()
        .map(|finding| (finding.verdict, finding.parts.len()))
        .collect();
    let expected = [
        (PairVerdict::Holds, 4),
        (PairVerdict::Holds, 5),
        (PairVerdict::Fails, 4),
    ];
    assert_eq!(findings, expected);
    assert_eq!(summary.findings[0].parts[0].cell, "75 Mbit/s, Apache");
}

#[test]
fn only_what_was_measured_is_in_it() {
    let spec = right();
    let is_idle = |cell: &LevelCombination| cell.level("mix") == "C1" && cell.level("load") == "75";
    let cells = spec.all_cells().into_iter().filter(is_idle).collect();
    let campaign = campaign(&spec, cells, 4);
    let none = summarise(&spec, &campaign, &[]);
    assert_eq!(
        (none.tables.len(), none.charts.len(), none.findings.len()),
        (0, 0, 0)
    );
    let mut done = trials(&campaign.cells, delay);
    // The last record of a trial counts, and a failed one has no figures.
    for (failed, trial) in [(Some("no route"), 0), (Some("no route"), 1), (None, 0)] {
        let mut again = done[trial].clone();
        again.failed = failed.map(str::to_owned);
        again.warnings = vec!["late".to_owned()];
        done.push(again);
    }
    done.push(TrialRecord {
        cell: LevelCombination(BTreeMap::new()),
        ..done[0].clone()
    });
    let summary = summarise(&spec, &campaign, &done);
    assert_eq!(summary.ended_trials, 11);
    assert_eq!(summary.failures, [("no route".to_owned(), 1)]);
    assert_eq!(summary.warnings, [("late".to_owned(), 2)]);
    let published: Vec<_> = summary.tables[0]
        .cells
        .iter()
        .map(|row| row[0].published)
        .collect();
    assert_eq!(
        published,
        [Some(0.5), Some(0.6), None],
        "only one load was measured"
    );
    let counts: Vec<usize> = summary.tables[0]
        .cells
        .iter()
        .map(|row| row[0].count)
        .collect();
    assert_eq!(counts, [4, 3, 4]);
    let claims: Vec<&str> = summary
        .findings
        .iter()
        .map(|finding| finding.claim.as_str())
        .collect();
    assert_eq!(claims, ["The bare server is faster."]);
}

fn with_unfinished(server: &'static str) -> CampaignSummary {
    let spec = right();
    let campaign = campaign(&spec, spec.all_cells(), 4);
    let done = trials(&campaign.cells, |cell, repetition| {
        let mut figures = delay(cell, repetition);
        let is_unfinished = cell.level("server") == server && repetition == 2;
        figures.push(("single.unfinished", f64::from(u8::from(is_unfinished))));
        figures
    });
    summarise(&spec, &campaign, &done)
}

#[test]
fn what_did_not_end_is_a_lower_bound() {
    let summary = with_unfinished("bare");
    let unfinished: Vec<usize> = summary.tables[0]
        .cells
        .iter()
        .map(|row| row[0].unfinished)
        .collect();
    assert_eq!(unfinished, [0, 0, 1]);
    // An unfinished time confirms that the bare server takes longer.
    assert_eq!(summary.findings[2].verdict, PairVerdict::Fails);
    // An unfinished time of the other server does not.
    let summary = with_unfinished("apache");
    assert_eq!(summary.findings[2].verdict, PairVerdict::Inconclusive);
    assert_eq!(summary.findings[1].verdict, PairVerdict::Inconclusive);
    assert_eq!(
        summary.tables[1].cells[0][0].unfinished, 0,
        "a rate is no time"
    );
}

#[test]
fn a_time_of_another_name_is_unfinished_with_what_it_is_of() {
    let mut spec = right();
    let mut late = spec.figures["single.delay"].clone();
    late.of = Some("single.delay".to_owned());
    spec.figures.insert("late".to_owned(), late);
    let campaign = campaign(&spec, spec.all_cells(), 4);
    let done = trials(&campaign.cells, |_, _| {
        vec![("single.delay", 60.0), ("single.unfinished", 1.0)]
    });
    let summary = summarise(&spec, &campaign, &done);
    let late = summary.cells.iter().filter(|cell| cell.figure == "late");
    let unfinished: Vec<usize> = late.map(|cell| cell.estimate.unfinished).collect();
    assert_eq!(unfinished, vec![4; campaign.cells.len()]);
}

#[test]
fn figures_that_may_be_zero_have_intervals_too() {
    let spec = right();
    let campaign = campaign(&spec, spec.all_cells(), 4);
    let done = trials(&campaign.cells, |_, repetition| {
        vec![("stress.share", f64::from(repetition % 2) / 2.0)]
    });
    let summary = summarise(&spec, &campaign, &done);
    let of_row = &summary.tables[0].cells[0][1];
    // 50, 0, 50 and 0 percent: 25 +- 3.18 * 28.9 / 2, cut off at 0.
    assert_eq!(of_row.mean, Some(25.0));
    let interval = of_row
        .interval
        .unwrap_or_else(|| panic!("four repetitions"));
    assert!(
        (interval.high - 70.9).abs() < 0.1 && interval.low == 0.0,
        "{interval:?}"
    );
    let done = trials(&campaign.cells, |_, repetition| {
        vec![("stress.share", 1.0 - f64::from(repetition % 2) / 2.0)]
    });
    let summary = summarise(&spec, &campaign, &done);
    let interval = summary.tables[0].cells[0][1].interval;
    assert_eq!(interval.map(|range| range.high), Some(100.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_figures_make_it_panic(
        figures in prop::collection::vec(
            prop_oneof![any::<f64>(), 0.0..10.0_f64, Just(0.0), Just(f64::MAX), Just(5e-324)], 80),
        drop in prop::collection::vec(any::<bool>(), 40),
    ) {
        let spec = right();
        let campaign = campaign(&spec, spec.all_cells(), 4);
        let mut done = trials(&campaign.cells, delay);
        for (index, trial) in done.iter_mut().enumerate() {
            trial.figures.insert("single.delay".to_owned(), figures[index]);
            trial.figures.insert("path.rtt".to_owned(), figures[index + 40]);
        }
        let mut keep = drop.iter();
        done.retain(|_| !keep.next().copied().unwrap_or_default());
        let summary = summarise(&spec, &campaign, &done);
        for cell in &summary.cells {
            let ranges = [cell.estimate.interval, cell.estimate.prediction];
            for range in ranges.into_iter().flatten() {
                prop_assert!(range.low.is_finite() && range.high.is_finite() && range.low <= range.high);
            }
        }
        let _ = experiment::beside(&summary, &summary);
    }
}
