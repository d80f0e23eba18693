//! One CSV row for each request of a capture.

use trace::transaction::{RequestProtocol, TracedRequest};

use super::CaptureAnalysis;
use super::tables::{path, requests};
use crate::csv::{cell, lines, optional};
use crate::json::{thousandths, us};

const HEADER: [&str; 26] = [
    "connection",
    "client",
    "server",
    "protocol",
    "number",
    "method",
    "path",
    "status",
    "packet",
    "at_us",
    "response_us",
    "total_us",
    "delay_us",
    "request_bytes",
    "response_bytes",
    "bytes_per_second",
    "bytes_per_second_with_resent",
    "client_payload",
    "client_resent",
    "client_retransmissions",
    "server_payload",
    "server_resent",
    "server_retransmissions",
    "clean",
    "started_at_ns",
    "pipelined",
];

/// The requests of a capture with a header line; lines end with CR LF.
pub fn analysis_csv(of: &CaptureAnalysis) -> String {
    let header = HEADER.map(str::to_owned).to_vec();
    let rows = requests(of).map(|(index, request)| row(of, index, request));
    lines(std::iter::once(header).chain(rows))
}

pub(super) fn protocol(of: RequestProtocol) -> &'static str {
    match of {
        RequestProtocol::Http1 => "http1",
        RequestProtocol::Http2 => "http2",
        RequestProtocol::Tls => "tls",
        RequestProtocol::Other => "other",
    }
}

fn row(of: &CaptureAnalysis, index: usize, request: &TracedRequest) -> Vec<String> {
    let connection = &of.contents.traced.connections[index];
    let exact = |ns: Option<i64>| optional(ns.map(|ns| us(ns as f64)));
    let rate = |with_resent| optional(request.throughput(with_resent).map(thousandths));
    let at_ns = of.since_start_ns(request.request_first_ns);
    let mut cells = vec![
        (index + 1).to_string(),
        connection.client.to_string(),
        connection.server.to_string(),
        protocol(request.protocol).to_owned(),
        optional(request.number),
        cell(request.method.as_deref().unwrap_or_default()),
        cell(&request.path.as_deref().map(path).unwrap_or_default()),
        optional(request.status),
        optional(request.first_packet),
        exact(Some(at_ns)),
        exact(request.response_time_ns()),
        exact(request.total_ns()),
        exact(request.delay_ns()),
        request.request_bytes.to_string(),
        request.response_bytes.to_string(),
        rate(false),
        rate(true),
    ];
    for bytes in [request.from_client, request.from_server] {
        let counts = [bytes.payload, bytes.resent, bytes.retransmissions];
        cells.extend(counts.map(|count| count.to_string()));
    }
    cells.push(request.is_clean.to_string());
    cells.push(request.request_first_ns.to_string());
    cells.push(request.is_pipelined.to_string());
    cells
}
