//! Where a user stands in a test, and what it remembers of the way.

use std::collections::BTreeSet;
use std::rc::Rc;

use record::{MeasureId, Nanos};
use suite::TestPlan;

use crate::connection::prepared::{Count, Values};
use crate::drive::step::{PreparedTest, RequestStep};

/// In which part of a test a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    SetUp,
    WarmUp,
    Measured,
    CleanUp,
}

impl Phase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Phase::SetUp => "set-up",
            Phase::WarmUp => "warm-up",
            Phase::Measured => "not measured",
            Phase::CleanUp => "clean-up",
        }
    }
}

/// Where a user stands in a test.
pub(super) struct Script<'a> {
    pub(super) test: &'a TestPlan,
    pub(super) steps: Rc<PreparedTest>,
    /// Path of the collection in which the user works.
    pub(super) workplace: String,
    /// Whether that collection was made.
    pub(super) workplace_made: bool,
    /// Whether the others know that this user has done its share.
    pub(super) through: bool,
    /// Rounds that the progress bar has seen.
    pub(super) counted: u64,
    /// Rounds through the loop, warm-up included: the `n` of templates.
    pub(super) iteration: u64,
    /// The visit under way, of which the requests are a part.
    pub(super) visit: Option<u64>,
    /// What steps have saved in this round.
    pub(super) saved: Vec<Option<String>>,
    /// Numbers of the named repetitions that are under way, from the outermost on.
    pub(super) repetitions: Vec<u32>,
    /// Requests whose first response has been read closely, by their places.
    pub(super) read_closely: BTreeSet<usize>,
    /// Measures of which something has been asked.
    pub(super) begun: BTreeSet<MeasureId>,
    /// What has worked in this test: it is supported, whatever is answered later.
    pub(super) worked: BTreeSet<Worked>,
    /// When the batch of rounds under way has lasted long enough, where runs take turns.
    pub(super) batch_end: Nanos,
    /// Measured operations in a row without any answer.
    pub(super) silent: u32,
}

impl<'a> Script<'a> {
    pub(super) fn new(test: &'a TestPlan, steps: Rc<PreparedTest>, workplace: String) -> Self {
        Script {
            test,
            steps,
            workplace,
            workplace_made: false,
            through: false,
            counted: 0,
            iteration: 0,
            visit: None,
            saved: vec![None; test.saved.len()],
            repetitions: Vec::new(),
            read_closely: BTreeSet::new(),
            begun: BTreeSet::new(),
            worked: BTreeSet::new(),
            batch_end: 0,
            silent: 0,
        }
    }

    /// The first answers of the measured part are read closely, not those of the warm-up.
    pub(super) fn start_measuring(&mut self, batch_end: Nanos) {
        self.read_closely.clear();
        self.batch_end = batch_end;
    }

    /// A repetition begins for the so manieth time, from 1.
    pub(super) fn repeats(&mut self, counter: Option<usize>, number: u32) {
        if let Some(place) = counter {
            self.repetitions.truncate(place);
            self.repetitions.push(number);
        }
    }

    /// What fills the holes of the next request.
    pub(super) fn values<'v>(&'v self, count: Count, purpose: &'v str) -> Values<'v> {
        Values {
            count,
            purpose,
            workplace: &self.workplace,
            saved: &self.saved,
            repetitions: &self.repetitions,
        }
    }
}

/// What has been seen to work: a measure, or an unmeasured step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worked {
    Measure(MeasureId),
    /// By its place.
    Step(usize),
}

impl Worked {
    pub(super) fn of(step: &RequestStep) -> Worked {
        match step.plan.measure {
            Some(measure) => Worked::Measure(measure),
            None => Worked::Step(step.place),
        }
    }
}
