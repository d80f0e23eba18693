//! Descriptors that tasks wait for.
//!
//! They are edge-triggered: the kernel reports changes, and readers report when nothing is left.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use record::Nanos;
use rustix::event::epoll::{self, EventData, EventFlags};

use super::Core;
use crate::clock::monotonic;

/// Always awaited. Writability is not: stamps of the kernel come by the error queue, and all of
/// them would be reported as writable.
const READING: EventFlags = EventFlags::IN
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);
const BOTH: EventFlags = READING.union(EventFlags::OUT);

/// Nothing can come after these. An error alone is not among them: it may be a stamp.
const ENDED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP);
/// Writing can continue, or fails.
const WRITABLE: EventFlags = EventFlags::OUT
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

/// All descriptors of an event loop, by their tokens.
#[derive(Default)]
pub(super) struct Sources {
    states: RefCell<Vec<Option<Rc<Readiness>>>>,
    free: RefCell<Vec<usize>>,
}

/// The kernel's last report about a descriptor.
#[derive(Debug, Default)]
struct Readiness {
    is_readable: Cell<bool>,
    /// When the end was reported, on the [monotonic] clock.
    ended_at: Cell<Option<Nanos>>,
    is_writable: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    writer: RefCell<Option<Waker>>,
}

impl Sources {
    pub(super) fn set_ready(&self, token: u64, flags: EventFlags) {
        let states = self.states.borrow();
        let state = usize::try_from(token).ok().and_then(|at| states.get(at));
        let Some(Some(state)) = state else { return };
        if flags.intersects(EventFlags::IN | ENDED) {
            state.is_readable.set(true);
            if flags.intersects(ENDED) && state.ended_at.get().is_none() {
                state.ended_at.set(Some(monotonic()));
            }
            wake(&state.reader);
        }
        if flags.intersects(WRITABLE) {
            state.is_writable.set(true);
            wake(&state.writer);
        }
    }

    fn insert(&self, state: Rc<Readiness>) -> usize {
        let mut states = self.states.borrow_mut();
        match self.free.borrow_mut().pop() {
            Some(index) => {
                states[index] = Some(state);
                index
            }
            None => {
                states.push(Some(state));
                states.len() - 1
            }
        }
    }

    fn remove(&self, index: usize) {
        self.states.borrow_mut()[index] = None;
        self.free.borrow_mut().push(index);
    }
}

/// A waker is kept: the same task will wait again.
fn wake(waker: &RefCell<Option<Waker>>) {
    if let Some(waker) = &*waker.borrow() {
        waker.wake_by_ref();
    }
}

/// A descriptor in the event loop of its thread.
pub(crate) struct Source {
    fd: OwnedFd,
    state: Rc<Readiness>,
    index: usize,
    core: Rc<Core>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = formatter.debug_struct("Source");
        parts.field("fd", &self.fd).field("state", &self.state);
        parts.finish_non_exhaustive()
    }
}

impl Source {
    /// Adds a non-blocking descriptor to the event loop of this thread.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Source> {
        let core = Core::current();
        let state = Rc::<Readiness>::default();
        let index = core.sources.insert(Rc::clone(&state));
        let data = EventData::new_u64(index as u64);
        if let Err(error) = epoll::add(&core.epoll, &fd, data, READING) {
            core.sources.remove(index);
            return Err(error.into());
        }
        Ok(Source {
            fd,
            state,
            index,
            core,
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// True if there may be something to read, or an end to notice.
    pub(crate) fn is_readable(&self) -> bool {
        self.state.is_readable.get() || self.state.ended_at.get().is_some()
    }

    /// When the end of the other side was reported, on the [monotonic] clock.
    pub(crate) fn ended_at(&self) -> Option<Nanos> {
        self.state.ended_at.get()
    }

    /// Notes that nothing is left to read; later arrivals are reported anew.
    pub(crate) fn is_drained(&self) {
        self.state.is_readable.set(false);
    }

    /// Notes that there may be something to read that the event loop has not seen yet.
    pub(crate) fn may_be_readable(&self) {
        self.state.is_readable.set(true);
    }

    pub(crate) fn readable(&self) -> impl Future<Output = ()> {
        poll_fn(|context| self.poll_readable(context))
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.watch_writing()?;
        poll_fn(|context| self.poll_writable(context)).await;
        self.stop_watching_writing()
    }

    /// Waits until it may be readable, which is true, or is writable.
    pub(crate) async fn either(&self) -> io::Result<bool> {
        self.watch_writing()?;
        let readable = poll_fn(|context| match self.poll_readable(context) {
            Poll::Ready(()) => Poll::Ready(true),
            Poll::Pending => self.poll_writable(context).map(|()| false),
        })
        .await;
        self.stop_watching_writing()?;
        Ok(readable)
    }

    fn poll_readable(&self, context: &Context<'_>) -> Poll<()> {
        if self.is_readable() {
            return Poll::Ready(());
        }
        wait(&self.state.reader, context);
        Poll::Pending
    }

    /// Between [`Self::watch_writing`] and [`Self::stop_watching_writing`].
    fn poll_writable(&self, context: &Context<'_>) -> Poll<()> {
        if self.state.is_writable.get() {
            return Poll::Ready(());
        }
        wait(&self.state.writer, context);
        Poll::Pending
    }

    /// Makes the kernel report writability from now on.
    fn watch_writing(&self) -> io::Result<()> {
        self.state.is_writable.set(false);
        self.watch(BOTH)
    }

    /// Ends the reports of writability.
    fn stop_watching_writing(&self) -> io::Result<()> {
        self.state.writer.take();
        self.watch(READING)
    }

    fn watch(&self, interest: EventFlags) -> io::Result<()> {
        let data = EventData::new_u64(self.index as u64);
        Ok(epoll::modify(&self.core.epoll, &self.fd, data, interest)?)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // Closing would suffice, unless there is a copy of the descriptor.
        let _ = epoll::delete(&self.core.epoll, &self.fd);
        self.core.sources.remove(self.index);
    }
}

fn wait(slot: &RefCell<Option<Waker>>, context: &Context<'_>) {
    let mut slot = slot.borrow_mut();
    match &*slot {
        Some(waker) if waker.will_wake(context.waker()) => {}
        _ => *slot = Some(context.waker().clone()),
    }
}
