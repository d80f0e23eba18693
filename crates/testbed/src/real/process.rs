//! A child process that does not outlive its owner.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process_group,
    set_parent_process_death_signal, waitid,
};

/// Time for an orderly end before the disorderly one.
const GRACE: Duration = Duration::from_secs(3);

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
}

impl ServerProcess {
    /// Kept to these processors; to all where none are given.
    pub(super) fn spawn(command: Command, processors: &[u32]) -> io::Result<ServerProcess> {
        let child = spawn_from_lasting_thread(command, processors)?;
        let group = Pid::from_child(&child);
        let (exit, exited) = mpsc::channel();
        thread::Builder::new()
            .name("server-watch".to_owned())
            .spawn(move || {
                // NOWAIT leaves the process to be reaped by its owner: until then its number, and
                // that of its group, belong to nobody else.
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while matches!(waitid(WaitId::Pid(group), options), Err(Errno::INTR)) {}
                let _ = exit.send(()); // the owner may have gone
            })?;
        Ok(ServerProcess {
            child,
            group,
            exited,
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits up to `time` for the process to end by itself.
    pub(super) fn wait_for_exit(&mut self, time: Duration) -> Option<io::Result<ExitStatus>> {
        match self.exited.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => None,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Some(self.child.wait()),
        }
    }

    /// SIGTERM, then SIGKILL to what is left of the group.
    fn stop(&mut self) {
        // A child that was waited for is gone, and its number may be another's by now.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let _ = kill_process_group(self.group, Signal::TERM);
        let _ = self.exited.recv_timeout(GRACE);
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop();
    }
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
