//! File descriptors in the event loop.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the event loop of this thread.
pub(crate) fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, is always the same descriptor, and closes only when the
    // `AsyncFd` that owns it now is dropped.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(io::Error::from)
}
