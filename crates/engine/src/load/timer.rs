//! Waiting to the microsecond: a `timerfd`, because the timer of the event loop counts
//! milliseconds, and spinning for the last stretch where that is wanted.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use record::Nanos;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock::{RunClock, nanos};
use crate::descriptor::register;
use crate::ticker::{expired, set, timer};

/// A timer of one task.
pub(super) struct Timer {
    fd: AsyncFd<OwnedFd>,
    clock: RunClock,
    spin: Nanos,
}

impl Timer {
    pub(super) fn new(clock: RunClock, spin: Duration) -> io::Result<Self> {
        Ok(Timer {
            fd: register(timer()?, Interest::READABLE)?,
            clock,
            spin: nanos(spin),
        })
    }

    /// Waits until `moment`; at once when it is over.
    pub(super) async fn wait_until(&self, moment: Nanos) -> io::Result<()> {
        let left = moment.saturating_sub(self.clock.now());
        if left == 0 {
            return Ok(());
        }
        if left > self.spin {
            self.sleep(left - self.spin).await?;
        }
        while self.clock.now() < moment {
            std::hint::spin_loop();
        }
        Ok(())
    }

    async fn sleep(&self, left: Nanos) -> io::Result<()> {
        set(
            self.fd.get_ref(),
            Duration::from_nanos(left),
            Duration::ZERO,
        )?;
        expired(&self.fd).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_wakes_too_early() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let clock = RunClock::start();
            for spin in [0, 20] {
                let timer = Timer::new(clock, Duration::from_micros(spin)).unwrap();
                for wait in [0, 1, 500, 70_000, 900_000, 2_500_000] {
                    let moment = clock.now() + wait;
                    timer.wait_until(moment).await.unwrap();
                    assert!(clock.now() >= moment, "{wait} ns, spinning for {spin} us");
                }
                timer.wait_until(0).await.unwrap();
            }
        });
    }
}
