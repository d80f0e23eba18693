//! The end of the named processes of a server: later costs of operations are not counted.

use std::fs::File;
use std::path::Path;

use crate::control_groups::{Group, group, members_of};
use crate::proc_files::text_of;
use crate::processes::{TaskFields, descendants, is_living, name};

/// The named processes, without those that another one of them has started.
#[derive(Debug, Default)]
pub struct NamedProcesses {
    all: Vec<NamedProcess>,
}

#[derive(Debug)]
struct NamedProcess {
    pid: u32,
    name: String,
    /// The file of its first thread. While it is open, it belongs to this process, even if the
    /// number is reused.
    stat: Option<File>,
    /// Its service or container, and the members of that.
    service: Option<(Group, Vec<u32>)>,
}

impl NamedProcesses {
    /// The processes with these numbers.
    pub fn of(pids: &[u32]) -> NamedProcesses {
        let has_started =
            |one: &u32, other: &u32| one != other && descendants(&[*one]).contains(other);
        let is_first = |pid: &&u32| !pids.iter().any(|other| has_started(other, pid));
        NamedProcesses {
            all: pids
                .iter()
                .filter(is_first)
                .map(|pid| NamedProcess::of(*pid))
                .collect(),
        }
    }

    /// True if one of them has ended. This is visible when its connections are closed: the kernel
    /// marks a thread that ends before that.
    pub fn have_ended(&self) -> bool {
        self.all.iter().any(NamedProcess::has_ended)
    }

    /// The first one that has ended, and processes that came into its service since:
    /// `process 4711 (node)`.
    pub fn description_of_end(&self) -> Option<String> {
        let ended = self.all.iter().find(|process| process.has_ended())?;
        let words = format!("process {} ({})", ended.pid, ended.name);
        let new = ended.service.as_ref().and_then(|(group, before)| {
            let members = members_of(group);
            members.into_iter().find(|pid| !before.contains(pid))
        });
        Some(match new {
            Some(pid) => format!(
                "{words}, in whose service process {pid} ({}) is new,",
                name(pid)
            ),
            None => words,
        })
    }
}

impl NamedProcess {
    fn of(pid: u32) -> NamedProcess {
        NamedProcess {
            pid,
            name: name(pid),
            stat: File::open(format!("/proc/{pid}/task/{pid}/stat")).ok(),
            service: group(pid).map(|group| {
                let members = members_of(&group);
                (group, members)
            }),
        }
    }

    fn has_ended(&self) -> bool {
        let mut buffer = [0; 1024];
        let stat = self
            .stat
            .as_ref()
            .and_then(|file| text_of(file, &mut buffer));
        let first = stat.and_then(|stat| TaskFields::of(&stat));
        first.is_none_or(|first| !is_living(Path::new("/proc"), self.pid, first))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_has_ended_before_it_was_waited_for() {
        let this_process = std::process::id();
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let both = NamedProcesses::of(&[child.id(), this_process]);
        assert_eq!(both.all.len(), 1, "one has started the other: {both:?}");
        let named = NamedProcesses::of(&[child.id()]);
        assert!(!named.have_ended() && named.description_of_end().is_none());
        child.kill().unwrap();
        // The other end of its output is closed by its end only.
        let mut output = child.stdout.take().unwrap();
        std::io::Read::read_to_end(&mut output, &mut Vec::new()).unwrap();
        assert!(named.have_ended());
        child.wait().unwrap();
        assert!(named.have_ended());
        let words = format!("process {} (cat)", child.id());
        assert_eq!(named.description_of_end(), Some(words));
    }
}
