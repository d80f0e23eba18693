//! `samples.parquet`: one row for every measured operation.
//!
//! Rows are written in groups while the run goes on and read group by group, so that neither needs
//! more memory than one group. Parquet describes its groups at the end of the file: what a killed
//! run leaves behind, `samples.parquet.part`, cannot be read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use record::{PlanRecord, Sample};

use super::columns::{self, Rows};
use super::pieces::Pieces;
use super::{RunDirError, reading, writing};

/// Rows that are written together, and held in memory until then.
const ROWS_PER_GROUP: usize = 1 << 13;

/// What a file is called until it is complete.
const PART: &str = "part";

/// What errors call a file without a name.
const TEMPORARY: &str = "temporary file of samples";

/// Writes samples while a run goes on.
///
/// Writing a group of rows takes some milliseconds, in which the caller does nothing else: it is no
/// work for a thread that measures.
pub struct SamplesWriter {
    writer: SerializedFileWriter<File>,
    file: File,
    rows: Rows,
    measures: Vec<String>,
    count: u64,
    place: Place,
}

/// Where samples go.
enum Place {
    /// To a file that gets its name when it is complete.
    Named(PathBuf),
    /// To a file without a name, gone when nobody has it open any more.
    Temporary,
}

impl SamplesWriter {
    /// Writes to a file that gets its name only at the end.
    pub(super) fn create(path: PathBuf, plan: &PlanRecord) -> Result<SamplesWriter, RunDirError> {
        let part = path.with_added_extension(PART);
        let options = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(true);
            options
        };
        let file = options()
            .open(&part)
            .map_err(|error| writing(&part, error))?;
        SamplesWriter::new(file, plan, Place::Named(path))
    }

    /// Writes to a file without a name, for a run that keeps nothing.
    ///
    /// # Errors
    /// When there is no place for temporary files.
    pub fn temporary(plan: &PlanRecord) -> Result<SamplesWriter, RunDirError> {
        let file = tempfile::tempfile().map_err(|error| writing(Path::new(TEMPORARY), error))?;
        SamplesWriter::new(file, plan, Place::Temporary)
    }

    fn new(file: File, plan: &PlanRecord, place: Place) -> Result<SamplesWriter, RunDirError> {
        let path = place.path();
        let own = file.try_clone().map_err(|error| writing(&path, error))?;
        let writer =
            columns::writer(file).map_err(|error| failed("writing failed", &path, &error))?;
        Ok(SamplesWriter {
            writer,
            file: own,
            rows: Rows::new(plan),
            measures: names(plan),
            count: 0,
            place,
        })
    }

    /// Takes samples in; they reach the disk group by group.
    ///
    /// # Errors
    /// When they cannot be written; the file is of no use then.
    pub fn write(&mut self, samples: &[Sample]) -> Result<(), RunDirError> {
        self.take(samples)
            .map_err(|error| failed("writing failed", &self.place.path(), &error))
    }

    fn take(&mut self, samples: &[Sample]) -> Result<(), ParquetError> {
        for sample in samples {
            self.rows.push(sample)?;
            if self.rows.count() == ROWS_PER_GROUP {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        self.count += self.rows.count() as u64;
        match self.rows.count() {
            0 => Ok(()),
            _ => self.rows.write(&mut self.writer),
        }
    }

    /// Writes what is left, completes the file, gives it its name, and leads back to its content.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<Samples, RunDirError> {
        let path = self.place.path();
        self.flush()
            .and_then(|()| self.writer.close())
            .map_err(|error| failed("writing failed", &path, &error))?;
        if let Place::Named(path) = &self.place {
            let part = path.with_added_extension(PART);
            fs::rename(&part, path).map_err(|error| writing(path, error))?;
        }
        Ok(Samples {
            file: Some(self.file),
            path,
            measures: self.measures,
            count: self.count,
        })
    }
}

impl Place {
    fn path(&self) -> PathBuf {
        match self {
            Place::Named(path) => path.clone(),
            Place::Temporary => PathBuf::from(TEMPORARY),
        }
    }
}

/// Samples on disk.
#[derive(Debug)]
pub struct Samples {
    /// Absent where nothing was written.
    file: Option<File>,
    path: PathBuf,
    measures: Vec<String>,
    count: u64,
}

impl Samples {
    /// Those of a complete file.
    pub(super) fn open(path: PathBuf, plan: &PlanRecord) -> Result<Samples, RunDirError> {
        let file = File::open(&path).map_err(|error| reading(&path, error))?;
        let mut samples = Samples {
            file: Some(file),
            path,
            measures: names(plan),
            count: 0,
        };
        samples.count = samples.pieces()?.rows();
        Ok(samples)
    }

    /// None at all.
    pub(super) fn none(path: PathBuf) -> Samples {
        Samples {
            file: None,
            path,
            measures: Vec::new(),
            count: 0,
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them from the first on, in pieces that fit into memory, in the order of recording.
    /// They can be read as often as one likes, but only by one reader at a time.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn pieces(&self) -> Result<Pieces<'_>, RunDirError> {
        let file = match &self.file {
            None => None,
            Some(file) => Some(
                file.try_clone()
                    .map_err(|error| reading(&self.path, error))?,
            ),
        };
        Pieces::new(file, &self.path, &self.measures)
    }

    /// All of them at once.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn read(&self) -> Result<Vec<Sample>, RunDirError> {
        let mut samples = Vec::new();
        for piece in self.pieces()? {
            samples.append(&mut piece?);
        }
        Ok(samples)
    }
}

fn names(plan: &PlanRecord) -> Vec<String> {
    let measures = plan.measures.iter();
    measures.map(|measure| measure.name.clone()).collect()
}

pub(super) fn failed(what: &str, path: &Path, error: &ParquetError) -> RunDirError {
    RunDirError::Damaged {
        path: path.to_owned(),
        message: format!("{what}: {error}"),
    }
}
