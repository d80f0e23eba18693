//! A port for a server.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A port that no other process gets while this exists.
///
/// A free port that is released before the server binds it may be taken in between, by another test
/// for example. So the socket that found the port stays bound to it, without listening: Linux lets
/// a second socket bind there if both allow the reuse of the address, as all servers here do. It
/// does not allow that while it looks for the free port, or two holders could get the same.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    _held: Socket,
}

impl Port {
    /// Reserves a port at an address of this thread's network namespace.
    pub(super) fn reserve(address: IpAddr) -> io::Result<Port> {
        let address = SocketAddr::from((address, 0));
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.bind(&address.into())?;
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
    use std::net::Ipv4Addr;

    use super::*;
    use crate::listen::listen;

    #[test]
    fn a_server_can_listen_on_a_reserved_port_and_nobody_else_gets_it() {
        let ports: Vec<_> = (0..200)
            .map(|_| Port::reserve(Ipv4Addr::LOCALHOST.into()).unwrap())
            .collect();
        let mut numbers: Vec<_> = ports.iter().map(Port::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 200);
        let server = listen((Ipv4Addr::LOCALHOST, ports[0].number()).into()).unwrap();
        std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
    }
}
