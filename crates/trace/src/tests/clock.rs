//! Captures whose time stamps go back, or whose packets are in another order than they passed in.

use super::{Conversation, head};
use crate::clock::ClockReversal;
use crate::contents::{CaptureContents, ReadingOptions, read_capture};
use crate::file::{CaptureInterface, CapturedPacket, LinkType, PacketDirection, PcapngWriter};
use crate::transaction::TracedRequest;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Some time of this century, in microseconds.
const START_US: i64 = 1_700_000_000_000_000;

const HOUR_US: i64 = 3_600_000_000;

/// Microseconds, and a frame.
type Packet = (i64, Vec<u8>);

/// Reads the capture with these packets, of which none is missing.
fn read(packets: &[Packet]) -> CaptureContents {
    let contents = read_any(packets);
    for connection in &contents.traced.connections {
        assert!(connection.start_ns >= contents.start_ns && connection.duration_ns() >= 0);
        for direction in [&connection.from_client, &connection.from_server] {
            assert_eq!((direction.uncaptured_bytes, direction.resent_bytes), (0, 0));
            assert_eq!(direction.overtaken, 0);
        }
    }
    contents
}

fn read_any(packets: &[Packet]) -> CaptureContents {
    let mut writer = PcapngWriter::new(Vec::new(), "tests", None).unwrap();
    let link = LinkType::ETHERNET;
    let interface = CaptureInterface {
        name: None,
        link,
        snap_length: 0,
        dropped: None,
    };
    writer.interface(&interface).unwrap();
    for (at_us, bytes) in packets {
        let packet = CapturedPacket {
            number: 1,
            interface: 0,
            link,
            at_ns: (START_US + at_us) * 1000,
            wire_length: bytes.len() as u32,
            direction: PacketDirection::Unknown,
            bytes,
        };
        writer.packet(&packet).unwrap();
    }
    let file = writer.finish().unwrap();
    read_capture(&file[..], &ReadingOptions::default(), |_| ()).unwrap()
}

/// A handshake from that moment on, and requests each 1 ms later, each with its response after 100
/// us and the acknowledgment of it after 150 us.
fn exchanges(port: u16, start_us: i64, requests: u64) -> Vec<Packet> {
    let mut talk = Conversation::new(port, false);
    let [syn, response] = talk.opening();
    let mut packets = vec![(start_us, syn), (start_us + 100, response)];
    packets.push((start_us + 150, talk.send(b"")));
    for number in 1..=requests {
        let at_us = start_us + 1000 * number as i64;
        packets.push((at_us, talk.send(&head(number, 0))));
        packets.push((at_us + 100, talk.respond(OK)));
        packets.push((at_us + 150, talk.send(b"")));
    }
    packets
}

/// Response time, total time and delay, in microseconds.
type Times = [Option<i64>; 3];

const WHOLE: Times = [Some(100), Some(100), Some(150)];
const NONE: Times = [None; 3];

fn times(contents: &CaptureContents, connection: usize) -> Vec<Times> {
    let times = |request: &TracedRequest| {
        let times = [
            request.response_time_ns(),
            request.total_ns(),
            request.delay_ns(),
        ];
        times.map(|ns| ns.map(|ns| ns / 1000))
    };
    let requests = &contents.traced.connections[connection].requests;
    requests.iter().map(times).collect()
}

fn reversal(packet: u64, follows: u64, back_us: i64) -> ClockReversal {
    ClockReversal {
        packet,
        follows,
        back_ns: back_us * 1000,
    }
}

#[test]
fn a_response_that_is_stamped_before_its_request_has_no_times() {
    let mut packets = exchanges(4000, 0, 3);
    // The second response, 150 us too early.
    packets[7].0 -= 150;
    let contents = read(&packets);
    assert_eq!(times(&contents, 0), [WHOLE, NONE, WHOLE]);
    let reversals = &contents.traced.reversals;
    assert_eq!((reversals.count, contents.moved), (1, 0));
    assert_eq!(reversals.first, [reversal(8, 7, 50)]);
    // The handshake, and three exchanges without the second one.
    let figures = &contents.traced.connections[0];
    assert_eq!(figures.from_client.rtt.count(), 3);
    assert_eq!(figures.from_client.rtt.smallest_ns(), Some(100_000));

    // It stands before its request in the file as well.
    let mut packets = exchanges(4000, 0, 3);
    packets[7].0 -= 150;
    packets.swap(6, 7);
    let contents = read(&packets);
    assert_eq!(times(&contents, 0), [WHOLE, NONE, WHOLE]);
    assert_eq!(contents.traced.reversals.first, [reversal(7, 8, 50)]);

    // A response to the SYN that is stamped before it.
    let mut packets = exchanges(4000, 0, 1);
    packets[1].0 -= 150;
    let contents = read(&packets);
    let handshake = &contents.traced.connections[0].handshake;
    assert_eq!((handshake.syns, handshake.syn_acks), (1, 1));
    assert_eq!((handshake.syn_ns, handshake.rtt_ns), (None, None));
    assert_eq!(times(&contents, 0), [WHOLE]);
}

#[test]
fn a_clock_that_is_set_back_gives_no_negative_time() {
    // From the second request on, and right again from the fourth on.
    let mut packets = exchanges(4000, 0, 4);
    for (at_us, _) in &mut packets[7..12] {
        *at_us -= HOUR_US;
    }
    // A connection that begins meanwhile.
    let meanwhile = exchanges(4001, 3200 - HOUR_US, 1);
    packets.splice(12..12, meanwhile);
    let contents = read(&packets);
    assert_eq!(times(&contents, 0), [WHOLE, NONE, WHOLE, WHOLE]);
    assert_eq!(times(&contents, 1), [WHOLE]);
    let reversals = &contents.traced.reversals;
    assert_eq!(reversals.first, [reversal(8, 7, HOUR_US - 100)]);
    assert_eq!((reversals.count, contents.moved), (1, 0));
    // The time that passed when the clock was set back is unknown; all others count.
    let whole_us = contents.traced.connections[0].duration_ns() / 1000;
    assert_eq!(whole_us, 4150);
}

#[test]
fn captures_that_were_put_together_keep_their_times() {
    let mut packets = exchanges(4000, HOUR_US, 2);
    packets.extend(exchanges(4001, 0, 2));
    let contents = read(&packets);
    assert_eq!(times(&contents, 0), [WHOLE, WHOLE]);
    assert_eq!(times(&contents, 1), [WHOLE, WHOLE]);
    assert_eq!(contents.traced.reversals.count, 1);
}

#[test]
fn two_clocks_that_alternate_are_kept_apart() {
    let mut packets = exchanges(4000, 0, 3);
    packets.extend(exchanges(4001, 20, 3));
    packets.sort_by_key(|(at_us, _)| *at_us);
    for (index, (at_us, _)) in packets.iter_mut().enumerate() {
        *at_us -= if index % 2 == 1 { HOUR_US } else { 0 };
    }
    let contents = read(&packets);
    assert_eq!(contents.traced.reversals.count, 1);
    for connection in 0..2 {
        assert_eq!(times(&contents, connection), [WHOLE; 3]);
    }
}

#[test]
fn packets_in_another_order_are_sorted_by_their_time_stamps() {
    let mut sorted = exchanges(4000, 0, 40);
    sorted.extend(exchanges(4001, 20, 40));
    sorted.sort_by_key(|(at_us, _)| *at_us);
    let expected = read(&sorted);
    assert_eq!((expected.moved, expected.traced.reversals.count), (0, 0));
    // Two threads, each of which writes its packets in groups.
    for together in [2, 7, 60] {
        let mut packets = Vec::new();
        for part in sorted.chunks(2 * together) {
            let numbered = || part.iter().cloned().enumerate();
            packets.extend(numbered().filter(|(index, _)| index % 2 == 1));
            packets.extend(numbered().filter(|(index, _)| index % 2 == 0));
        }
        let packets: Vec<Packet> = packets.into_iter().map(|(_, packet)| packet).collect();
        let contents = read(&packets);
        assert!(contents.moved > 0);
        assert_eq!(contents.traced.reversals.count, 0);
        assert_eq!(contents.traced.connections.len(), 2);
        for connection in 0..2 {
            assert_eq!(times(&contents, connection), [WHOLE; 40]);
        }
    }
}

#[test]
fn a_packet_that_is_too_far_from_its_place_is_named() {
    // A thread that writes the first response more than 1,024 packets late.
    let mut packets = exchanges(4000, 0, 400);
    let late = packets.remove(4);
    packets.push(late);
    let contents = read_any(&packets);
    let reversals = &contents.traced.reversals;
    assert_eq!((reversals.count, contents.moved), (1, 1));
    // The packet comes after the 59th response, where the window began.
    assert_eq!(reversals.first, [reversal(1203, 178, 58_000)]);
    let times = times(&contents, 0);
    let whole = times.iter().filter(|times| **times == WHOLE);
    // The first two requests look like one, and the 59th has no delay.
    assert_eq!((times.len(), whole.count()), (399, 397));
    assert_eq!(times[57], [Some(100), Some(100), None]);
}

#[test]
fn of_equal_time_stamps_the_order_holds_but_for_acknowledgments() {
    let at_once = |packets: &mut Vec<Packet>| packets.iter_mut().for_each(|packet| packet.0 = 0);
    // A simulator that writes the response to a SYN before the SYN.
    let mut packets = exchanges(4000, 0, 1);
    packets.swap(0, 1);
    packets.swap(3, 4);
    at_once(&mut packets);
    let contents = read(&packets);
    let handshake = &contents.traced.connections[0].handshake;
    assert_eq!((handshake.syns, handshake.syn_acks), (1, 1));
    assert_eq!(times(&contents, 0), [[Some(0); 3]]);
    assert_eq!(contents.moved, 2);

    let mut packets = exchanges(4000, 0, 3);
    at_once(&mut packets);
    let contents = read(&packets);
    assert_eq!(times(&contents, 0), [[Some(0); 3]; 3]);
    assert_eq!((contents.moved, contents.traced.reversals.count), (0, 0));
}

#[test]
fn of_equal_time_stamps_what_was_sent_again_stays_behind_its_acknowledgment() {
    let mut packets = exchanges(4000, 0, 2);
    packets.insert(5, packets[3].clone());
    packets.iter_mut().for_each(|packet| packet.0 = 0);
    let contents = read_any(&packets);
    let resent = contents.traced.connections[0].from_client.resent_bytes;
    assert_eq!((contents.moved, resent), (0, head(1, 0).len() as u64));
}
