//! A raw HTTP client for tests: bytes out, bytes in, nothing interpreted.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// A free port of the loopback interface.
pub(crate) const LOOPBACK: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A response, its body decoded.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// First header of that name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// One request as text; `extra` are header lines, each with its CRLF.
pub(crate) fn request(method: &str, path: &str, extra: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{extra}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Opens a connection that gives up after ten seconds without a byte.
pub(crate) fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream
}

/// Sends a request on a new connection and reads the response.
pub(crate) fn send(
    addr: SocketAddr,
    method: &str,
    path: &str,
    extra: &str,
    body: &str,
) -> Response {
    let mut stream = connect(addr);
    exchange(&mut stream, &request(method, path, extra, body))
}

/// Sends a request and reads the response, on a connection that stays open.
pub(crate) fn exchange(stream: &mut (impl Read + Write), request: &str) -> Response {
    stream.write_all(request.as_bytes()).unwrap();
    read_response(stream, request.starts_with("HEAD"))
}

/// Reads one final response, byte by byte where framing is unknown, skipping interim ones.
pub(crate) fn read_response(stream: &mut impl Read, head_only: bool) -> Response {
    loop {
        let head = read_until(stream, b"\r\n\r\n");
        let head = String::from_utf8(head).unwrap();
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        if status < 200 {
            continue;
        }
        let mut response = Response {
            status,
            head,
            body: Vec::new(),
        };
        if head_only || status == 204 || status == 304 {
            return response;
        }
        if response.header("transfer-encoding") == Some("chunked") {
            response.body = read_chunks(stream);
        } else if let Some(length) = response.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            response.body = body;
        } else {
            stream.read_to_end(&mut response.body).unwrap();
        }
        return response;
    }
}

fn read_chunks(stream: &mut impl Read) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = read_until(stream, b"\r\n");
        let size = usize::from_str_radix(String::from_utf8(line).unwrap().trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk).unwrap();
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return body;
        }
    }
}

/// Everything up to and with `end`.
pub(crate) fn read_until(stream: &mut impl Read, end: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end) {
        let mut byte = [0];
        assert_eq!(
            stream.read(&mut byte).unwrap(),
            1,
            "ended after {:?}",
            String::from_utf8_lossy(&bytes)
        );
        bytes.push(byte[0]);
    }
    bytes
}

/// Output of litmus, which must pass these suites.
pub(crate) fn litmus(url: &str, suites: &str) -> String {
    // It writes debug.log and child.log where it stands.
    let directory = tempfile::tempdir().unwrap();
    let mut litmus = Command::new("litmus");
    litmus.arg(url).env("TESTS", suites);
    let output = litmus.current_dir(directory.path()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}");
    printed
}
