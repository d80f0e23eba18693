//! Where a user stands in a test, and what it remembers of the way.

use std::borrow::Cow;
use std::collections::BTreeSet;

use record::{MeasureId, Nanos};
use suite::{Piece, RequestPlan, TestPlan, Text, Variable};

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
    /// Requests whose first answer has been read closely.
    pub(super) read_closely: BTreeSet<*const RequestPlan>,
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
    pub(super) fn new(test: &'a TestPlan, workplace: String) -> Self {
        Script {
            test,
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

    /// Fills in a text; `None` when something it needs was not saved.
    pub(super) fn fill<'t>(&self, text: &'t Text, user: u32) -> Option<Cow<'t, str>> {
        match text {
            Text::Fixed(text) => Some(Cow::Borrowed(text)),
            Text::Live(live) => {
                let mut filled = String::new();
                self.fill_pieces(live.pieces(), user, &mut filled)?;
                Some(Cow::Owned(filled))
            }
        }
    }

    pub(super) fn fill_pieces(&self, pieces: &[Piece], user: u32, out: &mut String) -> Option<()> {
        use std::fmt::Write;
        for piece in pieces {
            // Writing to a String cannot fail.
            let _ = match piece {
                Piece::Literal(text) => out.write_str(text),
                Piece::Variable(Variable::Iteration) => write!(out, "{}", self.iteration),
                Piece::Variable(Variable::User) => write!(out, "{user}"),
                Piece::Variable(Variable::Saved(slot)) => {
                    out.write_str(self.saved.get(*slot)?.as_deref()?)
                }
                Piece::Variable(Variable::Repetition(place)) => {
                    write!(out, "{}", self.repetitions.get(*place)?)
                }
            };
        }
        Some(())
    }
}

/// What has been seen to work: a measure, or an unmeasured step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worked {
    Measure(MeasureId),
    Step(*const RequestPlan),
}

impl Worked {
    pub(super) fn of(request: &RequestPlan) -> Worked {
        match request.measure {
            Some(measure) => Worked::Measure(measure),
            None => Worked::Step(request),
        }
    }
}
