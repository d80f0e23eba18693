//! The course of a flow, second by second.

/// Longest series in seconds: a day, about 7 MB. Later arrivals are in the figures of the whole
/// flow only.
pub const LONGEST_SERIES_S: usize = 86_400;

/// Arrivals in one second of the sink's clock. Streams have bytes and reads only.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SinkSecond {
    /// Bytes of payload, duplicates included.
    pub bytes: u64,
    /// Packets, duplicates included; of a stream, reads.
    pub packets: u64,
    /// Packets that were found missing in this second, and did not arrive later.
    pub lost: u64,
    /// Packets that arrived after one with a higher number.
    pub reordered: u64,
    /// Packets that arrived again.
    pub duplicates: u64,
    /// Jitter in nanoseconds after the last packet of this second.
    pub jitter_ns: f64,
    /// Shortest and longest delay of this second in nanoseconds, less the delay of the first packet
    /// of the flow. None without packets.
    pub delays_ns: Option<(i64, i64)>,
}

/// Seconds from a moment on.
#[derive(Debug, Clone)]
pub(super) struct Seconds {
    origin_ns: u64,
    pub(super) all: Vec<SinkSecond>,
    pub(super) is_cut: bool,
}

impl Seconds {
    pub(super) fn from(origin_ns: u64) -> Self {
        Seconds {
            origin_ns,
            all: Vec::new(),
            is_cut: false,
        }
    }

    /// Nanoseconds from the origin to a moment; 0 for a moment before it.
    pub(super) fn since_origin(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.origin_ns)
    }

    /// The index of the second of a moment. A moment before the first second belongs to it.
    pub(super) fn index(&mut self, at_ns: u64) -> Option<usize> {
        let second = self.since_origin(at_ns) / 1_000_000_000;
        let index = usize::try_from(second).ok();
        let index = index.filter(|index| *index < LONGEST_SERIES_S);
        match index {
            None => self.is_cut = true,
            Some(index) if index >= self.all.len() => {
                self.all.resize(index + 1, SinkSecond::default());
            }
            Some(_) => {}
        }
        index
    }

    pub(super) fn at(&mut self, index: Option<usize>) -> Option<&mut SinkSecond> {
        self.all.get_mut(index?)
    }
}
