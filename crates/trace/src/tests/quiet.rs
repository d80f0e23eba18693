//! Speed of reading files. `cargo xtask test --release speed_of_a_gigabyte`

use std::io::{self, Read};
use std::time::Instant;

use etherparse::PacketBuilder;

use crate::file::CaptureReader;
use crate::link::Dissector;

/// The first bytes of a file that repeats its packets.
struct RepeatedPackets {
    header: Vec<u8>,
    packets: Vec<u8>,
    at: usize,
    left: usize,
}

impl Read for RepeatedPackets {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let source = if self.header.is_empty() {
            &self.packets[self.at..]
        } else {
            &self.header[..]
        };
        let count = source.len().min(buffer.len()).min(self.left);
        buffer[..count].copy_from_slice(&source[..count]);
        self.left -= count;
        if self.header.is_empty() {
            self.at = (self.at + count) % self.packets.len();
        } else {
            self.header.drain(..count);
        }
        Ok(count)
    }
}

/// pcap with packets of that payload.
fn file(payload: usize, length: usize) -> RepeatedPackets {
    let mut packet = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(4000, 80, 1, 2)
        .options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2])
        .unwrap()
        .ack(1)
        .write(&mut packet, &vec![b'x'; payload])
        .unwrap();
    let mut header = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    header.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    let mut packets = Vec::new();
    for second in 0..1000_u32 {
        packets.extend(second.to_le_bytes());
        packets.extend([0; 4]);
        packets.extend((packet.len() as u32).to_le_bytes().repeat(2));
        packets.extend(&packet);
    }
    RepeatedPackets {
        header,
        packets,
        at: 0,
        left: length,
    }
}

#[test]
#[ignore = "nightly: optimised, and alone on this machine"]
fn speed_of_a_gigabyte() {
    for payload in [1460, 100] {
        let started = Instant::now();
        let mut reader = CaptureReader::new(file(payload, 1 << 30)).unwrap();
        let (mut dissector, mut bytes) = (Dissector::default(), 0);
        while let Ok(Some(packet)) = reader.next_packet() {
            bytes += u64::from(dissector.segment(&packet).unwrap().length);
        }
        let segments = dissector.counts().tcp;
        assert_eq!(bytes, segments * payload as u64);
        let elapsed = started.elapsed();
        println!("1 GiB with {payload} bytes each: {segments} segments in {elapsed:.2?}");
        assert!(elapsed.as_secs() < 10, "{elapsed:?}");
    }
}
