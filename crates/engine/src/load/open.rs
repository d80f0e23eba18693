//! The open loop: a schedule says when operations begin, whatever the server does.
//!
//! ```text
//! schedule --timer--> queue --> a user who is free
//!                       |  none is: the operation waits, and keeps its planned moment
//!                       '-> more wait than may: dropped, and counted
//! ```

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use record::{EventKind, Nanos, Outcome};

use super::field::{Field, STEP};
use super::kinds::{Kinds, Unit};
use super::lane::{Lane, Turn};
use super::timer::wait_until;
use crate::event_loop::{sleep, yield_now};
use crate::worker::{Dropped, Worker};

/// Operations handed out before others have their turn.
const BATCH: u32 = 64;

/// Operations whose moment has come, and users who are free, of one thread.
pub(super) struct Queue {
    waiting: RefCell<VecDeque<Turn>>,
    free: RefCell<VecDeque<Rc<Seat>>>,
    /// Operations that may wait.
    room: usize,
    closed: Cell<bool>,
    /// Users who have not left.
    at_work: Cell<u32>,
}

/// Where a user waits while it is free. A user who finds an operation before it is told of one
/// leaves its seat behind in the row of those who are free, and not taken.
#[derive(Default)]
struct Seat {
    taken: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Queue {
    pub(super) fn new(room: usize) -> Self {
        Queue {
            waiting: RefCell::default(),
            free: RefCell::default(),
            room,
            closed: Cell::new(false),
            at_work: Cell::new(0),
        }
    }

    /// Hands an operation out; false when too many wait already.
    fn push(&self, turn: Turn) -> bool {
        let free = self.next_free();
        if free.is_none() && self.waiting.borrow().len() >= self.room {
            return false;
        }
        self.waiting.borrow_mut().push_back(turn);
        if let Some(seat) = free
            && let Some(waker) = &*seat.waker.borrow()
        {
            waker.wake_by_ref();
        }
        true
    }

    /// The user who has been free for longest, who is not any more.
    fn next_free(&self) -> Option<Rc<Seat>> {
        let mut free = self.free.borrow_mut();
        loop {
            let seat = free.pop_front()?;
            if seat.taken.replace(false) {
                return Some(seat);
            }
        }
    }

    /// The next operation for the user on this seat; `None` when there will be no more.
    async fn next(&self, seat: &Rc<Seat>) -> Option<Turn> {
        std::future::poll_fn(|context| {
            if let Some(turn) = self.waiting.borrow_mut().pop_front() {
                seat.taken.set(false);
                return Poll::Ready(Some(turn));
            }
            if self.closed.get() {
                return Poll::Ready(None);
            }
            let mut waker = seat.waker.borrow_mut();
            match &*waker {
                Some(own) if own.will_wake(context.waker()) => {}
                _ => *waker = Some(context.waker().clone()),
            }
            if !seat.taken.replace(true) {
                self.free.borrow_mut().push_back(Rc::clone(seat));
            }
            Poll::Pending
        })
        .await
    }

    fn close(&self) {
        self.closed.set(true);
        for seat in self.free.borrow_mut().drain(..) {
            if let Some(waker) = &*seat.waker.borrow() {
                waker.wake_by_ref();
            }
        }
    }
}

/// One user of an open loop.
pub(super) async fn lane(mut lane: Lane, queue: Rc<Queue>) {
    let _at_work = AtWork::new(&queue);
    let field = Arc::clone(&lane.field);
    let seat = Rc::new(Seat::default());
    if lane.get_ready().await {
        field.start_schedule();
    }
    lane.worker.vitals.enter();
    let mut free_since = field.stage().clock.now();
    while let Some(turn) = queue.next(&seat).await {
        let done = lane.operate(turn).await;
        // Waiting for a free connection is the server's time, and everything after it ours.
        let due = turn.planned.unwrap_or(0).max(free_since);
        let late = done.started.saturating_sub(due);
        lane.worker.vitals.add_lateness(late);
        free_since = done.ended;
    }
    lane.worker.vitals.leave(&field.stage().vitals);
}

/// A user who has not left; a panic is a way of leaving.
struct AtWork(Rc<Queue>);

impl AtWork {
    fn new(queue: &Rc<Queue>) -> AtWork {
        queue.at_work.set(queue.at_work.get() + 1);
        AtWork(Rc::clone(queue))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.set(self.0.at_work.get() - 1);
    }
}

/// Hands out the operations of one thread at their moments.
pub(super) struct Dispatcher {
    pub(super) field: Arc<Field>,
    pub(super) worker: Rc<Worker>,
    pub(super) kinds: Rc<Kinds>,
    pub(super) queue: Rc<Queue>,
    /// The how manyth of how many threads this is.
    pub(super) share: (u32, u32),
    pub(super) spin: Duration,
    /// Draws the kind of what is never sent; users draw that of what they send.
    pub(super) rng: ChaCha8Rng,
}

impl Dispatcher {
    pub(super) async fn run(mut self) {
        self.follow_schedule().await;
        self.field.leave_schedule(self.share.1);
        self.drain().await;
    }

    async fn follow_schedule(&mut self) {
        let clock = self.field.stage().clock;
        let origin = tokio::select! {
            origin = self.field.schedule_begins() => origin,
            () = self.field.stage().broken() => return,
        };
        let (own, all) = (u64::from(self.share.0), u64::from(self.share.1));
        let mut batch = 0;
        for (number, offset) in self.field.schedule() {
            if number % all != own {
                continue;
            }
            let planned = origin + offset;
            // Far moments are waited for in steps, so that an end in between is noticed.
            while planned > clock.now() && !self.field.is_over() {
                let step = clock.now() + STEP;
                wait_until(clock, planned.min(step), self.spin).await;
                batch = 0;
            }
            if self.field.is_over() {
                return;
            }
            let turn = Turn {
                number,
                planned: Some(planned),
                now: None,
            };
            if !self.queue.push(turn) {
                self.drop_turn(turn, "too many operations wait for a free connection");
            }
            batch += 1;
            if batch == BATCH {
                batch = 0;
                yield_now().await;
            }
        }
    }

    /// Waits for the operations that are planned already, for as long as one may take.
    async fn drain(&mut self) {
        let clock = self.field.stage().clock;
        let end = clock.now() + crate::clock::nanos(self.worker.config.timeout);
        let queue = Rc::clone(&self.queue);
        let is_waiting = || !queue.waiting.borrow().is_empty();
        while is_waiting() && clock.now() < end && !self.field.stage().is_over() {
            sleep(Duration::from_millis(1)).await;
        }
        let left = std::mem::take(&mut *self.queue.waiting.borrow_mut());
        for turn in left {
            self.drop_turn(turn, "the run ended while it waited for a free connection");
        }
        self.queue.close();
        while self.queue.at_work.get() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// An operation that was planned and is never sent is counted all the same.
    fn drop_turn(&mut self, turn: Turn, why: &str) {
        let stage = Arc::clone(self.field.stage());
        let now = stage.clock.now();
        let planned: Nanos = turn.planned.unwrap_or(now);
        let unit = self.kinds.unit(self.kinds.draw(&mut self.rng, turn.number));
        let visit = matches!(unit, Unit::Page(_)).then_some(turn.number);
        for kind in unit.kinds() {
            let kind = self.kinds.kind(*kind);
            let number = match self.kinds.have_pages() {
                true => self.field.next_request(),
                false => turn.number,
            };
            stage.progress.add_failed();
            stage.journal.write(EventKind::OperationFailed {
                measure: kind.measure,
                user: 0,
                number,
                outcome: Outcome::Dropped,
                evidence: format!("{}: not sent, because {why}", kind.plan.method),
            });
            self.worker.drop_operation(Dropped {
                measure: kind.measure,
                user: 0,
                number,
                visit,
                planned,
                at: planned.max(now),
            });
        }
    }
}
