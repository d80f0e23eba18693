//! `samples.parquet`: one row for every measured operation.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;
use record::{Connect, MeasureId, Moments, Outcome, PlanRecord, Run, Sample, Timing};

use super::RunDirError;

/// Times are nanoseconds since the run began; absent where the operation did not come so far.
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
    OPTIONAL INT64 connect_ns;
    OPTIONAL INT64 tls_ns;
    REQUIRED BOOLEAN resent;
    REQUIRED INT64 bytes_sent;
    REQUIRED INT64 bytes_received;
}";

const ROWS_PER_GROUP: usize = 100_000;

pub(super) fn write(path: &Path, run: &Run) -> Result<(), RunDirError> {
    write_rows(path, run).map_err(|error| failed("writing failed", path, &error))
}

pub(super) fn read(path: &Path, plan: &PlanRecord) -> Result<Vec<Sample>, RunDirError> {
    read_rows(path, plan).map_err(|error| failed("reading failed", path, &error))
}

fn failed(what: &str, path: &Path, error: &ParquetError) -> RunDirError {
    RunDirError::Damaged {
        path: path.to_owned(),
        message: format!("{what}: {error}"),
    }
}

fn write_rows(path: &Path, run: &Run) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))?;
    for rows in run.samples.chunks(ROWS_PER_GROUP) {
        let mut group = Group {
            writer: writer.next_row_group()?,
            rows,
        };
        write_group(&mut group, &run.plan)?;
        group.writer.close()?;
    }
    writer.close()?;
    Ok(())
}

/// The columns in the order of [`SCHEMA`].
fn write_group(group: &mut Group<'_>, plan: &PlanRecord) -> Result<(), ParquetError> {
    group.required::<ByteArrayType>(|row| {
        let measure = plan.measures.get(usize::from(row.measure.0));
        ByteArray::from(measure.map_or("", |measure| measure.name.as_str()))
    })?;
    group.required::<Int32Type>(|row| row.user.cast_signed())?;
    group.required::<Int64Type>(|row| row.number.cast_signed())?;
    group.required::<ByteArrayType>(|row| ByteArray::from(row.outcome.name()))?;
    group.optional::<Int32Type>(|row| row.status.map(i32::from))?;
    group.required::<Int64Type>(|row| row.moments.planned.cast_signed())?;
    group.required::<Int64Type>(|row| row.moments.started.cast_signed())?;
    group.optional::<Int64Type>(|row| row.moments.sent.map(u64::cast_signed))?;
    group.optional::<Int64Type>(|row| row.moments.acked.map(u64::cast_signed))?;
    group.optional::<Int64Type>(|row| row.moments.first.map(u64::cast_signed))?;
    group.optional::<Int64Type>(|row| row.moments.done.map(u64::cast_signed))?;
    group.optional::<Int64Type>(|row| row.connect.map(|connect| connect.tcp.cast_signed()))?;
    group.optional::<Int64Type>(|row| Some(row.connect?.tls?.cast_signed()))?;
    group.required::<BoolType>(|row| row.resent)?;
    group.required::<Int64Type>(|row| row.bytes_sent.cast_signed())?;
    group.required::<Int64Type>(|row| row.bytes_received.cast_signed())
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
        let cells: Vec<Option<T::T>> = self.rows.iter().map(value).collect();
        let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<T::T> = cells.into_iter().flatten().collect();
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

fn read_rows(path: &Path, plan: &PlanRecord) -> Result<Vec<Sample>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let mut samples = Vec::new();
    for row in reader.get_row_iter(None)? {
        samples.push(sample(&row?, plan)?);
    }
    Ok(samples)
}

fn sample(row: &Row, plan: &PlanRecord) -> Result<Sample, ParquetError> {
    let cells = Cells(row);
    let name = cells.text("measure")?;
    let measure = plan
        .measures
        .iter()
        .position(|measure| measure.name == name)
        .and_then(|position| u16::try_from(position).ok())
        .ok_or_else(|| ParquetError::General(format!("`{name}` is not in the plan")))?;
    let outcome = cells.text("outcome")?;
    let outcome = Outcome::from_name(outcome)
        .ok_or_else(|| ParquetError::General(format!("`{outcome}` is no outcome")))?;
    let narrow = |value: u64, column: &str| {
        u32::try_from(value)
            .map_err(|_| ParquetError::General(format!("{value} is too large for {column}")))
    };
    let connect = cells.optional("connect_ns")?;
    let tls = cells.optional("tls_ns")?;
    Ok(Sample {
        measure: MeasureId(measure),
        user: narrow(cells.required("user")?, "user")?,
        number: cells.required("number")?,
        outcome,
        status: cells
            .optional("status")?
            .and_then(|status| u16::try_from(status).ok()),
        moments: Moments {
            planned: cells.required("planned_ns")?,
            started: cells.required("started_ns")?,
            sent: cells.optional("sent_ns")?,
            acked: cells.optional("acked_ns")?,
            first: cells.optional("first_ns")?,
            done: cells.optional("done_ns")?,
        },
        timing: Timing::User,
        connect: connect.map(|tcp| Connect { tcp, tls }),
        resent: cells.truth("resent")?,
        bytes_sent: cells.required("bytes_sent")?,
        bytes_received: cells.required("bytes_received")?,
    })
}

struct Cells<'a>(&'a Row);

impl Cells<'_> {
    fn field(&self, column: &str) -> Result<&Field, ParquetError> {
        self.0
            .get_column_iter()
            .find(|(name, _)| *name == column)
            .map(|(_, field)| field)
            .ok_or_else(|| ParquetError::General(format!("the column {column} is missing")))
    }

    fn optional(&self, column: &str) -> Result<Option<u64>, ParquetError> {
        let number = match self.field(column)? {
            Field::Null => return Ok(None),
            Field::Int(number) => i64::from(*number),
            Field::Long(number) => *number,
            other => return Err(strange(column, other)),
        };
        u64::try_from(number)
            .map(Some)
            .map_err(|_| ParquetError::General(format!("{column} is negative: {number}")))
    }

    fn required(&self, column: &str) -> Result<u64, ParquetError> {
        self.optional(column)?
            .ok_or_else(|| ParquetError::General(format!("{column} is missing in a row")))
    }

    fn text(&self, column: &str) -> Result<&str, ParquetError> {
        match self.field(column)? {
            Field::Str(text) => Ok(text),
            other => Err(strange(column, other)),
        }
    }

    fn truth(&self, column: &str) -> Result<bool, ParquetError> {
        match self.field(column)? {
            Field::Bool(truth) => Ok(*truth),
            other => Err(strange(column, other)),
        }
    }
}

fn strange(column: &str, field: &Field) -> ParquetError {
    ParquetError::General(format!("{column} holds {field}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{Clock, Load, MeasureRecord, RUN_FORMAT, SuiteRecord, TestId, TestRecord};

    use super::*;

    fn plan() -> PlanRecord {
        let measure = |name: &str| MeasureRecord {
            name: name.to_owned(),
            test: TestId(0),
            method: "GET".to_owned(),
        };
        PlanRecord {
            format: RUN_FORMAT,
            run_id: "r".to_owned(),
            prestan: "0".to_owned(),
            suite: SuiteRecord {
                name: "s".to_owned(),
                version: 1,
                title: String::new(),
                sha256: String::new(),
            },
            target: "http://h/".to_owned(),
            clock: Clock::User,
            params: Default::default(),
            load: Load {
                users: 1,
                requests: Some(1),
                duration_s: None,
                warmup: 0,
                timeout_s: 30.0,
                seed: 0,
            },
            tests: vec![TestRecord {
                name: "T".to_owned(),
            }],
            measures: vec![measure("A"), measure("B")],
        }
    }

    fn moment() -> impl Strategy<Value = Option<u64>> {
        proptest::option::of(0..=i64::MAX.cast_unsigned())
    }

    prop_compose! {
        fn any_sample()(
            measure in 0..2u16,
            user in 0..=i32::MAX.cast_unsigned(),
            number in 0..1_000_000u64,
            outcome in 0..Outcome::ALL.len(),
            status in proptest::option::of(100..=599u16),
            planned in 0..1_000_000u64,
            started in 0..1_000_000u64,
            (sent, first, done) in (moment(), moment(), moment()),
            connect in proptest::option::of((0..1_000_000u64, proptest::option::of(0..9u64))),
            resent in any::<bool>(),
            (bytes_sent, bytes_received) in (0..1u64 << 40, 0..1u64 << 40),
        ) -> Sample {
            Sample {
                measure: MeasureId(measure),
                user,
                number,
                outcome: Outcome::ALL[outcome],
                status,
                moments: Moments { planned, started, sent, first, done },
                connect: connect.map(|(tcp, tls)| Connect { tcp, tls }),
                resent,
                bytes_sent,
                bytes_received,
            }
        }
    }

    fn run(samples: Vec<Sample>) -> Run {
        let machine = record::Machine {
            os: String::new(),
            cpu: String::new(),
            cores: 1,
            memory_bytes: 0,
        };
        let env = record::Environment {
            machine,
            server: None,
            started_at: String::new(),
            ended_at: None,
        };
        Run {
            plan: plan(),
            env,
            events: Vec::new(),
            samples,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_is_written_is_read(samples in proptest::collection::vec(any_sample(), 0..50)) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("samples.parquet");
            write(&path, &run(samples.clone())).unwrap();
            prop_assert_eq!(read(&path, &plan()).unwrap(), samples);
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples.parquet");
        for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", b"no parquet at all"] {
            std::fs::write(&path, bytes).unwrap();
            let error = read(&path, &plan()).unwrap_err().to_string();
            assert!(error.contains("samples.parquet"), "{error}");
        }
        let mut other = plan();
        other.measures.truncate(1);
        let sample = Sample {
            measure: MeasureId(1),
            user: 0,
            number: 1,
            outcome: Outcome::Ok,
            status: None,
            moments: Moments {
                planned: 0,
                started: 0,
                sent: None,
                first: None,
                done: None,
            },
            connect: None,
            resent: false,
            bytes_sent: 0,
            bytes_received: 0,
        };
        write(&path, &run(vec![sample])).unwrap();
        assert!(
            read(&path, &other)
                .unwrap_err()
                .to_string()
                .contains("not in the plan")
        );
    }
}
