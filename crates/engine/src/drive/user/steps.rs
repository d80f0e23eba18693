//! The steps of a test, one after the other.

use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp};
use record::{EndedBy, Nanos, TestId};
use suite::Think;

use super::{Phase, Script, StepsLeft, User};
use crate::clock::nanos;
use crate::drive::chance::draw;
use crate::drive::context::Stop;
use crate::drive::driver::{Numbering, Operating};
use crate::drive::step::PreparedStep;
use crate::event_loop::{sleep, sleep_until};

/// Longest piece of a pause, so that the end of the run is noticed.
const PIECE_OF_PAUSE: Nanos = 1_000_000_000;

/// Duration of an operation that does nothing.
const NOTHING_DONE: Duration = Duration::from_millis(1);

/// Why the rest of an operation is not sent.
const OUT_OF_TIME: &str = "the run had ended a long time before";

impl User {
    /// Goes once through the loop of a test.
    pub(crate) async fn round(&mut self, script: &mut Script, phase: Phase) -> Result<(), Stop> {
        let test = Rc::clone(&script.test);
        let begun = self.log.context.clock.now();
        let mut operating = Operating {
            ended: begun,
            ..Operating::at_once(Numbering::Each)
        };
        let steps = &test.loops[script.in_loop].steps;
        let done = self.operation(script, steps, phase, &mut operating).await;
        self.give_way(&operating, begun).await;
        done
    }

    /// Lets other tasks of the thread run after an operation that began then and neither sent
    /// anything nor paused.
    pub(crate) async fn give_way(&self, operating: &Operating, begun: Nanos) {
        if operating.started.is_none() && operating.ended <= begun {
            sleep(NOTHING_DONE).await;
        }
    }

    /// Goes once through the steps of an operation.
    pub(crate) async fn operation(
        &mut self,
        script: &mut Script,
        steps: &[PreparedStep],
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        script.begin_round();
        match steps {
            [PreparedStep::Request(request)] => {
                self.request(script, request, phase, operating).await
            }
            // Boxed, because most have one request, and need less room then.
            steps => self.nested(script, steps, phase, operating).await,
        }
    }

    /// Does steps outside of operations.
    pub(super) async fn unmeasured(
        &mut self,
        script: &mut Script,
        steps: &[PreparedStep],
        phase: Phase,
    ) -> Result<(), Stop> {
        let mut operating = Operating::at_once(self.log.beside_operations());
        self.steps(script, steps, phase, &mut operating).await
    }

    /// Does steps in their order, as long as the driver continues.
    pub(crate) async fn steps(
        &mut self,
        script: &mut Script,
        steps: &[PreparedStep],
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let test = script.test.id;
        for step in steps {
            match self.log.what_is_left(test, phase, operating.ended) {
                StepsLeft::Done => {}
                StepsLeft::Dropped => script.memory.break_off(OUT_OF_TIME),
                StepsLeft::Out => return Ok(()),
            }
            match step {
                PreparedStep::Request(request) => {
                    self.request(script, request, phase, operating).await?;
                }
                PreparedStep::Page(files) => self.page(script, files, phase, operating).await?,
                PreparedStep::Think(think) => {
                    let time = nanos(pause(&mut self.rng, *think));
                    let until = self.log.context.clock.now().saturating_add(time);
                    self.pause(script, until, phase, operating).await;
                }
                PreparedStep::Pace(time) => {
                    let until = script.next_pace(operating, *time);
                    self.pause(script, until, phase, operating).await;
                }
                PreparedStep::Start(watch) => self.start_watch(script, *watch, phase, operating),
                PreparedStep::Stop(watch) => self.stop_watch(script, *watch, phase, operating),
                PreparedStep::When {
                    condition,
                    steps,
                    otherwise,
                } => {
                    let is_true = self.log.context.conditions.is_true(*condition);
                    let steps = if is_true { steps } else { otherwise };
                    self.nested(script, steps, phase, operating).await?;
                }
                PreparedStep::EndTest => self.end(Some(test), phase),
                PreparedStep::EndRun => self.end(None, phase),
                PreparedStep::Users(users) if phase == Phase::Measured => {
                    let context = &self.log.context;
                    context.conditions.step_to(*users, context.clock.now());
                }
                PreparedStep::Users(_) => {}
                PreparedStep::Repeat {
                    times,
                    counter,
                    steps,
                } => {
                    for number in 1..=*times {
                        let left = self.log.what_is_left(test, phase, operating.ended);
                        if left == StepsLeft::Out {
                            break;
                        }
                        script.repeats(*counter, number);
                        self.nested(script, steps, phase, operating).await?;
                    }
                }
                PreparedStep::Choose(alternatives) => {
                    let steps = choose(&mut self.rng, alternatives);
                    self.nested(script, steps, phase, operating).await?;
                }
            }
        }
        Ok(())
    }

    /// Does steps inside steps; boxed, because a future cannot contain itself.
    fn nested<'u>(
        &'u mut self,
        script: &'u mut Script,
        steps: &'u [PreparedStep],
        phase: Phase,
        operating: &'u mut Operating,
    ) -> Pin<Box<dyn Future<Output = Result<(), Stop>> + 'u>> {
        Box::pin(async move { self.steps(script, steps, phase, operating).await })
    }

    fn end(&self, test: Option<TestId>, phase: Phase) {
        if phase == Phase::Measured {
            // A load does all its tests in one window.
            let test = test.filter(|_| self.log.driver.is_strict());
            self.log.context.end(test, EndedBy::Step { test });
        }
    }

    /// Waits until that moment, or until the run is interrupted (a lock may be held meanwhile), or
    /// until nothing counts any more.
    async fn pause(
        &mut self,
        script: &Script,
        enough: Nanos,
        phase: Phase,
        operating: &mut Operating,
    ) {
        let context = &self.log.context;
        let clock = context.clock;
        let begun = clock.now();
        operating.ended = begun;
        while operating.ended < enough && self.log.goes_on(script.test.id, phase, operating.ended) {
            let end = self.log.driver.end_of_pauses();
            self.is_through |= operating.ended >= end;
            let end = end.min(self.log.deadline);
            if self.is_through || operating.ended >= end {
                break;
            }
            let piece = operating.ended.saturating_add(PIECE_OF_PAUSE);
            tokio::select! {
                () = sleep_until(clock.monotonic(enough.min(end).min(piece))) => {}
                () = context.cancel.cancelled() => break,
            }
            operating.ended = clock.now();
        }
        if operating.ended < enough {
            // The operation is not as long as it would have been.
            operating.is_cut = true;
            self.log.watches.forget();
        }
        let time = operating.ended - begun;
        self.log.rests_in(phase, time);
        operating.pause(time);
    }
}

/// Chooses one of several alternatives, by weight.
pub(crate) fn choose<'p>(
    rng: &mut ChaCha8Rng,
    alternatives: &'p [(f64, Vec<PreparedStep>)],
) -> &'p [PreparedStep] {
    let weights = || alternatives.iter().map(|(weight, _)| *weight);
    let drawn = draw(rng, weights().sum(), weights());
    alternatives.get(drawn).map_or(&[], |(_, steps)| steps)
}

fn pause(rng: &mut ChaCha8Rng, think: Think) -> Duration {
    match think {
        Think::Constant(pause) => pause,
        Think::Uniform(low, high) => rng.random_range(low..=high),
        Think::Exponential(mean) => match Exp::new(1.0 / mean.as_secs_f64()) {
            Ok(distribution) => {
                // A pause of more than 20 means happens once in 500 million; this bounds it.
                let drawn = distribution.sample(rng);
                Duration::from_secs_f64(drawn.min(mean.as_secs_f64() * 20.0))
            }
            Err(_) => Duration::ZERO,
        },
    }
}
