//! Capture files. No bytes panic; packets are numbered in order, and lie in the file one after the
//! other; segments are no longer than packets. All packets written as pcapng are read as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::file::{CaptureInterface, LONGEST_PACKET, LinkType};
use trace::{CaptureReader, CapturedPacket, Dissector, PcapngWriter};

/// A packet to compare: time, link type, length on the wire, bytes.
type PacketRow = (i64, LinkType, u32, Vec<u8>);

fn row(packet: &CapturedPacket<'_>) -> PacketRow {
    // Times before 1970 are written as 1970, and link types have 16 bits.
    let link = LinkType(packet.link.0 & 0xffff);
    (
        packet.at_ns.max(0),
        link,
        packet.wire_length,
        packet.bytes.to_vec(),
    )
}

fn write(writer: &mut PcapngWriter<Vec<u8>>, packet: &CapturedPacket<'_>) {
    let interface = CaptureInterface {
        name: None,
        link: packet.link,
        snap_length: 0,
        dropped: None,
    };
    let interface = writer.interface(&interface).expect("memory");
    writer
        .packet(&CapturedPacket {
            interface,
            ..*packet
        })
        .expect("memory");
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = CaptureReader::new(bytes) else {
        return;
    };
    let mut writer = PcapngWriter::new(Vec::new(), "fuzz", None).expect("memory");
    let mut dissector = Dissector::default();
    let (mut before, mut stored, mut rows) = (0, 0, Vec::new());
    while let Ok(Some(packet)) = reader.next_packet() {
        assert!(packet.number > before);
        before = packet.number;
        stored += packet.bytes.len();
        assert!(stored <= bytes.len());
        if let Ok(segment) = dissector.segment(&packet) {
            assert!(segment.length as usize <= LONGEST_PACKET);
            assert!(segment.payload.len() <= segment.length as usize);
        }
        if rows.len() < 1000 {
            write(&mut writer, &packet);
            rows.push(row(&packet));
        }
    }
    let written = writer.finish().expect("memory");
    let mut reader = CaptureReader::new(&written[..]).expect("a section");
    for (index, expected) in rows.iter().enumerate() {
        let packet = reader
            .next_packet()
            .expect("a file of ours")
            .expect("all packets");
        assert_eq!(packet.number, index as u64 + 1);
        assert_eq!(row(&packet), *expected);
    }
    assert!(reader.next_packet().expect("a file of ours").is_none());
});
