use std::fs::File;
use std::io::{self, Write};

use trace::CaptureReader;
use trace::file::{CaptureInterface, CapturedPacket, LinkType, PacketDirection};

use crate::output::{CaptureOutput, ShortenedFile};
use crate::recording::frame;
use crate::ring::{LinkAddress, Packet};

/// A disk with space for some bytes.
#[derive(Debug)]
struct SmallDisk {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.room - self.bytes.len()).min(100_000);
        if count == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ShortenedFile for &mut SmallDisk {
    fn shorten(&mut self, length: u64) -> io::Result<()> {
        self.bytes.truncate(length as usize);
        Ok(())
    }
}

fn interface() -> CaptureInterface {
    CaptureInterface {
        name: Some("lo".to_owned()),
        link: LinkType::ETHERNET,
        snap_length: 0,
        dropped: None,
    }
}

fn packet(at_ns: i64, bytes: &[u8]) -> CapturedPacket<'_> {
    CapturedPacket {
        number: 0,
        interface: 0,
        link: LinkType::ETHERNET,
        at_ns,
        wire_length: bytes.len() as u32,
        direction: PacketDirection::Incoming,
        bytes,
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_whole_packets() {
    for room in [100, 5000, 1_048_576, 1_500_000, 1_500_001] {
        let mut disk = SmallDisk {
            bytes: Vec::new(),
            room,
        };
        let output = CaptureOutput::new(&mut disk, "a test", None, &interface());
        let result = output.and_then(|mut output| {
            let result = (0..2500).try_for_each(|at_ns| output.packet(&packet(at_ns, &[7; 1001])));
            // The statistics may still fit.
            let _ = output.finish(1, 2, 3);
            result
        });
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(disk.bytes.len() + 1100 > room || room < 1_048_576);
        let Ok(mut reader) = CaptureReader::new(&disk.bytes[..]) else {
            assert!(disk.bytes.is_empty());
            continue;
        };
        let mut count = 0;
        while let Some(packet) = reader.next_packet().unwrap() {
            assert_eq!((packet.number, packet.at_ns), (count + 1, count as i64));
            count += 1;
        }
        assert!(count > 0 || room == 100);
    }
}

#[test]
fn a_full_device_is_an_error() {
    let file = File::options().write(true).open("/dev/full").unwrap();
    let error = CaptureOutput::new(file, "a test", None, &interface()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn room_is_kept_for_the_statistics() {
    for captured in 0..40 {
        let mut disk = SmallDisk {
            bytes: Vec::new(),
            room: 1 << 20,
        };
        let mut output = CaptureOutput::new(&mut disk, "a test", None, &interface()).unwrap();
        let mut count = 0;
        while output.has_room(captured, 5000) {
            output.packet(&packet(1, &vec![1; captured])).unwrap();
            count += 1;
        }
        output.finish(1, 2, 3).unwrap();
        let length = output.in_file();
        assert!((4800..=5000).contains(&length), "{length}");
        assert!(count > 40);
        assert_eq!(disk.bytes.len() as u64, length);
    }
}

fn captured(vlan_tag: Option<(u16, u16)>, bytes: &[u8]) -> Packet<'_> {
    Packet {
        bytes,
        at_ns: 5,
        outgoing: true,
        wire_length: 100,
        vlan_tag,
        address: LinkAddress {
            protocol: 0x0800,
            interface: 258,
            hardware: 772,
            kind: 4,
            length: 6,
            bytes: [1, 2, 3, 4, 5, 6, 0, 0],
        },
    }
}

#[test]
fn tags_are_put_back_and_cooked_packets_have_a_header() {
    let mut ethernet = vec![9; 12];
    ethernet.extend([8, 0, 0x45]);
    let tag = Some((0x8100, 0x6005));
    let tagged = [&[9; 12][..], &[0x81, 0, 0x60, 5, 8, 0, 0x45]].concat();
    let rest = [1, 2, 0x03, 0x04, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    let cooked =
        |protocol: [u8; 2], inside: &[u8]| [&protocol, &[0; 4][..], &rest, inside].concat();
    let table = [
        (
            LinkType::ETHERNET,
            None,
            ethernet.clone(),
            ethernet.clone(),
            100,
        ),
        (LinkType::ETHERNET, tag, ethernet.clone(), tagged, 104),
        (
            LinkType::ETHERNET,
            tag,
            vec![9; 5],
            vec![9, 9, 9, 9, 9, 0x81, 0, 0x60, 5],
            104,
        ),
        (
            LinkType::LINUX_SLL2,
            None,
            vec![0x45],
            cooked([8, 0], &[0x45]),
            120,
        ),
        (
            LinkType::LINUX_SLL2,
            tag,
            vec![0x45],
            cooked([0x81, 0], &[0x60, 5, 8, 0, 0x45]),
            124,
        ),
    ];
    for (link, tag, bytes, expected, wire_length) in table {
        let mut scratch = vec![1];
        let framed = frame(link, &captured(tag, &bytes), &mut scratch);
        assert_eq!(framed.bytes, expected);
        assert_eq!(framed.wire_length, wire_length);
        assert_eq!(framed.direction, PacketDirection::Outgoing);
        if expected.len() > 20 {
            let inside = trace::link::link_payload(link, framed.bytes, wire_length).unwrap();
            assert_eq!((inside.bytes, inside.vlan), (&[0x45][..], tag.map(|_| 5)));
        }
    }
}
