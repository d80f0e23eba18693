//! Programs of a laboratory, which end with it.
//!
//! They run in a process namespace. Its init is `cat` with a pipe from this process as its input:
//! when this process ends, in any way, the pipe closes, init ends, and the kernel kills all other
//! processes of the namespace. Init ignores SIGCHLD, so that no orphan becomes a zombie.
//!
//! Programs see this namespace in `/proc`, too, where the kernel permits it, so that `ps` and
//! servers that search for their processes work as usual. The mount of `/proc` is in a mount
//! namespace that only they share.
//!
//! Init holds network namespaces of the laboratory open, so that programs can find them below
//! `/proc/1/fd` ([`Lab::path_of`]).
//!
//! The thread that created a process namespace stays in the old one; only its children are in the
//! new one. So one thread forks all programs, as long as the laboratory exists. After the last
//! request, it waits for init, which ends after its namespace is empty; a program that has ended
//! remains until its owner waits for it ([`Child::wait`]).

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::system;

/// A program to start, and the channel for the result.
type Request = (Command, Sender<io::Result<Child>>);

/// A laboratory: a set of programs in network namespaces, all of which end when this value is
/// dropped or this process ends, also by `kill -9`.
#[derive(Debug)]
pub struct Lab {
    requests: Sender<Request>,
    /// Closing it ends init.
    life: Option<ChildStdin>,
    /// The programs started so far, without those that were found to have ended.
    programs: Mutex<Vec<OwnedFd>>,
    /// Network namespaces that programs can find, under the same numbers in init.
    namespaces: Arc<Vec<OwnedFd>>,
    has_own_proc: bool,
}

/// A file or directory that programs of a laboratory see in the place of one of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Cover {
    pub(crate) covering: PathBuf,
    pub(crate) covered: PathBuf,
}

/// State shared by init and all programs.
struct InitSettings {
    namespaces: Arc<Vec<OwnedFd>>,
    covers: Vec<Cover>,
}

struct StartedInit {
    life: Option<ChildStdin>,
    has_own_proc: bool,
}

impl Lab {
    /// Creates a laboratory without programs.
    ///
    /// # Errors
    /// The kernel refuses a process namespace (without root and outside a user namespace).
    pub fn new() -> Result<Lab, LabError> {
        Lab::with_namespaces(&[], Vec::new())
    }

    /// The same, whose programs can find these namespaces, and see other files than this machine
    /// has.
    ///
    /// # Errors
    /// As for [`Lab::new`]; or a file cannot be covered.
    pub(crate) fn with_namespaces(
        namespaces: &[&Namespace],
        covers: Vec<Cover>,
    ) -> Result<Lab, LabError> {
        let copy = |namespace: &&Namespace| namespace.as_fd().try_clone_to_owned();
        let copies = || namespaces.iter().map(copy).collect::<io::Result<Vec<_>>>();
        let copying = LabError::system("copy the file descriptors of namespaces");
        let held = Arc::new(copies().map_err(copying)?);
        let (requests, received) = channel();
        let (started, result) = channel();
        let shared = InitSettings {
            namespaces: Arc::clone(&held),
            covers,
        };
        thread::Builder::new()
            .name("lab processes".to_owned())
            .spawn(move || fork_all(shared, &started, &received))
            .map_err(LabError::system("start a thread"))?;
        let init = result.recv().map_err(|_| LabError::Ended)??;
        Ok(Lab {
            requests,
            life: init.life,
            programs: Mutex::default(),
            namespaces: held,
            has_own_proc: init.has_own_proc,
        })
    }

    /// The path at which programs of this laboratory find the n-th of its namespaces.
    pub fn path_of(&self, number: usize) -> Option<PathBuf> {
        let descriptor = self.namespaces.get(number)?.as_raw_fd();
        let process = if self.has_own_proc {
            1
        } else {
            std::process::id()
        };
        Some(format!("/proc/{process}/fd/{descriptor}").into())
    }

    /// Starts a program in a network namespace. Its process id is the one that this process sees.
    pub fn spawn(&self, namespace: &Namespace, mut command: Command) -> Result<Child, LabError> {
        namespace.enter_before_exec(&mut command)?;
        let (result, reply) = channel();
        self.requests
            .send((command, result))
            .map_err(|_| LabError::Ended)?;
        let started = reply.recv().map_err(|_| LabError::Ended)?;
        let child = started.map_err(|source| match source.raw_os_error() {
            // The error of fork in a process namespace whose init has ended.
            Some(libc::ENOMEM) => LabError::Ended,
            _ => LabError::system("start a program in a namespace")(source),
        })?;
        let program = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
            .map_err(|error| LabError::system("watch a program")(error.into()))?;
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.retain(|program| !ends_within(program, Some(&Timespec::default())));
        programs.push(program);
        Ok(child)
    }
}

impl Drop for Lab {
    /// Ends all programs, and waits for the end of those that it started. Their owners still have
    /// to wait for them, as for every child.
    fn drop(&mut self) {
        drop(self.life.take());
        let programs = self
            .programs
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for program in programs {
            ends_within(program, None);
        }
    }
}

/// True if a program ends within a time; without a time, waits until it has ended.
fn ends_within(program: &OwnedFd, timeout: Option<&Timespec>) -> bool {
    loop {
        // A process is ready for reading when it has ended (pidfd_open(2)).
        let mut ended = [PollFd::new(program, PollFlags::IN)];
        match poll(&mut ended, timeout) {
            Ok(count) => return count > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn fork_all(
    settings: InitSettings,
    started: &Sender<Result<StartedInit, LabError>>,
    requests: &Receiver<Request>,
) {
    let mut init = match start_init(settings) {
        Ok(init) => init,
        Err(error) => {
            // Fails only if the laboratory has been dropped.
            let _ = started.send(Err(error));
            return;
        }
    };
    let known = StartedInit {
        life: init.stdin.take(),
        // This thread sees the mounts of the laboratory, and is not in its process namespace.
        has_own_proc: fs::read_link("/proc/self").is_err(),
    };
    if started.send(Ok(known)).is_ok() {
        for (mut command, result) in requests {
            // Fails only if the requesting thread has ended; then the child ends with the
            // laboratory.
            let _ = result.send(command.spawn());
        }
    }
    // Its input is closed. Its status is not needed.
    let _ = init.wait();
}

fn start_init(settings: InitSettings) -> Result<Child, LabError> {
    let refused = |kind| move |source| LabError::Namespace { kind, source };
    system::unshare_processes().map_err(refused("process"))?;
    system::unshare_mounts().map_err(refused("mount"))?;
    let covering = LabError::system("cover /etc/hosts and name services for programs of the lab");
    for cover in settings.covers {
        system::cover(&cover.covering, &cover.covered).map_err(&covering)?;
    }
    let mut init = Command::new("cat");
    init.current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C in a terminal is for this process, which then ends the laboratory in order.
        .process_group(0);
    system::start_without_zombies(&mut init);
    system::start_init(&mut init, settings.namespaces);
    init.spawn().map_err(|source| LabError::Program {
        program: "cat",
        package: "coreutils",
        source,
    })
}
