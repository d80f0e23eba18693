//! The process of an external generator, and the thread that keeps it. When that thread or this
//! process ends, the kernel kills the generator, and its guard kills the processes that it has
//! started.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{ExternalEnd, ExternalFigures, ExternalSettings, ReadyCondition, listening};
use crate::FlowError;
use crate::group_guard::{GroupGuard, GuardedChild};
use crate::sink::locked;
use crate::sys::start_in_network;

/// Length of the longest report that is read; the rest of a longer one is discarded, and it cannot
/// be read.
const LONGEST_REPORT: usize = 16 << 20;
/// Length of the end of the standard error that is kept.
const ERROR_OUTPUT: usize = 4 << 10;
/// Bytes of output that are searched for the line that shows that it is ready.
const READY_OUTPUT: usize = 64 << 10;
/// Time within which its output must be complete after its end.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Interval at which the process is checked.
const TICK: Duration = Duration::from_millis(10);
/// Time limit of a decoder.
const DECODING: Duration = Duration::from_secs(10);

/// Output of a process to a pipe.
struct PipeContent {
    content: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl PipeContent {
    /// Keeps the first bytes, or the last where `keeps_end`.
    fn read(
        mut pipe: impl Read + Send + 'static,
        most: usize,
        keeps_end: bool,
    ) -> io::Result<PipeContent> {
        let content = Arc::<Mutex<VecDeque<u8>>>::default();
        let kept = Arc::clone(&content);
        let thread = thread::Builder::new().name("traffic-external".to_owned());
        let reader = thread.spawn(move || {
            let mut buffer = [0; 4096];
            // A pipe that fails has no more content.
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut kept = locked(&kept);
                let room = if keeps_end {
                    count
                } else {
                    // One more than allowed shows that the report is too long.
                    (most + 1).saturating_sub(kept.len()).min(count)
                };
                kept.extend(&buffer[..room]);
                let excess = if keeps_end {
                    kept.len().saturating_sub(most)
                } else {
                    0
                };
                kept.drain(..excess);
            }
        })?;
        Ok(PipeContent { content, reader })
    }

    /// The first bytes as text.
    fn beginning(&self, most: usize) -> String {
        let content = locked(&self.content);
        let bytes: Vec<u8> = content.iter().take(most).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The whole output, after the process has ended. A process that left its group could hold the
    /// pipe open for ever, so the wait is short.
    fn finish(&self) -> String {
        let end = Instant::now() + LAST_OUTPUT;
        while !self.reader.is_finished() && Instant::now() < end {
            thread::sleep(TICK);
        }
        self.beginning(usize::MAX)
    }
}

/// Starts a process and keeps it until it ends or the other end of `commands` is dropped.
pub(super) fn keep(
    arguments: &[String],
    decoder: &[String],
    settings: &ExternalSettings,
    commands: &Receiver<()>,
    mut is_ready: impl FnMut(),
) -> Result<ExternalEnd, FlowError> {
    let mut process = ExternalProcess::start(arguments, settings)?;
    let mut was_ready = false;
    while !process.child.has_ended() {
        if !was_ready && process.meets(&settings.ready) {
            was_ready = true;
            is_ready();
        }
        if let Err(RecvTimeoutError::Disconnected) = commands.recv_timeout(TICK) {
            process.terminate(settings.stop_patience);
            break;
        }
    }
    let status = process.child.end();
    let status = status.map_err(FlowError::system("wait for the external generator"))?;
    let output = process.output.finish();
    Ok(ExternalEnd {
        status: status.to_string(),
        figures: if decoder.is_empty() {
            figures(&output, settings)
        } else {
            decoded(decoder, settings)
        },
        error_output: process.errors.finish(),
    })
}

fn figures(report: &str, settings: &ExternalSettings) -> Result<ExternalFigures, String> {
    if report.len() > LONGEST_REPORT {
        let most = LONGEST_REPORT >> 20;
        return Err(format!("the report is longer than {most} MiB"));
    }
    settings.report.read(report)
}

/// Runs the decoder, and reads its output.
fn decoded(decoder: &[String], settings: &ExternalSettings) -> Result<ExternalFigures, String> {
    let started = ExternalProcess::start(decoder, settings);
    let mut process = started.map_err(|error| error.to_string())?;
    if !process.ends_within(DECODING) {
        return Err(format!(
            "the decoder {} did not end within {} s",
            decoder.first().map(String::as_str).unwrap_or_default(),
            DECODING.as_secs()
        ));
    }
    let status = process.child.end().map_err(|error| error.to_string())?;
    figures(&process.output.finish(), settings).map_err(|error| {
        let printed = process.errors.finish();
        let text = format!("{error} (decoder: {status}) {}", printed.trim_end());
        text.trim_end().to_owned()
    })
}

/// A process and its group, which both end when this is dropped, and its output.
struct ExternalProcess {
    child: GuardedChild,
    output: PipeContent,
    errors: PipeContent,
}

impl ExternalProcess {
    fn start(
        arguments: &[String],
        settings: &ExternalSettings,
    ) -> Result<ExternalProcess, FlowError> {
        let program = arguments.first().map(String::as_str).unwrap_or_default();
        let failed = || FlowError::system(format!("start the external generator {program}"));
        let mut command = Command::new(program);
        command.args(arguments.iter().skip(1)).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(namespace) = &settings.namespace {
            start_in_network(&mut command, Arc::clone(namespace));
        }
        let guard = GroupGuard::start();
        let guard = guard.map_err(FlowError::system("start sh, which ends a generator"))?;
        let mut child = guard.spawn(&mut command).map_err(failed())?;
        let pipes = child.take_pipes();
        let pipes = pipes.ok_or_else(|| io::Error::other("it has no pipes"));
        let (output, errors) = pipes.and_then(contents).map_err(failed())?;
        Ok(ExternalProcess {
            child,
            output,
            errors,
        })
    }

    fn meets(&self, ready: &ReadyCondition) -> bool {
        match ready {
            ReadyCondition::Started => true,
            ReadyCondition::Line(part) => {
                let output = self.output.beginning(READY_OUTPUT);
                output.lines().any(|line| line.contains(part))
            }
            ReadyCondition::Listening(port) => listening::is_open(self.child.id(), *port),
        }
    }

    fn terminate(&self, patience: Duration) {
        self.child.signal(Signal::TERM);
        self.ends_within(patience);
    }

    fn ends_within(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while !self.child.has_ended() {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(TICK.min(patience));
        }
        true
    }
}

fn contents(
    (stdout, stderr): (ChildStdout, ChildStderr),
) -> io::Result<(PipeContent, PipeContent)> {
    Ok((
        PipeContent::read(stdout, LONGEST_REPORT, false)?,
        PipeContent::read(stderr, ERROR_OUTPUT, true)?,
    ))
}
