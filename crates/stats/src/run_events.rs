//! Facts about the tests of a run from its events, sorted by their subject.

use std::collections::{BTreeMap, BTreeSet};

use record::{
    EndedBy, Event, EventKind, Generator, Goal, LeftBehind, MeasureId, MissingStep, Nanos, TestId,
};

use crate::StatusReason;
use crate::failures::FailureKind;
use crate::origins::ResponseOrigins;

/// The events of a run by their subjects. Repeated texts are kept once.
#[derive(Debug, Default)]
pub(crate) struct RunEvents {
    /// The first step that the server does not support, `None` for the whole test, with evidence.
    pub(crate) not_supported: BTreeMap<TestId, (Option<MissingStep>, String)>,
    pub(crate) test_failed: BTreeMap<TestId, Vec<StatusReason>>,
    /// Tests whose measured part has an end in the record.
    pub(crate) measured: BTreeSet<TestId>,
    /// Numbers of users at work with their phases, and when they began.
    pub(crate) loads: Vec<(u16, u32, Nanos)>,
    /// Measurements that were ended before their time, `None` for the whole run.
    pub(crate) ended: Vec<(Option<TestId>, EndedBy)>,
    /// Failed operations, each with its outcome and status.
    pub(crate) failures: BTreeMap<MeasureId, Vec<(FailureKind, StatusReason)>>,
    pub(crate) notes: BTreeMap<MeasureId, Vec<String>>,
    pub(crate) warnings: Vec<String>,
    pub(crate) left_behind: Vec<LeftBehind>,
    pub(crate) generators: BTreeMap<TestId, Vec<Generator>>,
    pub(crate) goal: Option<Goal>,
    /// How often the clock of the kernel's stamps was set.
    pub(crate) clock_steps: u64,
    pub(crate) origins: BTreeMap<MeasureId, ResponseOrigins>,
}

impl RunEvents {
    /// Nanoseconds that the run waited between two batches, because other runs were measured.
    pub(crate) fn waited(&self, test: TestId) -> Nanos {
        self.generators_of(test)
            .iter()
            .map(|generator| generator.waited)
            .sum()
    }

    pub(crate) fn generators_of(&self, test: TestId) -> &[Generator] {
        self.generators.get(&test).map_or(&[], Vec::as_slice)
    }

    /// The condition that ended the measurement of a test early.
    pub(crate) fn ended(&self, test: TestId) -> Option<&EndedBy> {
        let mut all = self.ended.iter();
        let found = all.find(|(ended, _)| ended.is_none_or(|ended| ended == test));
        found.map(|(_, by)| by)
    }

    /// Sorts the events of a run with this number of users.
    pub(crate) fn by(events: &[Event], users: u32) -> RunEvents {
        let mut sorted = RunEvents::default();
        for event in events {
            sorted.take(event, users);
        }
        sorted
    }

    fn take(&mut self, event: &Event, users: u32) {
        match &event.kind {
            EventKind::NotSupported {
                test,
                step,
                evidence,
            } => {
                self.not_supported
                    .entry(*test)
                    .or_insert_with(|| (step.clone(), evidence.clone()));
            }
            EventKind::TestFailed { test, evidence } => {
                let evidence = StatusReason::Evidence(evidence.clone());
                push_new(self.test_failed.entry(*test).or_default(), evidence);
            }
            EventKind::OperationFailed {
                measure,
                user,
                number,
                outcome,
                status,
                evidence,
                ..
            } => {
                let described = StatusReason::Operation {
                    number: *number,
                    user: (users > 1).then_some(*user),
                    outcome: *outcome,
                    evidence: evidence.clone(),
                };
                let all = self.failures.entry(*measure).or_default();
                all.push(((*outcome, *status), described));
            }
            EventKind::Note { measure, text } => {
                push_new(self.notes.entry(*measure).or_default(), text.clone());
            }
            EventKind::Warning { text } => push_new(&mut self.warnings, text.clone()),
            EventKind::LeftBehind(left) => push_new(&mut self.left_behind, left.clone()),
            EventKind::Generator(generator) => {
                let records = self.generators.entry(generator.test).or_default();
                records.push(generator.clone());
            }
            EventKind::Goal(goal) => self.goal = Some(*goal),
            EventKind::ClockStepped { .. } => self.clock_steps += 1,
            EventKind::MeasuringEnded { test } => {
                self.measured.insert(*test);
            }
            EventKind::EndedEarly { by } => {
                let test = match by {
                    EndedBy::Step { test } => *test,
                    EndedBy::Constraint { .. } => None,
                };
                self.ended.push((test, by.clone()));
            }
            EventKind::Origins(of) => self.origins.entry(of.measure).or_default().add(of),
            EventKind::LoadChanged { users, phase } => self.loads.push((*phase, *users, event.at)),
            EventKind::Background(_)
            | EventKind::Inside(_)
            | EventKind::Traced(_)
            | EventKind::UnseenCalls { .. }
            | EventKind::Flame(_)
            | EventKind::ServerTimes(_)
            | EventKind::AccessLog(_)
            | EventKind::BackgroundEnded(_)
            | EventKind::TestStarted { .. }
            | EventKind::MeasuringStarted { .. }
            | EventKind::TestEnded { .. }
            | EventKind::Aborted { .. }
            | EventKind::FirstAnswer { .. }
            | EventKind::ClosedSilently { .. }
            | EventKind::Interrupted => {}
        }
    }
}

/// Appends an item that is not there yet. The lists are short: events are bounded by the engine.
pub(crate) fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
