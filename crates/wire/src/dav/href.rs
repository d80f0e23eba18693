//! Paths in URLs: compares those that servers write with those of the request.
//!
//! The same member is `/a%2fb%20c` to one server, `/a%2Fb c/` to another, and
//! `http://host/a%2Fb%20c` to a third, so hrefs are compared decoded, segment by segment.

use crate::redact::is_scheme;
use percent_encoding::{
    AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_decode_str, utf8_percent_encode,
};

/// All but the unreserved characters (RFC 3986, section 2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The path of an href (absolute URI, absolute path or relative), decoded, without query and
/// fragment. Bytes that are not UTF-8 are replaced, so the result is for display; to compare hrefs
/// use [`same_resource`].
pub fn href_path(href: &str) -> String {
    let path = percent_decode_str(path_of(href));
    path.decode_utf8_lossy().into_owned()
}

/// True if the paths of two hrefs name the same resource.
///
/// Paths are compared decoded, so the case of `%2f` and unnecessary escapes make no difference; a
/// slash at the end makes none either, because not every server writes it after a collection. An
/// escaped slash is not a separator. Scheme, host and query are ignored.
pub fn same_resource(a: &str, b: &str) -> bool {
    segments(a).eq(segments(b))
}

/// True if `href` names `collection` or a resource within it.
///
/// Compared like [`same_resource`]. A path with `.` or `..`, however often they are escaped, is
/// within nothing.
pub fn is_within(href: &str, collection: &str) -> bool {
    let mut inner = segments(href);
    !segments(href).any(climbs)
        && segments(collection).all(|outer| inner.next().as_ref() == Some(&outer))
}

/// Times that a segment is decoded once more: servers are not chained more deeply than that.
const DECODED_AGAIN: u32 = 3;

/// True if a server, or one behind it, may take a decoded segment for `.` or `..`: it decodes once
/// more, takes `\` for `/`, drops what follows `;` (RFC 3986, section 3.3), or reads a dot of two
/// bytes (overlong UTF-8).
fn climbs(mut segment: Vec<u8>) -> bool {
    let is_up = |part: &[u8]| {
        let name = part.split(|byte| *byte == b';').next();
        matches!(name, Some(b"." | b".."))
    };
    for _ in 0..=DECODED_AGAIN {
        let mut parts = segment.split(|byte| matches!(byte, b'/' | b'\\'));
        if parts.any(is_up) || segment.iter().any(|byte| matches!(byte, 0 | 0xc0 | 0xc1)) {
            return true;
        }
        let decoded: Vec<u8> = percent_decode(&segment).collect();
        if decoded == segment {
            return false;
        }
        segment = decoded;
    }
    true
}

/// The last segment of an href's path, decoded; `None` where it is empty or not UTF-8.
pub fn last_segment(href: &str) -> Option<String> {
    let segment = segments(href).last()?;
    let name = String::from_utf8(segment).ok();
    name.filter(|name| !name.is_empty())
}

/// One segment of a path, percent-encoded; `name` is not a path, so a slash is encoded too.
///
/// `.` and `..` stay as they are, since no encoding makes them names (RFC 3986, section 6.2.2.2).
pub fn encode_segment(name: &str) -> String {
    utf8_percent_encode(name, SEGMENT).to_string()
}

/// Number of segments in the path of an href: 0 for the root. A slash at the end makes no
/// difference.
pub fn level(href: &str) -> usize {
    segments(href).filter(|segment| !segment.is_empty()).count()
}

fn segments(href: &str) -> impl Iterator<Item = Vec<u8>> {
    let path = path_of(href);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/')
        .map(|segment| percent_decode_str(segment).collect())
}

/// The path of an href as written, without scheme, authority, query and fragment: `/` where a URI
/// has none.
pub fn path_of(href: &str) -> &str {
    let end = href.find(['?', '#']).unwrap_or(href.len());
    let href = href[..end].trim();
    // "//host/path" is a URI without its scheme (RFC 3986, section 4.2).
    let hierarchy = href.strip_prefix("//").or_else(|| {
        let (scheme, rest) = href.split_once("://")?;
        is_scheme(scheme).then_some(rest)
    });
    match hierarchy {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => href,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hrefs_within_a_collection_are_recognised() {
        let cases = [
            ("/a/b/", true),
            ("/a/b", true),
            ("/a/b/c", true),
            ("http://h/a/%62/c/", true),
            ("/a/", false),
            ("/a/bc", false),
            ("/a/b/../c", false),
            ("/a/b/%2e%2E/c", false),
            ("/a/b/..%2f..%2fvictim", false),
            ("/a/b/..%5cvictim", false),
            ("/a/b/x%5c..%5c..%5cvictim", false),
            ("/a/b/%252e%252e%252fvictim", false),
            ("/a/b/%25252e%25252e/victim", false),
            ("/a/b/%2525252525252e./victim", false),
            ("/a/b/..;x/victim", false),
            ("/a/b/%c0%ae%c0%ae/victim", false),
            ("/a/b/c%00/x", false),
            ("/a/b/x..y/...", true),
            ("/a/b/100%25", true),
            ("/a/b/x;y=..", true),
            ("/x/a/b", false),
            ("a/b/c", false),
            ("", false),
        ];
        for (href, within) in cases {
            assert_eq!(is_within(href, "/a/b/"), within, "{href:?}");
        }
        assert!(is_within("/anything", "/"));
    }

    #[test]
    fn last_segments() {
        assert_eq!(last_segment("http://h/a/b%20c/").as_deref(), Some("b c"));
        assert_eq!(last_segment("/a/x%2Fy").as_deref(), Some("x/y"));
        assert_eq!(last_segment("/"), None);
        assert_eq!(last_segment("/%ff"), None);
    }

    #[test]
    fn the_path_of_an_href() {
        let cases = [
            ("http://h:81/a%20b/c", "/a b/c"),
            ("HTTPS://[::1]/a/", "/a/"),
            ("http://h", "/"),
            ("http://h?x=/y", "/"),
            ("//h/a", "/a"),
            ("/a/b?x#y", "/a/b"),
            ("/a#y?x", "/a"),
            ("/a%C3%BC%c3%bc", "/aüü"),
            ("/%ff", "/\u{fffd}"),
            ("/50%", "/50%"),
            ("/a/http://h/b", "/a/http://h/b"),
            ("a/b", "a/b"),
            (" \n/a\n", "/a"),
            ("", ""),
        ];
        for (href, path) in cases {
            assert_eq!(href_path(href), path, "{href:?}");
        }
    }

    #[test]
    fn the_same_resource_and_not_the_same() {
        let same = [
            ("/a/b/", "/a/b"),
            ("/a%3Bb", "/a;b"),
            ("/a%c3%bc", "/a%C3%BC"),
            ("http://h:81/a/", "/a"),
            ("https://x/", "/"),
            ("/%ff", "/%FF"),
        ];
        let different = [
            ("/a%2Fb", "/a/b"),
            ("/a", "/A"),
            ("/a//", "/a"),
            ("/%ff", "/%fe"),
            ("/a", "/a/b"),
            ("a", "/a"),
            ("/a%2520b", "/a%20b"),
        ];
        for (a, b) in same {
            assert!(same_resource(a, b) && same_resource(b, a), "{a} {b}");
        }
        for (a, b) in different {
            assert!(!same_resource(a, b) && !same_resource(b, a), "{a} {b}");
        }
    }

    #[test]
    fn a_level_is_a_number_of_segments() {
        let table = [
            ("/", 0),
            ("http://host/", 0),
            ("/a", 1),
            ("/a/", 1),
            ("http://host:80/a/b%2Fc/", 2),
        ];
        for (href, wanted) in table {
            assert_eq!(level(href), wanted, "{href}");
        }
    }

    #[test]
    fn a_segment_is_encoded_and_comes_back() {
        assert_eq!(encode_segment("a-b._~9"), "a-b._~9");
        assert_eq!(encode_segment("a b/c?d#e%f"), "a%20b%2Fc%3Fd%23e%25f");
        assert_eq!(encode_segment("ü&;:@"), "%C3%BC%26%3B%3A%40");
        let encoded = format!("/{}", encode_segment("a/b ü"));
        assert!(same_resource(&encoded, "/a%2fb%20ü"));
    }
}
