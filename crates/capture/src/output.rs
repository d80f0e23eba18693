//! The file of a recording: whole blocks only, even on a full disk.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};

use trace::file::{CaptureInterface, CapturedPacket, PcapngWriter};

/// Bytes collected before writing.
const AT_ONCE: usize = 1 << 20;

/// Upper bound of the block of a packet, without its bytes.
const PACKET_OVERHEAD: u64 = 48;

/// Length of the statistics at the end.
const STATISTICS: u64 = 52;

/// A file that can be made shorter.
pub(crate) trait ShortenedFile: Write {
    /// Truncates the file to that length, and continues writing there.
    fn shorten(&mut self, length: u64) -> io::Result<()>;
}

impl ShortenedFile for File {
    fn shorten(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

/// Writer of pcapng. After an error, the file ends with the last complete block.
#[derive(Debug)]
pub(crate) struct CaptureOutput<F> {
    file: F,
    writer: PcapngWriter<Vec<u8>>,
    in_file: u64,
}

impl<F: ShortenedFile> CaptureOutput<F> {
    pub(crate) fn new(
        file: F,
        program: &str,
        comment: Option<&str>,
        interface: &CaptureInterface,
    ) -> io::Result<CaptureOutput<F>> {
        let mut writer = PcapngWriter::new(Vec::with_capacity(2 * AT_ONCE), program, comment)?;
        writer.interface(interface)?;
        let mut output = CaptureOutput {
            file,
            writer,
            in_file: 0,
        };
        output.flush()?;
        Ok(output)
    }

    /// Bytes of the file, including those to be written.
    pub(crate) fn length(&self) -> u64 {
        self.writer.written()
    }

    /// True if a packet and the statistics fit into a file of that length.
    pub(crate) fn has_room(&self, captured: usize, limit: u64) -> bool {
        self.length() + captured as u64 + PACKET_OVERHEAD + STATISTICS <= limit
    }

    pub(crate) fn packet(&mut self, packet: &CapturedPacket<'_>) -> io::Result<()> {
        self.writer.packet(packet)?;
        match self.writer.output().len() {
            0..AT_ONCE => Ok(()),
            _ => self.flush(),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let bytes = self.writer.output();
        let mut written = 0;
        let failure = loop {
            match self.file.write(&bytes[written..]) {
                _ if written == bytes.len() => break None,
                Ok(0) => break Some(io::Error::from(ErrorKind::WriteZero)),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        let whole = whole_blocks(bytes, written);
        self.in_file += whole as u64;
        bytes.clear();
        let Some(error) = failure else { return Ok(()) };
        if whole < written {
            // The first error is the one to report. If truncating fails as well, as for a device,
            // readers find a last packet that is cut off.
            let _ = self.file.shorten(self.in_file);
        }
        Err(error)
    }

    /// Writes the statistics, and everything before them.
    pub(crate) fn finish(&mut self, at_ns: i64, received: u64, dropped: u64) -> io::Result<()> {
        self.writer.statistics(0, at_ns, received, dropped)?;
        self.flush()
    }

    /// Bytes of the file.
    pub(crate) fn in_file(&self) -> u64 {
        self.in_file
    }
}

/// Length of the whole blocks in the first `written` bytes.
fn whole_blocks(blocks: &[u8], written: usize) -> usize {
    let mut end = 0;
    while let Some(length) = blocks.get(end + 4..).and_then(<[u8]>::first_chunk::<4>) {
        let next = end + u32::from_le_bytes(*length) as usize;
        if next > written {
            break;
        }
        end = next;
    }
    end
}
