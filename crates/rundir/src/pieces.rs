//! Reading of samples: a group of rows at a time, by column.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::{ptr, slice};

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use record::{Cell, Column, Holds, Sample};

use super::checked::CheckedFile;
use super::error::RunDirError;
use super::samples::{Segment, failed};

/// Samples on disk, a row group at a time.
pub struct Pieces<'a> {
    /// Segments that have not been opened yet.
    segments: slice::Iter<'a, Segment>,
    open: Option<OpenSegment>,
    columns: &'a [&'static Column],
    measures: MeasureIndices<'a>,
}

/// Index of each measure in the plan.
type MeasureIndices<'a> = HashMap<&'a str, usize>;

impl<'a> Pieces<'a> {
    pub(crate) fn new(
        segments: &'a [Segment],
        columns: &'a [&'static Column],
        measures: &'a [String],
    ) -> Result<Pieces<'a>, RunDirError> {
        let mut pieces = Pieces {
            segments: segments.iter(),
            open: None,
            columns,
            measures: (measures.iter().map(String::as_str)).zip(0..).collect(),
        };
        pieces.open_next()?;
        Ok(pieces)
    }

    fn open_next(&mut self) -> Result<(), RunDirError> {
        self.open = self.segments.next().map(OpenSegment::new).transpose()?;
        Ok(())
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Vec<Sample>, RunDirError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let piece = self.open.as_mut()?.next_piece(self.columns, &self.measures);
            if piece.is_some() {
                return piece;
            }
            if let Err(error) = self.open_next() {
                return Some(Err(error));
            }
        }
    }
}

pub(crate) struct OpenSegment {
    reader: SerializedFileReader<CheckedFile>,
    /// Index of each column.
    indices: BTreeMap<String, usize>,
    /// Index of the next row group.
    next: usize,
    path: PathBuf,
}

impl OpenSegment {
    pub(crate) fn new(segment: &Segment) -> Result<OpenSegment, RunDirError> {
        let path = segment.path();
        let file = segment.file()?;
        let is_own = matches!(segment, Segment::Temporary(_));
        let reader = unless_damaged(|| {
            let file = CheckedFile::new(file, is_own)?;
            let pages = file.pages();
            let reader = SerializedFileReader::new(file)?;
            is_of_its_size(reader.metadata(), pages)?;
            Ok(reader)
        })
        .map_err(|error| failed("reading failed", &path, &error))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names = schema.columns().iter().enumerate();
        let indices = names.map(|(index, column)| (column.name().to_owned(), index));
        Ok(OpenSegment {
            indices: indices.collect(),
            reader,
            next: 0,
            path,
        })
    }

    /// Samples in all of its row groups.
    pub(crate) fn rows(&self) -> u64 {
        let rows = self.reader.metadata().file_metadata().num_rows();
        u64::try_from(rows).unwrap_or(0)
    }

    fn next_piece(
        &mut self,
        columns: &[&Column],
        measures: &MeasureIndices<'_>,
    ) -> Option<Result<Vec<Sample>, RunDirError>> {
        if self.next >= self.reader.num_row_groups() {
            return None;
        }
        let samples = unless_damaged(|| {
            let group = self.reader.get_row_group(self.next)?;
            let group = RowGroup {
                reader: &*group,
                indices: &self.indices,
            };
            group.samples(columns, measures)
        });
        self.next += 1;
        Some(samples.map_err(|error| failed("reading failed", &self.path, &error)))
    }
}

/// Checks that groups have pages of their own, and as many rows as announced, so that reading takes
/// memory and time in proportion to the file. No group has more rows than are written together
/// ([`CheckedFile`]).
pub(crate) fn is_of_its_size(file: &ParquetMetaData, pages: u64) -> Result<(), ParquetError> {
    let (mut end, mut rows) = (0, 0);
    for group in file.row_groups() {
        rows += group.num_rows();
        for column in group.columns() {
            let (start, length) = column.byte_range();
            if start < end {
                return Err(general("columns share pages".to_owned()));
            }
            end = start + length;
        }
    }
    if end > pages {
        return Err(general("a column is not complete".to_owned()));
    }
    match file.file_metadata().num_rows() {
        all if all == rows => Ok(()),
        all => Err(general(format!(
            "{rows} rows are there, and should be {all}"
        ))),
    }
}

/// Turns a panic of the Parquet reader into an error: it asserts properties that a damaged page
/// does not have (found by fuzzing). Its state is dropped with it.
fn unless_damaged<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = |_| Err(ParquetError::General("the file is damaged".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

struct RowGroup<'a> {
    reader: &'a dyn RowGroupReader,
    indices: &'a BTreeMap<String, usize>,
}

impl RowGroup<'_> {
    fn samples(
        &self,
        columns: &[&Column],
        measures: &MeasureIndices<'_>,
    ) -> Result<Vec<Sample>, ParquetError> {
        let mut samples = vec![Sample::blank(); self.rows()];
        for column in columns {
            for (sample, cell) in samples.iter_mut().zip(self.column(column, measures)?) {
                (column.put)(sample, cell).ok_or_else(|| match cell {
                    Cell::Absent => general(format!("{} is missing in a row", column.name)),
                    _ => general(format!("{} cannot be {cell:?}", column.name)),
                })?;
            }
        }
        Ok(samples)
    }

    /// The cells of a column, one for each row.
    fn column(
        &self,
        column: &Column,
        measures: &MeasureIndices<'_>,
    ) -> Result<Vec<Cell>, ParquetError> {
        match column.holds {
            Holds::Measures => self.texts(column.name, |text| measures.get(text).copied()),
            Holds::Words(words) => self.texts(column.name, |text| {
                words.iter().position(|word| *word == text)
            }),
            Holds::Int32 => {
                self.cells::<Int32Type>(column.name, |number| Cell::Number(i64::from(number)))
            }
            Holds::Int64 => self.cells::<Int64Type>(column.name, Cell::Number),
            Holds::Flags => self.cells::<BoolType>(column.name, Cell::Flag),
        }
    }

    fn rows(&self) -> usize {
        usize::try_from(self.reader.metadata().num_rows()).unwrap_or(0)
    }

    /// A column of texts with few distinct values, each looked up once for all rows that share its
    /// position in the file: a text may be as long as the file.
    fn texts(
        &self,
        column: &str,
        index: impl Fn(&str) -> Option<usize>,
    ) -> Result<Vec<Cell>, ParquetError> {
        let mut known: HashMap<*const [u8], Cell> = HashMap::new();
        let mut unknown = None;
        // All texts are in memory before the first lookup, so addresses are unique.
        let cells = self.cells::<ByteArrayType>(column, |text| {
            *known.entry(ptr::from_ref(text.data())).or_insert_with(|| {
                let name = String::from_utf8_lossy(text.data());
                index(&name).map_or_else(
                    || {
                        unknown.get_or_insert_with(|| name.into_owned());
                        Cell::Absent
                    },
                    Cell::Index,
                )
            })
        })?;
        match unknown {
            Some(name) => Err(general(format!("`{name}` is no {column} of this run"))),
            None => Ok(cells),
        }
    }

    fn cells<T: DataType>(
        &self,
        column: &str,
        mut cell: impl FnMut(T::T) -> Cell,
    ) -> Result<Vec<Cell>, ParquetError> {
        let index = self
            .indices
            .get(column)
            .ok_or_else(|| general(format!("the column {column} is missing")))?;
        let described = self.reader.metadata().column(*index).column_type();
        if described != T::get_physical_type() {
            return Err(general(format!("the column {column} holds {described}")));
        }
        let mut reader = get_typed_column_reader::<T>(self.reader.get_column_reader(*index)?);
        let (rows, mut levels, mut values) = (self.rows(), Vec::new(), Vec::new());
        let (read, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
        if read != rows {
            return Err(general(format!(
                "the column {column} ends after {read} rows"
            )));
        }
        let mut values = values.into_iter();
        if levels.is_empty() {
            return Ok(values.map(cell).collect());
        }
        let mut next = || values.next().map_or(Cell::Absent, &mut cell);
        let of_level = |level: i16| if level > 0 { next() } else { Cell::Absent };
        Ok(levels.into_iter().map(of_level).collect())
    }
}

fn general(message: String) -> ParquetError {
    ParquetError::General(message)
}
