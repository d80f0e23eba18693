//! From captured packets to TCP segments: headers of the link, IP, fragments.
//!
//! ```text
//!                                      .------ tunnel <------.
//!                                      v                     |
//! CapturedPacket --> link_payload --> ip --> fragments ------+--> segment --> TcpSegment
//!                        |            |          |                   |
//!                        `------------`--------- NotTcp -------------'  counted
//! ```
//!
//! Checksums are not verified, because network cards compute them after the packet is captured.

use crate::file::{CapturedPacket, LinkType, PacketDirection};
use crate::fragments::{FragmentKey, Reassembly};
use crate::ip::{self, IpPayload};
use crate::not_tcp::{NotTcp, PacketCounts};
use crate::segment::{self, TcpSegment};
use crate::tunnel;

/// Stacked VLAN tags and labels of MPLS that are followed.
const MOST_TAGS: usize = 8;

/// Packets within packets that are followed.
const MOST_LAYERS: usize = 4;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;

/// `PACKET_OUTGOING` of `linux/if_packet.h`.
const OUTGOING: u16 = 4;

/// Converts captured packets to TCP segments.
#[derive(Debug, Default)]
pub struct Dissector {
    fragments: Reassembly,
    counts: PacketCounts,
}

impl Dissector {
    /// The TCP segment of a packet. A fragmented segment has the time of the last fragment.
    ///
    /// # Errors
    /// The packet is not TCP, or not complete yet. It is counted.
    pub fn segment<'a>(
        &'a mut self,
        packet: &CapturedPacket<'a>,
    ) -> Result<TcpSegment<'a>, NotTcp> {
        let result = dissect(&mut self.fragments, packet);
        match &result {
            Ok(_) => self.counts.tcp += 1,
            Err(kind) => self.counts.others[*kind as usize] += 1,
        }
        result
    }

    /// Counts so far.
    pub fn counts(&self) -> &PacketCounts {
        &self.counts
    }

    /// IP packets with missing fragments so far. At the end of a capture, incomplete ones are
    /// included.
    pub fn incomplete_datagrams(&self) -> u64 {
        self.fragments.incomplete()
    }

    #[cfg(test)]
    pub(crate) fn stored_bytes(&self) -> usize {
        self.fragments.stored_bytes()
    }
}

fn dissect<'a>(
    fragments: &'a mut Reassembly,
    packet: &CapturedPacket<'a>,
) -> Result<TcpSegment<'a>, NotTcp> {
    // One of the layers can be in fragments: its bytes are borrowed from here.
    let mut fragments = Some(fragments);
    let mut inside = link_payload(packet.link, packet.bytes, packet.wire_length)?;
    for _ in 0..MOST_LAYERS {
        let mut ip = ip::parse(inside.bytes, inside.wire_length)?;
        if let Some(position) = ip.fragment {
            let key = FragmentKey::new(packet.interface, inside.vlan, &ip, position);
            let fragments = fragments.take().ok_or(NotTcp::Fragment)?;
            let whole = fragments.add(key, packet.at_ns, &ip, position)?;
            ip = ip::after_reassembly(IpPayload {
                protocol: whole.protocol,
                bytes: whole.bytes,
                wire_length: whole.wire_length,
                fragment: None,
                ..ip
            })?;
        }
        match tunnel::payload(&ip)? {
            Some(payload) => inside = payload,
            None => return segment::from_ip(packet.at_ns, &ip),
        }
    }
    Err(NotTcp::OtherTransport)
}

/// Contents of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkPayload<'a> {
    /// Bytes from the IP header on, as far as they were captured. Padding of the frame may follow.
    pub bytes: &'a [u8],
    /// Bytes from the IP header to the end of the frame on the wire; 0 if unknown.
    pub wire_length: usize,
    /// The VLAN (the outermost), if the frame has a tag.
    pub vlan: Option<u16>,
    /// Its direction, if the header of the link has it.
    pub direction: PacketDirection,
}

impl<'a> LinkPayload<'a> {
    pub(crate) fn whole(bytes: &'a [u8], wire_length: usize) -> LinkPayload<'a> {
        LinkPayload {
            bytes,
            wire_length,
            vlan: None,
            direction: PacketDirection::Unknown,
        }
    }

    /// Contents behind a header of that many bytes.
    pub(crate) fn behind(self, header: usize) -> Result<LinkPayload<'a>, NotTcp> {
        Ok(LinkPayload {
            bytes: self.bytes.get(header..).ok_or(NotTcp::CutOff)?,
            wire_length: self.wire_length.saturating_sub(header),
            ..self
        })
    }
}

/// Finds the IP packet in a frame of `wire_length` bytes, of which `bytes` were captured.
pub fn link_payload(
    link: LinkType,
    bytes: &[u8],
    wire_length: u32,
) -> Result<LinkPayload<'_>, NotTcp> {
    let frame = LinkPayload::whole(bytes, wire_length as usize);
    let half = |at: usize| {
        let two = bytes.get(at..at + 2).ok_or(NotTcp::CutOff)?;
        Ok(u16::from_be_bytes([two[0], two[1]]))
    };
    match link {
        LinkType::ETHERNET => ethernet(frame),
        LinkType::LINUX_SLL => cooked(frame.behind(16)?, half(0)?, half(14)?),
        LinkType::LINUX_SLL2 => cooked(frame.behind(20)?, half(10)? >> 8, half(0)?),
        LinkType::NULL | LinkType::LOOP => {
            let inside = frame.behind(4)?;
            // The family is small: the half that is 0 shows the byte order. IPv6 has another number
            // in each BSD.
            match half(0)?.swap_bytes() | half(2)? {
                2 => Ok(inside),
                10 | 24 | 28 | 30 => Ok(inside),
                _ => Err(NotTcp::OtherNetwork),
            }
        }
        // DLT_RAW is 12, and 14 with OpenBSD.
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => Ok(frame),
        _ => Err(NotTcp::UnknownLink),
    }
}

/// The contents of a Linux cooked capture, by its packet type and protocol.
fn cooked(
    inside: LinkPayload<'_>,
    packet_type: u16,
    protocol: u16,
) -> Result<LinkPayload<'_>, NotTcp> {
    let direction = match packet_type {
        OUTGOING => PacketDirection::Outgoing,
        _ => PacketDirection::Incoming,
    };
    network(
        protocol,
        LinkPayload {
            direction,
            ..inside
        },
    )
}

pub(crate) fn ethernet(frame: LinkPayload<'_>) -> Result<LinkPayload<'_>, NotTcp> {
    let inside = frame.behind(14)?;
    let kind = u16::from_be_bytes([frame.bytes[12], frame.bytes[13]]);
    if kind >= 0x600 {
        return network(kind, inside);
    }
    // IEEE 802.3: a length, and IP only with the header of SNAP.
    match inside.bytes.split_first_chunk::<8>() {
        Some(([0xaa, 0xaa, 3, 0, 0, 0, high, low], _)) => {
            let kind = u16::from_be_bytes([*high, *low]);
            network(kind, inside.behind(8)?)
        }
        _ => Err(NotTcp::OtherNetwork),
    }
}

/// Skips VLAN tags (802.1Q, 802.1ad and its predecessors), labels of MPLS and PPPoE before IP.
pub(crate) fn network(
    mut kind: u16,
    mut inside: LinkPayload<'_>,
) -> Result<LinkPayload<'_>, NotTcp> {
    for _ in 0..=MOST_TAGS {
        match kind {
            IPV4 | IPV6 => return Ok(inside),
            ARP => return Err(NotTcp::Arp),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                let tag: &[u8; 4] = inside.bytes.first_chunk().ok_or(NotTcp::CutOff)?;
                let [tag, inner] = [[tag[0], tag[1]], [tag[2], tag[3]]].map(u16::from_be_bytes);
                kind = inner;
                inside = LinkPayload {
                    vlan: inside.vlan.or(Some(tag & 0xfff)),
                    ..inside.behind(4)?
                };
            }
            0x8847 | 0x8848 => {
                let label: &[u8; 4] = inside.bytes.first_chunk().ok_or(NotTcp::CutOff)?;
                inside = inside.behind(4)?;
                // The last label does not identify its contents (RFC 4928, section 2).
                if label[2] & 1 != 0 {
                    kind = match inside.bytes.first().map(|first| first >> 4) {
                        Some(4) => IPV4,
                        Some(6) => IPV6,
                        Some(_) => return Err(NotTcp::Mpls),
                        None => return Err(NotTcp::CutOff),
                    };
                }
            }
            0x8863 => return Err(NotTcp::Pppoe),
            0x8864 => return tunnel::pppoe(inside),
            0x88e5 => return Err(NotTcp::Macsec),
            _ => return Err(NotTcp::OtherNetwork),
        }
    }
    Err(NotTcp::OtherNetwork)
}
