//! How what is measured steers a run: the conditions of its steps, and the constraints that end it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Conditions;
use record::{Nanos, Sample};
use stats::{LiveJudge, MeasurementWindow};

/// How often it is looked at what was measured, at the most.
const LOOK: Duration = Duration::from_millis(200);
/// A look is followed by so many times what it took: the collector has other work, too.
const REST: u32 = 20;

/// Looks at the operations of a run now and then.
pub(crate) struct Steering {
    judge: LiveJudge,
    conditions: Arc<Conditions>,
    next: Instant,
}

impl Steering {
    pub(crate) fn new(judge: LiveJudge, conditions: &Arc<Conditions>) -> Steering {
        Steering {
            judge,
            conditions: Arc::clone(conditions),
            next: Instant::now() + LOOK,
        }
    }

    /// Adds operations, in a window that began then; breaks where a constraint ends the run.
    pub(crate) fn take(
        &mut self,
        samples: &[Sample],
        window: MeasurementWindow,
        begun: Option<Nanos>,
    ) -> ControlFlow<()> {
        self.judge.add(samples, window);
        let now = Instant::now();
        if now < self.next {
            return ControlFlow::Continue(());
        }
        for (place, is_true) in self.judge.conditions(begun).into_iter().enumerate() {
            self.conditions.set(place, is_true);
        }
        let broken = self.judge.broken(begun);
        self.next = Instant::now() + LOOK.max(now.elapsed() * REST);
        match broken {
            Some(constraint) => {
                self.conditions.end_by(&constraint);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }
}
