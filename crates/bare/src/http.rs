//! HTTP/1.0 and 1.1 as far as a server of files needs it (RFC 9110, RFC 9112).

use std::sync::Arc;

use crate::files::ServedFiles;

/// Longest head of a request, in bytes.
pub(crate) const LONGEST_HEAD: usize = 8192;

/// Most lines of a head.
const MOST_FIELDS: usize = 64;

/// A response, and its consequence for the connection.
#[derive(Debug, Clone)]
pub(crate) struct FileResponse {
    /// Bytes of the request, all of which have been read.
    pub(crate) consumed: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Option<Arc<[u8]>>,
    pub(crate) keeps_alive: bool,
}

/// The relevant parts of a head.
struct ParsedHead<'a> {
    method: &'a str,
    target: &'a str,
    keeps_alive: bool,
    has_body: bool,
    is_complete: bool,
}

/// The response to the request at the beginning of the buffer; `None` while its head is incomplete.
pub(crate) fn response(buffer: &[u8], files: &ServedFiles) -> Option<FileResponse> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let consumed = match request.parse(buffer) {
        Ok(httparse::Status::Complete(consumed)) => consumed,
        Ok(httparse::Status::Partial) if buffer.len() < LONGEST_HEAD => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some(refused(buffer, "431 Request Header Fields Too Large", ""));
        }
        Err(_) => return Some(refused(buffer, "400 Bad Request", "")),
    };
    let head = ParsedHead::new(&request);
    if !head.is_complete {
        return Some(refused(buffer, "400 Bad Request", ""));
    }
    // Bodies are not read: the bytes after a request with one are not a request.
    let keeps_alive = head.keeps_alive && !head.has_body;
    let is_head = head.method == "HEAD";
    if !is_head && head.method != "GET" {
        let allowed = "Allow: GET, HEAD\r\n";
        return Some(refused(buffer, "405 Method Not Allowed", allowed));
    }
    let (status, contents) = match files.find(path(head.target)) {
        Some(contents) => ("200 OK", Some(Arc::clone(contents))),
        None => ("404 Not Found", None),
    };
    let length = contents.as_ref().map_or(0, |contents| contents.len());
    Some(FileResponse {
        consumed,
        head: response_head(status, "", length, keeps_alive),
        body: contents.filter(|_| !is_head),
        keeps_alive,
    })
}

impl<'a> ParsedHead<'a> {
    fn new(request: &httparse::Request<'_, 'a>) -> ParsedHead<'a> {
        let minor = request.version.unwrap_or(0);
        let fields = || request.headers.iter();
        let all = |name: &'static str| {
            fields().filter(move |field| field.name.eq_ignore_ascii_case(name))
        };
        let has_option = |option: &str| {
            let is_option = |part: &[u8]| part.trim_ascii().eq_ignore_ascii_case(option.as_bytes());
            all("connection").any(|field| field.value.split(|byte| *byte == b',').any(is_option))
        };
        let keeps_alive = if minor == 0 {
            has_option("keep-alive")
        } else {
            !has_option("close")
        };
        let is_body = |value: &[u8]| value.trim_ascii() != b"0";
        ParsedHead {
            method: request.method.unwrap_or_default(),
            target: request.path.unwrap_or_default(),
            keeps_alive,
            has_body: all("content-length").any(|field| is_body(field.value))
                || all("transfer-encoding").next().is_some(),
            // RFC 9112, section 3.2.
            is_complete: all("host").count() == 1 || minor == 0 && all("host").next().is_none(),
        }
    }
}

/// The path of a target, without scheme, host and query.
fn path(target: &str) -> &str {
    let target = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    };
    target.split('?').next().unwrap_or_default()
}

/// The response to a request that cannot be served; the connection ends with it.
fn refused(buffer: &[u8], status: &str, fields: &str) -> FileResponse {
    FileResponse {
        consumed: buffer.len(),
        head: response_head(status, fields, 0, false),
        body: None,
        keeps_alive: false,
    }
}

fn response_head(status: &str, fields: &str, length: usize, keeps_alive: bool) -> Vec<u8> {
    let connection = if keeps_alive { "keep-alive" } else { "close" };
    format!(
        "HTTP/1.1 {status}\r\nServer: prestan-bare\r\nContent-Type: application/octet-stream\r\n{fields}Content-Length: \
         {length}\r\nConnection: {connection}\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> ServedFiles {
        let mut files = ServedFiles::new();
        files.insert("/a", *b"four");
        files
    }

    #[test]
    fn requests_have_their_responses() {
        // Request, status, whether there is a body, whether the connection stays.
        let table = [
            ("GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "200", true, true),
            ("GET /a HTTP/1.0\r\n\r\n", "200", true, false),
            (
                "GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                "200",
                true,
                true,
            ),
            (
                "GET /a HTTP/1.1\r\nHost: x\r\nConnection: x, close\r\n\r\n",
                "200",
                true,
                false,
            ),
            ("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", "200", true, true),
            (
                "GET http://x/a HTTP/1.1\r\nHost: x\r\n\r\n",
                "200",
                true,
                true,
            ),
            ("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n", "200", false, true),
            ("GET /b HTTP/1.1\r\nHost: x\r\n\r\n", "404", false, true),
            (
                "GET http://x HTTP/1.1\r\nHost: x\r\n\r\n",
                "404",
                false,
                true,
            ),
            ("GET /a HTTP/1.1\r\n\r\n", "400", false, false),
            (
                "GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
                "400",
                false,
                false,
            ),
            ("GET /a HTTP/2.0\r\n\r\n", "400", false, false),
            ("\x16\x03\x01\x00", "400", false, false),
            ("POST /a HTTP/1.1\r\nHost: x\r\n\r\n", "405", false, false),
            (
                "GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
                "200",
                true,
                false,
            ),
        ];
        for (request, status, has_body, keeps_alive) in table {
            let response = response(request.as_bytes(), &files()).unwrap();
            let head = String::from_utf8(response.head).unwrap();
            let status_line = format!("HTTP/1.1 {status} ");
            assert!(head.starts_with(&status_line), "{request:?}: {head}");
            assert_eq!(response.body.is_some(), has_body, "{request:?}");
            assert_eq!(response.keeps_alive, keeps_alive, "{request:?}");
        }
        let response = response(b"HEAD /a HTTP/1.0\r\n\r\n", &files()).unwrap();
        let head = String::from_utf8(response.head).unwrap();
        assert!(head.contains("\r\nContent-Length: 4\r\n"));
    }

    #[test]
    fn a_head_is_read_whole_and_has_a_limit() {
        let request = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
        for length in 0..request.len() {
            assert!(response(&request[..length], &files()).is_none(), "{length}");
        }
        let two = [&request[..], request].concat();
        assert_eq!(response(&two, &files()).unwrap().consumed, request.len());
        let is_too_large = |request: &[u8]| {
            let response = response(request, &files()).unwrap();
            response.head.starts_with(b"HTTP/1.1 431 ")
        };
        let mut long = b"GET /a HTTP/1.1\r\nX: ".to_vec();
        long.resize(LONGEST_HEAD, b'x');
        assert!(is_too_large(&long));
        let fields = "A: b\r\n".repeat(64);
        let many = format!("GET /a HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
        assert!(is_too_large(many.as_bytes()));
    }
}
