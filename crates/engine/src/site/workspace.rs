//! The collection of a run on the user's server: made, marked, removed.
//!
//! The server has other contents. A run works only below `PrestanTest-<run id>/`, which it made
//! itself, and puts a marker into it, so that leftovers of a killed run can be distinguished from
//! everything else and be removed by `prestan clean`.

pub(crate) mod held;
mod leftovers;
pub(crate) mod made;
mod mark;
mod marker;
mod private;
mod removal;

use std::path::Path;

use record::{EventKind, LeftBehind, Outcome};
use wire::dav::{XmlLimits, parse_multistatus};
use wire::redact::redacted_link;
use wire::response::ResponseHead;
use wire::target::Target;

use crate::connection::client::{Client, PlainRequest};
use crate::error::RunError;
use crate::site::probe::{RESOURCETYPE, forbidden, propfind_request, unusable};
use crate::site::retries::perform_with_retries;
use crate::watch::journal::Journal;
use held::{HeldLock, HeldLocks};
pub(crate) use mark::FilesRefused;
use mark::{MadeCollectionState, look, mark};
pub use marker::MARKER;
use removal::{Removal, remove_collection};

pub use leftovers::{Leftover, LeftoverState};
pub(crate) use leftovers::{LeftoverKind, leftovers, remove_leftover, unlisted};

/// Prefix of the names of collections of runs.
const PREFIX: &str = "PrestanTest-";
/// X-Prestan of requests that belong to no test.
const LABEL: &str = "prestan: 0 (workspace)";

/// Longest name of a run, in letters.
pub const LONGEST_RUN_ID: usize = 64;

/// True if a text can name a run: up to 64 letters, digits, `-` and `_`.
pub fn is_run_id(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= LONGEST_RUN_ID && text.chars().all(fine)
}

/// Name of the collection of a run.
pub fn collection_name(run_id: &str) -> String {
    format!("{PREFIX}{run_id}")
}

/// Path of the collection of a run, with a slash at its end.
pub(crate) fn collection_path(target: &Target, run_id: &str) -> String {
    format!("{}{}/", target.path(), collection_name(run_id))
}

/// True if this process has made the collection of a run there already: by an alias of the same
/// server.
pub(crate) async fn is_ours(client: &mut Client, target: &Target, run_id: &str) -> bool {
    let path = collection_path(target, run_id);
    let state = leftovers::state(client, &path, run_id).await;
    let pid = std::process::id();
    state == LeftoverState::Running { pid }
}

/// The collection of a run, as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MadeWorkspace {
    /// The server refuses files.
    pub(crate) refuses: Option<FilesRefused>,
    /// The server returns the marker, so that a collection without it is another one.
    pub(crate) shows_marker: bool,
}

/// Makes the collection of a run, which must not exist. Until it has its marker, a note in `notes`
/// names its run.
pub(crate) async fn create(
    client: &mut Client,
    target: &Target,
    run_id: &str,
    notes: Option<&Path>,
) -> Result<MadeWorkspace, RunError> {
    let path = collection_path(target, run_id);
    let url = target.absolute(&path);
    // Some servers respond 201 to MKCOL of an existing collection, so check first.
    let occupancy = occupancy_of(client, &path).await?;
    if occupancy == Occupancy::Taken {
        return Err(RunError::NoWorkspace(format!(
            "{url} is there already, and Prestan works only in a collection that it made itself; \
             choose another --run-id, or remove what an earlier run left with `prestan clean`"
        )));
    }
    let was_absent = occupancy == Occupancy::Free;
    // If no note can be kept, only a message names the leftover.
    let is_noted = notes.is_some_and(|notes| made::note_collection(notes, run_id, &url).is_ok());
    let made = perform_with_retries(client, PlainRequest::bare("MKCOL", &path, LABEL)).await;
    let repeats = made.may_be_done || made.exchange.repeats("MKCOL");
    let is_made = match &made.exchange.result {
        Ok(head) if (200..300).contains(&head.status) => true,
        // It did not exist before our first request. Another run with this name may have come
        // between.
        Ok(head) if head.status == 405 && was_absent && repeats => is_fresh(client, &path).await,
        _ => false,
    };
    let failed = "making the collection of the run failed";
    let what = match &made.exchange.result {
        _ if is_made => match mark(client, &path, &url, run_id).await {
            Ok(refuses) => {
                forget_note(notes, run_id);
                let sighting = look(client, &path).await;
                let shows_marker = matches!(sighting, MadeCollectionState::Marked(marker) if marker.run_id == run_id);
                return Ok(MadeWorkspace {
                    refuses,
                    shows_marker,
                });
            }
            Err(what) => what,
        },
        Ok(head) => match unusable(client, target.path(), &target.url()).await {
            Some(unusable) => unusable,
            None => {
                let returned = if head.status == 403 {
                    let why = forbidden(client, target.path(), "write there").await;
                    format!("returned {}; {why}", head.status_text())
                } else {
                    result_of("MKCOL", head)
                };
                format!("{failed}: MKCOL {url} {returned}")
            }
        },
        Err(failure) => format!("{failed}: MKCOL {url}: {}", failure.what),
    };
    // Proxies that gave up waiting, and servers that failed midway, do not report if it was made.
    let status = made.exchange.result.as_ref().ok().map(|head| head.status);
    let may_be_done = made.may_be_done || matches!(status, None | Some(502 | 504));
    let may_be_ours = may_be_done || was_absent && status != Some(405);
    // The collection is ours if it was made and did not exist before, or if it is empty and has no
    // marker.
    let is_ours = is_made && was_absent || may_be_ours && is_fresh(client, &path).await;
    let left = if is_ours {
        match remove_collection(client, &path, &[]).await {
            Ok(Removal::Deleted) => {
                forget_note(notes, run_id);
                String::new()
            }
            Ok(Removal::WasGone) => format!(
                "; {url} was made and is not there when it is to be removed: it may be on another server behind the same \
                 address"
            ),
            Err(why) if is_noted => {
                format!(
                    "; it could not be removed again ({why}), `prestan clean` may while it is empty"
                )
            }
            Err(why) => format!(
                "; {url} could not be removed again ({why}), and has no marker by which `prestan clean` knows it"
            ),
        }
    } else if is_made {
        format!("; {url} is left as it is: it may have been there before")
    } else {
        if !may_be_done {
            forget_note(notes, run_id);
        }
        String::new()
    };
    Err(RunError::NoWorkspace(format!("{what}{left}")))
}

/// True if there is a collection without a marker and without members, like one that was just made.
async fn is_fresh(client: &mut Client, path: &str) -> bool {
    look(client, path).await == MadeCollectionState::Unmarked && made::is_empty(client, path).await
}

/// The collection of a run has a marker, or does not exist.
fn forget_note(notes: Option<&Path>, run_id: &str) {
    if let Some(notes) = notes {
        made::forget_own(notes, run_id);
    }
}

/// How a request that was to create a resource was declined, with advice.
fn result_of(method: &str, head: &ResponseHead) -> String {
    let hint = match (head.status, head.headers.get("Location")) {
        (300..=399, Some(location)) => {
            let location = redacted_link(location);
            format!("; it points to {location}, and redirects are not followed")
        }
        (401 | 403, _) => "; does this user have the right to write there?".to_owned(),
        (405 | 501, _) => format!("; this server, or this path, does not have {method}"),
        (409, _) => "; the collection above it is missing".to_owned(),
        (429 | 503, _) => "; the server is busy, or a proxy before it limits requests".to_owned(),
        (507, _) => "; the server is out of space".to_owned(),
        _ => String::new(),
    };
    format!("returned {}{hint}", head.status_text())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occupancy {
    Taken,
    Free,
    /// The server does not report it.
    Unknown,
}

/// For a server without PROPFIND, by HEAD.
pub(super) async fn occupancy_of(client: &mut Client, path: &str) -> Result<Occupancy, RunError> {
    let listing =
        perform_with_retries(client, propfind_request(path, "0", RESOURCETYPE, LABEL)).await;
    let status = match listing.exchange.result {
        Ok(head) => head.status,
        Err(failure) => {
            let what = format!("PROPFIND {path}: {}", failure.what);
            return Err(RunError::Unreachable(what));
        }
    };
    Ok(match status {
        207 => {
            let multistatus = parse_multistatus(client.body(), &XmlLimits::default());
            if multistatus.is_ok_and(|multistatus| multistatus.is_missing()) {
                Occupancy::Free
            } else {
                Occupancy::Taken
            }
        }
        404 | 410 => Occupancy::Free,
        405 | 501 => {
            let head = client.perform(PlainRequest::bare("HEAD", path, LABEL));
            match head.await.result.map_or(0, |head| head.status) {
                200..=299 => Occupancy::Taken,
                404 | 410 => Occupancy::Free,
                _ => Occupancy::Unknown,
            }
        }
        _ => Occupancy::Unknown,
    })
}

/// Advice about a collection that remains.
const LATER: &str = "; once the server permits it, `prestan clean` removes it";

/// Remains of the collection of a run.
enum Remains {
    Nothing,
    /// The collection; with the reason.
    Collection(String),
    /// Nothing, though it was not removed; with a note.
    Lost(&'static str),
}

/// Removes the collection of a run, unless another one is in its place.
async fn remove_own(
    client: &mut Client,
    path: &str,
    (run_id, shows_marker): (&str, bool),
    held: &[HeldLock],
) -> Remains {
    let sighting = look(client, path).await;
    match &sighting {
        MadeCollectionState::Marked(marker) if marker.run_id != run_id => {
            return Remains::Collection(format!(
                "the collection there has the marker of the run {}: it was put in the place of that of this run, and it \
                 stays",
                marker.run_id
            ));
        }
        MadeCollectionState::Unmarked if shows_marker => {
            return Remains::Collection(
                "the collection there has no marker: it was put in the place of that of this run, and it stays"
                    .to_owned(),
            );
        }
        MadeCollectionState::Nothing if shows_marker => {
            return Remains::Lost(
                "is not there any more, though this run did not remove it: it was moved or removed, or it is on another \
                 server behind the same address",
            );
        }
        // If the server does not report it, the collection with the name of this run is its own.
        _ => {}
    }
    match remove_collection(client, path, held).await {
        Ok(Removal::WasGone) if matches!(sighting, MadeCollectionState::Marked(_)) => {
            Remains::Lost(
                "was there, and is not when it is to be removed: another server behind the same address may have it",
            )
        }
        Ok(_) => Remains::Nothing,
        Err(why) => Remains::Collection(why + LATER),
    }
}

/// Removes the collection of a run; failures are recorded. True if it is gone.
pub(crate) async fn remove(
    client: &mut Client,
    target: &Target,
    (run_id, shows_marker): (&str, bool),
    held: &HeldLocks,
    journal: &Journal,
) -> bool {
    let path = collection_path(target, run_id);
    // A sign of life: only a server that gives one may take its time to delete. One that is
    // restarting may need a while to give it.
    let options = PlainRequest::bare("OPTIONS", target.path(), LABEL);
    let remains = match perform_with_retries(client, options).await.exchange.result {
        Ok(_) => {
            let held = held.below(&target.url());
            remove_own(client, &path, (run_id, shows_marker), &held).await
        }
        Err(failure) if failure.outcome == Outcome::Cancelled => Remains::Collection(
            "ten seconds after the interruption were over; `prestan clean` removes it".to_owned(),
        ),
        Err(failure) => Remains::Collection(failure.what + LATER),
    };
    let url = target.absolute(&path);
    match remains {
        Remains::Nothing => true,
        Remains::Lost(what) => {
            let text = format!("{url} {what}");
            journal.write(EventKind::Warning { text });
            true
        }
        Remains::Collection(reason) => {
            journal.write(EventKind::LeftBehind(LeftBehind {
                url,
                reason,
                own: true,
            }));
            false
        }
    }
}
