//! The prepared steps of a test: the request of each, and the check of its response.

mod found_parts;

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use record::{Http, Nanos, Outcome, TestId, Verify};
use suite::{Alternative, RequestPlan, Step, TestPlan, Think, Workspace};
use wire::redact::redacted_link;
use wire::response::ResponseHead;

use crate::clock::nanos;
use crate::connection::client::ClientConfig;
use crate::connection::http1::Response;
use crate::connection::prepared::{Prepared, PreparedRequest, Values, numbered_label};
use crate::drive::check::{CheckedResponse, Wrong, check};
use crate::drive::context::RunContext;

pub(crate) use found_parts::{FoundParts, ReadPage};

/// Largest 207 that is kept as good.
const REMEMBERED: usize = 1 << 20;

/// A request of a suite, prepared for one server and thread.
pub(crate) struct RequestStep {
    pub(crate) plan: Arc<RequestPlan>,
    /// Its index among those that were prepared with it.
    pub(crate) index: usize,
    pub(crate) request: PreparedRequest,
    /// Effect on locks if the response is as expected.
    pub(crate) lock: LockEffect,
    /// Purpose in X-Prestan if it is measured: the name of the measure.
    pub(crate) purpose: String,
    path: Prepared,
    /// The first file of a page, which names parts of it.
    pub(crate) names_parts: bool,
    /// For a request that stands for such parts, those that were found last.
    pub(crate) found: FoundParts,
    /// The request, or a required text of its response, contains a saved value.
    needs_saved: bool,
    /// Texts that its first response must contain.
    contains: Vec<Prepared>,
    /// The last 207 that was read and found good: an identical one is not read again.
    good: RefCell<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockEffect {
    None,
    Takes,
    Releases,
}

impl LockEffect {
    fn new(method: &str) -> LockEffect {
        match method {
            "LOCK" => LockEffect::Takes,
            "UNLOCK" => LockEffect::Releases,
            _ => LockEffect::None,
        }
    }
}

pub(crate) enum PreparedStep {
    Request(Rc<RequestStep>),
    Page(Vec<Rc<RequestStep>>),
    Repeat {
        times: u32,
        /// Slot of the number of the repetition, if it has a name.
        counter: Option<usize>,
        steps: Vec<PreparedStep>,
    },
    /// One of several, by weight.
    Choose(Vec<(f64, Vec<PreparedStep>)>),
    Think(Think),
    /// A pause until this many nanoseconds after the beginning of the iteration.
    Pace(Nanos),
    /// Starts a stop-watch, by its index in the plan.
    Start(usize),
    Stop(usize),
    /// Steps while a condition of the plan is true, and others otherwise.
    When {
        condition: usize,
        steps: Vec<PreparedStep>,
        otherwise: Vec<PreparedStep>,
    },
    EndTest,
    EndRun,
    /// Sets the number of active users of a load.
    Users(u32),
}

pub(crate) struct PreparedLoop {
    /// The role of its users, from 1; 0 in a test without roles.
    pub(crate) role: u16,
    pub(crate) steps: Vec<PreparedStep>,
}

pub(crate) struct PreparedTest {
    pub(crate) id: TestId,
    pub(crate) name: String,
    /// Use of connections by its requests.
    pub(crate) http: Http,
    /// All users work in one collection.
    pub(crate) shared: bool,
    /// The targets of the plan that its requests go to.
    pub(crate) targets: Vec<u16>,
    /// Number of values that its steps save.
    pub(crate) saved: usize,
    pub(crate) setup: Vec<PreparedStep>,
    pub(crate) loops: Vec<PreparedLoop>,
    pub(crate) cleanup: Vec<PreparedStep>,
    plan: TestPlan,
}

impl PreparedTest {
    /// X-Prestan of all its requests, if it is not the usual one.
    pub(crate) fn label(&self) -> Option<&String> {
        self.plan.label.as_ref()
    }

    /// The index of a user's loop.
    pub(crate) fn loop_of(&self, user: u32) -> usize {
        self.plan.loop_of(user)
    }
}

/// The steps of all tests of a plan, as the users of one server and thread share them.
pub(crate) type PreparedTests = Rc<[Rc<PreparedTest>]>;

/// Prepares all tests of a plan for these endpoints. In a load, measured steps have one purpose,
/// warming up or not, which is written once.
///
/// # Errors
/// A step cannot be sent, with the reason.
pub(crate) fn prepare_tests(
    context: &RunContext,
    configs: &[Rc<ClientConfig>],
    is_load: bool,
) -> Result<PreparedTests, String> {
    let mut preparer = Preparer {
        context,
        configs,
        http: Http::default(),
        label: String::new(),
        is_load,
        count: 0,
    };
    let tests = context.plan.tests.iter();
    let tests = tests.map(|test| Ok(Rc::new(preparer.test(test)?)));
    tests.collect()
}

/// Use of connections by a test in a run that uses them in the `usual` way.
pub(crate) fn test_http(usual: Http, test_use: Option<Http>) -> Http {
    test_use.map_or(usual, |test_use| Http {
        full_handshakes: usual.full_handshakes,
        nagle: usual.nagle,
        two_writes: usual.two_writes,
        addresses: usual.addresses,
        haproxy_protocol: usual.haproxy_protocol,
        ..test_use
    })
}

/// Prepares requests for one server and thread.
struct Preparer<'a> {
    context: &'a RunContext,
    /// Settings of each target.
    configs: &'a [Rc<ClientConfig>],
    /// Use of connections by the test.
    http: Http,
    /// X-Prestan of its requests, with placeholders.
    label: String,
    is_load: bool,
    /// Number of prepared requests.
    count: usize,
}

/// Thoroughness of a check of a response.
#[derive(Clone, Copy)]
pub(crate) enum Scrutiny<'v> {
    /// One response of many.
    Quick,
    /// The first response of a test, to a request that was filled with these values.
    Close(&'v Values<'v>),
}

impl Preparer<'_> {
    fn test(&mut self, test: &TestPlan) -> Result<PreparedTest, String> {
        self.http = test_http(self.configs[0].http, test.http);
        let numbered = || numbered_label(&self.context.plan.suite.name);
        self.label = test.label.clone().unwrap_or_else(numbered);
        Ok(PreparedTest {
            id: test.id,
            name: test.name.clone(),
            http: self.http,
            shared: test.shared,
            targets: test.targets().into_iter().collect(),
            saved: test.saved.len(),
            setup: self.steps(&test.setup)?,
            loops: test
                .loops
                .iter()
                .map(|role_loop| {
                    Ok(PreparedLoop {
                        role: role_loop.role,
                        steps: self.steps(&role_loop.steps)?,
                    })
                })
                .collect::<Result<_, String>>()?,
            cleanup: self.steps(&test.cleanup)?,
            plan: test.clone(),
        })
    }

    fn steps(&mut self, steps: &[Step]) -> Result<Vec<PreparedStep>, String> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Step) -> Result<PreparedStep, String> {
        Ok(match step {
            Step::Request(request) => PreparedStep::Request(self.file(request, false)?),
            Step::Page(page) => {
                let is_first = |index| index == 0 && page.parts().is_some();
                let files = page.files.iter().enumerate();
                let files = files.map(|(index, file)| self.file(file, is_first(index)));
                PreparedStep::Page(files.collect::<Result<_, _>>()?)
            }
            Step::Repeat {
                times,
                counter,
                steps,
            } => PreparedStep::Repeat {
                times: *times,
                counter: *counter,
                steps: self.steps(steps)?,
            },
            Step::Choose(alternatives) => {
                let alternatives = alternatives.iter();
                let prepared = alternatives
                    .map(|Alternative { weight, steps }| Ok((*weight, self.steps(steps)?)));
                PreparedStep::Choose(prepared.collect::<Result<_, String>>()?)
            }
            Step::Think(think) => PreparedStep::Think(*think),
            Step::Pace(time) => PreparedStep::Pace(nanos(*time)),
            Step::Start(watch) => PreparedStep::Start(*watch),
            Step::Stop(watch) => PreparedStep::Stop(*watch),
            Step::When {
                condition,
                steps,
                otherwise,
            } => PreparedStep::When {
                condition: *condition,
                steps: self.steps(steps)?,
                otherwise: self.steps(otherwise)?,
            },
            Step::EndTest => PreparedStep::EndTest,
            Step::EndRun => PreparedStep::EndRun,
            Step::Users(users) => PreparedStep::Users(*users),
        })
    }

    /// A request, which may be the first file of a page that names parts of it.
    fn file(
        &mut self,
        plan: &Arc<RequestPlan>,
        names_parts: bool,
    ) -> Result<Rc<RequestStep>, String> {
        let suite = &self.context.plan;
        let measure = plan.measure;
        let measure = measure.and_then(|measure| suite.measures.get(usize::from(measure.0)));
        let purpose = measure.map_or(String::new(), |measure| measure.name.clone());
        let fail = |why| {
            let name = if purpose.is_empty() {
                &plan.method
            } else {
                &purpose
            };
            format!("{name} cannot be sent: {why}")
        };
        let config = &*self.configs[usize::from(plan.target)];
        let mut request =
            PreparedRequest::new(plan, (config, self.http), &self.label).map_err(fail)?;
        let has_one_purpose = self.is_load && measure.is_some();
        // Parts have paths of their own.
        let has_one_workplace = suite.workspace != Workspace::Collection && !plan.is_for_parts;
        request = request.bound(
            has_one_workplace.then_some(&*config.root),
            has_one_purpose.then_some(&*purpose),
        );
        let contains: Vec<Prepared> = plan.expect.contains.iter().map(Prepared::new).collect();
        let index = self.count;
        self.count += 1;
        Ok(Rc::new(RequestStep {
            lock: LockEffect::new(&plan.method),
            index,
            needs_saved: request.needs_saved() || contains.iter().any(Prepared::needs_saved),
            request,
            path: Prepared::in_workplace(&plan.path),
            names_parts,
            found: FoundParts::default(),
            contains,
            plan: Arc::clone(plan),
            purpose,
            good: RefCell::default(),
        }))
    }
}

impl PreparedStep {
    /// Adds the measured requests of steps to `found`; of alternatives those that `choose` picks.
    pub(crate) fn measured<'s>(
        steps: &'s [PreparedStep],
        choose: &mut impl FnMut(&'s [(f64, Vec<PreparedStep>)]) -> &'s [PreparedStep],
        found: &mut Vec<&'s RequestStep>,
    ) {
        let is_measured = |request: &&'s RequestStep| request.plan.measure.is_some();
        for step in steps {
            match step {
                PreparedStep::Request(request) => {
                    found.extend(Some(&**request).filter(is_measured))
                }
                PreparedStep::Page(files) => {
                    // The parts are known after the first file.
                    let known = files.iter().filter(|file| !file.plan.is_for_parts);
                    found.extend(known.map(|file| &**file).filter(is_measured));
                }
                PreparedStep::Repeat { times, steps, .. } => {
                    (0..*times).for_each(|_| PreparedStep::measured(steps, choose, found));
                }
                PreparedStep::Choose(alternatives) => {
                    PreparedStep::measured(choose(alternatives), choose, found);
                }
                // Skipped steps contain nothing.
                PreparedStep::When { otherwise, .. } => {
                    PreparedStep::measured(otherwise, choose, found);
                }
                PreparedStep::Think(_)
                | PreparedStep::Pace(_)
                | PreparedStep::Start(_)
                | PreparedStep::Stop(_)
                | PreparedStep::EndTest
                | PreparedStep::EndRun
                | PreparedStep::Users(_) => {}
            }
        }
    }
}

impl RequestStep {
    /// True if all values are saved that the request and the required texts of its response
    /// contain.
    pub(crate) fn can_be_sent(&self, values: &Values<'_>) -> bool {
        let texts = self.contains.iter();
        !self.needs_saved
            || self.request.can_be_filled(values)
                && texts.clone().all(|text| text.can_be_filled(values))
    }

    /// True if the suite specifies contents of the response's body.
    pub(crate) fn has_contents(&self) -> bool {
        !self.contains.is_empty() || self.plan.expect.body.is_some()
    }

    pub(crate) fn target(&self) -> usize {
        usize::from(self.plan.target)
    }

    pub(crate) fn path(&self, values: &Values<'_>) -> String {
        filled(&self.path, values)
    }

    /// The path on the server at which COPY and MOVE create their result; empty for others.
    pub(crate) fn destination(&self, values: &Values<'_>) -> String {
        let to = self.plan.to.as_ref().map(Prepared::in_workplace);
        to.map_or_else(String::new, |to| filled(&to, values))
    }

    /// The request for one of the parts for which it stands, at that path on the server.
    pub(crate) fn part(&self, path: &str) -> RequestStep {
        RequestStep {
            plan: Arc::clone(&self.plan),
            index: self.index,
            request: self.request.clone().bound(Some(path), None),
            lock: self.lock,
            purpose: self.purpose.clone(),
            path: self.path.clone().bound(Some(path), None),
            names_parts: false,
            found: FoundParts::default(),
            needs_saved: self.needs_saved,
            contains: self.contains.clone(),
            good: RefCell::default(),
        }
    }

    /// Adds to a wrong body that it has a coding that was not requested.
    fn coded(&self, head: &ResponseHead, mut wrong: Wrong) -> Wrong {
        if wrong.outcome == Outcome::WrongBody
            && !self.request.accepts_codings
            && let Some(coding) = head.headers.get("Content-Encoding")
        {
            wrong.what.push_str(&format!(
                "; it has Content-Encoding: {}, though no Accept-Encoding was sent",
                redacted_link(coding)
            ));
        }
        wrong
    }

    /// Checks if a response is the expected one; a good one may come with a note for the reader of
    /// the report.
    pub(crate) fn judge(
        &self,
        head: &ResponseHead,
        body: &[u8],
        response: &Response,
        reading: Scrutiny<'_>,
    ) -> Result<Option<String>, Wrong> {
        if self.plan.verify == Verify::None {
            return Ok(None);
        }
        let is_multistatus = head.status == 207 && self.plan.verify != Verify::Head;
        let is_quick = matches!(reading, Scrutiny::Quick);
        if is_quick && is_multistatus && !body.is_empty() && *self.good.borrow() == body {
            return Ok(None);
        }
        let contains = match reading {
            Scrutiny::Quick => Vec::new(),
            Scrutiny::Close(values) => {
                let texts = self.contains.iter().filter_map(|text| text.bytes(values));
                texts.map(Cow::Owned).collect()
            }
        };
        let response = CheckedResponse {
            head,
            body,
            length: response.body_length,
            compared: response.compared,
            first: !is_quick,
            contains: &contains,
        };
        let note = check(&self.plan, &response).map_err(|wrong| self.coded(head, wrong))?;
        if note.is_none() && is_multistatus && body.len() <= REMEMBERED {
            let mut good = self.good.borrow_mut();
            good.clear();
            good.extend_from_slice(body);
        }
        Ok(note)
    }
}

/// A path with its values, or an empty one if a value is unknown.
fn filled(path: &Prepared, values: &Values<'_>) -> String {
    let bytes = path.bytes(values).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
