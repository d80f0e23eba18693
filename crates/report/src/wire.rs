//! The JSON document, as types of their own: what programs read must not change because an
//! internal type does. The published schema, `docs/result.schema.json`, is made from these.
//!
//! Times are in microseconds as numbers with at most three decimals, exact to the nanosecond.
//! A field is always there; what is not known is `null`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Version of the document; raised when a reader of the older one would misread it.
pub const SCHEMA_VERSION: u32 = 1;

/// Result of one run of Prestan.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, title = "Prestan result")]
pub(crate) struct Document {
    /// Version of this schema.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(crate) schema_version: u32,
    /// The program that measured.
    pub(crate) prestan: Program,
    /// Names the run, and the collection `PrestanTest-<run_id>/` below which it worked.
    pub(crate) run_id: String,
    /// The suite that was run.
    pub(crate) suite: Suite,
    /// Parameters of the suite, resolved.
    pub(crate) params: BTreeMap<String, serde_json::Value>,
    /// URL of the collection below which the run worked, without user information.
    pub(crate) target: String,
    /// What the server said of itself; null when it was never reached.
    pub(crate) server: Option<Server>,
    /// Which clock gave the moments of an operation.
    pub(crate) clock: Clock,
    /// What a clock in user space would have added to the response times, over all operations;
    /// null but with the kernel's clock.
    pub(crate) bias_us: Option<Bias>,
    /// Expected operations without a response time, because the kernel's time stamps never came.
    pub(crate) missed: u64,
    /// The machine that sent the requests.
    pub(crate) machine: Machine,
    /// How much load there was, and for how long.
    pub(crate) load: Load,
    /// Start of the run, RFC 3339, UTC.
    pub(crate) started_at: String,
    /// End of the run, RFC 3339, UTC; null in a run that was cut off.
    pub(crate) ended_at: Option<String>,
    /// Whether the run went through to its end.
    pub(crate) complete: Complete,
    /// How near a load run came to what it was to go on for (`load.until`); null without that.
    pub(crate) goal: Option<Goal>,
    /// Operations of all tests that began outside the measurement window.
    pub(crate) left_out: u64,
    /// What the run comes to: the worst of its rows.
    pub(crate) conclusion: Conclusion,
    /// Which rows are inconclusive, and why; null where none is.
    pub(crate) inconclusive: Option<String>,
    /// The warnings of all rows, each once, and those about the run as a whole.
    pub(crate) warnings: Vec<Warning>,
    /// How the generator fared: an entry for each test of which the record tells it.
    pub(crate) generator: Vec<Generator>,
    /// Collections of Prestan that are still on the server.
    pub(crate) left_behind: Vec<LeftBehind>,
    /// One entry for each row of the report, in the order of the suite.
    pub(crate) tests: Vec<Test>,
    /// What the pages of the suite came to; null where it has none.
    pub(crate) webstone: Option<crate::webstone::WebStone>,
}

/// The program that measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Program {
    /// Its version.
    pub(crate) version: String,
}

/// Identity of a suite: two runs with the same hash and parameters did the same.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Suite {
    /// Name.
    pub(crate) name: String,
    /// Version the suite gives itself.
    pub(crate) version: u32,
    /// One line about it.
    pub(crate) title: String,
    /// SHA-256 of the suite file, in lower-case hexadecimal.
    pub(crate) sha256: String,
}

/// What the server said of itself in its answer to OPTIONS.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Server {
    /// `Server` header.
    pub(crate) software: Option<String>,
    /// Tokens of all `DAV` headers: the classes of RFC 4918, section 18, and extensions.
    pub(crate) dav: Vec<String>,
    /// Tokens of all `Allow` headers.
    pub(crate) allow: Vec<String>,
    /// Version of HTTP in the answer.
    pub(crate) http: String,
}

/// How near a load run came to the interval that was to become narrow enough.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Goal {
    /// Half the 95 % interval in percent of the estimate, of the operation that is farthest from
    /// the goal; null where there were too few operations to tell.
    pub(crate) half_width_percent: Option<f64>,
    /// It was narrow enough.
    pub(crate) reached: bool,
}

/// Which clock gave the moments of an operation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Clock {
    /// Read in user space around the system calls.
    User,
    /// Time stamps that the kernel takes where packets leave and arrive.
    Kernel,
}

/// The machine that sent the requests.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Machine {
    /// Operating system and kernel release.
    pub(crate) os: String,
    /// Model name of the processor.
    pub(crate) cpu: String,
    /// Logical processors available to the process.
    pub(crate) cores: u32,
    /// Physical memory in bytes.
    pub(crate) memory_bytes: u64,
}

/// The load of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Load {
    /// Users at work at the same time, each on a connection of its own. In an open loop, the
    /// connections.
    pub(crate) users: u32,
    /// Who decides when an operation begins.
    pub(crate) pace: Pace,
    /// Times each user goes through the loop of a test, and in a load run operations of all users
    /// together; null where something else decides.
    pub(crate) requests: Option<u64>,
    /// Seconds each test is measured; null where something else decides.
    pub(crate) duration_s: Option<f64>,
    /// The interval that was to become narrow enough, `p99 ±5%` for example; null without one.
    pub(crate) until: Option<String>,
    /// How connections are used.
    pub(crate) http: Http,
    /// The operations of a load run come in the order of the suite, not drawn by their weights.
    pub(crate) in_turn: bool,
    /// Times each user goes through the loop before measuring, unrecorded.
    pub(crate) warmup: u32,
    /// Seconds each user does so at the least; only in load runs.
    pub(crate) warmup_s: f64,
    /// Seconds after which an operation without a complete response is given up.
    pub(crate) timeout_s: f64,
    /// Seed of everything random in the run.
    pub(crate) seed: u64,
}

/// Who decides when an operation begins.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "model", rename_all = "snake_case")]
#[schemars(deny_unknown_fields)]
pub(crate) enum Pace {
    /// Users go through the loops of a suite, test by test.
    Rounds,
    /// Closed loop: each user begins an operation when its last one has ended.
    Closed,
    /// Open loop: a schedule decides, whatever the server does.
    Open {
        /// How the times are spread.
        arrivals: Arrivals,
        /// One rate after the other.
        stages: Vec<Stage>,
        /// Operations that may wait for a free connection; those beyond are dropped.
        max_waiting: u32,
    },
}

/// How the planned times of an open loop are spread.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Arrivals {
    /// The same distance between any two.
    Constant,
    /// Exponentially distributed distances.
    Poisson,
}

/// A time of an open loop with one rate.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Stage {
    /// Operations planned a second.
    pub(crate) rate: f64,
    /// Seconds.
    pub(crate) duration_s: f64,
}

/// How connections are used.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Http {
    /// Version in requests: `1.1` or `1.0`.
    pub(crate) version: String,
    /// Whether a connection is used for more than one operation.
    pub(crate) keep_alive: bool,
    /// Requests that may be under way on one connection at a time.
    pub(crate) pipeline: u32,
    /// Connections of one user, for the files of a page.
    pub(crate) parallel: u32,
    /// Every TLS handshake was a full one, because `--tls-resumption off` was given; false in runs that
    /// were recorded before this was.
    pub(crate) full_handshakes: bool,
}

/// What a row or a run comes to. Of several, a failure goes before an inconclusive row, and that
/// before a pass.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Conclusion {
    /// What was asked for was done, and its estimates describe the server.
    Pass,
    /// A warning disqualifies the row, or the load generator may have caused its failures.
    Inconclusive,
    /// The server failed.
    Fail,
}

/// How the generator fared while a test was measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Generator {
    /// Name of the test.
    pub(crate) test: String,
    /// Worker threads.
    pub(crate) workers: u32,
    /// Seconds that were measured.
    pub(crate) wall_s: f64,
    /// Processor time of the workers, as a share of all their time.
    pub(crate) cpu_share: f64,
    /// Time in which workers could have run and had no processor, as a share of all their time;
    /// null where the system does not tell.
    pub(crate) queued_share: Option<f64>,
    /// Seconds, of all worker threads together, in which they stalled.
    pub(crate) stalled_s: f64,
    /// How many stalls there were; 0 in records made before they were counted.
    pub(crate) stalls: u64,
    /// The longest of them.
    pub(crate) longest_stall_us: f64,
    /// How late operations began by the generator's own fault; null but in an open loop.
    pub(crate) lateness_us: Option<Lateness>,
    /// How often this machine refused a resource.
    pub(crate) exhausted: Exhausted,
}

/// How late operations began, in microseconds. All of them are described, so nothing of it has an
/// interval.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Lateness {
    /// Operations.
    pub(crate) n: u64,
    /// Median. It has no interval.
    pub(crate) p50: f64,
    /// 99th percentile. It has no interval.
    pub(crate) p99: f64,
    /// Maximum.
    pub(crate) max: f64,
}

/// How often a resource of this machine was refused.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Exhausted {
    /// Local ports.
    pub(crate) ports: u64,
    /// Open files.
    pub(crate) files: u64,
    /// Memory for sockets.
    pub(crate) buffers: u64,
}

/// What a clock in user space would have added to response times, in microseconds; negative where
/// it would have said less.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Bias {
    /// Operations of which both are known.
    pub(crate) n: u64,
    /// Median.
    pub(crate) p50: f64,
    /// 99th percentile.
    pub(crate) p99: f64,
    /// 95 % intervals of both, in this order; null as in the times of a row.
    pub(crate) percentiles_ci95: [Option<[f64; 2]>; 2],
}

/// A range of times and how many fell into it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Bar {
    /// Least time of the range, in microseconds.
    pub(crate) from_us: f64,
    /// The range ends before this time; the last one includes it.
    pub(crate) to_us: f64,
    /// Response times, from *sent*.
    pub(crate) response: u64,
    /// Times from *planned*.
    pub(crate) planned: u64,
}

/// Whether a run went through to its end.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Complete {
    /// How it ended.
    pub(crate) state: State,
    /// Why it was aborted; null otherwise.
    pub(crate) reason: Option<String>,
}

/// How a run ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// All of it was done.
    Complete,
    /// The user ended it.
    Interrupted,
    /// It could not go on.
    Aborted,
}

/// A warning about rows.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Warning {
    /// Which warning: a word of a list that may grow.
    pub(crate) kind: String,
    /// In words, with what to do about it.
    pub(crate) text: String,
    /// The rows or tests it is about; empty for one about the run as a whole.
    pub(crate) about: Vec<Share>,
}

/// A part of a whole, of one row or test.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Share {
    /// Name of the row or test.
    pub(crate) name: String,
    /// The part; of times, in nanoseconds.
    pub(crate) count: u64,
    /// The whole, or the limit.
    pub(crate) of: u64,
}

/// A collection of Prestan that is still on the server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LeftBehind {
    /// URL of the collection.
    pub(crate) url: String,
    /// Why it is still there.
    pub(crate) reason: String,
    /// It belongs to this run, not to an earlier one.
    pub(crate) own: bool,
}

/// One row of the report.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Test {
    /// Name of the row.
    pub(crate) name: String,
    /// HTTP method whose time it is.
    pub(crate) method: String,
    /// What became of it.
    pub(crate) status: Status,
    /// Why it is not ok; null when it is.
    pub(crate) evidence: Option<String>,
    /// Operations by outcome. They add up to `operations`.
    pub(crate) outcomes: Outcomes,
    /// Operations that count: those that began in the measurement window.
    pub(crate) operations: u64,
    /// Operations outside that time; they are in no other number but `left_out_outcomes`.
    pub(crate) left_out: u64,
    /// Operations outside that time by outcome. They add up to `left_out`.
    pub(crate) left_out_outcomes: Outcomes,
    /// Expected answers that came before the whole request was sent: they have no response time.
    pub(crate) early: u64,
    /// Expected answers without a response time, because the kernel's time stamps never came.
    pub(crate) missed: u64,
    /// Response times, last request byte to first response byte; null without any.
    pub(crate) response_us: Option<Distribution>,
    /// Times from the planned beginning to the first response byte: what somebody waits who comes
    /// when the schedule says. Null but in an open loop.
    pub(crate) planned_us: Option<Distribution>,
    /// Times from the start to the acknowledgement of the last request byte; null where that was
    /// not asked for.
    pub(crate) upload_us: Option<Distribution>,
    /// What a clock in user space would have added to the response times; null but with the
    /// kernel's clock.
    pub(crate) bias_us: Option<Bias>,
    /// Response times and times from the planned beginning side by side, in ranges that grow by a
    /// constant factor; empty but in an open loop.
    pub(crate) histogram: Vec<Bar>,
    /// Total times, start to last response byte, connecting included; null without any.
    pub(crate) total_us: Option<Distribution>,
    /// Connections opened by the operations that count.
    pub(crate) connects: Connects,
    /// Bytes of the requests that count.
    pub(crate) bytes_sent: u64,
    /// Bytes of the responses that count.
    pub(crate) bytes_received: u64,
    /// Seconds in which all users were at work; null without any. Rows of one test share it.
    pub(crate) window_s: Option<f64>,
    /// Expected operations in that time, a second.
    pub(crate) per_second: Option<f64>,
    /// Its 95 % interval; null with fewer than 20 of them or a window too short for one, in a
    /// schedule whose rate changes, and in a run that took turns with others.
    pub(crate) per_second_ci95: Option<[f64; 2]>,
    /// The rate went up or down over times that are not short beside the window, so that the
    /// interval may be too narrow.
    pub(crate) wanders: bool,
    /// Descriptions of the first failures.
    pub(crate) failures: Vec<String>,
    /// Remarks that are no failures.
    pub(crate) notes: Vec<String>,
    /// What the row comes to.
    pub(crate) conclusion: Conclusion,
    /// The warning for which its estimates do not describe the server; null where there is none.
    pub(crate) disqualified: Option<String>,
    /// The kinds of all warnings about the row.
    pub(crate) warnings: Vec<String>,
}

/// What became of a test.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// It was measured, and no operation failed.
    Ok,
    /// Something failed, or nothing was measured.
    Failed,
    /// The server does not have the method, or does not claim what the test needs.
    NotSupported,
    /// Not measured, because the server does not have another method that the test needs before.
    Skipped,
    /// Chance chose among the operations of its test, and never this one.
    NotDrawn,
}

/// A count for each outcome. Every operation ends in exactly one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Outcomes {
    /// The answer was the expected one.
    pub(crate) ok: u64,
    /// The status was not one that the test expects.
    pub(crate) wrong_status: u64,
    /// The status was right, and length, content, properties or members were not.
    pub(crate) wrong_body: u64,
    /// The server does not have the method or the feature.
    pub(crate) unsupported: u64,
    /// The server understood and declined.
    pub(crate) refused: u64,
    /// No connection could be opened, or TLS could not be agreed upon.
    pub(crate) connect_failed: u64,
    /// No complete answer within the time limit.
    pub(crate) timeout: u64,
    /// The connection ended before the answer did.
    pub(crate) reset: u64,
    /// The answer was not HTTP, or broke a bound.
    pub(crate) protocol_error: u64,
    /// Planned and never sent.
    pub(crate) dropped: u64,
    /// Cut off by an interruption.
    pub(crate) cancelled: u64,
}

/// A set of times, in microseconds. Percentiles are by the nearest rank: exact for up to 65,536
/// times, and within 0.05 % for more.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Distribution {
    /// Number of times.
    pub(crate) n: u64,
    /// Arithmetic mean.
    pub(crate) mean: f64,
    /// 95 % interval of the mean, from batch means; null for one time.
    pub(crate) ci95: Option<[f64; 2]>,
    /// Standard deviation; null for one time. It has no interval: none covers 95 % where times have a
    /// long tail.
    pub(crate) sd: Option<f64>,
    /// Least.
    pub(crate) min: f64,
    /// Median.
    pub(crate) p50: f64,
    /// 90th percentile.
    pub(crate) p90: f64,
    /// 95th percentile; the maximum when n is below 20.
    pub(crate) p95: f64,
    /// 99th percentile; the maximum when n is below 100.
    pub(crate) p99: f64,
    /// 99.9th percentile; the maximum when n is below 1000.
    pub(crate) p999: f64,
    /// Greatest.
    pub(crate) max: f64,
    /// 95 % intervals of p50, p90, p95, p99 and p99.9, in this order (Woodruff 1952); null with fewer
    /// than 10 times beyond the percentile, and where the interval would reach beyond the times.
    pub(crate) percentiles_ci95: [Option<[f64; 2]>; 5],
}

/// Connections opened by the operations of a row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Connects {
    /// Operations for which a connection was opened.
    pub(crate) count: u64,
    /// TCP handshakes of those with an expected answer; null without any.
    pub(crate) tcp_us: Option<Distribution>,
    /// Full TLS handshakes of those with an expected answer; null without any. Runs of format 3 did
    /// not tell resumed ones apart: all of theirs are here.
    pub(crate) tls_us: Option<Distribution>,
    /// TLS handshakes of those with an expected answer that resumed a session; null without any.
    pub(crate) tls_resumed_us: Option<Distribution>,
    /// Operations whose request was sent once more, because a kept connection had died or a
    /// Digest nonce had run out.
    pub(crate) resent: u64,
}
