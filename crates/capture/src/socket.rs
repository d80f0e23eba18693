//! Packet sockets: options, addresses and counters of the kernel.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;
use std::ptr;

use socket2::{Domain, Protocol, Socket, Type};

use crate::filter::FilterStep;

/// `ETH_P_ALL`, in network order.
const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// Every interface.
pub(crate) const ANY: u32 = 0;

/// Counters of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaptureCounters {
    /// Packets that passed the filter.
    pub packets: u64,
    /// Packets of these that were lost: with any, the capture has gaps.
    pub dropped: u64,
}

/// A socket without packets until it is bound, so that its filter can be attached before.
pub(crate) fn open(kind: Type) -> io::Result<Socket> {
    Socket::new(Domain::PACKET, kind, Some(Protocol::from(0)))
}

pub(crate) fn attach(socket: &Socket, program: &[FilterStep]) -> io::Result<()> {
    let filter: Vec<_> = program
        .iter()
        .map(|step| socket2::SockFilter::new(step.code, step.jt, step.jf, step.k))
        .collect();
    socket.attach_filter(&filter)
}

/// Binds it to an interface, or to all: packets arrive from now on.
pub(crate) fn bind(socket: &Socket, interface: u32) -> io::Result<()> {
    bind_protocol(socket, interface, EVERY_PROTOCOL)
}

/// The hardware type (`ARPHRD_*`) of an interface.
pub(crate) fn hardware(interface: u32) -> io::Result<u16> {
    let socket = open(Type::DGRAM)?;
    bind_protocol(&socket, interface, 0)?;
    let address = socket.local_addr()?;
    // SAFETY: the kernel wrote a `sockaddr_ll`, and the storage is larger than it.
    let address = unsafe {
        address
            .as_ptr()
            .cast::<libc::sockaddr_ll>()
            .read_unaligned()
    };
    Ok(address.sll_hatype)
}

fn bind_protocol(socket: &Socket, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: zeros are a valid `sockaddr_ll`, and the storage is larger than it.
    let (_, address) = unsafe {
        socket2::SockAddr::try_init(|storage, length| {
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = protocol;
            address.sll_ifindex = interface.cast_signed();
            storage.cast::<libc::sockaddr_ll>().write_unaligned(address);
            *length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            Ok(())
        })
    }?;
    socket.bind(&address)
}

/// Counts since the last call: reading resets the counters.
pub(crate) fn counted(socket: &Socket) -> io::Result<CaptureCounters> {
    // SAFETY: zeros are a valid value of these three counters.
    let mut counters: libc::tpacket_stats_v3 = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `counters`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            ptr::from_mut(&mut counters).cast(),
            &mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(CaptureCounters {
        packets: u64::from(counters.tp_packets),
        dropped: u64::from(counters.tp_drops),
    })
}

/// Sets an option to a plain value of the kernel's C interface.
pub(crate) fn set<T: Copy>(socket: &Socket, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
