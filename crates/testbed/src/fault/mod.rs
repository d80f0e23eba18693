//! A server with configured faults: a proxy in front of another server, request by request.
//!
//! ```text
//! client --> [TLS] --> [authentication] --> rules --> upstream server
//!                                             |
//!            faults <-------------------------+       every exchange is recorded
//! ```
//!
//! Threads and blocking sockets, so that its delays are as precise as the kernel allows and its
//! time stamps are taken at the system calls. It stores and forwards: a request is read completely,
//! then sent on; a response is read completely, then written. So `request_end` and `first_byte` of
//! a [`ServedExchange`] are a truth that a client's measurement can be compared with.

mod auth;
mod clock;
mod connection;
mod http;
mod reply;
mod rule;
mod socket;
mod tls;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use auth::{Auth, ChallengeAlgorithm, Expiry};
pub use rule::{Fault, Rule};
pub use tls::{Authority, Certificate, ClientIdentity, FaultTls};

use crate::listen::listen;
use http::ServedRequest;
use socket::{FaultSocket, Listener};

/// Connections are threads; a thousand of them should not need gigabytes.
const STACK: usize = 512 * 1024;

/// Size of receive buffers, which connections inherit. A body of one MiB fits: with less, its end
/// waited at the client for 100 us after it was sent, and no record here showed that.
const ROOM: usize = 4 << 20;

/// One request and its response, as seen by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedExchange {
    /// Number of the connection, from 0 in order of acceptance.
    pub connection: u64,
    /// Method of the request.
    pub method: String,
    /// Target of the request, as it was sent.
    pub path: String,
    /// Header lines of the request, in order.
    pub headers: Vec<(String, String)>,
    /// Bytes of the request's body, decoded.
    pub body_len: usize,
    /// Status of the response; `None` without one.
    pub status: Option<u16>,
    /// Arrival of the last byte of the request.
    pub request_end: Instant,
    /// Moment before the first byte of the final response was written; `None` without one.
    pub first_byte: Option<Instant>,
    /// From forwarding the request to the first byte of the upstream server's response.
    pub upstream_time: Option<Duration>,
    /// Actual delay of the response.
    pub delay: Duration,
    forwarded: Option<Instant>,
}

impl ServedExchange {
    /// The server's share of the response time: the least that a client can measure.
    pub fn service_time(&self) -> Option<Duration> {
        Some(self.first_byte?.saturating_duration_since(self.request_end))
    }

    /// The label of a request of Prestan; empty without one.
    pub fn label(&self) -> &str {
        self.header("x-prestan").unwrap_or_default()
    }

    /// First value of a header of the request.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }
}

/// Settings of a [`FaultServer`].
#[derive(Debug, Default)]
pub struct Builder {
    upstream: Option<SocketAddr>,
    listen: Option<SocketAddr>,
    unix: Option<PathBuf>,
    tls: Option<FaultTls>,
    auth: Option<Auth>,
    ends_denied: bool,
    rules: Vec<Rule>,
}

impl Builder {
    /// Server of the responses without a fault; without one they are 502.
    pub fn upstream(mut self, addr: SocketAddr) -> Builder {
        self.upstream = Some(addr);
        self
    }

    /// Listens there instead of on a free port of 127.0.0.1.
    pub fn listen(mut self, addr: SocketAddr) -> Builder {
        self.listen = Some(addr);
        self
    }

    /// Listens on a local socket instead, which is removed at the end.
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Builder {
        self.unix = Some(path.into());
        self
    }

    /// Uses TLS.
    pub fn tls(mut self, tls: FaultTls) -> Builder {
        self.tls = Some(tls);
        self
    }

    /// Requires credentials, and keeps them from the upstream server.
    pub fn auth(mut self, auth: Auth) -> Builder {
        self.auth = Some(auth);
        self
    }

    /// Ends the connection of a request without the required credentials, with `Connection: close`.
    pub fn end_denied(mut self) -> Builder {
        self.ends_denied = true;
        self
    }

    /// Adds a rule. All that match a request apply, in the order of addition; of those that replace
    /// the response, the first.
    pub fn rule(mut self, rule: Rule) -> Builder {
        self.rules.push(rule);
        self
    }

    /// Adds a fault that happens to every request.
    pub fn fault(self, fault: Fault) -> Builder {
        self.rule(Rule::new(fault))
    }

    /// Starts it; it listens when this returns.
    pub fn start(self) -> io::Result<FaultServer> {
        let listener = match self.unix {
            Some(path) => Listener::Unix(UnixListener::bind(&path)?, path),
            None => {
                let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let listener = listen(self.listen.unwrap_or(any))?;
                // If it is refused, large requests only take a little longer to arrive.
                let _ = socket2::SockRef::from(&listener).set_recv_buffer_size(ROOM);
                let addr = listener.local_addr()?;
                Listener::Tcp(listener, addr)
            }
        };
        let shared = Arc::new(Shared {
            upstream: self.upstream,
            tls: self.tls.map(FaultTls::into_config),
            auth: self.auth.map(auth::Guard::new),
            ends_denied: self.ends_denied,
            rules: Mutex::new(self.rules.into_iter().map(|rule| (rule, 0)).collect()),
            exchanges: Mutex::default(),
            sockets: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let listener = Arc::new(listener);
        let accepting = thread::Builder::new()
            .name("fault-server".to_owned())
            .spawn({
                let (shared, listener) = (shared.clone(), listener.clone());
                move || accept(&shared, &listener)
            })?;
        Ok(FaultServer {
            shared,
            listener,
            accepting: Some(accepting),
        })
    }
}

/// A proxy with configured faults; dropping it ends every connection and joins every thread.
#[derive(Debug)]
pub struct FaultServer {
    shared: Arc<Shared>,
    listener: Arc<Listener>,
    accepting: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

impl FaultServer {
    /// A server without upstream, TLS, authentication and faults, to be described further.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Address it listens on; `None` with a local socket.
    pub fn addr(&self) -> Option<SocketAddr> {
        match &*self.listener {
            Listener::Tcp(_, addr) => Some(*addr),
            Listener::Unix(..) => None,
        }
    }

    /// URL of its root; with a local socket, host and port are no more than a name.
    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() {
            "https"
        } else {
            "http"
        };
        match self.addr() {
            Some(addr) => format!("{scheme}://{addr}/"),
            None => format!("{scheme}://localhost/"),
        }
    }

    /// All exchanges so far, in the order of the beginnings of responses.
    pub fn exchanges(&self) -> Vec<ServedExchange> {
        lock(&self.shared.exchanges).clone()
    }

    /// Connections with clients that are open now.
    pub fn connections(&self) -> usize {
        lock(&self.shared.sockets).len()
    }

    /// Adds a rule while it runs.
    pub fn add_rule(&self, rule: Rule) {
        lock(&self.shared.rules).push((rule, 0));
    }

    /// Removes all faults.
    pub fn clear_rules(&self) {
        lock(&self.shared.rules).clear();
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.listener.wake();
        let accepting = self.accepting.take().map(JoinHandle::join);
        // All connections are known now: the accepting thread has ended.
        for socket in lock(&self.shared.sockets).values().flatten() {
            socket.shutdown(Shutdown::Both);
        }
        for connection in accepting.into_iter().flatten().flatten() {
            connection.thread().unpark();
            // The thread has ended, with or without a panic, which was printed.
            let _ = connection.join();
        }
        if let Listener::Unix(_, path) = &*self.listener {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// State shared by the connections.
#[derive(Debug)]
struct Shared {
    upstream: Option<SocketAddr>,
    tls: Option<Arc<rustls::ServerConfig>>,
    auth: Option<auth::Guard>,
    ends_denied: bool,
    /// Each with the number of requests that it matched.
    rules: Mutex<Vec<(Rule, u64)>>,
    exchanges: Mutex<Vec<ServedExchange>>,
    /// Copies of every connection's sockets, to shut down blocked calls.
    sockets: Mutex<HashMap<u64, Vec<FaultSocket>>>,
    stopping: AtomicBool,
}

impl Shared {
    fn faults(&self, request: &ServedRequest) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (rule, count) in lock(&self.rules).iter_mut() {
            if rule.matches(request) {
                *count += 1;
                if rule.applies(*count) {
                    faults.push(rule.fault.clone());
                }
            }
        }
        faults
    }

    /// Stamped here, as close before the write as can be.
    fn record(&self, mut exchange: ServedExchange, responded: bool) {
        let mut exchanges = lock(&self.exchanges);
        exchange.first_byte = responded.then(Instant::now);
        exchanges.push(exchange);
    }

    fn remember(&self, connection: u64, socket: &FaultSocket) -> io::Result<()> {
        let copy = socket.try_clone()?;
        lock(&self.sockets)
            .entry(connection)
            .or_default()
            .push(copy);
        // Too late to be shut down with the others, perhaps.
        if self.stopping.load(Ordering::Relaxed) {
            Err(io::Error::other("the fault server is stopping"))
        } else {
            Ok(())
        }
    }

    fn forget(&self, connection: u64) {
        lock(&self.sockets).remove(&connection);
    }
}

fn accept(shared: &Arc<Shared>, listener: &Listener) -> Vec<JoinHandle<()>> {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    for id in 0.. {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::Relaxed) {
            break;
        }
        connections.retain(|connection| !connection.is_finished());
        let Ok(socket) = accepted else {
            continue; // that client has gone already
        };
        if shared.remember(id, &socket).is_err() {
            continue;
        }
        let thread = thread::Builder::new().stack_size(STACK);
        let serve = {
            let shared = shared.clone();
            move || connection::serve(&shared, id, socket)
        };
        match thread.spawn(serve) {
            Ok(connection) => connections.push(connection),
            Err(error) => {
                eprintln!("fault server: no thread for connection {id}: {error}");
                shared.forget(id);
            }
        }
    }
    connections
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A connection that panicked has spoilt nothing that others rely on.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
