//! The tracer against real processes: this test program, started again as a server that executes
//! commands.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod traced;

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use inside::tracer::{TraceError, Tracer};
use inside::{CurrentRow, InsideAccounts, ServerCounters};
use record::{AsyncInterface, CallTarget, MeasureId, TracedCall, TracedRow};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, Signal, kill_process, pidfd_open};

use traced::{COLLECTION, Traced, file, until};

const A: MeasureId = MeasureId(0);
const B: MeasureId = MeasureId(2);
const LONG: Duration = Duration::from_secs(5);

/// A sum over the calls whose name begins with this, as architectures and versions of libc differ
/// in the rest.
fn sum(row: &TracedRow, call: &str, target: &CallTarget, of: fn(&TracedCall) -> u64) -> u64 {
    let is_meant =
        |counted: &&TracedCall| counted.call.starts_with(call) && counted.target == *target;
    row.calls.iter().filter(is_meant).map(of).sum()
}

fn count(row: &TracedRow, call: &str, target: &CallTarget) -> u64 {
    sum(row, call, target, |counted| counted.count)
}

struct Session {
    server: Traced,
    current: Arc<CurrentRow>,
    tracer: Tracer,
}

fn session() -> Session {
    let server = Traced::start();
    let current = Arc::new(CurrentRow::new(3));
    let storage = Some(server.directory.path());
    let tracer = Tracer::attach(&[server.id()], storage, COLLECTION, Arc::clone(&current));
    Session {
        tracer: tracer.unwrap(),
        server,
        current,
    }
}

impl Session {
    fn operation(&mut self, row: MeasureId, command: &str) {
        assert!(self.tracer.wait_until_idle(LONG));
        self.current.begin(row);
        self.server.perform(command);
        self.current.response_received();
        assert!(self.tracer.wait_until_idle(LONG));
        self.current.rest();
    }
}

/// The server, when another test has started this program again.
#[test]
fn server() {
    traced::serve();
}

#[test]
fn calls_are_counted_by_row_kind_and_target() {
    let mut session = session();
    session.server.perform("files");
    session.operation(A, "files");
    session.server.perform("files");
    session.operation(B, "files");
    session.operation(A, "files");
    let rows = session.tracer.end().rows;
    session.server.perform("files");

    let [a, b] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!((a.measure, a.operations), (A, 2));
    assert_eq!((b.measure, b.operations), (B, 1));
    let collection = CallTarget::Collection;
    for (call, target, in_one) in [
        ("open", &collection, 1),
        ("write", &collection, 3),
        ("fsync", &collection, 2),
        ("close", &collection, 1),
        // It has the same number, and is another file.
        ("close", &file("locks/*"), 1),
        ("rename", &collection, 1),
        ("statx", &collection, 3),
        ("statx", &file("locks/*"), 1),
        ("open", &file("locks/*"), 2),
        ("unlink", &collection, 1),
        ("rename", &file("locks/*"), 0),
        ("fsync", &file("locks/*"), 0),
    ] {
        assert_eq!(count(b, call, target), in_one, "{call} {target:?} in {b:?}");
        assert_eq!(
            count(a, call, target),
            2 * in_one,
            "{call} {target:?} in {a:?}"
        );
    }
    assert_eq!(sum(b, "write", &collection, |call| call.bytes), 15);
    assert_eq!(sum(b, "open", &file("locks/*"), |call| call.failed), 1);
    assert_eq!(sum(b, "statx", &collection, |call| call.failed), 0);
    assert!(sum(b, "fsync", &collection, |call| call.lasted) > 0);
    // The server waits for its next command from about the end of one operation until after the
    // begin of another.
    assert!(count(a, "read", &CallTarget::Event) > 0);
    assert_eq!(sum(a, "read", &CallTarget::Event, |call| call.lasted), 0);
}

#[test]
fn counts_are_those_of_strace() {
    if Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        assert!(std::env::var_os("CI").is_none(), "strace is missing");
        return;
    }
    let with = traced::calls_by_strace(&["files", "threads"]);
    let without = traced::calls_by_strace(&[]);
    let mut session = session();
    session.operation(A, "files");
    session.operation(A, "threads");
    let rows = session.tracer.end().rows;
    let mut compared = 0;
    for call in [
        "openat", "write", "fsync", "close", "rename", "statx", "unlink", "clone3",
    ] {
        let number = |calls: &traced::Calls| calls.get(call).copied().unwrap_or_default();
        let counted = rows[0].calls.iter().filter(|counted| counted.call == call);
        let counted: u64 = counted.map(|counted| counted.count).sum();
        assert_eq!(counted, number(&with) - number(&without), "{call}");
        compared += counted;
    }
    assert!(compared >= 17 + 8, "{compared}: fsync and write alone");
}

#[test]
fn threads_and_other_programs_are_followed() {
    let mut session = session();
    session.operation(A, "threads");
    session.operation(B, "program");
    let rows = session.tracer.end().rows;
    let collection = CallTarget::Collection;
    assert_eq!(count(&rows[0], "fsync", &collection), 3 * 5);
    assert_eq!(count(&rows[0], "clone", &CallTarget::Nothing), 3);
    // A shell, `cat`, and a process that kills itself.
    assert_eq!(count(&rows[1], "open", &collection), 1, "{rows:?}");
    assert_eq!(count(&rows[1], "kill", &CallTarget::Nothing), 1);
    assert!(rows[1].calls.iter().any(|call| call.call == "execve"));
    session.server.perform("program");
}

#[test]
fn synchronous_writes_are_told_from_others() {
    let mut session = session();
    session.operation(A, "synchronous");
    let rows = session.tracer.end().rows;
    let writes = |synchronous| -> u64 {
        let calls = rows[0].calls.iter();
        let chosen = calls.filter(|call| call.call == "write" && call.synchronous == synchronous);
        let on_disk = chosen.filter(|call| call.target == CallTarget::Collection);
        on_disk.map(|call| call.count).sum()
    };
    assert_eq!((writes(true), writes(false)), (2, 1), "{rows:?}");
}

/// A program of 32 bits makes calls by other numbers, and those of sockets by one number for all.
#[test]
#[cfg(target_arch = "x86_64")]
fn calls_of_programs_with_32_bits_have_names() {
    let mut session = session();
    session.operation(A, "bits32");
    if session.server.directory.path().join("refused").exists() {
        eprintln!("skipped: this kernel runs no programs with 32 bits");
        return;
    }
    let rows = session.tracer.end().rows;
    assert_eq!(
        count(&rows[0], "fdatasync", &CallTarget::Event),
        1,
        "{rows:?}"
    );
    let socket = CallTarget::Socket {
        peer: String::new(),
    };
    assert_eq!(count(&rows[0], "socket", &socket), 1, "{rows:?}");
    assert!(
        !rows[0].calls.iter().any(|call| call.call == "unknown"),
        "{rows:?}"
    );
}

/// Calls that are submitted to the kernel without a system call are not seen; their possibility is.
#[test]
fn calls_that_are_no_system_calls_are_reported() {
    let mut session = session();
    session.operation(A, "files");
    assert_eq!(session.tracer.end().unseen, None);
    let mut session = self::session();
    session.operation(A, "ring");
    let traced = session.tracer.end().unseen;
    // A kernel may refuse the queue; then the server makes system calls.
    let counters = ServerCounters::of(&[session.server.id()]).unwrap();
    let is_refused = session.server.directory.path().join("refused").exists();
    let expected = (!is_refused).then_some(AsyncInterface::IoUring);
    assert_eq!((traced, counters.unseen()), (expected, expected));
}

/// A server may open its queue in one row, and close it in the next.
#[test]
fn a_queue_that_was_closed_is_found() {
    let mut server = Traced::start();
    let counters = ServerCounters::of(&[server.id()]).unwrap();
    let accounts = InsideAccounts::new(counters, Duration::from_millis(1), 1);
    accounts.begin(Some(A));
    assert_eq!(accounts.unseen(), None);
    server.perform("ring");
    accounts.begin(Some(B));
    server.perform("close");
    let is_refused = server.directory.path().join("refused").exists();
    let expected = (!is_refused).then_some(AsyncInterface::IoUring);
    assert_eq!(accounts.unseen(), expected);
}

#[test]
fn waiting_for_a_lock_is_told_from_waiting_for_work() {
    let mut session = session();
    session.operation(A, "locks");
    session.operation(B, "work");
    let rows = session.tracer.end().rows;
    let waited = |row: &TracedRow, call: &str, for_lock| -> Duration {
        let calls = row.calls.iter();
        let chosen = calls.filter(|traced| traced.call == call && traced.for_lock == for_lock);
        Duration::from_nanos(chosen.map(|call| call.lasted).sum())
    };
    let long = Duration::from_millis(10);
    let [locks, work] = [&rows[0], &rows[1]];
    assert!(waited(locks, "futex", true) >= long, "{locks:?}");
    assert!(waited(locks, "flock", true) >= long, "{locks:?}");
    assert!(waited(work, "futex", true) < long, "{work:?}");
    assert!(waited(work, "futex", false) >= long, "{work:?}");
    // Unlocking a file is not waiting.
    let unlocked = locks.calls.iter().filter(|call| call.call == "flock");
    let unlocked = unlocked
        .filter(|call| !call.for_lock)
        .map(|call| call.count);
    assert_eq!(unlocked.sum::<u64>(), 1, "{locks:?}");
}

#[test]
fn sockets_are_told_apart() {
    let database = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = database.local_addr().unwrap().to_string();
    let mut session = session();
    session.server.perform(&format!("listen {peer}"));
    session.operation(A, "serve");
    session.operation(A, "serve");
    let rows = session.tracer.end().rows;
    let database = CallTarget::Socket { peer };
    for (call, target, counted) in [
        ("accept", &CallTarget::Client, 2),
        ("send", &CallTarget::Client, 2),
        ("connect", &CallTarget::Client, 0),
        ("connect", &database, 2),
        ("send", &database, 2),
    ] {
        assert_eq!(count(&rows[0], call, target), counted, "{call} {rows:?}");
    }
    let bytes = |target| sum(&rows[0], "send", target, |call| call.bytes);
    assert_eq!((bytes(&CallTarget::Client), bytes(&database)), (8, 6));
}

/// Connections that existed before the tracer have to be looked up.
fn sockets_of_before(server: &mut Traced) {
    let database = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = database.local_addr().unwrap().to_string();
    server.perform(&format!("listen {peer}"));
    server.perform("connect");
    let current = Arc::new(CurrentRow::new(1));
    let tracer = Tracer::attach(&[server.id()], None, COLLECTION, Arc::clone(&current)).unwrap();
    current.begin(A);
    server.perform("respond");
    let rows = tracer.end().rows;
    let database = CallTarget::Socket { peer };
    assert_eq!(count(&rows[0], "send", &CallTarget::Client), 1, "{rows:?}");
    assert_eq!(count(&rows[0], "send", &database), 1, "{rows:?}");
    let local = server.directory.path().join("socket");
    let local = CallTarget::Socket {
        peer: local.display().to_string(),
    };
    assert_eq!(count(&rows[0], "send", &local), 1, "{rows:?}");
}

#[test]
fn sockets_of_before_are_told_apart() {
    sockets_of_before(&mut Traced::start());
}

/// The descriptors of a process are read from its first thread, unless that has ended.
#[test]
fn sockets_of_a_server_without_its_first_thread_are_told_apart() {
    let mut server = Traced::start();
    let thread_handle = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());
    if pidfd_open(server.pid(), thread_handle).is_err() {
        eprintln!("skipped: this kernel has no descriptors of threads (Linux 6.9)");
        return;
    }
    server.perform("lose");
    sockets_of_before(&mut server);
}

#[test]
fn what_a_server_does_after_its_response_is_waited_for() {
    let mut session = session();
    session.operation(A, "later");
    let rows = session.tracer.end().rows;
    assert_eq!(count(&rows[0], "fsync", &CallTarget::Collection), 50);
}

#[test]
fn a_busy_server_is_not_idle() {
    let mut session = session();
    assert!(session.tracer.wait_until_idle(LONG));
    session.server.perform("compute");
    assert!(!session.tracer.wait_until_idle(Duration::from_millis(20)));
}

#[test]
fn signals_arrive_and_nothing_is_left_stopped() {
    let mut session = session();
    let pid = session.server.pid();
    kill_process(pid, Signal::STOP).unwrap();
    until(|| session.server.state().eq_ignore_ascii_case(&'t'));
    kill_process(pid, Signal::CONT).unwrap();
    session.operation(A, "files");

    // A stopped process stays stopped after the tracer has gone, and can be resumed.
    kill_process(pid, Signal::STOP).unwrap();
    until(|| session.server.state().eq_ignore_ascii_case(&'t'));
    assert!(!session.tracer.is_idle());
    drop(session.tracer);
    until(|| session.server.state() == 'T');
    assert_eq!(session.server.tracer(), 0);
    kill_process(pid, Signal::CONT).unwrap();
    session.server.perform("files");

    kill_process(pid, Signal::TERM).unwrap();
    let status = session.server.child.wait().unwrap();
    assert_eq!(status.to_string(), "signal: 15 (SIGTERM)");
}

#[test]
fn an_interrupted_call_counts_once() {
    let mut session = session();
    session.operation(A, "interrupted");
    let rows = session.tracer.end().rows;
    let calls = rows[0].calls.iter();
    let waits: u64 = calls
        .filter(|call| matches!(call.call.as_str(), "wait4" | "waitid"))
        .map(|call| call.count)
        .sum();
    assert_eq!(waits, 1, "{rows:?}");
}

#[test]
fn a_child_that_ends_while_traced_is_left_to_its_parent() {
    let mut session = session();
    let handle = pidfd_open(session.server.pid(), PidfdFlags::empty()).unwrap();
    let mut polled = [PollFd::new(&handle, PollFlags::IN)];
    let now = rustix::time::Timespec::default();
    session.operation(A, "files");
    assert_eq!(poll(&mut polled, Some(&now)).unwrap(), 0);

    // Other children are not affected by the tracer.
    let other = Command::new("true").spawn().unwrap().wait().unwrap();
    assert!(other.success());

    session.server.child.kill().unwrap();
    assert_eq!(poll(&mut polled, None).unwrap(), 1);
    assert!(session.tracer.wait_until_idle(LONG));
    let rows = session.tracer.end().rows;
    assert_eq!(rows[0].operations, 1);
    let status = session.server.child.wait().unwrap();
    assert_eq!(status.to_string(), "signal: 9 (SIGKILL)");

    // The same by an orderly end.
    let mut ended = self::session();
    ended.server.leave();
    let handle = pidfd_open(ended.server.pid(), PidfdFlags::empty()).unwrap();
    poll(&mut [PollFd::new(&handle, PollFlags::IN)], None).unwrap();
    assert!(ended.tracer.end().rows.is_empty());
    assert!(ended.server.child.wait().unwrap().success());
}

#[test]
fn a_second_tracer_is_refused() {
    let session = session();
    let current = Arc::new(CurrentRow::new(0));
    let id = session.server.id();
    let refused = Tracer::attach(&[id], None, "", Arc::clone(&current)).unwrap_err();
    let this_process = std::process::id();
    let by = format!("(process {this_process}) traces it already; end that first");
    assert!(refused.to_string().ends_with(&by), "{refused}");
    drop(session.tracer);
    drop(Tracer::attach(&[id], None, "", Arc::clone(&current)).unwrap());

    let gone = i32::MAX.cast_unsigned();
    let nothing = Tracer::attach(&[gone], None, "", Arc::clone(&current)).unwrap_err();
    assert!(
        matches!(nothing, TraceError::NothingRuns { .. }),
        "{nothing}"
    );
    let itself = Tracer::attach(&[this_process], None, "", current).unwrap_err();
    assert!(matches!(itself, TraceError::Itself), "{itself}");
}
