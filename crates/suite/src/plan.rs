//! A plan: a suite in which everything is resolved, ready to be run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use record::{
    ConstraintRecord, Http, MeasureId, MeasureRecord, PageRecord, SuiteRecord, TestId, Verify,
};
use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::template::{LiveText, Text};

/// What is to be done, test by test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Which suite it comes from.
    pub suite: SuiteRecord,
    /// Whether a collection of our own is made on the server.
    pub workspace: Workspace,
    /// Parameters after the command line had its say.
    pub params: BTreeMap<String, serde_json::Value>,
    /// The selected tests, in order; [`TestId`] is an index into it.
    pub tests: Vec<TestPlan>,
    /// What they measure, in the order of the report; [`MeasureId`] is an index into it.
    pub measures: Vec<MeasureRecord>,
    /// The pages in the loops of the tests, in their order.
    pub pages: Vec<PageRecord>,
    /// What the measurements are to fulfil, as far as they are of the selected tests.
    pub constraints: Vec<ConstraintRecord>,
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
    /// Repeated.
    pub body: Vec<Step>,
    /// Afterwards.
    pub cleanup: Vec<Step>,
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
}

/// A page, as far as it is known before the test runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PagePlan {
    /// Its name.
    pub name: String,
    /// Its files, in their order. Those that are not selected are not measured.
    pub files: Vec<Arc<RequestPlan>>,
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
