//! Other programs as sources of background traffic: `iperf3`, D-ITG, or any command.
//!
//! The receivers of these programs do not agree to traffic, so they may send to loopback and inside
//! laboratories only. The address stands in their command as `{destination}`, which this module
//! replaces; other addresses in a command cannot be detected.

mod iperf3;
mod listening;
mod process;
mod report;

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use traffic::{DESTINATION_PLACE, DIRECTORY_PLACE, PORT_PLACE};

pub use report::{ExternalFigures, ExternalReport, ExternalTotals};

use crate::FlowError;
use crate::watched::WatchedState;

/// A network that no packet leaves: a laboratory.
pub trait ClosedNetwork {
    /// True if a host of this network has the address.
    fn contains(&self, address: IpAddr) -> bool;
}

/// An address to which an external generator may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalDestination(IpAddr);

impl ExternalDestination {
    /// An address of this machine.
    ///
    /// # Errors
    /// The address is not a loopback address.
    pub fn loopback(address: IpAddr) -> Result<ExternalDestination, FlowError> {
        if address.to_canonical().is_loopback() {
            Ok(ExternalDestination(address))
        } else {
            Err(refused(address))
        }
    }

    /// An address of a laboratory.
    ///
    /// # Errors
    /// The address is not in the laboratory.
    pub fn inside(
        network: &impl ClosedNetwork,
        address: IpAddr,
    ) -> Result<ExternalDestination, FlowError> {
        if network.contains(address) {
            Ok(ExternalDestination(address))
        } else {
            Err(refused(address))
        }
    }

    /// The address.
    pub fn address(self) -> IpAddr {
        self.0
    }
}

fn refused(address: IpAddr) -> FlowError {
    FlowError::Settings(format!(
        "an external generator would send to {address}, which is neither loopback nor inside a \
         laboratory; use a source and a sink of prestan, which agree on the rate"
    ))
}

/// Condition under which a generator is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadyCondition {
    /// As soon as it has started.
    Started,
    /// When a line of its standard output contains this text.
    Line(String),
    /// When a TCP or UDP socket of its network is bound to this port and waits for peers. The check
    /// makes no connection.
    Listening(u16),
}

/// Role of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalRole {
    /// A sender: one argument at least contains [`DESTINATION_PLACE`].
    Source,
    /// A receiver.
    Sink,
}

/// A generator to start.
#[derive(Debug, Clone)]
pub struct ExternalSettings {
    /// Program and arguments; no shell reads them. They contain the placeholders for destination,
    /// port and directory, as in traffic files.
    pub arguments: Vec<String>,
    /// Role of the program.
    pub role: ExternalRole,
    /// Destination of the source.
    pub destination: ExternalDestination,
    /// Port of the sink.
    pub port: Option<u16>,
    /// A directory for files of the program, which its owner removes.
    pub directory: Option<PathBuf>,
    /// The network namespace in which it runs; `None` for that of this process.
    pub namespace: Option<Arc<OwnedFd>>,
    /// Condition under which it is ready.
    pub ready: ReadyCondition,
    /// Time that it may take after SIGTERM; then SIGKILL follows.
    pub stop_patience: Duration,
    /// Format of its report.
    pub report: ExternalReport,
    /// Prints the report after the program has ended; without it, the program's output is the
    /// report.
    pub decoder: Vec<String>,
}

impl ExternalSettings {
    /// A program without a report, which is ready when it is started.
    pub fn new(
        role: ExternalRole,
        arguments: Vec<String>,
        destination: ExternalDestination,
    ) -> ExternalSettings {
        ExternalSettings {
            arguments,
            role,
            destination,
            port: None,
            directory: None,
            namespace: None,
            ready: ReadyCondition::Started,
            stop_patience: Duration::from_secs(1),
            report: ExternalReport::None,
            decoder: Vec::new(),
        }
    }

    fn command(&self) -> Result<Vec<String>, FlowError> {
        let mut arguments = self.arguments.iter().skip(1);
        let is_bound = arguments.any(|argument| argument.contains(DESTINATION_PLACE));
        if self.role == ExternalRole::Source && !is_bound {
            return Err(FlowError::Settings(format!(
                "no argument of the external generator contains {DESTINATION_PLACE}"
            )));
        }
        self.filled(&self.arguments)
    }

    fn filled(&self, arguments: &[String]) -> Result<Vec<String>, FlowError> {
        let destination = self.destination.0.to_string();
        let port = self.port.map(|port| port.to_string());
        let directory = self.directory.as_ref();
        let directory = directory.map(|directory| directory.to_string_lossy());
        let filled = |argument: &String| {
            let mut text = argument.replace(DESTINATION_PLACE, &destination);
            for (placeholder, value) in [
                (PORT_PLACE, port.as_deref()),
                (DIRECTORY_PLACE, directory.as_deref()),
            ] {
                match value {
                    Some(value) => text = text.replace(placeholder, value),
                    None if text.contains(placeholder) => {
                        return Err(FlowError::Settings(format!(
                            "an argument of the external generator contains {placeholder}, which has no value"
                        )));
                    }
                    None => {}
                }
            }
            Ok(text)
        };
        arguments.iter().map(filled).collect()
    }
}

/// How a generator ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalEnd {
    /// Its exit status or signal, for people: "exit status: 0".
    pub status: String,
    /// Figures of its report; the error is the reason why it cannot be read.
    pub figures: Result<ExternalFigures, String>,
    /// The last lines of its standard error.
    pub error_output: String,
}

impl ExternalEnd {
    /// The probable reason of its end, for people, with a colon before it: the last line of its
    /// standard error, or else the error of its report.
    pub fn reason(&self) -> String {
        let mut lines = self.error_output.lines().rev().map(str::trim);
        let last = lines.find(|line| !line.is_empty());
        let reason = last.or(self.figures.as_ref().err().map(String::as_str));
        reason.map_or(String::new(), |reason| format!(": {reason}"))
    }
}

/// Progress of a generator.
#[derive(Debug, Clone, Default)]
enum ExternalState {
    #[default]
    Starting,
    Ready,
    Ended(Box<Result<ExternalEnd, FlowError>>),
}

/// A generator to start.
#[derive(Debug)]
pub struct ExternalGenerator;

/// A running generator. It is stopped when this is dropped, and killed when this process is.
#[derive(Debug)]
pub struct ExternalHandle {
    state: Arc<WatchedState<ExternalState>>,
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl ExternalGenerator {
    /// Starts a generator; [`ExternalHandle::ready`] waits until it is ready.
    ///
    /// # Errors
    /// The command does not contain the destination, or no thread can be started.
    pub fn start(settings: ExternalSettings) -> Result<ExternalHandle, FlowError> {
        let command = settings.command()?;
        let decoder = settings.filled(&settings.decoder)?;
        let state = Arc::<WatchedState<ExternalState>>::default();
        let (stop, commands) = mpsc::channel();
        let for_thread = Arc::clone(&state);
        let thread = thread::Builder::new().name("traffic-external".to_owned());
        let keeper = thread
            .spawn(move || {
                let is_ready = || for_thread.change(ExternalState::Ready);
                let ended = process::keep(&command, &decoder, &settings, &commands, is_ready);
                for_thread.change(ExternalState::Ended(Box::new(ended)));
            })
            .map_err(FlowError::system("start a thread"))?;
        Ok(ExternalHandle {
            state,
            stop: Some(stop),
            keeper: Some(keeper),
        })
    }
}

impl ExternalHandle {
    /// Waits until the generator is ready.
    ///
    /// # Errors
    /// The generator cannot be started, ends before, or `patience` is over.
    pub fn ready(&self, patience: Duration) -> Result<(), FlowError> {
        let what = "the external generator was not ready";
        self.state.wait(patience, what, |state| match state {
            ExternalState::Starting => None,
            ExternalState::Ready => Some(Ok(())),
            ExternalState::Ended(ended) => Some(match ended.as_ref() {
                Err(error) => Err(error.clone()),
                Ok(end) => Err(FlowError::Settings(format!(
                    "the external generator ended before it was ready ({}){}",
                    end.status,
                    end.reason()
                ))),
            }),
        })?
    }

    /// True until it has ended.
    pub fn is_active(&self) -> bool {
        !matches!(*self.state.read(), ExternalState::Ended(_))
    }

    /// Begins to stop the generator, and does not wait.
    pub fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the generator ends, by itself or after [`ask_to_stop`](Self::ask_to_stop).
    ///
    /// # Errors
    /// The generator could not be started, or `patience` is over.
    pub fn finish(&self, patience: Duration) -> Result<ExternalEnd, FlowError> {
        let what = "the external generator did not end";
        self.state.wait(patience, what, |state| match state {
            ExternalState::Ended(ended) => Some(ended.as_ref().clone()),
            _ => None,
        })?
    }

    /// Stops the generator.
    ///
    /// # Errors
    /// The generator could not be started.
    pub fn stop(mut self) -> Result<ExternalEnd, FlowError> {
        self.end();
        self.finish(Duration::ZERO)
    }

    fn end(&mut self) {
        self.ask_to_stop();
        if let Some(keeper) = self.keeper.take() {
            // A panic of that thread has been printed.
            let _ = keeper.join();
        }
    }
}

impl Drop for ExternalHandle {
    fn drop(&mut self) {
        self.end();
    }
}
