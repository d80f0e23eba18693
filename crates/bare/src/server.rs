//! The server: frames and nanoseconds in, frames out.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use smoltcp::wire::{IpProtocol, TcpControl, TcpRepr, TcpSeqNumber};
use topology::{SenderSettings, SenderSettingsError};

use crate::connection::{BareConnection, ConnectionSettings};
use crate::counters::{BareServerCounters, EndedConnection};
use crate::files::ServedFiles;
use crate::frames::{
    BareAddresses, FrameAddresses, FrameContents, ReceivedPacket, parse, parse_tcp, tcp_frame,
};
use crate::neighbours;

/// Replies (ARP, echo, RST) that wait to be sent.
const MOST_REPLIES: usize = 64;

/// Ended connections that are kept until they are taken.
const MOST_ENDED: usize = 256;

/// Maximum segment sizes of clients that announce none (RFC 9293, section 3.7.1).
const DEFAULT_MSS: (u16, u16) = (536, 1220);

/// Bytes of headers in front of the data of a segment, without options.
const HEADERS: (u16, u16) = (40, 60);

/// A server's addresses, limits and sender.
#[derive(Debug, Clone, PartialEq)]
pub struct BareServerSettings {
    /// Ethernet address.
    pub ethernet: [u8; 6],
    /// IPv4 address, if it has one.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address, if it has one.
    pub ipv6: Option<Ipv6Addr>,
    /// Port of TCP.
    pub port: u16,
    /// Longest IP packet, in bytes: 576 to 9000 (1280 at least for IPv6).
    pub mtu: u16,
    /// Most connections at the same time; further SYN are ignored.
    pub most_connections: usize,
    /// How long a closed connection replies to repeated segments, in nanoseconds.
    pub time_wait_ns: u64,
    /// How long a client may be silent while nothing is outstanding, in nanoseconds.
    pub idle_ns: u64,
    /// Secret of the initial sequence numbers (RFC 6528): equal secrets make equal numbers.
    pub secret: u64,
    /// Settings of its sender.
    pub sender: SenderSettings,
}

impl BareServerSettings {
    /// A server with these addresses: port 80, MTU 1500, 64 connections, TIME-WAIT of one second, a
    /// minute of silence.
    pub fn new(ethernet: [u8; 6], sender: SenderSettings) -> BareServerSettings {
        BareServerSettings {
            ethernet,
            ipv4: None,
            ipv6: None,
            port: 80,
            mtu: 1500,
            most_connections: 64,
            time_wait_ns: 1_000_000_000,
            idle_ns: 60_000_000_000,
            secret: 0,
            sender,
        }
    }
}

/// A client: its address and port.
type ClientKey = (IpAddr, u16);

/// A web server with its own TCP.
///
/// Only the client opens connections, so that this server needs no routes and resolves no
/// neighbours: it sends to the Ethernet address from which the last valid segment of the connection
/// came.
///
/// Call [`receive`](Self::receive) with each frame, [`tick`](Self::tick) at
/// [`next_deadline_ns`](Self::next_deadline_ns), and after both [`next_frame`](Self::next_frame)
/// until it has none. Times may have any origin and must not decrease.
#[derive(Debug)]
pub struct BareServer {
    settings: BareServerSettings,
    host: BareAddresses,
    files: ServedFiles,
    connections: BTreeMap<ClientKey, BareConnection>,
    /// Connections that may have something to send.
    ready: VecDeque<ClientKey>,
    replies: VecDeque<Vec<u8>>,
    ended: VecDeque<EndedConnection>,
    counters: BareServerCounters,
}

impl BareServer {
    /// A server of these files.
    ///
    /// # Errors
    ///
    /// The settings of its sender cannot be used.
    pub fn new(
        settings: BareServerSettings,
        files: ServedFiles,
    ) -> Result<BareServer, SenderSettingsError> {
        settings.sender.check()?;
        let host = BareAddresses {
            ethernet: settings.ethernet,
            ipv4: settings.ipv4,
            ipv6: settings.ipv6,
        };
        Ok(BareServer {
            settings,
            host,
            files,
            connections: BTreeMap::new(),
            ready: VecDeque::new(),
            replies: VecDeque::new(),
            ended: VecDeque::new(),
            counters: BareServerCounters::default(),
        })
    }

    /// Counters so far. Those of senders are added when their connections have ended.
    pub fn counters(&self) -> &BareServerCounters {
        &self.counters
    }

    /// The connections that are open.
    pub fn open_connections(&self) -> impl Iterator<Item = EndedConnection> + '_ {
        self.connections.values().map(BareConnection::summary)
    }

    /// The connections that have ended since the last call; the last 256 of them.
    pub fn take_ended(&mut self) -> Vec<EndedConnection> {
        self.ended.drain(..).collect()
    }

    /// Handles a received frame.
    pub fn receive(&mut self, now_ns: u64, frame: &[u8]) {
        self.counters.frames_in += 1;
        let is_known = match parse(frame, &self.host) {
            Some(FrameContents::Arp { source, packet }) => {
                self.reply(neighbours::arp(source, packet, &self.host))
            }
            Some(FrameContents::Ip(packet)) => match packet.protocol {
                IpProtocol::Icmp => self.reply(neighbours::icmpv4(&packet, &self.host)),
                IpProtocol::Icmpv6 => self.reply(neighbours::icmpv6(&packet, &self.host)),
                IpProtocol::Tcp => self.receive_tcp(now_ns, &packet).is_some(),
                _ => false,
            },
            None => false,
        };
        self.counters.ignored += u64::from(!is_known);
    }

    fn reply(&mut self, frame: Option<Vec<u8>>) -> bool {
        let Some(frame) = frame else {
            return false;
        };
        if self.replies.len() < MOST_REPLIES {
            self.replies.push_back(frame);
        } else {
            self.counters.replies_dropped += 1;
        }
        true
    }

    fn receive_tcp(&mut self, now_ns: u64, packet: &ReceivedPacket<'_>) -> Option<()> {
        let addresses = packet.addresses;
        if !self.host.has(addresses.destination) || addresses.source.is_unspecified() {
            return None;
        }
        let segment = parse_tcp(packet)?;
        let client = (addresses.source, segment.src_port);
        let sequence = segment.seq_number.0.cast_unsigned();
        let opens = segment.control == TcpControl::Syn && segment.ack_number.is_none();
        let is_served_port = segment.dst_port == self.settings.port;
        let before = self.connections.get(&client);
        if opens && before.is_some_and(|before| before.may_be_replaced(sequence)) {
            self.remove(client);
        }
        let known = self.connections.get_mut(&client);
        match known.filter(|_| is_served_port) {
            Some(connection) => {
                connection.receive(now_ns, &segment, addresses.ethernet_source, &self.files);
                self.make_ready(client);
            }
            None if opens && is_served_port => self.open(now_ns, client, &segment, &addresses),
            None => self.refuse(&segment, &addresses),
        }
        Some(())
    }

    fn open(
        &mut self,
        now_ns: u64,
        client: ClientKey,
        syn: &TcpRepr<'_>,
        addresses: &FrameAddresses,
    ) {
        if self.connections.len() >= self.settings.most_connections {
            self.counters.refused += 1;
            return;
        }
        self.counters.connections += 1;
        let by_version = |(ipv4, ipv6): (u16, u16)| {
            if client.0.is_ipv4() { ipv4 } else { ipv6 }
        };
        let settings = ConnectionSettings {
            sender: self.settings.sender,
            local_mss: self.settings.mtu.saturating_sub(by_version(HEADERS)),
            default_mss: by_version(DEFAULT_MSS),
            first_sequence: self.first_sequence(now_ns, client),
            time_wait_ns: self.settings.time_wait_ns,
            idle_ns: self.settings.idle_ns,
        };
        let connection =
            BareConnection::open(now_ns, syn, self.reply_addresses(addresses), settings);
        self.connections.insert(client, connection);
        self.make_ready(client);
    }

    /// A clock of 4 µs, offset by a value that only this server can compute (RFC 6528, section 3).
    fn first_sequence(&self, now_ns: u64, client: ClientKey) -> u32 {
        let mut hasher = DefaultHasher::new();
        (self.settings.secret, client, self.settings.port).hash(&mut hasher);
        (hasher.finish() as u32).wrapping_add((now_ns / 4000) as u32)
    }

    fn reply_addresses(&self, addresses: &FrameAddresses) -> FrameAddresses {
        FrameAddresses {
            ethernet_source: self.host.ethernet,
            ethernet_destination: addresses.ethernet_source,
            source: addresses.destination,
            destination: addresses.source,
        }
    }

    /// Replies to a segment of no connection (RFC 9293, section 3.10.7.1).
    fn refuse(&mut self, segment: &TcpRepr<'_>, addresses: &FrameAddresses) {
        if segment.control == TcpControl::Rst {
            return;
        }
        let end = segment.seq_number + segment.segment_len();
        let (sequence, acknowledged) = match segment.ack_number {
            Some(acknowledged) => (acknowledged, None),
            None => (TcpSeqNumber(0), Some(end)),
        };
        let reset = TcpRepr {
            src_port: segment.dst_port,
            dst_port: segment.src_port,
            control: TcpControl::Rst,
            seq_number: sequence,
            ack_number: acknowledged,
            window_len: 0,
            window_scale: None,
            max_seg_size: None,
            sack_permitted: false,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &[],
        };
        self.counters.resets_sent += 1;
        self.reply(Some(tcp_frame(&self.reply_addresses(addresses), &reset)));
    }

    fn make_ready(&mut self, client: ClientKey) {
        if let Some(connection) = self.connections.get_mut(&client)
            && !connection.is_ready
        {
            connection.is_ready = true;
            self.ready.push_back(client);
        }
    }

    /// When [`tick`](Self::tick) is due next, in nanoseconds.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        let connections = self.connections.values();
        connections.filter_map(BareConnection::deadline_ns).min()
    }

    /// Handles timers that are due.
    pub fn tick(&mut self, now_ns: u64) {
        let mut due = Vec::new();
        for (client, connection) in &mut self.connections {
            let deadline_ns = connection.deadline_ns();
            if deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns) {
                connection.tick(now_ns);
                due.push(*client);
            }
        }
        for client in due {
            self.make_ready(client);
        }
    }

    /// The next frame to send now: replies first, then one of each connection in turn.
    pub fn next_frame(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let reply = self.replies.pop_front();
        let frame = reply.or_else(|| self.next_connection_frame(now_ns));
        self.counters.frames_out += u64::from(frame.is_some());
        frame
    }

    fn next_connection_frame(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        while let Some(client) = self.ready.pop_front() {
            let Some(connection) = self.connections.get_mut(&client) else {
                continue;
            };
            let frame = connection.next_frame(now_ns);
            connection.is_ready = frame.is_some();
            if frame.is_some() {
                self.ready.push_back(client);
                return frame;
            }
            if connection.has_ended() {
                self.remove(client);
            }
        }
        None
    }

    fn remove(&mut self, client: ClientKey) {
        let Some(connection) = self.connections.remove(&client) else {
            return;
        };
        self.ready.retain(|ready| *ready != client);
        let summary = connection.summary();
        self.counters.aborted += u64::from(!summary.is_complete);
        self.counters.requests += summary.requests;
        self.counters.sender.add(&summary.sender);
        if self.ended.len() >= MOST_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(summary);
    }
}
