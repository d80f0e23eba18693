//! Steps on this machine, and their outcomes.

use std::sync::Arc;

use engine::Drive;
use stats::Completeness;
use suite::Plan;

use crate::RunnerError;
use crate::background::{BackgroundRequest, RequestedBackground};
use crate::beside::BesideTask;
use crate::kept::KeptRun;
use crate::load::guard::Permission;
use crate::run::{IncompleteRun, PARTNER_ENDED, is_well};
use crate::series::{MadeStep, SeriesHistory, StepFailure};
use crate::servers::RunsOfServer;

/// Runs that are made at the same time.
pub struct RunStep {
    /// Start of servers before the step; `None`: they keep running.
    pub start: Option<ServerStart>,
    /// Runs that take turns.
    pub runs: Vec<StepRun>,
    /// Title in the progress bar.
    pub title: Option<String>,
}

impl RunStep {
    /// The run at this index of a series. Before the first one, `servers` servers are started,
    /// which then keep running.
    pub fn single(index: usize, servers: usize, run: StepRun) -> RunStep {
        RunStep {
            start: (index == 0).then(|| ServerStart::in_order(servers)),
            runs: vec![run],
            title: None,
        }
    }
}

/// A start of all servers.
pub struct ServerStart {
    /// Indices of servers, in the order of their starts.
    pub order: Vec<usize>,
    /// Number by which processors are divided between servers and load generator; `None`: the
    /// system divides them.
    pub division: Option<u32>,
}

impl ServerStart {
    /// A start of `servers` servers in their order.
    pub fn in_order(servers: usize) -> ServerStart {
        ServerStart {
            order: (0..servers).collect(),
            division: None,
        }
    }
}

/// A run to make.
#[derive(Clone)]
pub struct StepRun {
    /// Index of its server.
    pub server: usize,
    /// Runs that are alike have the same number; their durations estimate each other.
    pub group: usize,
    /// Suffix to the name of the series: `3`, `a12`; `None` for a single run.
    pub name: Option<String>,
    /// Its task.
    pub task: Arc<RunTask>,
    /// Concurrent users.
    pub users: u32,
    /// Driver of the users.
    pub drive: Drive,
    /// Seed of everything random.
    pub seed: u64,
}

/// Plan of a run, and its companions.
pub struct RunTask {
    /// Its plan.
    pub plan: Plan,
    /// The text of its suite, for the record.
    pub suite_text: String,
    /// Background traffic.
    pub background: Option<Arc<RequestedBackground>>,
    /// Loads beside it.
    pub beside: Vec<BesideTask>,
    /// Permission to change its target, and whether it was given.
    pub permission: Option<(Permission, bool)>,
}

impl RunTask {
    /// A task with this background traffic, or else that of its suite, and no other companions.
    ///
    /// # Errors
    ///
    /// The traffic is invalid, or cannot be read.
    pub fn new(
        plan: Plan,
        suite_text: String,
        background: &BackgroundRequest,
    ) -> Result<RunTask, RunnerError> {
        Ok(RunTask {
            background: RequestedBackground::of(background, &plan)?.map(Arc::new),
            plan,
            suite_text,
            beside: Vec::new(),
            permission: None,
        })
    }

    /// The same task for a part of its plan.
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
    /// One for each run of the step.
    pub runs: Vec<KeptRun>,
    /// All of them ended normally.
    pub is_whole: bool,
}

impl StepRuns {
    /// The outcome of a step: its runs or the error, and the reason why a server ended by itself.
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

/// State of the server according to its run; `None` if the run was not made.
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

/// Runs side by side as far as they went, and the first reason why one of them failed: its own,
/// before its consequences for the others.
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

/// The more important reason: an interruption, then a server that ended, then any other failure.
pub(super) fn first_reason(failed: RunnerError, gone: Option<RunnerError>) -> RunnerError {
    match (failed, gone) {
        (failed @ RunnerError::Interrupted(_), _) | (failed, None) => failed,
        (_, Some(gone)) => gone,
    }
}

/// The runs of a series that ended normally.
pub fn whole(history: &SeriesHistory<RunStep, StepRuns>) -> impl Iterator<Item = &KeptRun> {
    let whole = history.outcomes().filter(|made| made.is_whole);
    whole.flat_map(|made| &made.runs)
}
