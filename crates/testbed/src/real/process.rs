//! A child process that does not outlive its owner.

use std::fs;
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use lab::{GroupGuard, GuardedChild};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

/// Time for an orderly end before the disorderly one.
const GRACE: Duration = Duration::from_secs(3);
/// Interval between two checks for remaining processes of a group.
const LOOK: Duration = Duration::from_millis(2);

/// A child in a separate process group; dropping it ends the whole group, and so does any end of
/// this process.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: GuardedChild,
    exited: Receiver<()>,
}

impl ServerProcess {
    /// Kept to these processors; to all where none are given.
    pub(super) fn spawn(command: &mut Command, processors: &[u32]) -> io::Result<ServerProcess> {
        let guard = GroupGuard::start()?;
        let child = limits::processors::kept_to(processors, || guard.spawn(command))?;
        let (exit, exited) = mpsc::channel();
        // Waiting for it would also report where a tracer has stopped it. Its owner reaps it: until
        // then its number is not reused.
        let process = pidfd_open(child.pid(), PidfdFlags::empty())?;
        thread::Builder::new()
            .name("server-watch".to_owned())
            .spawn(move || {
                let mut ended = [PollFd::new(&process, PollFlags::IN)];
                while matches!(poll(&mut ended, None), Err(Errno::INTR)) {}
                let _ = exit.send(()); // the owner may have gone
            })?;
        Ok(ServerProcess { child, exited })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits up to `time` for the process to end by itself. Then ends the rest of its group.
    pub(super) fn wait_for_exit(&mut self, time: Duration) -> Option<io::Result<ExitStatus>> {
        match self.exited.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => None,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Some(self.stop()),
        }
    }

    /// SIGTERM, then SIGKILL to the rest of the group. Returns the exit status of its first
    /// process.
    fn stop(&mut self) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + GRACE;
        self.child.signal(Signal::TERM);
        let _ = self.exited.recv_timeout(GRACE);
        // A shell ends at once, and the server that it started needs longer.
        while has_others(self.child.group()) && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        self.child.end()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// True if a process of this group, other than its leader, has not ended (proc_pid_stat(5): state
/// and group are the first and third field after the name, which is in parentheses). False if /proc
/// cannot be read.
fn has_others(group: Pid) -> bool {
    let leader = group.as_raw_nonzero().to_string();
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    processes.flatten().any(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let mut fields = after_name.split_whitespace();
        let (state, _parent, group) = (fields.next(), fields.next(), fields.next());
        let is_leader = process.file_name().to_str() == Some(&leader);
        group == Some(&leader) && !is_leader && !matches!(state, Some("Z" | "X"))
    })
}

/// Processes of one server. They are dropped in this order: the server ends before its helpers.
#[derive(Debug)]
pub(super) struct ServerProcesses {
    pub(super) server: ServerProcess,
    pub(super) helper: Option<ServerProcess>,
}

impl ServerProcesses {
    /// Waits up to `time` for any of them to end by itself.
    pub(super) fn wait_for_exit(&mut self, time: Duration) -> Option<io::Result<ExitStatus>> {
        let ended = self.server.wait_for_exit(time);
        ended.or_else(|| self.helper.as_mut()?.wait_for_exit(Duration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A shell that begins a script in another one, and ends with its SIGTERM.
    fn started(script: &str, directory: &Path) -> ServerProcess {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("({script}); :")]);
        command.current_dir(directory);
        let process = ServerProcess::spawn(&mut command, &[]).unwrap();
        until_begun(directory);
        process
    }

    fn until_begun(directory: &Path) {
        while !directory.join("begun").exists() {
            thread::yield_now();
        }
    }

    #[test]
    fn what_a_shell_started_has_time_to_end() {
        let directory = tempfile::tempdir().unwrap();
        let cleans_up =
            "trap 'sleep 0.1; : > ended; exit' TERM; : > begun; while :; do sleep 0.01; done";
        drop(started(cleans_up, directory.path()));
        assert!(directory.path().join("ended").exists());
    }

    #[test]
    fn what_a_shell_left_behind_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let mut process = started("sleep 600 & : > begun; kill -9 $$", directory.path());
        let status = process.wait_for_exit(GRACE).unwrap().unwrap();
        assert_eq!(status.to_string(), "signal: 9 (SIGKILL)");
        assert!(!has_others(process.child.group()));
        let again = process.wait_for_exit(Duration::ZERO).unwrap().unwrap();
        assert_eq!(again, status);
    }

    #[test]
    fn a_server_that_leaves_its_group_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", ": > begun; while :; do sleep 0.01; done"]);
        let mut process = ServerProcess::spawn(command.current_dir(directory.path()), &[]).unwrap();
        until_begun(directory.path());
        assert!(!has_others(process.child.group()));
        let status = process.stop().unwrap();
        assert_eq!(status.to_string(), "signal: 15 (SIGTERM)");
    }

    #[test]
    fn what_does_not_end_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let stays = "trap '' TERM; : > begun; while :; do sleep 0.01; done";
        let process = started(stays, directory.path());
        let group = process.child.group();
        assert!(has_others(group));
        drop(process);
        while has_others(group) {
            thread::yield_now();
        }
    }
}
