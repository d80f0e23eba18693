//! Whether standard output was closed when this program began (`>&-`).
//!
//! The standard library then opens /dev/null in its place, before `main`, so that what is written is lost without an error.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is said then.
pub(crate) const CLOSED: &str = "writing to standard output failed: it is closed";

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether nobody gets what is written to it.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    // SAFETY: it reads the flags of a descriptor, whether there is one or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the loader calls what stands in this section before the standard library begins, and `look` needs nothing of it.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;
