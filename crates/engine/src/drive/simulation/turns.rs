//! Runs side by side in turns: when each of them is active, to the nanosecond, over thousands of
//! seeded schedules with tests that others do not have, runs that end early, and runs that are
//! cancelled.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use record::Nanos;

use super::MS;
use crate::clock::RunClock;
use crate::clock::simulated::SimulatedTime;
use crate::drive::turns::{Turn, Turns};
use crate::event_loop::cancel::Cancel;
use crate::event_loop::{EventLoop, next_lost, sleep_until, spawn};

/// Durations are multiples of this, and moments at which runs end early are not, each with a
/// different remainder: nothing happens at two runs at the same moment.
const TICK: Nanos = 64;

/// How a run ends before it has done its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyEnd {
    /// The run is gone at once.
    Lost,
    /// The run is cancelled: it ends its current work within this time.
    Cancelled(Nanos),
}

/// A run that takes turns.
#[derive(Debug, Clone)]
struct PlayedRun {
    /// When it is ready for its first test.
    comes: Nanos,
    /// Time of each slot of each test; a test without slots does not exist in this run.
    tests: Vec<Vec<Nanos>>,
    /// Time of other work after each test.
    pauses: Vec<Nanos>,
    ends: Option<(Nanos, EarlyEnd)>,
}

/// A run is active in a slot of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlayedSlot {
    from: Nanos,
    to: Nanos,
    run: usize,
    test: usize,
    slot: usize,
}

/// Result: slots in the order in which they began, and the end of each run.
#[derive(Debug, Default, PartialEq, Eq)]
struct PlayedTurns {
    slots: Vec<PlayedSlot>,
    ended: Vec<Nanos>,
}

impl PlayedRun {
    fn drawn(rng: &mut ChaCha8Rng, number: usize, trouble: f64) -> PlayedRun {
        let ends_early = rng.random_bool(trouble);
        let is_lost = rng.random_bool(0.5);
        let mut time = |most: Nanos| rng.random_range(0..=most / TICK) * TICK;
        let comes = time(20 * MS);
        let tests = time(6 * TICK) / TICK;
        let mut test = || -> Vec<Nanos> {
            // A test goes on until its time is over.
            let (budget, mut spent, mut slots) = (time(10 * MS), 0, Vec::new());
            while spent < budget {
                let slot = TICK + time(3 * MS);
                spent += slot;
                slots.push(slot);
            }
            slots
        };
        let tests: Vec<Vec<Nanos>> = (0..tests).map(|_| test()).collect();
        let pauses = tests.iter().map(|_| time(MS) * time(TICK) / TICK);
        let pauses = pauses.collect();
        let at = time(120 * MS) + 1 + number as Nanos;
        let grace = time(2 * MS);
        let early_end = if is_lost {
            EarlyEnd::Lost
        } else {
            EarlyEnd::Cancelled(grace)
        };
        let ends = ends_early.then_some((at, early_end));
        PlayedRun {
            comes,
            tests,
            pauses,
            ends,
        }
    }

    fn end(&self) -> Nanos {
        self.ends.map_or(Nanos::MAX, |(at, _)| at)
    }

    fn lost(&self) -> Nanos {
        match self.ends {
            Some((at, EarlyEnd::Lost)) => at,
            _ => Nanos::MAX,
        }
    }

    /// Latest time at which it is active.
    fn latest(&self) -> Nanos {
        match self.ends {
            Some((at, EarlyEnd::Lost)) => at,
            Some((at, EarlyEnd::Cancelled(grace))) => at + grace,
            None => Nanos::MAX,
        }
    }

    async fn play(&self, run: usize, turn: &Turn, cancel: &Cancel, clock: RunClock, log: &PlayLog) {
        let pause = async |until: Nanos| {
            tokio::select! {
                () = sleep_until(clock.monotonic(until)) => {}
                () = cancel.cancelled() => {}
            }
        };
        pause(self.comes).await;
        for (test, slots) in self.tests.iter().enumerate() {
            for (slot, time) in slots.iter().enumerate() {
                if !cancel.is_cancelled() {
                    turn.take(test, cancel).await;
                }
                if cancel.is_cancelled() {
                    break;
                }
                let from = clock.now();
                let to = (from + time).min(self.latest());
                log.borrow_mut().slots.push(PlayedSlot {
                    from,
                    to,
                    run,
                    test,
                    slot,
                });
                sleep_until(clock.monotonic(to)).await;
                if slot + 1 < slots.len() {
                    turn.pass();
                }
            }
            turn.end_test(test);
            if !slots.is_empty() {
                pause(clock.now() + self.pauses[test]).await;
            }
        }
        turn.all_over(cancel).await;
    }
}

type PlayLog = RefCell<PlayedTurns>;

/// Plays runs as tasks of one event loop.
fn played(runs: &[PlayedRun], parity: usize) -> PlayedTurns {
    let _time = SimulatedTime::begin();
    let event_loop = EventLoop::new().unwrap();
    let clock = RunClock::start();
    let log = PlayedTurns {
        slots: Vec::new(),
        ended: vec![0; runs.len()],
    };
    let log = Rc::new(RefCell::new(log));
    event_loop.run(async {
        for (number, turn) in Turns::among(runs.len(), parity).into_iter().enumerate() {
            let (run, log, cancel) = (runs[number].clone(), Rc::clone(&log), Cancel::default());
            if let Some((at, EarlyEnd::Cancelled(_))) = run.ends {
                let cancel = cancel.clone();
                spawn(async move {
                    sleep_until(clock.monotonic(at)).await;
                    cancel.cancel();
                });
            }
            spawn(async move {
                let lost_at = clock.monotonic(run.lost());
                tokio::select! {
                    biased;
                    () = sleep_until(lost_at) => {}
                    () = run.play(number, &turn, &cancel, clock, &log) => {}
                }
                log.borrow_mut().ended[number] = clock.now();
            });
        }
        // Time is limited: a run that waits for ever is lost there.
        tokio::select! {
            lost = next_lost() => assert_eq!(lost, None),
            () = sleep_until(clock.monotonic(3_600_000 * MS)) => panic!("a run waits for ever"),
        }
    });
    Rc::into_inner(log).unwrap().into_inner()
}

/// State of a run in the model.
struct ModelRun<'r> {
    run: &'r PlayedRun,
    test: usize,
    slot: usize,
    ready: Nanos,
    gone: Option<Nanos>,
}

impl ModelRun<'_> {
    fn times(&self) -> &[Nanos] {
        self.run.tests.get(self.test).map_or(&[], Vec::as_slice)
    }

    /// Advances over its work outside of turns: it skips tests that it does not have.
    fn go_on(&mut self, now: Nanos) {
        while self.gone.is_none() && self.ready <= now && self.times().is_empty() {
            if self.test < self.run.tests.len() {
                self.test += 1;
            } else {
                self.gone = Some(self.ready.min(self.run.end()));
            }
        }
    }

    /// Does its slot, and returns its beginning and end.
    fn work(&mut self, from: Nanos) -> (Nanos, Nanos) {
        let to = (from + self.times()[self.slot]).min(self.run.latest());
        self.ready = to;
        self.slot += 1;
        if to >= self.run.end() {
            self.gone = Some(to);
        } else if self.slot == self.times().len() {
            self.ready += self.run.pauses[self.test];
            (self.test, self.slot) = (self.test + 1, 0);
        }
        (from, to)
    }
}

/// The same by the rules: of the remaining runs, the one that has done the fewest tests and slots
/// is next, the first or the last of them in alternation, and none before all are ready.
fn expected(runs: &[PlayedRun], parity: usize) -> PlayedTurns {
    let model = |run| ModelRun {
        run,
        test: 0,
        slot: 0,
        ready: run.comes.min(run.end()),
        gone: None,
    };
    let mut models: Vec<ModelRun<'_>> = runs.iter().map(model).collect();
    let mut slots = Vec::new();
    let mut now = models.iter().map(|model| model.ready).max().unwrap_or(0);
    loop {
        models.iter_mut().for_each(|model| model.go_on(now));
        let left = models.iter_mut().enumerate();
        let next = left
            .filter(|(_, one)| one.gone.is_none())
            .min_by_key(|(run, one)| {
                let is_forward = (one.test + one.slot + parity).is_multiple_of(2);
                let rank = if is_forward { *run } else { usize::MAX - *run };
                (one.test, one.slot, rank)
            });
        let Some((run, model)) = next else { break };
        let from = now.max(model.ready);
        if model.run.end() <= from {
            model.gone = Some(model.run.end());
            now = now.max(model.run.end());
        } else if model.times().is_empty() {
            // The others wait until it has reached a test that it has.
            now = from;
        } else {
            let (test, slot) = (model.test, model.slot);
            let (from, to) = model.work(from);
            slots.push(PlayedSlot {
                from,
                to,
                run,
                test,
                slot,
            });
            now = to;
        }
    }
    let gone = |model: &ModelRun<'_>| model.gone.unwrap_or(0);
    let all_over = models.iter().map(gone).max().unwrap_or(0);
    let ended = models
        .iter()
        .map(|model| all_over.min(model.run.end()).max(gone(model)));
    PlayedTurns {
        ended: ended.collect(),
        slots,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn runs_are_at_work_one_at_a_time_in_their_order_and_nobody_waits_for_one_that_is_gone(
        seed: u64,
        count in 1_usize..7,
        parity in 0_usize..2,
        trouble in 0.0..0.6,
        cancelled_together: bool,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let run = |number| PlayedRun::drawn(&mut rng, number, trouble);
        let mut runs: Vec<PlayedRun> = (0..count).map(run).collect();
        if cancelled_together && let ends @ Some((_, EarlyEnd::Cancelled(_))) = runs[0].ends {
            runs.iter_mut().for_each(|run| run.ends = ends);
        }
        let played = played(&runs, parity);
        // Without the model: one at a time, no test before all have done the one before it.
        let overlaps = |two: &[PlayedSlot]| two[0].to > two[1].from;
        prop_assert!(!played.slots.windows(2).any(overlaps));
        prop_assert!(played.slots.is_sorted_by_key(|one| (one.test, one.slot)));
        let ready = runs.iter().map(|run| run.comes.min(run.end())).max();
        prop_assert!(played.slots.iter().all(|one| Some(one.from) >= ready));
        for (number, run) in runs.iter().enumerate() {
            let done = played.slots.iter().filter(|one| one.run == number).count();
            let all: usize = run.tests.iter().map(Vec::len).sum();
            prop_assert!(done == all || (done < all && run.ends.is_some()));
            let late = played.ended[number].checked_sub(run.end());
            let grace = run.latest() - run.end();
            prop_assert!(late.is_none_or(|late| late <= grace), "{late:?}");
        }
        prop_assert_eq!(played, expected(&runs, parity));
    }
}
