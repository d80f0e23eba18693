//! A regular tick that costs nothing between ticks: a `timerfd`, which the event loop waits for as
//! for any other descriptor.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::descriptor::register;

/// Ticks with this period.
#[derive(Debug)]
pub(crate) struct Ticker {
    period: Duration,
    /// `None` where the system has none to spare; then the timer of the event loop has to do.
    fd: Option<AsyncFd<OwnedFd>>,
}

impl Ticker {
    pub(crate) fn new(period: Duration) -> Self {
        let fd = timer().and_then(|fd| {
            set(&fd, period, period)?;
            register(fd, Interest::READABLE)
        });
        Ticker {
            period,
            fd: fd.ok(),
        }
    }

    /// Waits for the next tick. Ticks that were slept through are one.
    pub(crate) async fn tick(&self) {
        let ticked = match &self.fd {
            Some(fd) => expired(fd).await.is_ok(),
            None => false,
        };
        if !ticked {
            tokio::time::sleep(self.period).await;
        }
    }
}

/// A timer that is not set.
pub(crate) fn timer() -> std::io::Result<OwnedFd> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    Ok(timerfd_create(TimerfdClockId::Monotonic, flags)?)
}

/// Sets a timer to expire after `first`, and then with this `period`, or only once if that is zero.
pub(crate) fn set(fd: &OwnedFd, first: Duration, period: Duration) -> std::io::Result<()> {
    let timespec = |time: Duration| Timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    };
    let value = Itimerspec {
        it_interval: timespec(period),
        it_value: timespec(first),
    };
    timerfd_settime(fd, TimerfdTimerFlags::empty(), &value)?;
    Ok(())
}

/// Waits until a timer has expired.
pub(crate) async fn expired(fd: &AsyncFd<OwnedFd>) -> std::io::Result<()> {
    fd.async_io(Interest::READABLE, |fd| {
        let mut expirations = [0; 8];
        Ok(rustix::io::read(fd, &mut expirations)?)
    })
    .await?;
    Ok(())
}
