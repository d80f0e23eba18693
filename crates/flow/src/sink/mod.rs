//! The sink: agrees to flows within the limits of its user, and counts what arrives.

mod arrivals;
mod data;
mod limits;
mod ports;
mod session;

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

pub use limits::{PermittedPeers, SinkLimits, exceeds};

use crate::message::{FlowGroup, SinkCounts};
use crate::{FlowError, SharedToken};
use data::DataThread;
use limits::Grants;

/// Connections that may be receiving their refusal at the same time.
const MOST_REFUSALS: usize = 64;
/// Connections from one address that may be without an introduction at a time, so that a silent
/// program takes no slots of sources elsewhere. Beyond this number the oldest one is closed: a
/// source introduces itself at once.
const MOST_SILENT: usize = 32;
/// Minimum time for an introduction, before the connection is closed to make room.
const GREETING: Duration = Duration::from_millis(200);
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// Settings of a sink.
#[derive(Debug, Clone)]
pub struct SinkSettings {
    /// Address of the control port; port 0 is any.
    pub listen: SocketAddr,
    /// The token that sources must share.
    pub token: SharedToken,
    /// The limits of agreements.
    pub limits: SinkLimits,
}

/// Counts of events at a sink.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SinkStatus {
    /// Sources that are being served, without those that have their last counts.
    pub sessions: u32,
    /// Flows that are agreed.
    pub flows: u32,
    /// Datagrams that belong to no flow.
    pub strange_datagrams: u64,
    /// Connections to data ports that belong to no flow.
    pub strange_connections: u64,
    /// Sources that were refused or lost.
    pub failed_sessions: u64,
    /// Reason of the last failure.
    pub last_failure: Option<String>,
}

/// The flows of one source at a sink.
#[derive(Debug, Clone)]
pub struct SessionReading {
    /// Address of the source.
    pub peer: SocketAddr,
    /// The agreed groups.
    pub groups: Vec<FlowGroup>,
    /// Time since the agreement.
    pub elapsed: Duration,
    /// Counts at the last full second, in the order of the groups.
    pub flows: Vec<SinkCounts>,
}

/// A sink to start.
#[derive(Debug)]
pub struct TrafficSink;

/// State shared by the threads of a sink.
#[derive(Debug)]
struct SinkShared {
    token: SharedToken,
    grants: Grants,
    is_stopping: AtomicBool,
    wake: OwnedFd,
    strange_datagrams: AtomicU64,
    strange_connections: AtomicU64,
    failed_sessions: AtomicU64,
    last_failure: Mutex<Option<String>>,
    /// Readings by the numbers of their sessions.
    readings: Mutex<Vec<(u64, SessionReading)>>,
    /// Connections that have not introduced themselves, the oldest first.
    silent: Mutex<Vec<SilentConnection>>,
}

#[derive(Debug)]
struct SilentConnection {
    /// Number of its session.
    number: u64,
    peer: IpAddr,
    stream: TcpStream,
    since: Instant,
}

impl SinkShared {
    /// Notes a connection without an introduction. If its address has many of these, or no session
    /// is free, the oldest one is closed.
    fn note_silent(&self, number: u64, peer: IpAddr, stream: TcpStream, is_full: bool) {
        let is_alike = |other: &SilentConnection| is_full || other.peer == peer;
        let mut silent = locked(&self.silent);
        let oldest = silent.iter().position(is_alike);
        let alike = silent.iter().filter(|other| is_alike(other)).count();
        if let Some(index) = oldest.filter(|_| is_full || alike >= MOST_SILENT) {
            let oldest = silent.remove(index);
            drop(silent);
            // A source that has just connected gets time to introduce itself.
            thread::sleep(GREETING.saturating_sub(oldest.since.elapsed()));
            // The connection may have ended by itself.
            let _ = oldest.stream.shutdown(Shutdown::Both);
            silent = locked(&self.silent);
        }
        silent.push(SilentConnection {
            number,
            peer,
            stream,
            since: Instant::now(),
        });
    }

    /// The connection of a session has introduced itself, or has ended.
    fn forget_silent(&self, number: u64) {
        locked(&self.silent).retain(|connection| connection.number != number);
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    fn failed(&self, reason: String) {
        self.failed_sessions.fetch_add(1, Ordering::Relaxed);
        *locked(&self.last_failure) = Some(reason);
    }
}

/// Locks a mutex. The value is still good if a thread panicked with the lock: values are replaced
/// as a whole.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running sink. It stops when this is dropped.
#[derive(Debug)]
pub struct SinkHandle {
    address: SocketAddr,
    shared: Arc<SinkShared>,
    acceptor: Option<JoinHandle<()>>,
}

impl TrafficSink {
    /// Starts a sink.
    ///
    /// # Errors
    /// The control port cannot be opened or a thread cannot be started.
    pub fn start(settings: SinkSettings) -> Result<SinkHandle, FlowError> {
        let what = format!("listen on {}", settings.listen);
        let listener = TcpListener::bind(settings.listen).map_err(FlowError::system(&what))?;
        let set = listener.set_nonblocking(true);
        set.map_err(FlowError::system(&what))?;
        let address = listener.local_addr().map_err(FlowError::system(&what))?;
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let wake = wake.map_err(|error| FlowError::system("eventfd")(error.into()))?;
        let shared = Arc::new(SinkShared {
            token: settings.token,
            grants: Grants::new(settings.limits),
            is_stopping: AtomicBool::new(false),
            wake,
            strange_datagrams: AtomicU64::new(0),
            strange_connections: AtomicU64::new(0),
            failed_sessions: AtomicU64::new(0),
            last_failure: Mutex::default(),
            readings: Mutex::default(),
            silent: Mutex::default(),
        });
        let data = DataThread::start(Arc::clone(&shared))?;
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("traffic-accept".to_owned());
        let acceptor = thread
            .spawn(move || accept(&listener, &for_thread, data))
            .map_err(FlowError::system("start a thread"))?;
        Ok(SinkHandle {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }
}

impl SinkHandle {
    /// Address of the control port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Counts of events until now.
    pub fn status(&self) -> SinkStatus {
        let shared = &self.shared;
        let (sessions, flows) = shared.grants.in_use();
        SinkStatus {
            sessions,
            flows,
            strange_datagrams: shared.strange_datagrams.load(Ordering::Relaxed),
            strange_connections: shared.strange_connections.load(Ordering::Relaxed),
            failed_sessions: shared.failed_sessions.load(Ordering::Relaxed),
            last_failure: locked(&shared.last_failure).clone(),
        }
    }

    /// Counts of each connected source, at its last full second.
    pub fn readings(&self) -> Vec<SessionReading> {
        let readings = locked(&self.shared.readings);
        let readings = readings.iter().map(|(_, reading)| reading);
        readings.cloned().collect()
    }

    /// Stops the sink, and notifies its sources.
    pub fn stop(self) {}
}

impl Drop for SinkHandle {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        // Writing fails when the counter is full, and then the thread wakes up all the same.
        let _ = rustix::io::write(&self.shared.wake, &1_u64.to_ne_bytes());
        if let Some(acceptor) = self.acceptor.take() {
            // A panic of that thread has been printed.
            let _ = acceptor.join();
        }
    }
}

/// Accepts sources until the sink stops, and waits for their sessions.
fn accept(listener: &TcpListener, shared: &Arc<SinkShared>, data: DataThread) {
    let mut sessions: Vec<JoinHandle<()>> = Vec::new();
    let mut number = 0;
    while !shared.is_stopping() {
        let mut polled = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(&shared.wake, PollFlags::IN),
        ];
        // A signal interrupts the call; then the loop checks again.
        let _ = poll(&mut polled, None);
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    // Too many open files, for example: the connection waits.
                    thread::sleep(PAUSE);
                }
                continue;
            }
        };
        sessions.retain(|session| !session.is_finished());
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let Ok(copy) = stream.try_clone() else {
            continue;
        };
        let most = shared.grants.most_sessions() + MOST_REFUSALS;
        number += 1;
        shared.note_silent(number, peer.ip(), copy, sessions.len() >= most);
        if sessions.len() >= most + MOST_SILENT {
            // Closed without a message: too many connections wait for theirs.
            shared.forget_silent(number);
            continue;
        }
        let commands = data.commands();
        let for_thread = Arc::clone(shared);
        let serve = move || session::serve(stream, peer, number, &for_thread, &commands);
        let thread = thread::Builder::new().name("traffic-session".to_owned());
        match thread.spawn(serve) {
            Ok(session) => sessions.push(session),
            Err(error) => {
                shared.forget_silent(number);
                shared.failed(format!("session of {peer}: start a thread: {error}"));
            }
        }
    }
    for session in sessions {
        let _ = session.join();
    }
}
