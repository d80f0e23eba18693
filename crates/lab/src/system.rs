//! The system calls that need unsafe code, and nothing else.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::fd::AsFd;
use rustix::io::FdFlags;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// Moves the calling thread into a new network namespace.
pub(crate) fn unshare_network() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET)
}

/// Puts children of the calling thread into a new process namespace, whose init is the first of
/// them.
pub(crate) fn unshare_processes() -> io::Result<()> {
    unshare(UnshareFlags::NEWPID)
}

/// Moves the calling process, which has one thread, into a new user namespace.
pub(crate) fn unshare_users() -> io::Result<()> {
    unshare(UnshareFlags::NEWUSER)
}

/// Moves the calling thread into a new mount namespace, whose mounts stay private.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    use rustix::mount::{MountPropagationFlags, mount_change};
    unshare(UnshareFlags::NEWNS)?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    Ok(())
}

/// Covers a file by another one, for the mount namespace of the calling thread.
pub(crate) fn cover(file: &Path, covered: &Path) -> io::Result<()> {
    rustix::mount::mount_bind(file, covered)?;
    Ok(())
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: none of the flags above separates the table of file descriptors (CLONE_FILES), which
    // is why the call is unsafe; file descriptors stay valid in all threads.
    unsafe { rustix::thread::unshare_unsafe(flags)? };
    Ok(())
}

pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// Makes the program start in this network namespace. It inherits the descriptors `passed`, under
/// the same numbers.
pub(crate) fn start_in_network(command: &mut Command, namespace: OwnedFd, passed: Vec<OwnedFd>) {
    let enter = move || {
        enter_network(namespace.as_fd())?;
        pass_on(&passed)
    };
    // SAFETY: between fork and exec the closure makes system calls only (setns, fcntl); it neither
    // allocates nor takes a lock.
    unsafe { command.pre_exec(enter) };
}

/// Passes these descriptors on to the next program, under the same numbers. Allocates nothing.
fn pass_on(descriptors: &[OwnedFd]) -> io::Result<()> {
    for descriptor in descriptors {
        rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    Ok(())
}

/// Prepares the program, which is the first of a process namespace, to see that namespace in
/// `/proc`, if the kernel permits it: in a container that hides parts of `/proc`, it does not. The
/// program inherits the descriptors `passed`, under the same numbers.
pub(crate) fn start_init(command: &mut Command, passed: Arc<Vec<OwnedFd>>) {
    use rustix::mount::{MountFlags, mount};
    let prepare = move || {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        // The result shows in /proc.
        let _ = mount(c"proc", c"/proc", c"proc", flags, None);
        pass_on(&passed)
    };
    // SAFETY: between fork and exec the closure makes system calls only (mount, fcntl), with texts
    // that exist already; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// Makes the program start in a new user namespace, as its root. `uid_map` and `gid_map` are the
/// texts of the files of that name.
pub(crate) fn start_in_user_namespace(command: &mut Command, uid_map: String, gid_map: String) {
    let enter = move || {
        unshare_users()?;
        write_user_maps(&uid_map, &gid_map)
    };
    // SAFETY: between fork and exec the closure makes system calls only (unshare, open, write,
    // close), with paths and texts that exist already; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(enter) };
}

/// Makes the program start as another user, with that user's group only.
pub(crate) fn start_as(command: &mut Command, uid: u32, gid: u32) {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let become_user = move || {
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only (setgroups, setresgid,
    // setresuid); it neither allocates nor takes a lock.
    unsafe { command.pre_exec(become_user) };
}

/// Writes the maps of the calling process. Allocates nothing.
pub(crate) fn write_user_maps(uid_map: &str, gid_map: &str) -> io::Result<()> {
    // A process without CAP_SETGID may write `gid_map` only after it gave up setgroups
    // (user_namespaces(7)).
    write_file(c"/proc/self/setgroups", "deny")?;
    write_file(c"/proc/self/uid_map", uid_map)?;
    write_file(c"/proc/self/gid_map", gid_map)
}

fn write_file(path: &CStr, text: &str) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes())?;
    Ok(())
}

/// Makes the program ignore SIGCHLD: the kernel then reaps its children, also those it inherits.
pub(crate) fn start_without_zombies(command: &mut Command) {
    let ignore = || {
        // SAFETY: `signal` changes a disposition of this process, which has one thread.
        let previous = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        if previous == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call; it neither allocates nor
    // takes a lock.
    unsafe { command.pre_exec(ignore) };
}

/// Attaches a descriptor of `/dev/net/tun` to a new TAP device of the calling thread's network
/// namespace. Frames have no header in front.
pub(crate) fn attach_tap(tun: &OwnedFd, name: &str) -> io::Result<()> {
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
    let mut request = request_for(name)?;
    // TUNSETIFF reads the flags as 16 bits (linux/if_tun.h).
    request.ifr_ifru.ifru_flags = (flags & 0xffff) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives as long as the call.
    let result = unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Runs the calling thread before all threads of normal priority (SCHED_FIFO, the lowest of them).
pub(crate) fn become_real_time() -> io::Result<()> {
    // SAFETY: `sched_param` is a C structure of integers, for which zeros are a valid value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 1;
    // SAFETY: the call reads one `sched_param`, which lives as long as the call; 0 is this thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Binds a socket for raw frames to a device: it receives and sends at this one alone.
pub(crate) fn bind_to_device(socket: &OwnedFd, index: u32) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is a C structure of integers, for which zeros are a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = EVERY_PROTOCOL;
    address.sll_ifindex = index.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let pointer = (&raw const address).cast();
    // SAFETY: the call reads one `sockaddr_ll`, which lives as long as the call.
    let result = unsafe { libc::bind(socket.as_raw_fd(), pointer, length) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// All protocols, in network order, as `socket` and `bind` require it.
pub(crate) const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// `SIOCGSTAMPNS` of linux/sockios.h, as it was before times of 64 bits on machines of 32.
const RECEIVED_AT: libc::Ioctl = 0x8907;

/// When the kernel received the packet that was last read from a socket, as time of day in ns. The
/// first call enables these time stamps.
pub(crate) fn received_at(socket: &OwnedFd) -> io::Result<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: SIOCGSTAMPNS writes one `timespec`, which lives as long as the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), RECEIVED_AT, &raw mut time) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let nanos = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    Ok(u64::try_from(nanos).unwrap_or(0))
}

/// Index of `tcpi_min_rtt` in `struct tcp_info` (`linux/tcp.h`), in words of 32 bits; from Linux
/// 4.3 on.
const LEAST_ROUND_TRIP: usize = 37;

/// The shortest round trip of a TCP connection until now, its handshake included; `None` where none
/// was measured.
pub(crate) fn least_round_trip(socket: BorrowedFd<'_>) -> io::Result<Option<Duration>> {
    let mut info = [0_u32; LEAST_ROUND_TRIP + 1];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, which is that long, and any of
    // them make numbers; both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let micros = info[LEAST_ROUND_TRIP];
    let is_measured = micros != 0 && micros != u32::MAX;
    Ok(is_measured.then(|| Duration::from_micros(micros.into())))
}

/// Switches off an offload of a device of the calling thread's namespace, by its command of
/// linux/ethtool.h. Succeeds for a device without the offload.
pub(crate) fn switch_off(socket: &OwnedFd, device: &str, offload: u32) -> io::Result<()> {
    #[repr(C)]
    struct EthtoolValue {
        command: u32,
        data: u32,
    }
    let mut value = EthtoolValue {
        command: offload,
        data: 0,
    };
    let mut request = request_for(device)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL reads one `ifreq` and the value that it points to, which both live as
    // long as the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    match io::Error::last_os_error() {
        _ if result >= 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        error => Err(error),
    }
}

/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// A request about a device of this name.
fn request_for(name: &str) -> io::Result<libc::ifreq> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() >= libc::IFNAMSIZ || bytes.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: `ifreq` is a C structure of integers and a pointer, for which zeros are a valid
    // value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    Ok(request)
}
