//! Impairment of the frames that pass a link in one direction.

use std::time::Duration;

use crate::error::LabError;

/// Impairment of frames in one direction. By default frames pass at once.
///
/// A frame first waits in the queue of its sender (`bandwidth`). Then it is on the wire, where it
/// can be lost or duplicated, and takes its time (`delay`). So a frame that is lost on the wire has
/// used its share of the bandwidth.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Impairment {
    /// Limit of the rate, with a queue. Without it, frames leave as soon as they arrive.
    pub bandwidth: Option<Bandwidth>,
    /// Time of a frame on the wire.
    pub delay: Delay,
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that a frame arrives twice.
    pub duplication: f64,
}

/// A limited rate, and the queue before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// Rate in bit/s.
    pub bits_per_second: u64,
    /// Bytes that count for each frame in addition to those of the frame itself (from the first
    /// byte of its Ethernet header to its last byte of payload). Ethernet adds 24: preamble, check
    /// sequence, gap.
    pub overhead: u32,
    /// Room for waiting frames, in addition to the one that is being sent.
    pub queue: LinkQueue,
}

/// A queue. A frame that finds no room is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkQueue {
    /// Number of frames.
    Frames(usize),
    /// Total bytes of frames.
    Bytes(usize),
    /// Controlled delay (RFC 8289).
    Codel(CodelSettings),
    /// A queue with CoDel for each flow (RFC 8290).
    FqCodel(FqCodelSettings),
}

/// Settings of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelSettings {
    /// Most frames.
    pub frames: usize,
    /// Acceptable time in the queue, in ns.
    pub target: u64,
    /// Time in which it must have been less at least once, in ns.
    pub interval: u64,
}

/// Settings of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodelSettings {
    /// Settings of all queues, which share the room.
    pub codel: CodelSettings,
    /// Number of queues. A hash of addresses, protocol and ports selects that of a frame.
    pub flows: u32,
    /// Bytes that a queue sends per turn.
    pub quantum: u32,
}

/// Time of a frame on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Delay {
    /// Its mean.
    pub base: Duration,
    /// Most that it is longer or shorter, uniformly distributed; a sum below zero counts as zero.
    pub jitter: Duration,
    /// A frame may arrive before one that was sent earlier and drew a longer delay. Otherwise, it
    /// arrives right behind that one.
    pub may_reorder: bool,
}

impl Impairment {
    /// Checks that all settings are in range.
    ///
    /// # Errors
    /// The first setting that is out of range, with its value.
    pub fn check(&self) -> Result<(), LabError> {
        let probabilities = [("loss", self.loss), ("duplication", self.duplication)];
        for (name, value) in probabilities {
            if !(0.0..=1.0).contains(&value) {
                return setting(format!(
                    "the probability of {name} is {value}: not from 0 to 1"
                ));
            }
        }
        if self.bandwidth.is_some_and(|rate| rate.bits_per_second == 0) {
            return setting("the rate is 0 bit/s: leave it out for no limit".to_owned());
        }
        if let Some(LinkQueue::FqCodel(settings)) = self.bandwidth.map(|rate| rate.queue)
            && (settings.flows == 0 || settings.quantum == 0)
        {
            return setting("FQ-CoDel needs a queue, and a byte for each turn".to_owned());
        }
        Ok(())
    }
}

fn setting(message: String) -> Result<(), LabError> {
    Err(LabError::Setting(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_refused() {
        let none = Impairment::default;
        #[rustfmt::skip]
        let table = [
            (none(), true),
            (Impairment { loss: 1.0, ..none() }, true),
            (Impairment { loss: 1.01, ..none() }, false),
            (Impairment { loss: f64::NAN, ..none() }, false),
            (Impairment { duplication: -0.1, ..none() }, false),
            (
                Impairment {
                    bandwidth: Some(Bandwidth {
                        bits_per_second: 0,
                        overhead: 0,
                        queue: LinkQueue::Frames(1),
                    }),
                    ..none()
                },
                false,
            ),
        ];
        for (impairment, expected) in table {
            let checked = impairment.check();
            assert_eq!(checked.is_ok(), expected, "{impairment:?}: {checked:?}");
        }
    }
}
