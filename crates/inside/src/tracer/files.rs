//! Targets of the descriptors and paths of a process.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use record::CallTarget;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, getpeername, getsockname, sockopt,
};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::paths::{FileKinds, joined};
use super::sys;

/// Common state of all processes of a server.
#[derive(Debug)]
pub(super) struct Targets {
    kinds: FileKinds,
    /// Ports on which this machine accepts connections.
    listening: HashSet<u16>,
    pub(super) nothing: Rc<CallTarget>,
    pub(super) event: Rc<CallTarget>,
    pub(super) socket: Rc<CallTarget>,
}

/// The descriptors of one process that were looked up. Its threads share them.
#[derive(Debug)]
pub(super) struct ProcessFiles {
    pid: u32,
    handle: Option<OwnedFd>,
    open: HashMap<i32, OpenFile>,
    directory: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct OpenFile {
    target: Rc<CallTarget>,
    /// Path, if it has one.
    path: Option<PathBuf>,
    /// Each write waits until its data are on the disk.
    is_synchronous: bool,
}

/// `PIDFD_THREAD` of Linux from 6.9 on: a descriptor of one thread.
const OF_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

/// Room for an address of any kind (`sockaddr_storage`).
const ADDRESS: usize = 128;

impl Targets {
    pub(super) fn new(kinds: FileKinds) -> Targets {
        Targets {
            kinds,
            listening: HashSet::new(),
            nothing: Rc::new(CallTarget::Nothing),
            event: Rc::new(CallTarget::Event),
            socket: Rc::new(socket_with(String::new())),
        }
    }

    fn is_listening(&mut self, tid: u32, port: u16) -> bool {
        if !self.listening.contains(&port) {
            for table in ["tcp", "tcp6"] {
                let table = fs::read_to_string(format!("/proc/{tid}/net/{table}"));
                self.listening
                    .extend(listening_ports(&table.unwrap_or_default()));
            }
        }
        self.listening.contains(&port)
    }
}

impl ProcessFiles {
    pub(super) fn new(pid: u32) -> ProcessFiles {
        ProcessFiles {
            pid,
            handle: None,
            open: HashMap::new(),
            directory: None,
        }
    }

    /// Target of a descriptor of the stopped thread `tid`.
    pub(super) fn descriptor(
        &mut self,
        targets: &mut Targets,
        tid: u32,
        fd: i32,
    ) -> Rc<CallTarget> {
        match self.open_file(targets, tid, fd) {
            Some(file) => Rc::clone(&file.target),
            None => Rc::clone(&targets.nothing),
        }
    }

    fn open_file(&mut self, targets: &mut Targets, tid: u32, fd: i32) -> Option<&OpenFile> {
        if fd >= 0 && !self.open.contains_key(&fd) {
            let link = fs::read_link(format!("/proc/{tid}/fd/{fd}")).ok()?;
            let file = self.looked_up(targets, tid, fd, &link);
            self.open.insert(fd, file);
        }
        self.open.get(&fd)
    }

    /// True if each write to a descriptor of the stopped thread `tid` waits until its data are on
    /// the disk (O_DSYNC, O_SYNC).
    pub(super) fn is_synchronous(&mut self, targets: &mut Targets, tid: u32, fd: i32) -> bool {
        let file = self.open_file(targets, tid, fd);
        file.is_some_and(|file| file.is_synchronous)
    }

    fn looked_up(&mut self, targets: &mut Targets, tid: u32, fd: i32, link: &Path) -> OpenFile {
        let link = link.to_string_lossy();
        let (target, path) = if link.starts_with('/') {
            let path = Path::new(link.strip_suffix(" (deleted)").unwrap_or(&link));
            (Rc::new(targets.kinds.target(path)), Some(path.to_owned()))
        } else if link.starts_with("socket:") {
            let target = self.socket(targets, tid, fd);
            (
                target.map_or_else(|| Rc::clone(&targets.socket), Rc::new),
                None,
            )
        } else if link.starts_with("pipe:") || link.starts_with("anon_inode:") {
            (Rc::clone(&targets.event), None)
        } else {
            (Rc::clone(&targets.nothing), None)
        };
        OpenFile {
            target,
            is_synchronous: path.is_some() && waits_for_disk(tid, fd),
            path,
        }
    }

    /// The peer of a socket. `/proc` has only its number, so this process duplicates the descriptor
    /// for a moment.
    fn socket(&mut self, targets: &mut Targets, tid: u32, fd: i32) -> Option<CallTarget> {
        let opened = |id: u32, flags| pidfd_open(Pid::from_raw(id.cast_signed())?, flags).ok();
        let copied = |handle: &OwnedFd| pidfd_getfd(handle, fd, PidfdGetfdFlags::empty()).ok();
        if self.handle.is_none() {
            self.handle = opened(self.pid, PidfdFlags::empty());
        }
        // The descriptor of a process is that of its first thread, which may have ended and then
        // has no descriptors.
        let process_socket = self.handle.as_ref().and_then(copied);
        let socket = process_socket.or_else(|| copied(&opened(tid, OF_THREAD)?))?;
        let socket = socket.as_fd();
        let domain = sockopt::socket_domain(socket).ok()?;
        if domain == AddressFamily::UNIX {
            let peer = unix_name(getpeername(socket).ok().flatten());
            let local_name = || unix_name(getsockname(socket).ok());
            return peer.or_else(local_name).map(socket_with);
        }
        if domain != AddressFamily::INET && domain != AddressFamily::INET6 {
            return None;
        }
        if sockopt::socket_acceptconn(socket) == Ok(true) {
            return Some(CallTarget::Client);
        }
        let peer = SocketAddr::try_from(getpeername(socket).ok()??).ok()?;
        let local = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
        Some(if targets.is_listening(tid, local.port()) {
            CallTarget::Client
        } else {
            socket_with(text_of(peer))
        })
    }

    /// Target of a path that the stopped thread `tid` passes to a call, relative to the directory
    /// of a descriptor; the descriptor itself where the path is empty (`AT_EMPTY_PATH`).
    pub(super) fn path(
        &mut self,
        targets: &mut Targets,
        tid: u32,
        directory: i32,
        address: u64,
    ) -> Rc<CallTarget> {
        let path = read_path(tid, address);
        if path.as_os_str().is_empty() && directory != libc::AT_FDCWD {
            return self.descriptor(targets, tid, directory);
        }
        let base = if path.is_absolute() {
            Path::new("/").to_owned()
        } else if directory == libc::AT_FDCWD {
            self.working_directory(tid)
        } else {
            let file = self.open_file(targets, tid, directory);
            file.and_then(|file| file.path.clone()).unwrap_or_default()
        };
        Rc::new(targets.kinds.target(&joined(&base, &path)))
    }

    fn working_directory(&mut self, tid: u32) -> PathBuf {
        let looked_up = || fs::read_link(format!("/proc/{tid}/cwd")).unwrap_or_default();
        self.directory.get_or_insert_with(looked_up).clone()
    }

    /// Target of the address of a `connect`.
    pub(super) fn address(&self, tid: u32, address: u64, length: u64) -> CallTarget {
        let mut bytes = [0; ADDRESS];
        let length = usize::try_from(length).unwrap_or(ADDRESS).min(ADDRESS);
        let read = sys::read_memory(tid, address, &mut bytes[..length]);
        socket_with(address_text(&bytes[..read]).unwrap_or_default())
    }

    pub(super) fn forget(&mut self, fd: i32) {
        self.open.remove(&fd);
    }

    pub(super) fn set(&mut self, fd: i32, target: Rc<CallTarget>) {
        let file = OpenFile {
            target,
            path: None,
            is_synchronous: false,
        };
        self.open.insert(fd, file);
    }

    pub(super) fn forget_all(&mut self) {
        self.open.clear();
    }

    pub(super) fn forget_directory(&mut self) {
        self.directory = None;
    }
}

/// True if a file was opened so that each write waits until its data are on the disk. Flags of
/// `/proc/PID/fdinfo` are octal (proc_pid_fdinfo(5)), and O_SYNC contains O_DSYNC.
fn waits_for_disk(tid: u32, fd: i32) -> bool {
    let information = fs::read_to_string(format!("/proc/{tid}/fdinfo/{fd}")).unwrap_or_default();
    let mut lines = information.lines();
    let flags = lines.find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_DSYNC != 0)
}

fn socket_with(peer: String) -> CallTarget {
    CallTarget::Socket { peer }
}

/// A mapped IPv4 address is shown as IPv4, whatever the socket is.
fn text_of(peer: SocketAddr) -> String {
    SocketAddr::new(peer.ip().to_canonical(), peer.port()).to_string()
}

/// The path of a local socket, with `@` in front where it is in no directory.
fn unix_name(address: Option<SocketAddrAny>) -> Option<String> {
    let address = SocketAddrUnix::try_from(address?).ok()?;
    if let Some(name) = address.abstract_name() {
        return Some(format!("@{}", String::from_utf8_lossy(name)));
    }
    let path = address.path_bytes()?;
    (!path.is_empty()).then(|| String::from_utf8_lossy(path).into_owned())
}

/// A `sockaddr` in bytes; `None` where it is of another kind.
fn address_text(bytes: &[u8]) -> Option<String> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    match family {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            let address = IpAddr::V4(Ipv4Addr::from(address));
            Some(text_of(SocketAddr::new(address, port()?)))
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            let address = IpAddr::V6(Ipv6Addr::from(address));
            Some(text_of(SocketAddr::new(address, port()?)))
        }
        libc::AF_UNIX => {
            let name = bytes.get(2..)?;
            let is_abstract = name.len() > 1 && name[0] == 0;
            let name = if is_abstract { &name[1..] } else { name };
            let name = name.split(|&byte| byte == 0).next()?;
            let mark = if is_abstract { "@" } else { "" };
            Some(format!("{mark}{}", String::from_utf8_lossy(name)))
        }
        _ => None,
    }
}

/// Local ports in state LISTEN of a table of `/proc/net` (proc_net_tcp.rst of the kernel).
fn listening_ports(table: &str) -> impl Iterator<Item = u16> {
    const LISTEN: &str = "0A";
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, _remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let (_address, port) = local.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        (state == LISTEN).then_some(port)
    })
}

/// A zero-terminated text of a stopped thread; empty where there is none at this address.
fn read_path(tid: u32, address: u64) -> PathBuf {
    /// The smallest page of any architecture: reading up to its border does not touch a missing
    /// page.
    const PAGE: u64 = 4096;
    /// Enough for nearly every path.
    const PART: u64 = 256;
    let mut path = Vec::new();
    let mut next = address;
    while path.len() < libc::PATH_MAX as usize && next != 0 {
        let mut part = [0; PART as usize];
        let length = PART.min(PAGE - next % PAGE) as usize;
        let read = sys::read_memory(tid, next, &mut part[..length]);
        let part = &part[..read];
        if let Some(end) = part.iter().position(|&byte| byte == 0) {
            path.extend_from_slice(&part[..end]);
            break;
        }
        if read == 0 {
            break;
        }
        path.extend_from_slice(part);
        next = next.wrapping_add(read as u64);
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let family = |family: i32| (family as u16).to_ne_bytes();
        let [low, high] = family(libc::AF_INET);
        let internet = [low, high, 0x0c, 0xea, 127, 0, 0, 1, 0, 0];
        assert_eq!(address_text(&internet).unwrap(), "127.0.0.1:3306");
        assert_eq!(address_text(&internet[..7]), None);
        let [low, high] = family(libc::AF_INET6);
        let mut mapped = vec![low, high, 0, 80, 0, 0, 0, 0];
        mapped.extend(Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
        assert_eq!(address_text(&mapped).unwrap(), "127.0.0.1:80");
        let [low, high] = family(libc::AF_UNIX);
        let local = [&[low, high][..], b"/run/db\0\0"].concat();
        assert_eq!(address_text(&local).unwrap(), "/run/db");
        let hidden = [&[low, high][..], b"\0bus"].concat();
        assert_eq!(address_text(&hidden).unwrap(), "@bus");
        assert_eq!(address_text(&[low, high]).unwrap(), "");
        assert_eq!(address_text(&[0xff, 0xff, 1]), None);
        assert_eq!(address_text(&[]), None);
    }

    #[test]
    fn ports_that_listen_are_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
            1: 0100007F:C350 0100007F:1F90 01 00000000:00000000\n   \
            2: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0\n\
            broken\n";
        let ports: Vec<u16> = listening_ports(table).collect();
        assert_eq!(ports, [8080, 80]);
    }
}
