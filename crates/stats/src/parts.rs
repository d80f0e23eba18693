//! Parts of a run that constraints are about: stages of the load, and the last seconds.
//!
//! The operations of a stage are those that were planned in it, and its window reaches from the
//! first of them to the last response, as that of an open loop does. A sliding window has the
//! operations that begin in it; while the run goes on, those that end in it, because slow ones
//! under way would be missing from those that begin.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use constraint::{Constraint, PartOfRun};
use record::{Nanos, Pace, PlanRecord, Sample, TestId};

use crate::estimated::RunEstimates;
use crate::summariser::Summariser;
use crate::window::{MeasurementWindow, NoWindow, Span, end};

/// Operations of a test that are held for sliding windows: 50 MB.
const HELD: usize = 250_000;

/// Sums over the parts that the constraints of a plan name.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartsOfRun {
    stages: BTreeMap<u16, Summariser>,
    /// The length of the longest sliding window; 0 without any.
    length: Nanos,
    recent: BTreeMap<TestId, Recent>,
}

/// The operations of the last seconds of a test.
#[derive(Debug, Clone, Default)]
struct Recent {
    /// When the last of them ended.
    newest: Nanos,
    samples: VecDeque<Sample>,
    /// When the last of those ended that did not fit.
    lost_until: Nanos,
}

pub(crate) enum PartEstimates {
    Known(Box<RunEstimates<'static>>),
    /// The load has no such stage.
    NoStage,
    /// Its operations were more than are held.
    TooMany,
}

/// A duration of the language, which is below an hour.
fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

/// The parts that the constraints of a plan name, each once.
fn named(plan: &PlanRecord) -> Vec<PartOfRun> {
    let parsed = plan.constraints.iter();
    let parsed = parsed.filter_map(|record| Constraint::parse(&record.expression).ok());
    let mut found = Vec::new();
    for constraint in parsed {
        let of_operations = constraint
            .characteristics()
            .filter(|of| !of.statistic.is_background());
        for part in of_operations.map(|of| of.part) {
            if part != PartOfRun::Whole && !found.contains(&part) {
                found.push(part);
            }
        }
    }
    found
}

/// The plan of a part, in which no constraint names a part again.
fn plan_of_part(plan: &PlanRecord) -> PlanRecord {
    PlanRecord {
        constraints: Vec::new(),
        ..plan.clone()
    }
}

/// The plan of a stage alone; `None` where the load has no such stage.
fn plan_of_stage(plan: &PlanRecord, stage: u16) -> Option<PlanRecord> {
    let mut plan = plan_of_part(plan);
    let is_adaptive = plan.load.adapt.take().is_some();
    let Pace::Open { stages, .. } = &mut plan.load.pace else {
        return (stage == 1 || is_adaptive).then_some(plan);
    };
    let stage = *stages.get(usize::from(stage).checked_sub(1)?)?;
    *stages = vec![stage];
    Some(plan)
}

impl PartsOfRun {
    pub(crate) fn of(plan: &PlanRecord) -> PartsOfRun {
        let mut parts = PartsOfRun::default();
        for part in named(plan) {
            match part {
                PartOfRun::Whole => {}
                PartOfRun::Stage(stage) => {
                    if let Some(plan) = plan_of_stage(plan, stage) {
                        parts.stages.insert(stage, Summariser::new(&plan));
                    }
                }
                PartOfRun::Last(seconds) => parts.length = parts.length.max(nanos(seconds)),
            }
        }
        parts
    }

    pub(crate) fn add(&mut self, sample: &Sample, test: TestId, window: MeasurementWindow) {
        if let Some(stage) = self.stages.get_mut(&sample.phase.saturating_add(1)) {
            stage.add_one(sample, |_| window);
        }
        if self.length > 0 && window.contains(sample) {
            self.recent
                .entry(test)
                .or_default()
                .add(sample, self.length);
        }
    }

    pub(crate) fn merge(&mut self, other: &PartsOfRun) {
        for (stage, sums) in &mut self.stages {
            if let Some(others) = other.stages.get(stage) {
                sums.merge(others);
            }
        }
        for (test, others) in &other.recent {
            let recent = self.recent.entry(*test).or_default();
            recent.lost_until = recent.lost_until.max(others.lost_until);
            for sample in &others.samples {
                recent.add(sample, self.length);
            }
        }
    }

    /// The estimates of each part that constraints name; `windows` are those of the whole run.
    pub(crate) fn estimates(
        &self,
        plan: &PlanRecord,
        windows: &BTreeMap<TestId, Result<Span, NoWindow>>,
        goes_on: bool,
    ) -> Vec<(PartOfRun, PartEstimates)> {
        let of = |part: PartOfRun| match part {
            PartOfRun::Whole => PartEstimates::NoStage,
            PartOfRun::Stage(stage) => self.stage_estimates(stage, windows),
            PartOfRun::Last(seconds) => {
                self.window_estimates(plan, nanos(seconds), windows, goes_on)
            }
        };
        named(plan)
            .into_iter()
            .map(|part| (part, of(part)))
            .collect()
    }

    fn stage_estimates(
        &self,
        stage: u16,
        windows: &BTreeMap<TestId, Result<Span, NoWindow>>,
    ) -> PartEstimates {
        let Some(operations) = self.stages.get(&stage) else {
            return PartEstimates::NoStage;
        };
        // Operations before all users were at work, and after, are not counted.
        let inside = |(test, hull): (TestId, Result<Span, NoWindow>)| {
            let whole = windows
                .get(&test)
                .copied()
                .unwrap_or(Err(NoWindow::Nothing));
            let both = hull.and_then(|hull| Ok(hull.overlap(whole?)));
            let is_some = |both: &Span| both.start <= both.end;
            let both = both.and_then(|both| Some(both).filter(is_some).ok_or(NoWindow::Nothing));
            (test, both)
        };
        let windows = operations.hulls().into_iter().map(inside).collect();
        let estimates = RunEstimates::of(Cow::Owned(operations.clone()), &[], windows);
        PartEstimates::Known(Box::new(estimates))
    }

    fn window_estimates(
        &self,
        plan: &PlanRecord,
        length: Nanos,
        windows: &BTreeMap<TestId, Result<Span, NoWindow>>,
        goes_on: bool,
    ) -> PartEstimates {
        let last = |whole: &Span| Span {
            start: whole.start.max(whole.end.saturating_sub(length)),
            end: whole.end,
        };
        let windows: BTreeMap<_, _> = windows
            .iter()
            .map(|(test, whole)| (*test, whole.as_ref().map(last).map_err(|why| *why)))
            .collect();
        let mut operations = Summariser::new(&plan_of_part(plan));
        for (test, recent) in &self.recent {
            let Some(Ok(window)) = windows.get(test) else {
                continue;
            };
            if recent.lost_until > window.start {
                return PartEstimates::TooMany;
            }
            for sample in &recent.samples {
                if !goes_on {
                    operations.add_one(sample, |_| Ok(*window).into());
                } else if (window.start..=window.end).contains(&end(sample)) {
                    operations.add_one(sample, |_| MeasurementWindow::Everything);
                }
            }
        }
        PartEstimates::Known(Box::new(RunEstimates::of(
            Cow::Owned(operations),
            &[],
            windows,
        )))
    }
}

impl Recent {
    /// Holds an operation, and those no longer that ended before a window of that length ending
    /// now. They come roughly in the order in which they end: of those at the front, some that
    /// follow may be older.
    fn add(&mut self, sample: &Sample, length: Nanos) {
        self.newest = self.newest.max(end(sample));
        self.samples.push_back(sample.clone());
        let oldest = self.newest.saturating_sub(length);
        let is_old = |first: &Sample| end(first) < oldest;
        while self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
        if self.samples.len() > HELD {
            let lost = self.samples.pop_front();
            self.lost_until = lost.map_or(0, |lost| end(&lost)).max(self.lost_until);
        }
    }
}
