//! The collection of a run on the user's server: made, marked, removed.
//!
//! The server belongs to somebody. A run works only below `PrestanTest-<run id>/`, which it made
//! itself, and puts a marker into it, so that what a killed run left behind can be told from
//! everything else and be removed by `prestan clean`.

use record::{EventKind, LeftBehind};
use serde::{Deserialize, Serialize};
use wire::dav::{Multistatus, XmlLimits, href_path, parse_multistatus, same_resource};
use wire::response::ResponseHead;
use wire::target::Target;

use crate::client::{Client, Exchange, Request};
use crate::error::RunError;
use crate::journal::Journal;
use crate::probe::{RESOURCETYPE, propfind_headers};

/// What the names of our collections begin with.
const PREFIX: &str = "PrestanTest-";
/// Name of the marker inside.
const MARKER: &str = "prestan-run.json";
/// Locks released before a removal is tried again.
const ATTEMPTS: u32 = 3;

/// The marker: enough to know a collection of ours, and whether its run is still going on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    /// What this is, for a person who finds it.
    about: String,
    /// Run id; the name of the collection ends with it.
    run_id: String,
    /// When it was made.
    started_at: String,
    /// Tells whether the run was on this machine, since its last start; says nothing of its owner.
    boot_id: String,
    /// Process of the run.
    pid: u32,
    /// When that process began, in the kernel's ticks: another may have its number by now.
    pid_since: u64,
}

/// Name of the collection of a run.
pub fn collection_name(run_id: &str) -> String {
    format!("{PREFIX}{run_id}")
}

/// Path of the collection of a run, with a slash at its end.
pub(crate) fn collection_path(target: &Target, run_id: &str) -> String {
    format!("{}{}/", target.path(), collection_name(run_id))
}

/// Makes the collection of a run, which must not be there.
pub(crate) async fn create(
    client: &mut Client,
    target: &Target,
    run_id: &str,
) -> Result<(), RunError> {
    let path = collection_path(target, run_id);
    let url = target.absolute(&path);
    // Some servers answer MKCOL of an existing collection with 201, so look first.
    if exists(client, &path).await? {
        return Err(RunError::NoWorkspace(format!(
            "{url} is there already, and Prestan works only in a collection that it made itself; \
             choose another --run-id, or remove what an earlier run left with `prestan clean`"
        )));
    }
    let made = simple(client, "MKCOL", &path, None).await;
    let what = match made.result {
        Ok(answer) if (200..300).contains(&answer.head.status) => {
            match mark(client, &path, &url, run_id).await {
                Ok(()) => return Ok(()),
                Err(what) => what,
            }
        }
        Ok(answer) => {
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
    let left = match remove_collection(client, &path).await {
        Ok(()) => "",
        Err(_) => "; it could not be removed again, `prestan clean` may",
    };
    Err(RunError::NoWorkspace(format!("{what}{left}")))
}

async fn mark(client: &mut Client, path: &str, url: &str, run_id: &str) -> Result<(), String> {
    let marker = Marker {
        about: "a run of Prestan works here; if none does any more, `prestan clean` removes it"
            .to_owned(),
        run_id: run_id.to_owned(),
        started_at: crate::clock::time_of_day(),
        boot_id: boot_id(),
        pid: std::process::id(),
        pid_since: process_since(std::process::id()).unwrap_or_default(),
    };
    let json = serde_json::to_string_pretty(&marker).unwrap_or_default();
    let put = simple(
        client,
        "PUT",
        &format!("{path}{MARKER}"),
        Some(json.as_bytes()),
    )
    .await;
    let what = match put.result {
        Ok(answer) if (200..300).contains(&answer.head.status) => return Ok(()),
        Ok(answer) => answered("PUT", &answer.head),
        Err(failure) => failure.what,
    };
    Err(format!(
        "marking {url} as ours failed: PUT {MARKER}: {what}"
    ))
}

/// How a request that was to make something was declined, and what to try.
fn answered(method: &str, head: &ResponseHead) -> String {
    let hint = match (head.status, head.headers.get("Location")) {
        (300..=399, Some(location)) => {
            format!("; it points to {location}, and redirects are not followed")
        }
        (401 | 403, _) => "; does this user have the right to write there?".to_owned(),
        (405 | 501, _) => format!("; this server, or this path, does not have {method}"),
        (409, _) => "; the collection above it is missing".to_owned(),
        (507, _) => "; the server is out of space".to_owned(),
        _ => String::new(),
    };
    format!("was answered {} {}{hint}", head.status, head.reason)
}

/// Whether something is there. A server without PROPFIND is asked with HEAD.
async fn exists(client: &mut Client, path: &str) -> Result<bool, RunError> {
    let asked = propfind(client, path, "0", RESOURCETYPE).await;
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
        let head = simple(client, "HEAD", path, None).await;
        return Ok(head.result.is_ok_and(|answer| answer.head.status < 300));
    }
    Ok(false)
}

/// Removes the collection of a run; what cannot be removed is written down.
pub(crate) async fn remove(client: &mut Client, target: &Target, run_id: &str, journal: &Journal) {
    let path = collection_path(target, run_id);
    // A sign of life: only a server that gives one may take its time to delete.
    let removed = match simple(client, "OPTIONS", target.path(), None).await.result {
        Ok(_) => remove_collection(client, &path).await,
        Err(failure) => Err(failure.what),
    };
    if let Err(reason) = removed {
        let url = target.absolute(&path);
        journal.write(EventKind::LeftBehind(LeftBehind {
            url,
            reason,
            own: true,
        }));
    }
}

/// Deletes a collection with everything in it; locks that stand in the way are released.
async fn remove_collection(client: &mut Client, path: &str) -> Result<(), String> {
    client.is_patient = true;
    let mut outcome = Err(String::new());
    for attempt in 0..ATTEMPTS {
        let deleted = simple(client, "DELETE", path, None).await;
        outcome = match deleted.result {
            Err(failure) => {
                outcome = Err(format!("DELETE: {}", failure.what));
                break;
            }
            Ok(answer) => match answer.head.status {
                207 => Err("DELETE was answered 207: some members could not be removed".to_owned()),
                404 => Ok(()),
                status if status < 300 => Ok(()),
                status => Err(format!(
                    "DELETE was answered {status} {}",
                    answer.head.reason
                )),
            },
        };
        if outcome.is_ok() || attempt + 1 == ATTEMPTS || !release_locks(client, path).await {
            break;
        }
    }
    client.is_patient = false;
    outcome
}

const LOCKDISCOVERY: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>
"#;

/// Releases the locks below `path`; true when there were any.
async fn release_locks(client: &mut Client, path: &str) -> bool {
    let mut locks: Vec<(String, String)> = Vec::new();
    let mut level = vec![path.to_owned()];
    // Some servers refuse Depth: infinity. Three levels reach every lock the built-in suites take.
    for _ in 0..3 {
        let mut next = Vec::new();
        for collection in level {
            let Some(found) = members(client, &collection, LOCKDISCOVERY).await else {
                continue;
            };
            for response in found.responses {
                let href = href_as_sent(&response.href);
                let below = href.starts_with(path) && href != collection;
                locks.extend(
                    response
                        .lock_tokens
                        .into_iter()
                        .map(|token| (href.clone(), token)),
                );
                if below && href.ends_with('/') {
                    next.push(href);
                }
            }
        }
        level = next;
    }
    locks.sort();
    locks.dedup_by(|a, b| a.1 == b.1);
    for (href, token) in &locks {
        let token = format!("<{token}>");
        client
            .perform(Request {
                method: "UNLOCK",
                path: href,
                headers: &[("Lock-Token", &token)],
                body: None,
                label: "prestan: 0 (clean-up)",
                keep_body: false,
            })
            .await;
    }
    !locks.is_empty()
}

/// The path of an href, escaped as the server escaped it.
fn href_as_sent(href: &str) -> String {
    match href.find("://") {
        Some(scheme) => match href[scheme + 3..].find('/') {
            Some(slash) => href[scheme + 3 + slash..].to_owned(),
            None => "/".to_owned(),
        },
        None => href.to_owned(),
    }
}

async fn members(client: &mut Client, path: &str, body: &'static [u8]) -> Option<Multistatus> {
    let asked = propfind(client, path, "1", body).await;
    let answer = asked.result.ok()?;
    if answer.head.status != 207 {
        return None;
    }
    parse_multistatus(client.body(), &XmlLimits::default()).ok()
}

/// A collection of ours that was found on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its URL.
    pub url: String,
    path: String,
    /// What is known of the run that made it.
    pub state: LeftoverState,
}

/// What is known of a collection whose name is like ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftoverState {
    /// It carries our marker, and its run has ended.
    Ended {
        /// When the run began.
        started_at: String,
    },
    /// It carries our marker, and its run is still going on, on this machine.
    Running {
        /// Its process.
        pid: u32,
    },
    /// It does not carry our marker: somebody else's.
    Foreign,
}

impl Leftover {
    /// One clause about it, for a message.
    pub fn reason(&self) -> String {
        match &self.state {
            LeftoverState::Ended { started_at } => {
                format!(
                    "left behind by a run that began at {started_at}; `prestan clean` removes it"
                )
            }
            LeftoverState::Running { pid } => format!("in use by the run of process {pid}"),
            LeftoverState::Foreign => {
                "named like ours, but without our marker; not touched".to_owned()
            }
        }
    }
}

/// Collections of earlier runs in the target; none where the server does not list its members.
pub(crate) async fn leftovers(
    client: &mut Client,
    target: &Target,
    own: Option<&str>,
) -> Vec<Leftover> {
    let Some(listing) = members(client, target.path(), RESOURCETYPE).await else {
        return Vec::new();
    };
    let own = own.map(|run_id| collection_path(target, run_id));
    let mut found = Vec::new();
    for response in listing.responses {
        let path = with_slash(href_as_sent(&response.href));
        let decoded = href_path(&path);
        let name = decoded
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let Some(run_id) = name.strip_prefix(PREFIX) else {
            continue;
        };
        if own.as_ref().is_some_and(|own| same_resource(own, &path)) {
            continue;
        }
        let state = leftover_state(client, &path, run_id).await;
        found.push(Leftover {
            url: target.absolute(&path),
            path,
            state,
        });
    }
    found.sort_by(|a, b| a.url.cmp(&b.url));
    found
}

async fn leftover_state(client: &mut Client, path: &str, run_id: &str) -> LeftoverState {
    let marker_path = format!("{path}{MARKER}");
    let got = client
        .perform(Request {
            method: "GET",
            path: &marker_path,
            headers: &[],
            body: None,
            label: "prestan: 0 (probe)",
            keep_body: true,
        })
        .await;
    let found = got.result.is_ok_and(|answer| answer.head.status == 200);
    let marker: Option<Marker> = match found {
        true => serde_json::from_slice(client.body()).ok(),
        false => None,
    };
    match marker {
        Some(marker) if marker.run_id == run_id => match is_running(&marker) {
            true => LeftoverState::Running { pid: marker.pid },
            false => LeftoverState::Ended {
                started_at: marker.started_at,
            },
        },
        _ => LeftoverState::Foreign,
    }
}

/// Removes a leftover of a run that has ended.
pub(crate) async fn remove_leftover(
    client: &mut Client,
    leftover: &Leftover,
) -> Result<(), String> {
    match &leftover.state {
        LeftoverState::Ended { .. } => remove_collection(client, &leftover.path).await,
        LeftoverState::Running { .. } | LeftoverState::Foreign => Err(leftover.reason()),
    }
}

async fn propfind(
    client: &mut Client,
    path: &str,
    depth: &'static str,
    body: &'static [u8],
) -> Exchange {
    client
        .perform(Request {
            method: "PROPFIND",
            path,
            headers: &propfind_headers(depth),
            body: Some(body),
            label: "prestan: 0 (probe)",
            keep_body: false,
        })
        .await
}

async fn simple(client: &mut Client, method: &str, path: &str, body: Option<&[u8]>) -> Exchange {
    client
        .perform(Request {
            method,
            path,
            headers: &[],
            body,
            label: "prestan: 0 (workspace)",
            keep_body: false,
        })
        .await
}

fn with_slash(mut path: String) -> String {
    if !path.ends_with('/') {
        path.push('/');
    }
    path
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// Whether the run that wrote a marker goes on, on this machine and not in this process.
fn is_running(marker: &Marker) -> bool {
    marker.boot_id == boot_id()
        && marker.pid != std::process::id()
        && process_since(marker.pid) == Some(marker.pid_since)
}

/// When a process began, in ticks since the system did; `None` when there is none (proc(5): field
/// 22 of `stat`, the 20th after the name, which may hold anything and stands in parentheses).
fn process_since(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    // A zombie works no more.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
