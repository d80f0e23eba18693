//! Where a server on this machine spends its processor time, by row: samples of the stacks of its
//! threads.
//!
//! ```text
//! thread of the engine --begin, end----------------> row at work
//!                                                        |
//! kernel --a sample each 200 µs of processor time--> rings --> thread that reads --> stacks by row
//!                                                                                      |
//! /proc/PID/maps, ELF files, /proc/kallsyms --names of functions-----------------------'
//! ```
//!
//! The samples come from `perf_event_open` with a timer of the kernel (`PERF_COUNT_SW_CPU_CLOCK`,
//! or that of each thread), which needs no counters of the processor and so works in virtual
//! machines. The kernel follows frame pointers: callers of functions that were built without them
//! are missing.

mod chains;
mod events;
mod images;
mod members;
mod names;
mod refusal;
mod stacks;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use record::{FlameRow, MeasureId};

pub use self::refusal::SamplingError;

use self::events::{PerfEvents, SampledStack};
use self::images::CodeImages;
use self::names::FunctionNames;
use self::stacks::SampledRows;
use crate::ServerCounters;

/// Interval of reading the rings: each has room for the samples of several times as long.
const LOOK: Duration = Duration::from_millis(10);

/// Samples the stacks of all threads of a server until it is dropped.
pub struct StackSampler {
    shared: Arc<SharedSampler>,
    /// `None` after `end`.
    thread: Option<JoinHandle<()>>,
    /// Counters that show when the server is idle.
    counters: ServerCounters,
}

struct SharedSampler {
    state: Mutex<SamplerState>,
    is_to_end: AtomicBool,
}

struct SamplerState {
    events: PerfEvents,
    images: CodeImages,
    rows: SampledRows,
    at_work: Option<MeasureId>,
    begun: Instant,
}

impl StackSampler {
    /// Samples these processes, all their descendants, and those that they start later. The samples
    /// of each row are counted in parts of its time, each of this length ([`FlameRow::PARTS`], the
    /// last of which is open).
    ///
    /// # Errors
    /// None of the processes runs, or the system does not permit to sample one of them.
    pub fn attach(roots: &[u32], part: Duration) -> Result<StackSampler, SamplingError> {
        let counters = ServerCounters::of(roots).map_err(SamplingError::NothingRuns)?;
        let events = PerfEvents::of(roots)?;
        let shared = Arc::new(SharedSampler {
            state: Mutex::new(SamplerState {
                events,
                images: CodeImages::default(),
                rows: SampledRows::new(part),
                at_work: None,
                begun: Instant::now(),
            }),
            is_to_end: AtomicBool::new(false),
        });
        let thread_handle = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || {
                while !thread_handle.is_to_end.load(Ordering::Relaxed) {
                    thread_handle.state().take();
                    thread::sleep(LOOK);
                }
            })?;
        Ok(StackSampler {
            shared,
            thread: Some(thread),
            counters,
        })
    }

    /// Begins an operation of this row, or an action that belongs to none. The earlier work of the
    /// server, also after its last response, belongs to the row before.
    pub fn begin(&self, row: Option<MeasureId>) {
        let before = self.shared.state().at_work;
        if before.is_some() && before != row {
            self.counters.wait_for_rest();
        }
        let mut state = self.shared.state();
        if before != row {
            state.take();
        }
        state.at_work = row;
        if let Some(row) = row {
            let now = state.begun.elapsed();
            state.rows.begins(row, now);
        }
    }

    /// Ends the sampling, and finds the names of all functions. Returns the rows that had
    /// operations, in the order of the plan.
    pub fn end(mut self) -> Vec<FlameRow> {
        self.begin(None);
        self.stop();
        let state = self.shared.state();
        let names = FunctionNames::of(state.rows.frames(), &state.images);
        let mut rows = state.rows.named(&names, state.events.frequency());
        for row in &mut rows {
            row.by_thread = state.events.are_of_threads();
            row.without_kernel = state.events.lack_kernel();
        }
        rows
    }

    fn stop(&mut self) {
        self.shared.is_to_end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // if it panicked, there are no samples from then on
        }
    }
}

impl Drop for StackSampler {
    fn drop(&mut self) {
        self.stop();
    }
}

impl SharedSampler {
    fn state(&self) -> MutexGuard<'_, SamplerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SamplerState {
    /// Takes all samples out of the rings, for the active row.
    fn take(&mut self) {
        let now = self.begun.elapsed();
        let (at_work, images, rows) = (self.at_work, &mut self.images, &mut self.rows);
        let lost = self.events.take(|SampledStack { pid, chain }| {
            if let Some(row) = at_work {
                rows.add(row, now, images.stack_of(pid, chain));
            }
        });
        if let Some(row) = at_work {
            rows.add_lost(row, lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::{black_box, spin_loop};

    use record::FlameStack;

    use super::*;

    /// A function with its own symbol.
    #[unsafe(no_mangle)]
    #[inline(never)]
    extern "C" fn prestan_test_spins(milliseconds: u64) -> u64 {
        let begun = Instant::now();
        let mut sum = 0_u64;
        while begun.elapsed() < Duration::from_millis(milliseconds) {
            // Without calls: a function without a frame would hide this one.
            let mut number = 0_u64;
            while number < 200_000 {
                sum ^= number * 31;
                number += 1;
            }
        }
        black_box(sum)
    }

    /// A sampler, if this system permits it; otherwise prints that the test is skipped.
    fn sampler() -> Option<StackSampler> {
        let part = Duration::from_millis(20);
        match StackSampler::attach(&[std::process::id()], part) {
            Ok(sampler) => Some(sampler),
            Err(why @ SamplingError::Refused { .. }) => {
                eprintln!("skipped: {why}");
                None
            }
            Err(why) => panic!("{why}"),
        }
    }

    #[test]
    fn the_function_at_work_is_found_in_its_row_and_in_no_other() {
        let Some(sampler) = sampler() else {
            return;
        };
        let spins = |milliseconds| {
            let thread = thread::spawn(move || prestan_test_spins(milliseconds));
            thread.join().unwrap();
        };
        spins(30);
        sampler.begin(Some(MeasureId(1)));
        spins(200);
        sampler.begin(Some(MeasureId(1)));
        sampler.begin(Some(MeasureId(0)));
        let other = Instant::now();
        while other.elapsed() < Duration::from_millis(50) {
            spin_loop();
        }
        sampler.begin(None);
        spins(30);
        let rows = sampler.end();
        let [idle, busy] = &rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!((idle.measure, busy.measure), (MeasureId(0), MeasureId(1)));
        assert_eq!((idle.operations, busy.operations), (1, 2));
        let of = |row: &FlameRow| -> u64 {
            let stacks = row.stacks.iter();
            let stacks = stacks.filter(|stacks| stacks.stack.contains("prestan_test_spins"));
            stacks.map(FlameStack::count).sum()
        };
        // 200 ms are a thousand samples, and fewer where processors are scarce. Tests beside it are
        // sampled, too.
        assert!((100..=1_100).contains(&of(busy)), "{busy:?}");
        assert!(of(idle) < 20, "{idle:?}");
        let counted: u64 = busy.stacks.iter().map(FlameStack::count).sum();
        assert_eq!(counted + busy.other, busy.samples, "{busy:?}");
    }

    #[test]
    fn a_server_that_has_ended_is_not_sampled() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let refused = StackSampler::attach(&[pid], LOOK).err().unwrap();
        assert!(
            matches!(refused, SamplingError::NothingRuns(_)),
            "{refused}"
        );
    }
}
