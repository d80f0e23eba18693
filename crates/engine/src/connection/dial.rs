//! Opening connections.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use record::Connect;
use wire::target::{Scheme, Target};

use crate::clock::timekeeper::Timekeeper;
use crate::connection::route::Route;
use crate::connection::tls::H2;
use crate::connection::transport::Transport;
use crate::event_loop::within;
use crate::watch::exhaustion::Exhaustion;

/// Opens connections to the target of a run.
#[derive(Debug)]
pub(crate) struct Dialer {
    target: Target,
    route: Route,
    tls: Arc<rustls::ClientConfig>,
    time: Arc<Timekeeper>,
    exhaustion: Arc<Exhaustion>,
    /// Time for connecting, all addresses together.
    patience: Duration,
    /// Which address worked the last time.
    preferred: Cell<usize>,
    /// Nagle's algorithm is left on.
    nagle: bool,
    /// Connections that have been opened in the run.
    opened: Arc<AtomicU32>,
}

/// Why no connection could be opened, for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DialError(String);

impl Dialer {
    pub(crate) fn new(
        target: Target,
        route: Route,
        tls: Arc<rustls::ClientConfig>,
        time: Arc<Timekeeper>,
        exhaustion: Arc<Exhaustion>,
        opened: Arc<AtomicU32>,
        patience: Duration,
    ) -> Self {
        Dialer {
            target,
            route,
            tls,
            time,
            exhaustion,
            patience,
            preferred: Cell::new(0),
            nagle: false,
            opened,
        }
    }

    /// The same for connections with Nagle's algorithm, or without.
    pub(crate) fn with_nagle(self, nagle: bool) -> Dialer {
        Dialer { nagle, ..self }
    }

    /// The address that worked the last time; `None` for a local socket.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match &self.route {
            Route::Tcp(addresses) => addresses.get(self.preferred.get()).copied(),
            Route::Unix(_) => None,
        }
    }

    /// The number of the connection that was just opened, from 1.
    pub(crate) fn next_number(&self) -> u32 {
        self.opened.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Opens a connection and says how long that took.
    pub(crate) async fn dial(&self) -> Result<(Transport, Connect), DialError> {
        let begun = self.time.clock.now();
        let mut transport = self.connect().await?;
        let connected = self.time.clock.now();
        let mut connect = Connect {
            tcp: connected - begun,
            tls: None,
            resumed: None,
        };
        if self.target.scheme() == Scheme::Https {
            transport
                .start_tls(&self.tls, self.target.host())
                .await
                .map_err(|error| self.tls_error(&error))?;
            connect.tls = Some(self.time.clock.now() - connected);
            connect.resumed = transport.has_resumed();
            let wanted = self.tls.alpn_protocols.first().map(Vec::as_slice);
            if wanted == Some(H2) && transport.agreed_protocol() != wanted {
                let authority = self.target.authority();
                return Err(DialError(format!(
                    "{authority} does not offer HTTP/2 over TLS (ALPN); --http 1.1 measures it all the same"
                )));
            }
        }
        Ok((transport, connect))
    }

    async fn connect(&self) -> Result<Transport, DialError> {
        match &self.route {
            Route::Unix(path) => {
                let connected = Transport::unix(path, self.time.clock, &self.exhaustion).await;
                connected.map_err(|error| {
                    self.exhaustion.note(&error);
                    let path = path.display();
                    DialError(format!("connecting to the socket {path} failed: {error}"))
                })
            }
            Route::Tcp(addresses) => self.connect_to_any(addresses).await,
        }
    }

    /// Tries the addresses, first the one that worked the last time. Each has its share of the
    /// time, or one that does not answer would leave nothing for the others.
    async fn connect_to_any(&self, addresses: &[SocketAddr]) -> Result<Transport, DialError> {
        let count = addresses.len();
        let share = self.patience * 9 / 10 / u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let mut failures = Vec::new();
        let mut hint = "";
        for offset in 0..count {
            let index = (self.preferred.get() + offset) % count;
            let address = addresses[index];
            let (clock, stamping) = (self.time.clock, self.time.stamping);
            let tcp = Transport::tcp(address, clock, stamping, &self.exhaustion, self.nagle);
            match within(share, tcp).await {
                Some(Ok(transport)) => {
                    self.preferred.set(index);
                    return Ok(transport);
                }
                Some(Err(error)) => {
                    self.exhaustion.note(&error);
                    hint = connect_hint(error.kind());
                    failures.push(format!("{address}: {}", plain(&error)));
                }
                None => failures.push(format!("{address}: no answer within {share:?}")),
            }
        }
        Err(DialError(format!(
            "connecting failed: {}{hint}",
            failures.join("; ")
        )))
    }

    fn tls_error(&self, error: &io::Error) -> DialError {
        // A server that closes on us may take our greeting for something else.
        let hint = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                "; perhaps it does not speak TLS on this port (http:// instead of https://)"
            }
            _ => "",
        };
        DialError(format!(
            "agreeing upon TLS with {} failed: {}{hint}",
            self.target.authority(),
            plain(error)
        ))
    }
}

/// What to try when no address could be connected to.
fn connect_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::ConnectionRefused => {
            "; check that the server is running, and that the port is right"
        }
        io::ErrorKind::AddrNotAvailable => {
            "; this machine is out of ports, or does not have this kind of address"
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "; is this the right address, and the network up?"
        }
        _ => "",
    }
}

/// The words of an error without the number that the system appends.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server ended the connection".to_owned()
        }
        None => text,
    }
}
