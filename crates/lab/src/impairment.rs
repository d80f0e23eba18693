//! Impairment of the frames that pass a link in one direction.

use std::time::Duration;

use crate::chosen::ChosenSegment;
use crate::error::LabError;

/// Impairment of frames in one direction. By default frames pass at once.
///
/// A frame first waits in the queue of its sender (`bandwidth`). Then it is on the wire, where it
/// can be lost, corrupted or duplicated, takes its time (`delay`), or is held back. So a frame that
/// is lost on the wire has used its share of the bandwidth.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Impairment {
    /// Limit of the rate, with a queue. Without it, frames leave as soon as they arrive.
    pub bandwidth: Option<Bandwidth>,
    /// Time of a frame on the wire.
    pub delay: Delay,
    /// Random loss.
    pub loss: LossProcess,
    /// Frames that others overtake.
    pub hold_back: Option<HoldBack>,
    /// Probability that a frame arrives twice.
    pub duplication: f64,
    /// Probability that one bit behind the Ethernet header changes.
    pub corruption: f64,
    /// Faults of chosen TCP segments with data.
    pub chosen: Vec<ChosenSegment>,
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
    /// Its mean for [`Jitter::None`], [`Jitter::Uniform`] and [`Jitter::Normal`], its least for
    /// [`Jitter::Pareto`].
    pub base: Duration,
    /// Its variation. A sum below zero counts as zero.
    pub jitter: Jitter,
    /// A frame may arrive before one that was sent earlier and drew a longer delay. Otherwise, it
    /// arrives right behind that one.
    pub may_reorder: bool,
}

/// Variation of the delay.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Jitter {
    /// None.
    #[default]
    None,
    /// Uniform, up to this much more or less.
    Uniform {
        /// Half the width of the distribution.
        spread: Duration,
    },
    /// Normal.
    Normal {
        /// Standard deviation.
        deviation: Duration,
    },
    /// Pareto, of the addition to the base (Lomax): mean `scale / (shape - 1)`.
    Pareto {
        /// Scale.
        scale: Duration,
        /// Shape, above 0; the mean is finite above 1.
        shape: f64,
    },
}

/// Random loss of frames.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum LossProcess {
    /// No loss.
    #[default]
    None,
    /// Independent losses.
    Bernoulli {
        /// Probability.
        probability: f64,
    },
    /// A Markov chain of two states, which changes, if it does, before each frame. It begins in the
    /// good one (E. N. Gilbert, 1960; E. O. Elliott, 1963).
    GilbertElliott {
        /// Probability of the change from good to bad.
        to_bad: f64,
        /// Probability of the change from bad to good.
        to_good: f64,
        /// Probability of a loss in the good state.
        good_loss: f64,
        /// Probability of a loss in the bad state.
        bad_loss: f64,
    },
}

/// Frames that are held back, so that later ones arrive earlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HoldBack {
    /// Which frames.
    pub which: HoldBackPeriod,
    /// Time, in addition to the delay.
    pub by: Duration,
}

/// Which frames are held back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HoldBackPeriod {
    /// Each independently with this probability.
    Probability(f64),
    /// The n-th, the 2n-th, and so on.
    Every(u64),
}

impl LossProcess {
    /// Share of frames that is lost in the long run.
    pub fn expected(&self) -> f64 {
        match *self {
            LossProcess::None => 0.0,
            LossProcess::Bernoulli { probability } => probability,
            LossProcess::GilbertElliott {
                to_bad,
                to_good,
                good_loss,
                bad_loss,
            } => {
                let changes = to_bad + to_good;
                let bad = if changes > 0.0 { to_bad / changes } else { 0.0 };
                bad * bad_loss + (1.0 - bad) * good_loss
            }
        }
    }

    fn probabilities(&self) -> Vec<(&'static str, f64)> {
        match *self {
            LossProcess::None => Vec::new(),
            LossProcess::Bernoulli { probability } => vec![("loss", probability)],
            LossProcess::GilbertElliott {
                to_bad,
                to_good,
                good_loss,
                bad_loss,
            } => vec![
                ("change to the bad state", to_bad),
                ("change to the good state", to_good),
                ("loss in the good state", good_loss),
                ("loss in the bad state", bad_loss),
            ],
        }
    }
}

impl Impairment {
    /// Checks that all settings are in range.
    ///
    /// # Errors
    ///
    /// The first setting that is out of range, with its value.
    pub fn check(&self) -> Result<(), LabError> {
        let mut probabilities = self.loss.probabilities();
        probabilities.push(("duplication", self.duplication));
        probabilities.push(("corruption", self.corruption));
        if let Some(HoldBackPeriod::Probability(value)) = self.hold_back.map(|held| held.which) {
            probabilities.push(("reordering", value));
        }
        for (name, value) in probabilities {
            if !(0.0..=1.0).contains(&value) {
                return setting(format!(
                    "the probability of {name} is {value}: not from 0 to 1"
                ));
            }
        }
        if let Some(HoldBackPeriod::Every(0)) = self.hold_back.map(|held| held.which) {
            return setting("every 0th frame is held back: the number begins at 1".to_owned());
        }
        if self.bandwidth.is_some_and(|rate| rate.bits_per_second == 0) {
            return setting("the rate is 0 bit/s: leave it out for no limit".to_owned());
        }
        if let Some(LinkQueue::FqCodel(settings)) = self.bandwidth.map(|rate| rate.queue)
            && (settings.flows == 0 || settings.quantum == 0)
        {
            return setting("FQ-CoDel needs a queue, and a byte for each turn".to_owned());
        }
        if let Jitter::Pareto { shape, scale } = self.delay.jitter
            && !(shape > 0.0 && shape.is_finite() && !scale.is_zero())
        {
            return setting(format!(
                "the jitter has a Pareto distribution of shape {shape} and scale {scale:?}: \
                 both must be above 0"
            ));
        }
        if self.chosen.iter().any(|chosen| chosen.number == 0) {
            return setting("segment 0 is chosen: the number begins at 1".to_owned());
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
        let held = |which| {
            Some(HoldBack {
                which,
                by: Duration::from_millis(1),
            })
        };
        let pareto = |shape| Delay {
            jitter: Jitter::Pareto {
                scale: Duration::from_millis(1),
                shape,
            },
            ..Delay::default()
        };
        let loss = |probability| LossProcess::Bernoulli { probability };
        let none = Impairment::default;
        #[rustfmt::skip]
        let table = [
            (none(), true),
            (Impairment { loss: loss(1.0), ..none() }, true),
            (Impairment { loss: loss(1.01), ..none() }, false),
            (Impairment { loss: loss(f64::NAN), ..none() }, false),
            (Impairment { duplication: -0.1, ..none() }, false),
            (Impairment { corruption: 2.0, ..none() }, false),
            (Impairment { hold_back: held(HoldBackPeriod::Every(1)), ..none() }, true),
            (Impairment { hold_back: held(HoldBackPeriod::Every(0)), ..none() }, false),
            (Impairment { hold_back: held(HoldBackPeriod::Probability(1.5)), ..none() }, false),
            (Impairment { delay: pareto(2.5), ..none() }, true),
            (Impairment { delay: pareto(0.0), ..none() }, false),
            (Impairment { delay: pareto(f64::INFINITY), ..none() }, false),
            (Impairment { chosen: vec![ChosenSegment::lost(1)], ..none() }, true),
            (Impairment { chosen: vec![ChosenSegment::lost(0)], ..none() }, false),
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

    #[test]
    fn expected_loss_of_a_chain_is_that_of_its_stationary_states() {
        let chain = LossProcess::GilbertElliott {
            to_bad: 0.01,
            to_good: 0.09,
            good_loss: 0.0,
            bad_loss: 0.5,
        };
        assert!((chain.expected() - 0.05).abs() < 1e-12);
    }
}
