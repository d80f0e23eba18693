//! Waiting for the moments of a schedule, optionally with busy-waiting at the end.

use std::time::Duration;

use record::Nanos;

use crate::clock::{RunClock, nanos};
use crate::event_loop::sleep_until;

/// Waits until `moment`, the last part of it in a busy loop; not at all when it is over.
pub(super) async fn wait_until(clock: RunClock, moment: Nanos, spin: Duration) {
    let wake_up = moment.saturating_sub(nanos(spin));
    sleep_until(clock.monotonic(wake_up)).await;
    while clock.now() < moment {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_loop::EventLoop;

    #[test]
    fn it_never_wakes_too_early() {
        EventLoop::new().unwrap().run(async {
            let clock = RunClock::start();
            for spin in [0, 20] {
                let spin = Duration::from_micros(spin);
                for wait in [0, 1, 500, 70_000, 900_000, 2_500_000] {
                    let moment = clock.now() + wait;
                    wait_until(clock, moment, spin).await;
                    assert!(clock.now() >= moment, "{wait} ns, spinning for {spin:?}");
                }
                wait_until(clock, 0, spin).await;
            }
        });
    }
}
