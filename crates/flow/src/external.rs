//! Other programs as sources of background traffic: `iperf3`, D-ITG, or any command.
//!
//! Nobody can ask their sinks, so they may send to loopback and inside laboratories only, and the
//! address stands in their command as `{destination}`, where this module puts it.

mod process;
mod report;

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use report::{ExternalReport, ExternalTotals};

use crate::FlowError;
use crate::sink::locked;

/// Stands for the destination in the arguments.
pub const DESTINATION: &str = "{destination}";

/// A network that no packet leaves: a laboratory.
pub trait ClosedNetwork {
    /// Whether a host of this network has the address.
    fn contains(&self, address: IpAddr) -> bool;
}

/// An address to which an external generator may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalDestination(IpAddr);

impl ExternalDestination {
    /// An address of this machine.
    ///
    /// # Errors
    /// Where it is not a loopback address.
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
    /// Where it is not in it.
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

/// When a generator is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadyCondition {
    /// As soon as it is started.
    Started,
    /// When a line of its standard output contains this.
    Line(String),
    /// When this TCP port accepts a connection, which is closed at once: not for servers that end
    /// after their first one.
    Port(SocketAddr),
}

/// A generator to start.
#[derive(Debug, Clone)]
pub struct ExternalSettings {
    /// Program and arguments; no shell reads them. One argument at least contains
    /// [`DESTINATION`].
    pub arguments: Vec<String>,
    /// Where it sends.
    pub destination: ExternalDestination,
    /// When it is ready.
    pub ready: ReadyCondition,
    /// How long it may take after SIGTERM; then SIGKILL follows.
    pub stop_patience: Duration,
    /// What its standard output is when it ends.
    pub report: ExternalReport,
}

impl ExternalSettings {
    /// Program and arguments with the destination in its places.
    fn command(&self) -> Result<Vec<String>, FlowError> {
        let destination = self.destination.0.to_string();
        let names_it = self
            .arguments
            .iter()
            .skip(1)
            .any(|own| own.contains(DESTINATION));
        if !names_it {
            return Err(FlowError::Settings(format!(
                "no argument of the external generator contains {DESTINATION}"
            )));
        }
        let arguments = self.arguments.iter();
        Ok(arguments
            .map(|own| own.replace(DESTINATION, &destination))
            .collect())
    }
}

/// How a generator ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalEnd {
    /// Its exit status or signal, for people: "exit status: 0".
    pub status: String,
    /// What its report says; the error says why it cannot be read.
    pub totals: Result<ExternalTotals, String>,
    /// The last lines of its standard error.
    pub error_output: String,
}

/// How far a generator is.
#[derive(Debug, Clone, Default)]
enum ExternalState {
    #[default]
    Starting,
    Ready,
    Ended(Box<Result<ExternalEnd, FlowError>>),
}

#[derive(Debug, Default)]
struct ExternalShared {
    state: Mutex<ExternalState>,
    changed: Condvar,
}

impl ExternalShared {
    fn change(&self, state: ExternalState) {
        *locked(&self.state) = state;
        self.changed.notify_all();
    }
}

/// A generator to start.
#[derive(Debug)]
pub struct ExternalGenerator;

/// A generator that runs. It is stopped when this is dropped, and killed when this process is.
#[derive(Debug)]
pub struct ExternalHandle {
    shared: Arc<ExternalShared>,
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl ExternalGenerator {
    /// Starts a generator; [`ExternalHandle::ready`] waits until it is ready.
    ///
    /// # Errors
    /// Where its command does not name the destination, or no thread can be started.
    pub fn start(settings: ExternalSettings) -> Result<ExternalHandle, FlowError> {
        let command = settings.command()?;
        let shared = Arc::<ExternalShared>::default();
        let (stop, commands) = mpsc::channel();
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("traffic-external".to_owned());
        let keeper = thread
            .spawn(move || {
                let is_ready = || for_thread.change(ExternalState::Ready);
                let ended = process::keep(&command, &settings, &commands, is_ready);
                for_thread.change(ExternalState::Ended(Box::new(ended)));
            })
            .map_err(FlowError::system("start a thread"))?;
        Ok(ExternalHandle {
            shared,
            stop: Some(stop),
            keeper: Some(keeper),
        })
    }
}

impl ExternalHandle {
    fn wait<T>(
        &self,
        patience: Duration,
        what: &str,
        find: impl Fn(&ExternalState) -> Option<T>,
    ) -> Result<T, FlowError> {
        let end = Instant::now() + patience;
        let mut state = locked(&self.shared.state);
        loop {
            if let Some(found) = find(&state) {
                return Ok(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(FlowError::TimedOut {
                    what: what.to_owned(),
                    seconds: patience.as_secs_f64(),
                });
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the generator is ready.
    ///
    /// # Errors
    /// Where it cannot be started, ends before, or `patience` is over.
    pub fn ready(&self, patience: Duration) -> Result<(), FlowError> {
        let what = "the external generator was not ready";
        self.wait(patience, what, |state| match state {
            ExternalState::Starting => None,
            ExternalState::Ready => Some(Ok(())),
            ExternalState::Ended(ended) => Some(match ended.as_ref() {
                Err(error) => Err(error.clone()),
                Ok(end) => Err(FlowError::Settings(format!(
                    "the external generator ended before it was ready ({}): {}",
                    end.status,
                    end.error_output.trim_end()
                ))),
            }),
        })?
    }

    /// Waits until the generator ends by itself.
    ///
    /// # Errors
    /// Where it could not be started, or `patience` is over.
    pub fn finish(&self, patience: Duration) -> Result<ExternalEnd, FlowError> {
        let what = "the external generator did not end";
        self.wait(patience, what, |state| match state {
            ExternalState::Ended(ended) => Some(ended.as_ref().clone()),
            _ => None,
        })?
    }

    /// Stops the generator.
    ///
    /// # Errors
    /// Where it could not be started.
    pub fn stop(mut self) -> Result<ExternalEnd, FlowError> {
        self.end();
        self.finish(Duration::ZERO)
    }

    fn end(&mut self) {
        drop(self.stop.take());
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
