//! A shell that ends a process group when this process does.
//!
//! What a child of this process has started has another parent, so that the kernel's signal at the end of a parent
//! (`PR_SET_PDEATHSIG`) does not reach it. A guard leads the group and reads from a pipe that only this process can
//! write to. When the pipe closes, the guard kills the group, and itself with it. It is there before all others, so
//! that nothing can be started that it does not end. A program that leaves the group (setsid(2)) is known to the guard
//! by its number.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Other signals are for the others. `read` fails at the end of its input, and group 0 is that of the shell.
const SCRIPT: &str = "trap '' TERM INT HUP; all=; while read -r one; do all=\"$all -$one $one\"; done; \
                      [ -z \"$all\" ] || kill -s KILL -- $all; kill -s KILL 0";

/// The guard of a process group, which ends with this process, however that does. The number of the group is its own
/// until this is dropped, which kills what is left of the group.
#[derive(Debug)]
pub struct GroupGuard {
    shell: Child,
    /// Numbers of programs go in here. It closes with this process.
    life: Option<ChildStdin>,
    group: Pid,
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
        let mut shell = shell.spawn()?;
        let group = Pid::from_child(&shell);
        let life = shell.stdin.take();
        Ok(GroupGuard { shell, life, group })
    }

    /// Starts a program in the group.
    ///
    /// # Errors
    /// As the system says of the program. It is ended again where the guard has ended.
    pub fn spawn(&mut self, command: &mut Command) -> io::Result<Child> {
        let mut child = command
            .process_group(self.group.as_raw_nonzero().get())
            .spawn()?;
        let line = format!("{}\n", child.id());
        let told = self
            .life
            .iter_mut()
            .try_for_each(|life| life.write_all(line.as_bytes()));
        if let Err(error) = told {
            self.signal(&child, Signal::KILL);
            child.wait()?;
            return Err(error);
        }
        Ok(child)
    }

    /// The group's number.
    pub fn group(&self) -> Pid {
        self.group
    }

    /// Sends a signal to the group, and to a program of it that was not waited for, which may have left the group for one
    /// of its own. The guard itself ends by `SIGKILL` only.
    pub fn signal(&self, program: &Child, signal: Signal) {
        let program = Pid::from_child(program);
        // They fail where nobody is left, and where it leads no group.
        let _ = kill_process_group(self.group, signal);
        let _ = kill_process_group(program, signal);
        let _ = kill_process(program, signal);
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        // They fail only where it was waited for, which nothing else does.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.shell.wait();
    }
}
