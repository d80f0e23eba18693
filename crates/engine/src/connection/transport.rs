//! A connection as bytes: TCP or a local socket, plain or under TLS, with the moments at which
//! they pass.
//!
//! TLS is run by hand (rustls without an adapter), because the moments of a measurement lie at
//! the socket: the last byte of a request has left when the last byte of its *records* has.
//!
//! The socket is registered with the event loop for reading only. With the kernel's clock its
//! error queue carries stamps, and an event loop that also waits for writing takes those for the
//! end of the connection; who must wait for writing registers once more for that time.

mod proxy_line;

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use record::{Nanos, Segments};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, ipproto,
    socket_with, sockopt,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, HandshakeKind};

use crate::clock::RunClock;
use crate::clock::stamp_book::{Departure, StampBook};
use crate::clock::stamps::{self, RealNanos, Stamping};
use crate::connection::tcp_info::{least_round_trip, segments};
use crate::connection::tls::explained;
use crate::connection::tls_records::Records;
use crate::event_loop::{Source, sleep};
use crate::watch::exhaustion::Exhaustion;

/// A connected socket, perhaps under TLS. All calls but the waits are non-blocking.
///
/// It reads the clock itself, because only here it is known where a system call begins and ends:
/// encrypting and decrypting lie outside.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<TlsSession>>,
    clock: RunClock,
    /// Just before the last call that handed bytes to the kernel.
    pub(crate) offered_at: Nanos,
    /// Just after the last call that took bytes from it.
    pub(crate) arrived_at: Nanos,
    /// TLS ended without close_notify: whoever is on the way may have ended it.
    pub(crate) is_cut_off: bool,
}

/// How closely bytes are looked at as they arrive. Without the kernel's clock there is nothing to
/// see, and all of these are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Stamps are not wanted.
    Away,
    /// The stamp of the first byte is.
    AtFirst,
    /// Several answers may arrive together: the stamps of all of them are.
    AtEach,
    /// The stamp of the next bytes is, so many at most.
    Next(usize),
}

/// Bytes read at once where several answers may arrive together: they share the stamp of the last
/// packet among them.
pub(crate) const BITE: usize = 2 * 1024;

/// A socket and what is known of its stamps.
#[derive(Debug)]
struct Socket {
    source: Source,
    /// With the kernel's clock.
    book: Option<StampBook>,
    arrival: ArrivalStamps,
    exhaustion: Arc<Exhaustion>,
}

/// The stamps of what was taken last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArrivalStamps {
    /// Of its first byte.
    pub(crate) first: Option<RealNanos>,
    /// Of the last packet it has bytes of.
    pub(crate) last: Option<RealNanos>,
}

#[derive(Debug)]
struct TlsSession {
    session: ClientConnection,
    /// We have a certificate for the server.
    shows_certificate: bool,
    records: Records,
    /// A stamp is wanted of what was offered last. The handshake and all but the last piece of a
    /// large body go without: stamps share the room of what arrives, and those of many records
    /// would leave none for the one that counts.
    stamped: bool,
}

impl Socket {
    fn new(source: Source, stamping: Stamping, exhaustion: &Arc<Exhaustion>) -> io::Result<Socket> {
        let book = match stamping {
            Stamping::Off => None,
            Stamping::On { acks } => {
                stamps::enable(source.fd())?;
                Some(StampBook::new(acks))
            }
        };
        Ok(Socket {
            source,
            book,
            arrival: ArrivalStamps::default(),
            exhaustion: Arc::clone(exhaustion),
        })
    }

    fn send(&mut self, bytes: &[u8], stamped: bool) -> io::Result<usize> {
        let fd = self.source.fd();
        let sent = match &self.book {
            Some(book) if stamped => stamps::send(fd, bytes, book.acks()),
            _ => send(fd, bytes),
        };
        let count = sent.inspect_err(|error| self.exhaustion.note(error))?;
        if let Some(book) = &mut self.book {
            book.wrote(count);
        }
        Ok(count)
    }

    /// Takes what has arrived.
    fn receive(&mut self, buffer: &mut [u8], look: Look) -> io::Result<usize> {
        let look = match self.book {
            Some(_) => look,
            None => Look::Away,
        };
        let room = match look {
            Look::AtEach => buffer.len().min(BITE),
            Look::Next(most) => buffer.len().min(most),
            _ => buffer.len(),
        };
        let buffer = &mut buffer[..room];
        if !self.source.is_readable() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let fd = self.source.fd();
        let taken = match look {
            Look::Away => recv(fd, buffer),
            Look::AtFirst | Look::AtEach => receive_closely(fd, buffer, &mut self.arrival),
            Look::Next(_) => stamps::receive(fd, buffer).map(|(count, stamp)| {
                (self.arrival.first, self.arrival.last) = (stamp, stamp);
                count
            }),
        };
        let is_drained = match &taken {
            // Said here, it saves the call that would find out.
            Ok(count) => *count < buffer.len(),
            Err(error) => {
                self.exhaustion.note(error);
                error.kind() == io::ErrorKind::WouldBlock
            }
        };
        if is_drained {
            self.source.is_drained();
        }
        taken
    }

    /// Takes stamps from the error queue, until none is waited for.
    fn collect(&mut self) {
        let Some(book) = &mut self.book else { return };
        while book.waits() && take_stamp(self.source.fd(), book) {}
        if book.is_in_question() && stamps::has_all_left(self.source.fd()) {
            book.has_left();
        }
    }

    /// Waits until it can be read, which is true, or written. The error queue is emptied before:
    /// while there is a stamp in it, the kernel says that one can write.
    async fn either(&mut self) -> io::Result<bool> {
        if let Some(book) = &mut self.book {
            while take_stamp(self.source.fd(), book) {}
        }
        self.source.either().await
    }
}

/// Takes a stamp from the error queue; false when none is there.
fn take_stamp(fd: BorrowedFd<'_>, book: &mut StampBook) -> bool {
    match stamps::take(fd) {
        Ok(Some(stamp)) => {
            book.enter(stamp);
            true
        }
        // An error of the connection shows where bytes are sent and received.
        Ok(None) | Err(_) => false,
    }
}

/// Takes the first byte by itself, because the kernel gives a read the stamp of the *last* packet
/// that it touches. (Packets that it has merged before anybody read have one stamp, the later one:
/// that cannot be undone, and is no more than we were late.)
fn receive_closely(
    fd: BorrowedFd<'_>,
    buffer: &mut [u8],
    arrival: &mut ArrivalStamps,
) -> io::Result<usize> {
    let (first, rest) = buffer.split_at_mut(1);
    let (count, stamp) = stamps::receive(fd, first)?;
    *arrival = ArrivalStamps {
        first: stamp,
        last: stamp,
    };
    if count == 0 {
        return Ok(0);
    }
    match stamps::receive(fd, rest) {
        Ok((0, _)) => Ok(1),
        Ok((more, stamp)) => {
            arrival.last = stamp;
            Ok(1 + more)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(1),
        Err(error) => Err(error),
    }
}

/// Waits until a connection is there, or has failed.
async fn connected(source: &Source) -> io::Result<()> {
    source.writable().await?;
    Ok(sockopt::socket_error(source.fd())??)
}

/// Of new sockets.
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

fn send(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL)?)
}

fn recv(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(fd, buffer, RecvFlags::empty())?.1)
}

/// The socket as rustls reads it: when looking, no further than to the end of a record, so that
/// the stamp is that of the record with the first byte of the answer.
struct Incoming<'a> {
    socket: &'a mut Socket,
    records: &'a mut Records,
    look: Look,
}

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (room, look) = match self.look {
            Look::Away => (buffer.len(), Look::Away),
            _ if self.records.at_start() => (self.records.missing(), Look::AtFirst),
            _ => (self.records.missing(), Look::Away),
        };
        let room = room.min(buffer.len());
        let count = self.socket.receive(&mut buffer[..room], look)?;
        self.records.advance(&buffer[..count]);
        Ok(count)
    }
}

/// The socket as rustls writes to it.
struct Leaving<'a> {
    socket: &'a mut Socket,
    stamped: bool,
}

impl Write for Leaving<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.send(bytes, self.stamped)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Transport {
    /// Connects by TCP; without Nagle's algorithm, unless `nagle` leaves it on.
    pub(crate) async fn tcp(
        address: SocketAddr,
        clock: RunClock,
        stamping: Stamping,
        exhaustion: &Arc<Exhaustion>,
        nagle: bool,
    ) -> io::Result<Transport> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let fd = socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
        if !nagle {
            sockopt::set_tcp_nodelay(&fd, true)?;
        }
        let connecting = connect(&fd, &address);
        let source = Source::new(fd)?;
        match connecting {
            Err(Errno::INPROGRESS) => connected(&source).await?,
            other => other?,
        }
        Transport::new(source, clock, stamping, exhaustion)
    }

    /// Connects to a local socket, which has no stamps.
    pub(crate) async fn unix(
        path: &Path,
        clock: RunClock,
        exhaustion: &Arc<Exhaustion>,
    ) -> io::Result<Transport> {
        let address = SocketAddrUnix::new(path)?;
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        // A listener with a full queue says so at once, and nobody tells when there is room.
        while let Err(error) = connect(&fd, &address) {
            match error {
                Errno::AGAIN => sleep(Duration::from_millis(1)).await,
                other => return Err(other.into()),
            }
        }
        Transport::new(Source::new(fd)?, clock, Stamping::Off, exhaustion)
    }

    fn new(
        source: Source,
        clock: RunClock,
        stamping: Stamping,
        exhaustion: &Arc<Exhaustion>,
    ) -> io::Result<Transport> {
        Ok(Transport {
            socket: Socket::new(source, stamping, exhaustion)?,
            tls: None,
            clock,
            offered_at: 0,
            arrived_at: 0,
            is_cut_off: false,
        })
    }

    /// Agrees upon TLS with the server called `host`.
    pub(crate) async fn start_tls(
        &mut self,
        config: &Arc<ClientConfig>,
        host: &str,
    ) -> io::Result<()> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let shows_certificate = config.client_auth_cert_resolver.has_certs();
        self.tls = Some(Box::new(TlsSession {
            session,
            shows_certificate,
            records: Records::default(),
            stamped: false,
        }));
        loop {
            while self.must_drain() {
                match self.drain() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.wait(true).await?;
                    }
                    Err(error) => return Err(self.alert().unwrap_or(error)),
                    Ok(()) => {}
                }
            }
            let Some(tls) = &mut self.tls else {
                return Ok(());
            };
            if !tls.session.is_handshaking() {
                return Ok(());
            }
            match tls.read(&mut self.socket, Look::Away) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(false).await?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if let Err(error) = tls.session.process_new_packets() {
                // The alert that says why is worth a try; the error is what counts.
                let _ = tls.write(&mut self.socket);
                return Err(explained(&error, shows_certificate));
            }
        }
    }

    /// Why the server ended the handshake, where it said so before something could not be sent to it.
    fn alert(&mut self) -> Option<io::Error> {
        self.look_again();
        let tls = self.tls.as_mut()?;
        while matches!(tls.read(&mut self.socket, Look::Away), Ok(1..)) {
            if let Err(error) = tls.session.process_new_packets() {
                return Some(explained(&error, tls.shows_certificate));
            }
        }
        None
    }

    /// What client and server have agreed to speak over TLS, if they have.
    pub(crate) fn agreed_protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.session.alpn_protocol()
    }

    /// Whether the TLS handshake resumed a session; `None` without TLS.
    pub(crate) fn has_resumed(&self) -> Option<bool> {
        let kind = self.tls.as_ref()?.session.handshake_kind()?;
        Some(kind == HandshakeKind::Resumed)
    }

    /// Waits until the socket can be read or, with `or_write`, written; true when it can be read.
    pub(crate) async fn wait(&mut self, or_write: bool) -> io::Result<bool> {
        if or_write {
            self.socket.either().await
        } else {
            self.socket.source.readable().await;
            Ok(true)
        }
    }

    /// Offers bytes; says how many were taken. Under TLS they may still wait for [`Self::drain`].
    /// With `stamped`, the last byte that the kernel takes gets a stamp. `now` is the time, for who
    /// has just read the clock.
    pub(crate) fn offer(
        &mut self,
        bytes: &[u8],
        stamped: bool,
        now: Option<Nanos>,
    ) -> io::Result<usize> {
        self.drain()?;
        let Some(tls) = &mut self.tls else {
            self.offered_at = now.unwrap_or_else(|| self.clock.now());
            return self.socket.send(bytes, stamped);
        };
        tls.stamped = stamped;
        let taken = tls.session.writer().write(bytes)?;
        match self.drain() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Whether records wait to be written; never so without TLS.
    pub(crate) fn must_drain(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|tls| tls.session.wants_write())
    }

    /// Writes all waiting records.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        while tls.session.wants_write() {
            self.offered_at = self.clock.now();
            tls.write(&mut self.socket)?;
        }
        Ok(())
    }

    /// Takes what has arrived. 0 is the end of the connection.
    pub(crate) fn take(&mut self, buffer: &mut [u8], look: Look) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            let taken = self.socket.receive(buffer, look)?;
            self.arrived_at = self.clock.now();
            return Ok(taken);
        };
        loop {
            match tls.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            let taken = tls.read(&mut self.socket, look)?;
            self.arrived_at = self.clock.now();
            tls.session
                .process_new_packets()
                .map_err(|error| explained(&error, tls.shows_certificate))?;
            if taken == 0 {
                // Without close_notify: HTTP's own framing tells whether something is missing, where it has one.
                self.is_cut_off = true;
                return Ok(0);
            }
        }
    }

    /// The next [`Self::take`] asks the kernel, even where the event loop has seen nothing arrive.
    pub(crate) fn look_again(&self) {
        self.socket.source.may_be_readable();
    }

    /// When the server was seen to end the connection, as a moment of the run.
    pub(crate) fn ended_at(&self) -> Option<Nanos> {
        let at = self.socket.source.ended_at()?;
        Some(self.clock.moment(at))
    }

    /// The stamps of what was taken last, when it was looked at.
    pub(crate) fn arrival(&self) -> ArrivalStamps {
        self.socket.arrival
    }

    /// TCP segments until now; `None` for a local socket, and where the system does not tell.
    pub(crate) fn segments(&self) -> Option<Segments> {
        segments(self.socket.source.fd())
    }

    /// The shortest round trip until now; `None` for a local socket, and where the system does not tell.
    pub(crate) fn least_round_trip(&self) -> Option<Nanos> {
        least_round_trip(self.socket.source.fd())
    }

    /// Notes what is to be found again when its stamp comes: the last byte written until now.
    /// `None` without the kernel's clock.
    pub(crate) fn mark_sent(&mut self) -> Option<u64> {
        self.socket.book.as_mut().map(StampBook::expect)
    }

    /// Takes stamps of what has left from the error queue, as far as any are waited for.
    pub(crate) fn collect_stamps(&mut self) {
        self.socket.collect();
    }

    /// The stamps of what was [marked](Self::mark_sent).
    pub(crate) fn departure(&mut self, mark: u64) -> Departure {
        match &mut self.socket.book {
            Some(book) => book.departure(mark),
            None => Departure::default(),
        }
    }

    /// Whether a stamp for this mark is still to come.
    pub(crate) fn waits_for_stamps(&self, mark: u64) -> bool {
        let book = self.socket.book.as_ref();
        book.is_some_and(|book| book.waits_for(mark))
    }

    /// The kernel forgets that stamps are wanted.
    #[cfg(test)]
    pub(crate) fn stop_stamping(&self) {
        stamps::disable(self.socket.source.fd()).unwrap_or_else(|error| panic!("{error}"));
    }

    /// The same socket, to be looked at from outside.
    #[cfg(test)]
    pub(crate) fn descriptor(&self) -> std::os::fd::OwnedFd {
        let socket = self.socket.source.fd().try_clone_to_owned();
        socket.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Stamps up to this mark are not waited for any more.
    pub(crate) fn give_up_stamps(&mut self, mark: u64) {
        if let Some(book) = &mut self.socket.book {
            book.give_up(mark);
        }
    }
}

impl TlsSession {
    fn read(&mut self, socket: &mut Socket, look: Look) -> io::Result<usize> {
        self.session.read_tls(&mut Incoming {
            socket,
            records: &mut self.records,
            look,
        })
    }

    /// Writes one record, or what is left of one.
    fn write(&mut self, socket: &mut Socket) -> io::Result<usize> {
        let stamped = self.stamped;
        self.session.write_tls(&mut Leaving { socket, stamped })
    }
}
