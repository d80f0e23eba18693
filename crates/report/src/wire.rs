//! The JSON document. The published schema, `docs/result.schema.json`, is made from these types.
//!
//! Times are in microseconds as numbers with at most three decimals, exact to the nanosecond. A
//! field is always there; what is not known is `null`. Only what few runs have is absent in the
//! others, because of a page with many rows it would be a large part: segments of connections, and
//! uses of connections by test and page.
//!
//! Types of `record` and `stats` stand here as they are, unless the document has other units,
//! rounded or derived numbers, or fields that the files of a run leave out ([`LoadJson`]): then
//! their fields are declared here.

use std::collections::BTreeMap;

use record::{
    AdaptRecord, Clock, Exhausted, Goal, Http, Lateness, LeftBehind, Machine, NoteRecord, Pace,
    Server, SuiteRecord, Verify,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{
    Bias, Completeness, Conclusion, ConstraintReading, JudgedConstraint, LoadStep, ReadFigure,
    Share, TestSummary, UnitKind, Warning,
};

use crate::background::BackgroundJson;
use crate::constraints::why_unknown;
use crate::fields::{AsIs, Fields, IfAny, Unless, fields};
use crate::inside::InsideJson;
use crate::json::SeedJson;
use crate::json::us;
use crate::load::RoleUsers;
use crate::reasons::abort_reason;
use crate::server_view::ServerViewJson;
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
    /// URL of the collection below which the run worked, without user information; the label of the
    /// server where it has one (`--label`).
    pub(crate) target: String,
    /// What the server tells about itself; null when it was never reached. Of a server with a
    /// label, what identifies it is left out.
    pub(crate) server: Option<Fields<Server>>,
    /// The clock that gave the moments of an operation.
    pub(crate) clock: Clock,
    /// By how much a user-space clock would have over-reported response times, over all operations;
    /// null unless the kernel's clock was used.
    pub(crate) bias_us: Option<Fields<Bias>>,
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
    pub(crate) complete: Fields<Completeness>,
    /// How close a load run came to its goal (`load.until`); null without a goal.
    pub(crate) goal: Option<Fields<Goal>>,
    /// What the load came to with each number of users; absent where it did not change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) load_steps: Vec<Fields<LoadStep>>,
    /// Why measurements ended before their time; absent where none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ended_early: Vec<String>,
    /// The servers of a suite that has several, with the rows that are measured there; absent where
    /// it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) targets: Vec<TargetJson>,
    /// The roles of the tests, with the rows that their users measure; absent where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) roles: Vec<RoleUsers>,
    /// Operations of all tests that began outside the measurement window.
    pub(crate) left_out: u64,
    /// Conclusion of the run: the worst of its rows and constraints.
    pub(crate) conclusion: Conclusion,
    /// Which rows are inconclusive, and why; null where none is.
    pub(crate) inconclusive: Option<String>,
    /// The warnings of all rows, each once, and those about the run as a whole.
    pub(crate) warnings: Vec<Fields<Warning>>,
    /// How the load generator fared: an entry for each test of which it was recorded.
    pub(crate) generator: Vec<GeneratorJson>,
    /// Leftovers on the server: collections of Prestan.
    pub(crate) left_behind: Vec<LeftBehind>,
    /// One entry for each row of the report, in the order of the suite.
    pub(crate) tests: Vec<Fields<TestSummary>>,
    /// Constraints and what became of them, judged with 99.8 % intervals.
    pub(crate) constraints: Vec<Fields<JudgedConstraint>>,
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

/// A load that went on beside a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct BesideJson {
    /// What it is called.
    pub(crate) name: String,
    /// Its result.
    pub(crate) result: ResultDocument,
}

fields! {
    /// A constraint and what became of it.
    JudgedConstraint, "Constraint", |judged| {
        /// Its name in the suite, or the option that it was given with.
        name = judged.name.clone(),
        /// Its expression.
        expression = judged.expression.clone(),
        /// What it means when the expression is true.
        sense = AsIs(judged.sense),
        /// What it came to.
        verdict = AsIs(judged.verdict),
        /// The figures that it was judged by.
        readings = judged.readings.clone(),
    }
}

fields! {
    /// A figure that a constraint was judged by. Times are in microseconds, rates in operations or
    /// bytes a second, shares from 0 to 1.
    ConstraintReading, "Reading", |reading| {
        /// `p99(Get1K)`.
        characteristic = reading.characteristic.clone(),
        /// The fact or the estimate; null where it is unknown.
        value = reading.figure.value().map(|value| in_unit(reading.unit, value)),
        /// The 99.8 % interval of an estimate; null of a fact, and where it is unknown. An upper
        /// end that is unknown is null.
        interval = match reading.figure {
            ReadFigure::Estimate { low, high, .. } => Some([low, high].map(|end| {
                end.is_finite().then(|| in_unit(reading.unit, end))
            })),
            _ => None,
        },
        /// Why it, or its interval, is unknown; null where it is known.
        unknown = match &reading.figure {
            ReadFigure::Vague { why, .. } | ReadFigure::Unknown(why) => Some(why_unknown(why)),
            ReadFigure::Fact(_) | ReadFigure::Estimate { .. } => None,
        },
    }
}

/// A figure as documents have it: times in microseconds.
fn in_unit(unit: UnitKind, value: f64) -> f64 {
    match unit {
        UnitKind::TIME => us(value),
        _ => value,
    }
}

/// The program that measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Program {
    /// Its version.
    pub(crate) version: String,
}

fields! {
    /// How close a load run came to an interval that is narrow enough.
    Goal, "Goal", |goal| {
        /// Half the 95 % interval in percent of the estimate, of the operation that is farthest
        /// from the goal; null where there were too few operations.
        half_width_percent = goal.half_width.map(|width| width * 100.0),
        /// It was narrow enough.
        reached = goal.reached,
    }
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
    pub(crate) http: Fields<Http>,
    /// How tests use connections whose suite gives that, by their names; absent where there are
    /// none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) http_of_tests: BTreeMap<String, Fields<Http>>,
    /// How much of responses is verified, each way that some row has once; absent where that is
    /// `first` only.
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

fields! {
    /// How connections are used.
    Http, "Http", |http| {
        /// Version in requests: `1.0`, `1.1` or `2`.
        version = http.version.name().trim_start_matches("HTTP/").to_owned(),
        /// Whether a connection is used for more than one operation.
        keep_alive = http.keep_alive,
        /// Requests in flight on one connection: a pipeline, with HTTP/2 streams.
        pipeline = http.pipeline,
        /// Connections of one user, for the files of a page.
        parallel = http.parallel,
        /// The connections of a page are closed at its end; absent where not.
        per_page = IfAny(http.per_page),
        /// All files of a page are requested when it begins; absent where the others are requested
        /// after the response to its first.
        at_once = IfAny(http.at_once),
        /// Every TLS handshake was a full one (`--tls-resumption off`).
        full_handshakes = http.full_handshakes,
        /// Flow-control window for each stream and for the connection, in bytes; null before
        /// HTTP/2.
        window = http.window,
        /// Nagle's algorithm was left on (`--nagle`); absent where not.
        nagle = IfAny(http.nagle),
        /// Head and body of requests were sent by a system call each (`--two-writes`); absent where
        /// not.
        two_writes = IfAny(http.two_writes),
        /// Which of several addresses of the host connections went to (`--addresses`); absent where
        /// the first.
        addresses = Unless(http.addresses.is_first(), AsIs(http.addresses)),
        /// Connections began with a line of the PROXY protocol (`--haproxy-protocol`); absent where
        /// not.
        haproxy_protocol = IfAny(http.haproxy_protocol),
    }
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
    /// Time in which workers were ready to run and had no processor, as a share of all their time;
    /// null where the system does not report it.
    pub(crate) queued_share: Option<f64>,
    /// Seconds, of all worker threads together, in which they stalled.
    pub(crate) stalled_s: f64,
    /// How many stalls there were; 0 in records made before they were counted.
    pub(crate) stalls: u64,
    /// The longest of them.
    pub(crate) longest_stall_us: f64,
    /// How late operations began because of the load generator; null unless the loop is open.
    pub(crate) lateness_us: Option<Fields<Lateness>>,
    /// How often this machine refused a resource.
    pub(crate) exhausted: Exhausted,
}

fields! {
    /// How late operations began, in microseconds. All of them are described, so nothing of it has
    /// an interval.
    Lateness, "Lateness", |late| {
        /// Operations.
        n = late.n,
        /// Median. It has no interval.
        p50 = us(late.p50 as f64),
        /// 99th percentile. It has no interval.
        p99 = us(late.p99 as f64),
        /// Maximum.
        max = us(late.max as f64),
    }
}

fields! {
    /// Whether a run was completed.
    Completeness, "Complete", |complete| {
        /// How it ended.
        state = AsIs(match complete {
            Completeness::Complete => RunEnding::Complete,
            Completeness::Interrupted => RunEnding::Interrupted,
            Completeness::Aborted(_) => RunEnding::Aborted,
        }),
        /// Why it was aborted; null otherwise.
        reason = match complete {
            Completeness::Aborted(reason) => Some(abort_reason(reason.as_deref()).to_owned()),
            Completeness::Complete | Completeness::Interrupted => None,
        },
    }
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

fields! {
    /// A warning about rows.
    Warning, "Warning", |warning| {
        /// Which warning: a word of a list that may grow.
        kind = warning.kind.name(),
        /// The warning, with what to do about it.
        text = crate::warning(warning),
        /// The rows or tests it is about; empty for one about the run as a whole.
        about = warning.shares.clone(),
    }
}

fields! {
    /// A part of a whole, of one row or test.
    Share, "Share", |share| {
        /// Name of the row or test.
        name = share.name.clone(),
        /// The part; of times, in nanoseconds.
        count = share.count,
        /// The whole, or the limit.
        of = share.of,
    }
}
