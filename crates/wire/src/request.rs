//! Request heads: the bytes of a request up to its body.
//!
//! Nothing is added (no `Host`, no `User-Agent`), because the bytes sent are part of the
//! measurement; values that would let one part of a head become another are refused.

use thiserror::Error;

use crate::excerpt;
use crate::response::Version;

/// A request without its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The method, `PROPFIND` for example.
    pub method: &'a str,
    /// Target of the request line: a path, an absolute URL, or `*`.
    pub target: &'a str,
    /// Version of HTTP the request claims.
    pub version: Version,
    /// Names and values, in this order.
    pub headers: &'a [(&'a str, &'a str)],
}

/// Why a request head cannot be written. Header values are not shown: one may be a credential.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// A method that is not a token.
    #[error(
        "\"{0}\" is no method: letters, digits and !#$%&'*+-.^_`|~ only (RFC 9110, section 9.1)"
    )]
    Method(String),
    /// A target that is empty, or has characters that end the request line or have to be encoded.
    #[error(
        "the request target \"{0}\" has to be visible ASCII, else percent-encoded (RFC 9112, section 3.2)"
    )]
    Target(String),
    /// A header name that is not a token.
    #[error(
        "\"{0}\" is no header name: letters, digits and !#$%&'*+-.^_`|~ only (RFC 9110, section 5.1)"
    )]
    HeaderName(String),
    /// A control character in a value, a line end above all.
    #[error("the value of header \"{name}\" has a control character (RFC 9110, section 5.5)")]
    HeaderValue {
        /// Name of the header.
        name: String,
    },
}

/// Appends the bytes of `head` to `out`, with the empty line that ends them.
///
/// After an error `out` is unchanged.
pub fn write_head(out: &mut Vec<u8>, head: &RequestHead<'_>) -> Result<(), RequestError> {
    check(head)?;
    let mut put = |parts: &[&str]| {
        parts
            .iter()
            .for_each(|p| out.extend_from_slice(p.as_bytes()))
    };
    let version = head.version.name();
    put(&[head.method, " ", head.target, " ", version, "\r\n"]);
    for (name, value) in head.headers {
        put(&[name, ": ", value, "\r\n"]);
    }
    put(&["\r\n"]);
    Ok(())
}

fn check(head: &RequestHead<'_>) -> Result<(), RequestError> {
    if !is_token(head.method) {
        return Err(RequestError::Method(excerpt::escaped_text(head.method)));
    }
    if head.target.is_empty() || !head.target.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(RequestError::Target(excerpt::escaped_text(head.target)));
    }
    for (name, value) in head.headers {
        if !is_token(name) {
            return Err(RequestError::HeaderName(excerpt::escaped_text(name)));
        }
        if value.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
            return Err(RequestError::HeaderValue {
                name: (*name).to_owned(),
            });
        }
    }
    Ok(())
}

/// True for a token (RFC 9110, section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// A character of a token (RFC 9110, section 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// True if sending a request twice has the effect of sending it once, so that it may be sent again
/// when its connection died.
///
/// The methods that IANA's registry (RFC 9110, section 16.1) calls idempotent; names are
/// case-sensitive, and an unknown method is not idempotent.
pub fn is_idempotent(method: &str) -> bool {
    const CHANGING: &[&str] = &[
        "ACL",
        "BASELINE-CONTROL",
        "BIND",
        "CHECKIN",
        "CHECKOUT",
        "COPY",
        "DELETE",
        "LABEL",
        "LINK",
        "MERGE",
        "MKACTIVITY",
        "MKCALENDAR",
        "MKCOL",
        "MKREDIRECTREF",
        "MKWORKSPACE",
        "MOVE",
        "ORDERPATCH",
        "PROPPATCH",
        "PUT",
        "REBIND",
        "UNBIND",
        "UNCHECKOUT",
        "UNLINK",
        "UNLOCK",
        "UPDATE",
        "UPDATEREDIRECTREF",
        "VERSION-CONTROL",
    ];
    is_safe(method) || CHANGING.contains(&method)
}

/// The method requests no change of state (RFC 9110, section 9.2.1; IANA's registry).
pub fn is_safe(method: &str) -> bool {
    [
        "GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT", "SEARCH", "TRACE",
    ]
    .contains(&method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head<'a>(
        method: &'a str,
        target: &'a str,
        headers: &'a [(&'a str, &'a str)],
    ) -> RequestHead<'a> {
        RequestHead {
            method,
            target,
            version: Version::Http11,
            headers,
        }
    }

    #[test]
    fn a_head_is_written_as_it_is_given_and_appended() {
        let headers = [("Host", "h:81"), ("Depth", "1"), ("X-Empty", "")];
        let mut out = b"before|".to_vec();
        write_head(&mut out, &head("PROPFIND", "/a%20b/", &headers)).unwrap();
        let written =
            "before|PROPFIND /a%20b/ HTTP/1.1\r\nHost: h:81\r\nDepth: 1\r\nX-Empty: \r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), written);

        let mut out = Vec::new();
        let old = RequestHead {
            version: Version::Http10,
            ..head("OPTIONS", "*", &[])
        };
        write_head(&mut out, &old).unwrap();
        assert_eq!(out, b"OPTIONS * HTTP/1.0\r\n\r\n");

        // What becomes of the connection is a header like any other.
        for (version, option) in [(Version::Http10, "keep-alive"), (Version::Http11, "close")] {
            let headers = [("Connection", option)];
            let head = RequestHead {
                version,
                ..head("GET", "/", &headers)
            };
            let mut out = Vec::new();
            write_head(&mut out, &head).unwrap();
            let written = format!("GET / {}\r\nConnection: {option}\r\n\r\n", version.name());
            assert_eq!(String::from_utf8(out).unwrap(), written);
        }
    }

    #[test]
    fn what_would_change_the_shape_of_a_head_is_refused_and_nothing_written() {
        let bad_heads = [
            head("", "/", &[]),
            head("GE T", "/", &[]),
            head("GET\r\n", "/", &[]),
            head("GËT", "/", &[]),
            head("GET", "", &[]),
            head("GET", "/a b", &[]),
            head("GET", "/a\r\nX: y", &[]),
            head("GET", "/a\0", &[]),
            head("GET", "/ü", &[]),
            head("GET", "/", &[("", "x")]),
            head("GET", "/", &[("a:b", "x")]),
            head("GET", "/", &[("a ", "x")]),
            head("GET", "/", &[("a\n", "x")]),
            head("GET", "/", &[("ok", "fine"), ("a", "x\r\nb: y")]),
            head("GET", "/", &[("a", "x\ny")]),
            head("GET", "/", &[("a", "x\ry")]),
            head("GET", "/", &[("a", "x\0y")]),
        ];
        for bad in bad_heads {
            let mut out = b"before".to_vec();
            assert!(write_head(&mut out, &bad).is_err(), "{bad:?}");
            assert_eq!(out, b"before", "{bad:?}");
        }
        // A tab and text beyond ASCII are legal in a value.
        let odd = [("a", "x\ty ü")];
        write_head(&mut Vec::new(), &head("GET", "/", &odd)).unwrap();
    }

    #[test]
    fn a_refused_value_is_not_shown() {
        let secret = [("Authorization", "hunter2\n")];
        let error = write_head(&mut Vec::new(), &head("GET", "/", &secret)).unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
        assert!(!format!("{error:?}").contains("hunter2"));
    }

    #[test]
    fn methods() {
        for method in ["GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT", "SEARCH"] {
            assert!(is_safe(method) && is_idempotent(method), "{method}");
        }
        for method in [
            "PUT",
            "DELETE",
            "PROPPATCH",
            "MKCOL",
            "COPY",
            "MOVE",
            "UNLOCK",
        ] {
            assert!(!is_safe(method) && is_idempotent(method), "{method}");
        }
        for method in ["LOCK", "POST", "PATCH", "CONNECT", "get", "", "FROBNICATE"] {
            assert!(!is_safe(method) && !is_idempotent(method), "{method}");
        }
    }
}
