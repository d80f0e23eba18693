//! `prestan capture`.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus as ProcessStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use capture::{CaptureLimits, CaptureSource, PacketSelection, Recording, RecordingOptions};
use clap::Args;
use lab::{Namespace, user_namespace};
use runner::capture::{check_absent, described, failed, warn_of_lost};
use runner::{RunnerError, start_thread};
use rustix::process::{Pid, Signal, kill_process};
use terminal::output::{print_list, print_message};
use tokio::signal::unix::SignalKind;

use crate::args::{positive_duration, size, whole};
use crate::exit::ExitStatus;
use crate::signals::{Signals, received};

/// Selection and limits of a capture.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// File to write, in the format pcapng; it must not exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Program to start; the capture ends when it ends
    #[arg(value_name = "COMMAND", last = true, num_args = 1..)]
    pub(crate) command: Vec<OsString>,

    /// Capture on this interface [default: all]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) interface: Option<String>,

    /// Only packets from or to this address; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Vec<IpAddr>,

    /// Only packets from or to this TCP or UDP port; may be repeated
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,

    /// End after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    pub(crate) time: Option<Duration>,

    /// End after this number of packets
    #[arg(long, value_name = "N", value_parser = whole(1_u64..))]
    pub(crate) packets: Option<u64>,

    /// End when the file would become longer than this
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub(crate) max_size: u64,

    /// Keep this much of each packet [default: all]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) snap: Option<u64>,

    /// Start the command in a network namespace of its own, with nothing but loopback, and capture
    /// there
    ///
    /// This needs no root where the system allows user namespaces. The namespace ends with the
    /// command.
    #[arg(long, requires = "command", conflicts_with = "interface")]
    pub(crate) isolated: bool,
}

/// Time limit for a program to end after SIGTERM.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Interval between two checks for an ended program.
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
    let local = |error: lab::LabError| RunnerError::Local(error.to_string());
    let recording = match &namespace {
        Some(namespace) => namespace.run(start).map_err(local)?,
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
            // It has none of the requested packets.
            let _ = fs::remove_file(&args.file);
            return Err(why);
        }
    };
    let summary = if ended.is_some() {
        recording.stop()
    } else {
        print_message(&format!(
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
        // By Ctrl-C, which it received, too.
        Some(status) if received().is_some() && status.signal().is_some() => {
            Ok(ExitStatus::Interrupted)
        }
        Some(status) if !status.success() => {
            let program = args.command[0].display();
            print_message(&format!("prestan: {program} ended with {status}"));
            Ok(ExitStatus::TestFailed)
        }
        _ => Ok(ExitStatus::Done),
    }
}

/// A network namespace with loopback only, made without root if that is allowed.
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

/// Starts the command, if there is one.
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
        print_message(&format!("prestan: capturing to {}", args.file.display()));
    }
    let child = command.spawn().map_err(|error| {
        let program = program.display();
        RunnerError::Usage(format!("starting {program} failed: {error}"))
    })?;
    Ok(Some(child))
}

/// Waits for a program. It receives Ctrl-C in a terminal, too, and ends by itself. SIGTERM is sent
/// to this process only: it is passed on, and a program that does not end is killed.
fn wait(mut child: Child) -> Result<ProcessStatus, RunnerError> {
    let mut terminated: Option<Instant> = None;
    loop {
        let ended = child.try_wait();
        let failed = |error| RunnerError::Local(format!("waiting for the command: {error}"));
        if let Some(status) = ended.map_err(failed)? {
            return Ok(status);
        }
        match terminated {
            None if is_terminated() => {
                terminated = Some(Instant::now());
                let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                // Fails if the program has already ended.
                let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
            }
            Some(since) if since.elapsed() > STOP_PATIENCE => {
                let _ = child.kill();
            }
            _ => {}
        }
        thread::park_timeout(LOOK);
    }
}

/// True if a signal arrived that a terminal does not send to the program as well.
fn is_terminated() -> bool {
    received().is_some_and(|number| number != SignalKind::interrupt().as_raw_value())
}
