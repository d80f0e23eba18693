//! The columns of `samples.parquet`, and how a group of rows is written.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use record::{Outcome, PlanRecord, Sample, Timing};

/// Times are nanoseconds since the run began; absent where the operation did not come so far.
/// `timing` says which clock gave *sent* and *first*: `user`, `kernel`, or `missed` where a stamp of
/// the kernel never came; `bias_ns` is what user space would have added to the response time.
const SCHEMA: &str = "
message samples {
    REQUIRED BYTE_ARRAY measure (UTF8);
    REQUIRED INT32 user;
    REQUIRED INT64 number;
    REQUIRED BYTE_ARRAY outcome (UTF8);
    OPTIONAL INT32 status;
    REQUIRED INT64 planned_ns;
    REQUIRED INT64 started_ns;
    OPTIONAL INT64 sent_ns;
    OPTIONAL INT64 acked_ns;
    OPTIONAL INT64 first_ns;
    OPTIONAL INT64 done_ns;
    REQUIRED BYTE_ARRAY timing (UTF8);
    OPTIONAL INT64 bias_ns;
    OPTIONAL INT64 connect_ns;
    OPTIONAL INT64 tls_ns;
    REQUIRED BOOLEAN resent;
    REQUIRED INT64 bytes_sent;
    REQUIRED INT64 bytes_received;
}";

/// Columns of texts, of which there are few different ones.
const TEXTS: [&str; 3] = ["measure", "outcome", "timing"];

/// Names of [`Timing`], by their places.
pub(super) const TIMINGS: [&str; 3] = ["user", "kernel", "missed"];

/// A writer of such a file.
///
/// Numbers are written as differences from one row to the next, in as few bits as these need. That
/// is quicker than any general compression and leaves it nothing to do.
pub(super) fn writer(file: File) -> Result<SerializedFileWriter<File>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_write_batch_size(8192)
        .set_column_encoding(ColumnPath::from("resent"), Encoding::PLAIN);
    for text in TEXTS {
        properties = properties
            .set_column_encoding(ColumnPath::from(text), Encoding::PLAIN)
            .set_column_dictionary_enabled(ColumnPath::from(text), true);
    }
    SerializedFileWriter::new(file, schema, Arc::new(properties.build()))
}

/// The columns of texts.
pub(super) struct Words {
    measure: Texts,
    outcome: Texts,
    timing: Texts,
}

impl Words {
    pub(super) fn new(plan: &PlanRecord) -> Words {
        let measures = plan.measures.iter();
        Words {
            measure: Texts::new(measures.map(|measure| measure.name.as_str())),
            outcome: Texts::new(Outcome::ALL.iter().map(|outcome| outcome.name())),
            timing: Texts::new(TIMINGS.iter().copied()),
        }
    }
}

/// A column of texts of which few are different. Its cells stay from one group to the next, and
/// only those that change are made anew: making them all costs more than writing them.
struct Texts {
    texts: Vec<ByteArray>,
    /// Index into `texts`, row by row.
    places: Vec<usize>,
    cells: Vec<ByteArray>,
}

impl Texts {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Texts {
        Texts {
            texts: texts.map(ByteArray::from).collect(),
            places: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// The cells of these rows, of each the text at its place.
    fn cells(
        &mut self,
        rows: &[Sample],
        place: impl Fn(&Sample) -> usize,
    ) -> Result<&[ByteArray], ParquetError> {
        for (index, row) in rows.iter().enumerate() {
            let place = place(row);
            if self.places.get(index) == Some(&place) {
                continue;
            }
            let Some(text) = self.texts.get(place) else {
                return Err(ParquetError::General(format!(
                    "a sample belongs to measure {place}, which is not in the plan"
                )));
            };
            match self.cells.get_mut(index) {
                Some(cell) => (*cell, self.places[index]) = (text.clone(), place),
                None => {
                    self.cells.push(text.clone());
                    self.places.push(place);
                }
            }
        }
        Ok(&self.cells[..rows.len()])
    }
}

/// Writes a group of rows: the columns in the order of [`SCHEMA`].
pub(super) fn write_group(
    file: &mut SerializedFileWriter<File>,
    words: &mut Words,
    rows: &[Sample],
) -> Result<(), ParquetError> {
    let writer = file.next_row_group()?;
    let mut group = Group { writer, rows };
    let measure = words
        .measure
        .cells(rows, |row| usize::from(row.measure.0))?;
    group.column::<ByteArrayType>(measure, None)?;
    group.required::<Int32Type>(|row| row.user.cast_signed())?;
    group.required::<Int64Type>(|row| row.number.cast_signed())?;
    let outcome = words.outcome.cells(rows, |row| row.outcome as usize)?;
    group.column::<ByteArrayType>(outcome, None)?;
    group.optional::<Int32Type>(|row| row.status.map(i32::from))?;
    group.required::<Int64Type>(|row| row.moments.planned.cast_signed())?;
    group.required::<Int64Type>(|row| row.moments.started.cast_signed())?;
    group.optional::<Int64Type>(|row| row.moments.sent.map(u64::cast_signed))?;
    group.optional::<Int64Type>(|row| row.moments.acked.map(u64::cast_signed))?;
    group.optional::<Int64Type>(|row| row.moments.first.map(u64::cast_signed))?;
    group.optional::<Int64Type>(|row| row.moments.done.map(u64::cast_signed))?;
    let timing = words.timing.cells(rows, |row| match row.timing {
        Timing::User => 0,
        Timing::Kernel { .. } => 1,
        Timing::Missed => 2,
    })?;
    group.column::<ByteArrayType>(timing, None)?;
    group.optional::<Int64Type>(|row| match row.timing {
        Timing::Kernel { bias } => bias,
        Timing::User | Timing::Missed => None,
    })?;
    group.optional::<Int64Type>(|row| row.connect.map(|connect| connect.tcp.cast_signed()))?;
    group.optional::<Int64Type>(|row| Some(row.connect?.tls?.cast_signed()))?;
    group.required::<BoolType>(|row| row.resent)?;
    group.required::<Int64Type>(|row| row.bytes_sent.cast_signed())?;
    group.required::<Int64Type>(|row| row.bytes_received.cast_signed())?;
    group.writer.close()?;
    Ok(())
}

struct Group<'a> {
    writer: SerializedRowGroupWriter<'a, File>,
    rows: &'a [Sample],
}

impl Group<'_> {
    fn required<T: DataType>(
        &mut self,
        value: impl Fn(&Sample) -> T::T,
    ) -> Result<(), ParquetError> {
        let values: Vec<T::T> = self.rows.iter().map(value).collect();
        self.column::<T>(&values, None)
    }

    fn optional<T: DataType>(
        &mut self,
        value: impl Fn(&Sample) -> Option<T::T>,
    ) -> Result<(), ParquetError> {
        let mut levels = Vec::with_capacity(self.rows.len());
        let mut values = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            let cell = value(row);
            levels.push(i16::from(cell.is_some()));
            values.extend(cell);
        }
        self.column::<T>(&values, Some(&levels))
    }

    fn column<T: DataType>(
        &mut self,
        values: &[T::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = self.writer.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".to_owned(),
            ));
        };
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()
    }
}
