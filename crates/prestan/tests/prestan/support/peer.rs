//! A server of HTTP/2 that follows a script.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::faulty::LOOPBACK;
use super::load::until;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
pub(crate) const PADDED: u8 = 0x8;
pub(crate) const PRIORITISED: u8 = 0x20;

/// The indexed field `:status: 200` (RFC 7541, appendix A).
pub(crate) const OK: &[u8] = &[0x88];
pub(crate) const INTERNAL_ERROR: u32 = 2;
pub(crate) const REFUSED: u32 = 7;

/// A request as the server sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) stream: u32,
    /// Bytes of its body.
    pub(crate) body: usize,
    /// Number of earlier requests of that method on all connections; `None` for the probe.
    pub(crate) number: Option<usize>,
}

/// One connection of a server that follows a script.
pub(crate) struct Peer {
    pub(crate) socket: TcpStream,
    /// PINGs that a script sent and counted.
    pub(crate) pings: usize,
    /// Received acknowledgements of PING.
    pub(crate) pongs: usize,
    /// Received error codes of GOAWAY.
    pub(crate) goodbyes: Vec<u8>,
    count: Arc<AtomicUsize>,
    /// Bodies are allowed one piece at a time on each stream.
    pub(crate) window_step: Option<u32>,
}

impl Peer {
    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        // The client may have had enough.
        let _ = self.socket.write_all(&frame(kind, flags, stream, payload));
    }

    pub(crate) fn settings(&mut self, settings: &[(u16, u32)]) {
        let bytes =
            |(name, value): &(u16, u32)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
        let payload: Vec<u8> = settings.iter().flat_map(bytes).collect();
        self.send(SETTINGS, 0, 0, &payload);
    }

    pub(crate) fn receive(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut header = [0; 9];
        self.socket.read_exact(&mut header).ok()?;
        let [a, b, c, kind, flags, stream @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.socket.read_exact(&mut payload).ok()?;
        Some((kind, flags, u32::from_be_bytes(stream), payload))
    }

    /// The next whole request; `None` at the end of the connection.
    pub(crate) fn asked(&mut self) -> Option<Asked> {
        let mut asked = Asked {
            stream: 0,
            body: 0,
            number: None,
        };
        loop {
            let (kind, flags, stream, payload) = self.receive()?;
            match kind {
                HEADERS => {
                    asked.stream = stream;
                    // The method is the first field: GET, POST, or a literal.
                    let is_measured =
                        matches!(payload[0], 0x82 | 0x83) || payload[2..].starts_with(b"PUT");
                    asked.number = is_measured.then(|| self.count.fetch_add(1, Ordering::SeqCst));
                }
                DATA => {
                    asked.body += payload.len();
                    if let Some(step) = self.window_step
                        && flags & END_STREAM == 0
                    {
                        assert!(
                            payload.len() <= step as usize,
                            "more than the window allows"
                        );
                        self.send(WINDOW_UPDATE, 0, stream, &step.to_be_bytes());
                        self.send(WINDOW_UPDATE, 0, 0, &step.to_be_bytes());
                    }
                }
                PING if flags & ACK != 0 => self.pongs += 1,
                GOAWAY => self.goodbyes.push(payload[7]),
                _ => {}
            }
            if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
                return Some(asked);
            }
        }
    }

    pub(crate) fn respond(&mut self, stream: u32) {
        self.send(HEADERS, END_HEADERS, stream, OK);
        self.send(DATA, END_STREAM, stream, b"hello");
    }

    /// Waits until the client has read all bytes: the kernel has none of them any more, at neither
    /// end. False if this server was kept from its processor until the next request arrived: then
    /// the client does not pause any more.
    pub(crate) fn is_read_in_a_pause(&self) -> bool {
        self.wait_until_read();
        self.socket.set_nonblocking(true).unwrap();
        let next = self.socket.peek(&mut [0]);
        self.socket.set_nonblocking(false).unwrap();
        next.is_err_and(|none| none.kind() == ErrorKind::WouldBlock)
    }

    fn wait_until_read(&self) {
        let port = |address: SocketAddr| format!(":{}", address.port());
        let local = port(self.socket.local_addr().unwrap());
        let client = port(self.socket.peer_addr().unwrap());
        // Other tests leave ten thousand connections behind, and to read all of them takes longer
        // than a pause.
        let of_this = format!("( sport = {local} or dport = {local} )");
        until("the client has read a response", || {
            let mut ss = Command::new("ss");
            ss.args(["-tnH", "state", "established", &of_this]);
            let table = String::from_utf8(ss.output().unwrap().stdout).unwrap();
            table.lines().all(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let is =
                    |from: &str, to: &str| fields[2].ends_with(from) && fields[3].ends_with(to);
                !(is(&local, &client) && fields[1] != "0"
                    || is(&client, &local) && fields[0] != "0")
            })
        });
    }

    pub(crate) fn reset(&mut self, stream: u32, code: u32) {
        self.send(RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    pub(crate) fn go_away(&mut self, last: u32) {
        let payload = [&last.to_be_bytes()[..], &[0; 4], b"bye"].concat();
        self.send(GOAWAY, 0, 0, &payload);
    }
}

/// The bytes of a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let header = [a, b, c, kind, flags];
    [&header, &stream.to_be_bytes()[..], payload].concat()
}

/// Reaction of a server to a request; false ends the connection.
pub(crate) type Script = fn(&mut Peer, Asked) -> bool;

/// A server that responds to the probe, and to everything else by a script; the connection begins
/// with these settings.
pub(crate) fn scripted(settings: &'static [(u16, u32)], script: Script) -> String {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            socket.set_nodelay(true).unwrap();
            let count = Arc::clone(&count);
            thread::spawn(move || {
                let mut preface = [0; 24];
                if socket.read_exact(&mut preface).is_err() {
                    return;
                }
                assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
                let window = settings.iter().find(|(name, _)| *name == 4);
                let mut peer = Peer {
                    socket,
                    pings: 0,
                    pongs: 0,
                    goodbyes: Vec::new(),
                    count,
                    window_step: window.map(|(_, step)| *step),
                };
                peer.settings(settings);
                while let Some(asked) = peer.asked() {
                    if asked.number.is_none() {
                        peer.respond(asked.stream);
                    } else if !script(&mut peer, asked) {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}/")
}
