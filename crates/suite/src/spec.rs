//! What is written in a suite file, as it is written: the shape of the YAML, nothing resolved.

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
use crate::place::written;
pub use crate::place::{Place, Placed, Scalar};
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
    pub suite: Placed<String>,
    /// Version the suite gives itself; raise it when figures stop being comparable.
    #[serde(default = "one")]
    pub version: u32,
    /// One line about it.
    #[serde(default)]
    pub title: String,
    /// What the server must be: `webdav` (a collection is made for the run, and removed),
    /// `http` (nothing is made; only reading methods are allowed), or `cgi` (as `http`, and POST, if the command line
    /// has --writes).
    #[serde(default)]
    pub needs: NeedsSpec,
    /// Names and defaults of what the command line can change: numbers, texts, and lists of these
    /// for tests with `each`. `requests` is the number of times
    /// each user goes through a loop.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: BTreeMap<String, Placed<WrittenValue>>,
    /// What the measurements are to fulfil, by name: `fast: p99(Get1K) < 5 ms`.
    #[serde(default)]
    pub constraints: BTreeMap<String, ConstraintSpec>,
    /// How the load changes with what is measured.
    pub adapt: Option<Placed<AdaptSpec>>,
    /// Traffic between other programs while the suite is measured (docs/TRAFFIC.md).
    pub background: Option<Placed<BackgroundSpec>>,
    /// Whether the packets of the run are kept in its record.
    pub capture: Option<CaptureSpec>,
    /// Stop-watches of which more is to be said than where they start and stop, by name.
    #[serde(default)]
    pub stopwatches: BTreeMap<String, Placed<StopWatchSpec>>,
    /// Several servers of one run: names, each with one line about it. The first is that of the URL, where
    /// steps go that name none; the others are given on the command line: `--target cache=URL`.
    #[serde(default)]
    pub targets: BTreeMap<String, Placed<String>>,
    /// How much of the responses of measured steps is verified, unless a test or a step has the key itself.
    pub verify: Option<Verify>,
    /// The tests, run one after the other.
    pub tests: Vec<Placed<TestSpec>>,
}

fn one() -> u32 {
    1
}

/// One test: set-up, a loop that is measured, clean-up.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestSpec {
    /// Name of the test: letters, digits, `-` and `_`.
    pub name: Placed<String>,
    /// One line about it, in any language, which reports show beside the name.
    #[serde(default, deserialize_with = "written")]
    pub title: Option<String>,
    /// What the server must say of itself in its DAV header: `class 2`.
    pub needs: Option<Placed<String>>,
    /// A parameter that is a list: the test is made once for each of its values, which then stands
    /// behind an `x` at the end of the names of the test and of what it measures. Where the
    /// parameter has one value only, names stay as they are.
    pub each: Option<Placed<String>>,
    /// All users work in one collection instead of one each: this is how contention is measured.
    #[serde(default)]
    pub shared: bool,
    /// How often each user goes through the loop; the parameter `requests` where this is absent.
    pub requests: Option<Placed<Scalar>>,
    /// How the loop uses connections.
    pub http: Option<Placed<HttpSpec>>,
    /// How much of the responses of measured steps is verified.
    pub verify: Option<Verify>,
    /// Steps before the clock starts, never measured.
    #[serde(default)]
    pub setup: Vec<StepSpec>,
    /// Steps that are repeated; those with `measure` yield samples.
    #[serde(default, rename = "loop")]
    pub body: Vec<StepSpec>,
    /// In place of `loop`: kinds of users, each with a loop of its own, at work at the same time.
    #[serde(default)]
    pub roles: BTreeMap<String, Placed<RoleSpec>>,
    /// Steps afterwards, never measured.
    #[serde(default)]
    pub cleanup: Vec<StepSpec>,
}

/// One step: a request, a tree, a repetition, a page, a choice or a pause, with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// Where the step is written.
    pub place: Place,
    /// What is done.
    pub action: ActionSpec,
    /// The keys beside it.
    pub with: StepOptions,
}

impl StepSpec {
    /// The steps inside it: those that it repeats, chooses from, or does under a condition.
    pub(crate) fn inside(&self) -> impl Iterator<Item = &StepSpec> {
        let choices = match &self.action {
            ActionSpec::Choose(choices) => choices.as_slice(),
            _ => &[],
        };
        let steps = self.with.steps.iter().chain(&self.with.otherwise);
        steps.chain(choices.iter().flat_map(|choice| &choice.steps))
    }
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionSpec {
    /// `PUT: name`: one request.
    Request {
        /// The method, in capitals.
        method: String,
        /// On what, relative to the collection of the user.
        path: Placed<Scalar>,
    },
    /// `tree: name/`: a collection of some depth and width.
    Tree(Placed<Scalar>),
    /// `repeat: 10`: the `steps`, so many times.
    Repeat(Placed<Scalar>),
    /// `page: name`: the `steps` are its files, which are fetched together.
    Page(Placed<String>),
    /// `parts: html`: the files that the first file of its page names.
    Parts(PartsSpec),
    /// `choose:` one of several lists of steps, by weight.
    Choose(Vec<ChoiceSpec>),
    /// `think: 100ms`: a pause.
    Think(ThinkSpec),
    /// `start: open-to-saved`: a stop-watch starts.
    Start(Placed<String>),
    /// `stop: open-to-saved`: it stops, and the time in between is a sample.
    Stop(Placed<String>),
    /// `when: p99(Get) > 20 ms`: the `steps` while that is true, else those of `else`.
    When(Placed<String>),
    /// `end: test` or `end: run`: nothing else of it is done.
    End(EndSpec),
    /// `users: 8`: from now on so many users of a load that adapts are at work.
    Users(Placed<Scalar>),
}

/// What a step ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndSpec {
    /// The measurement of its test.
    Test,
    /// That of the run.
    Run,
}

/// The keys that may stand beside an action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepOptions {
    /// What stands behind a `?` after the path, as it is.
    pub query: Option<Placed<Scalar>>,
    /// Destination of COPY and MOVE, relative like the path.
    pub to: Option<Placed<Scalar>>,
    /// Depth header of a request; number of levels of a tree.
    pub depth: Option<Placed<Scalar>>,
    /// Members at the bottom of a tree.
    pub width: Option<Placed<Scalar>>,
    /// What stands at the bottom of a tree.
    pub of: Option<LeafSpec>,
    /// Overwrite header.
    pub overwrite: Option<bool>,
    /// Timeout header of LOCK.
    pub timeout: Option<Placed<Scalar>>,
    /// More headers.
    pub headers: BTreeMap<String, Placed<Scalar>>,
    /// Body of the request, or of the resources of a tree.
    pub body: Option<Placed<BodySpec>>,
    /// What the answer must be.
    pub expect: Option<Placed<ExpectSpec>>,
    /// Statuses that mean that the server does not have this, beside 405 and 501, and headers
    /// without which a response means that: `no ETag`.
    pub unsupported: Vec<Placed<Scalar>>,
    /// Names for parts of the answer, to be used later as `{{ name }}`.
    pub save: BTreeMap<String, Placed<String>>,
    /// Name under which the operation is measured; of a page, that of files without one of their own.
    pub measure: Option<Placed<String>>,
    /// How much of its response is verified; of a page, of its files.
    pub verify: Option<Verify>,
    /// Where it is sent: a name of `targets`; the first of them where this is absent.
    pub target: Option<Placed<String>>,
    /// Name of the number of a repetition, to be used in its steps as `{{ name }}`.
    pub counter: Option<Placed<String>>,
    /// The steps of a repetition, the files of a page, what is done when a condition is true.
    pub steps: Vec<StepSpec>,
    /// What is done when it is not.
    pub otherwise: Vec<StepSpec>,
}

impl StepOptions {
    /// What a page says of all its files, each of them says.
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

/// What stands at the bottom of a tree.
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
    /// How often, in relation to the others.
    pub weight: Placed<Scalar>,
    /// What is done then.
    pub steps: Vec<StepSpec>,
}

/// A pause, always the same or drawn from a distribution.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThinkSpec {
    /// Always this long.
    pub constant: Option<Placed<Scalar>>,
    /// Between these two, each length equally likely.
    pub uniform: Option<[Placed<Scalar>; 2]>,
    /// Exponentially distributed with this mean.
    pub exponential: Option<Placed<Scalar>>,
}

/// A body: `{size: 1KiB}`, `{xml: "<a/>"}` or `{text: "..."}`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodySpec {
    /// So many bytes.
    pub size: Option<Placed<Scalar>>,
    /// What these bytes are.
    #[serde(default)]
    pub fill: FillSpec,
    /// A template; sent as application/xml.
    #[serde(default, deserialize_with = "written")]
    pub xml: Option<Placed<Scalar>>,
    /// A template; sent as text/plain.
    #[serde(default, deserialize_with = "written")]
    pub text: Option<Placed<Scalar>>,
    /// How the lines of `xml` or `text` end.
    #[serde(default)]
    pub lines: LineEndSpec,
    /// Content-Type, where the usual one is not wanted.
    #[serde(default, rename = "type", deserialize_with = "written")]
    pub content_type: Option<String>,
}

/// How the lines of a body end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineEndSpec {
    /// As they stand in the file: with LF.
    #[default]
    Lf,
    /// With CR and LF.
    Crlf,
}

/// What a body of a given size is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FillSpec {
    /// A sentence over and over.
    #[default]
    Text,
    /// Bytes that do not compress.
    Random,
}

/// What the answer must be.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// Accepted statuses: `[201, 204]` or `["2xx"]`; 207 for PROPFIND and 2xx for the others
    /// where this is absent.
    #[serde(default)]
    pub status: Vec<Placed<Scalar>>,
    /// The body that must come back: length every time, content on the first answer.
    pub body: Option<Placed<BodySpec>>,
    /// How long the body must be, every time; `3KiB` for example.
    pub length: Option<Placed<Scalar>>,
    /// How many properties a 207 must give with status 200, in each response.
    pub properties: Option<Placed<Scalar>>,
    /// How many responses a 207 must have.
    pub responses: Option<Placed<Scalar>>,
    /// What a property that the server does not have means.
    #[serde(default)]
    pub missing: MissingSpec,
    /// Text that the first answer must contain.
    #[serde(default)]
    pub contains: Vec<Placed<Scalar>>,
}

/// What a 404 for a property inside a 207 means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MissingSpec {
    /// The operation failed.
    #[default]
    Fails,
    /// It is normal, and the report says which.
    Noted,
}

/// Reads the YAML of a suite file into its [`SuiteSpec`].
pub(crate) fn parse(name: &str, text: &str) -> Result<SuiteSpec, SuiteError> {
    read(name, text)
}

fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, SuiteError> {
    let read = yaml::read(text);
    read.map_err(|error| SuiteError::at(name, text, error.place(), error.message()))
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

/// Methods that may be meant where one is not in capitals.
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
        let step = Placed::<BareStep>::deserialize(deserializer)?;
        Ok(StepSpec {
            place: step.place,
            action: step.value.0,
            with: step.value.1,
        })
    }
}

/// A step that does not know its place yet.
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
                    let method = METHODS.iter().find(|own| own.eq_ignore_ascii_case(other));
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
