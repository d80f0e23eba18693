//! A shell that ends the process group of a generator when this process does.
//!
//! The kernel kills the generator itself, as its parent has ended; what the generator has started has
//! another parent. A guard is in the same process group and reads from a pipe that only this process
//! can write to. When the pipe closes, the guard kills the group, and itself with it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// SIGTERM is for the generator. `read` fails at the end of its input, and group 0 is that of the shell.
const SCRIPT: &str = "trap '' TERM INT HUP; read -r line; kill -KILL 0";

/// The guard of a process group.
pub(super) struct GroupGuard {
    /// Its standard input is the pipe.
    shell: Child,
}

impl GroupGuard {
    /// Starts a guard in a group whose leader has not been reaped.
    pub(super) fn start(group: Pid) -> io::Result<GroupGuard> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT]).current_dir("/");
        shell.stdin(Stdio::piped());
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        shell.process_group(group.as_raw_nonzero().get());
        Ok(GroupGuard {
            shell: shell.spawn()?,
        })
    }

    /// Ends the guard of a group that was killed.
    pub(super) fn end(mut self) {
        // Both fail only where it has ended and was waited for.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
