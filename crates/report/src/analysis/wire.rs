//! The JSON document of an analysed capture. Times are in microseconds, exact to the nanosecond,
//! and count from the first packet; places of connections count from 0.

mod connection;

use chrono::{DateTime, SecondsFormat};
use schemars::JsonSchema;
use serde::Serialize;
use trace::findings::{FindingDetail, SlownessCause};
use trace::rto::RtoStudyRow;
use trace::waits::ConnectionEnd;

use super::causes::{CauseGroup, causes, without_cause};
use super::not_judged::not_judged;
use super::on_wire::{RunOnWire, WirePercentiles};
use super::timeouts::{TimeoutStudy, strategy};
use super::warnings::warnings;
use super::{CaptureAnalysis, words};
#[cfg(feature = "schema")]
use crate::json::schema_of;
use crate::json::{pretty, thousandths, us};
use connection::ConnectionJson;

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// An analysed capture.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(
    rename = "Document",
    deny_unknown_fields,
    title = "Prestan analysis of a capture"
)]
struct AnalysisDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// The capture file.
    file: String,
    /// What the capture contains.
    capture: CaptureJson,
    /// Why the file could not be read to its end; null where it was.
    damage: Option<String>,
    /// What limits the figures, in words.
    warnings: Vec<String>,
    /// Why transfers were slow, most costly first; pauses of clients last.
    findings: Vec<CauseJson>,
    /// The time of transfers that no finding explains; null without a transfer.
    without_cause: Option<WithoutCauseJson>,
    /// What could not be judged, and why.
    not_judged: Vec<NotJudgedJson>,
    /// The TCP connections, in the order of their first packets.
    connections: Vec<ConnectionJson>,
    /// Timeouts of other settings; absent without --rto.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeouts: Option<TimeoutsJson>,
    /// A recorded run beside the capture; absent without --run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunJson>,
}

/// Packets of a capture.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Capture", deny_unknown_fields)]
struct CaptureJson {
    /// The time of the first packet (RFC 3339).
    started_at: String,
    /// From the first packet to the last one of a connection.
    duration_us: f64,
    /// Kinds of links.
    links: Vec<String>,
    /// Packets.
    packets: u64,
    /// TCP segments.
    tcp: u64,
    /// Packets that are no TCP or cannot be used, by reason.
    others: Vec<OtherPackets>,
    /// Segments of other servers than the one that was asked for.
    other_servers: u64,
    /// Packets that were captured in part.
    cut: u64,
    /// Packets without a time.
    untimed: u64,
    /// Packets that the capturing program lost; null where the file does not have their number.
    dropped: Option<u64>,
    /// IP packets of which fragments are missing.
    incomplete_datagrams: u64,
    /// Segments of connections that were too many.
    ignored_segments: u64,
}

/// Packets that were left out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Others", deny_unknown_fields)]
struct OtherPackets {
    /// Why.
    reason: String,
    /// How many.
    packets: u64,
}

/// A cause, at one end of connections.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Finding", deny_unknown_fields)]
struct CauseJson {
    /// The cause.
    cause: &'static str,
    /// The end at which it lies.
    end: EndJson,
    /// The finding in a line.
    title: String,
    /// What happened.
    text: String,
    /// Where to look for the cause.
    look_at: String,
    /// How often it occurred.
    count: u64,
    /// The time it took; 0 where the capture does not show it.
    time_us: f64,
    /// The time of the transfers of these connections; of the client's pauses, of all their time.
    of_us: f64,
    /// The share, in percent.
    percent: f64,
    /// Segments sent again; null where that is no part of the cause.
    resent_segments: Option<u64>,
    /// Their bytes.
    resent_bytes: Option<u64>,
    /// The largest window, in bytes; null for causes other than a full window.
    window: Option<u64>,
    /// The rate that the window permits, in bytes per second.
    window_rate: Option<f64>,
    /// Waits for losses before the place of capture, which is at the receiver's side.
    behind_loss: u64,
    /// Mean round trip while a congestion window limited or a queue stood; null for other causes.
    rtt_us: Option<f64>,
    /// The shortest round trip; null for causes other than a queue.
    shortest_rtt_us: Option<f64>,
    /// Bytes in flight on average while a congestion window limited; null where the capture does
    /// not show them.
    flight: Option<u64>,
    /// The rate that the losses permit (Mathis 1997), in bytes per second; null where that is no
    /// explanation.
    loss_rate: Option<f64>,
    /// SYNs of connections that were refused or not answered; null for other causes.
    syns: Option<u64>,
    /// Places of the connections, the most costly first.
    connections: Vec<usize>,
    /// The longest waits, the longest first.
    longest: Vec<WaitJson>,
}

/// Time without a cause.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WithoutCause", deny_unknown_fields)]
struct WithoutCauseJson {
    /// The time.
    time_us: f64,
    /// The time of all transfers.
    of_us: f64,
    /// The share, in percent.
    percent: f64,
}

/// What could not be judged.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotJudged", deny_unknown_fields)]
struct NotJudgedJson {
    /// no_tcp, one_direction, packets_missing, no_handshake or payload_cut.
    reason: &'static str,
    /// In a sentence.
    text: String,
    /// Places of the connections; empty for the whole capture.
    connections: Vec<usize>,
}

/// One wait.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Wait", deny_unknown_fields)]
struct WaitJson {
    /// Place of the connection.
    connection: usize,
    /// When it began.
    at_us: f64,
    /// How long it lasted.
    time_us: f64,
    /// Number of the packet before it.
    from_packet: u64,
    /// Number of the packet that ends it.
    to_packet: u64,
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "End")]
enum EndJson {
    /// The end that opened the connection.
    Client,
    /// The other.
    Server,
}

/// Timeouts of other settings.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Timeouts", deny_unknown_fields)]
struct TimeoutsJson {
    /// Round trips of all directions.
    round_trips: u64,
    /// Round trips that were too many to be kept.
    left_out: u64,
    /// For each formula, with some, one and all round trips of each window.
    rows: Vec<TimeoutRowJson>,
}

/// Timeouts of one formula and one selection of round trips.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TimeoutRow", deny_unknown_fields)]
struct TimeoutRowJson {
    /// Place of the formula, from 1 on: W1 to W9 of the dissertation where no other was given.
    weights: usize,
    /// Weight of a new round trip in the smoothed round trip.
    alpha: f64,
    /// Weight of a new round trip in its variation.
    beta: f64,
    /// Factor of the variation.
    k: f64,
    /// Granularity of the clock.
    g_us: f64,
    /// The least timeout.
    minimum_us: f64,
    /// Round trips of each window that are used: one, some (every second) or all.
    samples: &'static str,
    /// Segments that were compared with their timeouts.
    segments: u64,
    /// RTO <= 1 s, RTT <= RTO.
    short_within: u64,
    /// RTO <= 1 s, RTO < RTT < 1 s.
    short_exceeded: u64,
    /// RTO <= 1 s, RTT >= 1 s.
    short_exceeded_long: u64,
    /// RTO > 1 s, RTT < RTO.
    long_within: u64,
    /// RTO > 1 s, RTT >= RTO.
    long_exceeded: u64,
    /// Percent of segments whose timeout is at most 0.25, 0.5, 0.75 and 1 s (Figures 21 and 22,
    /// Tables 34 and 35).
    up_to_percent: [Option<f64>; 4],
    /// Percent of segments whose round trip is within the timeout raised to these minimums.
    within_percent: [Option<f64>; 4],
}

/// Response times of a recorded run and on the wire.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run", deny_unknown_fields)]
struct RunJson {
    /// Its name or directory.
    name: String,
    /// Operations that are in the run and in the capture.
    joined: u64,
    /// Operations of the run that the capture has no time of.
    not_captured: u64,
    /// Operations of the run that were not compared, because there are too many.
    not_compared: u64,
    /// Numbered exchanges of the capture that belong to no measured operation.
    not_recorded: u64,
    /// Response times on the wire, in microseconds; null without any.
    wire_us: Option<WirePercentiles>,
    /// Reported response times.
    reported_us: Option<WirePercentiles>,
    /// Reported minus wire, operation by operation.
    difference_us: Option<WirePercentiles>,
    /// 99 % of the differences are within this, up or down.
    within_us: Option<f64>,
}

/// The analysis for programs: one JSON document, for which `docs/analysis.schema.json` is
/// published. Ends with a newline.
pub fn analysis_json(of: &CaptureAnalysis) -> String {
    let connections = &of.contents.traced.connections;
    let groups = causes(connections);
    pretty(&AnalysisDocument {
        schema_version: SCHEMA_VERSION,
        file: of.file.clone(),
        capture: capture(of),
        damage: of.contents.damage.as_ref().map(ToString::to_string),
        warnings: warnings(of),
        findings: groups.iter().map(|group| cause(of, group)).collect(),
        without_cause: without_cause(connections, &groups).map(|(rest_ns, whole_ns)| {
            WithoutCauseJson {
                time_us: exact(rest_ns),
                of_us: exact(whole_ns),
                percent: thousandths(rest_ns as f64 / whole_ns as f64 * 100.0),
            }
        }),
        not_judged: not_judged(of)
            .into_iter()
            .map(|of| NotJudgedJson {
                reason: of.name(),
                text: of.sentence(),
                connections: of.connections,
            })
            .collect(),
        connections: connections
            .iter()
            .map(|connection| ConnectionJson::of(of, connection))
            .collect(),
        timeouts: of.timeouts.as_ref().map(TimeoutsJson::from),
        run: of.run.as_ref().map(RunJson::from),
    })
}

/// The JSON schema of [`analysis_json`]: the content of `docs/analysis.schema.json`.
#[cfg(feature = "schema")]
pub fn analysis_schema() -> String {
    schema_of::<AnalysisDocument>()
}

fn exact(ns: i64) -> f64 {
    us(ns as f64)
}

fn capture(of: &CaptureAnalysis) -> CaptureJson {
    let contents = &of.contents;
    let start = DateTime::from_timestamp_nanos(contents.start_ns);
    CaptureJson {
        started_at: start.to_rfc3339_opts(SecondsFormat::Nanos, true),
        duration_us: exact(of.duration_ns()),
        links: contents.links.iter().map(ToString::to_string).collect(),
        packets: contents.packets,
        tcp: contents.counts.tcp,
        others: contents
            .counts
            .others()
            .map(|(kind, packets)| OtherPackets {
                reason: kind.to_string(),
                packets,
            })
            .collect(),
        other_servers: contents.other_segments,
        cut: contents.cut,
        untimed: contents.untimed,
        dropped: contents.dropped,
        incomplete_datagrams: contents.incomplete_datagrams,
        ignored_segments: contents.traced.ignored_segments,
    }
}

fn cause_name(of: SlownessCause) -> &'static str {
    match of {
        SlownessCause::HandshakeRetransmission => "handshake_retransmission",
        SlownessCause::Timeout => "timeout",
        SlownessCause::TailLossProbe => "tail_loss_probe",
        SlownessCause::ZeroWindow => "zero_window",
        SlownessCause::DelayedAcknowledgment => "delayed_acknowledgment",
        SlownessCause::ServerResponseTime => "server_response_time",
        SlownessCause::ServerPause => "server_pause",
        SlownessCause::NoResponse => "no_response",
        SlownessCause::SenderPace => "sender_pace",
        SlownessCause::ClientPause => "client_pause",
        SlownessCause::SlowStartAfterIdle => "slow_start_after_idle",
        SlownessCause::FastRecovery => "fast_recovery",
        SlownessCause::WindowLimited => "window_limited",
        SlownessCause::CongestionWindow => "congestion_window",
        SlownessCause::Queue => "queue",
        SlownessCause::SpuriousRetransmission => "spurious_retransmission",
        SlownessCause::Refused => "refused",
        SlownessCause::Unanswered => "unanswered",
    }
}

fn cause(of: &CaptureAnalysis, group: &CauseGroup) -> CauseJson {
    let resent = match group.detail {
        FindingDetail::Resent { segments, bytes } => Some((segments, bytes)),
        _ => None,
    };
    let window = match group.detail {
        FindingDetail::Window { window, rate, .. } => Some((window, rate)),
        _ => None,
    };
    let (rtt_ns, shortest_ns, flight, permitted) = match group.detail {
        FindingDetail::Congestion {
            flight,
            rtt_ns,
            permitted,
            ..
        } => (Some(rtt_ns), None, flight, permitted),
        FindingDetail::Queue {
            rtt_ns,
            shortest_ns,
        } => (Some(rtt_ns), Some(shortest_ns), None, None),
        _ => (None, None, None, None),
    };
    let syns = match group.detail {
        FindingDetail::Syns(syns) => Some(syns),
        _ => None,
    };
    CauseJson {
        cause: cause_name(group.cause),
        end: group.end.into(),
        title: words::title(group),
        text: words::explanation(group),
        look_at: words::look_at(group),
        count: group.count,
        time_us: exact(group.time_ns),
        of_us: exact(group.whole_ns),
        percent: thousandths(group.share() * 100.0),
        resent_segments: resent.map(|(segments, _)| segments),
        resent_bytes: resent.map(|(_, bytes)| bytes),
        window: window.map(|(bytes, _)| bytes),
        window_rate: window.map(|(_, rate)| thousandths(rate)),
        behind_loss: group.behind_loss,
        rtt_us: rtt_ns.map(exact),
        shortest_rtt_us: shortest_ns.map(exact),
        flight,
        loss_rate: permitted.map(|(permitted, _)| thousandths(permitted)),
        syns,
        connections: group.connections.iter().map(|(place, _)| *place).collect(),
        longest: group
            .waits
            .iter()
            .map(|(connection, wait)| WaitJson {
                connection: *connection,
                at_us: exact(of.since_start_ns(wait.start_ns)),
                time_us: exact(wait.length_ns),
                from_packet: wait.from_packet,
                to_packet: wait.to_packet,
            })
            .collect(),
    }
}

impl From<ConnectionEnd> for EndJson {
    fn from(end: ConnectionEnd) -> EndJson {
        match end {
            ConnectionEnd::Client => EndJson::Client,
            ConnectionEnd::Server => EndJson::Server,
        }
    }
}

impl From<&TimeoutStudy> for TimeoutsJson {
    fn from(study: &TimeoutStudy) -> TimeoutsJson {
        TimeoutsJson {
            round_trips: study.round_trips,
            left_out: study.left_out,
            rows: study.rows.iter().map(TimeoutRowJson::from).collect(),
        }
    }
}

impl From<&RtoStudyRow> for TimeoutRowJson {
    fn from(row: &RtoStudyRow) -> TimeoutRowJson {
        let percent = |share: Option<f64>| share.map(|share| thousandths(share * 100.0));
        TimeoutRowJson {
            weights: row.weights,
            alpha: row.formula.weights.alpha,
            beta: row.formula.weights.beta,
            k: row.formula.factor,
            g_us: us(row.formula.granularity_ns),
            minimum_us: us(row.formula.minimum_ns),
            samples: strategy(row.strategy),
            segments: row.table.total(),
            short_within: row.table.short_within,
            short_exceeded: row.table.short_exceeded,
            short_exceeded_long: row.table.short_exceeded_long,
            long_within: row.table.long_within,
            long_exceeded: row.table.long_exceeded,
            up_to_percent: row.up_to.map(percent),
            within_percent: row.within.map(percent),
        }
    }
}

impl From<&RunOnWire> for RunJson {
    fn from(run: &RunOnWire) -> RunJson {
        RunJson {
            name: run.run.clone(),
            joined: run.pairs.difference.len() as u64,
            not_captured: run.pairs.unmatched,
            not_compared: run.pairs.left_out,
            not_recorded: run.unjoined_exchanges(),
            wire_us: WirePercentiles::of(&run.pairs.wire),
            reported_us: WirePercentiles::of(&run.pairs.reported),
            difference_us: WirePercentiles::of(&run.pairs.difference),
            within_us: run.pairs.within(),
        }
    }
}
