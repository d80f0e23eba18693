//! What a step on this machine is, and what comes of it.

use std::sync::Arc;

use engine::Drive;
use stats::Completeness;
use suite::Plan;

use crate::RunnerError;
use crate::background::{AskedBackground, BackgroundRequest};
use crate::beside::BesideTask;
use crate::kept::KeptRun;
use crate::load::guard::Permission;
use crate::run::{IncompleteRun, PARTNER_ENDED, is_well};
use crate::series::{MadeStep, SeriesHistory, StepFailure};
use crate::servers::RunsOfServer;

/// Runs that are made at the same time.
pub struct RunStep {
    /// How the servers that are started here are started for it; `None` leaves them as they are.
    pub start: Option<ServerStart>,
    /// In turns, where there are several.
    pub runs: Vec<StepRun>,
    /// What a bar says of it.
    pub title: Option<String>,
}

impl RunStep {
    /// The run at this place of a series, from 0, which starts so many servers before the first one, and keeps them.
    pub fn of_one(place: usize, servers: usize, run: StepRun) -> RunStep {
        RunStep {
            start: (place == 0).then(|| ServerStart::in_order(servers)),
            runs: vec![run],
            title: None,
        }
    }
}

/// A start of all servers.
pub struct ServerStart {
    /// Their places, in the order in which they are started.
    pub order: Vec<usize>,
    /// How the processors are divided between them and what measures them, by the number of the step; `None` leaves
    /// that to the system.
    pub division: Option<u32>,
}

impl ServerStart {
    /// Of so many servers, in their order.
    pub fn in_order(servers: usize) -> ServerStart {
        ServerStart {
            order: (0..servers).collect(),
            division: None,
        }
    }
}

/// A run that is to be made.
#[derive(Clone)]
pub struct StepRun {
    /// The place of its server.
    pub server: usize,
    /// Runs that are alike have the same number, by which it is known how long the others take.
    pub group: usize,
    /// What follows the name of the series in its own: `3`, `a12`; nothing for a run that stands for itself.
    pub name: Option<String>,
    /// What it does.
    pub task: Arc<RunTask>,
    /// Users at work at the same time.
    pub users: u32,
    /// How they are driven.
    pub drive: Drive,
    /// Seed of everything random.
    pub seed: u64,
}

/// What a run does.
pub struct RunTask {
    /// Its plan.
    pub plan: Plan,
    /// The text of its suite, for the record.
    pub suite_text: String,
    /// What is sent beside it.
    pub background: Option<Arc<AskedBackground>>,
    /// Loads that go on beside it.
    pub beside: Vec<BesideTask>,
    /// What may be done to its target, where a load may change it, and whether that was allowed.
    pub permission: Option<(Permission, bool)>,
}

impl RunTask {
    /// With this background traffic, or else that of its suite, and nothing else beside it.
    ///
    /// # Errors
    ///
    /// The traffic makes no sense, or cannot be read.
    pub fn new(
        plan: Plan,
        suite_text: String,
        background: &BackgroundRequest,
    ) -> Result<RunTask, RunnerError> {
        Ok(RunTask {
            background: AskedBackground::of(background, &plan)?.map(Arc::new),
            plan,
            suite_text,
            beside: Vec::new(),
            permission: None,
        })
    }

    /// The same beside the same traffic, for a part of its plan.
    pub fn part(&self, plan: Plan) -> RunTask {
        RunTask {
            plan,
            suite_text: self.suite_text.clone(),
            background: self.background.clone(),
            beside: Vec::new(),
            permission: None,
        }
    }
}

/// The runs of a step.
pub struct StepRuns {
    /// As many as there were to be.
    pub runs: Vec<KeptRun>,
    /// Whether all of them went through to their end.
    pub is_whole: bool,
}

impl StepRuns {
    /// What came of a step: how its runs ended, or why there are none; and why one of its servers ended by itself.
    pub(crate) fn made(
        runs: Result<Vec<Result<KeptRun, IncompleteRun>>, StepFailure>,
        gone: Option<RunnerError>,
    ) -> MadeStep<StepRuns> {
        let runs = match runs {
            Ok(runs) => runs,
            Err(StepFailure { why, has_begun }) => {
                let why = first_reason(why, gone);
                let ended = Some(StepFailure { why, has_begun });
                return MadeStep {
                    outcome: None,
                    ended,
                };
            }
        };
        let count = runs.len();
        let (ran, failed) = together(runs);
        let is_there = ran.len() == count;
        let why = match failed {
            Some(why) => Some(first_reason(why, gone)),
            None => gone,
        };
        let has_begun = true;
        MadeStep {
            outcome: is_there.then(|| StepRuns {
                runs: ran,
                is_whole: why.is_none(),
            }),
            ended: why.map(|why| StepFailure { why, has_begun }),
        }
    }
}

/// What the run of a server was like; `None` of one that was not made.
pub(super) fn ran(run: Option<&Result<KeptRun, IncompleteRun>>) -> RunsOfServer<'_> {
    match run {
        Some(Ok(whole)) if is_well(&whole.summary, &whole.run.events) => RunsOfServer::Well,
        Some(Ok(kept)) => RunsOfServer::Failed(Some(&kept.path)),
        Some(Err(IncompleteRun {
            why,
            run: Some(part),
        })) if !matches!(why, RunnerError::Interrupted(_)) => {
            RunsOfServer::Failed(Some(&part.path))
        }
        Some(Err(_)) | None => RunsOfServer::NotBegun,
    }
}

/// What there is of runs side by side, and why one of them did not go through: its own reason goes before what that did
/// to the others.
fn together(runs: Vec<Result<KeptRun, IncompleteRun>>) -> (Vec<KeptRun>, Option<RunnerError>) {
    let mut ran = Vec::new();
    let mut reasons = Vec::new();
    for run in runs {
        match run {
            Ok(whole) => ran.push(whole),
            Err(IncompleteRun { why, run: part }) => {
                let ended = part.as_ref().map(|part| &part.summary.complete);
                let rank = match (&why, ended) {
                    (_, Some(Completeness::Aborted(Some(by)))) if by == PARTNER_ENDED => 2,
                    (RunnerError::Interrupted(_), _) => 1,
                    _ => 0,
                };
                reasons.push((rank, why));
                ran.extend(part.map(|part| *part));
            }
        }
    }
    reasons.sort_by_key(|(rank, _)| *rank);
    (ran, reasons.into_iter().next().map(|(_, why)| why))
}

/// Which reason goes first: an interruption, a server that ended, what else failed.
pub(super) fn first_reason(failed: RunnerError, gone: Option<RunnerError>) -> RunnerError {
    match (failed, gone) {
        (failed @ RunnerError::Interrupted(_), _) | (failed, None) => failed,
        (_, Some(gone)) => gone,
    }
}

/// The runs of a series that went through to their end.
pub fn whole(history: &SeriesHistory<RunStep, StepRuns>) -> impl Iterator<Item = &KeptRun> {
    let whole = history.outcomes().filter(|made| made.is_whole);
    whole.flat_map(|made| &made.runs)
}
