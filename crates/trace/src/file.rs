//! Capture files: packets of pcap and pcapng, read as a stream, and pcapng written.
//!
//! ```text
//! bytes --> ByteInput --> pcap   --> CapturedPacket
//!                     `-> pcapng -->
//! ```
//!
//! Files are untrusted. Memory is bounded: packets of up to [`LONGEST_PACKET`] bytes are read,
//! unneeded blocks are skipped without being stored, and a section has at most [`MOST_INTERFACES`]
//! interfaces. A file that is cut off yields all complete packets, and then an error.
//!
//! Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, and for older files the formats that
//! libpcap reads (`sf-pcap.c`).

mod input;
mod pcap;
mod pcapng;
mod writer;

use std::fmt;
use std::io::{self, Read};

use input::ByteInput;
pub use writer::PcapngWriter;

/// The longest packet, and the longest block that has to be read whole, in bytes.
pub const LONGEST_PACKET: usize = 1 << 20;

/// The most interfaces of a section of a pcapng file.
pub const MOST_INTERFACES: usize = 4096;

/// Times lie within this many nanoseconds of 1970 (until 2116), so that a difference of two never
/// overflows. All times of pcap do.
const LATEST_NS: i64 = 1 << 62;

/// Format of the beginning of a packet, as numbered by tcpdump.org ("LINKTYPE_").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the host.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// IPv4 or IPv6 without anything before it.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: the address family in network byte order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// IPv4 without anything before it.
    pub const IPV4: LinkType = LinkType(228);
    /// IPv6 without anything before it.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            LinkType::NULL => "BSD loopback",
            LinkType::ETHERNET => "Ethernet",
            LinkType::RAW => "raw IP",
            LinkType::LOOP => "OpenBSD loopback",
            LinkType::LINUX_SLL => "Linux cooked 1",
            LinkType::IPV4 => "raw IPv4",
            LinkType::IPV6 => "raw IPv6",
            LinkType::LINUX_SLL2 => "Linux cooked 2",
            LinkType(105) => "Wi-Fi (link type 105, 802.11)",
            LinkType(119) => "Wi-Fi in monitor mode (link type 119, 802.11 with Prism header)",
            LinkType(127) => "Wi-Fi in monitor mode (link type 127, 802.11 with radiotap header)",
            LinkType(163) => "Wi-Fi in monitor mode (link type 163, 802.11 with AVS header)",
            LinkType(186 | 189 | 220 | 249) => return write!(f, "USB (link type {})", self.0),
            LinkType(187 | 201 | 251 | 254) => {
                return write!(f, "Bluetooth (link type {})", self.0);
            }
            LinkType(9 | 50 | 51 | 166) => return write!(f, "PPP (link type {})", self.0),
            LinkType(195 | 215 | 230) => return write!(f, "802.15.4 (link type {})", self.0),
            LinkType(number) => return write!(f, "link type {number}"),
        };
        f.write_str(name)
    }
}

/// The direction in which a packet passed its interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PacketDirection {
    /// The capture has no such information.
    #[default]
    Unknown,
    /// The packet was received.
    Incoming,
    /// The packet was sent.
    Outgoing,
}

/// One packet of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// Its number in the file, from 1 on, as in tshark's `frame.number`.
    pub number: u64,
    /// Its interface, an index of [`CaptureReader::interfaces`].
    pub interface: u32,
    /// Format of its beginning.
    pub link: LinkType,
    /// Nanoseconds since 1970, at most 2^62 from it.
    pub at_ns: i64,
    /// Its length on the wire, in bytes.
    pub wire_length: u32,
    /// Its direction.
    pub direction: PacketDirection,
    /// Its bytes, from the link header on, as far as they were captured.
    pub bytes: &'a [u8],
}

/// An interface of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureInterface {
    /// Its name, if the file has one.
    pub name: Option<String>,
    /// Format of the beginning of its packets.
    pub link: LinkType,
    /// Bytes kept of each packet; 0 if unlimited.
    pub snap_length: u32,
    /// Packets that were lost, if the file has their number.
    pub dropped: Option<u64>,
}

/// Why reading of a capture file failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe them")]
pub enum CaptureFileError {
    #[error(
        "it is not a capture file: it begins with neither the header of pcap nor that of pcapng"
    )]
    Format,
    #[error(
        "it is compressed with {program}: unpack it first (`{program} -dc FILE | prestan analyze -`)"
    )]
    Compressed { program: &'static str },
    #[error("the header of the file: {0}")]
    Header(CaptureDefect),
    #[error("packet {number} at byte {offset}: {defect}")]
    Packet {
        number: u64,
        offset: u64,
        defect: CaptureDefect,
    },
    #[error("block of type {kind:#x} at byte {offset}, before packet {number}: {defect}")]
    Block {
        kind: u32,
        number: u64,
        offset: u64,
        defect: CaptureDefect,
    },
    #[error("reading failed after packet {number}, at byte {offset}: {error}")]
    Read {
        number: u64,
        offset: u64,
        error: io::Error,
    },
}

/// A defect of a part of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe them")]
pub enum CaptureDefect {
    #[error("the file is cut off here")]
    CutOff,
    #[error("its length is {0} bytes, and {LONGEST_PACKET} is the limit")]
    TooLong(u64),
    #[error("its length of {0} bytes is not possible")]
    Length(u64),
    #[error("its two lengths differ: {0} and {1} bytes")]
    Lengths(u32, u32),
    #[error("it belongs to interface {0}, which the file does not describe")]
    Interface(u32),
    #[error("the section has more than {MOST_INTERFACES} interfaces")]
    Interfaces,
    #[error("its time is beyond the year 2116")]
    Time,
    #[error("its time stamps have a resolution that is not possible ({0:#x})")]
    Resolution(u8),
    #[error("its byte order is not recognisable")]
    ByteOrder,
    #[error("its version is {0}.{1}, which is not known")]
    Version(u16, u16),
}

/// Reads the packets of a capture file, one after the other.
///
/// ```
/// # fn f(file: impl std::io::Read) -> Result<(), trace::file::CaptureFileError> {
/// let mut reader = trace::file::CaptureReader::new(file)?;
/// while let Some(packet) = reader.next_packet()? {
///     assert!(packet.number > 0);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct CaptureReader<R> {
    input: ByteInput<R>,
    format: FileFormat,
    /// Packets read so far.
    number: u64,
    untimed: u64,
    has_ended: bool,
}

#[derive(Debug)]
enum FileFormat {
    Pcap(pcap::PcapHeader),
    Pcapng(pcapng::Section),
}

impl<R: Read> CaptureReader<R> {
    /// Recognises the format of a file by its first bytes. The source needs no buffer.
    pub fn new(source: R) -> Result<CaptureReader<R>, CaptureFileError> {
        let mut input = ByteInput::new(source);
        let first = input.peek(4, 0)?;
        let Some(&magic) = first.and_then(<[u8]>::first_chunk::<4>) else {
            return Err(CaptureFileError::Format);
        };
        let format = match magic {
            pcapng::SECTION_HEADER => FileFormat::Pcapng(pcapng::Section::default()),
            [0x1f, 0x8b, ..] => return Err(CaptureFileError::Compressed { program: "gzip" }),
            [0x28, 0xb5, 0x2f, 0xfd] => {
                return Err(CaptureFileError::Compressed { program: "zstd" });
            }
            [0x04, 0x22, 0x4d, 0x18] => {
                return Err(CaptureFileError::Compressed { program: "lz4" });
            }
            [0xfd, b'7', b'z', b'X'] => {
                return Err(CaptureFileError::Compressed { program: "xz" });
            }
            _ => FileFormat::Pcap(pcap::PcapHeader::read(&mut input, magic)?),
        };
        Ok(CaptureReader {
            input,
            format,
            number: 0,
            untimed: 0,
            has_ended: false,
        })
    }

    /// The next packet, or `None` at the end of the file. After an error there is no further
    /// packet.
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, CaptureFileError> {
        if self.has_ended {
            return Ok(None);
        }
        let found = match &mut self.format {
            FileFormat::Pcap(header) => header.locate(&mut self.input, self.number + 1),
            FileFormat::Pcapng(section) => section.locate(&mut self.input, self.number + 1),
        };
        let Some(found) = found.inspect_err(|_| self.has_ended = true)? else {
            self.has_ended = true;
            return Ok(None);
        };
        self.number = found.number;
        self.untimed += u64::from(found.is_untimed);
        Ok(Some(CapturedPacket {
            number: found.number,
            interface: found.interface,
            link: found.link,
            at_ns: found.at_ns,
            wire_length: found.wire_length,
            direction: found.direction,
            bytes: self.input.passed(found.range),
        }))
    }

    /// The interfaces that are described so far; with several sections, those of the current one.
    pub fn interfaces(&self) -> &[CaptureInterface] {
        match &self.format {
            FileFormat::Pcap(header) => header.interfaces(),
            FileFormat::Pcapng(section) => section.interfaces(),
        }
    }

    /// Packets that the capturing program lost, in all sections so far, if the file has their
    /// number.
    pub fn dropped(&self) -> Option<u64> {
        match &self.format {
            FileFormat::Pcap(_) => None,
            FileFormat::Pcapng(section) => section.dropped(),
        }
    }

    /// Packets without a time (simple packet blocks of pcapng). They have the time of the packet
    /// before them.
    pub fn untimed(&self) -> u64 {
        self.untimed
    }
}

#[derive(Debug)]
struct LocatedPacket {
    number: u64,
    interface: u32,
    link: LinkType,
    at_ns: i64,
    is_untimed: bool,
    wire_length: u32,
    direction: PacketDirection,
    /// Its bytes in the input.
    range: input::Passed,
}

/// Byte order of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ByteOrder {
    #[default]
    Little,
    Big,
}

impl ByteOrder {
    /// The number at an offset, 0 behind the end.
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(chunk(bytes, at)),
            ByteOrder::Big => u16::from_be_bytes(chunk(bytes, at)),
        }
    }

    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(chunk(bytes, at)),
            ByteOrder::Big => u32::from_be_bytes(chunk(bytes, at)),
        }
    }

    fn u64(self, bytes: &[u8], at: usize) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(chunk(bytes, at)),
            ByteOrder::Big => u64::from_be_bytes(chunk(bytes, at)),
        }
    }
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let chunk = bytes.get(at..).and_then(<[u8]>::first_chunk);
    chunk.copied().unwrap_or([0; N])
}
