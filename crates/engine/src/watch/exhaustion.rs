//! Resources that this machine refused: ports, files, memory for sockets.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use record::Exhausted;

/// Counts of refused resources, over all threads of a run.
#[derive(Debug, Default)]
pub(crate) struct Exhaustion {
    ports: AtomicU64,
    files: AtomicU64,
    buffers: AtomicU64,
    reported: Mutex<Exhausted>,
}

impl Exhaustion {
    /// Counts an error of this machine, not of the server.
    pub(crate) fn note(&self, error: &io::Error) {
        let count = match error.raw_os_error() {
            Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => &self.ports,
            Some(libc::EMFILE | libc::ENFILE) => &self.files,
            Some(libc::ENOBUFS | libc::ENOMEM) => &self.buffers,
            _ => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts since the last call.
    pub(crate) fn take(&self) -> Exhausted {
        let all = self.counts();
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *reported, all);
        Exhausted {
            ports: all.ports - before.ports,
            files: all.files - before.files,
            buffers: all.buffers - before.buffers,
        }
    }

    /// Counts so far.
    pub(crate) fn counts(&self) -> Exhausted {
        Exhausted {
            ports: self.ports.load(Ordering::Relaxed),
            files: self.files.load(Ordering::Relaxed),
            buffers: self.buffers.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_machine_refuses_is_counted() {
        let exhaustion = Exhaustion::default();
        for code in [
            libc::EADDRNOTAVAIL,
            libc::EADDRINUSE,
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOBUFS,
            libc::ENOMEM,
        ] {
            exhaustion.note(&io::Error::from_raw_os_error(code));
        }
        for code in [libc::ECONNREFUSED, libc::ETIMEDOUT, libc::EAGAIN] {
            exhaustion.note(&io::Error::from_raw_os_error(code));
        }
        exhaustion.note(&io::ErrorKind::UnexpectedEof.into());
        let counts = exhaustion.take();
        assert_eq!((counts.ports, counts.files, counts.buffers), (2, 2, 2));
        assert_eq!(exhaustion.take(), Exhausted::default(), "reported already");
        assert_eq!(exhaustion.counts(), counts);
        assert!(counts.any() && !Exhaustion::default().counts().any());
    }
}
