//! The columns of a file of samples, and how a group of rows is written.

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
    OPTIONAL INT64 visit;
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
    OPTIONAL BOOLEAN tls_resumed;
    REQUIRED BOOLEAN resent;
    REQUIRED INT64 bytes_sent;
    REQUIRED INT64 bytes_received;
    REQUIRED INT64 body_received;
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
        .set_column_encoding(ColumnPath::from("tls_resumed"), Encoding::PLAIN)
        .set_column_encoding(ColumnPath::from("resent"), Encoding::PLAIN);
    for text in TEXTS {
        properties = properties
            .set_column_encoding(ColumnPath::from(text), Encoding::PLAIN)
            .set_column_dictionary_enabled(ColumnPath::from(text), true);
    }
    SerializedFileWriter::new(file, schema, Arc::new(properties.build()))
}

/// Rows that wait to be written. They are kept column by column: what a column needs is taken while
/// the sample is at hand, and not from far apart later.
#[derive(Default)]
pub(super) struct Rows {
    measure: Texts,
    user: Vec<i32>,
    number: Vec<i64>,
    visit: Sparse<i64>,
    outcome: Texts,
    status: Sparse<i32>,
    planned: Vec<i64>,
    started: Vec<i64>,
    sent: Sparse<i64>,
    acked: Sparse<i64>,
    first: Sparse<i64>,
    done: Sparse<i64>,
    timing: Texts,
    bias: Sparse<i64>,
    connect: Sparse<i64>,
    tls: Sparse<i64>,
    resumed: Sparse<bool>,
    resent: Vec<bool>,
    bytes_sent: Vec<i64>,
    bytes_received: Vec<i64>,
    body_received: Vec<i64>,
}

impl Rows {
    pub(super) fn new(plan: &PlanRecord) -> Rows {
        let measures = plan.measures.iter();
        Rows {
            measure: Texts::new(measures.map(|measure| measure.name.as_str())),
            outcome: Texts::new(Outcome::ALL.iter().map(|outcome| outcome.name())),
            timing: Texts::new(TIMINGS.iter().copied()),
            ..Rows::default()
        }
    }

    pub(super) fn count(&self) -> usize {
        self.user.len()
    }

    /// # Errors
    /// When the sample belongs to no measure of the plan.
    pub(super) fn push(&mut self, sample: &Sample) -> Result<(), ParquetError> {
        let Sample {
            moments, connect, ..
        } = sample;
        let (timing, bias) = match sample.timing {
            Timing::User => (0, None),
            Timing::Kernel { bias } => (1, bias),
            Timing::Missed => (2, None),
        };
        self.measure.push(usize::from(sample.measure.0))?;
        self.user.push(sample.user.cast_signed());
        self.number.push(sample.number.cast_signed());
        self.visit.push(sample.visit.map(u64::cast_signed));
        self.outcome.push(sample.outcome as usize)?;
        self.status.push(sample.status.map(i32::from));
        self.planned.push(moments.planned.cast_signed());
        self.started.push(moments.started.cast_signed());
        self.sent.push(moments.sent.map(u64::cast_signed));
        self.acked.push(moments.acked.map(u64::cast_signed));
        self.first.push(moments.first.map(u64::cast_signed));
        self.done.push(moments.done.map(u64::cast_signed));
        self.timing.push(timing)?;
        self.bias.push(bias);
        self.connect
            .push(connect.map(|connect| connect.tcp.cast_signed()));
        self.tls
            .push(connect.and_then(|connect| Some(connect.tls?.cast_signed())));
        self.resumed
            .push(connect.and_then(|connect| connect.resumed));
        self.resent.push(sample.resent);
        self.bytes_sent.push(sample.bytes_sent.cast_signed());
        self.bytes_received
            .push(sample.bytes_received.cast_signed());
        self.body_received.push(sample.body_received.cast_signed());
        Ok(())
    }

    /// Writes them as a group, the columns in the order of [`SCHEMA`].
    pub(super) fn write(&self, file: &mut SerializedFileWriter<File>) -> Result<(), ParquetError> {
        let mut group = Group(file.next_row_group()?);
        group.texts(&self.measure)?;
        group.required::<Int32Type>(&self.user)?;
        group.required::<Int64Type>(&self.number)?;
        group.optional::<Int64Type>(&self.visit)?;
        group.texts(&self.outcome)?;
        group.optional::<Int32Type>(&self.status)?;
        group.required::<Int64Type>(&self.planned)?;
        group.required::<Int64Type>(&self.started)?;
        group.optional::<Int64Type>(&self.sent)?;
        group.optional::<Int64Type>(&self.acked)?;
        group.optional::<Int64Type>(&self.first)?;
        group.optional::<Int64Type>(&self.done)?;
        group.texts(&self.timing)?;
        group.optional::<Int64Type>(&self.bias)?;
        group.optional::<Int64Type>(&self.connect)?;
        group.optional::<Int64Type>(&self.tls)?;
        group.optional::<BoolType>(&self.resumed)?;
        group.required::<BoolType>(&self.resent)?;
        group.required::<Int64Type>(&self.bytes_sent)?;
        group.required::<Int64Type>(&self.bytes_received)?;
        group.required::<Int64Type>(&self.body_received)?;
        group.0.close()?;
        Ok(())
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        for texts in [&mut self.measure, &mut self.outcome, &mut self.timing] {
            texts.count = 0;
        }
        self.user.clear();
        for sparse in [
            &mut self.visit,
            &mut self.sent,
            &mut self.acked,
            &mut self.first,
            &mut self.done,
            &mut self.bias,
            &mut self.connect,
            &mut self.tls,
        ] {
            sparse.clear();
        }
        self.status.clear();
        self.resumed.clear();
        for numbers in [
            &mut self.number,
            &mut self.planned,
            &mut self.started,
            &mut self.bytes_sent,
            &mut self.bytes_received,
            &mut self.body_received,
        ] {
            numbers.clear();
        }
        self.resent.clear();
    }
}

/// A column of which some cells may be absent.
#[derive(Default)]
struct Sparse<T> {
    /// 1 where the cell is there.
    levels: Vec<i16>,
    values: Vec<T>,
}

impl<T> Sparse<T> {
    fn push(&mut self, cell: Option<T>) {
        self.levels.push(i16::from(cell.is_some()));
        self.values.extend(cell);
    }

    fn clear(&mut self) {
        self.levels.clear();
        self.values.clear();
    }
}

/// A column of texts of which few are different. Its cells stay from one group to the next, and
/// only those that change are made anew: making them all costs more than writing them.
#[derive(Default)]
struct Texts {
    texts: Vec<ByteArray>,
    /// Index into `texts`, row by row.
    places: Vec<usize>,
    cells: Vec<ByteArray>,
    /// Cells of this group.
    count: usize,
}

impl Texts {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Texts {
        Texts {
            texts: texts.map(ByteArray::from).collect(),
            ..Texts::default()
        }
    }

    /// Adds the text at that place.
    fn push(&mut self, place: usize) -> Result<(), ParquetError> {
        let index = self.count;
        self.count += 1;
        if self.places.get(index) == Some(&place) {
            return Ok(());
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
        Ok(())
    }
}

/// A group that is being written.
struct Group<'a>(SerializedRowGroupWriter<'a, File>);

impl Group<'_> {
    fn texts(&mut self, column: &Texts) -> Result<(), ParquetError> {
        self.column::<ByteArrayType>(&column.cells[..column.count], None)
    }

    fn required<T: DataType>(&mut self, column: &[T::T]) -> Result<(), ParquetError> {
        self.column::<T>(column, None)
    }

    fn optional<T: DataType>(&mut self, column: &Sparse<T::T>) -> Result<(), ParquetError> {
        self.column::<T>(&column.values, Some(&column.levels))
    }

    fn column<T: DataType>(
        &mut self,
        values: &[T::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = self.0.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".to_owned(),
            ));
        };
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()
    }
}
