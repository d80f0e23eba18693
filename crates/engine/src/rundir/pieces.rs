//! How samples are read: a group of rows at a time, column by column.

use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::slice;

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use record::{Connect, MeasureId, Moments, Outcome, Sample, Timing};

use super::RunDirError;
use super::columns::TIMINGS;
use super::samples::{Segment, failed};

/// Samples on disk, a row group at a time.
pub struct Pieces<'a> {
    /// Those that have not been opened yet.
    segments: slice::Iter<'a, Segment>,
    open: Option<OpenSegment<'a>>,
    measures: &'a [String],
}

impl<'a> Pieces<'a> {
    pub(super) fn new(
        segments: &'a [Segment],
        measures: &'a [String],
    ) -> Result<Pieces<'a>, RunDirError> {
        let mut pieces = Pieces {
            segments: segments.iter(),
            open: None,
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
            let piece = self.open.as_mut()?.next_piece(self.measures);
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
pub(super) struct OpenSegment<'a> {
    reader: SerializedFileReader<File>,
    /// Where each column is.
    places: BTreeMap<String, usize>,
    /// The next row group.
    next: usize,
    path: &'a Path,
}

impl<'a> OpenSegment<'a> {
    pub(super) fn new(segment: &'a Segment) -> Result<OpenSegment<'a>, RunDirError> {
        let path = segment.path();
        let file = segment.file()?;
        let reader = unless_damaged(|| SerializedFileReader::new(file))
            .map_err(|error| failed("reading failed", path, &error))?;
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
    pub(super) fn rows(&self) -> u64 {
        let rows = self.reader.metadata().file_metadata().num_rows();
        u64::try_from(rows).unwrap_or(0)
    }

    fn next_piece(&mut self, measures: &[String]) -> Option<Result<Vec<Sample>, RunDirError>> {
        if self.next >= self.reader.num_row_groups() {
            return None;
        }
        let samples = unless_damaged(|| {
            let group = self.reader.get_row_group(self.next)?;
            let group = Group {
                reader: &*group,
                places: &self.places,
            };
            group.samples(measures)
        });
        self.next += 1;
        Some(samples.map_err(|error| failed("reading failed", self.path, &error)))
    }
}

/// Reads, and turns a panic into an error: the reader of Parquet asserts what a damaged page does not
/// keep (found by fuzzing). What it was reading is dropped with it.
fn unless_damaged<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = |_| Err(ParquetError::General("the file is damaged".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

/// A group of rows.
struct Group<'a> {
    reader: &'a dyn RowGroupReader,
    places: &'a BTreeMap<String, usize>,
}

impl Group<'_> {
    fn samples(&self, measures: &[String]) -> Result<Vec<Sample>, ParquetError> {
        let measure = self.texts("measure", |name| {
            let place = measures.iter().position(|measure| measure == name);
            let place = place.and_then(|place| u16::try_from(place).ok());
            place
                .map(MeasureId)
                .ok_or_else(|| format!("`{name}` is not in the plan"))
        })?;
        let outcome = self.texts("outcome", |name| {
            Outcome::from_name(name).ok_or_else(|| format!("`{name}` is no outcome"))
        })?;
        let timing = self.texts("timing", |name| {
            let place = TIMINGS.iter().position(|timing| *timing == name);
            place.ok_or_else(|| format!("`{name}` is no timing"))
        })?;
        let user = self.cells::<Int32Type>("user")?;
        let status = self.cells::<Int32Type>("status")?;
        let (number, visit) = (self.numbers("number")?, self.numbers("visit")?);
        let (planned, started) = (self.numbers("planned_ns")?, self.numbers("started_ns")?);
        let (sent, acked) = (self.numbers("sent_ns")?, self.numbers("acked_ns")?);
        let (first, done) = (self.numbers("first_ns")?, self.numbers("done_ns")?);
        let (tcp, tls) = (self.numbers("connect_ns")?, self.numbers("tls_ns")?);
        let bias = self.cells::<Int64Type>("bias_ns")?;
        let resumed = match self.places.contains_key("tls_resumed") {
            true => self.cells::<BoolType>("tls_resumed")?,
            // Format 3.
            false => vec![None; self.rows()],
        };
        let resent = self.cells::<BoolType>("resent")?;
        let (bytes_sent, bytes_received) =
            (self.numbers("bytes_sent")?, self.numbers("bytes_received")?);
        let body_received = self.numbers("body_received")?;
        (0..self.rows())
            .map(|row| {
                Ok(Sample {
                    measure: measure[row],
                    user: there(&user, row, "user")?.cast_unsigned(),
                    number: there(&number, row, "number")?,
                    visit: visit[row],
                    outcome: outcome[row],
                    status: status[row].and_then(|status| u16::try_from(status).ok()),
                    moments: Moments {
                        planned: there(&planned, row, "planned_ns")?,
                        started: there(&started, row, "started_ns")?,
                        sent: sent[row],
                        acked: acked[row],
                        first: first[row],
                        done: done[row],
                    },
                    timing: match timing[row] {
                        0 => Timing::User,
                        1 => Timing::Kernel { bias: bias[row] },
                        _ => Timing::Missed,
                    },
                    connect: tcp[row].map(|tcp| Connect {
                        tcp,
                        tls: tls[row],
                        resumed: resumed[row],
                    }),
                    resent: there(&resent, row, "resent")?,
                    bytes_sent: there(&bytes_sent, row, "bytes_sent")?,
                    bytes_received: there(&bytes_received, row, "bytes_received")?,
                    body_received: there(&body_received, row, "body_received")?,
                })
            })
            .collect()
    }

    fn rows(&self) -> usize {
        usize::try_from(self.reader.metadata().num_rows()).unwrap_or(0)
    }

    /// A column of numbers none of which is negative.
    fn numbers(&self, column: &str) -> Result<Vec<Option<u64>>, ParquetError> {
        let cells = self.cells::<Int64Type>(column)?.into_iter();
        cells
            .map(|cell| {
                let number = cell.map(u64::try_from).transpose();
                number.map_err(|_| general(format!("{column} is negative in a row")))
            })
            .collect()
    }

    /// A column of texts of which few are different, each understood once.
    fn texts<M: Copy>(
        &self,
        column: &str,
        meaning: impl Fn(&str) -> Result<M, String>,
    ) -> Result<Vec<M>, ParquetError> {
        let mut known: Vec<(ByteArray, M)> = Vec::new();
        let mut meanings = Vec::with_capacity(self.rows());
        for cell in self.cells::<ByteArrayType>(column)? {
            let text = cell.ok_or_else(|| missing(column))?;
            if let Some((_, meaning)) = known.iter().find(|(known, _)| *known == text) {
                meanings.push(*meaning);
                continue;
            }
            let found = meaning(text.as_utf8()?).map_err(general)?;
            meanings.push(found);
            known.push((text, found));
        }
        Ok(meanings)
    }

    /// All cells of a column, one for each row.
    fn cells<T: DataType>(&self, column: &str) -> Result<Vec<Option<T::T>>, ParquetError> {
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
        if levels.is_empty() {
            return Ok(values.into_iter().map(Some).collect());
        }
        let mut values = values.into_iter();
        let cell = |level: i16| if level > 0 { values.next() } else { None };
        Ok(levels.into_iter().map(cell).collect())
    }
}

/// The cell of a column that has one in every row.
fn there<T: Copy>(cells: &[Option<T>], row: usize, column: &str) -> Result<T, ParquetError> {
    cells
        .get(row)
        .copied()
        .flatten()
        .ok_or_else(|| missing(column))
}

fn missing(column: &str) -> ParquetError {
    general(format!("{column} is missing in a row"))
}

fn general(message: String) -> ParquetError {
    ParquetError::General(message)
}
