//! Random decisions for each frame.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::nanos;
use crate::impairment::Impairment;

/// Random decisions for one frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decisions {
    pub(super) is_lost: bool,
    pub(super) is_duplicated: bool,
    /// Time on the wire, in ns.
    pub(super) delay: u64,
}

/// Random numbers, a stream of them for each kind of decision.
#[derive(Debug)]
pub(super) struct Randomness {
    loss: f64,
    duplication: f64,
    base: u64,
    jitter: u64,
    losses: ChaCha8Rng,
    copies: ChaCha8Rng,
    delays: ChaCha8Rng,
}

impl Randomness {
    pub(super) fn new(impairment: &Impairment, seed: u64) -> Randomness {
        let stream = |number| {
            let mut stream = ChaCha8Rng::seed_from_u64(seed);
            stream.set_stream(number);
            stream
        };
        Randomness {
            loss: impairment.loss,
            duplication: impairment.duplication,
            base: nanos(impairment.delay.base),
            jitter: nanos(impairment.delay.jitter),
            // With other numbers, a seed would lose other frames than in earlier versions.
            losses: stream(0),
            copies: stream(2),
            delays: stream(4),
        }
    }

    /// Decides for the next frame.
    pub(super) fn decide(&mut self) -> Decisions {
        Decisions {
            is_lost: happens(&mut self.losses, self.loss),
            is_duplicated: happens(&mut self.copies, self.duplication),
            delay: self.delay(),
        }
    }

    fn delay(&mut self) -> u64 {
        if self.jitter == 0 {
            return self.base;
        }
        let added = self.jitter as f64 * (2.0 * self.delays.random::<f64>() - 1.0);
        // A sum below zero becomes zero.
        (self.base as f64 + added).round() as u64
    }
}

/// Certain and impossible events draw no number.
fn happens(stream: &mut ChaCha8Rng, probability: f64) -> bool {
    if probability <= 0.0 || probability >= 1.0 {
        return probability >= 1.0;
    }
    stream.random::<f64>() < probability
}
