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
    /// Which row of the report it belongs to.
    pub measure: MeasureId,
    /// Who did it: 0 to users - 1.
    pub user: u32,
    /// Which of the collections of the run it went to: 0 is
    /// [`PlanRecord::target`](crate::PlanRecord::target).
    pub target: u16,
    /// The role of the user, the place of one of [`PlanRecord::roles`](crate::PlanRecord::roles) counted
    /// from 1; 0 where the test has no roles.
    pub role: u16,
    /// The stage of the load in which it was planned, by its place; 0 where there is one.
    pub phase: u16,
    /// Number of the request in the run, as sent in `X-Prestan`.
    pub number: u64,
    /// Number of the visit whose page it is a part of; `None` where it stands for itself.
    pub visit: Option<u64>,
    /// How many parts the first file of the visit named; `None` of pages without such parts.
    pub parts: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// Status code of the final response, when there was one.
    pub status: Option<u16>,
    /// When things happened.
    pub moments: Moments,
    /// Which clock gave *sent* and *first*.
    pub timing: Timing,
    /// Number of the connection, from 1 in the order of opening; `None` where none was opened.
    pub connection: Option<u32>,
    /// Version of HTTP of the response; `None` where none came.
    pub protocol: Option<HttpVersion>,
    /// Number of the stream in its connection, with versions that have streams.
    pub stream: Option<u32>,
    /// Set when a connection was opened for this operation.
    pub connect: Option<Connect>,
    /// TCP segments of the connections that ended with this operation; `None` where none did, and where the
    /// system does not tell.
    pub segments: Option<Segments>,
    /// The request was sent once more, because a kept connection had died before the first byte
    /// of the answer or because a Digest nonce had run out; the moments are those of the last time.
    pub resent: bool,
    /// *first* is also that of the response that ended before it on the connection: they arrived in one
    /// segment, or were read together. False before the column existed.
    pub shares_first: bool,
    /// Bytes of request head and body.
    pub bytes_sent: u64,
    /// Bytes of response head and body as they came over the connection.
    pub bytes_received: u64,
    /// Bytes of the body of a complete response, without its framing; else 0.
    pub body_received: u64,
}

impl Sample {
    /// An operation of which nothing is known yet but that it was ok: what columns are put into.
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

/// Which clock gave *sent* and *first* of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// User space.
    User,
    /// The kernel's time stamps. `bias` is what user space would have added to the response time,
    /// in nanoseconds; `None` where the operation has no response time.
    Kernel {
        /// Response time of user space minus that of the kernel.
        bias: Option<i64>,
    },
    /// The kernel's clock was asked for, and a stamp never came or made no sense: the operation
    /// has no response time.
    Missed,
}

/// The five moments of an operation, and when the server's TCP had the request.
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
    /// The server's TCP acknowledged the last request byte; only where that was asked for.
    pub acked: Option<Nanos>,
    /// First byte of the final response arrived.
    pub first: Option<Nanos>,
    /// Last byte of the response arrived.
    pub done: Option<Nanos>,
}

impl Moments {
    /// *first* minus *sent*: the response time of Xu (2004), section 4.1.
    ///
    /// `None` when either is missing, and when the server answered before it had the whole
    /// request: then there is no such time.
    pub fn response(&self) -> Option<Nanos> {
        self.first?.checked_sub(self.sent?)
    }

    /// *first* minus *planned*: what somebody waits who comes when the schedule says, the wait for
    /// a free connection and a late generator included.
    pub fn from_planned(&self) -> Option<Nanos> {
        self.first?.checked_sub(self.planned)
    }

    /// *acked* minus *started*: until the server's TCP had the whole request.
    pub fn upload(&self) -> Option<Nanos> {
        self.acked?.checked_sub(self.started)
    }

    /// *done* minus *started*: everything, connecting and transfer included.
    pub fn total(&self) -> Option<Nanos> {
        self.done?.checked_sub(self.started)
    }
}

/// How long opening a connection took.
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

/// TCP segments of a connection, from its first SYN until just before this side closes it (`TCP_INFO` of
/// Linux, from 4.2 on). Those that close it come later and are not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segments {
    /// Sent, with those sent again. Where the kernel leaves the cutting to the device, it counts what the
    /// device cuts.
    pub sent: u32,
    /// Received.
    pub received: u32,
}

impl Segments {
    /// Those of both.
    pub fn plus(self, other: Segments) -> Segments {
        Segments {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
        }
    }
}
