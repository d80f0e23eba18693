//! What the threads of a process did: how often they gave a processor up, and how long they had none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use record::InsideCounts;

use crate::proc_files::{self, ScheduleFields, ThreadFields, text_of};
use crate::processes::threads;
use crate::task_stats::TaskStats;

/// How it is known what threads did.
pub(crate) enum ThreadSource {
    /// The kernel tells of all threads of a process together.
    Together(TaskStats),
    /// By two files of each of at most so many threads, which stay open.
    Each(usize),
    /// There are too many threads for that.
    Nowhere,
}

/// The threads of a process, and what was read of them last.
pub(crate) struct ProcessThreads {
    pid: u32,
    /// Of all of them, where the kernel tells of them together.
    together: ThreadFields,
    /// Of each, where it does not.
    each: BTreeMap<u32, WatchedThread>,
}

/// A thread, and what was read of it last.
struct WatchedThread {
    schedule_file: File,
    status_file: File,
    schedule: ScheduleFields,
    fields: ThreadFields,
}

impl ProcessThreads {
    pub(crate) fn of(pid: u32) -> ProcessThreads {
        ProcessThreads {
            pid,
            together: ThreadFields::default(),
            each: BTreeMap::new(),
        }
    }

    /// Looks for threads that were started, and for those that have ended, whose last switches are lost. What the new ones
    /// did since then counts.
    pub(crate) fn look(&mut self, source: &ThreadSource, counted: &mut InsideCounts) {
        let most = match source {
            ThreadSource::Together(_) => return,
            ThreadSource::Each(most) => *most,
            ThreadSource::Nowhere => return self.each.clear(),
        };
        let tasks = format!("/proc/{}/task", self.pid);
        let now: BTreeSet<u32> = threads(self.pid).into_iter().take(most).collect();
        self.each.retain(|thread, _| now.contains(thread));
        for thread in now {
            if !self.each.contains_key(&thread)
                && let Some(mut watched) = WatchedThread::of(&tasks, thread)
            {
                watched.read(counted);
                self.each.insert(thread, watched);
            }
        }
    }

    /// Adds what they did since the last reading.
    pub(crate) fn read(&mut self, source: &ThreadSource, counted: &mut InsideCounts) {
        if let ThreadSource::Together(stats) = source
            && let Some(now) = stats.of(self.pid)
        {
            now.add_since(&self.together, counted);
            self.together = now;
        }
        for thread in self.each.values_mut() {
            thread.read(counted);
        }
    }
}

impl WatchedThread {
    fn of(tasks: &str, thread: u32) -> Option<WatchedThread> {
        let open = |name: &str| File::open(format!("{tasks}/{thread}/{name}")).ok();
        Some(WatchedThread {
            schedule_file: open("schedstat")?,
            status_file: open("status")?,
            schedule: ScheduleFields::default(),
            fields: ThreadFields::default(),
        })
    }

    /// One that was given no processor has nothing new.
    fn read(&mut self, counted: &mut InsideCounts) {
        let mut buffer = [0; 4096];
        let schedule = text_of(&self.schedule_file, &mut buffer);
        let schedule = schedule.as_deref().and_then(proc_files::schedule);
        let Some(schedule) = schedule.filter(|now| *now != self.schedule) else {
            return;
        };
        self.schedule = schedule;
        let switches = text_of(&self.status_file, &mut buffer);
        let switches = switches.as_deref().and_then(proc_files::switches);
        let (waits, preemptions) = switches.unwrap_or((self.fields.waits, self.fields.preemptions));
        let now = ThreadFields {
            queued_ns: schedule.queued_ns,
            waits,
            preemptions,
        };
        now.add_since(&self.fields, counted);
        self.fields = now;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// What this process counts of itself while one of its threads waits this often, for what does not come.
    fn counted(source: &ThreadSource, often: u32) -> InsideCounts {
        let wait = || thread::park_timeout(Duration::from_micros(100));
        let mut threads = ProcessThreads::of(std::process::id());
        let mut before = InsideCounts::default();
        wait();
        threads.look(source, &mut before);
        threads.read(source, &mut before);
        let mut counted = InsideCounts::default();
        (0..often).for_each(|_| wait());
        threads.read(source, &mut counted);
        assert!(before.waits > 0, "{before:?}");
        counted
    }

    #[test]
    fn a_thread_that_waits_is_seen_by_both_means() {
        let waits = counted(&ThreadSource::Each(1_000), 200).waits;
        assert!(waits >= 200, "{waits}");
        let Some(task_stats) = TaskStats::open() else {
            eprintln!("skipped: the kernel lets this process not ask for task statistics");
            return;
        };
        let together = ThreadSource::Together(task_stats);
        let waits = counted(&together, 200).waits;
        assert!(waits >= 200, "{waits}");
        assert!(counted(&together, 0).waits < 200);
    }
}
