//! What is shown while a run goes on, and how it is ended early.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engine::{Cancel, Observer, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::{Event, EventKind, MeasureRecord, TestRecord};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::OutputOptions;
use crate::exit::{Code, Failed};
use crate::output::tell;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    Quiet,
    Normal,
    Verbose,
}

/// Shows a run on standard error: a bar on a terminal, plain lines elsewhere.
pub(crate) struct Console {
    talk: Talk,
    bar: Option<ProgressBar>,
    progress: Arc<Progress>,
    tests: Vec<TestRecord>,
    measures: Vec<MeasureRecord>,
    begun: Instant,
}

impl Console {
    pub(crate) fn new(
        output: &OutputOptions,
        progress: Arc<Progress>,
        tests: Vec<TestRecord>,
        measures: Vec<MeasureRecord>,
    ) -> Self {
        let talk = match (output.quiet, output.verbose) {
            (true, _) => Talk::Quiet,
            (_, true) => Talk::Verbose,
            _ => Talk::Normal,
        };
        let bar = (talk != Talk::Quiet && std::io::stderr().is_terminal()).then(bar);
        Console {
            talk,
            bar,
            progress,
            tests,
            measures,
            begun: Instant::now(),
        }
    }

    /// Moves the bar until the run is over; on its own thread, so that the run is not disturbed.
    pub(crate) fn follow(self: &Arc<Self>) -> Following {
        let Some(bar) = self.bar.clone() else {
            return Following {
                bar: None,
                thread: None,
            };
        };
        let console = Arc::clone(self);
        let moving = bar.clone();
        let thread = thread::spawn(move || {
            while !moving.is_finished() {
                moving.set_length(console.progress.planned().max(1));
                moving.set_position(console.progress.done());
                let failed = match console.progress.failed() {
                    0 => String::new(),
                    failed => format!(", {failed} failed"),
                };
                moving.set_prefix(format!("request {}{failed}", console.progress.requests()));
                moving.tick();
                thread::park_timeout(Duration::from_millis(100));
            }
        });
        Following {
            bar: Some(bar),
            thread: Some(thread),
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    fn test(&self, test: record::TestId) -> &str {
        self.tests
            .get(usize::from(test.0))
            .map_or("?", |test| test.name.as_str())
    }

    fn measure(&self, measure: record::MeasureId) -> &str {
        self.measures
            .get(usize::from(measure.0))
            .map_or("?", |measure| measure.name.as_str())
    }

    fn line(&self, kind: &EventKind) -> Option<String> {
        let verbose = self.talk == Talk::Verbose;
        let plain = self.bar.is_none();
        match kind {
            EventKind::TestStarted { test } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(self.test(*test).to_owned());
                }
                verbose.then(|| format!("{}: set-up", self.test(*test)))
            }
            EventKind::MeasuringStarted { test } => {
                verbose.then(|| format!("{}: measuring", self.test(*test)))
            }
            EventKind::TestEnded { test } => (verbose || plain).then(|| {
                let elapsed = self.begun.elapsed().as_secs_f64();
                let (done, planned) = (self.progress.done(), self.progress.planned());
                let percent = (done * 100).checked_div(planned).unwrap_or(100);
                format!("{percent:3} %  {elapsed:6.1} s  {}", self.test(*test))
            }),
            EventKind::NotSupported { test, evidence } => {
                verbose.then(|| format!("{}: not supported: {evidence}", self.test(*test)))
            }
            EventKind::TestFailed { test, evidence } => {
                verbose.then(|| format!("{}: failed: {evidence}", self.test(*test)))
            }
            EventKind::OperationFailed {
                measure,
                outcome,
                evidence,
                ..
            } => verbose.then(|| format!("{}: {outcome}: {evidence}", self.measure(*measure))),
            EventKind::Note { measure, text } => {
                verbose.then(|| format!("{}: {text}", self.measure(*measure)))
            }
            EventKind::Warning { text } => Some(format!("warning: {text}")),
            EventKind::LeftBehind(left) => Some(format!(
                "still on the server: {} ({})",
                left.url, left.reason
            )),
            EventKind::ClockStepped { by } => Some(format!(
                "warning: the clock of this machine was set by {:.3} s while measuring",
                *by as f64 / 1e9
            )),
            EventKind::MeasuringEnded { .. } | EventKind::Generator(_) => None,
            // The end of the program says it.
            EventKind::Aborted { .. } => None,
            EventKind::Interrupted => None,
        }
    }
}

impl Observer for Console {
    fn event(&self, event: &Event) {
        // What we left on somebody's server is said in any case.
        let must = matches!(&event.kind, EventKind::LeftBehind(left) if left.own);
        if let Some(line) = self.line(&event.kind)
            && (must || self.talk != Talk::Quiet)
        {
            self.say(&line);
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
    let template = "{msg:20} {wide_bar} {percent:>3} %  {prefix}  {elapsed}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// A bar that is being moved; it goes when this goes.
pub(crate) struct Following {
    bar: Option<ProgressBar>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread draws and nothing else; a panic of it is no reason for one of ours.
            let _ = thread.join();
        }
    }
}

/// Ends the run at the first Ctrl-C, SIGTERM or SIGHUP; at the second, the program, at once, naming
/// `collection`, where there is one: it is then still on the server.
pub(crate) fn on_interrupt(cancel: Cancel, collection: Option<String>) -> Result<(), Failed> {
    let left = collection.map(|collection| format!("; still on the server: {collection}"));
    let left = left.unwrap_or_default();
    let mut signals = Signals::listen()?;
    thread::spawn(move || {
        signals.wait();
        cancel.cancel();
        tell("\nprestan: interrupted; cleaning up (again to leave at once)");
        signals.wait();
        tell(&format!("\nprestan: stopped at once{left}"));
        std::process::exit(i32::from(Code::Interrupted.number()));
    });
    Ok(())
}

/// Ctrl-C, SIGTERM and SIGHUP, which end nothing by themselves from [`Signals::listen`] on.
pub(crate) struct Signals {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Takes them over before it returns: what is begun afterwards can be cleaned up.
    pub(crate) fn listen() -> Result<Signals, Failed> {
        let failed =
            |error: io::Error| Failed::Local(format!("listening to signals failed: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let inside = runtime.enter();
        let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let hang_up = signal(SignalKind::hangup()).map_err(failed)?;
        drop(inside);
        Ok(Signals {
            runtime,
            interrupt,
            terminate,
            hang_up,
        })
    }

    /// Returns when one of them comes.
    pub(crate) fn wait(&mut self) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
                _ = self.hang_up.recv() => {}
            }
        });
    }
}
