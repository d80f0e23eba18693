//! Run directories that other users have modified.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;

use bytes::Bytes;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use super::*;
use crate::checked::CheckedFile;
use crate::pieces::is_of_its_size;

/// Processor time that this thread takes for `work`.
fn time_of<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let begun = now();
    let done = work();
    (now() - begun, done)
}

/// A run with a segment of 20 samples, and that file.
fn with_a_segment() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    finish(&create(directory.path()), &run((0..20).map(bare).collect()));
    let path = directory.path().join("samples-00001.parquet");
    (directory, path)
}

/// Start of the description of a file.
fn end_of_pages(file: &[u8]) -> usize {
    let size = file.len() - 8;
    let described = u32::from_le_bytes(file[size..][..4].try_into().unwrap());
    size - usize::try_from(described).unwrap()
}

fn checked(path: &Path) -> Result<CheckedFile, String> {
    CheckedFile::new(File::open(path).unwrap(), false).map_err(|error| error.to_string())
}

#[test]
fn a_long_text_that_is_unknown_is_looked_up_once_and_quoted_in_part() {
    let directory = tempfile::tempdir().unwrap();
    let mut long = plan();
    long.measures[1].name = "x".repeat(300_000);
    let mut writer = create(directory.path()).samples_writer(&long);
    writer.write(&vec![bare(1); 8192]).unwrap();
    writer.finish().unwrap();
    // Once in the file, for all rows.
    let file = directory.path().join("samples-00001.parquet");
    assert!(fs::metadata(file).unwrap().len() < 400_000);
    let (time, read) = time_of(|| load(directory.path()));
    let refused = read.unwrap_err().to_string();
    assert!(
        refused.ends_with("x` is no measure of this run"),
        "{}",
        refused.len()
    );
    assert!(refused.len() < 2000, "{}", refused.len());
    assert!(time < Duration::from_millis(200), "{time:?}");
}

#[test]
fn holes_are_not_read() {
    let (directory, path) = with_a_segment();
    let whole = fs::read(&path).unwrap();
    let (pages, end) = whole.split_at(end_of_pages(&whole));
    let hole: u64 = 100 << 20;
    let file = File::create(&path).unwrap();
    file.write_all_at(pages, 0).unwrap();
    file.write_all_at(end, pages.len() as u64 + hole).unwrap();
    assert_eq!(load(directory.path()).unwrap().samples.len(), 20);
    let holes = checked(&path).unwrap();
    let refused = holes.get_bytes(4, 65 << 20).unwrap_err().to_string();
    assert!(refused.contains("at most 67108864 are read"), "{refused}");

    file.set_len(4 << 30).unwrap();
    let size = (3_u32 << 30).to_le_bytes();
    file.write_all_at(&[&size[..], b"PAR1"].concat(), (4 << 30) - 8)
        .unwrap();
    let refused = load(directory.path()).unwrap_err().to_string();
    assert!(refused.contains("at most 67108864 are read"), "{refused}");
}

#[test]
fn what_was_looked_at_is_what_is_read() {
    let (directory, path) = with_a_segment();
    let whole = fs::read(&path).unwrap();
    let (pages, end) = whole.split_at(end_of_pages(&whole));
    let file = checked(&path).unwrap();
    let other = File::options().write(true).open(&path).unwrap();
    other
        .write_all_at(&vec![0xff; end.len()], pages.len() as u64)
        .unwrap();
    let (start, described) = (pages.len() as u64, end.len() - 8);
    assert_eq!(file.get_bytes(start, described).unwrap(), end[..described]);
    let mut tail = Vec::new();
    let mut read = file.get_read(start + described as u64).unwrap();
    io::Read::read_to_end(&mut read, &mut tail).unwrap();
    assert_eq!(tail, end[described..]);
    assert!(file.get_bytes(start, end.len() + 1).is_err());
    assert!(file.get_bytes(start - 1, 2).is_err());

    // A page inside of the description would not have been checked. There is an index between them.
    fs::write(&path, [&pages[..pages.len() - 600], end].concat()).unwrap();
    let refused = load(directory.path()).unwrap_err().to_string();
    assert!(refused.contains("a column is not complete"), "{refused}");
}

#[test]
fn a_file_has_as_many_rows_as_it_says() {
    let (_directory, path) = with_a_segment();
    let reader = SerializedFileReader::new(Bytes::from(fs::read(&path).unwrap())).unwrap();
    let metadata = reader.metadata();
    let with_rows = |rows: i64| {
        let schema = metadata.file_metadata().schema_descr_ptr();
        let file = FileMetaData::new(1, rows, None, None, schema, None);
        let file = ParquetMetaData::new(file, metadata.row_groups().to_vec());
        is_of_its_size(&file, u64::MAX).is_ok()
    };
    assert_eq!(
        [20, 21, 19, -1, i64::MAX].map(with_rows),
        [true, false, false, false, false]
    );
}

/// Its plan has more values than any other file may have; each group has a row of as many measures
/// as it has rows.
#[test]
fn a_run_of_many_tests_is_read_again_and_a_plan_that_could_not_be_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let mut many = plan();
    let measure = many.measures[0].clone();
    many.tests = vec![many.tests[0].clone(); 12_000];
    many.measures = (0..36_000)
        .map(|number| MeasureRecord {
            name: format!("measure {number}"),
            ..measure.clone()
        })
        .collect();
    let path = home.path().join("many");
    let kept = RunDir::create(&path, &many, "suite: s\n", &env()).unwrap();
    let samples: Vec<Sample> = (0..24_576)
        .map(|number| Sample {
            measure: MeasureId(number),
            ..bare(1)
        })
        .collect();
    let mut writer = kept.samples_writer(&many);
    writer.write(&samples).unwrap();
    let kept = writer.finish().unwrap();
    let (time, read) = time_of(|| kept.read());
    assert!(read.unwrap() == samples);
    assert!(time < Duration::from_secs(3), "{time:?}");
    assert!(open(&path).unwrap().plan == many);

    let refused = read::plan_text(&many, &path, 250_000)
        .unwrap_err()
        .to_string();
    let expected = "the plan is too large to be recorded: there are more than 250000 values";
    assert!(refused.starts_with(expected), "{refused}");
}

/// Makes a run, moves it away, and copies another run to its path.
fn replaced() -> (TempDir, RunDir) {
    let home = tempfile::tempdir().unwrap();
    let (path, away) = (home.path().join("run"), home.path().join("away"));
    let kept = create(&path);
    fs::rename(&path, &away).unwrap();
    finish(&create(&path), &run(vec![bare(7)]));
    (home, kept)
}

#[test]
fn a_run_that_takes_the_place_of_one_that_goes_on_stays_as_it_is() {
    let (home, kept) = replaced();
    let ended = Environment {
        ended_at: Some("2026-01-02T03:04:05Z".to_owned()),
        ..env()
    };
    let mut writer = kept.samples_writer(&plan());
    writer.write(&[bare(1), bare(2)]).unwrap();
    writer.seal().unwrap();
    kept.complete(ended.clone(), Ok(())).unwrap();
    let other = load(&home.path().join("run")).unwrap();
    assert_eq!((other.samples, other.env), (vec![bare(7)], env()));
    let original = load(&home.path().join("away")).unwrap();
    assert_eq!(
        (original.samples, original.env),
        (vec![bare(1), bare(2)], ended)
    );
}

#[test]
fn only_what_a_run_made_is_discarded() {
    let (home, kept) = replaced();
    kept.discard().unwrap();
    assert_eq!(load(&home.path().join("run")).unwrap().samples, [bare(7)]);
    assert_eq!(names_in(&home.path().join("away")), [""; 0]);
}

#[test]
fn a_directory_without_its_name_is_not_removed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run");
    drop((create(&path), create(&path.join("beside/load"))));
    for other in ["beside/..", "beside/load/../.."] {
        let refused = remove(&path.join(other)).unwrap_err().to_string();
        assert!(refused.contains("without its name"), "{refused}");
        assert!(load(&path).is_ok() && load(&path.join("beside/load")).is_ok());
    }
    remove(&path.join(".")).unwrap();
    assert!(!path.exists());
}

#[test]
fn names_need_not_be_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let load = path.join(BESIDE).join(OsStr::from_bytes(b"l\xff"));
    drop((create(&path), create(&load)));
    assert!(
        RunFolder::open(&path)
            .unwrap()
            .loads_beside()
            .unwrap()
            .all(|load| load.unwrap().is_run())
    );
    remove(&path).unwrap();
    assert!(!path.exists());
}

#[test]
fn loads_beside_are_open_one_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    create(&path);
    for number in 0..10 {
        create(&path.join(BESIDE).join(number.to_string()));
    }
    let folder = RunFolder::open(&path).unwrap();
    for load in folder.loads_beside().unwrap() {
        assert!(load.unwrap().is_run());
        let files = fs::read_dir("/proc/self/fd").unwrap();
        let files = files.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        assert!(files.filter(|file| file.starts_with(&path)).count() <= 3);
    }
    assert!(folder.size() > 10 * RunFolder::open(&path.join("beside/0")).unwrap().size());
}

/// A sparse file.
#[test]
fn sizes_may_be_anything() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    create(directory.path());
    for name in ["a", "b", "c"] {
        let file = File::create(directory.path().join(name)).unwrap();
        file.set_len(i64::MAX.cast_unsigned()).unwrap();
    }
    assert_eq!(RunFolder::open(directory.path()).unwrap().size(), u64::MAX);
}

#[test]
fn what_is_mounted_in_a_run_is_none_of_it() {
    let root = Folder::open(Path::new("/")).unwrap();
    let refused = root.folder("proc").unwrap_err().to_string();
    assert!(
        refused.contains("is mounted there, and nothing"),
        "{refused}"
    );
    let by_device = root.open_on_device("proc".as_ref(), OFlags::DIRECTORY);
    assert_eq!(by_device.unwrap_err(), Errno::XDEV);
}

#[test]
fn who_waits_for_a_reader_at_a_pipe_goes_on_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    create(&path);
    fs::remove_file(path.join(ENV)).unwrap();
    mknodat(CWD, path.join(ENV), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let pipe = path.join(ENV);
    let writer = thread::spawn(move || File::options().write(true).open(pipe)?.write_all(b"whole"));
    for _ in 0..100 {
        assert!(load(&path).is_err() && !writer.is_finished());
        thread::park_timeout(Duration::from_millis(2)); // while the writer begins to wait
    }
    assert_eq!(fs::read(path.join(ENV)).unwrap(), b"whole");
    writer.join().unwrap().unwrap();
}
