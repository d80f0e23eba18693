//! TCP connections between two hosts: the round trip, and the congestion control of both ends.
//!
//! The kernel measures the round trip, from the SYN to the response to it, so that it contains no
//! wake-up of a program.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use super::{BuiltHost, BuiltLab};
use crate::error::LabError;
use crate::system;

/// Connections whose median is used.
const CONNECTIONS: usize = 9;

/// Most connections: where a SYN is sent again, as while a bridge of a new laboratory still learns
/// that its ports are up, the kernel measures no round trip.
const MOST_CONNECTIONS: usize = 2 * CONNECTIONS;

/// Longest wait for one of them.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections between two hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathProbe {
    /// Median round trip of their handshakes.
    pub round_trip: Duration,
    /// Congestion control of the client's end.
    pub client_congestion: String,
    /// Congestion control of the server's end; `None` where that is not a socket of the kernel.
    pub server_congestion: Option<String>,
}

impl BuiltLab {
    /// Opens connections from one host to another, one after the other: to a new listener, or where
    /// a `port` is given, to the server that is there. The metrics that the kernel keeps of them
    /// for later connections are deleted.
    ///
    /// # Errors
    /// A host is missing, has no address of this version of IP, or cannot be reached.
    pub fn probe_path(
        &self,
        from: &str,
        to: &str,
        is_ipv6: bool,
        port: Option<u16>,
    ) -> Result<PathProbe, LabError> {
        let none = |name: &str| LabError::Setting(format!("no host is called `{name}`"));
        let client = self.host(from).ok_or_else(|| none(from))?;
        let server = self.host(to).ok_or_else(|| none(to))?;
        let address = server.address(is_ipv6).ok_or_else(|| {
            let version = if is_ipv6 { 6 } else { 4 };
            LabError::Setting(format!("the host `{to}` has no IPv{version} address"))
        })?;
        let probe =
            probe(client, server, address, port)?.map_err(|source| LabError::Unreachable {
                from: from.to_owned(),
                to: to.to_owned(),
                source,
            })?;
        for host in [client, server] {
            // A kernel without these metrics has nothing to delete, and neither has a host without
            // the kernel's TCP.
            let _ = host.namespace().ip(&["tcp_metrics flush all"]);
        }
        Ok(probe)
    }
}

fn probe(
    client: BuiltHost<'_>,
    server: BuiltHost<'_>,
    address: IpAddr,
    port: Option<u16>,
) -> Result<io::Result<PathProbe>, LabError> {
    let listener = match port {
        Some(_) => None,
        None => {
            let listen = || TcpListener::bind((address, 0));
            match server.namespace().run(listen)? {
                Ok(listener) => Some(listener),
                Err(error) => return Ok(Err(error)),
            }
        }
    };
    client
        .namespace()
        .run(|| connect(listener.as_ref(), address, port.unwrap_or_default()))
}

fn connect(listener: Option<&TcpListener>, address: IpAddr, port: u16) -> io::Result<PathProbe> {
    let target = match listener {
        Some(listener) => listener.local_addr()?,
        None => SocketAddr::new(address, port),
    };
    let mut round_trips = Vec::new();
    let (mut client_congestion, mut server_congestion) = (String::new(), None);
    for _ in 0..MOST_CONNECTIONS {
        if round_trips.len() == CONNECTIONS {
            break;
        }
        let client = TcpStream::connect_timeout(&target, PATIENCE)?;
        round_trips.extend(system::least_round_trip(client.as_fd())?);
        client_congestion = rustix::net::sockopt::tcp_congestion(&client)?;
        if let Some(listener) = listener {
            let (accepted, _) = listener.accept()?;
            server_congestion = Some(rustix::net::sockopt::tcp_congestion(&accepted)?);
        }
    }
    round_trips.sort_unstable();
    let median = round_trips.get(round_trips.len() / 2);
    Ok(PathProbe {
        round_trip: *median.ok_or(io::ErrorKind::Unsupported)?,
        client_congestion,
        server_congestion,
    })
}
