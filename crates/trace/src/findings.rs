//! Why a transfer was slow, by the time that each cause took. Pure: figures in, structures out; the
//! sentences are elsewhere.
//!
//! The times are those that [`crate::waits`] attributes, each interval to one cause.

use crate::connection::ConnectionFigures;
use crate::retransmission::RetransmissionKind;
use crate::waits::{ConnectionEnd, Wait, WaitCause, WaitTotal};

/// Why a transfer was slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlownessCause {
    /// SYNs were lost: the end waited for its timer.
    HandshakeRetransmission,
    /// The end waited for its retransmission timer.
    Timeout,
    /// The end waited for its timer of tail loss probes.
    TailLossProbe,
    /// The end did not read, and closed its window.
    ZeroWindow,
    /// The end delayed acknowledgments for which the other end waited to send small data (Nagle's
    /// algorithm).
    DelayedAcknowledgment,
    /// The server took long to respond.
    ServerResponseTime,
    /// The server paused within a response.
    ServerPause,
    /// The server had not responded completely when the connection was closed.
    NoResponse,
    /// The client paused between requests or within one.
    ClientPause,
    /// The end restarted slowly after a pause.
    SlowStartAfterIdle,
    /// The end repaired losses that acknowledgments had shown.
    FastRecovery,
    /// The window of the end was full.
    WindowLimited,
    /// The congestion window of the end was full.
    CongestionWindow,
    /// Data of the end waited in a queue on the path.
    Queue,
    /// The end sent more slowly than the connection permitted.
    SenderPace,
    /// The end sent data again that had arrived.
    SpuriousRetransmission,
    /// The end refused the connection.
    Refused,
    /// The end did not respond to any SYN.
    Unanswered,
}

/// Further figures of a finding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FindingDetail {
    /// No further figures.
    Nothing,
    /// Retransmissions.
    Resent {
        /// Segments.
        segments: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The largest window, and the rate that it permits with the usual round trip: window / RTT.
    Window {
        /// Bytes.
        window: u64,
        /// Median round trip at the place of capture, in nanoseconds.
        rtt_ns: i64,
        /// Bytes per second.
        rate: f64,
    },
    /// Data in flight while the congestion window limited it.
    Congestion {
        /// Bytes in flight, the mean; `None` if it was captured at the receiver, where they are not
        /// visible.
        flight: Option<u64>,
        /// Mean round trip, in nanoseconds.
        rtt_ns: i64,
        /// Segments that were sent again because of losses.
        losses: u64,
        /// The rate that such losses permit, and the rate of the connection, in bytes per second,
        /// if losses limit it: MSS / RTT x 1.22 / sqrt(p) (M. Mathis, J. Semke, J. Mahdavi, T. Ott:
        /// The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR 1997).
        permitted: Option<(f64, f64)>,
    },
    /// SYNs that were sent.
    Syns(u64),
    /// A queue on the path.
    Queue {
        /// Mean round trip, in nanoseconds.
        rtt_ns: i64,
        /// The shortest.
        shortest_ns: i64,
    },
}

/// A cause, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferFinding {
    /// The cause.
    pub cause: SlownessCause,
    /// The end that caused it.
    pub end: ConnectionEnd,
    /// Number of occurrences.
    pub count: u64,
    /// The time it took, in nanoseconds; 0 if the capture does not show it.
    pub time_ns: i64,
    /// Share of that time (0 to 1) in the transfer: in the connection's duration without the
    /// client's pauses. The share of the client's pauses is in the whole duration.
    pub share: f64,
    /// The longest waits, the longest first.
    pub longest: Vec<Wait>,
    /// Waits among them of losses before the point of capture.
    pub behind_loss: u64,
    /// Further figures.
    pub detail: FindingDetail,
}

/// Thresholds of findings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FindingThresholds {
    /// Share (0 to 1) of the transfer's time.
    pub share: f64,
}

impl Default for FindingThresholds {
    fn default() -> FindingThresholds {
        FindingThresholds { share: 0.02 }
    }
}

fn cause_of(total: &WaitTotal) -> Option<SlownessCause> {
    Some(match (total.cause, total.end) {
        (WaitCause::Handshake, _) => SlownessCause::HandshakeRetransmission,
        (WaitCause::Timeout, _) => SlownessCause::Timeout,
        (WaitCause::TailLossProbe, _) => SlownessCause::TailLossProbe,
        (WaitCause::ZeroWindow, _) => SlownessCause::ZeroWindow,
        (WaitCause::DelayedAcknowledgment, _) => SlownessCause::DelayedAcknowledgment,
        (WaitCause::Turn, ConnectionEnd::Server) => SlownessCause::ServerResponseTime,
        (WaitCause::Pause, ConnectionEnd::Server) => SlownessCause::ServerPause,
        (WaitCause::Turn | WaitCause::Pause, ConnectionEnd::Client) => SlownessCause::ClientPause,
        (WaitCause::FastRecovery, _) => SlownessCause::FastRecovery,
        (WaitCause::WindowLimited, _) => SlownessCause::WindowLimited,
        (WaitCause::SlowStartAfterIdle, _) => SlownessCause::SlowStartAfterIdle,
        (WaitCause::CongestionWindow, _) => SlownessCause::CongestionWindow,
        (WaitCause::SenderPace, _) => SlownessCause::SenderPace,
        (WaitCause::Queue, _) => SlownessCause::Queue,
        (WaitCause::NoResponse, _) => SlownessCause::NoResponse,
        (WaitCause::Idle, _) => return None,
    })
}

/// The time of the transfer, in nanoseconds: the connection's duration without the client's pauses,
/// and without the time in which neither end had anything to send.
pub fn transfer_ns(connection: &ConnectionFigures) -> i64 {
    let is_no_transfer =
        |total: &&WaitTotal| matches!(cause_of(total), None | Some(SlownessCause::ClientPause));
    let paused = connection.waits.iter().filter(is_no_transfer);
    let paused_ns: i64 = paused.map(|total| total.total_ns).sum();
    (connection.duration_ns() - paused_ns).max(0)
}

/// The findings about a connection, most costly first.
pub fn findings(
    connection: &ConnectionFigures,
    thresholds: FindingThresholds,
) -> Vec<TransferFinding> {
    if let Some(failed) = failed(connection) {
        return vec![failed];
    }
    let mut found: Vec<TransferFinding> = Vec::new();
    for total in &connection.waits {
        let Some(cause) = cause_of(total) else {
            continue;
        };
        let is_same = |other: &&mut TransferFinding| other.cause == cause && other.end == total.end;
        if let Some(same) = found.iter_mut().find(is_same) {
            same.count += total.count;
            same.behind_loss += total.behind_loss;
            same.time_ns = same.time_ns.saturating_add(total.total_ns);
            same.longest.extend(&total.longest);
            same.longest
                .sort_by_key(|wait| std::cmp::Reverse(wait.length_ns));
            continue;
        }
        found.push(TransferFinding {
            cause,
            end: total.end,
            count: total.count,
            time_ns: total.total_ns,
            share: 0.0,
            longest: total.longest.clone(),
            behind_loss: total.behind_loss,
            detail: detail(connection, cause, total),
        });
    }
    let (duration_ns, transfer_ns) = (connection.duration_ns(), transfer_ns(connection));
    for finding in &mut found {
        let whole_ns = if finding.cause == SlownessCause::ClientPause {
            duration_ns
        } else {
            transfer_ns
        };
        finding.share = (finding.time_ns as f64 / whole_ns.max(1) as f64).min(1.0);
    }
    found.retain(|finding| finding.share >= thresholds.share);
    found.extend(spurious(connection));
    found.sort_by_key(|finding| {
        (
            std::cmp::Reverse(finding.time_ns),
            finding.cause,
            finding.end,
        )
    });
    found
}

fn detail(
    connection: &ConnectionFigures,
    cause: SlownessCause,
    total: &WaitTotal,
) -> FindingDetail {
    let end = total.end;
    let counts = &connection.from(end).retransmissions;
    let resent = |kinds: &[RetransmissionKind]| FindingDetail::Resent {
        segments: kinds.iter().map(|kind| counts.of(*kind)).sum(),
        bytes: kinds.iter().map(|kind| counts.bytes_of(*kind)).sum(),
    };
    match cause {
        SlownessCause::HandshakeRetransmission => resent(&[RetransmissionKind::Handshake]),
        SlownessCause::Timeout => resent(&[
            RetransmissionKind::Timeout,
            RetransmissionKind::AfterTimeout,
        ]),
        SlownessCause::TailLossProbe => resent(&[RetransmissionKind::TailLossProbe]),
        SlownessCause::FastRecovery => resent(&[RetransmissionKind::Fast]),
        SlownessCause::WindowLimited => window(connection, end),
        SlownessCause::CongestionWindow => congestion(connection, total),
        SlownessCause::Queue => {
            total
                .path
                .map_or(FindingDetail::Nothing, |path| FindingDetail::Queue {
                    rtt_ns: path.rtt_ns(),
                    shortest_ns: path.shortest_rtt_ns,
                })
        }
        _ => FindingDetail::Nothing,
    }
}

/// The window of an end, and the rate that it permits its peer.
fn window(connection: &ConnectionFigures, end: ConnectionEnd) -> FindingDetail {
    let direction = connection.from(end.other());
    let Some((_, window)) = direction.window else {
        return FindingDetail::Nothing;
    };
    let median_ns = direction.rtt.percentile_ns(0.5);
    // If it was captured at the receiver, the handshake has the whole round trip.
    let rtt_ns = median_ns.max(connection.handshake.rtt_ns);
    let Some(rtt_ns) = rtt_ns.filter(|rtt_ns| *rtt_ns > 0) else {
        return FindingDetail::Nothing;
    };
    FindingDetail::Window {
        window,
        rtt_ns,
        rate: window as f64 * 1e9 / rtt_ns as f64,
    }
}

/// Fewest losses for an estimate of their frequency.
const LEAST_LOSSES: u64 = 8;

fn congestion(connection: &ConnectionFigures, total: &WaitTotal) -> FindingDetail {
    let Some(path) = total.path else {
        return FindingDetail::Nothing;
    };
    let direction = connection.from(total.end);
    let counts = &direction.retransmissions;
    let repaired = [
        RetransmissionKind::Fast,
        RetransmissionKind::Timeout,
        RetransmissionKind::TailLossProbe,
    ];
    let losses: u64 = repaired
        .iter()
        .map(|kind| counts.of(*kind).saturating_sub(counts.spurious_of(*kind)))
        .sum();
    let mss = connection.from(total.end.other()).syn_options;
    let mss = mss
        .and_then(|options| options.mss)
        .map_or(1460.0, f64::from);
    let segments = direction.unique_bytes as f64 / mss;
    let rtt_s = path.rtt_ns() as f64 / 1e9;
    let permitted = mss / rtt_s * 1.22 / (losses as f64 / segments).sqrt();
    let rate = direction.unique_bytes as f64 * 1e9 / transfer_ns(connection).max(1) as f64;
    // Without losses, or with a sender that follows another law, it would not explain the rate.
    let is_apt = losses >= LEAST_LOSSES && (0.5..2.0).contains(&(rate / permitted));
    FindingDetail::Congestion {
        flight: u64::try_from(path.flight())
            .ok()
            .filter(|flight| *flight > 0),
        rtt_ns: path.rtt_ns(),
        losses,
        permitted: is_apt.then_some((permitted, rate)),
    }
}

/// A connection that was never opened.
fn failed(connection: &ConnectionFigures) -> Option<TransferFinding> {
    let handshake = &connection.handshake;
    let (client, server) = (&connection.from_client, &connection.from_server);
    let is_opened = handshake.syns == 0
        || handshake.syn_acks > 0
        || client.unique_bytes > 0
        || server.unique_bytes > 0;
    if is_opened {
        return None;
    }
    let cause = if server.rst_ns.is_some() {
        SlownessCause::Refused
    } else if server.segments == 0 && client.segments == handshake.syns {
        // A packet of the client after its SYN responds to something that was not captured.
        SlownessCause::Unanswered
    } else {
        return None;
    };
    Some(TransferFinding {
        cause,
        end: ConnectionEnd::Server,
        count: 1,
        time_ns: connection.duration_ns(),
        share: 1.0,
        longest: Vec::new(),
        behind_loss: 0,
        detail: FindingDetail::Syns(handshake.syns),
    })
}

fn spurious(connection: &ConnectionFigures) -> Vec<TransferFinding> {
    let mut found = Vec::new();
    for end in ConnectionEnd::BOTH {
        let counts = &connection.from(end).retransmissions;
        if counts.spurious() > 0 {
            found.push(TransferFinding {
                cause: SlownessCause::SpuriousRetransmission,
                end,
                count: counts.spurious(),
                time_ns: 0,
                share: 0.0,
                longest: Vec::new(),
                behind_loss: 0,
                detail: FindingDetail::Resent {
                    segments: counts.spurious(),
                    bytes: counts.spurious_bytes,
                },
            });
        }
    }
    found
}
