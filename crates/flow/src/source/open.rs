//! The sockets of a source.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SendFlags;
use socket2::{Domain, Socket, Type};

use super::counters::FlowCounters;
use super::plan::FlowPlan;
use crate::message::AgreedGroup;
use crate::payload::{FlowId, stream_header};
use crate::{FlowError, FlowTransport};

/// Time limit for connecting to the sink: a long round trip, and another for a lost packet.
const CONNECT: Duration = Duration::from_secs(35);
/// Duration of one poll of connections in progress.
const MOMENT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// A flow whose socket is connected.
#[derive(Debug)]
pub(super) struct OpenFlow {
    pub(super) plan: FlowPlan,
    pub(super) id: FlowId,
    pub(super) socket: Arc<Socket>,
    pub(super) counters: Arc<FlowCounters>,
    pub(super) congestion_control: Option<String>,
    pub(super) sink_congestion_control: Option<String>,
}

/// Opens the sockets of all flows and connects them to the ports of the agreement.
///
/// # Errors
/// An option or an address is refused, or a connection fails; and the errors of `keep_alive`, which
/// is called several times a second.
pub(super) fn open_all(
    plans: Vec<FlowPlan>,
    sink: SocketAddr,
    agreed: &[AgreedGroup],
    keep_alive: impl FnMut() -> Result<(), FlowError>,
) -> Result<Vec<OpenFlow>, FlowError> {
    let data_ports = agreed.iter().flat_map(|group| {
        let ids = group.ids.iter();
        ids.map(move |id| (group.port, FlowId(*id), group.congestion_control.clone()))
    });
    let mut flows = Vec::new();
    for (plan, (port, id, sink_congestion_control)) in plans.into_iter().zip(data_ports) {
        let mut address = sink;
        address.set_port(port);
        let what = format!("open a flow to {address}");
        let socket = open(&plan, address).map_err(FlowError::system(what))?;
        let congestion_control = (plan.transport == FlowTransport::Tcp).then(|| {
            let name = socket.tcp_congestion().unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        });
        flows.push(OpenFlow {
            plan,
            id,
            socket: Arc::new(socket),
            counters: Arc::default(),
            congestion_control,
            sink_congestion_control,
        });
    }
    connect_all(&flows, keep_alive)?;
    Ok(flows)
}

/// Waits until all sockets are connected. Each stream identifies its flow at once, whenever its
/// first block departs and however long other connections take: a sink closes connections that do
/// not.
fn connect_all(
    flows: &[OpenFlow],
    mut keep_alive: impl FnMut() -> Result<(), FlowError>,
) -> Result<(), FlowError> {
    let end = Instant::now() + CONNECT;
    let mut waiting: Vec<&OpenFlow> = flows.iter().collect();
    loop {
        let mut polled: Vec<PollFd<'_>> = waiting
            .iter()
            .map(|flow| PollFd::from_borrowed_fd(flow.socket.as_fd(), PollFlags::OUT))
            .collect();
        // A signal interrupts it; then the loop looks again.
        let _ = poll(&mut polled, Some(&MOMENT));
        let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut still_waiting = Vec::new();
        for (flow, is_ready) in waiting.into_iter().zip(ready) {
            if is_ready {
                begin(flow).map_err(FlowError::system("connect a flow to the sink"))?;
            } else {
                still_waiting.push(flow);
            }
        }
        if still_waiting.is_empty() {
            return Ok(());
        }
        waiting = still_waiting;
        keep_alive()?;
        if Instant::now() > end {
            return Err(FlowError::TimedOut {
                what: "the connections to the sink were not made".to_owned(),
                seconds: CONNECT.as_secs_f64(),
            });
        }
    }
}

/// Handles a socket that is connected, or has failed to connect.
fn begin(flow: &OpenFlow) -> io::Result<()> {
    if let Some(error) = flow.socket.take_error()? {
        return Err(error);
    }
    if flow.plan.transport == FlowTransport::Udp {
        return Ok(());
    }
    let header = stream_header(flow.id);
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match rustix::net::send(&*flow.socket, &header, flags)? {
        count if count == header.len() => Ok(()),
        // A new connection has room for more.
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

fn open(plan: &FlowPlan, address: SocketAddr) -> io::Result<Socket> {
    let options = &plan.options;
    let kind = match plan.transport {
        FlowTransport::Tcp => Type::STREAM,
        FlowTransport::Udp => Type::DGRAM,
    };
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    socket.set_nonblocking(true)?;
    if let Some(window) = options.window_bytes {
        socket.set_send_buffer_size(window as usize)?;
    }
    if let Some(dscp) = options.dscp {
        let tos = u32::from(dscp) << 2;
        if address.is_ipv4() {
            socket.set_tos_v4(tos)?;
        } else {
            socket.set_tclass_v6(tos)?;
        }
    }
    if plan.transport == FlowTransport::Tcp {
        if let Some(name) = &options.congestion_control {
            let set = socket.set_tcp_congestion(name.as_bytes());
            set.map_err(|error| {
                let text =
                    format!("congestion control {name}, which this system may not have: {error}");
                io::Error::new(error.kind(), text)
            })?;
        }
        socket.set_tcp_nodelay(options.no_delay)?;
    }
    if let Some(bind) = options.bind {
        socket.set_reuse_address(true)?;
        socket.bind(&bind.into())?;
    }
    begin_to_connect(&socket, address)?;
    Ok(socket)
}

/// Begins to connect a non-blocking socket.
fn begin_to_connect(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

/// Connects to an address; `None` if that is to stop.
pub(super) fn connect(
    address: SocketAddr,
    should_stop: impl Fn() -> bool,
) -> io::Result<Option<TcpStream>> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    begin_to_connect(&socket, address)?;
    let end = Instant::now() + CONNECT;
    loop {
        let mut polled = [PollFd::new(&socket, PollFlags::OUT)];
        // A signal interrupts it; then the loop looks again.
        let _ = poll(&mut polled, Some(&MOMENT));
        if !polled[0].revents().is_empty() {
            return socket.take_error()?.map_or(Ok(Some(socket.into())), Err);
        }
        if should_stop() {
            return Ok(None);
        }
        if Instant::now() > end {
            let text = format!("no response within {} s", CONNECT.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
    }
}
