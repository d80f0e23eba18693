//! pcapng: sections of blocks, each with its type and length (draft-ietf-opsawg-pcapng).

use std::io::Read;

use super::input::ByteInput;
use super::{
    ByteOrder, CaptureDefect, CaptureFileError, CaptureInterface, LATEST_NS, LONGEST_PACKET,
    LinkType, LocatedPacket, MOST_INTERFACES, PacketDirection,
};

/// Type of a section header block, the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

pub(super) const SECTION_BLOCK: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_BLOCK: u32 = 1;
/// Obsolete.
const PACKET_BLOCK: u32 = 2;
const SIMPLE_BLOCK: u32 = 3;
pub(super) const STATISTICS_BLOCK: u32 = 5;
pub(super) const ENHANCED_BLOCK: u32 = 6;
pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Blocks that tshark numbers like packets: journal entries, custom blocks, events of sysdig.
const NUMBERED_BLOCKS: [u32; 6] = [9, 0xbad, 0x4000_0bad, 0x204, 0x216, 0x221];

/// Type and length before a block, and the length behind it.
const HEAD: usize = 8;
const TAIL: usize = 4;

/// The longest name of an interface that is kept, in bytes.
const LONGEST_NAME: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Section {
    order: ByteOrder,
    interfaces: Vec<CaptureInterface>,
    clocks: Vec<InterfaceClock>,
    /// Losses of earlier sections.
    dropped_before: Option<u64>,
    latest_ns: i64,
}

/// Resolution and offset of the times of an interface.
#[derive(Debug, Clone, Copy)]
struct InterfaceClock {
    /// Units of a second.
    rate: i128,
    offset_ns: i128,
}

#[derive(Debug, Clone, Copy)]
struct BlockHead {
    kind: u32,
    /// Length of the whole block.
    length: u32,
    offset: u64,
    /// Number of the packet that it is, or that follows.
    number: u64,
}

impl BlockHead {
    fn fail(self, defect: CaptureDefect) -> CaptureFileError {
        let (kind, offset, number) = (self.kind, self.offset, self.number);
        match kind {
            // 0 if too little is left for a type.
            0 | ENHANCED_BLOCK | SIMPLE_BLOCK | PACKET_BLOCK => CaptureFileError::Packet {
                number,
                offset,
                defect,
            },
            _ => CaptureFileError::Block {
                kind,
                number,
                offset,
                defect,
            },
        }
    }

    fn body(self) -> usize {
        self.length as usize - HEAD - TAIL
    }
}

impl Section {
    pub(super) fn interfaces(&self) -> &[CaptureInterface] {
        &self.interfaces
    }

    pub(super) fn dropped(&self) -> Option<u64> {
        let dropped = self
            .interfaces
            .iter()
            .filter_map(|interface| interface.dropped);
        dropped
            .chain(self.dropped_before)
            .reduce(u64::saturating_add)
    }

    /// The next packet, after the blocks before it.
    pub(super) fn locate<R: Read>(
        &mut self,
        input: &mut ByteInput<R>,
        mut number: u64,
    ) -> Result<Option<LocatedPacket>, CaptureFileError> {
        while let Some(block) = self.next_head(input, number)? {
            match block.kind {
                ENHANCED_BLOCK | SIMPLE_BLOCK | PACKET_BLOCK => {
                    return self.packet(input, block).map(Some);
                }
                SECTION_BLOCK | INTERFACE_BLOCK | STATISTICS_BLOCK => self.note(input, block)?,
                kind => {
                    if !input.skip(u64::from(block.length), number - 1)? {
                        return Err(block.fail(CaptureDefect::CutOff));
                    }
                    number += u64::from(NUMBERED_BLOCKS.contains(&kind));
                }
            }
        }
        Ok(None)
    }

    /// Type and length of the next block, without taking it. A section header decides the byte
    /// order.
    fn next_head<R: Read>(
        &mut self,
        input: &mut ByteInput<R>,
        number: u64,
    ) -> Result<Option<BlockHead>, CaptureFileError> {
        let offset = input.offset();
        let mut block = BlockHead {
            kind: 0,
            length: 0,
            offset,
            number,
        };
        let Some(head) = input.peek(HEAD + 4, number - 1)? else {
            return if input.is_empty() {
                Ok(None)
            } else {
                Err(block.fail(CaptureDefect::CutOff))
            };
        };
        if head.starts_with(&SECTION_HEADER) {
            block.kind = SECTION_BLOCK;
            self.order = match u32::from_le_bytes([head[8], head[9], head[10], head[11]]) {
                BYTE_ORDER_MAGIC => ByteOrder::Little,
                other if other.swap_bytes() == BYTE_ORDER_MAGIC => ByteOrder::Big,
                _ => return Err(block.fail(CaptureDefect::ByteOrder)),
            };
        }
        block.kind = self.order.u32(head, 0);
        block.length = self.order.u32(head, 4);
        let shortest = match block.kind {
            SECTION_BLOCK => 28,
            INTERFACE_BLOCK => 20,
            PACKET_BLOCK | ENHANCED_BLOCK => 32,
            SIMPLE_BLOCK => 16,
            STATISTICS_BLOCK => 24,
            _ => 12,
        };
        if block.length < shortest || !block.length.is_multiple_of(4) {
            return Err(block.fail(CaptureDefect::Length(u64::from(block.length))));
        }
        Ok(Some(block))
    }

    /// The body of a block that has to be read whole, without taking it.
    fn body<'a, R: Read>(
        &self,
        input: &'a mut ByteInput<R>,
        block: BlockHead,
    ) -> Result<&'a [u8], CaptureFileError> {
        let length = block.length as usize;
        // Options of a packet may come on top of its bytes.
        if length > LONGEST_PACKET + (LONGEST_PACKET >> 2) {
            return Err(block.fail(CaptureDefect::TooLong(length as u64)));
        }
        let Some(whole) = input.peek(length, block.number - 1)? else {
            return Err(block.fail(CaptureDefect::CutOff));
        };
        let behind = self.order.u32(whole, length - TAIL);
        if behind != block.length {
            return Err(block.fail(CaptureDefect::Lengths(block.length, behind)));
        }
        Ok(&whole[HEAD..length - TAIL])
    }

    /// Reads a block that describes the section, an interface or its losses.
    fn note<R: Read>(
        &mut self,
        input: &mut ByteInput<R>,
        block: BlockHead,
    ) -> Result<(), CaptureFileError> {
        let order = self.order;
        let body = self.body(input, block)?;
        match block.kind {
            SECTION_BLOCK => {
                let version = (order.u16(body, 4), order.u16(body, 6));
                // 1.2 was written by mistake, and is the same.
                let (1, 0 | 2) = version else {
                    return Err(block.fail(CaptureDefect::Version(version.0, version.1)));
                };
                self.dropped_before = self.dropped();
                self.interfaces.clear();
                self.clocks.clear();
            }
            INTERFACE_BLOCK => {
                let (interface, clock) =
                    interface(order, body).map_err(|defect| block.fail(defect))?;
                if self.interfaces.len() == MOST_INTERFACES {
                    return Err(block.fail(CaptureDefect::Interfaces));
                }
                self.interfaces.push(interface);
                self.clocks.push(clock);
            }
            _ => {
                let index = order.u32(body, 0);
                let Some(interface) = self.interfaces.get_mut(index as usize) else {
                    return Err(block.fail(CaptureDefect::Interface(index)));
                };
                // isb_ifdrop, isb_osdrop
                let lost = options(order, body.get(12..).unwrap_or_default())
                    .filter(|(code, value)| matches!(code, 5 | 7) && value.len() == 8)
                    .map(|(_, value)| order.u64(value, 0));
                // The latest block counts from the beginning.
                interface.dropped = lost.reduce(u64::saturating_add).or(interface.dropped);
            }
        }
        input.take(block.length as usize);
        Ok(())
    }

    fn packet<R: Read>(
        &mut self,
        input: &mut ByteInput<R>,
        block: BlockHead,
    ) -> Result<LocatedPacket, CaptureFileError> {
        let order = self.order;
        let body = self.body(input, block)?;
        let word = |at| order.u32(body, at);
        let ticks = (u64::from(word(4)) << 32) | u64::from(word(8));
        let (interface, ticks, captured, wire, header) = match block.kind {
            ENHANCED_BLOCK => (word(0), Some(ticks), word(12), word(16), 20),
            PACKET_BLOCK => {
                let interface = u32::from(order.u16(body, 0));
                (interface, Some(ticks), word(12), word(16), 20)
            }
            _ => {
                // It has all bytes up to the snap length of the interface.
                let snap = self.interfaces.first().map_or(0, |first| first.snap_length);
                let snap = if snap == 0 { u32::MAX } else { snap };
                let stored = (body.len() - 4) as u32;
                (0, None, word(0).min(snap).min(stored), word(0), 4)
            }
        };
        let Some(link) = self
            .interfaces
            .get(interface as usize)
            .map(|interface| interface.link)
        else {
            return Err(block.fail(CaptureDefect::Interface(interface)));
        };
        if captured as usize > LONGEST_PACKET {
            return Err(block.fail(CaptureDefect::TooLong(u64::from(captured))));
        }
        let options_at = header + captured.next_multiple_of(4) as usize;
        if header + captured as usize > body.len() {
            return Err(block.fail(CaptureDefect::Length(u64::from(captured))));
        }
        let direction = match block.kind {
            SIMPLE_BLOCK => PacketDirection::Unknown,
            _ => direction(order, body.get(options_at..).unwrap_or_default()),
        };
        let at_ns = match ticks {
            Some(ticks) => self.clocks[interface as usize].at_ns(ticks),
            None => Some(self.latest_ns),
        };
        self.latest_ns = at_ns.ok_or_else(|| block.fail(CaptureDefect::Time))?;
        input.take(HEAD + header);
        let range = input.take(captured as usize);
        input.take(block.body() + TAIL - header - captured as usize);
        Ok(LocatedPacket {
            number: block.number,
            interface,
            link,
            at_ns: self.latest_ns,
            is_untimed: ticks.is_none(),
            wire_length: wire.max(captured),
            direction,
            range,
        })
    }
}

impl InterfaceClock {
    /// Nanoseconds since 1970, if they can be represented.
    fn at_ns(self, ticks: u64) -> Option<i64> {
        const NS: i128 = 1_000_000_000;
        let since = match self.rate {
            // Nanoseconds, without a division. Programs write times before 1970 as negative
            // numbers.
            NS => i128::from(ticks.cast_signed()),
            1_000_000 => i128::from(ticks.cast_signed()) * 1000,
            rate => i128::from(ticks) * NS / rate,
        };
        let at_ns = i64::try_from(since + self.offset_ns).ok()?;
        (-LATEST_NS..=LATEST_NS).contains(&at_ns).then_some(at_ns)
    }
}

fn interface(
    order: ByteOrder,
    body: &[u8],
) -> Result<(CaptureInterface, InterfaceClock), CaptureDefect> {
    let mut interface = CaptureInterface {
        name: None,
        link: LinkType(u32::from(order.u16(body, 0))),
        snap_length: order.u32(body, 4),
        dropped: None,
    };
    let mut clock = InterfaceClock {
        rate: 1_000_000,
        offset_ns: 0,
    };
    for (code, value) in options(order, &body[8..]) {
        match (code, value) {
            // if_name
            (2, name) => {
                let name = &name[..name.len().min(LONGEST_NAME)];
                interface.name = Some(String::from_utf8_lossy(name).into_owned());
            }
            // if_tsresol: a power of 2 or 10. The ticks times 10^9 stay below 2^94.
            (9, &[power]) => {
                clock.rate = match power & 0x7f {
                    exponent @ 0..=64 if power & 0x80 != 0 => 1 << exponent,
                    exponent @ 0..=19 if power & 0x80 == 0 => 10_i128.pow(u32::from(exponent)),
                    _ => return Err(CaptureDefect::Resolution(power)),
                };
            }
            // if_tsoffset, in seconds
            (14, offset) if offset.len() == 8 => {
                clock.offset_ns = i128::from(order.u64(offset, 0).cast_signed()) * 1_000_000_000;
            }
            _ => {}
        }
    }
    Ok((interface, clock))
}

/// The direction of a packet, from `epb_flags`.
fn direction(order: ByteOrder, bytes: &[u8]) -> PacketDirection {
    let mut flags = options(order, bytes).filter(|(code, value)| *code == 2 && value.len() == 4);
    match flags.next().map(|(_, value)| order.u32(value, 0) & 3) {
        Some(1) => PacketDirection::Incoming,
        Some(2) => PacketDirection::Outgoing,
        _ => PacketDirection::Unknown,
    }
}

/// Codes and values of options. A malformed one ends them: they are not needed to read the file.
fn options(order: ByteOrder, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (head, after) = bytes.split_first_chunk::<4>()?;
        let (code, length) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
        let value = after.get(..length).filter(|_| code != 0)?;
        bytes = after.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}
