//! Programs of a laboratory, which end with it.
//!
//! They run in a process namespace. Its init is `cat` with a pipe from this process as its input:
//! when this process ends, however it does, the pipe closes, init ends, and the kernel kills what is
//! left in the namespace, with all children of children. Init ignores SIGCHLD, so that no orphan
//! becomes a zombie.
//!
//! The thread that created a process namespace stays where it was; only its children are in the
//! new one. So one thread forks all programs, as long as the laboratory exists.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::system;

/// A program to start, and where to put it.
type Request = (Command, Sender<io::Result<Child>>);

/// A laboratory: a set of programs in network namespaces, all of which end when this value is
/// dropped or this process ends, also by `kill -9`.
#[derive(Debug)]
pub struct Lab {
    /// `None` while it is being dropped.
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    init: Child,
    /// Closing it ends init.
    life: Option<ChildStdin>,
}

impl Lab {
    /// Creates a laboratory without programs.
    ///
    /// # Errors
    ///
    /// The kernel refuses a process namespace (without root and outside a user namespace).
    pub fn new() -> Result<Lab, LabError> {
        let (requests, received) = channel();
        let (started, answer) = channel();
        let thread = thread::Builder::new()
            .name("lab processes".to_owned())
            .spawn(move || fork_all(&started, &received))
            .map_err(LabError::system("start a thread"))?;
        let mut init = answer.recv().map_err(|_| LabError::Ended)??;
        let life = init.stdin.take();
        Ok(Lab {
            requests: Some(requests),
            thread: Some(thread),
            init,
            life,
        })
    }

    /// Starts a program in a network namespace. Its process id is that of this process's view.
    ///
    /// # Errors
    ///
    /// The program cannot start.
    pub fn spawn(&self, namespace: &Namespace, mut command: Command) -> Result<Child, LabError> {
        namespace.enter_before_exec(&mut command)?;
        let (result, answer) = channel();
        let requests = self.requests.as_ref().ok_or(LabError::Ended)?;
        requests
            .send((command, result))
            .map_err(|_| LabError::Ended)?;
        let started = answer.recv().map_err(|_| LabError::Ended)?;
        started.map_err(|source| match source.raw_os_error() {
            // What fork reports in a process namespace whose init has ended.
            Some(libc::ENOMEM) => LabError::Ended,
            _ => LabError::system("start a program in a namespace")(source),
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.requests.take());
        drop(self.life.take());
        // It ends after the kernel has killed all others in its namespace.
        let _ = self.init.wait();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread that forks.
fn fork_all(started: &Sender<Result<Child, LabError>>, requests: &Receiver<Request>) {
    let init = start_init();
    if started.send(init).is_err() {
        return;
    }
    for (mut command, result) in requests {
        // Fails only if the thread that asked has ended; then the child ends with the laboratory.
        let _ = result.send(command.spawn());
    }
}

fn start_init() -> Result<Child, LabError> {
    system::unshare_processes().map_err(|source| LabError::Namespace {
        kind: "process",
        source,
    })?;
    let mut init = Command::new("cat");
    init.current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C in a terminal is for this process, which then ends the laboratory in order.
        .process_group(0);
    system::start_without_zombies(&mut init);
    init.spawn().map_err(|source| LabError::Program {
        program: "cat",
        package: "coreutils",
        source,
    })
}
