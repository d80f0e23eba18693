//! What a worker thread sees of itself: processor time, waiting for a processor, and whether it
//! comes round in time.

use std::cell::Cell;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;
use record::{Exhausted, Generator, Lateness, Nanos, TestId};

use crate::clock::{RunClock, nanos};
use crate::patience::BEAT;
use crate::progress::Progress;
use crate::recorder::Recorder;

/// A heartbeat that is later than this was held up; less is an ordinary moment without a
/// processor.
const HELD_UP: Nanos = 10_000_000;
/// Heartbeats after which samples are handed over.
const FLUSH: u32 = 10;

/// What the workers of a run add up to, for the test that is measured now.
#[derive(Debug, Default)]
pub(crate) struct Totals(Mutex<Sums>);

#[derive(Debug, Default)]
struct Sums {
    workers: u32,
    wall: Nanos,
    cpu: Nanos,
    queued: Option<Nanos>,
    stalled: Nanos,
    longest_stall: Nanos,
    lateness: Option<Histogram<u64>>,
}

impl Totals {
    /// What was added up since the last time, as the record of a test.
    pub(crate) fn take(&self, test: TestId, exhausted: Exhausted) -> Generator {
        let sums = std::mem::take(&mut *self.lock());
        Generator {
            test,
            workers: sums.workers,
            wall: sums.wall,
            cpu: sums.cpu,
            queued: sums.queued,
            stalled: sums.stalled,
            longest_stall: sums.longest_stall,
            lateness: sums.lateness.as_ref().map(described),
            exhausted,
        }
    }

    /// Adds how late operations began.
    pub(crate) fn add_lateness(&self, times: &Histogram<u64>) {
        let mut sums = self.lock();
        match &mut sums.lateness {
            // Both grow by themselves, so that nothing is out of range.
            Some(all) => all.add(times).unwrap_or_default(),
            none => *none = Some(times.clone()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Sums> {
        // Sums of a panicking thread are still sums.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// An empty histogram of how late operations began.
pub(crate) fn lateness() -> Histogram<u64> {
    // Two significant digits: whether the generator was late, not by how many nanoseconds.
    Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits are possible"))
}

/// What one worker thread counts, while users of it are measuring.
#[derive(Debug)]
pub(crate) struct Vitals {
    clock: RunClock,
    /// Told of stalls when they happen.
    progress: Arc<Progress>,
    measuring: Cell<u32>,
    begun: Cell<Reading>,
    stalled: Cell<Nanos>,
    longest_stall: Cell<Nanos>,
    /// When the last beat was, and how many there were.
    beaten: Cell<Nanos>,
    beats: Cell<u32>,
}

/// Counters of a thread at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
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
            begun: Cell::default(),
            stalled: Cell::default(),
            longest_stall: Cell::default(),
            beaten: Cell::new(clock.now()),
            beats: Cell::default(),
        }
    }

    /// A user of this thread begins to measure.
    pub(crate) fn enter(&self) {
        if self.measuring.replace(self.measuring.get() + 1) == 0 {
            self.stalled.set(0);
            self.longest_stall.set(0);
            self.begun.set(self.reading());
        }
    }

    /// A user of this thread has measured; after the last one, `totals` gets the sums.
    pub(crate) fn leave(&self, totals: &Totals) {
        let left = self.measuring.get().saturating_sub(1);
        self.measuring.set(left);
        if left > 0 {
            return;
        }
        let (begun, now) = (self.begun.get(), self.reading());
        let mut sums = totals.lock();
        sums.workers += 1;
        sums.wall = sums.wall.max(now.at - begun.at);
        sums.cpu += now.cpu.saturating_sub(begun.cpu);
        sums.stalled += self.stalled.get();
        sums.longest_stall = sums.longest_stall.max(self.longest_stall.get());
        if let (Some(now), Some(begun)) = (now.queued, begun.queued) {
            *sums.queued.get_or_insert(0) += now.saturating_sub(begun);
        }
    }

    /// Is called with a regular beat for as long as the thread works: notices when it does not
    /// come round in time, and sees to it that samples do not lie about.
    pub(crate) fn beat(&self, recorder: &Recorder) {
        let now = self.clock.now();
        let due = self.beaten.replace(now) + nanos(BEAT);
        let late = now.saturating_sub(due);
        if late > HELD_UP && self.measuring.get() > 0 {
            self.stalled.set(self.stalled.get() + late);
            self.longest_stall.set(self.longest_stall.get().max(late));
            self.progress.add_stall(late);
        }
        self.beats.set(self.beats.get() + 1);
        if self.beats.get().is_multiple_of(FLUSH) {
            recorder.flush();
        }
    }

    fn reading(&self) -> Reading {
        let (cpu, queued) = match schedstat() {
            Some((cpu, queued)) => (cpu, Some(queued)),
            None => (thread_cpu(), None),
        };
        Reading {
            at: self.clock.now(),
            cpu,
            queued,
        }
    }
}

/// Time on a processor, and time of waiting for one, in nanoseconds.
fn schedstat() -> Option<(Nanos, Nanos)> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn thread_cpu() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cancel::Cancel;
    use crate::event_loop::{EventLoop, sleep};
    use crate::patience::Watchdog;
    use crate::recorder::recorders;

    /// Takes so much of a processor's time, however long others hold it.
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
                // The heartbeat that was held up comes round now.
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
        let fared = beside_heartbeat(async || busy_for(Duration::from_millis(120)));
        assert!(fared.longest_stall > 80_000_000, "{fared:?}");
        assert!(fared.stalled >= fared.longest_stall && fared.cpu > 50_000_000);
        assert_eq!(fared.workers, 1);
        assert!(fared.wall > 120_000_000);
    }

    #[test]
    fn a_thread_that_waits_is_not() {
        let fared = beside_heartbeat(async || sleep(Duration::from_millis(60)).await);
        // Other tests take processors away; the time in which nothing is due is no stall.
        assert!(fared.cpu < 30_000_000, "{fared:?}");
        assert!(fared.stalled < 60_000_000, "{fared:?}");
    }

    #[test]
    fn lateness_of_threads_is_put_together() {
        let totals = Totals::default();
        for times in [[1_000, 2_000], [3_000, 900_000]] {
            let mut own = lateness();
            times.iter().for_each(|time| own.record(*time).unwrap());
            totals.add_lateness(&own);
        }
        let late = totals
            .take(TestId(0), Exhausted::default())
            .lateness
            .unwrap();
        assert_eq!(late.n, 4);
        assert!(late.max.abs_diff(900_000) < 10_000 && late.p50.abs_diff(2_000) < 50);
        assert_eq!(totals.take(TestId(0), Exhausted::default()).lateness, None);
    }
}
