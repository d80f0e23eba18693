//! Steps: fill in what is only known now, send, check, record, remember.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp};
use record::{Cause, EventKind, MissingStep, Outcome};
use suite::{RequestPlan, SaveFrom, Think};
use wire::dav::{lock_token_from_body, lock_token_from_header};
use wire::response::ResponseHead;
use wire::shown::redacted_url;

use super::User;
use super::script::{Phase, Script, Worked};
use crate::connection::client::{Exchange, KeptBody, Sending, Trace};
use crate::connection::http1::Response;
use crate::connection::prepared::Count;
use crate::drive::chance::draw;
use crate::drive::check::{Wrong, outcome, outcome_of};
use crate::drive::operation::Operation;
use crate::drive::stage::Stop;
use crate::drive::step::{PreparedStep, Reading, RequestStep};
use crate::event_loop::sleep;

/// Operations in a row that may get no answer at all before a user gives a test up.
const SILENCE: u32 = 5;

/// Bytes of an answer that takes a while to read: a millisecond, about.
const LARGE: u64 = 64 << 10;

/// Looks at a bad answer once more, in the light of what went before.
fn reconsidered(
    script: &Script<'_>,
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
        wrong
            .what
            .push_str("; a first attempt died with its connection, and may have been carried out");
    } else if wrong.outcome == Outcome::Unsupported && script.worked.contains(&Worked::of(step)) {
        wrong.outcome = outcome_of(response.status);
        wrong.what.push_str("; it has worked before");
    }
    Err(wrong)
}

impl User {
    /// Once through the loop.
    pub(super) async fn round(
        &mut self,
        script: &mut Script<'_>,
        phase: Phase,
    ) -> Result<(), Stop> {
        script.iteration += 1;
        script.saved.fill(None);
        let steps = Rc::clone(&script.steps);
        self.steps(script, &steps.body, phase).await
    }

    pub(super) async fn steps(
        &mut self,
        script: &mut Script<'_>,
        steps: &[PreparedStep],
        phase: Phase,
    ) -> Result<(), Stop> {
        for step in steps {
            if self.is_over(script, phase) {
                return Ok(());
            }
            match step {
                PreparedStep::Request(request) => self.request(script, request, phase).await?,
                PreparedStep::Page(files) => self.page(script, files, phase).await?,
                PreparedStep::Think(think) => self.think(*think).await,
                PreparedStep::Repeat {
                    times,
                    counter,
                    steps,
                } => {
                    for number in 1..=*times {
                        if self.is_over(script, phase) {
                            break;
                        }
                        script.repeats(*counter, number);
                        self.nested(script, steps, phase).await?;
                    }
                }
                PreparedStep::Choose(alternatives) => {
                    let steps = self.choose(alternatives);
                    self.nested(script, steps, phase).await?;
                }
            }
        }
        Ok(())
    }

    /// Fetches the files of a page, one after the other.
    async fn page(
        &mut self,
        script: &mut Script<'_>,
        files: &[RequestStep],
        phase: Phase,
    ) -> Result<(), Stop> {
        script.visit = Some(self.stage.progress.next_request());
        for file in files {
            if self.is_over(script, phase) {
                break;
            }
            self.request(script, file, phase).await?;
        }
        script.visit = None;
        Ok(())
    }

    /// Cleaning up goes on when the test or the run is over; nothing else does.
    fn is_over(&self, script: &Script<'_>, phase: Phase) -> bool {
        phase != Phase::CleanUp && !self.stage.goes_on(script.test.id)
    }

    /// Steps inside steps; boxed, because a future cannot contain itself.
    fn nested<'u>(
        &'u mut self,
        script: &'u mut Script<'_>,
        steps: &'u [PreparedStep],
        phase: Phase,
    ) -> Pin<Box<dyn Future<Output = Result<(), Stop>> + 'u>> {
        Box::pin(async move { self.steps(script, steps, phase).await })
    }

    fn choose<'p>(&mut self, alternatives: &'p [(f64, Vec<PreparedStep>)]) -> &'p [PreparedStep] {
        let weights = || alternatives.iter().map(|(weight, _)| *weight);
        let drawn = draw(&mut self.rng, weights().sum(), weights());
        alternatives.get(drawn).map_or(&[], |(_, steps)| steps)
    }

    /// Waits as long as drawn, or until the run is interrupted: a lock may be held meanwhile.
    async fn think(&mut self, think: Think) {
        let pause = self.pause(think);
        tokio::select! {
            () = sleep(pause) => {}
            () = self.stage.cancel.cancelled() => {}
        }
    }

    fn pause(&mut self, think: Think) -> Duration {
        match think {
            Think::Constant(pause) => pause,
            Think::Uniform(low, high) => self.rng.random_range(low..=high),
            Think::Exponential(mean) => match Exp::new(1.0 / mean.as_secs_f64()) {
                Ok(distribution) => {
                    // A pause of more than 20 means happens once in 500 million; a bound it is.
                    let drawn = distribution.sample(&mut self.rng);
                    Duration::from_secs_f64(drawn.min(mean.as_secs_f64() * 20.0))
                }
                Err(_) => Duration::ZERO,
            },
        }
    }

    async fn request(
        &mut self,
        script: &mut Script<'_>,
        step: &RequestStep,
        phase: Phase,
    ) -> Result<(), Stop> {
        let unmeasured = match (phase, step.plan.measure) {
            (Phase::Measured, Some(_)) => None,
            _ => Some(format!("{} {}", script.test.name, phase.name())),
        };
        let purpose = unmeasured.as_deref().unwrap_or(&step.purpose);
        let count = Count {
            number: self.stage.progress.next_request(),
            iteration: script.iteration,
            user: self.id,
        };
        let operation = step.plan.measure.map(|measure| Operation {
            measure,
            user: self.id,
            number: count.number,
            visit: script.visit,
            phase: 0,
        });
        let measured = operation.filter(|_| phase == Phase::Measured);
        let closely = phase == Phase::Measured && script.read_closely.insert(step.place);
        let values = script.values(count, purpose);
        if !step.can_be_sent(&values) {
            if let Some(operation) = measured {
                self.drop_operation(operation, step);
            }
            return Ok(());
        }
        let stage = Arc::clone(&self.stage);
        let under_way = measured.and_then(|_| stage.begin_operation(script.test.id));
        let sending = Sending {
            keep: match closely || !step.plan.save.is_empty() {
                true => KeptBody::All,
                false => KeptBody::Nothing,
            },
            ..Sending::default()
        };
        let exchange = self.client.send(&step.request, &values, sending).await;
        drop(under_way);
        let reading = match closely {
            true => Reading::Close(&values),
            false => Reading::Quick,
        };
        let judged = match &exchange.result {
            Ok(response) => self.judge_at_leisure(step, response, reading),
            Err(failure) => Err(Wrong::new(failure.outcome, failure.what.clone())),
        };
        // For what is told of the request, and for locks.
        let path = match &judged {
            Ok(Expected { lock: None, .. }) => String::new(),
            _ => step.path(&values),
        };
        let verdict = match judged {
            Ok(expected) => Ok(self.keep(script, &path, expected)),
            Err(wrong) => reconsidered(script, step, &exchange, wrong),
        };
        if verdict.is_ok() {
            script.worked.insert(Worked::of(step));
        }
        if let Some(operation) = measured {
            self.worker
                .record(operation, exchange.trace, outcome(&verdict));
        }
        self.tell_of_first(script, &step.plan, phase, &exchange.trace, verdict.is_ok());
        if let (Ok(Some(text)), Some(measure)) = (&verdict, step.plan.measure) {
            self.stage.journal.write(EventKind::Note {
                measure,
                text: text.clone(),
            });
        }
        self.conclude(script, step, phase, (&path, operation), verdict)
    }

    /// The first request of a measure may find the server cold, and is not measured.
    fn tell_of_first(
        &self,
        script: &mut Script<'_>,
        request: &RequestPlan,
        phase: Phase,
        trace: &Trace,
        is_good: bool,
    ) {
        let is_first = phase == Phase::WarmUp && script.iteration == 1 && self.id == 0;
        let (true, Some(measure)) = (is_first && is_good, request.measure) else {
            return;
        };
        if let (true, Some(took)) = (script.begun.insert(measure), trace.moments.response()) {
            let first = EventKind::FirstAnswer { measure, took };
            self.stage.journal.write(first);
        }
    }

    /// An operation that cannot be sent, because an earlier step did not save what it needs. It
    /// was planned, so it is counted.
    fn drop_operation(&self, operation: Operation, step: &RequestStep) {
        let now = self.stage.clock.now();
        let what = "not sent, because an earlier step did not save what it needs".to_owned();
        let dropped = Wrong::new(Outcome::Dropped, what);
        operation.failed(&self.stage, &step.plan.method, &dropped);
        self.worker.record_dropped(operation, now, now);
    }

    /// What a verdict means for the test.
    fn conclude(
        &mut self,
        script: &mut Script<'_>,
        step: &RequestStep,
        phase: Phase,
        (path, operation): (&str, Option<Operation>),
        verdict: Result<Option<String>, Wrong>,
    ) -> Result<(), Stop> {
        let request = &step.plan;
        let Err(wrong) = verdict else {
            script.silent = 0;
            return Ok(());
        };
        // The path as in the suite: the collections above it are the same for everything.
        let path = path.strip_prefix(&script.workplace).unwrap_or(path);
        let asked = format!("{} {}", request.method, redacted_url(path));
        let evidence = format!("{asked}: {}", wrong.what);
        match (wrong.outcome, operation) {
            (Outcome::Cancelled, _) => return Ok(()),
            (Outcome::Unsupported, _) => {
                return Err(Stop::NotSupported {
                    step: Some(MissingStep {
                        method: request.method.clone(),
                        measure: request.measure,
                        cause: wrong.cause.clone(),
                    }),
                    evidence: match wrong.cause {
                        // That it has the method, its answer says.
                        Some(Cause::Header { .. } | Cause::Status { status: ..400, .. }) => {
                            evidence
                        }
                        _ => self.with_options(request, evidence),
                    },
                });
            }
            (_, None) => return Err(Stop::Failed(evidence)),
            // The measured part will show it.
            (_, Some(_)) if phase == Phase::WarmUp => return Ok(()),
            (_, Some(operation)) => operation.failed(&self.stage, &asked, &wrong),
        }
        let unanswered = matches!(
            wrong.outcome,
            Outcome::ConnectFailed | Outcome::Timeout | Outcome::Reset
        );
        script.silent = if unanswered { script.silent + 1 } else { 0 };
        if script.silent < SILENCE {
            return Ok(());
        }
        Err(Stop::Failed(format!(
            "{SILENCE} operations in a row got no answer; the last: {evidence}"
        )))
    }

    /// Adds what OPTIONS said about the method. It was asked about the collection above, which is
    /// there, and Allow speaks of one resource: of methods that make one it says nothing.
    fn with_options(&self, request: &RequestPlan, evidence: String) -> String {
        let allow = &self.stage.allow;
        if allow.is_empty() || matches!(request.method.as_str(), "MKCOL" | "PUT" | "POST") {
            return evidence;
        }
        let listed = allow.contains(&request.method);
        let verb = if listed { "lists" } else { "does not list" };
        format!("{evidence} (OPTIONS {verb} {})", request.method)
    }

    /// A large 207 takes a while to read, and a compressed one may be large.
    fn judge_at_leisure(
        &self,
        step: &RequestStep,
        response: &Response,
        reading: Reading<'_>,
    ) -> Result<Expected, Wrong> {
        let Some(head) = self.client.head() else {
            unreachable!("a response has a head");
        };
        let is_packed = head.headers.get("Content-Encoding").is_some();
        if response.body_length < LARGE && !is_packed {
            return self.judge(step, head, response, reading);
        }
        let begun = self.stage.clock.now();
        let judged = self.judge(step, head, response, reading);
        self.worker.vitals.excuse(self.stage.clock.now() - begun);
        judged
    }

    /// Checks a response and, when it is good, takes what later steps need of it.
    fn judge(
        &self,
        step: &RequestStep,
        head: &ResponseHead,
        response: &Response,
        reading: Reading<'_>,
    ) -> Result<Expected, Wrong> {
        let body = self.client.body();
        let note = step.judge(head, body, response.body_length, reading)?;
        let mut expected = Expected {
            note: note.or_else(|| response.surplus.then(surplus)),
            ..Expected::default()
        };
        // What declines, and may decline, has nothing to be kept: a 423 may name the lock of another.
        if !(200..300).contains(&head.status) {
            return Ok(expected);
        }
        for save in &step.plan.save {
            let (value, what) = match &save.from {
                SaveFrom::Header(name) => {
                    let value = head.headers.get(name).map(str::to_owned);
                    (value, format!("the answer has no {name} header"))
                }
                SaveFrom::LockToken => (lock_token(head, body), NO_TOKEN.to_owned()),
            };
            let value = value.ok_or_else(|| Wrong::new(Outcome::WrongBody, what))?;
            if value.contains(|c: char| c.is_control()) {
                let what = "what is to be saved of the answer has a control character".to_owned();
                return Err(Wrong::new(Outcome::WrongBody, what));
            }
            expected.saved.push((save.slot, value));
        }
        expected.lock = match step.plan.method.as_str() {
            "LOCK" => lock_token(head, body).map(Lock::Taken),
            "UNLOCK" => Some(Lock::Released),
            _ => None,
        };
        Ok(expected)
    }

    /// Keeps what later steps need; the note for the reader of the report is left.
    fn keep(&mut self, script: &mut Script<'_>, path: &str, expected: Expected) -> Option<String> {
        for (slot, value) in expected.saved {
            script.saved[slot] = Some(value);
        }
        match expected.lock {
            Some(Lock::Taken(token)) => self.hold(path, token),
            Some(Lock::Released) => self.let_go(path),
            None => {}
        }
        expected.note
    }
}

/// What a response that is as expected gives.
#[derive(Default)]
struct Expected {
    /// For the reader of the report.
    note: Option<String>,
    /// For later steps, by their slots.
    saved: Vec<(usize, String)>,
    /// What became of a lock at the path of the request.
    lock: Option<Lock>,
}

enum Lock {
    /// With this token.
    Taken(String),
    Released,
}

const NO_TOKEN: &str = "the answer has no lock token, neither in a Lock-Token header nor in its body \
                        (RFC 4918, section 9.10.1)";

/// Not a failure: the answer itself is whole.
fn surplus() -> String {
    "more bytes than its head says followed an answer (RFC 9112, section 6.3), and the connection \
     was given up"
        .to_owned()
}

/// The lock token in angle brackets, ready for a Lock-Token header.
fn lock_token(head: &ResponseHead, body: &[u8]) -> Option<String> {
    let token = head
        .headers
        .get("Lock-Token")
        .and_then(lock_token_from_header)
        .or_else(|| lock_token_from_body(body))?;
    Some(format!("<{token}>"))
}
