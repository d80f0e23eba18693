//! The material of warnings.

use record::{Load, Nanos, PlanRecord};

use super::stall::RowFacts;
use crate::TestSummary;
use crate::background::BackgroundFaults;
use crate::generator::Strain;
use crate::window::NoWindow;

pub(crate) struct TestFacts {
    pub(crate) name: String,
    pub(crate) missing: Option<NoWindow>,
    /// Operations that count.
    pub(crate) counted: u64,
    /// All operations.
    pub(crate) recorded: u64,
    /// The server cannot do the test, so that warnings about the window do not apply.
    pub(crate) not_supported: bool,
    /// Nanoseconds of operations under way inside the window, of all users together. The files of a
    /// page are one operation.
    pub(crate) under_way: u128,
    /// Operations that a user of a closed loop has under way at all times.
    pub(crate) of_each_user: u64,
    /// Nanoseconds that users let pass because they had no response yet, or because the suite has a
    /// pause or a request that is not measured, all together; `None` where the run ended before
    /// that was recorded.
    pub(crate) rested: Option<Nanos>,
    pub(crate) window: Nanos,
}

impl TestFacts {
    /// Of two tests of a load, which users do in one window.
    pub(crate) fn beside(self, other: TestFacts) -> TestFacts {
        TestFacts {
            missing: self.missing.and(other.missing),
            counted: self.counted + other.counted,
            recorded: self.recorded + other.recorded,
            not_supported: self.not_supported && other.not_supported,
            under_way: self.under_way + other.under_way,
            rested: self
                .rested
                .zip(other.rested)
                .map(|(one, other)| one + other),
            window: self.window.max(other.window),
            ..self
        }
    }
}

/// Facts of the operations of the last seconds of a load run under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lately {
    /// Operations that ended.
    pub operations: u64,
    /// Nanoseconds that they took, all together.
    pub under_way: u128,
    /// Expected responses, and those of them without stamps of the kernel.
    pub answers: (u64, u64),
    /// Time that user space would have added: number of times, and p99 in nanoseconds.
    pub bias: (u64, i64),
    /// Median response time, nanoseconds.
    pub response: Nanos,
}

pub(crate) struct WarningInputs<'a> {
    pub(crate) load: &'a Load,
    /// The run ended before it reached its limit.
    pub(crate) ended_early: bool,
    pub(crate) rows: &'a [TestSummary],
    pub(crate) row_facts: &'a [RowFacts],
    pub(crate) tests: &'a [TestFacts],
    pub(crate) strain: &'a Strain,
    pub(crate) orphans: u64,
    /// How often the clock of the kernel's stamps was set.
    pub(crate) clock_steps: u64,
    pub(crate) recorded: &'a [String],
    /// Tests beside another background load than the described one.
    pub(crate) background: &'a BackgroundFaults,
}

/// Operations that a user of a closed loop has under way at all times: as many as its pipeline is
/// long, but one where there are pages, because a page begins when the one before it is complete
/// and has no more requests to send than it has files.
pub(crate) fn operations_of_each_user(plan: &PlanRecord) -> u64 {
    if plan.pages.is_empty() {
        u64::from(plan.load.http.pipeline.max(1))
    } else {
        1
    }
}
