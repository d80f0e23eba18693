//! Waking of tasks, also by other threads.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};

use super::CURRENT;

/// Token of events of the mailbox.
pub(super) const TOKEN: u64 = u64::MAX - 1;

/// Tasks of an event loop that other threads have woken.
pub(super) struct Mailbox {
    tasks: Mutex<Vec<usize>>,
    event: OwnedFd,
}

impl Mailbox {
    pub(super) fn new(epoll: &OwnedFd) -> io::Result<Mailbox> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        // Each write is a separate event; the counter need not be read.
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(epoll, &event, EventData::new_u64(TOKEN), interest)?;
        let tasks = Mutex::default();
        Ok(Mailbox { tasks, event })
    }

    fn post(&self, task: usize) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push(task);
        if tasks.len() == 1 {
            // Fails if the counter is full, and then it has been written before.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    /// Passes on the tasks that were posted.
    pub(super) fn collect(&self, make_ready: impl FnMut(usize)) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.drain(..).for_each(make_ready);
    }
}

/// Wakes one task.
pub(super) struct TaskWaker {
    pub(super) task: usize,
    pub(super) mailbox: Arc<Mailbox>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let is_ours = CURRENT.try_with(|current| match &*current.borrow() {
            Some(core) if Arc::ptr_eq(&core.mailbox, &self.mailbox) => {
                core.make_ready(self.task);
                true
            }
            _ => false,
        });
        // A thread that ends has no event loop any more.
        if !is_ours.unwrap_or(false) {
            self.mailbox.post(self.task);
        }
    }
}
