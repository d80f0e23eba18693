//! Figures of a run.

use record::{Clock, EndedBy, Generator, Goal, LeftBehind};

use crate::background::BackgroundSummary;
use crate::bias::Bias;
use crate::inside::InsideSummary;
use crate::judged::JudgedConstraint;
use crate::load_steps::LoadStep;
use crate::pages::PagesSummary;
use crate::row::TestSummary;
use crate::server_view::ServerView;
use crate::status::Completeness;
use crate::warning::Warning;

/// Results of a run: one row for each measure of the plan, in its order, and the warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// One row for each measure of the plan, in the order of the plan.
    pub tests: Vec<TestSummary>,
    /// Results of its pages, where the plan has some.
    pub pages: Option<PagesSummary>,
    /// The warnings of all rows, each once and with the names of the rows or tests that it is
    /// about, and those about the run as a whole.
    pub warnings: Vec<Warning>,
    /// Completeness of the run.
    pub complete: Completeness,
    /// Collections of the run that are still on the server.
    pub left_behind: Vec<LeftBehind>,
    /// The clock that gave the times, and the times that the other one would have given.
    pub clock: ClockSummary,
    /// State of the generator, test by test, as far as the record shows it.
    pub generator: Vec<Generator>,
    /// Progress of a load run towards its goal.
    pub goal: Option<Goal>,
    /// Results of a load with each number of users, where that changed.
    pub load_steps: Vec<LoadStep>,
    /// Background traffic beside the run, where there was some.
    pub background: Option<BackgroundSummary>,
    /// Activity inside of the server, where that was watched.
    pub inside: Option<InsideSummary>,
    /// Times that the server gives, where it gives some.
    pub server_view: Option<ServerView>,
    /// Conditions that ended measurements early.
    pub ended_early: Vec<EndedBy>,
    /// Verdicts on the constraints of its plan.
    pub constraints: Vec<JudgedConstraint>,
    /// Number of runs in it: one, except on pages that show several runs of a server.
    pub runs: usize,
}

/// Which clock gave the times of a run, over all its operations that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSummary {
    /// The clock.
    pub clock: Clock,
    /// Time that user space would have added to the response times; only with the kernel's clock.
    pub bias: Option<Bias>,
    /// Expected operations without a response time, because the kernel's stamps never came.
    pub missed: u64,
}

impl Summary {
    /// Operations outside the windows, of all tests.
    pub fn left_out(&self) -> u64 {
        self.tests.iter().map(TestSummary::left_out).sum()
    }
}
