//! The sink of a TCP flow: rate and stalls. Loss and delay are hidden by the protocol.

use super::seconds::{Seconds, SinkSecond};

/// Figures of a whole flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamFigures {
    /// Bytes that were read.
    pub bytes: u64,
    /// Number of reads.
    pub reads: u64,
    /// Times without a byte that were longer than the limit.
    pub stalls: u64,
    /// The longest time without a byte after the first, in nanoseconds, whether it was a stall or
    /// not.
    pub longest_pause_ns: u64,
    /// Nanoseconds of all stalls.
    pub stalled_ns: u64,
    /// When the first and the last bytes were read, in nanoseconds after the origin; none without
    /// bytes.
    pub arrived_ns: Option<(u64, u64)>,
    /// Some bytes were read after the longest series of seconds.
    pub is_series_cut: bool,
}

/// The sink of one TCP flow.
#[derive(Debug, Clone)]
pub struct StreamSink {
    stall_ns: u64,
    seconds: Seconds,
    last_ns: u64,
    totals: StreamFigures,
}

impl StreamSink {
    /// A sink whose seconds begin at `origin_ns` of its clock. A time without a byte longer than
    /// `stall_ns` is a stall: 200 ms is the shortest retransmission time-out of Linux.
    pub fn new(origin_ns: u64, stall_ns: u64) -> Self {
        StreamSink {
            stall_ns,
            seconds: Seconds::from(origin_ns),
            last_ns: 0,
            totals: StreamFigures::default(),
        }
    }

    /// Adds bytes read at a moment of the sink's clock.
    pub fn arrive(&mut self, received_ns: u64, bytes: u64) {
        let index = self.seconds.index(received_ns);
        if let Some(second) = self.seconds.at(index) {
            second.bytes = second.bytes.saturating_add(bytes);
            second.packets += 1;
        }
        let mut totals = self.with_pause_until(received_ns);
        totals.bytes = totals.bytes.saturating_add(bytes);
        totals.reads += 1;
        self.last_ns = self.last_ns.max(received_ns);
        let first_ns = totals.arrived_ns.map(|(first_ns, _)| first_ns);
        let first_ns = first_ns.unwrap_or(self.seconds.since_origin(received_ns));
        totals.arrived_ns = Some((first_ns, self.seconds.since_origin(self.last_ns)));
        self.totals = totals;
    }

    /// The figures with the time since the last read.
    fn with_pause_until(&self, now_ns: u64) -> StreamFigures {
        let mut totals = self.totals;
        if self.totals.arrived_ns.is_none() {
            return totals;
        }
        let pause_ns = now_ns.saturating_sub(self.last_ns);
        totals.longest_pause_ns = totals.longest_pause_ns.max(pause_ns);
        if pause_ns > self.stall_ns {
            totals.stalls += 1;
            totals.stalled_ns = totals.stalled_ns.saturating_add(pause_ns);
        }
        totals
    }

    /// The seconds until now, from the origin on. The last one may not be over.
    pub fn seconds(&self) -> &[SinkSecond] {
        &self.seconds.all
    }

    /// The figures at a moment, at which a flow that is still sending may be stalled.
    pub fn figures(&self, now_ns: u64) -> StreamFigures {
        let mut figures = self.with_pause_until(now_ns);
        figures.is_series_cut = self.seconds.is_cut;
        figures
    }
}
