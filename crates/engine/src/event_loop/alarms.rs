//! Moments that tasks wait for: one `timerfd`, set to the first of them. A time limit of
//! `epoll_wait` would make the kernel set up and remove a timer in every call, for half a
//! microsecond.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use record::Nanos;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::Core;
use crate::clock::monotonic;

/// Token of events of the timer.
pub(super) const TOKEN: u64 = u64::MAX;

/// Stands for the moment of a timer that is not set.
const NEVER: Nanos = Nanos::MAX;

pub(super) struct Alarms {
    timer: OwnedFd,
    /// Alarms by their moments; the second number distinguishes those of the same moment.
    waiting: RefCell<BTreeMap<Key, Waker>>,
    /// Moment to which the timer is set.
    set: Cell<Nanos>,
    count: Cell<u64>,
}

type Key = (Nanos, u64);

impl Alarms {
    pub(super) fn new(epoll: &OwnedFd) -> io::Result<Alarms> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Each expiration is a separate event; the timer need not be read.
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(epoll, &timer, EventData::new_u64(TOKEN), interest)?;
        Ok(Alarms {
            timer,
            waiting: RefCell::default(),
            set: Cell::new(NEVER),
            count: Cell::new(0),
        })
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    fn first(&self) -> Option<Nanos> {
        let waiting = self.waiting.borrow();
        waiting.first_key_value().map(|(key, _)| key.0)
    }

    /// Sets the timer to the first alarm.
    pub(super) fn set(&self) {
        // An alarm that rings too early rings in vain.
        let Some(first) = self.first().filter(|first| *first < self.set.get()) else {
            return;
        };
        let value = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: (first / 1_000_000_000).cast_signed(),
                // Zero and zero would switch it off.
                tv_nsec: (first % 1_000_000_000).max(1).cast_signed(),
            },
        };
        if let Err(error) = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &value) {
            unreachable!("the timer is open and the moment one that exists: {error}");
        }
        self.set.set(first);
    }

    /// Advances simulated time to the first alarm.
    #[cfg(test)]
    pub(super) fn go_on_to_the_first(&self) {
        let first = self.first().expect("all tasks wait, and none for a moment");
        crate::clock::simulated::advance_to(first);
        self.ring();
    }

    /// The timer has expired: wakes the tasks whose moments have come.
    pub(super) fn ring(&self) {
        self.set.set(NEVER);
        let now = monotonic();
        let mut waiting = self.waiting.borrow_mut();
        while let Some(first) = waiting.first_entry().filter(|first| first.key().0 <= now) {
            first.remove().wake();
        }
    }
}

/// Completes at its moment.
pub(super) struct Alarm {
    core: Rc<Core>,
    moment: Nanos,
    /// Key under which it waits.
    key: Option<Key>,
}

impl Alarm {
    pub(super) fn new(core: Rc<Core>, moment: Nanos) -> Alarm {
        let key = None;
        Alarm { core, moment, key }
    }
}

impl Future for Alarm {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.moment <= monotonic() {
            return Poll::Ready(());
        }
        let key = self.key.unwrap_or_else(|| {
            let count = &self.core.alarms.count;
            count.set(count.get() + 1);
            (self.moment, count.get())
        });
        self.key = Some(key);
        let waker = context.waker().clone();
        self.core.alarms.waiting.borrow_mut().insert(key, waker);
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.core.alarms.waiting.borrow_mut().remove(&key);
        }
    }
}
