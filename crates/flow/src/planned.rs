//! What a source plans, and what the arrivals at a sink amount to.

use serde::{Deserialize, Serialize};

/// One block of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedBlock {
    /// When it is due, in nanoseconds after the start of the flow.
    pub at_ns: u64,
    /// Its length in bytes.
    pub bytes: u32,
}

/// The blocks of a flow, in the order of their moments.
pub type BlockSchedule = Box<dyn Iterator<Item = PlannedBlock> + Send>;

/// How a source behaves.
pub enum FlowBehaviour {
    /// As fast as it goes, or evenly at the rate that was agreed.
    Full {
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// By a schedule.
    Scheduled(BlockSchedule),
}

impl std::fmt::Debug for FlowBehaviour {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FlowBehaviour::Full { block_bytes } => {
                write!(formatter, "Full {{ block_bytes: {block_bytes} }}")
            }
            FlowBehaviour::Scheduled(_) => formatter.write_str("Scheduled"),
        }
    }
}

/// Blocks at constant gaps that make this rate. The moments are computed from the number of the
/// block, so that no rounding adds up.
pub fn constant_rate(bytes_per_second: u64, block_bytes: u32) -> BlockSchedule {
    let rate = u128::from(bytes_per_second.max(1));
    let bytes = u128::from(block_bytes);
    Box::new((0_u64..).map(move |number| {
        let nanos = u128::from(number) * bytes * 1_000_000_000 / rate;
        PlannedBlock {
            at_ns: u64::try_from(nanos).unwrap_or(u64::MAX),
            bytes: block_bytes,
        }
    }))
}

/// One datagram or block at a sink.
#[derive(Debug, Clone, Copy)]
pub struct BlockArrival {
    /// Number in its flow, from 0 on.
    pub sequence: u64,
    /// When it was sent, in nanoseconds, by the clock of the source.
    pub sent_ns: i64,
    /// When it arrived, in nanoseconds, by the clock of the sink.
    pub received_ns: i64,
    /// Its length in bytes.
    pub bytes: u32,
}

/// What has arrived of a flow until now. The delays are those of the current interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalCounts {
    /// Bytes, without duplicates.
    pub bytes: u64,
    /// Datagrams or blocks, without duplicates.
    pub packets: u64,
    /// Numbers below the highest that have not arrived.
    pub lost: u64,
    /// Arrived after one with a higher number (RFC 4737, section 3.3).
    pub reordered: u64,
    /// Arrived before.
    pub duplicates: u64,
    /// Interarrival jitter in nanoseconds (RFC 3550, section 6.4.1).
    pub jitter_ns: u64,
    /// Mean of the one-way delays above the smallest of the flow (RFC 5481, section 4.2), in ns.
    pub delay_variation_ns: u64,
    /// The largest of them, in nanoseconds.
    pub largest_delay_variation_ns: u64,
}

/// Numbers that are remembered to recognise duplicates.
const WINDOW: u64 = 4096;

/// The arithmetic of one flow at a sink.
#[derive(Debug, Clone)]
pub struct FlowArrivals {
    counts: ArrivalCounts,
    /// One more than the highest number.
    expected: u64,
    /// A bit for each of the last [`WINDOW`] numbers that have arrived.
    seen: Box<[u64; (WINDOW / 64) as usize]>,
    last_transit: Option<i64>,
    /// Jitter in sixteenths of a nanosecond, as in RFC 3550, appendix A.8.
    jitter: i64,
    least_delay: i64,
    delays: i128,
    largest_delay: i64,
    delayed: u64,
}

impl Default for FlowArrivals {
    fn default() -> FlowArrivals {
        FlowArrivals {
            counts: ArrivalCounts::default(),
            expected: 0,
            seen: Box::new([0; (WINDOW / 64) as usize]),
            last_transit: None,
            jitter: 0,
            least_delay: i64::MAX,
            delays: 0,
            largest_delay: i64::MIN,
            delayed: 0,
        }
    }
}

impl FlowArrivals {
    /// Counts bytes of a stream, which has no numbers.
    pub fn add_bytes(&mut self, bytes: u64) {
        self.counts.bytes = self.counts.bytes.saturating_add(bytes);
    }

    /// Counts a datagram or block.
    pub fn record(&mut self, arrival: &BlockArrival) {
        if !self.is_new(arrival.sequence) {
            self.counts.duplicates += 1;
            return;
        }
        self.counts.packets += 1;
        self.add_bytes(u64::from(arrival.bytes));
        let transit = arrival.received_ns.saturating_sub(arrival.sent_ns);
        if let Some(last) = self.last_transit.replace(transit) {
            // Bounded, so that a forged time stamp cannot overflow the sums.
            let distance = transit.saturating_sub(last).saturating_abs().min(i64::MAX >> 8);
            self.jitter += distance - ((self.jitter + 8) >> 4);
        }
        self.least_delay = self.least_delay.min(transit);
        self.largest_delay = self.largest_delay.max(transit);
        self.delays += i128::from(transit);
        self.delayed += 1;
    }

    /// Marks a number; false where it has arrived before.
    fn is_new(&mut self, sequence: u64) -> bool {
        let place = |number: u64| ((number % WINDOW / 64) as usize, 1_u64 << (number % 64));
        if sequence >= self.expected {
            if sequence - self.expected >= WINDOW {
                self.seen.fill(0);
            } else {
                for skipped in self.expected..sequence {
                    let (word, bit) = place(skipped);
                    self.seen[word] &= !bit;
                }
            }
            self.expected = sequence.saturating_add(1);
        } else if self.expected - sequence > WINDOW {
            // Too old to know whether it is a duplicate.
            self.counts.reordered += 1;
            return true;
        } else {
            let (word, bit) = place(sequence);
            if self.seen[word] & bit != 0 {
                return false;
            }
            self.counts.reordered += 1;
        }
        let (word, bit) = place(sequence);
        self.seen[word] |= bit;
        true
    }

    /// What has arrived until now.
    pub fn counts(&self) -> ArrivalCounts {
        let above_least = |delay: i128| {
            let above = delay - i128::from(self.least_delay);
            u64::try_from(above).unwrap_or_default()
        };
        let mut counts = self.counts;
        counts.lost = self.expected.saturating_sub(counts.packets);
        counts.jitter_ns = (self.jitter >> 4).unsigned_abs();
        if self.delayed > 0 {
            counts.delay_variation_ns = above_least(self.delays / i128::from(self.delayed));
            counts.largest_delay_variation_ns = above_least(i128::from(self.largest_delay));
        }
        counts
    }

    /// Begins the next interval of delays.
    pub fn begin_interval(&mut self) {
        self.delays = 0;
        self.delayed = 0;
        self.largest_delay = i64::MIN;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrivals(numbers: &[u64]) -> ArrivalCounts {
        let mut arrivals = FlowArrivals::default();
        for sequence in numbers {
            arrivals.record(&BlockArrival {
                sequence: *sequence,
                sent_ns: 0,
                received_ns: 5,
                bytes: 10,
            });
        }
        arrivals.counts()
    }

    #[test]
    fn numbers_show_loss_order_and_duplicates() {
        // Numbers; packets, lost, reordered, duplicates.
        let table: &[(&[u64], [u64; 4])] = &[
            (&[], [0, 0, 0, 0]),
            (&[0, 1, 2, 3], [4, 0, 0, 0]),
            (&[0, 2, 3], [3, 1, 0, 0]),
            (&[0, 2, 1, 3], [4, 0, 1, 0]),
            (&[0, 0, 1, 1, 1], [2, 0, 0, 3]),
            (&[3, 2, 1, 0, 2], [4, 0, 3, 1]),
            (&[0, WINDOW, 4 * WINDOW, 0], [4, 4 * WINDOW - 3, 1, 0]),
            (&[WINDOW, 2, WINDOW + 1, 3, 2], [4, WINDOW - 2, 2, 1]),
        ];
        for (numbers, [packets, lost, reordered, duplicates]) in table {
            let counts = arrivals(numbers);
            let found = [counts.packets, counts.lost, counts.reordered, counts.duplicates];
            assert_eq!(found, [*packets, *lost, *reordered, *duplicates], "{numbers:?}");
            assert_eq!(counts.bytes, 10 * packets);
        }
    }

    #[test]
    fn jitter_and_delay_variation_are_those_of_the_definitions() {
        let mut arrivals = FlowArrivals::default();
        let transits = [1_000_i64, 1_160, 1_000, 1_000];
        let mut jitter = 0.0;
        for (number, transit) in transits.into_iter().enumerate() {
            let sent_ns = 1_000_000 * number as i64;
            arrivals.record(&BlockArrival {
                sequence: number as u64,
                sent_ns,
                received_ns: sent_ns + transit,
                bytes: 1,
            });
            if number > 0 {
                let distance = (transit - transits[number - 1]).abs() as f64;
                jitter += (distance - jitter) / 16.0;
            }
        }
        let counts = arrivals.counts();
        assert!((counts.jitter_ns as f64 - jitter).abs() < 2.0, "{counts:?}");
        assert_eq!(counts.delay_variation_ns, 40);
        assert_eq!(counts.largest_delay_variation_ns, 160);
    }

    #[test]
    fn a_constant_rate_is_kept_by_every_moment() {
        let blocks: Vec<_> = constant_rate(3_000, 1_000).take(7).collect();
        assert_eq!(blocks[1].at_ns, 333_333_333);
        assert_eq!(blocks[6].at_ns, 2_000_000_000);
    }

    proptest! {
        #[test]
        fn forged_arrivals_do_no_harm(forged in prop::collection::vec(any::<(u64, i64, i64)>(), 0..200)) {
            let mut arrivals = FlowArrivals::default();
            for (sequence, sent_ns, received_ns) in forged {
                arrivals.record(&BlockArrival { sequence, sent_ns, received_ns, bytes: u32::MAX });
            }
            arrivals.counts();
        }
    }
}
