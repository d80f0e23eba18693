//! TCP segments: headers and options (RFC 9293). Pure: bytes in, segment out.

use core::net::SocketAddr;

use crate::file::LinkType;
use crate::ip::{self, IpPayload};
use crate::link;
use crate::not_tcp::NotTcp;

/// Bytes of a TCP header without options.
const HEADER: usize = 20;

/// A TCP packet, with its payload as far as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSegment<'a> {
    /// Its moment, in nanoseconds.
    pub at_ns: i64,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// Identification of its packet, for IPv4 only.
    pub identification: Option<u16>,
    /// Sequence number of its first byte, modulo 2^32.
    pub sequence: u32,
    /// The byte of the other direction that its sender expects next, modulo 2^32.
    pub acknowledged: u32,
    /// Its flags.
    pub flags: TcpFlags,
    /// The window field of the header, unscaled.
    pub window: u16,
    /// Its options.
    pub options: TcpOptions,
    /// Bytes of payload on the wire, at most [`LONGEST_PACKET`](crate::file::LONGEST_PACKET).
    pub length: u32,
    /// The first of these bytes; a capture cuts packets.
    pub payload: &'a [u8],
}

/// Flags of a segment (RFC 9293, section 3.1), without those that are not needed here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the RFC")]
pub struct TcpFlags {
    pub syn: bool,
    pub ack: bool,
    pub fin: bool,
    pub rst: bool,
    pub psh: bool,
}

/// Options of a segment. Options of another kind, with a wrong length, or cut are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    /// Shift of the window (RFC 7323, section 2), as in the header: more than 14 counts as 14.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// Blocks of SACK, the most recent first: first byte, and the byte behind the last.
    pub sack: [Option<(u32, u32)>; 4],
    /// TSval and TSecr (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
}

impl TcpOptions {
    fn parse(mut bytes: &[u8]) -> TcpOptions {
        let mut options = TcpOptions::default();
        while let [kind, rest @ ..] = bytes {
            bytes = match (kind, rest) {
                // End of the list, and no operation.
                (0, _) => break,
                (1, rest) => rest,
                (_, [length, ..]) => {
                    let Some(value) = rest.get(1..usize::from(*length).saturating_sub(1)) else {
                        break;
                    };
                    options.read(*kind, value);
                    &rest[value.len() + 1..]
                }
                _ => break,
            };
        }
        options
    }

    /// Adds an option. One with a wrong length or of another kind is left out.
    fn read(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (2, [high, low]) => self.mss = Some(u16::from_be_bytes([*high, *low])),
            (3, [shift]) => self.window_scale = Some(*shift),
            (4, []) => self.sack_permitted = true,
            (5, blocks) if blocks.len().is_multiple_of(8) => {
                let (blocks, _) = blocks.as_chunks::<8>();
                for (field, block) in self.sack.iter_mut().zip(blocks) {
                    *field = Some(two_words(block));
                }
            }
            (8, value) => self.timestamps = value.first_chunk().map(two_words),
            _ => {}
        }
    }
}

fn two_words(bytes: &[u8; 8]) -> (u32, u32) {
    let both = u64::from_be_bytes(*bytes);
    ((both >> 32) as u32, both as u32)
}

/// Why a packet cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Cut off, or damaged.
    #[error("a packet of {0} bytes has no complete Ethernet, IP and TCP headers")]
    Headers(usize),
    /// Lengths that contradict one another.
    #[error("the length of a packet is shorter than its headers")]
    Length,
}

/// Reads a packet with an Ethernet header, as on the loopback interface: IPv4 or IPv6, TCP.
/// Captures in general are read by [`Dissector`](crate::link::Dissector), which reassembles
/// fragments.
pub fn parse(packet: &[u8], at_ns: i64) -> Result<TcpSegment<'_>, SegmentError> {
    let read = || {
        let inside = link::link_payload(LinkType::ETHERNET, packet, 0)?;
        let ip = ip::parse(inside.bytes, inside.wire_length)?;
        match ip.fragment {
            Some(_) => Err(NotTcp::Fragment),
            None => from_ip(at_ns, &ip),
        }
    };
    read().map_err(|error| match error {
        NotTcp::Malformed => SegmentError::Length,
        _ => SegmentError::Headers(packet.len()),
    })
}

/// The segment in an unfragmented IP packet.
pub(crate) fn from_ip<'a>(at_ns: i64, ip: &IpPayload<'a>) -> Result<TcpSegment<'a>, NotTcp> {
    if ip.protocol != ip::TCP {
        return Err(ip::other(ip.protocol));
    }
    let Some(header) = ip.bytes.first_chunk::<HEADER>() else {
        return Err(match ip.wire_length {
            0..HEADER => NotTcp::Malformed,
            _ => NotTcp::CutOff,
        });
    };
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let word = |at: usize| (u32::from(half(at)) << 16) | u32::from(half(at + 2));
    let header_length = usize::from(header[12] >> 4) * 4;
    if header_length < HEADER || header_length > ip.wire_length {
        return Err(NotTcp::Malformed);
    }
    let options = &ip.bytes[HEADER..header_length.min(ip.bytes.len())];
    let flag = |bit: u8| header[13] & bit != 0;
    Ok(TcpSegment {
        at_ns,
        source: (ip.source, half(0)).into(),
        destination: (ip.destination, half(2)).into(),
        identification: ip.identification,
        sequence: word(4),
        acknowledged: word(8),
        flags: TcpFlags {
            fin: flag(1),
            syn: flag(2),
            rst: flag(4),
            psh: flag(8),
            ack: flag(16),
        },
        window: half(14),
        options: TcpOptions::parse(options),
        length: (ip.wire_length - header_length) as u32,
        payload: ip.bytes.get(header_length..).unwrap_or_default(),
    })
}
