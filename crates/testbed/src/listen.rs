//! Listening sockets with room for a thousand clients that connect at once.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// The standard library's 128 were too few: a client that connects faster than the server accepts
/// overflowed the queue, and its SYN was sent again a second later.
const BACKLOG: i32 = 4096;

pub(crate) fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    // Or a restart on the same port would have to wait until old connections are forgotten.
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
