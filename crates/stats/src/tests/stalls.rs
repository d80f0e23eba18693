//! Effects of stalls of the load generator on rows: none on most of them. A seeded simulation has
//! the truth, because the server's times are known there: no row passes whose mean is off by more
//! than [`TOLERATED`] percent.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, LogNormal};
use record::{
    Clock, EventKind, Generator, MeasureId, Nanos, Outcome, Pace, Run, Sample, TestId, Timing,
};

use crate::testing::{self, RunBuilder, US};
use crate::{Conclusion, Summary, TOLERATED, TestSummary, summarise};

const MS: Nanos = 1_000 * US;

/// A load generator at its ease but for these stalls.
fn stalled(test: TestId, stalls: &[Nanos], wall: Nanos) -> EventKind {
    EventKind::Generator(Generator {
        workers: 1,
        wall,
        cpu: wall / 4,
        queued: None,
        stalled: stalls.iter().sum(),
        stalls: stalls.len() as u64,
        longest_stall: stalls.iter().copied().max().unwrap_or(0),
        ..testing::generator(test)
    })
}

fn kinds(row: &TestSummary) -> Vec<&'static str> {
    row.warnings
        .iter()
        .map(|warning| warning.kind.name())
        .collect()
}

fn disqualified(summary: &Summary) -> Vec<&str> {
    let rows = summary.disqualified();
    rows.map(|(row, _)| row.name.as_str()).collect()
}

/// A suite of 23 tests of 100 operations of a millisecond. In one of them an operation takes
/// `slowest_us`, and the load generator stalled for 15 ms, which is more than 1 % of the time.
fn suite(slowest_us: u64) -> Summary {
    let names: Vec<String> = (0..23).map(|number| format!("Test{number}")).collect();
    let builder = names.iter().fold(RunBuilder::new(1), |builder, name| {
        let slow = name == "Test7";
        let time = move |i| if slow && i == 40 { slowest_us } else { 1_000 };
        builder
            .test(name, &[(name, "PUT")])
            .ok(name, 100, time)
            .event(name, |test, _| {
                if slow {
                    stalled(test, &[15 * MS], 100 * MS)
                } else {
                    stalled(test, &[], 100 * MS)
                }
            })
    });
    summarise(&builder.build())
}

#[test]
fn a_stall_in_one_test_leaves_the_other_rows() {
    // No operation of the row was under way for that time: the stall affected none.
    let summary = suite(1_100);
    assert_eq!(summary.conclusion(), Conclusion::Pass);
    assert!(summary.tests.iter().all(|row| row.warnings.is_empty()));
    // One was, and is an eighth of the mean.
    let summary = suite(16_000);
    assert_eq!(disqualified(&summary), ["Test7"]);
    assert_eq!(summary.conclusion(), Conclusion::Inconclusive);
    assert_eq!(kinds(&summary.tests[7]), ["stalled"]);
    let share = &summary.warnings[0].shares[0];
    assert_eq!((&*share.name, share.percent().round()), ("Test7", 14.0));
}

/// 10,000 operations of 0.3 ms, of which one is read 200 ms late.
fn quick(clock: Clock, bytes: u64) -> Summary {
    let run = RunBuilder::new(1)
        .test("Get1K", &[("Get1K", "GET")])
        .with(|run| run.plan.clock = clock)
        .ok("Get1K", 10_000, |_| 300)
        .event("Get1K", |test, _| stalled(test, &[195 * MS], 4_000 * MS))
        .with(|run| {
            for (sample, i) in run.samples.iter_mut().zip(0..) {
                let late = if i == 4_000 { 200 * MS } else { 0 };
                let moments = &mut sample.moments;
                moments.done = moments.done.map(|done| done + late);
                sample.bytes_received = bytes;
                match clock {
                    Clock::User => moments.first = moments.first.map(|first| first + late),
                    Clock::Kernel => {
                        let bias = Some(late.cast_signed());
                        sample.timing = Timing::Kernel { bias };
                    }
                }
            }
        });
    summarise(&run.build())
}

#[test]
fn stamps_of_the_kernel_do_not_contain_a_stall() {
    // The mean is 320 us, and 300 in truth.
    let user = quick(Clock::User, 500);
    assert_eq!(kinds(&user.tests[0]), ["stalled"]);
    let kernel = quick(Clock::Kernel, 500);
    let row = &kernel.tests[0];
    assert_eq!(kinds(row), ["total_stalled", "hiccup"]);
    assert_eq!(
        (row.disqualified(), row.conclusion()),
        (None, Conclusion::Pass)
    );
    // Nor does a longer response contain more of it than it took.
    let long = quick(Clock::Kernel, 50_000);
    assert_eq!(long.tests[0].disqualified(), None);
}

#[test]
fn a_stall_that_takes_users_from_the_load_counts_against_it() {
    let of = |stall: Nanos, users: u32| {
        let run = RunBuilder::new(users)
            .with(|run| {
                run.plan.clock = Clock::Kernel;
                run.plan.load.pace = Pace::Closed;
            })
            .test("Get", &[("Get", "GET")])
            .event_at(0, |test| EventKind::MeasuringStarted { test })
            .ok("Get", 1_000, |_| 970)
            .event_at(1_000 * MS, |test| EventKind::MeasuringEnded { test })
            .event("Get", |test, _| stalled(test, &[stall], 1_000 * MS));
        disqualified(&summarise(&run.build())).len()
    };
    assert_eq!((of(39 * MS, 1), of(41 * MS, 1)), (0, 1));
    assert_eq!((of(39 * MS, 4), of(41 * MS, 4)), (0, 1));
}

/// Conclusion on a failed row with this generator.
fn failing(outcomes: &[Outcome], change: impl FnOnce(&mut Generator)) -> Conclusion {
    let builder = RunBuilder::new(1)
        .test("Lock", &[("Lock", "LOCK")])
        .ok("Lock", 100, |_| 1_000);
    let builder = outcomes.iter().fold(builder, |builder, outcome| {
        builder.ops("Lock", 1, *outcome, |_| 100)
    });
    let run = builder.event("Lock", |test, _| {
        let mut generator = testing::generator(test);
        change(&mut generator);
        EventKind::Generator(generator)
    });
    summarise(&run.build()).conclusion()
}

#[test]
fn a_failure_is_inconclusive_only_where_the_load_generator_may_have_caused_all_of_it() {
    use Conclusion::{Fail, Inconclusive};
    use Outcome::{ConnectFailed, Refused, Timeout, WrongStatus};
    let saturated = |of: &mut Generator| of.cpu = 2 * of.wall;
    let exhausted = |of: &mut Generator| of.exhausted.ports = 1;
    let stalled = |of: &mut Generator| (of.stalled, of.longest_stall) = (9_000 * MS, 9_000 * MS);
    let hiccup = |of: &mut Generator| (of.stalled, of.longest_stall) = (90 * MS, 90 * MS);
    assert_eq!(failing(&[WrongStatus], |_| {}), Fail);
    assert_eq!(failing(&[Timeout], |_| {}), Fail);
    assert_eq!(failing(&[Timeout], saturated), Inconclusive);
    assert_eq!(
        failing(&[WrongStatus], saturated),
        Fail,
        "the server said so"
    );
    assert_eq!(failing(&[Timeout, Refused], saturated), Fail);
    assert_eq!(failing(&[ConnectFailed], exhausted), Inconclusive);
    assert_eq!(failing(&[Timeout], exhausted), Fail);
    assert_eq!(failing(&[Timeout], stalled), Inconclusive);
    assert_eq!(failing(&[Timeout], hiccup), Fail, "90 ms of 30 s");
}

#[derive(Clone, Copy)]
struct Simulated {
    users: u32,
    operations: u64,
    /// Mean of the server's times, log-normal with this standard deviation of the logarithm.
    mean: Nanos,
    sigma: f64,
    stalls: u64,
    /// Length of each: from 20 ms to this.
    longest: Nanos,
}

/// A run with the user clock, and the same run with the times of the server.
fn simulated(how: Simulated, seed: u64) -> (Run, Run) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mu = (how.mean as f64).ln() - how.sigma * how.sigma / 2.0;
    let times = LogNormal::new(mu, how.sigma).unwrap();
    let wall = how.mean * how.operations / u64::from(how.users);
    let mut stalls: Vec<(Nanos, Nanos)> = (0..how.stalls)
        .map(|_| {
            let begin = rng.random_range(0..wall.max(1));
            (begin, begin + rng.random_range(20 * MS..=how.longest))
        })
        .collect();
    stalls.sort_unstable();
    // The worker thread reads and sends when it does not stall.
    let at_work = |mut moment: Nanos| {
        for (begin, end) in &stalls {
            if (*begin..*end).contains(&moment) {
                moment = *end;
            }
        }
        moment
    };
    let builder = || RunBuilder::new(how.users).test("Get", &[("Get", "GET")]);
    let (mut seen, mut truth) = (builder(), builder());
    let mut last = 0;
    for user in 0..how.users {
        let mut now = 0;
        for _ in 0..how.operations / u64::from(how.users) {
            let sent = at_work(now);
            let arrived = sent + times.sample(&mut rng) as Nanos;
            let read = at_work(arrived);
            let mut sample: Sample = testing::sample(MeasureId(0), user, Outcome::Ok);
            sample.moments = testing::moments(sent, sent, read, read);
            seen = seen.sample("Get", sample.clone());
            sample.moments = testing::moments(sent, sent, arrived, read);
            truth = truth.sample("Get", sample);
            now = read;
        }
        last = last.max(now);
    }
    // Heartbeats every 10 ms: a stall is noticed by the first that is due in it.
    let phase = rng.random_range(0..Generator::BEAT);
    let noticed = stalls.iter().filter(|(begin, _)| *begin < last);
    let noticed = noticed.map(|(begin, end)| {
        let due = begin
            .saturating_sub(phase)
            .next_multiple_of(Generator::BEAT)
            + phase;
        end.saturating_sub(due)
    });
    let noticed: Vec<Nanos> = noticed.filter(|late| *late > Generator::HELD_UP).collect();
    let seen = seen.event("Get", |test, _| stalled(test, &noticed, last));
    (seen.build(), truth.build())
}

const RUNS: u64 = 100;

#[test]
fn no_row_passes_whose_mean_a_stall_has_changed_much() {
    let table = [
        // users, operations, mean, sigma, stalls, longest
        (1, 100, MS, 0.5, 1, 200 * MS),
        (1, 3_000, 300 * US, 0.5, 1, 200 * MS),
        (1, 500, 20 * MS, 1.0, 3, 100 * MS),
        (8, 1_600, 5 * MS, 0.5, 2, 150 * MS),
        (1, 100, 200 * MS, 0.5, 2, 50 * MS),
    ];
    let mut found = Vec::new();
    for (users, operations, mean, sigma, stalls, longest) in table {
        let how = Simulated {
            users,
            operations,
            mean,
            sigma,
            stalls,
            longest,
        };
        let (mut disqualified, mut changed) = (0, 0);
        for seed in 0..RUNS {
            let (seen, truth) = simulated(how, seed);
            let (seen, truth) = (summarise(&seen), summarise(&truth));
            let mean = |summary: &Summary| summary.tests[0].response.unwrap().mean;
            let is_changed = mean(&seen) - mean(&truth) > mean(&seen) * TOLERATED as f64 / 100.0;
            let is_disqualified = seen.tests[0].disqualified().is_some();
            assert!(
                is_disqualified || !is_changed,
                "{users} {mean} {seed}",
                mean = how.mean
            );
            changed += u64::from(is_changed);
            disqualified += u64::from(is_disqualified);
        }
        found.push((disqualified * 100 / RUNS, changed * 100 / RUNS));
    }
    // Percent of the rows that are disqualified, and that had to be.
    assert_eq!(found, [(99, 99), (79, 78), (0, 0), (100, 99), (0, 0)]);
}
