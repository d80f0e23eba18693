//! Early end of a run.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use record::{EventKind, Nanos};
use tokio::sync::Notify;

use crate::clock::monotonic;

/// Ends a run: users finish current requests, the rest is skipped, the server is cleaned. Clones
/// share one state.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// When the end was requested, on the monotonic clock.
    since: OnceLock<Nanos>,
    /// When the user requested it, likewise.
    by_user_since: OnceLock<Nanos>,
    wake: Notify,
    /// The reason, if it was not the user.
    reason: OnceLock<String>,
}

impl Cancel {
    /// Requests the end, for the user. May be called from any thread, more than once.
    pub fn cancel(&self) {
        let _ = self.inner.by_user_since.set(monotonic());
        self.end();
    }

    fn end(&self) {
        // The first time counts.
        let _ = self.inner.since.set(monotonic());
        self.inner.wake.notify_waiters();
    }

    /// Requests the end for a reason that the runs record. The first reason counts.
    pub fn cancel_because(&self, reason: &str) {
        if !self.is_cancelled() {
            // A second reason at the same moment is as good as the first.
            let _ = self.inner.reason.set(reason.to_owned());
        }
        self.end();
    }

    /// The event for a run that this ended early: interrupted by the user, or aborted for a reason.
    pub(crate) fn event(&self) -> EventKind {
        match self.inner.reason.get() {
            None => EventKind::Interrupted,
            Some(reason) => EventKind::Aborted {
                reason: reason.clone(),
            },
        }
    }

    /// True if the end was requested.
    pub fn is_cancelled(&self) -> bool {
        self.inner.since.get().is_some()
    }

    /// Time since the end was requested; `None` if it was not.
    pub(crate) fn age(&self) -> Option<Duration> {
        age(&self.inner.since)
    }

    /// Time since the user, who is waiting, requested it; `None` if the reason was another.
    pub(crate) fn age_by_user(&self) -> Option<Duration> {
        age(&self.inner.by_user_since)
    }

    /// Completes when the end is requested.
    pub(crate) async fn cancelled(&self) {
        let wake = self.inner.wake.notified();
        tokio::pin!(wake);
        // Registered before the flag is read, so that no call between the two is missed.
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
