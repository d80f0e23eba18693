//! How a run is ended early.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use record::{EventKind, Nanos};
use tokio::sync::Notify;

use crate::clock::monotonic;

/// Ends a run: users finish what is under way, the rest is skipped, the server is cleaned.
/// Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// When the end was asked for, on the monotonic clock.
    since: OnceLock<Nanos>,
    /// When the user asked for it, likewise.
    by_user_since: OnceLock<Nanos>,
    wake: Notify,
    /// Why, where it was not the user.
    reason: OnceLock<String>,
}

impl Cancel {
    /// Asks for the end, for the user. May be called from any thread, more than once.
    pub fn cancel(&self) {
        let _ = self.inner.by_user_since.set(monotonic());
        self.ask();
    }

    fn ask(&self) {
        // The first time counts.
        let _ = self.inner.since.set(monotonic());
        self.inner.wake.notify_waiters();
    }

    /// Asks for the end for a reason that the records of the runs have. The first reason counts.
    pub fn cancel_because(&self, reason: &str) {
        if !self.is_cancelled() {
            // A second reason at the same moment is as good as the first.
            let _ = self.inner.reason.set(reason.to_owned());
        }
        self.ask();
    }

    /// How a run ends that this ended early: interrupted by the user, or aborted for a reason.
    pub(crate) fn event(&self) -> EventKind {
        match self.inner.reason.get() {
            None => EventKind::Interrupted,
            Some(reason) => EventKind::Aborted {
                reason: reason.clone(),
            },
        }
    }

    /// Whether the end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.inner.since.get().is_some()
    }

    /// How long ago the end was asked for; `None` where it was not.
    pub(crate) fn age(&self) -> Option<Duration> {
        age(&self.inner.since)
    }

    /// How long ago the user asked for it, who waits; `None` where it was something else.
    pub(crate) fn age_of_wish(&self) -> Option<Duration> {
        age(&self.inner.by_user_since)
    }

    /// Completes when the end is asked for.
    pub(crate) async fn cancelled(&self) {
        let wake = self.inner.wake.notified();
        tokio::pin!(wake);
        // Enrolled before the flag is read, so that no call between the two is missed.
        wake.as_mut().enable();
        if !self.is_cancelled() {
            wake.await;
        }
    }
}

fn age(since: &OnceLock<Nanos>) -> Option<Duration> {
    let since = since.get()?;
    Some(Duration::from_nanos(monotonic().saturating_sub(*since)))
}
