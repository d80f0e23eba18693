//! ARP, neighbour solicitations, echo, and segments of no connection.

use std::net::{Ipv4Addr, Ipv6Addr};

use bare::SenderSettings;
use etherparse::{
    ArpHardwareId, ArpOperation, ArpPacket, EtherType, Icmpv4Type, Icmpv6Type, NetHeaders,
    PacketBuilder, PacketHeaders, TcpHeader, TransportHeader,
};
use trace::rto::{PAPER_WEIGHTS, SamplingStrategy};

use crate::client::{
    CLIENT_MAC, CLIENT_V4, CLIENT_V6, SERVER_MAC, SERVER_V4, SERVER_V6, tcp_frame,
};
use crate::world::server;

/// The reply of a server without connections to a frame.
fn reply_to(frame: &[u8]) -> Option<Vec<u8>> {
    let bare = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
    let mut server = server(bare, 10);
    server.receive(0, frame);
    let reply = server.next_frame(0);
    assert_eq!(server.next_frame(0), None);
    assert_eq!(server.counters().ignored == 0, reply.is_some());
    reply
}

fn arp(target: Ipv4Addr) -> Vec<u8> {
    let request = ArpPacket::new(
        ArpHardwareId::ETHERNET,
        EtherType::IPV4,
        ArpOperation::REQUEST,
        &CLIENT_MAC,
        &CLIENT_V4.octets(),
        &[0; 6],
        &target.octets(),
    );
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(CLIENT_MAC, [0xff; 6]).arp(request.unwrap());
    builder.write(&mut frame).unwrap();
    frame
}

#[test]
fn arp_requests_for_its_address_have_replies() {
    let reply = reply_to(&arp(SERVER_V4)).unwrap();
    let headers = PacketHeaders::from_ethernet_slice(&reply).unwrap();
    let Some(NetHeaders::Arp(arp_reply)) = headers.net else {
        panic!("no ARP");
    };
    assert_eq!(arp_reply.operation, ArpOperation::REPLY);
    assert_eq!(arp_reply.sender_hw_addr(), SERVER_MAC);
    assert_eq!(arp_reply.sender_protocol_addr(), SERVER_V4.octets());
    assert_eq!(arp_reply.target_hw_addr(), CLIENT_MAC);
    assert_eq!(arp_reply.target_protocol_addr(), CLIENT_V4.octets());
    assert_eq!(reply_to(&arp(Ipv4Addr::new(198, 18, 0, 9))), None);
}

/// A neighbour solicitation (RFC 4861, section 4.3) with the option of the source.
fn solicitation(source: Ipv6Addr, target: Ipv6Addr, hop_limit: u8) -> Vec<u8> {
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);
    let mut body = target.octets().to_vec();
    if !source.is_unspecified() {
        body.extend([1, 1]);
        body.extend(CLIENT_MAC);
    }
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(CLIENT_MAC, [0x33, 0x33, 0xff, 0, 0, 2])
        .ipv6(source.octets(), group.octets(), hop_limit)
        .icmpv6_raw(135, 0, [0; 4])
        .write(&mut frame, &body)
        .unwrap();
    frame
}

#[test]
fn neighbour_solicitations_for_its_address_have_replies() {
    // Source, flags (solicited and override, RFC 4861, section 4.4), destination of the reply.
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let table = [
        (CLIENT_V6, 0x60, CLIENT_V6),
        (Ipv6Addr::UNSPECIFIED, 0x20, all_nodes),
    ];
    for (source, flags, destination) in table {
        let reply = reply_to(&solicitation(source, SERVER_V6, 255)).unwrap();
        let headers = PacketHeaders::from_ethernet_slice(&reply).unwrap();
        let Some(NetHeaders::Ipv6(ip, _)) = headers.net else {
            panic!("no IPv6");
        };
        assert_eq!((ip.hop_limit, ip.destination_addr()), (255, destination));
        let Some(TransportHeader::Icmpv6(icmp)) = headers.transport else {
            panic!("no ICMPv6");
        };
        let payload = headers.payload.slice();
        let checksum = icmp
            .icmp_type
            .calc_checksum(ip.source, ip.destination, payload);
        assert_eq!(icmp.checksum, checksum.unwrap());
        let expected = [SERVER_V6.octets().as_slice(), &[2, 1], &SERVER_MAC].concat();
        assert_eq!(payload[payload.len() - 24..], expected);
        assert_eq!(reply[58], flags, "{reply:x?}");
    }
    assert_eq!(reply_to(&solicitation(CLIENT_V6, CLIENT_V6, 255)), None);
    let from_another_link = solicitation(CLIENT_V6, SERVER_V6, 254);
    assert_eq!(reply_to(&from_another_link), None);
}

#[test]
fn echo_requests_have_replies() {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(CLIENT_MAC, SERVER_MAC)
        .ipv4(CLIENT_V4.octets(), SERVER_V4.octets(), 64)
        .icmpv4_echo_request(7, 8)
        .write(&mut frame, b"echo")
        .unwrap();
    let reply = reply_to(&frame).unwrap();
    let headers = PacketHeaders::from_ethernet_slice(&reply).unwrap();
    let Some(TransportHeader::Icmpv4(icmp)) = headers.transport else {
        panic!("no ICMP");
    };
    assert!(matches!(icmp.icmp_type, Icmpv4Type::EchoReply(echo) if (echo.id, echo.seq) == (7, 8)));
    assert_eq!(headers.payload.slice(), b"echo");
    assert_eq!(icmp.checksum, icmp.icmp_type.calc_checksum(b"echo"));

    let mut frame = Vec::new();
    PacketBuilder::ethernet2(CLIENT_MAC, SERVER_MAC)
        .ipv6(CLIENT_V6.octets(), SERVER_V6.octets(), 64)
        .icmpv6_echo_request(7, 8)
        .write(&mut frame, b"echo")
        .unwrap();
    let reply = reply_to(&frame).unwrap();
    let headers = PacketHeaders::from_ethernet_slice(&reply).unwrap();
    let Some(TransportHeader::Icmpv6(icmp)) = headers.transport else {
        panic!("no ICMPv6");
    };
    assert!(matches!(icmp.icmp_type, Icmpv6Type::EchoReply(echo) if (echo.id, echo.seq) == (7, 8)));
}

/// RFC 9293, section 3.10.7.1.
#[test]
fn segments_of_no_connection_are_reset() {
    let segment = |change: fn(&mut TcpHeader)| {
        let mut header = TcpHeader::new(40_000, 80, 1000, 1024);
        change(&mut header);
        reply_to(&tcp_frame(false, header, b"abc"))
    };
    let with_ack = segment(|header| {
        header.ack = true;
        header.acknowledgment_number = 77;
    });
    let with_ack = with_ack.unwrap();
    let reset = trace::segment::parse(&with_ack, 0).unwrap();
    assert!(reset.flags.rst && !reset.flags.ack);
    assert_eq!(reset.sequence, 77);
    let without_ack = segment(|header| header.fin = true).unwrap();
    let reset = trace::segment::parse(&without_ack, 0).unwrap();
    assert!(reset.flags.rst && reset.flags.ack);
    assert_eq!((reset.sequence, reset.acknowledged), (0, 1004));
    let other_port = segment(|header| {
        header.syn = true;
        header.destination_port = 81;
    });
    let other_port = other_port.unwrap();
    let reset = trace::segment::parse(&other_port, 0).unwrap();
    assert!(reset.flags.rst);
    // The server recognises the segment, and ignores it.
    let bare = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
    let mut server = server(bare, 10);
    let mut header = TcpHeader::new(40_000, 80, 1000, 1024);
    header.rst = true;
    server.receive(0, &tcp_frame(false, header, b""));
    assert_eq!(server.next_frame(0), None);
}
