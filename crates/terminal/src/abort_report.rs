//! Reports leftovers on servers when this program is aborted, for example by an allocation that
//! fails.

use std::io::{self, IoSlice};
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use runner::console::MadeOnServers;

/// Text before leftovers on servers.
pub const STILL_THERE: &str = "; still on the server: ";

/// Message of an abort, while something is measured.
struct AbortReport {
    made: MadeOnServers,
    over: Arc<AtomicBool>,
}

static REPORT: AtomicPtr<AbortReport> = AtomicPtr::new(ptr::null_mut());

/// From now on, an abort reports what was `made` on servers, until `over` is set.
pub fn report_when_aborted(made: &MadeOnServers, over: &Arc<AtomicBool>) {
    let report = AbortReport {
        made: Arc::clone(made),
        over: Arc::clone(over),
    };
    // The handler may be reading the former message: it stays in memory, a few for each process.
    REPORT.store(Box::leak(Box::new(report)), Ordering::SeqCst);
    // SAFETY: all fields of the struct may be zero (sigaction(2)). The handler is safe
    // (signal-safety(7)): it allocates nothing and waits for nothing.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_abort as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESETHAND;
        // If it is refused, `prestan clean` still finds the leftovers.
        libc::sigaction(libc::SIGABRT, &raw const action, ptr::null_mut());
    }
}

extern "C" fn on_abort(signal: libc::c_int) {
    // SAFETY: the message is never freed.
    let report = unsafe { REPORT.load(Ordering::SeqCst).as_ref() };
    if let Some(AbortReport { made, over }) = report
        && !over.load(Ordering::SeqCst)
        && let Some(made) = made.get()
    {
        let text = ["prestan: aborted", STILL_THERE, made, "\n"];
        // A failure cannot be reported any more.
        let _ = rustix::io::writev(
            io::stderr(),
            &text.map(|part| IoSlice::new(part.as_bytes())),
        );
    }
    // SAFETY: raise(3) may be called in a handler. The signal now has its default action.
    unsafe {
        libc::raise(signal);
    }
}
