//! Findings about connections, put together by cause: what one cause took in the whole capture.

use std::cmp::Reverse;

use trace::connection::ConnectionFigures;
use trace::findings::{
    FindingDetail, FindingThresholds, SlownessCause, TransferFinding, findings, transfer_ns,
};
use trace::retransmission::RetransmissionKind;
use trace::waits::{ConnectionEnd, Wait};

const MOST_WAITS: usize = 16;

/// A cause at one end of connections.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CauseGroup {
    pub(super) cause: SlownessCause,
    pub(super) end: ConnectionEnd,
    pub(super) count: u64,
    pub(super) time_ns: i64,
    /// The time of the transfers of these connections; of the client's pauses, of all their time.
    pub(super) whole_ns: i64,
    /// The places of the connections, the most costly first, and what the cause took of each.
    pub(super) connections: Vec<(usize, i64)>,
    /// The longest waits, each with the place of its connection.
    pub(super) waits: Vec<(usize, Wait)>,
    pub(super) detail: FindingDetail,
    /// Waits for losses before the place of capture.
    pub(super) behind_loss: u64,
    /// Of the segments sent again for this cause, those that were not needed.
    pub(super) spurious: u64,
}

impl CauseGroup {
    /// Of the time of these connections' transfers, 0 to 1.
    pub(super) fn share(&self) -> f64 {
        (self.time_ns as f64 / self.whole_ns.max(1) as f64).min(1.0)
    }

    fn add(&mut self, index: usize, connection: &ConnectionFigures, found: &TransferFinding) {
        let is_most_costly = self.connections.iter().all(|(_, ns)| *ns < found.time_ns);
        self.detail = match (self.detail, found.detail) {
            (
                FindingDetail::Resent { segments, bytes },
                FindingDetail::Resent {
                    segments: more,
                    bytes: more_bytes,
                },
            ) => FindingDetail::Resent {
                segments: segments + more,
                bytes: bytes + more_bytes,
            },
            (FindingDetail::Syns(syns), FindingDetail::Syns(more)) => {
                FindingDetail::Syns(syns + more)
            }
            (_, detail) if is_most_costly => detail,
            (known, _) => known,
        };
        let counts = &connection.from(found.end).retransmissions;
        let spurious = kinds(found.cause).iter();
        self.spurious += spurious.map(|kind| counts.spurious_of(*kind)).sum::<u64>();
        self.count += found.count;
        self.behind_loss += found.behind_loss;
        self.time_ns = self.time_ns.saturating_add(found.time_ns);
        let whole_ns = match found.cause {
            SlownessCause::ClientPause | SlownessCause::Refused | SlownessCause::Unanswered => {
                connection.duration_ns()
            }
            _ => transfer_ns(connection),
        };
        self.whole_ns = self.whole_ns.saturating_add(whole_ns);
        self.connections.push((index, found.time_ns));
        self.connections.sort_by_key(|(_, ns)| Reverse(*ns));
        let waits = found.longest.iter().map(|wait| (index, *wait));
        self.waits.extend(waits);
        self.waits.sort_by_key(|(_, wait)| Reverse(wait.length_ns));
        self.waits.truncate(MOST_WAITS);
    }
}

/// What is sent again for a cause.
fn kinds(of: SlownessCause) -> &'static [RetransmissionKind] {
    match of {
        SlownessCause::HandshakeRetransmission => &[RetransmissionKind::Handshake],
        SlownessCause::Timeout => &[
            RetransmissionKind::Timeout,
            RetransmissionKind::AfterTimeout,
        ],
        SlownessCause::TailLossProbe => &[RetransmissionKind::TailLossProbe],
        SlownessCause::FastRecovery => &[RetransmissionKind::Fast],
        _ => &[],
    }
}

fn is_failure(of: SlownessCause) -> bool {
    matches!(of, SlownessCause::Refused | SlownessCause::Unanswered)
}

/// The time of all transfers that has no cause of these, and the time of all transfers, in
/// nanoseconds; `None` without a transfer.
pub(super) fn without_cause(
    connections: &[ConnectionFigures],
    groups: &[CauseGroup],
) -> Option<(i64, i64)> {
    let is_transfer = |of: &&ConnectionFigures| {
        let (client, server) = (&of.from_client, &of.from_server);
        // Of one direction alone nothing is judged.
        client.unique_bytes + server.unique_bytes > 0 && client.segments > 0 && server.segments > 0
    };
    let whole_ns = connections
        .iter()
        .filter(is_transfer)
        .map(transfer_ns)
        .fold(0, |sum: i64, ns| sum.saturating_add(ns));
    let is_part =
        |group: &&CauseGroup| group.cause != SlownessCause::ClientPause && !is_failure(group.cause);
    let found = groups.iter().filter(is_part);
    let found = found.flat_map(|group| &group.connections);
    // What was lost before a connection was opened, and never carried anything, is no part of a
    // transfer.
    let found =
        found.filter(|(index, _)| connections.get(*index).as_ref().is_some_and(is_transfer));
    let found_ns = found.fold(0, |sum: i64, (_, ns)| sum.saturating_add(*ns));
    (whole_ns > 0).then(|| ((whole_ns - found_ns).max(0), whole_ns))
}

/// The causes in a capture, most costly first. Connections that failed stand before them. The
/// pauses of clients stand last: they are no part of a transfer.
pub(super) fn causes(connections: &[ConnectionFigures]) -> Vec<CauseGroup> {
    let mut groups: Vec<CauseGroup> = Vec::new();
    for (position, connection) in connections.iter().enumerate() {
        for found in findings(connection, FindingThresholds::default()) {
            let is_same = |group: &CauseGroup| group.cause == found.cause && group.end == found.end;
            let index = groups.iter().position(is_same).unwrap_or(groups.len());
            if index == groups.len() {
                groups.push(CauseGroup {
                    cause: found.cause,
                    end: found.end,
                    count: 0,
                    time_ns: 0,
                    whole_ns: 0,
                    connections: Vec::new(),
                    waits: Vec::new(),
                    detail: FindingDetail::Nothing,
                    behind_loss: 0,
                    spurious: 0,
                });
            }
            groups[index].add(position, connection, &found);
        }
    }
    groups.sort_by_key(|group| {
        let is_pause = group.cause == SlownessCause::ClientPause;
        let is_opened = !is_failure(group.cause);
        (
            is_opened,
            is_pause,
            Reverse(group.time_ns),
            group.cause,
            group.end,
        )
    });
    groups
}
