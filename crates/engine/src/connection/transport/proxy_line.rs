//! The line with which a connection begins in the PROXY protocol, version 1, of HAProxy.

use std::io;
use std::net::SocketAddr;

use rustix::net::getsockname;

use super::Transport;

impl Transport {
    /// Sends a line of the PROXY protocol (version 1) for a connection to this address, like a
    /// proxy that is the client itself; for a local socket, one without addresses.
    pub(crate) async fn send_proxy_line(&mut self, to: Option<SocketAddr>) -> io::Result<()> {
        let line = match to {
            Some(to) => proxy_line(
                SocketAddr::try_from(getsockname(self.socket.source.fd())?)?,
                to,
            ),
            None => "PROXY UNKNOWN\r\n".to_owned(),
        };
        let mut left = line.as_bytes();
        while !left.is_empty() {
            match self.socket.send(left, false) {
                Ok(count) => left = &left[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(true).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn proxy_line(from: SocketAddr, to: SocketAddr) -> String {
    let family = match to {
        SocketAddr::V4(_) => "TCP4",
        SocketAddr::V6(_) => "TCP6",
    };
    let (source, destination) = (from.ip(), to.ip());
    let (from, to) = (from.port(), to.port());
    format!("PROXY {family} {source} {destination} {from} {to}\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_both_ends() {
        let line = |from: &str, to: &str| proxy_line(from.parse().unwrap(), to.parse().unwrap());
        assert_eq!(
            line("127.0.0.1:40000", "127.0.0.2:80"),
            "PROXY TCP4 127.0.0.1 127.0.0.2 40000 80\r\n"
        );
        assert_eq!(
            line("[::1]:40000", "[::1]:80"),
            "PROXY TCP6 ::1 ::1 40000 80\r\n"
        );
    }
}
