//! The samples of a run: one row for every measured operation, in segments.
//!
//! ```text
//! samples-00001.parquet   complete, never written again
//! samples-00002.parquet   complete, at most a second old; replaced while it is short
//! samples-00002.parquet.part
//! ```
//!
//! Parquet describes its row groups at the end of a file, so a file without an end cannot be read.
//! Therefore, once a second, the recorded samples are written as a segment with an end and renamed:
//! a killed run loses its last second. A segment of less than one row group is written again with
//! the following rows, so that slow runs do not leave thousands of small files; a longer one is
//! followed by the next number. Neither writing nor reading needs more memory than one row group.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use record::{Column, PlanRecord, Sample};

use super::columns::{Rows, needed, writer};
use super::error::{RunDirError, damaged, reading, writing};
use super::files::PartFile;
use super::folder::{Folder, FolderReference};
use super::pieces::{OpenSegment, Pieces};

/// Rows that are written together, and held in memory until then.
pub(crate) const ROWS_PER_GROUP: usize = 1 << 13;

/// Time after which written samples are in a complete segment.
const SEAL_AFTER: Duration = Duration::from_secs(1);

/// Name in errors of a file without a name.
const TEMPORARY: &str = "temporary file of samples";

/// Writes samples while a run goes on.
///
/// Writing a group of rows blocks for some milliseconds, so it must not be done on a worker thread.
pub struct SamplesWriter {
    destination: SampleDestination,
    /// Rows of the present segment that are in no row group of `segment`.
    rows: Rows,
    /// The present segment, once it has a row group.
    segment: Option<UnfinishedSegment>,
    /// Number of the present segment, from 1 on.
    number: u32,
    /// All rows are in complete segments.
    is_sealed: bool,
    sealed_at: Instant,
    measures: Vec<String>,
    count: u64,
    /// Start of the run, once known.
    began: Arc<OnceLock<String>>,
}

/// Destination of samples.
enum SampleDestination {
    /// Numbered segments in a directory.
    Directory(Arc<Folder>),
    /// A file without a name, which the system removes when it is closed.
    Temporary(File),
}

/// A segment that has no end yet.
struct UnfinishedSegment {
    writer: SerializedFileWriter<File>,
    /// The named file, if it has a name.
    part: Option<PartFile>,
}

impl SamplesWriter {
    /// Writes to segments in a run directory.
    pub(crate) fn create(
        directory: Arc<Folder>,
        plan: &PlanRecord,
        began: Arc<OnceLock<String>>,
    ) -> SamplesWriter {
        SamplesWriter {
            began,
            ..SamplesWriter::new(SampleDestination::Directory(directory), plan)
        }
    }

    /// Writes to a file without a name, for a run that is not saved.
    pub fn temporary(plan: &PlanRecord) -> Result<SamplesWriter, RunDirError> {
        let file = tempfile::tempfile().map_err(|error| writing(Path::new(TEMPORARY), error))?;
        Ok(SamplesWriter::new(SampleDestination::Temporary(file), plan))
    }

    fn new(destination: SampleDestination, plan: &PlanRecord) -> SamplesWriter {
        SamplesWriter {
            destination,
            rows: Rows::new(plan),
            segment: None,
            number: 1,
            is_sealed: true,
            sealed_at: Instant::now(),
            measures: names(plan),
            count: 0,
            began: Arc::default(),
        }
    }

    /// Takes samples in. If it is called at least once a second, even without samples, all but
    /// those of the last second are in complete segments.
    ///
    /// # Errors
    /// They cannot be written; complete segments stay as they are.
    pub fn write(&mut self, samples: &[Sample]) -> Result<(), RunDirError> {
        self.take(samples)?;
        let is_due = !self.is_sealed && self.sealed_at.elapsed() >= SEAL_AFTER;
        match (&self.destination, is_due) {
            (SampleDestination::Directory(_), true) => self.seal(),
            (SampleDestination::Directory(_), false) | (SampleDestination::Temporary(_), _) => {
                Ok(())
            }
        }
    }

    fn take(&mut self, samples: &[Sample]) -> Result<(), RunDirError> {
        for sample in samples {
            self.rows
                .push(sample)
                .map_err(|error| failed("writing failed", &self.path(), &error))?;
            self.count += 1;
            self.is_sealed = false;
            if self.rows.count() == ROWS_PER_GROUP {
                let mut segment = match self.segment.take() {
                    Some(segment) => segment,
                    None => self.begin()?,
                };
                self.add_group(&mut segment.writer)?;
                self.rows.clear();
                self.segment = Some(segment);
            }
        }
        Ok(())
    }

    /// Writes all samples to complete segments.
    ///
    /// # Errors
    /// They cannot be written; complete segments stay as they are.
    pub fn seal(&mut self) -> Result<(), RunDirError> {
        self.sealed_at = Instant::now();
        if self.is_sealed {
            return Ok(());
        }
        let (UnfinishedSegment { mut writer, part }, is_long) = match self.segment.take() {
            Some(segment) => (segment, true),
            None => (self.begin()?, false),
        };
        if self.rows.count() > 0 {
            self.add_group(&mut writer)?;
        }
        writer
            .close()
            .map_err(|error| failed("writing failed", &self.path(), &error))?;
        part.map_or(Ok(()), PartFile::complete)?;
        if is_long {
            self.rows.clear();
            self.number += 1;
        }
        self.is_sealed = true;
        Ok(())
    }

    /// Begins the file of the present segment.
    fn begin(&self) -> Result<UnfinishedSegment, RunDirError> {
        let (part, file) = match &self.destination {
            SampleDestination::Directory(folder) => {
                let (part, file) = PartFile::create(folder, &segment_name(self.number))?;
                (Some(part), file)
            }
            SampleDestination::Temporary(file) => (
                None,
                file.try_clone()
                    .map_err(|error| writing(Path::new(TEMPORARY), error))?,
            ),
        };
        let writer = writer(file, self.began.get());
        let writer = writer.map_err(|error| failed("writing failed", &self.path(), &error))?;
        Ok(UnfinishedSegment { writer, part })
    }

    fn add_group(&self, segment: &mut SerializedFileWriter<File>) -> Result<(), RunDirError> {
        self.rows
            .write(segment)
            .map_err(|error| failed("writing failed", &self.path(), &error))
    }

    /// Seals the rest, and returns a reader of all samples.
    pub fn finish(mut self) -> Result<Samples, RunDirError> {
        self.seal()?;
        let last = match self.rows.count() {
            0 => self.number - 1,
            _ => self.number,
        };
        let segments = match self.destination {
            SampleDestination::Directory(folder) => {
                let folder = Arc::new(folder.reference()?);
                let numbered = |number| Segment::Numbered(folder.clone(), number);
                (1..=last).map(numbered).collect()
            }
            SampleDestination::Temporary(_) if self.count == 0 => Vec::new(),
            SampleDestination::Temporary(file) => vec![Segment::Temporary(file)],
        };
        Ok(Samples {
            segments,
            columns: self.rows.columns().collect(),
            measures: self.measures,
            count: self.count,
        })
    }

    /// Path of the present segment.
    fn path(&self) -> PathBuf {
        match &self.destination {
            SampleDestination::Directory(folder) => folder.path().join(segment_name(self.number)),
            SampleDestination::Temporary(_) => PathBuf::from(TEMPORARY),
        }
    }
}

/// Samples on disk.
#[derive(Debug)]
pub struct Samples {
    segments: Vec<Segment>,
    /// Columns of each segment.
    columns: Vec<&'static Column>,
    measures: Vec<String>,
    count: u64,
}

/// A complete file of samples.
#[derive(Debug)]
pub(crate) enum Segment {
    /// Opened when it is read: a long run has more segments than a process may have open files.
    Numbered(Arc<FolderReference>, u32),
    Temporary(File),
}

impl Segment {
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Segment::Numbered(folder, number) => folder.path().join(segment_name(*number)),
            Segment::Temporary(_) => PathBuf::from(TEMPORARY),
        }
    }

    pub(crate) fn file(&self) -> Result<File, RunDirError> {
        match self {
            Segment::Numbered(folder, number) => folder.open()?.file(&segment_name(*number)),
            Segment::Temporary(file) => file
                .try_clone()
                .map_err(|error| reading(Path::new(TEMPORARY), error)),
        }
    }
}

impl Samples {
    /// Samples of a run directory, possibly of a killed run.
    pub(crate) fn open(folder: Folder, plan: &PlanRecord) -> Result<Samples, RunDirError> {
        let mut samples = Samples {
            segments: segments_in(folder)?,
            columns: needed(plan).collect(),
            measures: names(plan),
            count: 0,
        };
        for segment in &samples.segments {
            samples.count += OpenSegment::new(segment)?.rows();
        }
        Ok(samples)
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All samples in pieces that fit into memory, in the order of recording. They can be read
    /// repeatedly, but only by one reader at a time.
    pub fn pieces(&self) -> Result<Pieces<'_>, RunDirError> {
        Pieces::new(&self.segments, &self.columns, &self.measures)
    }

    /// All samples at once.
    pub fn read(&self) -> Result<Vec<Sample>, RunDirError> {
        let mut samples = Vec::new();
        for piece in self.pieces()? {
            samples.append(&mut piece?);
        }
        Ok(samples)
    }
}

fn segment_name(number: u32) -> String {
    format!("samples-{number:05}.parquet")
}

/// The number of a complete segment of that name.
pub(crate) fn segment_number(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    let number = name.strip_prefix("samples-")?.strip_suffix(".parquet")?;
    let number = number.parse().ok()?;
    (segment_name(number) == name).then_some(number)
}

/// The complete segments of a directory, in order.
fn segments_in(folder: Folder) -> Result<Vec<Segment>, RunDirError> {
    let entries = folder.entries()?;
    let numbers = entries
        .iter()
        .filter_map(|entry| segment_number(&entry.name));
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    let folder = Arc::new(folder.reference()?);
    let numbered = |(expected, number): (u32, u32)| {
        if number == expected {
            Ok(Segment::Numbered(folder.clone(), number))
        } else {
            let message = "is missing, though later samples are there";
            Err(damaged(
                &folder.path().join(segment_name(expected)),
                message.to_owned(),
            ))
        }
    };
    (1..).zip(numbers).map(numbered).collect()
}

fn names(plan: &PlanRecord) -> Vec<String> {
    let measures = plan.measures.iter();
    measures.map(|measure| measure.name.clone()).collect()
}

pub(crate) fn failed(what: &str, path: &Path, error: &ParquetError) -> RunDirError {
    damaged(path, format!("{what}: {error}"))
}
