//! What is there? Asks the target before anything is made on it.

use record::{Outcome, Server};
use suite::Workspace;
use wire::dav::{XmlLimits, dav_tokens, parse_multistatus};
use wire::response::{ResponseHead, Version};
use wire::shown::redacted_link;

use crate::connection::client::{Client, Exchange, PlainRequest};
use crate::error::RunError;

/// X-Prestan of requests that come before any test.
const LABEL: &str = "prestan: 0 (probe)";

/// Asks for nothing but the kind of the resource: what every PROPFIND of ours needs.
pub(crate) const RESOURCETYPE: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>
"#;

/// A PROPFIND with a body, at this depth: `0` or `1`.
pub(crate) fn propfind_request<'a>(
    path: &'a str,
    depth: &'static str,
    body: &'static [u8],
    label: &'a str,
) -> PlainRequest<'a> {
    const XML: (&str, &str) = ("Content-Type", "application/xml");
    let headers: &[(&str, &str)] = match depth {
        "0" => &[("Depth", "0"), XML],
        _ => &[("Depth", "1"), XML],
    };
    PlainRequest {
        headers,
        body: Some(body),
        ..PlainRequest::bare("PROPFIND", path, label)
    }
}

/// What to try where the target is no WebDAV server.
pub(crate) const INSTEAD: &str =
    "measure one resource with `prestan load URL`, or use a suite that has `needs: http`";
/// The same where files are to be put there.
pub(crate) const INSTEAD_OF_PUTTING: &str = "put the files there by other means: `prestan \
                                             webstone --generate DIR` writes them";

/// Asks the server what it is; an error when it cannot be measured with this kind of suite.
/// `instead` is what to try then.
pub(crate) async fn probe(
    client: &mut Client,
    path: &str,
    url: &str,
    workspace: Workspace,
    instead: &str,
) -> Result<Server, RunError> {
    let options = client
        .perform(PlainRequest::bare("OPTIONS", path, LABEL))
        .await;
    let head = reached("OPTIONS", url, options)?;
    let server = server_of(&head);
    if workspace == Workspace::ReadOnly {
        return Ok(server);
    }
    if head.status == 404 {
        let answered = head.status_text();
        let nothing =
            || format!("OPTIONS {url} was answered {answered}: it does not exist; {CREATE_IT}");
        let why = unusable(client, path, url).await.unwrap_or_else(nothing);
        return Err(RunError::NotWebdav(why));
    }
    if !server.dav.is_empty() {
        return Ok(server);
    }
    // A proxy may have dropped the DAV header: a server that answers PROPFIND is a WebDAV server.
    let propfind = client
        .perform(propfind_request(path, "0", RESOURCETYPE, LABEL))
        .await;
    let answer = reached("PROPFIND", url, propfind)?;
    let is_multistatus =
        answer.status == 207 && parse_multistatus(client.body(), &XmlLimits::default()).is_ok();
    if is_multistatus {
        return Ok(server);
    }
    Err(RunError::NotWebdav(format!(
        "{url} is no WebDAV collection: OPTIONS was answered {} without a DAV header, PROPFIND \
         with {}; {}",
        head.status,
        answer.status_text(),
        advice(&answer, instead)
    )))
}

/// What to try where there is no target.
const CREATE_IT: &str = "create it first, or check the path";

/// Why nothing can be made in a target, where it is missing or not a collection.
pub(crate) async fn unusable(client: &mut Client, path: &str, url: &str) -> Option<String> {
    let (bare, bare_url) = (path.trim_end_matches('/'), url.trim_end_matches('/'));
    if bare.is_empty() {
        return None;
    }
    match kind(client, path).await? {
        ResourceKind::Collection => return None,
        ResourceKind::Missing if kind(client, bare).await? == ResourceKind::Missing => {
            return Some(format!("{url} does not exist; {CREATE_IT}"));
        }
        ResourceKind::Missing | ResourceKind::File => {}
    }
    let above = bare_url
        .rfind('/')
        .map_or(bare_url, |slash| &bare_url[..=slash]);
    Some(format!(
        "{bare_url} is not a collection; give the URL of one, {above} for example, or measure this \
         resource alone: `prestan load {bare_url}`"
    ))
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceKind {
    Collection,
    File,
    Missing,
}

/// What a path names; `None` where the server does not tell.
async fn kind(client: &mut Client, path: &str) -> Option<ResourceKind> {
    let propfind = propfind_request(path, "0", RESOURCETYPE, LABEL);
    let answer = client.perform(propfind).await.result.ok()?;
    match answer.head.status {
        404 => return Some(ResourceKind::Missing),
        207 => {}
        _ => return None,
    }
    let multistatus = parse_multistatus(client.body(), &XmlLimits::default()).ok()?;
    let response = multistatus.responses.first()?;
    match response.status {
        _ if response.is_missing() => Some(ResourceKind::Missing),
        Some(_) => None,
        None if response.is_collection => Some(ResourceKind::Collection),
        None => Some(ResourceKind::File),
    }
}

/// What to try when PROPFIND on the target was answered like this.
fn advice(answer: &ResponseHead, instead: &str) -> String {
    let location = answer.headers.get("Location");
    match (answer.status, location) {
        (300..=399, Some(location)) => format!(
            "it points to {}, and redirects are not followed: give that URL if it is yours",
            redacted_link(location)
        ),
        (403, _) => "does this user have the right to look there?".to_owned(),
        (500.., _) if answer.status != 501 => {
            "the server is in trouble, its log may say why".to_owned()
        }
        _ => format!("check the path, or {instead}"),
    }
}

/// The head of an answer, or why there is none.
pub(crate) fn reached(
    method: &str,
    url: &str,
    exchange: Exchange,
) -> Result<ResponseHead, RunError> {
    match exchange.result {
        Ok(answer) => Ok(answer.head),
        Err(failure) => {
            let what = format!("{method} {url}: {}", failure.what);
            Err(match failure.outcome {
                Outcome::Refused => RunError::Unauthorized(what),
                Outcome::Cancelled => RunError::Interrupted,
                outcome => RunError::without_response(outcome, &what),
            })
        }
    }
}

fn server_of(head: &ResponseHead) -> Server {
    Server {
        software: head.headers.get("Server").map(str::to_owned),
        dav: dav_tokens(&head.headers),
        allow: head
            .headers
            .get_all("Allow")
            .flat_map(|value| value.split(','))
            .map(|method| method.trim().to_owned())
            .filter(|method| !method.is_empty())
            .collect(),
        http: match head.version {
            Version::Http10 => "1.0".to_owned(),
            Version::Http11 => "1.1".to_owned(),
            Version::Http2 => "2".to_owned(),
        },
        same_machine: None,
        round_trip: None,
    }
}
