//! How long an exchange is waited for: until its time limit, or until the run was interrupted and
//! the grace after that is over.
//!
//! Both are cheap where nothing goes wrong, because every operation passes here. A time limit does
//! not move a timer: the timer of a user is left where it stands, and moved when it fires too
//! early. The end of the grace is a flag; who is waiting then is woken.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::cancel::Cancel;

/// How long an operation may go on after the run was interrupted.
const GRACE: Duration = Duration::from_secs(2);

/// Whether waiting has an end on this thread.
#[derive(Debug, Default)]
pub(crate) struct Interruption {
    over: Cell<bool>,
    waiting: RefCell<Vec<Option<Waker>>>,
}

impl Interruption {
    /// Does `work`; when the run is interrupted meanwhile, ends all waiting after the grace.
    pub(crate) async fn guard<T>(&self, cancel: &Cancel, work: impl Future<Output = T>) -> T {
        let ends_waiting = async {
            cancel.cancelled().await;
            tokio::time::sleep(GRACE).await;
            self.over.set(true);
            for waker in self
                .waiting
                .borrow_mut()
                .iter_mut()
                .filter_map(Option::take)
            {
                waker.wake();
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            done = work => done,
            () = ends_waiting => unreachable!("it never ends"),
        }
    }
}

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// The time limit was reached.
    Late,
    /// The run was interrupted.
    Interrupted,
}

/// The patience of one user.
#[derive(Debug)]
pub(crate) struct Patience {
    interruption: Rc<Interruption>,
    /// Place in [`Interruption::waiting`].
    place: usize,
    timer: Option<Pin<Box<Sleep>>>,
    /// The timer knows whom to wake.
    timer_is_set: bool,
}

impl Patience {
    pub(crate) fn new(interruption: Rc<Interruption>) -> Self {
        let mut waiting = interruption.waiting.borrow_mut();
        let place = waiting.len();
        waiting.push(None);
        drop(waiting);
        Patience {
            interruption,
            place,
            timer: None,
            timer_is_set: false,
        }
    }

    /// Waits for `work` until `end`, and for no longer than the run allows if `interruptible`. The
    /// work stays where it is: the state of an exchange is a few kilobytes.
    pub(crate) async fn wait_for<T>(
        &mut self,
        end: Instant,
        interruptible: bool,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, GaveUp> {
        std::future::poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            if self.is_over(context) && interruptible {
                return Poll::Ready(Err(GaveUp::Interrupted));
            }
            match self.is_late(end, context) {
                true => Poll::Ready(Err(GaveUp::Late)),
                false => Poll::Pending,
            }
        })
        .await
    }

    fn is_over(&mut self, context: &Context<'_>) -> bool {
        let mut waiting = self.interruption.waiting.borrow_mut();
        match &mut waiting[self.place] {
            Some(waker) if waker.will_wake(context.waker()) => {}
            other => {
                *other = Some(context.waker().clone());
                // The timer would wake the task that waited before.
                self.timer_is_set = false;
            }
        }
        self.interruption.over.get()
    }

    fn is_late(&mut self, end: Instant, context: &mut Context<'_>) -> bool {
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        // A timer that fires earlier than this is moved then; one that fires later is of no use.
        if timer.deadline() > end {
            timer.as_mut().reset(end);
            self.timer_is_set = false;
        }
        if self.timer_is_set && !timer.is_elapsed() {
            return false;
        }
        self.timer_is_set = true;
        while timer.as_mut().poll(context).is_ready() {
            if timer.deadline() >= end {
                return true;
            }
            timer.as_mut().reset(end);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(work)
    }

    #[test]
    fn what_is_done_in_time_is_handed_on_and_the_rest_is_late() {
        block_on(async {
            let mut patience = Patience::new(Rc::default());
            let in_ms = |ms| Instant::now() + Duration::from_millis(ms);
            let after = |ms| tokio::time::sleep(Duration::from_millis(ms));
            // The limits go up and down, and the timer of an earlier one stands in the way.
            for (limit, takes, late) in [
                (100, 50, false),
                (1000, 900, false),
                (20, 30, true),
                (500, 499, false),
                (10, 11, true),
            ] {
                let begun = Instant::now();
                let result = patience
                    .wait_for(in_ms(limit), true, pin!(after(takes)))
                    .await;
                let expected = if late { Err(GaveUp::Late) } else { Ok(()) };
                assert_eq!(result, expected, "{takes} ms of {limit}");
                let waited = begun.elapsed().as_millis() as u64;
                assert!(waited.abs_diff(limit.min(takes)) <= 1, "{waited} ms");
            }
        });
    }

    #[test]
    fn an_interruption_ends_waiting_after_the_grace_unless_it_is_ignored() {
        block_on(async {
            let cancel = Cancel::default();
            let interruption = Rc::new(Interruption::default());
            let mut patience = Patience::new(Rc::clone(&interruption));
            let begun = Instant::now();
            let end = begun + Duration::from_secs(30);
            cancel.cancel();
            let ended = interruption
                .guard(&cancel, async {
                    let cut = patience
                        .wait_for(end, true, pin!(std::future::pending::<()>()))
                        .await;
                    assert_eq!(cut, Err(GaveUp::Interrupted));
                    assert_eq!(begun.elapsed(), GRACE);
                    patience
                        .wait_for(end, false, pin!(std::future::pending::<()>()))
                        .await
                })
                .await;
            assert_eq!(ended, Err(GaveUp::Late));
        });
    }
}
