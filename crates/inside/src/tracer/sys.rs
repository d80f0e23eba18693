//! The system calls of a tracer. All unsafe code of the tracer is here.
//!
//! A tracer never *takes* the report of a stop: it peeks at it (`WNOWAIT`) and resumes the thread,
//! which overwrites the report. So each stop costs one call less, and a pending report at the end
//! of the tracer still has the effect that it would have without one: the signal of a thread that
//! stopped for it is delivered.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::unix::thread::JoinHandleExt;
use std::ptr;
use std::sync::Once;
use std::thread::JoinHandle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) tid: u32,
    pub(super) what: Reported,
}

/// Why a thread stopped, or that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reported {
    /// At the entry to a system call or at its exit.
    Call,
    /// Before this signal is delivered to it.
    Signal(i32),
    /// Its process was stopped by a signal.
    GroupStop,
    /// The tracer interrupted it, it is new, or its process continues after a stop.
    Trap,
    /// An exec is about to replace its program.
    Exec,
    /// A new thread or process.
    Begun,
    Ended,
}

/// A system call as the kernel describes it at a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStop {
    Entry {
        abi: CallAbi,
        number: u64,
        arguments: [u64; 6],
    },
    Exit {
        result: i64,
    },
    Neither,
}

/// The numbering of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallAbi {
    /// The numbering of this program.
    Own,
    /// The numbering of 32-bit programs on the same kernel.
    Bits32,
    Other,
}

const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;

/// Only threads traced by this thread: other threads of this process wait for their own.
const OWN_TRACEES: i32 = libc::__WALL | libc::__WNOTHREAD;

/// The kernel's names of the architecture of a system call (`AUDIT_ARCH_...` in `linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const OWN_AND_BITS32: [u32; 2] = [0xC000_003E, 0x4000_0003];
#[cfg(target_arch = "aarch64")]
const OWN_AND_BITS32: [u32; 2] = [0xC000_00B7, 0x4000_0028];

fn abi_of(architecture: u32) -> CallAbi {
    let [native, bits32] = OWN_AND_BITS32;
    match architecture {
        _ if architecture == native => CallAbi::Own,
        _ if architecture == bits32 => CallAbi::Bits32,
        _ => CallAbi::Other,
    }
}

/// A request without a pointer to memory of this process.
fn request(request: u32, tid: u32, data: usize) -> io::Result<()> {
    // SAFETY: none of the requests that are passed here reads or writes memory of this process.
    let result = unsafe { libc::ptrace(request, tid as libc::pid_t, 0_usize, data) };
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Attaches to a thread, which continues until it is interrupted.
pub(super) fn seize(tid: u32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, OPTIONS as usize)
}

/// Stops a thread that this one attached to.
pub(super) fn interrupt(tid: u32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Resumes a stopped thread until its next system call, with this signal, or none where it is 0.
pub(super) fn resume(tid: u32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, tid, signal as usize)
}

/// Leaves a thread of a stopped process stopped until the process continues. Nothing overwrites its
/// report, so this takes it.
pub(super) fn leave_stopped(tid: u32) -> io::Result<()> {
    take_report(tid, libc::WSTOPPED);
    request(libc::PTRACE_LISTEN, tid, 0)
}

/// Removes a thread that ended.
pub(super) fn forget_ended(tid: u32) {
    take_report(tid, libc::WEXITED);
}

fn take_report(tid: u32, kind: i32) {
    let options = kind | OWN_TRACEES | libc::WNOHANG;
    // SAFETY: all zeroes are a valid `siginfo_t`, a plain structure.
    let mut information: libc::siginfo_t = unsafe { zeroed() };
    // SAFETY: the kernel writes one `siginfo_t` into a variable of that type, which outlives the
    // call. Where there is no report any more, there is none to take.
    unsafe { libc::waitid(libc::P_PID, tid, &raw mut information, options) };
}

/// Waits for the report of any traced thread. `Interrupted` after a signal, see [`wake`]; `ECHILD`
/// where nothing is traced.
pub(super) fn next_report() -> io::Result<Report> {
    let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | OWN_TRACEES;
    // SAFETY: all zeroes are a valid `siginfo_t`, a plain structure.
    let mut information: libc::siginfo_t = unsafe { zeroed() };
    // SAFETY: the kernel writes one `siginfo_t` into a variable of that type, which outlives the
    // call.
    if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut information, options) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `waitid` filled in the fields for children (waitid(2)).
    let (tid, status) = unsafe { (information.si_pid(), information.si_status()) };
    let what = match information.si_code {
        libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED => Reported::Ended,
        _ => reason_of(status),
    };
    Ok(Report {
        tid: tid.cast_unsigned(),
        what,
    })
}

/// The number of a signal, and of an event above it (ptrace(2)).
fn reason_of(status: i32) -> Reported {
    let signal = status & 0xff;
    match status >> 8 {
        0 if signal == libc::SIGTRAP | 0x80 => Reported::Call,
        0 => Reported::Signal(signal),
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Reported::Trap,
        libc::PTRACE_EVENT_STOP => Reported::GroupStop,
        libc::PTRACE_EVENT_EXEC => Reported::Exec,
        _ => Reported::Begun,
    }
}

/// The call at which a thread stopped.
pub(super) fn call_of(tid: u32) -> io::Result<CallStop> {
    // SAFETY: all zeroes are a valid value, as all fields are numbers.
    let mut call: libc::ptrace_syscall_info = unsafe { zeroed() };
    // SAFETY: the kernel writes at most the given number of bytes, into a variable of that size.
    let written = unsafe {
        libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO,
            tid as libc::pid_t,
            size_of::<libc::ptrace_syscall_info>(),
            &raw mut call,
        )
    };
    if written == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(match call.op {
        // SAFETY: `op` selects the variant that the kernel wrote.
        libc::PTRACE_SYSCALL_INFO_ENTRY => unsafe {
            CallStop::Entry {
                abi: abi_of(call.arch),
                number: call.u.entry.nr,
                arguments: call.u.entry.args,
            }
        },
        // SAFETY: as above.
        libc::PTRACE_SYSCALL_INFO_EXIT => unsafe {
            CallStop::Exit {
                result: call.u.exit.sval,
            }
        },
        _ => CallStop::Neither,
    })
}

/// The thread or process that a thread began; or its number before an exec.
pub(super) fn event_message(tid: u32) -> Option<u32> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one `unsigned long` into a variable of that type.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETEVENTMSG,
            tid as libc::pid_t,
            0_usize,
            &raw mut message,
        )
    };
    (result != -1).then_some(message as u32)
}

/// Reads memory of a stopped thread; returns the number of bytes read. A part that crosses into a
/// missing page is not read at all, so readers end at the border of a page.
pub(super) fn read_memory(tid: u32, address: u64, into: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: ptr::without_provenance_mut(address as usize),
        iov_len: into.len(),
    };
    // SAFETY: the kernel writes at most the length of `into` to it, and checks the other address
    // itself.
    let read = unsafe { libc::process_vm_readv(tid as libc::pid_t, &local, 1, &remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// The signal that interrupts a waiting tracer. It is ignored where there is no handler.
const WAKE: i32 = libc::SIGURG;

/// Lets [`WAKE`] interrupt waits of this thread from now on, without any other effect.
pub(super) fn accept_wake() {
    extern "C" fn nothing(_signal: i32) {}
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: all zeroes are a valid `sigaction`: no flags (so that calls are not restarted),
        // an empty mask. The handler does nothing, so it may run at any time.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = nothing as extern "C" fn(i32) as libc::sighandler_t;
            libc::sigaction(WAKE, &raw const action, ptr::null_mut());
        }
    });
    // A thread inherits the blocked signals of the one that starts it. SAFETY: the set is
    // initialised before it is used, and outlives the calls.
    unsafe {
        let mut signals: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, WAKE);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const signals, ptr::null_mut());
    }
}

/// Interrupts the current wait of a thread.
pub(super) fn wake<T>(thread: &JoinHandle<T>) {
    // SAFETY: a thread that was not joined has a valid `pthread_t`; without a handler the signal
    // does nothing.
    unsafe { libc::pthread_kill(thread.as_pthread_t(), WAKE) };
}
