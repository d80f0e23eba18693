//! Simulated time: frames in flight, timers of both ends.

use std::collections::BTreeMap;

use bare::{
    BareServer, BareServerSettings, EndedConnection, SenderSettings, ServedFiles, test_pattern,
};
use trace::TcpSegment;

use crate::client::{Client, ClientSettings, SERVER_MAC, SERVER_V4, SERVER_V6};
use crate::link::{Link, LinkSettings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentData {
    pub(crate) at_ns: u64,
    /// Offset from the first byte of the response.
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) server: BareServer,
    pub(crate) client: Client,
    to_client: Link,
    to_server: Link,
    /// Frames by arrival and order: whether it is for the client, and the frame.
    under_way: BTreeMap<(u64, u64), (bool, Vec<u8>)>,
    frames: u64,
    first_sequence: Option<u32>,
    pub(crate) now_ns: u64,
    pub(crate) sent: Vec<SentData>,
    /// Frames in the format of a capture at the server.
    pub(crate) frames_at_server: Vec<(u64, Vec<u8>)>,
    /// Times of acknowledgments, and the offset behind the last byte.
    pub(crate) acknowledged: Vec<(u64, u64)>,
}

pub(crate) fn server(sender: SenderSettings, size: usize) -> BareServer {
    let mut files = ServedFiles::new();
    files.insert("/file", test_pattern(size));
    let settings = BareServerSettings {
        ipv4: Some(SERVER_V4),
        ipv6: Some(SERVER_V6),
        ..BareServerSettings::new(SERVER_MAC, sender)
    };
    BareServer::new(settings, files).unwrap()
}

impl World {
    pub(crate) fn new(
        sender: SenderSettings,
        size: usize,
        client: ClientSettings,
        to_client: LinkSettings,
        to_server: LinkSettings,
    ) -> World {
        World {
            server: server(sender, size),
            client: Client::new(40_000, client),
            to_client: Link::new(to_client),
            to_server: Link::new(to_server),
            under_way: BTreeMap::new(),
            frames: 0,
            first_sequence: None,
            now_ns: 0,
            sent: Vec::new(),
            frames_at_server: Vec::new(),
            acknowledged: Vec::new(),
        }
    }

    /// Advances time until both ends have closed, or until this time. True if they have.
    pub(crate) fn run(&mut self, until_ns: u64) -> bool {
        let syn = self.client.connect(self.now_ns);
        self.send_to_server(vec![syn]);
        self.go_on(until_ns)
    }

    fn go_on(&mut self, until_ns: u64) -> bool {
        loop {
            let first = self.under_way.first_key_value();
            let arrival_ns = first.map(|((at_ns, _), _)| *at_ns);
            let (client_ns, server_ns) =
                (self.client_deadline_ns(), self.server.next_deadline_ns());
            let times = [arrival_ns, client_ns, server_ns];
            let Some(next_ns) = times.into_iter().flatten().min() else {
                return true;
            };
            if next_ns > until_ns {
                return false;
            }
            self.now_ns = self.now_ns.max(next_ns);
            self.deliver();
            let deadline_ns = self.client_deadline_ns();
            if deadline_ns.is_some_and(|at_ns| at_ns <= self.now_ns) {
                let frames = self.client.tick(self.now_ns);
                self.send_to_server(frames);
            }
            self.server.tick(self.now_ns);
            self.send_to_client();
        }
    }

    fn client_deadline_ns(&self) -> Option<u64> {
        let deadline_ns = self.client.deadline_ns();
        deadline_ns.filter(|_| !self.client.is_closed())
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.under_way.first_entry() {
            if entry.key().0 > self.now_ns {
                break;
            }
            let (is_for_client, frame) = entry.remove();
            if is_for_client {
                let replies = self.client.receive(self.now_ns, &frame);
                self.send_to_server(replies);
            } else {
                self.server.receive(self.now_ns, &frame);
                self.frames_at_server.push((self.now_ns, frame.clone()));
                let segment = trace::segment::parse(&frame, 0).unwrap();
                if let Some(first) = self.first_sequence {
                    let offset = segment.acknowledged.wrapping_sub(first.wrapping_add(1));
                    self.acknowledged.push((self.now_ns, u64::from(offset)));
                }
                self.send_to_client();
            }
        }
    }

    fn send_to_server(&mut self, frames: Vec<Vec<u8>>) {
        for frame in frames {
            if let Some(at_ns) = self.to_server.pass(self.now_ns, frame.len()) {
                self.frames += 1;
                self.under_way.insert((at_ns, self.frames), (false, frame));
            }
        }
    }

    fn send_to_client(&mut self) {
        while let Some(frame) = self.server.next_frame(self.now_ns) {
            self.note(&trace::segment::parse(&frame, 0).unwrap());
            self.frames_at_server.push((self.now_ns, frame.clone()));
            if let Some(at_ns) = self.to_client.pass(self.now_ns, frame.len()) {
                self.frames += 1;
                self.under_way.insert((at_ns, self.frames), (true, frame));
            }
        }
    }

    fn note(&mut self, segment: &TcpSegment<'_>) {
        if segment.flags.syn {
            self.first_sequence = Some(segment.sequence);
        }
        let first = self.first_sequence.unwrap_or(0).wrapping_add(1);
        if segment.length > 0 {
            self.sent.push(SentData {
                at_ns: self.now_ns,
                offset: u64::from(segment.sequence.wrapping_sub(first)),
                length: u64::from(segment.length),
            });
        }
    }

    /// The connection, which has ended.
    pub(crate) fn ended(&mut self) -> EndedConnection {
        let mut ended = self.server.take_ended();
        assert_eq!(ended.len(), 1);
        ended.remove(0)
    }

    pub(crate) fn body(&self) -> &[u8] {
        let received = &self.client.received;
        let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        &received[end.unwrap() + 4..]
    }
}
