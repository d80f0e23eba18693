//! Lock tokens. They are opaque: URNs by the book, bare digits in life.

use super::xml::{Walker, XmlError, XmlLimits};

/// The first token in the body of an answer to LOCK:
/// `prop/lockdiscovery/activelock/locktoken/href`. `None` as well where the body is no such XML.
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

/// Nothing in it would break out of the brackets of an `If` header.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| !c.is_whitespace() && !c.is_control() && !"<>".contains(c))
}

fn first_token(body: &[u8]) -> Result<Option<String>, XmlError> {
    let limits = XmlLimits::default();
    let mut walker = Walker::new(body, &limits)?;
    let root = walker.root()?;
    if !root.is_dav("prop") {
        return Ok(None);
    }
    let mut tokens = Vec::new();
    while let Some(child) = walker.child()? {
        if child.is_dav("lockdiscovery") {
            lock_tokens(&mut walker, &mut tokens)?;
        } else {
            walker.skip()?;
        }
    }
    Ok(tokens.into_iter().next())
}

/// Reads the inside of a `lockdiscovery`.
pub(super) fn lock_tokens(
    walker: &mut Walker<'_>,
    tokens: &mut Vec<String>,
) -> Result<(), XmlError> {
    let path = ["activelock", "locktoken", "href"];
    descend(walker, &path, tokens)
}

/// Collects the texts of all elements at `path` below the current one.
fn descend(
    walker: &mut Walker<'_>,
    path: &[&str],
    texts: &mut Vec<String>,
) -> Result<(), XmlError> {
    while let Some(child) = walker.child()? {
        match path {
            [last] if child.is_dav(last) => {
                let text = walker.text()?;
                if is_token(&text) {
                    texts.push(text);
                }
            }
            [next, rest @ ..] if !rest.is_empty() && child.is_dav(next) => {
                descend(walker, rest, texts)?;
            }
            _ => walker.skip()?,
        }
    }
    Ok(())
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
            assert_eq!(
                lock_token_from_body(body.as_bytes()).as_deref(),
                token,
                "{body}"
            );
        }
    }
}
