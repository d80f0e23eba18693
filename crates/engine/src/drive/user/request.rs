//! One request of a user: fill it in, send, judge, record, remember.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use record::{Cause, EventKind, MissingStep, Nanos, Outcome, Verify};
use suite::{RequestPlan, SaveFrom};
use wire::dav::{lock_token_from_body, lock_token_from_header};
use wire::redact::redacted_link;
use wire::response::ResponseHead;

use super::destination::may_be_misread;
use super::script::{Filling, Memory};
use super::{Log, Phase, Script, User};
use crate::clock::nanos;
use crate::connection::client::{Client, Exchange, KeptBody, RequestToken, SendOptions};
use crate::connection::http1::Response;
use crate::connection::prepared::{RequestCount, Values};
use crate::drive::check::{Wrong, outcome, outcome_of, surplus, without_close_notify};
use crate::drive::context::Stop;
use crate::drive::driver::{Done, Numbering, Operating, RequestEnd};
use crate::drive::operation::Operation;
use crate::drive::step::{LockEffect, PreparedTest, RequestStep, Scrutiny};
use crate::event_loop::sleep;

/// Bytes of a response that takes about a millisecond to check.
const LARGE: u64 = 64 << 10;

/// The part of a test in which a request is sent, and the values of its placeholders.
#[derive(Clone, Copy)]
pub(crate) struct TestPart<'s> {
    pub(crate) test: &'s PreparedTest,
    pub(super) role: u16,
    pub(super) phase: Phase,
    pub(super) filling: &'s Filling,
}

pub(crate) struct Attempt<'s> {
    pub(super) step: &'s RequestStep,
    part: TestPart<'s>,
    count: RequestCount,
    visit: Option<u64>,
    /// Number of parts that the first file of its page named.
    pub(super) parts: Option<u16>,
    /// The stage of the schedule.
    stage: u16,
    /// Purpose in X-Prestan, if it is not measured.
    unmeasured: Option<String>,
    /// The response is checked closely.
    closely: bool,
    pub(super) sending: SendOptions,
}

/// The verdict about the response to a request.
pub(crate) struct Judged {
    verdict: Result<Expected, Wrong>,
    /// Its path on the server, if that is reported or kept.
    path: String,
}

impl Judged {
    /// A body that cannot be read.
    pub(super) fn unreadable(attempt: &Attempt<'_>, why: String) -> Judged {
        Judged {
            verdict: Err(Wrong::new(Outcome::WrongBody, why)),
            path: attempt.step.path(&attempt.values()),
        }
    }

    /// Adds why its destination was declined with this status, which then is no missing feature.
    fn explain(&mut self, status: u16, why: &str) {
        if let Err(wrong) = &mut self.verdict
            && !why.is_empty()
        {
            wrong.what.push_str(why);
            (wrong.outcome, wrong.cause) = (outcome_of(status), None);
        }
    }

    pub(super) fn is_expected(&self) -> bool {
        self.verdict.is_ok()
    }
}

impl User {
    /// Does a step.
    ///
    /// # Errors
    /// The test cannot continue, with the reason.
    pub(crate) async fn request(
        &mut self,
        script: &mut Script,
        step: &RequestStep,
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let log = &mut self.log;
        let (part, memory) = script.parts(phase);
        let Some(attempt) = log.attempt(part, memory, step, operating) else {
            return Ok(());
        };
        if operating.started.is_some() {
            log.rest(operating).await;
        }
        let values = attempt.values();
        let client = &mut self.clients[step.target()].client;
        let rows = log.context.rows.as_deref();
        if let Some(rows) = rows {
            rows.begins(step.plan.measure.filter(|_| phase == Phase::Measured));
        }
        let sent = client.send(&step.request, &values, attempt.sending.clone());
        let exchange = sent.await;
        if let Some(rows) = rows {
            rows.response_arrived();
        }
        let mut judged = log.judge(client, &attempt, &exchange);
        let status = exchange.trace.status.unwrap_or_default();
        // A request that has worked was not misread.
        let is_misread =
            !judged.is_expected() && !memory.worked(step) && may_be_misread(&step.plan, status);
        if is_misread {
            let looking = log.explained_destination(client, memory, &attempt, status);
            judged.explain(status, &Box::pin(looking).await);
        }
        let concluded = log.conclude(memory, &attempt, &exchange, judged, operating);
        if is_misread {
            // Checking took time, which belongs to no request.
            let now = log.context.clock.now();
            log.rests_in(phase, now.saturating_sub(operating.ended));
            (operating.now, operating.ended) = (None, now);
        }
        let saved = concluded?;
        for (slot, value) in saved {
            script.filling.saved[slot] = Some(value);
        }
        Ok(())
    }
}

impl Log {
    /// The next request; `None` if a value is missing for it.
    pub(crate) fn attempt<'s>(
        &mut self,
        part: TestPart<'s>,
        memory: &mut Memory,
        step: &'s RequestStep,
        operating: &Operating,
    ) -> Option<Attempt<'s>> {
        let number = match operating.numbering {
            Numbering::Own(number) => number,
            Numbering::Each => self.context.progress.next_request(),
        };
        let is_measured = part.phase == Phase::Measured && step.plan.measure.is_some();
        let mut attempt = Attempt {
            step,
            part,
            count: RequestCount {
                number,
                iteration: memory.iteration,
                user: self.id,
            },
            visit: operating.visit,
            parts: operating.parts,
            stage: operating.phase,
            unmeasured: (!is_measured).then(|| format!("{} {}", part.test.name, part.phase.name())),
            closely: false,
            sending: SendOptions {
                planned: operating.planned,
                now: operating.now,
                ..SendOptions::default()
            },
        };
        let missing = memory.broken.as_deref().or_else(|| {
            let is_all_saved = step.can_be_sent(&attempt.values());
            (!is_all_saved).then_some("an earlier step did not save what it needs")
        });
        if let Some(why) = missing {
            self.drop_attempt(&attempt, why);
            return None;
        }
        let is_read = self.driver.is_strict() || step.has_contents();
        attempt.closely = is_measured
            && match step.plan.verify {
                Verify::Full => step.has_contents(),
                Verify::First => is_read && memory.is_first_response(step),
                Verify::Head | Verify::None => false,
            };
        attempt.sending.keep = match &step.plan.expect.body {
            _ if !step.plan.save.is_empty() => KeptBody::All,
            Some(body)
                if attempt.closely && step.plan.expect.contains.is_empty() && !step.names_parts =>
            {
                KeptBody::Compared(Arc::clone(body))
            }
            _ if attempt.closely => KeptBody::All,
            _ if step.names_parts => KeptBody::Beginning,
            _ => KeptBody::Nothing,
        };
        Some(attempt)
    }

    /// A measured operation that cannot be sent was planned, so it is counted.
    fn drop_attempt(&mut self, attempt: &Attempt<'_>, why: &str) {
        let Some(operation) = attempt.measured() else {
            return;
        };
        self.watches.fail(Outcome::Dropped);
        let method = &attempt.step.plan.method;
        let planned = attempt.sending.planned;
        self.worker
            .drop_operation(&self.context, operation, method, planned, why);
    }

    /// Pauses after consecutive requests without a response: a server that refuses connections is
    /// not tried a hundred thousand times a second.
    pub(crate) async fn rest(&self, operating: &mut Operating) {
        let Some(before) = self.silence.unanswered.checked_sub(1) else {
            return;
        };
        let time = Duration::from_millis(1 << before.min(10));
        self.worker.vitals.add_rest(nanos(time));
        sleep(time).await;
        operating.ended = self.context.clock.now();
    }

    /// Judges the result of a request; the response is the last one of that client.
    pub(crate) fn judge(
        &self,
        client: &Client,
        attempt: &Attempt<'_>,
        exchange: &Exchange<Response>,
    ) -> Judged {
        let verdict = match &exchange.result {
            Ok(response) => self.judge_at_leisure(client, attempt, response),
            Err(failure) => Err(Wrong::new(failure.outcome, failure.what.clone())),
        };
        if let (Ok(_), Some(head), Some(operation)) = (&verdict, client.head(), attempt.measured())
        {
            let response = exchange.trace.moments.response();
            let timings = &self.worker.server_timings;
            timings.add(operation.measure, &head.headers, response);
            let from = self.worker.one_of_addresses(&operation, client.address);
            let origins = &self.worker.origins;
            origins.add(operation.measure, &head.headers, from);
        }
        let path = match &verdict {
            Ok(Expected { lock: None, .. }) => String::new(),
            _ => attempt.step.path(&attempt.values()),
        };
        Judged { verdict, path }
    }

    /// Judges a response that may take a while: a large 207, or a compressed one.
    fn judge_at_leisure(
        &self,
        client: &Client,
        attempt: &Attempt<'_>,
        response: &Response,
    ) -> Result<Expected, Wrong> {
        let Some(head) = client.head() else {
            unreachable!("a response has a head");
        };
        let values;
        let reading = if attempt.closely {
            values = attempt.values();
            Scrutiny::Close(&values)
        } else {
            Scrutiny::Quick
        };
        let step = attempt.step;
        let is_packed = || head.status == 207 && head.headers.get("Content-Encoding").is_some();
        if response.body_length < LARGE && !is_packed() {
            return judge(step, client, head, response, reading);
        }
        let begun = self.context.clock.now();
        let judged = judge(step, client, head, response, reading);
        self.worker.vitals.excuse(self.context.clock.now() - begun);
        judged
    }

    /// Records the result of a request; returns the values it saved for later steps.
    ///
    /// # Errors
    /// The test cannot continue, with the reason.
    pub(crate) fn conclude(
        &mut self,
        memory: &mut Memory,
        attempt: &Attempt<'_>,
        exchange: &Exchange<Response>,
        judged: Judged,
        operating: &mut Operating,
    ) -> Result<Vec<(usize, Vec<u8>)>, Stop> {
        let Judged { verdict, path } = judged;
        let (step, part) = (attempt.step, attempt.part);
        let mut saved = Vec::new();
        let verdict = match verdict {
            Ok(expected) => {
                saved = expected.saved;
                match expected.lock {
                    Some(Lock::Taken { token, target }) => {
                        self.hold((step.target(), target), &path, token);
                    }
                    Some(Lock::Released) => self.let_go(step.target(), &path),
                    None => {}
                }
                Ok(expected.note)
            }
            Err(wrong) => self.reconsidered(memory, step, exchange, wrong),
        };
        if verdict.is_ok() {
            memory.has_worked(step);
        }
        let operation = attempt.measured();
        let moments = exchange.trace.moments;
        let done = Done {
            started: moments.started,
            ended: moments.done.unwrap_or(moments.started),
            has_response: exchange.result.is_ok(),
            measured: operation.is_some(),
            status: exchange.trace.status,
        };
        operating.add(done);
        self.silence.add(done);
        match operation {
            Some(operation) => self
                .worker
                .record(operation, &exchange.trace, outcome(&verdict)),
            None => self.rests_in(part.phase, done.ended - done.started),
        }
        if let Ok(note) = &verdict {
            self.write_note(part, memory, attempt, moments.response(), note.as_deref());
        }
        let verdict = verdict.map(|_| ());
        self.consequences(memory, attempt, &path, done, verdict)
            .map(|()| saved)
    }

    /// Notes time of a user in a part of a test without a measured operation.
    pub(crate) fn rests_in(&self, phase: Phase, time: Nanos) {
        if phase == Phase::Measured {
            self.worker.vitals.add_rest(time);
        }
    }

    /// Reconsiders a bad response, given the earlier ones.
    fn reconsidered(
        &self,
        memory: &Memory,
        step: &RequestStep,
        exchange: &Exchange<Response>,
        mut wrong: Wrong,
    ) -> Result<Option<String>, Wrong> {
        let Ok(response) = &exchange.result else {
            return Err(wrong);
        };
        if exchange.repeats(&step.plan.method) {
            if step.plan.measure.is_none() {
                return Ok(None);
            }
            wrong.outcome = Outcome::Reset;
            wrong.what.push_str(
                "; a first attempt died with its connection, and may have been carried out",
            );
        } else if wrong.outcome == Outcome::Unsupported && memory.worked(step) {
            wrong.outcome = outcome_of(response.status);
            wrong.what.push_str("; it has worked before");
        }
        Err(wrong)
    }

    /// Writes the facts about a good response that no sample has. The first request of a measure
    /// may find the server cold, and is not measured.
    fn write_note(
        &self,
        part: TestPart<'_>,
        memory: &mut Memory,
        attempt: &Attempt<'_>,
        took: Option<Nanos>,
        note: Option<&str>,
    ) {
        let Some(measure) = attempt.step.plan.measure else {
            return;
        };
        let is_first_round = part.phase == Phase::WarmUp && memory.iteration == 1 && self.id == 0;
        if let Some(took) = took
            && is_first_round
            && memory.begun.insert(usize::from(measure.0))
        {
            let first = EventKind::FirstAnswer { measure, took };
            self.context.journal.write(first);
        }
        if let Some(note) = note {
            let text = note.to_owned();
            let journal = &self.context.journal;
            journal.write(EventKind::Note { measure, text });
        }
    }

    fn consequences(
        &mut self,
        memory: &mut Memory,
        attempt: &Attempt<'_>,
        path: &str,
        done: Done,
        verdict: Result<(), Wrong>,
    ) -> Result<(), Stop> {
        let phase = attempt.part.phase;
        let request = &attempt.step.plan;
        let end = RequestEnd {
            ended: done.ended,
            has_response: done.has_response,
            wrong: None,
        };
        let Err(wrong) = verdict else {
            return match phase {
                Phase::Measured => self.notify_driver(&end),
                Phase::SetUp | Phase::WarmUp | Phase::CleanUp => Ok(()),
            };
        };
        self.watches.fail(wrong.outcome);
        if wrong.outcome == Outcome::Cancelled {
            return Ok(());
        }
        // The path as in the suite: the collections above it are always the same.
        let below = path.strip_prefix(attempt.values().workplace);
        let attempted = match below.unwrap_or(path) {
            // A load of one resource works in no collection.
            "" if path.ends_with('/') => request.method.clone(),
            "" => format!("{} {}", request.method, redacted_link(path)),
            below => format!("{} {}", request.method, redacted_link(below)),
        };
        let evidence = format!("{attempted}: {}", wrong.what);
        let is_strict = self.driver.is_strict() || matches!(phase, Phase::SetUp | Phase::CleanUp);
        if is_strict && wrong.outcome == Outcome::Unsupported {
            return Err(Stop::NotSupported {
                step: Some(MissingStep {
                    method: request.method.clone(),
                    measure: request.measure,
                    cause: wrong.cause.clone(),
                }),
                evidence: match wrong.cause {
                    // Its response shows that it has the method.
                    Some(Cause::Header { .. } | Cause::Status { status: ..400, .. }) => evidence,
                    _ => self.with_options(request, evidence),
                },
            });
        }
        match attempt.measured() {
            None if request.measure.is_none() && is_strict => return Err(Stop::Failed(evidence)),
            None if request.measure.is_none() => memory.broken = Some(evidence),
            // The measured part will show it.
            None => return Ok(()),
            Some(operation) => operation.failed(&self.context, &attempted, &wrong, done.status),
        }
        match phase {
            Phase::Measured => self.notify_driver(&RequestEnd {
                wrong: Some((&wrong, &attempted)),
                ..end
            }),
            Phase::SetUp | Phase::WarmUp | Phase::CleanUp => Ok(()),
        }
    }

    fn notify_driver(&mut self, end: &RequestEnd<'_>) -> Result<(), Stop> {
        let result = self.driver.request_ended(&mut self.silence, end);
        result.map_err(Stop::Failed)
    }

    /// Adds the methods of OPTIONS as evidence. OPTIONS was sent for the collection above, which
    /// exists, and Allow concerns one resource: it does not cover methods that create one.
    fn with_options(&self, request: &RequestPlan, evidence: String) -> String {
        let index = self.worker.endpoint_of(self.id, request.target);
        let allow = &self.context.sites[index].allow;
        if allow.is_empty() || matches!(request.method.as_str(), "MKCOL" | "PUT" | "POST") {
            return evidence;
        }
        let listed = allow.contains(&request.method);
        let verb = if listed { "lists" } else { "does not list" };
        format!("{evidence} (OPTIONS {verb} {})", request.method)
    }
}

impl<'s> Attempt<'s> {
    pub(super) fn values(&self) -> Values<'_> {
        let purpose = self.unmeasured.as_deref().unwrap_or(&self.step.purpose);
        let target = self.step.target();
        self.part.filling.values(self.count, purpose, target)
    }

    /// Submits it behind the requests of a client that are in flight.
    pub(crate) fn submit(&self, client: &mut Client) -> RequestToken {
        client.submit(&self.step.request, &self.values(), self.sending.clone())
    }

    fn measured(&self) -> Option<Operation> {
        let measure = self.step.plan.measure?;
        (self.part.phase == Phase::Measured).then_some(Operation {
            measure,
            user: self.count.user,
            target: self.step.plan.target,
            role: self.part.role,
            number: self.count.number,
            visit: self.visit,
            parts: self.parts,
            phase: self.stage,
        })
    }
}

/// Checks a response and, if it is good, takes the values that later steps need.
fn judge(
    step: &RequestStep,
    client: &Client,
    head: &ResponseHead,
    response: &Response,
    reading: Scrutiny<'_>,
) -> Result<Expected, Wrong> {
    let body = client.body();
    let note = step.judge(head, body, response, reading)?;
    let mut expected = Expected {
        note: note
            .or_else(|| response.surplus.then(surplus))
            .or_else(|| response.may_be_cut_off.then(without_close_notify)),
        ..Expected::default()
    };
    // A permitted refusal has nothing to keep: a 423 may name the lock of another client.
    if !(200..300).contains(&head.status) {
        return Ok(expected);
    }
    for save in &step.plan.save {
        let (value, what) = match &save.from {
            SaveFrom::Header(name) => {
                let value = head.headers.get_bytes(name).map(Cow::into_owned);
                (value, format!("the response has no {name} header"))
            }
            SaveFrom::LockToken => {
                let token = lock_token(head, body).map(String::into_bytes);
                (token, NO_TOKEN.to_owned())
            }
        };
        let value = value.ok_or_else(|| Wrong::new(Outcome::WrongBody, what))?;
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        if value.iter().any(is_control) {
            let what = "the value to save from the response has a control character".to_owned();
            return Err(Wrong::new(Outcome::WrongBody, what));
        }
        expected.saved.push((save.slot, value));
    }
    expected.lock = match step.lock {
        LockEffect::Takes => lock_token(head, body).map(|token| Lock::Taken {
            token,
            target: client.target(),
        }),
        LockEffect::Releases => Some(Lock::Released),
        LockEffect::None => None,
    };
    Ok(expected)
}

/// Contents of an expected response.
#[derive(Default)]
struct Expected {
    /// Note for the reader of the report.
    note: Option<String>,
    /// Values for later steps, by their slots.
    saved: Vec<(usize, Vec<u8>)>,
    /// Change of a lock at the path of the request.
    lock: Option<Lock>,
}

enum Lock {
    Taken {
        token: String,
        /// The URL of the target.
        target: String,
    },
    Released,
}

const NO_TOKEN: &str = "the response has no lock token, neither in a Lock-Token header nor in its body \
                        (RFC 4918, section 9.10.1)";

/// The lock token in angle brackets, ready for a Lock-Token header.
fn lock_token(head: &ResponseHead, body: &[u8]) -> Option<String> {
    let header = head.headers.get("Lock-Token");
    let token = header.and_then(lock_token_from_header);
    let token = token.or_else(|| lock_token_from_body(body))?;
    Some(format!("<{token}>"))
}
