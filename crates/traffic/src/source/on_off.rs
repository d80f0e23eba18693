//! A constant rate during random periods, and silence between them.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::steady::Interval;
use super::{BlockSource, PlannedDeparture};
use crate::probability::{ProbabilityLaw, open_unit};

#[derive(Debug, Clone)]
pub(crate) struct OnOffLaws {
    /// Nanoseconds of a period with blocks.
    pub(crate) on: ProbabilityLaw,
    /// Nanoseconds of silence.
    pub(crate) off: ProbabilityLaw,
    pub(crate) interval: Interval,
    pub(crate) block_bytes: u32,
}

/// The n-th block departs after n intervals of time spent on. A part of an interval at the end of a
/// period is continued in the next one, so that the mean rate is exactly that of the blocks times
/// the part of time spent on, however short the periods are.
#[derive(Debug, Clone)]
pub(crate) struct OnOff {
    laws: Arc<OnOffLaws>,
    count: u64,
    /// Nanoseconds spent on until the end of the present period, and off until its beginning.
    on_ns: u64,
    off_ns: u64,
    has_begun: bool,
}

impl OnOff {
    pub(crate) fn new(laws: Arc<OnOffLaws>) -> Self {
        OnOff {
            laws,
            count: 0,
            on_ns: 0,
            off_ns: 0,
            has_begun: false,
        }
    }

    /// The first period is on with the probability with which a period is on at a random moment.
    fn begin(&mut self, rng: &mut ChaCha8Rng) -> Option<()> {
        self.has_begun = true;
        let (on, off) = (self.laws.on.mean(), self.laws.off.mean());
        if open_unit(rng) * (on + off) >= on {
            self.off_ns = drawn(&self.laws.off, rng)?;
        }
        self.on_ns = drawn(&self.laws.on, rng)?;
        Some(())
    }
}

impl BlockSource for OnOff {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        if !self.has_begun {
            self.begin(rng)?;
        }
        let spent_on = self.laws.interval.times(self.count)?;
        while spent_on >= self.on_ns {
            self.off_ns = self.off_ns.checked_add(drawn(&self.laws.off, rng)?)?;
            self.on_ns = self.on_ns.checked_add(drawn(&self.laws.on, rng)?)?;
        }
        self.count += 1;
        Some(PlannedDeparture {
            at_ns: spent_on.checked_add(self.off_ns)?,
            bytes: self.laws.block_bytes,
        })
    }
}

fn drawn(law: &ProbabilityLaw, rng: &mut ChaCha8Rng) -> Option<u64> {
    let nanos = libm::round(law.draw(rng));
    (nanos < u64::MAX as f64).then_some(nanos as u64)
}
