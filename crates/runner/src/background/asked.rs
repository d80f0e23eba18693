//! Background traffic requested by options or by the suite.

use std::path::PathBuf;
use std::time::Duration;

use engine::RunSpec;
use record::BackgroundRecord;
use suite::{BackgroundPlan, Plan, TrafficOrigin};

use super::task::{BackgroundOptions, BackgroundTask, STABLE_PERCENT, TrafficEnds, TrafficFile};
use crate::error::RunnerError;

/// Background traffic beside runs, and its sinks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BackgroundRequest {
    /// `None`: the traffic that the suite describes.
    pub traffic: Option<RequestedTraffic>,
    /// Its sources and sinks.
    pub ends: TrafficEnds,
    /// The file with the token of the sinks.
    pub token_file: Option<PathBuf>,
}

/// A load of a traffic file.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedTraffic {
    /// The traffic file.
    pub file: PathBuf,
    /// Name of the load; `None` for the only one.
    pub load: Option<String>,
    /// Largest deviation from the mean of a load that is stable, in percent.
    pub stable_percent: f64,
    /// Longest duration of flows.
    pub duration: Option<Duration>,
}

/// Background traffic for any number of runs.
pub struct RequestedBackground {
    file: TrafficFile,
    /// The seed is that of the run.
    options: BackgroundOptions,
    ends: TrafficEnds,
    token_file: Option<PathBuf>,
}

impl RequestedBackground {
    /// The requested traffic, or else the traffic of the suite.
    pub fn of(
        request: &BackgroundRequest,
        plan: &Plan,
    ) -> Result<Option<RequestedBackground>, RunnerError> {
        let (file, options) = match (&request.traffic, &plan.background) {
            (Some(asked), _) => (
                TrafficFile::read(&asked.file)?,
                BackgroundOptions {
                    load: asked.load.clone(),
                    duration: asked.duration,
                    stable_percent: asked.stable_percent,
                    seed: 0,
                    longest_silence: flow::LONGEST_SILENCE,
                },
            ),
            (None, Some(planned)) => (file_of(planned, plan)?, options_of(planned)),
            (None, None) if request.ends.sinks.is_empty() => return Ok(None),
            (None, None) => {
                return Err(RunnerError::Usage(
                    "--sink is for background traffic; name its traffic file with --background"
                        .to_owned(),
                ));
            }
        };
        Ok(Some(RequestedBackground {
            file,
            options,
            ends: request.ends.clone(),
            token_file: request.token_file.clone(),
        }))
    }

    /// The record of the traffic with sinks in this process.
    pub fn planned(&self) -> Result<BackgroundRecord, RunnerError> {
        let ends = TrafficEnds::default();
        Ok(BackgroundTask::new(&self.file, &self.options, &ends, None)?.record)
    }

    /// The traffic of this run; adds its record to `spec`.
    pub fn task(&self, spec: &mut RunSpec) -> Result<BackgroundTask, RunnerError> {
        let options = BackgroundOptions {
            seed: spec.seed,
            ..self.options.clone()
        };
        let token_file = self.token_file.as_deref();
        let task = BackgroundTask::new(&self.file, &options, &self.ends, token_file)?;
        spec.background = Some(task.record.clone());
        Ok(task)
    }
}

fn file_of(planned: &BackgroundPlan, plan: &Plan) -> Result<TrafficFile, RunnerError> {
    match &planned.traffic {
        TrafficOrigin::File(name) => TrafficFile::read(name.as_ref()),
        TrafficOrigin::Here(spec) => TrafficFile::within(&plan.suite.name, spec),
    }
}

fn options_of(planned: &BackgroundPlan) -> BackgroundOptions {
    BackgroundOptions {
        load: planned.load.clone(),
        duration: planned.duration,
        stable_percent: planned.stable_percent.unwrap_or(STABLE_PERCENT),
        seed: 0,
        longest_silence: flow::LONGEST_SILENCE,
    }
}
