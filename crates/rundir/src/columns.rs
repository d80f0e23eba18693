//! Writing of a group of rows, in the columns of [`record::COLUMNS`].

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use record::{COLUMNS, Cell, Column, Holds, PlanRecord, Sample};

/// Key of the time of day from which nanoseconds are counted.
const STARTED_AT: &str = "started_at";

fn schema() -> String {
    let column = |column: &Column| {
        let presence = if column.is_required {
            "REQUIRED"
        } else {
            "OPTIONAL"
        };
        let name = column.name;
        match column.holds {
            Holds::Measures | Holds::Words(_) => format!("{presence} BYTE_ARRAY {name} (UTF8);"),
            Holds::Int32 => format!("{presence} INT32 {name};"),
            Holds::Int64 => format!("{presence} INT64 {name};"),
            Holds::Flags => format!("{presence} BOOLEAN {name};"),
        }
    };
    let columns: Vec<String> = COLUMNS.iter().map(column).collect();
    format!("message samples {{ {} }}", columns.join(" "))
}

/// The columns with cells in the files of a run.
pub(crate) fn needed(plan: &PlanRecord) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| (column.is_needed)(plan))
}

/// A writer of such a file.
///
/// Numbers are written as differences between consecutive rows, in as few bits as these need. That
/// is faster than any general compression, and leaves it nothing to gain.
pub(crate) fn writer(
    file: File,
    began: Option<&String>,
) -> Result<SerializedFileWriter<File>, ParquetError> {
    let schema = Arc::new(parse_message_type(&schema())?);
    let began = began.map(|began| vec![KeyValue::new(STARTED_AT.to_owned(), began.clone())]);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_key_value_metadata(began)
        .set_write_batch_size(8192);
    for column in &COLUMNS {
        let path = || ColumnPath::from(column.name);
        properties = match column.holds {
            Holds::Int32 | Holds::Int64 => properties,
            Holds::Flags => properties.set_column_encoding(path(), Encoding::PLAIN),
            Holds::Measures | Holds::Words(_) => properties
                .set_column_encoding(path(), Encoding::PLAIN)
                .set_column_dictionary_enabled(path(), true),
        };
    }
    SerializedFileWriter::new(file, schema, Arc::new(properties.build()))
}

/// Rows to be written. They are kept by column: values are taken while the sample is in the cache,
/// not from scattered memory later.
pub(crate) struct Rows {
    columns: Vec<ColumnCells>,
    count: usize,
}

impl Rows {
    pub(crate) fn new(plan: &PlanRecord) -> Rows {
        Rows {
            columns: COLUMNS
                .iter()
                .map(|column| ColumnCells::new(column, plan))
                .collect(),
            count: 0,
        }
    }

    /// The columns with cells.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'static Column> {
        let filled = self.columns.iter().filter(|cells| cells.is_needed);
        filled.map(|cells| cells.column)
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// # Errors
    /// The sample belongs to no measure of the plan.
    pub(crate) fn push(&mut self, sample: &Sample) -> Result<(), ParquetError> {
        for cells in self.columns.iter_mut().filter(|cells| cells.is_needed) {
            cells.push((cells.column.cell)(sample))?;
        }
        self.count += 1;
        Ok(())
    }

    /// Writes them as a group.
    pub(crate) fn write(&self, file: &mut SerializedFileWriter<File>) -> Result<(), ParquetError> {
        let mut group = OpenGroup(file.next_row_group()?);
        let absent = vec![0; self.count];
        for cells in &self.columns {
            let levels = if cells.is_needed {
                &cells.levels
            } else {
                &absent
            };
            let levels = (!cells.column.is_required).then_some(&levels[..]);
            match &cells.values {
                ColumnValues::Texts(texts) => {
                    group.write::<ByteArrayType>(texts.cells(), levels)?
                }
                ColumnValues::Int32(numbers) => group.write::<Int32Type>(numbers, levels)?,
                ColumnValues::Int64(numbers) => group.write::<Int64Type>(numbers, levels)?,
                ColumnValues::Flags(flags) => group.write::<BoolType>(flags, levels)?,
            }
        }
        group.0.close()?;
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
        for cells in &mut self.columns {
            cells.levels.clear();
            match &mut cells.values {
                ColumnValues::Texts(texts) => texts.count = 0,
                ColumnValues::Int32(numbers) => numbers.clear(),
                ColumnValues::Int64(numbers) => numbers.clear(),
                ColumnValues::Flags(flags) => flags.clear(),
            }
        }
    }
}

struct ColumnCells {
    column: &'static Column,
    /// Samples of this run have cells in it.
    is_needed: bool,
    /// In an optional column: 1 for each existing cell.
    levels: Vec<i16>,
    values: ColumnValues,
}

enum ColumnValues {
    Texts(Texts),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Flags(Vec<bool>),
}

impl ColumnCells {
    fn new(column: &'static Column, plan: &PlanRecord) -> ColumnCells {
        ColumnCells {
            column,
            is_needed: (column.is_needed)(plan),
            levels: Vec::new(),
            values: match column.holds {
                Holds::Measures => {
                    let measures = plan.measures.iter();
                    ColumnValues::Texts(Texts::new(measures.map(|measure| measure.name.as_str())))
                }
                Holds::Words(words) => ColumnValues::Texts(Texts::new(words.iter().copied())),
                Holds::Int32 => ColumnValues::Int32(Vec::new()),
                Holds::Int64 => ColumnValues::Int64(Vec::new()),
                Holds::Flags => ColumnValues::Flags(Vec::new()),
            },
        }
    }

    fn push(&mut self, cell: Cell) -> Result<(), ParquetError> {
        if !self.column.is_required {
            self.levels.push(i16::from(cell != Cell::Absent));
        }
        match (&mut self.values, cell) {
            (ColumnValues::Int64(numbers), Cell::Number(number)) => numbers.push(number),
            (ColumnValues::Int32(numbers), Cell::Number(number)) => match i32::try_from(number) {
                Ok(number) => numbers.push(number),
                Err(_) => return Err(self.unfit(cell)),
            },
            (ColumnValues::Flags(flags), Cell::Flag(flag)) => flags.push(flag),
            (ColumnValues::Texts(texts), Cell::Index(index)) => {
                if !texts.push(index) {
                    return Err(self.unfit(cell));
                }
            }
            (_, Cell::Absent) if !self.column.is_required => {}
            _ => return Err(self.unfit(cell)),
        }
        Ok(())
    }

    fn unfit(&self, cell: Cell) -> ParquetError {
        let name = self.column.name;
        ParquetError::General(format!("{cell:?} cannot be in the column {name}"))
    }
}

/// A column of texts with few distinct values. Its cells are kept from one group to the next, and
/// only changed ones are made anew: making all of them takes longer than writing them.
struct Texts {
    texts: Vec<ByteArray>,
    /// Index into `texts`, row by row.
    indices: Vec<usize>,
    cells: Vec<ByteArray>,
    /// Cells of this group.
    count: usize,
}

impl Texts {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Texts {
        Texts {
            texts: texts.map(ByteArray::from).collect(),
            indices: Vec::new(),
            cells: Vec::new(),
            count: 0,
        }
    }

    fn cells(&self) -> &[ByteArray] {
        &self.cells[..self.count]
    }

    /// Adds the text with that index, if there is one.
    fn push(&mut self, index: usize) -> bool {
        let row = self.count;
        if self.indices.get(row) != Some(&index) {
            let Some(text) = self.texts.get(index) else {
                return false;
            };
            match self.cells.get_mut(row) {
                Some(cell) => (*cell, self.indices[row]) = (text.clone(), index),
                None => {
                    self.cells.push(text.clone());
                    self.indices.push(index);
                }
            }
        }
        self.count += 1;
        true
    }
}

struct OpenGroup<'a>(SerializedRowGroupWriter<'a, File>);

impl OpenGroup<'_> {
    fn write<T: DataType>(
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
