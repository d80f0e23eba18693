//! What standard output is: whether it was closed when this program began (`>&-`), and whether a place is it.
//!
//! Where it was closed, the standard library opens /dev/null in its place, before `main`, so that what is written is lost
//! without an error.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said then.
pub(crate) const CLOSED: &str = "writing to standard output failed: it is closed";

/// Stands for it where a file could stand.
pub(crate) const NAME: &str = "-";

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether nobody gets what is written to it.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// Whether this is standard output: `-`, or another name of what it goes to (/dev/stdout).
pub(crate) fn is(place: &Path) -> bool {
    let is_same = || {
        let there = fs::metadata(place).ok()?;
        let own = rustix::fs::fstat(io::stdout()).ok()?;
        Some((there.dev(), there.ino()) == (own.st_dev, own.st_ino))
    };
    place.as_os_str() == NAME || (!was_closed() && is_same() == Some(true))
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
