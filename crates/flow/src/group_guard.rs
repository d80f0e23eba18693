//! A shell that ends a process group when this process does.
//!
//! A child of a child of this process has another parent, so that the kernel's signal at the end of
//! a parent (`PR_SET_PDEATHSIG`) does not reach it. A guard leads the group and reads from a pipe
//! that only this process can write to. When the pipe closes, the guard kills the group, and itself
//! with it. The guard starts before all others, so that every process of the group is ended by it.
//! A program that leaves the group (setsid(2)) is killed by its number, which the guard has read.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process, kill_process_group, waitid,
};

/// The shell ignores the signals that are meant for the group. `read` fails at the end of its
/// input, and group 0 is that of the shell.
const SCRIPT: &str = "trap '' TERM INT HUP; all=; while read -r one; do all=\"$all -$one $one\"; done; \
                      [ -z \"$all\" ] || kill -s KILL -- $all; kill -s KILL 0";

/// The guard of a process group, which ends with this process, however that ends. The number of the
/// group is not reused until this is dropped, which kills the rest of the group.
#[derive(Debug)]
pub struct GroupGuard {
    /// Its standard input takes the numbers of programs, and closes with this process.
    shell: Child,
}

impl GroupGuard {
    /// Starts a guard, and with it a group.
    ///
    /// # Errors
    /// `sh` cannot be started.
    pub fn start() -> io::Result<GroupGuard> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT]).current_dir("/");
        shell.stdin(Stdio::piped());
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        shell.process_group(0);
        let shell = shell.spawn()?;
        Ok(GroupGuard { shell })
    }

    /// Starts a program in the group.
    ///
    /// # Errors
    /// The program cannot be started, as the system reports. It is ended again if the guard has
    /// ended.
    pub fn spawn(mut self, command: &mut Command) -> io::Result<GuardedChild> {
        let group = self.group().as_raw_nonzero().get();
        let child = command.process_group(group).spawn()?;
        let line = format!("{}\n", child.id());
        let noted = match &mut self.shell.stdin {
            Some(life) => life.write_all(line.as_bytes()),
            None => Ok(()),
        };
        let child = GuardedChild {
            child,
            guard: self,
            status: None,
        };
        noted.map(|()| child)
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.shell)
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        // These calls fail only after a wait, which happens nowhere else. The group goes first:
        // `wait` closes the pipe.
        let _ = kill_process_group(self.group(), Signal::KILL);
        let _ = self.shell.wait();
    }
}

/// A program in the group of a guard. Both end when this is dropped.
#[derive(Debug)]
pub struct GuardedChild {
    child: Child,
    guard: GroupGuard,
    /// Its exit status, after a wait: from then on, its number may be reused.
    status: Option<ExitStatus>,
}

impl GuardedChild {
    /// The number of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The same number, for system calls.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The number of the group.
    pub fn group(&self) -> Pid {
        self.guard.group()
    }

    /// Its standard output and standard error, where they are pipes that have not been taken.
    pub fn take_pipes(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        self.child.stdout.take().zip(self.child.stderr.take())
    }

    /// True if the program has ended. There is no wait for it, so that its number is not reused.
    pub fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.status.is_some() || !matches!(waitid(WaitId::Pid(self.pid()), options), Ok(None))
    }

    /// Sends a signal to the group, and to the program, which may have left the group for another.
    /// Each gets it once: some servers end at a second SIGTERM without completing their work. The
    /// guard itself ends by `SIGKILL` only.
    pub fn signal(&self, signal: Signal) {
        let group = self.group();
        // Fails if no process is left.
        let _ = kill_process_group(group, signal);
        if self.status.is_some() {
            return;
        }
        let program = self.pid();
        match getpgid(Some(program)) {
            Ok(led) if led == group => {}
            Ok(led) if led == program => {
                let _ = kill_process_group(program, signal);
            }
            _ => {
                let _ = kill_process(program, signal);
            }
        }
    }

    /// Kills the rest, and returns the exit status of the program.
    ///
    /// # Errors
    /// The wait for it fails.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        self.signal(Signal::KILL);
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for GuardedChild {
    fn drop(&mut self) {
        // If it fails, nothing can be done.
        let _ = self.end();
    }
}
