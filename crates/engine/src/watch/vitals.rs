//! Measurements of a worker thread about itself: processor time, waiting for a processor, and late
//! heartbeats.

use std::cell::{Cell, RefCell};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;
use record::{Exhausted, Generator, Lateness, Nanos, TestId};

use crate::clock::{RunClock, nanos};
use crate::event_loop::patience::BEAT;
use crate::watch::progress::Progress;
use crate::watch::recorder::Recorder;

/// Heartbeats after which samples are passed on.
const FLUSH: u32 = 10;
/// Heartbeats after which the figures of the thread are published.
const PUBLISH: u32 = 100;

/// Sums of the workers: of a run, for the current test, or of the last moments, for display.
#[derive(Debug, Default)]
pub(crate) struct Totals(Mutex<VitalSums>);

#[derive(Debug, Clone, Default)]
struct VitalSums {
    workers: u32,
    wall: Nanos,
    cpu: Nanos,
    queued: Option<Nanos>,
    stalled: Nanos,
    stalls: u64,
    longest_stall: Nanos,
    rested: Nanos,
    waited: Nanos,
    lateness: Option<Histogram<u64>>,
}

impl Totals {
    /// The sums since the last call, for the record of a test.
    pub(crate) fn take(&self, test: TestId, exhausted: Exhausted) -> Generator {
        let sums = std::mem::take(&mut *self.lock());
        Generator {
            test,
            workers: sums.workers,
            wall: sums.wall,
            cpu: sums.cpu,
            queued: sums.queued,
            stalled: sums.stalled,
            stalls: sums.stalls,
            longest_stall: sums.longest_stall,
            rested: sums.rested,
            waited: sums.waited,
            lateness: sums.lateness.as_ref().map(described),
            exhausted,
        }
    }

    /// Adds the figures of one more worker in the same time as the others.
    fn add_worker(&self, spent: &VitalSums) {
        let mut sums = self.lock();
        let wall = sums.wall.max(spent.wall);
        sums.add(spent);
        sums.wall = wall;
        sums.workers += 1;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VitalSums> {
        // Sums of a panicking thread are still sums.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VitalSums {
    fn add(&mut self, later: &VitalSums) {
        self.wall += later.wall;
        self.cpu += later.cpu;
        if let Some(queued) = later.queued {
            *self.queued.get_or_insert(0) += queued;
        }
        self.stalled += later.stalled;
        self.stalls += later.stalls;
        self.longest_stall = self.longest_stall.max(later.longest_stall);
        self.rested += later.rested;
        self.waited += later.waited;
        match (&mut self.lateness, &later.lateness) {
            // Both resize themselves, so that no value is out of range.
            (Some(all), Some(times)) => all.add(times).unwrap_or_default(),
            (none, times) => *none = none.take().or_else(|| times.clone()),
        }
    }
}

fn described(times: &Histogram<u64>) -> Lateness {
    Lateness {
        n: times.len(),
        p50: times.value_at_quantile(0.5),
        p99: times.value_at_quantile(0.99),
        max: times.max(),
    }
}

fn lateness() -> Histogram<u64> {
    // Two significant digits: enough to see if the generator was late.
    Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits are possible"))
}

/// Counts of one worker thread, while users of it are measuring.
#[derive(Debug)]
pub(crate) struct Vitals {
    clock: RunClock,
    /// Receives the figures of the thread once a second.
    progress: Arc<Progress>,
    measuring: Cell<u32>,
    /// Since the first user began, without those in `lately`.
    all: RefCell<VitalSums>,
    /// Since `published`; counters of the thread are added when that moves on.
    lately: RefCell<VitalSums>,
    published: Cell<ProcessorReading>,
    /// Time of the last beat, and number of beats.
    beaten: Cell<Nanos>,
    beats: Cell<u32>,
}

/// Counters of a thread at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct ProcessorReading {
    at: Nanos,
    cpu: Nanos,
    queued: Option<Nanos>,
}

impl Vitals {
    pub(crate) fn new(clock: RunClock, progress: Arc<Progress>) -> Self {
        Vitals {
            clock,
            progress,
            measuring: Cell::new(0),
            all: RefCell::default(),
            lately: RefCell::default(),
            published: Cell::default(),
            beaten: Cell::new(clock.now()),
            beats: Cell::default(),
        }
    }

    /// A user of this thread begins to measure.
    pub(crate) fn enter(&self) {
        if self.measuring.replace(self.measuring.get() + 1) == 0 {
            self.all.take();
            self.lately.take();
            self.published.set(self.reading());
            // No user was waiting before.
            self.beaten.set(self.clock.now());
        }
    }

    /// A user of this thread has measured; after the last one, `totals` gets the sums.
    pub(crate) fn leave(&self, totals: &Totals) {
        let left = self.measuring.get().saturating_sub(1);
        self.measuring.set(left);
        if left == 0 {
            self.publish();
            totals.add_worker(&self.all.take());
        }
    }

    /// The run waits for its turn: the thread's work meanwhile does not count.
    pub(crate) fn pause(&self) {
        self.publish();
    }

    /// The run continues after a [pause](Vitals::pause).
    pub(crate) fn resume(&self) {
        let paused = self.published.replace(self.reading());
        let now = self.published.get().at;
        self.lately.borrow_mut().waited += now - paused.at;
        self.beaten.set(now);
    }

    /// Adds the lateness of an operation that the load generator caused.
    pub(crate) fn add_lateness(&self, late: Nanos) {
        let mut lately = self.lately.borrow_mut();
        let times = lately.lateness.get_or_insert_with(lateness);
        // Not `saturating_record`, which clamps to the current range. The histogram resizes itself,
        // so that no value is out of range.
        times.record(late).unwrap_or_default();
    }

    /// Adds time of a user without a measured operation, because of a missing response or because
    /// of its steps.
    pub(crate) fn add_rest(&self, time: Nanos) {
        self.lately.borrow_mut().rested += time;
    }

    /// Adds time of a user for checking a response, between two of its operations. If it is the
    /// only one of this thread, no user was waiting for it.
    pub(crate) fn excuse(&self, time: Nanos) {
        if self.measuring.get() == 1 {
            self.beaten.set(self.beaten.get() + time);
        }
    }

    /// Called with a regular beat for as long as the thread works: detects late beats, and passes
    /// samples on in time.
    pub(crate) fn beat(&self, recorder: &Recorder) {
        let now = self.clock.now();
        let due = self.beaten.replace(now) + nanos(BEAT);
        let late = now.saturating_sub(due);
        let is_measuring = self.measuring.get() > 0;
        if late > Generator::HELD_UP && is_measuring {
            let mut lately = self.lately.borrow_mut();
            lately.stalled += late;
            lately.stalls += 1;
            lately.longest_stall = lately.longest_stall.max(late);
        }
        let beats = self.beats.get() + 1;
        self.beats.set(beats);
        if beats.is_multiple_of(FLUSH) {
            recorder.flush();
        }
        if beats.is_multiple_of(PUBLISH) && is_measuring {
            self.publish();
        }
    }

    /// Adds the figures since the last call to the sums, and publishes them.
    fn publish(&self) {
        let now = self.reading();
        let before = self.published.replace(now);
        let mut lately = self.lately.take();
        lately.wall = now.at - before.at;
        lately.cpu = now.cpu.saturating_sub(before.cpu);
        // The kernel counts a wait when it ends, so that an earlier one could be longer than this
        // interval.
        let rest = lately.wall.saturating_sub(lately.cpu);
        let queued = now.queued.zip(before.queued);
        lately.queued = queued.map(|(now, before)| now.saturating_sub(before).min(rest));
        self.progress.lately.add_worker(&lately);
        self.all.borrow_mut().add(&lately);
    }

    fn reading(&self) -> ProcessorReading {
        let queued = queued();
        ProcessorReading {
            cpu: thread_cpu(),
            at: self.clock.now(),
            queued,
        }
    }
}

/// Time for which the thread waited for a processor, in nanoseconds. The time on a processor in the
/// same file is milliseconds old while the thread runs.
fn queued() -> Option<Nanos> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

fn thread_cpu() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::clock::simulated::SimulatedTime;
    use crate::event_loop::cancel::Cancel;
    use crate::event_loop::patience::Watchdog;
    use crate::event_loop::{EventLoop, sleep};
    use crate::watch::recorder::recorders;

    /// Uses this much processor time, however long others hold the processor.
    fn busy_for(time: Duration) {
        let end = thread_cpu() + nanos(time);
        while thread_cpu() < end {
            std::hint::spin_loop();
        }
    }

    /// Runs `work` beside a heartbeat, while measuring.
    fn beside_heartbeat(work: impl AsyncFnOnce()) -> Generator {
        let totals = Totals::default();
        let (mut recorders, _collector) = recorders(1);
        EventLoop::new().unwrap().run(async {
            let vitals = Vitals::new(RunClock::start(), Arc::default());
            let recorder = recorders.remove(0);
            let measured = async {
                sleep(BEAT / 2).await;
                vitals.enter();
                work().await;
                // The delayed heartbeat comes now.
                sleep(2 * BEAT).await;
                vitals.leave(&totals);
            };
            let watchdog = Watchdog::new(RunClock::start());
            let beat = || vitals.beat(&recorder);
            watchdog.guard(&Cancel::default(), beat, measured).await;
        });
        totals.take(TestId(0), Exhausted::default())
    }

    #[test]
    fn a_thread_that_does_not_come_round_is_stalled() {
        let generator = beside_heartbeat(async || busy_for(Duration::from_millis(120)));
        assert!(generator.longest_stall > 80_000_000, "{generator:?}");
        assert!(generator.stalled >= generator.longest_stall && generator.cpu > 50_000_000);
        assert!(generator.stalls >= 1 && generator.stalls * Generator::HELD_UP < generator.stalled);
        assert_eq!(generator.workers, 1);
        assert!(generator.wall > 120_000_000);
    }

    #[test]
    fn no_thread_works_for_longer_than_it_takes() {
        for _ in 0..20 {
            let vitals = Vitals::new(RunClock::start(), Arc::default());
            let totals = Totals::default();
            vitals.enter();
            busy_for(Duration::from_micros(500));
            vitals.leave(&totals);
            let generator = totals.take(TestId(0), Exhausted::default());
            assert!(generator.cpu >= 500_000, "{generator:?}");
            // Interrupts may come between the readings.
            assert!(generator.cpu <= generator.wall + 100_000, "{generator:?}");
        }
    }

    #[test]
    fn a_lone_user_leaves_nobody_waiting_while_it_reads_a_response() {
        let stalled = |others: u32| {
            let vitals = Vitals::new(RunClock::start(), Arc::default());
            let (recorders, _collector) = recorders(1);
            vitals.enter();
            (0..others).for_each(|_| vitals.enter());
            let begun = Instant::now();
            busy_for(Duration::from_millis(100));
            // All of it, including the time that other programs took meanwhile.
            vitals.excuse(nanos(begun.elapsed()));
            vitals.beat(&recorders[0]);
            vitals.lately.borrow().stalled
        };
        assert!(stalled(0) + nanos(Duration::from_millis(50)) < stalled(1));
    }

    #[test]
    fn a_thread_that_waits_is_not() {
        let _time = SimulatedTime::begin();
        let generator = beside_heartbeat(async || sleep(Duration::from_secs(60)).await);
        assert!(generator.cpu < 1_000_000_000, "{generator:?}");
        assert_eq!(
            (generator.stalls, generator.stalled),
            (0, 0),
            "{generator:?}"
        );
        assert_eq!(generator.wall, nanos(Duration::from_secs(60) + 2 * BEAT));
    }

    #[test]
    fn figures_of_threads_are_put_together() {
        let totals = Totals::default();
        let worker = |times: [Nanos; 2]| {
            let vitals = Vitals::new(RunClock::start(), Arc::default());
            vitals.enter();
            for late in times {
                vitals.add_lateness(late);
                // Published in between or not: the sums are the same.
                vitals.publish();
            }
            vitals.add_rest(70);
            vitals.leave(&totals);
        };
        worker([1_000, 2_000]);
        worker([3_000, 900_000]);
        let all = totals.take(TestId(0), Exhausted::default());
        let late = all.lateness.unwrap();
        assert_eq!((late.n, all.workers, all.rested), (4, 2, 140));
        assert!(late.max.abs_diff(900_000) < 10_000 && late.p50.abs_diff(2_000) < 50);
        assert_eq!(totals.take(TestId(0), Exhausted::default()).lateness, None);
    }

    #[test]
    fn figures_are_published_once_a_second() {
        let progress = Arc::<Progress>::default();
        let (recorders, _collector) = recorders(1);
        let vitals = Vitals::new(RunClock::start(), Arc::clone(&progress));
        vitals.enter();
        (1..PUBLISH).for_each(|_| vitals.beat(&recorders[0]));
        assert_eq!(progress.lately().workers, 0);
        busy_for(Duration::from_millis(20));
        vitals.beat(&recorders[0]);
        let lately = progress.lately();
        assert!(lately.workers == 1 && lately.cpu > 10_000_000, "{lately:?}");
        let wall = progress.lately().wall;
        assert_eq!(wall, 0, "published figures are not published again");
    }
}
