//! Waiting for a moment, precisely, and not longer than the server lives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The kernel wakes a sleeper up to a scheduling delay late; the rest is waited for awake.
const AWAKE: Duration = Duration::from_micros(200);

/// Returns at the deadline, usually within some microseconds of it, or when the server stops
/// (which unparks its threads).
pub(super) fn wait_until(deadline: Instant, stopping: &AtomicBool) {
    while !stopping.load(Ordering::Relaxed) {
        let left = deadline.saturating_duration_since(Instant::now());
        match left.checked_sub(AWAKE) {
            Some(asleep) if !asleep.is_zero() => thread::park_timeout(asleep),
            _ => break,
        }
    }
    while Instant::now() < deadline && !stopping.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Disables the 50 microseconds by which Linux may batch wake-ups, for the calling thread.
pub(super) fn wake_promptly() {
    // Where it is refused, the time awake covers the difference as a rule.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
