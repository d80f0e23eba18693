//! Causes of the time between segments. Pure.
//!
//! Each interval between two segments of a connection is attributed to at most one cause, by the
//! state of the connection before it and the segment that ends it, so that the parts never exceed
//! the whole:
//!
//! | the interval ends with | and before it | it is |
//! |---|---|---|
//! | a retransmission by a timer | | a wait for that timer |
//! | anything | the receiver's window was closed | the reader's |
//! | small data right behind a late acknowledgment of small data | nothing else was in flight | delayed acknowledgment against Nagle |
//! | data of the other end | that end's turn | the server's response time, or the client's pause |
//! | data of the same end | nothing in flight | a pause of that end |
//! | data that fill a gap | a gap: they were lost before the place of capture | fast recovery, from the gap on; a timer, where it was silent |
//! | anything | a loss was being repaired | fast recovery |
//! | an acknowledgment | the receiver's window was full | the window |
//! | data of the same end, right behind an acknowledgment | it had more to send | slow start after idle, where less was in flight than before a pause; a queue, where round trips are long; else its congestion window |
//! | data of the same end, otherwise | less than a full segment was sent before it, or no acknowledgment permits it now | its own pace |
//! | the end of the connection | nothing in flight | the server's, if a response is missing; else idle |
//!
//! If the receiver is near, a loss that only a timer repairs can leave no gap but a silence: after
//! it comes one full segment, and no other one for a round trip.

use crate::pace::{PaceVerdict, SendingPace};
use crate::path::PathRoundTrip;
use crate::retransmission::{LEAST_TIMEOUT_NS, RetransmissionKind};
use crate::wait_event::{DirectionBefore, WaitEvent};
use crate::wait_totals::WaitTotals;

pub use crate::wait_totals::{Wait, WaitTotal};

/// An acknowledgment this much later than a round trip was delayed. Linux delays 40 ms, others up
/// to 200 ms (RFC 9293, section 3.8.6.3 permits 500 ms).
const LATE_ACKNOWLEDGMENT_NS: i64 = 20_000_000;

/// Data this long after their trigger, and a round trip to their sender, still follow from it.
const REACTION_NS: i64 = 2_000_000;

/// Shortest pause of an end that had something in flight before.
const LEAST_PAUSE_NS: i64 = 10_000_000;

/// A pause after which congestion windows start small again: a retransmission timeout (RFC 5681,
/// section 4.1), of which this is the least in Linux.
const IDLE_NS: i64 = 200_000_000;

/// Data this long after an acknowledgment, and a round trip to their sender, were sent because of
/// it.
const PROMPT_NS: i64 = 1_000_000;

/// Segments in flight from which on a delayed acknowledgment is not taken for a queue.
const LEAST_SEGMENTS: i64 = 4;

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConnectionEnd {
    /// The end that opened the connection.
    Client,
    /// The other end.
    Server,
}

impl ConnectionEnd {
    pub(crate) const BOTH: [ConnectionEnd; 2] = [ConnectionEnd::Client, ConnectionEnd::Server];

    /// The opposite end.
    pub fn other(self) -> ConnectionEnd {
        match self {
            ConnectionEnd::Client => ConnectionEnd::Server,
            ConnectionEnd::Server => ConnectionEnd::Client,
        }
    }
}

/// Cause of a wait.
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
    /// The end delayed an acknowledgment, and the other end waited for it to send less than a full
    /// segment (Nagle's algorithm, RFC 9293, section 3.7.4).
    DelayedAcknowledgment,
    /// The end was to send, and took this long until it did.
    Turn,
    /// The end sent, and paused though everything had been acknowledged.
    Pause,
    /// The end repaired a loss that acknowledgments had shown.
    FastRecovery,
    /// The end's window was full.
    WindowLimited,
    /// The end had paused and sent little until acknowledgments came in.
    SlowStartAfterIdle,
    /// The end had more to send than its congestion window permitted.
    CongestionWindow,
    /// The end sent slowly, without a limit that a capture shows.
    SenderPace,
    /// The end had more to send than its congestion window permitted, and round trips were long:
    /// its data waited in a queue.
    Queue,
    /// The server had to respond, or to send the rest of a response, until the connection was
    /// closed.
    NoResponse,
    /// Neither end had anything to send until the connection was closed.
    Idle,
}

/// A late acknowledgment of small data, until the next segment shows its effect.
#[derive(Debug, Clone, Copy)]
struct LateAcknowledgment {
    sender: ConnectionEnd,
    wait: Wait,
    at_ns: i64,
}

/// A silence of an end, until it is decided if it waited for its timer.
#[derive(Debug, Clone, Copy)]
struct Silence {
    sender: ConnectionEnd,
    /// The part that no other cause has.
    wait: Wait,
    end_ns: i64,
    round_trip_ns: i64,
    /// The segment before it was the end of a write.
    was_pushed: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sending {
    last_ns: Option<i64>,
    last_packet: u64,
    last_length: u32,
    is_pushed: bool,
    /// The last acknowledgment that can have permitted it to send: its moment and packet.
    permit: Option<(i64, u64)>,
    /// Most bytes in flight since its last pause.
    peak: i64,
    pace: SendingPace,
    /// Bytes in flight before the pause after which it starts slowly.
    restart: Option<i64>,
    /// The end sends again after that pause, with less in flight.
    has_restarted: bool,
}

impl Sending {
    fn end_restart(&mut self) {
        self.restart = None;
        self.has_restarted = false;
    }
}

#[derive(Debug, Default)]
pub(crate) struct WaitLedger {
    totals: WaitTotals,
    last: Option<(i64, u64)>,
    claimed_until_ns: i64,
    last_data: Option<ConnectionEnd>,
    /// A FIN or RST has passed.
    is_closing: bool,
    sending: [Sending; 2],
    late: Option<LateAcknowledgment>,
    silence: Option<Silence>,
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
        if event.has_new_data {
            self.judge_silence(Some(event));
        }
        let mut ends = ConnectionEnd::BOTH.into_iter();
        let before = |end: &ConnectionEnd| &event.before[*end as usize];
        if let Some(kind) = event.retransmission.filter(|kind| kind.is_by_timer()) {
            let cause = match kind {
                RetransmissionKind::Handshake => WaitCause::Handshake,
                RetransmissionKind::TailLossProbe => WaitCause::TailLossProbe,
                _ => WaitCause::Timeout,
            };
            if let Some(since_ns) = event.gap_since_ns {
                self.claim_gap(cause, event, wait, since_ns);
            } else {
                self.claim(cause, sender, wait);
            }
            return;
        }
        if let Some(blocked) = ends.find(|end| before(end).is_closed) {
            self.claim(WaitCause::ZeroWindow, blocked.other(), wait);
            return;
        }
        if let Some(since_ns) = event.gap_since_ns {
            self.claim_behind_loss(WaitCause::FastRecovery, sender, wait.since(since_ns));
            return;
        }
        if event.is_closing
            && !event.has_new_data
            && event.before.iter().all(|before| before.flight == 0)
        {
            self.attribute_closing(event, wait);
            return;
        }
        if event.has_new_data && self.attribute_turn(event, before(&sender), wait) {
            return;
        }
        let mut ends = ConnectionEnd::BOTH.into_iter();
        if let Some(end) = ends.find(|end| before(end).is_in_fast_recovery) {
            self.claim(WaitCause::FastRecovery, end, wait);
        } else if event.has_new_data && self.last_data == Some(sender) {
            self.attribute_path(event, before(&sender));
        } else if event.opens_window && !event.has_progress {
            self.claim(WaitCause::WindowLimited, sender, wait);
        } else if event.has_progress {
            self.attribute_acknowledgment(event, wait);
        }
    }

    /// Attributes the end of a connection in which nothing is in flight. Keep-alives can have
    /// passed meanwhile.
    fn attribute_closing(&mut self, event: &WaitEvent, wait: Wait) {
        let sent = self.sending.iter();
        let latest = sent.flat_map(|end| [end.last_ns.zip(Some(end.last_packet)), end.permit]);
        let latest = latest.flatten().max();
        let (start_ns, from_packet) = latest.unwrap_or((wait.start_ns, wait.from_packet));
        let wait = Wait {
            from_packet,
            ..wait.since(start_ns)
        };
        if wait.length_ns < LEAST_PAUSE_NS {
            return;
        }
        if event.awaits_server {
            self.claim(WaitCause::NoResponse, ConnectionEnd::Server, wait);
        } else {
            self.claim(WaitCause::Idle, event.sender, wait);
        }
    }

    /// Attributes a gap that a timer ended. It was being repaired as long as segments arrived.
    fn claim_gap(&mut self, cause: WaitCause, event: &WaitEvent, wait: Wait, since_ns: i64) {
        let is_silent = wait.length_ns >= LEAST_TIMEOUT_NS;
        let timer = if is_silent || event.at_ns - since_ns < LEAST_TIMEOUT_NS {
            let repaired = Wait {
                start_ns: since_ns,
                length_ns: wait.start_ns - since_ns,
                ..wait
            };
            self.claim_behind_loss(WaitCause::FastRecovery, event.sender, repaired);
            wait
        } else {
            wait.since(since_ns)
        };
        self.claim_behind_loss(cause, event.sender, timer);
    }

    /// Attributes data after data of the same end that had more to send.
    fn attribute_path(&mut self, event: &WaitEvent, state: &DirectionBefore) {
        let sender = event.sender;
        let sending = self.sending[sender as usize];
        let (Some(last_ns), Some((permit_ns, _))) = (sending.last_ns, sending.permit) else {
            return;
        };
        let wait = Wait {
            start_ns: last_ns,
            length_ns: event.at_ns - last_ns,
            from_packet: sending.last_packet,
            to_packet: event.packet,
        };
        let path = state
            .path
            .unwrap_or(PathRoundTrip::always(state.round_trip_ns()));
        // Far from the sender, a permission reaches it a round trip later.
        let is_awaited = |permitted_ns: i64| event.at_ns - permitted_ns <= path.now_ns * 23 / 20;
        if state.is_near_receiver() && event.permitted_ns.is_some_and(is_awaited) {
            self.claim(WaitCause::WindowLimited, sender.other(), wait);
            return;
        }
        if state.has_gap {
            return;
        }
        let reaction_ns = event.at_ns - permit_ns;
        let is_prompt = reaction_ns <= PROMPT_NS + state.reaction_ns() * 3 / 2;
        // After less than a full segment its program had written no more, or Nagle's algorithm
        // waited for the acknowledgment.
        let is_held = state.flight == 0 && is_prompt && reaction_ns >= state.sender_rtt_ns * 3 / 4;
        let is_own_pace = if state.is_full(sending.last_length) {
            !is_prompt && !state.is_near_receiver()
        } else {
            !is_held
        };
        // Without acknowledgments of data in flight it can be a probe with new bytes (RFC 8985,
        // section 7.3).
        let is_probe = state.flight > 0 && reaction_ns >= state.round_trip_ns();
        // The sender had the permission of the receiver's window state.
        let is_permitted = |permitted_ns: i64| permitted_ns + state.sender_rtt_ns <= last_ns;
        let is_permitted = event.permitted_ns.is_none_or(is_permitted);
        // After the end of the other end it responds to that.
        let is_other = is_probe || event.opens_gap || self.is_closing || !state.is_sender_known;
        if is_own_pace && is_permitted && !is_other {
            self.claim(WaitCause::SenderPace, sender, wait);
        }
        if !is_prompt || !state.is_full(sending.last_length) {
            return;
        }
        if sending.has_restarted {
            self.claim(WaitCause::SlowStartAfterIdle, sender, wait);
            return;
        }
        let is_much =
            state.is_near_receiver() || state.flight >= LEAST_SEGMENTS * state.segment_size;
        let Some(wait) = self.unclaimed(wait) else {
            return;
        };
        let total = if path.has_queue() && is_much {
            self.totals.enter(WaitCause::Queue, sender, wait)
        } else {
            self.totals.enter_unsettled(sender, wait)
        };
        // Data in flight to a receiver nearby are not visible.
        let flight = if state.is_near_receiver() {
            0
        } else {
            state.flight
        };
        total.path.get_or_insert_default().add(path, flight);
    }

    /// Decides if a silence was that of a timer: one segment follows it for a round trip.
    fn judge_silence(&mut self, next: Option<&WaitEvent>) {
        let Some(silence) = self.silence.take() else {
            return;
        };
        let next = next.filter(|next| next.sender == silence.sender);
        let is_timer = next.map_or(!silence.was_pushed, |next| {
            let after_ns = next.at_ns - silence.end_ns;
            let round_trip_ns = silence.round_trip_ns;
            (round_trip_ns * 3 / 4..round_trip_ns * 3).contains(&after_ns)
        });
        let cause = if is_timer {
            WaitCause::Timeout
        } else {
            WaitCause::Pause
        };
        let total = self.totals.enter(cause, silence.sender, silence.wait);
        total.behind_loss += u64::from(is_timer);
    }

    /// Attributes data after a late acknowledgment, of the other end, or after a pause.
    fn attribute_turn(&mut self, event: &WaitEvent, state: &DirectionBefore, wait: Wait) -> bool {
        let sender = event.sender;
        if let Some(late) = self.late.take().filter(|late| late.sender == sender) {
            let reaction_ns = event.at_ns - late.at_ns;
            // A reaction to an acknowledgment cannot pass sooner than a round trip to the sender
            // after it.
            let earliest_ns = state.sender_rtt_ns - state.sender_rtt_ns / 40;
            let latest_ns = REACTION_NS + state.reaction_ns() * 5 / 4;
            if !state.is_full(event.length) && (earliest_ns..=latest_ns).contains(&reaction_ns) {
                self.claim(WaitCause::DelayedAcknowledgment, sender.other(), late.wait);
                return true;
            }
        }
        let others = self.sending[sender.other() as usize];
        match self.last_data {
            Some(last) if last != sender => {
                let start_ns = others.last_ns.unwrap_or(wait.start_ns);
                let turn = Wait {
                    from_packet: others.last_packet,
                    ..wait.since(start_ns.saturating_add(state.sender_rtt_ns))
                };
                self.claim(WaitCause::Turn, sender, turn);
                self.restart(event, state);
                true
            }
            last => {
                let round_trip_ns = state.round_trip_ns();
                let sending = self.sending[sender as usize];
                // A reaction to the last acknowledgment passes a round trip to the sender after it.
                // Later data had not been written, and were not while that acknowledgment was in
                // flight. Keep-alives can pass.
                let since_ns = sending.permit.map(|(at_ns, _)| at_ns).max(sending.last_ns);
                let silent_ns = event.at_ns - since_ns.unwrap_or(wait.start_ns);
                let least_ns = if state.is_sender_known {
                    LEAST_PAUSE_NS
                } else {
                    IDLE_NS
                };
                let is_pause = state.flight == 0
                    && !event.opens_gap
                    && silent_ns >= least_ns.max(2 * state.reaction_ns());
                let wait = sending.last_ns.map_or(wait, |start_ns| Wait {
                    from_packet: sending.last_packet,
                    ..wait.since(start_ns)
                });
                if is_pause {
                    let cause = if last.is_none() {
                        WaitCause::Turn
                    } else {
                        WaitCause::Pause
                    };
                    let can_be_timer = cause == WaitCause::Pause
                        && state.is_near_receiver()
                        && wait.length_ns >= LEAST_TIMEOUT_NS
                        && state.is_full(sending.last_length)
                        // A timer sends one segment; of more, GRO makes a longer one.
                        && i64::from(event.length) <= state.segment_size
                        && (state.is_full(event.length) || !sending.is_pushed);
                    if can_be_timer {
                        self.silence = self.unclaimed(wait).map(|wait| Silence {
                            sender,
                            wait,
                            end_ns: event.at_ns,
                            round_trip_ns,
                            was_pushed: sending.is_pushed,
                        });
                    } else {
                        self.claim(cause, sender, wait);
                    }
                    self.restart(event, state);
                }
                is_pause
            }
        }
    }

    /// Notes that the end sends again after a pause.
    fn restart(&mut self, event: &WaitEvent, state: &DirectionBefore) {
        let sending = &mut self.sending[event.sender as usize];
        let pause_ns = sending.last_ns.map_or(0, |last_ns| event.at_ns - last_ns);
        let is_idle = pause_ns >= IDLE_NS.max(state.round_trip_ns());
        let was_much = sending.peak > 4 * state.segment_size;
        sending.restart = (is_idle && was_much && state.flight == 0).then_some(sending.peak);
        sending.has_restarted = false;
        sending.peak = 0;
        if is_idle {
            sending.pace.restart();
            self.totals
                .settle(event.sender, WaitCause::CongestionWindow);
        }
    }

    fn attribute_acknowledgment(&mut self, event: &WaitEvent, wait: Wait) {
        let data_sender = event.sender.other();
        let other = &event.before[data_sender as usize];
        let sending = self.sending[data_sender as usize];
        let since_ns = sending.last_ns.map_or(0, |last_ns| event.at_ns - last_ns);
        // Without a round trip, lateness is unknown.
        let late_ns = other.receiver_rtt_ns.map_or(0, |rtt_ns| since_ns - rtt_ns);
        let is_alone = other.segments == 1 && other.flight == i64::from(sending.last_length);
        let is_small = !other.is_full(sending.last_length);
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
        if other.is_window_full() && other.flight > 0 {
            self.claim(WaitCause::WindowLimited, event.sender, wait);
            return;
        }
        let Some(peak) = sending.restart else {
            return;
        };
        let sending = &mut self.sending[data_sender as usize];
        let is_slow = other.flight < peak * 3 / 4;
        if !is_slow || !sending.has_restarted && other.flight > peak / 2 {
            sending.end_restart();
            return;
        }
        sending.has_restarted = true;
    }

    /// Attributes the part of a wait that no cause has.
    fn claim(
        &mut self,
        cause: WaitCause,
        end: ConnectionEnd,
        wait: Wait,
    ) -> Option<&mut WaitTotal> {
        let wait = self.unclaimed(wait)?;
        Some(self.totals.enter(cause, end, wait))
    }

    /// Attributes a wait that a loss before the point of capture caused.
    fn claim_behind_loss(&mut self, cause: WaitCause, end: ConnectionEnd, wait: Wait) {
        if let Some(total) = self.claim(cause, end, wait) {
            total.behind_loss += 1;
        }
    }

    /// The part of a wait that no cause has, which is then taken.
    fn unclaimed(&mut self, wait: Wait) -> Option<Wait> {
        let unclaimed = wait.since(wait.start_ns.max(self.claimed_until_ns));
        (unclaimed.length_ns > 0).then(|| {
            self.claimed_until_ns = unclaimed.start_ns.saturating_add(unclaimed.length_ns);
            unclaimed
        })
    }

    /// Confirms or rejects the waits for a congestion window by the data of each round trip.
    fn note_pace(&mut self, event: &WaitEvent, state: DirectionBefore) {
        let path_ns = state.path.map(|path| path.now_ns);
        let round_ns = path_ns.unwrap_or(state.round_trip_ns());
        let length = i64::from(event.length);
        let flight = (!state.is_near_receiver()).then_some(state.flight + length);
        let pace = &mut self.sending[event.sender as usize].pace;
        let cause = match pace.sent(event.at_ns, length, flight, round_ns, state.segment_size) {
            PaceVerdict::Undecided => return,
            PaceVerdict::Growing => WaitCause::CongestionWindow,
            PaceVerdict::Steady => WaitCause::SenderPace,
        };
        self.totals.settle(event.sender, cause);
    }

    fn remember(&mut self, event: &WaitEvent) {
        self.last = Some((event.at_ns, event.packet));
        self.is_closing |= event.is_closing;
        let state = event.before[event.sender as usize];
        let sending = &mut self.sending[event.sender as usize];
        if event.retransmission.is_some() {
            sending.end_restart();
            sending.pace.lost();
        }
        if event.length > 0 {
            sending.last_ns = Some(event.at_ns);
            sending.last_packet = event.packet;
            sending.last_length = event.length;
            sending.is_pushed = event.is_pushed;
            sending.peak = sending.peak.max(state.flight + i64::from(event.length));
        }
        // A duplicate acknowledgment permits to send, too (RFC 3042).
        let is_ack = event.length == 0 && event.before[event.sender.other() as usize].flight > 0;
        if event.has_progress || event.opens_window || is_ack {
            self.sending[event.sender.other() as usize].permit = Some((event.at_ns, event.packet));
        }
        if event.has_new_data {
            self.note_pace(event, state);
            self.late = None;
            self.last_data = Some(event.sender);
            self.sending[event.sender.other() as usize].end_restart();
        }
    }

    pub(crate) fn finish(mut self) -> Vec<WaitTotal> {
        self.judge_silence(None);
        for end in ConnectionEnd::BOTH {
            self.totals.settle(end, WaitCause::CongestionWindow);
        }
        self.totals.finish()
    }
}
