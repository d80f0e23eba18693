//! The directory of a run: its entries are opened, made and removed relative to it, and no links
//! are followed.
//!
//! Another user who can write into it could otherwise have any file of the user read, replaced,
//! removed or waited for: by a link, a mount, another directory in its place, or a pipe without a
//! writer.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat, openat2,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::error::{RunDirError, damaged, reading, writing};

/// Largest text that is read as a whole, in bytes. A plan of 20,000 tests has a tenth of this.
pub(crate) const LARGEST_TEXT: u64 = 256 << 20;

/// A directory, opened once.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    directory: OwnedFd,
}

/// Identity of a directory, without keeping it open: a comparison reads a thousand runs, and a
/// process may have only as many open files.
#[derive(Debug)]
pub(crate) struct FolderReference {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl FolderReference {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it again, if it is still the same directory.
    pub(crate) fn open(&self) -> Result<Folder, RunDirError> {
        self.same(Folder::open(&self.path)?)
    }

    /// Checks that it is the same directory.
    pub(crate) fn same(&self, folder: Folder) -> Result<Folder, RunDirError> {
        if folder.reference()?.identity != self.identity {
            let message = "is another directory than when it was looked at";
            return Err(damaged(&self.path, message.to_owned()));
        }
        Ok(folder)
    }
}

/// An entry of a directory; links are not followed.
pub(crate) struct FolderEntry {
    pub(crate) name: OsString,
    pub(crate) kind: FileType,
    pub(crate) bytes: u64,
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
const NO_DIRECTORY: &str = "is no directory";
const NO_FILE: &str = "is no regular file";

impl Folder {
    /// Opens a directory; links in its path are the user's own. An empty path is the current
    /// directory.
    pub(crate) fn open(path: &Path) -> Result<Folder, RunDirError> {
        let opened = match path.as_os_str() {
            empty if empty.is_empty() => Path::new("."),
            _ => path,
        };
        let directory = open(opened, DIRECTORY, Mode::empty());
        let directory = directory.map_err(|error| reading(path, error.into()))?;
        let path = path.to_owned();
        Ok(Folder { path, directory })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn reference(&self) -> Result<FolderReference, RunDirError> {
        let status = fstat(&self.directory).map_err(|error| reading(&self.path, error.into()))?;
        Ok(FolderReference {
            path: self.path.clone(),
            identity: (status.st_dev, status.st_ino),
        })
    }

    /// Opens a directory in it.
    pub(crate) fn folder(&self, name: impl AsRef<OsStr>) -> Result<Folder, RunDirError> {
        let path = self.path_of(name.as_ref())?;
        let directory = self.open_in(name.as_ref(), DIRECTORY);
        let directory = directory.map_err(|error| refused(&path, error, NO_DIRECTORY))?;
        Ok(Folder { path, directory })
    }

    /// Opens a file in it.
    pub(crate) fn file(&self, name: &str) -> Result<File, RunDirError> {
        let path = self.path_of(name.as_ref())?;
        let regular = |status: Result<Stat, Errno>| match status.map(kind_of) {
            Ok(FileType::RegularFile) => Ok(()),
            Ok(_) => Err(damaged(&path, unfollowed(NO_FILE))),
            Err(error) => Err(refused(&path, error, NO_FILE)),
        };
        // Checked before opening: opening has side effects on a device, and on a pipe for its
        // writer.
        regular(self.status(name.as_ref()))?;
        let file = self.open_in(name.as_ref(), OFlags::NONBLOCK | OFlags::NOCTTY);
        let file = file.map_err(|error| refused(&path, error, NO_FILE))?;
        regular(fstat(&file))?;
        Ok(file.into())
    }

    /// Opens the entry of this name, unless something is mounted there.
    fn open_in(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (mode, resolve) = (Mode::empty(), ResolveFlags::NO_XDEV);
        match openat2(&self.directory, name, flags, mode, resolve) {
            // Linux before 5.6, or a sandbox that is older than the call.
            Err(Errno::NOSYS | Errno::PERM) => self.open_on_device(name, flags),
            opened => opened,
        }
    }

    /// The same by the device number, which is less precise. A file in an overlay may have another
    /// one than its directory.
    pub(crate) fn open_on_device(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let opened = openat(&self.directory, name, flags, Mode::empty())?;
        let is_same = !flags.contains(OFlags::DIRECTORY)
            || fstat(&opened)?.st_dev == fstat(&self.directory)?.st_dev;
        if is_same {
            Ok(opened)
        } else {
            Err(Errno::XDEV)
        }
    }

    fn status(&self, name: &OsStr) -> Result<Stat, Errno> {
        statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Creates a file for its owner only: a suite and its parameters may be confidential. An
    /// existing file or symbolic link of that name is an error.
    pub(crate) fn create(&self, name: &str) -> Result<File, RunDirError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR);
        let file = file.map_err(|error| writing(&self.path.join(name), error.into()))?;
        Ok(file.into())
    }

    /// Renames a file, replacing another one.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), RunDirError> {
        let renamed = renameat(&self.directory, from, &self.directory, to);
        renamed.map_err(|error| writing(&self.path.join(to), error.into()))
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, RunDirError> {
        let (mut text, path) = (String::new(), self.path.join(name));
        let mut file = self.file(name)?.take(LARGEST_TEXT);
        let read = file.read_to_string(&mut text);
        read.map_err(|error| reading(&path, error))?;
        if file.limit() == 0 {
            let limit = LARGEST_TEXT >> 20;
            return Err(damaged(&path, format!("is larger than {limit} MiB")));
        }
        Ok(text)
    }

    /// True if there is a regular file of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let status = self.status(name.as_ref());
        status.is_ok_and(|status| kind_of(status) == FileType::RegularFile)
    }

    /// All entries, in no order.
    pub(crate) fn entries(&self) -> Result<Vec<FolderEntry>, RunDirError> {
        let failed = |error: Errno| reading(&self.path, error.into());
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
            if name == b"." || name == b".." {
                continue;
            }
            let name = OsString::from_vec(name);
            let status = match self.status(&name) {
                // Removed in the meantime: a temporary file of a running run.
                Err(Errno::NOENT) => continue,
                status => status.map_err(failed)?,
            };
            entries.push(FolderEntry {
                name,
                kind: kind_of(status),
                bytes: u64::try_from(status.st_size).unwrap_or(0),
            });
        }
        Ok(entries)
    }

    pub(crate) fn remove_file(&self, name: impl AsRef<OsStr>) -> Result<(), RunDirError> {
        self.unlink(name.as_ref(), AtFlags::empty())
    }

    pub(crate) fn remove_folder(&self, name: impl AsRef<OsStr>) -> Result<(), RunDirError> {
        self.unlink(name.as_ref(), AtFlags::REMOVEDIR)
    }

    fn unlink(&self, name: &OsStr, flags: AtFlags) -> Result<(), RunDirError> {
        let path = self.path_of(name)?;
        unlinkat(&self.directory, name, flags).map_err(|error| writing(&path, error.into()))
    }

    /// Path of an entry; refuses names that lead elsewhere.
    fn path_of(&self, name: &OsStr) -> Result<PathBuf, RunDirError> {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) if part == name => Ok(self.path.join(name)),
            _ => Err(damaged(
                &self.path,
                format!("`{}` is no name of a file", name.display()),
            )),
        }
    }
}

fn kind_of(status: Stat) -> FileType {
    FileType::from_raw_mode(status.st_mode)
}

/// The error of an entry that cannot be opened; a link, or a socket, is not `what`.
fn refused(path: &Path, error: Errno, what: &str) -> RunDirError {
    match error {
        Errno::XDEV => damaged(path, unfollowed("is mounted there")),
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => damaged(path, unfollowed(what)),
        error => reading(path, io::Error::from(error)),
    }
}

fn unfollowed(what: &str) -> String {
    format!("{what}, and nothing in the directory of a run is followed")
}
