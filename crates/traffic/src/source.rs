//! Schedules: the moments at which a source offers its blocks, without end, from a seed alone.

mod frames;
mod mmpp;
mod on_off;
mod pages;
mod requests;
mod self_similar;
mod steady;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub(crate) use frames::{GroupOfPictures, PacketVideo, PictureLaws, RTP_BYTES};
pub(crate) use mmpp::{ChainLaws, ModulatedPoisson, shares_of_time};
pub(crate) use on_off::{OnOff, OnOffLaws};
pub(crate) use pages::{PageLaws, WebPages, mean_embedded_objects};
pub(crate) use requests::{RequestLaws, Requests};
pub(crate) use self_similar::{SelfSimilar, SelfSimilarLaws};
pub(crate) use steady::{Interval, Steady};

/// One block that a source offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedDeparture {
    /// Nanoseconds after the start of the flow. Never less than that of the block before.
    pub at_ns: u64,
    /// Length in bytes, at least 1.
    pub bytes: u32,
}

/// Behaviour of a source.
#[derive(Debug)]
pub enum Behaviour {
    /// As fast as the network takes it.
    Full {
        /// Length of a block in bytes.
        block_bytes: u32,
    },
    /// By a schedule.
    Scheduled(DepartureSchedule),
}

/// The blocks of one flow in order. They end only when their time leaves the range of 64 bits (584
/// years).
#[derive(Debug)]
pub struct DepartureSchedule {
    source: Box<dyn BlockSource>,
    rng: Box<ChaCha8Rng>,
    least_bytes: u32,
    most_bytes: u32,
}

impl DepartureSchedule {
    /// The schedule of flow `flow` for a seed. Flows have separate random numbers.
    pub(crate) fn new(source: Box<dyn BlockSource>, seed: u64, flow: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(flow));
        DepartureSchedule {
            source,
            rng: Box::new(rng),
            least_bytes: 1,
            most_bytes: u32::MAX,
        }
    }

    /// Blocks of one length at a constant rate, the first of them at `first_ns`.
    pub fn constant_rate(block_bytes: u32, bytes_per_second: u64, first_ns: u64) -> Self {
        let interval = Interval::at_rate(block_bytes, bytes_per_second.saturating_mul(8));
        let source = Steady::beginning_at(first_ns, block_bytes, interval);
        DepartureSchedule::new(Box::new(source), 0, 0)
    }

    /// Skips blocks before a moment, as many as one step can, and returns their number. After the
    /// first block, those of a constant rate are all skipped.
    pub fn skip_until(&mut self, at_ns: u64) -> u64 {
        self.source.skip_until(at_ns)
    }

    /// Limits the length of blocks to that of a datagram.
    pub(crate) fn with_bytes_between(mut self, least: u32, most: u32) -> Self {
        (self.least_bytes, self.most_bytes) = (least, most);
        self
    }
}

impl Iterator for DepartureSchedule {
    type Item = PlannedDeparture;

    fn next(&mut self) -> Option<PlannedDeparture> {
        let mut departure = self.source.next_block(&mut self.rng)?;
        departure.bytes = departure.bytes.clamp(self.least_bytes, self.most_bytes);
        Some(departure)
    }
}

pub(crate) trait BlockSource: std::fmt::Debug + Send {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture>;

    /// See [`DepartureSchedule::skip_until`]: most models compute a block only after the one before
    /// it.
    fn skip_until(&mut self, _at_ns: u64) -> u64 {
        0
    }
}

/// A moment that advances by drawn times. The fractions of nanoseconds are carried, so that they do
/// not add up to a drift.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScheduleClock {
    now_ns: u64,
    fraction: f64,
}

impl ScheduleClock {
    /// Advances by a time in nanoseconds and returns the new moment, or nothing after 584 years.
    pub(crate) fn advance(&mut self, nanos: f64) -> Option<u64> {
        let exact = self.fraction + nanos;
        let whole = libm::floor(exact);
        self.fraction = exact - whole;
        if whole >= u64::MAX as f64 {
            return None;
        }
        self.now_ns = self.now_ns.checked_add(whole as u64)?;
        Some(self.now_ns)
    }
}

/// Pieces of one object that are offered at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectPieces {
    at_ns: u64,
    left: u64,
    bytes: u64,
}

impl ObjectPieces {
    /// Cuts an object into as few pieces of at most `most` bytes as possible, which differ by at
    /// most 1 byte: no piece is a short rest.
    pub(crate) fn cut(at_ns: u64, bytes: u64, most: u32) -> Self {
        ObjectPieces {
            at_ns,
            left: bytes.div_ceil(u64::from(most.max(1))),
            bytes,
        }
    }
}

impl Iterator for ObjectPieces {
    type Item = PlannedDeparture;

    fn next(&mut self) -> Option<PlannedDeparture> {
        if self.left == 0 {
            return None;
        }
        let bytes = self.bytes.div_ceil(self.left);
        self.left -= 1;
        self.bytes -= bytes;
        Some(PlannedDeparture {
            at_ns: self.at_ns,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        })
    }
}

pub(crate) fn block_length(bytes: u64) -> u32 {
    u32::try_from(bytes.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_cut_evenly() {
        let sizes = |bytes, most| -> Vec<u32> {
            let pieces = ObjectPieces::cut(7, bytes, most);
            pieces.map(|departure| departure.bytes).collect()
        };
        assert_eq!(sizes(10, 4), [4, 3, 3]);
        assert_eq!(sizes(8193, 8192), [4097, 4096]);
        assert_eq!(sizes(1, 1460), [1]);
        assert_eq!(sizes(0, 1460), [0u32; 0]);
    }

    #[test]
    fn fractions_of_nanoseconds_add_up_to_no_drift() {
        let mut clock = ScheduleClock::default();
        let last = (0..3_000_000).map(|_| clock.advance(1_000.0 / 3.0)).last();
        let last = last.flatten().unwrap();
        assert!(last.abs_diff(1_000_000_000) <= 1, "{last}");
        assert_eq!(clock.advance(1e30), None);
    }
}
