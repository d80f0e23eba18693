//! A few requests outside of any run: existence of a resource, and its removal.
//!
//! A load run may create a resource that does not exist. It checks that first, and removes it
//! afterwards. Leftovers of killed runs are found and removed by `prestan clean`.

use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use suite::Workspace;
use wire::dav::{XmlLimits, parse_multistatus};
use wire::response::ResponseHead;

use crate::connection::client::{Client, PlainRequest};
use crate::connection::dial::plain;
use crate::connection::route::{Endpoint, Route};
use crate::error::RunError;
use crate::event_loop::cancel::Cancel;
use crate::run::clients::with_client;
use crate::run::spec::RunPlace;
use crate::site::probe::{INSTEAD, RESOURCETYPE, probe, propfind_request, reached};
use crate::site::workspace::made::{self, noted, remove_resource};
use crate::site::workspace::{self, Leftover, LeftoverKind, held};
use crate::watch::progress::{Observer, Silent};

/// X-Prestan of requests that belong to no run.
const LABEL: &str = "prestan: 0 (outside of a run)";

/// Existence of the resource that is the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// No resource exists there.
    Absent,
    /// A resource exists: the request and its response, `HEAD returned 200 OK`.
    There(String),
    /// Unknown: the request and its response.
    Unknown(String),
}

/// A target whose server refuses connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedTarget {
    /// Its URL.
    pub url: String,
    /// The system's error for the last address that was tried.
    pub why: String,
}

/// Longest time to the reply of a system that refuses a connection.
const REFUSES_WITHIN: Duration = Duration::from_millis(300);

/// The first target of a place that refuses connections as often as it is tried for that time. A
/// server that does not respond may be busy, and does not refuse; nor does it if this machine has
/// no port or no file left.
pub fn refusal(place: &RunPlace, within: Duration) -> Option<RefusedTarget> {
    let refused = |endpoint: &Endpoint| {
        let until = Instant::now() + within;
        loop {
            let why = refused(&endpoint.route)?;
            if Instant::now() >= until {
                let url = endpoint.target.url();
                return Some(RefusedTarget { url, why });
            }
            thread::sleep(REFUSES_WITHIN / 3);
        }
    };
    place.endpoints().find_map(refused)
}

/// Why no connection can be made; `None` if one could be, or may be.
fn refused(route: &Route) -> Option<String> {
    let refused = |tried: io::Result<()>| {
        let error = tried.err()?;
        let is_refused = matches!(
            error.kind(),
            io::ErrorKind::ConnectionRefused
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::NotFound
        );
        is_refused.then(|| plain(&error))
    };
    match route {
        Route::Unix(path) => {
            let why = refused(UnixStream::connect(path).map(drop))?;
            Some(format!("{}: {why}", path.display()))
        }
        Route::Tcp(addresses) => {
            let tried = addresses.iter().map(|address| {
                let tried = TcpStream::connect_timeout(address, REFUSES_WITHIN);
                Some(format!("{address}: {}", refused(tried.map(drop))?))
            });
            tried.collect::<Option<Vec<_>>>()?.pop()
        }
    }
}

/// Checks if the target exists, without changing it.
///
/// # Errors
/// The target cannot be reached, or requires other credentials.
pub fn look(place: &RunPlace) -> Result<Presence, RunError> {
    with_client(place, &silent(), &Cancel::default(), async |client| {
        let (path, url) = (place.endpoint.target.path(), place.endpoint.target.url());
        // A first request that is certainly understood: it settles authentication, for example.
        probe(client, path, &url, Workspace::ReadOnly, INSTEAD).await?;
        let head = PlainRequest::bare("HEAD", path, LABEL);
        let head = reached("HEAD", &url, client.perform(head).await)?;
        let is_missing = match head.status {
            404 | 410 => true,
            405 | 501 => false,
            200..=399 => return Ok(Presence::There(result_of("HEAD", &head))),
            _ => return Ok(Presence::Unknown(result_of("HEAD", &head))),
        };
        look_by_propfind(client, path, &url, is_missing).await
    })
}

/// For a server without HEAD, and for one that responds to HEAD as if nothing were there
/// (`is_missing`): some do so for collections without an index page.
async fn look_by_propfind(
    client: &mut Client,
    path: &str,
    url: &str,
    is_missing: bool,
) -> Result<Presence, RunError> {
    let listing = propfind_request(path, "0", RESOURCETYPE, LABEL);
    let response = reached("PROPFIND", url, client.perform(listing).await)?;
    let describes_nothing = || {
        let parsed = parse_multistatus(client.body(), &XmlLimits::default());
        parsed.is_ok_and(|multistatus| multistatus.is_missing())
    };
    match response.status {
        404 | 410 => Ok(Presence::Absent),
        // A server without WebDAV.
        400 | 405 | 501 if is_missing => Ok(Presence::Absent),
        207 if describes_nothing() => Ok(Presence::Absent),
        200..=399 => Ok(Presence::There(result_of("PROPFIND", &response))),
        _ => Ok(Presence::Unknown(result_of("PROPFIND", &response))),
    }
}

/// Removes the resource that is the target, which a run of Prestan made. If the user requested
/// `cancel`, that takes ten seconds at most from then on.
///
/// # Errors
/// The target still exists, as far as known, with the reason.
pub fn remove(place: &RunPlace, cancel: &Cancel) -> Result<(), String> {
    let target = &place.endpoint.target;
    with_client(place, &silent(), cancel, async |client| {
        client.ignore_cancel = true;
        Ok(remove_resource(client, target.path(), &target.url()).await)
    })
    .map_err(|error| error.to_string())?
}

/// Notes that a run is about to create its target, which does not exist, with a body of `length`
/// bytes.
///
/// # Errors
/// The target cannot be noted. One with secrets in its query is not: they would be kept with it.
pub fn note_target(run_id: &str, place: &RunPlace, length: Option<u64>) -> Result<(), String> {
    let directory = place.made_files.as_deref();
    let directory = directory.ok_or("there is no home directory")?;
    made::note(directory, run_id, &place.endpoint.target, length)
}

/// Removes the note on the target of a run of this process, after the target was removed.
pub fn forget_target(run_id: &str, place: &RunPlace) {
    if let Some(directory) = place.made_files.as_deref() {
        made::forget_own(directory, run_id);
    }
}

/// Finds leftovers of earlier runs on the target, without changing them: collections that the
/// server lists, those of the named runs, and files that runs noted below the target.
///
/// # Errors
/// The target cannot be reached, or is not WebDAV and no run noted a file below it.
pub fn find_leftovers(
    place: &RunPlace,
    observer: &Arc<dyn Observer>,
    run_ids: &[String],
) -> Result<Vec<Leftover>, RunError> {
    with_client(place, observer, &Cancel::default(), async |client| {
        let target = &place.endpoint.target;
        let (path, url) = (target.path(), target.url());
        let probed = probe(client, path, &url, Workspace::Collection, INSTEAD).await;
        let not_webdav = match probed {
            Ok(_) => None,
            Err(error @ RunError::NotWebdav(_)) => Some(error),
            Err(error) => return Err(error),
        };
        let noted = noted(client, place.made_files.as_deref(), target).await;
        match not_webdav {
            // A load run needs no WebDAV to create its file.
            Some(_) if !noted.is_empty() => return Ok(noted),
            Some(error) => return Err(error),
            None => {}
        }
        let (mut found, _) = workspace::leftovers(client, target, None, usize::MAX).await;
        let unlisted = workspace::unlisted(client, target, &found, run_ids).await?;
        found.extend(unlisted);
        // For a collection without a marker, the note contains more than its name.
        found.retain(|leftover| noted.iter().all(|noted| noted.url != leftover.url));
        found.extend(noted);
        Ok(found)
    })
}

/// Removes a leftover of an earlier run; refuses one that is not
/// [removable](Leftover::is_removable).
///
/// # Errors
/// The leftover still exists, with the reason.
pub fn remove_leftover(
    place: &RunPlace,
    observer: &Arc<dyn Observer>,
    leftover: &Leftover,
    force: bool,
) -> Result<(), String> {
    let (directory, run_id) = (place.lock_tokens.as_deref(), &leftover.run_id);
    let held = held::kept(directory, run_id, &place.endpoint.target.url());
    with_client(place, observer, &Cancel::default(), async |client| {
        Ok(workspace::remove_leftover(client, leftover, &held, force).await)
    })
    .map_err(|error| error.to_string())??;
    match &leftover.kind {
        LeftoverKind::Collection => held::forget(directory, run_id),
        LeftoverKind::Unmarked { notes } | LeftoverKind::File { notes } => made::forget(notes),
    }
    Ok(())
}

fn silent() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

fn result_of(method: &str, head: &ResponseHead) -> String {
    format!("{method} returned {}", head.status_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_is_gone_refuses_connections() {
        // It does not accept them, like a busy server.
        let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let busy = busy.local_addr().map(|at| (at, busy)).unwrap();
        // No other socket gets its port, and none listens.
        let gone = tokio::net::TcpSocket::new_v4().unwrap();
        gone.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let gone = gone.local_addr().map(|at| (at, gone)).unwrap();
        assert_eq!(refused(&Route::Tcp(vec![busy.0])), None);
        assert_eq!(refused(&Route::Tcp(vec![gone.0, busy.0])), None);
        let why = refused(&Route::Tcp(vec![gone.0]));
        assert_eq!(why, Some(format!("{}: connection refused", gone.0)));
        assert!(refused(&Route::Unix("/nothing/is/here".into())).is_some());
    }
}
