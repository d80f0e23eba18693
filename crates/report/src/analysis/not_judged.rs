//! What a capture does not show, and why.

use trace::connection::ConnectionFigures;
use trace::findings::{FindingThresholds, SlownessCause, findings};
use trace::transaction::RequestProtocol;
use trace::waits::ConnectionEnd;

use super::CaptureAnalysis;
use super::figures::end_name;
use crate::lists::number_of;

const NAMED: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JudgementObstacle {
    /// The capture has no TCP connection, and so many packets.
    NoTcp(u64),
    /// Only what this end sent was captured.
    OneDirection(ConnectionEnd),
    PacketsMissing,
    NoHandshake,
    PayloadCut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotJudged {
    obstacle: JudgementObstacle,
    pub(super) connections: Vec<usize>,
}

impl NotJudged {
    pub(super) fn name(&self) -> &'static str {
        match self.obstacle {
            JudgementObstacle::NoTcp(_) => "no_tcp",
            JudgementObstacle::OneDirection(_) => "one_direction",
            JudgementObstacle::PacketsMissing => "packets_missing",
            JudgementObstacle::NoHandshake => "no_handshake",
            JudgementObstacle::PayloadCut => "payload_cut",
        }
    }

    pub(super) fn sentence(&self) -> String {
        let what = match self.obstacle {
            JudgementObstacle::NoTcp(packets) => {
                return format!(
                    "the whole capture: none of its {} is a TCP segment that can be used.",
                    number_of(packets, "packet")
                );
            }
            JudgementObstacle::OneDirection(end) => format!(
                "only what the {} sent was captured, so losses, round trips, windows and response times do not show. \
                 Capture where both directions pass.",
                end_name(end)
            ),
            JudgementObstacle::PacketsMissing => {
                "the capture misses packets that were acknowledged, so losses and retransmissions cannot be told from \
                 gaps of the capture. Capture with a larger buffer (`tcpdump -B`) or a shorter snap length."
                    .to_owned()
            }
            JudgementObstacle::NoHandshake => {
                "the handshake was not captured, so the scale of windows is unknown, and full receive windows do not \
                 show. Start the capture before the connection."
                    .to_owned()
            }
            JudgementObstacle::PayloadCut => {
                "heads of requests were not captured, so requests are told apart by turns only. Capture with a larger \
                 snap length (`tcpdump -s 0`)."
                    .to_owned()
            }
        };
        format!("{}: {what}", self.named())
    }

    /// `connection 3`, `connections 1, 2, 3 and 4 more`.
    fn named(&self) -> String {
        let shown = self.connections.iter().take(NAMED);
        let shown: Vec<String> = shown.map(|index| (index + 1).to_string()).collect();
        let more = self.connections.len() - shown.len();
        let unit = if self.connections.len() == 1 {
            "connection"
        } else {
            "connections"
        };
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{unit} {}{more}", shown.join(", "))
    }
}

/// What could not be judged in a capture, the most important reason first.
pub(super) fn not_judged(of: &CaptureAnalysis) -> Vec<NotJudged> {
    let connections = &of.contents.traced.connections;
    if connections.is_empty() {
        let is_asked = of.contents.other_segments > 0;
        let packets = of.contents.packets;
        let nothing = NotJudged {
            obstacle: JudgementObstacle::NoTcp(packets),
            connections: Vec::new(),
        };
        return (packets > 0 && !is_asked)
            .then_some(nothing)
            .into_iter()
            .collect();
    }
    let order = [
        JudgementObstacle::OneDirection(ConnectionEnd::Client),
        JudgementObstacle::OneDirection(ConnectionEnd::Server),
        JudgementObstacle::PacketsMissing,
        JudgementObstacle::NoHandshake,
        JudgementObstacle::PayloadCut,
    ];
    let mut all = Vec::new();
    for obstacle in order {
        let found = connections.iter().enumerate();
        let found = found.filter(|(_, connection)| obstacles(connection).contains(&obstacle));
        let connections: Vec<usize> = found.map(|(index, _)| index).collect();
        if !connections.is_empty() {
            all.push(NotJudged {
                obstacle,
                connections,
            });
        }
    }
    all
}

fn obstacles(of: &ConnectionFigures) -> Vec<JudgementObstacle> {
    let found = findings(of, FindingThresholds::default());
    let is_failed = |cause| matches!(cause, SlownessCause::Refused | SlownessCause::Unanswered);
    if found.iter().any(|found| is_failed(found.cause)) {
        return Vec::new();
    }
    for end in [ConnectionEnd::Client, ConnectionEnd::Server] {
        if of.from(end.other()).segments == 0 {
            return vec![JudgementObstacle::OneDirection(end)];
        }
    }
    let mut all = Vec::new();
    if of.from_client.uncaptured_bytes + of.from_server.uncaptured_bytes > 0 {
        all.push(JudgementObstacle::PacketsMissing);
    }
    if of.handshake.syns == 0 || of.handshake.syn_acks == 0 {
        all.push(JudgementObstacle::NoHandshake);
    }
    let has_no_head = of
        .requests
        .iter()
        .all(|request| request.protocol == RequestProtocol::Http1 && request.method.is_none());
    if !of.requests.is_empty() && has_no_head {
        all.push(JudgementObstacle::PayloadCut);
    }
    all
}
