//! Checks a file of samples before the Parquet reader, which trusts the file.
//!
//! Parquet describes its columns and pages in structures of Thrift. Its reader skips unknown parts
//! of them, without a limit at the end of a file, reads 2^31 elements without bytes one by one, and
//! allocates memory for announced counts before it reads the elements: a few kilobytes keep it busy
//! for days, or need gigabytes (found by fuzzing and by reading it). So each description is checked
//! before the reader sees it. It must have the fields, types and encodings that this program
//! writes, of which every one takes at least a byte, and no larger numbers.

use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use record::COLUMNS;

use crate::samples::ROWS_PER_GROUP;

/// A value in the compact protocol of Thrift.
enum ThriftShape {
    Flag,
    /// A number of this many bits, from 0 to this.
    Number(u8, u64),
    /// One of these numbers of 32 bits.
    Choice(&'static [u64]),
    Text,
    /// A list of at most this many elements.
    List(&'static ThriftShape, u64),
    Fields(&'static [(u8, ThriftShape)]),
}

use ThriftShape::{Choice, Fields, Flag, List, Number, Text};

const INT32: ThriftShape = Number(32, i32::MAX as u64);
const INT64: ThriftShape = Number(64, i64::MAX as u64);
const MOST_COLUMNS: u64 = COLUMNS.len() as u64;
const MOST_ROWS: u64 = ROWS_PER_GROUP as u64;
/// Flags, numbers of 32 and of 64 bits, and texts.
const TYPE: ThriftShape = Choice(&[0, 1, 2, 6]);
/// Pages of data and of a dictionary.
const PAGE_TYPE: ThriftShape = Choice(&[0, 2]);
const PLAIN: u64 = 0;
const RLE: u64 = 3;
const DELTA_BINARY_PACKED: u64 = 5;
const RLE_DICTIONARY: u64 = 8;
const ENCODING: ThriftShape = Choice(&[PLAIN, RLE, DELTA_BINARY_PACKED, RLE_DICTIONARY]);
/// Most encodings, and most kinds of pages with them.
const FEW: u64 = 16;

/// The description at the end of a file: `FileMetaData` of `parquet.thrift`.
const FILE: ThriftShape = Fields(&[
    (1, INT32),
    (2, List(&SCHEMA_ELEMENT, MOST_COLUMNS + 1)),
    (3, INT64),
    (4, List(&ROW_GROUP, i32::MAX as u64)),
    (5, List(&Fields(&[(1, Text), (2, Text)]), FEW)),
    (6, Text),
    (7, List(&Fields(&[(1, Fields(&[]))]), MOST_COLUMNS)),
]);
const SCHEMA_ELEMENT: ThriftShape = Fields(&[
    (1, TYPE),
    (3, Number(32, 1)),
    (4, Text),
    (5, Number(32, MOST_COLUMNS)),
    (6, Choice(&[0])),
]);
const ROW_GROUP: ThriftShape = Fields(&[
    (1, List(&COLUMN_CHUNK, MOST_COLUMNS)),
    (2, INT64),
    (3, Number(64, MOST_ROWS)),
    (5, INT64),
    (6, INT64),
    (7, Number(16, i16::MAX as u64)),
]);
const COLUMN_CHUNK: ThriftShape = Fields(&[(2, INT64), (3, COLUMN), (4, INT64), (5, INT32)]);
const COLUMN: ThriftShape = Fields(&[
    (1, TYPE),
    (2, List(&ENCODING, FEW)),
    (3, List(&Text, 1)),
    // Not compressed: a decompressed page could have any size.
    (4, Choice(&[0])),
    (5, Number(64, MOST_ROWS)),
    (6, INT64),
    (7, INT64),
    (9, INT64),
    (11, INT64),
    (
        13,
        List(&Fields(&[(1, PAGE_TYPE), (2, ENCODING), (3, INT32)]), FEW),
    ),
]);
/// The description before a page: `PageHeader`.
const PAGE: ThriftShape = Fields(&[
    (1, PAGE_TYPE),
    (2, INT32),
    (3, INT32),
    (
        5,
        Fields(&[
            (1, Number(32, MOST_ROWS)),
            (2, Choice(&[PLAIN, DELTA_BINARY_PACKED, RLE_DICTIONARY])),
            (3, Choice(&[RLE])),
            (4, Choice(&[RLE])),
        ]),
    ),
    (
        7,
        Fields(&[(1, Number(32, MOST_ROWS)), (2, Choice(&[PLAIN])), (3, Flag)]),
    ),
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

/// A list has its type in four bits and its length in the others; this value means that the length
/// follows.
const LENGTH_FOLLOWS: u8 = 15;

impl ThriftShape {
    /// The bytes after a value of this shape and type; `None` if the bytes are invalid.
    fn skip<'a>(&self, kind: u8, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match (self, kind) {
            (Flag, TRUE | FALSE) => Some(bytes),
            (Number(16, most), I16) | (Number(32, most), I32) | (Number(64, most), I64) => {
                let (number, rest) = natural(bytes)?;
                (number <= *most).then_some(rest)
            }
            (Choice(all), I32) => {
                let (number, rest) = natural(bytes)?;
                all.contains(&number).then_some(rest)
            }
            (Text, BINARY) => {
                let (length, rest) = number(bytes)?;
                rest.get(usize::try_from(length).ok()?..)
            }
            (List(element, most), LIST) => {
                let (&head, mut rest) = bytes.split_first()?;
                let (mut count, kind) = (u64::from(head >> 4), head & 15);
                if head >> 4 == LENGTH_FOLLOWS {
                    (count, rest) = number(rest)?;
                }
                if count > *most {
                    return None;
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
                    // Fields are in order: no duplicates, and no gap so large that the number
                    // follows.
                    let field = (head >> 4 > 0).then_some(last + (head >> 4))?;
                    let (_, shape) = fields.iter().find(|(number, _)| *number == field)?;
                    (last, rest) = (field, shape.skip(head & 15, behind)?);
                }
            }
            _ => None,
        }
    }
}

/// A number of variable length, and the bytes after it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(index).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}

/// A signed number that is not negative, and the bytes after it: its sign is in the lowest bit.
fn natural(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = number(bytes)?;
    (number & 1 == 0).then_some((number >> 1, rest))
}

/// The end of a file: the length of its description, and `PAR1`.
const TAIL: u64 = 8;

/// Longest description of a page, in bytes; this program writes some 20.
const LONGEST_PAGE: u64 = 256;

/// Longest page, and longest description of a file that others can write to, in bytes: a sparse
/// file has any length without using space. Texts of a kilobyte make a page of 8 MiB.
const LARGEST_PIECE: u64 = 64 << 20;

/// A file with checked descriptions.
pub(crate) struct CheckedFile {
    file: File,
    /// End of its pages.
    pages: u64,
    /// The description behind them. It is read only once, so that the checked bytes are used.
    end: Bytes,
}

impl CheckedFile {
    /// Checks the description at the end of the file, which is not limited if the file `is_own`:
    /// only this process can write to it.
    pub(crate) fn new(file: File, is_own: bool) -> Result<CheckedFile, ParquetError> {
        let start = file.metadata()?.len().checked_sub(TAIL);
        let start = start.ok_or_else(incomplete)?;
        let tail = bytes(&file, start, TAIL, TAIL)?;
        let size = tail
            .first_chunk()
            .map_or(0, |size| u64::from(u32::from_le_bytes(*size)));
        let pages = start.checked_sub(size).ok_or_else(incomplete)?;
        let most = if is_own { u64::MAX } else { LARGEST_PIECE };
        let mut end = bytes(&file, pages, size, most)?;
        if FILE.skip(STRUCT, &end).is_none_or(|rest| !rest.is_empty()) {
            return Err(unknown("its end"));
        }
        end.extend_from_slice(&tail);
        let end = Bytes::from(end);
        Ok(CheckedFile { file, pages, end })
    }

    /// End of its pages.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    fn read_pages(&self, start: u64, length: u64) -> Result<Vec<u8>, ParquetError> {
        let rest = self.pages.checked_sub(start);
        if rest.is_none_or(|rest| rest < length) {
            return Err(incomplete());
        }
        bytes(&self.file, start, length, LARGEST_PIECE)
    }
}

fn bytes(file: &File, start: u64, length: u64, most: u64) -> Result<Vec<u8>, ParquetError> {
    if length > most {
        let message = format!("{length} bytes of it belong together, and at most {most} are read");
        return Err(ParquetError::General(message));
    }
    let mut bytes = vec![0; usize::try_from(length)?];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.pages + self.end.len() as u64
    }
}

impl ChunkReader for CheckedFile {
    type T = Cursor<Bytes>;

    /// The description of a page, or the end of the file: the reader requests nothing else without
    /// a length.
    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let rest = self.len().checked_sub(start).ok_or_else(incomplete)?;
        if start >= self.pages {
            return self
                .get_bytes(start, usize::try_from(rest)?)
                .map(Cursor::new);
        }
        let mut bytes = self.read_pages(start, LONGEST_PAGE.min(self.pages - start))?;
        let behind = PAGE.skip(STRUCT, &bytes).ok_or_else(|| unknown("a page"))?;
        bytes.truncate(bytes.len() - behind.len());
        Ok(Cursor::new(Bytes::from(bytes)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let Some(start_in_end) = start.checked_sub(self.pages) else {
            return self.read_pages(start, length as u64).map(Bytes::from);
        };
        let start = usize::try_from(start_in_end)?;
        let end = start.checked_add(length);
        let end = end.filter(|end| *end <= self.end.len());
        end.map(|end| self.end.slice(start..end))
            .ok_or_else(incomplete)
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

    /// A field of 32 bits, `behind` after the last one.
    fn int32(behind: u8, number: i32) -> Vec<u8> {
        let mut rest = ((number << 1) ^ (number >> 31)).cast_unsigned();
        let mut bytes = vec![behind << 4 | I32];
        while rest > 0x7f {
            bytes.push(0x80 | (rest & 0x7f) as u8);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
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
        // An unknown field of 2^31 flags, which take no bytes in the Parquet reader.
        let flags = [&[0x99_u8, 0xf1][..], &[0xff, 0xff, 0xff, 0xff, 7], &[0]].concat();
        assert_eq!(skipped(&flags), None);
        // A dictionary of more values than all rows together, and of fewer than none.
        let dictionary = |values: i32| {
            let page = [
                &[0x15, 4, 0x15, 8, 0x15, 8, 0x4c][..],
                &int32(1, values),
                &[0x15, 0, 0x11, 0, 0],
            ];
            skipped(&page.concat())
        };
        assert_eq!(
            [8192, 8193, i32::MAX, -1].map(dictionary),
            [Some(0), None, None, None]
        );
        // Encodings of texts with their lengths.
        let encoded = |encoding: i32| {
            let page = [&page[..9], &int32(1, encoding), &page[13..]].concat();
            skipped(&page)
        };
        assert_eq!([0, 5, 8].map(encoded), [Some(0); 3]);
        assert_eq!([1, 2, 3, 4, 6, 7, 9].map(encoded), [None; 7]);
        // A size that is a text.
        assert_eq!(skipped(&[0x15, 0, 0x18, 1, 7, 0]), None);
        // The same field again.
        assert_eq!(skipped(&[0x15, 0, 0x05, 2, 2, 0]), None);
    }

    #[test]
    fn a_file_has_the_columns_of_samples_and_no_codec() {
        let children = |count: i32| {
            SCHEMA_ELEMENT
                .skip(STRUCT, &[int32(5, count), vec![0]].concat())
                .is_some()
        };
        assert_eq!(
            [31, 32, i32::MAX, -1].map(children),
            [true, false, false, false]
        );
        let elements = |count: u8| {
            let list = [
                &int32(1, 1)[..],
                &[0x19, 0xfc, count],
                &vec![0; count.into()],
                &[0],
            ];
            FILE.skip(STRUCT, &list.concat()).is_some()
        };
        assert_eq!([32, 33, 64].map(elements), [true, false, false]);
        let codec = |codec: i32| {
            COLUMN
                .skip(STRUCT, &[int32(4, codec), vec![0]].concat())
                .is_some()
        };
        assert_eq!([0, 1, 2].map(codec), [true, false, false]);
        let rows = |rows: u8| ROW_GROUP.skip(STRUCT, &[0x36, rows, 0]).is_some();
        assert_eq!([2, 1].map(rows), [true, false]);
    }
}
