//! The files of the pages: on disk, or for the run to put on the server.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use engine::Publish;
use suite::{Plan, Text};
use webstone::{FileList, content};

use crate::command::load::guard;
use crate::exit::{Code, Failed};
use crate::output;

/// Seed of the files, unless something else is said: the same everywhere.
const USUAL_SEED: u64 = 0;
/// Largest file that is put on a server and read again: so much of an answer is kept.
const LARGEST: u64 = 64 << 20;

/// Writes the files of a list below a directory. What is there already stays as it is, and must be
/// the same.
pub(super) fn generate(
    list: &FileList,
    directory: &Path,
    seed: Option<u64>,
) -> Result<Code, Failed> {
    let sized = sized(list)?;
    let (mut count, mut bytes) = (0, 0);
    for (path, size) in sized {
        let place = directory.join(path);
        let content = content(path, size, seed.unwrap_or(USUAL_SEED));
        write_new(&place, &content).map_err(|error| {
            Failed::Local(format!("writing {} failed: {error}", place.display()))
        })?;
        count += 1;
        bytes += size;
    }
    let directory = directory.display();
    output::print_text(&format!(
        "{count} files, {bytes} bytes, are in {directory}\n"
    ))?;
    Ok(Code::Done)
}

fn write_new(place: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    match File::create_new(place) {
        Ok(mut file) => file.write_all(content).inspect_err(|_| {
            // A part of a file would be taken for somebody else's the next time.
            let _ = fs::remove_file(place);
        }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match fs::read(place)? == content {
                true => Ok(()),
                false => Err(io::Error::other("another file is there, and stays")),
            }
        }
        Err(error) => Err(error),
    }
}

/// The files of a plan that was made of a list, each once.
pub(super) fn to_be_put(
    plan: &Plan,
    list: &FileList,
    seed: Option<u64>,
) -> Result<Vec<Publish>, Failed> {
    let sizes: BTreeMap<&str, u64> = sized(list)?.into_iter().collect();
    if let Some((path, size)) = sizes.iter().find(|(_, size)| **size > LARGEST) {
        return Err(Failed::Usage(format!(
            "/{path} has {size} bytes, and --prepare puts files of {LARGEST} bytes at most; put it \
             there by other means (--generate DIR writes it)"
        )));
    }
    let requests = guard::requests(plan);
    let files = list.pages.iter().flat_map(|page| &page.files);
    let mut escaped = BTreeMap::new();
    for (request, file) in requests.iter().zip(files) {
        if let Text::Fixed(path) = &request.path {
            escaped.insert(file.path.as_str(), path);
        }
    }
    let files = escaped.into_iter().map(|(path, escaped)| {
        let size = sizes.get(path).copied().unwrap_or_default();
        Publish {
            path: escaped.clone(),
            bytes: content(path, size, seed.unwrap_or(USUAL_SEED)).into(),
        }
    });
    Ok(files.collect())
}

/// All files of a list with their sizes.
fn sized(list: &FileList) -> Result<Vec<(&str, u64)>, Failed> {
    let unknown: Vec<&str> = list
        .files()
        .filter(|(_, size)| size.is_none())
        .map(|(path, _)| path)
        .collect();
    if let [first, ..] = unknown[..] {
        return Err(Failed::Usage(format!(
            "the size of {} of the files is not known, /{first} for example; write it behind the \
             name (`/{first} 14KiB`), or call it after its size as in 1995 (/file14k.html)",
            unknown.len()
        )));
    }
    Ok(list
        .files()
        .filter_map(|(path, size)| Some((path, size?)))
        .collect())
}
