//! Packets within packets: PPPoE (RFC 2516), GRE (RFC 2784, 2890), VXLAN (RFC 7348), IP in IP (RFC
//! 2003, 4213).

use crate::ip::{IpPayload, UDP};
use crate::link::{LinkPayload, ethernet, network};
use crate::not_tcp::NotTcp;

/// Protocols of IP.
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;

/// An Ethernet frame in GRE.
const ETHERNET: u16 = 0x6558;

/// The IP packet within an IP packet, if it is a tunnel.
pub(crate) fn payload<'a>(ip: &IpPayload<'a>) -> Result<Option<LinkPayload<'a>>, NotTcp> {
    let outer = LinkPayload::whole(ip.bytes, ip.wire_length);
    let inner = match ip.protocol {
        IPV4 | IPV6 => Ok(outer),
        GRE => gre(outer),
        UDP if is_vxlan(ip.bytes) => ethernet(outer.behind(16)?),
        _ => return Ok(None),
    };
    inner.map(Some)
}

/// True if a datagram goes to port 4789, and has a header with a network identifier.
fn is_vxlan(udp: &[u8]) -> bool {
    matches!(udp, [_, _, 0x12, 0xb5, _, _, _, _, flags, ..] if flags & 8 != 0)
}

fn gre(outer: LinkPayload<'_>) -> Result<LinkPayload<'_>, NotTcp> {
    let &[flags, version, high, low] = outer.bytes.first_chunk().ok_or(NotTcp::CutOff)?;
    // Routes (RFC 1701), and the header of PPTP (RFC 2637).
    if flags & 0x40 != 0 || version & 7 != 0 {
        return Err(NotTcp::Gre);
    }
    // Checksum, key, sequence number.
    let options = (flags & 0xb0).count_ones() as usize;
    let inside = outer.behind(4 + 4 * options)?;
    let inner = match u16::from_be_bytes([high, low]) {
        ETHERNET => ethernet(inside),
        kind => network(kind, inside),
    };
    inner.map_err(|error| match error {
        NotTcp::OtherNetwork => NotTcp::Gre,
        error => error,
    })
}

/// The IP packet in a session of PPPoE.
pub(crate) fn pppoe(outer: LinkPayload<'_>) -> Result<LinkPayload<'_>, NotTcp> {
    let inside = outer.behind(6)?;
    // A protocol of PPP whose first byte is 0 can be one byte long (RFC 1661, section 6.5).
    let (protocol, header) = match *inside.bytes {
        [low, ..] if low & 1 != 0 => (u16::from(low), 1),
        [high, low, ..] => (u16::from_be_bytes([high, low]), 2),
        _ => return Err(NotTcp::CutOff),
    };
    match protocol {
        0x21 | 0x57 => inside.behind(header),
        _ => Err(NotTcp::Pppoe),
    }
}
