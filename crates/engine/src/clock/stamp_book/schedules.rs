//! The stamps of a connection over thousands of seeded schedules, with a kernel that makes packets
//! of the written bytes, retransmits some, and loses or delays stamps. The departure of each byte
//! is known.

use std::collections::VecDeque;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// Probabilities of faults.
#[derive(Debug, Clone, Copy)]
struct StampTrouble {
    /// A packet is retransmitted.
    again: f64,
    /// A stamp is lost.
    lost: f64,
}

/// A kernel with known packets. Of each, it keeps the stamp of the last byte that requests one.
struct SimulatedKernel {
    rng: ChaCha8Rng,
    trouble: StampTrouble,
    now: RealNanos,
    /// Bytes that were written, and that have left.
    written: u64,
    left: u64,
    /// Offsets behind bytes that request stamps, and have not left.
    wanted: VecDeque<u64>,
    /// Offset behind the last byte of each packet, when it left, and when it was acknowledged.
    packets: Vec<(u64, RealNanos, RealNanos)>,
    /// Stamps of packets that are retransmitted when the next one has left.
    again: Vec<TxStamp>,
    /// Stamps in flight to the error queue, and those in it.
    under_way: Vec<TxStamp>,
    queue: VecDeque<TxStamp>,
}

impl SimulatedKernel {
    fn new(seed: u64, trouble: StampTrouble) -> Self {
        SimulatedKernel {
            rng: ChaCha8Rng::seed_from_u64(seed),
            trouble,
            now: 1,
            written: 0,
            left: 0,
            wanted: VecDeque::new(),
            packets: Vec::new(),
            again: Vec::new(),
            under_way: Vec::new(),
            queue: VecDeque::new(),
        }
    }

    fn write(&mut self, count: u64, is_stamped: bool) {
        self.written += count;
        if is_stamped {
            self.wanted.push_back(self.written);
        }
    }

    /// Sends a packet with this many bytes, which is acknowledged later.
    fn send(&mut self, count: u64) {
        let end = self.left + count;
        let due = self.wanted.iter().take_while(|wanted| **wanted <= end);
        let stamped = self.wanted.drain(..due.count()).next_back();
        self.left = end;
        self.now += self.rng.random_range(1..100);
        let (left, acked) = (self.now, self.now + self.rng.random_range(1..100));
        self.packets.push((end, left, acked));
        let Some(stamped) = stamped else { return };
        let stamp = |left: Left, at: RealNanos| TxStamp {
            left,
            byte: (stamped - 1) as u32,
            at,
        };
        let mut stamps = vec![stamp(Left::Sent, left), stamp(Left::Acked, acked)];
        stamps.retain(|_| !self.rng.random_bool(self.trouble.lost));
        let is_whole = stamps.len() == 2;
        self.under_way.append(&mut self.again);
        if is_whole && self.rng.random_bool(self.trouble.again) {
            self.again.push(stamp(Left::Sent, acked + 1_000));
        }
        self.under_way.extend(stamps);
    }

    fn send_all(&mut self) {
        while self.left < self.written {
            let count = self.rng.random_range(1..=self.written - self.left);
            self.send(count);
        }
    }

    /// Delivers some of the stamps in flight, those of one kind in their order.
    fn deliver(&mut self) {
        let count = self.rng.random_range(0..=self.under_way.len());
        self.queue.extend(self.under_way.drain(..count));
    }

    fn deliver_all(&mut self) {
        self.queue.extend(self.under_way.drain(..));
    }

    /// Takes stamps until none is missing, as a connection does.
    fn collect(&mut self, book: &mut StampBook) {
        while book.waits() {
            let Some(stamp) = self.queue.pop_front() else {
                return;
            };
            book.enter(stamp);
        }
    }

    /// Departure of the byte before this offset.
    fn truth(&self, mark: u64) -> Departure {
        let packet = self.packets.iter().find(|(end, ..)| *end >= mark);
        Departure {
            sent: packet.map(|(_, left, _)| *left),
            acked: packet.map(|(_, _, acked)| *acked),
        }
    }
}

/// Bytes of a request: usually a few, and sometimes many, but never four gibibytes in flight,
/// because offsets would be ambiguous.
fn length(rng: &mut ChaCha8Rng) -> u64 {
    match rng.random_range(0..8) {
        0 => rng.random_range(1..1 << 24),
        1 => 1,
        _ => rng.random_range(1..2_000),
    }
}

/// A connection that has written so much that its offsets wrap soon.
fn connection(
    rng: &mut ChaCha8Rng,
    seed: u64,
    trouble: StampTrouble,
    acks: bool,
) -> (SimulatedKernel, StampBook) {
    let mut kernel = SimulatedKernel::new(seed, trouble);
    let mut book = StampBook::new(acks);
    let before = (1 << 32) - length(rng);
    kernel.write(before, false);
    kernel.send_all();
    book.wrote(usize::try_from(before).unwrap());
    (kernel, book)
}

/// Writes a request in some pieces, of which the last requests a stamp; returns its mark.
fn request(rng: &mut ChaCha8Rng, kernel: &mut SimulatedKernel, book: &mut StampBook) -> u64 {
    let pieces = rng.random_range(1..4);
    for piece in 1..=pieces {
        let count = length(rng);
        kernel.write(count, piece == pieces);
        book.wrote(usize::try_from(count).unwrap());
        if rng.random_bool(0.3) {
            kernel.send_all();
        }
    }
    book.expect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// One request at a time: a stamp is that of its request or none, and only those are missing
    /// that were lost or came too late.
    #[test]
    fn a_stamp_is_that_of_its_request_or_none(seed: u64, lost in 0.0..0.3, again in 0.0..0.3, acks: bool) {
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let (mut kernel, mut book) = connection(&mut rng, seed, StampTrouble { again, lost }, acks);
        for _ in 0..60 {
            let mark = request(&mut rng, &mut kernel, &mut book);
            kernel.send_all();
            let mut found = Departure::default();
            // An impatient client reads before all have come.
            let patience = rng.random_range(0..4);
            for look in 0..=patience {
                if look == 3 { kernel.deliver_all() } else { kernel.deliver() }
                kernel.collect(&mut book);
                found = book.departure(mark);
                if !book.waits_for(mark) {
                    break;
                }
            }
            let truth = kernel.truth(mark);
            prop_assert!(found.sent.is_none_or(|_| found.sent == truth.sent), "{found:?} {truth:?}");
            prop_assert!(found.acked.is_none_or(|_| found.acked == truth.acked), "{found:?} {truth:?}");
            let is_found = found.sent.is_some() && (!acks || found.acked.is_some());
            prop_assert_eq!(is_found, !book.waits_for(mark));
            // If all have come, only lost ones are missing.
            prop_assert!(is_found || lost > 0.0 || patience < 3);
            book.give_up(mark);
            prop_assert!(!book.waits());
        }
    }

    /// Several requests in flight: no stamp is lost, so that each request gets its own.
    #[test]
    fn in_a_pipeline_each_request_has_its_own_stamp(seed: u64, again in 0.0..0.3, acks: bool, depth in 1_usize..40) {
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let (mut kernel, mut book) = connection(&mut rng, seed, StampTrouble { again, lost: 0.0 }, acks);
        let mut open = VecDeque::new();
        for _ in 0..100 {
            if open.len() < depth {
                open.push_back(request(&mut rng, &mut kernel, &mut book));
            }
            if rng.random_bool(0.6) {
                kernel.send_all();
            }
            kernel.deliver();
            kernel.collect(&mut book);
            // The oldest has its response.
            if let Some(mark) = open.front().copied() && rng.random_bool(0.5) {
                let departure = book.departure(mark);
                if !book.waits_for(mark) {
                    let truth = kernel.truth(mark);
                    prop_assert_eq!(departure.sent, truth.sent);
                    prop_assert!(!acks || departure.acked == truth.acked);
                    open.pop_front();
                }
            }
        }
        kernel.send_all();
        kernel.deliver_all();
        kernel.collect(&mut book);
        for mark in open {
            prop_assert_eq!(book.departure(mark).sent, kernel.truth(mark).sent);
        }
        prop_assert!(!book.waits());
    }

    /// Several requests in flight, and stamps are lost: a request has its own or none, if it left
    /// before the next was written and the kernel confirmed that; else possibly that of a later one
    /// that was in flight with it.
    #[test]
    fn in_a_pipeline_a_lost_stamp_is_at_most_that_of_a_later_request(seed: u64, lost in 0.0..0.5, depth in 1_usize..40) {
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let (mut kernel, mut book) = connection(&mut rng, seed, StampTrouble { again: 0.0, lost }, true);
        for _ in 0..10 {
            let marks: Vec<(u64, bool)> = (0..depth).map(|_| {
                let mark = request(&mut rng, &mut kernel, &mut book);
                kernel.deliver();
                kernel.collect(&mut book);
                let has_left = kernel.left == kernel.written;
                if book.is_in_question() && has_left {
                    book.has_left();
                }
                (mark, has_left)
            }).collect();
            kernel.send_all();
            kernel.deliver_all();
            kernel.collect(&mut book);
            for (index, (mark, has_left)) in marks.iter().enumerate() {
                let found = book.departure(*mark);
                if *has_left {
                    let sent = kernel.truth(*mark).sent;
                    prop_assert!(found.sent.is_none_or(|_| found.sent == sent), "{:?} {:?}", found, sent);
                }
                let later = || marks[index..].iter().map(|(mark, _)| kernel.truth(*mark));
                prop_assert!(found.sent.is_none_or(|_| later().any(|truth| truth.sent == found.sent)));
                prop_assert!(found.acked.is_none_or(|_| later().any(|truth| truth.acked == found.acked)));
            }
            book.give_up(marks.last().unwrap().0);
        }
    }
}
