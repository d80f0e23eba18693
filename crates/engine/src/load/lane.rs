//! One user of a load run: an operation, from its number to its sample.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use record::{EventKind, Nanos, Outcome, Sample};
use wire::auth::Authenticator;

use super::field::{Field, Hearing};
use super::kinds::{Kind, KindBody, Kinds};
use crate::chance;
use crate::check::{Wrong, outcome};
use crate::client::{Client, Exchange, Request};
use crate::clock::nanos;
use crate::connection::Response;
use crate::event_loop::sleep;
use crate::prepared::{PreparedHead, Values};
use crate::worker::Worker;

/// An operation that is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) number: u64,
    /// When it is to begin; `None` for at once.
    pub(super) planned: Option<Nanos>,
    /// The time, for who has just read the clock.
    pub(super) now: Option<Nanos>,
}

/// One user of a load run.
pub(super) struct Lane {
    pub(super) user: u32,
    pub(super) field: Arc<Field>,
    pub(super) worker: Rc<Worker>,
    pub(super) kinds: Rc<Kinds>,
    pub(super) client: Client,
    hearing: Hearing,
    rng: ChaCha8Rng,
    iteration: u64,
    /// Where a body with variables is put together.
    pub(super) body: Vec<u8>,
}

/// What an operation came to, for whoever decides what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) started: Nanos,
    pub(super) ended: Nanos,
    pub(super) answered: bool,
}

impl Lane {
    pub(super) fn new(
        user: u32,
        field: &Arc<Field>,
        worker: &Rc<Worker>,
        kinds: &Rc<Kinds>,
        auth: Authenticator,
        seed: u64,
    ) -> Self {
        let (rng, nonces) = chance::of_user(seed, user);
        Lane {
            user,
            field: Arc::clone(field),
            worker: Rc::clone(worker),
            kinds: Rc::clone(kinds),
            client: Client::new(Rc::clone(&worker.config), auth, nonces),
            hearing: Hearing::new(field.stage().clock.now()),
            rng,
            iteration: 0,
            body: Vec::new(),
        }
    }

    /// Connects and warms up, which is not recorded, and waits for the other users to have done
    /// so; true for one of them.
    pub(super) async fn get_ready(&mut self) -> bool {
        let field = Arc::clone(&self.field);
        field.turn_to_connect().await;
        if self.worker.config.http.keep_alive && !field.is_over() {
            // One that fails here fails again where it is counted.
            let _ = self.client.connect().await;
        }
        for _ in 0..field.stage().warmup {
            if field.is_over() {
                break;
            }
            let turn = Turn {
                number: 0,
                planned: None,
                now: None,
            };
            let kinds = Rc::clone(&self.kinds);
            let kind = kinds.kind(kinds.draw(&mut self.rng));
            self.exchange(kind, turn).await;
        }
        let is_leader = field.stage().meet().await;
        self.hearing = Hearing::new(field.stage().clock.now());
        is_leader
    }

    /// Does one operation and records it.
    pub(super) async fn operate(&mut self, turn: Turn) -> Done {
        let kinds = Rc::clone(&self.kinds);
        let kind = kinds.kind(kinds.draw(&mut self.rng));
        let exchange = self.exchange(kind, turn).await;
        let verdict = match &exchange.result {
            Ok(response) => kind.judge(&self.client, response),
            Err(failure) => Err(Wrong {
                outcome: failure.outcome,
                what: failure.what.clone(),
            }),
        };
        let moments = exchange.moments;
        let ended = moments.done.unwrap_or(moments.started);
        let answered = exchange.result.is_ok();
        self.hear(kind, turn.number, ended, answered, &verdict);
        self.worker.recorder.record(Sample {
            measure: kind.measure,
            user: self.user,
            number: turn.number,
            outcome: outcome(&verdict),
            status: exchange.result.as_ref().ok().map(|answer| answer.status),
            moments,
            timing: exchange.timing,
            connect: exchange.connect,
            resent: exchange.resent,
            bytes_sent: exchange.bytes_sent,
            bytes_received: exchange.bytes_received,
        });
        Done {
            started: moments.started,
            ended,
            answered,
        }
    }

    /// Lets time pass after operations in a row that got no answer: a server that refuses
    /// connections is not asked a hundred thousand times a second.
    pub(super) async fn rest(&mut self, unanswered: u32) {
        let time = Duration::from_millis(1 << unanswered.min(10));
        self.worker.vitals.add_rest(nanos(time));
        sleep(time).await;
    }

    async fn exchange(&mut self, kind: &Kind, turn: Turn) -> Exchange<Response> {
        let mut buffer = std::mem::take(&mut self.body);
        let values = self.values(turn.number);
        let (body, length) = body_of(kind, values, &mut buffer);
        let head = PreparedHead {
            prepared: &kind.head,
            values: Values { length, ..values },
        };
        let request = Request {
            body,
            prepared: Some(&head),
            planned: turn.planned,
            now: turn.now,
            ..Request::bare(&kind.plan.method, "", "")
        };
        let exchange = self.client.ask(&request).await;
        self.body = buffer;
        exchange
    }

    /// What fills the holes of the next request, but for its length.
    pub(super) fn values(&mut self, number: u64) -> Values {
        self.iteration += 1;
        Values {
            number,
            iteration: self.iteration,
            user: self.user,
            length: 0,
        }
    }

    pub(super) fn draw(&mut self) -> usize {
        self.kinds.draw(&mut self.rng)
    }

    /// Tells of a failed operation, and takes note of whether the server still answers.
    pub(super) fn hear(
        &mut self,
        kind: &Kind,
        number: u64,
        ended: Nanos,
        answered: bool,
        verdict: &Result<(), Wrong>,
    ) {
        if let Err(wrong) = verdict {
            self.tell_of_failure(kind, number, wrong);
        }
        let what = verdict.as_ref().err().map_or("", |wrong| &wrong.what);
        self.hearing.heard(&self.field, ended, answered, what);
    }

    fn tell_of_failure(&self, kind: &Kind, number: u64, wrong: &Wrong) {
        let stage = self.field.stage();
        stage.progress.add_failed();
        if wrong.outcome == Outcome::Cancelled {
            return;
        }
        stage.journal.write(EventKind::OperationFailed {
            measure: kind.measure,
            user: self.user,
            number,
            outcome: wrong.outcome,
            evidence: format!("{}: {}", kind.plan.method, wrong.what),
        });
    }
}

/// The body of a request of this kind, and its length.
pub(super) fn body_of<'a>(
    kind: &'a Kind,
    values: Values,
    buffer: &'a mut Vec<u8>,
) -> (Option<&'a [u8]>, u64) {
    let body = match &kind.body {
        KindBody::None => None,
        KindBody::Fixed(bytes) => Some(&bytes[..]),
        KindBody::Live(prepared) => {
            buffer.clear();
            prepared.fill(buffer, values);
            Some(&buffer[..])
        }
    };
    (body, body.map_or(0, |body| body.len() as u64))
}
