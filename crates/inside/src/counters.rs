//! Counters of the processes of a server, read between operations.
//!
//! Files are kept open, and what is costly is read only where something cheap has changed: of a server with 30 threads
//! of which one works, a reading takes about 60 microseconds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use record::{InsideCounts, Nanos};

use crate::clock::ProcessClock;
use crate::proc_files::{self, IoFields, ScheduleFields, StatFields, SwitchFields};
use crate::processes::descendants;

/// Time after which processes are looked for again that the server has started.
const LOOK: Duration = Duration::from_millis(100);

/// Longest time to wait until a server rests behind a response.
const LONGEST_REST: Duration = Duration::from_millis(2);
/// Time in which a server that rests uses no processor.
const REST: Duration = Duration::from_micros(30);

/// The counters of all processes of a server.
pub struct ServerCounters {
    roots: Vec<u32>,
    processes: BTreeMap<u32, WatchedProcess>,
    looked: Instant,
    page_size: u64,
    /// Calls and bytes of processes that have ended: the kernel adds all that a process ever did to its parent.
    departed: IoFields,
    /// How many have ended.
    ended: usize,
    /// Processor time of children that were waited for, in ticks.
    of_children: u64,
}

/// A process, and what was read of it last.
struct WatchedProcess {
    clock: ProcessClock,
    processor: Nanos,
    stat: Option<(File, StatFields)>,
    io: Option<(File, IoFields)>,
    tasks: String,
    threads: BTreeMap<u32, WatchedThread>,
}

/// A thread, and what was read of it last.
struct WatchedThread {
    schedule_file: File,
    status_file: File,
    schedule: ScheduleFields,
    switches: SwitchFields,
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
            looked: Instant::now(),
            page_size: rustix::param::page_size() as u64,
            departed: IoFields::default(),
            ended: 0,
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
        counters.of_children = 0;
        Ok(counters)
    }

    /// Whether calls and bytes that are read and written cannot be counted.
    pub fn lacks_io(&self) -> bool {
        self.processes.values().any(|own| own.io.is_none())
    }

    /// What cannot be read of them, and what is needed for it, each in a sentence.
    pub fn missing(&self) -> Vec<String> {
        let sentence = "bytes and calls of the server that read and write are not counted: /proc/PID/io is readable for its \
                        user and for root only";
        Vec::from_iter(self.lacks_io().then(|| sentence.to_owned()))
    }

    /// Waits until the server has used no processor for a moment: what it does behind a response belongs to it.
    pub fn wait_for_rest(&self) {
        let begun = Instant::now();
        let mut used = self.processor();
        let mut since = begun;
        while begun.elapsed() < LONGEST_REST {
            std::hint::spin_loop();
            let now = self.processor();
            if now != used {
                (used, since) = (now, Instant::now());
            } else if since.elapsed() >= REST {
                return;
            }
        }
    }

    /// Processor time of all processes that are watched.
    fn processor(&self) -> Nanos {
        let all = self.processes.values();
        all.filter_map(|own| own.clock.read()).sum()
    }

    /// What was counted since the last reading.
    pub fn read(&mut self) -> InsideCounts {
        let mut counted = InsideCounts::default();
        if self.looked.elapsed() >= LOOK {
            self.look(&mut counted);
        }
        let page_size = self.page_size;
        let inherited = std::mem::take(&mut self.departed);
        let (ended, of_children) = (&mut self.ended, &mut self.of_children);
        let departed = &mut self.departed;
        self.processes.retain(|_, process| {
            if process.read(page_size, &mut counted, of_children).is_some() {
                return true;
            }
            *ended += 1;
            if let Some((_, last)) = &process.io {
                departed.add(last);
            }
            false
        });
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
        match self.ended {
            0 => {}
            1 => doubts.push(
                "one process of the server ended while it was watched; what it did at its end is not counted".to_owned(),
            ),
            more => doubts.push(format!(
                "{more} processes of the server ended while it was watched; what they did at their end is not counted"
            )),
        }
        // Of a server whose processes stay, there is nothing.
        if self.ended == 0 && self.of_children > 1 {
            doubts.push(format!(
                "processes that the server started for single requests used {:.2} s of processor time, which is not \
                 counted: they had ended before anybody looked",
                self.of_children as f64 / 100.0
            ));
        }
        doubts
    }

    /// Looks for processes that were started. What they did since then counts.
    fn look(&mut self, counted: &mut InsideCounts) {
        self.looked = Instant::now();
        for pid in descendants(&self.roots) {
            if !self.processes.contains_key(&pid)
                && let Some(process) = WatchedProcess::of(pid)
            {
                self.processes.insert(pid, process);
            }
        }
        for process in self.processes.values_mut() {
            process.look(counted);
        }
    }
}

impl WatchedProcess {
    fn of(pid: u32) -> Option<WatchedProcess> {
        let clock = ProcessClock::of(pid)?;
        let open = |name: &str| File::open(format!("/proc/{pid}/{name}")).ok();
        Some(WatchedProcess {
            clock,
            processor: 0,
            stat: open("stat").map(|file| (file, StatFields::default())),
            // Whoever may not read it may open it.
            io: open("io")
                .filter(|file| text_of(file, &mut [0; 64]).is_some())
                .map(|file| (file, IoFields::default())),
            tasks: format!("/proc/{pid}/task"),
            threads: BTreeMap::new(),
        })
    }

    /// Looks for threads that were started, and for those that have ended, whose last switches are lost.
    fn look(&mut self, counted: &mut InsideCounts) {
        let Ok(tasks) = fs::read_dir(&self.tasks) else {
            return;
        };
        let named = tasks
            .flatten()
            .filter_map(|task| task.file_name().to_str()?.parse().ok());
        let now: Vec<u32> = named.collect();
        self.threads.retain(|thread, _| now.contains(thread));
        for thread in now {
            if !self.threads.contains_key(&thread)
                && let Some(mut watched) = WatchedThread::of(&self.tasks, thread)
            {
                watched.read(counted);
                self.threads.insert(thread, watched);
            }
        }
    }

    /// Adds what was counted since the last reading; `None` when it has ended.
    fn read(
        &mut self,
        page_size: u64,
        counted: &mut InsideCounts,
        of_children: &mut u64,
    ) -> Option<()> {
        let processor = self.clock.read()?;
        counted.processor += processor.saturating_sub(self.processor);
        self.processor = processor;
        let mut buffer = [0; 2048];
        if let Some((file, before)) = &mut self.stat
            && let Some(now) = text_of(file, &mut buffer).and_then(proc_files::stat)
        {
            counted.user_ticks += now.user_ticks.saturating_sub(before.user_ticks);
            counted.system_ticks += now.system_ticks.saturating_sub(before.system_ticks);
            counted.threads += now.threads;
            *of_children += now.children_ticks.saturating_sub(before.children_ticks);
            let pages = now.resident_pages.cast_signed() - before.resident_pages.cast_signed();
            counted.memory_growth += pages * page_size.cast_signed();
            let has_others = now.threads != before.threads;
            *before = now;
            if has_others {
                self.look(counted);
            }
        }
        if let Some((file, before)) = &mut self.io
            && let Some(now) = text_of(file, &mut buffer).and_then(proc_files::io)
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
        for thread in self.threads.values_mut() {
            thread.read(counted);
        }
        Some(())
    }
}

impl WatchedThread {
    fn of(tasks: &str, thread: u32) -> Option<WatchedThread> {
        let open = |name: &str| File::open(format!("{tasks}/{thread}/{name}")).ok();
        Some(WatchedThread {
            schedule_file: open("schedstat")?,
            status_file: open("status")?,
            schedule: ScheduleFields::default(),
            switches: SwitchFields::default(),
        })
    }

    /// Adds what was counted since the last reading. One that was given no processor has nothing new.
    fn read(&mut self, counted: &mut InsideCounts) {
        let mut buffer = [0; 4096];
        let schedule = text_of(&self.schedule_file, &mut buffer).and_then(proc_files::schedule);
        let Some(schedule) = schedule.filter(|now| *now != self.schedule) else {
            return;
        };
        counted.queued += schedule.queued_ns.saturating_sub(self.schedule.queued_ns);
        self.schedule = schedule;
        if let Some(now) = text_of(&self.status_file, &mut buffer).and_then(proc_files::switches) {
            counted.waits += now.waits.saturating_sub(self.switches.waits);
            counted.preemptions += now.preemptions.saturating_sub(self.switches.preemptions);
            self.switches = now;
        }
    }
}

/// What a file of /proc says now.
fn text_of<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b str> {
    let length = file.read_at(buffer, 0).ok()?;
    std::str::from_utf8(&buffer[..length]).ok()
}
