//! The kernel's stamps as moments of a run, over thousands of seeded schedules in which the time of
//! day is set, stamps are lost, and reading a clock takes time. The truth is known to the
//! nanosecond.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::clock::simulated::{self, SimulatedTime};

const US: Nanos = 1_000;
const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000_000_000;

/// Shortest and longest time of an uninterrupted reading of a clock.
const READING: (Nanos, Nanos) = (20, 100);
/// Largest error of the measured time of day: half the difference of two readings.
const READING_ERROR: Nanos = (READING.1 - READING.0) / 2;
/// Checking for a step takes less than this, with its interruptions.
const LOOK: Nanos = 2 * MS;

/// True events of an exchange, on the monotonic clock.
struct TrueExchange {
    started: Nanos,
    offered: Nanos,
    sent: Nanos,
    acked: Nanos,
    first: Nanos,
    read: Nanos,
    done: Nanos,
    /// The stamp of the departure, or of the arrival, is lost.
    lost: [bool; 2],
}

impl TrueExchange {
    fn new(rng: &mut ChaCha8Rng, started: Nanos, losses: f64) -> TrueExchange {
        let mut after =
            |moment: Nanos, from: Nanos, to: Nanos| moment + rng.random_range(from..=to);
        let offered = after(started, US, 20 * US);
        let sent = after(offered, 6 * US, 60 * US);
        let slowest = after(0, 20 * US, 10 * MS);
        let first = after(sent, 10 * US, slowest);
        // A delayed thread reads late.
        let latest = if after(0, 1, 20) == 1 {
            3 * MS
        } else {
            200 * US
        };
        let read = after(first, 7 * US, latest);
        TrueExchange {
            started,
            offered,
            sent,
            acked: after(sent, US, (first - sent).min(60 * US)),
            first,
            read,
            done: after(read, 0, 500 * US),
            lost: [rng.random_bool(losses), rng.random_bool(losses)],
        }
    }

    fn is_whole(&self) -> bool {
        !self.lost.contains(&true)
    }

    /// The observations, with moments of a run that began at `origin`.
    fn seen(&self, origin: Nanos) -> Stamps {
        let stamp = |moment: Nanos, is_lost: bool| (!is_lost).then(|| simulated::day_at(moment));
        Stamps {
            started: self.started - origin,
            sent: Some(self.offered - origin),
            first: Some(self.read - US - origin),
            first_read: self.read - origin,
            done: Some(self.done - origin),
            kernel: Some(KernelStamps {
                sent: stamp(self.sent, self.lost[0]),
                acked: stamp(self.acked, false),
                first: stamp(self.first, self.lost[1]),
            }),
            ..Stamps::default()
        }
    }
}

#[derive(Debug, Default)]
struct ReportedSteps(Mutex<Vec<i64>>);

impl OnClockStep for ReportedSteps {
    fn clock_stepped(&self, by: i64) {
        self.0.lock().unwrap().push(by);
    }
}

/// Kind of steps of the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetDay {
    Never,
    /// A few microseconds, often: a daemon that corrects it slightly each time.
    ALittle,
    /// Anything up to an hour.
    ByAnything,
}

fn steps(rng: &mut ChaCha8Rng, how: SetDay, end: Nanos) -> Vec<(Nanos, i64)> {
    let (count, largest) = match how {
        SetDay::Never => (0, vec![US]),
        SetDay::ALittle => (40, vec![4 * US]),
        SetDay::ByAnything => (12, vec![20 * US, 300 * US, 5 * MS, SECOND, 3_600 * SECOND]),
    };
    let step = |_| {
        let largest = largest[rng.random_range(0..largest.len())];
        let by = rng.random_range(1..=largest).cast_signed();
        let by = if rng.random_bool(0.5) { by } else { -by };
        (rng.random_range(SECOND + MS..end), by)
    };
    (0..count).map(step).collect()
}

/// Exchanges of concurrent users, in the order of their ends.
fn exchanges(rng: &mut ChaCha8Rng, users: usize, losses: f64) -> Vec<TrueExchange> {
    let mut all = Vec::new();
    for _ in 0..users {
        let mut now = SECOND + MS;
        for _ in 0..40 {
            let begins = now + rng.random_range(0..2 * MS);
            let exchange = TrueExchange::new(rng, begins, losses);
            now = exchange.done;
            all.push(exchange);
        }
    }
    all.sort_by_key(|exchange| exchange.done);
    all
}

fn now() -> Nanos {
    simulated::now().unwrap()
}

/// Error of a run's clock about the current time of day.
fn wrong(keeper: &Timekeeper, origin: Nanos) -> Nanos {
    let believed = keeper.wall.origin.load(Ordering::Relaxed);
    let truth = simulated::day_at(now()) - (now() - origin).cast_signed();
    believed.abs_diff(truth)
}

fn simulate(seed: u64, users: usize, how: SetDay, losses: f64) -> Result<(), TestCaseError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let time = SimulatedTime::begin();
    let exchanges = exchanges(&mut rng, users, losses);
    let steps = steps(&mut rng, how, exchanges.last().unwrap().done);
    let stepped = |from: Nanos, to: Nanos| {
        let within = steps.iter().filter(|(at, _)| (from + 1..=to).contains(at));
        within.map(|(_, by)| *by).collect::<Vec<i64>>()
    };
    time.set_day_at(steps.clone());
    let mut readings = 0_u64;
    let often = rng.random_range(7..100);
    time.let_readings_take(move || {
        readings += 1;
        // The program is interrupted.
        if readings.is_multiple_of(often) {
            return rng.random_range(US..50 * US);
        }
        rng.random_range(READING.0..=READING.1)
    });
    let reported = Arc::new(ReportedSteps::default());
    let clock = RunClock::start();
    let keeper = Timekeeper {
        stamping: Stamping::On { acks: true },
        on_step: Some(Arc::clone(&reported) as _),
        ..Timekeeper::plain(clock)
    };
    let origin = clock.monotonic(0);
    let believed = || keeper.wall.origin.load(Ordering::Relaxed);
    let first_believed = believed();
    let is_reported = |count: usize| reported.0.lock().unwrap().len() > count;
    for exchange in &exchanges {
        if exchange.done > now() {
            simulated::advance_to(exchange.done);
        }
        let seen = exchange.seen(origin);
        let before = wrong(&keeper, origin);
        let noticed = keeper.wall.last_step();
        let count = reported.0.lock().unwrap().len();
        let (moments, timing) = keeper.moments(&seen, None, seen.started, seen.done);
        let sum: i64 = reported.0.lock().unwrap().iter().sum();
        prop_assert_eq!(sum, believed() - first_believed);
        if !exchange.is_whole() {
            prop_assert_eq!((moments.response(), timing), (None, Timing::Missed));
            continue;
        }
        // Nothing is set meanwhile, so the current belief can be compared with the truth.
        let is_quiet = stepped(now().saturating_sub(LOOK), now()).is_empty();
        let is_new = noticed <= seen.started;
        let user = seen.first.unwrap() - seen.sent.unwrap();
        let is_far = moments
            .response()
            .is_none_or(|kernel| kernel + 2 * FAR < user);
        if is_quiet && is_new && is_far {
            let sure = SMALLEST_STEP.cast_unsigned() + 2 * READING_ERROR;
            prop_assert!(wrong(&keeper, origin) <= sure);
        }
        if is_quiet && is_reported(count) {
            prop_assert!(wrong(&keeper, origin) <= READING_ERROR);
            let truth: i64 = stepped(SECOND, now()).iter().sum();
            prop_assert!(sum.abs_diff(truth) <= 2 * READING_ERROR, "{sum} {truth}");
        }
        let is_known = is_new && before + READING_ERROR < SMALLEST_STEP.cast_unsigned();
        let is_steady = stepped(exchange.started, now()).is_empty();
        if is_known && is_steady {
            // No sample is dropped without a reason, and its moments are those of the run.
            prop_assert!(matches!(timing, Timing::Kernel { .. }), "{before} {seen:?}");
            for (moment, truth) in [
                (moments.sent, exchange.sent),
                (moments.acked, exchange.acked),
                (moments.first, exchange.first),
            ] {
                prop_assert_eq!(moment.unwrap().abs_diff(truth - origin), before);
            }
        }
        if timing == Timing::Missed {
            prop_assert_eq!(moments.response(), None);
            prop_assert_ne!(how, SetDay::Never);
            continue;
        }
        // For all steps: a response time is that of the stamps, or wrong by no more than this.
        let (sent, first) = (moments.sent.unwrap(), moments.first.unwrap());
        prop_assert!(sent + TOLERANCE >= seen.started && first <= seen.first_read + TOLERANCE);
        let response = moments.response();
        // A response before its request is recognised as a step back, unless another step reversed
        // it before the check.
        if response.is_none() && !is_steady {
            continue;
        }
        prop_assert!(response.is_some(), "{moments:?}");
        prop_assert!(
            moments.acked.unwrap() + SMALLEST_STEP.cast_unsigned() > sent,
            "{moments:?}"
        );
        let truth = exchange.first - exchange.sent;
        let error = response.unwrap().cast_signed() - truth.cast_signed();
        let between: i64 = stepped(exchange.sent, exchange.first).iter().sum();
        prop_assert_eq!(error, between);
        let longest = seen.first_read - seen.started + 2 * TOLERANCE;
        prop_assert!(response.unwrap() <= longest, "{seen:?}");
        let bias = user.cast_signed() - response.unwrap().cast_signed();
        prop_assert_eq!(timing, Timing::Kernel { bias: Some(bias) });
    }
    let reported = reported.0.lock().unwrap();
    prop_assert!(reported.iter().all(|by| by.abs() >= SMALLEST_STEP));
    prop_assert!(how != SetDay::Never || reported.is_empty());
    Ok(())
}

#[test]
fn steps_back_and_forth_within_an_exchange_leave_no_acknowledgement_before_its_request() {
    simulate(10_714_587_213_815_585_057, 2, SetDay::ByAnything, 0.0).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn while_nobody_sets_the_clock_every_response_time_is_exact(
        seed: u64,
        users in 1_usize..6,
        losses in 0.0..0.3,
    ) {
        simulate(seed, users, SetDay::Never, losses)?;
    }

    #[test]
    fn a_clock_that_is_set_costs_samples_and_falsifies_none_beyond_its_bound(
        seed: u64,
        users in 1_usize..6,
        losses in 0.0..0.3,
    ) {
        simulate(seed, users, SetDay::ByAnything, losses)?;
    }

    #[test]
    fn small_corrections_that_add_up_are_noticed(seed: u64, users in 1_usize..6) {
        simulate(seed, users, SetDay::ALittle, 0.0)?;
    }
}
