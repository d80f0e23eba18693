//! A client with a simple receiver: cumulative and, by its settings, selective and delayed
//! acknowledgments, a window that it may close, and no congestion control. Frames are built and
//! checked by other libraries than the server's.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use etherparse::{
    NetHeaders, PacketBuilder, PacketHeaders, TcpHeader, TcpOptionElement, TransportHeader,
};
use trace::TcpSegment;

pub(crate) const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub(crate) const CLIENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const SERVER_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
pub(crate) const CLIENT_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
pub(crate) const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
pub(crate) const CLIENT_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);

/// Time after which unacknowledged data is sent again.
const PATIENCE_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone)]
pub(crate) struct ClientSettings {
    pub(crate) is_ipv6: bool,
    pub(crate) request: Vec<u8>,
    pub(crate) first_sequence: u32,
    pub(crate) mss: u16,
    pub(crate) shift: Option<u8>,
    pub(crate) window: u64,
    pub(crate) has_sack: bool,
    pub(crate) has_time_stamps: bool,
    /// Time for which the first of two segments waits for its acknowledgment.
    pub(crate) delayed_ack_ns: Option<u64>,
    /// Bytes after which the window is closed, and until when.
    pub(crate) closed_window: Option<(u64, u64)>,
}

impl Default for ClientSettings {
    fn default() -> ClientSettings {
        ClientSettings {
            is_ipv6: false,
            request: b"GET /file HTTP/1.0\r\n\r\n".to_vec(),
            first_sequence: 0xffff_ff00,
            mss: 1460,
            shift: Some(7),
            window: 65_536,
            has_sack: true,
            has_time_stamps: true,
            delayed_ack_ns: None,
            closed_window: None,
        }
    }
}

/// The client's end of a connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) settings: ClientSettings,
    port: u16,
    /// Bytes that arrived in order.
    pub(crate) received: Vec<u8>,
    ahead: BTreeMap<u64, Vec<u8>>,
    first_received: Option<u32>,
    server_fin: Option<u64>,
    /// Offset that the server has acknowledged: SYN is 0, the request begins at 1.
    acknowledged: u64,
    has_sack: bool,
    server_shift: u8,
    echo: u32,
    ack_at_ns: Option<u64>,
    resend_at_ns: Option<u64>,
    is_window_closed: bool,
    fin_sent: bool,
    pub(crate) is_reset: bool,
}

impl Client {
    pub(crate) fn new(port: u16, settings: ClientSettings) -> Client {
        Client {
            settings,
            port,
            received: Vec::new(),
            ahead: BTreeMap::new(),
            first_received: None,
            server_fin: None,
            acknowledged: 0,
            has_sack: false,
            server_shift: 0,
            echo: 0,
            ack_at_ns: None,
            resend_at_ns: None,
            is_window_closed: false,
            fin_sent: false,
            is_reset: false,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_reset || self.fin_sent && self.acknowledged > self.fin()
    }

    /// All data of the server has arrived, FIN included.
    pub(crate) fn is_served(&self) -> bool {
        self.server_fin
            .is_some_and(|fin| self.received.len() as u64 >= fin)
    }

    fn fin(&self) -> u64 {
        1 + self.settings.request.len() as u64
    }

    pub(crate) fn connect(&mut self, now_ns: u64) -> Vec<u8> {
        self.resend_at_ns = Some(now_ns + PATIENCE_NS);
        let mut header = self.header(now_ns, 0);
        header.syn = true;
        header.ack = false;
        header.acknowledgment_number = 0;
        header.window_size = self.settings.window.min(65_535) as u16;
        self.frame(header, &[])
    }

    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        let closed = self.settings.closed_window;
        let open = closed.filter(|_| self.is_window_closed);
        let open_at_ns = open.map(|(_, until)| until);
        let times = [self.ack_at_ns, self.resend_at_ns, open_at_ns];
        times.into_iter().flatten().min()
    }

    pub(crate) fn tick(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let closed = self.settings.closed_window;
        let opens = closed.is_some_and(|(_, until)| until <= now_ns);
        if self.is_window_closed && opens {
            self.is_window_closed = false;
            self.settings.closed_window = None;
            frames.push(self.ack(now_ns));
        }
        if self.ack_at_ns.is_some_and(|at| at <= now_ns) {
            frames.push(self.ack(now_ns));
        }
        if self.resend_at_ns.is_some_and(|at| at <= now_ns) {
            self.resend_at_ns = None;
            if !self.is_closed() {
                if self.first_received.is_none() {
                    frames.push(self.connect(now_ns));
                } else {
                    frames.extend(self.unacknowledged(now_ns));
                }
            }
        }
        frames
    }

    /// The unacknowledged part of the request and FIN.
    fn unacknowledged(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let fin = self.fin();
        if self.acknowledged > fin || self.acknowledged == fin && !self.fin_sent {
            return None;
        }
        self.resend_at_ns = Some(now_ns + PATIENCE_NS);
        let start = self.acknowledged.max(1);
        let mut header = self.header(now_ns, start);
        header.fin = self.fin_sent;
        let data = self.settings.request[start as usize - 1..].to_vec();
        Some(self.frame(header, &data))
    }

    /// Handles a frame of the server. Returns the client's replies.
    pub(crate) fn receive(&mut self, now_ns: u64, frame: &[u8]) -> Vec<Vec<u8>> {
        check_checksums(frame);
        let segment = trace::segment::parse(frame, 0).unwrap();
        if segment.destination.port() != self.port {
            return Vec::new();
        }
        if segment.flags.rst {
            self.is_reset = true;
            return Vec::new();
        }
        if let Some((value, _)) = segment.options.timestamps {
            self.echo = value;
        }
        if segment.flags.syn {
            return self.handshake(now_ns, &segment);
        }
        let Some(first) = self.first_received else {
            return Vec::new();
        };
        let first_sequence = self.settings.first_sequence;
        let acknowledged = segment.acknowledged.wrapping_sub(first_sequence);
        self.acknowledged = self.acknowledged.max(u64::from(acknowledged));
        let expected = first.wrapping_add(1 + self.received.len() as u32);
        let offset = self.received.len() as i64
            + i64::from(segment.sequence.wrapping_sub(expected).cast_signed());
        self.take(now_ns, offset, &segment)
    }

    fn handshake(&mut self, now_ns: u64, segment: &TcpSegment<'_>) -> Vec<Vec<u8>> {
        self.first_received = Some(segment.sequence);
        self.has_sack = segment.options.sack_permitted;
        self.settings.has_time_stamps &= segment.options.timestamps.is_some();
        self.server_shift = segment.options.window_scale.unwrap_or(0);
        let has_scale = segment.options.window_scale.is_some();
        assert_eq!(has_scale, self.settings.shift.is_some());
        if self.acknowledged > 1 {
            return vec![self.ack(now_ns)];
        }
        self.acknowledged = 1;
        self.unacknowledged(now_ns).into_iter().collect()
    }

    fn take(&mut self, now_ns: u64, offset: i64, segment: &TcpSegment<'_>) -> Vec<Vec<u8>> {
        let payload = segment.payload;
        let before = self.received.len();
        let is_expected = offset == before as i64;
        let is_closed = self.is_closed_at(now_ns);
        if segment.flags.fin {
            self.server_fin = Some((offset + payload.len() as i64) as u64);
        }
        if !payload.is_empty() && !is_closed && offset + payload.len() as i64 > before as i64 {
            let skipped = (before as i64 - offset).max(0);
            let offset = (offset + skipped) as u64;
            let end = offset + payload.len() as u64 - skipped as u64;
            assert!(end <= before as u64 + self.settings.window);
            let new = payload[skipped as usize..].to_vec();
            self.ahead.insert(offset, new);
        }
        while let Some((offset, bytes)) = self.ahead.pop_first() {
            let known = self.received.len() as u64;
            if offset > known {
                self.ahead.insert(offset, bytes);
                break;
            }
            let skipped = ((known - offset) as usize).min(bytes.len());
            self.received.extend_from_slice(&bytes[skipped..]);
        }
        if payload.is_empty() && !segment.flags.fin {
            return Vec::new();
        }
        if self.is_served() && !self.fin_sent {
            self.fin_sent = true;
            return self.unacknowledged(now_ns).into_iter().collect();
        }
        // RFC 5681, section 4.2: at once for every second segment, and whenever something is
        // missing.
        let may_wait =
            is_expected && self.ahead.is_empty() && !segment.flags.fin && self.ack_at_ns.is_none();
        let delay_ns = self.settings.delayed_ack_ns;
        match delay_ns.filter(|_| may_wait && !is_closed) {
            Some(delay_ns) => {
                self.ack_at_ns = Some(now_ns + delay_ns);
                Vec::new()
            }
            None => vec![self.ack(now_ns)],
        }
    }

    fn is_closed_at(&mut self, now_ns: u64) -> bool {
        let (received, closed) = (self.received.len() as u64, self.settings.closed_window);
        let is_closed = closed.is_some_and(|(behind, until)| received >= behind && now_ns < until);
        self.is_window_closed |= is_closed;
        is_closed
    }

    fn ack(&mut self, now_ns: u64) -> Vec<u8> {
        self.ack_at_ns = None;
        let start = if self.fin_sent {
            self.fin() + 1
        } else {
            self.acknowledged.max(1)
        };
        let header = self.header(now_ns, start);
        self.frame(header, &[])
    }

    fn header(&mut self, now_ns: u64, offset: u64) -> TcpHeader {
        let sequence = self.settings.first_sequence.wrapping_add(offset as u32);
        let mut header = TcpHeader::new(self.port, 80, sequence, 0);
        header.ack = true;
        if let Some(first) = self.first_received {
            let fin = u32::from(self.is_served());
            header.acknowledgment_number = first.wrapping_add(1 + self.received.len() as u32 + fin);
        }
        let is_closed = self.is_closed_at(now_ns);
        let window = if is_closed { 0 } else { self.settings.window };
        header.window_size = (window >> self.settings.shift.unwrap_or(0)).min(65_535) as u16;
        let mut options = Vec::new();
        if offset == 0 {
            options.push(TcpOptionElement::MaximumSegmentSize(self.settings.mss));
            options.extend(self.settings.shift.map(TcpOptionElement::WindowScale));
            if self.settings.has_sack {
                options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
            }
        }
        if self.settings.has_time_stamps {
            let value = (now_ns / 1_000_000) as u32 + 1;
            options.push(TcpOptionElement::Timestamp(value, self.echo));
        }
        if self.has_sack
            && let Some((first, rest)) = self.blocks().split_first()
        {
            let second = [rest.first().copied(), None, None];
            options.push(TcpOptionElement::SelectiveAcknowledgement(*first, second));
        }
        header.set_options(&options).unwrap();
        header
    }

    /// Blocks that arrived ahead, the highest first.
    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks: Vec<(u64, u64)> = Vec::new();
        for (start, bytes) in &self.ahead {
            let end = start + bytes.len() as u64;
            match blocks.last_mut() {
                Some((_, last)) if *last >= *start => *last = end.max(*last),
                _ => blocks.push((*start, end)),
            }
        }
        let first = self.first_received.unwrap_or(0).wrapping_add(1);
        let sequence = |offset: u64| first.wrapping_add(offset as u32);
        let block = |(start, end): &(u64, u64)| (sequence(*start), sequence(*end));
        blocks.iter().rev().map(block).collect()
    }

    fn frame(&self, header: TcpHeader, payload: &[u8]) -> Vec<u8> {
        tcp_frame(self.settings.is_ipv6, header, payload)
    }
}

/// A frame from the client to the server.
pub(crate) fn tcp_frame(is_ipv6: bool, header: TcpHeader, payload: &[u8]) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2(CLIENT_MAC, SERVER_MAC);
    let mut frame = Vec::new();
    let builder = if is_ipv6 {
        ethernet.ipv6(CLIENT_V6.octets(), SERVER_V6.octets(), 64)
    } else {
        ethernet.ipv4(CLIENT_V4.octets(), SERVER_V4.octets(), 64)
    };
    let builder = builder.tcp_header(header);
    builder.write(&mut frame, payload).unwrap();
    frame
}

/// Asserts that all checksums of a frame of the server are right, and its addresses.
pub(crate) fn check_checksums(frame: &[u8]) {
    let headers = PacketHeaders::from_ethernet_slice(frame).unwrap();
    let payload = headers.payload.slice();
    let Some(TransportHeader::Tcp(tcp)) = headers.transport else {
        panic!("no TCP");
    };
    let expected = match headers.net.unwrap() {
        NetHeaders::Ipv4(ip, _) => {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            assert_eq!(ip.destination, CLIENT_V4.octets());
            tcp.calc_checksum_ipv4(&ip, payload).unwrap()
        }
        NetHeaders::Ipv6(ip, _) => {
            assert_eq!(ip.destination, CLIENT_V6.octets());
            tcp.calc_checksum_ipv6(&ip, payload).unwrap()
        }
        NetHeaders::Arp(_) => panic!("ARP"),
    };
    assert_eq!(tcp.checksum, expected);
}
