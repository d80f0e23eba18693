//! Assigns stamps to requests: by offsets in the stream of bytes.
//!
//! ```text
//! bytes written     |---- request 1 ----|---- request 2 ----|
//! marks                              a ^                 b ^
//! stamps            ..... a .................. b ...........
//! ```
//!
//! A stamp contains the offset of its byte, modulo 2^32. The kernel keeps one stamp for each
//! packet: when a packet takes in more bytes before it leaves, the stamp of the later byte replaces
//! that of the earlier one, and is true of both. So a mark gets the first stamp at or behind it.
//!
//! Stamps are lost when the receive buffer is full. With one request in flight, a lost one stays
//! lost: its mark is given up before the next bytes are written. In a pipeline, the mark would get
//! the stamp of a later request, with a time that is too late; so when a stamp is missing, the
//! kernel is asked if all bytes have left. If they have, the mark gets its own stamp or none.

#[cfg(test)]
mod schedules;

use std::collections::VecDeque;

use crate::clock::stamps::{Left, RealNanos, TxStamp};

/// Stamps that are kept for marks that have not been read: a bound, many times the need of a
/// pipeline.
const KEPT: usize = 4096;

/// Departure of a marked byte, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Departure {
    /// When the byte was passed to the network.
    pub(crate) sent: Option<RealNanos>,
    /// When the other side's TCP acknowledged it.
    pub(crate) acked: Option<RealNanos>,
}

#[derive(Debug)]
pub(crate) struct StampBook {
    acks: bool,
    /// Bytes written since stamps were enabled.
    written: u64,
    /// The latest mark; 0 while there is none.
    marked: u64,
    sent: StampLine,
    acked: StampLine,
    /// Marks whose bytes left before more was written, in order: a later stamp does not belong to
    /// them.
    left_alone: VecDeque<u64>,
}

/// Stamps of one kind, in the order of their bytes.
#[derive(Debug, Default)]
struct StampLine {
    /// Offset behind the stamped byte, and the stamp.
    stamps: VecDeque<(u64, RealNanos)>,
    /// Offset behind the last byte that is known to be stamped.
    reached: u64,
}

impl StampLine {
    fn enter(&mut self, end: u64, at: RealNanos) {
        if end <= self.reached {
            // A retransmitted packet: the first time counts.
            return;
        }
        self.reached = end;
        if self.stamps.len() == KEPT {
            self.stamps.pop_front();
        }
        self.stamps.push_back((end, at));
    }

    /// The first stamp at or behind a mark, and the offset that it is of.
    fn find(&mut self, mark: u64) -> Option<(u64, RealNanos)> {
        while self.stamps.front().is_some_and(|(end, _)| *end < mark) {
            self.stamps.pop_front();
        }
        self.stamps.front().copied()
    }
}

impl StampBook {
    pub(crate) fn new(acks: bool) -> Self {
        StampBook {
            acks,
            written: 0,
            marked: 0,
            sent: StampLine::default(),
            acked: StampLine::default(),
            left_alone: VecDeque::new(),
        }
    }

    /// The stamp of the last written byte is missing, and it is the latest mark: the kernel can be
    /// asked if that byte [has left](Self::has_left).
    pub(crate) fn is_in_question(&self) -> bool {
        self.sent.reached < self.marked && self.marked == self.written
    }

    /// Notes that all written bytes have left.
    pub(crate) fn has_left(&mut self) {
        if self.left_alone.back() == Some(&self.marked) {
            return;
        }
        if self.left_alone.len() == KEPT {
            self.left_alone.pop_front();
        }
        self.left_alone.push_back(self.marked);
    }

    pub(crate) fn acks(&self) -> bool {
        self.acks
    }

    /// Notes bytes that the kernel accepted.
    pub(crate) fn wrote(&mut self, count: usize) {
        self.written += count as u64;
    }

    /// Marks the last written byte, whose stamp will be read by the returned mark.
    pub(crate) fn expect(&mut self) -> u64 {
        self.marked = self.written;
        self.marked
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits_for(self.marked)
    }

    pub(crate) fn waits_for(&self, mark: u64) -> bool {
        self.sent.reached < mark || (self.acks && self.acked.reached < mark)
    }

    /// Enters a stamp from the error queue.
    pub(crate) fn enter(&mut self, stamp: TxStamp) {
        // The latest offset within the written bytes that ends in these 32 bits.
        let Some(last) = self.written.checked_sub(1) else {
            return;
        };
        let behind = (last as u32).wrapping_sub(stamp.byte);
        let Some(byte) = last.checked_sub(u64::from(behind)) else {
            return;
        };
        match stamp.left {
            Left::Sent => self.sent.enter(byte + 1, stamp.at),
            Left::Acked => self.acked.enter(byte + 1, stamp.at),
        }
    }

    /// The stamps for a mark. Marks must be read in their order.
    pub(crate) fn departure(&mut self, mark: u64) -> Departure {
        while self.left_alone.front().is_some_and(|left| *left < mark) {
            self.left_alone.pop_front();
        }
        let has_own = self.left_alone.front() == Some(&mark);
        let sent = self.sent.find(mark);
        let acked = self.acked.find(mark);
        Departure {
            sent: sent
                .filter(|(end, _)| !has_own || *end == mark)
                .map(|(_, at)| at),
            acked: acked.map(|(_, at)| at),
        }
    }

    /// Stops waiting for stamps up to a mark.
    pub(crate) fn give_up(&mut self, mark: u64) {
        for line in [&mut self.sent, &mut self.acked] {
            line.reached = line.reached.max(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(byte: u64, at: RealNanos) -> TxStamp {
        TxStamp {
            left: Left::Sent,
            byte: byte as u32,
            at,
        }
    }

    #[test]
    fn a_mark_gets_the_stamp_of_its_last_byte() {
        let mut book = StampBook::new(false);
        book.wrote(100);
        let mark = book.expect();
        assert!(book.waits());
        assert_eq!(book.departure(mark), Departure::default());
        // A stamp of an earlier byte is not its own.
        book.enter(sent(49, 5));
        assert!(book.waits());
        assert_eq!(book.departure(mark).sent, None);
        book.enter(sent(99, 7));
        assert!(!book.waits());
        assert_eq!(book.departure(mark).sent, Some(7));
        // Sent again: the first time counts.
        book.enter(sent(99, 9));
        assert_eq!(book.departure(mark).sent, Some(7));
    }

    #[test]
    fn a_packet_that_took_in_two_requests_has_the_stamp_of_both() {
        let mut book = StampBook::new(false);
        book.wrote(10);
        let first = book.expect();
        book.wrote(10);
        let second = book.expect();
        book.enter(sent(19, 3));
        assert_eq!(book.departure(first).sent, Some(3));
        assert_eq!(book.departure(second).sent, Some(3));
    }

    #[test]
    fn a_lost_stamp_is_not_replaced_by_that_of_the_next_request() {
        let mut book = StampBook::new(false);
        book.wrote(10);
        let lost = book.expect();
        assert_eq!(book.departure(lost).sent, None);
        book.give_up(lost);
        assert!(!book.waits());
        book.wrote(10);
        let next = book.expect();
        assert!(book.waits());
        // The lost one, too late: its mark has been read.
        book.enter(sent(9, 1));
        assert_eq!(book.departure(next).sent, None);
        book.enter(sent(19, 2));
        assert_eq!(book.departure(next).sent, Some(2));
    }

    #[test]
    fn what_left_by_itself_does_not_get_the_stamp_of_the_next_request() {
        let mut book = StampBook::new(false);
        book.wrote(10);
        let lost = book.expect();
        assert!(book.is_in_question());
        book.has_left();
        book.wrote(10);
        let next = book.expect();
        book.wrote(5);
        assert!(!book.is_in_question(), "there is more behind the mark");
        book.enter(sent(19, 2));
        assert_eq!(book.departure(lost).sent, None);
        assert_eq!(book.departure(next).sent, Some(2));
        // A late one.
        let late = book.expect();
        book.has_left();
        book.enter(sent(24, 4));
        book.wrote(10);
        book.expect();
        book.enter(sent(34, 6));
        assert_eq!(book.departure(late).sent, Some(4));
    }

    #[test]
    fn acknowledgements_stand_apart_and_are_waited_for_where_asked_for() {
        let mut book = StampBook::new(true);
        book.wrote(10);
        let mark = book.expect();
        book.enter(sent(9, 1));
        assert!(book.waits());
        book.enter(TxStamp {
            left: Left::Acked,
            ..sent(9, 4)
        });
        assert!(!book.waits());
        let departure = Departure {
            sent: Some(1),
            acked: Some(4),
        };
        assert_eq!(book.departure(mark), departure);
    }

    #[test]
    fn what_cannot_be_ours_is_left_out() {
        let mut book = StampBook::new(false);
        book.enter(sent(0, 1));
        book.wrote(5);
        book.expect();
        book.enter(sent(1000, 1));
        assert!(book.waits(), "a byte that was never written");
    }

    proptest! {
        /// Offsets wrap after four gibibytes; marks do not.
        #[test]
        fn offsets_wrap(lengths in proptest::collection::vec(1..(1u64 << 31), 1..12)) {
            let mut book = StampBook::new(false);
            for (at, length) in (1..).zip(lengths) {
                book.wrote(usize::try_from(length).unwrap());
                let mark = book.expect();
                book.enter(sent(mark - 1, at));
                prop_assert_eq!(book.departure(mark).sent, Some(at));
                prop_assert!(!book.waits());
            }
        }
    }
}
