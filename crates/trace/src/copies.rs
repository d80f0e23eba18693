//! Packets that occur twice in a capture: captured at two interfaces of the same machine, or twice
//! at one. Pure.
//!
//! A copy has the identification of its packet (RFC 791, section 3.1), unlike a retransmission.
//! Packets of IPv6, and those with the identification 0 (RFC 6864), are never taken for copies: a
//! duplicate acknowledgment looks the same.

use crate::segment::TcpSegment;

/// Segments behind which a copy of them is recognised.
const MOST_RECENT: usize = 64;

/// The latest segments of a connection, each as a number that copies have in common.
#[derive(Debug)]
pub(crate) struct RecentSegments {
    numbers: [u64; MOST_RECENT],
    next: usize,
}

impl Default for RecentSegments {
    fn default() -> RecentSegments {
        RecentSegments {
            numbers: [0; MOST_RECENT],
            next: 0,
        }
    }
}

impl RecentSegments {
    /// True if the segment is a copy of a recent one; otherwise it is added to them.
    pub(crate) fn is_copy(&mut self, segment: &TcpSegment<'_>) -> bool {
        let Some(number) = number(segment) else {
            return false;
        };
        if self.numbers.contains(&number) {
            return true;
        }
        self.numbers[self.next] = number;
        self.next = (self.next + 1) % MOST_RECENT;
        false
    }
}

fn number(segment: &TcpSegment<'_>) -> Option<u64> {
    let identification = segment.identification.filter(|number| *number != 0)?;
    let flags = [
        segment.flags.syn,
        segment.flags.ack,
        segment.flags.fin,
        segment.flags.rst,
    ];
    let flags = flags
        .iter()
        .fold(0, |bits, flag| bits << 1 | u64::from(*flag));
    let (stamp, echo) = segment.options.timestamps.unwrap_or_default();
    let words = [
        u64::from(identification) << 16 | u64::from(segment.window),
        u64::from(segment.source.port()) << 40 | u64::from(segment.length) << 4 | flags,
        u64::from(segment.sequence) << 32 | u64::from(segment.acknowledged),
        u64::from(stamp) << 32 | u64::from(echo),
    ];
    let mix = |mixed: u64, word: &u64| {
        (mixed ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    Some(words.iter().fold(1, mix))
}
