//! System calls of a server on this machine, by row, kind and target, with ptrace.
//!
//! ```text
//! thread of the engine --begin, response_received, rest--> CurrentRow
//!                                                     | read at each stop
//! threads of the server --stop at entry and exit--> thread that traces --> counts
//! ```
//!
//! Each system call stops its thread twice, which takes some 20 µs in all, and much longer where
//! processors are scarce: the calls are counted in a separate pass, whose times are not those of
//! the server. Background work of a server, such as checking its processes each second, is counted
//! for the active row.

mod activity;
mod calls;
mod counts;
mod files;
mod paths;
mod refusal;
mod sys;
mod tracing;

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use record::{AsyncInterface, TracedRow};

pub use self::refusal::TraceError;

use self::activity::Activity;
use self::paths::FileKinds;
use self::tracing::Tracing;
use crate::CurrentRow;

/// Traces all threads of a server until it is dropped.
///
/// Where the server is a child of this process, there must be no wait for it meanwhile, neither by
/// [`Child::wait`](std::process::Child::wait), `try_wait` nor `waitid`: the kernel would report
/// each stop of its first thread to that waiter as well. Polling a pidfd reports the end only, and
/// the child can be waited for then.
#[derive(Debug)]
pub struct Tracer {
    /// `None` after `end`.
    thread: Option<JoinHandle<TracedCalls>>,
    activity: Arc<Activity>,
    /// The number of that thread.
    tid: Arc<OnceLock<i32>>,
}

/// Counts of a tracer.
#[derive(Debug, Default)]
pub struct TracedCalls {
    /// The rows that had operations, in the order of the plan; their times and successes are filled
    /// in elsewhere, and are 0.
    pub rows: Vec<TracedRow>,
    /// An interface by which the server makes calls that are not system calls: these are not in the
    /// rows.
    pub unseen: Option<AsyncInterface>,
}

/// Time without a stop after which a server whose threads all wait is idle.
const QUIET: Duration = Duration::from_millis(1);
/// Interval of checks if it is idle.
const LOOK: Duration = Duration::from_micros(200);
/// Longest wait for a thread to stop. One that waits for a device stops only afterwards, and is
/// traced from then on.
const LONGEST_ATTACH: Duration = Duration::from_secs(2);

impl Tracer {
    /// Attaches to these processes, all their descendants, and those that they start later.
    /// `storage` is the directory in which the server keeps its files, `collection` the name of the
    /// collection of the run.
    ///
    /// A waiting call may end with EINTR in the server when the tracer attaches, as with any
    /// debugger. Unless root traces, a set-user-ID program that the server starts does not get the
    /// rights of its owner.
    ///
    /// # Errors
    /// None of the processes runs, or the system does not permit to trace one of them.
    pub fn attach(
        roots: &[u32],
        storage: Option<&Path>,
        collection: &str,
        current: Arc<CurrentRow>,
    ) -> Result<Tracer, TraceError> {
        let activity = Arc::new(Activity::new());
        let tid = Arc::new(OnceLock::new());
        let (sender, attached) = mpsc::channel();
        let roots = roots.to_vec();
        let kinds = FileKinds::new(storage, collection);
        let (thread_handle, own_tid) = (Arc::clone(&activity), Arc::clone(&tid));
        // Tracing is done by a thread, not by a process: all calls of ptrace have to come from the
        // same one.
        let thread = thread::Builder::new()
            .name("tracer".to_owned())
            .spawn(move || {
                sys::accept_wake();
                let _ = own_tid.set(rustix::thread::gettid().as_raw_nonzero().get());
                Tracing::new(kinds, current, thread_handle).run(&roots, sender)
            })?;
        let tracer = Tracer {
            thread: Some(thread),
            activity,
            tid,
        };
        match attached.recv_timeout(LONGEST_ATTACH) {
            Ok(Err(error)) => Err(error),
            // It ends without a report where all processes ended meanwhile.
            Ok(Ok(())) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Ok(tracer)
            }
        }
    }

    /// True if all threads of the server have been waiting for work for about a millisecond. A
    /// thread that computes, or that waits for a disk, is busy.
    pub fn is_idle(&self) -> bool {
        self.activity.is_idle_for(QUIET)
    }

    /// Waits until the server is idle; true if it was within this time. A server that always
    /// computes never is.
    pub fn wait_until_idle(&self, at_most: Duration) -> bool {
        let deadline = Instant::now() + at_most;
        while !self.is_idle() {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }

    /// Detaches from the server, which continues.
    pub fn end(mut self) -> TracedCalls {
        self.stop()
    }

    fn stop(&mut self) -> TracedCalls {
        let Some(thread) = self.thread.take() else {
            return TracedCalls::default();
        };
        self.activity.end();
        // A signal that arrives just before the thread waits does not wake it, so it is repeated.
        while !thread.is_finished() {
            sys::wake(&thread);
            thread::sleep(LOOK);
        }
        let calls = thread.join().unwrap_or_default();
        // The kernel detaches after `join` returns, and before the thread is gone from /proc.
        if let Some(tid) = self.tid.get() {
            let path = format!("/proc/self/task/{tid}");
            while Path::new(&path).exists() {
                thread::sleep(LOOK);
            }
        }
        calls
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.stop();
    }
}
