//! `prestan demo` and `prestan serve`: the embedded server.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use report::TextLayout;
use runner::RunnerError;
use runner::access::read_target;
use runner::servers::TestedServer;
use terminal::output::print_list;
use testbed::{DemoServer, Root, Slowdown};

use crate::args::{
    BackgroundArgs, CaptureFileOptions, ClockOptions, LabelOptions, LoadOptions, MeasuringOptions,
    OutputOptions, defaults, positive_duration, whole,
};
use crate::command::run::{SuiteTask, measure};
use crate::exit::ExitStatus;
use crate::signals::Signals;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) load: LoadOptions,

    #[command(flatten)]
    pub(crate) labels: LabelOptions,

    #[command(flatten)]
    pub(crate) background: BackgroundArgs,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) packets: CaptureFileOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directory to serve [default: a temporary one, removed at the end]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = whole(0..=65_535_u16))]
    pub(crate) port: u16,

    /// Delay each response to METHOD by this time, to try out comparisons: PROPFIND=50us
    ///
    /// The server computes for this time before it responds.
    #[arg(long, value_name = "METHOD=TIME", value_parser = slowdown)]
    pub(crate) slow: Option<Slowdown>,
}

fn slowdown(text: &str) -> Result<Slowdown, String> {
    let (method, time) = text
        .split_once('=')
        .ok_or("expected a method and a time: PROPFIND=50us")?;
    let by = positive_duration(time)?;
    if by > LONGEST_DELAY {
        return Err(format!("the longest delay is {LONGEST_DELAY:?}"));
    }
    Ok(Slowdown {
        of: method.to_ascii_uppercase(),
        by,
    })
}

const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// Starts the embedded server, measures it, and leaves the run for `prestan report`.
pub(crate) fn demo(args: &DemoArgs) -> Result<ExitStatus, RunnerError> {
    let mut output = args.output.clone();
    output.formats.layout.get_or_insert(TextLayout::Brief);
    let task = SuiteTask::of("prestan", (&args.load, &output), defaults())?;
    let server = start(Root::Temporary, 0, None)?;
    let target = TestedServer::running(vec![read_target(&server.url())?]);
    let how = MeasuringOptions {
        labels: args.labels.clone(),
        background: args.background.clone(),
        clock: args.clock,
        packets: args.packets.clone(),
        ..MeasuringOptions::default()
    };
    let mut access = how.connect.request()?;
    access.credentials.is_nobody = true;
    measure(task, target, access, (&how, false))
}

/// Serves a directory until Ctrl-C.
pub(crate) fn serve(args: &ServeArgs) -> Result<ExitStatus, RunnerError> {
    let root = match &args.directory {
        Some(directory) => {
            fs::read_dir(directory).map_err(|error| {
                RunnerError::Local(format!(
                    "opening the directory {} failed: {error}; create it first, or leave it out for \
                     a temporary one",
                    directory.display()
                ))
            })?;
            Root::Directory(directory.clone())
        }
        None => Root::Temporary,
    };
    let mut signals = Signals::listen()?;
    let server = start(root, args.port, args.slow.clone())?;
    let serving = format!("serving {} at {}", server.root().display(), server.url());
    print_list([serving], "  ")?;
    signals.wait();
    drop(server);
    Ok(ExitStatus::Done)
}

fn start(root: Root, port: u16, slow: Option<Slowdown>) -> Result<DemoServer, RunnerError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    DemoServer::start_slowed(root, address, slow).map_err(|error| {
        let remedy = match error.kind() {
            // Of threads.
            io::ErrorKind::WouldBlock => return RunnerError::no_thread(&error),
            io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => {
                "; choose another --port, or leave it out for a free one"
            }
            _ => "",
        };
        RunnerError::Local(format!(
            "starting the embedded server failed: {error}{remedy}"
        ))
    })
}
