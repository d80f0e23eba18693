//! Steps: fill in what is only known now, send, check, record, remember.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp};
use record::{Cause, EventKind, MeasureId, MissingStep, Outcome, Sample};
use suite::{Alternative, Body, PagePlan, RequestPlan, SaveFrom, Step, TestPlan, Think};
use wire::dav::{lock_token_from_body, lock_token_from_header};

use super::User;
use super::script::{Phase, Script, Worked};
use crate::chance::draw;
use crate::check::{Answered, Wrong, check, outcome, outcome_of};
use crate::client::{Answer, Exchange, Request};
use crate::event_loop::sleep;
use crate::stage::Stop;
use crate::worker::Dropped;

/// Operations in a row that may get no answer at all before a user gives a test up.
const SILENCE: u32 = 5;

/// Bytes of an answer that takes a while to read: a millisecond, about.
const LARGE: u64 = 64 << 10;

/// Looks at a bad answer once more, in the light of what went before.
fn reconsidered(
    script: &Script<'_>,
    request: &RequestPlan,
    exchange: &Exchange,
    mut wrong: Wrong,
) -> Result<Option<String>, Wrong> {
    let Ok(answer) = &exchange.result else {
        return Err(wrong);
    };
    if exchange.repeats(&request.method) {
        if request.measure.is_none() {
            return Ok(None);
        }
        wrong.outcome = Outcome::Reset;
        wrong
            .what
            .push_str("; a first attempt died with its connection, and may have been carried out");
    } else if wrong.outcome == Outcome::Unsupported && script.worked.contains(&Worked::of(request))
    {
        wrong.outcome = outcome_of(answer.head.status);
        wrong.what.push_str("; it has worked before");
    }
    Err(wrong)
}

/// A request with everything filled in.
struct Filled<'p> {
    path: String,
    headers: Vec<(&'p str, Cow<'p, str>)>,
    body: Option<Cow<'p, [u8]>>,
    contains: Vec<Cow<'p, str>>,
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
        let test = script.test;
        self.steps(script, &test.body, phase).await
    }

    pub(super) async fn steps(
        &mut self,
        script: &mut Script<'_>,
        steps: &[Step],
        phase: Phase,
    ) -> Result<(), Stop> {
        for step in steps {
            if self.is_over(script, phase) {
                return Ok(());
            }
            match step {
                Step::Request(request) => self.request(script, request, phase).await?,
                Step::Page(page) => self.page(script, page, phase).await?,
                Step::Think(think) => self.think(*think).await,
                Step::Repeat {
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
                Step::Choose(alternatives) => {
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
        page: &PagePlan,
        phase: Phase,
    ) -> Result<(), Stop> {
        script.visit = Some(self.stage.progress.next_request());
        for file in &page.files {
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
        steps: &'u [Step],
        phase: Phase,
    ) -> Pin<Box<dyn Future<Output = Result<(), Stop>> + 'u>> {
        Box::pin(async move { self.steps(script, steps, phase).await })
    }

    fn choose<'p>(&mut self, alternatives: &'p [Alternative]) -> &'p [Step] {
        let total: f64 = alternatives
            .iter()
            .map(|alternative| alternative.weight)
            .sum();
        let weights = alternatives.iter().map(|alternative| alternative.weight);
        let drawn = draw(&mut self.rng, total, weights);
        alternatives
            .get(drawn)
            .map_or(&[], |alternative| &alternative.steps)
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
        request: &Arc<RequestPlan>,
        phase: Phase,
    ) -> Result<(), Stop> {
        let measured = request.measure.filter(|_| phase == Phase::Measured);
        let Some(filled) = self.filled(script, request) else {
            if let Some(measure) = measured {
                self.drop_operation(measure, request, script.visit);
            }
            return Ok(());
        };
        let number = self.stage.progress.next_request();
        let label = self.request_label(script.test, number, measured, phase);
        let closely =
            matches!(phase, Phase::Measured) && script.read_closely.insert(Arc::as_ptr(request));
        let headers: Vec<(&str, &str)> = filled
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_ref()))
            .collect();
        let stage = Arc::clone(&self.stage);
        let under_way = measured.and_then(|_| stage.begin_operation(script.test.id));
        let exchange = self
            .client
            .perform(Request {
                method: &request.method,
                path: &filled.path,
                headers: &headers,
                body: filled.body.as_deref(),
                label: &label,
                prepared: None,
                planned: None,
                now: None,
                keep_body: closely || !request.save.is_empty(),
            })
            .await;
        drop(under_way);
        let verdict = match &exchange.result {
            Ok(answer) => self.judge_at_leisure(script, request, answer, &filled, closely),
            Err(failure) => Err(Wrong::new(failure.outcome, failure.what.clone())),
        };
        let verdict = match verdict {
            Err(wrong) => reconsidered(script, request, &exchange, wrong),
            good => good,
        };
        if verdict.is_ok() {
            script.worked.insert(Worked::of(request));
        }
        if let Some(measure) = measured {
            self.record(measure, (number, script.visit), &exchange, &verdict);
        }
        self.tell_of_first(script, request, phase, &exchange, verdict.is_ok());
        if let (Ok(Some(text)), Some(measure)) = (&verdict, request.measure) {
            self.stage.journal.write(EventKind::Note {
                measure,
                text: text.clone(),
            });
        }
        self.conclude(script, request, phase, &filled.path, number, verdict)
    }

    /// The first request of a measure may find the server cold, and is not measured.
    fn tell_of_first(
        &self,
        script: &mut Script<'_>,
        request: &RequestPlan,
        phase: Phase,
        exchange: &Exchange,
        is_good: bool,
    ) {
        let is_first = phase == Phase::WarmUp && script.iteration == 1 && self.id == 0;
        let (true, Some(measure)) = (is_first && is_good, request.measure) else {
            return;
        };
        if let (true, Some(took)) = (script.begun.insert(measure), exchange.moments.response()) {
            let first = EventKind::FirstAnswer { measure, took };
            self.stage.journal.write(first);
        }
    }

    /// An operation that cannot be sent, because an earlier step did not save what it needs. It
    /// was planned, so it is counted.
    fn drop_operation(&mut self, measure: MeasureId, request: &RequestPlan, visit: Option<u64>) {
        let now = self.stage.clock.now();
        let number = self.stage.progress.next_request();
        self.stage.progress.add_failed();
        self.stage.journal.write(EventKind::OperationFailed {
            measure,
            user: self.id,
            number,
            outcome: Outcome::Dropped,
            evidence: format!(
                "{}: not sent, because an earlier step did not save what it needs",
                request.method
            ),
            cause: None,
        });
        self.worker.drop_operation(Dropped {
            measure,
            user: self.id,
            number,
            visit,
            planned: now,
            at: now,
        });
    }

    /// What a verdict means for the test.
    fn conclude(
        &mut self,
        script: &mut Script<'_>,
        request: &RequestPlan,
        phase: Phase,
        path: &str,
        number: u64,
        verdict: Result<Option<String>, Wrong>,
    ) -> Result<(), Stop> {
        let Err(wrong) = verdict else {
            script.silent = 0;
            return Ok(());
        };
        // The path as in the suite: the collections above it are the same for everything.
        let path = path.strip_prefix(&script.workplace).unwrap_or(path);
        let evidence = format!("{} {path}: {}", request.method, wrong.what);
        match (wrong.outcome, request.measure) {
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
            (outcome, Some(measure)) => {
                self.stage.progress.add_failed();
                self.stage.journal.write(EventKind::OperationFailed {
                    measure,
                    user: self.id,
                    number,
                    outcome,
                    evidence: evidence.clone(),
                    cause: wrong.cause.clone(),
                });
            }
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

    fn filled<'p>(&self, script: &Script<'_>, request: &'p RequestPlan) -> Option<Filled<'p>> {
        let path = format!(
            "{}{}",
            script.workplace,
            script.fill(&request.path, self.id)?
        );
        let mut headers = Vec::with_capacity(request.headers.len() + 1);
        if let Some(to) = &request.to {
            let to = format!("{}{}", script.workplace, script.fill(to, self.id)?);
            headers.push(("Destination", Cow::Owned(self.client.absolute(&to))));
        }
        for header in &request.headers {
            headers.push((header.name.as_str(), script.fill(&header.value, self.id)?));
        }
        let body = match &request.body {
            Body::None => None,
            Body::Fixed(bytes) => Some(Cow::Borrowed(&bytes[..])),
            Body::Live(text) => {
                let mut filled = String::new();
                script.fill_pieces(text.0.pieces(), self.id, &mut filled)?;
                Some(Cow::Owned(filled.into_bytes()))
            }
        };
        let contains = request
            .expect
            .contains
            .iter()
            .map(|text| script.fill(text, self.id));
        Some(Filled {
            path,
            headers,
            body,
            contains: contains.collect::<Option<_>>()?,
        })
    }

    fn request_label(
        &self,
        test: &TestPlan,
        number: u64,
        measured: Option<MeasureId>,
        phase: Phase,
    ) -> String {
        let plan = &self.stage.plan;
        let suite = &plan.suite.name;
        match measured.and_then(|measure| plan.measures.get(usize::from(measure.0))) {
            Some(measure) => format!("{suite}: {number} ({})", measure.name),
            None => format!("{suite}: {number} ({} {})", test.name, phase.name()),
        }
    }

    /// A large 207 takes a while to read, and a compressed one may be large.
    fn judge_at_leisure(
        &mut self,
        script: &mut Script<'_>,
        request: &RequestPlan,
        answer: &Answer,
        filled: &Filled<'_>,
        closely: bool,
    ) -> Result<Option<String>, Wrong> {
        let is_packed = answer.head.headers.get("Content-Encoding").is_some();
        if answer.body_length < LARGE && !is_packed {
            return self.judge(script, request, answer, filled, closely);
        }
        let begun = self.stage.clock.now();
        let verdict = self.judge(script, request, answer, filled, closely);
        self.worker.vitals.excuse(self.stage.clock.now() - begun);
        verdict
    }

    /// Checks the answer and, when it is good, keeps what later steps need of it.
    fn judge(
        &mut self,
        script: &mut Script<'_>,
        request: &RequestPlan,
        answer: &Answer,
        filled: &Filled<'_>,
        closely: bool,
    ) -> Result<Option<String>, Wrong> {
        let body = self.client.body();
        let answered = Answered {
            head: &answer.head,
            body,
            length: answer.body_length,
            first: closely,
            contains: &filled.contains,
        };
        let note = check(request, &answered)?.or_else(|| answer.surplus.then(surplus));
        // What declines, and may decline, has nothing to be kept: a 423 may name the lock of another.
        let succeeded = (200..300).contains(&answer.head.status);
        for save in request.save.iter().filter(|_| succeeded) {
            let value = match &save.from {
                SaveFrom::Header(name) => answer.head.headers.get(name).map(str::to_owned),
                SaveFrom::LockToken => lock_token(answer, body),
            };
            let Some(value) = value else {
                let what = match &save.from {
                    SaveFrom::Header(name) => format!("the answer has no {name} header"),
                    SaveFrom::LockToken => "the answer has no lock token, neither in a \
                                            Lock-Token header nor in its body (RFC 4918, section \
                                            9.10.1)"
                        .to_owned(),
                };
                return Err(Wrong::new(Outcome::WrongBody, what));
            };
            script.saved[save.slot] = Some(value);
        }
        match request.method.as_str() {
            "LOCK" if succeeded => {
                if let Some(token) = lock_token(answer, body) {
                    self.hold(&filled.path, token);
                }
            }
            "UNLOCK" if succeeded => self.let_go(&filled.path),
            _ => {}
        }
        Ok(note)
    }

    fn record(
        &mut self,
        measure: MeasureId,
        (number, visit): (u64, Option<u64>),
        exchange: &Exchange,
        verdict: &Result<Option<String>, Wrong>,
    ) {
        self.worker.recorder.record(Sample {
            measure,
            user: self.id,
            number,
            visit,
            outcome: outcome(verdict),
            status: exchange
                .result
                .as_ref()
                .ok()
                .map(|answer| answer.head.status),
            moments: exchange.moments,
            timing: exchange.timing,
            connect: exchange.connect,
            resent: exchange.resent,
            bytes_sent: exchange.bytes_sent,
            bytes_received: exchange.bytes_received,
            body_received: exchange
                .result
                .as_ref()
                .map_or(0, |answer| answer.body_length),
        });
    }
}

/// Not a failure: the answer itself is whole.
fn surplus() -> String {
    "more bytes than its head says followed an answer (RFC 9112, section 6.3), and the connection \
     was given up"
        .to_owned()
}

/// The lock token in angle brackets, ready for a Lock-Token header.
fn lock_token(answer: &Answer, body: &[u8]) -> Option<String> {
    let headers = &answer.head.headers;
    let token = headers
        .get("Lock-Token")
        .and_then(lock_token_from_header)
        .or_else(|| lock_token_from_body(body))?;
    Some(format!("<{token}>"))
}
