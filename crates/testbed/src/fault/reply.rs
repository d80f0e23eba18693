//! A response on its path to the client, and its changes by faults.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::http::{HeaderLines, SentFraming, SentHead};
use super::rule::Fault;

pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A complete response that can still be changed.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    reason: String,
    http10: bool,
    pub(super) headers: HeaderLines,
    body: Vec<u8>,
    framing: SentFraming,
    interim: u32,
    /// The connection ends after it.
    pub(super) close: bool,
    /// Bytes that are written and bytes of body that the head announces may differ.
    surplus: Surplus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surplus {
    None,
    Longer,
    Shorter,
}

impl Reply {
    /// A response of this server.
    pub(super) fn new(status: u16, headers: &[(String, String)], body: &[u8]) -> Reply {
        let framing = match status {
            204 | 304 => SentFraming::None,
            _ => SentFraming::Length(0),
        };
        let reason = http::StatusCode::from_u16(status).ok();
        let reason = reason.and_then(|code| code.canonical_reason());
        Reply {
            status,
            reason: reason.unwrap_or("Odd").to_owned(),
            http10: false,
            headers: HeaderLines(headers.to_vec()),
            body: body.to_vec(),
            framing,
            interim: 0,
            close: false,
            surplus: Surplus::None,
        }
    }

    /// The upstream server's response.
    pub(super) fn forwarded(head: SentHead, framing: SentFraming, body: Vec<u8>) -> Reply {
        let mut reply = Reply {
            status: head.status,
            reason: head.reason,
            http10: false,
            headers: head.headers,
            body,
            framing,
            interim: 0,
            close: framing == SentFraming::UntilClose,
            surplus: Surplus::None,
        };
        // The connection to the upstream server is another one.
        for name in ["connection", "keep-alive"] {
            reply.headers.remove(name);
        }
        if framing != SentFraming::None {
            reply.headers.remove("content-length");
            reply.headers.remove("transfer-encoding");
        }
        reply
    }

    /// As a response to HEAD: without its body.
    pub(super) fn without_body(mut self) -> Reply {
        self.body.clear();
        self
    }

    /// Applies a fault; faults that do not change the bytes of a response do nothing here.
    pub(super) fn apply(&mut self, fault: &Fault) {
        match fault {
            Fault::Interim100(count) => self.interim += count,
            Fault::DropHeader(name) => self.headers.remove(name),
            Fault::AddHeader(name, value) => self.headers.push(name, value),
            Fault::RewriteStatus(code) => {
                self.status = *code;
                self.reason = Reply::new(*code, &[], b"").reason;
            }
            Fault::RewriteBody { from, to } => {
                if let Ok(text) = std::str::from_utf8(&self.body) {
                    self.body = text.replace(from.as_str(), to).into_bytes();
                }
            }
            Fault::Gzip => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::default());
                let whole = packed.write_all(&self.body).and_then(|()| packed.finish());
                self.body = whole.expect("writing to memory does not fail");
                let coding = ("Content-Encoding".to_owned(), "gzip".to_owned());
                self.headers.0.push(coding);
            }
            Fault::Chunked if self.framing != SentFraming::None => {
                self.framing = SentFraming::Chunked
            }
            Fault::Http10 => {
                self.http10 = true;
                self.close = true;
                if self.framing == SentFraming::Chunked {
                    self.framing = SentFraming::UntilClose;
                }
            }
            Fault::LongerThanSaid => self.surplus = Surplus::Longer,
            Fault::ShorterThanSaid => {
                self.surplus = Surplus::Shorter;
                self.close = true;
            }
            _ => {}
        }
    }

    /// Interim responses, sent immediately.
    pub(super) fn encode_interim(&self) -> Vec<u8> {
        CONTINUE.repeat(self.interim as usize)
    }

    /// Head and body.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + 1024);
        let version = if self.http10 { "HTTP/1.0" } else { "HTTP/1.1" };
        let status = format!("{version} {} {}\r\n", self.status, self.reason);
        out.extend_from_slice(status.as_bytes());
        for (name, value) in &self.headers.0 {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if self.close {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        self.encode_body(&mut out);
        out
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        match self.framing {
            SentFraming::None => out.extend_from_slice(b"\r\n"),
            SentFraming::UntilClose => {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(&self.body);
            }
            SentFraming::Length(_) => {
                // An empty body can still be shorter than announced.
                let said = match self.surplus {
                    Surplus::Shorter => self.body.len().max(1),
                    _ => self.body.len(),
                };
                out.extend_from_slice(format!("Content-Length: {said}\r\n\r\n").as_bytes());
                out.extend_from_slice(&self.body);
                if self.surplus == Surplus::Shorter && !self.body.is_empty() {
                    out.pop();
                }
            }
            SentFraming::Chunked => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                if !self.body.is_empty() {
                    out.extend_from_slice(format!("{:x}\r\n", self.body.len()).as_bytes());
                    out.extend_from_slice(&self.body);
                    out.extend_from_slice(b"\r\n");
                }
                if self.surplus != Surplus::Shorter {
                    out.extend_from_slice(b"0\r\n\r\n");
                }
            }
        }
        if self.surplus == Surplus::Longer {
            out.extend_from_slice(b"more than was said");
        }
    }
}
