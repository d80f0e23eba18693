//! Campaigns of experiments in laboratories.
//!
//! ```text
//! request -> cells -> policy --trial--> laboratory --outcome--> directory
//!                       ^                                          |
//!                       '------------- trials that were made ------'
//! ```
//!
//! This library has no command line and prints nothing: it takes a request, reports its progress to
//! an observer, and logs everything else.

mod asked;
mod bottleneck;
mod directory;
mod facts;
mod forecast;
mod laboratory_runner;
mod request;
mod trial;

use std::time::{Duration, Instant};

use engine::Cancel;
use experiment::{TrialRecord, planned_trials};
use runner::policy::CampaignPolicy;
use runner::{RunnerError, series};

use laboratory_runner::LaboratoryRunner;

pub use asked::{ResolvedCampaign, find_experiment};
pub use bottleneck::refusal;
pub use directory::{KeptCampaign, find_campaign};
pub use forecast::CampaignForecast;
pub use request::{CampaignRequest, SuiteRequest};

/// Receives the progress of a campaign.
pub trait CampaignObserver {
    /// The first trial is about to begin.
    fn begins(&mut self, forecast: CampaignForecast);

    /// A trial begins.
    fn trial_begins(&mut self, trial: &str);

    /// The trial has ended, with its warnings and its failure.
    fn trial_ended(&mut self, took: Duration, remarks: &str);
}

/// A campaign that has ended.
#[derive(Debug)]
pub struct MeasuredCampaign {
    /// Its record.
    pub kept: KeptCampaign,
    /// The reason, if it is not complete.
    pub ended: Result<(), RunnerError>,
}

/// Resumes or begins a campaign, and makes the trials that are not measured.
///
/// # Errors
///
/// No trial could be made: links are not as described, or the campaign cannot be kept.
pub fn measure(
    asked: &ResolvedCampaign,
    observer: &mut dyn CampaignObserver,
    cancel: &Cancel,
) -> Result<MeasuredCampaign, RunnerError> {
    let mut campaign = asked.open(cancel)?;
    let (seed, measured) = (campaign.kept.record.seed, campaign.kept.measured());
    let trials = |done: &[TrialRecord]| planned_trials(&asked.cells, asked.repetitions, seed, done);
    observer.begins(asked.forecast(measured.len()));
    let mut policy = CampaignPolicy::new(trials(&measured));
    let mut laboratory = LaboratoryRunner {
        asked,
        captures: campaign.kept.captures(),
        campaign: &mut campaign,
        all: trials(&[]),
        observer,
        cancel,
        begun: Instant::now(),
    };
    let ended = series::perform(&mut policy, &mut laboratory).ended;
    let ended = ended.map_or(Ok(()), |end| Err(end.why));
    Ok(MeasuredCampaign::new(campaign.kept, ended))
}

impl MeasuredCampaign {
    fn new(kept: KeptCampaign, ended: Result<(), RunnerError>) -> MeasuredCampaign {
        let (done, all, place) = (
            kept.measured().len(),
            kept.planned(),
            kept.directory.display(),
        );
        let ended = match ended {
            Err(why @ RunnerError::Interrupted(_)) => Err(why.followed_by(&format!(
                " after {done} of {all} trials; the same command goes on with it (the record is in {place})"
            ))),
            Err(why @ (RunnerError::Target(_) | RunnerError::Local(_))) => Err(why.followed_by(&format!(
                "; the same command goes on with the campaign in {place}"
            ))),
            Ok(()) if done == 0 => {
                let trial = kept.trials.iter().find_map(|trial| trial.failed.as_ref());
                let why = trial.map_or("there is no trial", String::as_str);
                Err(RunnerError::Target(format!("nothing could be measured: {why}")))
            }
            ended => ended,
        };
        MeasuredCampaign { kept, ended }
    }

    /// True if there are results to report.
    pub fn is_reported(&self) -> bool {
        let kept = &self.kept;
        let is_interrupted = matches!(self.ended, Err(RunnerError::Interrupted(_)));
        !is_interrupted && (!kept.measured().is_empty() || kept.trials.len() >= kept.planned())
    }
}
