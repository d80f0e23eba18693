//! Times of the server beside the measured ones: calculation, and coverage of their intervals.
//!
//! Share of 1000 intervals that contain the true mean, and the true share of the measured time:
//! log-normal times of the server, and as much other time beside them on average, independent and
//! exponential. Of two threads, both see the same state of the server.
//!
//! ```text
//! operations of each thread                  20          200         2000
//! sigma 0.5, one thread               93.7 92.1    95.6 95.0    93.9 94.3
//! sigma 0.5, two threads              92.5 93.3    95.2 94.8    94.9 95.3
//! sigma 1, one thread                 88.2 90.9    93.5 94.7    93.8 93.7
//! sigma 0.5, correlation 0.9, one     27.6 68.4    83.3 87.2    92.5 93.1
//! sigma 0.5, correlation 0.9, two     29.1 57.7    83.4 85.8    93.3 93.6
//! ```

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use record::{
    AccessLogRecord, Event, EventKind, MeasureId, Nanos, ServerTimeBatches, ServerTimeSource,
    ServerTimes,
};

use crate::server_view::{ServerView, ServerViewRow};

const RUNS: usize = 1000;
const MEDIAN: f64 = 300_000.0;

fn event(kind: EventKind) -> Event {
    Event { at: 0, kind }
}

fn metric(name: &str) -> ServerTimeSource {
    ServerTimeSource::Header {
        metric: name.to_owned(),
    }
}

fn times(measure: u16, source: ServerTimeSource, all: &[(Nanos, Nanos)]) -> ServerTimes {
    let mut batches = ServerTimeBatches::default();
    all.iter()
        .for_each(|(server, ours)| batches.push(*server, *ours));
    ServerTimes {
        measure: MeasureId(measure),
        operations: all.len() as u64,
        resolution: match source {
            ServerTimeSource::Header { .. } => 1,
            ServerTimeSource::AccessLog => 1_000_000,
        },
        source,
        batches: batches.into_batches(),
    }
}

/// Times of a server with this deviation of the logarithms, and correlation of neighbours.
#[derive(Debug, Clone, Copy)]
struct KnownTimes {
    sigma: f64,
    rho: f64,
    threads: u16,
}

impl KnownTimes {
    fn mean(self) -> f64 {
        MEDIAN * (self.sigma * self.sigma / 2.0).exp()
    }

    fn run(self, operations: usize, rng: &mut ChaCha8Rng) -> Vec<Event> {
        let innovation = (1.0 - self.rho * self.rho).sqrt();
        let mut state: f64 = StandardNormal.sample(rng);
        let mut threads = vec![Vec::new(); usize::from(self.threads)];
        for _ in 0..operations {
            let server = MEDIAN * (self.sigma * state).exp();
            for thread in &mut threads {
                let beside: f64 = Exp1.sample(rng);
                thread.push((server as Nanos, (server + self.mean() * beside) as Nanos));
            }
            let next: f64 = StandardNormal.sample(rng);
            state = self.rho * state + innovation * next;
        }
        let threads = threads.iter();
        let threads = threads.map(|all| EventKind::ServerTimes(times(0, metric("app"), all)));
        threads.map(event).collect()
    }

    /// How often the intervals of the mean and of the share contain them, in percent.
    fn coverage(self, operations: usize) -> [f64; 2] {
        let mut rng = ChaCha8Rng::seed_from_u64(20);
        let mut contains = [0; 2];
        for _ in 0..RUNS {
            let row = rows(&self.run(operations, &mut rng)).remove(0);
            let times = row.times.unwrap();
            let truth = [(times.server, self.mean()), (times.share.unwrap(), 0.5)];
            for (count, (figure, truth)) in contains.iter_mut().zip(truth) {
                let (low, high) = figure.interval.unwrap();
                *count += usize::from((low..=high).contains(&truth));
            }
        }
        contains.map(|count| 100.0 * count as f64 / RUNS as f64)
    }
}

fn rows(events: &[Event]) -> Vec<ServerViewRow> {
    ServerView::of(events).unwrap().rows
}

#[test]
fn intervals_contain_means_and_shares() {
    // Bounds leave three standard errors of the simulation to the figures above, or more.
    let cases = [
        (0.5, 0.0, 1, [[89.0; 2], [92.0; 2], [91.5; 2]]),
        (0.5, 0.0, 2, [[89.0; 2], [92.0; 2], [91.5; 2]]),
        (1.0, 0.0, 1, [[84.0; 2], [91.0; 2], [91.0; 2]]),
        (0.5, 0.9, 1, [[23.0, 62.0], [79.0, 83.0], [89.0; 2]]),
        (0.5, 0.9, 2, [[24.0, 52.0], [79.0, 82.0], [90.0; 2]]),
    ];
    for (sigma, rho, threads, least) in cases {
        let known = KnownTimes {
            sigma,
            rho,
            threads,
        };
        for (operations, least) in [20, 200, 2000].into_iter().zip(least) {
            let found = known.coverage(operations);
            for (found, least) in found.into_iter().zip(least) {
                assert!(
                    (least..=97.5).contains(&found),
                    "{known:?}, {operations}: {found}"
                );
            }
        }
    }
}

#[test]
fn rows_are_those_of_the_plan_with_metrics_by_name_and_the_log_behind() {
    let all = [
        times(1, metric("db"), &[(10, 20)]),
        times(0, ServerTimeSource::AccessLog, &[(2_000_000, 4_000_000)]),
        times(0, metric("db"), &[(10, 40), (30, 60)]),
        times(0, metric("app"), &[]),
        times(0, metric("db"), &[(20, 20)]),
    ];
    let mut events: Vec<Event> = all
        .into_iter()
        .map(|times| event(EventKind::ServerTimes(times)))
        .collect();
    let counts = AccessLogRecord {
        operations: 3,
        joined: 1,
        missing: 2,
        ..AccessLogRecord::default()
    };
    events.push(event(EventKind::AccessLog(counts.clone())));
    let view = ServerView::of(&events).unwrap();
    assert_eq!(view.access_log, Some(counts));
    let found = |row: &ServerViewRow| {
        let times = row.times.as_ref();
        let figures =
            times.map(|times| (times.server.value, times.ours, times.share.unwrap().value));
        (row.measure.0, row.source.clone(), row.operations, figures)
    };
    let found: Vec<_> = view.rows.iter().map(found).collect();
    assert_eq!(
        found,
        [
            (0, metric("app"), 0, None),
            (0, metric("db"), 3, Some((20.0, 40.0, 0.5))),
            (
                0,
                ServerTimeSource::AccessLog,
                1,
                Some((2_000_000.0, 4_000_000.0, 0.5))
            ),
            (1, metric("db"), 1, Some((10.0, 20.0, 0.5))),
        ]
    );
    let interval = |index: usize| view.rows[index].times.as_ref().unwrap().server.interval;
    // Two threads with two and one: the first of both are one group.
    let (low, high) = interval(1).unwrap();
    assert!(low < 20.0 && high > 20.0);
    assert_eq!((interval(2), interval(3)), (None, None));
    assert_eq!(ServerView::of(&[event(EventKind::Interrupted)]), None);
}

#[test]
fn times_below_what_a_log_can_resolve_have_no_interval_and_no_share() {
    let seen = |server: [Nanos; 2]| {
        let all = server.map(|server| (server, 5_000_000));
        let times = times(0, ServerTimeSource::AccessLog, &all);
        let row = rows(&[event(EventKind::ServerTimes(times))]).remove(0);
        let times = row.times.unwrap();
        (times.server.interval.is_some(), times.share.is_some())
    };
    assert_eq!(seen([1_000_000, 0]), (false, false));
    assert_eq!(seen([1_000_000, 2_000_000]), (true, true));
}

#[test]
fn a_share_of_no_time_is_none() {
    let times = times(0, metric("app"), &[(5, 0), (5, 0)]);
    let row = rows(&[event(EventKind::ServerTimes(times))]).remove(0);
    assert_eq!(row.times.unwrap().share, None);
}
