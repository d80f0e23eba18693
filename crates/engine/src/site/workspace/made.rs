//! Resources that runs make without a marker, noted on this machine: files at their target for as
//! long as the run lasts, and collections until they have their marker.
//!
//! Nothing on the server distinguishes them from other resources, so that the note is the only
//! information of `prestan clean`, should the run be killed. Only its owner can read the note. A
//! file of another size than the run sent may have been replaced since, and a collection with
//! members may not be the run's.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wire::dav::{path_of, same_resource};
use wire::target::Target;

use super::leftovers::{Leftover, LeftoverKind, LeftoverState, state_of};
use super::mark::{self, MadeCollectionState};
use super::marker::{Life, Marker};
use super::private;
use super::removal::members;
use crate::connection::client::{Client, PlainRequest};
use crate::site::probe::{RESOURCETYPE, reached};
use crate::site::retries::perform_with_retries;

/// A note on a resource that a run makes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct MadeNote {
    /// Its URL.
    url: String,
    /// Bytes of the file that the run sends, if they are the same every time.
    length: Option<u64>,
    /// The resource is a collection, which has no marker yet.
    #[serde(default)]
    is_collection: bool,
    run: Marker,
}

/// Notes that a run is about to create its target, which does not exist, with a body of `length`
/// bytes.
///
/// # Errors
/// The target cannot be noted. One with secrets in its query is not: they would be kept with it.
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
    write(directory, run_id, url, length, false)
}

/// Notes that a run is about to create a collection, which does not exist.
///
/// # Errors
/// The collection cannot be noted.
pub(super) fn note_collection(directory: &Path, run_id: &str, url: &str) -> Result<(), String> {
    write(directory, run_id, url.to_owned(), None, true)
}

fn write(
    directory: &Path,
    run_id: &str,
    url: String,
    length: Option<u64>,
    is_collection: bool,
) -> Result<(), String> {
    let note = MadeNote {
        url,
        length,
        is_collection,
        run: Marker::new(run_id),
    };
    let written = serde_json::to_string(&note).map_err(io::Error::other);
    let path = file_of(directory, &note.run);
    written
        .and_then(|text| private::replace(&path, &text))
        .map(drop)
        .map_err(|error| format!("writing {} failed: {error}", path.display()))
}

/// Removes the note on the target of a run of this process, after the target was removed.
pub(crate) fn forget_own(directory: &Path, run_id: &str) {
    // It may never have existed.
    let _ = fs::remove_file(file_of(directory, &Marker::new(run_id)));
}

/// A name for a run may be used again by another process.
fn file_of(directory: &Path, run: &Marker) -> PathBuf {
    directory.join(format!("{}.{}.json", run.run_id, run.pid))
}

/// The notes of runs on files below a target, by the path of the file.
fn notes(directory: &Path, target: &Target) -> BTreeMap<String, Vec<MadeNote>> {
    let mut notes: BTreeMap<String, Vec<MadeNote>> = BTreeMap::new();
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

fn read(path: &Path) -> Option<MadeNote> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// The path of a URL that is below a collection; `None` if it is elsewhere.
fn path_below(target: &Target, url: &str) -> Option<String> {
    // Parsed as a URL again, so that no `..` leads out of the collection.
    let made = Target::resource(url).ok()?;
    let is_below = made.shares_server(target)
        && made.path().starts_with(target.path())
        && made.path() != target.path();
    is_below.then(|| made.path().to_owned())
}

/// Resources below a target that a run noted and that still exist. Notes on missing ones are
/// removed, when their runs have ended; and so are those on collections that have a marker.
pub(crate) async fn noted(
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
        // If several runs noted the same, the one most likely to be in progress decides.
        let Some(note) = notes.iter().max_by_key(|note| rank(note.run.life())) else {
            continue;
        };
        let is_collection = note.is_collection;
        let sighting = if is_collection {
            look_at_collection(client, &path).await
        } else {
            look_at_file(client, &path, &notes).await
        };
        let state = match (state_of(&note.run), sighting) {
            (LeftoverState::Running { pid }, _) => LeftoverState::Running { pid },
            (
                LeftoverState::Ended { .. },
                MadeResourceState::Nothing | MadeResourceState::Marked,
            ) => {
                forget(&files);
                continue;
            }
            (_, MadeResourceState::Marked) => continue,
            (_, MadeResourceState::Replaced) if is_collection => LeftoverState::Filled,
            (_, MadeResourceState::Replaced) => LeftoverState::Replaced,
            (state, _) => state,
        };
        let kind = if is_collection {
            LeftoverKind::Unmarked { notes: files }
        } else {
            LeftoverKind::File { notes: files }
        };
        found.push(Leftover {
            url: target.absolute(&path),
            run_id: note.run.run_id.clone(),
            kind,
            path,
            state,
        });
    }
    found
}

/// The likelier a run is in progress, the higher.
fn rank(life: Life) -> u8 {
    match life {
        Life::Ended => 0,
        Life::Unseen => 1,
        Life::Running => 2,
    }
}

/// State of a resource that a run made.
enum MadeResourceState {
    Nothing,
    /// A collection with a marker.
    Marked,
    /// Not what the run made: a file of another size, or a collection with members.
    Replaced,
    /// The resource of the run, as far as can be seen.
    Own,
}

async fn look_at_file(client: &mut Client, path: &str, notes: &[MadeNote]) -> MadeResourceState {
    let head = client.perform(PlainRequest::bare("HEAD", path, super::LABEL));
    let Ok(head) = head.await.result else {
        return MadeResourceState::Own;
    };
    let length = head.headers.get("Content-Length");
    let length: Option<u64> = length.and_then(|length| length.parse().ok());
    let is_as_sent = |note: &MadeNote| note.length.is_none() || note.length == length;
    match head.status {
        404 | 410 => MadeResourceState::Nothing,
        200 if length.is_some() && !notes.iter().any(is_as_sent) => MadeResourceState::Replaced,
        _ => MadeResourceState::Own,
    }
}

async fn look_at_collection(client: &mut Client, path: &str) -> MadeResourceState {
    match mark::look(client, path).await {
        MadeCollectionState::Nothing => MadeResourceState::Nothing,
        MadeCollectionState::Marked(_) => MadeResourceState::Marked,
        MadeCollectionState::Unmarked if is_empty(client, path).await => MadeResourceState::Own,
        MadeCollectionState::Unmarked | MadeCollectionState::Unknown => MadeResourceState::Replaced,
    }
}

/// True if a collection is known to have no members.
pub(super) async fn is_empty(client: &mut Client, path: &str) -> bool {
    let listed = members(client, path, RESOURCETYPE).await;
    listed.is_some_and(|listed| {
        let mut responses = listed.responses.iter();
        !listed.responses.is_empty() && responses.all(|one| same_resource(path_of(&one.href), path))
    })
}

/// Deletes a resource that a run made; fails with the reason.
pub(crate) async fn remove_resource(
    client: &mut Client,
    path: &str,
    url: &str,
) -> Result<(), String> {
    client.is_patient = true;
    let delete =
        perform_with_retries(client, PlainRequest::bare("DELETE", path, super::LABEL)).await;
    let head = reached("DELETE", url, delete.exchange).map_err(|error| error.to_string())?;
    match head.status {
        404 | 410 => Ok(()),
        status if status < 300 && status != 207 => Ok(()),
        // A proxy gave up waiting for a server that may have carried it out.
        504 if is_missing(client, path).await => Ok(()),
        _ => Err(format!("DELETE returned {}", head.status_text())),
    }
}

async fn is_missing(client: &mut Client, path: &str) -> bool {
    let head = client.perform(PlainRequest::bare("HEAD", path, super::LABEL));
    let head = head.await.result;
    head.is_ok_and(|head| matches!(head.status, 404 | 410))
}

/// Removes notes on a file that is gone.
pub(crate) fn forget(notes: &[PathBuf]) {
    for note in notes {
        // Failures are harmless: the next check finds that the file is gone.
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
            let note = MadeNote {
                url: url.to_owned(),
                length: None,
                is_collection: false,
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
        // A note under another name, an incomplete note, and an unrelated file.
        write("other.1.json", "http://h/a/other", "r");
        fs::write(directory.join(format!("half.{pid}.json")), "{\"url\":").unwrap();
        fs::write(directory.join("thesis.tex"), "not ours").unwrap();
        let notes = notes(directory, &Target::parse("http://h/a").unwrap());
        let paths: Vec<&str> = notes.keys().map(String::as_str).collect();
        assert_eq!(paths, ["/a/b/new?x=1", "/a/new"]);
    }
}
