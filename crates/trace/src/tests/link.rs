use etherparse::{IpFragOffset, IpNumber, Ipv4Header, PacketBuilder};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::file::{CapturedPacket, LONGEST_PACKET, LinkType, PacketDirection};
use crate::link::{Dissector, link_payload};
use crate::not_tcp::NotTcp::{
    self, Arp, BadFragment, CutOff, Fragment, Gre, Icmp, Macsec, Malformed, Mpls, OtherNetwork,
    OtherTransport, Pppoe, Udp, UnknownLink,
};
use crate::segment::TcpSegment;

const ETHERNET: LinkType = LinkType::ETHERNET;
const RAW: LinkType = LinkType::RAW;

const PAYLOAD: &[u8] = b"GET / HTTP/1.1\r\nHost: example\r\n\r\n";

fn captured(link: LinkType, bytes: &[u8]) -> CapturedPacket<'_> {
    CapturedPacket {
        number: 1,
        interface: 0,
        link,
        at_ns: 5,
        wire_length: bytes.len() as u32,
        direction: PacketDirection::Unknown,
        bytes,
    }
}

/// TCP from port 4000 to 80, over IP.
fn ip(is_ipv6: bool, payload: &[u8]) -> Vec<u8> {
    let tcp = if is_ipv6 {
        PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(4000, 80, 77, 500)
    } else {
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(4000, 80, 77, 500)
    };
    let mut bytes = Vec::new();
    tcp.ack(9).write(&mut bytes, payload).unwrap();
    bytes
}

fn ethernet(kind: u16, inside: &[u8]) -> Vec<u8> {
    [&[0; 12], &kind.to_be_bytes()[..], inside].concat()
}

/// Checks that a frame has the usual segment.
fn assert_is_segment(segment: Result<TcpSegment<'_>, NotTcp>, what: &str) {
    let segment = segment.unwrap_or_else(|error| panic!("{what}: {error}"));
    let ports = (segment.source.port(), segment.destination.port());
    assert_eq!((ports, segment.sequence), ((4000, 80), 77), "{what}");
    assert_eq!((segment.acknowledged, segment.window), (9, 500), "{what}");
    assert_eq!((segment.length, segment.payload), (33, PAYLOAD), "{what}");
}

#[test]
fn every_link_type_leads_to_the_segment() {
    for is_ipv6 in [false, true] {
        let ip = ip(is_ipv6, PAYLOAD);
        let kind: u16 = if is_ipv6 { 0x86dd } else { 0x0800 };
        let tags = |tags: &[[u8; 4]]| [&tags.concat()[2..], &kind.to_be_bytes(), &ip].concat();
        let with = |header: &[u8]| [header, &ip].concat();
        let [high, low] = kind.to_be_bytes();
        let cooked = [
            &[0, 4, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[high, low],
        ]
        .concat();
        let cooked_2 = [&[high, low, 0, 0][..], &[0; 6], &[4, 6], &[0; 8]].concat();
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, high, low];
        let family = if is_ipv6 { 30 } else { 2 };
        let mut table = vec![
            ("ethernet", ETHERNET, ethernet(kind, &ip)),
            (
                "padded",
                ETHERNET,
                [ethernet(kind, &ip), vec![0; 10]].concat(),
            ),
            (
                "802.1Q",
                ETHERNET,
                ethernet(0x8100, &tags(&[[0x81, 0, 0x20, 5]])),
            ),
            (
                "802.1ad",
                ETHERNET,
                ethernet(0x88a8, &tags(&[[0x88, 0xa8, 0, 5], [0x81, 0, 0, 6]])),
            ),
            ("SNAP", ETHERNET, ethernet(100, &with(&snap))),
            ("cooked 1", LinkType::LINUX_SLL, with(&cooked)),
            ("cooked 2", LinkType::LINUX_SLL2, with(&cooked_2)),
            (
                "null, little endian",
                LinkType::NULL,
                with(&[family, 0, 0, 0]),
            ),
            ("null, big endian", LinkType::NULL, with(&[0, 0, 0, family])),
            ("loop", LinkType::LOOP, with(&[0, 0, 0, family])),
        ];
        let link_type = if is_ipv6 {
            LinkType::IPV6
        } else {
            LinkType::IPV4
        };
        for link in [RAW, LinkType(12), LinkType(14), link_type] {
            table.push(("raw", link, ip.clone()));
        }
        for (what, link, bytes) in table {
            let packet = captured(link, &bytes);
            assert_is_segment(Dissector::default().segment(&packet), what);
        }
    }
}

#[test]
fn tags_and_directions_are_found() {
    let tagged = ethernet(0x88a8, &[0x60, 5, 0x81, 0, 0, 6, 8, 0, 0x45]);
    let inside = link_payload(ETHERNET, &tagged, 100).unwrap();
    assert_eq!(
        (inside.vlan, inside.wire_length, inside.bytes),
        (Some(5), 78, &[0x45][..])
    );
    for (kind, direction) in [
        (4, PacketDirection::Outgoing),
        (0, PacketDirection::Incoming),
    ] {
        let mut cooked = [0; 20];
        (cooked[0], cooked[10]) = (8, kind);
        let inside = link_payload(LinkType::LINUX_SLL2, &cooked, 20).unwrap();
        assert_eq!(inside.direction, direction);
    }
}

#[test]
fn what_is_not_tcp_is_counted_by_kind() {
    let mut udp = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2);
    builder.write(&mut udp, b"x").unwrap();
    let with_protocol = |protocol: u8| {
        let mut bytes = ip(false, PAYLOAD);
        bytes[9] = protocol;
        bytes
    };
    let changed = |offset: usize, value: u8| {
        let mut bytes = ip(false, PAYLOAD);
        bytes[offset] = value;
        bytes
    };
    let tags = [0x81, 0, 0, 1].repeat(9);
    let table = [
        (LinkType(147), vec![0; 60], UnknownLink),
        (ETHERNET, ethernet(0x0806, &[0; 28]), Arp),
        (ETHERNET, ethernet(0x88cc, &[0; 28]), OtherNetwork),
        (ETHERNET, ethernet(60, &[0x42; 60]), OtherNetwork),
        (ETHERNET, ethernet(0x88e5, &[0; 46]), Macsec),
        (ETHERNET, ethernet(0x8100, &tags[2..]), CutOff),
        (
            ETHERNET,
            ethernet(0x8100, &[&tags[2..], &[8, 0, 0, 0]].concat()),
            OtherNetwork,
        ),
        (ETHERNET, vec![0; 13], CutOff),
        (LinkType::NULL, vec![7, 0, 0, 0, 0x45], OtherNetwork),
        (RAW, udp, Udp),
        (RAW, with_protocol(1), Icmp),
        (RAW, with_protocol(50), OtherTransport),
        (RAW, with_protocol(47), Gre),
        (RAW, ip(false, PAYLOAD)[..39].to_vec(), CutOff),
        (RAW, ip(true, PAYLOAD)[..39].to_vec(), CutOff),
        (RAW, vec![], CutOff),
        (RAW, changed(0, 0x35), Malformed),
        (RAW, changed(0, 0x44), Malformed),
        (RAW, changed(3, 19), Malformed),
        (RAW, changed(3, 39), Malformed),
        (RAW, changed(32, 0x40), Malformed),
    ];
    let mut dissector = Dissector::default();
    for (index, (link, bytes, expected)) in table.iter().enumerate() {
        let before = dissector.counts().of(*expected);
        let kind = dissector.segment(&captured(*link, bytes)).unwrap_err();
        assert_eq!(kind, *expected, "row {index}");
        assert_eq!(dissector.counts().of(*expected), before + 1);
    }
    let others: u64 = dissector.counts().others().map(|(_, count)| count).sum();
    assert_eq!((dissector.counts().tcp, others), (0, table.len() as u64));
}

#[test]
fn a_packet_that_was_cut_off_has_its_length_on_the_wire() {
    // A time stamp option, and a cut in it.
    let mut whole = Vec::new();
    let tcp = PacketBuilder::ipv4([1; 4], [2; 4], 64).tcp(1, 2, 3, 4);
    let options = [
        1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 30, 3, 0, 2, 4, 5, 180, 0,
    ];
    tcp.options_raw(&options)
        .unwrap()
        .write(&mut whole, PAYLOAD)
        .unwrap();
    for (kept, timestamps, mss, payload) in [
        (whole.len(), Some((1, 2)), Some(1460), PAYLOAD),
        (65, Some((1, 2)), Some(1460), &PAYLOAD[..5]),
        (54, Some((1, 2)), None, b""),
        (50, None, None, b""),
        (40, None, None, b""),
    ] {
        let mut packet = captured(RAW, &whole[..kept]);
        packet.wire_length = whole.len() as u32;
        let mut dissector = Dissector::default();
        let segment = dissector.segment(&packet).unwrap();
        assert_eq!(segment.length as usize, PAYLOAD.len());
        let options = segment.options;
        assert_eq!(
            (options.timestamps, options.mss, segment.payload),
            (timestamps, mss, payload)
        );
    }
}

#[test]
fn a_length_of_0_is_that_of_the_frame() {
    for (is_ipv6, offset) in [(false, 2), (true, 4)] {
        let mut bytes = ip(is_ipv6, &[b'x'; 100]);
        bytes[offset..offset + 2].fill(0);
        let headers = bytes.len() - 100;
        let mut packet = captured(RAW, &bytes);
        packet.wire_length = (headers + 90_000) as u32;
        let mut dissector = Dissector::default();
        let segment = dissector.segment(&packet).unwrap();
        assert_eq!((segment.length, segment.payload.len()), (90_000, 100));
        packet.wire_length = u32::MAX;
        assert_eq!(dissector.segment(&packet).unwrap_err(), Malformed);
    }
}

/// A fragment of `ip` (IPv4 without options, or IPv6), from that byte behind its header on.
fn fragment(ip: &[u8], id: u8, from: usize, count: usize) -> Vec<u8> {
    let is_ipv6 = ip[0] >> 4 == 6;
    let (header, rest) = ip.split_at(if is_ipv6 { 40 } else { 20 });
    let end = (from + count).min(rest.len());
    let more = end < rest.len();
    let body = &rest[from..end];
    if is_ipv6 {
        let mut header = header.to_vec();
        header[4..6].copy_from_slice(&(body.len() as u16 + 8).to_be_bytes());
        let protocol = std::mem::replace(&mut header[6], 44);
        let offset = (from as u16 | u16::from(more)).to_be_bytes();
        let fields = [protocol, 0, offset[0], offset[1], 0, 0, 0, id];
        return [&header, &fields[..], body].concat();
    }
    let mut v4 = Ipv4Header::new(
        body.len() as u16,
        64,
        IpNumber::TCP,
        header[12..16].try_into().unwrap(),
        header[16..20].try_into().unwrap(),
    )
    .unwrap();
    v4.identification = u16::from(id);
    v4.dont_fragment = false;
    v4.more_fragments = more;
    v4.fragment_offset = IpFragOffset::try_new(from as u16 / 8).unwrap();
    [&v4.to_bytes(), body].concat()
}

#[test]
fn fragments_are_put_together_in_any_order() {
    for is_ipv6 in [false, true] {
        let ip = ip(is_ipv6, PAYLOAD);
        let parts: Vec<_> = [0, 16, 32, 48]
            .iter()
            .map(|from| fragment(&ip, 7, *from, 16))
            .collect();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let mut dissector = Dissector::default();
            for (index, part) in order.into_iter().enumerate() {
                // A copy, as captures of several interfaces have them.
                if index == 2 {
                    let copy = captured(RAW, &parts[order[1]]);
                    assert_eq!(dissector.segment(&copy).unwrap_err(), Fragment);
                }
                let mut packet = captured(RAW, &parts[part]);
                packet.at_ns = index as i64;
                let result = dissector.segment(&packet);
                if index < 3 {
                    assert_eq!(result.unwrap_err(), Fragment);
                } else {
                    assert_eq!(result.map(|segment| segment.at_ns), Ok(3));
                    assert_is_segment(result, "fragments");
                }
            }
            assert_eq!(dissector.incomplete_datagrams(), 0);
        }
    }
}

#[test]
fn fragments_that_were_cut_off_have_the_first_bytes() {
    let ip = ip(false, &[b'x'; 300]);
    let parts = [fragment(&ip, 7, 0, 160), fragment(&ip, 7, 160, 160)];
    let mut dissector = Dissector::default();
    let _ = dissector.segment(&captured(RAW, &parts[0][..60]));
    let segment = dissector.segment(&captured(RAW, &parts[1])).unwrap();
    assert_eq!((segment.length, segment.payload), (300, &[b'x'; 20][..]));
}

#[test]
fn fragments_that_contradict_each_other_are_not_put_together() {
    for is_ipv6 in [false, true] {
        let ip = ip(is_ipv6, PAYLOAD);
        let table = [
            // An overlap at the end, one at the beginning, two ends, an end before what came.
            [(0, 24), (16, 100), (24, 100)],
            [(24, 100), (16, 16), (0, 16)],
            [(48, 100), (0, 48), (48, 3)],
            [(32, 8), (8, 100), (0, 8)],
        ];
        for (row, parts) in table.into_iter().enumerate() {
            let mut dissector = Dissector::default();
            let mut kinds = Vec::new();
            for (index, (from, count)) in parts.into_iter().enumerate() {
                let mut part = fragment(&ip, 7, from, count);
                if row == 2 && index == 2 {
                    // Its last fragment is shorter than declared: 3 bytes.
                    part = fragment(&ip[..ip.len() - 4], 7, from, 100);
                }
                kinds.push(dissector.segment(&captured(RAW, &part)).err());
            }
            if row == 2 {
                // It was complete before, so this begins another packet.
                assert_eq!(kinds, [Some(Fragment), None, Some(Fragment)]);
            } else {
                let bad = Some(BadFragment);
                assert_eq!(kinds, [Some(Fragment), bad, bad], "row {row}");
            }
            assert_eq!(dissector.incomplete_datagrams(), 1);
        }
    }
}

#[test]
fn fragments_do_not_wait_for_ever() {
    let ip = ip(false, PAYLOAD);
    let (first, last) = (fragment(&ip, 7, 0, 16), fragment(&ip, 7, 16, 100));
    for (later_ns, is_complete) in [(29_000_000_000, true), (31_000_000_000, false)] {
        let mut dissector = Dissector::default();
        let _ = dissector.segment(&captured(RAW, &first));
        let mut packet = captured(RAW, &last);
        packet.at_ns += later_ns;
        assert_eq!(dissector.segment(&packet).is_ok(), is_complete);
    }
}

#[test]
fn many_fragments_take_little_memory() {
    let mut dissector = Dissector::default();
    let ip = ip(true, &[0; 60_000]);
    for count in 0..3000_u32 {
        let mut part = fragment(&ip, 7, 0, 59_992);
        part[44..48].copy_from_slice(&count.to_be_bytes());
        let _ = dissector.segment(&captured(RAW, &part));
    }
    // All but the last 8 MiB were discarded; all of them are incomplete.
    assert_eq!(dissector.incomplete_datagrams(), 3000);
    assert!(dissector.stored_bytes() <= 8 << 20);
}

#[test]
fn extension_headers_are_stepped_over() {
    let ip = ip(true, PAYLOAD);
    let with = |kind: u8, headers: &[u8]| {
        let mut bytes = [&ip[..40], headers, &ip[40..]].concat();
        let length = (bytes.len() - 40) as u16;
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        bytes[6] = kind;
        bytes
    };
    let options = [60, 0, 1, 4, 0, 0, 0, 0, 6, 1, 1, 12, 0, 0, 0, 0];
    let options = [&options[..], &[0; 8]].concat();
    let table = [
        ("options", with(0, &options)),
        ("atomic fragment", with(44, &[6, 0, 0, 0, 0, 0, 0, 1])),
        (
            "authentication",
            with(51, &[&[6, 2, 0, 0][..], &[0; 12]].concat()),
        ),
    ];
    for (what, bytes) in table {
        let packet = captured(RAW, &bytes);
        assert_is_segment(Dissector::default().segment(&packet), what);
    }
    let endless = with(0, &[0, 0].repeat(100));
    let result = Dissector::default().segment(&captured(RAW, &endless)).err();
    assert!(result.is_some());
}

/// An IPv4 packet with that protocol.
fn ip_with(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let protocol = IpNumber(protocol);
    let (source, destination) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let header = Ipv4Header::new(payload.len() as u16, 64, protocol, source, destination);
    [&header.unwrap().to_bytes()[..], payload].concat()
}

fn gre(flags: u8, options: usize, kind: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = kind.to_be_bytes();
    let header = [&[flags, 0, high, low][..], &vec![9; 4 * options]].concat();
    ip_with(47, &[&header, payload].concat())
}

fn vxlan(port: u16, flags: u8, frame: &[u8]) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let header = [200, 9, high, low, 0, 0, 0, 0, flags, 0, 0, 0, 0, 0, 7, 0];
    ip_with(17, &[&header[..], frame].concat())
}

fn pppoe(protocol: &[u8], payload: &[u8]) -> Vec<u8> {
    let inside = [&[0x11, 0, 0, 7, 0, 0][..], protocol, payload].concat();
    ethernet(0x8864, &inside)
}

#[test]
fn packets_within_packets_are_read() {
    for is_ipv6 in [false, true] {
        let ip = ip(is_ipv6, PAYLOAD);
        let (kind, protocol, ppp) = if is_ipv6 {
            (0x86dd, 41, 0x57)
        } else {
            (0x0800, 4, 0x21)
        };
        let frame = ethernet(kind, &ip);
        let labels = [[0, 1, 0, 64], [0, 2, 1, 64]].concat();
        let frames = [
            ("PPPoE", pppoe(&[0, ppp], &ip)),
            ("PPPoE with a short protocol", pppoe(&[ppp], &ip)),
            ("MPLS", ethernet(0x8847, &[&labels[..], &ip].concat())),
            (
                "MPLS multicast",
                ethernet(0x8848, &[&labels[4..], &ip].concat()),
            ),
        ];
        for (what, bytes) in frames {
            let packet = captured(ETHERNET, &bytes);
            assert_is_segment(Dissector::default().segment(&packet), what);
        }
        let inner = ip_with(protocol, &ip);
        let packets = [
            ("IP in IP", inner.clone()),
            ("GRE", gre(0, 0, kind, &ip)),
            (
                "GRE with a checksum, a key and a number",
                gre(0xb0, 3, kind, &ip),
            ),
            ("GRE with a key and a frame", gre(0x20, 1, 0x6558, &frame)),
            (
                "GRE with MPLS",
                gre(0, 0, 0x8847, &[&labels[..], &ip].concat()),
            ),
            ("VXLAN", vxlan(4789, 8, &frame)),
            (
                "IP in GRE in VXLAN",
                vxlan(4789, 8, &ethernet(0x0800, &gre(0, 0, kind, &ip))),
            ),
        ];
        for (what, bytes) in packets {
            let packet = captured(RAW, &bytes);
            assert_is_segment(Dissector::default().segment(&packet), what);
        }
        // A tunnel whose packets were too long.
        let mut dissector = Dissector::default();
        for (from, count) in [(0, 40), (40, 1000)] {
            let mut part = fragment(&inner, 7, from, count);
            part[9] = protocol;
            let packet = captured(RAW, &part);
            let segment = dissector.segment(&packet);
            if from == 0 {
                assert_eq!(segment.unwrap_err(), Fragment);
            } else {
                assert_is_segment(segment, "fragments of a tunnel");
            }
        }
    }
}

#[test]
fn what_carries_no_ip_is_named() {
    let ip = ip(false, PAYLOAD);
    let deep = (0..4).fold(ip.clone(), |inside, _| ip_with(4, &inside));
    let frames = [
        (ethernet(0x8863, &[0x11, 9, 0, 0, 0, 0]), Pppoe),
        (pppoe(&[0xc0, 0x21], &[9, 1, 0, 8]), Pppoe),
        (pppoe(&[], &[]), CutOff),
        // A pseudo-wire with its control word.
        (ethernet(0x8847, &[0, 1, 1, 64, 0, 0, 0, 0]), Mpls),
        (ethernet(0x8847, &[0, 1, 1, 64]), CutOff),
        (ethernet(0x8847, &[0, 1, 0, 64].repeat(20)), OtherNetwork),
        (ethernet(0x0800, &gre(0x40, 0, 0x0800, &ip)), Gre),
        (ethernet(0x0800, &gre(0, 0, 0x88be, &ip)), Gre),
        (ethernet(0x0800, &gre(0x20, 0, 0x0800, &[])), CutOff),
        (
            ethernet(0x0800, &vxlan(4790, 8, &ethernet(0x0800, &ip))),
            Udp,
        ),
        (
            ethernet(0x0800, &vxlan(4789, 0, &ethernet(0x0800, &ip))),
            Udp,
        ),
        (
            ethernet(0x0800, &vxlan(4789, 8, &ethernet(0x0806, &ip))),
            Arp,
        ),
        (ethernet(0x0800, &deep), OtherTransport),
    ];
    for (row, (bytes, expected)) in frames.into_iter().enumerate() {
        let packet = captured(ETHERNET, &bytes);
        let found = Dissector::default().segment(&packet).map(|_| ());
        assert_eq!(found, Err(expected), "row {row}");
    }
    // PPTP.
    let mut bytes = gre(0x30, 2, 0x880b, &ip);
    bytes[21] = 0x81;
    let packet = captured(RAW, &bytes);
    assert_eq!(Dissector::default().segment(&packet).unwrap_err(), Gre);
}

proptest! {
    #[test]
    fn no_damage_makes_the_dissector_panic(
        is_ipv6: bool,
        link in prop::sample::select(vec![0, 1, 12, 101, 108, 113, 228, 229, 276]),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        cuts in prop::collection::vec(any::<Index>(), 1..4),
        wire_length: u32,
        tunnel in 0..4,
    ) {
        let ip = ip(is_ipv6, &[b'x'; 60]);
        let frame = ethernet(if is_ipv6 { 0x86dd } else { 0x0800 }, &ip);
        let (ip, is_ipv6) = match tunnel {
            0 => (ip, is_ipv6),
            1 => (ip_with(if is_ipv6 { 41 } else { 4 }, &ip), false),
            2 => (gre(0xb0, 3, 0x6558, &frame), false),
            _ => (vxlan(4789, 8, &frame), false),
        };
        let mut dissector = Dissector::default();
        for cut in cuts {
            let part = fragment(&ip, 1, cut.index(8) * 8, 16);
            for inside in [&ip, &part] {
                let kind = if is_ipv6 { 0x86dd } else { 0x0800 };
                let mut bytes = match link {
                    1 => ethernet(kind, inside),
                    113 => [&[0; 14], &kind.to_be_bytes()[..], inside].concat(),
                    276 => [&kind.to_be_bytes()[..], &[0; 18], inside].concat(),
                    0 | 108 => [&[0, 0, 0, 2], &inside[..]].concat(),
                    _ => inside.clone(),
                };
                for (offset, value) in &changes {
                    let offset = offset.index(bytes.len());
                    bytes[offset] = *value;
                }
                let bytes = &bytes[..cut.index(bytes.len() + 1)];
                let mut packet = captured(LinkType(link), bytes);
                packet.wire_length = wire_length;
                if let Ok(segment) = dissector.segment(&packet) {
                    prop_assert!(segment.payload.len() <= segment.length as usize);
                    prop_assert!(segment.length as usize <= LONGEST_PACKET);
                }
            }
        }
    }
}
