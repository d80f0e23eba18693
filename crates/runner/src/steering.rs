//! Steering of a run by its measurements: conditions of its steps, number of users, and constraints
//! that end it.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::Conditions;
use record::{Event, Nanos, Sample};
use stats::{Adaptation, LiveJudge, LoadWish, MeasurementWindow};
use suite::{AdaptPlan, AdaptRule};

/// Shortest interval between two evaluations.
const LOOK: Duration = Duration::from_millis(200);
/// Shortest pause after an evaluation, in multiples of its duration: the collector has other work,
/// too.
const REST: u32 = 20;

/// Readings of background traffic on their way to conditions.
pub(crate) type BackgroundFeed = Arc<Mutex<Vec<Event>>>;

fn taken(feed: &BackgroundFeed) -> Vec<Event> {
    let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *feed)
}

/// Evaluates the operations of a run at intervals.
pub(crate) struct Steering {
    judge: Option<LiveJudge>,
    load: Option<AdaptingLoad>,
    conditions: Arc<Conditions>,
    /// Readings of background traffic that are not yet evaluated.
    background: BackgroundFeed,
    next: Instant,
}

/// A load whose number of users changes.
pub(crate) struct AdaptingLoad {
    adaptation: Adaptation,
    every: Duration,
    /// Indices of the conditions for more and for fewer users.
    wishes: Option<(usize, usize)>,
    /// Start of the present number of users; `None` before measuring.
    since: Option<Instant>,
}

impl AdaptingLoad {
    /// `None` if steps of the suite change the number of users.
    pub(crate) fn new(plan: &AdaptPlan) -> Option<AdaptingLoad> {
        let (adaptation, wishes) = match &plan.rule {
            AdaptRule::Ladder(rungs) => (Adaptation::ladder(rungs), None),
            AdaptRule::Steer { raise, lower } => {
                let steered = Adaptation::steered(plan.least, plan.most);
                (steered, Some((*raise, *lower)))
            }
            AdaptRule::Steps => return None,
        };
        Some(AdaptingLoad {
            adaptation,
            every: plan.every,
            wishes,
            since: None,
        })
    }

    pub(crate) fn users(&self) -> u32 {
        self.adaptation.users()
    }

    /// The next number of users, if the present one was kept long enough.
    fn next(&mut self, truths: &[bool]) -> Option<u32> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < self.every {
            return None;
        }
        self.since = Some(Instant::now());
        let is_true = |index: usize| truths.get(index).copied().unwrap_or_default();
        let wish = |(raise, lower)| LoadWish {
            raise: is_true(raise),
            lower: is_true(lower),
        };
        let none = LoadWish {
            raise: false,
            lower: false,
        };
        Some(self.adaptation.step(self.wishes.map_or(none, wish)))
    }
}

impl Steering {
    /// `None` if nothing is steered.
    pub(crate) fn new(
        judge: Option<LiveJudge>,
        load: Option<AdaptingLoad>,
        conditions: &Arc<Conditions>,
        background: &BackgroundFeed,
    ) -> Option<Steering> {
        (judge.is_some() || load.is_some()).then(|| Steering {
            judge,
            load,
            conditions: Arc::clone(conditions),
            background: Arc::clone(background),
            next: Instant::now() + LOOK,
        })
    }

    /// Adds operations, in a window that began at `begun`; breaks if a constraint ends the run.
    pub(crate) fn take(
        &mut self,
        samples: &[Sample],
        window: MeasurementWindow,
        begun: Option<Nanos>,
    ) -> ControlFlow<()> {
        if let Some(judge) = &mut self.judge {
            judge.add(samples, window);
            judge.add_background(taken(&self.background));
        }
        let now = Instant::now();
        if now < self.next {
            return ControlFlow::Continue(());
        }
        let looked = self.look(begun);
        self.next = Instant::now() + LOOK.max(now.elapsed() * REST);
        looked
    }

    fn look(&mut self, begun: Option<Nanos>) -> ControlFlow<()> {
        let judge = self.judge.as_ref();
        let truths = judge.map_or(Vec::new(), |judge| judge.conditions(begun));
        for (index, is_true) in truths.iter().enumerate() {
            self.conditions.set(index, *is_true);
        }
        // The first number of users is kept from the beginning of the window on.
        if let (Some(load), Some(_)) = (&mut self.load, begun)
            && let Some(users) = load.next(&truths)
        {
            self.conditions.set_users(users);
        }
        let broken = self.judge.as_mut().and_then(|judge| judge.broken(begun));
        match broken {
            Some(constraint) => {
                self.conditions.end_by(&constraint);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }
}
