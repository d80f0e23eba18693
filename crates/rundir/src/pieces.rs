//! How samples are read: a group of rows at a time, column by column.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::slice;

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use record::{Cell, Column, Holds, Sample};

use super::RunDirError;
use super::checked::CheckedFile;
use super::samples::{ROWS_PER_GROUP, Segment, failed};

/// Samples on disk, a row group at a time.
pub struct Pieces<'a> {
    /// Those that have not been opened yet.
    segments: slice::Iter<'a, Segment>,
    open: Option<OpenSegment>,
    columns: &'a [&'static Column],
    measures: &'a [String],
}

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
            measures,
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
            let piece = self.open.as_mut()?.next_piece(self.columns, self.measures);
            if piece.is_some() {
                return piece;
            }
            if let Err(error) = self.open_next() {
                return Some(Err(error));
            }
        }
    }
}

/// A segment that is being read.
pub(crate) struct OpenSegment {
    reader: SerializedFileReader<CheckedFile>,
    /// Where each column is.
    places: BTreeMap<String, usize>,
    /// The next row group.
    next: usize,
    path: PathBuf,
}

impl OpenSegment {
    pub(crate) fn new(segment: &Segment) -> Result<OpenSegment, RunDirError> {
        let path = segment.path();
        let file = segment.file()?;
        let reader = unless_damaged(|| {
            let reader = SerializedFileReader::new(CheckedFile::new(file)?)?;
            is_of_its_size(reader.metadata())?;
            Ok(reader)
        })
        .map_err(|error| failed("reading failed", &path, &error))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names = schema.columns().iter().enumerate();
        let places = names.map(|(place, column)| (column.name().to_owned(), place));
        Ok(OpenSegment {
            places: places.collect(),
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
        measures: &[String],
    ) -> Option<Result<Vec<Sample>, RunDirError>> {
        if self.next >= self.reader.num_row_groups() {
            return None;
        }
        let samples = unless_damaged(|| {
            let group = self.reader.get_row_group(self.next)?;
            let group = RowGroup {
                reader: &*group,
                places: &self.places,
            };
            group.samples(columns, measures)
        });
        self.next += 1;
        Some(samples.map_err(|error| failed("reading failed", &self.path, &error)))
    }
}

/// Groups have no more rows than are written together, and pages of their own: what is read of a file takes memory and
/// time by its size.
fn is_of_its_size(file: &ParquetMetaData) -> Result<(), ParquetError> {
    let mut end = 0;
    for group in file.row_groups() {
        if usize::try_from(group.num_rows()).is_ok_and(|rows| rows > ROWS_PER_GROUP) {
            return Err(general(format!("a group has {} rows", group.num_rows())));
        }
        for column in group.columns() {
            let (start, length) = column.byte_range();
            if start < end {
                return Err(general("columns share pages".to_owned()));
            }
            end = start + length;
        }
    }
    Ok(())
}

/// Reads, and turns a panic into an error: the reader of Parquet asserts what a damaged page does not
/// keep (found by fuzzing). What it was reading is dropped with it.
fn unless_damaged<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = |_| Err(ParquetError::General("the file is damaged".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

/// A group of rows.
struct RowGroup<'a> {
    reader: &'a dyn RowGroupReader,
    places: &'a BTreeMap<String, usize>,
}

impl RowGroup<'_> {
    fn samples(
        &self,
        columns: &[&Column],
        measures: &[String],
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
    fn column(&self, column: &Column, measures: &[String]) -> Result<Vec<Cell>, ParquetError> {
        match column.holds {
            Holds::Measures => self.texts(column.name, |text| {
                measures.iter().position(|measure| measure == text)
            }),
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

    /// A column of texts of which few are different, each looked up once.
    fn texts(
        &self,
        column: &str,
        place: impl Fn(&str) -> Option<usize>,
    ) -> Result<Vec<Cell>, ParquetError> {
        let mut known: Vec<(ByteArray, Cell)> = Vec::new();
        let mut unknown = None;
        let cells = self.cells::<ByteArrayType>(column, |text| {
            if let Some((_, cell)) = known.iter().find(|(known, _)| *known == text) {
                return *cell;
            }
            let name = String::from_utf8_lossy(text.data()).into_owned();
            let Some(place) = place(&name) else {
                unknown = Some(name);
                return Cell::Absent;
            };
            known.push((text, Cell::Place(place)));
            Cell::Place(place)
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
        let place = self
            .places
            .get(column)
            .ok_or_else(|| general(format!("the column {column} is missing")))?;
        let described = self.reader.metadata().column(*place).column_type();
        if described != T::get_physical_type() {
            return Err(general(format!("the column {column} holds {described}")));
        }
        let mut reader = get_typed_column_reader::<T>(self.reader.get_column_reader(*place)?);
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
