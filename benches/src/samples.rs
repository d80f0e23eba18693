//! What Prestan says of each operation: the columns of `samples.parquet` that a benchmark needs.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

/// One operation that was answered as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// Its number, as in `X-Prestan`.
    pub number: u64,
    /// Response time: *first* minus *sent*.
    pub response_ns: i64,
}

/// The operations of a run that are ok and have a response time.
///
/// # Errors
/// Where there is no such file, or a column is missing.
pub fn read(run: &Path) -> Result<Vec<Reported>> {
    let path = run.join("samples.parquet");
    let what = || format!("read {}", path.display());
    let file = File::open(&path).with_context(what)?;
    let reader = SerializedFileReader::new(file).with_context(what)?;
    let mut samples = Vec::new();
    for row in reader.get_row_iter(None).with_context(what)? {
        samples.extend(reported(&row.with_context(what)?).with_context(what)?);
    }
    Ok(samples)
}

fn reported(row: &Row) -> Result<Option<Reported>> {
    let Field::Str(outcome) = field(row, "outcome")? else {
        bail!("the column outcome is no text");
    };
    let number = integer(row, "number")?.context("a row without number")?;
    let moments = (integer(row, "sent_ns")?, integer(row, "first_ns")?);
    let (Some(sent), Some(first)) = moments else {
        return Ok(None);
    };
    Ok((outcome == "ok").then_some(Reported {
        number: number.cast_unsigned(),
        response_ns: first - sent,
    }))
}

fn field<'a>(row: &'a Row, column: &str) -> Result<&'a Field> {
    let mut columns = row.get_column_iter();
    let found = columns.find(|(name, _)| *name == column);
    let (_, field) = found.with_context(|| format!("the column {column} is missing"))?;
    Ok(field)
}

fn integer(row: &Row, column: &str) -> Result<Option<i64>> {
    match field(row, column)? {
        Field::Null => Ok(None),
        Field::Long(number) => Ok(Some(*number)),
        other => bail!("the column {column} holds {other}, which is no 64-bit integer"),
    }
}
