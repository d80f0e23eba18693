//! Position of a user in a test, and its memory of earlier steps.

use std::rc::Rc;

use record::Nanos;

use super::destination::ExplainedDestinations;
use super::request::TestPart;
use crate::connection::prepared::{RequestCount, Values};
use crate::drive::driver::Operating;
use crate::drive::step::{PreparedTest, RequestStep};

/// The part of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
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

/// Position of a user in a test.
pub(crate) struct Script {
    pub(crate) test: Rc<PreparedTest>,
    /// The index of the user's loop.
    pub(super) in_loop: usize,
    /// When the current iteration of a pace was to end; 0 before the first has.
    pub(super) paced_until: Nanos,
    pub(super) filling: Filling,
    /// The targets at which the collection in which the user works was made.
    pub(super) workplaces_made: Vec<usize>,
    /// Its set-up was begun.
    pub(super) is_begun: bool,
    pub(super) memory: Memory,
    /// This user has reported that it has done its share.
    pub(crate) through: bool,
    /// When the current batch of rounds has lasted long enough, if runs take turns.
    pub(crate) batch_end: Nanos,
}

/// Values of the placeholders of requests.
pub(crate) struct Filling {
    /// Path of the collection in which the user works, at each target.
    workplaces: Vec<String>,
    /// Values that steps have saved in this round.
    pub(super) saved: Vec<Option<Vec<u8>>>,
    /// Numbers of the current named repetitions, from the outermost on.
    repetitions: Vec<u32>,
}

/// A user's memory of the requests of a test.
#[derive(Default)]
pub(crate) struct Memory {
    /// Rounds through the loop, warm-up included: the `n` of templates.
    pub(super) iteration: u64,
    /// Requests whose first response has been checked closely, by their indices.
    read_closely: SmallSet,
    /// Requests that warmed the server up, by their measures.
    pub(super) begun: SmallSet,
    /// Measures that have worked in this test: they are supported, whatever later responses are.
    worked_measures: SmallSet,
    worked_steps: SmallSet,
    /// Why nothing else of the current round can be measured.
    pub(super) broken: Option<String>,
    /// Why destinations were declined.
    pub(super) destinations: ExplainedDestinations,
}

/// A set of small numbers.
#[derive(Default)]
pub(super) struct SmallSet(Vec<bool>);

impl SmallSet {
    /// Adds one; true if it was not there.
    pub(super) fn insert(&mut self, index: usize) -> bool {
        if index >= self.0.len() {
            self.0.resize(index + 1, false);
        }
        !std::mem::replace(&mut self.0[index], true)
    }

    fn contains(&self, index: usize) -> bool {
        self.0.get(index).copied().unwrap_or_default()
    }
}

impl Script {
    /// The script of a user with these collections at the targets.
    pub(super) fn new(test: Rc<PreparedTest>, user: u32, workplaces: Vec<String>) -> Self {
        Script {
            in_loop: test.loop_of(user),
            paced_until: 0,
            filling: Filling {
                workplaces,
                saved: vec![None; test.saved],
                repetitions: Vec::new(),
            },
            test,
            workplaces_made: Vec::new(),
            is_begun: false,
            memory: Memory::default(),
            through: false,
            batch_end: 0,
        }
    }

    pub(super) fn workplace(&self, target: usize) -> &str {
        &self.filling.workplaces[target]
    }

    /// The role of the user, from 1; 0 in a test without roles.
    pub(super) fn role(&self) -> u16 {
        self.test.loops[self.in_loop].role
    }

    /// Begins measuring: the first responses of the measured part are checked closely, not those of
    /// the warm-up.
    pub(crate) fn start_measuring(&mut self, batch_end: Nanos) {
        self.memory.read_closely = SmallSet::default();
        self.paced_until = 0;
        self.batch_end = batch_end;
    }

    pub(super) fn begin_round(&mut self) {
        self.memory.begin_round();
        self.filling.saved.fill(None);
    }

    /// Values for requests, and the memory of them.
    pub(crate) fn parts(&mut self, phase: Phase) -> (TestPart<'_>, &mut Memory) {
        let part = TestPart {
            test: &self.test,
            role: self.role(),
            phase,
            filling: &self.filling,
        };
        (part, &mut self.memory)
    }

    /// True if the round cannot be completed.
    pub(crate) fn is_broken(&self) -> bool {
        self.memory.broken.is_some()
    }

    /// Earliest beginning of the next iteration of this pace: a longer iteration is not
    /// compensated.
    pub(super) fn next_pace(&mut self, operating: &Operating, time: Nanos) -> Nanos {
        let begun = operating.started.unwrap_or(operating.ended);
        let since = if self.paced_until == 0 {
            begun
        } else {
            self.paced_until
        };
        self.paced_until = (since + time).max(operating.ended);
        self.paced_until
    }

    /// Begins a repetition, its number counted from 1.
    pub(super) fn repeats(&mut self, counter: Option<usize>, number: u32) {
        if let Some(index) = counter {
            self.filling.repetitions.truncate(index);
            self.filling.repetitions.push(number);
        }
    }
}

impl Filling {
    /// Values for the placeholders of the next request, which goes to that target.
    pub(super) fn values<'v>(
        &'v self,
        count: RequestCount,
        purpose: &'v str,
        target: usize,
    ) -> Values<'v> {
        Values {
            count,
            purpose,
            workplace: &self.workplaces[target],
            saved: &self.saved,
            repetitions: &self.repetitions,
        }
    }
}

impl Memory {
    pub(crate) fn begin_round(&mut self) {
        self.iteration += 1;
        self.broken = None;
    }

    /// Notes that nothing else of the current round can be measured.
    pub(super) fn break_off(&mut self, why: &str) {
        self.broken.get_or_insert_with(|| why.to_owned());
    }

    /// True if the next response to a step is its first since measuring began.
    pub(super) fn is_first_response(&mut self, step: &RequestStep) -> bool {
        self.read_closely.insert(step.index)
    }

    /// Notes that a step had the expected response.
    pub(super) fn has_worked(&mut self, step: &RequestStep) {
        match step.plan.measure {
            Some(measure) => self.worked_measures.insert(usize::from(measure.0)),
            None => self.worked_steps.insert(step.index),
        };
    }

    /// True if a step, or another with its measure, ever had the expected response.
    pub(super) fn worked(&self, step: &RequestStep) -> bool {
        match step.plan.measure {
            Some(measure) => self.worked_measures.contains(usize::from(measure.0)),
            None => self.worked_steps.contains(step.index),
        }
    }
}
