//! Files for other programs and people: documents, pages, figures and logs.
//!
//! A file is written beside its final path, under another name, and renamed when it is complete: on
//! a full disk, an existing file stays as it is. A symbolic link, a pipe, a device or a file with
//! several names is written through and never replaced, and so is a file that cannot be replaced by
//! one of the same owner, permissions and extended attributes, unless that is because the disk is
//! full.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use runner::RunnerError;
use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use rustix::io::Errno;

/// Most files named in a message.
const NAMED: usize = 4;
/// Largest value of an extended attribute, and largest list of their names (xattr(7)).
const LARGEST_ATTRIBUTE: usize = 64 * 1024;
/// Extended attributes that the kernel computes from the content of a file.
const COMPUTED_ATTRIBUTES: [&[u8]; 2] = [b"security.evm", b"security.ima"];

/// Files to be written that have older content.
static OLDER: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Registers a file that is to be written; [`untouched`] names it if that does not happen.
pub fn announce(path: &Path) {
    let there = fs::metadata(path);
    if there.is_ok_and(|there| there.is_file() && there.len() > 0) {
        older(|all| all.insert(path.to_owned()));
    }
}

/// Registers files with this ending in a directory to which such files are to be written.
pub fn announce_all(directory: &Path, ending: &str) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let alike = paths.filter(|path| is_with(path, ending));
    alike.for_each(|path| announce(&path));
}

/// All files with this ending were written into a directory: others are not about this run.
pub fn all_written(directory: &Path, ending: &str) {
    let is_one = |path: &PathBuf| path.parent() == Some(directory) && is_with(path, ending);
    older(|all| all.retain(|path| !is_one(path)));
}

fn is_with(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension == ending)
}

/// Registered files that still have their older content.
pub fn untouched() -> Option<String> {
    let names = older(|all| {
        let names = all.iter().map(|path| path.display().to_string());
        names.collect::<Vec<String>>()
    });
    match names.as_slice() {
        [] => None,
        [one] => Some(format!(
            "{one} was there before this run, which did not write it"
        )),
        several => {
            let more = match several.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named: Vec<&str> = several.iter().take(NAMED).map(String::as_str).collect();
            Some(format!(
                "{}{more} were there before this run, which did not write them",
                named.join(", ")
            ))
        }
    }
}

fn older<T>(look: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    // A set is valid at any moment, even after a panic.
    look(&mut OLDER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes a file that grows beyond its limit (setrlimit(2)) an error of the write, instead of ending
/// the program.
pub fn outlive_size_limits() {
    extern "C" fn go_on(_: libc::c_int) {}
    let go_on = go_on as extern "C" fn(libc::c_int);
    // SAFETY: the handler does nothing, and an ignored signal stays ignored.
    unsafe {
        if libc::signal(libc::SIGXFSZ, go_on as libc::sighandler_t) == libc::SIG_IGN {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
    }
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), RunnerError> {
    write_with(path, |file| file.write_all(bytes))
}

/// Writes a file that `fill` fills in pieces.
pub fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RunnerError> {
    write_document(path, |document| {
        fill(&mut document.file)?;
        document.sync()
    })
}

/// Writes one of many small files that can be made again from a record or by this program: none
/// waits for the disk.
pub fn write_drawn(path: &Path, bytes: &[u8]) -> Result<(), RunnerError> {
    write_document(path, |document| document.file.write_all(bytes))
}

fn write_document(
    path: &Path,
    fill: impl FnOnce(&mut DocumentFile) -> io::Result<()>,
) -> Result<(), RunnerError> {
    let written = DocumentFile::create(path).and_then(|mut document| {
        fill(&mut document)?;
        document.complete()
    });
    written
        .map_err(|error| RunnerError::Local(format!("writing {} failed: {error}", path.display())))
}

/// A file that is not complete yet. Dropping it before completion removes it.
struct DocumentFile {
    path: PathBuf,
    file: File,
    /// Its temporary name; `None` for a file that is written through.
    part: Option<PathBuf>,
}

impl DocumentFile {
    fn create(path: &Path) -> io::Result<DocumentFile> {
        let there = match fs::symlink_metadata(path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let is_replaceable = |there: &Metadata| there.is_file() && there.nlink() == 1;
        if there.as_ref().is_none_or(is_replaceable) {
            match DocumentFile::beside(path, there.as_ref()) {
                // A user who may not write to its directory, or cannot give a new file its owner or
                // its attributes, may still write to the file.
                Err(error) if there.is_some() && !is_of_a_full_disk(&error) => {}
                created => return created,
            }
        }
        let file = File::create(path)?;
        older(|all| all.remove(path));
        Ok(DocumentFile {
            path: path.to_owned(),
            file,
            part: None,
        })
    }

    /// A temporary file with the owner, permissions and extended attributes of the file that it
    /// will replace, if there is one.
    fn beside(path: &Path, there: Option<&Metadata>) -> io::Result<DocumentFile> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Another container, or a process that was killed, may have used the same process number.
        let (part, file) = loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let part = path.with_file_name(format!(".prestan-{}-{number}.part", process::id()));
            match File::create_new(&part) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => break (part, made?),
            }
        };
        let document = DocumentFile {
            path: path.to_owned(),
            file,
            part: Some(part.clone()),
        };
        if let Some(there) = there {
            fchown(&document.file, Some(there.uid()), Some(there.gid()))?;
            document.file.set_permissions(there.permissions())?;
            keep_attributes(path, &part)?;
        }
        Ok(document)
    }

    /// Waits until the data is on the disk: some file systems report only then that they are full.
    fn sync(&self) -> io::Result<()> {
        self.part.as_ref().map_or(Ok(()), |_| self.file.sync_data())
    }

    /// Renames it to its final path.
    fn complete(mut self) -> io::Result<()> {
        let Some(part) = &self.part else {
            return Ok(());
        };
        match fs::rename(part, &self.path) {
            Ok(()) => self.part = None,
            // Another file is mounted there, as in a container.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                fs::copy(part, &self.path)?;
            }
            Err(error) => return Err(error),
        }
        older(|all| all.remove(&self.path));
        Ok(())
    }
}

impl Drop for DocumentFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // A failure is about to be reported, and this one adds nothing to it.
            let _ = fs::remove_file(part);
        }
    }
}

fn is_of_a_full_disk(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Replaces the extended attributes of a file, including access control lists, by those of another
/// one.
fn keep_attributes(from: &Path, to: &Path) -> io::Result<()> {
    let (kept, new) = (attributes(from)?, attributes(to)?);
    for name in new.keys().filter(|name| !kept.contains_key(*name)) {
        removexattr(to, name.as_slice())?;
    }
    for (name, value) in kept {
        if new.get(&name) != Some(&value) {
            setxattr(to, name.as_slice(), &value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

fn attributes(path: &Path) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut names = Vec::with_capacity(LARGEST_ATTRIBUTE);
    match listxattr(path, spare_capacity(&mut names)) {
        Err(Errno::NOTSUP) => {}
        listed => {
            listed?;
        }
    }
    let is_kept = |name: &&[u8]| !name.is_empty() && !COMPUTED_ATTRIBUTES.contains(name);
    let mut all = BTreeMap::new();
    for name in names.split(|byte| *byte == 0).filter(is_kept) {
        let mut value = Vec::with_capacity(LARGEST_ATTRIBUTE);
        match getxattr(path, name, spare_capacity(&mut value)) {
            // It was removed in the meantime.
            Err(Errno::NODATA) => {}
            read => {
                read?;
                all.insert(name.to_owned(), value);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_cannot_be_completed_stays_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out.json");
        write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        announce(&path);
        let failed = write_with(&path, |file| {
            file.write_all(b"ne")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        let failed = failed.unwrap_err().to_string();
        let says = "out.json failed: no storage space";
        assert!(failed.ends_with(says), "{failed}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(home.path()), ["out.json"]);
        let message = untouched().unwrap();
        assert!(message.ends_with("out.json was there before this run, which did not write it"));

        write(&path, b"new").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), untouched()),
            (b"new".to_vec(), None)
        );
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(names(home.path()), ["out.json"]);

        // Figures are listed until all are written; another document is still listed then.
        announce(&path);
        let figure = |number: u32| home.path().join(format!("{number}.svg"));
        (0..9).for_each(|number| fs::write(figure(number), "old").unwrap());
        announce_all(home.path(), "svg");
        (0..3).for_each(|number| write_drawn(&figure(number), b"new").unwrap());
        let message = untouched().unwrap();
        let expected = "6.svg and 3 more were there before this run, which did not write them";
        assert!(message.ends_with(expected), "{message}");
        all_written(home.path(), "svg");
        let message = untouched().unwrap();
        assert!(message.ends_with("out.json was there before this run, which did not write it"));
        write(&path, b"last").unwrap();
        assert_eq!(untouched(), None);
    }

    #[test]
    fn a_file_beside_which_none_can_be_made_is_written_through() {
        /// Longest path in bytes (PATH_MAX), with its final zero.
        const LONGEST: usize = 4096;
        const NAME: &str = "o.js";
        let home = tempfile::tempdir().unwrap();
        let mut directory = home.path().to_owned();
        let rest =
            |directory: &Path| LONGEST - directory.as_os_str().len() - "//".len() - NAME.len();
        while rest(&directory) > 250 {
            directory.push("d".repeat(200));
        }
        directory.push("d".repeat(rest(&directory) - 1));
        fs::create_dir_all(&directory).unwrap();
        // The path of the new file would be too long.
        let path = directory.join(NAME);
        fs::write(&path, "old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&directory), [NAME]);
    }

    #[test]
    fn extended_attributes_stay() {
        /// Another user may read it (acl(5), in the form of the kernel).
        const LIST: [u8; 44] = [
            2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 0, 0, 255,
            255, 255, 255, 16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
        ];
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out.json");
        fs::write(&path, "old").unwrap();
        let mut expected = BTreeMap::new();
        for (name, value) in [
            ("user.origin", &b"ours"[..]),
            ("system.posix_acl_access", &LIST[..]),
        ] {
            // Some file systems have none.
            if setxattr(&path, name, value, XattrFlags::empty()).is_ok() {
                expected.insert(name.as_bytes().to_owned(), value.to_owned());
            }
        }
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mut there = attributes(&path).unwrap();
        there.retain(|name, _| !name.starts_with(b"security."));
        assert_eq!(there, expected);
        let kept = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert!(expected.len() < 2 || kept == 0o640, "{kept:o}");
    }

    #[test]
    fn what_is_no_plain_file_is_written_through() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::write(path("file"), "old").unwrap();
        symlink("file", path("link")).unwrap();
        write(&path("link"), b"new").unwrap();
        assert!(path("link").is_symlink());
        assert_eq!(fs::read(path("file")).unwrap(), b"new");

        fs::hard_link(path("file"), path("other")).unwrap();
        write(&path("other"), b"both").unwrap();
        assert_eq!(fs::read(path("file")).unwrap(), b"both");

        symlink("/dev/null", path("device")).unwrap();
        write(&path("device"), b"nothing").unwrap();
        assert!(path("device").is_symlink());
        assert_eq!(names(home.path()), ["device", "file", "link", "other"]);
    }
}
