//! Samples -> estimates: what a recorded run says, in numbers.
//!
//! ```text
//! events  --> told ------------------------------+--> status --+
//!                                                |             |
//! samples --> by test --> window --> counted? ---+--> row -----+--> Summary
//!                                                              |
//!                          interval, distribution --> times ---+--> warnings
//! ```
//!
//! Everything here is a pure function of a [`Run`]: no clock, no socket, no file, no randomness,
//! and the order of the samples does not matter. The rules, each in the module it names:
//!
//! - With several users only what happens while all of them are at work counts (`window`). What
//!   lies outside is counted beside it, and never enters a time.
//! - Failed operations never enter a time. A server that fails fast never looks fast: the rate is
//!   that of the expected answers, too.
//! - Percentiles are exact and never averaged (`distribution`).
//! - The interval of a mean allows for correlated neighbours ([`interval`]).
//! - *Ok*, *failed* and *not supported* are three things (`status`).
//! - Doubts are a closed list ([`Warning`]).

pub mod interval;

mod distribution;
mod outcomes;
mod row;
mod status;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod told;
mod warning;
mod window;

use record::{LeftBehind, MeasureId, Run, Sample, TestId};

pub use distribution::Distribution;
pub use outcomes::Outcomes;
pub use row::{Connects, TestSummary};
pub use status::{Status, describe_failed};
pub use told::{Completeness, FAILURES_DESCRIBED};
pub use warning::{Limit, P99_NEEDS, Share, Warning};

use told::Told;
use warning::WindowFacts;
use window::{NoWindow, Window};

/// What a run says: one row for each measure of the plan, in its order, and the doubts.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// One row for each measure of the plan, in the order of the plan.
    pub tests: Vec<TestSummary>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Whether the run went through to its end.
    pub complete: Completeness,
    /// Collections of ours that are still on the server.
    pub left_behind: Vec<LeftBehind>,
}

impl Summary {
    /// Operations outside the windows, of all tests.
    pub fn left_out(&self) -> u64 {
        self.tests.iter().map(TestSummary::left_out).sum()
    }

    /// Some test failed, which is what the exit status tells.
    pub fn any_failed(&self) -> bool {
        self.tests.iter().any(|test| test.status == Status::Failed)
    }
}

/// Summarises a run. The order of its samples does not matter.
pub fn summarise(run: &Run) -> Summary {
    let told = Told::by(run);
    let complete = Completeness::of(run);
    let (groups, orphans) = group(run);
    let tests: Vec<TestSummary> = run
        .plan
        .measures
        .iter()
        .zip(0..)
        .map(|(measure, index)| {
            // Every measure is in the group of its test, by construction of the groups.
            let group = groups.iter().find(|group| group.id == measure.test);
            row::row(measure, MeasureId(index), group, &told, &complete)
        })
        .collect();
    let windows: Vec<WindowFacts> = groups
        .iter()
        .map(|group| group.window_facts(run, &tests))
        .collect();
    let warnings = warning::all(&run.plan.load, &tests, &windows, orphans, told.warnings);
    Summary {
        tests,
        warnings,
        complete,
        left_behind: told.left_behind,
    }
}

/// The samples of one test of the plan, in the order of time, and the window in which they count.
struct Group<'a> {
    id: TestId,
    samples: Vec<&'a Sample>,
    window: Result<Window, NoWindow>,
}

/// Sorts samples by the tests that have measures, in the order of the plan; also says how many
/// belong to none.
fn group(run: &Run) -> (Vec<Group<'_>>, u64) {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut place_of_measure = Vec::new();
    for measure in &run.plan.measures {
        let known = groups.iter().position(|group| group.id == measure.test);
        place_of_measure.push(known.unwrap_or(groups.len()));
        if known.is_none() {
            let window = Err(NoWindow::Nothing);
            groups.push(Group {
                id: measure.test,
                samples: Vec::new(),
                window,
            });
        }
    }
    let mut orphans = 0;
    for sample in &run.samples {
        match place_of_measure.get(usize::from(sample.measure.0)) {
            Some(place) => groups[*place].samples.push(sample),
            None => orphans += 1,
        }
    }
    for group in &mut groups {
        group.samples.sort_unstable_by_key(|sample| order(sample));
        group.window = Window::of(run.plan.load.users, group.samples.iter().copied());
    }
    (groups, orphans)
}

/// By time; where two operations began at the same moment, anything that tells them apart, so
/// that the order of recording leaves no trace.
fn order(sample: &Sample) -> impl Ord + use<> {
    let moments = sample.moments;
    let connect = sample.connect.map(|connect| (connect.tcp, connect.tls));
    (
        (moments.started, sample.user, sample.number, sample.measure),
        (moments.sent, moments.first, moments.done),
        connect,
    )
}

impl Group<'_> {
    fn window_facts(&self, run: &Run, rows: &[TestSummary]) -> WindowFacts {
        let own = || {
            let measures = run.plan.measures.iter().zip(rows);
            measures
                .filter(|(measure, _)| measure.test == self.id)
                .map(|(_, row)| row)
        };
        let name = run.plan.tests.get(usize::from(self.id.0));
        WindowFacts {
            name: name.map_or_else(|| format!("test {}", self.id.0), |test| test.name.clone()),
            missing: self.window.err(),
            counted: own().map(TestSummary::operations).sum(),
            recorded: self.samples.len() as u64,
            not_supported: own().all(|row| row.status == Status::NotSupported),
        }
    }
}
