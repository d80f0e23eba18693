//! A buffered source with bounded memory, whose last bytes stay readable.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use super::CaptureFileError;

/// Bytes that are read at once. The buffer grows beyond it only for a longer packet.
const AT_ONCE: usize = 256 << 10;

/// A range of the buffer, valid until the next call that reads.
pub(super) type Passed = Range<usize>;

/// Bytes of a source.
#[derive(Debug)]
pub(super) struct ByteInput<R> {
    source: R,
    buffer: Vec<u8>,
    /// The bytes of the buffer that were read and not taken.
    start: usize,
    end: usize,
    /// Offset in the file of the first byte of the buffer.
    base: u64,
}

impl<R: Read> ByteInput<R> {
    pub(super) fn new(source: R) -> ByteInput<R> {
        ByteInput {
            source,
            buffer: vec![0; AT_ONCE],
            start: 0,
            end: 0,
            base: 0,
        }
    }

    /// The next bytes, without taking them; `None` if the file ends before. `number`: packets read
    /// so far.
    pub(super) fn peek(
        &mut self,
        count: usize,
        number: u64,
    ) -> Result<Option<&[u8]>, CaptureFileError> {
        if self.end - self.start < count && !self.fill(count, number)? {
            return Ok(None);
        }
        Ok(Some(&self.buffer[self.start..self.start + count]))
    }

    /// Takes bytes that were peeked.
    pub(super) fn take(&mut self, count: usize) -> Passed {
        let first = self.start;
        self.start = (self.start + count).min(self.end);
        first..self.start
    }

    /// Takes bytes without storing them; false if the file ends before.
    pub(super) fn skip(&mut self, mut count: u64, number: u64) -> Result<bool, CaptureFileError> {
        loop {
            let stored = (self.end - self.start) as u64;
            let taken = stored.min(count);
            self.start += taken as usize;
            count -= taken;
            if count == 0 {
                return Ok(true);
            }
            if !self.fill(1, number)? {
                return Ok(false);
            }
        }
    }

    /// Makes that many bytes readable; false if the file ends before.
    fn fill(&mut self, count: usize, number: u64) -> Result<bool, CaptureFileError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count.next_power_of_two(), 0);
        }
        while self.end < count {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(CaptureFileError::Read {
                        number,
                        offset: self.base + self.end as u64,
                        error,
                    });
                }
            }
        }
        Ok(true)
    }
}

impl<R> ByteInput<R> {
    /// Bytes that were taken, and are still stored.
    pub(super) fn passed(&self, range: Passed) -> &[u8] {
        &self.buffer[range]
    }

    /// Offset in the file of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// True if every byte that was read is taken. The file may have more.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }
}
