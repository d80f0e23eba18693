//! PROPFIND (RFC 4918, section 9.1), any depth, with a 404 propstat for missing properties.

use std::fmt::Write;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use dav_server::body::Body;
use dav_server::davpath::DavPath;
use dav_server::fs::{DavFileSystem, DavMetaData, FsError, ReadDirMeta};
use dav_server::ls::{DavLock, DavLockSystem};
use futures_util::StreamExt;
use http::header::CONTENT_TYPE;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use quick_xml::escape::escape;
use xmltree::{Element, EmitterConfig};

use super::handler::Handler;
use super::props::{Props, StoredName};

const DAV: &str = "DAV:";
const BODY_LIMIT: usize = 1 << 20;

/// Most resources in one response; RFC 4918, section 9.1 lets a server refuse a deeper request.
const RESOURCE_LIMIT: usize = 100_000;

/// Live properties, in the order of responses.
const LIVE: [&str; 8] = [
    "creationdate",
    "getcontentlength",
    "getcontenttype",
    "getetag",
    "getlastmodified",
    "lockdiscovery",
    "resourcetype",
    "supportedlock",
];

const SUPPORTED_LOCK: &str = "<D:lockentry><D:lockscope><D:exclusive/></D:lockscope>\
    <D:locktype><D:write/></D:locktype></D:lockentry>\
    <D:lockentry><D:lockscope><D:shared/></D:lockscope>\
    <D:locktype><D:write/></D:locktype></D:lockentry>";

/// The `Depth` header (RFC 4918, section 10.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Zero,
    One,
    Infinity,
}

impl Depth {
    /// A missing header means infinity, for PROPFIND and COPY; `None` is a bad one.
    pub(super) fn of<B>(request: &Request<B>) -> Option<Depth> {
        let Some(value) = request.headers().get("depth") else {
            return Some(Depth::Infinity);
        };
        match value.as_bytes() {
            b"0" => Some(Depth::Zero),
            b"1" => Some(Depth::One),
            other if other.eq_ignore_ascii_case(b"infinity") => Some(Depth::Infinity),
            _ => None,
        }
    }
}

/// Properties of a request.
enum RequestedProps {
    /// All properties, and those of `include`.
    All(Vec<StoredName>),
    Names,
    Only(Vec<StoredName>),
}

struct Resource {
    path: DavPath,
    meta: Box<dyn DavMetaData>,
    dead: Props,
    locks: Vec<DavLock>,
}

/// Responds to a PROPFIND.
pub(super) async fn answer<B>(handler: &Handler, request: Request<B>) -> Response<Body>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match multistatus(handler, request).await {
        Ok(body) => xml_response(StatusCode::MULTI_STATUS, body),
        Err(StatusCode::FORBIDDEN) => xml_response(
            StatusCode::FORBIDDEN,
            r#"<D:error xmlns:D="DAV:"><D:propfind-finite-depth/></D:error>"#.to_owned(),
        ),
        Err(status) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = status;
            response
        }
    }
}

fn xml_response(status: StatusCode, xml: String) -> Response<Body> {
    let declared = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n{xml}");
    let mut response = Response::new(Body::from(declared));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        http::HeaderValue::from_static("application/xml; charset=utf-8"),
    );
    response
}

async fn multistatus<B>(handler: &Handler, request: Request<B>) -> Result<String, StatusCode>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let depth = Depth::of(&request).ok_or(StatusCode::BAD_REQUEST)?;
    let path = DavPath::new(request.uri().path()).map_err(|_| StatusCode::BAD_REQUEST)?;
    let body = Limited::new(request.into_body(), BODY_LIMIT)
        .collect()
        .await
        .map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?
        .to_bytes();
    let wanted = parse(&body).ok_or(StatusCode::BAD_REQUEST)?;

    let mut answer = String::from("<D:multistatus xmlns:D=\"DAV:\">\n");
    let mut pending = vec![path];
    let mut resources = 0;
    while let Some(path) = pending.pop() {
        let top = resources == 0;
        let Some(resource) = load(handler, path, top).await? else {
            continue;
        };
        resources += 1;
        if resources > RESOURCE_LIMIT {
            return Err(StatusCode::FORBIDDEN);
        }
        write_response(&mut answer, &resource, &wanted);
        let descend = depth == Depth::Infinity || (depth == Depth::One && top);
        if descend && resource.meta.is_dir() {
            pending.extend(members(handler, &resource.path).await?);
        }
    }
    answer.push_str("</D:multistatus>");
    Ok(answer)
}

/// `None` for a body that is not a propfind element.
fn parse(body: &[u8]) -> Option<RequestedProps> {
    if body.is_empty() {
        return Some(RequestedProps::All(Vec::new()));
    }
    let root = Element::parse(body).ok()?;
    let is_dav = |element: &Element| element.namespace.as_deref() == Some(DAV);
    if root.name != "propfind" || !is_dav(&root) {
        return None;
    }
    let child = |name: &str| {
        let mut elements = root.children.iter().filter_map(|node| node.as_element());
        elements.find(|element| element.name == name && is_dav(element))
    };
    if child("propname").is_some() {
        return Some(RequestedProps::Names);
    }
    if child("allprop").is_some() {
        return Some(RequestedProps::All(
            child("include").map(names).unwrap_or_default(),
        ));
    }
    child("prop").map(|prop| RequestedProps::Only(names(prop)))
}

fn names(parent: &Element) -> Vec<StoredName> {
    let elements = parent.children.iter().filter_map(|node| node.as_element());
    elements
        .map(|element| StoredName {
            namespace: element.namespace.clone().unwrap_or_default(),
            local: element.name.clone(),
        })
        .collect()
}

/// A member may have been removed since its collection was listed (`None`); the top must exist.
async fn load(handler: &Handler, path: DavPath, top: bool) -> Result<Option<Resource>, StatusCode> {
    let meta = match handler.files.metadata(&path).await {
        Ok(meta) => meta,
        Err(_) if !top => return Ok(None),
        Err(FsError::PathTooLong) => return Err(StatusCode::URI_TOO_LONG),
        Err(_) => return Err(StatusCode::NOT_FOUND),
    };
    // The lock system also names locks of Depth 0 on the collections above.
    let mut locks = handler.locks.discover(&path).await;
    locks.retain(|lock| lock.deep || *lock.path == path);
    Ok(Some(Resource {
        dead: handler.props.of(&path),
        path,
        meta,
        locks,
    }))
}

/// Paths of a collection's members. Symbolic links are not followed, as everywhere in
/// `dav-server`: they may lead out of the served directory, or round in a circle.
async fn members(handler: &Handler, path: &DavPath) -> Result<Vec<DavPath>, StatusCode> {
    let mut members = Vec::new();
    let Ok(mut entries) = handler.files.read_dir(path, ReadDirMeta::DataSymlink).await else {
        return Ok(members);
    };
    let parent = path.with_prefix().as_url_string();
    while let Some(Ok(entry)) = entries.next().await {
        let Ok(meta) = entry.metadata().await else {
            continue;
        };
        if meta.is_symlink() {
            continue;
        }
        let url = format!(
            "{}/{}{}",
            parent.trim_end_matches('/'),
            percent_encode(&entry.name(), NON_ALPHANUMERIC),
            if meta.is_dir() { "/" } else { "" }
        );
        members.push(DavPath::new(&url).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?);
        if members.len() > RESOURCE_LIMIT {
            return Err(StatusCode::FORBIDDEN);
        }
    }
    Ok(members)
}

fn write_response(out: &mut String, resource: &Resource, wanted: &RequestedProps) {
    let mut found = String::new();
    let mut missing = String::new();
    let mut one = |name: &StoredName| match property(resource, name) {
        Some(element) => found.push_str(&element),
        None => missing.push_str(&empty_element(name)),
    };
    match wanted {
        RequestedProps::Only(names) => names.iter().for_each(&mut one),
        RequestedProps::All(include) => {
            existing(resource).for_each(|name| one(&name));
            let more = include.iter().filter(|name| !is_existing(resource, name));
            more.for_each(&mut one);
        }
        RequestedProps::Names => {
            existing(resource).for_each(|name| found.push_str(&empty_element(&name)))
        }
    }
    let slash = resource.meta.is_dir() && !resource.path.is_collection();
    let href = resource.path.with_prefix().as_url_string();
    let _ = write!(
        out,
        "<D:response><D:href>{href}{}</D:href>",
        if slash { "/" } else { "" }
    );
    if !found.is_empty() || missing.is_empty() {
        write_propstat(out, &found, "200 OK");
    }
    if !missing.is_empty() {
        write_propstat(out, &missing, "404 Not Found");
    }
    out.push_str("</D:response>\n");
}

fn write_propstat(out: &mut String, props: &str, status: &str) {
    let _ = write!(
        out,
        "<D:propstat><D:prop>{props}</D:prop><D:status>HTTP/1.1 {status}</D:status></D:propstat>"
    );
}

fn existing(resource: &Resource) -> impl Iterator<Item = StoredName> {
    let live = LIVE
        .iter()
        .filter(|local| live_value(resource, local).is_some())
        .map(|local| StoredName {
            namespace: DAV.to_owned(),
            local: (*local).to_owned(),
        });
    live.chain(resource.dead.keys().cloned())
}

fn is_existing(resource: &Resource, name: &StoredName) -> bool {
    property(resource, name).is_some()
}

fn empty_element(name: &StoredName) -> String {
    let StoredName { namespace, local } = name;
    match namespace.as_str() {
        DAV => format!("<D:{local}/>"),
        "" => format!("<{local} xmlns=\"\"/>"),
        other => format!("<n:{local} xmlns:n=\"{}\"/>", escape(other)),
    }
}

/// The complete element of a property; live ones cannot be shadowed by dead ones.
fn property(resource: &Resource, name: &StoredName) -> Option<String> {
    if name.namespace == DAV
        && let Some(value) = live_value(resource, &name.local)
    {
        return Some(format!("<D:{0}>{value}</D:{0}>", name.local));
    }
    resource.dead.get(name).cloned()
}

/// RFC 4918, section 15.
fn live_value(resource: &Resource, local: &str) -> Option<String> {
    let Resource { path, meta, .. } = resource;
    let collection = meta.is_dir();
    Some(match local {
        "creationdate" => {
            let created = meta.created().or_else(|_| meta.modified()).ok()?;
            DateTime::<Utc>::from(created).to_rfc3339_opts(SecondsFormat::Secs, true)
        }
        "getcontentlength" if !collection => meta.len().to_string(),
        "getcontenttype" if collection => "httpd/unix-directory".to_owned(),
        "getcontenttype" => mime_guess::from_path(path.as_rel_ospath())
            .first_or_octet_stream()
            .to_string(),
        "getetag" => format!("\"{}\"", meta.etag()?),
        "getlastmodified" => http_date(meta.modified().ok()?),
        "lockdiscovery" => resource.locks.iter().map(active_lock).collect(),
        "resourcetype" if collection => "<D:collection/>".to_owned(),
        "resourcetype" => String::new(),
        "supportedlock" => SUPPORTED_LOCK.to_owned(),
        _ => return None,
    })
}

fn http_date(time: SystemTime) -> String {
    DateTime::<Utc>::from(time)
        .format("%a, %d %b %Y %H:%M:%S GMT")
        .to_string()
}

fn active_lock(lock: &DavLock) -> String {
    let timeout = match lock.timeout {
        Some(timeout) => format!("Second-{}", timeout.as_secs()),
        None => "Infinite".to_owned(),
    };
    format!(
        "<D:activelock><D:lockscope><D:{scope}/></D:lockscope>\
         <D:locktype><D:write/></D:locktype><D:depth>{depth}</D:depth>{owner}\
         <D:timeout>{timeout}</D:timeout>\
         <D:locktoken><D:href>{token}</D:href></D:locktoken>\
         <D:lockroot><D:href>{root}</D:href></D:lockroot></D:activelock>",
        scope = if lock.shared { "shared" } else { "exclusive" },
        depth = if lock.deep { "infinity" } else { "0" },
        owner = lock.owner.as_deref().map(owner_text).unwrap_or_default(),
        token = lock.token,
        root = lock.path.with_prefix().as_url_string(),
    )
}

/// `dav-server` gives the owner element the prefix `D` and leaves its declarations as they were.
fn owner_text(owner: &Element) -> String {
    let mut owner = owner.clone();
    owner
        .namespaces
        .get_or_insert_with(xmltree::Namespace::empty)
        .force_put("D".to_owned(), DAV.to_owned());
    let mut text = Vec::new();
    let config = EmitterConfig::new().write_document_declaration(false);
    match owner.write_with_config(&mut text, config) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
}
