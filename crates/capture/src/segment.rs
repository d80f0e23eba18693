//! From a captured packet to a TCP segment. Pure: bytes in, segment out.

use core::net::{IpAddr, SocketAddr};

use etherparse::{Ethernet2HeaderSlice, Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice};

/// What a TCP packet says, payload included as far as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSegment<'a> {
    /// When it passed, in nanoseconds.
    pub at_ns: i64,
    /// Who sent it.
    pub source: SocketAddr,
    /// To whom.
    pub destination: SocketAddr,
    /// Place of its first byte in the stream, modulo 2^32.
    pub sequence: u32,
    /// The byte of the other direction that its sender expects next, modulo 2^32.
    pub acknowledged: u32,
    /// Bytes of payload on the wire.
    pub length: u32,
    /// The first of these bytes; a capture cuts packets off.
    pub payload: &'a [u8],
}

/// Why a packet is none that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Cut off, or damaged.
    #[error("a packet of {0} bytes has no complete Ethernet, IP and TCP headers")]
    Headers(usize),
    /// Lengths that contradict one another.
    #[error("the length of a packet is shorter than its headers")]
    Length,
}

/// Reads a packet of the loopback interface: Ethernet header, IPv4 or IPv6, TCP.
///
/// # Errors
/// Where it is no such packet.
pub fn parse(packet: &[u8], at_ns: i64) -> Result<TcpSegment<'_>, SegmentError> {
    let no_headers = |_| SegmentError::Headers(packet.len());
    let link = Ethernet2HeaderSlice::from_slice(packet).map_err(|_| no_headers(()))?;
    let rest = &packet[link.slice().len()..];
    let (source, destination, length, rest) = match link.ether_type() {
        etherparse::EtherType::IPV4 => {
            let ip = Ipv4HeaderSlice::from_slice(rest).map_err(|_| no_headers(()))?;
            let header = ip.slice().len();
            let length = usize::from(ip.total_len()).checked_sub(header);
            let source = IpAddr::from(ip.source_addr());
            (
                source,
                ip.destination_addr().into(),
                length,
                &rest[header..],
            )
        }
        etherparse::EtherType::IPV6 => {
            let ip = Ipv6HeaderSlice::from_slice(rest).map_err(|_| no_headers(()))?;
            let length = Some(usize::from(ip.payload_length()));
            let source = IpAddr::from(ip.source_addr());
            (
                source,
                ip.destination_addr().into(),
                length,
                &rest[ip.slice().len()..],
            )
        }
        _ => return Err(no_headers(())),
    };
    let tcp = TcpHeaderSlice::from_slice(rest).map_err(|_| no_headers(()))?;
    let header = tcp.slice().len();
    let length = length.and_then(|length| length.checked_sub(header));
    let length = length.ok_or(SegmentError::Length)?;
    let payload = &rest[header..];
    Ok(TcpSegment {
        at_ns,
        source: (source, tcp.source_port()).into(),
        destination: SocketAddr::new(destination, tcp.destination_port()),
        sequence: tcp.sequence_number(),
        acknowledged: tcp.acknowledgment_number(),
        length: length as u32,
        // A frame can be padded behind the payload.
        payload: &payload[..payload.len().min(length)],
    })
}
