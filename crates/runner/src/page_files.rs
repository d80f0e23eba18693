//! Files of pages: on disk, or put on a server by a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use engine::Publish;
use suite::{Plan, Text};
use webstone::{FileList, content, pieces};

use crate::RunnerError;

/// Default seed of the files: the same everywhere.
const USUAL_SEED: u64 = 0;
/// Largest file that is put on a server and read again: the most of a response that is kept.
const LARGEST: u64 = 64 << 20;

/// Writes the files of a list below a directory, and returns their number and bytes. Existing files
/// must have the same content, and are not replaced.
pub fn generate(
    list: &FileList,
    directory: &Path,
    seed: Option<u64>,
) -> Result<(usize, u64), RunnerError> {
    let files = sized(list)?;
    let seed = seed.unwrap_or(USUAL_SEED);
    let local = |file: &Path, error: &io::Error| {
        RunnerError::Local(format!("writing {} failed: {error}", file.display()))
    };
    fs::create_dir_all(directory).map_err(|error| local(directory, &error))?;
    let bytes = files.iter().map(|(_, size)| size).sum();
    there_is_room(directory, bytes)?;
    for (path, size) in &files {
        let file = directory.join(path);
        let written = write_new(&file, || pieces(path, *size, seed));
        written.map_err(|error| local(&file, &error))?;
    }
    Ok((files.len(), bytes))
}

/// Refuses to fill a disk that is too small.
fn there_is_room(directory: &Path, bytes: u64) -> Result<(), RunnerError> {
    let free = match rustix::fs::statvfs(directory) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        // Writing will fail if there is no space.
        Err(_) => return Ok(()),
    };
    if bytes > free {
        Err(RunnerError::Local(format!(
            "the files have {bytes} bytes, and {free} are free in {}",
            directory.display()
        )))
    } else {
        Ok(())
    }
}

fn write_new<I: Iterator<Item = Vec<u8>>>(path: &Path, content: impl Fn() -> I) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match File::create_new(path) {
        Ok(mut file) => {
            let written = content().try_for_each(|piece| file.write_all(&piece));
            written.inspect_err(|_| {
                // Part of a file would be refused as a different file the next time.
                let _ = fs::remove_file(path);
            })
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if holds(path, content())? {
                Ok(())
            } else {
                Err(io::Error::other("another file is there, and stays"))
            }
        }
        Err(error) => Err(error),
    }
}

/// True if a file has exactly that content.
fn holds(path: &Path, mut content: impl Iterator<Item = Vec<u8>>) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut read = Vec::new();
    let same = content.try_fold(true, |same, piece| {
        read.clear();
        (&mut file)
            .take(piece.len() as u64)
            .read_to_end(&mut read)?;
        Ok::<_, io::Error>(same && read == piece)
    })?;
    Ok(same && file.read(&mut [0])? == 0)
}

/// The files of a plan that was made of a list, each once.
pub fn to_be_put(
    plan: &Plan,
    list: &FileList,
    seed: Option<u64>,
) -> Result<Vec<Publish>, RunnerError> {
    let sizes: BTreeMap<&str, u64> = sized(list)?.into_iter().collect();
    if let Some((path, size)) = sizes.iter().find(|(_, size)| **size > LARGEST) {
        return Err(RunnerError::Usage(format!(
            "/{path} has {size} bytes, and --prepare puts files of {LARGEST} bytes at most; put it \
             there by other means (--generate DIR writes it)"
        )));
    }
    if sizes.contains_key(engine::MARKER) {
        return Err(RunnerError::Usage(format!(
            "/{} is what --prepare marks its collection with, so no file can be called so",
            engine::MARKER
        )));
    }
    let files = list.pages.iter().flat_map(|page| &page.files);
    if let Some(dynamic) = files.clone().find(|file| file.is_dynamic()) {
        return Err(RunnerError::Usage(format!(
            "/{} is dynamic: a program on the server makes it, which --prepare cannot put there; leave --prepare \
             out, and put the programs and the files there by other means (--generate DIR writes the files)",
            dynamic.path
        )));
    }
    let mut escaped = BTreeMap::new();
    for (request, file) in plan.looped_requests().zip(files) {
        if let Text::Fixed(path) = &request.path {
            escaped.insert(file.path.as_str(), path);
        }
    }
    let seed = seed.unwrap_or(USUAL_SEED);
    let files = escaped.into_iter().map(|(path, escaped)| {
        let size = sizes.get(path).copied().unwrap_or_default();
        let path = path.to_owned();
        Publish {
            path: escaped.clone(),
            content: Arc::new(move || content(&path, size, seed)),
        }
    });
    Ok(files.collect())
}

/// All files of a list with their sizes, if they can be files on a disk.
fn sized(list: &FileList) -> Result<Vec<(&str, u64)>, RunnerError> {
    let paths: BTreeSet<&str> = list.files().map(|(path, _)| path).collect();
    for path in &paths {
        if path.split('/').any(str::is_empty) {
            return Err(RunnerError::Usage(format!(
                "/{path} cannot be made: it is no name of a file, or has an empty part"
            )));
        }
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if let Some(file) = above.into_iter().find(|above| paths.contains(above)) {
            return Err(RunnerError::Usage(format!(
                "/{file} cannot be made: /{path} needs a directory there"
            )));
        }
    }
    let unknown = list.files().filter(|(_, size)| size.is_none());
    let unknown: Vec<&str> = unknown.map(|(path, _)| path).collect();
    if let [first, ..] = unknown[..] {
        return Err(RunnerError::Usage(format!(
            "{} of the files have no known size, /{first} for example; write the size after the name \
             (`/{first} 14KiB`), or name the file after its size as in 1995 (/file14k.html)",
            unknown.len()
        )));
    }
    let known = list.files().filter_map(|(path, size)| Some((path, size?)));
    Ok(known.collect())
}
