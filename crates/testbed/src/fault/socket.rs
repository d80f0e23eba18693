//! TCP and local sockets, with TLS in front or without.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Nothing here waits longer than this for its peer.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Where a fault server listens.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    pub(super) fn accept(&self) -> io::Result<FaultSocket> {
        let socket = match self {
            Listener::Tcp(listener, _) => {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                FaultSocket::Tcp(stream)
            }
            Listener::Unix(listener, _) => FaultSocket::Unix(listener.accept()?.0),
        };
        socket.set_timeouts()?;
        Ok(socket)
    }

    /// Makes a blocked `accept` return.
    pub(super) fn wake(&self) {
        // When it fails, the listener is broken and its thread has ended already.
        match self {
            Listener::Tcp(_, addr) => drop(TcpStream::connect(addr)),
            Listener::Unix(_, path) => drop(UnixStream::connect(path)),
        }
    }
}

/// A stream socket; clones are the same connection.
#[derive(Debug)]
pub(super) enum FaultSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl FaultSocket {
    pub(super) fn connect(addr: SocketAddr) -> io::Result<FaultSocket> {
        let stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
        stream.set_nodelay(true)?;
        let socket = FaultSocket::Tcp(stream);
        socket.set_timeouts()?;
        Ok(socket)
    }

    pub(super) fn try_clone(&self) -> io::Result<FaultSocket> {
        match self {
            FaultSocket::Tcp(stream) => stream.try_clone().map(FaultSocket::Tcp),
            FaultSocket::Unix(stream) => stream.try_clone().map(FaultSocket::Unix),
        }
    }

    pub(super) fn shutdown(&self, how: Shutdown) {
        // The peer may have closed first.
        let _ = match self {
            FaultSocket::Tcp(stream) => stream.shutdown(how),
            FaultSocket::Unix(stream) => stream.shutdown(how),
        };
    }

    /// Closing it will send a reset. A local socket has no such thing, and just closes.
    pub(super) fn reset_on_close(&self) {
        if let FaultSocket::Tcp(stream) = self {
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }

    fn set_timeouts(&self) -> io::Result<()> {
        match self {
            FaultSocket::Tcp(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))
            }
            FaultSocket::Unix(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))
            }
        }
    }
}

impl Read for FaultSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            FaultSocket::Tcp(stream) => stream.read(into),
            FaultSocket::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for FaultSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            FaultSocket::Tcp(stream) => stream.write(bytes),
            FaultSocket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The client's end of a connection.
pub(super) enum ClientEnd {
    Plain(FaultSocket),
    Tls(Box<StreamOwned<ServerConnection, FaultSocket>>),
}

impl ClientEnd {
    pub(super) fn new(
        socket: FaultSocket,
        tls: Option<&Arc<ServerConfig>>,
    ) -> io::Result<ClientEnd> {
        let Some(config) = tls else {
            return Ok(ClientEnd::Plain(socket));
        };
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        Ok(ClientEnd::Tls(Box::new(StreamOwned::new(
            connection, socket,
        ))))
    }

    pub(super) fn socket(&self) -> &FaultSocket {
        match self {
            ClientEnd::Plain(socket) => socket,
            ClientEnd::Tls(stream) => stream.get_ref(),
        }
    }

    /// Sends the end of the stream.
    pub(super) fn finish(&mut self) {
        if let ClientEnd::Tls(stream) = self {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        self.socket().shutdown(Shutdown::Write);
    }

    /// The same, and waits until the client has received it: closing a socket with unread bytes
    /// would reset it, and the client might lose the response (RFC 9112, section 9.6).
    pub(super) fn linger(&mut self) {
        self.finish();
        let mut rest = [0; 16 * 1024];
        while matches!(self.read(&mut rest), Ok(1..)) {}
    }
}

impl Read for ClientEnd {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            ClientEnd::Plain(socket) => socket.read(into),
            ClientEnd::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for ClientEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ClientEnd::Plain(socket) => socket.write(bytes),
            ClientEnd::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ClientEnd::Plain(socket) => socket.flush(),
            ClientEnd::Tls(stream) => stream.flush(),
        }
    }
}
