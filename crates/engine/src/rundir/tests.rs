//! What is written is read again, and what cannot be read is named.

use proptest::prelude::*;
use record::{
    Clock, Connect, Environment, Http, Load, Machine, MeasureId, MeasureRecord, Moments, Outcome,
    Pace, Sample, SuiteRecord, TestId, TestRecord, Timing,
};

use super::*;

fn plan() -> PlanRecord {
    let measure = |name: &str| MeasureRecord {
        name: name.to_owned(),
        test: TestId(0),
        method: "GET".to_owned(),
        by_chance: false,
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
        others: Vec::new(),
        clock: Clock::User,
        acks: false,
        params: Default::default(),
        load: Load {
            users: 1,
            pace: Pace::Rounds,
            requests: Some(1),
            duration_s: None,
            until: Some("p99 ±5%".to_owned()),
            warmup: 0,
            warmup_s: 0.0,
            timeout_s: 30.0,
            seed: 0,
            http: Http::default(),
            in_turn: false,
        },
        tests: vec![TestRecord {
            name: "T".to_owned(),
        }],
        measures: vec![measure("A"), measure("B")],
        pages: Vec::new(),
    }
}

fn env() -> Environment {
    let machine = Machine {
        os: String::new(),
        cpu: String::new(),
        cores: 1,
        memory_bytes: 0,
    };
    Environment {
        machine,
        server: None,
        started_at: String::new(),
        ended_at: None,
    }
}

fn run(samples: Vec<Sample>) -> Run {
    Run {
        plan: plan(),
        env: env(),
        events: Vec::new(),
        samples,
    }
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
        (number, visit) in (0..1_000_000u64, proptest::option::of(0..1_000_000u64)),
        (outcome, timing) in (0..Outcome::ALL.len(), timing()),
        status in proptest::option::of(100..=599u16),
        planned in 0..1_000_000u64,
        started in 0..1_000_000u64,
        (sent, acked, first, done) in (moment(), moment(), moment(), moment()),
        connect in proptest::option::of((0..1_000_000u64, proptest::option::of(0..9u64))),
        resent in any::<bool>(),
        (bytes_sent, bytes_received) in (0..1u64 << 40, 0..1u64 << 40),
        body_received in 0..1u64 << 40,
    ) -> Sample {
        Sample {
            measure: MeasureId(measure),
            user,
            number,
            visit,
            outcome: Outcome::ALL[outcome],
            status,
            moments: Moments { planned, started, sent, acked, first, done },
            timing,
            connect: connect.map(|(tcp, tls)| Connect { tcp, tls }),
            resent,
            bytes_sent,
            bytes_received,
            body_received,
        }
    }
}

/// The sample that has least in it.
fn bare(number: u64) -> Sample {
    Sample {
        measure: MeasureId(1),
        user: 0,
        number,
        visit: None,
        outcome: Outcome::Ok,
        status: None,
        moments: Moments {
            planned: 0,
            started: 0,
            sent: None,
            acked: None,
            first: None,
            done: None,
        },
        timing: Timing::User,
        connect: None,
        resent: false,
        bytes_sent: 0,
        bytes_received: 0,
        body_received: 0,
    }
}

/// Writes what is known at the end of a run.
fn finish(kept: &RunDir, run: &Run) {
    kept.write_env(&run.env).unwrap();
    let mut writer = kept.samples_writer(&run.plan).unwrap();
    writer.write(&run.samples).unwrap();
    writer.finish().unwrap();
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

/// More than two groups, written in pieces that fit no group, in the order of recording.
#[test]
fn many_samples_come_in_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let kept = create(directory.path());
    let mut writer = kept.samples_writer(&plan()).unwrap();
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

#[test]
fn a_killed_run_has_no_samples_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let kept = create(directory.path());
    let mut writer = kept.samples_writer(&plan()).unwrap();
    let samples: Vec<Sample> = (0..40_000).map(bare).collect();
    writer.write(&samples).unwrap();
    // As if killed: nothing completes the file.
    std::mem::forget(writer);
    let run = load(directory.path()).unwrap();
    assert_eq!(run.samples, []);
    let [
        Event {
            kind: EventKind::Aborted { reason },
            ..
        },
    ] = run.events.as_slice()
    else {
        panic!("{:?}", run.events);
    };
    assert!(reason.contains("killed"), "{reason}");
}

#[test]
fn a_damaged_file_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    create(directory.path());
    let path = directory.path().join(SAMPLES);
    for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", b"no parquet at all"] {
        std::fs::write(&path, bytes).unwrap();
        let error = load(directory.path()).unwrap_err().to_string();
        assert!(error.contains("samples.parquet"), "{error}");
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
    assert!(error.contains("`B` is not in the plan"), "{error}");
}
