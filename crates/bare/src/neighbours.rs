//! Replies of a host to its neighbours: ARP (RFC 826), neighbour solicitations (RFC 4861) and echo
//! requests (RFC 792, RFC 4443).

use core::net::{IpAddr, Ipv6Addr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetProtocol, Icmpv4Packet, Icmpv4Repr,
    Icmpv6Packet, Icmpv6Repr, IpProtocol, NdiscNeighborFlags, NdiscRepr, RawHardwareAddress,
};

use crate::frames::{BareAddresses, FrameAddresses, ReceivedPacket, ethernet_frame, ip_frame};

/// Longest echo with a reply, in bytes: it fits a frame without fragments.
const LONGEST_ECHO: usize = 1452;

/// Hop limit that shows that a packet comes from the same link (RFC 4861, section 7.1.1).
const SAME_LINK: u8 = 255;

/// Every node of a link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The reply to an ARP packet.
pub(crate) fn arp(source: [u8; 6], packet: &[u8], host: &BareAddresses) -> Option<Vec<u8>> {
    let packet = ArpPacket::new_checked(packet).ok()?;
    let ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr,
        source_protocol_addr,
        target_protocol_addr,
        ..
    } = ArpRepr::parse(&packet).ok()?
    else {
        return None;
    };
    let is_sender =
        source_hardware_addr.0 == source && source_protocol_addr != target_protocol_addr;
    if !is_sender || host.ipv4 != Some(target_protocol_addr) {
        return None;
    }
    let reply = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: EthernetAddress(host.ethernet),
        source_protocol_addr: target_protocol_addr,
        target_hardware_addr: source_hardware_addr,
        target_protocol_addr: source_protocol_addr,
    };
    let (from, protocol) = (host.ethernet, EthernetProtocol::Arp);
    let frame = ethernet_frame(from, source, protocol, reply.buffer_len(), |bytes| {
        reply.emit(&mut ArpPacket::new_unchecked(bytes));
    });
    Some(frame)
}

/// The reply to an ICMP packet for IPv4.
pub(crate) fn icmpv4(packet: &ReceivedPacket<'_>, host: &BareAddresses) -> Option<Vec<u8>> {
    if !host.has(packet.addresses.destination) {
        return None;
    }
    let icmp = Icmpv4Packet::new_checked(packet.payload).ok()?;
    let Icmpv4Repr::EchoRequest {
        ident,
        seq_no,
        data,
    } = Icmpv4Repr::parse(&icmp, &ChecksumCapabilities::default()).ok()?
    else {
        return None;
    };
    let reply = Icmpv4Repr::EchoReply {
        ident,
        seq_no,
        data,
    };
    let addresses = reversed(packet, host, packet.addresses.destination);
    let length = reply.buffer_len();
    (data.len() <= LONGEST_ECHO).then(|| {
        ip_frame(&addresses, IpProtocol::Icmp, 64, length, |bytes| {
            let mut packet = Icmpv4Packet::new_unchecked(bytes);
            reply.emit(&mut packet, &ChecksumCapabilities::default());
        })
    })
}

/// The reply to an ICMPv6 packet.
pub(crate) fn icmpv6(packet: &ReceivedPacket<'_>, host: &BareAddresses) -> Option<Vec<u8>> {
    let (IpAddr::V6(source), IpAddr::V6(destination)) =
        (packet.addresses.source, packet.addresses.destination)
    else {
        return None;
    };
    let icmp = Icmpv6Packet::new_checked(packet.payload).ok()?;
    let checksums = ChecksumCapabilities::default();
    match Icmpv6Repr::parse(&source, &destination, &icmp, &checksums).ok()? {
        Icmpv6Repr::EchoRequest {
            ident,
            seq_no,
            data,
        } if host.ipv6 == Some(destination)
            && data.len() <= LONGEST_ECHO
            && !source.is_unspecified() =>
        {
            let reply = Icmpv6Repr::EchoReply {
                ident,
                seq_no,
                data,
            };
            let addresses = reversed(packet, host, destination.into());
            Some(icmpv6_frame(&addresses, 64, &reply))
        }
        Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { target_addr, .. })
            if host.ipv6 == Some(target_addr)
                && packet.hop_limit == SAME_LINK
                && (destination == target_addr || destination == solicited(target_addr)) =>
        {
            Some(advertisement(packet, host, target_addr))
        }
        _ => None,
    }
}

/// The advertisement of this host's address. A host that checks if its address is in use has none
/// yet, so the advertisement then goes to all nodes (RFC 4861, section 7.2.4).
fn advertisement(packet: &ReceivedPacket<'_>, host: &BareAddresses, target: Ipv6Addr) -> Vec<u8> {
    let mut addresses = reversed(packet, host, target.into());
    let mut flags = NdiscNeighborFlags::OVERRIDE;
    if addresses.destination.is_unspecified() {
        addresses.destination = ALL_NODES.into();
        addresses.ethernet_destination = [0x33, 0x33, 0, 0, 0, 1];
    } else {
        flags |= NdiscNeighborFlags::SOLICITED;
    }
    let advertisement = Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert {
        flags,
        target_addr: target,
        lladdr: Some(RawHardwareAddress::from(EthernetAddress(host.ethernet))),
    });
    icmpv6_frame(&addresses, SAME_LINK, &advertisement)
}

fn icmpv6_frame(addresses: &FrameAddresses, hop_limit: u8, message: &Icmpv6Repr<'_>) -> Vec<u8> {
    let (IpAddr::V6(source), IpAddr::V6(destination)) = (addresses.source, addresses.destination)
    else {
        return Vec::new();
    };
    let length = message.buffer_len();
    ip_frame(addresses, IpProtocol::Icmpv6, hop_limit, length, |bytes| {
        let mut packet = Icmpv6Packet::new_unchecked(bytes);
        let checksums = ChecksumCapabilities::default();
        message.emit(&source, &destination, &mut packet, &checksums);
    })
}

/// Addresses from this host, as `source`, to the sender of the packet.
fn reversed(packet: &ReceivedPacket<'_>, host: &BareAddresses, source: IpAddr) -> FrameAddresses {
    FrameAddresses {
        ethernet_source: host.ethernet,
        ethernet_destination: packet.addresses.ethernet_source,
        source,
        destination: packet.addresses.source,
    }
}

/// The group that receives the solicitations of an address (RFC 4291, section 2.7.1).
fn solicited(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    let low = u16::from_be_bytes([b, c]);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), low)
}
