//! Data of a recorded run, which every later step reads.
//!
//! `suite --> plan --> run --> samples --> summary`: this crate is the word *samples* in that line.
//! The engine writes a [`Run`], and `stats` and `report` read it. Nothing here uses a clock, a
//! socket or a file. All reports are pure functions of a [`Run`].

mod background;
mod columns;
mod environment;
mod event;
mod flame;
mod generator;
mod inside;
mod load;
mod origins;
mod outcome;
mod sample;
mod server_view;
mod unit;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use background::{
    BackgroundComponent, BackgroundCounts, BackgroundEnd, BackgroundGenerator,
    BackgroundGeneratorEnd, BackgroundPacing, BackgroundReading, BackgroundRecord,
    BackgroundStalls, BackgroundTotals,
};
pub use columns::{COLUMNS, Cell, Column, Holds};
pub use environment::{CountedSpan, Environment, Machine, Pings, RoundTrip, SameMachine, Server};
pub use event::{Cause, EndedBy, Event, EventKind, Goal, LeftBehind, MissingStep, TestId};
pub use flame::{FlameRow, FlameStack, OF_KERNEL};
pub use generator::{Exhausted, Generator, Lateness};
pub use inside::{
    AsyncInterface, CallTarget, InsideBatch, InsideCounts, InsideRecord, ServerProcessRecord,
    TracedCall, TracedRow,
};
pub use load::{AdaptRecord, AddressChoice, Arrivals, Http, HttpVersion, Load, Pace, Stage};
pub use origins::{AddressConnections, AddressResponses, RowOrigins};
pub use outcome::Outcome;
pub use sample::{Connect, MeasureId, Moments, Nanos, Sample, Segments, Timing};
pub use server_view::{
    AccessLogRecord, ServerTimeBatch, ServerTimeBatches, ServerTimeSource, ServerTimes,
};
pub use unit::TimeUnit;

/// Version of the layout of run directories: their files, the columns of samples, and the fields of
/// plan, environment and events. It is raised when an older reader would refuse or misread new
/// records. Runs with any other number are refused.
pub const RUN_FORMAT: u32 = 6;

/// A recorded run: its plan, environment, events and every measured operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The plan (`plan.yaml`).
    pub plan: PlanRecord,
    /// Its environment (`env.json`).
    pub env: Environment,
    /// Events beside the measured operations, in order (`events.jsonl`).
    pub events: Vec<Event>,
    /// One entry for every measured operation (`samples-*.parquet`), in order of recording.
    pub samples: Vec<Sample>,
}

/// The plan of a run, with every parameter resolved and redacted credentials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRecord {
    /// [`RUN_FORMAT`] of the writer.
    pub format: u32,
    /// Name of the run and of its collection `PrestanTest-<run id>/` on the server.
    pub run_id: String,
    /// Name of the series that the run belongs to, a prefix of its own; `None` for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Name of the server in the report of the series; `None` if it compares no servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// Name of the server in reports, in place of everything that identifies it; `None` if reports
    /// identify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Version of the program that ran it.
    pub prestan: String,
    /// The suite that was run.
    pub suite: SuiteRecord,
    /// URL of the collection below which the run worked, without user information.
    pub target: String,
    /// URLs of further collections: those of further `targets`, or those over which and the first
    /// the users are spread: user `n` works below the `n`th of them, modulo their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Names of the first collection and the others in the suite, if its steps name their targets;
    /// otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Clock of the operations.
    pub clock: Clock,
    /// The kernel's time stamp of the server's acknowledgement was requested as well.
    pub acks: bool,
    /// The server was started for this run, so differences between starts are differences between
    /// runs.
    pub fresh_start: bool,
    /// Rank of the start among the servers beside it, from 1; `None` if it was not started for this
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_place: Option<u32>,
    /// Processors of the worker thread and of the server; `None` if the system chose them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<Processors>,
    /// X-Prestan of the requests of tests was as printed in 2004, without their numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub labels_of_2004: bool,
    /// The command line of a run of WebSTONE, with redacted credentials; `None` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Notes of the user about the run: hardware, software, tuning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteRecord>,
    /// Parameters of the suite, including those of the command line.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Parameters that are written differently from their values, as written and sent: `1.10`,
    /// `0x1F`; a list as in JSON.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub written_params: BTreeMap<String, String>,
    /// Amount and duration of the load.
    pub load: Load,
    /// The tests of the suite that were selected, in order.
    pub tests: Vec<TestRecord>,
    /// Measures of the tests, in the order of the report. [`MeasureId`] is an index into it.
    pub measures: Vec<MeasureRecord>,
    /// The pages of the suite, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageRecord>,
    /// The roles of its tests. [`Sample::role`] is an index into it, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleRecord>,
    /// Loads beside the run, each recorded as a run of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideRecord>,
    /// Background traffic beside the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundRecord>,
    /// The processes of the server, if they were watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<InsideRecord>,
    /// Constraints on the measurements, in the order of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<ConstraintRecord>,
}

/// An expression over measurements, and its meaning when true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstraintRecord {
    /// Name in the suite; on the command line, the option: `--fail-if`.
    pub name: String,
    /// In the language of constraints: `p99(Get1K) < 5 ms`.
    pub expression: String,
    /// Meaning when true.
    pub sense: ConstraintSense,
    /// The run ends when the constraint cannot be fulfilled any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abort: bool,
}

/// Meaning of a true expression of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintSense {
    /// The run passes if it is true; without a row, if it is true of every row.
    Holds,
    /// The run fails if it is true; without a row, if it is true of any row.
    FailsIf,
    /// It must be true of this run as measured, regardless of the variation between runs: a trial
    /// of a search.
    Trial,
}

/// A note of the user about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Note")]
pub struct NoteRecord {
    /// Its subject: `disk`.
    pub name: String,
    /// One line.
    pub text: String,
}

/// A load beside a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BesideRecord {
    /// Name in the report and in the run directory.
    pub name: String,
    /// Name of its run, and of its collection on the server.
    pub run_id: String,
    /// The repeated suite.
    pub suite: SuiteRecord,
    /// Its amount.
    pub load: Load,
}

/// Numbers of processors, as in the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processors {
    /// Processors of the worker threads.
    pub worker: Vec<u32>,
    /// Processors of the server.
    pub server: Vec<u32>,
}

impl PlanRecord {
    /// The parameters as written and sent: as texts if their values would be written differently.
    pub fn params_as_written(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.params.clone();
        let written = self.written_params.iter();
        params.extend(written.map(|(name, text)| (name.clone(), text.as_str().into())));
        params
    }

    /// Number of users of each test with measured requests: all, except those of roles that measure
    /// none.
    pub fn measured_users(&self) -> BTreeMap<TestId, u32> {
        let always_done = || {
            self.measures
                .iter()
                .filter(|measure| measure.is_always_done())
        };
        let known: BTreeSet<TestId> = always_done().map(|measure| measure.test).collect();
        let measuring: BTreeSet<u16> = always_done().map(|measure| measure.role).collect();
        let mut roles: BTreeMap<TestId, Vec<(u16, u32)>> = BTreeMap::new();
        for (number, role) in (1..).zip(&self.roles) {
            let known_roles = roles.entry(role.test).or_default();
            known_roles.push((number, role.users));
        }
        let users_of = |test| {
            if !known.contains(&test) {
                // The user of a sample is at work; others may be.
                return 1;
            }
            let roles = roles.get(&test).map_or(&[][..], Vec::as_slice);
            self.users_of_roles(roles, |role| measuring.contains(&role))
        };
        let tests = self.measures.iter().map(|measure| measure.test);
        tests.map(|test| (test, users_of(test))).collect()
    }

    /// Number of users that some roles of a test have, given by number and users of each role;
    /// without roles, all.
    fn users_of_roles(&self, roles: &[(u16, u32)], is_counted: impl Fn(u16) -> bool) -> u32 {
        let users = roles.iter().map(|(_, users)| users);
        let total = users.copied().fold(0, u32::saturating_add);
        if total == 0 {
            return self.load.users;
        }
        let (whole, rest) = (self.load.users / total, self.load.users % total);
        let mut dealt = 0;
        let of_role = |&(role, users): &(u16, u32)| {
            let in_rest = rest.saturating_sub(dealt).min(users);
            dealt = users.saturating_add(dealt);
            if is_counted(role) {
                whole.saturating_mul(users).saturating_add(in_rest)
            } else {
                0
            }
        };
        roles.iter().map(of_role).fold(0, u32::saturating_add)
    }

    /// For each measure, true if its samples show when users are at work: those of requests do,
    /// unless a condition decides about them; and all do if nothing else of their test is measured.
    pub fn shows_work(&self) -> Vec<bool> {
        let always_done = self
            .measures
            .iter()
            .filter(|measure| measure.is_always_done());
        let known: BTreeSet<TestId> = always_done.map(|measure| measure.test).collect();
        let shows = |measure: &MeasureRecord| {
            // A single user is at work from its first sample to its last.
            self.load.users <= 1 || measure.is_always_done() || !known.contains(&measure.test)
        };
        self.measures.iter().map(shows).collect()
    }

    /// Connections end with an operation, so that their [segments](Segments) are known: if they are
    /// kept until the end of the run, no operation has them.
    pub fn has_segments(&self) -> bool {
        self.any_http(Http::ends_connections)
    }

    /// Several requests can be in flight on a connection, so that responses arrive together.
    pub fn has_pipelines(&self) -> bool {
        self.any_http(|http| http.pipeline > 1)
    }

    fn any_http(&self, is_such: impl FnMut(&Http) -> bool) -> bool {
        let of_tests = self.tests.iter().filter_map(|test| test.http.as_ref());
        of_tests.chain([&self.load.http]).any(is_such)
    }

    /// Use of connections in a test.
    pub fn http_of(&self, test: TestId) -> &Http {
        let found = self.tests.get(usize::from(test.0));
        found
            .and_then(|found| found.http.as_ref())
            .unwrap_or(&self.load.http)
    }

    /// Kinds of verification of responses, each once, from the most thorough to the least.
    pub fn verified(&self) -> Vec<Verify> {
        let is_some = |way: &Verify| self.measures.iter().any(|row| row.verify == *way);
        Verify::ALL.into_iter().filter(is_some).collect()
    }

    /// Name and URL of each target of a suite with several targets.
    pub fn named_targets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.targets.iter().map(String::as_str).zip(self.servers())
    }

    /// The name of this test.
    pub fn name_of_test(&self, test: TestId) -> String {
        let record = self.tests.get(usize::from(test.0));
        record.map_or_else(|| format!("test {}", test.0), |record| record.name.clone())
    }

    /// URLs of all collections of the run.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().map(String::as_str);
        std::iter::once(self.target.as_str()).chain(others)
    }
}

/// Index of the server of a user: users are spread over the servers in turn.
pub fn server_of(user: u32, servers: usize) -> usize {
    user as usize % servers.max(1)
}

/// Identity of a suite: two runs with the same hash and parameters execute the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Suite")]
pub struct SuiteRecord {
    /// Name.
    pub name: String,
    /// Version given by the suite.
    pub version: u32,
    /// Title in one line.
    pub title: String,
    /// SHA-256 of the suite file, in lower-case hexadecimal.
    pub sha256: String,
}

/// A test of the plan: set-up, loop and clean-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRecord {
    /// Name of the test in the suite.
    pub name: String,
    /// Title shown beside the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Use of connections in its loop; `None`: as in [`Load::http`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
}

/// A measure: a row of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasureRecord {
    /// Name of the row, such as `Put1K`. Unique within a plan.
    pub name: String,
    /// Index into [`PlanRecord::tests`].
    pub test: TestId,
    /// HTTP method that is timed.
    pub method: String,
    /// A random choice decides each time if it is executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_chance: bool,
    /// A condition of the suite decides if it is executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conditional: bool,
    /// A stop-watch: its samples are no requests, but times from one step to another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_watch: bool,
    /// Unit of its times in reports; `None`: one that fits each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<TimeUnit>,
    /// The role that executes it, from 1 as in samples; 0 if its test has no roles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub role: u16,
    /// Target of its requests: index into [`PlanRecord::targets`]; 0 for a stop-watch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub target: u16,
    /// Verification of its responses.
    #[serde(default, skip_serializing_if = "Verify::is_usual")]
    pub verify: Verify,
}

impl MeasureRecord {
    /// Every user executes it at some time.
    fn is_always_done(&self) -> bool {
        !self.stop_watch && !self.conditional
    }
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// Replaces the method of a stop-watch.
pub const STOP_WATCH: &str = "stop-watch";

/// Users of a test with a loop of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleRecord {
    /// Its name in the test.
    pub name: String,
    /// Index into [`PlanRecord::tests`].
    pub test: TestId,
    /// Number of users of its test that have this role, of all roles together. If the run has more
    /// users, roles are assigned again from the first.
    pub users: u32,
}

/// Extent of the verification of a response.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Status, headers, length and the content of a 207; the whole body of every response.
    Full,
    /// The same; the body of the first response of each user in each test only.
    #[default]
    First,
    /// Status, headers and length.
    Head,
    /// Nothing: any complete response of HTTP is the expected one, and its bytes are counted.
    None,
}

impl Verify {
    /// All of them, from the most thorough to the least.
    pub const ALL: [Verify; 4] = [Verify::Full, Verify::First, Verify::Head, Verify::None];

    /// Name in files: `full`.
    pub fn name(self) -> &'static str {
        match self {
            Verify::Full => "full",
            Verify::First => "first",
            Verify::Head => "head",
            Verify::None => "none",
        }
    }

    /// True for the default.
    pub fn is_usual(&self) -> bool {
        *self == Verify::First
    }
}

/// A page: files that a browser shows, and therefore requests, together (Trent and Sake 1995,
/// section 4.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageRecord {
    /// Name of the page in the suite.
    pub name: String,
    /// Frequency of the page relative to others.
    pub weight: f64,
    /// Its files, in their order. No other page has any of them.
    pub files: Vec<MeasureId>,
    /// Bytes of all its files together; `None` if the suite does not define them.
    pub bytes: Option<u64>,
    /// The file that stands for the parts named by its first file, of which each visit has any
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<MeasureId>,
}

/// Clock of the moments of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Read in user space around the system calls.
    User,
    /// Time stamps that the kernel takes where packets leave and arrive.
    Kernel,
}
