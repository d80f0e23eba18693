//! What happened beside the measured operations.

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
    /// When, nanoseconds since the run began.
    pub at: Nanos,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What can happen beside measured operations. Texts carry no credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A test began with its set-up.
    TestStarted {
        /// Which.
        test: TestId,
    },
    /// All users were through with set-up and warm-up, and the measured part began. In a load run,
    /// all of them are at work from this moment on, and the measurement window begins here.
    MeasuringStarted {
        /// Which.
        test: TestId,
    },
    /// No further operation counts: the time was over, users had done their share, or the schedule
    /// was through. The measurement window ends here. Users may go on, uncounted, until the last
    /// operation has ended that counts.
    MeasuringEnded {
        /// Which.
        test: TestId,
    },
    /// How the generator fared in the measured part of a test.
    Generator(Generator),
    /// The clock that the kernel's stamps are taken from was set while the run went on. Operations
    /// that straddle the step have no response time.
    ClockStepped {
        /// Nanoseconds that it went forward, negative for back.
        by: i64,
    },
    /// How near a load run came to what it was to go on for (`p99 ±5%`).
    Goal(Goal),
    /// From now on so many users of a closed loop are at work.
    LoadChanged {
        /// Users at work.
        users: u32,
        /// How many changes there were before: the phase of the samples that follow.
        phase: u16,
    },
    /// The measurement of a test, or of the run, was ended before its time. What follows it does not count.
    EndedEarly {
        /// By what.
        by: EndedBy,
    },
    /// A test ended; its clean-up is done as well.
    TestEnded {
        /// Which.
        test: TestId,
    },
    /// The server cannot do what the test needs; nothing was measured, or no longer.
    NotSupported {
        /// Which.
        test: TestId,
        /// The step that the server does not support; `None` where the server does not claim what
        /// the whole test needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<MissingStep>,
        /// What the server said, method and status for example.
        evidence: String,
    },
    /// Set-up, warm-up or an unmeasured step failed, so that the test could not be measured.
    TestFailed {
        /// Which.
        test: TestId,
        /// What was attempted, on what, and what came back.
        evidence: String,
    },
    /// A measured operation failed. Of each measure, the first few and the first of each outcome and
    /// status are described.
    OperationFailed {
        /// Which.
        measure: MeasureId,
        /// Who.
        user: u32,
        /// Number of the request, as in `X-Prestan`.
        number: u64,
        /// How.
        outcome: Outcome,
        /// Status of the response; `None` where there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// What was attempted, on what, and what came back.
        evidence: String,
        /// The same as data.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// The first request of a measure was answered as expected, in the warm-up: what it took when
    /// nothing was warm yet. Only of the first user.
    FirstAnswer {
        /// Which.
        measure: MeasureId,
        /// Its response time, nanoseconds.
        took: Nanos,
    },
    /// The server closed kept connections within 0.1 s after responses with this status, without
    /// `Connection: close`. Counted over the run, set-up included and the removal of its collection
    /// not; the requests of a pipeline are not counted.
    ClosedSilently {
        /// Status of the last response.
        status: u16,
        /// Connections that were found closed before the next request was sent.
        noticed: u64,
        /// Requests that were sent and lost: repeated on a new connection, or failed where that must
        /// not be (LOCK, POST, PATCH).
        lost: u64,
    },
    /// Something a reader should know that is no failure, a 404 for a live property for example.
    Note {
        /// What it is about.
        measure: MeasureId,
        /// In words.
        text: String,
    },
    /// A doubt about the run as a whole.
    Warning {
        /// In words, with what to do about it.
        text: String,
    },
    /// Something on the server could not be removed, or was found there from an earlier run.
    LeftBehind(LeftBehind),
    /// The run could not go on: the server died, or the disk here was full.
    Aborted {
        /// What was attempted, on what, and what came back.
        reason: String,
    },
    /// What sources and sinks of background traffic counted in about a second that ends now.
    Background(BackgroundReading),
    /// Background traffic ended: at the end of the run, or before, with a failure.
    BackgroundEnded(BackgroundEnd),
    /// What was counted inside of the server during operations of one row.
    Inside(InsideBatch),
    /// The system calls of the server during operations of one row, in a pass that is not timed.
    Traced(TracedRow),
    /// The server makes calls that are no system calls: how often it reads, writes and flushes is not known.
    UnseenCalls {
        /// By which interface.
        by: AsyncInterface,
    },
    /// What the processes of the server executed during operations of one row, in another pass that is not timed.
    Flame(FlameRow),
    /// Times that the server gives for operations of one row.
    ServerTimes(ServerTimes),
    /// Where the responses of one row came from.
    Origins(RowOrigins),
    /// How the access log of the server was joined to the operations of the run.
    AccessLog(AccessLogRecord),
    /// The user ended the run.
    Interrupted,
}

/// What ended a measurement before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum EndedBy {
    /// A step of the suite: `end: test`, or `end: run`.
    Step {
        /// The test that it ended; `None` for the run.
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
    /// What it measures; `None` for set-up.
    pub measure: Option<MeasureId>,
    /// The evidence as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// Why a response is not what a step expects, where `stats::diagnose` has a rule about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Cause {
    /// A status that means that the server does not support the step.
    Status {
        /// Which.
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
    /// A PROPFIND with Depth: infinity was answered as one with another depth.
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
    /// Why it is still there.
    pub reason: String,
    /// It belongs to this run, not to an earlier one.
    pub own: bool,
}

/// How near a load run came to the interval that was to become narrow enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Half the 95 % interval as a share of the estimate, of the operation that is farthest from
    /// the goal; `None` where there were too few operations.
    pub half_width: Option<f64>,
    /// It was narrow enough.
    pub reached: bool,
}
