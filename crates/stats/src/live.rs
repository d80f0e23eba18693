//! Constraints while a run goes on: those of steps, and those that cannot be fulfilled any more.
//!
//! A condition is not a verdict: it compares estimates as they are, without their intervals. A
//! constraint with `abort` is judged at doubling times, each time with an interval that is wider
//! ([`miss_at_look`]), so that all looks together err as rarely as one at the end. A count that can
//! still grow is no reason to end a run.

use std::collections::{BTreeMap, BTreeSet};

use record::{
    ConstraintRecord, ConstraintSense, Environment, Event, EventKind, Machine, Nanos, Pace,
    PlanRecord, Sample, TestId,
};

use crate::estimated::{MISS, miss_at_look};
use crate::judge::JudgingMoment;
use crate::summariser::Summariser;
use crate::window::MeasurementWindow;
use crate::{Conclusion, JudgedConstraint};

/// Nanoseconds of measuring before the first check of the conditions that may end a run.
const FIRST_LOOK: Nanos = 1_000_000_000;

/// Adds up the operations of a run for its conditions, and for its constraints that end it.
#[derive(Debug)]
pub struct LiveJudge {
    /// Of a plan whose constraints are followed by the conditions.
    operations: Summariser,
    conditions: usize,
    /// Some constraint may end the run.
    may_end: bool,
    /// When the first operation began, and the last one ended.
    begun: Nanos,
    ended: Nanos,
    /// Checks so far of the conditions that may end the run.
    looks: u32,
    /// Counts of the sinks of background traffic.
    background: Vec<Event>,
    /// Users of each test of a suite who run measured operations, and those who were seen at work:
    /// before all were, nothing counts.
    expected: BTreeMap<TestId, u32>,
    seen: BTreeMap<TestId, BTreeSet<u32>>,
}

impl LiveJudge {
    /// For the conditions of the steps of a plan; `None` without any or a constraint that ends it.
    pub fn new(plan: &PlanRecord, conditions: &[String]) -> Option<LiveJudge> {
        let may_end = plan.constraints.iter().any(|constraint| constraint.abort);
        if !may_end && conditions.is_empty() {
            return None;
        }
        let condition = |expression: &String| ConstraintRecord {
            name: expression.clone(),
            expression: expression.clone(),
            sense: ConstraintSense::Trial,
            abort: false,
        };
        let all = plan
            .constraints
            .iter()
            .cloned()
            .chain(conditions.iter().map(condition));
        let plan = PlanRecord {
            constraints: all.collect(),
            ..plan.clone()
        };
        Some(LiveJudge {
            operations: Summariser::new(&plan),
            conditions: conditions.len(),
            may_end,
            begun: Nanos::MAX,
            ended: 0,
            looks: 0,
            background: Vec::new(),
            expected: plan.measured_users(),
            seen: BTreeMap::new(),
        })
    }

    /// Adds operations, as [`Summariser::add`] does.
    pub fn add(&mut self, samples: &[Sample], window: MeasurementWindow) {
        for sample in samples {
            self.begun = self.begun.min(sample.moments.started);
            self.ended = self
                .ended
                .max(sample.moments.done.unwrap_or(sample.moments.started));
            let counts = self.are_all_at_work(sample);
            self.operations.add_one(sample, |_| {
                if counts {
                    window
                } else {
                    MeasurementWindow::Nothing
                }
            });
        }
    }

    /// Adds [readings](EventKind::Background) of background traffic.
    pub fn add_background(&mut self, events: impl IntoIterator<Item = Event>) {
        self.background.extend(events);
    }

    /// True if all users were seen at work in the test, where its window waits for that.
    fn are_all_at_work(&mut self, sample: &Sample) -> bool {
        let plan = self.operations.plan();
        let index = usize::from(sample.measure.0);
        let (Pace::Rounds, Some(measure)) = (&plan.load.pace, plan.measures.get(index)) else {
            return true;
        };
        let users = self.expected[&measure.test] as usize;
        let shows_work = self.operations.shows_work(index);
        let seen = self.seen.entry(measure.test).or_default();
        if seen.len() < users && shows_work {
            seen.insert(sample.user);
        }
        seen.len() >= users
    }

    /// Truth of each condition on the measurements until now, in a window that began at `begun`.
    pub fn conditions(&self, begun: Option<Nanos>) -> Vec<bool> {
        if self.conditions == 0 {
            return Vec::new();
        }
        let judged = self.judged(begun, MISS);
        let first = judged.len().saturating_sub(self.conditions);
        judged[first..]
            .iter()
            .map(|one| one.verdict == Conclusion::Pass)
            .collect()
    }

    /// The name of a constraint that cannot be fulfilled any more, where it is time to look.
    pub fn broken(&mut self, begun: Option<Nanos>) -> Option<String> {
        let elapsed = self
            .ended
            .saturating_sub(self.begun.max(begun.unwrap_or(0)));
        let is_due = |looks: u32| {
            FIRST_LOOK
                .checked_shl(looks)
                .is_some_and(|due| due <= elapsed)
        };
        if !self.may_end || !is_due(self.looks) {
            return None;
        }
        while is_due(self.looks) {
            self.looks += 1;
        }
        let judged = self.judged(begun, miss_at_look(self.looks));
        let constraints = self.operations.plan().constraints.iter().zip(judged);
        let mut ending = constraints.filter(|(record, _)| record.abort);
        let broken = ending.find(|(_, one)| one.verdict == Conclusion::Fail);
        broken.map(|(record, _)| record.name.clone())
    }

    /// Verdicts on all constraints, and then on all conditions.
    fn judged(&self, begun: Option<Nanos>, miss: f64) -> Vec<JudgedConstraint> {
        let tests = self.operations.plan().tests.len();
        let tests = (0..tests).map(|test| TestId(u16::try_from(test).unwrap_or(u16::MAX)));
        let started = begun.map(|at| {
            tests.map(move |test| Event {
                at,
                kind: EventKind::MeasuringStarted { test },
            })
        });
        let started = started.into_iter().flatten();
        let events: Vec<Event> = started.chain(self.background.iter().cloned()).collect();
        let windows = self.operations.windows(&events);
        let now = JudgingMoment {
            miss,
            goes_on: true,
        };
        let (summary, _) = self
            .operations
            .conclude(&events, &under_way(), &windows, now);
        summary.constraints
    }
}

/// The environment of a run that goes on: fields that are known at its end only are not read.
fn under_way() -> Environment {
    Environment {
        others: Vec::new(),
        machine: Machine {
            os: String::new(),
            cpu: String::new(),
            cores: 0,
            memory_bytes: 0,
        },
        server: None,
        started_at: String::new(),
        ended_at: None,
        conclusion: None,
        samples: None,
        counted: Vec::new(),
    }
}
