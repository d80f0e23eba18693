//! A child process that does not outlive its owner.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process_group, pidfd_open,
    set_parent_process_death_signal,
};

/// Time for an orderly end before the disorderly one.
const GRACE: Duration = Duration::from_secs(3);
/// Time between two looks at who is left of a group.
const LOOK: Duration = Duration::from_millis(2);

/// A child in a process group of its own; dropping it ends the whole group.
///
/// When this process is killed, the kernel sends the child SIGTERM (`PR_SET_PDEATHSIG`), and the
/// child ends its own children. The limits: a child that ignores SIGTERM stays, and so do the
/// temporary files.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    group: Pid,
    exited: Receiver<()>,
    /// How it ended, once it was waited for.
    status: Option<ExitStatus>,
}

impl ServerProcess {
    /// Kept to these processors; to all where none are given.
    pub(super) fn spawn(command: Command, processors: &[u32]) -> io::Result<ServerProcess> {
        let child = spawn_from_lasting_thread(command, processors)?;
        let group = Pid::from_child(&child);
        let (exit, exited) = mpsc::channel();
        // Waiting for it would also report where a tracer has stopped it. Its owner reaps it: until then its
        // number, and that of its group, belong to nobody else.
        let process = pidfd_open(group, PidfdFlags::empty())?;
        thread::Builder::new()
            .name("server-watch".to_owned())
            .spawn(move || {
                let mut ended = [PollFd::new(&process, PollFlags::IN)];
                while matches!(poll(&mut ended, None), Err(Errno::INTR)) {}
                let _ = exit.send(()); // the owner may have gone
            })?;
        Ok(ServerProcess {
            child,
            group,
            exited,
            status: None,
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits up to `time` for the process to end by itself. What is left of its group is ended then.
    pub(super) fn wait_for_exit(&mut self, time: Duration) -> Option<io::Result<ExitStatus>> {
        match self.exited.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => None,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Some(self.stop()),
        }
    }

    /// SIGTERM, then SIGKILL to what is left of the group. Returns how its first process ended.
    fn stop(&mut self) -> io::Result<ExitStatus> {
        // A child that was waited for is gone, and its number may be another's by now.
        if let Some(status) = self.status {
            return Ok(status);
        }
        let deadline = Instant::now() + GRACE;
        let _ = kill_process_group(self.group, Signal::TERM);
        let _ = self.exited.recv_timeout(GRACE);
        // A shell ends at once, and the server that it started needs longer. The child is not reaped yet: it is
        // the last of its group when all others have ended.
        while has_others(self.group) && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Whether a process of this group, other than its leader, has not ended (proc_pid_stat(5): state and group are the
/// first and third field behind the name, which is in parentheses). False where /proc cannot be read.
fn has_others(group: Pid) -> bool {
    let leader = group.as_raw_nonzero().to_string();
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    processes.flatten().any(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let (state, _parent, own) = (fields.next(), fields.next(), fields.next());
        let is_leader = process.file_name().to_str() == Some(&leader);
        own == Some(&leader) && !is_leader && !matches!(state, Some("Z" | "X"))
    })
}

/// What runs for one server. It is dropped in this order: the server ends before what it needs.
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

/// A server to start.
struct ServerCommand {
    command: Command,
    processors: Vec<u32>,
    answer: Sender<io::Result<Child>>,
}

/// "Parent" in `PR_SET_PDEATHSIG` means the thread that forked: one that ended would take the
/// server with it. So all servers are started by one thread that lasts as long as the process.
fn spawn_from_lasting_thread(mut command: Command, processors: &[u32]) -> io::Result<Child> {
    static JOBS: LazyLock<Mutex<Option<Sender<ServerCommand>>>> = LazyLock::new(|| {
        let (sender, jobs) = mpsc::channel::<ServerCommand>();
        let thread = thread::Builder::new().name("server-start".to_owned());
        let started = thread.spawn(move || {
            for ServerCommand {
                mut command,
                processors,
                answer,
            } in jobs
            {
                let child = engine::processors::kept_to(&processors, || command.spawn());
                let _ = answer.send(child);
            }
        });
        Mutex::new(started.is_ok().then_some(sender))
    });
    command.process_group(0);
    let parent = getpid();
    let die_with_parent = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // The parent may have died before that.
        if getppid() != Some(parent) {
            return Err(io::Error::other("the parent is gone"));
        }
        Ok(())
    };
    // SAFETY: it runs between fork and exec, where only async-signal-safe things are allowed: two
    // system calls, and no allocation unless the parent is dead.
    unsafe { command.pre_exec(die_with_parent) };

    let (answer, child) = mpsc::channel();
    let gone = || io::Error::other("the thread that starts servers is gone");
    let jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
    let jobs = jobs.as_ref().ok_or_else(gone)?;
    let job = ServerCommand {
        command,
        processors: processors.to_owned(),
        answer,
    };
    jobs.send(job).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A shell that begins a script in another one, and ends with its SIGTERM.
    fn started(script: &str, directory: &Path) -> ServerProcess {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("({script}); :")]);
        command.current_dir(directory).process_group(0);
        let process = ServerProcess::spawn(command, &[]).unwrap();
        while !directory.join("begun").exists() {
            thread::yield_now();
        }
        process
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
        assert!(!has_others(process.group));
        let again = process.wait_for_exit(Duration::ZERO).unwrap().unwrap();
        assert_eq!(again, status);
    }

    #[test]
    fn what_does_not_end_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let stays = "trap '' TERM; : > begun; while :; do sleep 0.01; done";
        let process = started(stays, directory.path());
        let group = process.group;
        assert!(has_others(group));
        drop(process);
        while has_others(group) {
            thread::yield_now();
        }
    }
}
