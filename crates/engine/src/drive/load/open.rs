//! The open loop: a schedule determines when operations begin, independently of the server.
//!
//! ```text
//! schedule --timer of a thread--> one queue --> a user who is free, on whichever thread
//!                                    |  none is: the operation waits, and keeps its planned moment
//!                                    '-> more wait than may: dropped, and counted
//! ```
//!
//! Of several free users, the next is the one whose operation ended last, if users are equal: like
//! clients with a pool of connections, few of them are in use at a low rate. If all took turns, a
//! server that closes idle connections would have closed each before its next request. Users with
//! separate resources take turns, because those belong to the load.
//!
//! Each thread has a timer for its part of the schedule. A late timer does not delay operations:
//! the timer of the next one dispatches everything that was planned until then.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use record::Nanos;

use super::operations::Operations;
use super::timer::wait_until;
use super::user::{Arrival, LoadUser};
use super::workload::{STEP, Workload};
use crate::drive::driver::Numbering;
use crate::drive::operation::Operation;
use crate::drive::worker::Worker;
use crate::event_loop::{sleep, yield_now};

/// Operations dispatched before other tasks run.
const BATCH: u32 = 64;

/// Order of free users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum FreeUserOrder {
    /// The one that has been free for longest.
    #[default]
    FreeForLongest,
    /// The one whose operation ended last.
    FreeSinceLast,
}

/// Due operations, and free users, of all threads.
#[derive(Default)]
pub(super) struct Queue {
    order: FreeUserOrder,
    state: Mutex<QueueState>,
    /// Users who have not left.
    at_work: AtomicU32,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Arrival>,
    /// Free users, by their threads.
    free: Vec<VecDeque<Arc<Seat>>>,
    /// Number of the last operation that was dispatched or dropped.
    handed_out: u64,
    is_closed: bool,
}

/// Slot in which a free user waits.
struct Seat {
    thread: usize,
    state: Mutex<SeatState>,
}

#[derive(Default)]
struct SeatState {
    is_taken: bool,
    waker: Option<Waker>,
}

/// A lock whose owner panicked is still consistent: every change here is a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    pub(super) fn new(order: FreeUserOrder) -> Queue {
        Queue {
            order,
            ..Queue::default()
        }
    }

    /// Dispatches the next operations of the schedule, unless another thread has done so; returns
    /// those for which there is no room.
    fn hand_out(&self, arrivals: &[Arrival], thread: usize, room: usize) -> Vec<Arrival> {
        let mut dropped = Vec::new();
        for arrival in arrivals {
            let mut state = lock(&self.state);
            if arrival.number <= state.handed_out {
                continue;
            }
            state.handed_out = arrival.number;
            let waker = state.next_free(thread, self.order);
            if waker.is_none() && state.waiting.len() >= room {
                dropped.push(*arrival);
                continue;
            }
            state.waiting.push_back(*arrival);
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        dropped
    }

    /// The next operation for the user on this seat; `None` when there will be no more.
    async fn next(&self, seat: &Arc<Seat>) -> Option<Arrival> {
        std::future::poll_fn(|context| {
            let mut state = lock(&self.state);
            let mut seat_state = lock(&seat.state);
            if let Some(arrival) = state.waiting.pop_front() {
                // A user may find an operation before it is woken for one.
                if std::mem::take(&mut seat_state.is_taken) {
                    let free = state.queue_of_thread(seat.thread);
                    free.retain(|other| !Arc::ptr_eq(other, seat));
                }
                return Poll::Ready(Some(arrival));
            }
            if state.is_closed {
                return Poll::Ready(None);
            }
            match &seat_state.waker {
                Some(known) if known.will_wake(context.waker()) => {}
                _ => seat_state.waker = Some(context.waker().clone()),
            }
            if !std::mem::replace(&mut seat_state.is_taken, true) {
                let free = state.queue_of_thread(seat.thread);
                free.push_back(Arc::clone(seat));
            }
            Poll::Pending
        })
        .await
    }

    fn is_waiting(&self) -> bool {
        !lock(&self.state).waiting.is_empty()
    }

    fn take_waiting(&self) -> VecDeque<Arrival> {
        std::mem::take(&mut lock(&self.state).waiting)
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        let free = std::mem::take(&mut state.free);
        drop(state);
        for seat in free.iter().flatten() {
            if let Some(waker) = &lock(&seat.state).waker {
                waker.wake_by_ref();
            }
        }
    }
}

impl QueueState {
    /// Takes the next free user, and returns its waker: of that thread, or of another if it has
    /// none.
    fn next_free(&mut self, thread: usize, order: FreeUserOrder) -> Option<Waker> {
        self.queue_of_thread(thread);
        let (before, from) = self.free.split_at_mut(thread);
        let next = |free: &mut VecDeque<Arc<Seat>>| match order {
            FreeUserOrder::FreeForLongest => free.pop_front(),
            FreeUserOrder::FreeSinceLast => free.pop_back(),
        };
        let seat = from.iter_mut().chain(before).find_map(next)?;
        let mut state = lock(&seat.state);
        state.is_taken = false;
        state.waker.clone()
    }

    fn queue_of_thread(&mut self, thread: usize) -> &mut VecDeque<Arc<Seat>> {
        let threads = self.free.len().max(thread + 1);
        self.free.resize_with(threads, VecDeque::new);
        &mut self.free[thread]
    }
}

/// Task of one user of an open loop, on one of the threads.
pub(super) async fn user(mut user: Box<LoadUser>, thread: u32) {
    let workload = Arc::clone(&user.workload);
    let context = Arc::clone(workload.context());
    let worker = Rc::clone(&user.user.log.worker);
    let queue = workload.queue();
    let at_work = AtWork::new(&workload);
    let seat = Arc::new(Seat {
        thread: thread as usize,
        state: Mutex::default(),
    });
    let ready = user.get_ready().await;
    if ready.leads {
        workload.start_schedule(ready.can_begin);
    }
    worker.vitals.enter();
    let mut free_since = context.clock.now();
    while let Some(arrival) = queue.next(&seat).await {
        let done = user.operate(arrival).await;
        // Waiting for a free connection is the server's time, later delays are those of the load
        // generator.
        let due = arrival.planned.unwrap_or(0).max(free_since) + done.paused;
        let late = done.started.unwrap_or(due).saturating_sub(due);
        worker.vitals.add_lateness(late);
        free_since = done.ended;
    }
    worker.vitals.leave(&context.vitals);
    context.rest();
    drop(at_work);
    user.leave().await;
}

/// A user who has not left; a panic counts as leaving.
struct AtWork(Arc<Workload>);

impl AtWork {
    fn new(workload: &Arc<Workload>) -> AtWork {
        workload.queue().at_work.fetch_add(1, Ordering::SeqCst);
        AtWork(Arc::clone(workload))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.queue().at_work.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Dispatches the operations of one thread at their moments.
pub(super) struct Dispatcher {
    pub(super) workload: Arc<Workload>,
    pub(super) worker: Rc<Worker>,
    pub(super) operations: Rc<Operations>,
    /// Operations that may wait.
    pub(super) room: usize,
    /// Index of this thread, and number of threads.
    pub(super) share: (u32, u32),
    pub(super) spin: Duration,
    /// Draws the kind of operations that are never sent; users draw that of the others.
    pub(super) rng: ChaCha8Rng,
}

impl Dispatcher {
    pub(super) async fn run(mut self) {
        self.follow_schedule().await;
        self.workload.leave_schedule(self.share.1);
        self.drain().await;
    }

    async fn follow_schedule(&mut self) {
        let origin = tokio::select! {
            origin = self.workload.schedule_begins() => origin,
            () = self.workload.context().broken() => return,
        };
        let Some(origin) = origin else { return };
        let (share, all) = (u64::from(self.share.0), u64::from(self.share.1));
        let mut batch = 0;
        let mut last = 0;
        // Operations of other threads since the last one of this, and then this one's next.
        let mut due: Vec<Arrival> = Vec::new();
        for (number, next) in self.workload.schedule() {
            last = number;
            let planned = origin + next.offset;
            due.push(Arrival {
                number,
                planned: Some(planned),
                phase: next.phase,
                now: None,
            });
            if number % all != share {
                continue;
            }
            if self.wait_for(planned).await {
                batch = 0;
            }
            if self.workload.is_over() {
                return;
            }
            self.hand_out(&mut due);
            batch += 1;
            if batch == BATCH {
                batch = 0;
                yield_now().await;
            }
        }
        // The last few are dispatched by other threads. The distance after the last operation is
        // part of the schedule: without it, the rate would be that of one operation more.
        if let Some(length) = self.workload.length_of_schedule(last) {
            self.wait_for(origin.saturating_add(length)).await;
        }
    }

    /// Waits for a moment of the schedule, unless the run ends before; true if it had to. Distant
    /// moments are waited for in steps, so that an end in between is noticed.
    async fn wait_for(&self, moment: Nanos) -> bool {
        let clock = self.workload.context().clock;
        let must_wait = moment > clock.now();
        while moment > clock.now() && !self.workload.is_over() {
            let step = clock.now() + STEP;
            wait_until(clock, moment.min(step), self.spin).await;
        }
        must_wait
    }

    fn hand_out(&mut self, due: &mut Vec<Arrival>) {
        let workload = Arc::clone(&self.workload);
        let thread = self.share.0 as usize;
        for arrival in workload.queue().hand_out(due, thread, self.room) {
            self.drop_arrival(arrival, "too many operations wait for a free connection");
        }
        due.clear();
    }

    /// Waits for a limited time for the operations that are planned already.
    async fn drain(&mut self) {
        let workload = Arc::clone(&self.workload);
        let (clock, queue) = (workload.context().clock, workload.queue());
        let patience = workload.drain;
        // Other threads may still have a part of the schedule to dispatch.
        let mut last = clock.now();
        while !workload.context().is_over() && clock.now() < last + patience {
            match (workload.is_over(), queue.is_waiting()) {
                (true, false) => break,
                (true, true) => {}
                (false, _) => last = clock.now(),
            }
            sleep(Duration::from_millis(1)).await;
        }
        for arrival in queue.take_waiting() {
            let why = "the run ended while it waited for a free connection";
            self.drop_arrival(arrival, why);
        }
        queue.close();
        while queue.at_work.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Records an operation that was planned and is never sent.
    fn drop_arrival(&mut self, arrival: Arrival, why: &str) {
        let context = Arc::clone(self.workload.context());
        let Some(drawn) = self.operations.draw(&mut self.rng, arrival.number, 0) else {
            return;
        };
        let operating = self.operations.begin(arrival.number, &drawn);
        for request in self.operations.requests(&drawn, &mut self.rng) {
            let Some(measure) = request.plan.measure else {
                continue;
            };
            let operation = Operation {
                measure,
                user: 0,
                target: request.plan.target,
                role: 0,
                number: match operating.numbering {
                    Numbering::Own(number) => number,
                    Numbering::Each => context.progress.next_request(),
                },
                visit: operating.visit,
                parts: None,
                phase: arrival.phase,
            };
            let method = &request.plan.method;
            self.worker
                .drop_operation(&context, operation, method, arrival.planned, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    fn arrivals(numbers: &[u64]) -> Vec<Arrival> {
        let arrival = |number: &u64| Arrival {
            number: *number,
            planned: Some(*number),
            phase: 0,
            now: None,
        };
        numbers.iter().map(arrival).collect()
    }

    fn seat(thread: usize) -> Arc<Seat> {
        Arc::new(Seat {
            thread,
            state: Mutex::default(),
        })
    }

    /// The number of the next operation, for a single poll of a user.
    fn look(queue: &Queue, seat: &Arc<Seat>) -> Poll<Option<u64>> {
        let mut context = Context::from_waker(Waker::noop());
        let next = pin!(queue.next(seat)).poll(&mut context);
        next.map(|arrival| arrival.map(|arrival| arrival.number))
    }

    #[test]
    fn a_free_user_of_any_thread_gets_the_next_operation() {
        let queue = Queue::default();
        let (here, there) = (seat(0), seat(1));
        assert!(look(&queue, &here).is_pending() && look(&queue, &there).is_pending());
        // The first is for the user of the same thread. The second must not wait for it.
        assert!(queue.hand_out(&arrivals(&[1, 2]), 0, 0).is_empty());
        assert_eq!(look(&queue, &there), Poll::Ready(Some(1)));
        assert_eq!(look(&queue, &here), Poll::Ready(Some(2)));
        // No user is free, and one operation may wait.
        let dropped = queue.hand_out(&arrivals(&[3, 4]), 0, 1);
        assert_eq!(dropped, arrivals(&[4]));
        assert_eq!(look(&queue, &there), Poll::Ready(Some(3)));
        assert!(look(&queue, &there).is_pending());
        queue.close();
        assert_eq!(look(&queue, &there), Poll::Ready(None));
    }

    #[test]
    fn users_who_are_alike_are_used_again_before_others() {
        for (order, expected) in [
            (FreeUserOrder::FreeForLongest, [true, false]),
            (FreeUserOrder::FreeSinceLast, [false, true]),
        ] {
            let queue = Queue::new(order);
            let seats = [seat(0), seat(0)];
            assert!(seats.iter().all(|seat| look(&queue, seat).is_pending()));
            queue.hand_out(&arrivals(&[1]), 0, 9);
            // A woken user is not free any more.
            let is_woken = || seats.each_ref().map(|seat| !lock(&seat.state).is_taken);
            assert_eq!(is_woken(), expected);
            // The other one finds it before, and is free in one slot again.
            let other = &seats[usize::from(expected[0])];
            assert_eq!(look(&queue, other), Poll::Ready(Some(1)));
            assert!(seats.iter().all(|seat| look(&queue, seat).is_pending()));
            assert_eq!(lock(&queue.state).free[0].len(), 2);
        }
    }

    #[test]
    fn a_thread_that_is_late_holds_nothing_up() {
        let queue = Queue::default();
        // The second thread dispatches the first one's operations, which then has none.
        assert!(queue.hand_out(&arrivals(&[1, 2]), 1, 9).is_empty());
        assert!(queue.hand_out(&arrivals(&[1]), 0, 9).is_empty());
        let seat = seat(0);
        assert_eq!(look(&queue, &seat), Poll::Ready(Some(1)));
        assert_eq!(look(&queue, &seat), Poll::Ready(Some(2)));
        assert!(look(&queue, &seat).is_pending());
    }
}
