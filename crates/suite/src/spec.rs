//! Content of a suite file as written: the shape of the YAML, nothing resolved.

mod adapt;
mod beside;
mod constraints;
mod http;
mod loops;
mod needs;

use std::collections::BTreeMap;
use std::fmt;

use record::Verify;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, MapAccess, Visitor};
use yaml::WrittenValue;

use crate::error::SuiteError;
use crate::position::written;
pub use crate::position::{Located, Position, Scalar};
pub use adapt::AdaptSpec;
pub use beside::{BackgroundKeys, BackgroundSpec, CaptureKeys, CaptureSpec};
pub use constraints::ConstraintSpec;
pub(crate) use constraints::constraints;
pub use http::{HttpSpec, KeepSpec};
pub use loops::{AcrossSpec, LoopSpec, PartsSpec, RoleSpec, StopWatchSpec};
pub use needs::NeedsSpec;

/// A whole suite file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A Prestan suite")]
pub struct SuiteSpec {
    /// Name of the suite: letters, digits, `-` and `_`.
    pub suite: Located<String>,
    /// Version given by the suite; to be raised when figures are not comparable any more.
    #[serde(default = "one")]
    pub version: u32,
    /// Title in one line.
    #[serde(default)]
    pub title: String,
    /// Requirement for the server: `webdav` (a collection is made for the run, and removed), `http`
    /// (nothing is made; only reading methods are allowed), or `cgi` (as `http`, and POST if the
    /// command line has --writes).
    #[serde(default)]
    pub needs: NeedsSpec,
    /// Names and defaults of values that the command line can change: numbers, texts, and lists of
    /// these for tests with `each`. `requests` is the number of iterations of each user.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: BTreeMap<String, Located<WrittenValue>>,
    /// Constraints on the measurements, by name: `fast: p99(Get1K) < 5 ms`.
    #[serde(default)]
    pub constraints: BTreeMap<String, ConstraintSpec>,
    /// Changes of the load by measurements.
    pub adapt: Option<Located<AdaptSpec>>,
    /// Traffic between other programs while the suite is measured (docs/TRAFFIC.md).
    pub background: Option<Located<BackgroundSpec>>,
    /// Recording of the packets of the run.
    pub capture: Option<CaptureSpec>,
    /// Properties of stop-watches, by name.
    #[serde(default)]
    pub stopwatches: BTreeMap<String, Located<StopWatchSpec>>,
    /// Several targets of one run: names, each with one line about it. The first is that of the
    /// URL, to which steps without a target are sent; the others are given on the command line:
    /// `--target cache=URL`.
    #[serde(default)]
    pub targets: BTreeMap<String, Located<String>>,
    /// Verification of the responses of measured steps, unless a test or a step has the key itself.
    pub verify: Option<Verify>,
    /// The tests, run one after the other.
    pub tests: Vec<Located<TestSpec>>,
}

fn one() -> u32 {
    1
}

/// One test: set-up, a loop that is measured, clean-up.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestSpec {
    /// Name of the test: letters, digits, `-` and `_`.
    pub name: Located<String>,
    /// Title in one line, in any language, which reports show beside the name.
    #[serde(default, deserialize_with = "written")]
    pub title: Option<String>,
    /// Class that the DAV header of the server must have: `class 2`.
    pub needs: Option<Located<String>>,
    /// A parameter that is a list: the test is repeated for each of its values, which is appended
    /// to the names of the test and of its measures behind an `x`. If the parameter has one value
    /// only, names are unchanged.
    pub each: Option<Located<String>>,
    /// All users work in one collection instead of one each, to measure contention.
    #[serde(default)]
    pub shared: bool,
    /// Iterations of each user; default: the parameter `requests`.
    pub requests: Option<Located<Scalar>>,
    /// Use of connections in the loop.
    pub http: Option<Located<HttpSpec>>,
    /// Verification of the responses of measured steps.
    pub verify: Option<Verify>,
    /// Steps before the measurement, never measured.
    #[serde(default)]
    pub setup: Vec<StepSpec>,
    /// Steps that are repeated; those with `measure` yield samples.
    #[serde(default, rename = "loop")]
    pub body: Vec<StepSpec>,
    /// In place of `loop`: kinds of users, each with a loop of its own, at work at the same time.
    #[serde(default)]
    pub roles: BTreeMap<String, Located<RoleSpec>>,
    /// Steps after the measurement, never measured.
    #[serde(default)]
    pub cleanup: Vec<StepSpec>,
}

/// One step: a request, a tree, a repetition, a page, a choice or a pause, with its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// Its position.
    pub position: Position,
    /// Its action.
    pub action: ActionSpec,
    /// Its other keys.
    pub with: StepOptions,
}

impl StepSpec {
    /// Its inner steps: those that it repeats, chooses from, or executes under a condition.
    pub(crate) fn inside(&self) -> impl Iterator<Item = &StepSpec> {
        let choices = match &self.action {
            ActionSpec::Choose(choices) => choices.as_slice(),
            _ => &[],
        };
        let steps = self.with.steps.iter().chain(&self.with.otherwise);
        steps.chain(choices.iter().flat_map(|choice| &choice.steps))
    }

    /// The step, and everything inside it, in order.
    pub(crate) fn and_inside(&self) -> Vec<&StepSpec> {
        let inner = self.inside().flat_map(StepSpec::and_inside);
        std::iter::once(self).chain(inner).collect()
    }
}

/// Action of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionSpec {
    /// `PUT: name`: one request.
    Request {
        /// The method, in capitals.
        method: String,
        /// Path relative to the collection of the user.
        path: Located<Scalar>,
    },
    /// `tree: name/`: a collection of some depth and width.
    Tree(Located<Scalar>),
    /// `repeat: 10`: the `steps`, this number of times.
    Repeat(Located<Scalar>),
    /// `page: name`: the `steps` are its files, which are fetched together.
    Page(Located<String>),
    /// `parts: html`: the files named by the first file of its page.
    Parts(PartsSpec),
    /// `choose:` one of several lists of steps, by weight.
    Choose(Vec<ChoiceSpec>),
    /// `think: 100ms`: a pause.
    Think(ThinkSpec),
    /// `start: open-to-saved`: a stop-watch starts.
    Start(Located<String>),
    /// `stop: open-to-saved`: the stop-watch stops, and the time in between is a sample.
    Stop(Located<String>),
    /// `when: p99(Get) > 20 ms`: the `steps` while that is true, else those of `else`.
    When(Located<String>),
    /// `end: test` or `end: run`: the rest of it is not executed.
    End(EndSpec),
    /// `users: 8`: from now on, this number of users of a load that adapts is at work.
    Users(Located<Scalar>),
}

/// Measurement that a step ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndSpec {
    /// Of its test.
    Test,
    /// Of the run.
    Run,
}

/// Keys beside an action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepOptions {
    /// Query after the path, unchanged.
    pub query: Option<Located<Scalar>>,
    /// Destination of COPY and MOVE, relative like the path.
    pub to: Option<Located<Scalar>>,
    /// Depth header of a request; number of levels of a tree.
    pub depth: Option<Located<Scalar>>,
    /// Members at the bottom of a tree.
    pub width: Option<Located<Scalar>>,
    /// Leaves of a tree.
    pub of: Option<LeafSpec>,
    /// Overwrite header.
    pub overwrite: Option<bool>,
    /// Timeout header of LOCK.
    pub timeout: Option<Located<Scalar>>,
    /// More headers.
    pub headers: BTreeMap<String, Located<Scalar>>,
    /// Body of the request, or of the resources of a tree.
    pub body: Option<Located<BodySpec>>,
    /// Expected response.
    pub expect: Option<Located<ExpectSpec>>,
    /// Statuses that mean that the server does not support this, beside 405 and 501, and headers
    /// without which a response means the same: `no ETag`.
    pub unsupported: Vec<Located<Scalar>>,
    /// Names for parts of the response, to be used later as `{{ name }}`.
    pub save: BTreeMap<String, Located<String>>,
    /// Name of the measure; for a page, that of files without one of their own.
    pub measure: Option<Located<String>>,
    /// Verification of its response; for a page, of its files.
    pub verify: Option<Verify>,
    /// Target: a name of `targets`; default: the first of them.
    pub target: Option<Located<String>>,
    /// Name of the number of a repetition, to be used in its steps as `{{ name }}`.
    pub counter: Option<Located<String>>,
    /// Steps of a repetition, files of a page, or steps under a condition.
    pub steps: Vec<StepSpec>,
    /// Steps if the condition is false.
    pub otherwise: Vec<StepSpec>,
}

impl StepOptions {
    /// Copies keys of a page to all its files.
    fn hand_on_to_files(&mut self) {
        let (measure, verify) = (self.measure.take(), self.verify.take());
        let target = self.target.take();
        for file in &mut self.steps {
            let with = &mut file.with;
            with.measure = with.measure.take().or_else(|| measure.clone());
            with.verify = with.verify.or(verify);
            with.target = with.target.take().or_else(|| target.clone());
        }
    }
}

/// Leaves of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LeafSpec {
    /// Resources with the `body` of the step.
    #[default]
    Resources,
    /// Empty collections.
    Collections,
}

/// One alternative of `choose`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceSpec {
    /// Frequency relative to the others.
    pub weight: Located<Scalar>,
    /// Its steps.
    pub steps: Vec<StepSpec>,
}

/// A pause, constant or drawn from a distribution.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThinkSpec {
    /// Always this long.
    pub constant: Option<Located<Scalar>>,
    /// Uniformly distributed between these.
    pub uniform: Option<[Located<Scalar>; 2]>,
    /// Exponentially distributed with this mean.
    pub exponential: Option<Located<Scalar>>,
}

/// A body: `{size: 1KiB}`, `{xml: "<a/>"}` or `{text: "..."}`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodySpec {
    /// Number of bytes.
    pub size: Option<Located<Scalar>>,
    /// Their content.
    #[serde(default)]
    pub fill: FillSpec,
    /// A template; sent as application/xml.
    #[serde(default, deserialize_with = "written")]
    pub xml: Option<Located<Scalar>>,
    /// A template; sent as text/plain.
    #[serde(default, deserialize_with = "written")]
    pub text: Option<Located<Scalar>>,
    /// Line ends of `xml` or `text`.
    #[serde(default)]
    pub lines: LineEndSpec,
    /// Content-Type, if not the default.
    #[serde(default, rename = "type", deserialize_with = "written")]
    pub content_type: Option<String>,
}

/// Line ends of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineEndSpec {
    /// LF, as in the file.
    #[default]
    Lf,
    /// CR and LF.
    Crlf,
}

/// Content of a body of a given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FillSpec {
    /// A repeated sentence.
    #[default]
    Text,
    /// Bytes that do not compress.
    Random,
}

/// Expected response.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// Accepted statuses: `[201, 204]` or `["2xx"]`; default: 207 for PROPFIND and 2xx for others.
    #[serde(default)]
    pub status: Vec<Located<Scalar>>,
    /// Expected body: its length is checked in every response, its content in the first one.
    pub body: Option<Located<BodySpec>>,
    /// Expected length of the body, such as `3KiB`, checked in every response.
    pub length: Option<Located<Scalar>>,
    /// Number of properties with status 200 in each response of a 207.
    pub properties: Option<Located<Scalar>>,
    /// Number of responses of a 207.
    pub responses: Option<Located<Scalar>>,
    /// Meaning of a property that the server does not have.
    #[serde(default)]
    pub missing: MissingSpec,
    /// Text that the first response must contain.
    #[serde(default)]
    pub contains: Vec<Located<Scalar>>,
}

/// Meaning of a 404 for a property inside a 207.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MissingSpec {
    /// The operation failed.
    #[default]
    Fails,
    /// It is normal, and the report names the property.
    Noted,
}

/// Parses the YAML of a suite file, or the part of it that `T` has.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, SuiteError> {
    let read = yaml::read(text);
    read.map_err(|error| SuiteError::at(name, text, error.position(), error.message()))
}

const STEP_KEYS: &[&str] = &[
    "a method in capitals (PUT, PROPFIND...)",
    "tree",
    "repeat",
    "page",
    "parts",
    "choose",
    "think",
    "start",
    "stop",
    "when",
    "end",
    "users",
    "query",
    "to",
    "depth",
    "width",
    "of",
    "overwrite",
    "timeout",
    "headers",
    "body",
    "expect",
    "unsupported",
    "save",
    "measure",
    "verify",
    "target",
    "as",
    "steps",
    "else",
];

/// Methods to suggest for one that is not in capitals.
const METHODS: &[&str] = &[
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "COPY",
    "MOVE",
    "MKCOL",
    "MKCALENDAR",
    "PROPFIND",
    "PROPPATCH",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "SEARCH",
];

impl<'de> Deserialize<'de> for StepSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let step = Located::<BareStep>::deserialize(deserializer)?;
        Ok(StepSpec {
            position: step.position,
            action: step.value.0,
            with: step.value.1,
        })
    }
}

/// A step without its position.
struct BareStep(ActionSpec, StepOptions);

impl<'de> Deserialize<'de> for BareStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = BareStep;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step, for example `PUT: name`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BareStep, A::Error> {
        let mut actions = Vec::new();
        let mut with = StepOptions::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "tree" => actions.push((key, ActionSpec::Tree(map.next_value()?))),
                "repeat" => actions.push((key, ActionSpec::Repeat(map.next_value()?))),
                "page" => actions.push((key, ActionSpec::Page(map.next_value()?))),
                "parts" => actions.push((key, ActionSpec::Parts(map.next_value()?))),
                "choose" => actions.push((key, ActionSpec::Choose(map.next_value()?))),
                "think" => actions.push((key, ActionSpec::Think(map.next_value()?))),
                "start" => actions.push((key, ActionSpec::Start(map.next_value()?))),
                "stop" => actions.push((key, ActionSpec::Stop(map.next_value()?))),
                "when" => actions.push((key, ActionSpec::When(map.next_value()?))),
                "end" => actions.push((key, ActionSpec::End(map.next_value()?))),
                "users" => actions.push((key, ActionSpec::Users(map.next_value()?))),
                "query" => with.query = Some(map.next_value()?),
                "to" => with.to = Some(map.next_value()?),
                "depth" => with.depth = Some(map.next_value()?),
                "width" => with.width = Some(map.next_value()?),
                "of" => with.of = Some(map.next_value()?),
                "overwrite" => with.overwrite = Some(map.next_value()?),
                "timeout" => with.timeout = Some(map.next_value()?),
                "headers" => with.headers = map.next_value()?,
                "body" => with.body = Some(map.next_value()?),
                "expect" => with.expect = Some(map.next_value()?),
                "unsupported" => with.unsupported = map.next_value()?,
                "save" => with.save = map.next_value()?,
                "measure" => with.measure = Some(map.next_value()?),
                "verify" => with.verify = Some(map.next_value()?),
                "target" => with.target = Some(map.next_value()?),
                "as" => with.counter = Some(map.next_value()?),
                "steps" => with.steps = map.next_value()?,
                "else" => with.otherwise = map.next_value()?,
                method if is_method(method) => {
                    let path = map.next_value()?;
                    actions.push((key.clone(), ActionSpec::Request { method: key, path }));
                }
                other => {
                    let method = METHODS
                        .iter()
                        .find(|known| known.eq_ignore_ascii_case(other));
                    return Err(match method {
                        Some(method) => de::Error::custom(format!(
                            "methods are written in capitals: `{method}`, not `{other}`"
                        )),
                        None => de::Error::unknown_field(other, STEP_KEYS),
                    });
                }
            }
        }
        match actions.len() {
            1 => {
                let action = actions.remove(0).1;
                if let ActionSpec::Page(_) = action {
                    with.hand_on_to_files();
                }
                Ok(BareStep(action, with))
            }
            0 => Err(de::Error::custom(
                "a step needs a method in capitals, `tree`, `repeat`, `page`, `parts`, `choose`, `think`, `start`, \
                 `stop`, `when` or `end`",
            )),
            _ => Err(de::Error::custom(format!(
                "one step does one thing, and here are `{}` and `{}`; begin the second with a dash",
                actions[0].0, actions[1].0
            ))),
        }
    }
}

fn is_method(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_uppercase())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}
