//! Scheduler counts of the threads of a process: waits, and time without a processor.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use record::InsideCounts;

use crate::proc_files::{self, ScheduleFields, ThreadFields, text_of};
use crate::processes::threads;
use crate::task_stats::TaskStats;

/// Source of the counts of threads.
pub(crate) enum ThreadSource {
    /// The kernel reports all threads of a process together.
    Together(TaskStats),
    /// Two files of each thread, up to this number of threads, which stay open.
    Each(usize),
    /// There are too many threads for that.
    Nowhere,
}

/// The threads of a process, and their last readings.
pub(crate) struct ProcessThreads {
    pid: u32,
    /// The reading of all threads together, where the kernel provides it.
    together: ThreadFields,
    /// The readings of each thread otherwise.
    each: BTreeMap<u32, WatchedThread>,
}

/// A thread, and its last reading.
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

    /// Searches for new threads, and for those that have ended, whose last switches are lost. The
    /// counts of new ones since then are added.
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

    /// Adds the counts since the last reading.
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

    /// A thread without a new time slice has no new counts.
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

    /// Counts of this process while one of its threads waits this often, in vain.
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
            eprintln!("skipped: the kernel does not give this process task statistics");
            return;
        };
        let together = ThreadSource::Together(task_stats);
        let waits = counted(&together, 200).waits;
        assert!(waits >= 200, "{waits}");
        assert!(counted(&together, 0).waits < 200);
    }
}
