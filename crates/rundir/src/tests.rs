//! Written records are read again, and errors name the file.

mod hostile;

use std::fs::{self, File};
use std::time::Duration;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use record::{
    Arrivals, Connect, Environment, HttpVersion, MeasureId, MeasureRecord, Moments, Outcome, Pace,
    Sample, Timing,
};
use stats::testing::RunBuilder;

use super::*;

/// A running run whose plan uses all columns.
fn run(samples: Vec<Sample>) -> Run {
    let run = RunBuilder::new(1).test("T", &[("A", "GET"), ("B", "GET")]);
    run.with(|run| {
        let stage = record::Stage {
            rate: 1.0,
            duration_s: 1.0,
        };
        let plan = &mut run.plan;
        plan.others = vec!["http://i/".to_owned()];
        plan.targets = vec!["a".to_owned(), "b".to_owned()];
        plan.load.pace = Pace::Open {
            arrivals: Arrivals::Constant,
            stages: vec![stage, stage],
            max_waiting: 1,
        };
        plan.load.until = Some("p99 ±5%".to_owned());
        plan.tests[0].title = Some("Größe 日本語".to_owned());
        plan.tests[0].http = Some(record::Http {
            per_page: true,
            pipeline: 2,
            ..record::Http::default()
        });
        for measure in &mut plan.measures {
            measure.target = 1;
        }
        plan.pages = vec![record::PageRecord {
            name: "p".to_owned(),
            weight: 1.0,
            files: vec![MeasureId(0), MeasureId(1)],
            bytes: None,
            parts: Some(MeasureId(1)),
        }];
        run.env.ended_at = None;
        run.samples = samples;
    })
    .build()
}

pub(crate) fn plan() -> PlanRecord {
    run(Vec::new()).plan
}

pub(crate) fn env() -> Environment {
    run(Vec::new()).env
}

fn moment() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(0..=i64::MAX.cast_unsigned())
}

fn timing() -> impl Strategy<Value = Timing> {
    prop_oneof![
        Just(Timing::User),
        Just(Timing::Missed),
        proptest::option::of(any::<i64>()).prop_map(|bias| Timing::Kernel { bias }),
    ]
}

prop_compose! {
    fn any_sample()(
        measure in 0..2u16,
        user in 0..=i32::MAX.cast_unsigned(),
        (target, phase) in (any::<u16>(), any::<u16>()),
        connection in proptest::option::of(any::<u32>()),
        protocol in proptest::option::of(0..HttpVersion::ALL.len()),
        (number, visit) in (0..1_000_000u64, proptest::option::of(0..1_000_000u64)),
        (outcome, timing) in (0..Outcome::ALL.len(), timing()),
        status in proptest::option::of(100..=599u16),
        planned in 0..1_000_000u64,
        started in 0..1_000_000u64,
        (sent, acked, first, done) in (moment(), moment(), moment(), moment()),
        connect in proptest::option::of((0..1_000_000u64, proptest::option::of(0..9u64))),
        resumed in proptest::option::of(any::<bool>()),
        resent in any::<bool>(),
        parts in proptest::option::of(any::<u16>()),
        (bytes_sent, bytes_received) in (0..1u64 << 40, 0..1u64 << 40),
        (body_received, segments) in (0..1u64 << 40, proptest::option::of((any::<u32>(), any::<u32>()))),
    ) -> Sample {
        Sample {
            segments: segments.map(|(sent, received)| record::Segments { sent, received }),
            measure: MeasureId(measure),
            user,
            target,
            role: 0,
            phase,
            number,
            visit,
            parts,
            outcome: Outcome::ALL[outcome],
            status,
            moments: Moments { planned, started, sent, acked, first, done },
            timing,
            connection,
            protocol: protocol.map(|index| HttpVersion::ALL[index]),
            stream: None,
            connect: connect.map(|(tcp, tls)| Connect { tcp, tls, resumed }),
            resent,
            shares_first: resent,
            bytes_sent,
            bytes_received,
            body_received,
        }
    }
}

/// A sample with the fewest values.
fn bare(number: u64) -> Sample {
    Sample {
        measure: MeasureId(1),
        number,
        ..Sample::blank()
    }
}

/// Completes a record.
fn finish(kept: &RunDir, run: &Run) {
    let mut writer = kept.samples_writer(&run.plan);
    writer.write(&run.samples).unwrap();
    writer.finish().unwrap();
    kept.complete(run.env.clone(), Ok(())).unwrap();
}

fn create(path: &Path) -> RunDir {
    RunDir::create(path, &plan(), "suite: s\n", &env()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn what_is_written_is_read(samples in proptest::collection::vec(any_sample(), 0..50)) {
        let directory = tempfile::tempdir().unwrap();
        let run = run(samples);
        finish(&create(directory.path()), &run);
        prop_assert_eq!(load(directory.path()).unwrap(), run);
    }

    #[test]
    fn a_file_without_a_name_is_read_twice(samples in proptest::collection::vec(any_sample(), 0..50)) {
        let mut writer = SamplesWriter::temporary(&plan()).unwrap();
        samples.chunks(7).for_each(|piece| writer.write(piece).unwrap());
        let kept = writer.finish().unwrap();
        prop_assert_eq!(kept.count(), samples.len() as u64);
        prop_assert_eq!(&kept.read().unwrap(), &samples);
        prop_assert_eq!(kept.read().unwrap(), samples);
    }
}

/// Programs that read the files of several runs together expect one schema.
#[test]
fn all_runs_have_the_same_columns() {
    let mut plain = plan();
    plain.others.clear();
    plain.pages.clear();
    plain.targets.clear();
    plain.tests[0].http = None;
    plain.load.pace = Pace::Closed;
    let written = |plan: &PlanRecord| {
        let directory = tempfile::tempdir().unwrap();
        let kept = RunDir::create(directory.path(), plan, "suite: s\n", &env()).unwrap();
        let mut writer = kept.samples_writer(plan);
        writer.write(&[bare(1)]).unwrap();
        writer.finish().unwrap();
        assert_eq!(load(directory.path()).unwrap().samples, [bare(1)]);
        let file = File::open(directory.path().join("samples-00001.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
        let cells = row.get_column_iter();
        let null = cells.filter(|(_, cell)| **cell == Field::Null);
        let null: Vec<String> = null.map(|(name, _)| name.clone()).collect();
        let schema = reader.metadata().file_metadata().schema().clone();
        (schema, null)
    };
    let ((schema, null), (plain, plain_null)) = (written(&plan()), written(&plain));
    assert_eq!(schema, plain);
    assert_eq!(schema.get_fields().len(), record::COLUMNS.len());
    let blank = |name: &str| {
        (
            null.iter().any(|column| column == name),
            plain_null.iter().any(|column| column == name),
        )
    };
    assert_eq!(blank("target"), (false, true));
    assert_eq!(blank("stream"), (true, true));
    assert_eq!(blank("user"), (false, false));
}

#[test]
fn a_column_that_the_plan_needs_has_a_cell_in_every_row() {
    let mut without_targets = plan();
    without_targets.others.clear();
    let directory = tempfile::tempdir().unwrap();
    let mut writer = create(directory.path()).samples_writer(&without_targets);
    writer.write(&[bare(1)]).unwrap();
    writer.finish().unwrap();
    let error = load(directory.path()).unwrap_err().to_string();
    assert!(error.contains("target is missing in a row"), "{error}");
}

/// More than two groups, written in pieces of other sizes, in the order of recording.
#[test]
fn many_samples_come_in_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let kept = create(directory.path());
    let mut writer = kept.samples_writer(&plan());
    let samples: Vec<Sample> = (0..20_000).map(bare).collect();
    for piece in samples.chunks(999) {
        writer.write(piece).unwrap();
    }
    writer.finish().unwrap();
    let recorded = open(directory.path()).unwrap();
    assert_eq!(recorded.samples.count(), 20_000);
    let pieces: Vec<Vec<Sample>> = recorded
        .samples
        .pieces()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces.concat(), samples);
}

/// The names of a directory, sorted.
fn names_in(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn event(at: u64, text: &str) -> Event {
    let kind = EventKind::Warning {
        text: text.to_owned(),
    };
    Event { at, kind }
}

/// A sealed segment can be read regardless of the writer; a short one is written again with more
/// samples, a long one is followed by another.
#[test]
fn sealed_samples_can_be_read_while_others_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let kept = create(directory.path());
    let mut writer = kept.samples_writer(&plan());
    let samples: Vec<Sample> = (0..30_000).map(bare).collect();
    let mut taken = 0;
    for (more, segments) in [(10, 1), (20, 1), (9_000, 1), (10, 2), (20_000, 2), (960, 3)] {
        writer.write(&samples[taken..taken + more]).unwrap();
        taken += more;
        writer.seal().unwrap();
        let read = load(directory.path()).unwrap().samples;
        assert!(read == samples[..taken], "{} of {taken}", read.len());
        let names = names_in(directory.path());
        let files = names.iter().filter(|name| name.ends_with(".parquet"));
        assert_eq!(files.count(), segments, "{names:?}");
        assert!(
            !names.iter().any(|name| name.ends_with(".part")),
            "{names:?}"
        );
    }
    // As if killed: the last segment is not completed.
    kept.append(&event(7, "the last one"));
    writer.write(&samples).unwrap();
    std::mem::forget(writer);
    let run = load(directory.path()).unwrap();
    // Writing may have taken more than a second.
    assert!(run.samples.starts_with(&samples), "{}", run.samples.len());
    assert_eq!(
        (run.env.ended_at, run.events),
        (None, vec![event(7, "the last one")])
    );
}

#[test]
fn without_samples_a_second_later_all_are_sealed() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = create(directory.path()).samples_writer(&plan());
    writer.write(&[bare(1)]).unwrap();
    assert_eq!(load(directory.path()).unwrap().samples, []);
    let begun = std::time::Instant::now();
    while load(directory.path()).unwrap().samples.is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "nothing was sealed"
        );
        std::thread::park_timeout(Duration::from_millis(50)); // between two looks
        writer.write(&[]).unwrap();
    }
    assert!(begun.elapsed() >= Duration::from_millis(900), "too early");
}

#[test]
fn a_record_that_is_not_complete_says_why_and_has_no_end() {
    let directory = tempfile::tempdir().unwrap();
    let kept = create(directory.path());
    kept.append(&event(5, "before"));
    let ended = Environment {
        ended_at: Some("2026-01-02T03:04:05Z".to_owned()),
        ..env()
    };
    let why = kept.complete(ended.clone(), Err("no space".to_owned()));
    assert_eq!(why, Err("no space".to_owned()));
    let run = load(directory.path()).unwrap();
    assert_eq!(run.env.ended_at, None);
    let reason = "the record is not complete: no space".to_owned();
    let aborted = Event {
        at: 5,
        kind: EventKind::Aborted { reason },
    };
    assert_eq!(run.events, [event(5, "before"), aborted]);

    let whole = tempfile::tempdir().unwrap();
    let kept = create(whole.path());
    kept.complete(ended.clone(), Ok(())).unwrap();
    assert_eq!(load(whole.path()).unwrap().env, ended);
}

/// The Parquet reader panics at some of them.
#[test]
fn a_damaged_segment_is_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    finish(&create(directory.path()), &run((0..20).map(bare).collect()));
    let path = directory.path().join("samples-00001.parquet");
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(2) {
        let mut damaged = whole.clone();
        damaged[at] ^= [0xff, 0x01, 0x80][at % 3];
        fs::write(&path, damaged).unwrap();
        refused += usize::from(load(directory.path()).is_err());
    }
    assert!(refused > whole.len() / 20, "{refused} of {}", whole.len());
}

#[test]
fn samples_are_those_of_the_directory_that_was_opened_and_keep_no_file_open() {
    let home = tempfile::tempdir().unwrap();
    let (path, away) = (home.path().join("run"), home.path().join("away"));
    finish(&create(&path), &run(vec![bare(1)]));
    let samples = open(&path).unwrap().samples;
    let files = fs::read_dir("/proc/self/fd").unwrap();
    let files = files.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    assert!(!files.into_iter().any(|file| file.starts_with(&path)));
    assert_eq!(samples.read().unwrap().len(), 1);
    fs::rename(&path, &away).unwrap();
    finish(&create(&path), &run(vec![bare(1), bare(2)]));
    let refused = samples.read().unwrap_err().to_string();
    assert!(refused.contains("is another directory"), "{refused}");
}

/// The Parquet reader would skip 2^31 numbers behind the end of the file.
#[test]
fn a_page_is_described_as_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    finish(&create(directory.path()), &run((0..20).map(bare).collect()));
    let path = directory.path().join("samples-00001.parquet");
    let mut damaged = fs::read(&path).unwrap();
    // The first page is behind `PAR1`: field 9, a list of 2^31 - 1 numbers of eight bytes.
    damaged[4..11].copy_from_slice(&[0x99, 0xf7, 0xff, 0xff, 0xff, 0xff, 7]);
    fs::write(&path, damaged).unwrap();
    let refused = load(directory.path()).unwrap_err().to_string();
    assert!(
        refused.ends_with("a page is not described as this program does"),
        "{refused}"
    );
}

#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    finish(&create(directory.path()), &run(vec![bare(1)]));
    let names = names_in(directory.path());
    assert_eq!(names.len(), 5, "{names:?}");
    for name in names {
        let mode = fs::metadata(directory.path().join(&name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// In a directory that others can write to, a link must not lead to a file of the user.
#[test]
fn no_link_is_followed() {
    for name in [
        PLAN,
        SUITE,
        ENV,
        EVENTS,
        PACKETS,
        BESIDE,
        "env.json.part",
        "samples-00001.parquet",
        "samples-00001.parquet.part",
    ] {
        let directory = tempfile::tempdir().unwrap();
        for target in ["there", "missing"] {
            let path = directory.path().join(target);
            let target = directory.path().join(format!("{target}.txt"));
            if target.ends_with("there.txt") {
                fs::write(&target, "precious").unwrap();
            }
            fs::create_dir(&path).unwrap();
            std::os::unix::fs::symlink(&target, path.join(name)).unwrap();
            let error = RunDir::create(&path, &plan(), "suite: s\n", &env()).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert_eq!(
            fs::read(directory.path().join("there.txt")).unwrap(),
            b"precious"
        );
        assert!(!directory.path().join("missing.txt").exists(), "{name}");
    }
    // Links that appear later are not followed either.
    let directory = tempfile::tempdir().unwrap();
    let victim = directory.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let path = directory.path().join("run");
    let kept = create(&path);
    let link = |name: &str| std::os::unix::fs::symlink(&victim, path.join(name)).unwrap();
    let parts = ["samples-00001.parquet.part", "env.json.part"];
    parts.iter().for_each(|part| link(part));
    let mut writer = kept.samples_writer(&plan());
    writer.write(&[bare(1)]).unwrap();
    assert!(writer.seal().is_err());
    assert!(kept.complete(env(), Ok(())).is_err());
    drop(writer);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    // Existing files must not be removed.
    for part in parts {
        assert!(fs::read_link(path.join(part)).is_ok(), "{part}");
    }
}

/// A device that is always full stands for a full disk.
#[test]
fn events_that_do_not_fit_are_missed_aloud() {
    let directory = tempfile::tempdir().unwrap();
    let kept = create(directory.path());
    kept.append(&event(5, "before"));
    let whole = std::mem::replace(
        &mut kept.events().file,
        File::options().write(true).open("/dev/full").unwrap(),
    );
    kept.append(&event(6, "does not fit"));
    kept.events().file = whole;
    kept.append(&event(7, "after a gap"));
    let why = kept.complete(env(), Ok(())).unwrap_err();
    assert!(
        why.contains("events.jsonl") && why.contains("No space left"),
        "{why}"
    );
    let events = load(directory.path()).unwrap().events;
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(
        matches!(events[1].kind, EventKind::Aborted { .. }),
        "{events:?}"
    );
}

#[test]
fn a_missing_segment_is_an_error() {
    for (lost, expected) in [
        (2, "samples-00002.parquet: is missing"),
        (3, "18000 of its 27000 operations are"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let kept = create(directory.path());
        let mut writer = kept.samples_writer(&plan());
        for _ in 0..3 {
            writer.write(&vec![bare(1); 9_000]).unwrap();
            writer.seal().unwrap();
        }
        let samples = Some(writer.finish().unwrap().count());
        let env = Environment { samples, ..env() };
        kept.complete(env, Ok(())).unwrap();
        assert!(load(directory.path()).is_ok());
        let lost = format!("samples-{lost:05}.parquet");
        fs::remove_file(directory.path().join(lost)).unwrap();
        let error = load(directory.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_damaged_file_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    create(directory.path());
    let path = directory.path().join("samples-00001.parquet");
    for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", b"no parquet at all"] {
        fs::write(&path, bytes).unwrap();
        let error = load(directory.path()).unwrap_err().to_string();
        assert!(error.contains("samples-00001.parquet"), "{error}");
    }
}

#[test]
fn samples_of_another_plan_are_an_error_that_names_the_row() {
    let directory = tempfile::tempdir().unwrap();
    let mut other = plan();
    other.measures.truncate(1);
    let kept = RunDir::create(directory.path(), &other, "suite: s\n", &env()).unwrap();
    finish(&kept, &run(vec![bare(1)]));
    let error = load(directory.path()).unwrap_err().to_string();
    assert!(error.contains("`B` is no measure of this run"), "{error}");
}
