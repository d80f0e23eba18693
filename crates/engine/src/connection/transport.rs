//! A connection as bytes: TCP or a local socket, plain or under TLS, with the moments at which they
//! pass.
//!
//! TLS is driven explicitly (rustls without an adapter), because the moments of a measurement lie
//! at the socket: the last byte of a request has left when the last byte of its *records* has.
//!
//! The socket is registered with the event loop for reading only. With the kernel's clock its error
//! queue carries stamps, and an event loop that also waits for writing takes those for the end of
//! the connection; a task that must wait for writing registers again for that time.

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
use crate::clock::stamp_book::StampBook;
use crate::clock::stamps::{self, RealNanos, Stamping};
use crate::clock::timekeeper::Stamps;
use crate::connection::tcp_info::{least_round_trip, segments};
use crate::connection::tls::explained;
use crate::connection::tls_records::Records;
use crate::event_loop::{Source, sleep};
use crate::watch::exhaustion::Exhaustion;

/// A connected socket, perhaps under TLS. All calls but the waits are non-blocking.
///
/// The clock is read here, because only this type sees the beginning and end of a system call:
/// encrypting and decrypting lie outside.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<TlsSession>>,
    clock: RunClock,
    /// Just before the last call that passed bytes to the kernel.
    pub(crate) offered_at: Nanos,
    /// Just after the last call that took bytes from it.
    pub(crate) arrived_at: Nanos,
    /// TLS ended without close_notify: an attacker on the path may have ended it.
    pub(crate) is_cut_off: bool,
}

/// Precision of reading bytes as they arrive. Without the kernel's clock there are no stamps, and
/// all of these are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Without stamps.
    Away,
    /// With the stamp of the first byte.
    AtFirst,
    /// With the stamps of all responses, several of which may arrive together.
    AtEach,
    /// With the stamp of the next bytes, at most this many.
    Next(usize),
}

/// Bytes read at once if several responses may arrive together: they share the stamp of the last
/// packet among them.
pub(crate) const BITE: usize = 2 * 1024;
/// A stamp of the departure may come after the response; it is waited for this many times, a
/// millisecond each, before it counts as missed.
pub(crate) const STAMP_PATIENCE: u32 = 5;

#[derive(Debug)]
struct Socket {
    source: Source,
    /// With the kernel's clock.
    book: Option<StampBook>,
    arrival: ArrivalStamps,
    exhaustion: Arc<Exhaustion>,
}

/// The stamps of the bytes that were taken last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArrivalStamps {
    pub(crate) first: Option<RealNanos>,
    /// Stamp of the last packet that contributed bytes.
    pub(crate) last: Option<RealNanos>,
}

#[derive(Debug)]
struct TlsSession {
    session: ClientConnection,
    /// There is a certificate for the server.
    shows_certificate: bool,
    records: Records,
    /// A stamp is needed for the last offered bytes. The handshake and all but the last piece of a
    /// large body have none: stamps share the memory of arrivals, and those of many records would
    /// leave none for the relevant one.
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
            // This saves the call that would return the same.
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

    /// Takes stamps from the error queue, until none is missing.
    fn collect(&mut self) {
        let Some(book) = &mut self.book else { return };
        while book.waits() && take_stamp(self.source.fd(), book) {}
        if book.is_in_question() && stamps::has_all_left(self.source.fd()) {
            book.has_left();
        }
    }

    /// Waits until it is readable, which is true, or writable. The error queue is emptied before:
    /// while it contains a stamp, the kernel reports the socket as writable.
    async fn either(&mut self) -> io::Result<bool> {
        if let Some(book) = &mut self.book {
            while take_stamp(self.source.fd(), book) {}
        }
        self.source.either().await
    }
}

/// Takes a stamp from the error queue; false if it is empty.
fn take_stamp(fd: BorrowedFd<'_>, book: &mut StampBook) -> bool {
    match stamps::take(fd) {
        Ok(Some(stamp)) => {
            book.enter(stamp);
            true
        }
        // An error of the connection shows when sending and receiving.
        Ok(None) | Err(_) => false,
    }
}

/// Takes the first byte separately, because the kernel gives a read the stamp of the *last* packet
/// that it touches. (Packets that it has merged before the read have one stamp, the later one: that
/// cannot be undone, and does not exceed the delay of the read.)
fn receive_closely(
    fd: BorrowedFd<'_>,
    buffer: &mut [u8],
    arrival: &mut ArrivalStamps,
) -> io::Result<usize> {
    let (first, rest) = buffer.split_at_mut(1);
    let (count, stamp) = stamps::receive(fd, first)?;
    (arrival.first, arrival.last) = (stamp, stamp);
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

/// Waits until a connection is established, or has failed.
async fn connected(source: &Source) -> io::Result<()> {
    source.writable().await?;
    Ok(sockopt::socket_error(source.fd())??)
}

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

fn send(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL)?)
}

fn recv(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(fd, buffer, RecvFlags::empty())?.1)
}

/// The socket as rustls reads it: with stamps, only to the end of a record, so that the stamp is
/// that of the record with the first byte of the response.
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
        // A listener with a full queue fails at once, and there is no notification when it has
        // room.
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

    /// Performs the TLS handshake with the server called `host`.
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
                // Sending the alert with the reason is best effort; the error is what counts.
                let _ = tls.write(&mut self.socket);
                return Err(explained(&error, shows_certificate));
            }
        }
    }

    /// Why the server ended the handshake, if its alert came before a write failed.
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

    /// The protocol that client and server have agreed upon over TLS, if they have.
    pub(crate) fn agreed_protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.session.alpn_protocol()
    }

    /// True if the TLS handshake resumed a session; `None` without TLS.
    pub(crate) fn has_resumed(&self) -> Option<bool> {
        let kind = self.tls.as_ref()?.session.handshake_kind()?;
        Some(kind == HandshakeKind::Resumed)
    }

    /// Waits until the socket is readable or, with `or_write`, writable; true when it is readable.
    pub(crate) async fn wait(&mut self, or_write: bool) -> io::Result<bool> {
        if or_write {
            self.socket.either().await
        } else {
            self.socket.source.readable().await;
            Ok(true)
        }
    }

    /// Offers bytes; returns how many were taken. Under TLS they may still wait for
    /// [`Self::drain`]. With `stamped`, the last byte that the kernel takes gets a stamp. `now` is
    /// the time, if the clock has just been read.
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

    /// True if records wait to be written; never without TLS.
    pub(crate) fn must_drain(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|tls| tls.session.wants_write())
    }

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

    /// Takes received bytes. 0 is the end of the connection.
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
            let processed = tls.session.process_new_packets();
            processed.map_err(|error| explained(&error, tls.shows_certificate))?;
            if taken == 0 {
                // Without close_notify: HTTP's framing shows if something is missing, if there is
                // one.
                self.is_cut_off = true;
                return Ok(0);
            }
        }
    }

    /// Makes the next [`Self::take`] ask the kernel, even without an event of the event loop.
    pub(crate) fn look_again(&self) {
        self.socket.source.may_be_readable();
    }

    /// When the server was seen to end the connection, as a moment of the run.
    pub(crate) fn ended_at(&self) -> Option<Nanos> {
        let at = self.socket.source.ended_at()?;
        Some(self.clock.moment(at))
    }

    /// The stamps of the bytes that were taken last, if requested.
    pub(crate) fn arrival(&self) -> ArrivalStamps {
        self.socket.arrival
    }

    /// TCP segments so far; `None` for a local socket, and if the system does not report them.
    pub(crate) fn segments(&self) -> Option<Segments> {
        segments(self.socket.source.fd())
    }

    /// The shortest round trip so far; `None` for a local socket, and if the system does not report
    /// it.
    pub(crate) fn least_round_trip(&self) -> Option<Nanos> {
        least_round_trip(self.socket.source.fd())
    }

    /// Marks the last written byte, whose stamp is to be found later. `None` without the kernel's
    /// clock.
    pub(crate) fn mark_sent(&mut self) -> Option<u64> {
        self.socket.book.as_mut().map(StampBook::expect)
    }

    pub(crate) fn collect_stamps(&mut self) {
        self.socket.collect();
    }

    /// Takes the stamps up to a mark; waits briefly for missing ones if they are needed. Sets the
    /// departure of `stamps` as it becomes known: a wait that is aborted loses nothing.
    pub(crate) async fn settle(
        &mut self,
        mark: u64,
        are_needed: bool,
        mut stamps: Option<&mut Stamps>,
    ) {
        let mut patience = if are_needed { STAMP_PATIENCE } else { 0 };
        loop {
            self.socket.collect();
            if let Some(stamps) = stamps.as_deref_mut() {
                self.set_departure(mark, stamps);
            }
            match &mut self.socket.book {
                Some(book) if !book.waits_for(mark) => return,
                Some(book) if patience == 0 => return book.give_up(mark),
                Some(_) => {}
                None => return,
            }
            patience -= 1;
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Sets the departure of [marked](Self::mark_sent) bytes.
    pub(crate) fn set_departure(&mut self, mark: u64, stamps: &mut Stamps) {
        if let (Some(book), Some(kernel)) = (&mut self.socket.book, &mut stamps.kernel) {
            let departure = book.departure(mark);
            (kernel.sent, kernel.acked) = (departure.sent, departure.acked);
        }
    }

    /// Disables stamps in the kernel.
    #[cfg(test)]
    pub(crate) fn stop_stamping(&self) {
        stamps::disable(self.socket.source.fd()).unwrap_or_else(|error| panic!("{error}"));
    }

    /// The same socket, for observation from outside.
    #[cfg(test)]
    pub(crate) fn descriptor(&self) -> std::os::fd::OwnedFd {
        let socket = self.socket.source.fd().try_clone_to_owned();
        socket.unwrap_or_else(|error| panic!("{error}"))
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

    fn write(&mut self, socket: &mut Socket) -> io::Result<usize> {
        let stamped = self.stamped;
        self.session.write_tls(&mut Leaving { socket, stamped })
    }
}
