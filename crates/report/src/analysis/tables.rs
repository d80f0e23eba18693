//! The tables of connections and requests.

use std::cmp::Reverse;

use trace::connection::ConnectionFigures;
use trace::direction::DirectionFigures;
use trace::transaction::{RequestProtocol, TracedRequest};
use trace::waits::ConnectionEnd;

use super::CaptureAnalysis;
use super::figures::{UNKNOWN, by_kind, end_name, optional_time, rate, size, time};
use crate::document::{ColumnKind, Narrow, ReportTable, TableCell, TableColumn, TableRow};

/// Bytes of a path that are shown.
const LONGEST_PATH: usize = 160;

const CONNECTION_COLUMNS: [(&str, &str); 10] = [
    ("conn.", "place in the capture, by the first packet"),
    ("client", "the end that opened the connection"),
    ("server", "the other end"),
    ("duration", "from the first to the last packet"),
    ("req.", "requests"),
    ("sent", "payload of the client, without what was sent again"),
    (
        "received",
        "payload of the server, without what was sent again",
    ),
    (
        "throughput",
        "payload of both directions over the duration, without what was sent again",
    ),
    (
        "RTT p50, p99",
        "round trips by acknowledgments at the place of capture, of the direction with more of them",
    ),
    ("closed by; retransmissions", ""),
];

const REQUEST_COLUMNS: [(&str, &str); 9] = [
    ("conn.", "the connection"),
    ("at", "first byte of the request, since the first packet"),
    ("status", "of the response"),
    (
        "response",
        "response time: from the last byte of the request to the first byte of the response",
    ),
    (
        "total",
        "from the first byte of the request to the last byte of the response",
    ),
    (
        "delay",
        "from the request to the last valid acknowledgment of the client before its FIN or its next request",
    ),
    (
        "throughput",
        "payload of both directions over the delay, without what was sent again",
    ),
    ("resent", "segments sent again meanwhile"),
    (
        "request",
        "pipelined: its times contain the wait for responses to other requests",
    ),
];

/// A request, and the place of its connection.
pub(super) type PlacedRequest<'a> = (usize, &'a TracedRequest);

/// The connections of the table, in the order of capture: all, or those with the most payload.
pub(super) fn shown_connections(of: &CaptureAnalysis, most: usize) -> Vec<usize> {
    let connections = &of.contents.traced.connections;
    let mut indices: Vec<usize> = (0..connections.len()).collect();
    if indices.len() > most {
        indices.sort_by_key(|index| Reverse(payload(&connections[*index])));
        indices.truncate(most);
        indices.sort_unstable();
    }
    indices
}

/// Payload of both directions on the wire.
pub(super) fn payload(connection: &ConnectionFigures) -> u64 {
    connection.from_client.payload_bytes + connection.from_server.payload_bytes
}

pub(super) fn requests(of: &CaptureAnalysis) -> impl Iterator<Item = PlacedRequest<'_>> {
    let connections = of.contents.traced.connections.iter().enumerate();
    connections.flat_map(|(index, connection)| {
        let requests = connection.requests.iter();
        requests.map(move |request| (index, request))
    })
}

/// The requests of the table, in the order of capture: all, or the slowest.
pub(super) fn shown_requests(of: &CaptureAnalysis, most: usize) -> Vec<PlacedRequest<'_>> {
    let mut all: Vec<PlacedRequest<'_>> = requests(of).collect();
    let cost_ns = |request: &TracedRequest| request.total_ns().max(request.delay_ns());
    if all.len() > most {
        all.sort_by_key(|(_, request)| Reverse(cost_ns(request)));
        all.truncate(most);
    }
    all.sort_by_key(|(index, request)| (request.request_first_ns, *index));
    all
}

/// The direction with more round trips: that of the payload.
pub(super) fn busier(connection: &ConnectionFigures) -> &DirectionFigures {
    let directions = [&connection.from_client, &connection.from_server];
    let [client, server] = directions;
    if client.rtt.count() > server.rtt.count() {
        client
    } else {
        server
    }
}

pub(super) fn both(connection: &ConnectionFigures, with_resent: bool) -> Option<f64> {
    let of = |end| connection.throughput(end, with_resent);
    Some(of(ConnectionEnd::Client)? + of(ConnectionEnd::Server)?)
}

fn closing(connection: &ConnectionFigures) -> String {
    match connection.closing {
        None => "open".to_owned(),
        Some(closing) => {
            let how = if closing.is_reset { " (RST)" } else { "" };
            format!("{}{how}", end_name(closing.end))
        }
    }
}

fn retransmissions(connection: &ConnectionFigures) -> Vec<String> {
    let ends = [ConnectionEnd::Client, ConnectionEnd::Server].into_iter();
    let of = |end| {
        (
            end_name(end),
            by_kind(&connection.from(end).retransmissions),
        )
    };
    let ends = ends.map(of).filter(|(_, kinds)| !kinds.is_empty());
    ends.map(|(end, kinds)| format!("{end} {kinds}")).collect()
}

/// A table of which the last column is words. `texts` are the columns that are neither these nor
/// numbers; `dispensable` ones are left out, one after the other, where a terminal is too narrow.
fn table(
    name: &str,
    columns: &[(&'static str, &'static str)],
    texts: &[usize],
    dispensable: &[usize],
    rows: impl Iterator<Item = Vec<String>>,
) -> ReportTable {
    let kind = |column: usize| match column {
        column if column + 1 == columns.len() => ColumnKind::Sentence,
        column if texts.contains(&column) => ColumnKind::Text,
        _ => ColumnKind::Number,
    };
    let columns = columns.iter().enumerate();
    let columns = columns
        .map(|(column, (name, meaning))| TableColumn::new(*name, kind(column)).meaning(meaning));
    ReportTable {
        name: name.to_owned(),
        columns: columns.collect(),
        rows: rows
            .map(|cells| TableRow::new(cells.into_iter().map(TableCell::from)))
            .collect(),
        narrow: Narrow::LeaveOut(dispensable.to_vec()),
        ..ReportTable::default()
    }
}

pub(super) fn connection_table(of: &CaptureAnalysis, indices: &[usize]) -> ReportTable {
    let connections = &of.contents.traced.connections;
    let rows = indices.iter();
    let rows = rows.map(|index| connection_row(*index, &connections[*index]));
    let columns = &CONNECTION_COLUMNS;
    table("Connections", columns, &[1, 2], &[4, 3, 5, 6], rows)
}

pub(super) fn request_table(of: &CaptureAnalysis, shown: &[PlacedRequest<'_>]) -> ReportTable {
    let rows = shown.iter().map(|request| request_row(of, *request));
    table("Requests", &REQUEST_COLUMNS, &[], &[6, 1, 4], rows)
}

fn connection_row(index: usize, of: &ConnectionFigures) -> Vec<String> {
    let rtt = &busier(of).rtt;
    let percentiles = [0.5, 0.99].map(|share| optional_time(rtt.percentile_ns(share)));
    let rtt = if rtt.count() == 0 {
        UNKNOWN.to_owned()
    } else {
        percentiles.join(", ")
    };
    let with_resent = rate(both(of, true));
    let with_resent =
        (with_resent != rate(both(of, false))).then(|| format!("{with_resent} with resent"));
    let is_foreign = of.protocol == Some(RequestProtocol::Other);
    let words = std::iter::once(closing(of))
        .chain(is_foreign.then(|| "not HTTP".to_owned()))
        .chain(retransmissions(of))
        .chain(with_resent);
    vec![
        (index + 1).to_string(),
        of.client.to_string(),
        of.server.to_string(),
        time(of.duration_ns()),
        if is_foreign {
            UNKNOWN.to_owned()
        } else {
            of.request_count.to_string()
        },
        size(of.from_client.unique_bytes),
        size(of.from_server.unique_bytes),
        rate(both(of, false)),
        rtt,
        words.collect::<Vec<_>>().join("; "),
    ]
}

/// The method and path of a request, and whether its times contain others.
fn request_line(of: &TracedRequest) -> String {
    let line = match (&of.method, of.protocol) {
        (Some(method), _) => {
            let path = of.path.as_deref().map(path).unwrap_or_default();
            format!("{method} {}", shortened(&path))
        }
        (None, RequestProtocol::Tls) => "(encrypted)".to_owned(),
        (None, _) => "(head not captured)".to_owned(),
    };
    let pipelined = if of.is_pipelined { " (pipelined)" } else { "" };
    line + pipelined
}

/// A path without credentials.
pub(super) fn path(path: &str) -> String {
    ::wire::redact::redacted_link(path)
}

fn shortened(path: &str) -> String {
    let Some((end, _)) = path.char_indices().nth(LONGEST_PATH) else {
        return path.to_owned();
    };
    format!("{}...", &path[..end])
}

fn request_row(of: &CaptureAnalysis, (index, request): PlacedRequest<'_>) -> Vec<String> {
    let resent = [request.from_client, request.from_server];
    let resent: u64 = resent.iter().map(|bytes| bytes.retransmissions).sum();
    let status = request.status.map(|status| status.to_string());
    vec![
        (index + 1).to_string(),
        time(of.since_start_ns(request.request_first_ns)),
        status.unwrap_or_else(|| UNKNOWN.to_owned()),
        optional_time(request.response_time_ns()),
        optional_time(request.total_ns()),
        optional_time(request.delay_ns()),
        rate(request.throughput(false)),
        resent.to_string(),
        request_line(request),
    ]
}
