//! A port of the loopback interface that a server can be told to listen on.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A port that nobody else is given as long as this lives.
///
/// A free port that is let go before the server binds it may be taken in between, by another test
/// for example. So the socket that found the port stays bound to it, without listening: Linux lets
/// a second socket bind there when both allow the reuse of the address, as all servers here do.
/// It does not allow that while it looks for the free port, or two holders could get the same.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    _held: Socket,
}

impl Port {
    pub(super) fn reserve() -> io::Result<Port> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        socket.set_reuse_address(true)?;
        let bound = socket.local_addr()?.as_socket();
        let bound = bound.ok_or_else(|| io::Error::other("a TCP socket without a port"))?;
        Ok(Port {
            number: bound.port(),
            _held: socket,
        })
    }

    pub(super) fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::listen;

    #[test]
    fn a_server_can_listen_on_a_reserved_port_and_nobody_else_gets_it() {
        let ports: Vec<_> = (0..200).map(|_| Port::reserve().unwrap()).collect();
        let mut numbers: Vec<_> = ports.iter().map(Port::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 200);
        let server = listen((Ipv4Addr::LOCALHOST, ports[0].number()).into()).unwrap();
        std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
    }
}
