//! Facts about a single connection.

use trace::connection::ConnectionFigures;
use trace::direction::DirectionFigures;
use trace::segment::TcpOptions;
use trace::transaction::RequestProtocol;
use trace::waits::ConnectionEnd;

use super::figures::{end_name, from_to, rate, size, time};
use crate::document::Words;
use crate::lists::number_of;

pub(super) fn details(of: &ConnectionFigures) -> Vec<(String, Words)> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value.into()));
    add(
        "packets",
        format!("{} to {}", of.first_packet, of.last_packet),
    );
    add("handshake", handshake(of));
    if of.protocol == Some(RequestProtocol::Other) {
        let what = "neither HTTP nor TLS, so it has no requests";
        add("content", what.to_owned());
    }
    let ends = [ConnectionEnd::Client, ConnectionEnd::Server];
    for end in ends {
        if let Some(options) = &of.from(end).syn_options {
            let name = format!("SYN of the {}", end_name(end));
            add(&name, self::options(options));
        }
    }
    for end in ends {
        add(&from_to(end), direction(of, end));
    }
    let (client, server) = (of.client_records.len(), of.server_records.len());
    if client + server > 0 {
        let records = format!("{client} of the client, {server} of the server");
        add("TLS records", records);
    }
    all
}

fn handshake(of: &ConnectionFigures) -> String {
    let handshake = &of.handshake;
    if handshake.syns == 0 && handshake.syn_acks == 0 {
        return "not captured".to_owned();
    }
    let mut parts = Vec::new();
    if let (Some(syn_ns), Some(ack_ns)) = (handshake.syn_ns, handshake.ack_ns) {
        parts.push(time(ack_ns.saturating_sub(syn_ns)));
    }
    if let Some(rtt_ns) = handshake.rtt_ns {
        parts.push(format!("round trip {}", time(rtt_ns)));
    }
    if handshake.syns != 1 || handshake.syn_acks != 1 {
        let [syns, syn_acks] = [(handshake.syns, "SYN"), (handshake.syn_acks, "SYN-ACK")]
            .map(|(count, unit)| number_of(count, unit));
        parts.push(format!("{syns}, {syn_acks}"));
    }
    if parts.is_empty() {
        return "incomplete".to_owned();
    }
    parts.join(", ")
}

fn options(of: &TcpOptions) -> String {
    let mss = of.mss.map(|mss| format!("MSS {mss}"));
    let scale = match of.window_scale {
        Some(shift) => format!("window scale {shift}"),
        None => "no window scaling".to_owned(),
    };
    let sack = if of.sack_permitted { "SACK" } else { "no SACK" };
    let stamps = match of.timestamps {
        Some(_) => "time stamps",
        None => "no time stamps",
    };
    let others = [scale, sack.to_owned(), stamps.to_owned()];
    let all: Vec<String> = mss.into_iter().chain(others).collect();
    all.join(", ")
}

fn direction(of: &ConnectionFigures, end: ConnectionEnd) -> String {
    let direction = of.from(end);
    let mut parts = vec![format!(
        "{} in {}",
        size(direction.payload_bytes),
        number_of(direction.data_segments, "segment")
    )];
    if direction.payload_bytes > 0 {
        parts.push(rate(of.throughput(end, false)));
        parts.push(format!(
            "at most {} in flight",
            size(direction.largest_flight)
        ));
    }
    if let Some((smallest, largest)) = direction.window {
        let receiver = end_name(end.other());
        let [smallest, largest] = [smallest, largest].map(size);
        parts.push(if smallest == largest {
            format!("window of the {receiver} {largest}")
        } else {
            format!("window of the {receiver} {smallest} to {largest}")
        });
    }
    parts.extend(round_trips(direction));
    let counts = [
        (direction.zero_windows, "zero window", ""),
        (direction.duplicate_acks, "duplicate ACK", ""),
        (direction.overtaken, "segment", " out of order"),
        (direction.duplicate_sacks, "D-SACK", ""),
        (direction.probes, "probe", ""),
        (direction.uncaptured_bytes, "byte", " not captured"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    parts.extend(counts.map(|(count, unit, how)| number_of(count, unit) + how));
    if direction.zero_window_ns > 0 {
        parts.push(format!(
            "window closed for {}",
            time(direction.zero_window_ns)
        ));
    }
    parts.join(", ")
}

fn round_trips(of: &DirectionFigures) -> Option<String> {
    let by_acks = of.rtt.percentile_ns(0.5)?;
    let by_stamps = of.stamp_rtt.percentile_ns(0.5);
    let by_stamps = by_stamps.map(|ns| format!(" (by time stamps {})", time(ns)));
    let count = number_of(of.rtt.count(), "sample");
    let most = of
        .rtt
        .largest_ns()
        .map_or(String::new(), |ns| format!(", at most {}", time(ns)));
    Some(format!(
        "RTT p50 {}{}{most} of {count}",
        time(by_acks),
        by_stamps.unwrap_or_default()
    ))
}
