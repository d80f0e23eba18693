//! Events beside the measured operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AccessLogRecord, AsyncInterface, BackgroundEnd, BackgroundReading, FlameRow, Generator,
    InsideBatch, MeasureId, Nanos, Outcome, RowOrigins, ServerTimes, TracedRow,
};

/// Index into [`PlanRecord::tests`](crate::PlanRecord::tests).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct TestId(pub u16);

/// Something that happened at a moment of the run: one line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Nanoseconds since the run began.
    pub at: Nanos,
    /// The event.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Kinds of events. Texts have redacted credentials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A test began with its set-up.
    TestStarted {
        /// The test.
        test: TestId,
    },
    /// All users had completed set-up and warm-up, and the measured part began. In a load, all of
    /// them are at work from this moment on, and the measurement window begins.
    MeasuringStarted {
        /// The test.
        test: TestId,
    },
    /// No further operation counts: the time was over, users had done their share, or the schedule
    /// had ended. The measurement window ends. Users may go on, uncounted, until the last counted
    /// operation has ended.
    MeasuringEnded {
        /// The test.
        test: TestId,
    },
    /// Measurements of the load generator in the measured part of a test.
    Generator(Generator),
    /// The clock of the kernel's time stamps was set during the run. Operations that straddle the
    /// step have no response time.
    ClockStepped {
        /// Nanoseconds forward; negative for back.
        by: i64,
    },
    /// Distance of a load from its goal (`p99 ±5%`).
    Goal(Goal),
    /// From now on, this number of users of a closed loop is at work.
    LoadChanged {
        /// Users at work.
        users: u32,
        /// Number of changes before: the phase of the samples that follow.
        phase: u16,
    },
    /// The measurement of a test, or of the run, was ended early. Later operations do not count.
    EndedEarly {
        /// The reason.
        by: EndedBy,
    },
    /// A test ended, including its clean-up.
    TestEnded {
        /// The test.
        test: TestId,
    },
    /// The server cannot execute the test; nothing was measured, or not any more.
    NotSupported {
        /// The test.
        test: TestId,
        /// The step that the server does not support; `None` if the server does not declare support
        /// for the whole test.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<MissingStep>,
        /// The evidence, such as method and status.
        evidence: String,
    },
    /// Set-up, warm-up or an unmeasured step failed, so that the test could not be measured.
    TestFailed {
        /// The test.
        test: TestId,
        /// The attempt, its target, and the response.
        evidence: String,
    },
    /// A measured operation failed. Of each measure, the first few and the first of each outcome
    /// and status are described.
    OperationFailed {
        /// The measure.
        measure: MeasureId,
        /// The user.
        user: u32,
        /// Number of the request, as in `X-Prestan`.
        number: u64,
        /// Its outcome.
        outcome: Outcome,
        /// Status of the response; `None` without a response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The attempt, its target, and the response.
        evidence: String,
        /// The evidence as data.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// The first request of a measure had the expected response, in the warm-up: its time on a cold
    /// server. Only of the first user.
    FirstAnswer {
        /// The measure.
        measure: MeasureId,
        /// Its response time in nanoseconds.
        took: Nanos,
    },
    /// The server closed kept connections within 0.1 s after responses with this status, without
    /// `Connection: close`. Counted over the run, including set-up but not the removal of its
    /// collection; requests of a pipeline are not counted.
    ClosedSilently {
        /// Status of the last response.
        status: u16,
        /// Connections that were found closed before the next request was sent.
        noticed: u64,
        /// Requests that were sent and lost: repeated on a new connection, or failed if they must
        /// not be repeated (LOCK, POST, PATCH).
        lost: u64,
    },
    /// A noteworthy fact that is no failure, such as a 404 for a live property.
    Note {
        /// The measure that it is about.
        measure: MeasureId,
        /// Its text.
        text: String,
    },
    /// A warning about the run as a whole.
    Warning {
        /// Its text, with a remedy.
        text: String,
    },
    /// A resource on the server could not be removed, or was found there from an earlier run.
    LeftBehind(LeftBehind),
    /// The run could not go on: the server died, or the disk here was full.
    Aborted {
        /// The attempt, its target, and the response.
        reason: String,
    },
    /// Counts of sources and sinks of background traffic in about a second that ends now.
    Background(BackgroundReading),
    /// Background traffic ended: at the end of the run, or earlier with a failure.
    BackgroundEnded(BackgroundEnd),
    /// Counts from inside the server during operations of one row.
    Inside(InsideBatch),
    /// The system calls of the server during operations of one row, in a pass that is not timed.
    Traced(TracedRow),
    /// The server makes calls that are no system calls: its numbers of reads, writes and flushes
    /// are unknown.
    UnseenCalls {
        /// The interface.
        by: AsyncInterface,
    },
    /// Stacks of the processes of the server during operations of one row, in another pass that is
    /// not timed.
    Flame(FlameRow),
    /// Times that the server reports for operations of one row.
    ServerTimes(ServerTimes),
    /// Origins of the responses of one row.
    Origins(RowOrigins),
    /// Result of joining the access log of the server with the operations of the run.
    AccessLog(AccessLogRecord),
    /// The user ended the run.
    Interrupted,
}

/// The reason why a measurement ended early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum EndedBy {
    /// A step of the suite: `end: test`, or `end: run`.
    Step {
        /// The ended test; `None` for the run.
        test: Option<TestId>,
    },
    /// A constraint with `abort: true` that could not be fulfilled any more.
    Constraint {
        /// Its name.
        name: String,
    },
}

/// A step that a server does not support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissingStep {
    /// Its method.
    pub method: String,
    /// Its measure; `None` for set-up.
    pub measure: Option<MeasureId>,
    /// The evidence as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// The reason why a response is not the expected one, if `stats::diagnose` has a rule about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Cause {
    /// A status that means that the server does not support the step.
    Status {
        /// The status.
        status: u16,
        /// The precondition code in its body (RFC 4918, section 16), `propfind-finite-depth` for
        /// example.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<String>,
    },
    /// A header that the response lacks.
    Header {
        /// Its name.
        name: String,
    },
    /// A PROPFIND with Depth: infinity had the response of another depth.
    Depth {
        /// That depth: 0 or 1.
        depth: u8,
    },
}

/// A collection of Prestan that is still on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LeftBehind {
    /// URL of the collection.
    pub url: String,
    /// The reason why it is still there.
    pub reason: String,
    /// True if it belongs to this run, false if to an earlier one.
    pub own: bool,
}

/// Distance of a load from the goal of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Half the 95 % interval relative to the estimate, for the operation farthest from the goal;
    /// `None` with too few operations.
    pub half_width: Option<f64>,
    /// The interval was narrow enough.
    pub reached: bool,
}
