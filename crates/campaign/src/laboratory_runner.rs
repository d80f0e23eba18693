//! The laboratory as the runner of a campaign.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::Cancel;
use experiment::{PlannedTrial, TrialRecord, TrialSetup};
use runner::RunnerError;

use crate::CampaignObserver;
use crate::asked::ResolvedCampaign;
use crate::directory::OpenCampaign;
use crate::trial::{TrialFailure, TrialOutcome, TrialTask};
use runner::series::{MadeStep, Runner};

/// Makes each trial in a laboratory of its own, and keeps its record.
pub(crate) struct LaboratoryRunner<'a> {
    pub(crate) asked: &'a ResolvedCampaign,
    pub(crate) campaign: &'a mut OpenCampaign,
    pub(crate) all: Vec<PlannedTrial>,
    pub(crate) captures: PathBuf,
    pub(crate) observer: &'a mut dyn CampaignObserver,
    pub(crate) cancel: &'a Cancel,
    pub(crate) begun: Instant,
}

impl Runner for LaboratoryRunner<'_> {
    type Step = PlannedTrial;
    type Outcome = TrialRecord;

    fn run(&mut self, _: usize, planned: &PlannedTrial) -> MadeStep<TrialRecord> {
        self.made(planned).into()
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn remark(&self, remark: &str) {
        log::info!("{remark}");
    }
}

impl LaboratoryRunner<'_> {
    fn made(&mut self, planned: &PlannedTrial) -> Result<TrialRecord, RunnerError> {
        let setup = self.asked.setup(&planned.cell);
        let cell = self.asked.name_of(&planned.cell);
        let trial = format!("{cell}, repetition {}", planned.repetition);
        self.observer.trial_begins(&trial);
        let begun = Instant::now();
        let record = record_of(&self.task(setup, planned), planned)?;
        debug_assert!(
            record.figures.keys().all(|name| setup.has_figure(name)),
            "figures that an experiment cannot name: {:?}",
            record.figures.keys()
        );
        self.observer
            .trial_ended(begun.elapsed(), &remarks(&record));
        self.campaign.add(record.clone())?;
        Ok(record)
    }

    fn task<'a>(&'a self, setup: &'a TrialSetup, planned: &PlannedTrial) -> TrialTask<'a> {
        let seed = self.campaign.kept.record.seed;
        let number = self
            .all
            .iter()
            .position(|trial| trial == planned)
            .unwrap_or(0);
        let is_kept =
            self.asked.request.keep_captures || planned.repetition == self.asked.repetitions;
        TrialTask {
            spec: &setup.trial,
            network: &setup.network,
            // Random choices differ between trials, and are equal in all campaigns with a seed.
            seed: seed.wrapping_add(number as u64) & (u64::MAX >> 1),
            cancel: self.cancel,
            kept_captures: is_kept.then(|| (&*self.captures, file_name(planned))),
        }
    }
}

fn record_of(task: &TrialTask<'_>, planned: &PlannedTrial) -> Result<TrialRecord, RunnerError> {
    let (begun, started) = (Instant::now(), engine::time_of_day());
    let (outcome, failed) = match task.run() {
        Ok(outcome) => (outcome, None),
        Err(TrialFailure::Failed(why)) => (TrialOutcome::default(), Some(why)),
        Err(TrialFailure::Interrupted) => {
            return Err(RunnerError::Interrupted("interrupted".to_owned()));
        }
    };
    Ok(TrialRecord {
        cell: planned.cell.clone(),
        repetition: planned.repetition,
        started,
        seconds: begun.elapsed().as_secs_f64(),
        figures: outcome.figures,
        facts: outcome.facts,
        warnings: outcome.warnings,
        failed,
    })
}

fn remarks(trial: &TrialRecord) -> String {
    let warnings = trial
        .warnings
        .iter()
        .map(|warning| format!("; warning: {warning}"));
    let failed = trial.failed.iter().map(|why| format!("; failed: {why}"));
    warnings.chain(failed).collect()
}

fn file_name(trial: &PlannedTrial) -> String {
    let levels = trial.cell.0.values();
    let levels: Vec<String> = levels
        .map(|level| {
            let plain = |c: char| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '_'
                }
            };
            level.chars().map(plain).collect()
        })
        .collect();
    format!("{}-{}", levels.join("-"), trial.repetition)
}
