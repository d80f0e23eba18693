//! Ctrl-C, SIGTERM and SIGHUP: they end the current work, and then this process.

use std::io::{self, Write};
use std::mem;
use std::process;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use engine::Cancel;
use runner::console::{Guard, MadeOnServers};
use runner::{RunnerError, start_thread};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::ExitStatus;
use terminal::abort_report::{STILL_THERE, report_when_aborted};
use terminal::output::print_message;

/// Number of the last signal; 0 before.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// Number of the last signal, if any.
pub(crate) fn received() -> Option<i32> {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => None,
        number => Some(number),
    }
}

/// Ends this process by the signal that interrupted it: a shell ends its loop only if a program in
/// it has died of the signal. The first process of a container does not die of it; it ends with the
/// corresponding status of a shell.
pub(crate) fn end_by_signal() -> ! {
    // A failure cannot be reported any more.
    let _ = io::stdout().flush();
    let Some(number) = received() else {
        process::exit(i32::from(ExitStatus::Interrupted.number()));
    };
    // SAFETY: all fields of the struct may be zero (sigaction(2)): the default action, without
    // flags. raise(3) has no preconditions.
    unsafe {
        let action: libc::sigaction = mem::zeroed();
        libc::sigaction(number, &raw const action, ptr::null_mut());
        libc::raise(number);
    }
    process::exit(128 + number);
}

/// The first Ctrl-C, SIGTERM or SIGHUP ends the measurement; the second one ends the program
/// immediately, and prints what was `made` on servers, which is then still there. After the guard
/// is dropped, nothing is being measured, and the first one ends the program.
pub(crate) fn on_interrupt(cancel: Cancel, made: MadeOnServers) -> Result<Guard, RunnerError> {
    let mut signals = Signals::listen()?;
    let guard = Interruptible(Arc::default());
    let over = Arc::clone(&guard.0);
    report_when_aborted(&made, &over);
    let stop = move |left: &str| {
        print_message(&format!("\nprestan: stopped at once{left}"));
        end_by_signal();
    };
    let wait = move || {
        signals.wait();
        if over.load(Ordering::SeqCst) {
            stop("");
        }
        cancel.cancel();
        print_message("\nprestan: interrupted; cleaning up (again to leave at once)");
        signals.wait();
        let left = made.get().filter(|_| !over.load(Ordering::SeqCst));
        let left = left.map_or(String::new(), |made| format!("{STILL_THERE}{made}"));
        stop(&left);
    };
    start_thread(wait)?;
    Ok(Box::new(guard))
}

/// A measurement goes on while this exists.
struct Interruptible(Arc<AtomicBool>);

impl Drop for Interruptible {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Ctrl-C, SIGTERM and SIGHUP, which do not end the process by themselves after
/// [`Signals::listen`]. Signals that were ignored when this program was started (by nohup; in the
/// background of a script) stay ignored.
pub(crate) struct Signals {
    runtime: Runtime,
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    /// Installs the handlers before it returns: later work can be cleaned up.
    pub(crate) fn listen() -> Result<Signals, RunnerError> {
        let failed = |error| RunnerError::Local(format!("listening to signals failed: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let inside = runtime.enter();
        let take_over = |kind: SignalKind| {
            let taken = (!is_ignored(kind)).then(|| signal(kind));
            taken.transpose().map_err(failed)
        };
        let interrupt = take_over(SignalKind::interrupt())?;
        let terminate = take_over(SignalKind::terminate())?;
        let hang_up = take_over(SignalKind::hangup())?;
        drop(inside);
        Ok(Signals {
            runtime,
            interrupt,
            terminate,
            hang_up,
        })
    }

    /// Waits for one of them, and returns it.
    pub(crate) fn wait(&mut self) -> SignalKind {
        let came = self.runtime.block_on(async {
            tokio::select! {
                () = next(&mut self.interrupt) => SignalKind::interrupt(),
                () = next(&mut self.terminate) => SignalKind::terminate(),
                () = next(&mut self.hang_up) => SignalKind::hangup(),
            }
        });
        RECEIVED.store(came.as_raw_value(), Ordering::SeqCst);
        came
    }
}

/// Completes when it arrives; never if it is ignored.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

fn is_ignored(kind: SignalKind) -> bool {
    // SAFETY: all fields of the struct may be zero; without a new action, sigaction(2) writes the
    // present one to it.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        let result = libc::sigaction(kind.as_raw_value(), ptr::null(), &raw mut action);
        result == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}
