//! pcapng, written: one section in little-endian order, times in nanoseconds.

use std::io::{self, Write};

use super::pcapng::{
    BYTE_ORDER_MAGIC, ENHANCED_BLOCK, INTERFACE_BLOCK, SECTION_BLOCK, STATISTICS_BLOCK,
};
use super::{CaptureInterface, CapturedPacket, PacketDirection};

/// Longest value of an option.
const LONGEST_OPTION: usize = u16::MAX as usize;

/// Writes a capture as pcapng. Each block is one `write_all`: buffer the output.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    output: W,
    block: Vec<u8>,
    interfaces: u32,
    written: u64,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file, with the name of the program, and a comment for its readers.
    pub fn new(output: W, program: &str, comment: Option<&str>) -> io::Result<PcapngWriter<W>> {
        let mut writer = PcapngWriter {
            output,
            block: Vec::with_capacity(2048),
            interfaces: 0,
            written: 0,
        };
        writer.begin(SECTION_BLOCK);
        writer.word(BYTE_ORDER_MAGIC);
        // Version 1.0, and a section of unknown length.
        writer.word(1);
        writer.block.extend((-1_i64).to_le_bytes());
        if let Some(comment) = comment {
            writer.option(1, comment.as_bytes());
        }
        // shb_userappl
        writer.option(4, program.as_bytes());
        writer.option(0, &[]);
        writer.end()?;
        Ok(writer)
    }

    /// Describes the next interface and returns its index. Its packets follow later; `dropped` is
    /// written by [`PcapngWriter::statistics`].
    pub fn interface(&mut self, interface: &CaptureInterface) -> io::Result<u32> {
        self.begin(INTERFACE_BLOCK);
        self.word(interface.link.0 & 0xffff);
        self.word(interface.snap_length);
        if let Some(name) = &interface.name {
            self.option(2, name.as_bytes());
        }
        // if_tsresol: 10^-9 s
        self.option(9, &[9]);
        self.option(0, &[]);
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes a packet. Its number and link type follow from its position and its interface. A time
    /// before 1970 is written as 1970.
    pub fn packet(&mut self, packet: &CapturedPacket<'_>) -> io::Result<()> {
        debug_assert!(packet.interface < self.interfaces);
        let captured = u32::try_from(packet.bytes.len()).map_err(io::Error::other)?;
        self.begin(ENHANCED_BLOCK);
        self.word(packet.interface);
        self.time(packet.at_ns);
        self.word(captured);
        self.word(packet.wire_length);
        self.block.extend(packet.bytes);
        self.pad();
        let flags: u32 = match packet.direction {
            PacketDirection::Unknown => 0,
            PacketDirection::Incoming => 1,
            PacketDirection::Outgoing => 2,
        };
        if flags != 0 {
            self.option(2, &flags.to_le_bytes());
            self.option(0, &[]);
        }
        self.end()
    }

    /// Writes the number of packets that an interface received until a time, and of those that were
    /// lost.
    pub fn statistics(
        &mut self,
        interface: u32,
        at_ns: i64,
        received: u64,
        dropped: u64,
    ) -> io::Result<()> {
        self.begin(STATISTICS_BLOCK);
        self.word(interface);
        self.time(at_ns);
        // isb_ifrecv, isb_ifdrop
        self.option(4, &received.to_le_bytes());
        self.option(5, &dropped.to_le_bytes());
        self.option(0, &[]);
        self.end()
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The output.
    pub fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// Flushes the output and returns it.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.word(kind);
        self.word(0);
    }

    fn word(&mut self, word: u32) {
        self.block.extend(word.to_le_bytes());
    }

    /// The upper half of a time comes first.
    fn time(&mut self, at_ns: i64) {
        let ticks = at_ns.max(0).cast_unsigned();
        self.word((ticks >> 32) as u32);
        self.word(ticks as u32);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(LONGEST_OPTION)];
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        let padded = self.block.len().next_multiple_of(4);
        self.block.resize(padded, 0);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = self.block.len() as u32 + 4;
        self.word(length);
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.output.write_all(&self.block)?;
        self.written += self.block.len() as u64;
        Ok(())
    }
}
