//! What a run says in numbers.

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

/// What a run says: one row for each measure of the plan, in its order, and the warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// One row for each measure of the plan, in the order of the plan.
    pub tests: Vec<TestSummary>,
    /// What its pages came to, where the plan has some.
    pub pages: Option<PagesSummary>,
    /// The warnings of all rows, each once and with the names of the rows or tests that it is
    /// about, and those about the run as a whole.
    pub warnings: Vec<Warning>,
    /// Whether the run went through to its end.
    pub complete: Completeness,
    /// Collections of ours that are still on the server.
    pub left_behind: Vec<LeftBehind>,
    /// Which clock gave the times, and what the other one would have said.
    pub clock: ClockSummary,
    /// How the generator fared, test by test, as far as the record tells.
    pub generator: Vec<Generator>,
    /// How near a load run came to what it was to go on for.
    pub goal: Option<Goal>,
    /// What a load came to with each number of users, where that changed.
    pub load_steps: Vec<LoadStep>,
    /// Background traffic beside the run, where there was some.
    pub background: Option<BackgroundSummary>,
    /// What went on inside of the server, where that was watched.
    pub inside: Option<InsideSummary>,
    /// Times that the server gives, where it gives some.
    pub server_view: Option<ServerView>,
    /// What ended measurements before their time.
    pub ended_early: Vec<EndedBy>,
    /// What the constraints of its plan came to.
    pub constraints: Vec<JudgedConstraint>,
    /// Runs that are put together in it: one, but on pages that show several runs of a server.
    pub runs: usize,
}

/// Which clock gave the times of a run, over all its operations that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSummary {
    /// The clock.
    pub clock: Clock,
    /// What user space would have added to the response times; only with the kernel's clock.
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
