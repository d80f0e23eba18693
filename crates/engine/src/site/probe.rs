//! The probe: requests to the target before anything is made on it.

use record::{Outcome, Server};
use suite::Workspace;
use wire::dav::{XmlLimits, dav_tokens, parse_multistatus};
use wire::redact::redacted_link;
use wire::response::{ResponseHead, Version, intermediary};

use crate::connection::client::{Client, Exchange, PlainRequest};
use crate::connection::dial::PROXY_LINE;
use crate::error::RunError;

/// X-Prestan of requests that come before any test.
pub(crate) const LABEL: &str = "prestan: 0 (probe)";

/// Body of a PROPFIND for the kind of the resource only: the minimum of every PROPFIND here.
pub(crate) const RESOURCETYPE: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>
"#;

/// Body of a PROPFIND that also requests the supported locks.
const TYPE_AND_LOCKS: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><resourcetype/><supportedlock/></prop></propfind>
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

/// Advice if the target is no WebDAV server.
pub(crate) const INSTEAD: &str =
    "measure one resource with `prestan load URL`, or use a suite that has `needs: http`";
/// The same if files are to be put there.
pub(crate) const INSTEAD_OF_PUTTING: &str = "put the files there by other means: `prestan \
                                             webstone --generate DIR` writes them";

/// Result of the probe.
#[derive(Debug, Clone)]
pub(crate) struct Probed {
    pub(crate) server: Server,
    /// PROPFIND reports that the target can be locked, though OPTIONS does not report WebDAV.
    pub(crate) can_be_locked: bool,
}

/// Probes the server; an error if it cannot be measured with this kind of suite. `instead` is the
/// advice then.
pub(crate) async fn probe(
    client: &mut Client,
    path: &str,
    url: &str,
    workspace: Workspace,
    instead: &str,
) -> Result<Probed, RunError> {
    let options = PlainRequest::bare("OPTIONS", path, LABEL);
    let mut options = client.perform(options).await;
    if let Err(failure) = &mut options.result
        && failure.outcome == Outcome::Reset
        && options.trace.bytes_received == 0
    {
        let perhaps = perhaps_begins_otherwise(client, url);
        failure.what.push_str(&perhaps);
    }
    let head = reached("OPTIONS", url, options)?;
    let mut probed = Probed {
        server: server_of(&head),
        can_be_locked: false,
    };
    let status = head.status_text();
    if head.status == 400 && is_without_tls(url) && wants_tls(client.body()) {
        return Err(RunError::NotWebdav(format!(
            "OPTIONS {url} returned {status}: the server expects TLS on this port; perhaps it is {HTTPS}"
        )));
    }
    if workspace == Workspace::ReadOnly {
        return Ok(probed);
    }
    if let Some(why) = not_of_target(&head) {
        let text = format!("OPTIONS {url} returned {status}: {why}");
        return Err(RunError::NotWebdav(text));
    }
    if head.status == 404 {
        let nothing = || format!("OPTIONS {url} returned {status}: it does not exist; {CREATE_IT}");
        let why = unusable(client, path, url).await.unwrap_or_else(nothing);
        return Err(RunError::NotWebdav(why));
    }
    if !probed.server.dav.is_empty() {
        return Ok(probed);
    }
    // A proxy may have dropped the DAV header, or responds to OPTIONS itself (CORS): a server that
    // responds to PROPFIND is a WebDAV server.
    let propfind = propfind_request(path, "0", TYPE_AND_LOCKS, LABEL);
    let propfind = client.perform(propfind).await;
    let response = reached("PROPFIND", url, propfind)?;
    if response.status == 207
        && let Ok(multistatus) = parse_multistatus(client.body(), &XmlLimits::default())
    {
        let mut responses = multistatus.responses.iter();
        probed.can_be_locked = responses.any(|response| response.can_be_locked);
        return Ok(probed);
    }
    let propfind = response.status_text();
    if let Some(why) = not_of_target(&response) {
        let text = format!("PROPFIND {url} returned {propfind}: {why}");
        return Err(RunError::NotWebdav(text));
    }
    let advice = match response.status {
        400 if client.sends_proxy_line() => format!("perhaps {NO_PROXY_LINE}"),
        403 => forbidden(client, path, "look there").await,
        _ => advice(&response, instead),
    };
    Err(RunError::NotWebdav(format!(
        "{url} is no WebDAV collection: OPTIONS returned {status} without a DAV header, PROPFIND with {propfind}; \
         {advice}"
    )))
}

/// Advice if a server closes a connection that does not begin as it expects.
fn perhaps_begins_otherwise(client: &Client, url: &str) -> String {
    if !is_without_tls(url) {
        return String::new();
    }
    let line = if client.sends_proxy_line() {
        NO_PROXY_LINE
    } else {
        PROXY_LINE
    };
    format!("; perhaps it is {HTTPS}, or {line}")
}

fn is_without_tls(url: &str) -> bool {
    url.starts_with("http://")
}

const HTTPS: &str = "https:// instead of http://";
/// Why it closes one, or responds 400, if there is such a line.
const NO_PROXY_LINE: &str =
    "the server does not expect a line of the PROXY protocol (without --haproxy-protocol)";

/// True if a 400 has the text of nginx, Apache, Go or Tomcat for a request without TLS on a port
/// for TLS.
fn wants_tls(body: &[u8]) -> bool {
    const WORDS: [&str; 4] = [
        "to https port",
        "ssl-enabled server",
        "an https server",
        "requires tls",
    ];
    let body = String::from_utf8_lossy(body).to_lowercase();
    WORDS.iter().any(|words| body.contains(words))
}

/// Meaning of a status that does not concern the target.
fn not_of_target(head: &ResponseHead) -> Option<String> {
    let what = match head.status {
        421 => {
            "the server does not serve this name (Host, or the name in TLS: RFC 9110, section 15.5.20); give the URL the \
             name that it has"
        }
        429 => "the server, or a proxy before it, limits requests",
        502 => "a proxy had no valid response from the server behind it; is that running?",
        503 => "the server, or a proxy before it, takes no requests for the moment",
        504 => "a proxy had no response from the server behind it in time",
        _ => return None,
    };
    let later = head.headers.get("Retry-After").filter(|value| {
        let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
        value.len() <= LONGEST_MOMENT && value.chars().all(is_plain)
    });
    let later = later.map_or(String::new(), |value| format!(" (Retry-After: {value})"));
    Some(format!("{what}{later}"))
}

/// Longest text of a time in a head: a date has fewer characters.
const LONGEST_MOMENT: usize = 40;

/// Advice if a method of WebDAV gets 403 below a collection, with the action that the user wanted.
pub(crate) async fn forbidden(client: &mut Client, collection: &str, wish: &str) -> String {
    // A permitted reader gets 404 for a missing resource.
    let nothing = format!("{collection}PrestanTest-nothing");
    let get = PlainRequest::bare("GET", &nothing, LABEL);
    let get = client.perform(get).await.trace.status;
    let propfind = propfind_request(&nothing, "0", RESOURCETYPE, LABEL);
    let propfind = client.perform(propfind).await.trace.status;
    match (get, propfind) {
        (Some(get), Some(403)) if !matches!(get, 401 | 403) => format!(
            "PROPFIND is refused there and GET is not ({get}): a firewall before the server may refuse methods of WebDAV \
             (the OWASP Core Rule Set does, until tx.allowed_methods has them)"
        ),
        _ => format!("does this user have the right to {wish}?"),
    }
}

/// Advice if there is no target.
const CREATE_IT: &str = "create it first, or check the path";

/// Why nothing can be made in a target, if it is missing or not a collection.
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
    let slash = bare_url.rfind('/');
    let above = slash.map_or(bare_url, |slash| &bare_url[..=slash]);
    Some(format!(
        "{bare_url} is not a collection; give the URL of one, {above} for example, or measure this \
         resource alone: `prestan load {bare_url}`"
    ))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceKind {
    Collection,
    File,
    Missing,
}

/// Kind of the resource at a path; `None` if the server does not report it.
async fn kind(client: &mut Client, path: &str) -> Option<ResourceKind> {
    let propfind = propfind_request(path, "0", RESOURCETYPE, LABEL);
    let head = client.perform(propfind).await.result.ok()?;
    match head.status {
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

/// Advice after this response to PROPFIND on the target.
fn advice(response: &ResponseHead, instead: &str) -> String {
    let location = response.headers.get("Location");
    match (response.status, location) {
        (300..=399, Some(location)) => format!(
            "it points to {}, and redirects are not followed: give that URL if it is yours",
            redacted_link(location)
        ),
        (500.., _) if response.status != 501 => {
            "the server is in trouble, its log may say why".to_owned()
        }
        _ => format!("check the path, or {instead}"),
    }
}

/// The head of a response, or the error without one.
pub(crate) fn reached(
    method: &str,
    url: &str,
    exchange: Exchange,
) -> Result<ResponseHead, RunError> {
    match exchange.result {
        Ok(head) => Ok(head),
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
    let allow = head.headers.get_all("Allow");
    let allow = allow.flat_map(|value| value.split(',')).map(str::trim);
    let allow = allow.filter(|method| !method.is_empty());
    Server {
        software: head.headers.get("Server").map(str::to_owned),
        dav: dav_tokens(&head.headers),
        allow: allow.map(str::to_owned).collect(),
        http: match head.version {
            Version::Http10 => "1.0".to_owned(),
            Version::Http11 => "1.1".to_owned(),
            Version::Http2 => "2".to_owned(),
        },
        same_machine: None,
        round_trip: None,
        via: intermediary(&head.headers),
        addresses: Vec::new(),
    }
}
