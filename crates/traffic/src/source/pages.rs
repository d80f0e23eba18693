//! Pages of the World Wide Web: a main object, the objects embedded in it, and the time of reading.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::{BlockSource, ObjectPieces, PlannedDeparture, ScheduleClock};
use crate::probability::{ProbabilityLaw, open_unit};

#[derive(Debug, Clone)]
pub(crate) struct PageLaws {
    /// Bytes of the main object and of an embedded one.
    pub(crate) main: ProbabilityLaw,
    pub(crate) embedded: ProbabilityLaw,
    /// Nanoseconds between the main object and the others, and after a page.
    pub(crate) parsing: ProbabilityLaw,
    pub(crate) reading: ProbabilityLaw,
    /// Longest block in bytes.
    pub(crate) most_bytes: u32,
}

/// The number of embedded objects of the model of 3GPP2: a Pareto law from 2, of which everything
/// above 55 counts as 55, less 2.
const PARETO_MIN: f64 = 2.0;
const PARETO_MOST: f64 = 55.0;
const PARETO_SHAPE: f64 = 1.1;

fn embedded_objects(rng: &mut ChaCha8Rng) -> u64 {
    let drawn = PARETO_MIN * libm::pow(open_unit(rng), -1.0 / PARETO_SHAPE);
    libm::round(drawn.min(PARETO_MOST) - PARETO_MIN) as u64
}

/// The mean of the number of embedded objects, 5.6.
pub(crate) fn mean_embedded_objects() -> f64 {
    let at_least = |count: f64| libm::pow(PARETO_MIN / (count - 0.5 + PARETO_MIN), PARETO_SHAPE);
    let most = (PARETO_MOST - PARETO_MIN) as u32;
    (1..=most).map(|count| at_least(f64::from(count))).sum()
}

#[derive(Debug, Clone)]
pub(crate) struct WebPages {
    laws: Arc<PageLaws>,
    clock: ScheduleClock,
    at_ns: u64,
    objects_left: u64,
    pieces: ObjectPieces,
    /// The main object was sent and the embedded ones were not.
    is_parsing: bool,
}

impl WebPages {
    pub(crate) fn new(laws: Arc<PageLaws>) -> Self {
        WebPages {
            laws,
            clock: ScheduleClock::default(),
            at_ns: 0,
            objects_left: 0,
            pieces: ObjectPieces::default(),
            is_parsing: false,
        }
    }
}

impl BlockSource for WebPages {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        let laws = &self.laws;
        loop {
            if let Some(piece) = self.pieces.next() {
                return Some(piece);
            }
            let object = if self.objects_left > 0 {
                self.objects_left -= 1;
                &laws.embedded
            } else if self.is_parsing {
                self.is_parsing = false;
                self.at_ns = self.clock.advance(laws.parsing.draw(rng))?;
                self.objects_left = embedded_objects(rng);
                continue;
            } else {
                self.is_parsing = true;
                self.at_ns = self.clock.advance(laws.reading.draw(rng))?;
                &laws.main
            };
            self.pieces = ObjectPieces::cut(self.at_ns, object.draw_whole(rng), laws.most_bytes);
        }
    }
}
