//! Headers of IPv4 (RFC 791) and IPv6 (RFC 8200), with its extension headers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::file::LONGEST_PACKET;
use crate::not_tcp::NotTcp;

/// Protocol numbers, which are next headers of IPv6 as well.
pub(crate) const TCP: u8 = 6;
const ICMP: u8 = 1;
pub(crate) const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;

/// Payload of an IP packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IpPayload<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    /// Identification of IPv4.
    pub(crate) identification: Option<u16>,
    /// Its bytes, as far as they were captured.
    pub(crate) bytes: &'a [u8],
    pub(crate) wire_length: usize,
    pub(crate) fragment: Option<FragmentPosition>,
}

/// Part of a packet in a fragment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FragmentPosition {
    pub(crate) id: u32,
    /// Offset in bytes.
    pub(crate) offset: usize,
    pub(crate) has_more: bool,
}

/// Reads an IP packet. `wire_length` is the length of the frame from its header on; 0 if unknown.
pub(crate) fn parse(bytes: &[u8], wire_length: usize) -> Result<IpPayload<'_>, NotTcp> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => ipv4(bytes, wire_length),
        Some(6) => ipv6(bytes, wire_length),
        Some(_) => Err(NotTcp::Malformed),
        None => Err(NotTcp::CutOff),
    }
}

/// Skips the extension headers that were fragmented with the packet.
pub(crate) fn after_reassembly(whole: IpPayload<'_>) -> Result<IpPayload<'_>, NotTcp> {
    if whole.source.is_ipv4() {
        return Ok(whole);
    }
    let inside = extensions(whole)?;
    match inside.fragment {
        // A fragment of a fragment.
        Some(_) => Err(NotTcp::BadFragment),
        None => Ok(inside),
    }
}

/// Kind of a packet with that protocol, if not TCP.
pub(crate) fn other(protocol: u8) -> NotTcp {
    match protocol {
        UDP => NotTcp::Udp,
        ICMP | ICMPV6 => NotTcp::Icmp,
        _ => NotTcp::OtherTransport,
    }
}

fn ipv4(bytes: &[u8], wire_length: usize) -> Result<IpPayload<'_>, NotTcp> {
    let header: &[u8; 20] = bytes.first_chunk().ok_or(NotTcp::CutOff)?;
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let header_length = usize::from(header[0] & 15) * 4;
    if header_length < 20 {
        return Err(NotTcp::Malformed);
    }
    // With segmentation offload the field is 0 if the length does not fit.
    let total = match usize::from(half(2)) {
        0 => offloaded(wire_length)?,
        total => total,
    };
    let length = total.checked_sub(header_length).ok_or(NotTcp::Malformed)?;
    let payload = bytes.get(header_length..).ok_or(NotTcp::CutOff)?;
    let field = half(6);
    let is_fragment = field & 0x3fff != 0;
    let address = |at: usize| {
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        IpAddr::V4(Ipv4Addr::from(bytes))
    };
    Ok(IpPayload {
        source: address(12),
        destination: address(16),
        protocol: header[9],
        identification: Some(half(4)),
        // A frame may be padded behind the packet.
        bytes: &payload[..payload.len().min(length)],
        wire_length: length,
        fragment: is_fragment.then(|| FragmentPosition {
            id: u32::from(half(4)),
            offset: usize::from(field & 0x1fff) * 8,
            has_more: field & 0x2000 != 0,
        }),
    })
}

fn ipv6(bytes: &[u8], wire_length: usize) -> Result<IpPayload<'_>, NotTcp> {
    let (header, payload) = bytes.split_first_chunk::<40>().ok_or(NotTcp::CutOff)?;
    let length = match usize::from(u16::from_be_bytes([header[4], header[5]])) {
        // A jumbogram (RFC 2675), or segmentation offload.
        0 => offloaded(wire_length)?.saturating_sub(40),
        length => length,
    };
    let address = |at: usize| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&header[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(bytes))
    };
    extensions(IpPayload {
        source: address(8),
        destination: address(24),
        protocol: header[6],
        identification: None,
        bytes: &payload[..payload.len().min(length)],
        wire_length: length,
        fragment: None,
    })
}

/// Length of a packet whose header leaves it to the frame.
fn offloaded(wire_length: usize) -> Result<usize, NotTcp> {
    match wire_length {
        0..=LONGEST_PACKET => Ok(wire_length),
        _ => Err(NotTcp::Malformed),
    }
}

/// Skips extension headers, up to that of a fragment.
fn extensions(mut packet: IpPayload<'_>) -> Result<IpPayload<'_>, NotTcp> {
    // Each of them has at least 8 bytes, so this ends.
    loop {
        let length = |bytes: &[u8; 8]| match packet.protocol {
            // hop-by-hop, routing, destination, mobility, HIP, shim6
            0 | 43 | 60 | 135 | 139 | 140 => Some((usize::from(bytes[1]) + 1) * 8),
            AUTHENTICATION => Some((usize::from(bytes[1]) + 2) * 4),
            FRAGMENT => Some(8),
            _ => None,
        };
        if length(&[0; 8]).is_none() {
            return Ok(packet);
        }
        if packet.wire_length < 8 {
            return Err(NotTcp::Malformed);
        }
        let header: &[u8; 8] = packet.bytes.first_chunk().ok_or(NotTcp::CutOff)?;
        let length = length(header).unwrap_or(8).max(8);
        let is_fragment = packet.protocol == FRAGMENT;
        packet.protocol = header[0];
        packet.wire_length = packet
            .wire_length
            .checked_sub(length)
            .ok_or(NotTcp::Malformed)?;
        let field = u16::from_be_bytes([header[2], header[3]]);
        let id = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        packet.bytes = packet.bytes.get(length..).ok_or(NotTcp::CutOff)?;
        // An atomic fragment is a whole packet (RFC 6946).
        if is_fragment && field & 0xfff9 != 0 {
            packet.fragment = Some(FragmentPosition {
                id,
                offset: usize::from(field & 0xfff8),
                has_more: field & 1 != 0,
            });
            return Ok(packet);
        }
    }
}
