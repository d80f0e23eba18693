//! Membership of processes in a server: samples of a whole processor are of all programs.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::processes::{descendants, status_number};

/// Time after which a process outside of the server is checked again: its number may have been
/// reused.
const AGAIN: Duration = Duration::from_millis(100);
/// Most ancestors that are followed.
const MOST_ANCESTORS: usize = 64;

pub(super) struct ServerMembers {
    members: HashSet<u32>,
    /// Other processes, and when they were found to be others.
    others: HashMap<u32, Instant>,
}

impl ServerMembers {
    /// These processes and all their descendants.
    pub(super) fn of(roots: &[u32]) -> ServerMembers {
        ServerMembers {
            members: descendants(roots).into_iter().collect(),
            others: HashMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// True if this is one of them, or a descendant of one.
    pub(super) fn contains(&mut self, pid: u32) -> bool {
        if self.members.contains(&pid) {
            return true;
        }
        let looked = self.others.get(&pid);
        if looked.is_some_and(|looked| looked.elapsed() < AGAIN) {
            return false;
        }
        let mut ancestor = pid;
        for _ in 0..MOST_ANCESTORS {
            match status_number(ancestor, "PPid") {
                Some(parent) if self.members.contains(&parent) => {
                    self.members.insert(pid);
                    self.others.remove(&pid);
                    return true;
                }
                Some(parent) if parent > 1 => ancestor = parent,
                _ => break,
            }
        }
        self.others.insert(pid, Instant::now());
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shell;

    #[test]
    fn processes_that_descend_from_a_server_are_of_it() {
        let (mut shell, mut commands, output) = shell("read line; sleep 20 & echo $!; wait");
        let mut processes = ServerMembers::of(&[shell.id()]);
        // One begins only now.
        use std::io::{BufRead, BufReader, Write};
        commands.write_all(b"\n").unwrap();
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let later: u32 = line.trim().parse().unwrap();
        let this_process = std::process::id();
        let found =
            [shell.id(), later, this_process, 1, 0, u32::MAX].map(|pid| processes.contains(pid));
        let again = processes.contains(this_process);
        let later = rustix::process::Pid::from_raw(later.cast_signed()).unwrap();
        rustix::process::kill_process(later, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert_eq!(found, [true, true, false, false, false, false]);
        assert!(!again && !processes.is_empty());
    }
}
