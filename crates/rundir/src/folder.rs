//! The directory of a run as it stands: what is in it is opened relative to it, and nothing in it is followed.
//!
//! Whoever can write into it could otherwise have any file of the reader's read, removed or waited for: by a link, or by
//! a pipe into which nobody writes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, open, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::{RunDirError, damaged, reading, writing};

/// Largest text that is read as a whole, in bytes. Plans of 20,000 tests have a tenth of this.
const LARGEST_TEXT: u64 = 256 << 20;

/// A directory, opened once.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    directory: OwnedFd,
}

/// Which directory it was, without keeping it open: a comparison reads a thousand runs, and a process may have as many
/// files open.
#[derive(Debug)]
pub(crate) struct FolderPlace {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl FolderPlace {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it again, if it is still the same.
    pub(crate) fn open(&self) -> Result<Folder, RunDirError> {
        let folder = Folder::open(&self.path)?;
        if folder.place()?.identity != self.identity {
            let message = "is another directory than when it was looked at";
            return Err(damaged(&self.path, message.to_owned()));
        }
        Ok(folder)
    }
}

/// What is in a directory under a name: a link is a link here.
pub(crate) struct FolderEntry {
    pub(crate) name: String,
    pub(crate) kind: FileType,
    pub(crate) bytes: u64,
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

impl Folder {
    /// Opens a directory; links that lead to it are the user's own.
    pub(crate) fn open(path: &Path) -> Result<Folder, RunDirError> {
        let directory = open(path, DIRECTORY, Mode::empty());
        Ok(Folder {
            directory: directory.map_err(|error| reading(path, error.into()))?,
            path: path.to_owned(),
        })
    }

    /// Opens a directory that is no link itself.
    pub(crate) fn open_itself(path: &Path) -> Result<Folder, RunDirError> {
        // A slash at its end would have a link followed.
        let path = path.components().as_path();
        let directory = open(path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
        Ok(Folder {
            directory: directory.map_err(|error| refused(path, error, "is no directory"))?,
            path: path.to_owned(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn place(&self) -> Result<FolderPlace, RunDirError> {
        let status = fstat(&self.directory).map_err(|error| reading(&self.path, error.into()))?;
        Ok(FolderPlace {
            path: self.path.clone(),
            identity: (status.st_dev, status.st_ino),
        })
    }

    /// Opens a directory in it.
    pub(crate) fn folder(&self, name: &str) -> Result<Folder, RunDirError> {
        let (path, flags) = (self.path_of(name)?, DIRECTORY | OFlags::NOFOLLOW);
        let directory = openat(&self.directory, name, flags, Mode::empty());
        Ok(Folder {
            directory: directory.map_err(|error| refused(&path, error, "is no directory"))?,
            path,
        })
    }

    /// Opens a file in it.
    pub(crate) fn file(&self, name: &str) -> Result<File, RunDirError> {
        const WHAT: &str = "is no regular file";
        let path = self.path_of(name)?;
        // A pipe is opened without waiting for someone who writes.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, Mode::empty());
        let file = file.map_err(|error| refused(&path, error, WHAT))?;
        let status = fstat(&file).map_err(|error| reading(&path, error.into()))?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(damaged(&path, unfollowed(WHAT))),
        }
    }

    /// Reads a text in it.
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

    /// Whether there is a regular file of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile)
    }

    /// Everything in it, in no order.
    pub(crate) fn entries(&self) -> Result<Vec<FolderEntry>, RunDirError> {
        let failed = |error: Errno| reading(&self.path, error.into());
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
            if name == b"." || name == b".." {
                continue;
            }
            let name = OsString::from_vec(name);
            let status = statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW);
            let status = match status {
                // Removed since: that of a run that goes on.
                Err(Errno::NOENT) => continue,
                status => status.map_err(failed)?,
            };
            entries.push(FolderEntry {
                name: name.to_string_lossy().into_owned(),
                kind: FileType::from_raw_mode(status.st_mode),
                bytes: u64::try_from(status.st_size).unwrap_or(0),
            });
        }
        Ok(entries)
    }

    pub(crate) fn remove_file(&self, name: &str) -> Result<(), RunDirError> {
        self.unlink(name, AtFlags::empty())
    }

    pub(crate) fn remove_folder(&self, name: &str) -> Result<(), RunDirError> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<(), RunDirError> {
        let path = self.path_of(name)?;
        unlinkat(&self.directory, name, flags).map_err(|error| writing(&path, error.into()))
    }

    /// Where something of that name is, which leads nowhere else.
    fn path_of(&self, name: &str) -> Result<PathBuf, RunDirError> {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) if part == name => Ok(self.path.join(name)),
            _ => Err(damaged(
                &self.path,
                format!("`{name}` is no name of a file"),
            )),
        }
    }
}

/// Why something cannot be opened; a link, or a socket, is not `what`.
fn refused(path: &Path, error: Errno, what: &str) -> RunDirError {
    match error {
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => damaged(path, unfollowed(what)),
        error => reading(path, io::Error::from(error)),
    }
}

fn unfollowed(what: &str) -> String {
    format!("{what}, and nothing in the directory of a run is followed")
}
