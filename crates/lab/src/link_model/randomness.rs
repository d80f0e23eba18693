//! Random decisions for each frame.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Normal, Pareto};

use super::nanos;
use crate::error::LabError;
use crate::impairment::{HoldBackPeriod, Impairment, Jitter, LossProcess};

/// Length of an Ethernet header: none of its bits is corrupted, or the frame would have no
/// destination.
const ETHERNET_HEADER: usize = 14;

/// Random decisions for one frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decisions {
    pub(super) is_lost: bool,
    pub(super) is_held_back: bool,
    pub(super) is_duplicated: bool,
    pub(super) inverted_bit: Option<usize>,
    /// Time on the wire, in ns.
    pub(super) delay: u64,
}

/// Random numbers, a stream of them for each kind of decision.
#[derive(Debug)]
pub(super) struct Randomness {
    loss: LossProcess,
    is_bad: bool,
    hold_back: Option<HoldBackPeriod>,
    duplication: f64,
    corruption: f64,
    base: u64,
    variation: Variation,
    streams: [ChaCha8Rng; 5],
}

/// The distribution of the jitter, in ns.
#[derive(Debug)]
enum Variation {
    None,
    Uniform(f64),
    Normal(Normal<f64>),
    /// With its scale.
    Pareto(Pareto<f64>, f64),
}

const LOSS: usize = 0;
const HOLD_BACK: usize = 1;
const DUPLICATION: usize = 2;
const CORRUPTION: usize = 3;
const JITTER: usize = 4;

impl Randomness {
    /// # Errors
    ///
    /// A parameter of the jitter's distribution is out of range.
    pub(super) fn new(impairment: &Impairment, seed: u64) -> Result<Randomness, LabError> {
        let stream = |number: usize| {
            let mut stream = ChaCha8Rng::seed_from_u64(seed);
            stream.set_stream(number as u64);
            stream
        };
        Ok(Randomness {
            loss: impairment.loss,
            is_bad: false,
            hold_back: impairment.hold_back.map(|held| held.which),
            duplication: impairment.duplication,
            corruption: impairment.corruption,
            base: nanos(impairment.delay.base),
            variation: Variation::of(impairment.delay.jitter)?,
            streams: std::array::from_fn(stream),
        })
    }

    /// Decides for the frame of a number (from 1) and a length in bytes.
    pub(super) fn decide(&mut self, number: u64, length: usize) -> Decisions {
        Decisions {
            is_lost: self.loses(),
            is_held_back: match self.hold_back {
                None => false,
                Some(HoldBackPeriod::Probability(probability)) => {
                    self.happens(HOLD_BACK, probability)
                }
                Some(HoldBackPeriod::Every(period)) => number.is_multiple_of(period),
            },
            is_duplicated: self.happens(DUPLICATION, self.duplication),
            inverted_bit: self.inverted_bit(length),
            delay: self.delay(),
        }
    }

    /// Certain and impossible events draw no number.
    fn happens(&mut self, kind: usize, probability: f64) -> bool {
        if probability <= 0.0 || probability >= 1.0 {
            return probability >= 1.0;
        }
        self.streams[kind].random::<f64>() < probability
    }

    fn loses(&mut self) -> bool {
        match self.loss {
            LossProcess::None => false,
            LossProcess::Bernoulli { probability } => self.happens(LOSS, probability),
            LossProcess::GilbertElliott {
                to_bad,
                to_good,
                good_loss,
                bad_loss,
            } => {
                let change = if self.is_bad { to_good } else { to_bad };
                self.is_bad ^= self.happens(LOSS, change);
                let loss = if self.is_bad { bad_loss } else { good_loss };
                self.happens(LOSS, loss)
            }
        }
    }

    fn inverted_bit(&mut self, length: usize) -> Option<usize> {
        if !self.happens(CORRUPTION, self.corruption) || length <= ETHERNET_HEADER {
            return None;
        }
        let bits = 8 * ETHERNET_HEADER..8 * length;
        Some(self.streams[CORRUPTION].random_range(bits))
    }

    fn delay(&mut self) -> u64 {
        let stream = &mut self.streams[JITTER];
        let added = match &self.variation {
            Variation::None => return self.base,
            Variation::Uniform(spread) => spread * (2.0 * stream.random::<f64>() - 1.0),
            Variation::Normal(normal) => normal.sample(stream),
            Variation::Pareto(pareto, scale) => pareto.sample(stream) - scale,
        };
        // A sum below zero becomes zero.
        (self.base as f64 + added).round() as u64
    }
}

impl Variation {
    fn of(jitter: Jitter) -> Result<Variation, LabError> {
        let setting = |error: &dyn std::fmt::Display| {
            LabError::Setting(format!("the jitter has no such distribution: {error}"))
        };
        Ok(match jitter {
            Jitter::None => Variation::None,
            Jitter::Uniform { spread } => Variation::Uniform(nanos(spread) as f64),
            Jitter::Normal { deviation } => {
                let normal = Normal::new(0.0, nanos(deviation) as f64);
                Variation::Normal(normal.map_err(|error| setting(&error))?)
            }
            Jitter::Pareto { scale, shape } => {
                let scale = nanos(scale) as f64;
                let pareto = Pareto::new(scale, shape);
                Variation::Pareto(pareto.map_err(|error| setting(&error))?, scale)
            }
        })
    }
}
