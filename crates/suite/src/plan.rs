//! A plan: a suite in which everything is resolved, ready to be run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use record::{
    ConstraintRecord, Http, MeasureId, MeasureRecord, PageRecord, RoleRecord, SuiteRecord, TestId,
    Verify,
};
use serde::{Deserialize, Serialize};
use traffic::TrafficSpec;

use crate::bytes;
use crate::template::{LiveText, Text};

/// Everything to execute, test by test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its suite.
    pub suite: SuiteRecord,
    /// Use of a collection on the server.
    pub workspace: Workspace,
    /// Names of the targets in the suite, starting with that of the URL; empty if it has one
    /// without a name. [`RequestPlan::target`] is an index into it.
    pub targets: Vec<String>,
    /// Parameters, including those of the command line.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Parameters that are written differently from their values, as written.
    pub written_params: BTreeMap<String, String>,
    /// The selected tests, in order; [`TestId`] is an index into it.
    pub tests: Vec<TestPlan>,
    /// Measures of the tests, in the order of the report; [`MeasureId`] is an index into it.
    pub measures: Vec<MeasureRecord>,
    /// The pages in the loops of the tests, in their order.
    pub pages: Vec<PageRecord>,
    /// Constraints on measures of the selected tests.
    pub constraints: Vec<ConstraintRecord>,
    /// The roles of the selected tests, in their order.
    pub roles: Vec<RoleRecord>,
    /// The stop-watches of the selected tests; [`Step::Start`] has an index into it.
    pub stop_watches: Vec<StopWatchPlan>,
    /// Conditions of steps, in the language of constraints; [`Step::When`] has an index into it.
    pub conditions: Vec<String>,
    /// Changes of the number of users of a closed loop.
    pub adapt: Option<AdaptPlan>,
    /// Background traffic beside the run.
    pub background: Option<BackgroundPlan>,
    /// Recording of the packets of the run.
    pub capture: Option<CapturePlan>,
}

/// Background traffic beside a run. Missing values have defaults at the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackgroundPlan {
    /// Its description.
    pub traffic: TrafficOrigin,
    /// Name of the load; `None` for the only one.
    pub load: Option<String>,
    /// Largest deviation from the mean of a load that is stable, in percent.
    pub stable_percent: Option<f64>,
    /// Longest duration of flows.
    pub duration: Option<Duration>,
}

/// Location of the description of background traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TrafficOrigin {
    /// A traffic file, as named in the suite: relative to its directory.
    File(String),
    /// The suite itself.
    Here(TrafficSpec),
}

/// Recording of the packets of a run. Missing values have defaults at the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturePlan {
    /// Bytes kept of each packet.
    pub snap_length: Option<u64>,
    /// Largest size of the file, in bytes.
    pub most_bytes: Option<u64>,
}

/// Changes of the number of users of a closed loop while it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdaptPlan {
    /// Fewest users.
    pub least: u32,
    /// Most users.
    pub most: u32,
    /// Shortest time between changes.
    pub every: Duration,
    /// Rule of the changes.
    pub rule: AdaptRule,
}

/// Rule for the next number of users of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AdaptRule {
    /// These numbers in order.
    Ladder(Vec<u32>),
    /// Conditions, as indices into [`Plan::conditions`].
    Steer {
        /// While it is true, users are added each time.
        raise: usize,
        /// While it is true, users are removed.
        lower: usize,
    },
    /// Steps of the tests ([`Step::Users`]).
    Steps,
}

impl Plan {
    /// The least number of users with which every role of every test has as many as in the suite,
    /// or a multiple; 1 without roles. `None` if it is too large.
    pub fn least_users(&self) -> Option<u32> {
        let totals = self.tests.iter().map(|test| test.users_of_roles().max(1));
        let mut all = 1u32;
        for total in totals {
            all = (all / divisor(all, total)).checked_mul(total)?;
        }
        Some(all)
    }
}

/// The greatest common divisor, by Euclid.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Location of the requests of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workspace {
    /// A collection that the run makes and removes, in which each test has one of its own.
    Collection,
    /// A collection that the run makes, fills with files, and removes; with methods that only read.
    Furnished,
    /// Anywhere below the target, with methods that only read.
    ReadOnly,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestPlan {
    /// Index in [`Plan::tests`].
    pub id: TestId,
    /// Its name.
    pub name: String,
    /// Title shown beside the name.
    pub title: Option<String>,
    /// Class that the DAV header must have.
    pub needs: Option<NeedsClass>,
    /// All users work in one collection.
    pub shared: bool,
    /// End of the loop of each user.
    pub limit: Limit,
    /// Use of connections in its loop; `None`: as in the whole run.
    pub http: Option<Http>,
    /// Names of values saved by steps; [`Variable::Saved`](crate::Variable::Saved) is an index into
    /// it.
    pub saved: Vec<String>,
    /// Steps before the measurement.
    pub setup: Vec<Step>,
    /// Repeated steps: of all users, or of those of each role.
    pub loops: Vec<LoopPlan>,
    /// Steps after the measurement.
    pub cleanup: Vec<Step>,
    /// X-Prestan of all its requests; `None` for the default, with the number of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A loop of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopPlan {
    /// The role of its users: index into [`Plan::roles`] from 1; 0 in a test without roles.
    pub role: u16,
    /// Number of its users, of those that the loops of its test have together.
    pub users: u32,
    /// Its steps.
    pub steps: Vec<Step>,
}

impl TestPlan {
    /// Targets of its requests, as indices into [`Plan::targets`]; the first one if it sends none.
    pub fn targets(&self) -> BTreeSet<u16> {
        let mut found = BTreeSet::new();
        let loops = self.loops.iter().map(|test_loop| &test_loop.steps);
        for steps in [&self.setup, &self.cleanup].into_iter().chain(loops) {
            add_targets(steps, &mut found);
        }
        if found.is_empty() {
            found.insert(0);
        }
        found
    }

    /// The measure of all requests of its loops, if they have the same: events during the test
    /// belong to this row. `None` for a test with pages.
    pub fn only_measure(&self) -> Option<MeasureId> {
        let mut found = BTreeSet::new();
        for test_loop in &self.loops {
            add_measures(&test_loop.steps, &mut found);
        }
        let only = found.first().copied().filter(|_| found.len() == 1);
        only.flatten()
    }

    /// Users of all its roles together; 1 without roles.
    pub fn users_of_roles(&self) -> u32 {
        let users = self.loops.iter().map(|test_loop| test_loop.users);
        users.fold(0, u32::saturating_add)
    }

    /// Index of the loop of a user: roles are assigned in order, repeatedly.
    pub fn loop_of(&self, user: u32) -> usize {
        let mut position = user % self.users_of_roles().max(1);
        for (index, test_loop) in self.loops.iter().enumerate() {
            match position.checked_sub(test_loop.users) {
                None => return index,
                Some(rest) => position = rest,
            }
        }
        0
    }
}

fn add_targets(steps: &[Step], found: &mut BTreeSet<u16>) {
    for step in steps {
        match step {
            Step::Request(request) => found.extend([request.target]),
            Step::Page(page) => found.extend([page.target()]),
            other => {
                let inside = other.inside().into_iter();
                inside.for_each(|steps| add_targets(steps, found));
            }
        }
    }
}

fn add_measures(steps: &[Step], found: &mut BTreeSet<Option<MeasureId>>) {
    for step in steps {
        match step {
            Step::Request(request) => found.extend([request.measure]),
            Step::Page(_) => found.extend([None]),
            other => {
                let inside = other.inside().into_iter();
                inside.for_each(|steps| add_measures(steps, found));
            }
        }
    }
}

/// A stop-watch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopWatchPlan {
    /// Its name.
    pub name: String,
    /// Its measure; `None` if not selected.
    pub measure: Option<MeasureId>,
    /// Any user stops what any user has started, oldest first; otherwise each user has a stop-watch
    /// of its own.
    pub is_shared: bool,
}

/// A compliance class (RFC 4918, section 18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedsClass(pub String);

/// End of a user's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// After this number of iterations.
    Requests(u32),
    /// After this time.
    Duration(Duration),
}

/// A step. A tree of the suite is expanded to its requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// One request.
    Request(Arc<RequestPlan>),
    /// Repeated steps.
    Repeat {
        /// Number of repetitions.
        times: u32,
        /// Variable with the number of the repetition, if it has a name:
        /// [`Variable::Repetition`](crate::Variable::Repetition).
        counter: Option<usize>,
        /// The steps.
        steps: Vec<Step>,
    },
    /// One of several, by weight.
    Choose(Vec<Alternative>),
    /// Files that are fetched together.
    Page(Arc<PagePlan>),
    /// A pause.
    Think(Think),
    /// A pause until this time after the beginning of the iteration.
    Pace(Duration),
    /// A stop-watch starts: index into [`Plan::stop_watches`].
    Start(usize),
    /// The stop-watch stops.
    Stop(usize),
    /// Some steps while a condition is true, and others while it is false or unknown.
    When {
        /// Index into [`Plan::conditions`].
        condition: usize,
        /// Steps while it is true.
        steps: Vec<Step>,
        /// Other steps.
        otherwise: Vec<Step>,
    },
    /// End of the measurement of the test.
    EndTest,
    /// End of the measurement of the run.
    EndRun,
    /// From now on, this number of users of a load is at work.
    Users(u32),
}

impl Step {
    /// The lists of steps inside it: of a repetition, of alternatives, of a condition.
    pub(crate) fn inside(&self) -> Vec<&[Step]> {
        match self {
            Step::Repeat { steps, .. } => vec![steps],
            Step::Choose(alternatives) => alternatives.iter().map(|one| &one.steps[..]).collect(),
            Step::When {
                steps, otherwise, ..
            } => vec![steps, otherwise],
            _ => Vec::new(),
        }
    }

    /// The same, mutable.
    pub(crate) fn inside_mut(&mut self) -> Vec<&mut [Step]> {
        match self {
            Step::Repeat { steps, .. } => vec![steps],
            Step::Choose(alternatives) => alternatives
                .iter_mut()
                .map(|one| &mut one.steps[..])
                .collect(),
            Step::When {
                steps, otherwise, ..
            } => vec![steps, otherwise],
            _ => Vec::new(),
        }
    }
}

/// A page, as far as it is known before the test runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PagePlan {
    /// Its name.
    pub name: String,
    /// Its files in order. Files that are not selected are not measured.
    pub files: Vec<Arc<RequestPlan>>,
}

impl PagePlan {
    /// The request that stands for the parts named by its first file; `None` if that is not parsed.
    pub fn parts(&self) -> Option<&Arc<RequestPlan>> {
        self.files.iter().find(|file| file.is_for_parts)
    }

    /// Target of all its files: index into [`Plan::targets`].
    pub fn target(&self) -> u16 {
        self.files.first().map_or(0, |file| file.target)
    }
}

/// An alternative of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Frequency relative to the others.
    pub weight: f64,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// Length of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Think {
    /// Always the same.
    Constant(Duration),
    /// Uniformly distributed between these.
    Uniform(Duration, Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
}

/// One request, as far as it is known before the test runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestPlan {
    /// Method.
    pub method: String,
    /// Path relative to the user's collection, percent-encoded.
    pub path: Text,
    /// Destination, relative and encoded like the path.
    pub to: Option<Text>,
    /// Headers of the suite; those of every request are added by the engine.
    pub headers: Vec<HeaderPlan>,
    /// Body.
    pub body: Body,
    /// Expected response.
    pub expect: Expect,
    /// Statuses that mean that the server does not support this.
    pub unsupported: Vec<u16>,
    /// Headers without which an otherwise expected response means the same.
    pub unsupported_without: Vec<String>,
    /// Parts of the response to save.
    pub save: Vec<Save>,
    /// Its measure.
    pub measure: Option<MeasureId>,
    /// Verification of its response.
    pub verify: Verify,
    /// Its target: index into [`Plan::targets`].
    pub target: u16,
    /// Stands for the parts named by the first file of its page, as HTML: each is requested like
    /// this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_for_parts: bool,
}

/// Statuses that mean that a server does not support a request, unless the suite has others, too.
pub(crate) const UNSUPPORTED: [u16; 2] = [405, 501];

impl RequestPlan {
    /// A request to the first target without a body, which expects this status and nothing else.
    pub(crate) fn new(method: &str, path: Text, status: StatusTest) -> RequestPlan {
        RequestPlan {
            method: method.to_owned(),
            path,
            to: None,
            headers: Vec::new(),
            body: Body::None,
            expect: Expect {
                status: StatusSet(vec![status]),
                body: None,
                length: None,
                properties: None,
                responses: None,
                missing: Missing::Fails,
                contains: Vec::new(),
            },
            unsupported: UNSUPPORTED.to_vec(),
            unsupported_without: Vec::new(),
            save: Vec::new(),
            measure: None,
            verify: Verify::default(),
            target: 0,
            is_for_parts: false,
        }
    }
}

/// A header of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderPlan {
    /// Field name.
    pub name: String,
    /// Field value.
    pub value: Text,
}

impl HeaderPlan {
    pub(crate) fn fixed(name: &str, value: &str) -> HeaderPlan {
        HeaderPlan {
            name: name.to_owned(),
            value: Text::Fixed(value.to_owned()),
        }
    }
}

/// Body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// None, and no Content-Length.
    None,
    /// The same bytes every time.
    Fixed(#[serde(with = "bytes")] Arc<[u8]>),
    /// With run-time variables.
    Live(BodyText),
}

/// A body that changes from request to request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyText(pub LiveText);

/// A part of a response to save.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// Index into [`TestPlan::saved`].
    pub slot: usize,
    /// The part.
    pub from: SaveFrom,
}

/// Part of a response that can be saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SaveFrom {
    /// Value of a header, unchanged.
    Header(String),
    /// The lock token in angle brackets, from the Lock-Token header or, if the server sends none,
    /// from the body.
    LockToken,
}

/// Expected response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Accepted statuses.
    pub status: StatusSet,
    /// Expected body.
    #[serde(with = "bytes::optional")]
    pub body: Option<Arc<[u8]>>,
    /// Expected length of the body, if its content is unknown.
    pub length: Option<u64>,
    /// Number of properties with status 200 in each response of a 207.
    pub properties: Option<u32>,
    /// Number of responses of a 207.
    pub responses: Option<u32>,
    /// Meaning of a 404 for a property.
    pub missing: Missing,
    /// Texts that the first response must contain.
    pub contains: Vec<Text>,
}

impl Expect {
    /// Expected length of the body.
    pub fn length(&self) -> Option<u64> {
        let body = self.body.as_ref().map(|body| body.len() as u64);
        body.or(self.length)
    }
}

/// Meaning of a 404 for a property inside a 207.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// The operation failed.
    Fails,
    /// It is normal, and the report names the property.
    Noted,
}

/// A set of statuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusSet(pub Vec<StatusTest>);

/// One status, or a class of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StatusTest {
    /// Exactly this.
    Exactly(u16),
    /// `2xx`: the class of this first digit.
    Class(u16),
}

impl StatusSet {
    /// True if `status` is in the set.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|test| match test {
            StatusTest::Exactly(code) => *code == status,
            StatusTest::Class(class) => *class == status / 100,
        })
    }
}

impl std::fmt::Display for StatusSet {
    /// Writes `201 or 204`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, test) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" or ")?;
            }
            match test {
                StatusTest::Exactly(code) => write!(f, "{code}")?,
                StatusTest::Class(class) => write!(f, "{class}xx")?,
            }
        }
        Ok(())
    }
}
