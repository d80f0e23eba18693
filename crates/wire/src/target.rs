//! Where to measure: the URL of a collection, parsed once into a type that cannot be wrong.
//!
//! People type what browsers accept (`host/path`, `host:81/basic`), so the scheme may be missing. A
//! query, a fragment or another scheme is refused: a collection has none.

use std::fmt;

use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::{Host, Url};

use crate::redact::without_secret_values;

/// The scheme of a [`Target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain text over TCP.
    Http,
    /// HTTP within TLS.
    Https,
}

/// Names of query parameters by which frameworks replace the method of a request.
const METHOD_PARAMETERS: [&str; 4] = [
    "_method",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

impl Scheme {
    /// The name as it stands in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The default port.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The URL of a collection.
///
/// `Debug` and `Display` show its [`url`](Target::url), which contains no secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    scheme: Scheme,
    host: String,
    /// The zone of a link-local IPv6 address: the interface of this machine on whose link it is.
    zone: Option<String>,
    port: u16,
    path: String,
    user_info: Option<(String, Option<String>)>,
}

/// Why a text is not a [`Target`]. Never quotes the text, which may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    /// An empty text.
    #[error("the URL is empty")]
    Empty,
    /// A character that no URL may have.
    #[error("{0:?} cannot stand in a URL; write it percent-encoded")]
    Character(char),
    /// `ftp://` and the like.
    #[error("the scheme is {0:?}, and only http and https can be measured")]
    Scheme(String),
    /// `http:host`.
    #[error("the URL begins with \"{0}:\" but not with \"{0}://\"")]
    Slashes(Scheme),
    /// `#` and what follows it, which is never sent to a server.
    #[error("the URL has a fragment (\"#...\"), which cannot name a collection on a server")]
    Fragment,
    /// `?` and what follows it.
    #[error("the URL has a query (\"?...\"), and a collection is named by its path alone")]
    Query,
    /// `[fe80::1%]`, or `[fe80::1%25a/b]`.
    #[error(
        "behind the \"%25\" of an IPv6 address stands the name of an interface of this machine, [fe80::1%25eth0] for example"
    )]
    Zone,
    /// `http:///path`.
    #[error("the URL names no host")]
    NoHost,
    /// An error of the URL parser.
    #[error("the URL is malformed: {0}")]
    Malformed(#[from] url::ParseError),
}

impl Target {
    /// Reads a URL as people write it; without a scheme it is `http`.
    ///
    /// The path gets the slash at its end that names a collection (RFC 4918, section 5.2), and
    /// user information is set aside for [`take_user_info`](Target::take_user_info).
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let mut target = Target::resource(text)?;
        if target.path.contains('?') {
            return Err(TargetError::Query);
        }
        if !target.path.ends_with('/') {
            target.path.push('/');
        }
        Ok(target)
    }

    /// Reads the URL of any resource: the path stays as it is, and may have a query behind it.
    pub fn resource(text: &str) -> Result<Target, TargetError> {
        let (scheme, rest) = split_scheme(text)?;
        if rest.is_empty() || rest.starts_with('/') {
            // The URL parser would skip the slashes and take the first segment for the host.
            return Err(TargetError::NoHost);
        }
        let (rest, zone) = split_zone(rest)?;
        let url = Url::parse(&format!("{scheme}://{rest}"))?;
        if url.fragment().is_some() {
            return Err(TargetError::Fragment);
        }
        let host = match url.host().ok_or(TargetError::NoHost)? {
            Host::Ipv6(address) => address.to_string(),
            host => host.to_string(),
        };
        let query = url.query().map(|query| format!("?{query}"));
        let path = format!("{}{}", url.path(), query.unwrap_or_default());
        Ok(Target {
            scheme,
            host,
            zone,
            port: url.port().unwrap_or(scheme.default_port()),
            path,
            user_info: user_info(&url),
        })
    }

    /// True if the query names another method, which some frameworks take for that of the request.
    pub fn names_a_method(&self) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.any(|(name, _)| {
            let mut known = METHOD_PARAMETERS.iter();
            known.any(|known| known.eq_ignore_ascii_case(&name))
        })
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Name or address of the host; an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, given or implied.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host as the system looks it up: `fe80::1%eth0` with the zone of an IPv6 address.
    pub fn address(&self) -> String {
        match &self.zone {
            Some(zone) => format!("{}%{zone}", self.host),
            None => self.host.clone(),
        }
    }

    /// Host and port as in the `Host` header: IPv6 in brackets, the default port omitted. A zone
    /// has no meaning for servers (RFC 6874, section 4).
    pub fn authority(&self) -> String {
        self.authority_of(&self.host)
    }

    fn authority_of(&self, host: &str) -> String {
        let is_ipv6 = host.contains(':');
        let (open, close) = if is_ipv6 { ("[", "]") } else { ("", "") };
        if self.port == self.scheme.default_port() {
            format!("{open}{host}{close}")
        } else {
            format!("{open}{host}{close}:{}", self.port)
        }
    }

    /// The path, percent-encoded; begins with a slash, and that of a collection ends with one. That
    /// of a [resource](Target::resource) may have a query behind it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole URL, redacted: without user information, and without the values of secret
    /// parameters of its query.
    pub fn url(&self) -> String {
        self.absolute(&without_secret_values(&self.path))
    }

    /// The URL of another path on the same server, as people write it. `path` begins with a slash
    /// and is encoded.
    pub fn absolute(&self, path: &str) -> String {
        let zone = self.zone.iter();
        let zone: String = zone.map(|zone| format!("%25{zone}")).collect();
        let authority = self.authority_of(&format!("{}{zone}", self.host));
        format!("{}://{authority}{path}", self.scheme)
    }

    /// The same URL for the server itself: the value of a `Destination`.
    pub fn absolute_at_server(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.authority())
    }

    /// True if another target is on the same server.
    pub fn shares_server(&self, other: &Target) -> bool {
        self.absolute("") == other.absolute("")
    }

    /// Removes user and password from the URL, and returns them decoded.
    pub fn take_user_info(&mut self) -> Option<(String, Option<String>)> {
        self.user_info.take()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.url())
    }
}

/// The scheme, and what follows `://`.
fn split_scheme(text: &str) -> Result<(Scheme, &str), TargetError> {
    if text.is_empty() {
        return Err(TargetError::Empty);
    }
    // The URL parser would silently drop or convert these, and another URL would be measured.
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if let Some(c) = text.chars().find(|&c| odd(c)) {
        return Err(TargetError::Character(c));
    }
    // A "://" further on belongs to a path or a password, not to a scheme.
    let scheme_end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
    let (name, rest) = text.split_at(scheme_end.unwrap_or(text.len()));
    let known = [Scheme::Http, Scheme::Https]
        .into_iter()
        .find(|scheme| name.eq_ignore_ascii_case(scheme.name()));
    match (known, rest.strip_prefix("://")) {
        (Some(scheme), Some(rest)) => Ok((scheme, rest)),
        (None, Some(_)) => Err(TargetError::Scheme(name.to_ascii_lowercase())),
        (Some(scheme), None) if rest.starts_with(':') => Err(TargetError::Slashes(scheme)),
        (_, None) => Ok((Scheme::Http, text)),
    }
}

/// The part of a URL after its scheme without the zone of an IPv6 address, and that zone:
/// `[fe80::1%25eth0]` (RFC 6874), or as people write it, `[fe80::1%eth0]`.
fn split_zone(rest: &str) -> Result<(String, Option<String>), TargetError> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@');
    let address = host.map_or(authority, |(_, host)| host);
    let bracketed = address.strip_prefix('[').unwrap_or_default();
    let inside = bracketed.split_once(']').map_or("", |(inside, _)| inside);
    let Some((number, zone)) = inside.split_once('%') else {
        return Ok((rest.to_owned(), None));
    };
    let zone = zone.strip_prefix("25").unwrap_or(zone);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if zone.is_empty() || !zone.chars().all(is_name) {
        return Err(TargetError::Zone);
    }
    let without = rest.replacen(&format!("[{inside}]"), &format!("[{number}]"), 1);
    Ok((without, Some(zone.to_owned())))
}

fn user_info(url: &Url) -> Option<(String, Option<String>)> {
    let decode = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let given = !url.username().is_empty() || url.password().is_some();
    given.then(|| (decode(url.username()), url.password().map(decode)))
}
