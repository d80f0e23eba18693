//! Reassembles IP packets from their fragments, in bounded memory and time.
//!
//! A packet of which two fragments overlap is not reassembled, nor is a later one under its
//! identification (RFC 5722, for IPv4 as well): every such packet is an attack or damaged. Exact
//! duplicates are ignored; captures of several interfaces have them.

use core::net::IpAddr;
use std::collections::{BTreeMap, HashMap};

use crate::ip::{FragmentPosition, IpPayload};
use crate::not_tcp::NotTcp;

/// Packets of which fragments are kept at a time.
const MOST_OPEN: usize = 1024;

/// Bytes of fragments that are kept, including the overhead of each.
const MOST_BYTES: usize = 8 << 20;
const PIECE_COST: usize = 96;

/// Time for which fragments wait for the others (`net.ipv4.ipfrag_time`).
const PATIENCE_NS: u64 = 30_000_000_000;

const LONGEST_DATAGRAM: usize = 65_535;

/// Identification of the fragments of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FragmentKey {
    source: IpAddr,
    destination: IpAddr,
    id: u32,
    /// 0 with IPv6, whose fragments may differ in it.
    protocol: u8,
    interface: u32,
    vlan: Option<u16>,
}

impl FragmentKey {
    pub(crate) fn new(
        interface: u32,
        vlan: Option<u16>,
        ip: &IpPayload<'_>,
        position: FragmentPosition,
    ) -> FragmentKey {
        FragmentKey {
            source: ip.source,
            destination: ip.destination,
            id: position.id,
            protocol: if ip.source.is_ipv4() { ip.protocol } else { 0 },
            interface,
            vlan,
        }
    }
}

#[derive(Debug)]
pub(crate) struct WholeDatagram<'a> {
    pub(crate) protocol: u8,
    /// Its bytes, as far as the first fragments were captured.
    pub(crate) bytes: &'a [u8],
    pub(crate) wire_length: usize,
}

/// Fragments that wait for others.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    open: HashMap<FragmentKey, OpenDatagram>,
    /// Keys by the order of their first fragments.
    order: BTreeMap<u64, FragmentKey>,
    next_serial: u64,
    bytes: usize,
    /// The packet that was completed last.
    whole: Vec<u8>,
    given_up: u64,
}

#[derive(Debug)]
struct OpenDatagram {
    serial: u64,
    first_ns: i64,
    /// Fragments by their offsets; no two overlap.
    pieces: BTreeMap<usize, FragmentPiece>,
    covered: usize,
    /// Bytes of its pieces, including their overhead.
    cost: usize,
    total: Option<usize>,
    /// All fragments under this identification are ignored until its time is over.
    is_refused: bool,
}

#[derive(Debug)]
struct FragmentPiece {
    protocol: u8,
    wire_length: usize,
    bytes: Box<[u8]>,
}

impl Reassembly {
    /// Adds a fragment, and returns the packet that it completes.
    pub(crate) fn add(
        &mut self,
        key: FragmentKey,
        at_ns: i64,
        ip: &IpPayload<'_>,
        position: FragmentPosition,
    ) -> Result<WholeDatagram<'_>, NotTcp> {
        if ip.wire_length == 0 || (position.has_more && !ip.wire_length.is_multiple_of(8)) {
            return Err(NotTcp::BadFragment);
        }
        self.expire(key, at_ns);
        let (serial, bytes) = (&mut self.next_serial, &mut self.bytes);
        let open = self.open.entry(key).or_insert_with(|| {
            self.order.insert(*serial, key);
            *serial += 1;
            *bytes += PIECE_COST;
            OpenDatagram::new(*serial - 1, at_ns)
        });
        let before = open.cost;
        let outcome = open.add(ip, position);
        *bytes = *bytes - before + open.cost;
        if !open.is_complete() {
            self.shrink();
            return Err(outcome.err().unwrap_or(NotTcp::Fragment));
        }
        let (protocol, wire_length) = open.assemble(&mut self.whole);
        self.remove(key);
        Ok(WholeDatagram {
            protocol,
            bytes: &self.whole,
            wire_length,
        })
    }

    /// Packets that were or are incomplete.
    pub(crate) fn incomplete(&self) -> u64 {
        self.given_up + self.open.len() as u64
    }

    #[cfg(test)]
    pub(crate) fn stored_bytes(&self) -> usize {
        let pieces = self.open.values().flat_map(|open| open.pieces.values());
        let stored = pieces
            .map(|piece| piece.bytes.len() + PIECE_COST)
            .sum::<usize>();
        let stored = stored + self.open.len() * PIECE_COST;
        assert_eq!((stored, self.order.len()), (self.bytes, self.open.len()));
        stored
    }

    /// Discards packets that have waited too long, and an earlier packet with the same key.
    fn expire(&mut self, key: FragmentKey, at_ns: i64) {
        let is_late = |open: &OpenDatagram| open.first_ns.abs_diff(at_ns) > PATIENCE_NS;
        if self.open.get(&key).is_some_and(is_late) {
            self.give_up(key);
        }
        while let Some(oldest) = self.oldest() {
            if !self.open.get(&oldest).is_none_or(is_late) {
                break;
            }
            self.give_up(oldest);
        }
    }

    /// Discards the oldest until the limits hold.
    fn shrink(&mut self) {
        while self.open.len() > MOST_OPEN || self.bytes > MOST_BYTES {
            let Some(oldest) = self.oldest() else { break };
            self.give_up(oldest);
        }
    }

    fn oldest(&self) -> Option<FragmentKey> {
        self.order.first_key_value().map(|(_, key)| *key)
    }

    fn give_up(&mut self, key: FragmentKey) {
        self.given_up += 1;
        self.remove(key);
    }

    fn remove(&mut self, key: FragmentKey) {
        if let Some(open) = self.open.remove(&key) {
            self.order.remove(&open.serial);
            self.bytes -= open.cost;
        }
    }
}

impl OpenDatagram {
    fn new(serial: u64, first_ns: i64) -> OpenDatagram {
        OpenDatagram {
            serial,
            first_ns,
            pieces: BTreeMap::new(),
            covered: 0,
            cost: PIECE_COST,
            total: None,
            is_refused: false,
        }
    }

    fn add(&mut self, ip: &IpPayload<'_>, position: FragmentPosition) -> Result<(), NotTcp> {
        let end = position.offset + ip.wire_length;
        let same = self.pieces.get(&position.offset);
        if same.is_some_and(|same| same.wire_length == ip.wire_length) {
            return Ok(());
        }
        let before = self.pieces.range(..=position.offset).next_back();
        let overlaps = before.is_some_and(|(at, piece)| at + piece.wire_length > position.offset)
            || self.pieces.range(position.offset..end).next().is_some();
        let last = self.pieces.last_key_value();
        let furthest = last
            .map_or(0, |(at, piece)| at + piece.wire_length)
            .max(end);
        let total = if position.has_more {
            self.total
        } else {
            Some(end)
        };
        let contradicts = total.is_some_and(|total| furthest > total)
            || self.total.is_some_and(|before| total != Some(before));
        if self.is_refused || overlaps || contradicts || end > LONGEST_DATAGRAM {
            self.is_refused = true;
            self.pieces.clear();
            (self.covered, self.cost, self.total) = (0, PIECE_COST, None);
            return Err(NotTcp::BadFragment);
        }
        self.total = total;
        self.covered += ip.wire_length;
        self.cost += ip.bytes.len() + PIECE_COST;
        let piece = FragmentPiece {
            protocol: ip.protocol,
            wire_length: ip.wire_length,
            bytes: ip.bytes.into(),
        };
        self.pieces.insert(position.offset, piece);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        // No two overlap, so that the sum decides.
        self.total == Some(self.covered)
    }

    /// Protocol and length of the packet, whose bytes replace those of `whole`.
    fn assemble(&self, whole: &mut Vec<u8>) -> (u8, usize) {
        whole.clear();
        for piece in self.pieces.values() {
            whole.extend_from_slice(&piece.bytes);
            if piece.bytes.len() < piece.wire_length {
                break;
            }
        }
        let protocol = self.pieces.get(&0).map_or(0, |first| first.protocol);
        (protocol, self.covered)
    }
}
