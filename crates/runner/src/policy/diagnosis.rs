//! Suites of a diagnosis: one after the other, then once more what has been seen once, then with several users.

use std::sync::Arc;

use engine::{Drive, Rounds};
use report::NotMeasured;

use crate::RunnerError;
use crate::local::{RunStep, RunTask, ServerStart, StepRun, StepRuns};
use crate::series::{NextStep, PastStep, Policy, SeriesHistory};

/// A suite that is to be measured, with everything decided.
pub struct PlannedSuite {
    /// The suite, as it was asked for.
    pub name: String,
    /// What its run does.
    pub task: Arc<RunTask>,
    /// Users at work at the same time.
    pub users: u32,
    /// It is to show once more what it showed.
    pub is_repeat: bool,
}

impl PlannedSuite {
    /// How a report names it if it does not go through.
    fn not_measured(&self) -> NotMeasured {
        NotMeasured {
            suite: self.name.clone(),
            users: self.users,
            is_repeat: self.is_repeat,
        }
    }

    fn said(&self) -> String {
        let users = match self.users {
            1 => String::new(),
            users => format!(", {users} users"),
        };
        let again = if self.is_repeat { ", once more" } else { "" };
        format!("suite {}{users}{again}", self.name)
    }
}

/// The parts of the first suites which are to show once more what they showed.
type OnceMore<'a> =
    dyn Fn(&SeriesHistory<RunStep, StepRuns>) -> Result<Vec<PlannedSuite>, RunnerError> + 'a;

/// Groups of repeats begin with this number.
const REPEATS: usize = 1_000;

/// The suites of a diagnosis.
pub struct DiagnosisSuites<'a> {
    /// All that is known to be measured, in this order.
    suites: Vec<PlannedSuite>,
    /// How many come before it is known what is seen once.
    firsts: usize,
    are_repeats_known: bool,
    once_more: &'a OnceMore<'a>,
    warmup: u32,
    seed: u64,
}

impl<'a> DiagnosisSuites<'a> {
    /// These suites, then what is to be shown once more, then these with several users.
    /// All begin with so many rounds of warming up, and with seeds from this one on.
    pub fn new(
        firsts: Vec<PlannedSuite>,
        with_several_users: Vec<PlannedSuite>,
        once_more: &'a OnceMore<'a>,
        (warmup, seed): (u32, u64),
    ) -> DiagnosisSuites<'a> {
        let count = firsts.len();
        DiagnosisSuites {
            suites: firsts.into_iter().chain(with_several_users).collect(),
            firsts: count,
            are_repeats_known: false,
            once_more,
            warmup,
            seed,
        }
    }

    /// The steps that are known.
    pub fn steps(&self) -> impl Iterator<Item = RunStep> {
        (0..self.suites.len()).map(|place| self.step(place))
    }

    /// What was planned and not made, when so many suites were.
    pub fn not_measured(&self, made: usize) -> Vec<NotMeasured> {
        let missing = self.suites.iter().skip(made);
        missing.map(PlannedSuite::not_measured).collect()
    }

    /// Repeats were not planned when the others were.
    fn group(&self, place: usize) -> usize {
        let is_repeat = self.suites[place].is_repeat;
        let before = self.suites[..place].iter();
        let before = before.filter(|suite| suite.is_repeat == is_repeat);
        before.count() + usize::from(is_repeat) * REPEATS
    }

    fn step(&self, place: usize) -> RunStep {
        let suite = &self.suites[place];
        RunStep {
            start: (place == 0).then(|| ServerStart::in_order(1)),
            title: Some(suite.said()),
            runs: vec![StepRun {
                server: 0,
                group: self.group(place),
                name: Some((place + 1).to_string()),
                task: Arc::clone(&suite.task),
                users: suite.users,
                drive: Drive::Rounds(Rounds {
                    warmup: self.warmup,
                    ..Rounds::default()
                }),
                seed: self.seed.wrapping_add(place as u64),
            }],
        }
    }
}

impl Policy for DiagnosisSuites<'_> {
    type Step = RunStep;
    type Outcome = StepRuns;

    fn next(
        &mut self,
        history: &SeriesHistory<RunStep, StepRuns>,
    ) -> Result<NextStep<RunStep>, RunnerError> {
        let made = history.steps.len();
        if made == self.firsts && !self.are_repeats_known {
            let repeats = (self.once_more)(history)?;
            self.suites.splice(made..made, repeats);
            self.are_repeats_known = true;
        }
        let said = |last: &PastStep<RunStep, StepRuns>| {
            let title = last.step.title.as_deref().unwrap_or_default();
            format!("{title}: kept in {}", last.outcome.runs[0].path)
        };
        Ok(NextStep {
            remark: history.steps.last().map(said),
            step: (made < self.suites.len()).then(|| self.step(made)),
        })
    }
}
