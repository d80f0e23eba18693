//! What standard output is: whether it was closed when this program began (`>&-`), and whether a place is it, or one
//! that several documents can go to.
//!
//! Where it was closed, the standard library opens /dev/null in its place, before `main`, so that what is written is lost
//! without an error.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said then.
pub const CLOSED: &str = "writing to standard output failed: it is closed";

/// Stands for it where a file could stand.
pub const NAME: &str = "-";

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether nobody gets what is written to it.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// Whether this is standard output: `-`, or another name of what it goes to (/dev/stdout).
pub fn is(place: &Path) -> bool {
    let is_same = || {
        let there = fs::metadata(place).ok()?;
        let own = rustix::fs::fstat(io::stdout()).ok()?;
        Some((there.dev(), there.ino()) == (own.st_dev, own.st_ino))
    };
    place.as_os_str() == NAME || (!was_closed() && is_same() == Some(true))
}

/// Whether nothing is kept of what is written there (/dev/null), whatever its name.
pub(crate) fn discards(place: &Path) -> bool {
    /// Its numbers, on all machines (null(4)).
    const NULL: (u32, u32) = (1, 3);
    let there = fs::metadata(place);
    there.is_ok_and(|there| {
        there.file_type().is_char_device() && there.rdev() == rustix::fs::makedev(NULL.0, NULL.1)
    })
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
