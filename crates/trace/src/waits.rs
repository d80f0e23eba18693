//! What the time between segments was spent on. Pure.
//!
//! Each interval between two segments of a connection is attributed to at most one cause, by the state of the
//! connection before it and the segment that ends it, so that the parts never exceed the whole:
//!
//! | the interval ends with | and before it | it is |
//! |---|---|---|
//! | a retransmission by a timer | | a wait for that timer |
//! | anything | the receiver's window was closed | the reader's |
//! | small data right behind a late acknowledgment of small data | nothing else was in flight | delayed acknowledgment against Nagle |
//! | data of the other end | that end's turn | the server's response time, or the client's pause |
//! | data of the same end | nothing in flight | a pause of that end |
//! | anything | a loss was being repaired | fast recovery |
//! | an acknowledgment | the receiver's window was full | the window |
//! | an acknowledgment | less in flight than before a pause | slow start after idle |

use crate::retransmission::RetransmissionKind;

/// Longest waits that are kept for each cause and end.
const MOST_KEPT: usize = 16;

/// An acknowledgment this much later than a round trip was delayed. Linux delays 40 ms, others up to 200 ms
/// (RFC 9293, section 3.8.6.3 permits 500 ms).
const LATE_ACKNOWLEDGMENT_NS: i64 = 20_000_000;

/// Data this long behind what it waited for, and a round trip to its sender, still follows from it.
const REACTION_NS: i64 = 5_000_000;

/// A pause of an end that had something in flight before is one from here on.
const LEAST_PAUSE_NS: i64 = 10_000_000;

/// A pause behind which congestion windows start small again: a retransmission timeout (RFC 5681, section 4.1),
/// of which this is the least in Linux.
const IDLE_NS: i64 = 200_000_000;

/// Where a cause lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConnectionEnd {
    /// The end that opened the connection.
    Client,
    /// The other.
    Server,
}

impl ConnectionEnd {
    pub(crate) const BOTH: [ConnectionEnd; 2] = [ConnectionEnd::Client, ConnectionEnd::Server];

    /// The other end.
    pub fn other(self) -> ConnectionEnd {
        match self {
            ConnectionEnd::Client => ConnectionEnd::Server,
            ConnectionEnd::Server => ConnectionEnd::Client,
        }
    }
}

/// What a connection waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitCause {
    /// A SYN was lost: the end's timer.
    Handshake,
    /// The end's retransmission timer.
    Timeout,
    /// The end's timer of tail loss probes.
    TailLossProbe,
    /// The end did not read: its window was closed.
    ZeroWindow,
    /// The end delayed an acknowledgment, and the other end waited for it to send less than a full segment
    /// (Nagle's algorithm, RFC 9293, section 3.7.4).
    DelayedAcknowledgment,
    /// The end had the turn, and took this long until it sent.
    Turn,
    /// The end sent, and paused though everything had been acknowledged.
    Pause,
    /// The end repaired a loss that acknowledgments had shown.
    FastRecovery,
    /// The end's window was full.
    WindowLimited,
    /// The end had paused and sent little until acknowledgments came in.
    SlowStartAfterIdle,
}

/// One wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// When it began, in nanoseconds.
    pub start_ns: i64,
    /// How long it lasted.
    pub length_ns: i64,
    /// The packet before it.
    pub from_packet: u64,
    /// The packet that ends it.
    pub to_packet: u64,
}

/// All waits with the same cause at the same end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitTotal {
    /// The cause.
    pub cause: WaitCause,
    /// Where it lies.
    pub end: ConnectionEnd,
    /// How many waits.
    pub count: u64,
    /// All together, in nanoseconds.
    pub total_ns: i64,
    /// The longest, the longest first.
    pub longest: Vec<Wait>,
}

/// One direction before a segment passes, named by the end that sends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DirectionBefore {
    pub(crate) flight: i64,
    pub(crate) segments: usize,
    /// Free space of the receiver's window.
    pub(crate) room: Option<i64>,
    pub(crate) is_closed: bool,
    pub(crate) is_in_fast_recovery: bool,
    pub(crate) segment_size: i64,
    /// From the place of capture to the receiver and back.
    pub(crate) receiver_rtt_ns: Option<i64>,
    /// From the place of capture to the sender and back.
    pub(crate) sender_rtt_ns: i64,
}

impl DirectionBefore {
    fn round_trip_ns(&self) -> i64 {
        self.sender_rtt_ns + self.receiver_rtt_ns.unwrap_or(0)
    }
}

/// A segment, as far as waits depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitEvent {
    pub(crate) at_ns: i64,
    pub(crate) packet: u64,
    pub(crate) sender: ConnectionEnd,
    pub(crate) length: u32,
    pub(crate) has_new_data: bool,
    pub(crate) has_progress: bool,
    pub(crate) retransmission: Option<RetransmissionKind>,
    /// By the sending end: client, server.
    pub(crate) before: [DirectionBefore; 2],
}

/// A late acknowledgment of small data, until it is known what follows.
#[derive(Debug, Clone, Copy)]
struct LateAcknowledgment {
    sender: ConnectionEnd,
    wait: Wait,
    at_ns: i64,
}

/// What is known of what an end sends.
#[derive(Debug, Clone, Copy, Default)]
struct Sending {
    last_ns: Option<i64>,
    last_packet: u64,
    last_length: u32,
    /// Most bytes in flight since its last pause.
    peak: i64,
    /// Bytes in flight before the pause behind which it starts slowly.
    restart: Option<i64>,
    has_restarted: bool,
}

/// Attributes intervals.
#[derive(Debug, Default)]
pub(crate) struct WaitLedger {
    totals: Vec<WaitTotal>,
    last: Option<(i64, u64)>,
    claimed_until_ns: i64,
    last_data: Option<ConnectionEnd>,
    sending: [Sending; 2],
    late: Option<LateAcknowledgment>,
}

impl WaitLedger {
    pub(crate) fn note(&mut self, event: &WaitEvent) {
        if let Some((last_ns, last_packet)) = self.last {
            let wait = Wait {
                start_ns: last_ns,
                length_ns: event.at_ns - last_ns,
                from_packet: last_packet,
                to_packet: event.packet,
            };
            self.attribute(event, wait);
        } else {
            self.claimed_until_ns = event.at_ns;
        }
        self.remember(event);
    }

    fn attribute(&mut self, event: &WaitEvent, wait: Wait) {
        let sender = event.sender;
        let mut ends = ConnectionEnd::BOTH.into_iter();
        let before = |end: &ConnectionEnd| &event.before[*end as usize];
        if let Some(kind) = event.retransmission.filter(|kind| kind.is_by_timer()) {
            let cause = match kind {
                RetransmissionKind::Handshake => WaitCause::Handshake,
                RetransmissionKind::TailLossProbe => WaitCause::TailLossProbe,
                _ => WaitCause::Timeout,
            };
            self.claim(cause, sender, wait);
            return;
        }
        if let Some(blocked) = ends.find(|end| before(end).is_closed) {
            self.claim(WaitCause::ZeroWindow, blocked.other(), wait);
            return;
        }
        if event.has_new_data && self.attribute_turn(event, before(&sender), wait) {
            return;
        }
        let mut ends = ConnectionEnd::BOTH.into_iter();
        if let Some(end) = ends.find(|end| before(end).is_in_fast_recovery) {
            self.claim(WaitCause::FastRecovery, end, wait);
        } else if event.has_progress {
            self.attribute_acknowledgment(event, wait);
        }
    }

    /// Data behind a late acknowledgment, of the other end, or behind a pause.
    fn attribute_turn(&mut self, event: &WaitEvent, own: &DirectionBefore, wait: Wait) -> bool {
        let sender = event.sender;
        if let Some(late) = self.late.take().filter(|late| late.sender == sender) {
            let reaction_ns = event.at_ns - late.at_ns;
            let is_small = i64::from(event.length) < own.segment_size;
            if is_small && reaction_ns <= REACTION_NS + own.sender_rtt_ns * 3 / 2 {
                self.claim(WaitCause::DelayedAcknowledgment, sender.other(), late.wait);
                return true;
            }
        }
        let others = self.sending[sender.other() as usize];
        match self.last_data {
            Some(last) if last != sender => {
                let start_ns = others.last_ns.unwrap_or(wait.start_ns);
                let turn = Wait {
                    start_ns: start_ns.saturating_add(own.sender_rtt_ns),
                    length_ns: event.at_ns - start_ns - own.sender_rtt_ns,
                    from_packet: others.last_packet,
                    ..wait
                };
                self.claim(WaitCause::Turn, sender, turn);
                self.restart(event, own);
                true
            }
            last => {
                let round_trip_ns = own.round_trip_ns();
                let is_pause =
                    own.flight == 0 && wait.length_ns >= LEAST_PAUSE_NS.max(2 * round_trip_ns);
                if is_pause {
                    let cause = if last.is_none() {
                        WaitCause::Turn
                    } else {
                        WaitCause::Pause
                    };
                    self.claim(cause, sender, wait);
                    self.restart(event, own);
                }
                is_pause
            }
        }
    }

    /// Notes that the end sends again behind a pause.
    fn restart(&mut self, event: &WaitEvent, own: &DirectionBefore) {
        let sending = &mut self.sending[event.sender as usize];
        let pause_ns = sending.last_ns.map_or(0, |last_ns| event.at_ns - last_ns);
        let is_idle = pause_ns >= IDLE_NS.max(own.round_trip_ns());
        let was_much = sending.peak > 4 * own.segment_size;
        sending.restart = (is_idle && was_much && own.flight == 0).then_some(sending.peak);
        sending.has_restarted = false;
        sending.peak = 0;
    }

    fn attribute_acknowledgment(&mut self, event: &WaitEvent, wait: Wait) {
        let data_sender = event.sender.other();
        let other = &event.before[data_sender as usize];
        let sending = self.sending[data_sender as usize];
        let since_ns = sending.last_ns.map_or(0, |last_ns| event.at_ns - last_ns);
        // Without a round trip nobody knows what is late.
        let late_ns = other.receiver_rtt_ns.map_or(0, |rtt_ns| since_ns - rtt_ns);
        let is_alone = other.segments == 1 && other.flight == i64::from(sending.last_length);
        let is_small = i64::from(sending.last_length) < other.segment_size;
        let is_pure = event.length == 0;
        if is_pure && is_alone && is_small && late_ns >= LATE_ACKNOWLEDGMENT_NS {
            self.late = Some(LateAcknowledgment {
                sender: data_sender,
                at_ns: event.at_ns,
                wait: Wait {
                    start_ns: event.at_ns - late_ns,
                    length_ns: late_ns,
                    from_packet: sending.last_packet,
                    to_packet: event.packet,
                },
            });
            return;
        }
        let is_full = other
            .room
            .is_some_and(|room| room < other.segment_size.max(1));
        if is_full && other.flight > 0 {
            self.claim(WaitCause::WindowLimited, event.sender, wait);
            return;
        }
        let Some(peak) = sending.restart else {
            return;
        };
        let sending = &mut self.sending[data_sender as usize];
        let is_slow = other.flight < peak * 3 / 4;
        if !is_slow || !sending.has_restarted && other.flight > peak / 2 {
            sending.restart = None;
            return;
        }
        sending.has_restarted = true;
        self.claim(WaitCause::SlowStartAfterIdle, data_sender, wait);
    }

    /// Claims the part of a wait that nothing has claimed.
    fn claim(&mut self, cause: WaitCause, end: ConnectionEnd, wait: Wait) {
        let end_ns = wait.start_ns.saturating_add(wait.length_ns);
        let start_ns = wait.start_ns.max(self.claimed_until_ns);
        let length_ns = end_ns - start_ns;
        if length_ns <= 0 {
            return;
        }
        self.claimed_until_ns = end_ns;
        let is_same = |total: &WaitTotal| total.cause == cause && total.end == end;
        let index = self.totals.iter().position(is_same).unwrap_or_else(|| {
            self.totals.push(WaitTotal {
                cause,
                end,
                count: 0,
                total_ns: 0,
                longest: Vec::new(),
            });
            self.totals.len() - 1
        });
        let total = &mut self.totals[index];
        total.count += 1;
        total.total_ns = total.total_ns.saturating_add(length_ns);
        let longest = &mut total.longest;
        let place = longest.partition_point(|kept| kept.length_ns >= length_ns);
        if place < MOST_KEPT {
            let wait = Wait {
                start_ns,
                length_ns,
                ..wait
            };
            longest.insert(place, wait);
            longest.truncate(MOST_KEPT);
        }
    }

    fn remember(&mut self, event: &WaitEvent) {
        self.last = Some((event.at_ns, event.packet));
        let own = event.before[event.sender as usize];
        let sending = &mut self.sending[event.sender as usize];
        if event.retransmission.is_some() {
            sending.restart = None;
        }
        if event.length > 0 {
            sending.last_ns = Some(event.at_ns);
            sending.last_packet = event.packet;
            sending.last_length = event.length;
            sending.peak = sending.peak.max(own.flight + i64::from(event.length));
        }
        if event.has_new_data {
            self.late = None;
            self.last_data = Some(event.sender);
            self.sending[event.sender.other() as usize].restart = None;
        }
    }

    /// The waits by cause and end, the longest total first.
    pub(crate) fn finish(mut self) -> Vec<WaitTotal> {
        self.totals
            .sort_by_key(|total| (std::cmp::Reverse(total.total_ns), total.cause, total.end));
        self.totals
    }
}
