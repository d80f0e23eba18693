//! One direction of a link, or the medium of a hub, with everything resolved.

use crate::FileError;
use crate::file::{LabHubSpec, WireSpec};
use crate::queue::WireQueue;

/// Preamble, check sequence and gap of Ethernet, in bytes.
const ETHERNET_OVERHEAD: u32 = 24;

/// The message about a queue of a link without a rate.
pub(crate) const NO_RATE: &str = "nothing waits where there is no rate; add `rate`";

/// Longest delay: an hour.
const LONGEST_DELAY: u64 = 3_600_000_000_000;

/// Changes of frames by one direction of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PlannedWire {
    /// Rate in bit/s; none: as fast as the machine.
    pub rate: Option<u64>,
    /// Bytes that count for each frame beside its own, if there is a rate.
    pub overhead: u32,
    /// Capacity for waiting frames, if there is a rate.
    pub queue: WireQueue,
    /// Delay, in ns.
    pub delay: u64,
    /// Largest difference of the delay, in ns.
    pub jitter: u64,
    /// A frame may overtake another one.
    pub may_reorder: bool,
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that a frame arrives twice.
    pub duplication: f64,
}

impl PlannedWire {
    /// True if it changes frames: otherwise the kernel can pass them on by itself.
    pub fn is_shaped(&self) -> bool {
        self.rate.is_some()
            || self.delay > 0
            || self.jitter > 0
            || self.loss > 0.0
            || self.duplication > 0.0
    }

    /// Time in which a frame of `bytes` bytes occupies the sender, in ns; 0 without a rate.
    pub fn sending_time(&self, bytes: usize) -> u64 {
        let bits = 8 * (bytes as u128 + u128::from(self.overhead));
        let time = self
            .rate
            .map(|rate| bits * 1_000_000_000 / u128::from(rate.max(1)));
        u64::try_from(time.unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Resolves the keys for both directions, at `place`, and for this one, at `place.direction`.
    pub(crate) fn new(
        place: &str,
        direction: &str,
        both: &WireSpec,
        direction_spec: Option<&WireSpec>,
    ) -> Result<PlannedWire, FileError> {
        let none = WireSpec::default();
        let direction_spec = direction_spec.unwrap_or(&none);
        let rate = direction_spec.rate.or(both.rate);
        let at = |key: &str, is_own: bool| {
            if is_own {
                format!("{place}.{direction}.{key}")
            } else {
                format!("{place}.{key}")
            }
        };
        for (key, is_given) in [
            ("queue", direction_spec.queue.is_some()),
            ("overhead", direction_spec.overhead.is_some()),
        ] {
            if is_given && rate.is_none() {
                return Err(FileError::new(at(key, true), NO_RATE));
            }
        }
        let share = |one_way: Option<traffic::Percentage>, both: Option<traffic::Percentage>| {
            one_way
                .or(both)
                .map_or(0.0, |share| share.percent() / 100.0)
        };
        let wire = PlannedWire {
            rate: rate.map(traffic::BitRate::bits_per_second),
            overhead: direction_spec
                .overhead
                .or(both.overhead)
                .unwrap_or(ETHERNET_OVERHEAD),
            queue: WireQueue::new(
                &at("queue", direction_spec.queue.is_some()),
                direction_spec.queue.or(both.queue),
            )?,
            delay: direction_spec
                .delay
                .or(both.delay)
                .map_or(0, traffic::TimeSpan::nanos),
            jitter: direction_spec
                .jitter
                .or(both.jitter)
                .map_or(0, traffic::TimeSpan::nanos),
            may_reorder: direction_spec.reorder.or(both.reorder).unwrap_or(false),
            loss: share(direction_spec.loss, both.loss),
            duplication: share(direction_spec.duplicates, both.duplicates),
        };
        let fail =
            |key: &str, is_own: bool, message: &str| Err(FileError::new(at(key, is_own), message));
        if wire.delay > LONGEST_DELAY {
            return fail(
                "delay",
                direction_spec.delay.is_some(),
                "is longer than an hour",
            );
        }
        if wire.jitter > wire.delay {
            let message = "is longer than the delay, which would then be negative at times";
            return fail("jitter", direction_spec.jitter.is_some(), message);
        }
        if wire.overhead > 1000 {
            let message = "is more than 1000 bytes for each frame";
            return fail("overhead", direction_spec.overhead.is_some(), message);
        }
        Ok(wire)
    }

    /// The medium of a hub.
    pub(crate) fn from_hub(place: &str, hub: &LabHubSpec) -> Result<PlannedWire, FileError> {
        let spec = WireSpec {
            rate: hub.rate,
            queue: hub.queue,
            delay: hub.delay,
            loss: hub.loss,
            ..WireSpec::default()
        };
        let wire = PlannedWire::new(place, "", &spec, None)?;
        if hub.queue.is_some() && hub.rate.is_none() {
            return Err(FileError::new(format!("{place}.queue"), NO_RATE));
        }
        Ok(wire)
    }
}
