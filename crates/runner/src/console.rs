//! What shows runs while they are made. The library prints nothing itself.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use engine::{Cancel, Drive, Observer, Progress};
use record::PlanRecord;
use suite::Plan;

use crate::RunnerError;
use crate::live::LiveStatistics;

/// Something that ends when it goes.
pub type Guard = Box<dyn Any + Send>;

/// What is made on servers, in words, once that is known.
pub type MadeOnServers = Arc<OnceLock<String>>;

/// Shows how far a series is, and tells what is to be told.
pub trait SeriesConsole: Send + Sync {
    /// Shows a run that is about to begin.
    fn show(&self, run: ShownRun<'_>) -> RunDisplay;

    /// A step begins, which is called so.
    fn begin_step(&self, title: Option<&str>);

    /// Says what a step came to.
    fn remark(&self, line: &str);

    /// Whether runs left something at that URL which is not told yet.
    fn has_left_behind(&self, server: &str) -> bool;

    /// Names what runs left on servers, but for those servers that are gone.
    fn tell_left_behind(&self, gone: &[String]);

    /// From now on, as long as the guard is there, Ctrl-C cancels what is measured; a second one names what is then still
    /// on servers.
    ///
    /// # Errors
    ///
    /// Signals cannot be waited for.
    fn on_interrupt(&self, cancel: &Cancel, made: &MadeOnServers) -> Result<Guard, RunnerError>;

    /// Whether nothing is said but what matters.
    fn is_quiet(&self) -> bool;
}

/// A run that is about to begin.
pub struct ShownRun<'r> {
    /// Runs that are alike have the same number.
    pub group: usize,
    /// What it does.
    pub plan: &'r Plan,
    /// What its record says of it.
    pub record: &'r PlanRecord,
    /// Users at work at the same time.
    pub users: u32,
    /// How they are driven.
    pub drive: &'r Drive,
    /// How far it is.
    pub progress: &'r Arc<Progress>,
    /// What the last seconds were like.
    pub live: &'r Arc<LiveStatistics>,
}

/// What shows a run.
pub struct RunDisplay {
    /// Is told of its events.
    pub observer: Arc<dyn Observer>,
    /// Draws until this goes.
    pub following: Option<Guard>,
}
