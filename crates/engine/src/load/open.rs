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

use hdrhistogram::Histogram;
use rand_chacha::ChaCha8Rng;
use record::{EventKind, Nanos, Outcome};

use super::field::Field;
use super::kinds::Kinds;
use super::lane::{Lane, Turn};
use super::timer::wait_until;
use crate::event_loop::{sleep, yield_now};
use crate::vitals::lateness;
use crate::worker::Worker;

/// Operations handed out before others have their turn.
const BATCH: u32 = 64;

/// Operations whose moment has come, and users who are free, of one thread.
pub(super) struct Queue {
    waiting: RefCell<VecDeque<Turn>>,
    free: RefCell<VecDeque<Rc<Seat>>>,
    /// Operations that may wait.
    room: usize,
    closed: Cell<bool>,
    lateness: RefCell<Histogram<u64>>,
    /// Users who have not left.
    at_work: Cell<u32>,
}

/// Where a user waits while it is free.
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
            lateness: RefCell::new(lateness()),
            at_work: Cell::new(0),
        }
    }

    /// Hands an operation out; false when too many wait already.
    fn push(&self, turn: Turn) -> bool {
        let free = self.free.borrow_mut().pop_front();
        if free.is_none() && self.waiting.borrow().len() >= self.room {
            return false;
        }
        self.waiting.borrow_mut().push_back(turn);
        if let Some(seat) = free {
            seat.taken.set(false);
            if let Some(waker) = &*seat.waker.borrow() {
                waker.wake_by_ref();
            }
        }
        true
    }

    /// The next operation for the user on this seat; `None` when there will be no more.
    async fn next(&self, seat: &Rc<Seat>) -> Option<Turn> {
        std::future::poll_fn(|context| {
            if let Some(turn) = self.waiting.borrow_mut().pop_front() {
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
    queue.at_work.set(queue.at_work.get() + 1);
    let field = Arc::clone(&lane.field);
    lane.get_ready().await;
    let seat = Rc::new(Seat::default());
    if field.meet().await {
        field.start_schedule();
    }
    lane.worker.vitals.enter();
    let mut free_since = field.stage().clock.now();
    while let Some(turn) = queue.next(&seat).await {
        let done = lane.operate(turn).await;
        // Waiting for a free connection is the server's time, and everything after it ours.
        let due = turn.planned.unwrap_or(0).max(free_since);
        let late = done.started.saturating_sub(due);
        // Not `saturating_record`, which clamps to what there is room for now. It grows by itself,
        // so that nothing is out of range.
        queue.lateness.borrow_mut().record(late).unwrap_or_default();
        free_since = done.ended;
    }
    lane.worker.vitals.leave(&field.stage().vitals);
    queue.at_work.set(queue.at_work.get() - 1);
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
        let stage = self.field.stage();
        stage.vitals.add_lateness(&self.queue.lateness.borrow());
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
                let step = clock.now() + 100_000_000;
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
        let kind = self.kinds.kind(self.kinds.draw(&mut self.rng));
        let now = stage.clock.now();
        let planned: Nanos = turn.planned.unwrap_or(now);
        stage.progress.add_failed();
        stage.journal.write(EventKind::OperationFailed {
            measure: kind.measure,
            user: 0,
            number: turn.number,
            outcome: Outcome::Dropped,
            evidence: format!("{}: not sent, because {why}", kind.plan.method),
        });
        let at = planned.max(now);
        self.worker
            .drop_operation(kind.measure, 0, turn.number, planned, at);
    }
}
