//! pcap: a header, and packets one behind the other.

use std::io::Read;

use super::input::ByteInput;
use super::{
    ByteOrder, CaptureDefect, CaptureFileError, CaptureInterface, LONGEST_PACKET, LinkType,
    LocatedPacket, PacketDirection,
};

const FILE_HEADER: usize = 24;

/// The header of a pcap file.
#[derive(Debug)]
pub(super) struct PcapHeader {
    order: ByteOrder,
    /// Nanoseconds of one unit of the second part of a time.
    unit_ns: i64,
    /// Bytes before each packet.
    packet_header: usize,
    /// Files before version 2.3, and some of version 2.3, have the two lengths in reverse order.
    lengths: LengthOrder,
    interface: CaptureInterface,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LengthOrder {
    CapturedFirst,
    WireFirst,
    Either,
}

impl PcapHeader {
    pub(super) fn read<R: Read>(
        input: &mut ByteInput<R>,
        magic: [u8; 4],
    ) -> Result<PcapHeader, CaptureFileError> {
        let (order, number) = match u32::from_le_bytes(magic) {
            number @ (0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34) => (ByteOrder::Little, number),
            _ => (ByteOrder::Big, u32::from_be_bytes(magic)),
        };
        // The last is the format of A. Kuznetzov's patches, which old distributions had.
        let (unit_ns, packet_header) = match number {
            0xa1b2_c3d4 => (1000, 16),
            0xa1b2_3c4d => (1, 16),
            0xa1b2_cd34 => (1000, 24),
            _ => return Err(CaptureFileError::Format),
        };
        let Some(bytes) = input.peek(FILE_HEADER, 0)? else {
            return Err(CaptureFileError::Header(CaptureDefect::CutOff));
        };
        let version = (order.u16(bytes, 4), order.u16(bytes, 6));
        let lengths = match version {
            (2, 4..) => LengthOrder::CapturedFirst,
            (2, 3) => LengthOrder::Either,
            (2, _) => LengthOrder::WireFirst,
            (major, minor) => {
                let defect = CaptureDefect::Version(major, minor);
                return Err(CaptureFileError::Header(defect));
            }
        };
        let interface = CaptureInterface {
            name: None,
            // The upper bits have the length of a frame check sequence.
            link: LinkType(order.u32(bytes, 20) & 0x03ff_ffff),
            snap_length: order.u32(bytes, 16),
            dropped: None,
        };
        input.take(FILE_HEADER);
        Ok(PcapHeader {
            order,
            unit_ns,
            packet_header,
            lengths,
            interface,
        })
    }

    pub(super) fn interfaces(&self) -> &[CaptureInterface] {
        std::slice::from_ref(&self.interface)
    }

    pub(super) fn locate<R: Read>(
        &self,
        input: &mut ByteInput<R>,
        number: u64,
    ) -> Result<Option<LocatedPacket>, CaptureFileError> {
        let offset = input.offset();
        let fail = |defect| CaptureFileError::Packet {
            number,
            offset,
            defect,
        };
        let Some(bytes) = input.peek(self.packet_header, number - 1)? else {
            return if input.is_empty() {
                Ok(None)
            } else {
                Err(fail(CaptureDefect::CutOff))
            };
        };
        let at_ns = i64::from(self.order.u32(bytes, 0)) * 1_000_000_000
            // Drivers count back from a second, too.
            + i64::from(self.order.u32(bytes, 4).cast_signed()) * self.unit_ns;
        let (first, second) = (self.order.u32(bytes, 8), self.order.u32(bytes, 12));
        let is_swapped = match self.lengths {
            LengthOrder::CapturedFirst => false,
            LengthOrder::WireFirst => true,
            LengthOrder::Either => first > second,
        };
        let (captured, wire) = if is_swapped {
            (second, first)
        } else {
            (first, second)
        };
        let captured = captured as usize;
        // Kuznetzov's header ends with `sll_pkttype`.
        let direction = match bytes.get(22) {
            Some(4) => PacketDirection::Outgoing,
            Some(_) => PacketDirection::Incoming,
            None => PacketDirection::Unknown,
        };
        if captured > LONGEST_PACKET {
            return Err(fail(CaptureDefect::TooLong(captured as u64)));
        }
        let length = self.packet_header + captured;
        if input.peek(length, number - 1)?.is_none() {
            return Err(fail(CaptureDefect::CutOff));
        }
        input.take(self.packet_header);
        Ok(Some(LocatedPacket {
            number,
            interface: 0,
            link: self.interface.link,
            at_ns,
            is_untimed: false,
            wire_length: wire.max(captured as u32),
            direction,
            range: input.take(captured),
        }))
    }
}
