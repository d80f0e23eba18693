//! Frames for the bare server, each preceded by a byte for its length and one for the time since
//! the last. Acknowledgments are moved to data that the server sent, and checksums are filled in,
//! so that most segments are accepted.

#![no_main]

use bare::{
    BareServer, BareServerSettings, CongestionControl, SenderSettings, ServedFiles, test_pattern,
};
use libfuzzer_sys::fuzz_target;

/// Offsets of the checksums of IPv4 and TCP, and of the TCP acknowledgment, in a frame without IP
/// options.
const IP_CHECKSUM: usize = 24;
const ACKNOWLEDGMENT: usize = 42;
const TCP_CHECKSUM: usize = 50;

/// Most frames that one frame can cause: everything outstanding of 64 connections is far less in
/// such a short time.
const MOST_CAUSED: usize = 64 * 4096;

fuzz_target!(|input: &[u8]| {
    let sender = SenderSettings::conventional(CongestionControl::Cubic);
    let settings = BareServerSettings {
        ipv4: Some([198, 18, 0, 2].into()),
        ..BareServerSettings::new([2, 0, 0, 0, 0, 2], sender)
    };
    let mut files = ServedFiles::new();
    files.insert("/f", test_pattern(20_000));
    let Ok(mut server) = BareServer::new(settings, files) else {
        return;
    };
    let (mut rest, mut now_ns, mut first) = (input, 0_u64, 0_u32);
    while let [length, wait, after @ ..] = rest {
        let (frame, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        now_ns += u64::from(*wait) * 10_000_000;
        server.tick(now_ns);
        server.receive(now_ns, frame);
        server.receive(now_ns, &repaired(frame, first));
        let mut caused = 0;
        while let Some(frame) = server.next_frame(now_ns) {
            caused += 1;
            if let Ok(segment) = trace::segment::parse(&frame, 0)
                && segment.flags.syn
            {
                first = segment.sequence;
            }
        }
        assert!(caused <= MOST_CAUSED);
        assert!(server.open_connections().count() <= 64);
    }
});

/// The frame with addresses of the server, an acknowledgment of its data, and valid checksums.
fn repaired(frame: &[u8], first: u32) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if frame.len() < 54 {
        return frame;
    }
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    let length = (frame.len() - 14) as u16;
    frame[16..18].copy_from_slice(&length.to_be_bytes());
    frame[20..22].fill(0);
    frame[23] = 6;
    frame[26..30].copy_from_slice(&[198, 18, 0, 1]);
    frame[30..34].copy_from_slice(&[198, 18, 0, 2]);
    frame[36..38].copy_from_slice(&80_u16.to_be_bytes());
    let [.., high, low] = frame[ACKNOWLEDGMENT..ACKNOWLEDGMENT + 4] else {
        return frame;
    };
    let acknowledged = first.wrapping_add(u32::from(u16::from_be_bytes([high, low])));
    frame[ACKNOWLEDGMENT..ACKNOWLEDGMENT + 4].copy_from_slice(&acknowledged.to_be_bytes());
    fill(&mut frame, IP_CHECKSUM, 14..34, 0);
    let pseudo = u32::from(length - 20) + 6 + sum(&frame[26..34]);
    let end = frame.len();
    fill(&mut frame, TCP_CHECKSUM, 34..end, pseudo);
    frame
}

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    bytes.chunks(2).map(word).sum()
}

/// Writes the checksum of a range (RFC 1071) to its offset.
fn fill(frame: &mut [u8], index: usize, range: std::ops::Range<usize>, start: u32) {
    frame[index..index + 2].fill(0);
    let mut total = start + sum(&frame[range]);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    frame[index..index + 2].copy_from_slice(&(!(total as u16)).to_be_bytes());
}
