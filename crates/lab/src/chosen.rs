//! Counts TCP segments with data, so that a test can lose a certain one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

/// Connections whose segments are counted at the same time. Further ones are not impaired.
const CONNECTIONS: usize = 4096;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const TCP: u8 = 6;
const SYN: u8 = 0x02;

/// A fault of one TCP segment of each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenSegment {
    /// Number among the connection's segments with data in this direction, from 1. Retransmissions
    /// do not count.
    pub number: u64,
    /// Its fault.
    pub fault: SegmentFault,
}

/// Fault of a chosen segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentFault {
    /// The segment is lost, and so are retransmissions of its first byte, until it was lost this
    /// many times.
    Lost {
        /// Number of losses.
        times: u32,
    },
    /// Others overtake it.
    HeldBack {
        /// Time.
        by: Duration,
    },
    /// The segment arrives twice.
    Duplicated,
}

impl ChosenSegment {
    /// The n-th segment is lost once.
    pub fn lost(number: u64) -> ChosenSegment {
        ChosenSegment {
            number,
            fault: SegmentFault::Lost { times: 1 },
        }
    }
}

/// Addresses and ports of one direction of a connection; an IPv4 address fills four bytes of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ConnectionKey {
    addresses: [[u8; 16]; 2],
    ports: [u16; 2],
}

/// The fields of a TCP segment that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountedSegment {
    key: ConnectionKey,
    is_syn: bool,
    sequence: u32,
    payload: u32,
}

/// State of one connection.
#[derive(Debug)]
struct CountedConnection {
    /// Sequence number behind the last byte sent so far.
    end: u32,
    /// Segments with new data so far.
    segments: u64,
    /// First bytes of segments being lost, and how often they still will be.
    losses: Vec<(u32, u32)>,
}

/// Counts the segments of all connections in one direction, and finds the chosen ones.
#[derive(Debug)]
pub(crate) struct SegmentCounter {
    chosen: Vec<ChosenSegment>,
    connections: HashMap<ConnectionKey, CountedConnection>,
}

impl SegmentCounter {
    pub(crate) fn new(chosen: Vec<ChosenSegment>) -> SegmentCounter {
        SegmentCounter {
            chosen,
            connections: HashMap::new(),
        }
    }

    /// Counts an Ethernet frame. Returns its fault, if it is a chosen segment.
    pub(crate) fn fault(&mut self, frame: &[u8]) -> Option<SegmentFault> {
        if self.chosen.is_empty() {
            return None;
        }
        let segment = counted_segment(frame)?;
        if segment.is_syn {
            // The ports may have been used before.
            self.connections.remove(&segment.key);
        }
        if segment.payload == 0 {
            return None;
        }
        let room = self.connections.len() < CONNECTIONS;
        let progress = match self.connections.entry(segment.key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) if room => entry.insert(CountedConnection {
                end: segment.sequence,
                segments: 0,
                losses: Vec::new(),
            }),
            Entry::Vacant(_) => return None,
        };
        progress.count(segment, &self.chosen)
    }
}

impl CountedConnection {
    fn count(&mut self, segment: CountedSegment, chosen: &[ChosenSegment]) -> Option<SegmentFault> {
        if is_before(segment.sequence, self.end) {
            return self.count_resent(segment);
        }
        self.end = segment.sequence.wrapping_add(segment.payload);
        self.segments += 1;
        let number = self.segments;
        let fault = chosen.iter().find(|chosen| chosen.number == number)?.fault;
        if let SegmentFault::Lost { times } = fault {
            if times == 0 {
                return None;
            }
            self.losses.push((segment.sequence, times - 1));
        }
        Some(fault)
    }

    fn count_resent(&mut self, segment: CountedSegment) -> Option<SegmentFault> {
        let end = segment.sequence.wrapping_add(segment.payload);
        let contains = |first: u32| !is_before(first, segment.sequence) && is_before(first, end);
        let (_, times) = self
            .losses
            .iter_mut()
            .find(|(first, times)| *times > 0 && contains(*first))?;
        *times -= 1;
        Some(SegmentFault::Lost { times: *times })
    }
}

/// True if a sequence number is before another, of 32 bits that wrap (RFC 9293, section 3.4).
fn is_before(sequence: u32, other: u32) -> bool {
    sequence.wrapping_sub(other).cast_signed() < 0
}

/// The TCP segment in an Ethernet frame, unless it is another protocol, a fragment, behind
/// extension headers of IPv6, or truncated.
fn counted_segment(frame: &[u8]) -> Option<CountedSegment> {
    let mut at = 12;
    let mut kind = be16(frame, at)?;
    if kind == VLAN {
        at += 4;
        kind = be16(frame, at)?;
    }
    let ip = frame.get(at + 2..)?;
    let mut addresses = [[0; 16]; 2];
    let (header, length) = match kind {
        IPV4 => {
            let is_whole = be16(ip, 6)? & 0x3fff == 0;
            if *ip.get(9)? != TCP || !is_whole {
                return None;
            }
            addresses[0][..4].copy_from_slice(ip.get(12..16)?);
            addresses[1][..4].copy_from_slice(ip.get(16..20)?);
            (
                usize::from(ip.first()? & 0x0f) * 4,
                usize::from(be16(ip, 2)?),
            )
        }
        IPV6 => {
            if *ip.get(6)? != TCP {
                return None;
            }
            addresses[0].copy_from_slice(ip.get(8..24)?);
            addresses[1].copy_from_slice(ip.get(24..40)?);
            (40, 40 + usize::from(be16(ip, 4)?))
        }
        _ => return None,
    };
    let tcp = ip.get(header..)?;
    let data = header + usize::from(tcp.get(12)? >> 4) * 4;
    Some(CountedSegment {
        key: ConnectionKey {
            addresses,
            ports: [be16(tcp, 0)?, be16(tcp, 2)?],
        },
        is_syn: tcp.get(13)? & SYN != 0,
        sequence: u32::from(be16(tcp, 4)?) << 16 | u32::from(be16(tcp, 6)?),
        payload: u32::try_from(length.saturating_sub(data)).ok()?,
    })
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([two[0], two[1]]))
}

#[cfg(test)]
mod tests;
