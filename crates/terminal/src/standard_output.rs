//! Properties of standard output: closed when this program began (`>&-`), the destination of a
//! given path, or a destination for several documents.
//!
//! If it was closed, the standard library opens /dev/null in its path, before `main`, so output
//! would be lost without an error.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Message if it was closed.
pub const CLOSED: &str = "writing to standard output failed: it is closed";

/// Stands for it where a file name is expected.
pub const NAME: &str = "-";

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// True if it was closed at the start.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// True for standard output: `-`, or another name of its destination (/dev/stdout).
pub fn is(path: &Path) -> bool {
    let is_same = || {
        let there = fs::metadata(path).ok()?;
        let output = rustix::fs::fstat(io::stdout()).ok()?;
        Some((there.dev(), there.ino()) == (output.st_dev, output.st_ino))
    };
    path.as_os_str() == NAME || (!was_closed() && is_same() == Some(true))
}

/// True for /dev/null, under any name.
pub(crate) fn discards(path: &Path) -> bool {
    /// Device numbers, on all machines (null(4)).
    const NULL: (u32, u32) = (1, 3);
    let there = fs::metadata(path);
    there.is_ok_and(|there| {
        there.file_type().is_char_device() && there.rdev() == rustix::fs::makedev(NULL.0, NULL.1)
    })
}

extern "C" fn look() {
    // SAFETY: reads the flags of a descriptor, which need not exist.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the loader calls the functions of this section before the standard library begins, and
// `look` uses nothing of it.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;
