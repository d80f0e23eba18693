//! Servers that close a kept connection without `Connection: close`.
//!
//! Such a close may cross the next request. One that may be repeated is sent again on a new
//! connection (RFC 9110, section 9.2.2); LOCK, POST and PATCH fail, because they may have been
//! carried out. So once a server has done it, these are sent with more caution:
//!
//! | the server has closed silently | before a request that must not be repeated |
//! |---|---|
//! | never | nothing is done beyond what is done for every request |
//! | after responses with other statuses | the socket is read: has this connection ended, too? |
//! | after a response with the status that was the last on this connection | a new connection |
//!
//! A close that comes long after a response is the end of a keep-alive time, and tells nothing of
//! the status.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use record::{EventKind, Nanos};

/// A connection that was idle for longer than this has reached the end of a keep-alive time: no
/// server has a shorter one.
const IDLE: Nanos = 1_000_000_000;

/// The silent closes of a run, seen by all its clients.
#[derive(Debug, Default)]
pub(crate) struct SilentCloses {
    any: AtomicBool,
    after: Mutex<BTreeMap<u16, CloseCount>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct CloseCount {
    noticed: u64,
    lost: u64,
}

/// How a silent close showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseShown {
    /// Before the next request was sent.
    Noticed,
    /// The next request was sent, and no byte of a response came.
    Lost,
}

/// What to do about a kept connection before a request that must not be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caution {
    None,
    /// Read the socket.
    Look,
    /// Open a new one.
    Reconnect,
}

impl SilentCloses {
    /// Whether there was one.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Notes one, so long after a response with this status.
    pub(crate) fn note(&self, status: u16, idle: Nanos, shown: CloseShown) {
        self.any.store(true, Ordering::Relaxed);
        if idle >= IDLE {
            return;
        }
        let mut after = self.after();
        let count = after.entry(status).or_default();
        match shown {
            CloseShown::Noticed => count.noticed += 1,
            CloseShown::Lost => count.lost += 1,
        }
    }

    /// What to do about a connection whose last response had this status.
    pub(crate) fn caution(&self, status: u16) -> Caution {
        match self.any() {
            false => Caution::None,
            true if self.after().contains_key(&status) => Caution::Reconnect,
            true => Caution::Look,
        }
    }

    /// What the record keeps of them.
    pub(crate) fn events(&self) -> Vec<EventKind> {
        let after = self.after();
        let events = after
            .iter()
            .map(|(status, count)| EventKind::ClosedSilently {
                status: *status,
                noticed: count.noticed,
                lost: count.lost,
            });
        events.collect()
    }

    /// A panic while counting leaves whole counts: going on is safe.
    fn after(&self) -> MutexGuard<'_, BTreeMap<u16, CloseCount>> {
        self.after.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caution_grows_with_what_was_seen() {
        let closes = SilentCloses::default();
        assert_eq!(closes.caution(204), Caution::None);
        // The end of a keep-alive time.
        closes.note(204, 5 * IDLE, CloseShown::Noticed);
        assert_eq!(closes.caution(204), Caution::Look);
        assert_eq!(closes.events(), []);
        closes.note(204, 1_000, CloseShown::Lost);
        closes.note(204, 1_000, CloseShown::Noticed);
        closes.note(204, 1_000, CloseShown::Noticed);
        assert_eq!(closes.caution(204), Caution::Reconnect);
        assert_eq!(closes.caution(200), Caution::Look);
        let event = EventKind::ClosedSilently {
            status: 204,
            noticed: 2,
            lost: 1,
        };
        assert_eq!(closes.events(), [event]);
    }
}
