//! How a run is ended early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Ends a run: users finish what is under way, the rest is skipped, the server is cleaned.
/// Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    wake: Notify,
}

impl Cancel {
    /// Asks for the end. May be called from any thread, more than once.
    pub fn cancel(&self) {
        self.inner.asked.store(true, Ordering::SeqCst);
        self.inner.wake.notify_waiters();
    }

    /// Whether the end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.inner.asked.load(Ordering::SeqCst)
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
