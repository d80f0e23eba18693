//! System calls: their names, and which arguments name their targets.

use record::AsyncInterface;
use syscalls::Sysno;
#[cfg(target_arch = "aarch64")]
use syscalls::arm::Sysno as Sysno32;
#[cfg(target_arch = "x86_64")]
use syscalls::x86::Sysno as Sysno32;

use super::sys::CallAbi;

/// Where the target of a call is found among its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// No file and no connection.
    Nothing,
    /// Events of any files.
    Event,
    /// A new socket.
    Socket,
    Descriptor(usize),
    /// A descriptor, and with it the address to connect to.
    Connect,
    /// The descriptor of a file that is mapped into memory, unless the flags declare that there is
    /// none.
    Mapping,
    Path(usize),
    /// A path relative to the directory of a descriptor.
    PathAt(usize, usize),
    Paths(usize, usize),
    PathsAt([usize; 4]),
}

/// Effect of a call on the descriptors of its process, in addition to returning a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEffect {
    Nothing,
    /// Its result is a descriptor.
    Opens,
    /// Its result is the descriptor of a connection.
    Accepts,
    /// This descriptor is replaced or closed.
    Changes(usize),
    ClosesMany,
    MovesDirectory,
    /// A signal handler returns.
    ReturnsFromSignal,
}

/// Condition under which a thread in this call waits for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Never,
    Always,
    /// If the call is about no file on a disk.
    Unless,
}

/// A system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallKind {
    pub(super) name: &'static str,
    pub(super) arguments: Arguments,
    pub(super) effect: CallEffect,
    pub(super) waits: Waits,
    /// The result is a number of bytes read or written.
    pub(super) moves_bytes: bool,
    /// The interface by which it submits calls that are not system calls.
    pub(super) hands_over: Option<AsyncInterface>,
}

/// All system calls by number.
#[derive(Debug)]
pub(super) struct CallTable {
    native: Vec<CallKind>,
    bits32: Vec<CallKind>,
}

/// An upper bound of the numbers of all calls.
const NUMBERS: usize = 600;

impl CallTable {
    pub(super) fn new() -> CallTable {
        let name = |number| Sysno::new(number).map_or(UNKNOWN, |call| call.name());
        let name32 = |number| Sysno32::new(number).map_or(UNKNOWN, |call| call.name());
        CallTable {
            native: (0..NUMBERS)
                .map(|number| kind(usual_name(name(number))))
                .collect(),
            bits32: (0..NUMBERS)
                .map(|number| kind(usual_name(name32(number))))
                .collect(),
        }
    }

    pub(super) fn kind(&self, abi: CallAbi, number: u64) -> CallKind {
        let kinds = match abi {
            CallAbi::Own => &self.native[..],
            CallAbi::Bits32 => &self.bits32[..],
            CallAbi::Other => &[],
        };
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        kinds.get(index).copied().unwrap_or(kind(UNKNOWN))
    }
}

impl CallKind {
    /// The call of sockets that `socketcall` makes, the only one for sockets on some 32-bit
    /// architectures (`linux/net.h`).
    pub(super) fn socket_call(number: u64) -> CallKind {
        const NAMES: [&str; 20] = [
            "socket",
            "bind",
            "connect",
            "listen",
            "accept",
            "getsockname",
            "getpeername",
            "socketpair",
            "sendto",
            "recvfrom",
            "sendto",
            "recvfrom",
            "shutdown",
            "setsockopt",
            "getsockopt",
            "sendmsg",
            "recvmsg",
            "accept4",
            "recvmmsg",
            "sendmmsg",
        ];
        let index = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        kind(index.and_then(|index| NAMES.get(index)).unwrap_or(&UNKNOWN))
    }
}

/// Name of a call that is newer than the table.
const UNKNOWN: &str = "unknown";

/// One name for a call that has several, by architecture and by the width of its arguments.
fn usual_name(name: &'static str) -> &'static str {
    match name {
        "fstatat" | "fstatat64" => "newfstatat",
        "oldstat" | "stat64" => "stat",
        "oldlstat" | "lstat64" => "lstat",
        "oldfstat" | "fstat64" => "fstat",
        "statfs64" => "statfs",
        "fstatfs64" => "fstatfs",
        "truncate64" => "truncate",
        "ftruncate64" => "ftruncate",
        "fcntl64" => "fcntl",
        "sendfile64" => "sendfile",
        "fadvise64_64" | "arm_fadvise64_64" => "fadvise64",
        "arm_sync_file_range" => "sync_file_range",
        "mmap2" => "mmap",
        "_llseek" => "lseek",
        "_newselect" => "select",
        "chown32" => "chown",
        "fchown32" => "fchown",
        "lchown32" => "lchown",
        "waitpid" => "wait4",
        "sigreturn" => "rt_sigreturn",
        "utimensat_time64" => "utimensat",
        "futex_time64" => "futex",
        "ppoll_time64" => "ppoll",
        "pselect6_time64" => "pselect6",
        "clock_gettime64" => "clock_gettime",
        "clock_nanosleep_time64" => "clock_nanosleep",
        "recvmmsg_time64" => "recvmmsg",
        "semtimedop_time64" => "semtimedop",
        "rt_sigtimedwait_time64" => "rt_sigtimedwait",
        "mq_timedreceive_time64" => "mq_timedreceive",
        "io_pgetevents_time64" => "io_pgetevents",
        "timerfd_settime64" => "timerfd_settime",
        "timerfd_gettime64" => "timerfd_gettime",
        name => name,
    }
}

fn kind(name: &'static str) -> CallKind {
    CallKind {
        name,
        arguments: arguments(name),
        effect: effect(name),
        waits: waits(name),
        moves_bytes: moves_bytes(name),
        hands_over: match name {
            "io_uring_setup" | "io_uring_enter" => Some(AsyncInterface::IoUring),
            "io_submit" => Some(AsyncInterface::LinuxAio),
            _ => None,
        },
    }
}

fn arguments(name: &str) -> Arguments {
    match name {
        "open" | "creat" | "stat" | "lstat" | "access" | "chmod" | "chown" | "lchown" | "mkdir"
        | "rmdir" | "unlink" | "readlink" | "truncate" | "utime" | "utimes" | "mknod" | "chdir"
        | "chroot" | "execve" | "statfs" | "getxattr" | "lgetxattr" | "setxattr" | "lsetxattr"
        | "listxattr" | "llistxattr" | "removexattr" | "lremovexattr" => Arguments::Path(0),
        "openat" | "openat2" | "newfstatat" | "statx" | "unlinkat" | "mkdirat" | "mknodat"
        | "readlinkat" | "faccessat" | "faccessat2" | "fchmodat" | "fchmodat2" | "fchownat"
        | "utimensat" | "futimesat" | "execveat" | "name_to_handle_at" | "getxattrat"
        | "setxattrat" | "listxattrat" | "removexattrat" => Arguments::PathAt(0, 1),
        // The target of a symbolic link is only text.
        "symlink" => Arguments::Path(1),
        "symlinkat" => Arguments::PathAt(1, 2),
        "rename" | "link" => Arguments::Paths(0, 1),
        "renameat" | "renameat2" | "linkat" => Arguments::PathsAt([0, 1, 2, 3]),
        "read" | "write" | "pread64" | "pwrite64" | "readv" | "writev" | "preadv" | "pwritev"
        | "preadv2" | "pwritev2" | "fsync" | "fdatasync" | "sync_file_range" | "syncfs"
        | "fstat" | "fstatfs" | "getdents" | "getdents64" | "lseek" | "ftruncate" | "fallocate"
        | "fadvise64" | "readahead" | "flock" | "fcntl" | "ioctl" | "fchmod" | "fchown"
        | "fgetxattr" | "fsetxattr" | "flistxattr" | "fremovexattr" | "close" | "dup" | "dup2"
        | "dup3" | "fchdir" | "sendfile" | "sendto" | "recvfrom" | "sendmsg" | "recvmsg"
        | "sendmmsg" | "recvmmsg" | "shutdown" | "bind" | "listen" | "accept" | "accept4"
        | "getsockname" | "getpeername" | "setsockopt" | "getsockopt" | "epoll_ctl"
        | "epoll_ctl_old" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "timerfd_settime"
        | "timerfd_gettime" | "inotify_add_watch" | "inotify_rm_watch" | "io_uring_enter"
        | "vmsplice" => Arguments::Descriptor(0),
        "connect" => Arguments::Connect,
        "mmap" => Arguments::Mapping,
        // The destination of the bytes is the purpose of the call.
        "copy_file_range" | "splice" => Arguments::Descriptor(2),
        "tee" => Arguments::Descriptor(1),
        "poll" | "ppoll" | "select" | "pselect6" | "pipe" | "pipe2" | "eventfd" | "eventfd2"
        | "epoll_create" | "epoll_create1" | "timerfd_create" | "inotify_init"
        | "inotify_init1" | "signalfd" | "signalfd4" | "io_uring_setup" => Arguments::Event,
        "socket" | "socketpair" => Arguments::Socket,
        _ => Arguments::Nothing,
    }
}

fn effect(name: &str) -> CallEffect {
    match name {
        "open" | "creat" | "openat" | "openat2" | "socket" | "dup" | "eventfd" | "eventfd2"
        | "epoll_create" | "epoll_create1" | "timerfd_create" | "inotify_init"
        | "inotify_init1" | "signalfd" | "signalfd4" | "memfd_create" | "pidfd_open"
        | "pidfd_getfd" | "io_uring_setup" | "fcntl" | "open_by_handle_at" => CallEffect::Opens,
        "accept" | "accept4" => CallEffect::Accepts,
        "close" | "connect" | "bind" | "listen" => CallEffect::Changes(0),
        "dup2" | "dup3" => CallEffect::Changes(1),
        "close_range" => CallEffect::ClosesMany,
        "chdir" | "fchdir" | "chroot" => CallEffect::MovesDirectory,
        "rt_sigreturn" => CallEffect::ReturnsFromSignal,
        _ => CallEffect::Nothing,
    }
}

fn waits(name: &str) -> Waits {
    match name {
        "futex" | "futex_wait" | "futex_waitv" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2"
        | "poll" | "ppoll" | "select" | "pselect6" | "accept" | "accept4" | "nanosleep"
        | "clock_nanosleep" | "pause" | "rt_sigsuspend" | "rt_sigtimedwait" | "wait4"
        | "waitid" | "io_getevents" | "io_pgetevents" | "io_uring_enter" | "mq_timedreceive"
        | "msgrcv" | "semop" | "semtimedop" | "restart_syscall" => Waits::Always,
        "read" | "readv" | "recvfrom" | "recvmsg" | "recvmmsg" => Waits::Unless,
        _ => Waits::Never,
    }
}

/// True if a call with these arguments waits for a lock. For `futex` that is certain where it waits
/// for the value 2 without a time of day: so wait the mutexes of glibc and of Rust, whose 2 means
/// that they are held and waited for (`nptl/lowlevellock.c`, `std::sys::sync::mutex::futex`). Any
/// other wait may be that of an idle thread.
pub(super) fn is_for_lock(name: &str, arguments: &[u64; 6]) -> bool {
    const HELD_AND_WAITED_FOR: u32 = 2;
    /// Constants of 32-bit programs (`asm-generic/fcntl.h`).
    const F_SETLKW64: i32 = 14;
    // Registers have 64 bits, and these arguments 32: the upper half is meaningless.
    let argument = |index: usize| arguments[index] as i32;
    match name {
        "futex" => {
            let operation = argument(1) & !libc::FUTEX_PRIVATE_FLAG;
            let is_held = argument(2).cast_unsigned() == HELD_AND_WAITED_FOR;
            match operation {
                libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => true,
                libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => is_held,
                _ => false,
            }
        }
        "flock" => argument(1) & (libc::LOCK_NB | libc::LOCK_UN) == 0,
        "fcntl" => matches!(
            argument(1),
            libc::F_SETLKW | F_SETLKW64 | libc::F_OFD_SETLKW
        ),
        _ => false,
    }
}

/// The argument that is a descriptor whose file decides if a call waits until its data are on the
/// disk; `None` for calls that do not write to a file.
pub(super) fn written_descriptor(kind: CallKind) -> Option<usize> {
    const WRITING: [&str; 8] = [
        "write",
        "writev",
        "pwrite64",
        "pwritev",
        "pwritev2",
        "sendfile",
        "copy_file_range",
        "splice",
    ];
    match kind.arguments {
        Arguments::Descriptor(index) if WRITING.contains(&kind.name) => Some(index),
        _ => None,
    }
}

/// True if a call waits until its data are on the disk, whatever its file requires.
pub(super) fn asks_for_disk(name: &str, arguments: &[u64; 6]) -> bool {
    let flags = arguments[5] as i32;
    name == "pwritev2" && flags & (libc::RWF_DSYNC | libc::RWF_SYNC) != 0
}

fn moves_bytes(name: &str) -> bool {
    matches!(
        name,
        "read"
            | "write"
            | "pread64"
            | "pwrite64"
            | "readv"
            | "writev"
            | "preadv"
            | "pwritev"
            | "preadv2"
            | "pwritev2"
            | "sendfile"
            | "sendto"
            | "recvfrom"
            | "sendmsg"
            | "recvmsg"
            | "copy_file_range"
            | "splice"
            | "tee"
            | "vmsplice"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_number() {
        let table = CallTable::new();
        let native = |number: libc::c_long| table.kind(CallAbi::Own, number.cast_unsigned());
        let rename = native(libc::SYS_renameat2);
        assert_eq!(rename.name, "renameat2");
        assert_eq!(rename.arguments, Arguments::PathsAt([0, 1, 2, 3]));
        let stat = native(libc::SYS_newfstatat);
        assert_eq!(stat.name, "newfstatat");
        assert_eq!(stat.arguments, Arguments::PathAt(0, 1));
        let read = native(libc::SYS_read);
        assert!(read.moves_bytes && read.waits == Waits::Unless);
        assert_eq!(native(libc::SYS_futex).waits, Waits::Always);
        for number in [NUMBERS as u64 - 1, u64::MAX] {
            assert_eq!(table.kind(CallAbi::Own, number).name, UNKNOWN);
        }
        assert_eq!(table.kind(CallAbi::Other, 0).name, UNKNOWN);
        // The same on x86 and ARM.
        for (number, name) in [
            (5, "open"),
            (118, "fsync"),
            (148, "fdatasync"),
            (180, "pread64"),
            (195, "stat"),
            (221, "fcntl"),
        ] {
            assert_eq!(table.kind(CallAbi::Bits32, number).name, name);
        }
        assert_eq!(CallKind::socket_call(3).arguments, Arguments::Connect);
        for number in [0, 21, u64::MAX] {
            assert_eq!(CallKind::socket_call(number).name, UNKNOWN);
        }
    }

    #[test]
    fn synchronous_writes_are_told_from_others() {
        let waits = |name, flags: i32| {
            asks_for_disk(name, &[1, 2, 3, 4, 5, u64::from(flags.cast_unsigned())])
        };
        assert!(waits("pwritev2", libc::RWF_DSYNC) && waits("pwritev2", libc::RWF_SYNC));
        assert!(!waits("pwritev2", libc::RWF_NOWAIT) && !waits("pwritev", libc::RWF_SYNC));
        assert_eq!(written_descriptor(kind("pwritev2")), Some(0));
        assert_eq!(written_descriptor(kind("copy_file_range")), Some(2));
        assert_eq!(written_descriptor(kind("read")), None);
    }

    #[test]
    fn what_waits_for_a_lock_is_told_from_what_waits_for_work() {
        const PRIVATE: i32 = libc::FUTEX_PRIVATE_FLAG;
        let cases = [
            ("futex", libc::FUTEX_WAIT | PRIVATE, 2, true),
            ("futex", libc::FUTEX_WAIT, 2, true),
            ("futex", libc::FUTEX_WAIT_BITSET | PRIVATE, 2, true),
            ("futex", libc::FUTEX_LOCK_PI | PRIVATE, 0, true),
            // A semaphore, a condition variable, and one whose signals happen to be at 2.
            ("futex", libc::FUTEX_WAIT_BITSET | PRIVATE, 0, false),
            ("futex", libc::FUTEX_WAIT | PRIVATE, 1, false),
            (
                "futex",
                libc::FUTEX_WAIT_BITSET | PRIVATE | libc::FUTEX_CLOCK_REALTIME,
                2,
                false,
            ),
            ("futex", libc::FUTEX_WAKE | PRIVATE, 2, false),
            ("flock", libc::LOCK_EX, 0, true),
            ("flock", libc::LOCK_EX | libc::LOCK_NB, 0, false),
            ("flock", libc::LOCK_UN, 0, false),
            ("fcntl", libc::F_SETLKW, 0, true),
            ("fcntl", libc::F_OFD_SETLKW, 0, true),
            ("fcntl", libc::F_SETLK, 0, false),
            ("fcntl", libc::F_GETFL, 0, false),
            ("read", libc::F_SETLKW, 2, false),
        ];
        for (name, first, second, expected) in cases {
            let noise = 7 << 32;
            let (first, second) = (u64::from(first.cast_unsigned()), second | noise);
            let arguments = [3, first | noise, second, 0, 0, 0];
            assert_eq!(is_for_lock(name, &arguments), expected, "{name} {first}");
        }
    }

    /// A name that no call has would never be found, without any error.
    #[test]
    fn all_calls_of_a_server_on_disk_are_in_the_table() {
        let table = CallTable::new();
        let has = |name: &str| table.native.iter().any(|kind| kind.name == name);
        for name in [
            "openat",
            "fsync",
            "fdatasync",
            "unlinkat",
            "getdents64",
            "statx",
            "connect",
            "accept4",
            "sendfile",
            "copy_file_range",
            "getxattr",
            "close_range",
            "rt_sigreturn",
        ] {
            assert!(has(name), "{name}");
        }
        assert!(!has("fsyncat"));
        for name in ["openat", "io_uring_enter", "io_submit", "fsync"] {
            assert!(table.bits32.iter().any(|kind| kind.name == name), "{name}");
        }
    }
}
