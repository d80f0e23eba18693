//! Heads as people may see them: without what lets somebody in.
//!
//! Which fields are secret is told by their names, and rather too many are hidden than too few: a
//! head that was shown ends up in a bug report.

use crate::response::ResponseHead;

/// Stands where something was left out.
const HIDDEN: &str = "(not shown)";

/// Parts of the names of fields and parameters whose values are secret.
const SECRET: [&str; 14] = [
    "auth",
    "cookie",
    "credential",
    "csrf",
    "jwt",
    "key",
    "pass",
    "pwd",
    "secret",
    "session",
    "sid",
    "sig",
    "token",
    "user",
];
/// Names that sound like it, and whose values say how to get in, not who may.
const HARMLESS: [&str; 5] = [
    "lock-token",
    "ms-author-via",
    "proxy-authenticate",
    "user-agent",
    "www-authenticate",
];

/// The lines of a request head, as it was written.
pub fn request_head(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let request_line = lines.next().unwrap_or_default();
    let fields = lines.take_while(|line| !line.is_empty());
    let field = |line: &str| match line.split_once(':') {
        Some((name, value)) => field(name, value.trim()),
        None => line.to_owned(),
    };
    std::iter::once(without_secret_parameters(request_line))
        .chain(fields.map(field))
        .collect()
}

/// The lines of a response head.
pub fn response_head(head: &ResponseHead) -> Vec<String> {
    let ResponseHead {
        version,
        status,
        reason,
        headers,
    } = head;
    let status_line = format!("{} {status} {}", version.name(), reason);
    std::iter::once(status_line.trim_end().to_owned())
        .chain(headers.iter().map(|(name, value)| field(name, value)))
        .collect()
}

fn field(name: &str, value: &str) -> String {
    let shown = match is_secret(name) {
        true => hidden(name, value),
        false => without_secret_parameters(value),
    };
    format!("{name}: {shown}")
}

/// Of who asks, the scheme may be known.
fn hidden(name: &str, value: &str) -> String {
    match value.split_once(' ') {
        Some((scheme, _)) if name.to_ascii_lowercase().ends_with("authorization") => {
            format!("{scheme} {HIDDEN}")
        }
        _ => HIDDEN.to_owned(),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !HARMLESS.contains(&name.as_str()) && SECRET.iter().any(|part| name.contains(part))
}

/// A text in which nothing secret is left of URLs: no user, and no parameter like `?token=...`.
fn without_secret_parameters(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once('?') {
        None => without_user_info(word),
        Some((path, query)) => {
            let parameters: Vec<String> = query.split('&').map(parameter).collect();
            format!("{}?{}", without_user_info(path), parameters.join("&"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    }
}

/// A URL without the user and password that may stand in front of its host.
pub fn without_user_info(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://...{}", &rest[at..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::{Event, Limits, ResponseReader};

    #[test]
    fn what_lets_somebody_in_is_not_shown() {
        let table = [
            (
                "Authorization: Basic YTpi",
                "Authorization: Basic (not shown)",
            ),
            (
                "proxy-authorization: secret",
                "proxy-authorization: (not shown)",
            ),
            ("Cookie: id=5", "Cookie: (not shown)"),
            ("X-API-Key: 5", "X-API-Key: (not shown)"),
            ("X-Remote-User: me", "X-Remote-User: (not shown)"),
            (
                "Referer: http://me:pw@h/?a=1&access_token=5&b",
                "Referer: http://...@h/?a=1&access_token=(not shown)&b",
            ),
            ("Host: h:8080", "Host: h:8080"),
            ("MS-Author-Via: DAV", "MS-Author-Via: DAV"),
            ("User-Agent: prestan/1", "User-Agent: prestan/1"),
            ("If: (<opaquelocktoken:5>)", "If: (<opaquelocktoken:5>)"),
            (
                "Lock-Token: <opaquelocktoken:5>",
                "Lock-Token: <opaquelocktoken:5>",
            ),
            (
                "X-Prestan: general: 7 (a.html)",
                "X-Prestan: general: 7 (a.html)",
            ),
        ];
        for (field, expected) in table {
            let head = format!("GET /a?sig=5 HTTP/1.1\r\n{field}\r\n\r\nbody: not a head");
            let shown = request_head(head.as_bytes());
            assert_eq!(shown, ["GET /a?sig=(not shown) HTTP/1.1", expected]);
        }
        assert_eq!(request_head(b""), [""]);
    }

    #[test]
    fn what_a_server_hands_out_is_not_shown_either() {
        let mut reader = ResponseReader::new(false, Limits::default());
        let head = b"HTTP/1.1 401 \r\nWWW-Authenticate: Basic realm=\"a\"\r\nSet-Cookie: id=5\r\n\
                     Authentication-Info: nextnonce=\"5\"\r\nContent-Length: 0\r\n\r\n";
        assert!(matches!(reader.step(head).unwrap().event, Event::Head));
        let shown = response_head(reader.head().unwrap());
        let expected = [
            "HTTP/1.1 401",
            "WWW-Authenticate: Basic realm=\"a\"",
            "Set-Cookie: (not shown)",
            "Authentication-Info: (not shown)",
            "Content-Length: 0",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_url_without_its_user() {
        let table = [
            ("http://me:pw@h/a@b", "http://...@h/a@b"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h?a@b", "http://h?a@b"),
            ("/a@b", "/a@b"),
        ];
        for (url, expected) in table {
            assert_eq!(without_user_info(url), expected);
        }
    }
}
