//! Connections, their directions and requests in the JSON document of a capture.

use trace::connection::{ConnectionFigures, TcpClosing, TcpHandshake};
use trace::retransmission::{RetransmissionCounts, RetransmissionKind};
use trace::round_trip::RoundTripTimes;
use trace::segment::TcpOptions;
use trace::transaction::{TracedRequest, WireBytes};
use trace::waits::ConnectionEnd;

use super::super::CaptureAnalysis;
use super::super::sheet::protocol;
use super::super::tables::path;
use super::{EndJson, exact};
use crate::fields::{each, fields};
use crate::json::thousandths;

fields! {
    /// A TCP connection.
    (&CaptureAnalysis, &ConnectionFigures), "Connection", |(of, connection)| {
        /// Address and port of the end that opened it; of the one with the higher port where that
        /// was not captured.
        client = connection.client.to_string(),
        /// Address and port of the other end.
        server = connection.server.to_string(),
        /// Number of its first packet.
        first_packet = connection.first_packet,
        /// Number of its last packet.
        last_packet = connection.last_packet,
        /// When its first packet passed.
        at_us = exact(of.since_start_ns(connection.start_ns)),
        /// From its first to its last packet.
        duration_us = exact(connection.duration_ns()),
        /// How it was opened.
        handshake = &connection.handshake,
        /// How it was closed; null where the capture does not have that.
        closing = connection.closing.map(|closing| (*of, closing)),
        /// What the client sent, and how the server acknowledged it.
        from_client = (*connection, ConnectionEnd::Client),
        /// What the server sent, and how the client acknowledged it.
        from_server = (*connection, ConnectionEnd::Server),
        /// What it carries: http1, http2, tls, or other, which is neither HTTP nor TLS and has no
        /// requests; null where its first bytes do not show it.
        protocol = connection.protocol.map(protocol),
        /// Number of its requests.
        request_count = connection.request_count,
        /// Its requests; the first of them where there are too many.
        requests = each(&connection.requests, |request| (*of, request)),
    }
}

fields! {
    /// The opening of a connection.
    TcpHandshake, "Handshake", |of| {
        /// Number of SYNs.
        syns = of.syns,
        /// Number of responses to them.
        syn_acks = of.syn_acks,
        /// From the first SYN to the first acknowledgment of the client; null where one of them was
        /// not captured.
        time_us = of.syn_ns.zip(of.ack_ns).map(|(syn_ns, ack_ns)| exact(ack_ns.saturating_sub(syn_ns))),
        /// A round trip between the ends, wherever it was captured.
        rtt_us = of.rtt_ns.map(exact),
    }
}

fields! {
    /// The closing of a connection.
    (&CaptureAnalysis, TcpClosing), "Closing", |(of, closing)| {
        /// The end that closed first.
        end = EndJson::from(closing.end),
        /// When.
        at_us = exact(of.since_start_ns(closing.at_ns)),
        /// With a RST, not a FIN.
        reset = closing.is_reset,
    }
}

fields! {
    /// One direction of a connection: what one end sent, and how the other end acknowledged it.
    (&ConnectionFigures, ConnectionEnd), "Direction", |(connection, end)| {
        /// Segments, also those without payload.
        segments = connection.from(*end).segments,
        /// Segments with payload.
        data_segments = connection.from(*end).data_segments,
        /// Bytes of payload on the wire.
        payload = connection.from(*end).payload_bytes,
        /// Bytes of payload without what had passed before.
        unique = connection.from(*end).unique_bytes,
        /// Bytes of payload that had passed before.
        resent = connection.from(*end).resent_bytes,
        /// Payload without what was sent again over the duration of the connection; null where that
        /// is 0.
        bytes_per_second = connection.throughput(*end, false).map(thousandths),
        /// The same with what was sent again.
        bytes_per_second_with_resent = connection.throughput(*end, true).map(thousandths),
        /// Segments that were sent again, by kind.
        retransmissions = &connection.from(*end).retransmissions,
        /// Segments that were overtaken before the place of capture.
        out_of_order = connection.from(*end).overtaken,
        /// Duplicate acknowledgments that the sender received (RFC 5681).
        duplicate_acks = connection.from(*end).duplicate_acks,
        /// D-SACKs that it received (RFC 2883).
        duplicate_sacks = connection.from(*end).duplicate_sacks,
        /// Bytes that were acknowledged and never captured.
        uncaptured = connection.from(*end).uncaptured_bytes,
        /// Probes of an idle connection or a closed window.
        probes = connection.from(*end).probes,
        /// The most bytes in flight.
        largest_flight = connection.from(*end).largest_flight,
        /// The smallest and the largest window of the receiver, in bytes; null without any.
        window = connection.from(*end).window.map(|(smallest, largest)| [smallest, largest]),
        /// How often the receiver closed its window.
        zero_windows = connection.from(*end).zero_windows,
        /// How long it was closed.
        zero_window_us = exact(connection.from(*end).zero_window_ns),
        /// Round trips by acknowledgments; null without any.
        rtt_us = round_trips(&connection.from(*end).rtt),
        /// Round trips by time stamps, too long by up to one tick of the sender's clock.
        rtt_by_time_stamps_us = round_trips(&connection.from(*end).stamp_rtt),
        /// Options of the sender's SYN; null where it was not captured.
        options = &connection.from(*end).syn_options,
        /// Records of TLS, at most those that were kept.
        tls_records = match end {
            ConnectionEnd::Client => connection.client_records.len(),
            ConnectionEnd::Server => connection.server_records.len(),
        },
    }
}

fields! {
    /// Segments that were sent again.
    RetransmissionCounts, "Retransmissions", |of| {
        /// SYNs and responses to them.
        handshake = of.of(RetransmissionKind::Handshake),
        /// Acknowledgments showed the loss.
        fast = of.of(RetransmissionKind::Fast),
        /// The timer expired.
        timeout = of.of(RetransmissionKind::Timeout),
        /// In flight when the timer had expired.
        after_timeout = of.of(RetransmissionKind::AfterTimeout),
        /// Tail loss probes (RFC 8985).
        tail_loss_probe = of.of(RetransmissionKind::TailLossProbe),
        /// The capture does not show why.
        unexplained = of.of(RetransmissionKind::Unexplained),
        /// Of all these, those that were not needed.
        spurious = of.spurious(),
    }
}

fields! {
    /// Round trips, in microseconds.
    RoundTripTimes, "RoundTrips", |of| {
        /// How many there were.
        n = of.count(),
        /// The smallest.
        min = of.smallest_ns().map_or(0.0, exact),
        /// Median.
        p50 = of.percentile_ns(0.5).map_or(0.0, exact),
        /// 99th percentile.
        p99 = of.percentile_ns(0.99).map_or(0.0, exact),
        /// The largest.
        max = of.largest_ns().map_or(0.0, exact),
    }
}

fields! {
    /// Options of a SYN.
    TcpOptions, "Options", |of| {
        /// Maximum segment size; null without it.
        mss = of.mss,
        /// Shift of the window; null without window scaling.
        window_scale = of.window_scale,
        /// SACK is permitted.
        sack = of.sack_permitted,
        /// Time stamps are in use.
        time_stamps = of.timestamps.is_some(),
    }
}

fields! {
    /// A request and its response.
    (&CaptureAnalysis, &TracedRequest), "Request", |(of, request)| {
        /// http1, http2 or tls (encrypted).
        protocol = protocol(request.protocol),
        /// Number in its X-Prestan.
        number = request.number,
        /// Method; null where the head was not captured or is encrypted.
        method = &request.method,
        /// Path, without values that may be secret.
        path = request.path.as_deref().map(path),
        /// Status of the response.
        status = request.status,
        /// Number of the packet with its first byte.
        packet = request.first_packet,
        /// When its first byte passed.
        at_us = exact(of.since_start_ns(request.request_first_ns)),
        /// From the last byte of the request to the first byte of the response.
        response_us = request.response_time_ns().map(exact),
        /// From the first byte of the request to the last byte of the response.
        total_us = request.total_ns().map(exact),
        /// From the request to the last valid acknowledgment of the client before its FIN or its
        /// next request.
        delay_us = request.delay_ns().map(exact),
        /// Bytes of the request.
        request_bytes = request.request_bytes,
        /// Bytes of the response.
        response_bytes = request.response_bytes,
        /// Payload of both directions over the delay, without what was sent again.
        bytes_per_second = request.throughput(false).map(thousandths),
        /// The same with what was sent again.
        bytes_per_second_with_resent = request.throughput(true).map(thousandths),
        /// What the client sent meanwhile.
        from_client = request.from_client,
        /// What the server sent meanwhile.
        from_server = request.from_server,
        /// The request was complete before the response began, and the only one; without it there
        /// is no response time.
        clean = request.is_clean,
        /// It was sent before the response to an earlier request was complete, or others were sent
        /// before its own response: its times contain the wait for other responses.
        pipelined = request.is_pipelined,
    }
}

fields! {
    /// Payload of one end while a request and its response passed.
    WireBytes, "WireBytes", |of| {
        /// All payload.
        payload = of.payload,
        /// Payload that had passed before.
        resent = of.resent,
        /// Segments that were sent again.
        retransmissions = of.retransmissions,
    }
}

/// `None` without any.
fn round_trips(of: &RoundTripTimes) -> Option<&RoundTripTimes> {
    (of.count() > 0).then_some(of)
}
