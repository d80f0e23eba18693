//! Experiment files, and the records of campaigns: no panic, no hang, trials that fit, finite
//! ranges.

#![no_main]

use std::collections::BTreeMap;

use experiment::{
    CampaignRecord, ExperimentSpec, RecordedTrials, beside, planned_trials, summarise,
};
use libfuzzer_sys::fuzz_target;

/// Separator between an experiment and its trials.
const BETWEEN: &str = "\n---\n";

fuzz_target!(|text: &str| {
    let (yaml, jsonl) = text.split_once(BETWEEN).unwrap_or((text, ""));
    let recorded = RecordedTrials::read(jsonl.as_bytes()).unwrap_or_default();
    assert!(recorded.whole_bytes <= jsonl.len());
    let built_in = builtin::EXPERIMENTS.first().map_or("", |file| file.text);
    let spec = match ExperimentSpec::read("fuzz", yaml) {
        Ok(spec) => spec,
        // Then the trials are those of a valid one.
        Err(_) => match ExperimentSpec::read("built-in", built_in) {
            Ok(spec) => spec,
            Err(error) => panic!("{error}"),
        },
    };
    let cells = spec.all_cells();
    for cell in cells.iter().take(8) {
        if let Ok(setup) = spec.setup(cell) {
            assert!(!setup.trial.measured.is_empty());
        }
    }
    let _ = spec.with_servers(&["nginx".to_owned(), "other".to_owned()]);
    let _ = spec.chosen_cells(false, &[yaml.chars().take(20).collect()]);
    let open = planned_trials(&cells, 2, 1, &recorded.trials);
    assert!(open.len() <= 2 * cells.len());
    let campaign = CampaignRecord {
        format: 1,
        program: String::new(),
        name: String::new(),
        experiment: spec.clone(),
        cells: cells.into_iter().take(32).collect(),
        repetitions: 2,
        seed: 1,
        command: String::new(),
        started: String::new(),
        facts: BTreeMap::new(),
    };
    let summary = summarise(&spec, &campaign, &recorded.trials);
    for cell in &summary.cells {
        let ranges = [cell.estimate.interval, cell.estimate.prediction];
        let is_right = |low: f64, high: f64| low.is_finite() && high.is_finite() && low <= high;
        assert!(
            ranges
                .into_iter()
                .flatten()
                .all(|range| is_right(range.low, range.high))
        );
    }
    let _ = beside(&summary, &summary);
});
