//! Figures of a row, each declared once: name, meaning, value, column of a sheet and, of times,
//! their name for people.

use record::{AddressResponses, Nanos, Outcome};
use stats::{Bar, Connects, FailureGroup, Outcomes, ResponseOrigins, TestSummary};

use crate::fields::{IfAny, each, fields};
use crate::json::{rates, thousandths, us};
use crate::reasons::{note, reason};

fields! {
    /// One row of the report.
    TestSummary, "Test", |row| {
        /// Name of the row, as in the column `measure` of the samples.
        measure @ 1 = &row.name,
        /// What the suite says of its test beside the name; absent without.
        title = IfAny(&row.title),
        /// HTTP method that is measured.
        method @ 1 = &row.method,
        /// The unit in which reports for people show its times; absent where the suite declares
        /// none.
        unit = IfAny(row.unit),
        /// Its status.
        status @ 1 = row.status,
        /// Why it is not ok; null when it is.
        evidence @ 1 = row.evidence.as_ref().map(reason),
        /// Operations by outcome. They add up to `operations`.
        outcomes @ 2 "" = row.outcomes,
        /// Operations that count: those that began in the measurement window.
        operations @ 1 = row.operations(),
        /// Operations outside that time; they are in no other number but `left_out_outcomes`.
        left_out @ 1 = row.left_out(),
        /// Operations outside that time by outcome. They add up to `left_out`.
        left_out_outcomes = row.left_out_outcomes,
        /// Expected responses that arrived before the whole request was sent: they have no response
        /// time.
        early @ 1 = row.early,
        /// Expected responses without a response time, because the kernel's time stamps are
        /// missing.
        missed @ 6 = row.missed,
        /// Response times, last request byte to first response byte; null without any.
        response_us: "response time" @ 3 = row.response,
        /// Latencies from schedule: from the scheduled start to the first response byte. Null
        /// unless the loop is open.
        planned_us: "latency from schedule" "planned to first byte" @ 7 = row.planned,
        /// Times from the start to the acknowledgement of the last request byte; null where that
        /// was not asked for.
        upload_us: "upload" "until the server had the whole request" @ 7 = row.upload,
        /// By how much a user-space clock would have over-reported response times; null unless the
        /// kernel's clock was used.
        bias_us @ 6 = row.bias,
        /// Response times and, of an open loop, latencies from schedule, in ranges that grow by a
        /// constant factor; empty but in a load.
        histogram = &row.spread,
        /// Total times, start to last response byte, connecting included; null without any.
        total_us: "total time" @ 3 = row.total,
        /// Connections opened by the operations that count.
        connects @ 3 "" = row.connects,
        /// Bytes of the requests that count.
        bytes_sent @ 5 = row.bytes_sent,
        /// Bytes of the responses that count.
        bytes_received @ 5 = row.bytes_received,
        /// Length of the measurement window in seconds; null without one. Rows of one test share
        /// it.
        window_s @ 5 = row.window_s,
        /// Expected operations per second in that window.
        per_second @ 5 = row.per_second().map(thousandths),
        /// Its 95 % interval; null with fewer than 20 of them or a window too short for one, in a
        /// schedule whose rate changes, and in a run that took turns with others.
        per_second_ci95 @ 8 = row.rate.and_then(|rate| rate.ci95).map(rates),
        /// The rate went up or down over times that are not short beside the window, so that the
        /// interval may be too narrow.
        wanders @ 8 = row.wanders,
        /// Why the test could not be measured, and failed operations by how they ended, inside the
        /// window and outside, the most frequent first.
        failures = &row.failures,
        /// Remarks that are no failures.
        notes = each(&row.notes, note),
        /// Conclusion of the row.
        conclusion = row.conclusion(),
        /// The warning for which its estimates do not describe the server; null where there is
        /// none.
        disqualified = row.disqualified().map(crate::warning),
        /// The kinds of all warnings about the row.
        warnings = each(&row.warnings, |warning| warning.kind.name()),
        /// Expected responses that came from a cache; absent where none did.
        cached = IfAny(Some(&row.origins).filter(|origins| origins.cached > 0)),
        /// Expected responses from each address of a server that has several.
        addresses = IfAny(&row.origins.addresses),
    }
}

fields! {
    /// A count for each outcome. Every operation ends in exactly one.
    Outcomes, "Outcomes", |outcomes| {
        /// The response was as expected.
        ok @ 0 = outcomes.of(Outcome::Ok),
        /// The status was not one that the test expects.
        wrong_status @ 0 = outcomes.of(Outcome::WrongStatus),
        /// The status was right, and length, content, properties or members were not.
        wrong_body @ 0 = outcomes.of(Outcome::WrongBody),
        /// The server does not have the method or the feature.
        unsupported @ 0 = outcomes.of(Outcome::Unsupported),
        /// The server understood and declined.
        refused @ 0 = outcomes.of(Outcome::Refused),
        /// No connection could be opened, or the TLS handshake failed.
        connect_failed @ 0 = outcomes.of(Outcome::ConnectFailed),
        /// No complete response within the timeout.
        timeout @ 0 = outcomes.of(Outcome::Timeout),
        /// The connection ended before the response did.
        reset @ 0 = outcomes.of(Outcome::Reset),
        /// The response was not valid HTTP, or exceeded a limit.
        protocol_error @ 0 = outcomes.of(Outcome::ProtocolError),
        /// Scheduled and never sent.
        dropped @ 0 = outcomes.of(Outcome::Dropped),
        /// Ended by an interruption.
        cancelled @ 0 = outcomes.of(Outcome::Cancelled),
    }
}

fields! {
    /// Connections opened by the operations of a row.
    Connects, "Connects", |connects| {
        /// Operations for which a connection was opened.
        count @ 3 "connects" = connects.count,
        /// TCP handshakes of those with an expected response; null without any.
        tcp_us: "TCP handshake" @ 4 = connects.tcp,
        /// Full TLS handshakes of those with an expected response; null without any.
        tls_us: "TLS handshake, full" @ 4 = connects.tls,
        /// TLS handshakes of those with an expected response that resumed a session; null without
        /// any.
        tls_resumed_us: "TLS handshake, resumed" @ 4 = connects.tls_resumed,
        /// Operations whose request was sent again, because a kept connection had been closed or a
        /// Digest nonce had expired.
        resent @ 3 = connects.resent,
        /// TCP segments sent on connections that ended with these operations, those that close them
        /// not included; absent where connections are kept, and where the system does not count
        /// segments.
        segments_sent = IfAny(connects.segments.map(|segments| segments.sent)),
        /// TCP segments received on them.
        segments_received = IfAny(connects.segments.map(|segments| segments.received)),
    }
}

fields! {
    /// A range of times and how many fell into it.
    Bar, "Bar", |bar| {
        /// Least time of the range, in microseconds.
        from_us = us(bar.from as f64),
        /// The range ends before this time; the last one includes it.
        to_us = us(bar.to as f64),
        /// Response times, from *sent*.
        response = bar.response,
        /// Latencies from schedule.
        planned = bar.planned,
    }
}

fields! {
    /// Failures that ended alike.
    FailureGroup, "Failure", |group| {
        /// How these operations ended; null for a reason why the test could not be measured.
        outcome = group.outcome.map(Outcome::name),
        /// Status of their responses; null without a response.
        status = group.status,
        /// How many operations these are; 0 where the test could not be measured.
        count = group.count,
        /// When the first of them ended, in seconds from the beginning of the window on; null where
        /// the window has less than a second, and for several runs.
        first_s = group.ended.map(|(first, _)| seconds(first)),
        /// When the last of them did.
        last_s = group.ended.map(|(_, last)| seconds(last)),
        /// One of them: the request, and what came back; null where the record describes none.
        example = group.example.as_ref().map(reason),
    }
}

fields! {
    /// Responses from a cache: their times are those of the cache.
    ResponseOrigins, "Cached", |origins| {
        /// How many.
        responses = origins.cached,
        /// What the caches are called.
        by = &origins.caches,
    }
}

fields! {
    /// Responses from one of several addresses of a server.
    AddressResponses, "Address", |of| {
        /// Address and port.
        address = &of.address,
        /// How many.
        responses = of.responses,
    }
}

fn seconds(ns: Nanos) -> f64 {
    thousandths(ns as f64 / 1e9)
}
