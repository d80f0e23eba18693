//! Recognition of retransmissions, and their causes. Pure.
//!
//! The kind follows from the information that the sender can have had when it sent the segment:
//!
//! | kind | evidence |
//! |---|---|
//! | handshake | it is a SYN |
//! | tail loss probe (RFC 8985, section 7) | the last bytes sent, after a silence, with SACK in use and none received, and the first repetition since the last progress |
//! | timeout (RFC 6298) | the first missing bytes, after a silence longer than a round trip, or without progress for two round trips and 190 ms |
//! | after a timeout | bytes that were in flight when the timer expired, sent again as acknowledgments come in |
//! | fast (RFC 5681, 6582, 6675, 8985) | acknowledgments came in that show a loss: SACK of later bytes or of bytes sent later, duplicates, or progress up to these bytes |
//! | unexplained | nothing of this |
//!
//! Later packets show if it was needed: a D-SACK of its bytes (RFC 2883), an acknowledgment with a
//! time stamp older than the retransmission (Eifel, RFC 3522), or an acknowledgment that passed
//! before it.
//!
//! Bytes that pass for the first time after later ones were either lost before the point of capture
//! and sent again, or overtaken. Time stamps decide; if they are equal or not in use, the time
//! since the later bytes does: a sender detects a loss at the earliest a round trip after this
//! point.

use std::collections::VecDeque;
use std::ops::Range;

use crate::scoreboard::{Scoreboard, SegmentBytes};
use crate::sequence::is_behind;

/// Duplicate acknowledgments that show a loss (RFC 5681, section 3.2).
const DUPLICATES_OF_LOSS: u32 = 3;

/// Round trip if none is known.
const UNKNOWN_RTT_NS: i64 = 100_000_000;

/// Shortest silence that can be a timer's.
const LEAST_SILENCE_NS: i64 = 2_000_000;

/// Shortest wait of a timer that expires though acknowledgments arrive: Linux waits 200 ms at
/// least.
pub(crate) const LEAST_TIMEOUT_NS: i64 = 190_000_000;

/// Time in which bytes that were overtaken arrive, if no round trip is known; as in Wireshark.
const OVERTAKEN_NS: i64 = 3_000_000;

/// Retransmissions that can still be recognised as spurious, for each direction.
const MOST_JUDGED: usize = 256;

/// Cause of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RetransmissionKind {
    /// A SYN, or the response to one.
    Handshake,
    /// Acknowledgments showed a loss.
    Fast,
    /// The timer expired.
    Timeout,
    /// The data was in flight when the timer expired.
    AfterTimeout,
    /// The timer of a tail loss probe expired.
    TailLossProbe,
    /// The capture does not show the cause.
    Unexplained,
}

impl RetransmissionKind {
    /// All kinds.
    pub const ALL: [RetransmissionKind; 6] = [
        RetransmissionKind::Handshake,
        RetransmissionKind::Fast,
        RetransmissionKind::Timeout,
        RetransmissionKind::AfterTimeout,
        RetransmissionKind::TailLossProbe,
        RetransmissionKind::Unexplained,
    ];

    /// True if a timer of the sender caused it.
    pub fn is_by_timer(self) -> bool {
        use RetransmissionKind::{Handshake, TailLossProbe, Timeout};
        matches!(self, Handshake | Timeout | TailLossProbe)
    }
}

/// Evidence that a retransmission was not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpuriousEvidence {
    /// The receiver reported its bytes as received twice (RFC 2883).
    DuplicateSack,
    /// The acknowledgment of its bytes echoes an older time stamp (RFC 3522).
    TimeStamps,
    /// The acknowledgment of its bytes passed before it.
    AcknowledgedBefore,
}

/// A segment that was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// Number of the packet.
    pub packet: u64,
    /// Its moment, in nanoseconds.
    pub at_ns: i64,
    /// Offset of its first byte in the stream; the SYN has offset 0 if it was captured.
    pub offset: i64,
    /// Bytes sent again; SYN and FIN count as one.
    pub bytes: u64,
    /// Its cause.
    pub kind: RetransmissionKind,
    /// Time since the last segment of the connection, in nanoseconds.
    pub silence_ns: i64,
    /// Evidence that it was not needed.
    pub spurious: Option<SpuriousEvidence>,
}

/// Numbers of retransmissions by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetransmissionCounts {
    by_kind: [u64; RetransmissionKind::ALL.len()],
    bytes_by_kind: [u64; RetransmissionKind::ALL.len()],
    spurious_by_kind: [u64; RetransmissionKind::ALL.len()],
    /// Bytes sent again, which had passed before or were lost before the point of capture.
    pub bytes: u64,
    /// Bytes of retransmissions that were not needed.
    pub spurious_bytes: u64,
}

impl RetransmissionCounts {
    /// Segments of a kind.
    pub fn of(&self, kind: RetransmissionKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Bytes of a kind.
    pub fn bytes_of(&self, kind: RetransmissionKind) -> u64 {
        self.bytes_by_kind[kind as usize]
    }

    /// Segments of a kind that were not needed.
    pub fn spurious_of(&self, kind: RetransmissionKind) -> u64 {
        self.spurious_by_kind[kind as usize]
    }

    /// All segments sent again.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// All that were not needed.
    pub fn spurious(&self) -> u64 {
        self.spurious_by_kind.iter().sum()
    }
}

/// State of the connection when a segment passes that was sent again, or overtaken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendMoment {
    pub(crate) packet: u64,
    pub(crate) at_ns: i64,
    pub(crate) is_syn: bool,
    pub(crate) stamp: Option<u32>,
    /// Time since the last segment of the connection.
    pub(crate) silence_ns: i64,
    /// The longest known round trip between the ends.
    pub(crate) rtt_ns: Option<i64>,
    /// Round trip between the point of capture and the sender.
    pub(crate) sender_rtt_ns: Option<i64>,
    /// Both ends permit SACK.
    pub(crate) uses_sack: bool,
}

/// State of the sender's loss recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Recovery {
    #[default]
    None,
    /// Until everything before the offset is acknowledged.
    Fast(i64),
    Timeout(i64),
}

/// A retransmission that may still turn out to be spurious.
#[derive(Debug, Clone)]
struct JudgedRetransmission {
    bytes: Range<i64>,
    stamp: Option<u32>,
    kind: RetransmissionKind,
    amount: u64,
    /// Its index in the list, if it is listed.
    index: Option<usize>,
    is_acknowledged: bool,
    spurious: Option<SpuriousEvidence>,
}

/// Explains the retransmissions of one direction.
#[derive(Debug, Default)]
pub(crate) struct Explainer {
    pub(crate) counts: RetransmissionCounts,
    pub(crate) list: Vec<Retransmission>,
    limit: usize,
    judged: VecDeque<JudgedRetransmission>,
    recovery: Recovery,
    has_probed: bool,
    duplicates: u32,
    progress_ns: Option<i64>,
    /// The last SACK, and the last duplicate acknowledgment: offset behind the bytes that it can
    /// have shown as lost, and its moment.
    shown: [Option<(i64, i64)>; 2],
}

impl Explainer {
    pub(crate) fn new(limit: usize) -> Explainer {
        Explainer {
            limit,
            ..Explainer::default()
        }
    }

    /// True if the sender repairs a loss without having waited for a timer.
    pub(crate) fn is_in_fast_recovery(&self) -> bool {
        matches!(self.recovery, Recovery::Fast(_))
    }

    /// Classifies a segment that passed again or late; `None` if it was overtaken and not sent
    /// again.
    pub(crate) fn sent_late(
        &mut self,
        bytes: Range<i64>,
        found: SegmentBytes,
        board: &Scoreboard,
        moment: &SendMoment,
    ) -> Option<RetransmissionKind> {
        if found.resent == 0 && !is_sent_again(found, moment) {
            return None;
        }
        let was_acknowledged = board.acknowledged.is_some_and(|to| bytes.end <= to);
        let kind = self.kind(&bytes, found, board, moment);
        let amount = if found.resent > 0 {
            found.resent
        } else {
            bytes.end - bytes.start
        };
        let retransmission = Retransmission {
            packet: moment.packet,
            at_ns: moment.at_ns,
            offset: bytes.start,
            bytes: amount.unsigned_abs(),
            kind,
            silence_ns: moment.silence_ns,
            spurious: None,
        };
        self.counts.by_kind[kind as usize] += 1;
        self.counts.bytes_by_kind[kind as usize] += retransmission.bytes;
        self.counts.bytes += retransmission.bytes;
        let index = (self.list.len() < self.limit).then_some(self.list.len());
        if index.is_some() {
            self.list.push(retransmission);
        }
        if self.judged.len() >= MOST_JUDGED {
            self.judged.pop_front();
        }
        self.judged.push_back(JudgedRetransmission {
            bytes,
            stamp: moment.stamp,
            kind,
            amount: retransmission.bytes,
            index,
            is_acknowledged: was_acknowledged,
            spurious: None,
        });
        if was_acknowledged {
            let last = self.judged.len() - 1;
            self.condemn(last, SpuriousEvidence::AcknowledgedBefore);
        }
        Some(kind)
    }

    fn kind(
        &mut self,
        bytes: &Range<i64>,
        found: SegmentBytes,
        board: &Scoreboard,
        moment: &SendMoment,
    ) -> RetransmissionKind {
        if moment.is_syn {
            return RetransmissionKind::Handshake;
        }
        let acknowledged = board.acknowledged.unwrap_or(bytes.start);
        let sent = board.sent.unwrap_or(bytes.end);
        let is_first = bytes.start <= acknowledged;
        let is_last = bytes.end >= sent;
        let is_repeated = found.before.is_some_and(|before| before.transmissions > 1);
        let has_sack = board.has_sack_behind(bytes.start);
        let rtt_ns = moment.rtt_ns.unwrap_or(UNKNOWN_RTT_NS);
        let reaction_ns = LEAST_SILENCE_NS.max(rtt_ns + rtt_ns / 4);
        // A loss that SACK shows is repaired up to a round trip later, to allow for reordering (RFC
        // 8985, section 6).
        let is_awaited = has_sack && !is_repeated;
        let is_silent = moment.silence_ns > reaction_ns + if is_awaited { rtt_ns } else { 0 };
        let is_unrepaired = self.recovery == Recovery::None;
        if is_silent && (is_first || is_last && !has_sack && is_unrepaired) {
            return self.by_timer(is_first, is_last && moment.uses_sack && !has_sack, sent);
        }
        // A loss shown up to a round trip ago can have caused it, even if the data has arrived
        // meanwhile.
        let is_recent = |at_ns: i64| moment.at_ns - at_ns <= reaction_ns;
        let mut shown = self.shown.iter().flatten();
        let was_shown = shown.any(|(end, at_ns)| bytes.start < *end && is_recent(*at_ns));
        let before = found.before.as_ref();
        let was_overtaken = before.is_some_and(|before| board.was_overtaken(before));
        let shows_loss = was_overtaken || !is_repeated && (has_sack || was_shown);
        // Without progress: the timer expired though segments arrive.
        let progress_ns = before
            .map(|before| before.last_sent_ns)
            .max(self.progress_ns);
        let since_ns = progress_ns.map_or(0, |progress_ns| moment.at_ns - progress_ns);
        if is_first && !shows_loss && since_ns > LEAST_TIMEOUT_NS.max(2 * rtt_ns) {
            return self.by_timer(is_first, is_last && moment.uses_sack && !has_sack, sent);
        }
        match self.recovery {
            Recovery::Timeout(end) if bytes.start < end => return RetransmissionKind::AfterTimeout,
            Recovery::Fast(end) if bytes.start < end => return RetransmissionKind::Fast,
            _ => {}
        }
        // The first missing bytes, as soon as those before them are acknowledged (RFC 6582, section
        // 3.2).
        let is_partial = is_first && self.progress_ns.is_some_and(is_recent) && !is_last;
        let is_duplicated = self.duplicates >= DUPLICATES_OF_LOSS;
        if has_sack || is_duplicated || was_shown || was_overtaken || is_partial {
            self.recovery = Recovery::Fast(sent);
            return RetransmissionKind::Fast;
        }
        RetransmissionKind::Unexplained
    }

    /// The timer that expired. `can_be_probe`: the last bytes, which no SACK has shown as lost.
    fn by_timer(&mut self, is_first: bool, can_be_probe: bool, sent: i64) -> RetransmissionKind {
        if can_be_probe && !self.has_probed && self.recovery == Recovery::None {
            self.has_probed = true;
            return RetransmissionKind::TailLossProbe;
        }
        if !is_first {
            return RetransmissionKind::Unexplained;
        }
        self.recovery = Recovery::Timeout(sent);
        RetransmissionKind::Timeout
    }

    /// Adds an acknowledgment that covers the bytes for the first time, with the time stamp that it
    /// echoes.
    pub(crate) fn progressed(&mut self, newly: Range<i64>, at_ns: i64, echo: Option<u32>) {
        let to = newly.end;
        self.duplicates = 0;
        self.has_probed = false;
        self.progress_ns = Some(at_ns);
        match self.recovery {
            Recovery::Fast(end) | Recovery::Timeout(end) if to >= end => {
                self.recovery = Recovery::None;
            }
            _ => {}
        }
        for index in 0..self.judged.len() {
            let judged = &mut self.judged[index];
            // The first acknowledgment of all its bytes decides, and only about the first bytes
            // that it covers: it echoes the segment that brought them, and later bytes can have
            // been waiting at the receiver.
            if judged.is_acknowledged || judged.bytes.end > to {
                continue;
            }
            judged.is_acknowledged = true;
            let is_echoed = judged.bytes.start <= newly.start;
            let stamp = judged.stamp.filter(|_| is_echoed);
            let is_older = stamp
                .zip(echo)
                .is_some_and(|(sent, echo)| is_behind(sent, echo));
            if is_older {
                self.condemn(index, SpuriousEvidence::TimeStamps);
            }
        }
    }

    /// Adds a duplicate acknowledgment of the bytes before the offset.
    pub(crate) fn duplicated(&mut self, offset: i64, at_ns: i64) {
        self.duplicates = self.duplicates.saturating_add(1);
        self.shown[1] = Some((offset + 1, at_ns));
    }

    /// Adds a SACK of the bytes before the offset.
    pub(crate) fn selected(&mut self, end: i64, at_ns: i64) {
        self.shown[0] = Some((end, at_ns));
    }

    /// Adds a report that the receiver has received the bytes twice.
    pub(crate) fn received_twice(&mut self, bytes: Range<i64>) {
        let index = self.judged.iter().position(|judged| {
            judged.bytes.start < bytes.end
                && bytes.start < judged.bytes.end
                && judged.spurious != Some(SpuriousEvidence::DuplicateSack)
        });
        if let Some(index) = index {
            self.condemn(index, SpuriousEvidence::DuplicateSack);
        }
    }

    /// Marks a retransmission as spurious. A D-SACK replaces other evidence, since the receiver
    /// itself reports it.
    fn condemn(&mut self, index: usize, evidence: SpuriousEvidence) {
        let Some(judged) = self.judged.get_mut(index) else {
            return;
        };
        if judged.spurious.is_none() {
            self.counts.spurious_by_kind[judged.kind as usize] += 1;
            self.counts.spurious_bytes += judged.amount;
        } else if evidence != SpuriousEvidence::DuplicateSack {
            return;
        }
        judged.spurious = Some(evidence);
        let bytes = judged.bytes.clone();
        let is_timeout = judged.kind == RetransmissionKind::Timeout;
        if let Some(listed) = judged.index.and_then(|index| self.list.get_mut(index)) {
            listed.spurious = Some(evidence);
        }
        // Only the first transmission was needed: the sender detects that as well, and continues as
        // before the timeout (RFC 5682, section 3).
        let overlaps = |other: &&JudgedRetransmission| {
            other.bytes.start < bytes.end && bytes.start < other.bytes.end
        };
        let mut same = self.judged.iter().filter(overlaps);
        if is_timeout && same.all(|other| other.spurious.is_some()) {
            self.recovery = Recovery::None;
        }
    }
}

/// True if bytes that pass for the first time were sent before, and lost before the point of
/// capture.
fn is_sent_again(found: SegmentBytes, moment: &SendMoment) -> bool {
    let Some((since_ns, behind)) = found.filled else {
        return false;
    };
    if let Some((stamp, behind)) = moment.stamp.zip(behind)
        && stamp != behind
    {
        return is_behind(stamp, behind);
    }
    let needed_ns = moment.sender_rtt_ns.unwrap_or(OVERTAKEN_NS);
    moment.at_ns - since_ns >= needed_ns.max(LEAST_SILENCE_NS) * 9 / 10
}
