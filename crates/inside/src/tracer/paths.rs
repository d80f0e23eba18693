//! Maps the path of a file to a kind of files.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use record::CallTarget;

/// Directories and names by which the files of a server are classified.
#[derive(Debug)]
pub(super) struct FileKinds {
    /// Storage directory of the server, as given and with symbolic links resolved.
    storage: Vec<PathBuf>,
    /// Name of the collection of the run.
    collection: String,
}

impl FileKinds {
    pub(super) fn new(storage: Option<&Path>, collection: &str) -> FileKinds {
        let given = storage.map(Path::to_owned);
        let resolved = storage.and_then(|storage| storage.canonicalize().ok());
        FileKinds {
            storage: given.into_iter().chain(resolved).collect(),
            collection: collection.to_owned(),
        }
    }

    /// Target for an absolute path.
    pub(super) fn target(&self, path: &Path) -> CallTarget {
        let in_collection = |part: Component| part.as_os_str() == OsStr::new(&self.collection);
        if !self.collection.is_empty() && path.components().any(in_collection) {
            return CallTarget::Collection;
        }
        let below = self
            .storage
            .iter()
            .find_map(|storage| path.strip_prefix(storage).ok());
        let path = match below {
            Some(below) if below.as_os_str().is_empty() => Cow::Borrowed(Path::new(".")),
            Some(below) => Cow::Borrowed(below),
            None => match self.beside(path) {
                Some(beside) => Cow::Owned(Path::new("..").join(beside)),
                None => Cow::Borrowed(path),
            },
        };
        CallTarget::File {
            path: kind_of(&path.to_string_lossy()),
        }
    }

    /// The path below the directory that contains the storage. A server that was started for a run
    /// keeps its configuration there, and the name of that directory differs in each run. The
    /// containing directory must belong to a user, not to the system, such as `/srv`.
    fn beside<'path>(&self, path: &'path Path) -> Option<&'path Path> {
        self.storage.iter().find_map(|storage| {
            let around = storage.parent()?;
            let is_system = around.components().count() < 3;
            path.strip_prefix(around).ok().filter(|_| !is_system)
        })
    }
}

/// A path from a directory, without `.` and `..`; symbolic links on it stay.
pub(super) fn joined(directory: &Path, path: &Path) -> PathBuf {
    let mut joined = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                joined.pop();
            }
            part => joined.push(part),
        }
    }
    joined
}

/// The path with `*` for numbers and random parts, so that files of one kind have one path.
fn kind_of(path: &str) -> String {
    let mut kind = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest.find(|next: char| next.is_alphanumeric() != is_word);
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        if is_word {
            push_word(&mut kind, part);
        } else {
            kind.push_str(part);
        }
        rest = after;
    }
    kind
}

fn push_word(kind: &mut String, word: &str) {
    if looks_random(word) {
        kind.push('*');
        return;
    }
    for letter in word.chars() {
        if !letter.is_ascii_digit() {
            kind.push(letter);
        } else if !kind.ends_with('*') {
            kind.push('*');
        }
    }
}

/// True for digits among letters (`e3b0c442`, not `python3`), or more capitals than a name of
/// several words has.
fn looks_random(word: &str) -> bool {
    const SHORTEST: usize = 6;
    let changes = |is_change: fn(char, char) -> bool| {
        let next = word.chars().skip(1);
        word.chars()
            .zip(next)
            .filter(|&(a, b)| is_change(a, b))
            .count()
    };
    let length = word.chars().count();
    let digits = changes(|a, b| a.is_ascii_digit() != b.is_ascii_digit());
    let capitals = changes(|a, b| a.is_lowercase() && b.is_uppercase());
    length >= SHORTEST && (digits >= 2 || capitals * 4 >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_kind_have_one_path() {
        for (path, kind) in [
            ("/etc/passwd", "/etc/passwd"),
            ("/proc/123/stat", "/proc/*/stat"),
            ("/usr/lib/python3/x.so.1", "/usr/lib/python*/x.so.*"),
            ("/tmp/phpKqLbXz", "/tmp/*"),
            ("/tmp/nginx/0000000012", "/tmp/nginx/*"),
            ("locks/e3b0c442-98fc.lock", "locks/*-*fc.lock"),
            (
                "/var/DocumentRoot/index.html",
                "/var/DocumentRoot/index.html",
            ),
            ("/data/DavLock.db-journal", "/data/DavLock.db-journal"),
            ("/a//b*7", "/a//b*"),
            ("/café/ü1", "/café/ü*"),
        ] {
            assert_eq!(kind_of(path), kind, "{path}");
        }
    }

    #[test]
    fn paths_are_joined_without_dots() {
        for (directory, path, joint) in [
            ("/a/b", "c", "/a/b/c"),
            ("/a/b", "../c/./d", "/a/c/d"),
            ("/a/b", "/c/..", "/"),
            ("/a", "../../..", "/"),
        ] {
            let both = joined(Path::new(directory), Path::new(path));
            assert_eq!(both, Path::new(joint));
        }
    }

    #[test]
    fn the_collection_is_a_part_of_a_path() {
        let kinds = FileKinds::new(Some(Path::new("/srv/dav")), "PrestanTest-1");
        let file = |path: &str| CallTarget::File {
            path: path.to_owned(),
        };
        for (path, target) in [
            ("/srv/dav/PrestanTest-1/a/b", CallTarget::Collection),
            ("/tmp/PrestanTest-1", CallTarget::Collection),
            ("/srv/dav/PrestanTest-12", file("PrestanTest-*")),
            ("/srv/dav", file(".")),
            ("/srv/dav/db/lock", file("db/lock")),
            ("/srv/davs", file("/srv/davs")),
        ] {
            assert_eq!(kinds.target(Path::new(path)), target, "{path}");
        }
        let kinds = FileKinds::new(Some(Path::new("/tmp/abcdef/storage")), "PrestanTest-1");
        for (path, target) in [
            ("/tmp/abcdef/storage/a", file("a")),
            ("/tmp/abcdef/lock/db", file("../lock/db")),
            ("/tmp/other", file("/tmp/other")),
        ] {
            assert_eq!(kinds.target(Path::new(path)), target, "{path}");
        }
        let nothing = FileKinds::new(None, "");
        assert_eq!(nothing.target(Path::new("/srv")), file("/srv"));
    }
}
