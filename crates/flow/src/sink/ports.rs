//! The data ports of a sink.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use socket2::{Domain, Socket, Type};

use crate::FlowTransport;
use crate::message::FlowGroup;
use crate::sys;

/// Receive buffer for datagrams, unless the source requests another: 10 ms at 3 Gbit/s.
const DATAGRAM_BUFFER: usize = 4 << 20;

/// Ports that are tried if the requested one is in use.
const MOVES: u16 = 1024;

/// A data port, its number, and the congestion control of its connections.
pub(super) struct DataPort {
    pub(super) socket: Socket,
    pub(super) port: u16,
    pub(super) congestion_control: Option<String>,
}

/// Opens the port for a group on the address that the source already uses.
///
/// # Errors
/// The reason, a sentence for the source.
pub(super) fn open(group: &FlowGroup, local: SocketAddr) -> Result<DataPort, String> {
    // The scope of an IPv6 address is kept.
    let mut address = local;
    if let IpAddr::V4(local) = local.ip().to_canonical() {
        address = SocketAddr::new(local.into(), 0);
    }
    let first = group.port.unwrap_or(0);
    let moves = if group.may_move && first > 0 {
        MOVES
    } else {
        0
    };
    for port in first..=first.saturating_add(moves) {
        address.set_port(port);
        let opened = match group.transport {
            FlowTransport::Tcp => open_listener(group, address),
            FlowTransport::Udp => open_datagrams(group, address),
        };
        match opened {
            Ok(opened) => return Ok(opened),
            Err((_, error)) if is_taken(&error) && moves > 0 => {}
            Err((_, error)) if is_taken(&error) => {
                return Err(format!(
                    "the sink cannot use port {port} of {}: another source or program has it; give \
                     the component another port, or none",
                    address.ip()
                ));
            }
            Err((what, error)) => {
                return Err(format!("the sink cannot {what} on {address}: {error}"));
            }
        }
    }
    Err(format!(
        "the sink has no free port from {first} to {}",
        address.port()
    ))
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

type Opened = Result<DataPort, (&'static str, io::Error)>;

fn open_listener(group: &FlowGroup, address: SocketAddr) -> Opened {
    let failed = |what| move |error| (what, error);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None);
    let socket = socket.map_err(failed("open a socket"))?;
    let set = socket.set_nonblocking(true);
    set.map_err(failed("open a socket"))?;
    // Connections of an earlier session may still be in TIME-WAIT.
    let set = socket.set_reuse_address(true);
    set.map_err(failed("reuse the port"))?;
    if let Some(window) = group.window_bytes {
        let set = socket.set_recv_buffer_size(window as usize);
        set.map_err(failed("set SO_RCVBUF"))?;
    }
    if let Some(name) = &group.congestion_control {
        let set = socket.set_tcp_congestion(name.as_bytes());
        set.map_err(failed(
            "use the congestion control of the flow, which its system may not have,",
        ))?;
    }
    let bound = socket.bind(&address.into());
    bound.map_err(failed("open a TCP port"))?;
    socket.listen(1024).map_err(failed("listen"))?;
    let name = socket.tcp_congestion().unwrap_or_default();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(DataPort {
        port: port_of(&socket).map_err(failed("open a TCP port"))?,
        congestion_control: Some(String::from_utf8_lossy(name).into_owned()),
        socket,
    })
}

fn open_datagrams(group: &FlowGroup, address: SocketAddr) -> Opened {
    let failed = |what| move |error| (what, error);
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None);
    let socket = socket.map_err(failed("open a socket"))?;
    let set = socket.set_nonblocking(true);
    set.map_err(failed("open a socket"))?;
    let window = group.window_bytes;
    let buffer = window.map_or(DATAGRAM_BUFFER, |bytes| bytes as usize);
    let set = socket.set_recv_buffer_size(buffer);
    set.map_err(failed("set SO_RCVBUF"))?;
    let class = if address.is_ipv4() {
        socket.set_recv_tos_v4(true)
    } else {
        socket.set_recv_tclass_v6(true)
    };
    class.map_err(failed("ask for the type of service"))?;
    // Without these options, arrivals are stamped by this program, and datagrams received one by
    // one.
    let _ = sys::stamp_arrivals(socket.as_fd());
    let _ = sys::join_datagrams(socket.as_fd());
    let bound = socket.bind(&address.into());
    bound.map_err(failed("open a UDP port"))?;
    Ok(DataPort {
        port: port_of(&socket).map_err(failed("open a UDP port"))?,
        congestion_control: None,
        socket,
    })
}

fn port_of(socket: &Socket) -> io::Result<u16> {
    let address = socket.local_addr()?.as_socket();
    let port = address.map(|address| address.port());
    port.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}
