//! Suites of a diagnosis: first each once, then the rows to confirm once more, then with several
//! users.

use std::sync::Arc;

use engine::{Drive, Rounds};
use report::NotMeasured;
use stats::Material;

use crate::RunnerError;
use crate::local::{RunStep, RunTask, StepRun, StepRuns};
use crate::series::{NextStep, PastStep, Policy, SeriesHistory};

/// A suite ready to measure.
pub struct PlannedSuite {
    /// The suite as requested.
    pub name: String,
    /// Its task.
    pub task: Arc<RunTask>,
    /// Concurrent users.
    pub users: u32,
    /// The run confirms rows of an earlier one.
    pub is_repeat: bool,
}

impl PlannedSuite {
    /// Its name in a report, if it is not completed.
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

/// The part of the first suite at this index that has these tests.
type PartOfSuite<'a> = dyn Fn(usize, Vec<String>) -> Result<PlannedSuite, RunnerError> + 'a;

/// First number of the groups of repeats.
const REPEATS: usize = 1_000;

/// The suites of a diagnosis.
pub struct DiagnosisSuites<'a> {
    /// All suites known so far, in order.
    suites: Vec<PlannedSuite>,
    /// Number of suites before the repeats are chosen.
    firsts: usize,
    are_repeats_known: bool,
    part: &'a PartOfSuite<'a>,
    warmup: u32,
    seed: u64,
}

impl<'a> DiagnosisSuites<'a> {
    /// First these suites, then the parts of them that confirm rows, then these with several users.
    /// All have this number of warm-up rounds, and seeds from this one on.
    pub fn new(
        firsts: Vec<PlannedSuite>,
        with_several_users: Vec<PlannedSuite>,
        part: &'a PartOfSuite<'a>,
        (warmup, seed): (u32, u64),
    ) -> DiagnosisSuites<'a> {
        let count = firsts.len();
        DiagnosisSuites {
            suites: firsts.into_iter().chain(with_several_users).collect(),
            firsts: count,
            are_repeats_known: false,
            part,
            warmup,
            seed,
        }
    }

    /// The steps known so far.
    pub fn steps(&self) -> impl Iterator<Item = RunStep> {
        (0..self.suites.len()).map(|index| self.step(index))
    }

    /// Planned suites that were not made, after the first `made`.
    pub fn not_measured(&self, made: usize) -> Vec<NotMeasured> {
        let missing = self.suites.iter().skip(made);
        missing.map(PlannedSuite::not_measured).collect()
    }

    /// Repeats are planned after the others.
    fn group(&self, index: usize) -> usize {
        let is_repeat = self.suites[index].is_repeat;
        let before = self.suites[..index].iter();
        let before = before.filter(|suite| suite.is_repeat == is_repeat);
        before.count() + usize::from(is_repeat) * REPEATS
    }

    fn step(&self, index: usize) -> RunStep {
        let suite = &self.suites[index];
        let run = StepRun {
            server: 0,
            group: self.group(index),
            name: Some((index + 1).to_string()),
            task: Arc::clone(&suite.task),
            users: suite.users,
            drive: Drive::Rounds(Rounds {
                warmup: self.warmup,
                ..Rounds::default()
            }),
            seed: self.seed.wrapping_add(index as u64),
        };
        RunStep {
            title: Some(suite.said()),
            ..RunStep::single(index, 1, run)
        }
    }

    /// Tests whose rows have a finding that needs confirmation.
    fn repeats(
        &self,
        history: &SeriesHistory<RunStep, StepRuns>,
    ) -> Result<Vec<PlannedSuite>, RunnerError> {
        let runs = history.outcomes().map(|made| made.runs[0].material.clone());
        let Some(runs) = runs.collect::<Option<Vec<Material>>>() else {
            return Ok(Vec::new());
        };
        let seen = stats::diagnose(&runs).seen_once;
        let of_suite = |(index, run): (usize, &Material)| {
            let rows = seen.iter().flat_map(|finding| &finding.tests);
            let measures = &run.plan.measures;
            let test = |row: &String| {
                let measure = measures.iter().find(|measure| measure.name == *row)?;
                let test = run.plan.tests.get(usize::from(measure.test.0))?;
                Some(test.name.clone())
            };
            let mut tests: Vec<String> = rows.filter_map(test).collect();
            tests.sort();
            tests.dedup();
            let repeat = |part| PlannedSuite {
                is_repeat: true,
                ..part
            };
            (!tests.is_empty()).then(|| (self.part)(index, tests).map(repeat))
        };
        runs.iter().enumerate().filter_map(of_suite).collect()
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
            let repeats = self.repeats(history)?;
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
