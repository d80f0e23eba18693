//! The minimal client: an event loop that sends a request, reads the response to its end, and sends
//! the next.
//!
//! One thread, edge-triggered epoll, no clock, no allocation once it runs, one `send` and one
//! `recv` per request. It is a process of its own, so that its processor time is measured like that
//! of any other client.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Events of a connection that has ended.
const ENDED: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

/// Bytes for a response head and a small body; further `recv` calls read the rest.
const ROOM: usize = 8 * 1024;

/// Sends `requests` GETs of a path over `connections` connections.
pub fn run(server: SocketAddr, path: &str, connections: usize, requests: u64) -> Result<()> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {server}\r\n\r\n").into_bytes();
    let epoll = epoll::create(CreateFlags::CLOEXEC).context("create an epoll instance")?;
    let mut users = Vec::with_capacity(connections);
    for index in 0..connections {
        let user =
            FloorConnection::connect(server).with_context(|| format!("connect to {server}"))?;
        let interest = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(
            &epoll,
            &user.socket,
            EventData::new_u64(index as u64),
            interest,
        )
        .context("wait for a connection")?;
        users.push(user);
    }
    let mut unsent = requests;
    for user in users.iter().take(requests.try_into().unwrap_or(usize::MAX)) {
        user.send(&request)?;
        unsent -= 1;
    }
    let mut outstanding = requests;
    let mut events = Vec::<Event>::with_capacity(connections);
    while outstanding > 0 {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(&epoll, room, None).context("wait for responses")?;
        for event in &events {
            let user = &mut users[event.data.u64() as usize];
            let flags = event.flags;
            if !user.receive(flags.intersects(ENDED))? {
                continue;
            }
            outstanding -= 1;
            if unsent > 0 {
                unsent -= 1;
                user.send(&request)?;
            }
        }
    }
    Ok(())
}

/// A connection with one request at a time.
struct FloorConnection {
    socket: TcpStream,
    room: Box<[u8; ROOM]>,
    /// Bytes of the head so far, while it is not complete.
    head: usize,
    /// Bytes of the body that have not arrived; `None` before the head is complete.
    missing: Option<usize>,
}

impl FloorConnection {
    fn connect(server: SocketAddr) -> std::io::Result<FloorConnection> {
        let socket = TcpStream::connect(server)?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        Ok(FloorConnection {
            socket,
            room: Box::new([0; ROOM]),
            head: 0,
            missing: None,
        })
    }

    fn send(&self, request: &[u8]) -> Result<()> {
        let sent = send(&self.socket, request, SendFlags::NOSIGNAL).context("send a request")?;
        ensure!(sent == request.len(), "the kernel took half a request");
        Ok(())
    }

    /// Reads available bytes; true if the response is complete. A connection that has ended has no
    /// further events.
    fn receive(&mut self, has_ended: bool) -> Result<bool> {
        loop {
            let room = &mut self.room[self.head..];
            let space = room.len();
            let count = match recv(&self.socket, room, RecvFlags::empty()) {
                Ok((_, 0)) => bail!("the server has ended a connection"),
                Ok((_, count)) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error).context("receive a response"),
            };
            if self.take(count)? {
                return Ok(true);
            }
            if count < space && !has_ended {
                return Ok(false); // nothing is left; the next bytes are a new event
            }
        }
    }

    /// Counts further bytes in the buffer; true if the response is complete.
    fn take(&mut self, count: usize) -> Result<bool> {
        let missing = match self.missing {
            Some(missing) => missing.checked_sub(count),
            None => {
                let so_far = &self.room[..self.head + count];
                let Some(end) = memmem::find(so_far, b"\r\n\r\n") else {
                    self.head += count;
                    ensure!(
                        self.head < ROOM,
                        "a response head of more than {ROOM} bytes"
                    );
                    return Ok(false);
                };
                let body = content_length(&so_far[..end + 2])?;
                body.checked_sub(so_far.len() - end - 4)
            }
        };
        let missing = missing.context("a response is longer than it says")?;
        self.head = 0;
        self.missing = (missing > 0).then_some(missing);
        Ok(missing == 0)
    }
}

/// Parses the head of a response; its last line ends with CR LF as well.
fn content_length(head: &[u8]) -> Result<usize> {
    const NAME: &[u8] = b"\r\nContent-Length: ";
    if !head.starts_with(b"HTTP/1.1 200") {
        bail!("no 200 but `{}`", String::from_utf8_lossy(head));
    }
    let position = memmem::find(head, NAME).context("a response without Content-Length")?;
    let digits = head[position + NAME.len()..].iter();
    let digits = digits.take_while(|byte| byte.is_ascii_digit());
    Ok(digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use testbed::FaultServer;
    use testbed::fault::{Fault, Rule};

    use super::*;

    fn server(code: u16, body: usize) -> FaultServer {
        let fault = Fault::Status {
            code,
            headers: Vec::new(),
            body: vec![b'x'; body],
        };
        FaultServer::builder().fault(fault).start().unwrap()
    }

    #[test]
    fn it_makes_the_requested_number_of_requests() {
        for (body, connections, requests) in [(1024, 4, 50), (0, 1, 3), (100_000, 2, 7), (9, 5, 2)]
        {
            let server = server(200, body);
            run(server.addr().unwrap(), "/f", connections, requests).unwrap();
            assert_eq!(server.exchanges().len() as u64, requests, "body of {body}");
        }
    }

    #[test]
    fn it_is_content_with_nothing_but_a_complete_200() {
        let missing = server(404, 9);
        let error = run(missing.addr().unwrap(), "/f", 1, 1).unwrap_err();
        assert!(error.to_string().contains("404"), "{error}");

        let short = server(200, 2000);
        short.add_rule(Rule::new(Fault::ShorterThanSaid));
        assert!(run(short.addr().unwrap(), "/f", 1, 1).is_err());

        let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        assert!(run(nobody, "/f", 1, 1).is_err());
    }
}
