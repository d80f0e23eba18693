//! Waiting for an exchange: until its time limit, or until the run was interrupted and the grace
//! after that is over.
//!
//! Every operation passes here, and the usual case must be cheap. A user only notes the end of its
//! wait; a [`Watchdog`] checks a hundred times a second and wakes users who have waited too long.
//! An alarm for every operation would be set and cancelled each time.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use record::Nanos;

use crate::clock::{RunClock, nanos};
use crate::event_loop::cancel::Cancel;
use crate::event_loop::sleep_until;

/// Interval of the watchdog's checks.
pub(crate) const BEAT: Duration = Duration::from_millis(10);
/// Longest time of an operation after the run was interrupted.
const GRACE: Duration = Duration::from_secs(2);
/// The same for cleaning up, after the user interrupted it.
pub(crate) const LAST_GRACE: Duration = Duration::from_secs(10);
/// End of the wait of a user who does not wait.
const NEVER: Nanos = Nanos::MAX;

/// Supervises the waits of one thread.
#[derive(Debug)]
pub(crate) struct Watchdog {
    clock: RunClock,
    /// The grace after an interruption is over.
    over: Cell<bool>,
    /// The grace of cleaning up is over, too.
    all_over: Cell<bool>,
    waiting: RefCell<Vec<Waiting>>,
    /// There are no waits to supervise for a while.
    rests: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A registered wait.
#[derive(Debug)]
struct Waiting {
    end: Nanos,
    /// The wait has lasted too long.
    late: bool,
    waker: Option<Waker>,
}

impl Watchdog {
    pub(crate) fn new(clock: RunClock) -> Self {
        Watchdog {
            clock,
            over: Cell::new(false),
            all_over: Cell::new(false),
            waiting: RefCell::default(),
            rests: Cell::new(false),
            waker: RefCell::default(),
        }
    }

    /// Runs `work` without supervision. A hundred runs that wait for their turns would disturb the
    /// measuring one ten thousand times a second.
    pub(crate) async fn rest_during<T>(&self, work: impl Future<Output = T>) -> T {
        self.rests.set(true);
        let done = work.await;
        self.rests.set(false);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        done
    }

    async fn rested(&self) {
        poll_fn(|context| {
            if !self.rests.get() {
                Poll::Ready(())
            } else {
                *self.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
    }

    /// Runs `work`, and meanwhile wakes users who have waited too long; `beat` is called in each
    /// round. Without a guard, a wait has no limit.
    pub(crate) async fn guard<T>(
        &self,
        cancel: &Cancel,
        beat: impl FnMut(),
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.rounds(cancel, beat) => match never {},
        }
    }

    async fn rounds(&self, cancel: &Cancel, mut beat: impl FnMut()) -> Infallible {
        let mut round = self.clock.now();
        loop {
            self.rested().await;
            // Missed rounds count as one.
            round = (round + nanos(BEAT)).max(self.clock.now());
            sleep_until(self.clock.monotonic(round)).await;
            beat();
            let now = self.clock.now();
            self.over.set(cancel.age().is_some_and(|age| age >= GRACE));
            let by_user = cancel.age_by_user();
            self.all_over
                .set(by_user.is_some_and(|age| age >= LAST_GRACE));
            self.look_round(now);
        }
    }

    fn look_round(&self, now: Nanos) {
        let over = self.over.get() || self.all_over.get();
        for waiting in self.waiting.borrow_mut().iter_mut() {
            waiting.late = waiting.end <= now;
            if waiting.end != NEVER
                && (over || waiting.late)
                && let Some(waker) = &waiting.waker
            {
                waker.wake_by_ref();
            }
        }
    }
}

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlyEndOfWait {
    /// The time limit was reached.
    Late,
    /// The run was interrupted.
    Interrupted,
}

#[derive(Debug)]
pub(crate) struct Patience {
    watchdog: Rc<Watchdog>,
    /// Index in [`Watchdog::waiting`].
    index: usize,
}

impl Patience {
    pub(crate) fn new(watchdog: Rc<Watchdog>) -> Self {
        let mut waiting = watchdog.waiting.borrow_mut();
        let index = waiting.len();
        waiting.push(Waiting {
            end: NEVER,
            late: false,
            waker: None,
        });
        drop(waiting);
        Patience { watchdog, index }
    }

    /// Waits for `work` until `end`, and no longer than the run permits if `interruptible`. The
    /// work is not moved: the state of an exchange is a few kilobytes.
    pub(crate) async fn wait_for<T>(
        &self,
        end: Nanos,
        interruptible: bool,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, EarlyEndOfWait> {
        let result = poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            let late = self.write_down(end, context);
            match (self.is_over(interruptible), late) {
                (true, _) => Poll::Ready(Err(EarlyEndOfWait::Interrupted)),
                (false, true) => Poll::Ready(Err(EarlyEndOfWait::Late)),
                (false, false) => Poll::Pending,
            }
        })
        .await;
        let registered = &mut self.watchdog.waiting.borrow_mut()[self.index];
        registered.end = NEVER;
        registered.late = false;
        result
    }

    /// True if waits are not permitted any more.
    pub(crate) fn is_over(&self, interruptible: bool) -> bool {
        let watchdog = &self.watchdog;
        watchdog.all_over.get() || interruptible && watchdog.over.get()
    }

    /// Notes that this user waits; true if it has waited too long.
    fn write_down(&self, end: Nanos, context: &Context<'_>) -> bool {
        let mut waiting = self.watchdog.waiting.borrow_mut();
        let registered = &mut waiting[self.index];
        registered.end = end;
        match &registered.waker {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => registered.waker = Some(context.waker().clone()),
        }
        registered.late
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::clock::simulated::SimulatedTime;
    use crate::event_loop::{EventLoop, sleep};

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        EventLoop::new().unwrap().run(work)
    }

    #[test]
    fn what_is_done_in_time_is_handed_on_and_the_rest_is_late() {
        let _time = SimulatedTime::begin();
        let clock = RunClock::start();
        let watchdog = Rc::new(Watchdog::new(clock));
        let patience = Patience::new(Rc::clone(&watchdog));
        let ms = |ms| nanos(Duration::from_millis(ms));
        let cases = async {
            // The limits go up and down; that of an earlier case must not remain.
            for (limit, takes, late) in [
                (3000, 20, false),
                (20, 3000, true),
                (5000, 5, false),
                (30, 4000, true),
            ] {
                let begun = clock.now();
                let work = pin!(sleep(Duration::from_millis(takes)));
                let result = patience.wait_for(begun + ms(limit), true, work).await;
                let expected = if late {
                    Err(EarlyEndOfWait::Late)
                } else {
                    Ok(())
                };
                assert_eq!(result, expected, "{takes} ms of {limit}");
                let waited = clock.now() - begun;
                if late {
                    let next_round = ms(limit)..=ms(limit) + nanos(BEAT);
                    assert!(next_round.contains(&waited), "{waited} ns");
                } else {
                    assert_eq!(waited, ms(takes));
                }
            }
        };
        block_on(watchdog.guard(&Cancel::default(), || (), cases));
    }

    #[test]
    fn a_watchdog_that_rests_makes_no_rounds_and_comes_back() {
        let _time = SimulatedTime::begin();
        let watchdog = Watchdog::new(RunClock::start());
        let beats = Cell::new(0);
        let rests = async {
            watchdog.rest_during(sleep(10 * BEAT)).await;
            // One round was in progress when the rest began.
            assert!(beats.get() <= 1, "{}", beats.get());
            beats.set(0);
            sleep(10 * BEAT).await;
        };
        let beat = || beats.set(beats.get() + 1);
        block_on(watchdog.guard(&Cancel::default(), beat, rests));
        // The last round comes when the work is done already.
        assert!((9..=10).contains(&beats.get()), "{}", beats.get());
    }

    #[test]
    fn an_interruption_ends_waiting_after_the_grace_unless_it_is_ignored() {
        let _time = SimulatedTime::begin();
        let clock = RunClock::start();
        let watchdog = Rc::new(Watchdog::new(clock));
        let patience = Patience::new(Rc::clone(&watchdog));
        let cancel = Cancel::default();
        cancel.cancel();
        let beats = Cell::new(0);
        let work = async {
            let for_ever = pin!(std::future::pending::<()>());
            let end = clock.now() + nanos(Duration::from_secs(30));
            let cut = patience.wait_for(end, true, for_ever).await;
            assert_eq!(cut, Err(EarlyEndOfWait::Interrupted));
            assert_eq!(clock.now(), nanos(GRACE));
            let for_ever = pin!(std::future::pending::<()>());
            let end = clock.now() + nanos(Duration::from_millis(50));
            let ended = patience.wait_for(end, false, for_ever).await;
            assert_eq!(clock.now(), end);
            // Cleaning up is limited, too.
            let for_ever = pin!(std::future::pending::<()>());
            let end = clock.now() + nanos(Duration::from_secs(300));
            let cut = patience.wait_for(end, false, for_ever).await;
            assert_eq!(cut, Err(EarlyEndOfWait::Interrupted));
            assert_eq!(clock.now(), nanos(LAST_GRACE));
            assert!(patience.is_over(false));
            ended
        };
        let ended = block_on(watchdog.guard(&cancel, || beats.set(beats.get() + 1), work));
        assert_eq!(ended, Err(EarlyEndOfWait::Late));
        assert_eq!(beats.get(), 1000);
    }
}
