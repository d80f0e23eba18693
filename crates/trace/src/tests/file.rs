use std::io::{self, Read};

use proptest::prelude::*;
use proptest::sample::Index;

use crate::file::{
    CaptureDefect, CaptureFileError, CaptureInterface, CaptureReader, CapturedPacket,
    LONGEST_PACKET, LinkType, MOST_INTERFACES, PacketDirection, PcapngWriter,
};

/// A file in one byte order.
struct FileMaker {
    big: bool,
    bytes: Vec<u8>,
}

impl FileMaker {
    fn new(big: bool) -> FileMaker {
        FileMaker {
            big,
            bytes: Vec::new(),
        }
    }

    fn half(&mut self, value: u16) -> &mut FileMaker {
        self.bytes.extend(if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        });
        self
    }

    fn word(&mut self, value: u32) -> &mut FileMaker {
        self.bytes.extend(if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        });
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut FileMaker {
        self.bytes.extend(bytes);
        self
    }

    fn option(&mut self, code: u16, value: &[u8]) -> &mut FileMaker {
        self.half(code).half(value.len() as u16).raw(value);
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
        self
    }

    fn eight(&self, value: i64) -> [u8; 8] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn pcap(big: bool, magic: u32, minor: u16) -> FileMaker {
        let mut file = FileMaker::new(big);
        file.word(magic).half(2).half(minor).word(0).word(0);
        file.word(65_535).word(1);
        file
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut FileMaker)) -> &mut FileMaker {
        let mut inner = FileMaker::new(self.big);
        body(&mut inner);
        let padded = inner.bytes.len().next_multiple_of(4);
        inner.bytes.resize(padded, 0);
        let length = inner.bytes.len() as u32 + 12;
        self.word(kind).word(length).raw(&inner.bytes).word(length)
    }

    fn section(&mut self) -> &mut FileMaker {
        self.block(0x0a0d_0d0a, |body| {
            body.word(0x1a2b_3c4d).half(1).half(0).raw(&[0xff; 8]);
        })
    }

    fn interface(&mut self, link: u16, options: impl FnOnce(&mut FileMaker)) -> &mut FileMaker {
        self.block(1, |body| {
            body.half(link).half(0).word(0);
            options(body);
        })
    }

    fn packet(&mut self, interface: u32, ticks: u64, bytes: &[u8], flags: u32) -> &mut FileMaker {
        self.block(6, |body| {
            body.word(interface);
            body.word((ticks >> 32) as u32).word(ticks as u32);
            body.word(bytes.len() as u32).word(1500).raw(bytes);
            let padded = body.bytes.len().next_multiple_of(4);
            body.bytes.resize(padded, 0);
            let flags = if body.big {
                flags.to_be_bytes()
            } else {
                flags.to_le_bytes()
            };
            body.option(1, b"a comment").option(2, &flags);
        })
    }
}

/// Number, time, link type, first byte of each packet, and how the file ended.
type PacketsRead = (Vec<(u64, i64, u32, Option<u8>)>, Option<String>);

fn read(bytes: impl Read) -> PacketsRead {
    let mut packets = Vec::new();
    let mut reader = match CaptureReader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (packets, Some(error.to_string())),
    };
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => {
                let first = packet.bytes.first().copied();
                packets.push((packet.number, packet.at_ns, packet.link.0, first));
            }
            Ok(None) => return (packets, None),
            Err(error) => {
                assert!(reader.next_packet().unwrap().is_none());
                return (packets, Some(error.to_string()));
            }
        }
    }
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_resolutions() {
    let table = [
        (0xa1b2_c3d4, 4, false, 2_000_003_000),
        (0xa1b2_3c4d, 4, false, 2_000_000_003),
        (0xa1b2_cd34, 4, true, 2_000_003_000),
    ];
    for big in [false, true] {
        for (magic, minor, patched, at_ns) in table {
            let mut file = FileMaker::pcap(big, magic, minor);
            for byte in [7, 8] {
                file.word(2).word(3).word(2).word(60);
                if patched {
                    file.word(1).half(8).raw(&[4, 0]);
                }
                file.raw(&[byte, 0]);
            }
            let mut reader = CaptureReader::new(&file.bytes[..]).unwrap();
            for number in [1, 2] {
                let expected = CapturedPacket {
                    number,
                    interface: 0,
                    link: LinkType::ETHERNET,
                    at_ns,
                    wire_length: 60,
                    direction: if patched {
                        PacketDirection::Outgoing
                    } else {
                        PacketDirection::Unknown
                    },
                    bytes: &[6 + number as u8, 0],
                };
                assert_eq!(reader.next_packet().unwrap().unwrap(), expected);
            }
            assert!(reader.next_packet().unwrap().is_none());
        }
    }
}

#[test]
fn times_before_a_second_and_before_1970_are_read() {
    let mut file = FileMaker::pcap(false, 0xa1b2_c3d4, 4);
    file.word(7).word((-8_i32).cast_unsigned());
    file.word(1).word(1).raw(&[5]);
    assert_eq!(read(&file.bytes[..]).0, [(1, 6_999_992_000, 1, Some(5))]);
    let mut file = FileMaker::new(false);
    let ticks = (-8_i64).cast_unsigned();
    file.section().interface(1, |_| {});
    file.packet(0, ticks, &[5], 0);
    assert_eq!(read(&file.bytes[..]), (vec![(1, -8000, 1, Some(5))], None));
}

#[test]
fn old_files_of_pcap_have_their_lengths_the_other_way_round() {
    for (minor, first, second) in [(2, 60, 1), (3, 60, 1), (3, 1, 60)] {
        let mut file = FileMaker::pcap(false, 0xa1b2_c3d4, minor);
        file.word(0).word(0).word(first).word(second).raw(&[5]);
        let mut reader = CaptureReader::new(&file.bytes[..]).unwrap();
        let packet = reader.next_packet().unwrap().unwrap();
        assert_eq!((packet.wire_length, packet.bytes), (60, &[5][..]));
    }
}

/// Two sections with all kinds of blocks.
fn sections(big: bool) -> Vec<u8> {
    let mut file = FileMaker::new(big);
    let second = i64::from(file.big) + 4;
    let offset = file.eight(second);
    file.section();
    file.interface(1, |_| {});
    file.interface(101, |body| {
        body.option(2, b"eth0").option(9, &[9]).option(14, &offset);
    });
    file.interface(113, |body| {
        body.option(9, &[0x80 | 10]);
    });
    file.block(4, |body| {
        body.raw(&[0; 40]);
    });
    file.packet(0, 5, &[1, 2, 3, 4, 5], 1);
    file.packet(1, 5, &[2], 2);
    file.packet(2, 512, &[3], 0);
    file.block(9, |body| {
        body.raw(b"a journal entry");
    });
    file.block(2, |body| {
        body.half(1)
            .half(0)
            .word(0)
            .word(7)
            .word(1)
            .word(1)
            .raw(&[4]);
    });
    file.block(3, |body| {
        body.word(3).raw(&[5, 5, 5]);
    });
    file.block(5, |body| {
        let lost = body.eight(3);
        body.word(1).word(0).word(0).option(5, &lost);
    });
    file.section();
    file.interface(12, |_| {});
    file.packet(0, 1, &[6], 0);
    file.bytes
}

#[test]
fn pcapng_is_read_in_both_byte_orders_with_all_blocks() {
    for big in [false, true] {
        let bytes = sections(big);
        let offset = 4_000_000_000 + i64::from(big) * 1_000_000_000;
        let expected = vec![
            (1, 5000, 1, Some(1)),
            (2, offset + 5, 101, Some(2)),
            (3, 500_000_000, 113, Some(3)),
            // The journal entry is number 4.
            (5, offset + 7, 101, Some(4)),
            (6, offset + 7, 1, Some(5)),
            (7, 1000, 12, Some(6)),
        ];
        assert_eq!(read(&bytes[..]), (expected, None));
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        let mut ways = Vec::new();
        while let Some(packet) = reader.next_packet().unwrap() {
            ways.push(packet.direction);
        }
        let (incoming, outgoing) = (PacketDirection::Incoming, PacketDirection::Outgoing);
        assert_eq!(ways[..2], [incoming, outgoing]);
        assert_eq!((reader.dropped(), reader.untimed()), (Some(3), 1));
        assert_eq!(reader.interfaces().len(), 1);
    }
}

#[test]
fn damage_names_the_packet_and_the_place() {
    let pcap = |build: fn(&mut FileMaker) -> &mut FileMaker| {
        let mut file = FileMaker::pcap(false, 0xa1b2_c3d4, 4);
        file.word(0).word(0).word(1).word(1).raw(&[1]);
        build(&mut file);
        file.bytes
    };
    let pcapng = |build: fn(&mut FileMaker) -> &mut FileMaker| {
        let mut file = FileMaker::new(false);
        file.section().interface(1, |_| {}).packet(0, 0, &[1], 0);
        build(&mut file);
        file.bytes
    };
    let table = [
        (
            pcap(|file| file.word(1)),
            "packet 2 at byte 41: the file is cut off here",
        ),
        (
            pcap(|file| file.word(0).word(0).word(9).word(9).raw(&[0; 8])),
            "packet 2 at byte 41: the file is cut off here",
        ),
        (
            pcap(|file| file.word(0).word(0).word(1 << 21).word(9)),
            "packet 2 at byte 41: its length is 2097152 bytes, and 1048576 is the limit",
        ),
        (
            pcapng(|file| file.packet(1, 0, &[1], 0)),
            "packet 2 at byte 108: it belongs to interface 1, which the file does not describe",
        ),
        (
            pcapng(|file| file.packet(0, u64::MAX / 2, &[1], 0)),
            "packet 2 at byte 108: its time is beyond the year 2116",
        ),
        (
            pcapng(|file| file.word(6).word(32).raw(&[0; 20]).word(36)),
            "packet 2 at byte 108: its two lengths differ: 32 and 36 bytes",
        ),
        (
            pcapng(|file| file.word(6).word(32).raw(&[0; 12]).word(9).word(9).word(32)),
            "packet 2 at byte 108: its length of 9 bytes is not possible",
        ),
        (
            pcapng(|file| file.word(6).word(33).word(0)),
            "packet 2 at byte 108: its length of 33 bytes is not possible",
        ),
        (
            pcapng(|file| file.word(6).word(1 << 30).word(0)),
            "packet 2 at byte 108: its length is 1073741824 bytes, and 1048576 is the limit",
        ),
        (
            pcapng(|file| file.word(77).word(1 << 30).word(0)),
            "block of type 0x4d at byte 108, before packet 2: the file is cut off here",
        ),
        (
            pcapng(|file| {
                file.interface(1, |body| {
                    body.option(9, &[20]);
                })
            }),
            "block of type 0x1 at byte 108, before packet 2: its time stamps have a resolution that is not \
             possible (0x14)",
        ),
        (
            pcapng(|file| file.raw(&[6, 0])),
            "packet 2 at byte 108: the file is cut off here",
        ),
    ];
    for (bytes, expected) in table {
        let (packets, error) = read(&bytes[..]);
        assert_eq!(packets.len(), 1);
        assert_eq!(error.as_deref(), Some(expected));
    }
}

#[test]
fn other_files_are_refused() {
    let mut wrong_version = FileMaker::pcap(false, 0xa1b2_c3d4, 4).bytes;
    wrong_version[4] = 9;
    let mut wrong_order = FileMaker::new(false);
    wrong_order.section();
    wrong_order.bytes[8] = 0;
    let table = [
        (&b""[..], "not a capture file"),
        (b"abc", "not a capture file"),
        (b"GET / HTTP/1.1\r\n\r\n", "not a capture file"),
        (&[0x1f, 0x8b, 8, 0], "`gzip -dc FILE | prestan analyze -`"),
        (
            &[0x28, 0xb5, 0x2f, 0xfd],
            "`zstd -dc FILE | prestan analyze -`",
        ),
        (
            &[0xd4, 0xc3, 0xb2, 0xa1, 2],
            "the header of the file: the file is cut off here",
        ),
        (&wrong_version, "its version is 9.4"),
        (&wrong_order.bytes, "its byte order is not recognisable"),
    ];
    for (bytes, expected) in table {
        let (packets, error) = read(bytes);
        assert!(packets.is_empty());
        assert!(
            error.as_ref().is_some_and(|error| error.contains(expected)),
            "{error:?}"
        );
    }
}

#[test]
fn interfaces_are_limited() {
    let mut file = FileMaker::new(false);
    file.section();
    for _ in 0..=MOST_INTERFACES {
        file.interface(1, |_| {});
    }
    let mut reader = CaptureReader::new(&file.bytes[..]).unwrap();
    let error = reader.next_packet().unwrap_err();
    let CaptureFileError::Block { defect, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(defect, CaptureDefect::Interfaces);
}

/// A source that returns one byte at a time, is interrupted in between, and fails at the end.
struct SlowSource<'a>(&'a [u8], bool);

impl Read for SlowSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (first, rest) = self.0.split_first().ok_or(io::Error::other("unplugged"))?;
        buffer[0] = *first;
        self.0 = rest;
        Ok(1)
    }
}

#[test]
fn a_slow_source_that_fails_has_the_same_packets() {
    let bytes = sections(false);
    let (packets, error) = read(SlowSource(&bytes, false));
    assert_eq!(packets, read(&bytes[..]).0);
    let expected = format!(
        "reading failed after packet 7, at byte {}: unplugged",
        bytes.len()
    );
    assert_eq!(error, Some(expected));
}

fn any_packet() -> impl Strategy<Value = (i64, u32, u8, Vec<u8>)> {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    (0..1_i64 << 62, 0..9000_u32, 0..3_u8, bytes)
}

proptest! {
    #[test]
    fn what_is_written_is_read(packets in prop::collection::vec(any_packet(), 0..20)) {
        let interface = |name: &str, link| CaptureInterface {
            name: Some(name.to_owned()), link, snap_length: 1000, dropped: None,
        };
        let mut writer = PcapngWriter::new(Vec::new(), "a test", Some("of this")).unwrap();
        let mut interfaces = [interface("a", LinkType::ETHERNET), interface("é", LinkType::LINUX_SLL2)];
        for interface in &interfaces {
            writer.interface(interface).unwrap();
        }
        let mut expected = Vec::new();
        for (number, (at_ns, wire, way, bytes)) in packets.iter().enumerate() {
            let interface = number as u32 % 2;
            let packet = CapturedPacket {
                number: number as u64 + 1,
                interface,
                link: interfaces[interface as usize].link,
                at_ns: *at_ns,
                wire_length: (*wire).max(bytes.len() as u32),
                direction: match way {
                    0 => PacketDirection::Unknown,
                    1 => PacketDirection::Incoming,
                    _ => PacketDirection::Outgoing,
                },
                bytes,
            };
            writer.packet(&packet).unwrap();
            expected.push(packet);
        }
        writer.statistics(1, 5, 10, 3).unwrap();
        let written = writer.written();
        let file = writer.finish().unwrap();
        prop_assert_eq!(written, file.len() as u64);
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        for packet in expected {
            prop_assert_eq!(reader.next_packet().unwrap(), Some(packet));
        }
        prop_assert!(reader.next_packet().unwrap().is_none());
        interfaces[1].dropped = Some(3);
        prop_assert_eq!(reader.interfaces(), interfaces);
    }

    /// A file that is cut has the packets before the cut, and an error unless the cut is between
    /// blocks.
    #[test]
    fn a_prefix_has_the_first_packets(big: bool, offset: Index) {
        let bytes = sections(big);
        let all = read(&bytes[..]).0;
        let (packets, error) = read(&bytes[..offset.index(bytes.len())]);
        prop_assert!(all.starts_with(&packets));
        prop_assert!(packets.len() < all.len() || error.is_none());
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        big: bool,
        is_pcap: bool,
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = sections(big);
        if is_pcap {
            let mut file = FileMaker::pcap(big, 0xa1b2_cd34, 3);
            for _ in 0..5 {
                file.word(1).word(2).word(24).word(60).raw(&[0; 32]);
            }
            bytes = file.bytes;
        }
        for (offset, value) in changes {
            let offset = offset.index(bytes.len());
            bytes[offset] = value;
        }
        let mut reader = match CaptureReader::new(&bytes[..]) {
            Ok(reader) => reader,
            Err(_) => return Ok(()),
        };
        let mut stored = 0;
        while let Ok(Some(packet)) = reader.next_packet() {
            stored += packet.bytes.len();
            prop_assert!(packet.bytes.len() <= LONGEST_PACKET);
        }
        prop_assert!(stored <= bytes.len());
    }
}
