//! Arbitrary frames: no panic, bounded memory, and damaged frames are ignored.

use bare::{CongestionControl, SenderSettings};
use etherparse::{TcpHeader, TcpOptionElement};
use proptest::prelude::*;
use trace::rto::{PAPER_WEIGHTS, SamplingStrategy};

use crate::client::{Client, ClientSettings, tcp_frame};
use crate::link::LinkSettings;
use crate::world::{World, server};

const MS: u64 = 1_000_000;

fn conventional() -> SenderSettings {
    SenderSettings::conventional(CongestionControl::Cubic)
}

/// A segment of one of three clients with numbers near those of a connection, or anywhere.
fn segments() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![0_u32..100_000, any::<u32>()];
    let flags = any::<u8>();
    let options = prop::collection::vec(
        prop_oneof![
            any::<u16>().prop_map(TcpOptionElement::MaximumSegmentSize),
            any::<u8>().prop_map(TcpOptionElement::WindowScale),
            Just(TcpOptionElement::SelectiveAcknowledgementPermitted),
            any::<(u32, u32)>().prop_map(|(a, b)| TcpOptionElement::Timestamp(a, b)),
            (0_u32..9000, 0_u32..9000)
                .prop_map(|block| { TcpOptionElement::SelectiveAcknowledgement(block, [None; 3]) }),
        ],
        0..4,
    );
    let payload = prop_oneof![
        Just(Vec::new()),
        Just(b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..1400),
    ];
    (
        0_u16..3,
        number(),
        number(),
        flags,
        any::<u16>(),
        options,
        payload,
        any::<bool>(),
    )
        .prop_map(
            |(port, sequence, acknowledged, flags, window, options, payload, is_ipv6)| {
                let mut header = TcpHeader::new(40_000 + port, 80, sequence, window);
                header.acknowledgment_number = acknowledged;
                header.fin = flags & 1 != 0;
                header.syn = flags & 2 != 0;
                header.rst = flags & 12 == 12;
                header.ack = flags & 48 != 0;
                // Too many options for a header: none.
                let _ = header.set_options(&options);
                tcp_frame(is_ipv6, header, &payload)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_bytes_never_panic(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let mut server = server(conventional(), 1000);
        for frame in frames {
            server.receive(0, &frame);
            while server.next_frame(0).is_some() {}
        }
        prop_assert_eq!(server.counters().connections, 0);
    }

    /// Acknowledgments relative to the sent data make most of them meaningful.
    #[test]
    fn arbitrary_segments_never_panic(
        steps in prop::collection::vec((segments(), 0_u64..2000, -3000_i64..9000), 0..60),
    ) {
        let mut server = server(conventional(), 100_000);
        let (mut now_ns, mut first) = (0, 0_u32);
        for (mut frame, wait_ms, distance) in steps {
            now_ns += wait_ms * MS;
            if wait_ms % 4 != 0 {
                frame = acknowledging(&frame, first.wrapping_add(distance as u32));
            }
            server.tick(now_ns);
            server.receive(now_ns, &frame);
            let mut sent = 0;
            while let Some(frame) = server.next_frame(now_ns) {
                let segment = trace::segment::parse(&frame, 0).unwrap();
                if segment.flags.syn {
                    first = segment.sequence;
                }
                sent += 1;
                prop_assert!(sent < 5000, "it ends");
            }
            if let Some(deadline_ns) = server.next_deadline_ns() {
                prop_assert!(deadline_ns > now_ns || deadline_ns + 1 > now_ns);
            }
        }
        // In any case, everything ends.
        for _ in 0..100_000 {
            let Some(deadline_ns) = server.next_deadline_ns() else {
                break;
            };
            now_ns = now_ns.max(deadline_ns);
            server.tick(now_ns);
            while server.next_frame(now_ns).is_some() {}
        }
        prop_assert_eq!(server.open_connections().count(), 0);
    }

    /// One inverted bit of a segment: a checksum detects it.
    #[test]
    fn damaged_segments_are_ignored(frame in segments(), bit in 0_usize..10_000) {
        let mut server = server(conventional(), 1000);
        let mut frame = frame;
        // The Ethernet header has no checksum here, and IPv6 none for its hop limit and labels.
        let first = if frame[12] == 0x86 { 14 + 8 } else { 14 };
        let index = first + bit / 8 % (frame.len() - first);
        frame[index] ^= 1 << (bit % 8);
        server.receive(0, &frame);
        prop_assert_eq!(server.counters().ignored, 1);
        prop_assert_eq!(server.next_frame(0), None);
    }
}

/// The same segment with this acknowledgment number.
fn acknowledging(frame: &[u8], number: u32) -> Vec<u8> {
    let headers = etherparse::PacketHeaders::from_ethernet_slice(frame).unwrap();
    let Some(etherparse::TransportHeader::Tcp(mut header)) = headers.transport else {
        panic!("no TCP");
    };
    header.acknowledgment_number = number;
    let is_ipv6 = matches!(headers.net, Some(etherparse::NetHeaders::Ipv6(..)));
    tcp_frame(is_ipv6, header, headers.payload.slice())
}

/// A flood of SYN opens as many connections as are permitted, and they end.
#[test]
fn connections_are_bounded() {
    let mut server = server(conventional(), 1000);
    let settings = ClientSettings::default();
    for port in 1..1000 {
        let syn = Client::new(port, settings.clone()).connect(0);
        server.receive(0, &syn);
        while server.next_frame(0).is_some() {}
    }
    assert_eq!(server.open_connections().count(), 64);
    assert_eq!(server.counters().refused, 999 - 64);
    while let Some(deadline_ns) = server.next_deadline_ns() {
        assert!(deadline_ns < 60_000 * MS, "they end within a minute");
        server.tick(deadline_ns);
        while server.next_frame(deadline_ns).is_some() {}
    }
    assert_eq!(server.open_connections().count(), 0);
    assert_eq!(server.take_ended().len(), 64);
}

/// A peer that offers a gigabyte and acknowledges nothing.
#[test]
fn what_is_outstanding_is_bounded() {
    let sender = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
    let client = ClientSettings {
        mss: 64,
        shift: Some(14),
        window: 65_535 << 14,
        has_time_stamps: false,
        ..ClientSettings::default()
    };
    // All frames of the client after its request are lost.
    let to_server = LinkSettings {
        lost: (3..100_000).collect(),
        ..LinkSettings::default()
    };
    let to_client = LinkSettings::default();
    let mut world = World::new(sender, 10_000_000, client, to_client, to_server);
    assert!(!world.run(500 * MS));
    let ends = world.sent.iter().map(|sent| sent.offset + sent.length);
    assert_eq!(ends.max(), Some(4096 * 64));
}
