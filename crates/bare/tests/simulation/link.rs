//! One direction of a link: a queue before a sender with a rate, then losses, delay and reordering.

use std::collections::BTreeSet;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Settings of a direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkSettings {
    pub(crate) delay_ns: u64,
    /// Bits per second; 0 for no limit.
    pub(crate) rate: u64,
    /// Frames that wait for the sender.
    pub(crate) queue: usize,
    /// Numbers of lost frames, from 1.
    pub(crate) lost: BTreeSet<u64>,
    pub(crate) loss: f64,
    /// Share of frames that take `delay_ns` longer.
    pub(crate) reordering: f64,
    pub(crate) seed: u64,
}

/// A direction that only takes time.
pub(crate) fn delayed(delay_ns: u64) -> LinkSettings {
    LinkSettings {
        delay_ns,
        ..LinkSettings::default()
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    settings: LinkSettings,
    random: ChaCha8Rng,
    frames: u64,
    /// When the frames that wait have left.
    leaving_ns: Vec<u64>,
}

impl Link {
    pub(crate) fn new(settings: LinkSettings) -> Link {
        Link {
            random: ChaCha8Rng::seed_from_u64(settings.seed),
            settings,
            frames: 0,
            leaving_ns: Vec::new(),
        }
    }

    /// Arrival of the frame, unless it is lost.
    pub(crate) fn pass(&mut self, now_ns: u64, bytes: usize) -> Option<u64> {
        self.frames += 1;
        let is_lost = self.random.random_bool(self.settings.loss);
        let is_late = self.random.random_bool(self.settings.reordering);
        self.random.next_u32();
        self.leaving_ns.retain(|leaving_ns| *leaving_ns > now_ns);
        let mut at_ns = now_ns;
        let bits = bytes as u64 * 8;
        if let Some(sending_ns) = (bits * 1_000_000_000).checked_div(self.settings.rate) {
            if self.leaving_ns.len() > self.settings.queue {
                return None;
            }
            at_ns = self.leaving_ns.last().copied().unwrap_or(now_ns) + sending_ns;
            self.leaving_ns.push(at_ns);
        }
        if is_lost || self.settings.lost.contains(&self.frames) {
            return None;
        }
        let delays = if is_late { 2 } else { 1 };
        Some(at_ns + delays * self.settings.delay_ns)
    }
}
