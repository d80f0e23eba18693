//! The request of an owner to end the thread that serves its devices.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

/// A flag that stops a thread, and a descriptor that wakes it up.
#[derive(Debug)]
pub(crate) struct StopSignal {
    is_raised: AtomicBool,
    wake: OwnedFd,
}

impl StopSignal {
    pub(crate) fn new() -> io::Result<StopSignal> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(StopSignal {
            is_raised: AtomicBool::new(false),
            wake: eventfd(0, flags)?,
        })
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    /// A descriptor that becomes readable when the thread should stop.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Ends the thread, if it has not been ended before. Returns its result.
    pub(crate) fn end(&self, thread: &mut Option<JoinHandle<io::Result<()>>>) -> io::Result<()> {
        self.is_raised.store(true, Ordering::Release);
        let written = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        let Some(thread) = thread.take() else {
            return Ok(());
        };
        written?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
    }
}
