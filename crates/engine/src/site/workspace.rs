//! The collection of a run on the user's server: made, marked, removed.
//!
//! The server belongs to somebody. A run works only below `PrestanTest-<run id>/`, which it made
//! itself, and puts a marker into it, so that what a killed run left behind can be told from
//! everything else and be removed by `prestan clean`.

pub(crate) mod held;
mod leftovers;
pub(crate) mod made;
mod mark;
mod marker;
mod private;
mod removal;

use record::{EventKind, LeftBehind};
use wire::dav::{XmlLimits, parse_multistatus};
use wire::response::ResponseHead;
use wire::shown::redacted_link;
use wire::target::Target;

use crate::connection::client::{Client, PlainRequest};
use crate::error::RunError;
use crate::site::probe::{RESOURCETYPE, propfind_request, unusable};
use crate::watch::journal::Journal;
use held::HeldLocks;
pub(crate) use mark::FilesRefused;
use mark::mark;
pub use marker::MARKER;
use removal::remove_collection;

pub use leftovers::{Leftover, LeftoverState};
pub(crate) use leftovers::{LeftoverKind, leftovers, remove_leftover, unlisted};

/// What the names of our collections begin with.
const PREFIX: &str = "PrestanTest-";
/// X-Prestan of requests that belong to no test.
const LABEL: &str = "prestan: 0 (workspace)";

/// Longest name of a run, in letters.
pub const LONGEST_RUN_ID: usize = 64;

/// Whether a text can name a run: up to 64 letters, digits, `-` and `_`.
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

/// Whether this process has made the collection of a run there already: by another way to the same
/// server.
pub(crate) async fn is_ours(client: &mut Client, target: &Target, run_id: &str) -> bool {
    let path = collection_path(target, run_id);
    let state = leftovers::state(client, &path, run_id).await;
    let pid = std::process::id();
    state == LeftoverState::Running { pid }
}

/// Makes the collection of a run, which must not be there, and says whether the server refuses files.
pub(crate) async fn create(
    client: &mut Client,
    target: &Target,
    run_id: &str,
) -> Result<Option<FilesRefused>, RunError> {
    let path = collection_path(target, run_id);
    let url = target.absolute(&path);
    // Some servers answer MKCOL of an existing collection with 201, so look first.
    if exists(client, &path).await? {
        return Err(RunError::NoWorkspace(format!(
            "{url} is there already, and Prestan works only in a collection that it made itself; \
             choose another --run-id, or remove what an earlier run left with `prestan clean`"
        )));
    }
    let made = client
        .perform(PlainRequest::bare("MKCOL", &path, LABEL))
        .await;
    // It was not there, so when a first attempt died with its connection, "there already" is ours.
    let by_first_attempt = made.repeats("MKCOL");
    let what = match made.result {
        Ok(answer) if (200..300).contains(&answer.head.status) || by_first_attempt => {
            match mark(client, &path, &url, run_id).await {
                Ok(refused) => return Ok(refused),
                Err(what) => what,
            }
        }
        Ok(answer) => {
            if let Some(why) = unusable(client, target.path(), &target.url()).await {
                return Err(RunError::NoWorkspace(why));
            }
            let answered = answered("MKCOL", &answer.head);
            return Err(RunError::NoWorkspace(format!(
                "making the collection of the run failed: MKCOL {url} {answered}"
            )));
        }
        Err(failure) => {
            format!(
                "making the collection of the run failed: MKCOL {url}: {}",
                failure.what
            )
        }
    };
    // It was not there before; whether it is there now is not always known.
    let left = match remove_collection(client, &path, &[]).await {
        Ok(()) => "",
        Err(_) => "; it could not be removed again, `prestan clean` may",
    };
    Err(RunError::NoWorkspace(format!("{what}{left}")))
}

/// How a request that was to make something was declined, and what to try.
fn answered(method: &str, head: &ResponseHead) -> String {
    let hint = match (head.status, head.headers.get("Location")) {
        (300..=399, Some(location)) => {
            let location = redacted_link(location);
            format!("; it points to {location}, and redirects are not followed")
        }
        (401 | 403, _) => "; does this user have the right to write there?".to_owned(),
        (405 | 501, _) => format!("; this server, or this path, does not have {method}"),
        (409, _) => "; the collection above it is missing".to_owned(),
        (507, _) => "; the server is out of space".to_owned(),
        _ => String::new(),
    };
    format!("was answered {}{hint}", head.status_text())
}

/// Whether something is there. A server without PROPFIND is asked with HEAD.
async fn exists(client: &mut Client, path: &str) -> Result<bool, RunError> {
    let asked = client
        .perform(propfind_request(path, "0", RESOURCETYPE, LABEL))
        .await;
    let status = match asked.result {
        Ok(answer) => answer.head.status,
        Err(failure) => {
            return Err(RunError::Unreachable(format!(
                "PROPFIND {path}: {}",
                failure.what
            )));
        }
    };
    if status == 207 {
        let multistatus = parse_multistatus(client.body(), &XmlLimits::default());
        let all_missing = multistatus.is_ok_and(|multistatus| {
            !multistatus.responses.is_empty()
                && multistatus
                    .responses
                    .iter()
                    .all(|response| response.status == Some(404))
        });
        return Ok(!all_missing);
    }
    if matches!(status, 405 | 501) {
        let head = client
            .perform(PlainRequest::bare("HEAD", path, LABEL))
            .await;
        return Ok(head.result.is_ok_and(|answer| answer.head.status < 300));
    }
    Ok(false)
}

/// Removes the collection of a run; what cannot be removed is written down. Whether it is gone.
pub(crate) async fn remove(
    client: &mut Client,
    target: &Target,
    run_id: &str,
    held: &HeldLocks,
    journal: &Journal,
) -> bool {
    let path = collection_path(target, run_id);
    // A sign of life: only a server that gives one may take its time to delete. It is asked
    // twice, because one lost connection is none of death.
    let mut alive = client
        .perform(PlainRequest::bare("OPTIONS", target.path(), LABEL))
        .await
        .result;
    if alive.is_err() {
        alive = client
            .perform(PlainRequest::bare("OPTIONS", target.path(), LABEL))
            .await
            .result;
    }
    let removed = match alive {
        Ok(_) => remove_collection(client, &path, &held.of(&target.url())).await,
        Err(failure) => Err(failure.what),
    };
    let is_removed = removed.is_ok();
    if let Err(reason) = removed {
        let reason = format!("{reason}; once the server permits it, `prestan clean` removes it");
        let url = target.absolute(&path);
        journal.write(EventKind::LeftBehind(LeftBehind {
            url,
            reason,
            own: true,
        }));
    }
    is_removed
}
