//! Frames as bytes: those received for this server, and those it sends. Checksums are verified and
//! computed here.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpAddress, IpProtocol,
    Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr, TcpPacket, TcpRepr,
};

/// Hops that packets may take.
const HOP_LIMIT: u8 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BareAddresses {
    pub(crate) ethernet: [u8; 6],
    pub(crate) ipv4: Option<Ipv4Addr>,
    pub(crate) ipv6: Option<Ipv6Addr>,
}

impl BareAddresses {
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.ipv4 == Some(address),
            IpAddr::V6(address) => self.ipv6 == Some(address),
        }
    }

    /// True if an Ethernet frame is for this host: its own address, or one of a group. The layers
    /// above check the group.
    fn hears(&self, destination: EthernetAddress) -> bool {
        destination.0 == self.ethernet || !destination.is_unicast()
    }
}

/// Source and destination, in both layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameAddresses {
    pub(crate) ethernet_source: [u8; 6],
    pub(crate) ethernet_destination: [u8; 6],
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedPacket<'a> {
    pub(crate) addresses: FrameAddresses,
    pub(crate) protocol: IpProtocol,
    pub(crate) hop_limit: u8,
    pub(crate) payload: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum FrameContents<'a> {
    Arp { source: [u8; 6], packet: &'a [u8] },
    Ip(ReceivedPacket<'a>),
}

/// The contents of a frame; `None` if it is damaged, or not for this host.
pub(crate) fn parse<'a>(frame: &'a [u8], host: &BareAddresses) -> Option<FrameContents<'a>> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    let source = ethernet.src_addr();
    if !host.hears(ethernet.dst_addr()) || !source.is_unicast() || source.0 == host.ethernet {
        return None;
    }
    let payload = ethernet.payload();
    let (source, destination) = (source.0, ethernet.dst_addr().0);
    match ethernet.ethertype() {
        EthernetProtocol::Arp => Some(FrameContents::Arp {
            source,
            packet: payload,
        }),
        EthernetProtocol::Ipv4 => parse_ipv4(payload, source, destination),
        EthernetProtocol::Ipv6 => parse_ipv6(payload, source, destination),
        EthernetProtocol::Unknown(_) => None,
    }
}

/// Fragments are not reassembled: segments that the other end makes fit its MTU.
fn parse_ipv4(payload: &[u8], from: [u8; 6], to: [u8; 6]) -> Option<FrameContents<'_>> {
    let packet = Ipv4Packet::new_checked(payload).ok()?;
    let header = Ipv4Repr::parse(&packet, &ChecksumCapabilities::default()).ok()?;
    let source = header.src_addr;
    if source.is_multicast() || source.is_broadcast() || source.is_unspecified() {
        return None;
    }
    Some(FrameContents::Ip(ReceivedPacket {
        addresses: FrameAddresses {
            ethernet_source: from,
            ethernet_destination: to,
            source: IpAddr::V4(source),
            destination: IpAddr::V4(header.dst_addr),
        },
        protocol: header.next_header,
        hop_limit: header.hop_limit,
        payload: packet.payload(),
    }))
}

/// Packets with extension headers are ignored.
fn parse_ipv6(payload: &[u8], from: [u8; 6], to: [u8; 6]) -> Option<FrameContents<'_>> {
    let packet = Ipv6Packet::new_checked(payload).ok()?;
    let header = Ipv6Repr::parse(&packet).ok()?;
    if header.src_addr.is_multicast() {
        return None;
    }
    Some(FrameContents::Ip(ReceivedPacket {
        addresses: FrameAddresses {
            ethernet_source: from,
            ethernet_destination: to,
            source: IpAddr::V6(header.src_addr),
            destination: IpAddr::V6(header.dst_addr),
        },
        protocol: header.next_header,
        hop_limit: header.hop_limit,
        payload: packet.payload(),
    }))
}

/// The segment of a packet; `None` if it is damaged.
pub(crate) fn parse_tcp<'a>(packet: &ReceivedPacket<'a>) -> Option<TcpRepr<'a>> {
    let segment = TcpPacket::new_checked(packet.payload).ok()?;
    let source = IpAddress::from(packet.addresses.source);
    let destination = IpAddress::from(packet.addresses.destination);
    let checksums = ChecksumCapabilities::default();
    TcpRepr::parse(&segment, &source, &destination, &checksums).ok()
}

/// The frame of a segment.
pub(crate) fn tcp_frame(addresses: &FrameAddresses, segment: &TcpRepr<'_>) -> Vec<u8> {
    let length = segment.buffer_len();
    ip_frame(addresses, IpProtocol::Tcp, HOP_LIMIT, length, |payload| {
        segment.emit(
            &mut TcpPacket::new_unchecked(payload),
            &IpAddress::from(addresses.source),
            &IpAddress::from(addresses.destination),
            &ChecksumCapabilities::default(),
        );
    })
}

/// The frame of an IP packet, whose payload of `length` bytes `write` fills.
pub(crate) fn ip_frame(
    addresses: &FrameAddresses,
    protocol: IpProtocol,
    hop_limit: u8,
    length: usize,
    write: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let (from, to) = (addresses.ethernet_source, addresses.ethernet_destination);
    match (addresses.source, addresses.destination) {
        (IpAddr::V4(src_addr), IpAddr::V4(dst_addr)) => {
            let header = Ipv4Repr {
                src_addr,
                dst_addr,
                next_header: protocol,
                payload_len: length,
                hop_limit,
            };
            let length = header.buffer_len() + length;
            ethernet_frame(from, to, EthernetProtocol::Ipv4, length, |bytes| {
                let mut packet = Ipv4Packet::new_unchecked(bytes);
                header.emit(&mut packet, &ChecksumCapabilities::default());
                write(packet.payload_mut());
            })
        }
        (IpAddr::V6(src_addr), IpAddr::V6(dst_addr)) => {
            let header = Ipv6Repr {
                src_addr,
                dst_addr,
                next_header: protocol,
                payload_len: length,
                hop_limit,
            };
            let length = header.buffer_len() + length;
            ethernet_frame(from, to, EthernetProtocol::Ipv6, length, |bytes| {
                let mut packet = Ipv6Packet::new_unchecked(bytes);
                header.emit(&mut packet);
                write(packet.payload_mut());
            })
        }
        // Both addresses come from one packet, or from one host.
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => Vec::new(),
    }
}

/// A frame whose payload of `length` bytes `write` fills.
pub(crate) fn ethernet_frame(
    from: [u8; 6],
    to: [u8; 6],
    ethertype: EthernetProtocol,
    length: usize,
    write: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let header = EthernetRepr {
        src_addr: EthernetAddress(from),
        dst_addr: EthernetAddress(to),
        ethertype,
    };
    let mut bytes = vec![0; header.buffer_len() + length];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    header.emit(&mut frame);
    write(frame.payload_mut());
    bytes
}
