//! A file of samples for the reader of Parquet, which believes what a file says of itself.
//!
//! Parquet describes its columns and pages in structures of Thrift. Its reader skips what it does not know of them, at the
//! end of a file without end, and takes 2^31 elements of no bytes one by one: a few kilobytes keep it busy for
//! days (found by fuzzing). So each description is looked at before the reader sees it. It must have the fields and the
//! types of those that this program writes, of which every one takes at least a byte.

use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

/// A value in the compact protocol of Thrift.
enum ThriftShape {
    Flag,
    /// In this many bits.
    Number(u8),
    Text,
    List(&'static ThriftShape),
    Fields(&'static [(u8, ThriftShape)]),
}

use ThriftShape::{Fields, Flag, List, Number, Text};

/// What the end of a file says of all of it: `FileMetaData` of `parquet.thrift`.
const FILE: ThriftShape = Fields(&[
    (1, Number(32)),
    (2, List(&SCHEMA_ELEMENT)),
    (3, Number(64)),
    (4, List(&ROW_GROUP)),
    (6, Text),
    (7, List(&Fields(&[(1, Fields(&[]))]))),
]);
const SCHEMA_ELEMENT: ThriftShape = Fields(&[
    (1, Number(32)),
    (3, Number(32)),
    (4, Text),
    (5, Number(32)),
    (6, Number(32)),
]);
const ROW_GROUP: ThriftShape = Fields(&[
    (1, List(&COLUMN_CHUNK)),
    (2, Number(64)),
    (3, Number(64)),
    (5, Number(64)),
    (6, Number(64)),
    (7, Number(16)),
]);
const COLUMN_CHUNK: ThriftShape = Fields(&[
    (2, Number(64)),
    (3, COLUMN),
    (4, Number(64)),
    (5, Number(32)),
]);
const COLUMN: ThriftShape = Fields(&[
    (1, Number(32)),
    (2, List(&Number(32))),
    (3, List(&Text)),
    (4, Number(32)),
    (5, Number(64)),
    (6, Number(64)),
    (7, Number(64)),
    (9, Number(64)),
    (11, Number(64)),
    (
        13,
        List(&Fields(&[
            (1, Number(32)),
            (2, Number(32)),
            (3, Number(32)),
        ])),
    ),
]);
/// What stands before a page: `PageHeader`.
const PAGE: ThriftShape = Fields(&[
    (1, Number(32)),
    (2, Number(32)),
    (3, Number(32)),
    (
        5,
        Fields(&[
            (1, Number(32)),
            (2, Number(32)),
            (3, Number(32)),
            (4, Number(32)),
        ]),
    ),
    (7, Fields(&[(1, Number(32)), (2, Number(32)), (3, Flag)])),
]);

/// Types of the compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A list names its type in four bits and its length in the others; this many mean that the length follows.
const LENGTH_FOLLOWS: u8 = 15;

impl ThriftShape {
    /// What follows a value of this shape, which has that type; `None` where the bytes are none.
    fn skip<'a>(&self, kind: u8, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match (self, kind) {
            (Flag, TRUE | FALSE) => Some(bytes),
            (Number(16), I16) | (Number(32), I32) | (Number(64), I64) => Some(number(bytes)?.1),
            (Text, BINARY) => {
                let (length, rest) = number(bytes)?;
                rest.get(usize::try_from(length).ok()?..)
            }
            (List(element), LIST) => {
                let (&head, mut rest) = bytes.split_first()?;
                let (mut count, kind) = (u64::from(head >> 4), head & 15);
                if head >> 4 == LENGTH_FOLLOWS {
                    (count, rest) = number(rest)?;
                }
                for _ in 0..count {
                    rest = element.skip(kind, rest)?;
                }
                Some(rest)
            }
            (Fields(fields), STRUCT) => {
                let (mut last, mut rest) = (0, bytes);
                loop {
                    let (&head, behind) = rest.split_first()?;
                    if head == 0 {
                        return Some(behind);
                    }
                    // Fields stand in order: none is there twice, or so far behind that its number follows.
                    let field = (head >> 4 > 0).then_some(last + (head >> 4))?;
                    let (_, shape) = fields.iter().find(|(number, _)| *number == field)?;
                    (last, rest) = (field, shape.skip(head & 15, behind)?);
                }
            }
            _ => None,
        }
    }
}

/// A number of variable length, and what follows it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(place).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[place + 1..]));
        }
    }
    None
}

/// The end of a file: the length of its description, and `PAR1`.
const TAIL: u64 = 8;

/// Longest description of a page, in bytes; this program writes some 20.
const LONGEST_PAGE: u64 = 256;

/// A file whose descriptions are looked at.
pub(crate) struct CheckedFile {
    file: File,
    length: u64,
}

impl CheckedFile {
    /// Looks at what the end of the file says.
    pub(crate) fn new(file: File) -> Result<CheckedFile, ParquetError> {
        let length = file.metadata()?.len();
        let file = CheckedFile { file, length };
        let start = length.checked_sub(TAIL).ok_or_else(incomplete)?;
        let tail = file.bytes(start, TAIL)?;
        let size = tail
            .first_chunk()
            .map_or(0, |size| u32::from_le_bytes(*size));
        let start = start.checked_sub(u64::from(size)).ok_or_else(incomplete)?;
        let description = file.bytes(start, u64::from(size))?;
        match FILE.skip(STRUCT, &description) {
            Some([]) => Ok(file),
            _ => Err(unknown("its end")),
        }
    }

    fn bytes(&self, start: u64, length: u64) -> Result<Vec<u8>, ParquetError> {
        if self
            .length
            .checked_sub(start)
            .is_none_or(|rest| rest < length)
        {
            return Err(incomplete());
        }
        let mut bytes = vec![0; usize::try_from(length)?];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for CheckedFile {
    type T = Cursor<Vec<u8>>;

    /// The description of a page, or the last bytes of the file: there is nothing else that the reader wants without saying
    /// how much.
    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let rest = self.length.checked_sub(start).ok_or_else(incomplete)?;
        let mut bytes = self.bytes(start, rest.min(LONGEST_PAGE))?;
        if rest != TAIL {
            let behind = PAGE.skip(STRUCT, &bytes).ok_or_else(|| unknown("a page"))?;
            bytes.truncate(bytes.len() - behind.len());
        }
        Ok(Cursor::new(bytes))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.bytes(start, length as u64).map(Bytes::from)
    }
}

fn incomplete() -> ParquetError {
    ParquetError::General("the file is not complete".to_owned())
}

fn unknown(what: &str) -> ParquetError {
    ParquetError::General(format!("{what} is not described as this program does"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end() {
        assert_eq!(number(&[0xac, 0x02, 7]), Some((300, &[7][..])));
        assert_eq!(number(&[0xff; 9]), None);
        assert_eq!(number(&[0xff; 20]), None);
    }

    #[test]
    fn only_what_is_written_is_read() {
        // Type, sizes, and 20 values of a page.
        let page = [
            0x15, 0, 0x15, 8, 0x15, 8, 0x2c, 0x15, 40, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0,
        ];
        let skipped = |bytes: &[u8]| PAGE.skip(STRUCT, bytes).map(<[u8]>::len);
        assert_eq!(skipped(&page), Some(0));
        assert_eq!(skipped(&[&page[..], &[1, 2]].concat()), Some(2));
        for end in 0..page.len() {
            assert_eq!(skipped(&page[..end]), None);
        }
        // A field that is not known, of 2^31 flags, which take no byte in the reader of Parquet.
        let flags = [&[0x99_u8, 0xf1][..], &[0xff, 0xff, 0xff, 0xff, 7], &[0]].concat();
        assert_eq!(skipped(&flags), None);
        // A size that is a text.
        assert_eq!(skipped(&[0x15, 0, 0x18, 1, 7, 0]), None);
        // The same field again.
        assert_eq!(skipped(&[0x15, 0, 0x05, 2, 2, 0]), None);
    }
}
