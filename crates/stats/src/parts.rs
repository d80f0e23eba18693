//! PartsOfRun of a run that constraints are about: stages of the load, and the last seconds.
//!
//! The operations of a stage are those that were planned in it, and its window reaches from the first of them to
//! the last response, as that of an open loop does. A sliding window has the operations that begin in it.

use std::collections::{BTreeMap, VecDeque};

use constraint::{Constraint, PartOfRun};
use record::{Nanos, Pace, PlanRecord, Sample, TestId};

use crate::estimated::RunEstimates;
use crate::summariser::Summariser;
use crate::window::{MeasurementWindow, NoWindow, Span};

/// Operations of sliding windows that are held: 100 MB.
const HELD: usize = 500_000;

/// What is added up of the parts that the constraints of a plan name.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartsOfRun {
    stages: BTreeMap<u16, Summariser>,
    recent: Option<Recent>,
}

/// The operations of the last seconds.
#[derive(Debug, Clone)]
struct Recent {
    /// Those of the longest sliding window.
    length: Nanos,
    /// When the latest of them began.
    newest: Nanos,
    samples: VecDeque<Sample>,
    /// They were more than are held.
    overflowed: bool,
}

/// The estimates of a part.
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
        for part in constraint.characteristics().map(|of| of.part) {
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
    let own = *stages.get(usize::from(stage).checked_sub(1)?)?;
    *stages = vec![own];
    Some(plan)
}

impl PartsOfRun {
    pub(crate) fn of(plan: &PlanRecord) -> PartsOfRun {
        let mut parts = PartsOfRun::default();
        for part in named(plan) {
            match part {
                PartOfRun::Whole => {}
                PartOfRun::Stage(stage) => {
                    if let Some(own) = plan_of_stage(plan, stage) {
                        parts.stages.insert(stage, Summariser::new(&own));
                    }
                }
                PartOfRun::Last(seconds) => {
                    let recent = parts.recent.get_or_insert_with(|| Recent {
                        length: 0,
                        newest: 0,
                        samples: VecDeque::new(),
                        overflowed: false,
                    });
                    recent.length = recent.length.max(nanos(seconds));
                }
            }
        }
        parts
    }

    /// Adds an operation, for the window of its test.
    pub(crate) fn add(&mut self, sample: &Sample, window: MeasurementWindow) {
        if let Some(stage) = self.stages.get_mut(&(sample.phase + 1)) {
            stage.add_one(sample, |_| window);
        }
        if let Some(recent) = &mut self.recent
            && window.contains(sample)
        {
            recent.add(sample);
        }
    }

    /// Takes in what another one of the same plan has added up.
    pub(crate) fn merge(&mut self, other: &PartsOfRun) {
        for (stage, own) in &mut self.stages {
            if let Some(others) = other.stages.get(stage) {
                own.merge(others);
            }
        }
        if let (Some(own), Some(others)) = (&mut self.recent, &other.recent) {
            own.overflowed |= others.overflowed;
            others.samples.iter().for_each(|sample| own.add(sample));
        }
    }

    /// The estimates of each part that constraints name; `windows` are those of the whole run.
    pub(crate) fn estimates(
        &self,
        plan: &PlanRecord,
        windows: &BTreeMap<TestId, Result<Span, NoWindow>>,
    ) -> Vec<(PartOfRun, PartEstimates)> {
        let of = |part: PartOfRun| match part {
            PartOfRun::Whole => PartEstimates::NoStage,
            PartOfRun::Stage(stage) => self.of_stage(stage),
            PartOfRun::Last(seconds) => self.of_last(plan, nanos(seconds), windows),
        };
        named(plan)
            .into_iter()
            .map(|part| (part, of(part)))
            .collect()
    }

    fn of_stage(&self, stage: u16) -> PartEstimates {
        match self.stages.get(&stage) {
            None => PartEstimates::NoStage,
            Some(own) => {
                let windows = own.hulls();
                PartEstimates::Known(Box::new(RunEstimates::owned(own.clone(), windows)))
            }
        }
    }

    fn of_last(
        &self,
        plan: &PlanRecord,
        length: Nanos,
        windows: &BTreeMap<TestId, Result<Span, NoWindow>>,
    ) -> PartEstimates {
        let Some(recent) = self.recent.as_ref().filter(|recent| !recent.overflowed) else {
            return PartEstimates::TooMany;
        };
        let last = |whole: &Span| Span {
            start: whole.start.max(whole.end.saturating_sub(length)),
            end: whole.end,
        };
        let windows: BTreeMap<_, _> = windows
            .iter()
            .map(|(test, whole)| (*test, whole.as_ref().map(last).map_err(|why| *why)))
            .collect();
        let mut own = Summariser::new(&plan_of_part(plan));
        for sample in &recent.samples {
            own.add_one(sample, |test| match windows.get(&test) {
                Some(window) => (*window).into(),
                None => MeasurementWindow::Nothing,
            });
        }
        PartEstimates::Known(Box::new(RunEstimates::owned(own, windows)))
    }
}

impl Recent {
    /// Holds an operation, and those no longer that began before the longest window ending now. They come roughly
    /// in the order in which they end: of those at the front, some that follow may be older.
    fn add(&mut self, sample: &Sample) {
        self.newest = self.newest.max(sample.moments.started);
        self.samples.push_back(sample.clone());
        let oldest = self.newest.saturating_sub(self.length);
        while self
            .samples
            .front()
            .is_some_and(|first| first.moments.started < oldest)
        {
            self.samples.pop_front();
        }
        if self.samples.len() > HELD {
            self.overflowed = true;
            self.samples.clear();
        }
    }
}
