//! What is still on servers when this program is aborted: by an allocation that fails, for example.

use std::io;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What is said, unless nothing is being measured any more.
struct LastWords {
    text: String,
    over: Arc<AtomicBool>,
}

static WORDS: AtomicPtr<LastWords> = AtomicPtr::new(ptr::null_mut());

/// From now on, an abort tells what is `left`, for as long as it is not `over`.
pub fn say_when_aborted(left: &str, over: &Arc<AtomicBool>) {
    let words = LastWords {
        text: format!("prestan: aborted{left}\n"),
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
    if let Some(LastWords { text, over }) = words
        && !over.load(Ordering::SeqCst)
    {
        // Nobody is left who could be told that it failed.
        let _ = rustix::io::write(io::stderr(), text.as_bytes());
    }
    // SAFETY: raise(3) may be called in a handler. The signal now does what it does by itself.
    unsafe {
        libc::raise(signal);
    }
}
