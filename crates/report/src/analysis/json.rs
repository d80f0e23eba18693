//! The JSON document of an analysed capture. Times are in microseconds, exact to the nanosecond,
//! and count from the first packet; places of connections count from 0.

mod connection;

use chrono::{DateTime, SecondsFormat};
use schemars::JsonSchema;
use serde::Serialize;
use trace::connection::ConnectionFigures;
use trace::contents::CaptureContents;
use trace::findings::{FindingDetail, SlownessCause};
use trace::not_tcp::NotTcp;
use trace::rto::RtoStudyRow;
use trace::waits::{ConnectionEnd, Wait};

use super::causes::{CauseGroup, causes, without_cause};
use super::not_judged::{NotJudged, not_judged};
use super::on_wire::{RunOnWire, WirePercentiles};
use super::timeouts::{TimeoutStudy, strategy};
use super::warnings::warnings;
use super::{CaptureAnalysis, words};
#[cfg(feature = "schema")]
use crate::fields::schema_of;
use crate::fields::{DocumentVersion, IfAny, each, fields, json_of, plain};
use crate::json::{percent, thousandths, us};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

fields! {
    /// An analysed capture.
    CaptureAnalysis, "Document" "Prestan analysis of a capture", |of| {
        /// Version of this document.
        schema_version = DocumentVersion::<SCHEMA_VERSION>,
        /// The capture file.
        file = &of.file,
        /// What the capture contains.
        capture = (&of.contents, of.duration_ns()),
        /// Why the file could not be read to its end; null where it was.
        damage = of.contents.damage.as_ref().map(ToString::to_string),
        /// What limits the figures, in words.
        warnings = warnings(of),
        /// Why transfers were slow, most costly first; pauses of clients last.
        findings = each(causes(&of.contents.traced.connections), |group| (of, group)),
        /// The time of transfers that no finding explains; null without a transfer.
        without_cause = UnexplainedTime::of(&of.contents.traced.connections),
        /// What could not be judged, and why.
        not_judged = not_judged(of),
        /// The TCP connections, in the order of their first packets.
        connections = each(&of.contents.traced.connections, |connection| (of, connection)),
        /// Timeouts of other settings; absent without --rto.
        timeouts = IfAny(&of.timeouts),
        /// A recorded run beside the capture; absent without --run.
        run = IfAny(&of.run),
    }
}

fields! {
    /// Packets of a capture.
    (&CaptureContents, i64), "Capture", |(contents, duration_ns)| {
        /// The time of the first packet (RFC 3339).
        started_at = DateTime::from_timestamp_nanos(contents.start_ns)
            .to_rfc3339_opts(SecondsFormat::Nanos, true),
        /// From the first packet to the last one of a connection.
        duration_us = exact(*duration_ns),
        /// Kinds of links.
        links = each(&contents.links, ToString::to_string),
        /// Packets.
        packets = contents.packets,
        /// TCP segments.
        tcp = contents.counts.tcp,
        /// Packets that are no TCP or cannot be used, by reason.
        others = contents.counts.others().collect::<Vec<_>>(),
        /// Segments of other servers than the one that was asked for.
        other_servers = contents.other_segments,
        /// Packets that were captured in part.
        cut = contents.cut,
        /// Packets without a time.
        untimed = contents.untimed,
        /// Packets that the capturing program lost; null where the file does not have their number.
        dropped = contents.dropped,
        /// IP packets of which fragments are missing.
        incomplete_datagrams = contents.incomplete_datagrams,
        /// Segments of connections that were too many.
        ignored_segments = contents.traced.ignored_segments,
    }
}

fields! {
    /// Packets that were left out.
    (NotTcp, u64), "Others", |(reason, packets)| {
        /// Why.
        reason = reason.to_string(),
        /// How many.
        packets = *packets,
    }
}

fields! {
    /// A cause, at one end of connections.
    (&CaptureAnalysis, CauseGroup), "Finding", |(of, group)| {
        /// The cause.
        cause = cause_name(group.cause),
        /// The end at which it lies.
        end = EndJson::from(group.end),
        /// The finding in a line.
        title = words::title(group),
        /// What happened.
        text = words::explanation(group),
        /// Where to look for the cause.
        look_at = words::look_at(group),
        /// How often it occurred.
        count = group.count,
        /// The time it took; 0 where the capture does not show it.
        time_us = exact(group.time_ns),
        /// The time of the transfers of these connections; of the client's pauses, of all their
        /// time.
        of_us = exact(group.whole_ns),
        /// The share, in percent.
        percent = percent(group.share()),
        /// Segments sent again; null where that is no part of the cause.
        resent_segments = match group.detail {
            FindingDetail::Resent { segments, .. } => Some(segments),
            _ => None,
        },
        /// Their bytes.
        resent_bytes = match group.detail {
            FindingDetail::Resent { bytes, .. } => Some(bytes),
            _ => None,
        },
        /// The largest window, in bytes; null for causes other than a full window.
        window = match group.detail {
            FindingDetail::Window { window, .. } => Some(window),
            _ => None,
        },
        /// The rate that the window permits, in bytes per second.
        window_rate = match group.detail {
            FindingDetail::Window { rate, .. } => Some(thousandths(rate)),
            _ => None,
        },
        /// Waits for losses before the place of capture, which is at the receiver's side.
        behind_loss = group.behind_loss,
        /// Mean round trip while a congestion window limited or a queue stood; null for other
        /// causes.
        rtt_us = match group.detail {
            FindingDetail::Congestion { rtt_ns, .. } | FindingDetail::Queue { rtt_ns, .. } => Some(exact(rtt_ns)),
            _ => None,
        },
        /// The shortest round trip; null for causes other than a queue.
        shortest_rtt_us = match group.detail {
            FindingDetail::Queue { shortest_ns, .. } => Some(exact(shortest_ns)),
            _ => None,
        },
        /// Bytes in flight on average while a congestion window limited; null where the capture
        /// does not show them.
        flight = match group.detail {
            FindingDetail::Congestion { flight, .. } => flight,
            _ => None,
        },
        /// The rate that the losses permit (Mathis 1997), in bytes per second; null where that is
        /// no explanation.
        loss_rate = match group.detail {
            FindingDetail::Congestion { permitted: Some((rate, _)), .. } => Some(thousandths(rate)),
            _ => None,
        },
        /// SYNs of connections that were refused or not answered; null for other causes.
        syns = match group.detail {
            FindingDetail::Syns(syns) => Some(syns),
            _ => None,
        },
        /// Places of the connections, the most costly first.
        connections = each(&group.connections, |(index, _)| *index),
        /// The longest waits, the longest first.
        longest = each(&group.waits, |(connection, wait)| (*of, *connection, wait)),
    }
}

/// The time of transfers that no finding explains.
struct UnexplainedTime {
    rest_ns: i64,
    whole_ns: i64,
}

impl UnexplainedTime {
    fn of(connections: &[ConnectionFigures]) -> Option<UnexplainedTime> {
        let (rest_ns, whole_ns) = without_cause(connections, &causes(connections))?;
        Some(UnexplainedTime { rest_ns, whole_ns })
    }
}

fields! {
    /// Time without a cause.
    UnexplainedTime, "WithoutCause", |of| {
        /// The time.
        time_us = exact(of.rest_ns),
        /// The time of all transfers.
        of_us = exact(of.whole_ns),
        /// The share, in percent.
        percent = percent(of.rest_ns as f64 / of.whole_ns as f64),
    }
}

fields! {
    /// What could not be judged.
    NotJudged, "NotJudged", |of| {
        /// no_tcp, one_direction, packets_missing, no_handshake or payload_cut.
        reason = of.name(),
        /// In a sentence.
        text = of.sentence(),
        /// Places of the connections; empty for the whole capture.
        connections = &of.connections,
    }
}

fields! {
    /// One wait.
    (&CaptureAnalysis, usize, &Wait), "Wait", |(of, connection, wait)| {
        /// Place of the connection.
        connection = *connection,
        /// When it began.
        at_us = exact(of.since_start_ns(wait.start_ns)),
        /// How long it lasted.
        time_us = exact(wait.length_ns),
        /// Number of the packet before it.
        from_packet = wait.from_packet,
        /// Number of the packet that ends it.
        to_packet = wait.to_packet,
    }
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

plain!(EndJson, WirePercentiles);

fields! {
    /// Timeouts of other settings.
    TimeoutStudy, "Timeouts", |study| {
        /// Round trips of all directions.
        round_trips = study.round_trips,
        /// Round trips that were too many to be kept.
        left_out = study.left_out,
        /// For each formula, with some, one and all round trips of each window.
        rows = &study.rows,
    }
}

fields! {
    /// Timeouts of one formula and one selection of round trips.
    RtoStudyRow, "TimeoutRow", |row| {
        /// Place of the formula, from 1 on: W1 to W9 of the dissertation where no other was given.
        weights = row.weights,
        /// Weight of a new round trip in the smoothed round trip.
        alpha = row.formula.weights.alpha,
        /// Weight of a new round trip in its variation.
        beta = row.formula.weights.beta,
        /// Factor of the variation.
        k = row.formula.factor,
        /// Granularity of the clock.
        g_us = us(row.formula.granularity_ns),
        /// The least timeout.
        minimum_us = us(row.formula.minimum_ns),
        /// Round trips of each window that are used: one, some (every second) or all.
        samples = strategy(row.strategy),
        /// Segments that were compared with their timeouts.
        segments = row.table.total(),
        /// RTO <= 1 s, RTT <= RTO.
        short_within = row.table.short_within,
        /// RTO <= 1 s, RTO < RTT < 1 s.
        short_exceeded = row.table.short_exceeded,
        /// RTO <= 1 s, RTT >= 1 s.
        short_exceeded_long = row.table.short_exceeded_long,
        /// RTO > 1 s, RTT < RTO.
        long_within = row.table.long_within,
        /// RTO > 1 s, RTT >= RTO.
        long_exceeded = row.table.long_exceeded,
        /// Percent of segments whose timeout is at most 0.25, 0.5, 0.75 and 1 s (Figures 21 and 22,
        /// Tables 34 and 35).
        up_to_percent = row.up_to.map(|share| share.map(percent)),
        /// Percent of segments whose round trip is within the timeout raised to these minimums.
        within_percent = row.within.map(|share| share.map(percent)),
    }
}

fields! {
    /// Response times of a recorded run and on the wire.
    RunOnWire, "Run", |of| {
        /// Its name or directory.
        name = &of.run,
        /// Operations that are in the run and in the capture.
        joined = of.pairs.difference.len() as u64,
        /// Operations of the run that the capture has no time of.
        not_captured = of.pairs.unmatched,
        /// Operations of the run that were not compared, because there are too many.
        not_compared = of.pairs.left_out,
        /// Numbered exchanges of the capture that belong to no measured operation.
        not_recorded = of.unjoined_exchanges(),
        /// Response times on the wire, in microseconds; null without any.
        wire_us = WirePercentiles::of(&of.pairs.wire),
        /// Reported response times.
        reported_us = WirePercentiles::of(&of.pairs.reported),
        /// Reported minus wire, operation by operation.
        difference_us = WirePercentiles::of(&of.pairs.difference),
        /// 99 % of the differences are within this, up or down.
        within_us = of.pairs.within(),
    }
}

/// The analysis for programs: one JSON document, for which `docs/analysis.schema.json` is
/// published. Ends with a newline.
pub fn analysis_json(of: &CaptureAnalysis) -> String {
    json_of(of)
}

/// The JSON schema of [`analysis_json`]: the content of `docs/analysis.schema.json`.
#[cfg(feature = "schema")]
pub fn analysis_schema() -> String {
    schema_of::<CaptureAnalysis>()
}

fn exact(ns: i64) -> f64 {
    us(ns as f64)
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

impl From<ConnectionEnd> for EndJson {
    fn from(end: ConnectionEnd) -> EndJson {
        match end {
            ConnectionEnd::Client => EndJson::Client,
            ConnectionEnd::Server => EndJson::Server,
        }
    }
}
