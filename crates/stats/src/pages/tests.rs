use record::{EventKind, Pace, Run};

use super::*;
use crate::testing::{self, RunBuilder};
use crate::{Status, Summariser, Summary, summarise};

const MS: Nanos = 1_000_000;
const S: Nanos = 1_000 * MS;

/// A load run of two pages, one of two files and one of a single one, without visits. It counts
/// from the first second to the eleventh.
fn run() -> Run {
    let files = [("A1", "GET"), ("A2", "GET"), ("B1", "GET")];
    let page = |name: &str, files: &[u16]| PageRecord {
        name: name.to_owned(),
        weight: 1.0,
        files: files.iter().copied().map(MeasureId).collect(),
        bytes: None,
        parts: None,
    };
    RunBuilder::new(2)
        .test("Pages", &files)
        .with(|run| {
            run.plan.load.pace = Pace::Closed;
            run.plan.load.requests = None;
            run.plan.pages = vec![page("A", &[0, 1]), page("B", &[2])];
        })
        .event_at(S, |test| EventKind::MeasuringStarted { test })
        .event_at(11 * S, |test| EventKind::MeasuringEnded { test })
        .build()
}

/// A file of a visit, from one moment to another.
fn file(visit: u64, measure: u16, started: Nanos, done: Nanos) -> Sample {
    let (sent, first) = (started + MS / 10, done - MS / 10);
    Sample {
        visit: Some(visit),
        moments: testing::moments(started, sent, first, done),
        ..testing::sample(MeasureId(measure), 0, Outcome::Ok)
    }
}

fn failed(mut sample: Sample) -> Sample {
    sample.outcome = Outcome::WrongStatus;
    sample
}

fn pages_of(samples: &[Sample]) -> PagesSummary {
    let samples = samples.to_vec();
    let run = Run { samples, ..run() };
    summarise(&run).pages.unwrap()
}

#[test]
fn a_visit_is_complete_when_all_its_files_came() {
    let pages = pages_of(&[
        file(1, 0, 2 * S, 2 * S + 3 * MS),
        file(2, 2, 2 * S, 2 * S + 9 * MS),
        file(1, 1, 2 * S + 4 * MS, 2 * S + 6 * MS),
    ]);
    let [a, b] = &pages.pages[..] else {
        panic!("two pages")
    };
    assert_eq!((a.visits.complete, a.visits.files), (1, 2));
    assert_eq!((b.visits.complete, b.visits.files), (1, 1));
    let load = a.visits.load.unwrap();
    assert_eq!((load.n, load.max), (1, 6 * MS));
    assert_eq!(a.visits.first_byte.unwrap().max, 3 * MS - MS / 10);
    assert_eq!(a.visits.file.unwrap().max, 3 * MS);
    assert_eq!(a.visits.bytes_received, 1000);
    assert_eq!(
        (a.visits.body_received, a.visits.head_received()),
        (800, 200)
    );
    assert_eq!((pages.all.complete, pages.all.incomplete), (2, 0));
    assert_eq!(pages.window_s, 10.0);
    assert_eq!(pages.per_minute, 12.0);
    // 3 + 9 + 2 ms of requests in ten seconds.
    assert!((pages.in_progress - 0.0014).abs() < 1e-12);
}

#[test]
fn a_visit_that_misses_a_file_is_an_error_and_its_bytes_are_apart() {
    let mut short = failed(file(1, 1, 3 * S, 3 * S + MS));
    short.bytes_received = 70;
    let pages = pages_of(&[
        file(1, 0, 2 * S, 3 * S),
        short,
        // The run was interrupted before its second file.
        file(2, 0, 4 * S, 5 * S),
    ]);
    let a = &pages.pages[0].visits;
    assert_eq!((a.complete, a.incomplete), (0, 2));
    assert_eq!((a.files, a.files_of_complete, a.failed), (2, 0, 1));
    assert_eq!((a.bytes_received, a.bytes_apart), (0, 500 + 70 + 500));
    assert_eq!((a.load, pages.per_minute), (None, 0.0));
}

#[test]
fn a_visit_has_as_many_parts_as_its_first_file_named() {
    let named = |parts, sample| Sample {
        parts: Some(parts),
        ..sample
    };
    let samples = vec![
        // The first file names three.
        named(3, file(1, 0, 2 * S, 3 * S)),
        named(3, file(1, 1, 3 * S, 4 * S)),
        named(3, file(1, 1, 3 * S, 5 * S)),
        // Another visit: none.
        named(0, file(2, 0, 2 * S, 3 * S)),
        named(3, file(1, 1, 5 * S, 6 * S)),
        // The first file did not come.
        named(0, failed(file(3, 0, 2 * S, 3 * S))),
        // The second part is missing.
        named(2, file(4, 0, 2 * S, 3 * S)),
        named(2, file(4, 1, 3 * S, 4 * S)),
    ];
    let mut run = Run { samples, ..run() };
    run.plan.pages[0].parts = Some(MeasureId(1));
    let whole = summarise(&run).pages.unwrap();
    let page = &whole.pages[0].visits;
    assert_eq!((page.complete, page.incomplete), (2, 2));
    assert_eq!((page.files, page.failed), (7, 1));
    assert_eq!(page.load.unwrap().max, 4 * S);
}

#[test]
fn a_visit_counts_by_its_end_and_is_timed_by_its_beginning() {
    let pages = pages_of(&[
        file(1, 2, S - MS, S + MS),
        file(2, 2, 5 * S, 6 * S),
        file(3, 2, 10 * S, 12 * S),
        file(4, 2, S / 2, S - 2 * MS),
    ]);
    assert_eq!(pages.all.complete, 2);
    assert_eq!(pages.left_out.complete, 2);
    assert_eq!(pages.left_out.bytes_received, 1000);
    let times = |visits: &Visits| visits.load.map(|load| (load.n, load.max));
    assert_eq!(
        times(&pages.all),
        Some((2, 2 * S)),
        "the third was waited for"
    );
    assert_eq!(times(&pages.left_out), Some((2, S / 2 - 2 * MS)));
}

#[test]
fn connections_are_counted_with_how_long_they_took() {
    let mut first = file(1, 0, 2 * S, 3 * S);
    first.connect = testing::connect(2 * MS, Some(3 * MS));
    let pages = pages_of(&[first, file(1, 1, 3 * S, 4 * S)]);
    let a = &pages.pages[0].visits;
    assert_eq!((a.connects, a.connect.unwrap().max), (1, 5 * MS));
}

#[test]
fn what_chance_never_chose_is_not_drawn() {
    let statuses = |change: &dyn Fn(&mut Run), samples: &[Sample]| {
        let mut run = Run {
            samples: samples.to_vec(),
            ..run()
        };
        change(&mut run);
        let rows = summarise(&run).tests;
        rows.iter().map(|row| row.status).collect::<Vec<_>>()
    };
    use Status::{Failed, NotDrawn, Ok};
    let (a1, a2) = (file(1, 0, 2 * S, 3 * S), file(1, 1, 3 * S, 4 * S));
    // The other page may fail as it likes.
    let both = [a1.clone(), failed(a2)];
    assert_eq!(statuses(&|_| (), &both), [Ok, Failed, NotDrawn]);
    // A file of a page that was drawn is missing for another reason.
    let one = [a1];
    assert_eq!(statuses(&|_| (), &one), [Ok, Failed, NotDrawn]);
    let in_turn = |run: &mut Run| run.plan.load.in_turn = true;
    assert_eq!(statuses(&in_turn, &one), [Ok, Failed, Failed]);
    // Of a suite, only rows within a choice can be not drawn.
    let rounds = |run: &mut Run| {
        run.plan.load.pace = Pace::Rounds;
        run.plan.pages.clear();
        run.plan.measures[1].by_chance = true;
    };
    assert_eq!(statuses(&rounds, &one), [Ok, NotDrawn, Failed]);
}

#[test]
fn servers_have_their_own_share() {
    let of_user = |user, sample| Sample { user, ..sample };
    let samples = vec![
        of_user(0, file(1, 2, 2 * S, 3 * S)),
        of_user(1, file(2, 2, 2 * S, 4 * S)),
        of_user(1, file(3, 0, 4 * S, 5 * S)),
        of_user(1, failed(file(3, 1, 5 * S, 6 * S))),
        of_user(2, file(4, 2, 3 * S, 4 * S)),
    ];
    assert_eq!(pages_of(&samples).servers, []);
    let mut run = Run { samples, ..run() };
    run.plan.others = vec!["http://192.0.2.2/".to_owned()];
    run.plan.load.users = 3;
    let pages = summarise(&run).pages.unwrap();
    let found: Vec<_> = pages
        .servers
        .iter()
        .map(|one| {
            let visits = &one.visits;
            (
                one.url.as_str(),
                one.users,
                visits.complete,
                visits.incomplete,
            )
        })
        .collect();
    let first = run.plan.target.as_str();
    assert_eq!(found, [(first, 2, 2, 0), ("http://192.0.2.2/", 1, 1, 1)]);
    let rates: f64 = pages.servers.iter().map(|one| one.per_minute).sum();
    assert!((rates - pages.per_minute).abs() < 1e-9);
    // The sums over pages are those over servers.
    assert_eq!(pages.pages[1].visits.complete, 3);
    assert_eq!((pages.all.complete, pages.all.incomplete), (3, 1));
}

#[test]
fn each_server_has_an_interval_of_its_own() {
    let visits = (0..125).map(|visit| Sample {
        user: u32::from(visit % 3 > 0),
        ..file(visit, 2, S + visit * 80 * MS, S + (visit * 80 + 30) * MS)
    });
    let mut run = Run {
        samples: visits.collect(),
        ..run()
    };
    run.plan.others = vec!["http://192.0.2.2/".to_owned()];
    let pages = summarise(&run).pages.unwrap();
    for (server, rate) in pages.servers.iter().zip([252.0, 498.0]) {
        assert!((server.per_minute - rate).abs() < 1e-9);
        let (low, high) = server.per_minute_ci95.unwrap();
        assert!(low < server.per_minute && server.per_minute < high);
        assert!(high - low < 0.2 * server.per_minute, "{low} .. {high}");
    }
    // Of 10 visits to one of them there is none.
    run.samples
        .retain(|sample| sample.user == 1 || sample.moments.started < 3 * S);
    let servers = summarise(&run).pages.unwrap().servers;
    assert_eq!(servers[0].per_minute_ci95, None);
    assert!(servers[1].per_minute_ci95.is_some());
}

#[test]
fn what_belongs_to_no_page_is_no_visit() {
    let alone = Sample {
        visit: None,
        ..file(1, 2, 2 * S, 3 * S)
    };
    assert_eq!(pages_of(&[alone]).all, Visits::default());
}

#[test]
fn parts_of_a_run_merge_into_the_whole() {
    let run = run();
    let mut samples = Vec::new();
    for visit in 0..40 {
        let begin = S + visit * 200 * MS;
        samples.push(file(visit, 0, begin, begin + (50 + visit) * MS));
        let second = file(visit, 1, begin + 100 * MS, begin + 150 * MS);
        samples.push(if visit % 7 == 0 {
            failed(second)
        } else {
            second
        });
    }
    let window = MeasurementWindow::Between {
        start: S,
        end: 11 * S,
    };
    let of = |parts: &[&[Sample]]| -> Summary {
        let mut whole = Summariser::new(&run.plan);
        for part in parts {
            let mut one = Summariser::new(&run.plan);
            one.add(part, window);
            whole.merge(&one);
        }
        whole.finish(&run.events, &run.env)
    };
    let whole = of(&[&samples]).pages.unwrap();
    assert_eq!((whole.all.complete, whole.all.incomplete), (34, 6));
    for cut in [1, 17, 40, 79] {
        let (left, right) = samples.split_at(cut);
        assert_eq!(of(&[left, right]).pages.unwrap(), whole, "cut at {cut}");
        assert_eq!(of(&[right, left]).pages.unwrap(), whole, "cut at {cut}");
    }
}

#[test]
fn there_is_no_interval_without_time_for_one() {
    let mut run = run();
    run.events[1].at = S + 10 * MS;
    run.samples = vec![file(1, 2, S, S + MS)];
    assert_eq!(summarise(&run).pages.unwrap().per_minute_ci95, None);
    // Nor without pages: the variation of three of them is unknown.
    let few: Vec<Sample> = (0..3).map(|visit| file(visit, 2, 2 * S, 3 * S)).collect();
    assert_eq!(pages_of(&few).per_minute_ci95, None);
    assert_eq!(pages_of(&[]).per_minute_ci95, None);
}

/// A page whose files have one name, which opened connections of its own.
#[test]
fn files_of_one_name_are_counted_and_so_are_segments() {
    let mut run = run();
    run.plan.pages[0].files = vec![MeasureId(0); 3];
    let ended = |sent, received, sample| Sample {
        segments: Some(record::Segments { sent, received }),
        ..sample
    };
    run.samples = vec![
        file(1, 0, 2 * S, 2 * S + 3 * MS),
        file(1, 0, 2 * S + 3 * MS, 2 * S + 4 * MS),
        ended(9, 8, file(1, 0, 2 * S + 4 * MS, 2 * S + 6 * MS)),
        // Two of three, and the connection ends with the failure.
        file(2, 0, 3 * S, 3 * S + MS),
        ended(5, 4, failed(file(2, 0, 3 * S + MS, 3 * S + 2 * MS))),
        // Of another page, on a connection that is kept.
        file(3, 2, 3 * S, 3 * S + MS),
    ];
    let summary = summarise(&run);
    let pages = summary.pages.unwrap();
    let [a, b] = &pages.pages[..] else {
        panic!("two pages")
    };
    assert_eq!(
        (a.visits.complete, a.visits.incomplete, a.visits.files),
        (1, 1, 4)
    );
    let of = |sent, received| Some(SegmentCount { sent, received });
    assert_eq!(a.visits.segments, of(14, 12));
    assert_eq!((b.visits.complete, b.visits.segments), (1, None));
    assert_eq!(pages.all.segments, of(14, 12));
    assert_eq!(summary.tests[0].connects.segments, of(14, 12));
    assert_eq!(summary.tests[2].connects.segments, None);
}
