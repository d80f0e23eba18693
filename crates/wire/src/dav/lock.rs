//! Lock tokens. They are opaque: URNs in the RFC, bare digits from some servers.

use std::time::Duration;

use super::xml::{Walker, XmlError, XmlLimits, xml_text};

/// The first token in the body of a response to LOCK:
/// `prop/lockdiscovery/activelock/locktoken/href`. `None` as well where the body is not such XML.
pub fn lock_token_from_body(body: &[u8]) -> Option<String> {
    first_token(body).ok().flatten()
}

/// The token in a `Lock-Token` header: `<urn:uuid:...>`, or, from some servers, without brackets.
pub fn lock_token_from_header(value: &str) -> Option<String> {
    let value = value.trim();
    let token = match value.strip_prefix('<') {
        Some(rest) => rest.strip_suffix('>')?,
        None => value,
    };
    is_token(token).then(|| token.to_owned())
}

/// True if the text contains nothing that would end the brackets of an `If` header.
fn is_token(text: &str) -> bool {
    let is_allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"<>".contains(c);
    !text.is_empty() && text.chars().all(is_allowed)
}

fn first_token(body: &[u8]) -> Result<Option<String>, XmlError> {
    let limits = XmlLimits::default();
    let text = xml_text(body, &limits)?;
    let mut walker = Walker::new(&text, &limits)?;
    let root = walker.root()?;
    if !root.is_dav("prop") {
        return Ok(None);
    }
    let mut locks = Vec::new();
    while let Some(child) = walker.child()? {
        if child.is_dav("lockdiscovery") {
            active_locks(&mut walker, &mut locks)?;
        } else {
            walker.skip()?;
        }
    }
    Ok(locks.into_iter().find_map(|lock| lock.token))
}

/// A lock that is held (RFC 4918, section 14.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveLock {
    /// Its token, without brackets; `None` where the server does not show it (RFC 4918, section
    /// 15.8).
    pub token: Option<String>,
    /// The locked resource: possibly a collection above the requested resource (RFC 4918, section
    /// 14.12). `None` from servers older than that RFC.
    pub root: Option<String>,
    /// Time to expiry unless the lock is refreshed (RFC 4918, section 10.7); `None` where it is
    /// infinite or missing.
    pub timeout: Option<Duration>,
}

/// Reads the content of a `lockdiscovery`.
pub(super) fn active_locks(
    walker: &mut Walker<'_>,
    locks: &mut Vec<ActiveLock>,
) -> Result<(), XmlError> {
    while let Some(child) = walker.child()? {
        if !child.is_dav("activelock") {
            walker.skip()?;
            continue;
        }
        let (mut token, mut root, mut timeout) = (None, None, None);
        while let Some(part) = walker.child()? {
            if part.is_dav("locktoken") {
                token = href(walker)?.filter(|text| is_token(text));
            } else if part.is_dav("lockroot") {
                root = href(walker)?;
            } else if part.is_dav("timeout") {
                timeout = seconds(&walker.text()?);
            } else {
                walker.skip()?;
            }
        }
        locks.push(ActiveLock {
            token,
            root,
            timeout,
        });
    }
    Ok(())
}

/// `Second-600`.
fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.trim().strip_prefix("Second-")?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The first `href` of the current element; leaves the element.
fn href(walker: &mut Walker<'_>) -> Result<Option<String>, XmlError> {
    let mut found = None;
    while let Some(child) = walker.child()? {
        if child.is_dav("href") && found.is_none() {
            found = Some(walker.text()?);
        } else {
            walker.skip()?;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_headers() {
        let cases = [
            ("<urn:uuid:1-2>", Some("urn:uuid:1-2")),
            (" <opaquelocktoken:x> ", Some("opaquelocktoken:x")),
            ("urn:x", Some("urn:x")),
            ("1700000000", Some("1700000000")),
            ("<>", None),
            ("", None),
            ("<urn:x", None),
            ("urn:x>", None),
            ("<a><b>", None),
            ("<a b>", None),
        ];
        for (value, token) in cases {
            assert_eq!(lock_token_from_header(value).as_deref(), token, "{value:?}");
        }
    }

    #[test]
    fn tokens_in_bodies() {
        let lock = |inner: &str| {
            format!(
                "<?xml version=\"1.0\"?><D:prop xmlns:D=\"DAV:\"><D:lockdiscovery><D:activelock>\
                 <D:lockroot><D:href>/not/this</D:href></D:lockroot><D:owner><D:href>nor this\
                 </D:href></D:owner>{inner}</D:activelock></D:lockdiscovery></D:prop>"
            )
        };
        let cases = [
            (
                lock("<D:locktoken><D:href>urn:x</D:href></D:locktoken>"),
                Some("urn:x"),
            ),
            (
                lock("<D:locktoken>\n<D:href>\n 17 </D:href></D:locktoken>"),
                Some("17"),
            ),
            (
                "<prop xmlns='DAV:'><lockdiscovery><activelock><locktoken><href>a&amp;b</href>\
                 </locktoken></activelock></lockdiscovery></prop>"
                    .to_owned(),
                Some("a&b"),
            ),
            (lock(""), None),
            (lock("<D:locktoken><D:href/></D:locktoken>"), None),
            (lock("<locktoken><href>urn:x</href></locktoken>"), None),
            (
                lock("<D:locktoken><D:href>urn:x</D:href></D:locktoken>").replace("</D:prop>", ""),
                None,
            ),
            ("Created".to_owned(), None),
            (String::new(), None),
        ];
        for (body, token) in cases {
            let found = lock_token_from_body(body.as_bytes());
            assert_eq!(found.as_deref(), token, "{body}");
        }
    }
}
