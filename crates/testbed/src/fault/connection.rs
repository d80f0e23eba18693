//! One connection of a client: request by request, each with the faults that befall it.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::http::{HeaderLines, Reader, SentFraming, ServedRequest};
use super::reply::{CONTINUE, Reply};
use super::rule::Fault;
use super::socket::{ClientEnd, FaultSocket, PATIENCE};
use super::{ServedExchange, Shared, clock};

/// First piece of a response. A client on the same processor, woken by the first byte, would wait
/// until a long write has ended: 250 us for one MiB.
const FIRST_PIECE: usize = 16 * 1024;

/// Serves a connection to its end. Errors end it, which the client notices.
pub(super) fn serve(shared: &Shared, id: u64, socket: FaultSocket) {
    clock::wake_promptly();
    if let Ok(client) = ClientEnd::new(socket, shared.tls.as_ref()) {
        let mut connection = FaultConnection {
            shared,
            id,
            client,
            reader: Reader::new(),
            upstream: None,
            requests: 0,
        };
        let end = loop {
            match connection.exchange() {
                Ok(AfterResponse::Request) => {}
                Ok(end) => break end,
                Err(_) => break AfterResponse::Abort,
            }
        };
        connection.end(end);
    }
    shared.forget(id);
}

struct FaultConnection<'a> {
    shared: &'a Shared,
    id: u64,
    client: ClientEnd,
    reader: Reader,
    upstream: Option<Upstream>,
    /// Requests so far on this connection.
    requests: u32,
}

struct Upstream {
    socket: FaultSocket,
    reader: Reader,
}

/// Continuation of a connection.
enum AfterResponse {
    Request,
    /// A close in order.
    Close,
    /// A close in order, though the client may still be sending.
    Linger,
    /// A close at once; with TLS, without a word.
    Abort,
    Reset,
}

impl FaultConnection<'_> {
    fn exchange(&mut self) -> io::Result<AfterResponse> {
        let Some(request) = self.reader.request(&mut self.client)? else {
            return Ok(AfterResponse::Close);
        };
        self.requests += 1;
        let auth = self.shared.auth.as_ref();
        let denied = auth.and_then(|auth| auth.deny(&request));
        let faults = match denied {
            Some(_) => Vec::new(),
            None => self.shared.faults(&request),
        };
        if let Some(code) = faults.iter().find_map(early_status) {
            return self.respond_early(&request, code);
        }
        if request.headers.has_token("expect", "100-continue") {
            self.client.write_all(CONTINUE)?;
        }
        let framing = SentFraming::of_request(&request)?;
        let body = self.reader.body(&mut self.client, framing)?;
        let mut record = ServedExchange::new(self.id, &request, body.len(), self.reader.last_read);

        let replacing = faults.iter().find(|fault| fault.replaces_response());
        let reply = match (denied, replacing) {
            (Some(mut challenge), _) => {
                challenge.close |= self.shared.ends_denied;
                challenge
            }
            (
                None,
                Some(Fault::Status {
                    code,
                    headers,
                    body,
                }),
            ) => Reply::new(*code, headers, body),
            (None, Some(fault)) => {
                self.wait(&faults, &mut record);
                return self.misbehave(fault, record);
            }
            (None, None) => self.forward(&request, &body, &mut record),
        };
        self.respond(&request, reply, &faults, record)
    }

    fn respond(
        &mut self,
        request: &ServedRequest,
        mut reply: Reply,
        faults: &[Fault],
        mut record: ServedExchange,
    ) -> io::Result<AfterResponse> {
        let keep_alive = request.headers.has_token("connection", "keep-alive");
        reply.close |= request.headers.has_token("connection", "close");
        reply.close |= request.http10 && !keep_alive;
        if request.method == "HEAD" {
            reply = reply.without_body();
        }
        let mut last = false;
        for fault in faults {
            reply.apply(fault);
            if let Fault::CloseAfterRequests {
                requests,
                announced,
            } = fault
                && self.requests >= *requests
            {
                last = true;
                reply.close |= *announced;
            }
            last |= matches!(fault, Fault::CloseAfterStatus(status) if *status == reply.status);
        }
        let mut bytes = reply.encode();
        let cut = faults.iter().find_map(|fault| match fault {
            Fault::CloseAfterBytes(count) => Some(*count),
            _ => None,
        });
        bytes.truncate(cut.unwrap_or(bytes.len()));
        record.status = Some(reply.status);

        self.client.write_all(&reply.encode_interim())?;
        self.wait(faults, &mut record);
        self.write_recorded(&bytes, faults, record)?;
        Ok(match cut {
            Some(_) => AfterResponse::Abort,
            None if last || reply.close => AfterResponse::Close,
            None => AfterResponse::Request,
        })
    }

    /// Waits for the delay of the faults, from the moment when the response could have begun.
    fn wait(&self, faults: &[Fault], record: &mut ServedExchange) {
        let ready = match record.upstream_time {
            Some(time) => record.forwarded.unwrap_or(record.request_end) + time,
            None => Instant::now(),
        };
        let mut deadline = None;
        for fault in faults {
            match fault {
                Fault::Delay(delay) => deadline = Some(deadline.unwrap_or(ready) + *delay),
                Fault::AnswerAfter(time) => {
                    deadline = Some((record.request_end + *time).max(deadline.unwrap_or(ready)));
                }
                _ => {}
            }
        }
        if let Some(deadline) = deadline {
            clock::wait_until(deadline, &self.shared.stopping);
            record.delay = Instant::now().saturating_duration_since(ready);
        }
    }

    /// The record is complete before the client can have seen the response, so that a test never
    /// looks too early.
    fn write_recorded(
        &mut self,
        bytes: &[u8],
        faults: &[Fault],
        record: ServedExchange,
    ) -> io::Result<()> {
        let pause = faults.iter().find_map(|fault| match fault {
            Fault::Trickle(pause) => Some(*pause),
            _ => None,
        });
        self.shared.record(record, !bytes.is_empty());
        let Some(pause) = pause else {
            let (first, rest) = bytes.split_at(bytes.len().min(FIRST_PIECE));
            self.client.write_all(first)?;
            if !rest.is_empty() {
                std::thread::yield_now();
                self.client.write_all(rest)?;
            }
            return self.client.flush();
        };
        for byte in bytes {
            self.client.write_all(std::slice::from_ref(byte))?;
            self.client.flush()?;
            clock::wait_until(Instant::now() + pause, &self.shared.stopping);
        }
        Ok(())
    }

    fn respond_early(&mut self, request: &ServedRequest, code: u16) -> io::Result<AfterResponse> {
        let mut record = ServedExchange::new(self.id, request, 0, self.reader.last_read);
        record.status = Some(code);
        let mut reply = Reply::new(code, &[], b"");
        reply.close = true;
        self.write_recorded(&reply.encode(), &[], record)?;
        Ok(AfterResponse::Linger)
    }

    /// The upstream server's response, or a 502 of this server.
    fn forward(
        &mut self,
        request: &ServedRequest,
        body: &[u8],
        record: &mut ServedExchange,
    ) -> Reply {
        let Some(addr) = self.shared.upstream else {
            return Reply::new(502, &[], b"this fault server has no upstream server\n");
        };
        // A kept connection may have ended in the meantime; the end of a new one is a response.
        let reused = self.upstream.is_some();
        let mut outcome = self.ask_upstream(addr, request, body, record);
        if outcome.is_err() && reused {
            self.upstream = None;
            outcome = self.ask_upstream(addr, request, body, record);
        }
        outcome.unwrap_or_else(|error| {
            self.upstream = None;
            let text = format!("the server behind the fault server at {addr}: {error}\n");
            Reply::new(502, &[], text.as_bytes())
        })
    }

    fn ask_upstream(
        &mut self,
        addr: SocketAddr,
        request: &ServedRequest,
        body: &[u8],
        record: &mut ServedExchange,
    ) -> io::Result<Reply> {
        let mut upstream = match self.upstream.take() {
            Some(upstream) => upstream,
            None => {
                let socket = FaultSocket::connect(addr)?;
                self.shared.remember(self.id, &socket)?;
                Upstream {
                    socket,
                    reader: Reader::new(),
                }
            }
        };
        let bytes = encode_request(request, body, self.shared.auth.is_some());
        upstream.reader.first_read = None;
        let forwarded = Instant::now();
        upstream.socket.write_all(&bytes)?;
        let head = loop {
            match upstream.reader.response(&mut upstream.socket)? {
                Some(head) if head.status < 200 => upstream.reader.first_read = None,
                Some(head) => break head,
                None => return Err(io::Error::other("closed without a response")),
            }
        };
        let first = upstream.reader.first_read.unwrap_or_else(Instant::now);
        record.forwarded = Some(forwarded);
        record.upstream_time = Some(first.saturating_duration_since(forwarded));
        let framing = SentFraming::of_response(&request.method, &head)?;
        let body = upstream.reader.body(&mut upstream.socket, framing)?;
        let closes = head.headers.has_token("connection", "close");
        if !closes && framing != SentFraming::UntilClose {
            self.upstream = Some(upstream);
        }
        Ok(Reply::forwarded(head, framing, body))
    }

    /// Faults without a response; the connection ends after each.
    fn misbehave(&mut self, fault: &Fault, record: ServedExchange) -> io::Result<AfterResponse> {
        let begins = matches!(
            fault,
            Fault::Garbage(_) | Fault::EndlessHead | Fault::EndlessBody { .. }
        );
        self.shared.record(record, begins);
        match fault {
            Fault::Reset => return Ok(AfterResponse::Reset),
            Fault::Hang => {
                let mut ignored = [0; 16 * 1024];
                while matches!(self.client.read(&mut ignored), Ok(1..)) {}
                return Ok(AfterResponse::Abort);
            }
            Fault::Garbage(bytes) => self.client.write_all(bytes)?,
            Fault::EndlessHead => {
                let line = b"X-And-Another: header without an end\r\n";
                self.endless(b"HTTP/1.1 200 OK\r\n", line)?;
            }
            Fault::EndlessBody { chunked: true } => self.endless(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"10\r\n0123456789abcdef\r\n",
            )?,
            Fault::EndlessBody { chunked: false } => self.endless(
                b"HTTP/1.1 200 OK\r\nContent-Length: 4611686018427387904\r\n\r\n",
                b"0123456789abcdef",
            )?,
            // CloseBeforeResponse; other faults are handled elsewhere.
            _ => {}
        }
        Ok(AfterResponse::Close)
    }

    fn endless(&mut self, first: &[u8], again: &[u8]) -> io::Result<()> {
        self.client.write_all(first)?;
        let block = again.repeat(16 * 1024 / again.len());
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && !self.shared.stopping.load(Ordering::Relaxed) {
            self.client.write_all(&block)?;
        }
        Ok(())
    }

    fn end(mut self, how: AfterResponse) {
        match how {
            AfterResponse::Close => self.client.finish(),
            AfterResponse::Linger => self.client.linger(),
            AfterResponse::Reset => {
                self.client.socket().reset_on_close();
                // The copy that stops us would keep the connection open.
                self.shared.forget(self.id);
            }
            AfterResponse::Request | AfterResponse::Abort => {}
        }
    }
}

fn early_status(fault: &Fault) -> Option<u16> {
    match fault {
        Fault::EarlyStatus { code } => Some(*code),
        _ => None,
    }
}

/// A request for the upstream server: with a length, and without parts that were for this server.
fn encode_request(request: &ServedRequest, body: &[u8], ours_to_authorize: bool) -> Vec<u8> {
    let mut headers = HeaderLines(request.headers.0.clone());
    for name in [
        "connection",
        "expect",
        "transfer-encoding",
        "content-length",
        "te",
    ] {
        headers.remove(name);
    }
    if ours_to_authorize {
        headers.remove("authorization");
    }
    let framing = SentFraming::of_request(request);
    if framing.is_ok_and(|framing| framing != SentFraming::None) {
        headers.push("Content-Length", body.len());
    }
    let mut bytes = format!("{} {} HTTP/1.1\r\n", request.method, request.target).into_bytes();
    for (name, value) in &headers.0 {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

impl ServedExchange {
    fn new(
        connection: u64,
        request: &ServedRequest,
        body_len: usize,
        request_end: Instant,
    ) -> ServedExchange {
        ServedExchange {
            connection,
            method: request.method.clone(),
            path: request.target.clone(),
            headers: request.headers.0.clone(),
            body_len,
            status: None,
            request_end,
            first_byte: None,
            upstream_time: None,
            delay: Duration::ZERO,
            forwarded: None,
        }
    }
}
