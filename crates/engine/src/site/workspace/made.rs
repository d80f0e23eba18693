//! Files that runs make at their target, noted on this machine for as long as the run goes on.
//!
//! Nothing on the server tells such a file from the files of others, so that the note is all that
//! `prestan clean` can go by, should the run be killed. Only its owner can read the note. A file
//! whose size is not the one that the run sent may have been replaced since.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wire::target::Target;

use super::leftovers::{Leftover, LeftoverKind, LeftoverState, state_of};
use super::marker::{Life, Marker};
use super::private;
use crate::connection::client::{Client, PlainRequest};
use crate::site::probe::reached;

/// What is kept of a file that a run makes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FileNote {
    /// Where it is.
    url: String,
    /// Bytes that the run sends, where they are the same every time.
    length: Option<u64>,
    run: Marker,
}

/// Notes that a run is going to make its target, where nothing is, with a body of `length` bytes.
///
/// # Errors
/// Why that cannot be noted. A target with secrets in its query is not: they would be kept with it.
pub(crate) fn note(
    directory: &Path,
    run_id: &str,
    target: &Target,
    length: Option<u64>,
) -> Result<(), String> {
    let url = target.url();
    if url != target.absolute(target.path()) {
        return Err("the query of its URL has a secret, which is not kept".to_owned());
    }
    let note = FileNote {
        url,
        length,
        run: Marker::new(run_id),
    };
    let written = serde_json::to_string(&note).map_err(io::Error::other);
    let path = file_of(directory, &note.run);
    written
        .and_then(|text| private::replace(&path, &text))
        .map(drop)
        .map_err(|error| format!("writing {} failed: {error}", path.display()))
}

/// The target that a run of this process made is removed, and with it the note.
pub(crate) fn forget_own(directory: &Path, run_id: &str) {
    // It may never have been there.
    let _ = fs::remove_file(file_of(directory, &Marker::new(run_id)));
}

/// A name for a run may be used again by another process.
fn file_of(directory: &Path, run: &Marker) -> PathBuf {
    directory.join(format!("{}.{}.json", run.run_id, run.pid))
}

/// The notes of runs on files below a target, by the path of the file.
fn notes(directory: &Path, target: &Target) -> BTreeMap<String, Vec<FileNote>> {
    let mut notes: BTreeMap<String, Vec<FileNote>> = BTreeMap::new();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if let Some(note) = read(&path)
            && file_of(directory, &note.run) == path
            && let Some(made) = path_below(target, &note.url)
        {
            notes.entry(made).or_default().push(note);
        }
    }
    notes
}

fn read(path: &Path) -> Option<FileNote> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// The path of a URL that is below a collection; `None` when it is elsewhere.
fn path_below(target: &Target, url: &str) -> Option<String> {
    // Read as a URL once more, so that no `..` leads out of the collection.
    let made = Target::resource(url).ok()?;
    let is_below = made.scheme() == target.scheme()
        && made.authority() == target.authority()
        && made.path().starts_with(target.path())
        && made.path() != target.path();
    is_below.then(|| made.path().to_owned())
}

/// Files below a target that runs noted and that are still there. Notes on files that are gone are
/// removed, when their runs have ended.
pub(crate) async fn made_files(
    client: &mut Client,
    directory: Option<&Path>,
    target: &Target,
) -> Vec<Leftover> {
    let mut found = Vec::new();
    let Some(directory) = directory else {
        return found;
    };
    for (path, notes) in notes(directory, target) {
        let files = notes.iter().map(|note| file_of(directory, &note.run));
        let files: Vec<PathBuf> = files.collect();
        // Where several runs noted the same file, the one that may go on decides.
        let Some(note) = notes.iter().max_by_key(|note| rank(note.run.life())) else {
            continue;
        };
        let state = match (state_of(&note.run), look(client, &path, &notes).await) {
            (LeftoverState::Running { pid }, _) => LeftoverState::Running { pid },
            (LeftoverState::Ended { .. }, Sighting::Nothing) => {
                forget(&files);
                continue;
            }
            (_, Sighting::Replaced) => LeftoverState::Replaced,
            (state, _) => state,
        };
        found.push(Leftover {
            url: target.absolute(&path),
            run_id: note.run.run_id.clone(),
            kind: LeftoverKind::File { notes: files },
            path,
            state,
        });
    }
    found
}

/// The more a run may go on, the higher.
fn rank(life: Life) -> u8 {
    match life {
        Life::Ended => 0,
        Life::Unseen => 1,
        Life::Running => 2,
    }
}

/// What is where a run made a file.
enum Sighting {
    Nothing,
    /// Its size is not that of the file that the run made.
    Replaced,
    /// The file, as far as can be seen.
    File,
}

async fn look(client: &mut Client, path: &str, notes: &[FileNote]) -> Sighting {
    let head = client.perform(PlainRequest::bare("HEAD", path, super::LABEL));
    let Ok(answer) = head.await.result else {
        return Sighting::File;
    };
    let length = answer.head.headers.get("Content-Length");
    let length: Option<u64> = length.and_then(|length| length.parse().ok());
    let is_as_sent = |note: &FileNote| note.length.is_none() || note.length == length;
    match answer.head.status {
        404 | 410 => Sighting::Nothing,
        200 if length.is_some() && !notes.iter().any(is_as_sent) => Sighting::Replaced,
        _ => Sighting::File,
    }
}

/// Deletes a resource that a run made; says why it is still there.
pub(crate) async fn remove_resource(
    client: &mut Client,
    path: &str,
    url: &str,
) -> Result<(), String> {
    client.is_patient = true;
    let delete = client.perform(PlainRequest::bare("DELETE", path, super::LABEL));
    let head = reached("DELETE", url, delete.await).map_err(|error| error.to_string())?;
    match head.status {
        404 | 410 => Ok(()),
        status if status < 300 && status != 207 => Ok(()),
        _ => Err(format!("DELETE was answered {}", head.status_text())),
    }
}

/// Removes notes on a file that is gone.
pub(crate) fn forget(notes: &[PathBuf]) {
    for note in notes {
        // Nothing depends on it: the next look finds that the file is gone.
        let _ = fs::remove_file(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_notes_of_ours_on_files_below_the_target_count() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path();
        let write = |name: &str, url: &str, run_id: &str| {
            let note = FileNote {
                url: url.to_owned(),
                length: None,
                run: Marker::new(run_id),
            };
            let text = serde_json::to_string(&note).unwrap();
            drop(private::replace(&directory.join(name), &text).unwrap());
        };
        let pid = std::process::id();
        let below = ["http://h/a/new", "http://h/a/b/new?x=1"];
        let elsewhere = [
            "http://h/new",
            "http://h/a/",
            "http://h/ab/new",
            "http://h:81/a/new",
            "https://h/a/new",
            "http://other/a/new",
            "http://h/a/../new",
            "http://h/a/%2e%2e/new",
        ];
        for (number, url) in below.iter().chain(&elsewhere).enumerate() {
            write(&format!("r{number}.{pid}.json"), url, &format!("r{number}"));
        }
        // A note under another name, half a note, and something else.
        write("other.1.json", "http://h/a/other", "r");
        fs::write(directory.join(format!("half.{pid}.json")), "{\"url\":").unwrap();
        fs::write(directory.join("thesis.tex"), "not ours").unwrap();
        let notes = notes(directory, &Target::parse("http://h/a").unwrap());
        let paths: Vec<&str> = notes.keys().map(String::as_str).collect();
        assert_eq!(paths, ["/a/b/new?x=1", "/a/new"]);
    }
}
