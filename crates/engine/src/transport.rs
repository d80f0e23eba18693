//! A connection as bytes: TCP or a local socket, plain or under TLS.
//!
//! TLS is run by hand (rustls without an adapter), because the moments of a measurement lie at
//! the socket: the last byte of a request has left when the last byte of its *records* has.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use record::Nanos;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use tokio::io::{Interest, Ready};
use tokio::net::{TcpStream, UnixStream};

use crate::clock::RunClock;

/// A connected socket.
#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        match self {
            Socket::Tcp(socket) => socket.ready(interest).await,
            Socket::Unix(socket) => socket.ready(interest).await,
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.try_read(buffer),
            Socket::Unix(socket) => socket.try_read(buffer),
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.try_write(bytes),
            Socket::Unix(socket) => socket.try_write(bytes),
        }
    }
}

/// rustls wants `Read` and `Write`; the socket's non-blocking calls are just that.
impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_read(buffer)
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connected socket, perhaps under TLS. All calls are non-blocking.
///
/// It reads the clock itself, because only here it is known where a system call begins and ends:
/// encrypting and decrypting lie outside.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    clock: RunClock,
    /// Just before the last call that handed bytes to the kernel.
    pub(crate) offered_at: Nanos,
    /// Just after the last call that took bytes from it.
    pub(crate) arrived_at: Nanos,
}

impl Transport {
    /// Connects by TCP, without Nagle's algorithm.
    pub(crate) async fn tcp(address: SocketAddr, clock: RunClock) -> io::Result<Transport> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Transport::new(Socket::Tcp(socket), clock))
    }

    /// Connects to a local socket.
    pub(crate) async fn unix(path: &Path, clock: RunClock) -> io::Result<Transport> {
        let socket = UnixStream::connect(path).await?;
        Ok(Transport::new(Socket::Unix(socket), clock))
    }

    fn new(socket: Socket, clock: RunClock) -> Self {
        Transport {
            socket,
            tls: None,
            clock,
            offered_at: 0,
            arrived_at: 0,
        }
    }

    /// Agrees upon TLS with the server called `host`.
    pub(crate) async fn start_tls(
        &mut self,
        config: &Arc<ClientConfig>,
        host: &str,
    ) -> io::Result<()> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        self.tls = Some(Box::new(session));
        loop {
            self.flush().await?;
            let Some(tls) = &mut self.tls else {
                return Ok(());
            };
            if !tls.is_handshaking() {
                return Ok(());
            }
            self.socket.ready(Interest::READABLE).await?;
            match tls.read_tls(&mut &self.socket) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            }
            if let Err(error) = tls.process_new_packets() {
                // The alert that says why is worth a try; the error is what counts.
                let _ = tls.write_tls(&mut &self.socket);
                return Err(io::Error::other(error));
            }
        }
    }

    /// Waits until the socket can be read or, with `or_write`, written.
    pub(crate) async fn wait(&self, or_write: bool) -> io::Result<Ready> {
        let interest = match or_write {
            true => Interest::READABLE | Interest::WRITABLE,
            false => Interest::READABLE,
        };
        self.socket.ready(interest).await
    }

    /// Offers bytes; says how many were taken. Under TLS they may still wait for [`Self::drain`].
    pub(crate) fn offer(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.must_drain() {
            self.drain()?;
            if self.must_drain() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        let Some(tls) = &mut self.tls else {
            self.offered_at = self.clock.now();
            return self.socket.try_write(bytes);
        };
        let taken = tls.writer().write(bytes)?;
        match self.drain() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Whether records wait to be written; never so without TLS.
    pub(crate) fn must_drain(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Writes waiting records.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            self.offered_at = self.clock.now();
            tls.write_tls(&mut &self.socket)?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> io::Result<()> {
        while self.must_drain() {
            match self.drain() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.ready(Interest::WRITABLE).await?;
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Takes what has arrived. 0 is the end of the connection.
    pub(crate) fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            let taken = self.socket.try_read(buffer);
            self.arrived_at = self.clock.now();
            return taken;
        };
        loop {
            match tls.reader().read(buffer) {
                // Without close_notify: HTTP's own framing tells whether something is missing.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            let taken = tls.read_tls(&mut &self.socket)?;
            self.arrived_at = self.clock.now();
            tls.process_new_packets().map_err(io::Error::other)?;
            if taken == 0 {
                return Ok(0);
            }
        }
    }
}
