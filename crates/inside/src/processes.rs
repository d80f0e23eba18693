//! The processes that a server consists of.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::proc_files::number_behind;

/// These processes and all their descendants, in ascending order, without those that have ended. A
/// process whose parent has ended is no descendant: the kernel gave it to another parent.
pub fn descendants(roots: &[u32]) -> Vec<u32> {
    descendants_below(Path::new("/proc"), roots)
}

/// Threads of a process; none where it has ended.
pub fn threads(pid: u32) -> Vec<u32> {
    numbers_in(&Path::new("/proc").join(pid.to_string()).join("task"))
}

/// The process that a thread belongs to. The first thread of a process has its number.
pub fn process_of(tid: u32) -> Option<u32> {
    status_number(tid, "Tgid")
}

/// Attaches to every thread of these processes and their descendants; returns those for which
/// `attach` is true. Threads that begin before their parent is attached to are found by repeated
/// searches, until nothing is new twice.
///
/// `attach` also gets the number of threads attached before; false means that the thread has ended.
pub(crate) fn attached_threads<E>(
    roots: &[u32],
    mut attach: impl FnMut(u32, usize) -> Result<bool, E>,
) -> Result<HashSet<u32>, E> {
    let mut attached = HashSet::new();
    let mut looks_without_new = 0;
    while looks_without_new < 2 {
        looks_without_new += 1;
        for tid in descendants(roots).into_iter().flat_map(threads) {
            if !attached.contains(&tid) && attach(tid, attached.len())? {
                attached.insert(tid);
                looks_without_new = 0;
            }
        }
    }
    Ok(attached)
}

pub(crate) fn descendants_below(proc: &Path, roots: &[u32]) -> Vec<u32> {
    let mut found = BTreeSet::new();
    let mut all_children = None;
    let mut open: Vec<u32> = roots.to_vec();
    while let Some(pid) = open.pop() {
        if found.contains(&pid) || living_parent(proc, pid).is_none() {
            continue;
        }
        found.insert(pid);
        match listed_children(proc, pid) {
            Some(children) => open.extend(children),
            None => {
                let by_parent = all_children.get_or_insert_with(|| children_by_parent(proc));
                open.extend(by_parent.get(&pid).into_iter().flatten());
            }
        }
    }
    found.into_iter().collect()
}

/// Children as the kernel lists them by thread; `None` where it was built without that
/// (`CONFIG_PROC_CHILDREN`).
fn listed_children(proc: &Path, pid: u32) -> Option<Vec<u32>> {
    let tasks = proc.join(pid.to_string()).join("task");
    let mut children = Vec::new();
    for tid in numbers_in(&tasks) {
        match fs::read_to_string(tasks.join(tid.to_string()).join("children")) {
            Ok(list) => {
                children.extend(
                    list.split_whitespace()
                        .filter_map(|child| child.parse::<u32>().ok()),
                );
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(_) => {} // the thread has ended
        }
    }
    Some(children)
}

/// The children of all processes of the machine. One pass takes milliseconds where there are
/// hundreds.
fn children_by_parent(proc: &Path) -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in numbers_in(proc) {
        if let Some(parent) = living_parent(proc, pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

/// The parent of a process with a living thread, which need not be the first.
fn living_parent(proc: &Path, pid: u32) -> Option<u32> {
    let first = read_task(&proc.join(pid.to_string()))?;
    is_living(proc, pid, first).then_some(first.parent)
}

/// True if a thread of a process lives; `first` are the fields of its first one.
pub(crate) fn is_living(proc: &Path, pid: u32, first: TaskFields) -> bool {
    let lives = |task: TaskFields| !task.has_ended();
    let tasks = proc.join(pid.to_string()).join("task");
    let others = || numbers_in(&tasks).into_iter().filter(|tid| *tid != pid);
    lives(first) || others().any(|tid| read_task(&tasks.join(tid.to_string())).is_some_and(lives))
}

/// The fields of `stat` of a process or thread (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskFields {
    state: char,
    parent: u32,
    /// `PF_...` in `linux/sched.h`.
    flags: u32,
}

impl TaskFields {
    /// The fields after the name, which is in parentheses and may contain any character.
    pub(crate) fn of(stat: &str) -> Option<TaskFields> {
        let mut fields = stat.rsplit(')').next()?.split_whitespace();
        Some(TaskFields {
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
            flags: fields.nth(4)?.parse().ok()?,
        })
    }

    /// True if it is ending, or was not waited for yet.
    fn has_ended(self) -> bool {
        const PF_EXITING: u32 = 0x4;
        matches!(self.state, 'Z' | 'X') || self.flags & PF_EXITING != 0
    }
}

fn read_task(directory: &Path) -> Option<TaskFields> {
    // The name is bytes, and need not be UTF-8.
    let stat = fs::read(directory.join("stat")).ok()?;
    TaskFields::of(&String::from_utf8_lossy(&stat))
}

fn task(tid: u32) -> Option<TaskFields> {
    read_task(&Path::new("/proc").join(tid.to_string()))
}

/// The state of a thread: `R` where it is running or runnable, `S` where it sleeps.
pub(crate) fn state(tid: u32) -> Option<char> {
    task(tid).map(|fields| fields.state)
}

/// True if a thread is gone, or was not waited for yet.
pub(crate) fn thread_has_ended(tid: u32) -> bool {
    task(tid).is_none_or(TaskFields::has_ended)
}

/// True if a thread works for io_uring in the kernel, and makes no system calls.
pub(crate) fn is_of_io_uring(tid: u32) -> bool {
    const PF_IO_WORKER: u32 = 0x10;
    task(tid).is_some_and(|fields| fields.flags & PF_IO_WORKER != 0)
}

/// True if a process has a queue of io_uring open.
pub(crate) fn uses_io_uring(pid: u32) -> bool {
    // The first thread may have ended, and then has no descriptors.
    let open = |tid: u32| fs::read_dir(format!("/proc/{pid}/task/{tid}/fd")).ok();
    let descriptors = threads(pid).into_iter().find_map(open);
    descriptors
        .into_iter()
        .flatten()
        .flatten()
        .any(|descriptor| {
            fs::read_link(descriptor.path())
                .is_ok_and(|link| link == Path::new("anon_inode:[io_uring]"))
        })
}

/// A number from the `status` of a process or thread, such as `PPid`; of several, the first. Works
/// also after its end, until it is waited for.
pub(crate) fn status_number(pid: u32, name: &str) -> Option<u32> {
    let number = number_behind(&status(pid)?, &format!("{name}:"))?;
    u32::try_from(number).ok()
}

/// The signals that a process ignores, a bit for each, from 1 on.
pub(crate) fn ignored_signals(pid: u32) -> Option<u64> {
    let status = status(pid)?;
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(ignored.trim(), 16).ok()
}

/// The `status` of a process or thread. Its name is bytes, and need not be UTF-8.
fn status(pid: u32) -> Option<String> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    Some(String::from_utf8_lossy(&status).into_owned())
}

/// The name of the program of a process; empty where it has ended.
pub(crate) fn name(pid: u32) -> String {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// The entries of a directory whose names are numbers.
pub(crate) fn numbers_in(directory: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A directory like /proc: process, name, state, parent, and the children of its only thread
    /// where these are listed.
    type Process = (u32, &'static str, &'static str, u32, Option<&'static str>);

    fn found(processes: &[Process], roots: &[u32]) -> Vec<u32> {
        let proc = tempfile::tempdir().unwrap();
        for (pid, name, state, parent, children) in processes {
            let directory = proc.path().join(pid.to_string());
            let task = directory.join("task").join(pid.to_string());
            fs::create_dir_all(&task).unwrap();
            let stat = format!("{pid} ({name}) {state} {parent} {pid} 0 0 -1 64");
            fs::write(directory.join("stat"), stat).unwrap();
            if let Some(children) = children {
                fs::write(task.join("children"), children).unwrap();
            }
        }
        fs::create_dir_all(proc.path().join("sys")).unwrap();
        descendants_below(proc.path(), roots)
    }

    #[test]
    fn a_tree_is_found_by_parents() {
        let processes: &[Process] = &[
            (1, "init", "S", 0, None),
            (10, "server", "S", 1, None),
            (11, "a) S 1 (b", "R", 10, None),
            (12, "worker", "S", 11, None),
            (13, "ended", "Z", 10, None),
            (20, "other", "S", 1, None),
        ];
        assert_eq!(found(processes, &[10]), [10, 11, 12]);
        assert_eq!(found(processes, &[12, 10, 12]), [10, 11, 12]);
        assert_eq!(found(processes, &[20, 99]), [20]);
        assert_eq!(found(processes, &[13]), [0_u32; 0]);
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let proc = tempfile::tempdir().unwrap();
        let task = |pid: u32, tid: u32, state: &str| {
            let directory = proc.path().join(pid.to_string());
            let task = directory.join("task").join(tid.to_string());
            fs::create_dir_all(&task).unwrap();
            let stat = format!("{tid} (server) {state} 1 1 0 0 -1 64");
            fs::write(task.join("stat"), &stat).unwrap();
            if pid == tid {
                fs::write(directory.join("stat"), stat).unwrap();
            }
        };
        task(10, 10, "Z");
        task(10, 11, "Z");
        task(10, 12, "S");
        task(20, 20, "Z");
        task(20, 21, "X");
        assert_eq!(descendants_below(proc.path(), &[10, 20]), [10]);
    }

    #[test]
    fn a_tree_is_found_by_lists_of_children() {
        // The parents differ, to show which file was read.
        let processes: &[Process] = &[
            (10, "server", "S", 1, Some("11 12 \n")),
            (11, "worker", "S", 1, Some("")),
            (12, "worker", "S", 1, Some("13 99")),
            (13, "helper", "S", 1, Some("")),
            (14, "other", "S", 10, Some("")),
        ];
        assert_eq!(found(processes, &[10]), [10, 11, 12, 13]);
    }

    #[test]
    fn this_process_has_its_child_until_that_has_ended() {
        let this_process = std::process::id();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let all = descendants(&[this_process]);
        assert!(
            all.contains(&this_process) && all.contains(&child.id()),
            "{all:?}"
        );
        assert!(threads(this_process).contains(&this_process));
        // This test has its own thread.
        let this = rustix::thread::gettid()
            .as_raw_nonzero()
            .get()
            .cast_unsigned();
        assert!(this != this_process && process_of(this) == Some(this_process));
        assert_eq!(status_number(child.id(), "PPid"), Some(this_process));
        assert_eq!(status_number(child.id(), "State"), None);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descendants(&[this_process]).contains(&child.id()));
        assert_eq!(threads(child.id()), [0_u32; 0]);
    }
}
