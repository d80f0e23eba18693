//! `prestan capture`, and the packets of a run.

use std::fs;
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus as ProcessStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::SignalKind;

use capture::{
    CaptureError, CaptureLimits, CaptureSource, PacketSelection, Recording, RecordingEnd,
    RecordingOptions, RecordingSummary,
};
use engine::{Route, Settings};
use lab::{Namespace, user_namespace};
use runner::{RunnerError, start_thread};
use suite::CapturePlan;

use crate::args::CaptureArgs;
use crate::exit::ExitStatus;
use crate::output::{number_of, print_list, tell};
use crate::signals::{Signals, received};

/// The longest file of a run.
const LONGEST_OF_RUN: u64 = 1 << 30;

/// How long a program may take to end after SIGTERM.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Records packets until a limit, Ctrl-C, or the end of a command.
pub(crate) fn capture(args: &CaptureArgs) -> Result<ExitStatus, RunnerError> {
    check_absent(&args.file)?;
    // Before the first thread starts.
    let namespace = args.isolated.then(own_namespace).transpose()?;
    let options = options(args)?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::listen()?;
    let start = || Recording::start(&args.file, &options, Arc::clone(&stop));
    let recording = match &namespace {
        Some(namespace) => namespace
            .run(start)
            .map_err(|error| RunnerError::Local(error.to_string()))?,
        None => start(),
    };
    let recording = recording.map_err(failed)?;
    let flag = Arc::clone(&stop);
    let watch = move || {
        signals.wait();
        flag.store(true, Ordering::Relaxed);
    };
    start_thread(watch)?;
    let ended = match started(args, namespace.as_ref()) {
        Ok(child) => child.map(wait).transpose()?,
        Err(why) => {
            drop(recording);
            // Nothing that was asked for is in it.
            let _ = fs::remove_file(&args.file);
            return Err(why);
        }
    };
    let summary = if ended.is_some() {
        recording.stop()
    } else {
        tell(&format!(
            "prestan: capturing to {}; Ctrl-C ends it",
            args.file.display()
        ));
        recording.wait()
    };
    let summary = summary.map_err(failed)?;
    print_list([described(&summary, &args.file)], "  ")?;
    warn_of_lost(&summary);
    match ended {
        Some(_) if is_terminated() => Ok(ExitStatus::Interrupted),
        // Of Ctrl-C, which it had, too.
        Some(status) if received().is_some() && status.signal().is_some() => {
            Ok(ExitStatus::Interrupted)
        }
        Some(status) if !status.success() => {
            let program = args.command[0].display();
            tell(&format!("prestan: {program} ended with {status}"));
            Ok(ExitStatus::TestFailed)
        }
        _ => Ok(ExitStatus::Done),
    }
}

/// A network namespace with nothing but loopback, made without root where that is allowed.
fn own_namespace() -> Result<Namespace, RunnerError> {
    let local = |error: lab::LabError| RunnerError::Local(error.to_string());
    if !rustix::process::geteuid().is_root() {
        user_namespace::enter().map_err(local)?;
    }
    Namespace::new("the capture").map_err(local)
}

fn options(args: &CaptureArgs) -> Result<RecordingOptions, RunnerError> {
    let usual = RecordingOptions::default();
    let snap = args.snap.map(|snap| match u32::try_from(snap) {
        Ok(snap @ 64..) => Ok(snap.min(usual.snap_length)),
        _ => Err(RunnerError::Usage(format!(
            "--snap {snap}: keep at least 64 bytes of each packet, for its headers"
        ))),
    });
    let source = args.interface.clone();
    Ok(RecordingOptions {
        source: source.map_or(CaptureSource::Any, CaptureSource::Interface),
        selection: PacketSelection {
            hosts: args.host.clone(),
            ports: args.port.clone(),
        },
        snap_length: snap.transpose()?.unwrap_or(usual.snap_length),
        limits: CaptureLimits {
            bytes: Some(args.max_size),
            packets: args.packets,
            time: args.time,
        },
        ..usual
    })
}

/// Starts the command, where there is one.
fn started(
    args: &CaptureArgs,
    namespace: Option<&Namespace>,
) -> Result<Option<Child>, RunnerError> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(namespace) = namespace {
        let entered = namespace.enter_before_exec(&mut command);
        entered.map_err(|error| RunnerError::Local(error.to_string()))?;
    } else {
        tell(&format!("prestan: capturing to {}", args.file.display()));
    }
    let child = command.spawn().map_err(|error| {
        let program = program.display();
        RunnerError::Usage(format!("starting {program} failed: {error}"))
    })?;
    Ok(Some(child))
}

/// Waits for a program. Ctrl-C in a terminal is for the program, too, which then ends by itself. SIGTERM comes to this
/// process alone: it is passed on, and a program that does not end is killed.
fn wait(mut child: Child) -> Result<ProcessStatus, RunnerError> {
    let mut asked: Option<Instant> = None;
    loop {
        let ended = child.try_wait();
        let failed = |error| RunnerError::Local(format!("waiting for the command: {error}"));
        if let Some(status) = ended.map_err(failed)? {
            return Ok(status);
        }
        match asked {
            None if is_terminated() => {
                asked = Some(Instant::now());
                let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                // It fails where the program has ended by now.
                let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
            }
            Some(asked) if asked.elapsed() > STOP_PATIENCE => {
                let _ = child.kill();
            }
            _ => {}
        }
        thread::park_timeout(LOOK);
    }
}

/// Whether a signal came that a terminal does not send to the program, too.
fn is_terminated() -> bool {
    received().is_some_and(|number| number != SignalKind::interrupt().as_raw_value())
}

fn check_absent(file: &Path) -> Result<(), RunnerError> {
    if file.symlink_metadata().is_ok() {
        return Err(RunnerError::Usage(format!(
            "{} is there already, and a capture would replace it; choose another name",
            file.display()
        )));
    }
    Ok(())
}

fn failed(error: CaptureError) -> RunnerError {
    match error {
        CaptureError::NoInterface { .. } | CaptureError::Filter { .. } => {
            RunnerError::Usage(error.to_string())
        }
        other => RunnerError::Local(other.to_string()),
    }
}

fn described(summary: &RecordingSummary, file: &Path) -> String {
    let packets = usize::try_from(summary.packets).unwrap_or(usize::MAX);
    let end = match summary.end {
        RecordingEnd::Stopped => "",
        RecordingEnd::Bytes => "; the file is as long as it may be",
        RecordingEnd::Packets => "; that number was asked for",
        RecordingEnd::Time => "; the time is over",
    };
    format!(
        "{} in {} ({} KiB){end}",
        number_of(packets, "packet"),
        file.display(),
        summary.bytes.div_ceil(1024)
    )
}

fn warn_of_lost(summary: &RecordingSummary) {
    let dropped = summary.counters.dropped;
    if dropped > 0 {
        tell(&format!(
            "prestan: warning: the kernel lost {dropped} packets, because they were not written fast enough; \
             select hosts and ports, or keep less of each packet (--snap 128)"
        ));
    }
}

/// The packets between a run and its servers.
pub(crate) struct RunCapture {
    recording: Recording,
    file: PathBuf,
    is_quiet: bool,
}

impl RunCapture {
    /// Begins to record them; of each packet what is planned, or all. Where it `is_quiet`, nothing is told of what
    /// there is, but that packets were lost or the file was full.
    pub(crate) fn start(
        file: &Path,
        planned: Option<CapturePlan>,
        settings: &Settings,
        is_quiet: bool,
    ) -> Result<RunCapture, RunnerError> {
        check_absent(file)?;
        let usual = RecordingOptions::default();
        let snap = planned.and_then(|planned| planned.snap_length);
        let snap = snap.and_then(|bytes| u32::try_from(bytes).ok());
        let most_bytes = planned.and_then(|planned| planned.most_bytes);
        let endpoints = std::iter::once(&settings.endpoint).chain(&settings.others);
        let (mut hosts, mut ports): (Vec<IpAddr>, Vec<u16>) = Default::default();
        for endpoint in endpoints {
            let Route::Tcp(addresses) = &endpoint.route else {
                return Err(RunnerError::Usage(format!(
                    "--capture: {} is reached by a local socket, which has no packets",
                    endpoint.target.url()
                )));
            };
            hosts.extend(addresses.iter().map(|address| address.ip()));
            ports.extend(addresses.iter().map(|address| address.port()));
        }
        hosts.sort();
        hosts.dedup();
        ports.sort_unstable();
        ports.dedup();
        let options = RecordingOptions {
            selection: PacketSelection { hosts, ports },
            limits: CaptureLimits {
                bytes: Some(most_bytes.unwrap_or(LONGEST_OF_RUN)),
                ..CaptureLimits::default()
            },
            snap_length: snap.map_or(usual.snap_length, |snap| snap.min(usual.snap_length)),
            comment: Some(format!("run {}", settings.run_id)),
            ..usual
        };
        let recording = Recording::start(file, &options, Arc::default());
        let recording = recording.map_err(|error| match failed(error) {
            RunnerError::Local(what) => RunnerError::Local(format!("--capture: {what}")),
            other => other,
        })?;
        Ok(RunCapture {
            recording,
            file: file.to_owned(),
            is_quiet,
        })
    }

    /// Ends it, and removes its file: the run that it was for did not begin.
    pub(crate) fn discard(self) {
        // How it ended is of no interest any more.
        let _ = self.recording.stop();
        let _ = fs::remove_file(&self.file);
    }

    /// Ends it, and tells what there is.
    pub(crate) fn end(self) -> Result<(), RunnerError> {
        let RunCapture {
            recording,
            file,
            is_quiet,
        } = self;
        let summary = recording
            .stop()
            .map_err(|error| RunnerError::Local(format!("--capture: {error}")))?;
        if !is_quiet || summary.end != RecordingEnd::Stopped {
            tell(&format!("prestan: {}", described(&summary, &file)));
        }
        warn_of_lost(&summary);
        Ok(())
    }
}
