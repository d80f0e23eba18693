//! Servers measured side by side, in turns.
//!
//! ```text
//! block 1   start B, start A   test 1: A B B A A B B A ...   test 2: B A A B ...   stop both
//! block 2   start A, start B   test 1: B A A B B A A B ...   test 2: A B B A ...   stop both
//! ...
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::{Drive, Rounds};
use record::{MeasureRecord, PlanRecord};
use stats::{ComparedBy, Side};
use suite::{Limit, Plan};

use super::budget::{Blocks, LEAST_BLOCKS, TestBlock};
use super::starts::start_order;
use crate::RunnerError;
use crate::kept::KeptRun;
use crate::local::{RunStep, RunTask, ServerStart, StepRun, StepRuns};
use crate::series::{NextStep, Policy, SeriesHistory};
use crate::words::number_of;
use crate::words::roughly;

/// Letters for the runs of the servers.
pub const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Properties that all blocks of a comparison share.
#[derive(Clone)]
pub struct BlockFrame {
    /// Seed of all runs of a block, so that random choices are the same.
    pub seed: u64,
    /// By server: it is started for each block.
    pub are_started: Vec<bool>,
    /// Servers and load generator have processors of their own.
    pub are_kept_apart: bool,
    /// Concurrent users.
    pub users: u32,
    /// Times each user goes through a loop before measuring.
    pub warmup: u32,
}

impl BlockFrame {
    /// The block of that number, from 1: a run of each server, after a fresh start of those started
    /// here.
    pub fn block(&self, number: u32, task: &Arc<RunTask>) -> RunStep {
        let run = |((server, is_started), letter): ((usize, &bool), char)| StepRun {
            server,
            group: server,
            name: Some(format!("{letter}{number}")),
            task: Arc::clone(task),
            users: self.users,
            drive: self.rounds(*is_started, &task.plan),
            seed: self.seed.wrapping_add(u64::from(number)),
        };
        let servers = self.are_started.iter().enumerate().zip(LETTERS.chars());
        RunStep {
            start: Some(ServerStart {
                order: start_order(self.seed, number, self.are_started.len()),
                division: self.are_kept_apart.then_some(number),
            }),
            runs: servers.map(run).collect(),
            title: None,
        }
    }

    /// A fresh server is warmed up at most for as long as it is measured.
    fn rounds(&self, is_started: bool, plan: &Plan) -> Drive {
        Drive::Rounds(Rounds {
            warmup: self.warmup,
            steady_within: if is_started {
                measured_for(plan)
            } else {
                Duration::ZERO
            },
        })
    }
}

/// Longest warm-up of a fresh server that is measured by requests.
const STEADY_WITHIN: Duration = Duration::from_millis(100);

fn measured_for(plan: &Plan) -> Duration {
    match plan.tests.first().map(|test| test.limit) {
        Some(Limit::Duration(duration)) => duration,
        _ => STEADY_WITHIN,
    }
}

/// The task of a block: these of the requested rows, for so long.
type TaskOfBlock<'a> = dyn Fn(Vec<String>, Duration) -> Result<RunTask, RunnerError> + 'a;

/// Blocks until all rows are decided, or a budget of time is spent.
pub struct BudgetedBlocks<'a> {
    frame: BlockFrame,
    budget: Blocks,
    whole: Plan,
    task: &'a TaskOfBlock<'a>,
    by: ComparedBy,
    block: Option<TestBlock>,
}

impl<'a> BudgetedBlocks<'a> {
    /// Blocks of the tests of a plan; each test takes part in at least `needed`.
    pub fn new(
        frame: BlockFrame,
        (budget, needed): (Duration, u32),
        whole: Plan,
        by: ComparedBy,
        task: &'a TaskOfBlock<'a>,
    ) -> BudgetedBlocks<'a> {
        let tests = whole.tests.iter().map(|test| test.name.clone());
        let sides = u32::try_from(frame.are_started.len()).unwrap_or(1);
        BudgetedBlocks {
            budget: Blocks::new(budget, (sides, needed), tests),
            frame,
            whole,
            task,
            by,
            block: None,
        }
    }

    fn learn(&mut self, history: &SeriesHistory<RunStep, StepRuns>) -> Option<String> {
        let (block, past) = (self.block.take()?, history.steps.last()?);
        let times = past.outcome.runs.iter().map(KeptRun::time_of_tests);
        let longest = times.reduce(|mut one, other| {
            for (test, took) in other {
                let time: &mut Duration = one.entry(test).or_default();
                *time = took.max(*time);
            }
            one
        });
        self.budget
            .add(&block, past.took, &longest.unwrap_or_default());
        let beyond = self.budget.beyond(history.elapsed);
        if let Some(open) = self.undecided(history) {
            self.budget.keep(|test| open.contains(test));
        }
        beyond.map(|least| said_beyond(least, block.tests.len()))
    }

    /// Names of tests with an undecided row; `None` before that is known.
    fn undecided(&self, history: &SeriesHistory<RunStep, StepRuns>) -> Option<BTreeSet<String>> {
        let side = |index: usize| -> Vec<Side<'_>> {
            let runs = history.outcomes().map(|made| made.runs[index].side());
            runs.collect()
        };
        let first = side(0);
        let mut open = BTreeSet::new();
        for other in 1..self.frame.are_started.len() {
            let compared = stats::compare_by(&first, &side(other), self.by).ok()?;
            let rows = compared.rows.into_iter().filter(|row| row.is_open);
            open.extend(rows.map(|row| row.name));
        }
        // The first block has all tests.
        let PlanRecord {
            measures, tests, ..
        } = first.first()?.plan;
        let of_open = measures
            .iter()
            .filter(|measure| open.contains(&measure.name));
        let tests = of_open.filter_map(|measure| tests.get(usize::from(measure.test.0)));
        Some(tests.map(|test| test.name.clone()).collect())
    }
}

impl Policy for BudgetedBlocks<'_> {
    type Step = RunStep;
    type Outcome = StepRuns;

    fn next(
        &mut self,
        history: &SeriesHistory<RunStep, StepRuns>,
    ) -> Result<NextStep<RunStep>, RunnerError> {
        let remark = self.learn(history);
        let Some(block) = self.budget.next(history.elapsed) else {
            return Ok(NextStep { remark, step: None });
        };
        let number = u32::try_from(history.steps.len() + 1).unwrap_or(u32::MAX);
        let task = (self.task)(rows_of(&self.whole, &block.tests), block.measured)?;
        let step = self.frame.block(number, &Arc::new(task));
        self.block = Some(block);
        Ok(NextStep {
            remark,
            step: Some(step),
        })
    }
}

/// The message after a first block that was too long for the budget.
fn said_beyond(least: Duration, tests: usize) -> String {
    format!(
        "prestan: this takes about {}, longer than --for: {} on each server take part in {LEAST_BLOCKS} blocks at \
         least, and each of their requests waits for its round trips. Name fewer tests (--only), or shorten the delay \
         of the path",
        roughly(least.as_secs_f64()),
        number_of(tests, "test")
    )
}

/// Names of the rows of these tests.
fn rows_of(plan: &Plan, tests: &[String]) -> Vec<String> {
    let of_block = |measure: &&MeasureRecord| {
        let test = plan.tests.iter().find(|test| test.id == measure.test);
        test.is_some_and(|test| tests.contains(&test.name))
    };
    let rows = plan.measures.iter().filter(of_block);
    rows.map(|measure| measure.name.clone()).collect()
}
