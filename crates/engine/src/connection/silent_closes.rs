//! Servers that close a kept connection without `Connection: close`.
//!
//! Such a close may cross the next request. One that may be repeated is sent again on a new
//! connection (RFC 9110, section 9.2.2); LOCK, POST and PATCH fail, because they may have been
//! carried out. So after the first such close, these are sent with more caution:
//!
//! | the server has closed silently | before a request that must not be repeated |
//! |---|---|
//! | never, and announces no time | nothing is done beyond what is done for every request |
//! | after responses with other statuses | the socket is read: has this connection ended, too? |
//! | after a response with the status that was the last on this connection | a new connection |
//! | after a time for which this connection has nearly been idle | a new connection |
//!
//! A close long after a response is the end of a keep-alive time, and independent of the status. A
//! server may announce such a time, too (`Keep-Alive: timeout=5`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use record::{EventKind, Nanos};

/// Idle time from which on a closed connection has reached the end of a keep-alive time: no server
/// has a shorter one, but for tests.
const IDLE: Nanos = 100_000_000;
/// Stands for no time.
const NEVER: Nanos = Nanos::MAX;

/// The silent closes of a run, seen by all its clients.
#[derive(Debug)]
pub(crate) struct SilentCloses {
    any: AtomicBool,
    /// The shortest time without a request after which a connection was closed.
    limit: AtomicU64,
    after: Mutex<BTreeMap<u16, CloseCount>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct CloseCount {
    noticed: u64,
    lost: u64,
}

/// How a silent close was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseShown {
    /// Before the next request was sent.
    Noticed,
    /// The next request was sent, and no byte of a response came.
    Lost,
}

/// Precaution with a kept connection before a request that must not be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caution {
    None,
    /// Read the socket first.
    Look,
    /// Open a new connection.
    Reconnect,
}

impl Default for SilentCloses {
    fn default() -> SilentCloses {
        SilentCloses {
            any: AtomicBool::new(false),
            limit: AtomicU64::new(NEVER),
            after: Mutex::default(),
        }
    }
}

impl SilentCloses {
    /// Notes a silent close, this long after a response with this status.
    pub(crate) fn note(&self, status: u16, idle: Nanos, shown: CloseShown) {
        self.any.store(true, Ordering::Relaxed);
        if idle >= IDLE {
            self.limit.fetch_min(idle, Ordering::Relaxed);
            return;
        }
        let mut after = self.after();
        let count = after.entry(status).or_default();
        match shown {
            CloseShown::Noticed => count.noticed += 1,
            CloseShown::Lost => count.lost += 1,
        }
    }

    /// Precaution with a connection that has been idle for this long after a response with this
    /// status; the server may have announced a limit.
    pub(crate) fn caution(&self, status: u16, idle: Nanos, announced: Option<Nanos>) -> Caution {
        let seen = self.limit.load(Ordering::Relaxed);
        let limit = announced.map_or(seen, |announced| announced.min(seen));
        // The close may be in flight, and clocks of servers are coarse.
        if idle >= limit - limit / 4 {
            Caution::Reconnect
        } else if !self.any.load(Ordering::Relaxed) {
            Caution::None
        } else if self.after().contains_key(&status) {
            Caution::Reconnect
        } else {
            Caution::Look
        }
    }

    pub(crate) fn events(&self) -> Vec<EventKind> {
        let after = self.after();
        let event = |(status, count): (&u16, &CloseCount)| EventKind::ClosedSilently {
            status: *status,
            noticed: count.noticed,
            lost: count.lost,
        };
        after.iter().map(event).collect()
    }

    /// A panic while counting leaves consistent counts: continuing is safe.
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
        let caution = |status| closes.caution(status, 0, None);
        assert_eq!(caution(204), Caution::None);
        // The end of a keep-alive time.
        closes.note(204, 5 * IDLE, CloseShown::Noticed);
        assert_eq!(caution(204), Caution::Look);
        assert_eq!(closes.events(), []);
        closes.note(204, 1_000, CloseShown::Lost);
        closes.note(204, 1_000, CloseShown::Noticed);
        closes.note(204, 1_000, CloseShown::Noticed);
        assert_eq!(caution(204), Caution::Reconnect);
        assert_eq!(caution(200), Caution::Look);
        let event = EventKind::ClosedSilently {
            status: 204,
            noticed: 2,
            lost: 1,
        };
        assert_eq!(closes.events(), [event]);
    }

    #[test]
    fn a_connection_that_was_idle_for_nearly_as_long_as_servers_wait_is_not_used() {
        let closes = SilentCloses::default();
        let after = |idle, announced| closes.caution(200, idle, announced);
        assert_eq!(after(Nanos::MAX / 2, None), Caution::None);
        assert_eq!(after(30 * IDLE, Some(50 * IDLE)), Caution::None);
        assert_eq!(after(40 * IDLE, Some(50 * IDLE)), Caution::Reconnect);
        closes.note(200, 12 * IDLE, CloseShown::Lost);
        closes.note(200, 10 * IDLE, CloseShown::Noticed);
        for announced in [None, Some(50 * IDLE)] {
            assert_eq!(after(7 * IDLE, announced), Caution::Look);
            assert_eq!(after(8 * IDLE, announced), Caution::Reconnect);
        }
        assert_eq!(after(0, Some(0)), Caution::Reconnect);
    }
}
