//! One measured operation and its five moments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{HttpVersion, Outcome};

/// Nanoseconds since the run began.
pub type Nanos = u64;

/// Index into [`PlanRecord::measures`](crate::PlanRecord::measures).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct MeasureId(pub u16);

/// One measured operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Row of the report.
    pub measure: MeasureId,
    /// User: 0 to users - 1.
    pub user: u32,
    /// Index of the collection of the run: 0 is [`PlanRecord::target`](crate::PlanRecord::target).
    pub target: u16,
    /// Role of the user: index into [`PlanRecord::roles`](crate::PlanRecord::roles) from 1; 0 if
    /// the test has no roles.
    pub role: u16,
    /// Index of the stage of the load in which it was planned; 0 if there is one.
    pub phase: u16,
    /// Number of the request in the run, as sent in `X-Prestan`.
    pub number: u64,
    /// Number of the visit whose page it belongs to; `None` without a page.
    pub visit: Option<u64>,
    /// Number of parts named by the first file of the visit; `None` for pages without such parts.
    pub parts: Option<u16>,
    /// Outcome.
    pub outcome: Outcome,
    /// Status code of the final response, if any.
    pub status: Option<u16>,
    /// Its moments.
    pub moments: Moments,
    /// Clock of *sent* and *first*.
    pub timing: Timing,
    /// Number of the connection, from 1 in the order of opening; `None` if none was opened.
    pub connection: Option<u32>,
    /// Version of HTTP of the response; `None` without a response.
    pub protocol: Option<HttpVersion>,
    /// Number of the stream in its connection (HTTP/2).
    pub stream: Option<u32>,
    /// Times of opening a connection for this operation.
    pub connect: Option<Connect>,
    /// TCP segments of the connections that ended with this operation; `None` if none did, or the
    /// system does not report them.
    pub segments: Option<Segments>,
    /// The request was sent again, because a kept connection had ended before the first byte of the
    /// response or because a Digest nonce had expired; the moments are those of the last time.
    pub resent: bool,
    /// *first* is also that of the response that ended before it on the connection: they arrived in
    /// one segment, or were read together. False before the column existed.
    pub shares_first: bool,
    /// Bytes of request head and body.
    pub bytes_sent: u64,
    /// Bytes of response head and body on the connection.
    pub bytes_received: u64,
    /// Bytes of the body of a complete response, without its framing; otherwise 0.
    pub body_received: u64,
}

impl Sample {
    /// An operation with outcome ok and nothing else, to be filled from columns.
    pub fn blank() -> Sample {
        Sample {
            measure: MeasureId(0),
            user: 0,
            target: 0,
            role: 0,
            phase: 0,
            number: 0,
            visit: None,
            parts: None,
            outcome: Outcome::Ok,
            status: None,
            connection: None,
            protocol: None,
            stream: None,
            moments: Moments {
                planned: 0,
                started: 0,
                sent: None,
                acked: None,
                first: None,
                done: None,
            },
            timing: Timing::User,
            connect: None,
            segments: None,
            resent: false,
            shares_first: false,
            bytes_sent: 0,
            bytes_received: 0,
            body_received: 0,
        }
    }
}

/// Clock of *sent* and *first* of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// User space.
    User,
    /// The kernel's time stamps. `bias` is the amount in nanoseconds by which a user-space clock
    /// would have over-reported the response time; `None` if the operation has no response time.
    Kernel {
        /// Response time of user space minus that of the kernel.
        bias: Option<i64>,
    },
    /// A time stamp of the kernel never arrived or was implausible: the operation has no response
    /// time.
    Missed,
}

/// The five moments of an operation, and the moment when the server's TCP had the request.
///
/// ```text
/// planned    started        sent              first        done
///    |----------|-------------|-----------------|------------|
///      lateness    connect,      response time     transfer
///                  upload
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// From the schedule; equals `started` in a closed loop.
    pub planned: Nanos,
    /// First request byte offered, or connecting begun.
    pub started: Nanos,
    /// Last request byte left.
    pub sent: Option<Nanos>,
    /// The server's TCP acknowledged the last request byte; only if requested.
    pub acked: Option<Nanos>,
    /// First byte of the final response arrived.
    pub first: Option<Nanos>,
    /// Last byte of the response arrived.
    pub done: Option<Nanos>,
}

impl Moments {
    /// *first* minus *sent*: the response time of Xu (2004), section 4.1.
    ///
    /// `None` if either is missing, or if the server responded before it had the whole request.
    pub fn response(&self) -> Option<Nanos> {
        self.first?.checked_sub(self.sent?)
    }

    /// *first* minus *planned*: latency from schedule, including the wait for a free connection and
    /// a late load generator.
    pub fn from_planned(&self) -> Option<Nanos> {
        self.first?.checked_sub(self.planned)
    }

    /// *acked* minus *started*: until the server's TCP had the whole request.
    pub fn upload(&self) -> Option<Nanos> {
        self.acked?.checked_sub(self.started)
    }

    /// *done* minus *started*: the total time, including connecting and transfer.
    pub fn total(&self) -> Option<Nanos> {
        self.done?.checked_sub(self.started)
    }
}

/// Duration of opening a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connect {
    /// TCP (or local socket) handshake, nanoseconds.
    pub tcp: Nanos,
    /// TLS handshake, nanoseconds.
    pub tls: Option<Nanos>,
    /// The handshake resumed a session, which saves the server a signature and the client the
    /// certificates. `None` without TLS.
    pub resumed: Option<bool>,
}

/// TCP segments of a connection, from its first SYN until just before this side closes it
/// (`TCP_INFO` of Linux, since 4.2). Those that close it are not included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segments {
    /// Sent, including retransmissions. With segmentation offload, the kernel counts the segments
    /// of the device.
    pub sent: u32,
    /// Received.
    pub received: u32,
}

impl Segments {
    /// Sum of both.
    pub fn plus(self, other: Segments) -> Segments {
        Segments {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
        }
    }
}
