//! Counters of the processes of a server, read between operations.
//!
//! Files are kept open, and of a process only its clock is read while that stands still. The kernel
//! reports the activity of all threads together where it may ([`TaskStats`]); else there are two
//! files for each thread.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use record::{AsyncInterface, InsideCounts, Nanos, ServerProcessRecord};
use rustix::process::Resource;

use crate::NamedProcesses;
use crate::clock::ProcessClock;
use crate::proc_files::{self, IoFields, StatFields, text_of};
use crate::processes::{
    descendants, ignored_signals, name, state, status_number, threads, uses_io_uring,
};
use crate::processor_events::{COUNTED, NoProcessorEvents, ProcessorEvents};
use crate::task_stats::TaskStats;
use crate::threads::{ProcessThreads, ThreadSource};

/// Interval of searches for processes that the server has started.
const LOOK: Duration = Duration::from_millis(100);

/// Longest wait for the server to become idle after a response.
const LONGEST_REST: Duration = Duration::from_millis(4);
/// Time without use of a processor after which a server is idle.
const REST: Duration = Duration::from_micros(30);
/// Open files for each thread where the kernel does not report all threads together. They may be
/// half of those that this process may open: it also has connections.
const FILES_OF_A_THREAD: usize = 2;
/// Threads of a process whose states are read.
const MOST_STATES: usize = 64;

/// The counters of all processes of a server.
pub struct ServerCounters {
    roots: Vec<u32>,
    processes: BTreeMap<u32, WatchedProcess>,
    looked: Option<Instant>,
    /// Counts that were added while processes were searched.
    pending: InsideCounts,
    page_size: u64,
    source: ThreadSource,
    /// Number of threads when they were too many for [`ThreadSource::Each`], and whether that was
    /// so from the beginning.
    too_many: Option<(usize, bool)>,
    /// Files that this process may have open.
    most_files: usize,
    /// Calls and bytes of processes that have ended: the kernel adds them to the parent when that
    /// waits for the process.
    departed: IoFields,
    /// Counters of the processor, if available.
    events: Option<ProcessorEvents>,
    events_refused: Option<String>,
    /// Processor time that was counted for processes that have ended, and is not in that of
    /// waited-for children of their parents yet.
    owed: Nanos,
    /// Length of the kernel's tick, the resolution of processor times of children.
    tick: Nanos,
    /// Processes that have started, have ended, and have ended without a wait of their parent.
    started: usize,
    ended: usize,
    lost: usize,
    /// Processor time of children that was counted when they were waited for.
    children_processor: Nanos,
    /// One of them had a queue of io_uring when it was last searched.
    has_ring: bool,
    /// The server has ended when one of these has.
    named: Arc<NamedProcesses>,
}

/// A process, and its last reading.
struct WatchedProcess {
    parent: Option<u32>,
    clock: ProcessClock,
    processor: Nanos,
    /// Processor time of children that it waited for, since it is watched.
    children_processor: Nanos,
    stat: Option<(File, StatFields)>,
    io: Option<(File, IoFields)>,
    threads: ProcessThreads,
}

impl ServerCounters {
    /// Counters of these processes, and of all that they have started or will start.
    ///
    /// # Errors
    /// A sentence, if none of them can be watched.
    pub fn of(roots: &[u32]) -> Result<ServerCounters, String> {
        let limit = rustix::process::getrlimit(Resource::Nofile).current;
        ServerCounters::with_files(roots, TaskStats::open(), limit)
    }

    fn with_files(
        roots: &[u32],
        task_stats: Option<TaskStats>,
        limit: Option<u64>,
    ) -> Result<ServerCounters, String> {
        let most_files = limit.and_then(|limit| usize::try_from(limit).ok());
        let most_files = most_files.unwrap_or(usize::MAX);
        let each = ThreadSource::Each(most_files / FILES_OF_A_THREAD / 2);
        let mut counters = ServerCounters {
            roots: roots.to_vec(),
            processes: BTreeMap::new(),
            looked: None,
            pending: InsideCounts::default(),
            page_size: rustix::param::page_size() as u64,
            source: task_stats.map_or(each, ThreadSource::Together),
            too_many: None,
            most_files,
            departed: IoFields::default(),
            events: None,
            events_refused: None,
            owed: 0,
            tick: 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1),
            started: 0,
            ended: 0,
            lost: 0,
            children_processor: 0,
            has_ring: false,
            named: Arc::default(),
        };
        counters.look(&mut InsideCounts::default());
        counters.too_many = counters.too_many.map(|(threads, _)| (threads, true));
        if counters.processes.is_empty() {
            return Err(format!(
                "no process {} can be watched: it has ended, or /proc is not readable",
                roots
                    .iter()
                    .map(u32::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        // Earlier activity belongs to no row.
        counters.read();
        counters.started = 0;
        counters.children_processor = 0;
        Ok(counters)
    }

    /// Ends the counting when one of these processes has ended.
    #[must_use]
    pub fn until_the_end_of(self, named: Arc<NamedProcesses>) -> ServerCounters {
        ServerCounters { named, ..self }
    }

    /// True if the server has ended.
    pub(crate) fn have_ended(&self) -> bool {
        self.named.have_ended()
    }

    /// The process whose end ended the server.
    pub(crate) fn description_of_end(&self) -> Option<String> {
        self.named.description_of_end()
    }

    /// Adds the counters of the processor, if it has them and this user may read them.
    #[must_use]
    pub fn with_processor_events(mut self) -> ServerCounters {
        let all = self.processes.keys().copied();
        let all: Vec<u32> = all.flat_map(threads).collect();
        match ProcessorEvents::of(&all, &COUNTED) {
            Ok(events) => self.events = Some(events),
            Err(NoProcessorEvents::Refused(why)) => self.events_refused = Some(why),
            Err(NoProcessorEvents::NotThere) => {}
        }
        self
    }

    /// True if calls and bytes read and written cannot be counted.
    pub fn lacks_io(&self) -> bool {
        self.processes.values().any(|process| process.io.is_none())
    }

    /// True if waits of threads cannot be counted.
    pub fn lacks_threads(&self) -> bool {
        self.too_many
            .is_some_and(|(_, from_the_beginning)| from_the_beginning)
    }

    fn too_many_threads(&self) -> Option<String> {
        let (threads, _) = self.too_many?;
        Some(format!(
            "waiting, lost processors and the run queue are not counted: the server has {threads} threads, {FILES_OF_A_THREAD} \
             files of each would have to be open, and this process may open {} in all; raise the limit with `ulimit -n`, or run \
             as root",
            self.most_files
        ))
    }

    /// The counts that cannot be read, and the requirements for reading them, each a sentence.
    pub fn missing(&self) -> Vec<String> {
        let sentence = "bytes and calls of the server that read and write are not counted: /proc/PID/io is readable for its \
                        user and for root only";
        let mut missing = Vec::from_iter(self.lacks_io().then(|| sentence.to_owned()));
        if self.lacks_threads() {
            missing.extend(self.too_many_threads());
        }
        missing.extend(self.events_refused.clone());
        if self
            .events
            .as_ref()
            .is_some_and(|event| event.without_kernel)
        {
            let without = "instructions, cycles and cache misses are those outside of the kernel: this user may not count more \
                           (`sysctl kernel.perf_event_paranoid=1`)";
            missing.push(without.to_owned());
        }
        missing
    }

    /// An interface by which one of the processes makes calls that are not system calls, as far as
    /// its descriptors show, now or when they were last searched.
    pub fn unseen(&self) -> Option<AsyncInterface> {
        let uses_it = self.has_ring || self.have_ring_now();
        uses_it.then_some(AsyncInterface::IoUring)
    }

    /// Searches for such an interface: a process may close it, or end. This takes long where the
    /// process has many descriptors.
    pub(crate) fn look_for_unseen(&mut self) {
        self.has_ring = self.has_ring || self.have_ring_now();
    }

    fn have_ring_now(&self) -> bool {
        self.processes.keys().any(|pid| uses_io_uring(*pid))
    }

    /// The processes that are currently watched.
    pub fn processes(&self) -> Vec<ServerProcessRecord> {
        let all = self.processes.iter();
        let process_record = |(&pid, process): (&u32, &WatchedProcess)| ServerProcessRecord {
            pid,
            name: name(pid),
            threads: process.stat.as_ref().map_or(0, |(_, stat)| stat.threads),
        };
        all.map(process_record).collect()
    }

    /// Waits until the server has used no processor for a moment, and none of its threads is
    /// runnable: its work after a response belongs to the response. Reading the clock of a running
    /// process delays that process, so it is read twice at least, and rarely. False if the server
    /// did not become idle in time.
    pub fn wait_for_rest(&self) -> bool {
        let begun = Instant::now();
        let mut used = self.processor();
        while begun.elapsed() < LONGEST_REST {
            let since = Instant::now();
            while since.elapsed() < REST {
                std::hint::spin_loop();
            }
            let before = std::mem::replace(&mut used, self.processor());
            let is_ready = || others_are_ready() && self.processes.iter().any(has_work);
            if used == before && !is_ready() {
                return true;
            }
        }
        false
    }

    /// The same, including processes not seen yet, if the server has started some before.
    pub fn wait_for_rest_of_all(&mut self) -> bool {
        if self.started > 0 || self.children_processor > 0 {
            let mut counted = InsideCounts::default();
            self.look(&mut counted);
            self.pending.add(&counted);
        }
        self.wait_for_rest()
    }

    fn processor(&self) -> Nanos {
        let all = self.processes.values();
        all.filter_map(|process| process.clock.read()).sum()
    }

    /// Counts since the last reading.
    pub fn read(&mut self) -> InsideCounts {
        let mut counted = std::mem::take(&mut self.pending);
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.look(&mut counted);
        }
        let page_size = self.page_size;
        let inherited = std::mem::take(&mut self.departed);
        let tick = self.tick;
        let mut waited_for = 0;
        let mut departed = BTreeMap::new();
        let source = &self.source;
        self.processes.retain(|&pid, process| {
            let before = process.children_processor;
            let read = process.read(page_size, tick, source, &mut counted);
            waited_for += process.children_processor - before;
            if read.is_none() {
                let io = process.io.as_ref().map(|(_, last)| *last);
                let processor = process.processor + process.children_processor;
                departed.insert(pid, (process.parent, processor, io));
            }
            read.is_some()
        });
        for (parent, processor, io) in departed.values() {
            self.ended += 1;
            // A parent that has ended, too, may have waited for it, and another one for that.
            let mut parent = *parent;
            while let Some((above, ..)) = parent.and_then(|parent| departed.get(&parent)) {
                parent = *above;
            }
            let inherits =
                |parent: u32| self.processes.contains_key(&parent) && waits_for_children(parent);
            if !parent.is_some_and(inherits) {
                self.lost += 1;
                continue;
            }
            self.owed += processor;
            self.departed.add(&io.unwrap_or_default());
        }
        if let Some(events) = &mut self.events {
            events.read(&mut counted);
        }
        // For a child that was watched, only its time since the last reading is new.
        let known = waited_for.min(self.owed);
        self.owed -= known;
        counted.processor += waited_for - known;
        self.children_processor += waited_for - known;
        // Its parent may have been read before it, and then has the time at the next reading.
        let mut all = inherited;
        all.add(&self.departed);
        if all.are_in(&counted) {
            all.take_from(&mut counted);
            self.departed = IoFields::default();
        }
        counted
    }

    /// Reasons to caution the counts, each a sentence.
    pub fn cautions(&self) -> Vec<String> {
        let later = self
            .too_many
            .is_some_and(|(_, from_the_beginning)| !from_the_beginning);
        let too_many = later.then(|| self.too_many_threads()).flatten();
        let mut cautions =
            Vec::from_iter(too_many.map(|why| format!("from some moment on, {why}")));
        match self.started {
            0 => {}
            1 => cautions.push(
                "one process of the server started while it was watched; what it did until it was seen, a tenth of a second \
                 at most, counts for the row that was at work then"
                    .to_owned(),
            ),
            more => cautions.push(format!(
                "{more} processes of the server started while it was watched; what they did until they were seen, a tenth of \
                 a second at most, counts for the rows that were at work then"
            )),
        }
        match (self.ended, self.lost) {
            (_, 0) => {}
            // The end of the server is reported separately.
            _ if self.have_ended() => {}
            (1, _) => cautions.push(
                "one process of the server ended while it was watched, and no watched one waited for it; what it did at its end \
                 is not counted"
                    .to_owned(),
            ),
            (all, lost) => cautions.push(format!(
                "{all} processes of the server ended while it was watched, and no watched one waited for {lost} of them; what \
                 these did at their end is not counted"
            )),
        }
        if self.children_processor > self.tick {
            cautions.push(format!(
                "{:.2} s of the processor time is that of processes that had ended, which the kernel reports in steps of {} ms \
                 when the server has waited for them: it may be in the row after",
                self.children_processor as f64 / 1e9,
                self.tick / 1_000_000
            ));
        }
        cautions
    }

    /// Searches for processes at the next reading, however short ago the last search was.
    pub(crate) fn look_again(&mut self) {
        self.looked = None;
    }

    /// Searches for new processes. Their counts since then are added.
    fn look(&mut self, counted: &mut InsideCounts) {
        self.looked = Some(Instant::now());
        for pid in descendants(&self.roots) {
            if !self.processes.contains_key(&pid)
                && let Some(process) = WatchedProcess::of(pid)
            {
                self.processes.insert(pid, process);
                self.started += 1;
            }
        }
        if let ThreadSource::Each(most) = self.source {
            let all: usize = self.processes.keys().map(|pid| threads(*pid).len()).sum();
            if all > most {
                self.too_many = Some((all, false));
                self.source = ThreadSource::Nowhere;
            }
        }
        for process in self.processes.values_mut() {
            process.threads.look(&self.source, counted);
        }
    }
}

/// True if any thread other than this one is runnable: the fourth number of `/proc/loadavg`.
/// Reading the state of each thread of a server takes so long that its caches become cold.
fn others_are_ready() -> bool {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = text.split([' ', '/']).nth(3);
    running
        .and_then(|running| running.parse().ok())
        .is_none_or(|running: u32| running > 1)
}

/// True if a thread of this process is running, runnable, or waits for a disk. The threads of a
/// process that has used no processor since the last reading are asleep; reading the states of many
/// takes long.
fn has_work((&pid, process): (&u32, &WatchedProcess)) -> bool {
    let is_awake = |tid: &u32| matches!(state(*tid), Some('R' | 'D'));
    let has_run = process
        .clock
        .read()
        .is_some_and(|clock| clock != process.processor);
    is_awake(&pid) || (has_run && threads(pid).iter().take(MOST_STATES).any(is_awake))
}

/// True if the kernel adds the counts of its children to a process: if the process ignores their
/// end, it does not.
fn waits_for_children(pid: u32) -> bool {
    const SIGCHLD: u32 = 17;
    ignored_signals(pid).is_some_and(|ignored| ignored & (1 << (SIGCHLD - 1)) == 0)
}

impl WatchedProcess {
    fn of(pid: u32) -> Option<WatchedProcess> {
        let clock = ProcessClock::of(pid)?;
        let open = |name: &str| File::open(format!("/proc/{pid}/{name}")).ok();
        Some(WatchedProcess {
            parent: status_number(pid, "PPid"),
            clock,
            processor: 0,
            children_processor: 0,
            stat: open("stat").map(|file| (file, StatFields::default())),
            // Permission to open it implies permission to read it.
            io: open("io")
                .filter(|file| text_of(file, &mut [0; 64]).is_some())
                .map(|file| (file, IoFields::default())),
            threads: ProcessThreads::of(pid),
        })
    }

    /// Adds the counts since the last reading; `None` if the process has ended.
    fn read(
        &mut self,
        page_size: u64,
        tick: Nanos,
        source: &ThreadSource,
        counted: &mut InsideCounts,
    ) -> Option<()> {
        let processor = self.clock.read()?;
        if processor == self.processor && processor > 0 {
            // It has used no processor since the last reading, so the other counts are unchanged.
            counted.threads += self.stat.as_ref().map_or(0, |(_, stat)| stat.threads);
            return Some(());
        }
        counted.processor += processor.saturating_sub(self.processor);
        self.processor = processor;
        let mut buffer = [0; 2048];
        if let Some((file, before)) = &mut self.stat
            && let Some(now) = text_of(file, &mut buffer)
                .as_deref()
                .and_then(proc_files::stat)
        {
            counted.user_ticks += now.user_ticks.saturating_sub(before.user_ticks);
            counted.system_ticks += now.system_ticks.saturating_sub(before.system_ticks);
            counted.threads += now.threads;
            self.children_processor +=
                tick * now.children_ticks.saturating_sub(before.children_ticks);
            let pages = now.resident_pages.cast_signed() - before.resident_pages.cast_signed();
            counted.memory_growth += pages * page_size.cast_signed();
            let has_others = now.threads != before.threads;
            *before = now;
            if has_others {
                self.threads.look(source, counted);
            }
        }
        if let Some((file, before)) = &mut self.io
            && let Some(now) = text_of(file, &mut buffer)
                .as_deref()
                .and_then(proc_files::io)
        {
            counted.reads += now.reads.saturating_sub(before.reads);
            counted.writes += now.writes.saturating_sub(before.writes);
            counted.read_bytes += now.read_bytes.saturating_sub(before.read_bytes);
            counted.written_bytes += now.written_bytes.saturating_sub(before.written_bytes);
            counted.disk_read_bytes += now.disk_read_bytes.saturating_sub(before.disk_read_bytes);
            counted.disk_written_bytes += now
                .disk_written_bytes
                .saturating_sub(before.disk_written_bytes);
            *before = now;
        }
        self.threads.read(source, counted);
        Some(())
    }
}

#[cfg(test)]
mod tests;
