//! Parsers of files of /proc: proc_pid_stat(5), proc_pid_io(5), proc_pid_status(5), and the
//! kernel's Documentation/scheduler/sched-stats.rst.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;

use record::InsideCounts;

/// Fields of `/proc/PID/stat`, of all threads of a process together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatFields {
    /// Processor time outside of the kernel, in ticks.
    pub(crate) user_ticks: u64,
    /// Processor time in the kernel, in ticks.
    pub(crate) system_ticks: u64,
    /// Processor time of children that were waited for, in ticks.
    pub(crate) children_ticks: u64,
    pub(crate) threads: u64,
    /// Resident memory in pages.
    pub(crate) resident_pages: u64,
}

/// Fields of `/proc/PID/io`, of all threads of a process together, also of those that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoFields {
    /// Bytes read from anything.
    pub(crate) read_bytes: u64,
    /// Bytes written to anything.
    pub(crate) written_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) disk_read_bytes: u64,
    pub(crate) disk_written_bytes: u64,
}

/// Fields of `/proc/PID/task/TID/schedstat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScheduleFields {
    /// Time in which the thread was runnable without a processor, in nanoseconds.
    pub(crate) queued_ns: u64,
    pub(crate) slices: u64,
}

/// Scheduler counts of a thread, or of all threads of a process together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadFields {
    /// Time in which a thread was runnable without a processor, in nanoseconds.
    pub(crate) queued_ns: u64,
    /// Voluntary context switches.
    pub(crate) waits: u64,
    /// Involuntary context switches.
    pub(crate) preemptions: u64,
}

impl ThreadFields {
    /// Adds the counts since an earlier reading.
    pub(crate) fn add_since(&self, before: &ThreadFields, counted: &mut InsideCounts) {
        counted.queued += self.queued_ns.saturating_sub(before.queued_ns);
        counted.waits += self.waits.saturating_sub(before.waits);
        counted.preemptions += self.preemptions.saturating_sub(before.preemptions);
    }
}

impl IoFields {
    /// Adds those of another process.
    pub(crate) fn add(&mut self, other: &IoFields) {
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.reads += other.reads;
        self.writes += other.writes;
        self.disk_read_bytes += other.disk_read_bytes;
        self.disk_written_bytes += other.disk_written_bytes;
    }

    /// True if they are not zero, and counts may contain them.
    pub(crate) fn are_in(&self, counts: &InsideCounts) -> bool {
        *self != IoFields::default()
            && counts.reads >= self.reads
            && counts.writes >= self.writes
            && counts.read_bytes >= self.read_bytes
            && counts.written_bytes >= self.written_bytes
            && counts.disk_read_bytes >= self.disk_read_bytes
            && counts.disk_written_bytes >= self.disk_written_bytes
    }

    /// Subtracts them from counts that contain them.
    pub(crate) fn take_from(&self, counts: &mut InsideCounts) {
        counts.reads -= self.reads;
        counts.writes -= self.writes;
        counts.read_bytes -= self.read_bytes;
        counts.written_bytes -= self.written_bytes;
        counts.disk_read_bytes -= self.disk_read_bytes;
        counts.disk_written_bytes -= self.disk_written_bytes;
    }
}

/// Reads `/proc/PID/stat`. The name of the program, in parentheses, may contain any character.
pub(crate) fn stat(text: &str) -> Option<StatFields> {
    let (_, behind_name) = text.rsplit_once(')')?;
    // The state is field 3 of the manual.
    let field = |number: usize| {
        let word = behind_name.split_ascii_whitespace().nth(number - 3)?;
        word.parse::<u64>().ok()
    };
    Some(StatFields {
        user_ticks: field(14)?,
        system_ticks: field(15)?,
        children_ticks: field(16)?.checked_add(field(17)?)?,
        threads: field(20)?,
        resident_pages: field(24)?,
    })
}

/// Reads `/proc/PID/io`.
pub(crate) fn io(text: &str) -> Option<IoFields> {
    let value = |name| number_behind(text, name);
    Some(IoFields {
        read_bytes: value("rchar:")?,
        written_bytes: value("wchar:")?,
        reads: value("syscr:")?,
        writes: value("syscw:")?,
        disk_read_bytes: value("read_bytes:")?,
        disk_written_bytes: value("write_bytes:")?,
    })
}

/// Reads `/proc/PID/task/TID/schedstat`.
pub(crate) fn schedule(text: &str) -> Option<ScheduleFields> {
    let mut words = text.split_ascii_whitespace().skip(1);
    Some(ScheduleFields {
        queued_ns: words.next()?.parse().ok()?,
        slices: words.next()?.parse().ok()?,
    })
}

/// Reads `/proc/PID/task/TID/status`: voluntary and involuntary context switches.
pub(crate) fn switches(text: &str) -> Option<(u64, u64)> {
    let waits = number_behind(text, "voluntary_ctxt_switches:")?;
    let preemptions = number_behind(text, "nonvoluntary_ctxt_switches:")?;
    Some((waits, preemptions))
}

/// Current content of a file.
pub(crate) fn text_of<'b>(file: &File, buffer: &'b mut [u8]) -> Option<Cow<'b, str>> {
    let length = file.read_at(buffer, 0).ok()?;
    // The name of a program is bytes, which the kernel cuts at any of them.
    Some(String::from_utf8_lossy(&buffer[..length]))
}

/// The number on the line that begins with this name; of several, the first.
pub(crate) fn number_behind(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_need_not_be_text() {
        let mut file = tempfile::tempfile().unwrap();
        let line = b"17 (\xc3) S 1 17 17 0 -1 4194560 17477 63 0 4922 5 11 25141 2994 20 0 3 0 119 7331840 771 1\n";
        std::io::Write::write_all(&mut file, line).unwrap();
        let mut buffer = [0; 2048];
        let text = text_of(&file, &mut buffer).unwrap();
        assert_eq!(stat(&text).unwrap_or_default().user_ticks, 5);
    }

    #[test]
    fn files_of_the_kernel_are_read() {
        let text = "17 (a) b) S 1 17 17 0 -1 4194560 17477 63 0 4922 5 11 25141 2994 20 0 3 0 119 7331840 771 1\n";
        let read = stat(text).unwrap_or_default();
        let expected = StatFields {
            user_ticks: 5,
            system_ticks: 11,
            children_ticks: 28_135,
            threads: 3,
            resident_pages: 771,
        };
        assert_eq!(read, expected);
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 9\n";
        let read = io(text).unwrap_or_default();
        assert_eq!((read.read_bytes, read.written_bytes), (1, 2));
        assert_eq!((read.reads, read.writes), (3, 4));
        assert_eq!((read.disk_read_bytes, read.disk_written_bytes), (5, 6));
        let read = schedule("168759522 201452725 479\n").unwrap_or_default();
        assert_eq!((read.queued_ns, read.slices), (201_452_725, 479));
        let text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(text), Some((12, 3)));
    }

    #[test]
    fn files_that_lack_something_are_not_read() {
        assert_eq!(stat("17 (a) S 1 17"), None);
        assert_eq!(stat(""), None);
        assert_eq!(io("rchar: 1\nwchar: x\n"), None);
        assert_eq!(schedule("5 6\n"), None);
        assert_eq!(switches("voluntary_ctxt_switches:\t12\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let _ = (stat(&text), io(&text), schedule(&text), switches(&text));
        }
    }
}
