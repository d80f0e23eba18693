//! A few requests outside of any run: is something there, and its removal.
//!
//! A load run may put a resource where nothing was. It looks first, and removes what it made. What
//! killed runs left is looked for and removed by `prestan clean`.

use std::sync::Arc;

use suite::Workspace;
use wire::dav::{XmlLimits, parse_multistatus};
use wire::response::ResponseHead;

use crate::connection::client::{Client, Request};
use crate::error::RunError;
use crate::run::settings::Settings;
use crate::run::with_client;
use crate::site::probe::{INSTEAD, RESOURCETYPE, probe, propfind_request, reached};
use crate::site::workspace::{self, Leftover, held};
use crate::watch::progress::{Observer, Silent};

/// X-Prestan of requests that belong to no run.
const LABEL: &str = "prestan: 0 (errand)";

/// What is known of the resource that is the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Nothing is there.
    Absent,
    /// Something is there, or may be: the question and its answer, `HEAD was answered 200 OK`.
    There(String),
}

/// Asks whether something is at the target, without touching it.
///
/// # Errors
/// When the target cannot be reached, or wants another user.
pub fn look(settings: &Settings) -> Result<Presence, RunError> {
    with_client(settings, &silent(), async |client| {
        let (path, url) = (
            settings.endpoint.target.path(),
            settings.endpoint.target.url(),
        );
        // A first request that is sure to be understood: who we are, for example.
        probe(client, path, &url, Workspace::ReadOnly, INSTEAD).await?;
        let head = client.perform(Request::bare("HEAD", path, LABEL)).await;
        let head = reached("HEAD", &url, head)?;
        match head.status {
            404 | 410 => Ok(Presence::Absent),
            405 | 501 => look_by_propfind(client, path, &url).await,
            _ => Ok(Presence::There(answered("HEAD", &head))),
        }
    })
}

/// Of a server without HEAD.
async fn look_by_propfind(
    client: &mut Client,
    path: &str,
    url: &str,
) -> Result<Presence, RunError> {
    let asked = propfind_request(path, "0", RESOURCETYPE, LABEL);
    let answer = reached("PROPFIND", url, client.perform(asked).await)?;
    let all_missing = || {
        let parsed = parse_multistatus(client.body(), &XmlLimits::default());
        parsed.is_ok_and(|answer| {
            let mut responses = answer.responses.iter();
            !answer.responses.is_empty() && responses.all(|one| one.status == Some(404))
        })
    };
    match answer.status {
        404 | 410 => Ok(Presence::Absent),
        207 if all_missing() => Ok(Presence::Absent),
        _ => Ok(Presence::There(answered("PROPFIND", &answer))),
    }
}

/// Removes the resource that is the target, which a run of ours made.
///
/// # Errors
/// Why it is still there, as far as we know.
pub fn remove(settings: &Settings) -> Result<(), String> {
    let deleted = with_client(settings, &silent(), async |client| {
        client.is_patient = true;
        let path = settings.endpoint.target.path();
        let delete = client.perform(Request::bare("DELETE", path, LABEL)).await;
        reached("DELETE", &settings.endpoint.target.url(), delete)
    });
    match deleted {
        Ok(head) if head.status == 404 || head.status == 410 => Ok(()),
        Ok(head) if head.status < 300 && head.status != 207 => Ok(()),
        Ok(head) => Err(answered("DELETE", &head)),
        Err(error) => Err(error.to_string()),
    }
}

/// Looks for collections of earlier runs on the target, without touching them: those that the
/// server lists, and those of the runs that are named.
///
/// # Errors
/// When the target cannot be reached or is not WebDAV.
pub fn find_leftovers(
    settings: &Settings,
    observer: &Arc<dyn Observer>,
    run_ids: &[String],
) -> Result<Vec<Leftover>, RunError> {
    with_client(settings, observer, async |client| {
        let target = &settings.endpoint.target;
        let (path, url) = (target.path(), target.url());
        probe(client, path, &url, Workspace::Collection, INSTEAD).await?;
        let mut found = workspace::leftovers(client, target, None).await;
        let unlisted = workspace::unlisted(client, target, &found, run_ids).await?;
        found.extend(unlisted);
        Ok(found)
    })
}

/// Removes a collection of an earlier run; refuses one that is not
/// [removable](Leftover::is_removable).
///
/// # Errors
/// Why it is still there.
pub fn remove_leftover(
    settings: &Settings,
    observer: &Arc<dyn Observer>,
    leftover: &Leftover,
    force: bool,
) -> Result<(), String> {
    let (directory, run_id) = (settings.lock_tokens.as_deref(), &leftover.run_id);
    let held = held::kept(directory, run_id, &settings.endpoint.target.url());
    with_client(settings, observer, async |client| {
        Ok(workspace::remove_leftover(client, leftover, &held, force).await)
    })
    .map_err(|error| error.to_string())??;
    held::forget(directory, run_id);
    Ok(())
}

fn silent() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

fn answered(method: &str, head: &ResponseHead) -> String {
    format!("{method} was answered {}", head.status_text())
}
