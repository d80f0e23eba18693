//! The samples of the kernel, in one ring for each processor.
//!
//! Where this user may do that, each processor has one event, whose timer runs all the time: a
//! sample is of whatever program is running, and those of other programs are left out here.
//! Otherwise, each thread of the server has events. Their timers are set whenever the thread gets a
//! processor, which takes some microseconds, and is visible in the samples: for a server with short
//! operations, almost half of them are of that moment.
//!
//! An inherited event cannot have a ring unless it is bound to a processor, and a new thread must
//! be sampled from its first instruction: so there are as many events as threads times processors.
//! All of one processor write to the same ring.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, Counter, SampleFlag, Sampler};

use super::chains::{CallChain, MOST_FRAMES};
use super::members::ServerMembers;
use super::refusal::{SamplingError, reason};
use crate::processes::{attached_threads, thread_has_ended};

/// Samples in a second of processor time, no multiple of what servers do at regular intervals.
const FREQUENCY: u32 = 4_999;
/// Bytes of a ring: half of the memory that a user other than root may lock
/// (`kernel.perf_event_mlock_kb`).
const RING: usize = 256 * 1024;
/// Room for the rings of all processors together.
const RINGS: usize = 16 * 1024 * 1024;

/// `PERF_EVENT_IOC_SET_OUTPUT` in `linux/perf_event.h`.
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// The events of all threads of a server.
pub(super) struct PerfEvents {
    /// One for each processor.
    rings: Vec<Sampler>,
    /// The other events, which write to these rings. They end with the rings.
    others: Vec<Counter>,
    /// The processes whose samples are kept; `None` where there are no others.
    processes: Option<ServerMembers>,
    frequency: u32,
    without_kernel: bool,
}

pub(super) struct SampledStack {
    pub(super) pid: u32,
    pub(super) chain: CallChain,
}

impl PerfEvents {
    /// Events of these processes and all their descendants.
    pub(super) fn of(roots: &[u32]) -> Result<PerfEvents, SamplingError> {
        let Ok(events) = PerfEvents::by_processor(roots) else {
            return PerfEvents::by_thread(roots);
        };
        let processes = events.processes.as_ref();
        if processes.is_some_and(ServerMembers::is_empty) {
            return Err(SamplingError::NothingRuns("its processes ended".to_owned()));
        }
        Ok(events)
    }

    fn new(processes: Option<ServerMembers>) -> PerfEvents {
        PerfEvents {
            rings: Vec::new(),
            others: Vec::new(),
            processes,
            frequency: FREQUENCY.min(most_samples()),
            without_kernel: false,
        }
    }

    /// An event for each processor.
    fn by_processor(roots: &[u32]) -> io::Result<PerfEvents> {
        let mut events = PerfEvents::new(Some(ServerMembers::of(roots)));
        let processors = online_processors();
        for &processor in &processors {
            let mut builder = events.builder(Software::CPU_CLOCK, processor);
            let event = builder.any_pid().exclude_idle(true).build()?;
            events.rings.push(event.sampled(ring(processors.len()))?);
        }
        Ok(events)
    }

    /// An event for each thread and each processor.
    fn by_thread(roots: &[u32]) -> Result<PerfEvents, SamplingError> {
        let processors = online_processors();
        let mut events = PerfEvents::new(None);
        attached_threads(roots, |tid, before| {
            match events.add_thread(tid, &processors) {
                Ok(()) => Ok(true),
                Err(_) if thread_has_ended(tid) => Ok(false),
                Err(error) => Err(reason(tid, before, error)),
            }
        })?;
        if events.rings.is_empty() {
            return Err(SamplingError::NothingRuns("its processes ended".to_owned()));
        }
        Ok(events)
    }

    pub(super) fn frequency(&self) -> u32 {
        self.frequency
    }

    /// True if each thread has its own events.
    pub(super) fn are_of_threads(&self) -> bool {
        self.processes.is_none()
    }

    /// True if the kernel lets this user sample only code outside of it.
    pub(super) fn lack_kernel(&self) -> bool {
        self.without_kernel
    }

    fn add_thread(&mut self, tid: u32, processors: &[usize]) -> io::Result<()> {
        for (index, &processor) in processors.iter().enumerate() {
            let event = match self.event(tid, processor) {
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied && self.is_first() =>
                {
                    self.without_kernel = true;
                    self.event(tid, processor)
                }
                opened => opened,
            };
            match (event, self.rings.get(index)) {
                (Ok(event), Some(ring)) => {
                    write_to(&event, ring)?;
                    self.others.push(event);
                }
                (Ok(event), None) => {
                    self.rings.push(event.sampled(ring(processors.len()))?);
                }
                (Err(error), _) => return Err(error),
            }
        }
        Ok(())
    }

    /// True if no event was opened yet: permission for one is permission for the others.
    fn is_first(&self) -> bool {
        self.rings.is_empty() && !self.without_kernel
    }

    fn event(&self, tid: u32, processor: usize) -> io::Result<Counter> {
        let mut builder = self.builder(Software::TASK_CLOCK, processor);
        builder.observe_pid(tid.cast_signed()).inherit(true).build()
    }

    /// Common settings of all events.
    fn builder(&self, clock: Software, processor: usize) -> Builder<'static> {
        let mut builder = Builder::new(clock);
        builder
            .one_cpu(processor)
            .exclude_kernel(self.without_kernel)
            .sample_frequency(u64::from(self.frequency))
            .sample(SampleFlag::TID)
            .sample(SampleFlag::CALLCHAIN)
            .sample_max_stack(MOST_FRAMES as u16)
            .enabled(true);
        builder
    }

    /// Takes all available samples; returns how many were lost.
    pub(super) fn take(&mut self, mut sampled: impl FnMut(SampledStack)) -> u64 {
        let mut lost = 0;
        for ring in &mut self.rings {
            // Later samples are for the next call, or a busy server would keep this one running.
            let mut left = RING / 32;
            while left > 0
                && let Some(record) = ring.next_record()
            {
                left -= 1;
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        let pid = sample.pid().unwrap_or_default();
                        let processes = self.processes.as_mut();
                        if processes.is_none_or(|process| process.contains(pid)) {
                            let chain = CallChain::of(sample.callchain().unwrap_or_default());
                            sampled(SampledStack { pid, chain });
                        }
                    }
                    Ok(Record::Lost(record)) => lost += record.lost,
                    Ok(Record::LostSamples(record)) => lost += record.lost,
                    Ok(_) => {}
                    Err(_) => lost += 1,
                }
            }
        }
        lost
    }
}

/// Bytes of each ring for this number of processors.
fn ring(processors: usize) -> usize {
    (RINGS / processors.max(1)).clamp(16 * 1024, RING)
}

/// Lets an event write to the ring of another one.
fn write_to(event: &Counter, ring: &Sampler) -> io::Result<()> {
    // SAFETY: the request has a descriptor as its argument, and reads or writes no memory of this
    // process.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, ring.as_raw_fd()) };
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The processors that are online, by their numbers; the first where the system does not list them.
fn online_processors() -> Vec<usize> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let numbers = numbers_of(&list);
    if numbers.is_empty() { vec![0] } else { numbers }
}

/// A list of the kernel: `0-3,8`.
fn numbers_of(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        // The kernel has room for 8192 processors.
        (last < 8192).then_some(first..=last)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

/// Highest permitted sampling rate.
fn most_samples() -> u32 {
    let most = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    let most = most.ok().and_then(|most| most.trim().parse().ok());
    most.filter(|most| *most > 0).unwrap_or(FREQUENCY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(numbers_of("0-2,5,7-7\n"), [0, 1, 2, 5, 7]);
        assert_eq!(numbers_of("\n"), [0_usize; 0]);
        assert!(!online_processors().is_empty());
    }

    /// Uses this process's processor time, in the program and in the kernel.
    fn work() {
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 100 {
            std::hint::black_box(fs::read("/proc/self/stat").unwrap());
        }
    }

    #[test]
    fn other_programs_are_left_out() {
        let sleeps = std::process::Command::new("sleep").arg("60").spawn();
        let mut sleeps = sleeps.unwrap();
        let counted = |root| {
            let mut events = PerfEvents::of(&[root]).ok()?;
            work();
            let mut taken = 0;
            events.take(|_| taken += 1);
            Some(taken)
        };
        let (of_another, of_this) = (counted(sleeps.id()), counted(std::process::id()));
        sleeps.kill().unwrap();
        sleeps.wait().unwrap();
        let (Some(of_another), Some(of_this)) = (of_another, of_this) else {
            assert!(paranoid() > 2, "refused at level {}", paranoid());
            return;
        };
        // It may have been about to begin its sleep.
        assert!(of_another < 20 && of_this > 20, "{of_another}, {of_this}");
    }

    const NOBODY: u32 = 65_534;

    /// Runs a closure as a user without privileges, if this one has some. The kernel's call is for
    /// one thread only.
    fn without_rights<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
        let dropped = std::thread::spawn(|| {
            if rustix::process::geteuid().is_root() {
                let uid = rustix::process::Uid::from_raw(NOBODY);
                rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            }
            what()
        });
        dropped.join().unwrap()
    }

    /// `kernel.perf_event_paranoid`.
    fn paranoid() -> i32 {
        let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        level.map_or(4, |level| level.trim().parse().unwrap())
    }

    #[test]
    fn processes_of_others_are_not_sampled_without_rights() {
        let refused = without_rights(|| PerfEvents::of(&[1]).err().map(|why| why.to_string()));
        let message = refused.expect("the first process belongs to root");
        assert!(message.starts_with("cannot sample"), "{message}");
        let remedies = ["run as root", "CONFIG_PERF_EVENTS", "processes ended"];
        assert!(
            remedies.iter().any(|remedy| message.contains(remedy)),
            "{message}"
        );
    }

    #[test]
    fn without_rights_the_kernel_is_left_out() {
        let this_process = std::process::id();
        let samples = without_rights(move || {
            let mut events = PerfEvents::of(&[this_process]).ok()?;
            work();
            let (mut taken, mut in_kernel) = (0, 0);
            let lost = events.take(|sample| {
                taken += 1;
                in_kernel += usize::from(!sample.chain.kernel.is_empty());
            });
            let is_as_expected = events.are_of_threads() == (paranoid() > 0);
            assert!(is_as_expected, "{}", paranoid());
            Some((events.lack_kernel(), taken, in_kernel, lost))
        });
        let Some((lacks_kernel, taken, in_kernel, lost)) = samples else {
            assert!(paranoid() > 2, "refused at level {}", paranoid());
            return;
        };
        assert!(taken > 0, "{lost} lost");
        assert_eq!(lacks_kernel, paranoid() >= 2);
        assert_eq!(in_kernel == 0, lacks_kernel, "{in_kernel} of {taken}");
    }

    proptest! {
        #[test]
        fn no_list_panics(list in "[0-9,-]{0,40}") {
            let _ = numbers_of(&list);
        }
    }
}
