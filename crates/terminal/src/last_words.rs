//! What is still on servers when this program is aborted: by an allocation that fails, for example.

use std::io::{self, IoSlice};
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use runner::console::MadeOnServers;

/// Before what was made on servers and not removed.
pub const STILL_THERE: &str = "; still on the server: ";

/// What is said, unless nothing is being measured any more.
struct LastWords {
    made: MadeOnServers,
    over: Arc<AtomicBool>,
}

static WORDS: AtomicPtr<LastWords> = AtomicPtr::new(ptr::null_mut());

/// From now on, an abort tells what was `made` on servers, for as long as it is not `over`.
pub fn say_when_aborted(made: &MadeOnServers, over: &Arc<AtomicBool>) {
    let words = LastWords {
        made: Arc::clone(made),
        over: Arc::clone(over),
    };
    // The handler may be reading those before: they stay, a few for each process.
    WORDS.store(Box::leak(Box::new(words)), Ordering::SeqCst);
    // SAFETY: all fields of the struct may be zero (sigaction(2)). What the handler does is safe in one
    // (signal-safety(7)): it allocates nothing and waits for nothing.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = say as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESETHAND;
        // Where it is refused, `prestan clean` finds the rest all the same.
        libc::sigaction(libc::SIGABRT, &raw const action, ptr::null_mut());
    }
}

extern "C" fn say(signal: libc::c_int) {
    // SAFETY: what it points to is never freed.
    let words = unsafe { WORDS.load(Ordering::SeqCst).as_ref() };
    if let Some(LastWords { made, over }) = words
        && !over.load(Ordering::SeqCst)
        && let Some(made) = made.get()
    {
        let text = ["prestan: aborted", STILL_THERE, made, "\n"];
        // Nobody is left who could be told that it failed.
        let _ = rustix::io::writev(
            io::stderr(),
            &text.map(|part| IoSlice::new(part.as_bytes())),
        );
    }
    // SAFETY: raise(3) may be called in a handler. The signal now does what it does by itself.
    unsafe {
        libc::raise(signal);
    }
}
