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

/// What is to be done, test by test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Which suite it comes from.
    pub suite: SuiteRecord,
    /// Whether a collection of our own is made on the server.
    pub workspace: Workspace,
    /// What the suite calls its servers, the first of which is that of the URL; empty where it has one and does
    /// not name it. [`RequestPlan::target`] is an index into it.
    pub targets: Vec<String>,
    /// Parameters after the command line had its say.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Those of them that are written otherwise than their values, as they are written.
    pub written_params: BTreeMap<String, String>,
    /// The selected tests, in order; [`TestId`] is an index into it.
    pub tests: Vec<TestPlan>,
    /// What they measure, in the order of the report; [`MeasureId`] is an index into it.
    pub measures: Vec<MeasureRecord>,
    /// The pages in the loops of the tests, in their order.
    pub pages: Vec<PageRecord>,
    /// What the measurements are to fulfil, as far as they are of the selected tests.
    pub constraints: Vec<ConstraintRecord>,
    /// The roles of the selected tests, in their order.
    pub roles: Vec<RoleRecord>,
    /// The stop-watches of the selected tests; [`Step::Start`] has an index into it.
    pub stop_watches: Vec<StopWatchPlan>,
    /// What steps ask for while the run goes on, in the language of constraints; [`Step::When`] has an index
    /// into it.
    pub conditions: Vec<String>,
    /// How the number of users of a closed loop changes.
    pub adapt: Option<AdaptPlan>,
    /// Background traffic while it is done.
    pub background: Option<BackgroundPlan>,
    /// The packets of the run are kept.
    pub capture: Option<CapturePlan>,
}

/// Background traffic beside a run. What is not said is left to whoever sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackgroundPlan {
    /// Where it is described.
    pub traffic: TrafficOrigin,
    /// Name of the load; `None` for the only one.
    pub load: Option<String>,
    /// Largest deviation from the mean of a load that is stable, in percent.
    pub stable_percent: Option<f64>,
    /// How long flows last at most.
    pub duration: Option<Duration>,
}

/// Where background traffic is described.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TrafficOrigin {
    /// In a traffic file, as the suite names it: relative to its own place.
    File(String),
    /// In the suite itself.
    Here(TrafficSpec),
}

/// What is kept of the packets of a run. What is not said is left to whoever keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturePlan {
    /// Bytes of each packet.
    pub snap_length: Option<u64>,
    /// Largest size of the file, in bytes.
    pub most_bytes: Option<u64>,
}

/// How the number of users of a closed loop changes while it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdaptPlan {
    /// Fewest users at work.
    pub least: u32,
    /// Most of them.
    pub most: u32,
    /// How long a number of users is kept at least.
    pub every: Duration,
    /// What decides.
    pub rule: AdaptRule,
}

/// What decides how many users a load has next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AdaptRule {
    /// These numbers, one after the other.
    Ladder(Vec<u32>),
    /// Conditions, by their places in [`Plan::conditions`].
    Steer {
        /// While it is true, there are more users each time.
        raise: usize,
        /// While it is true, there are fewer.
        lower: usize,
    },
    /// Steps of the tests ([`Step::Users`]).
    Steps,
}

impl Plan {
    /// The least number of users with which every role of every test has as many as the suite says, or a
    /// multiple; 1 without roles. `None` where that is more than can be counted.
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

/// Where the requests of a plan go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workspace {
    /// Into a collection that the run makes and removes, in which each test has one of its own.
    Collection,
    /// Into a collection that the run makes, fills with files, and removes; with methods that only read.
    Furnished,
    /// Anywhere below the target, with methods that only read.
    ReadOnly,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestPlan {
    /// Its place in [`Plan::tests`].
    pub id: TestId,
    /// Its name.
    pub name: String,
    /// What reports say of it beside its name.
    pub title: Option<String>,
    /// What the DAV header must say.
    pub needs: Option<NeedsClass>,
    /// Whether all users work in one collection.
    pub shared: bool,
    /// When each user stops.
    pub limit: Limit,
    /// How the requests of its loop use connections; `None` for what holds for the whole run.
    pub http: Option<Http>,
    /// Names of what steps save; [`Variable::Saved`](crate::Variable::Saved) is an index into it.
    pub saved: Vec<String>,
    /// Before the clock starts.
    pub setup: Vec<Step>,
    /// What is repeated: by all users, or by those of each role.
    pub loops: Vec<LoopPlan>,
    /// Afterwards.
    pub cleanup: Vec<Step>,
    /// X-Prestan of all its requests; `None` for the usual one, with the number of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A loop of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopPlan {
    /// The role of its users, the place in [`Plan::roles`] counted from 1; 0 in a test without roles.
    pub role: u16,
    /// How many users it has, of those that the loops of its test have together.
    pub users: u32,
    /// What is done.
    pub steps: Vec<Step>,
}

impl TestPlan {
    /// The servers that its requests are sent to, by their places in [`Plan::targets`]; the first of them where
    /// it sends none.
    pub fn targets(&self) -> BTreeSet<u16> {
        let mut found = BTreeSet::new();
        let loops = self.loops.iter().map(|own| &own.steps);
        for steps in [&self.setup, &self.cleanup].into_iter().chain(loops) {
            add_targets(steps, &mut found);
        }
        if found.is_empty() {
            found.insert(0);
        }
        found
    }

    /// The measure of all requests of its loops, where they have one and the same: what happens while it is measured
    /// is of this row. `None` of a test with pages.
    pub fn only_measure(&self) -> Option<MeasureId> {
        let mut found = BTreeSet::new();
        for own in &self.loops {
            add_measures(&own.steps, &mut found);
        }
        let only = found.first().copied().filter(|_| found.len() == 1);
        only.flatten()
    }

    /// Users of all its roles together; 1 without roles.
    pub fn users_of_roles(&self) -> u32 {
        let users = self.loops.iter().map(|own| own.users);
        users.fold(0, u32::saturating_add)
    }

    /// The loop of a user, by its place: roles are dealt in their order, round and round.
    pub fn loop_of(&self, user: u32) -> usize {
        let mut place = user % self.users_of_roles().max(1);
        for (index, own) in self.loops.iter().enumerate() {
            match place.checked_sub(own.users) {
                None => return index,
                Some(rest) => place = rest,
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
    /// What it measures; `None` where that is not selected.
    pub measure: Option<MeasureId>,
    /// Any user stops what any user has started, the oldest first; else each user has its own.
    pub is_shared: bool,
}

/// A compliance class (RFC 4918, section 18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedsClass(pub String);

/// When a user is through with a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// After so many times.
    Requests(u32),
    /// After so long.
    Duration(Duration),
}

/// One step. A tree of the suite has become its requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// One request.
    Request(Arc<RequestPlan>),
    /// Steps, so many times.
    Repeat {
        /// How often.
        times: u32,
        /// Where the number of the repetition is kept, if it has a name:
        /// [`Variable::Repetition`](crate::Variable::Repetition).
        counter: Option<usize>,
        /// What.
        steps: Vec<Step>,
    },
    /// One of several, by weight.
    Choose(Vec<Alternative>),
    /// Files that are fetched together.
    Page(Arc<PagePlan>),
    /// A pause.
    Think(Think),
    /// A pause until so long after the beginning of the iteration.
    Pace(Duration),
    /// A stop-watch starts: index into [`Plan::stop_watches`].
    Start(usize),
    /// It stops.
    Stop(usize),
    /// Some steps while a condition is true, and others while it is not, or not known.
    When {
        /// Index into [`Plan::conditions`].
        condition: usize,
        /// While it is true.
        steps: Vec<Step>,
        /// Else.
        otherwise: Vec<Step>,
    },
    /// The measurement of the test ends.
    EndTest,
    /// That of the run does.
    EndRun,
    /// From now on so many users of a load are at work.
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

    /// The same, to be changed.
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
    /// Its files, in their order. Those that are not selected are not measured.
    pub files: Vec<Arc<RequestPlan>>,
}

impl PagePlan {
    /// What stands for the parts that its first file names; `None` where that is not read.
    pub fn parts(&self) -> Option<&Arc<RequestPlan>> {
        self.files.iter().find(|file| file.is_for_parts)
    }

    /// The server of all its files, by its place in [`Plan::targets`].
    pub fn target(&self) -> u16 {
        self.files.first().map_or(0, |file| file.target)
    }
}

/// One way to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// How often, in relation to the others.
    pub weight: f64,
    /// What is done then.
    pub steps: Vec<Step>,
}

/// How long a pause is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Think {
    /// Always the same.
    Constant(Duration),
    /// Each length between these equally likely.
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
    /// Headers of the suite; those every request has are the engine's.
    pub headers: Vec<HeaderPlan>,
    /// Body.
    pub body: Body,
    /// What the answer must be.
    pub expect: Expect,
    /// Statuses that mean that the server does not have this.
    pub unsupported: Vec<u16>,
    /// Headers without which an expected response means that, too.
    pub unsupported_without: Vec<String>,
    /// What to keep of the answer.
    pub save: Vec<Save>,
    /// Under which name it is measured.
    pub measure: Option<MeasureId>,
    /// How much of its response is verified.
    pub verify: Verify,
    /// Where it is sent: index into [`Plan::targets`].
    pub target: u16,
    /// It stands for the parts that the first file of its page names, as HTML: each is requested in this way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_for_parts: bool,
}

/// A header of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderPlan {
    /// Field name.
    pub name: String,
    /// Field value.
    pub value: Text,
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

/// What to keep of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// Index into [`TestPlan::saved`].
    pub slot: usize,
    /// Which part.
    pub from: SaveFrom,
}

/// Part of an answer that can be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SaveFrom {
    /// Value of a header, as it is.
    Header(String),
    /// The lock token in angle brackets, from the Lock-Token header or, where a server gives none,
    /// from the body.
    LockToken,
}

/// What an answer must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Accepted statuses.
    pub status: StatusSet,
    /// The body that must come back.
    #[serde(with = "bytes::optional")]
    pub body: Option<Arc<[u8]>>,
    /// How long the body must be, where nothing else is known of it.
    pub length: Option<u64>,
    /// How many properties with status 200 each response of a 207 must have.
    pub properties: Option<u32>,
    /// How many responses a 207 must have.
    pub responses: Option<u32>,
    /// What a 404 for a property means.
    pub missing: Missing,
    /// What the first answer must contain.
    pub contains: Vec<Text>,
}

impl Expect {
    /// How long the body must be.
    pub fn length(&self) -> Option<u64> {
        let body = self.body.as_ref().map(|body| body.len() as u64);
        body.or(self.length)
    }
}

/// What a 404 for a property inside a 207 means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// The operation failed.
    Fails,
    /// It is normal, and the report says which.
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
    /// Whether `status` is in the set.
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
