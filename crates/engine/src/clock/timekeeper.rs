//! Conversion of the observations of an exchange to the moments of its sample.

#[cfg(test)]
mod schedules;

use std::fmt;
use std::net::UdpSocket;
use std::sync::Arc;

use record::{Moments, Nanos, Timing};

use crate::clock::stamps::{self, RealNanos, Stamping};
use crate::clock::{RunClock, SMALLEST_STEP, TOLERANCE, WallClock};

/// Moments of an exchange, as far as it came.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamps {
    pub(crate) started: Nanos,
    pub(crate) sent: Option<Nanos>,
    pub(crate) first: Option<Nanos>,
    /// Just after the call that returned the first byte.
    pub(crate) first_read: Nanos,
    pub(crate) done: Option<Nanos>,
    pub(crate) kernel: Option<KernelStamps>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

/// The same as stamped by the kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KernelStamps {
    pub(crate) sent: Option<RealNanos>,
    pub(crate) acked: Option<RealNanos>,
    pub(crate) first: Option<RealNanos>,
}

/// Notified when the clock of the stamps was set during a run.
pub(crate) trait OnClockStep: fmt::Debug + Send + Sync {
    /// The clock went forward by this many nanoseconds, negative for back.
    fn clock_stepped(&self, by: i64);
}

#[derive(Debug)]
pub(crate) struct Timekeeper {
    pub(crate) clock: RunClock,
    pub(crate) stamping: Stamping,
    wall: WallClock,
    on_step: Option<Arc<dyn OnClockStep>>,
    /// A socket that requests stamps for the whole run. The kernel stamps arrivals only while some
    /// socket does, and needs a moment to begin again: without this one, runs that open and close
    /// connections would miss stamps.
    _wants_stamps: Option<UdpSocket>,
}

/// A stamp this far from the reading in user space may mean late work of this process, or a clock
/// that was set.
const FAR: Nanos = 1_000_000;

/// *sent*, *acked* and *first*, and their clock.
type Timed = (Option<Nanos>, Option<Nanos>, Option<Nanos>, Timing);

impl Timekeeper {
    /// With the user clock, and without an observer of steps.
    pub(crate) fn plain(clock: RunClock) -> Self {
        Timekeeper {
            clock,
            stamping: Stamping::Off,
            wall: WallClock::new(clock),
            on_step: None,
            _wants_stamps: None,
        }
    }

    pub(crate) fn new(clock: RunClock, stamping: Stamping, on_step: Arc<dyn OnClockStep>) -> Self {
        Timekeeper {
            stamping,
            on_step: Some(on_step),
            _wants_stamps: match stamping {
                Stamping::Off => None,
                Stamping::On { .. } => stamps::keep_stamping().ok(),
            },
            ..Timekeeper::plain(clock)
        }
    }

    /// The moments of an exchange that was to begin at `planned`, began at `started` and ended at
    /// `done`.
    pub(crate) fn moments(
        &self,
        stamps: &Stamps,
        planned: Option<Nanos>,
        started: Nanos,
        done: Option<Nanos>,
    ) -> (Moments, Timing) {
        let (sent, acked, first, timing) = match stamps.kernel {
            Some(kernel) => self.by_kernel(stamps, kernel),
            None => (stamps.sent, None, stamps.first, self.without_stamps()),
        };
        let moments = Moments {
            planned: planned.unwrap_or(started),
            started,
            sent,
            acked,
            first,
            done,
        };
        (moments, timing)
    }

    /// The timing of an operation that ended before it had stamps.
    pub(crate) fn without_stamps(&self) -> Timing {
        match self.stamping {
            Stamping::Off => Timing::User,
            Stamping::On { .. } => Timing::Kernel { bias: None },
        }
    }

    /// If an operation began before the time of day was last set, one stamp may be from before and
    /// the other from after it.
    fn by_kernel(&self, stamps: &Stamps, kernel: KernelStamps) -> Timed {
        // Before the request has left, or without ever requesting the rest of it.
        let early =
            stamps.first.is_some() && stamps.sent.is_none_or(|sent| stamps.first < Some(sent));
        let known = kernel.sent.is_some() && (kernel.first.is_some() || stamps.first.is_none());
        if !known && !early {
            return missed(stamps);
        }
        let timed = self.credible(stamps, kernel);
        if !timed.is_some_and(|timed| is_ordinary(timed, stamps)) {
            // Has the clock been set?
            let step = self.wall.look_for_step();
            if let (Some(by), Some(on_step)) = (step, &self.on_step) {
                on_step.clock_stepped(by);
            }
        }
        let timed = timed.filter(|timed| {
            stamps.started >= self.wall.last_step() && !is_acknowledged_early(*timed)
        });
        timed.unwrap_or_else(|| missed(stamps))
    }

    /// The stamps as moments of the run; `None` when one cannot be true.
    fn credible(&self, stamps: &Stamps, kernel: KernelStamps) -> Option<Timed> {
        // Nothing leaves before it was offered, or arrives after it was read.
        let latest = stamps.done.unwrap_or_else(|| self.clock.now());
        let between = |at: Option<RealNanos>, latest: Nanos| match at {
            None => Some(None),
            Some(at) => {
                let moment = self.wall.moment(at)?;
                let true_enough =
                    moment + TOLERANCE >= stamps.started && moment <= latest + TOLERANCE;
                true_enough.then_some(Some(moment))
            }
        };
        let sent = between(kernel.sent, latest)?;
        let acked = between(kernel.acked, Nanos::MAX - TOLERANCE)?;
        let first = between(kernel.first, stamps.first_read)?.or(stamps.first);
        let response = |sent: Option<Nanos>, first: Option<Nanos>| first?.checked_sub(sent?);
        let bias = response(stamps.sent, stamps.first)
            .zip(response(sent, first))
            .map(|(user, kernel)| user.cast_signed() - kernel.cast_signed());
        Some((sent, acked, first, Timing::Kernel { bias }))
    }
}

/// True if the stamps are as near to user space as usual, and in order. They are neither for a
/// response that comes before the request has left: then the check is in vain.
fn is_ordinary((sent, acked, first, _): Timed, stamps: &Stamps) -> bool {
    let is_near = |user: Option<Nanos>, kernel: Option<Nanos>| match (user, kernel) {
        (Some(user), Some(kernel)) => user.abs_diff(kernel) < FAR,
        _ => true,
    };
    let is_after_sent = |at: Option<Nanos>| sent.zip(at).is_none_or(|(sent, at)| sent <= at);
    is_near(stamps.sent, sent)
        && is_near(stamps.first, first)
        && is_after_sent(acked)
        && is_after_sent(first)
}

/// An acknowledgement before the departure. If no step was found either, the clock was set back and
/// forth during the exchange, and none of its stamps is known to be true.
fn is_acknowledged_early((sent, acked, ..): Timed) -> bool {
    let by = sent
        .zip(acked)
        .and_then(|(sent, acked)| sent.checked_sub(acked));
    by.is_some_and(|by| by >= SMALLEST_STEP.cast_unsigned())
}

/// Without a stamp there is no response time; the end of the operation is known well enough from
/// user space.
fn missed(stamps: &Stamps) -> Timed {
    (None, None, stamps.first, Timing::Missed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::real;
    use crate::clock::simulated::{self, SimulatedTime};

    fn keeper() -> Timekeeper {
        Timekeeper {
            stamping: Stamping::On { acks: false },
            ..Timekeeper::plain(RunClock::start())
        }
    }

    /// The time of day at a moment of the run.
    fn day(keeper: &Timekeeper, moment: Nanos) -> RealNanos {
        real() - keeper.clock.now() as i64 + moment as i64
    }

    /// User space saw the request off at 1000 us and the response at 2000 us.
    fn stamps(kernel: KernelStamps) -> Stamps {
        Stamps {
            started: 990_000,
            sent: Some(1_000_000),
            first: Some(2_000_000),
            first_read: 2_010_000,
            done: Some(2_050_000),
            kernel: Some(kernel),
            ..Stamps::default()
        }
    }

    fn kernel(sent: Option<RealNanos>, first: Option<RealNanos>) -> KernelStamps {
        KernelStamps {
            sent,
            acked: None,
            first,
        }
    }

    fn near(at: Option<Nanos>, expected: Nanos) -> bool {
        at.is_some_and(|at| at.abs_diff(expected) < 200_000)
    }

    #[test]
    fn stamps_give_the_moments_and_the_bias_of_user_space() {
        let keeper = keeper();
        let base = day(&keeper, 0);
        let kernel = kernel(Some(base + 1_005_000), Some(base + 1_900_000));
        let (moments, timing) = keeper.moments(&stamps(kernel), None, 990_000, Some(2_050_000));
        assert!(near(moments.sent, 1_005_000) && near(moments.first, 1_900_000));
        assert_eq!(moments.response(), Some(895_000));
        let bias = Some(105_000);
        assert_eq!(timing, Timing::Kernel { bias });
        assert_eq!(moments.planned, 990_000);
    }

    #[test]
    fn a_response_to_half_a_request_has_no_response_time_and_misses_no_stamp() {
        let keeper = keeper();
        let kernel = kernel(None, Some(day(&keeper, 0) + 1_900_000));
        let half_sent = Stamps {
            sent: None,
            ..stamps(kernel)
        };
        let (moments, timing) = keeper.moments(&half_sent, None, 990_000, Some(2_050_000));
        assert_eq!((moments.sent, moments.response()), (None, None));
        assert!(near(moments.first, 1_900_000));
        assert_eq!(timing, Timing::Kernel { bias: None });
    }

    #[test]
    fn without_a_stamp_there_is_no_response_time() {
        let keeper = keeper();
        let base = day(&keeper, 0);
        for (sent, first) in [
            (None, Some(base + 1_900_000)),
            (Some(base + 1_005_000), None),
            (None, None),
        ] {
            let stamps = stamps(kernel(sent, first));
            let (moments, timing) = keeper.moments(&stamps, None, 990_000, None);
            assert_eq!((moments.response(), timing), (None, Timing::Missed));
        }
    }

    #[test]
    fn stamps_across_a_step_of_the_clock_are_not_subtracted() {
        let keeper = keeper();
        let base = day(&keeper, 0);
        let hour = 3_600_000_000_000;
        for (before, after) in [
            (0, hour),
            (0, -hour),
            (hour, hour),
            (-hour, -hour),
            (0, 50_000_000),
        ] {
            let (sent, first) = (base + before + 1_005_000, base + after + 1_900_000);
            let stamps = stamps(kernel(Some(sent), Some(first)));
            let (moments, timing) = keeper.moments(&stamps, None, 990_000, None);
            assert_eq!(
                (moments.response(), timing),
                (None, Timing::Missed),
                "{before} {after}"
            );
        }
    }

    #[test]
    fn a_step_back_is_noticed_where_each_stamp_could_be_true() {
        let time = SimulatedTime::begin();
        let keeper = keeper();
        let base = simulated::day_at(keeper.clock.monotonic(0));
        // The clock was set back by 200 us while the response was in flight: the run notices it by
        // the next impossible operation, and operations that began before have no response time.
        let straddling = kernel(Some(base + 1_005_000), Some(base + 1_700_000));
        let response = || {
            let (moments, timing) = keeper.moments(&stamps(straddling), None, 990_000, None);
            (moments.response(), timing)
        };
        simulated::advance_to(keeper.clock.monotonic(2_060_000));
        assert!(matches!(response(), (Some(_), Timing::Kernel { .. })));
        time.set_day_at(vec![(keeper.clock.monotonic(1_200_000), -200_000)]);
        assert_eq!(keeper.wall.look_for_step(), Some(-200_000));
        assert_eq!(response(), (None, Timing::Missed));
    }

    #[test]
    fn an_early_response_has_no_response_time_and_is_not_missed() {
        let keeper = keeper();
        let early = Stamps {
            first: Some(995_000),
            first_read: 996_000,
            ..stamps(kernel(Some(day(&keeper, 1_005_000)), None))
        };
        let (moments, timing) = keeper.moments(&early, None, 990_000, None);
        assert_eq!(moments.response(), None);
        assert_eq!(timing, Timing::Kernel { bias: None });
    }

    #[test]
    fn the_user_clock_is_handed_on() {
        let keeper = Timekeeper::plain(RunClock::start());
        let user = Stamps {
            kernel: None,
            ..stamps(KernelStamps::default())
        };
        let (moments, timing) = keeper.moments(&user, Some(5), 990_000, None);
        assert_eq!(moments.response(), Some(1_000_000));
        assert_eq!((moments.planned, timing), (5, Timing::User));
    }
}
