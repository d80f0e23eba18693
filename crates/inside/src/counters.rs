//! Counters of the processes of a server, read between operations.
//!
//! Files are kept open, and of a process only its clock is read while that stands still. What its threads did, the kernel
//! tells of all together where it may ([`TaskStats`]); else there are two files of each.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, Instant};

use record::{AsyncInterface, InsideCounts, Nanos, ServerProcessRecord};

use crate::clock::ProcessClock;
use crate::proc_files::{self, IoFields, StatFields, text_of};
use crate::processes::{
    descendants, ignored_signals, name, state, status_number, threads, uses_io_uring,
};
use crate::processor_events::{COUNTED, NoProcessorEvents, ProcessorEvents};
use crate::task_stats::TaskStats;
use crate::threads::ProcessThreads;

/// Time after which processes are looked for again that the server has started.
const LOOK: Duration = Duration::from_millis(100);

/// Longest time to wait until a server rests behind a response.
const LONGEST_REST: Duration = Duration::from_millis(4);
/// Time in which a server that rests uses no processor.
const REST: Duration = Duration::from_micros(30);
/// Threads of a process whose states are looked at.
const MOST_STATES: usize = 64;

/// The counters of all processes of a server.
pub struct ServerCounters {
    roots: Vec<u32>,
    processes: BTreeMap<u32, WatchedProcess>,
    looked: Option<Instant>,
    /// What was counted while processes were looked for.
    pending: InsideCounts,
    page_size: u64,
    /// Where the kernel lets this process use it.
    task_stats: Option<TaskStats>,
    /// Calls and bytes of processes that have ended: the kernel adds all that a process ever did to its parent, when that
    /// waits for it.
    departed: IoFields,
    /// What the processor counts, where it does.
    events: Option<ProcessorEvents>,
    events_refused: Option<String>,
    /// Processor time that was counted of processes that have ended, and is not in that of waited-for children of their parents
    /// yet.
    owed: Nanos,
    /// A tick of the kernel's, in which it tells of children.
    tick: Nanos,
    /// How many have started, how many have ended, and how many of these nobody waited for.
    started: usize,
    ended: usize,
    lost: usize,
    /// Processor time of children that was counted when they were waited for.
    of_children: Nanos,
}

/// A process, and what was read of it last.
struct WatchedProcess {
    parent: Option<u32>,
    clock: ProcessClock,
    processor: Nanos,
    /// Of its children that it waited for, since it is watched.
    of_children: Nanos,
    stat: Option<(File, StatFields)>,
    io: Option<(File, IoFields)>,
    threads: ProcessThreads,
}

impl ServerCounters {
    /// Those of these processes, and of all that they have started or will start.
    ///
    /// # Errors
    /// In a sentence, if none of them can be watched.
    pub fn of(roots: &[u32]) -> Result<ServerCounters, String> {
        let mut counters = ServerCounters {
            roots: roots.to_vec(),
            processes: BTreeMap::new(),
            looked: None,
            pending: InsideCounts::default(),
            page_size: rustix::param::page_size() as u64,
            task_stats: TaskStats::open(),
            departed: IoFields::default(),
            events: None,
            events_refused: None,
            owed: 0,
            tick: 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1),
            started: 0,
            ended: 0,
            lost: 0,
            of_children: 0,
        };
        counters.look(&mut InsideCounts::default());
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
        // What they did before is nobody's.
        counters.read();
        counters.started = 0;
        counters.of_children = 0;
        Ok(counters)
    }

    /// The same, and what the processor counts of them, where it does and this user may know.
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

    /// Whether calls and bytes that are read and written cannot be counted.
    pub fn lacks_io(&self) -> bool {
        self.processes.values().any(|own| own.io.is_none())
    }

    /// What cannot be read of them, and what is needed for it, each in a sentence.
    pub fn missing(&self) -> Vec<String> {
        let sentence = "bytes and calls of the server that read and write are not counted: /proc/PID/io is readable for its \
                        user and for root only";
        let mut missing = Vec::from_iter(self.lacks_io().then(|| sentence.to_owned()));
        missing.extend(self.events_refused.clone());
        if self.events.as_ref().is_some_and(|own| own.without_kernel) {
            let without = "instructions, cycles and cache misses are those outside of the kernel: this user may not count more \
                           (`sysctl kernel.perf_event_paranoid=1`)";
            missing.push(without.to_owned());
        }
        missing
    }

    /// An interface by which one of the processes makes calls that are no system calls, as far as its descriptors tell.
    pub fn unseen(&self) -> Option<AsyncInterface> {
        let mut pids = self.processes.keys();
        let uses_it = pids.any(|pid| uses_io_uring(*pid));
        uses_it.then_some(AsyncInterface::IoUring)
    }

    /// The processes that are watched now.
    pub fn processes(&self) -> Vec<ServerProcessRecord> {
        let all = self.processes.iter();
        let of_process = |(&pid, process): (&u32, &WatchedProcess)| ServerProcessRecord {
            pid,
            name: name(pid),
            threads: process.stat.as_ref().map_or(0, |(_, stat)| stat.threads),
        };
        all.map(of_process).collect()
    }

    /// Waits until the server has used no processor for a moment, and none of its threads has something to do: what it does
    /// behind a response belongs to it. Asking for the clock of a process that runs holds it up, so that is done twice at
    /// least, and seldom. False where it did not come to rest in time.
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

    /// The same, also of processes that were not seen yet, where the server has started some before.
    pub fn wait_for_rest_of_all(&mut self) -> bool {
        if self.started > 0 || self.of_children > 0 {
            let mut counted = InsideCounts::default();
            self.look(&mut counted);
            self.pending.add(&counted);
        }
        self.wait_for_rest()
    }

    /// Processor time of all processes that are watched.
    fn processor(&self) -> Nanos {
        let all = self.processes.values();
        all.filter_map(|own| own.clock.read()).sum()
    }

    /// What was counted since the last reading.
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
        let task_stats = self.task_stats.as_ref();
        self.processes.retain(|&pid, process| {
            let before = process.of_children;
            let read = process.read(page_size, tick, task_stats, &mut counted);
            waited_for += process.of_children - before;
            if read.is_none() {
                let io = process.io.as_ref().map(|(_, last)| *last);
                let processor = process.processor + process.of_children;
                departed.insert(pid, (process.parent, processor, io));
            }
            read.is_some()
        });
        for (parent, processor, io) in departed.values() {
            self.ended += 1;
            // A parent that has ended, too, may have waited for it, and another one for that.
            let mut parent = *parent;
            while let Some((above, ..)) = parent.and_then(|own| departed.get(&own)) {
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
        // Of a child that was watched, only what it did since it was read last is new.
        let known = waited_for.min(self.owed);
        self.owed -= known;
        counted.processor += waited_for - known;
        self.of_children += waited_for - known;
        // Its parent may have been read before it, and then has it at the next reading.
        let mut all = inherited;
        all.add(&self.departed);
        if all.are_in(&counted) {
            all.take_from(&mut counted);
            self.departed = IoFields::default();
        }
        counted
    }

    /// What makes the counts doubtful, each in a sentence.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        match self.started {
            0 => {}
            1 => doubts.push(
                "one process of the server started while it was watched; what it did until it was seen, a tenth of a second \
                 at most, counts for the row that was at work then"
                    .to_owned(),
            ),
            more => doubts.push(format!(
                "{more} processes of the server started while it was watched; what they did until they were seen, a tenth of \
                 a second at most, counts for the rows that were at work then"
            )),
        }
        match (self.ended, self.lost) {
            (_, 0) => {}
            (1, _) => doubts.push(
                "one process of the server ended while it was watched, and no watched one waited for it; what it did at its end \
                 is not counted"
                    .to_owned(),
            ),
            (all, lost) => doubts.push(format!(
                "{all} processes of the server ended while it was watched, and no watched one waited for {lost} of them; what \
                 these did at their end is not counted"
            )),
        }
        if self.of_children > self.tick {
            doubts.push(format!(
                "{:.2} s of the processor time is that of processes that had ended, of which the kernel tells in steps of {} ms \
                 when the server has waited for them: it may be in the row after",
                self.of_children as f64 / 1e9,
                self.tick / 1_000_000
            ));
        }
        doubts
    }

    /// Looks for processes at the next reading, however short ago that was.
    pub(crate) fn look_again(&mut self) {
        self.looked = None;
    }

    /// Looks for processes that were started. What they did since then counts.
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
        for process in self.processes.values_mut() {
            process.threads.look(self.task_stats.as_ref(), counted);
        }
    }
}

/// Whether anybody but this thread runs or would run if it had a processor: the fourth number of `/proc/loadavg`. To look at the
/// threads of a server one by one takes so long that its caches are cold.
fn others_are_ready() -> bool {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = text.split([' ', '/']).nth(3);
    running
        .and_then(|own| own.parse().ok())
        .is_none_or(|running: u32| running > 1)
}

/// Whether a thread of this process has something to do: it runs, would run if it had a processor, or waits for a disk. The
/// threads of a process that was given no processor since the last reading are asleep; to look at all of many takes long.
fn has_work((&pid, process): (&u32, &WatchedProcess)) -> bool {
    let is_awake = |tid: &u32| matches!(state(*tid), Some('R' | 'D'));
    let has_run = process
        .clock
        .read()
        .is_some_and(|clock| clock != process.processor);
    is_awake(&pid) || (has_run && threads(pid).iter().take(MOST_STATES).any(is_awake))
}

/// Whether a process takes over what its children did: where it ignores their end, nobody does.
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
            of_children: 0,
            stat: open("stat").map(|file| (file, StatFields::default())),
            // Whoever may not read it may open it.
            io: open("io")
                .filter(|file| text_of(file, &mut [0; 64]).is_some())
                .map(|file| (file, IoFields::default())),
            threads: ProcessThreads::of(pid),
        })
    }

    /// Adds what was counted since the last reading; `None` when it has ended.
    fn read(
        &mut self,
        page_size: u64,
        tick: Nanos,
        task_stats: Option<&TaskStats>,
        counted: &mut InsideCounts,
    ) -> Option<()> {
        let processor = self.clock.read()?;
        if processor == self.processor && processor > 0 {
            // It was given no processor since it was read last, and has nothing new.
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
            self.of_children += tick * now.children_ticks.saturating_sub(before.children_ticks);
            let pages = now.resident_pages.cast_signed() - before.resident_pages.cast_signed();
            counted.memory_growth += pages * page_size.cast_signed();
            let has_others = now.threads != before.threads;
            *before = now;
            if has_others {
                self.threads.look(task_stats, counted);
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
        self.threads.read(task_stats, counted);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Child, Command};
    use std::thread;

    use super::*;
    use crate::testing::shell;

    /// A process that always works, kept to the first processor.
    fn worker(policy: &[&str]) -> Child {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).args(policy);
        command.args(["sh", "-c", "while :; do :; done"]);
        command.spawn().unwrap()
    }

    #[test]
    fn a_server_that_has_no_processor_does_not_rest() {
        let mut server = worker(&["chrt", "-i", "0"]);
        let mut others = [(); 2].map(|()| worker(&[]));
        let counters = ServerCounters::of(&[server.id()]).unwrap();
        let rested = (0..20).filter(|_| counters.wait_for_rest()).count();
        for child in others.iter_mut().chain([&mut server]) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(rested, 0);
        let mut asleep = Command::new("sleep").arg("60").spawn().unwrap();
        let counters = ServerCounters::of(&[asleep.id()]).unwrap();
        let rests = (0..200).any(|_| counters.wait_for_rest());
        asleep.kill().unwrap();
        asleep.wait().unwrap();
        assert!(rests);
    }

    #[test]
    fn a_process_that_ignores_the_end_of_its_children_takes_nothing_over() {
        for (ignored, expected) in [("CHLD", false), ("HUP", true)] {
            let mut process = Command::new("env")
                .arg(format!("--ignore-signal={ignored}"))
                .args(["sleep", "60"])
                .spawn()
                .unwrap();
            while name(process.id()) != "sleep" {
                thread::yield_now();
            }
            let waits = waits_for_children(process.id());
            process.kill().unwrap();
            process.wait().unwrap();
            assert_eq!(waits, expected, "{ignored}");
        }
        assert!(!waits_for_children(u32::MAX / 4));
    }

    /// A shell that starts a process that uses 0.3 s of processor time, and waits for it.
    #[test]
    fn what_children_did_is_counted_once_whether_they_were_seen_or_not() {
        let script = "read -r begin; timeout --signal=INT 0.4 sh -c 'while :; do :; done'; echo; read -r leave";
        for looks in [false, true] {
            let (mut shell, mut commands, mut output) = shell(script);
            let mut counters = ServerCounters::of(&[shell.id()]).unwrap();
            let mut all = InsideCounts::default();
            commands.write_all(b"begin\n").unwrap();
            let begun = Instant::now();
            while looks && begun.elapsed() < Duration::from_millis(300) {
                counters.look_again();
                all.add(&counters.read());
                thread::sleep(Duration::from_millis(20));
            }
            output.read_exact(&mut [0]).unwrap();
            all.add(&counters.read());
            // What the kernel accounted to the child: the shell waited for it.
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", shell.id())).unwrap();
            let children = proc_files::stat(&stat).unwrap().children_ticks * counters.tick;
            drop(commands);
            shell.wait().unwrap();
            assert!(children > 20_000_000, "{children}");
            let beyond = all.processor.abs_diff(children);
            assert!(
                beyond < 30_000_000,
                "{looks}: {} of {children}",
                all.processor
            );
        }
    }

    #[test]
    fn processes_that_start_and_end_are_told() {
        let script = "read begin; sleep 60 & read end; kill $!; wait $!; read leave";
        let (mut shell, mut commands, _output) = shell(script);
        let mut counters = ServerCounters::of(&[shell.id()]).unwrap();
        let processes = counters.processes();
        assert_eq!(processes.len(), 1, "{processes:?}");
        assert_eq!((processes[0].pid, processes[0].threads), (shell.id(), 1));
        thread::sleep(LOOK);
        counters.read();
        assert_eq!(counters.doubts(), [""; 0]);

        let mut until = |line: &[u8], processes: usize| {
            commands.write_all(line).unwrap();
            let deadline = Instant::now() + Duration::from_secs(10);
            while counters.processes().len() != processes {
                assert!(Instant::now() < deadline, "{:?}", counters.processes());
                thread::sleep(LOOK / 4);
                counters.read();
            }
            counters.doubts().join("; ")
        };
        let started = until(b"begin\n", 2);
        assert!(
            started.starts_with("one process of the server started"),
            "{started}"
        );
        assert!(!started.contains("ended"), "{started}");
        // The shell waits for it, and has what it did.
        let ended = until(b"end\n", 1);
        assert_eq!(ended, started);
        drop(commands);
        shell.wait().unwrap();
    }
}
