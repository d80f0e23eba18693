//! The JSON document. The published schema, `docs/result.schema.json`, is made from these types.
//!
//! Times are in microseconds as numbers with at most three decimals, exact to the nanosecond.
//! A field is always there; what is not known is `null`. Only what few runs have is absent in the others, because
//! of a page with many rows it would be a large part: segments of connections, and uses of connections by test and
//! page.
//!
//! Types of `record` and `stats` stand here as they are, unless the document has other units, rounded or
//! derived numbers, or fields that the files of a run leave out ([`LoadJson`], [`HttpJson`]).

use std::collections::BTreeMap;

use record::{
    AdaptRecord, AddressChoice, Clock, ConstraintSense, Exhausted, LeftBehind, Machine, NoteRecord,
    Pace, SuiteRecord, TimeUnit, Verify,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Conclusion, Share, Status};

use crate::background::BackgroundJson;
use crate::inside::InsideJson;
use crate::json::SeedJson;
use crate::load_steps::LoadStepJson;
use crate::server_view::ServerViewJson;
use crate::surroundings::ServerJson;
use crate::targets::TargetJson;

/// Version of the document; raised when a reader of the older one would misread it.
pub const SCHEMA_VERSION: u32 = 3;

/// Result of one run of Prestan.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields, title = "Prestan result")]
pub(crate) struct ResultDocument {
    /// Version of this schema.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(crate) schema_version: u32,
    /// The program that measured.
    pub(crate) prestan: Program,
    /// Names the run, and the collection `PrestanTest-<run_id>/` below which it worked.
    pub(crate) run_id: String,
    /// The suite that was run.
    pub(crate) suite: SuiteRecord,
    /// Parameters of the suite, resolved.
    pub(crate) params: BTreeMap<String, serde_json::Value>,
    /// URL of the collection below which the run worked, without user information; the label of the server where
    /// it has one (`--label`).
    pub(crate) target: String,
    /// What the server tells about itself; null when it was never reached. Of a server with a label, what
    /// identifies it is left out.
    pub(crate) server: Option<ServerJson>,
    /// The clock that gave the moments of an operation.
    pub(crate) clock: Clock,
    /// By how much a user-space clock would have over-reported response times, over all operations; null
    /// unless the kernel's clock was used.
    pub(crate) bias_us: Option<BiasJson>,
    /// Expected operations without a response time, because the kernel's time stamps are missing.
    pub(crate) missed: u64,
    /// The machine that sent the requests.
    pub(crate) machine: Machine,
    /// The command line of a run of WebSTONE, with redacted credentials; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// What is said about the run (`--note`); absent where nothing is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<NoteRecord>,
    /// How much load there was, and for how long.
    pub(crate) load: LoadJson,
    /// Start of the run, RFC 3339, UTC.
    pub(crate) started_at: String,
    /// End of the run, RFC 3339, UTC; null in a run that was cut off.
    pub(crate) ended_at: Option<String>,
    /// Whether the run was completed.
    pub(crate) complete: CompletenessJson,
    /// How close a load run came to its goal (`load.until`); null without a goal.
    pub(crate) goal: Option<GoalJson>,
    /// What the load came to with each number of users; absent where it did not change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) load_steps: Vec<LoadStepJson>,
    /// Why measurements ended before their time; absent where none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ended_early: Vec<String>,
    /// The servers of a suite that has several, with the rows that are measured there; absent where it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) targets: Vec<TargetJson>,
    /// The roles of the tests, with the rows that their users measure; absent where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) roles: Vec<RoleJson>,
    /// Operations of all tests that began outside the measurement window.
    pub(crate) left_out: u64,
    /// Conclusion of the run: the worst of its rows and constraints.
    pub(crate) conclusion: Conclusion,
    /// Which rows are inconclusive, and why; null where none is.
    pub(crate) inconclusive: Option<String>,
    /// The warnings of all rows, each once, and those about the run as a whole.
    pub(crate) warnings: Vec<WarningJson>,
    /// How the load generator fared: an entry for each test of which it was recorded.
    pub(crate) generator: Vec<GeneratorJson>,
    /// Leftovers on the server: collections of Prestan.
    pub(crate) left_behind: Vec<LeftBehind>,
    /// One entry for each row of the report, in the order of the suite.
    pub(crate) tests: Vec<TestJson>,
    /// Constraints and what became of them, judged with 99.8 % intervals.
    pub(crate) constraints: Vec<ConstraintJson>,
    /// Results of the pages of the suite; null where it has none.
    pub(crate) webstone: Option<crate::webstone::WebStone>,
    /// Background traffic beside the run; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) background: Option<BackgroundJson>,
    /// What operations cost inside of the server; absent where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inside: Option<InsideJson>,
    /// Times that the server gives; absent where it gives none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_view: Option<ServerViewJson>,
    /// What loads that went on beside the run came to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) beside: Vec<BesideJson>,
}

/// Users of a test that have a loop of their own.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Role", deny_unknown_fields)]
pub(crate) struct RoleJson {
    /// Its name.
    pub(crate) name: String,
    /// Name of its test.
    pub(crate) test: String,
    /// Users that had it.
    pub(crate) users: u32,
    /// Names of the rows that they measure.
    pub(crate) rows: Vec<String>,
}

/// A load that went on beside a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct BesideJson {
    /// What it is called.
    pub(crate) name: String,
    /// Its result.
    pub(crate) result: ResultDocument,
}

/// A constraint and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Constraint", deny_unknown_fields)]
pub(crate) struct ConstraintJson {
    /// Its name in the suite, or the option that it was given with.
    pub(crate) name: String,
    /// Its expression.
    pub(crate) expression: String,
    /// What it means when the expression is true.
    pub(crate) sense: ConstraintSense,
    /// What it came to.
    pub(crate) verdict: Conclusion,
    /// The figures that it was judged by.
    pub(crate) readings: Vec<ReadingJson>,
}

/// A figure that a constraint was judged by. Times are in microseconds, rates in operations or bytes a second,
/// shares from 0 to 1.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Reading", deny_unknown_fields)]
pub(crate) struct ReadingJson {
    /// `p99(Get1K)`.
    pub(crate) characteristic: String,
    /// The fact or the estimate; null where it is unknown.
    pub(crate) value: Option<f64>,
    /// The 99.8 % interval of an estimate; null of a fact, and where it is unknown. An upper end that is unknown is
    /// null.
    pub(crate) interval: Option<[Option<f64>; 2]>,
    /// Why it, or its interval, is unknown; null where it is known.
    pub(crate) unknown: Option<String>,
}

/// The program that measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Program {
    /// Its version.
    pub(crate) version: String,
}

/// How close a load run came to an interval that is narrow enough.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Goal", deny_unknown_fields)]
pub(crate) struct GoalJson {
    /// Half the 95 % interval in percent of the estimate, of the operation that is farthest from
    /// the goal; null where there were too few operations.
    pub(crate) half_width_percent: Option<f64>,
    /// It was narrow enough.
    pub(crate) reached: bool,
}

/// The load of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Load", deny_unknown_fields)]
pub(crate) struct LoadJson {
    /// Concurrent users, each with a connection of its own. In an open loop, the connections.
    pub(crate) users: u32,
    /// What decides when an operation begins.
    pub(crate) pace: Pace,
    /// Iterations of the loop of a test for each user, and in a load run operations of all users
    /// together; null where something else decides.
    pub(crate) requests: Option<u64>,
    /// Seconds for which each test is measured; null where something else decides.
    pub(crate) duration_s: Option<f64>,
    /// Goal for the width of an interval, `p99 ±5%` for example; null without a goal.
    pub(crate) until: Option<String>,
    /// How connections are used.
    pub(crate) http: HttpJson,
    /// How tests use connections whose suite gives that, by their names; absent where there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) http_of_tests: BTreeMap<String, HttpJson>,
    /// How much of responses is verified, each way that some row has once; absent where that is `first` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verify: Option<Vec<Verify>>,
    /// The operations of a load run are sent in the order of the suite, not drawn by weight.
    pub(crate) in_turn: bool,
    /// How the number of users changed with what was measured; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) adapt: Option<AdaptRecord>,
    /// Iterations of the loop for each user before measuring, not recorded.
    pub(crate) warmup: u32,
    /// Minimum of that in seconds; only in load runs.
    pub(crate) warmup_s: f64,
    /// Seconds after which an operation without a complete response is aborted.
    pub(crate) timeout_s: f64,
    /// Seed of all random numbers of the run.
    pub(crate) seed: SeedJson,
}

/// How connections are used.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Http", deny_unknown_fields)]
pub(crate) struct HttpJson {
    /// Version in requests: `1.0`, `1.1` or `2`.
    pub(crate) version: String,
    /// Whether a connection is used for more than one operation.
    pub(crate) keep_alive: bool,
    /// Requests in flight on one connection: a pipeline, with HTTP/2 streams.
    pub(crate) pipeline: u32,
    /// Connections of one user, for the files of a page.
    pub(crate) parallel: u32,
    /// The connections of a page are closed at its end; absent where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) per_page: bool,
    /// All files of a page are requested when it begins; absent where the others are requested after the
    /// response to its first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) at_once: bool,
    /// Every TLS handshake was a full one (`--tls-resumption off`).
    pub(crate) full_handshakes: bool,
    /// Flow-control window for each stream and for the connection, in bytes; null before HTTP/2.
    pub(crate) window: Option<u32>,
    /// Nagle's algorithm was left on (`--nagle`); absent where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) nagle: bool,
    /// Head and body of requests were sent by a system call each (`--two-writes`); absent where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) two_writes: bool,
    /// Which of several addresses of the host connections went to (`--addresses`); absent where the first.
    #[serde(skip_serializing_if = "AddressChoice::is_first")]
    pub(crate) addresses: AddressChoice,
    /// Connections began with a line of the PROXY protocol (`--haproxy-protocol`); absent where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) haproxy_protocol: bool,
}

/// How the load generator fared while a test was measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Generator", deny_unknown_fields)]
pub(crate) struct GeneratorJson {
    /// Name of the test.
    pub(crate) test: String,
    /// Worker threads.
    pub(crate) workers: u32,
    /// Seconds that were measured.
    pub(crate) wall_s: f64,
    /// Processor time of the workers, as a share of all their time.
    pub(crate) cpu_share: f64,
    /// Time in which workers were ready to run and had no processor, as a share of all their time; null
    /// where the system does not report it.
    pub(crate) queued_share: Option<f64>,
    /// Seconds, of all worker threads together, in which they stalled.
    pub(crate) stalled_s: f64,
    /// How many stalls there were; 0 in records made before they were counted.
    pub(crate) stalls: u64,
    /// The longest of them.
    pub(crate) longest_stall_us: f64,
    /// How late operations began because of the load generator; null unless the loop is open.
    pub(crate) lateness_us: Option<LatenessJson>,
    /// How often this machine refused a resource.
    pub(crate) exhausted: Exhausted,
}

/// How late operations began, in microseconds. All of them are described, so nothing of it has an
/// interval.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Lateness", deny_unknown_fields)]
pub(crate) struct LatenessJson {
    /// Operations.
    pub(crate) n: u64,
    /// Median. It has no interval.
    pub(crate) p50: f64,
    /// 99th percentile. It has no interval.
    pub(crate) p99: f64,
    /// Maximum.
    pub(crate) max: f64,
}

/// By how much a user-space clock would have over-reported response times, in microseconds; negative
/// where it would have under-reported them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Bias", deny_unknown_fields)]
pub(crate) struct BiasJson {
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
#[schemars(rename = "Bar", deny_unknown_fields)]
pub(crate) struct BarJson {
    /// Least time of the range, in microseconds.
    pub(crate) from_us: f64,
    /// The range ends before this time; the last one includes it.
    pub(crate) to_us: f64,
    /// Response times, from *sent*.
    pub(crate) response: u64,
    /// Latencies from schedule.
    pub(crate) planned: u64,
}

/// Whether a run was completed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Complete", deny_unknown_fields)]
pub(crate) struct CompletenessJson {
    /// How it ended.
    pub(crate) state: RunEnding,
    /// Why it was aborted; null otherwise.
    pub(crate) reason: Option<String>,
}

/// How a run ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "State")]
pub(crate) enum RunEnding {
    /// It was completed.
    Complete,
    /// The user interrupted it.
    Interrupted,
    /// An error ended it.
    Aborted,
}

/// A warning about rows.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Warning", deny_unknown_fields)]
pub(crate) struct WarningJson {
    /// Which warning: a word of a list that may grow.
    pub(crate) kind: String,
    /// The warning, with what to do about it.
    pub(crate) text: String,
    /// The rows or tests it is about; empty for one about the run as a whole.
    pub(crate) about: Vec<Share>,
}

/// One row of the report.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Test", deny_unknown_fields)]
pub(crate) struct TestJson {
    /// Name of the row, as in the column `measure` of the samples.
    pub(crate) measure: String,
    /// What the suite says of its test beside the name; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// HTTP method that is measured.
    pub(crate) method: String,
    /// The unit in which reports for people show its times; absent where the suite declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<TimeUnit>,
    /// Its status.
    pub(crate) status: Status,
    /// Why it is not ok; null when it is.
    pub(crate) evidence: Option<String>,
    /// Operations by outcome. They add up to `operations`.
    pub(crate) outcomes: OutcomesJson,
    /// Operations that count: those that began in the measurement window.
    pub(crate) operations: u64,
    /// Operations outside that time; they are in no other number but `left_out_outcomes`.
    pub(crate) left_out: u64,
    /// Operations outside that time by outcome. They add up to `left_out`.
    pub(crate) left_out_outcomes: OutcomesJson,
    /// Expected responses that arrived before the whole request was sent: they have no response time.
    pub(crate) early: u64,
    /// Expected responses without a response time, because the kernel's time stamps are missing.
    pub(crate) missed: u64,
    /// Response times, last request byte to first response byte; null without any.
    pub(crate) response_us: Option<DistributionJson>,
    /// Latencies from schedule: from the scheduled start to the first response byte. Null unless the loop
    /// is open.
    pub(crate) planned_us: Option<DistributionJson>,
    /// Times from the start to the acknowledgement of the last request byte; null where that was
    /// not asked for.
    pub(crate) upload_us: Option<DistributionJson>,
    /// By how much a user-space clock would have over-reported response times; null unless the kernel's
    /// clock was used.
    pub(crate) bias_us: Option<BiasJson>,
    /// Response times and, of an open loop, latencies from schedule, in ranges that grow by a constant
    /// factor; empty but in a load.
    pub(crate) histogram: Vec<BarJson>,
    /// Total times, start to last response byte, connecting included; null without any.
    pub(crate) total_us: Option<DistributionJson>,
    /// Connections opened by the operations that count.
    pub(crate) connects: ConnectsJson,
    /// Bytes of the requests that count.
    pub(crate) bytes_sent: u64,
    /// Bytes of the responses that count.
    pub(crate) bytes_received: u64,
    /// Length of the measurement window in seconds; null without one. Rows of one test share it.
    pub(crate) window_s: Option<f64>,
    /// Expected operations per second in that window.
    pub(crate) per_second: Option<f64>,
    /// Its 95 % interval; null with fewer than 20 of them or a window too short for one, in a
    /// schedule whose rate changes, and in a run that took turns with others.
    pub(crate) per_second_ci95: Option<[f64; 2]>,
    /// The rate went up or down over times that are not short beside the window, so that the
    /// interval may be too narrow.
    pub(crate) wanders: bool,
    /// Why the test could not be measured, and failed operations by how they ended, inside the window and
    /// outside, the most frequent first.
    pub(crate) failures: Vec<FailureJson>,
    /// Remarks that are no failures.
    pub(crate) notes: Vec<String>,
    /// Conclusion of the row.
    pub(crate) conclusion: Conclusion,
    /// The warning for which its estimates do not describe the server; null where there is none.
    pub(crate) disqualified: Option<String>,
    /// The kinds of all warnings about the row.
    pub(crate) warnings: Vec<String>,
    /// Expected responses that came from a cache; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cached: Option<crate::origins::CachedJson>,
    /// Expected responses from each address of a server that has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) addresses: Vec<crate::origins::AddressJson>,
}

/// Failures that ended alike.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Failure", deny_unknown_fields)]
pub(crate) struct FailureJson {
    /// How these operations ended; null for a reason why the test could not be measured.
    pub(crate) outcome: Option<&'static str>,
    /// Status of their responses; null without a response.
    pub(crate) status: Option<u16>,
    /// How many operations these are; 0 where the test could not be measured.
    pub(crate) count: u64,
    /// When the first of them ended, in seconds from the beginning of the window on; null where the window has less than a
    /// second, and for several runs.
    pub(crate) first_s: Option<f64>,
    /// When the last of them did.
    pub(crate) last_s: Option<f64>,
    /// One of them: the request, and what came back; null where the record describes none.
    pub(crate) example: Option<String>,
}

/// A count for each outcome. Every operation ends in exactly one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Outcomes", deny_unknown_fields)]
pub(crate) struct OutcomesJson {
    /// The response was as expected.
    pub(crate) ok: u64,
    /// The status was not one that the test expects.
    pub(crate) wrong_status: u64,
    /// The status was right, and length, content, properties or members were not.
    pub(crate) wrong_body: u64,
    /// The server does not have the method or the feature.
    pub(crate) unsupported: u64,
    /// The server understood and declined.
    pub(crate) refused: u64,
    /// No connection could be opened, or the TLS handshake failed.
    pub(crate) connect_failed: u64,
    /// No complete response within the timeout.
    pub(crate) timeout: u64,
    /// The connection ended before the response did.
    pub(crate) reset: u64,
    /// The response was not valid HTTP, or exceeded a limit.
    pub(crate) protocol_error: u64,
    /// Scheduled and never sent.
    pub(crate) dropped: u64,
    /// Ended by an interruption.
    pub(crate) cancelled: u64,
}

/// A set of times, in microseconds. Percentiles are by the nearest rank: exact for up to 65,536
/// times, and within 0.05 % for more.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Distribution", deny_unknown_fields)]
pub(crate) struct DistributionJson {
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
#[schemars(rename = "Connects", deny_unknown_fields)]
pub(crate) struct ConnectsJson {
    /// Operations for which a connection was opened.
    pub(crate) count: u64,
    /// TCP handshakes of those with an expected response; null without any.
    pub(crate) tcp_us: Option<DistributionJson>,
    /// Full TLS handshakes of those with an expected response; null without any.
    pub(crate) tls_us: Option<DistributionJson>,
    /// TLS handshakes of those with an expected response that resumed a session; null without any.
    pub(crate) tls_resumed_us: Option<DistributionJson>,
    /// Operations whose request was sent again, because a kept connection had been closed or a Digest
    /// nonce had expired.
    pub(crate) resent: u64,
    /// TCP segments sent on connections that ended with these operations, those that close them not
    /// included; absent where connections are kept, and where the system does not count segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) segments_sent: Option<u64>,
    /// TCP segments received on them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) segments_received: Option<u64>,
}
