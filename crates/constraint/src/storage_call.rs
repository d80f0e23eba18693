//! Operations of a server on its storage, by kinds of system calls.

/// A kind of system calls on files and directories. Calls with the same effect are of one kind, so
/// that a condition does not depend on the program or processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageCall {
    /// Waits until data is on the disk.
    Fsync,
    /// Opens or creates a file.
    Open,
    /// Reads the attributes of a name or a file.
    Stat,
    /// Reads from a file.
    Read,
    /// Writes to a file.
    Write,
    /// Copies within the kernel, from a file to a file or a connection.
    Copy,
    /// Lists a directory.
    Getdents,
    /// Creates a directory.
    Mkdir,
    /// Renames.
    Rename,
    /// Removes a name: of a file or of a directory.
    Unlink,
    /// Creates another name of a file.
    Link,
    /// Changes the length of a file, or reserves space for it.
    Truncate,
    /// Changes attributes: permissions, owner, times.
    Chmod,
    /// Reads or changes extended attributes.
    Xattr,
    /// Locks a file, or changes how it is opened.
    Fcntl,
    /// Maps a file to memory.
    Mmap,
}

/// Names in the language, and the system calls of each kind.
const KINDS: [(StorageCall, &str, &[&str]); 16] = [
    (
        StorageCall::Fsync,
        "fsync",
        &[
            "fsync",
            "fdatasync",
            "sync_file_range",
            "syncfs",
            "sync",
            "msync",
        ],
    ),
    (
        StorageCall::Open,
        "open",
        &["open", "openat", "openat2", "creat"],
    ),
    (
        StorageCall::Stat,
        "stat",
        &[
            "stat",
            "lstat",
            "fstat",
            "newfstatat",
            "statx",
            "access",
            "faccessat",
            "faccessat2",
            "readlink",
            "readlinkat",
        ],
    ),
    (
        StorageCall::Read,
        "read",
        &["read", "pread64", "readv", "preadv", "preadv2"],
    ),
    (
        StorageCall::Write,
        "write",
        &["write", "pwrite64", "writev", "pwritev", "pwritev2"],
    ),
    (
        StorageCall::Copy,
        "copy",
        &["sendfile", "splice", "copy_file_range"],
    ),
    (
        StorageCall::Getdents,
        "getdents",
        &["getdents", "getdents64"],
    ),
    (StorageCall::Mkdir, "mkdir", &["mkdir", "mkdirat"]),
    (
        StorageCall::Rename,
        "rename",
        &["rename", "renameat", "renameat2"],
    ),
    (
        StorageCall::Unlink,
        "unlink",
        &["unlink", "unlinkat", "rmdir"],
    ),
    (
        StorageCall::Link,
        "link",
        &["link", "linkat", "symlink", "symlinkat"],
    ),
    (
        StorageCall::Truncate,
        "truncate",
        &["truncate", "ftruncate", "fallocate"],
    ),
    (
        StorageCall::Chmod,
        "chmod",
        &[
            "chmod",
            "fchmod",
            "fchmodat",
            "fchmodat2",
            "chown",
            "fchown",
            "lchown",
            "fchownat",
            "utime",
            "utimes",
            "utimensat",
            "futimesat",
        ],
    ),
    (
        StorageCall::Xattr,
        "xattr",
        &[
            "getxattr",
            "lgetxattr",
            "fgetxattr",
            "listxattr",
            "llistxattr",
            "flistxattr",
            "setxattr",
            "lsetxattr",
            "fsetxattr",
            "removexattr",
            "lremovexattr",
            "fremovexattr",
        ],
    ),
    (StorageCall::Fcntl, "fcntl", &["fcntl", "flock"]),
    (StorageCall::Mmap, "mmap", &["mmap"]),
];

impl StorageCall {
    /// True if it changes the storage, or waits for it; false if it reads.
    pub fn is_change(self) -> bool {
        use StorageCall::{Fcntl, Getdents, Mmap, Open, Read, Stat};
        !matches!(self, Open | Stat | Read | Getdents | Fcntl | Mmap)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = StorageCall> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    /// The kind of a system call; `None` if it has none, such as `close`.
    pub fn from_system_call(name: &str) -> Option<StorageCall> {
        let known = KINDS.iter().find(|(.., calls)| calls.contains(&name));
        known.map(|(kind, ..)| *kind)
    }

    /// The kind with this name in the language: `fsync`.
    pub(crate) fn named(name: &str) -> Option<StorageCall> {
        let known = KINDS.iter().find(|(_, known, _)| *known == name);
        known.map(|(kind, ..)| *kind)
    }

    /// Its name in the language.
    pub fn name(self) -> &'static str {
        let known = KINDS.iter().find(|(kind, ..)| *kind == self);
        known.map_or("", |(_, name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn kinds_and_calls_have_one_place() {
        let calls = KINDS.iter().flat_map(|(.., calls)| calls.iter());
        let distinct: BTreeSet<_> = calls.clone().collect();
        assert_eq!(distinct.len(), calls.count());
        for kind in StorageCall::all() {
            assert_eq!(StorageCall::named(kind.name()), Some(kind));
        }
        assert_eq!(
            StorageCall::from_system_call("fdatasync"),
            Some(StorageCall::Fsync)
        );
        assert_eq!(StorageCall::from_system_call("close"), None);
        assert_eq!(StorageCall::named("fdatasync"), None);
    }
}
