//! What a run leaves behind: the nouns that every later step reads.
//!
//! `suite --> plan --> run --> samples --> summary`: this crate is the word *samples* in that
//! line. The engine writes a [`Run`], `stats` and `report` read it, and nothing here knows a
//! clock, a socket or a file. Everything a report prints is a pure function of a [`Run`].

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

/// Number of the layout of run directories: their files, the columns of samples, and the fields of plan, environment
/// and events. It is raised when a reader of the layout before would refuse or misread what is written. Runs with any
/// other number are refused.
pub const RUN_FORMAT: u32 = 6;

/// One recorded run: what was planned, where, what happened, and every measured operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What was to be done (`plan.yaml`).
    pub plan: PlanRecord,
    /// Where it was done (`env.json`).
    pub env: Environment,
    /// What happened beside the measured operations, in order (`events.jsonl`).
    pub events: Vec<Event>,
    /// One entry for every measured operation (`samples-*.parquet`), in order of recording.
    pub samples: Vec<Sample>,
}

/// The plan as it was run, with every parameter resolved. It carries no credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRecord {
    /// [`RUN_FORMAT`] of the writer.
    pub format: u32,
    /// Names the run and the collection `PrestanTest-<run id>/` on the server.
    pub run_id: String,
    /// Name of the series that the run belongs to, with which its own begins; `None` for a run on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// What the report of the series calls the server; `None` where it compares no servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// What reports call the server, in place of all that identifies it; `None` where they tell what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Version of the program that ran it.
    pub prestan: String,
    /// The suite that was run.
    pub suite: SuiteRecord,
    /// URL of the collection below which the run worked, without user information.
    pub target: String,
    /// URLs of further collections: those of further `targets`, or those over which and the first the users
    /// were spread: user `n` works below the `n`th of them, counted round and round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// What the suite calls the first collection and the others, where its steps say which of them they are
    /// about; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// How operations were timed.
    pub clock: Clock,
    /// Whether the kernel's stamp of the server's acknowledgement was asked for as well.
    pub acks: bool,
    /// Whether the server was started for this run, so that what differs from start to start differs
    /// between runs.
    pub fresh_start: bool,
    /// As which of the servers beside it, from 1; `None` where it was not started for this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_place: Option<u32>,
    /// The processors that the worker thread and the server were kept to; `None` where the system chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<Processors>,
    /// X-Prestan of the requests of tests was as printed in 2004, without their numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub labels_of_2004: bool,
    /// The command line of a run of WebSTONE, with redacted credentials; `None` of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What whoever made the run says about it: hardware, software, tuning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteRecord>,
    /// Parameters of the suite after the command line had its say.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Those of them that are written otherwise than their values, as they were written and sent: `1.10`, `0x1F`; a list
    /// as in JSON.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub written_params: BTreeMap<String, String>,
    /// How much load there was, and for how long.
    pub load: Load,
    /// The tests of the suite that were selected, in order.
    pub tests: Vec<TestRecord>,
    /// What the tests measure, in the order of the report. [`MeasureId`] is an index into it.
    pub measures: Vec<MeasureRecord>,
    /// The pages of the suite, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageRecord>,
    /// The roles of its tests. [`Sample::role`] is the place of one, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleRecord>,
    /// Loads that went on beside the run, each of which is recorded as a run of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideRecord>,
    /// Background traffic beside the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundRecord>,
    /// The processes of the server, where they were watched; `None` where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<InsideRecord>,
    /// What the measurements are to fulfil, in the order of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<ConstraintRecord>,
}

/// An expression over what is measured, and what it means when it is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstraintRecord {
    /// Its name in the suite; of the command line, the option: `--fail-if`.
    pub name: String,
    /// In the language of constraints: `p99(Get1K) < 5 ms`.
    pub expression: String,
    /// What it means.
    pub sense: ConstraintSense,
    /// The run ends when it cannot be fulfilled any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abort: bool,
}

/// What it means when the expression of a constraint is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintSense {
    /// It must be true, of every row where it names none.
    Holds,
    /// It must not be true, of no row where it names none.
    FailsIf,
    /// It is to be true of this run as it was measured, whatever another run would have come to: a trial of a
    /// search.
    Trial,
}

/// Something that is said about a run, and that Prestan does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Note")]
pub struct NoteRecord {
    /// What it is about: `disk`.
    pub name: String,
    /// On one line.
    pub text: String,
}

/// A load that went on beside a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BesideRecord {
    /// What it is called, in the report and in the run directory.
    pub name: String,
    /// Names its run, and its collection on the server.
    pub run_id: String,
    /// The suite that was done over and over.
    pub suite: SuiteRecord,
    /// How much of it.
    pub load: Load,
}

/// Numbers of processors, as the system counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processors {
    /// Those of the worker threads.
    pub worker: Vec<u32>,
    /// Those of the server.
    pub server: Vec<u32>,
}

impl PlanRecord {
    /// The parameters as they were written and sent: texts, where their values alone would not say so.
    pub fn params_as_written(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.params.clone();
        let written = self.written_params.iter();
        params.extend(written.map(|(name, text)| (name.clone(), text.as_str().into())));
        params
    }

    /// Users of each test of whose requests some are measured: all, unless a role of theirs measures none.
    pub fn measured_users(&self) -> BTreeMap<TestId, u32> {
        let always_done = || self.measures.iter().filter(|own| own.is_always_done());
        let known: BTreeSet<TestId> = always_done().map(|own| own.test).collect();
        let measuring: BTreeSet<u16> = always_done().map(|own| own.role).collect();
        let mut roles: BTreeMap<TestId, Vec<(u16, u32)>> = BTreeMap::new();
        for (number, role) in (1..).zip(&self.roles) {
            let own = roles.entry(role.test).or_default();
            own.push((number, role.users));
        }
        let users_of = |test| {
            if !known.contains(&test) {
                // Whoever does something is at work, and others may be.
                return 1;
            }
            let roles = roles.get(&test).map_or(&[][..], Vec::as_slice);
            self.users_of_roles(roles, |role| measuring.contains(&role))
        };
        let tests = self.measures.iter().map(|own| own.test);
        tests.map(|test| (test, users_of(test))).collect()
    }

    /// Users that some roles of a test have, where each is given with its number and its users; without any role, all.
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

    /// Of each measure, whether its samples tell when users are at work: those of requests do, unless a condition
    /// decides about them; and all where nothing else of their test is measured.
    pub fn shows_work(&self) -> Vec<bool> {
        let always_done = self.measures.iter().filter(|own| own.is_always_done());
        let known: BTreeSet<TestId> = always_done.map(|own| own.test).collect();
        let shows = |own: &MeasureRecord| {
            // One user is at work from its first sample to its last.
            self.load.users <= 1 || own.is_always_done() || !known.contains(&own.test)
        };
        self.measures.iter().map(shows).collect()
    }

    /// Whether connections end with an operation, so that their [segments](Segments) are known: where they
    /// are kept until the end of the run, no operation has them.
    pub fn has_segments(&self) -> bool {
        self.any_http(Http::ends_connections)
    }

    /// Whether several requests can be under way on a connection, so that responses arrive together.
    pub fn has_pipelines(&self) -> bool {
        self.any_http(|http| http.pipeline > 1)
    }

    fn any_http(&self, is_such: impl FnMut(&Http) -> bool) -> bool {
        let of_tests = self.tests.iter().filter_map(|test| test.http.as_ref());
        of_tests.chain([&self.load.http]).any(is_such)
    }

    /// How a test used connections.
    pub fn http_of(&self, test: TestId) -> &Http {
        let own = self.tests.get(usize::from(test.0));
        own.and_then(|own| own.http.as_ref())
            .unwrap_or(&self.load.http)
    }

    /// How much of responses is verified, each way that some row has once, from the most to the least.
    pub fn verified(&self) -> Vec<Verify> {
        let is_some = |way: &Verify| self.measures.iter().any(|row| row.verify == *way);
        Verify::ALL.into_iter().filter(is_some).collect()
    }

    /// The targets of a suite that has several: name and URL of each.
    pub fn named_targets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.targets.iter().map(String::as_str).zip(self.servers())
    }

    /// What reports say of the test of this row beside its name.
    pub fn title_of(&self, row: &str) -> Option<&str> {
        if self.tests.iter().all(|test| test.title.is_none()) {
            return None;
        }
        let measure = self.measures.iter().find(|measure| measure.name == row)?;
        self.tests
            .get(usize::from(measure.test.0))?
            .title
            .as_deref()
    }

    /// URLs of all collections below which the run worked.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().map(String::as_str);
        std::iter::once(self.target.as_str()).chain(others)
    }
}

/// Which of so many servers a user asks: users are spread over them round and round.
pub fn server_of(user: u32, servers: usize) -> usize {
    user as usize % servers.max(1)
}

/// Identity of a suite: two runs with the same hash and parameters did the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Suite")]
pub struct SuiteRecord {
    /// Name.
    pub name: String,
    /// Version the suite gives itself.
    pub version: u32,
    /// One line about it.
    pub title: String,
    /// SHA-256 of the suite file, in lower-case hexadecimal.
    pub sha256: String,
}

/// One test of the plan: a set-up, a loop and a clean-up that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRecord {
    /// Name of the test in the suite.
    pub name: String,
    /// What reports say of it beside its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How its loop uses connections; `None` where that is as [`Load::http`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
}

/// One thing that is measured: a row of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasureRecord {
    /// Name of the row, `Put1K` for example. Unique within a plan.
    pub name: String,
    /// Index into [`PlanRecord::tests`].
    pub test: TestId,
    /// HTTP method whose time it is.
    pub method: String,
    /// Every time, chance decides whether it is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_chance: bool,
    /// A condition of the suite decides whether it is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conditional: bool,
    /// A stop-watch: its samples are no requests, but the time from one step to another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_watch: bool,
    /// The unit in which reports show its times; `None` for one that fits each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<TimeUnit>,
    /// The role in whose loop it is measured, counted from 1 as in samples; 0 where its test has no roles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub role: u16,
    /// Where its requests are sent: index into [`PlanRecord::targets`]; 0 for a stop-watch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub target: u16,
    /// How much of its responses is verified.
    #[serde(default, skip_serializing_if = "Verify::is_usual")]
    pub verify: Verify,
}

impl MeasureRecord {
    /// A user who goes on does it sooner or later.
    fn is_always_done(&self) -> bool {
        !self.stop_watch && !self.conditional
    }
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// What is written in place of the method of a stop-watch.
pub const STOP_WATCH: &str = "stop-watch";

/// Users of a test that have a loop of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleRecord {
    /// Its name in the test.
    pub name: String,
    /// Index into [`PlanRecord::tests`].
    pub test: TestId,
    /// How many of the users of its test, all roles together, have it. Where the run has more users than
    /// these, roles are dealt again from the first.
    pub users: u32,
}

/// How much of a response is verified.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Status, headers, length and the inside of a 207; of the whole body, every response.
    Full,
    /// The same; of the body, the first response of each user in each test.
    #[default]
    First,
    /// Status, headers and length.
    Head,
    /// Nothing: any complete response of HTTP is the expected one, and its bytes are counted.
    None,
}

impl Verify {
    /// All of them, from the most to the least.
    pub const ALL: [Verify; 4] = [Verify::Full, Verify::First, Verify::Head, Verify::None];

    /// The name used in files: `full`.
    pub fn name(self) -> &'static str {
        match self {
            Verify::Full => "full",
            Verify::First => "first",
            Verify::Head => "head",
            Verify::None => "none",
        }
    }

    /// Whether it is what is verified where nothing else is said.
    pub fn is_usual(&self) -> bool {
        *self == Verify::First
    }
}

/// A page: files that are fetched together, because a browser shows them together (Trent and Sake
/// 1995, section 4.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageRecord {
    /// Name of the page in the suite.
    pub name: String,
    /// How often it is drawn, in relation to the other pages.
    pub weight: f64,
    /// Its files, in their order. No other page has any of them.
    pub files: Vec<MeasureId>,
    /// Bytes of all its files together; `None` where the suite does not say.
    pub bytes: Option<u64>,
    /// That of its files which stands for the parts that its first file names, of which each visit has any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<MeasureId>,
}

/// Which clock gave the moments of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Read in user space around the system calls.
    User,
    /// Time stamps that the kernel takes where packets leave and arrive.
    Kernel,
}
