//! Signals that end this program: tests, which lead process groups of their own, do not receive
//! them from a terminal.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// A descriptor to poll: readable from the first of the signals on.
#[derive(Debug)]
pub(crate) struct Interruption {
    signalled: PipeReader,
    /// Signals write to it; while it is open, nothing else makes the other end readable.
    signals: PipeWriter,
}

impl Interruption {
    /// From now on, SIGINT, SIGTERM and SIGHUP do not end the process by themselves.
    pub(crate) fn listen() -> io::Result<Interruption> {
        let interruption = Interruption::never()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            pipe::register(signal, interruption.signals.try_clone()?)?;
        }
        Ok(interruption)
    }

    /// An interruption that never happens.
    pub(crate) fn never() -> io::Result<Interruption> {
        let (signalled, signals) = io::pipe()?;
        Ok(Interruption { signalled, signals })
    }

    pub(crate) fn has_come(&self) -> bool {
        let mut now = [PollFd::new(&self.signalled, PollFlags::IN)];
        poll(&mut now, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for Interruption {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signalled.as_fd()
    }
}
