//! From a captured packet to a TCP segment. Pure: bytes in, segment out.

use core::net::{IpAddr, SocketAddr};

use etherparse::{
    Ethernet2HeaderSlice, Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice, TcpOptionElement,
};

/// A TCP packet, with its payload as far as it was captured.
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
    /// Its flags.
    pub flags: TcpFlags,
    /// The window field as it stands in the header, unscaled.
    pub window: u16,
    /// Its options.
    pub options: TcpOptions,
    /// Bytes of payload on the wire.
    pub length: u32,
    /// The first of these bytes; a capture cuts packets off.
    pub payload: &'a [u8],
}

/// Flags of a segment (RFC 9293, section 3.1), without those of no use here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the RFC")]
pub struct TcpFlags {
    pub syn: bool,
    pub ack: bool,
    pub fin: bool,
    pub rst: bool,
    pub psh: bool,
    pub ece: bool,
    pub cwr: bool,
}

/// Options of a segment. One that is cut off or malformed is left out, and so is all that follows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    /// Shift of the window (RFC 7323, section 2), as it stands there: more than 14 counts as 14.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// Blocks of SACK, the most recent first: first byte, and the byte behind the last.
    pub sack: [Option<(u32, u32)>; 4],
    /// TSval and TSecr (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
}

impl TcpOptions {
    fn of(tcp: &TcpHeaderSlice<'_>) -> TcpOptions {
        let mut options = TcpOptions::default();
        for element in tcp.options_iterator() {
            match element {
                Ok(TcpOptionElement::MaximumSegmentSize(size)) => options.mss = Some(size),
                Ok(TcpOptionElement::WindowScale(shift)) => options.window_scale = Some(shift),
                Ok(TcpOptionElement::SelectiveAcknowledgementPermitted) => {
                    options.sack_permitted = true;
                }
                Ok(TcpOptionElement::SelectiveAcknowledgement(first, others)) => {
                    let [second, third, fourth] = others;
                    options.sack = [Some(first), second, third, fourth];
                }
                Ok(TcpOptionElement::Timestamp(value, echo)) => {
                    options.timestamps = Some((value, echo));
                }
                Ok(TcpOptionElement::Noop) => {}
                Err(_) => break,
            }
        }
        options
    }
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
        flags: TcpFlags {
            syn: tcp.syn(),
            ack: tcp.ack(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            psh: tcp.psh(),
            ece: tcp.ece(),
            cwr: tcp.cwr(),
        },
        window: tcp.window_size(),
        options: TcpOptions::of(&tcp),
        length: length as u32,
        // A frame can be padded behind the payload.
        payload: &payload[..payload.len().min(length)],
    })
}
