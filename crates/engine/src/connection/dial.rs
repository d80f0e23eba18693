//! Opening connections.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use record::{Connect, Http, Nanos};
use wire::target::{Scheme, Target};

use crate::clock::timekeeper::Timekeeper;
use crate::connection::addresses::{Addresses, Destination};
use crate::connection::tls::H2;
use crate::connection::transport::Transport;
use crate::event_loop::within;
use crate::watch::exhaustion::Exhaustion;

/// Time after which the next address is tried in addition to one that has not responded (RFC 8305,
/// section 5), unless that is known to take longer.
pub(crate) const NEXT_ADDRESS: Duration = Duration::from_millis(250);
/// Why a server closes a connection at once.
pub(crate) const PROXY_LINE: &str =
    "the server expects a line of the PROXY protocol first (--haproxy-protocol)";
/// Time without any response after which that is reported.
const SILENCE: Duration = Duration::from_secs(1);

/// Opens connections to the target of a run.
#[derive(Debug)]
pub(crate) struct Dialer {
    target: Target,
    destination: Destination,
    tls: Arc<rustls::ClientConfig>,
    time: Arc<Timekeeper>,
    exhaustion: Arc<Exhaustion>,
    /// Time for connecting to all addresses together.
    patience: Duration,
    /// Nagle's algorithm is left on.
    nagle: bool,
    /// Connections begin with a line of the PROXY protocol.
    haproxy_protocol: bool,
    /// Connections that have been opened in the run.
    opened: Arc<AtomicU32>,
}

pub(crate) struct DialedConnection {
    pub(crate) transport: Transport,
    pub(crate) connect: Connect,
    /// Its number in the run, from 1.
    pub(crate) number: u32,
    /// Its address; `None` for a local socket.
    pub(crate) address: Option<SocketAddr>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DialError(String);

/// A connection that is being opened.
struct PendingConnection<'a> {
    index: usize,
    begun: Nanos,
    opening: Pin<Box<dyn Future<Output = io::Result<Transport>> + 'a>>,
}

impl Dialer {
    pub(crate) fn new(
        target: Target,
        destination: Destination,
        tls: Arc<rustls::ClientConfig>,
        time: Arc<Timekeeper>,
        exhaustion: Arc<Exhaustion>,
        opened: Arc<AtomicU32>,
        patience: Duration,
    ) -> Self {
        Dialer {
            target,
            destination,
            tls,
            time,
            exhaustion,
            patience,
            nagle: false,
            haproxy_protocol: false,
            opened,
        }
    }

    /// The same for connections with other options.
    pub(crate) fn beginning_as(self, http: &Http) -> Dialer {
        Dialer {
            nagle: http.nagle,
            haproxy_protocol: http.haproxy_protocol,
            ..self
        }
    }

    /// Connections may go to several addresses.
    pub(crate) fn has_several_addresses(&self) -> bool {
        self.destination.has_several()
    }

    pub(crate) async fn dial(&self) -> Result<DialedConnection, DialError> {
        let begun = self.time.clock.now();
        let (mut transport, address) = self.connect().await?;
        if self.haproxy_protocol {
            let sent = transport.send_proxy_line(address).await;
            sent.map_err(|error| {
                DialError(format!(
                    "sending the line of the PROXY protocol failed: {}",
                    plain(&error)
                ))
            })?;
        }
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
        Ok(DialedConnection {
            transport,
            connect,
            number: self.opened.fetch_add(1, Ordering::Relaxed) + 1,
            address,
        })
    }

    async fn connect(&self) -> Result<(Transport, Option<SocketAddr>), DialError> {
        match &self.destination {
            Destination::Unix(path) => {
                let connected = Transport::unix(path, self.time.clock, &self.exhaustion).await;
                let connected = connected.map_err(|error| {
                    self.exhaustion.note(&error);
                    let path = path.display();
                    DialError(format!("connecting to the socket {path} failed: {error}"))
                });
                Ok((connected?, None))
            }
            Destination::Tcp(addresses) => {
                let (transport, index) = self.connect_to_any(addresses).await?;
                Ok((transport, Some(addresses.address(index))))
            }
        }
    }

    /// Tries the addresses in their order, each a moment after the one before it, or at once if
    /// that has failed. The first that responds is taken.
    async fn connect_to_any(&self, addresses: &Addresses) -> Result<(Transport, usize), DialError> {
        let begun = self.time.clock.now();
        // An operation has another time limit, whose message would be less informative.
        let limit = self.patience * 9 / 10;
        let order = addresses.order();
        // A short limit is shared by all of them.
        let share = limit / (order.len() as u32).max(1);
        let mut waiting = order.into_iter();
        let mut open: Vec<PendingConnection<'_>> = Vec::new();
        let mut failures = Vec::new();
        let mut hint = "";
        // Until then the last one that was begun is awaited alone.
        let mut alone_until = begun;
        loop {
            let now = self.time.clock.now();
            let elapsed = Duration::from_nanos(now - begun);
            let left = limit.saturating_sub(elapsed);
            if !left.is_zero()
                && now >= alone_until
                && let Some(index) = waiting.next()
            {
                let moment = addresses.moment(index).min(share);
                alone_until = now + moment.as_nanos() as Nanos;
                open.push(PendingConnection {
                    index,
                    begun: now,
                    opening: Box::pin(self.attempt(addresses.address(index))),
                });
            }
            if open.is_empty() || left.is_zero() {
                break;
            }
            // They are in the order of their beginnings.
            let is_silent =
                |one: &PendingConnection<'_>| Duration::from_nanos(now - one.begun) >= SILENCE;
            let silent = &open[..open.partition_point(is_silent)];
            let mut pause = left;
            if silent.is_empty() {
                pause = pause.min(SILENCE - Duration::from_nanos(now - open[0].begun));
            } else {
                addresses.report_once(|| silence(&named(addresses, silent), left));
            }
            if waiting.len() > 0 {
                pause = pause.min(Duration::from_nanos(alone_until.saturating_sub(now)));
            }
            match within(pause, first_to_end(&mut open)).await {
                Some((at, ended, Ok(transport))) => {
                    // Those that began later had less time.
                    open[..at]
                        .iter()
                        .for_each(|earlier| addresses.put_off(earlier.index));
                    addresses.accepted(ended.index, self.time.clock.now() - ended.begun);
                    return Ok((transport, ended.index));
                }
                Some((_, ended, Err(error))) => {
                    self.exhaustion.note(&error);
                    hint = connect_hint(error.kind());
                    if is_of_address(error.kind()) {
                        addresses.put_off(ended.index);
                    }
                    let address = addresses.address(ended.index);
                    failures.push(format!("{address}: {}", plain(&error)));
                    alone_until = begun;
                }
                None => {}
            }
        }
        open.iter()
            .for_each(|silent| addresses.put_off(silent.index));
        for address in named(addresses, &open) {
            failures.push(format!("{address}: no response within {limit:?}"));
            hint = NOTHING_CAME;
        }
        Err(DialError(format!(
            "connecting failed: {}{hint}",
            failures.join("; ")
        )))
    }

    fn attempt(&self, address: SocketAddr) -> impl Future<Output = io::Result<Transport>> {
        let (clock, stamping) = (self.time.clock, self.time.stamping);
        Transport::tcp(address, clock, stamping, &self.exhaustion, self.nagle)
    }

    fn tls_error(&self, error: &io::Error) -> DialError {
        // A server that closes the connection may take the greeting for something else.
        let perhaps = "perhaps it does not speak TLS on this port (http:// instead of https://)";
        let hint = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
                if self.haproxy_protocol =>
            {
                format!("; {perhaps}")
            }
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                format!("; {perhaps}, or {PROXY_LINE}")
            }
            _ => String::new(),
        };
        DialError(format!(
            "agreeing upon TLS with {} failed: {}{hint}",
            self.target.authority(),
            plain(error)
        ))
    }
}

/// Waits for one of several attempts to end, and removes it: its index among them, and its result.
async fn first_to_end<'a>(
    open: &mut Vec<PendingConnection<'a>>,
) -> (usize, PendingConnection<'a>, io::Result<Transport>) {
    poll_fn(|context| {
        let polled = open.iter_mut().enumerate();
        let mut ended = polled.filter_map(|(at, one)| match one.opening.as_mut().poll(context) {
            Poll::Ready(result) => Some((at, result)),
            Poll::Pending => None,
        });
        match ended.next() {
            Some((at, result)) => Poll::Ready((at, open.remove(at), result)),
            None => Poll::Pending,
        }
    })
    .await
}

fn named(addresses: &Addresses, open: &[PendingConnection<'_>]) -> Vec<String> {
    let all = open.iter().map(|one| addresses.address(one.index));
    all.map(|address| address.to_string()).collect()
}

/// The report about addresses that have not responded for a while.
fn silence(addresses: &[String], left: Duration) -> String {
    format!(
        "connecting to {}: no response within {SILENCE:?}{NOTHING_CAME} Waiting for {:.0} s more",
        addresses.join(", "),
        left.as_secs_f64()
    )
}

/// Added to the attempts if there was no response of any kind.
const NOTHING_CAME: &str =
    "; nothing came back: is the host down, or does a firewall drop packets?";

/// True if an error concerns the address, so that others come before it from then on; else it
/// concerns this machine.
fn is_of_address(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        kind,
        Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::TimedOut
    )
}

/// Advice when no address could be connected to.
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

/// The text of an error without the number that the system appends.
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

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use record::{AddressChoice, EventKind};

    use super::*;
    use crate::clock::RunClock;
    use crate::connection::route::Route;
    use crate::connection::tls::{TlsOptions, tls_config};
    use crate::event_loop::EventLoop;
    use crate::watch::journal::Journal;
    use crate::watch::progress::Silent;

    #[test]
    fn an_address_that_had_long_is_reported_after_a_second_and_alone() {
        let [silent, sound] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [at, next] = [&silent, &sound].map(|listener| listener.local_addr().unwrap());
        // The queue is full, so that all others are dropped.
        rustix::net::listen(&silent, 0).unwrap();
        let connect = || TcpStream::connect_timeout(&at, Duration::from_millis(300)).ok();
        let _waiting: Vec<TcpStream> = std::iter::from_fn(connect).collect();

        let time = Arc::new(Timekeeper::plain(RunClock::start()));
        let journal = Arc::new(Journal::new(time.clock, Arc::new(Silent), 0));
        let route = Route::Tcp(vec![at, next]);
        let destination = Destination::new(&route, AddressChoice::First, 7, &journal);
        let Destination::Tcp(addresses) = destination.clone() else {
            unreachable!("it is a route by TCP")
        };
        addresses.accepted(0, 3_000_000_000);
        let target = Target::parse("http://two.example/").unwrap();
        let tls = tls_config(&TlsOptions::default(), target.scheme()).unwrap();
        let (none, opened) = (Arc::default(), Arc::default());
        // Each has half of nine tenths of it.
        let patience = Duration::from_secs(4);
        let dialer = Dialer::new(target, destination, tls, time, none, opened, patience);
        let dialed = EventLoop::new().unwrap().run(dialer.dial());
        assert_eq!(dialed.unwrap().address, Some(next));

        let events = journal.events();
        let [event] = events.as_slice() else {
            panic!("{events:?}")
        };
        let EventKind::Warning { text } = &event.kind else {
            panic!("{event:?}")
        };
        assert!(
            text.starts_with(&format!("connecting to {at}: no response within 1s")),
            "{text}"
        );
    }
}
