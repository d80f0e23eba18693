//! A connection: the handshake, requests as they arrive in order, and its end (RFC 9293, section
//! 3.10).

mod time_stamps;

use std::sync::Arc;

use core::net::SocketAddr;

use smoltcp::wire::{TcpControl, TcpRepr, TcpSeqNumber};
use topology::SenderSettings;

use crate::counters::EndedConnection;
use crate::files::ServedFiles;
use crate::frames::{FrameAddresses, tcp_frame};
use crate::http;
use crate::sender::{
    AckVerdict, AvailableData, PlannedSegment, ReceivedAck, SenderTerms, TcpSender, TimerVerdict,
};
use crate::stream::ResponseStream;
use time_stamps::TimeStamps;

/// Bytes of waiting requests.
const REQUEST_ROOM: usize = 16 * 1024;

/// Parts of responses that wait for acknowledgments; further requests wait for them.
const MOST_PIECES: usize = 16;

/// Settings of a connection that come from its server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionSettings {
    pub(crate) sender: SenderSettings,
    /// Most bytes of data in a segment without options.
    pub(crate) local_mss: u16,
    /// The client's maximum segment size if it does not announce one.
    pub(crate) default_mss: u16,
    pub(crate) first_sequence: u32,
    pub(crate) time_wait_ns: u64,
    pub(crate) idle_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    SynReceived,
    Open,
    TimeWait { until_ns: u64 },
    Ended,
}

#[derive(Debug)]
pub(crate) struct BareConnection {
    settings: ConnectionSettings,
    addresses: FrameAddresses,
    ports: (u16, u16),
    phase: ConnectionPhase,
    sender: TcpSender,
    stream: ResponseStream,
    /// Sequence number of the next expected byte.
    receive_next: u32,
    request: Vec<u8>,
    requests: u64,
    /// No more requests are read: FIN follows the last response.
    is_closing: bool,
    is_peer_closed: bool,
    is_ack_due: bool,
    is_reset_due: bool,
    is_complete: bool,
    /// Scale of the client's windows, as a shift.
    peer_shift: u8,
    has_window_scale: bool,
    time_stamps: Option<TimeStamps>,
    began_ns: u64,
    heard_ns: u64,
    ended_ns: u64,
    /// The connection waits among those that may have something to send.
    pub(crate) is_ready: bool,
}

impl BareConnection {
    /// A connection for a SYN. `addresses` and `ports` are those of the segments that it sends: the
    /// server's first.
    pub(crate) fn open(
        now_ns: u64,
        syn: &TcpRepr<'_>,
        addresses: FrameAddresses,
        settings: ConnectionSettings,
    ) -> BareConnection {
        let peer_mss = syn.max_seg_size.unwrap_or(settings.default_mss);
        let stamp = syn.timestamp.filter(|_| settings.sender.timestamps);
        let time_stamps = stamp.map(|stamp| TimeStamps::new(stamp.tsval, settings.first_sequence));
        let options = if time_stamps.is_some() { 12 } else { 0 };
        let mss = u64::from(peer_mss.min(settings.local_mss).max(64)) - options;
        let sequence = syn.seq_number.0.cast_unsigned();
        let terms = SenderTerms {
            first_sequence: settings.first_sequence,
            mss,
            has_sack: settings.sender.sack && syn.sack_permitted,
            window: u64::from(syn.window_len),
            peer_sequence: sequence,
        };
        BareConnection {
            settings,
            addresses,
            ports: (syn.dst_port, syn.src_port),
            phase: ConnectionPhase::SynReceived,
            sender: TcpSender::new(&settings.sender, terms),
            stream: ResponseStream::new(),
            receive_next: sequence.wrapping_add(1),
            request: Vec::new(),
            requests: 0,
            is_closing: false,
            is_peer_closed: false,
            is_ack_due: false,
            is_reset_due: false,
            is_complete: false,
            peer_shift: syn.window_scale.unwrap_or(0),
            has_window_scale: syn.window_scale.is_some(),
            time_stamps,
            began_ns: now_ns,
            heard_ns: now_ns,
            ended_ns: now_ns,
            is_ready: false,
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.phase == ConnectionPhase::Ended && !self.is_reset_due
    }

    /// True if a SYN with this sequence number may begin a new connection (RFC 9293, section
    /// 3.6.1).
    pub(crate) fn may_be_replaced(&self, sequence: u32) -> bool {
        let is_waiting = matches!(self.phase, ConnectionPhase::TimeWait { .. });
        is_waiting && sequence.wrapping_sub(self.receive_next).cast_signed() > 0
    }

    pub(crate) fn summary(&self) -> EndedConnection {
        EndedConnection {
            peer: SocketAddr::new(self.addresses.destination, self.ports.1),
            began_ns: self.began_ns,
            ended_ns: self.ended_ns,
            is_complete: self.is_complete,
            requests: self.requests,
            sender: *self.sender.counters(),
            round_trips: self.sender.round_trips().clone(),
        }
    }

    /// Handles a segment of the client, in a frame from this Ethernet address.
    pub(crate) fn receive(
        &mut self,
        now_ns: u64,
        segment: &TcpRepr<'_>,
        from: [u8; 6],
        files: &ServedFiles,
    ) {
        if self.phase == ConnectionPhase::Ended {
            return;
        }
        let is_reset = segment.control == TcpControl::Rst;
        let is_syn = segment.control == TcpControl::Syn;
        let distance = self.distance(segment);
        if is_syn && distance == -1 && self.phase == ConnectionPhase::SynReceived {
            self.sender.repeat_syn();
            return;
        }
        if is_reset {
            // Only the exact number ends a connection (RFC 5961, section 3.2).
            match distance {
                0 => self.end(now_ns, false),
                1..=0xffff => self.is_ack_due = true,
                _ => {}
            }
            return;
        }
        if !self.accepts_time_stamp(segment) || !self.is_acceptable(segment) || is_syn {
            // A challenge for a SYN (RFC 5961, section 4.2), and a reply to segments that are old
            // or too far ahead.
            self.is_ack_due = true;
            return;
        }
        let Some(acknowledged) = segment.ack_number else {
            return;
        };
        self.heard_ns = now_ns;
        self.addresses.ethernet_destination = from;
        if let (Some(stamps), Some(stamp)) = (&mut self.time_stamps, segment.timestamp)
            && distance <= 0
        {
            stamps.received(stamp.tsval);
        }
        let ack = self.received_ack(now_ns, segment, acknowledged.0.cast_unsigned());
        if self.sender.receive(now_ns, &ack) == AckVerdict::Impossible {
            if self.phase == ConnectionPhase::SynReceived {
                self.is_reset_due = true;
                self.end(now_ns, false);
            } else {
                self.is_ack_due = true;
            }
            return;
        }
        if self.phase == ConnectionPhase::SynReceived {
            if self.sender.acknowledged() == 0 {
                return;
            }
            self.phase = ConnectionPhase::Open;
        }
        self.stream.release(self.sender.acknowledged());
        self.take_data(segment);
        self.serve_requests(files);
        self.advance(now_ns);
    }

    /// Distance of a segment ahead of the expected one, as a signed number.
    fn distance(&self, segment: &TcpRepr<'_>) -> i32 {
        let sequence = segment.seq_number.0.cast_unsigned();
        sequence.wrapping_sub(self.receive_next).cast_signed()
    }

    /// True if any part of it lies in the window (RFC 9293, section 3.10.7.4).
    fn is_acceptable(&self, segment: &TcpRepr<'_>) -> bool {
        let distance = i64::from(self.distance(segment));
        let length = segment.segment_len() as i64;
        let window = i64::from(self.window());
        if length == 0 {
            distance == 0 || (0..window).contains(&distance)
        } else {
            distance < window && distance + length > 0
        }
    }

    fn accepts_time_stamp(&self, segment: &TcpRepr<'_>) -> bool {
        match (&self.time_stamps, segment.timestamp) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(stamps), Some(stamp)) => stamps.accepts(stamp.tsval),
        }
    }

    fn received_ack(&self, now_ns: u64, segment: &TcpRepr<'_>, acknowledged: u32) -> ReceivedAck {
        let shift = if self.has_window_scale {
            u32::from(self.peer_shift.min(14))
        } else {
            0
        };
        let echo = self.time_stamps.as_ref().zip(segment.timestamp);
        ReceivedAck {
            sequence: segment.seq_number.0.cast_unsigned(),
            acknowledged,
            window: u64::from(segment.window_len) << shift,
            sack: segment.sack_ranges,
            is_pure: segment.segment_len() == 0,
            echoed_rtt_ns: echo.and_then(|(stamps, stamp)| stamps.round_trip(now_ns, stamp.tsecr)),
        }
    }

    /// Takes data that is in order. Other data is dropped: requests are short, and clients send
    /// them again.
    fn take_data(&mut self, segment: &TcpRepr<'_>) {
        let length = segment.segment_len();
        if length == 0 {
            return;
        }
        self.is_ack_due = true;
        let distance = self.distance(segment);
        if distance > 0 || self.is_peer_closed {
            return;
        }
        let known = distance.unsigned_abs() as usize;
        let new = segment.payload.get(known..).unwrap_or_default();
        let taken = if self.is_closing {
            new.len()
        } else {
            let room = REQUEST_ROOM - self.request.len();
            let taken = new.len().min(room);
            self.request.extend_from_slice(&new[..taken]);
            taken
        };
        self.receive_next = self.receive_next.wrapping_add(taken as u32);
        if segment.control == TcpControl::Fin && taken == new.len() {
            self.receive_next = self.receive_next.wrapping_add(1);
            self.is_peer_closed = true;
        }
    }

    fn serve_requests(&mut self, files: &ServedFiles) {
        while !self.is_closing && self.stream.pieces() < MOST_PIECES {
            let Some(response) = http::response(&self.request, files) else {
                // No further request can arrive.
                self.is_closing = self.is_peer_closed;
                break;
            };
            self.requests += 1;
            self.request
                .drain(..response.consumed.min(self.request.len()));
            self.stream.push(Arc::from(response.head));
            if let Some(body) = response.body {
                self.stream.push(body);
            }
            self.is_closing = !response.keeps_alive;
        }
        if self.is_closing {
            self.request = Vec::new();
        }
    }

    /// Ends it, or waits, when both ends have closed.
    fn advance(&mut self, now_ns: u64) {
        let have_both_closed = self.is_peer_closed && self.sender.is_fin_acknowledged();
        if self.phase != ConnectionPhase::Open || !have_both_closed {
            return;
        }
        self.is_complete = true;
        self.ended_ns = now_ns;
        // The last acknowledgment may be lost, so it waits, unless the client's FIN came in the
        // segment that acknowledges ours, or before.
        self.phase = if self.is_ack_due {
            ConnectionPhase::TimeWait {
                until_ns: now_ns.saturating_add(self.settings.time_wait_ns),
            }
        } else {
            ConnectionPhase::Ended
        };
    }

    fn end(&mut self, now_ns: u64, is_complete: bool) {
        if self.phase != ConnectionPhase::Ended {
            if !matches!(self.phase, ConnectionPhase::TimeWait { .. }) {
                self.is_complete = is_complete;
                self.ended_ns = now_ns;
            }
            self.phase = ConnectionPhase::Ended;
        }
    }

    /// When a timer is due.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        match self.phase {
            ConnectionPhase::Ended => None,
            ConnectionPhase::TimeWait { until_ns } => Some(until_ns),
            ConnectionPhase::SynReceived | ConnectionPhase::Open => {
                let idle_ns = self.heard_ns.saturating_add(self.settings.idle_ns);
                Some(self.sender.deadline_ns().unwrap_or(idle_ns))
            }
        }
    }

    /// Handles timers that are due.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        let deadline_ns = self.deadline_ns();
        if deadline_ns.is_none_or(|deadline_ns| now_ns < deadline_ns) {
            return;
        }
        if matches!(self.phase, ConnectionPhase::TimeWait { .. }) {
            self.end(now_ns, true);
            return;
        }
        let is_idle = self.sender.deadline_ns().is_none();
        if is_idle || self.sender.tick(now_ns) == TimerVerdict::GivesUp {
            // A client that never closes has received everything all the same.
            let is_complete = is_idle && self.sender.is_fin_acknowledged();
            self.is_reset_due = true;
            self.end(now_ns, is_complete);
        }
    }

    /// The next frame to send now.
    pub(crate) fn next_frame(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        if core::mem::take(&mut self.is_reset_due) {
            return Some(self.frame(now_ns, self.sender.next_sequence(), TcpControl::Rst, &[]));
        }
        let available = AvailableData {
            end: self.stream.end(),
            has_fin: self.is_closing,
        };
        let (syn, open) = (ConnectionPhase::SynReceived, ConnectionPhase::Open);
        let may_send = self.phase == syn || self.phase == open;
        if may_send && let Some(planned) = self.sender.next_segment(now_ns, available) {
            return Some(self.data_frame(now_ns, &planned));
        }
        let is_due = core::mem::take(&mut self.is_ack_due);
        (is_due && self.phase != ConnectionPhase::SynReceived)
            .then(|| self.frame(now_ns, self.sender.next_sequence(), TcpControl::None, &[]))
    }

    fn data_frame(&mut self, now_ns: u64, planned: &PlannedSegment) -> Vec<u8> {
        self.is_ack_due = false;
        let end = planned.start + planned.data();
        let data = self.stream.copy(planned.start, end);
        let control = match (planned.has_syn, planned.has_fin) {
            (true, _) => TcpControl::Syn,
            (_, true) => TcpControl::Fin,
            _ if end == self.stream.end() => TcpControl::Psh,
            _ => TcpControl::None,
        };
        self.frame(now_ns, self.sender.sequence(planned.start), control, &data)
    }

    fn frame(&self, now_ns: u64, sequence: u32, control: TcpControl, payload: &[u8]) -> Vec<u8> {
        let is_syn = control == TcpControl::Syn;
        let stamps = self.time_stamps.as_ref();
        let segment = TcpRepr {
            src_port: self.ports.0,
            dst_port: self.ports.1,
            control,
            seq_number: TcpSeqNumber(sequence.cast_signed()),
            ack_number: Some(TcpSeqNumber(self.receive_next.cast_signed())),
            window_len: self.window(),
            // The server's windows are not scaled; the option permits the client to scale its
            // windows.
            window_scale: (is_syn && self.has_window_scale).then_some(0),
            max_seg_size: is_syn.then_some(self.settings.local_mss),
            sack_permitted: is_syn && self.sender.has_sack(),
            sack_ranges: [None; 3],
            timestamp: stamps.map(|stamps| stamps.option(now_ns)),
            payload,
        };
        tcp_frame(&self.addresses, &segment)
    }

    fn window(&self) -> u16 {
        (REQUEST_ROOM - self.request.len()) as u16
    }
}
