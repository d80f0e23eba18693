//! The tracing thread: handles the stop of a thread, and resumes it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use record::{AsyncInterface, CallTarget};

use super::activity::Activity;
use super::calls::{
    Arguments, CallEffect, CallKind, CallTable, Waits, asks_for_disk, is_for_lock,
    written_descriptor,
};
use super::counts::{CallCounts, CallManner, Counted};
use super::files::{ProcessFiles, Targets};
use super::paths::FileKinds;
use super::refusal;
use super::sys::{self, CallStop, Report, Reported};
use super::{TraceError, TracedCalls};
use crate::CurrentRow;
use crate::current::Moment;
use crate::processes::{attached_threads, is_of_io_uring, status_number, thread_has_ended};

/// The state of a tracer, in its thread.
pub(super) struct Tracing {
    table: CallTable,
    targets: Targets,
    current: Arc<CurrentRow>,
    activity: Arc<Activity>,
    threads: HashMap<u32, TracedThread>,
    processes: HashMap<u32, ProcessFiles>,
    counts: CallCounts,
    /// Interface by which the server makes calls that are not system calls.
    unseen: Option<AsyncInterface>,
    /// Threads that run untraced until they have stopped once.
    attaching: HashSet<u32>,
}

#[derive(Debug)]
struct TracedThread {
    pid: u32,
    call: Option<CallUnderWay>,
    /// A call that a signal interrupted, and that the kernel restarts unless a handler prevents
    /// that.
    interrupted: Option<CallUnderWay>,
    /// Its last call was the return from a signal handler.
    returned_from_signal: bool,
    /// It is not waiting for work.
    is_busy: bool,
}

#[derive(Debug)]
struct CallUnderWay {
    arguments: [u64; 6],
    kind: CallKind,
    target: Rc<CallTarget>,
    counted: Option<Counted>,
    began: Moment,
    began_at: Instant,
}

/// Attaches to all threads of these processes and their descendants; returns them.
fn seize_all(roots: &[u32]) -> Result<HashSet<u32>, TraceError> {
    if roots.contains(&std::process::id()) {
        return Err(TraceError::Itself);
    }
    let seized = attached_threads(roots, |tid, _| {
        if is_of_io_uring(tid) {
            return Ok(false);
        }
        match sys::seize(tid) {
            Ok(()) => Ok(true),
            // The kernel attaches to threads that began afterwards.
            Err(_) if thread_has_ended(tid) || is_ours(tid) => Ok(false),
            Err(error) => Err(refusal::reason(tid, error)),
        }
    })?;
    if seized.is_empty() {
        let pids: Vec<String> = roots.iter().map(u32::to_string).collect();
        let pids = pids.join(", ");
        return Err(TraceError::NothingRuns { pids });
    }
    for &tid in &seized {
        let _ = sys::interrupt(tid); // it may have ended
    }
    Ok(seized)
}

/// True if the tracer is this process. The tracer in `status` is a thread.
fn is_ours(tid: u32) -> bool {
    status_number(tid, "TracerPid") == Some(own_tid())
}

fn own_tid() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned()
}

impl Tracing {
    pub(super) fn new(
        kinds: FileKinds,
        current: Arc<CurrentRow>,
        activity: Arc<Activity>,
    ) -> Tracing {
        Tracing {
            table: CallTable::new(),
            targets: Targets::new(kinds),
            current,
            activity,
            threads: HashMap::new(),
            processes: HashMap::new(),
            counts: CallCounts::default(),
            unseen: None,
            attaching: HashSet::new(),
        }
    }

    /// Traces until the end is requested, or nothing is left to trace. The kernel detaches from all
    /// threads when this one ends, as it does when the whole process is killed: there is one way to
    /// end, and it leaves nothing stopped.
    pub(super) fn run(
        mut self,
        roots: &[u32],
        attached: Sender<Result<(), TraceError>>,
    ) -> TracedCalls {
        match seize_all(roots) {
            Ok(seized) => self.attaching = seized,
            Err(error) => {
                let _ = attached.send(Err(error)); // its receiver may have gone
                return TracedCalls::default();
            }
        }
        self.activity.add_thread(own_tid());
        let mut attached = Some(attached);
        while !self.activity.is_to_end() {
            match sys::next_report() {
                Ok(report) => {
                    self.activity.stopped();
                    if self.attaching.remove(&report.tid)
                        && report.what != Reported::Ended
                        && let Err(error) = sys::call_of(report.tid)
                        && error.raw_os_error() != Some(libc::ESRCH)
                    {
                        let pid = report.tid;
                        if let Some(attached) = attached.take() {
                            let _ = attached.send(Err(TraceError::OldKernel { pid, error }));
                        }
                        break;
                    }
                    if self.reported(report).is_break() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break, // nothing is left
            }
            if self.attaching.is_empty()
                && let Some(attached) = attached.take()
            {
                let _ = attached.send(Ok(())); // its receiver may have gone
            }
        }
        self.activity.ended();
        TracedCalls {
            rows: self.counts.into_rows(&self.current),
            unseen: self.unseen,
        }
    }

    /// Errors of resuming a thread mean that it was killed; that is reported next.
    fn reported(&mut self, Report { tid, what }: Report) -> ControlFlow<()> {
        self.add_thread(tid);
        match what {
            Reported::Ended => return self.thread_ended(tid),
            Reported::Call => {
                match sys::call_of(tid) {
                    Ok(CallStop::Entry {
                        abi,
                        number,
                        arguments,
                    }) => {
                        let kind = self.table.kind(abi, number);
                        let (kind, arguments) = unpacked(tid, kind, arguments);
                        self.call_begins(tid, kind, arguments);
                    }
                    Ok(CallStop::Exit { result }) => self.call_ended(tid, result),
                    Ok(CallStop::Neither) | Err(_) => {}
                }
                let _ = sys::resume(tid, 0);
            }
            Reported::Signal(signal) => {
                let _ = sys::resume(tid, signal);
            }
            Reported::GroupStop => {
                self.set_busy(tid, false);
                let _ = sys::leave_stopped(tid);
            }
            Reported::Exec => {
                self.runs_another_program(tid);
                let _ = sys::resume(tid, 0);
            }
            Reported::Trap => {
                // Its call, if there was one, ended with the trap, and begins again.
                self.set_busy(tid, true);
                let _ = sys::resume(tid, 0);
            }
            Reported::Begun => {
                // It is busy from now on, whenever its first report arrives; it may also have ended
                // before its parent reported it.
                if let Some(new) = sys::event_message(tid).filter(|&new| !thread_has_ended(new)) {
                    self.add_thread(new);
                }
                let _ = sys::resume(tid, 0);
            }
        }
        ControlFlow::Continue(())
    }

    fn add_thread(&mut self, tid: u32) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let pid = status_number(tid, "Tgid").unwrap_or(tid);
        let files = self.processes.entry(pid);
        files.or_insert_with(|| ProcessFiles::new(pid));
        let thread = TracedThread {
            pid,
            call: None,
            interrupted: None,
            returned_from_signal: false,
            is_busy: false,
        };
        self.threads.insert(tid, thread);
        self.activity.add_thread(tid);
        self.set_busy(tid, true);
    }

    fn remove_thread(&mut self, tid: u32) -> Option<TracedThread> {
        self.set_busy(tid, false);
        self.activity.remove_thread(tid);
        self.threads.remove(&tid)
    }

    fn set_busy(&mut self, tid: u32, is_busy: bool) {
        if let Some(thread) = self.threads.get_mut(&tid)
            && thread.is_busy != is_busy
        {
            thread.is_busy = is_busy;
            self.activity.add_busy(is_busy);
        }
    }

    /// Handles the end of a thread. A process whose parent is this one is left to be waited for by
    /// the code that started it: for the kernel, this thread and that code are the same parent, and
    /// the first wait takes it. As the end would be reported repeatedly, and a server that has
    /// ended makes no more calls, tracing ends with it.
    fn thread_ended(&mut self, tid: u32) -> ControlFlow<()> {
        let thread = self.remove_thread(tid);
        let pid = thread.map_or(tid, |thread| thread.pid);
        if pid == tid && status_number(tid, "PPid") == Some(std::process::id()) {
            return ControlFlow::Break(());
        }
        sys::forget_ended(tid);
        if !self.threads.values().any(|thread| thread.pid == pid) {
            self.processes.remove(&pid);
        }
        ControlFlow::Continue(())
    }

    /// Handles an exec: the other threads of its process are gone, and its files may have changed.
    fn runs_another_program(&mut self, tid: u32) {
        // The thread that called exec has the number of the process now.
        let former = sys::event_message(tid).unwrap_or(tid);
        let caller = self.remove_thread(former);
        let others: Vec<u32> = self
            .threads
            .iter()
            .filter_map(|(&other, thread)| (thread.pid == tid).then_some(other))
            .collect();
        for other in others {
            self.remove_thread(other);
        }
        self.processes.remove(&tid);
        self.add_thread(tid);
        if let (Some(caller), Some(thread)) = (caller, self.threads.get_mut(&tid)) {
            thread.call = caller.call;
        }
    }

    fn call_begins(&mut self, tid: u32, kind: CallKind, arguments: [u64; 6]) {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        if let Some(interrupted) = thread.interrupted.take() {
            let same = (kind, arguments) == (interrupted.kind, interrupted.arguments);
            if same || kind.name == "restart_syscall" {
                let is_busy = !waits(interrupted.kind, &interrupted.target);
                thread.call = Some(interrupted);
                self.set_busy(tid, is_busy);
                return;
            }
            // A handler runs. After its return this is no repetition, and there will be none.
            if !thread.returned_from_signal {
                thread.interrupted = Some(interrupted);
            }
        }
        thread.returned_from_signal = false;

        let began = self.current.moment();
        let target = self.target(tid, kind, &arguments, began.row().is_some());
        let row = began.row();
        let counted = row.map(|row| {
            let manner = self.manner(tid, kind, &arguments);
            let operation = (row, self.current.operations(row));
            self.counts.begun(operation, kind.name, &target, manner)
        });
        self.set_busy(tid, !waits(kind, &target));
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.call = Some(CallUnderWay {
                arguments,
                kind,
                target,
                counted,
                began,
                began_at: Instant::now(),
            });
        }
    }

    fn manner(&mut self, tid: u32, kind: CallKind, arguments: &[u64; 6]) -> CallManner {
        if is_for_lock(kind.name, arguments) {
            return CallManner::ForLock;
        }
        let process = self.threads.get(&tid).map_or(tid, |thread| thread.pid);
        let files = self.processes.get_mut(&process);
        let is_synchronous = written_descriptor(kind)
            .zip(files)
            .is_some_and(|(index, files)| {
                asks_for_disk(kind.name, arguments)
                    || files.is_synchronous(&mut self.targets, tid, arguments[index] as i32)
            });
        if is_synchronous {
            CallManner::Synchronous
        } else {
            CallManner::Usual
        }
    }

    /// Descriptors are always looked up, because they show if the thread waits; paths only where
    /// they count.
    fn target(
        &mut self,
        tid: u32,
        kind: CallKind,
        arguments: &[u64; 6],
        counts: bool,
    ) -> Rc<CallTarget> {
        let targets = &mut self.targets;
        let process = self.threads.get(&tid).map_or(tid, |thread| thread.pid);
        let Some(files) = self.processes.get_mut(&process) else {
            return Rc::clone(&targets.nothing);
        };
        let fd = |index: usize| arguments[index] as i32;
        match kind.arguments {
            Arguments::Nothing => Rc::clone(&targets.nothing),
            Arguments::Event => Rc::clone(&targets.event),
            Arguments::Socket => Rc::clone(&targets.socket),
            Arguments::Connect => Rc::new(files.address(tid, arguments[1], arguments[2])),
            Arguments::Mapping if arguments[3] & libc::MAP_ANONYMOUS as u64 != 0 => {
                Rc::clone(&targets.nothing)
            }
            Arguments::Mapping => files.descriptor(targets, tid, fd(4)),
            Arguments::Descriptor(index) => files.descriptor(targets, tid, fd(index)),
            _ if !counts => Rc::clone(&targets.nothing),
            Arguments::Path(path) => files.path(targets, tid, libc::AT_FDCWD, arguments[path]),
            Arguments::PathAt(directory, path) => {
                files.path(targets, tid, fd(directory), arguments[path])
            }
            Arguments::Paths(from, to) => {
                let from = files.path(targets, tid, libc::AT_FDCWD, arguments[from]);
                let to = files.path(targets, tid, libc::AT_FDCWD, arguments[to]);
                target_of_rename(from, to)
            }
            Arguments::PathsAt([from_directory, from, to_directory, to]) => {
                let from = files.path(targets, tid, fd(from_directory), arguments[from]);
                let to = files.path(targets, tid, fd(to_directory), arguments[to]);
                target_of_rename(from, to)
            }
        }
    }

    fn call_ended(&mut self, tid: u32, result: i64) {
        self.set_busy(tid, true);
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        // Calls that were in progress when the tracer attached end without a beginning.
        let Some(call) = thread.call.take() else {
            return;
        };
        if is_interrupted(result) {
            thread.interrupted = Some(call);
            return;
        }
        thread.returned_from_signal = call.kind.effect == CallEffect::ReturnsFromSignal;
        if !has_failed(result) {
            self.unseen = self.unseen.or(call.kind.hands_over);
        }
        if let Some(counted) = call.counted {
            let lasted = if call.began.is_same_operation(self.current.moment()) {
                call.began_at.elapsed()
            } else {
                Duration::ZERO
            };
            let moved = u64::try_from(result).unwrap_or(0);
            let bytes = if call.kind.moves_bytes { moved } else { 0 };
            self.counts
                .ended(counted, has_failed(result), bytes, lasted);
        }
        let pid = thread.pid;
        if let Some(files) = self.processes.get_mut(&pid) {
            forget_changed(files, &call, result as i32);
        }
    }
}

/// A call, and its arguments; for `socketcall`, the call of sockets that it makes, whose arguments
/// are in the memory of the stopped thread `tid`, 32 bits each.
fn unpacked(tid: u32, kind: CallKind, arguments: [u64; 6]) -> (CallKind, [u64; 6]) {
    const WIDTH: usize = 4;
    if kind.name != "socketcall" {
        return (kind, arguments);
    }
    let mut memory = [0; 6 * WIDTH];
    // The last arguments of a shorter list may be unreadable.
    let read = sys::read_memory(tid, arguments[1], &mut memory[..3 * WIDTH]);
    let end = arguments[1] + read as u64;
    sys::read_memory(tid, end, &mut memory[read..]);
    let (numbers, _) = memory.as_chunks::<WIDTH>();
    let mut packed = numbers
        .iter()
        .map(|number| u64::from(u32::from_ne_bytes(*number)));
    let socket_arguments = std::array::from_fn(|_| packed.next().unwrap_or_default());
    (CallKind::socket_call(arguments[0]), socket_arguments)
}

fn forget_changed(files: &mut ProcessFiles, call: &CallUnderWay, result: i32) {
    match call.kind.effect {
        CallEffect::Nothing | CallEffect::ReturnsFromSignal => {}
        CallEffect::Opens => files.forget(result),
        CallEffect::Accepts => {
            files.forget(result);
            if result >= 0 && *call.target == CallTarget::Client {
                files.set(result, Rc::clone(&call.target));
            }
        }
        CallEffect::Changes(index) => {
            let fd = call.arguments[index] as i32;
            files.forget(fd);
            // The connection may not be established yet, but its peer is known.
            if call.kind.arguments == Arguments::Connect
                && (result == 0 || result == -libc::EINPROGRESS)
            {
                files.set(fd, Rc::clone(&call.target));
            }
        }
        CallEffect::ClosesMany => files.forget_all(),
        CallEffect::MovesDirectory => files.forget_directory(),
    }
}

/// The target of a rename: the collection if one of both is in it, else the destination.
fn target_of_rename(from: Rc<CallTarget>, to: Rc<CallTarget>) -> Rc<CallTarget> {
    if *from == CallTarget::Collection {
        from
    } else {
        to
    }
}

fn waits(kind: CallKind, target: &CallTarget) -> bool {
    let is_file = matches!(target, CallTarget::Collection | CallTarget::File { .. });
    match kind.waits {
        Waits::Never => false,
        Waits::Always => true,
        Waits::Unless => !is_file,
    }
}

/// Results that only a tracer sees: a signal came, and the call is restarted after it
/// (`include/linux/errno.h` of the kernel: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND,
/// ERESTART_RESTARTBLOCK).
fn is_interrupted(result: i64) -> bool {
    matches!(result, -514..=-512 | -516)
}

/// True for errors. A result that nothing is there yet, or not within the time, ends a wait and is
/// no failure.
fn has_failed(result: i64) -> bool {
    const WAITED: [i32; 5] = [
        libc::EAGAIN,
        libc::EALREADY,
        libc::EINPROGRESS,
        libc::EINTR,
        libc::ETIMEDOUT,
    ];
    let is_error = (-4095..0).contains(&result);
    is_error && !WAITED.iter().any(|&error| result == -i64::from(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_understood() {
        for (result, failed) in [
            (0, false),
            (5, false),
            (-i64::from(libc::ENOENT), true),
            (-i64::from(libc::EAGAIN), false),
            (-4095, true),
            // An address in the upper half is no error.
            (-4096, false),
        ] {
            assert_eq!(has_failed(result), failed, "{result}");
        }
        assert!(is_interrupted(-512) && is_interrupted(-516));
        assert!(!is_interrupted(-515) && !is_interrupted(-i64::from(libc::EINTR)));
    }
}
