//! Display of runs while they are made. The library itself prints nothing.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use engine::{Cancel, Drive, Observer, Progress};
use record::PlanRecord;
use suite::Plan;

use crate::RunnerError;
use crate::live::LiveStatistics;

/// A task that ends when this is dropped.
pub type Guard = Box<dyn Any + Send>;

/// Description of what is made on servers, once known.
pub type MadeOnServers = Arc<OnceLock<String>>;

/// Displays the progress of a series.
pub trait SeriesConsole: Send + Sync {
    /// Displays a run that is about to begin.
    fn show(&self, run: ShownRun<'_>) -> RunDisplay;

    /// Announces a step with this title.
    fn begin_step(&self, title: Option<&str>);

    /// Displays the result of a step.
    fn remark(&self, line: &str);

    /// True if runs left something at that URL that was not reported yet.
    fn has_left_behind(&self, server: &str) -> bool;

    /// Reports what runs left on servers, except on servers in `gone`.
    fn report_left_behind(&self, gone: &[String]);

    /// While the guard exists, Ctrl-C cancels the measurement; a second one reports what is still
    /// on servers.
    ///
    /// # Errors
    ///
    /// Signals cannot be waited for.
    fn on_interrupt(&self, cancel: &Cancel, made: &MadeOnServers) -> Result<Guard, RunnerError>;

    /// Only warnings, errors and results are displayed.
    fn is_quiet(&self) -> bool;
}

/// A run that is about to begin.
pub struct ShownRun<'r> {
    /// Number of the group of runs that are alike.
    pub group: usize,
    /// Its plan.
    pub plan: &'r Plan,
    /// The plan as recorded.
    pub record: &'r PlanRecord,
    /// Concurrent users.
    pub users: u32,
    /// Driver of the users.
    pub drive: &'r Drive,
    /// Its progress.
    pub progress: &'r Arc<Progress>,
    /// Figures of the last seconds.
    pub live: &'r Arc<LiveStatistics>,
}

/// Displays one run.
pub struct RunDisplay {
    /// Receives its events.
    pub observer: Arc<dyn Observer>,
    /// Draws until this is dropped.
    pub following: Option<Guard>,
}
