//! One user of a load run: an operation, from its number to its samples.
//!
//! ```text
//! operation --> a request --------------------------> exchange --> judged, recorded
//!           '-> a page: its files, one after the other or several at a time --^
//! ```

mod page;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use record::Nanos;
use wire::auth::Authenticator;

use super::field::{Field, Hearing};
use super::kinds::{Kind, Kinds, Unit};
use crate::clock::nanos;
use crate::connection::client::{Client, Exchange, Sending};
use crate::connection::http1::Response;
use crate::connection::prepared::{Count, Values};
use crate::drive::chance;
use crate::drive::check::{Wrong, outcome};
use crate::drive::operation::Operation;
use crate::drive::step::{Reading, RequestStep};
use crate::drive::worker::Worker;
use crate::event_loop::sleep;

/// An operation that is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// From 1.
    pub(super) number: u64,
    /// When it is to begin; `None` for at once.
    pub(super) planned: Option<Nanos>,
    /// The stage of the schedule that it is of.
    pub(super) phase: u16,
    /// The time, for who has just read the clock.
    pub(super) now: Option<Nanos>,
}

/// One of warming up, which is not counted.
const UNCOUNTED: Turn = Turn {
    number: 0,
    planned: None,
    phase: 0,
    now: None,
};

/// One user of a load run.
pub(super) struct Lane {
    pub(super) field: Arc<Field>,
    pub(super) worker: Rc<Worker>,
    pub(super) kinds: Rc<Kinds>,
    pub(super) client: Client,
    /// Further connections, for the files of a page.
    others: Vec<Client>,
    pub(super) log: Log,
    rng: ChaCha8Rng,
    iteration: u64,
}

/// What a user tells of its operations.
pub(super) struct Log {
    pub(super) user: u32,
    field: Arc<Field>,
    worker: Rc<Worker>,
    hearing: Hearing,
}

/// What an operation came to, for whoever decides what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) started: Nanos,
    pub(super) ended: Nanos,
    pub(super) answered: bool,
}

/// A request and what came of it.
struct Asked<'k> {
    kind: &'k Kind,
    number: u64,
    phase: u16,
    exchange: Exchange<Response>,
    verdict: Result<(), Wrong>,
}

impl Lane {
    pub(super) fn new(
        user: u32,
        field: &Arc<Field>,
        worker: &Rc<Worker>,
        kinds: &Rc<Kinds>,
        authenticator: impl Fn() -> Authenticator,
        seed: u64,
    ) -> Self {
        let (rng, nonces) = chance::of_user(seed, user);
        let client =
            |nonces| Client::new(Rc::clone(worker.config_of(user)), authenticator(), nonces);
        let others = match kinds.have_pages() {
            true => worker.config.http.parallel.saturating_sub(1),
            false => 0,
        };
        Lane {
            field: Arc::clone(field),
            worker: Rc::clone(worker),
            kinds: Rc::clone(kinds),
            others: (0..others).map(|_| client(nonces.clone())).collect(),
            client: client(nonces),
            log: Log {
                user,
                field: Arc::clone(field),
                worker: Rc::clone(worker),
                hearing: Hearing::new(field.stage().clock.now()),
            },
            rng,
            iteration: 0,
        }
    }

    /// Connects and warms up, which is not recorded, and waits for the other users to have done
    /// so; true for one of them.
    pub(super) async fn get_ready(&mut self) -> bool {
        let field = Arc::clone(&self.field);
        let stage = field.stage();
        field.turn_to_connect().await;
        if self.worker.config.http.keep_alive && !field.is_over() {
            // One that fails here fails again where it is counted.
            let _ = self.client.connect().await;
        }
        // However long warming up takes, what is measured is the same sequence.
        let sequence = self.rng.clone();
        let begun = stage.clock.now();
        let (warmup, warmup_time) = field.warmup();
        let enough = begun.saturating_add(warmup_time);
        // A page of many slow files is not waited for.
        let limit = match warmup_time == 0 {
            true => begun.saturating_add(nanos(self.worker.config.timeout)),
            false => enough,
        };
        let (mut times, mut unanswered) = (0, 0);
        while !field.is_over() && (times < warmup || stage.clock.now() < enough) {
            match self.warm_up(times == 0, limit).await {
                true => unanswered = 0,
                false => {
                    self.rest(unanswered).await;
                    unanswered += 1;
                }
            }
            times += 1;
        }
        self.rng = sequence;
        field.arrive();
        let is_leader = stage.meet().await;
        self.log.hearing = Hearing::new(stage.clock.now());
        is_leader
    }

    /// Does one operation, of which no request begins after the limit; false where the server did
    /// not answer. The first time, all connections have their share.
    async fn warm_up(&mut self, is_first: bool, limit: Nanos) -> bool {
        let kinds = Rc::clone(&self.kinds);
        let unit = kinds.unit(self.draw(0));
        let files = unit.kinds().iter().map(|kind| kinds.kind(*kind));
        let first = files.clone().next().filter(|_| is_first);
        for file in files {
            let count = self.count(0);
            let asked = ask(&mut self.client, file, count, UNCOUNTED).await;
            if asked.exchange.result.is_err() || self.field.is_over() {
                return false;
            }
            if self.field.stage().clock.now() >= limit {
                break;
            }
        }
        let user = self.log.user;
        for client in &mut self.others {
            let Some(file) = first else { break };
            let count = count(&mut self.iteration, user, 0);
            let asked = ask(client, file, count, UNCOUNTED).await;
            if asked.exchange.result.is_err() || self.field.is_over() {
                return false;
            }
        }
        true
    }

    /// Does one operation and records it.
    pub(super) async fn operate(&mut self, turn: Turn) -> Done {
        let kinds = Rc::clone(&self.kinds);
        match kinds.unit(self.draw(turn.number)) {
            Unit::Request(kind) => {
                let number = self.number(turn.number);
                let turn = Turn { number, ..turn };
                self.request(kinds.kind(*kind), turn, None).await
            }
            Unit::Page(files) if self.others.is_empty() => {
                self.fetch_in_order(&kinds, files, turn).await
            }
            Unit::Page(files) => self.fetch_in_parallel(&kinds, files, turn).await,
        }
    }

    async fn request(&mut self, kind: &Kind, turn: Turn, visit: Option<u64>) -> Done {
        let count = self.count(turn.number);
        let asked = ask(&mut self.client, kind, count, turn).await;
        self.log.conclude(asked, visit)
    }

    /// Lets time pass after operations in a row that got no answer: a server that refuses
    /// connections is not asked a hundred thousand times a second.
    pub(super) async fn rest(&mut self, unanswered: u32) {
        self.log.rest(unanswered).await;
    }

    /// Which request of this user the next one is.
    pub(super) fn count(&mut self, number: u64) -> Count {
        count(&mut self.iteration, self.log.user, number)
    }

    /// The number of a request, as it is sent: that of the operation, where no operation is more
    /// than a request.
    pub(super) fn number(&self, operation: u64) -> u64 {
        match self.kinds.have_pages() {
            true => self.field.next_request(),
            false => operation,
        }
    }

    /// What the operation of that number is.
    pub(super) fn draw(&mut self, number: u64) -> usize {
        self.kinds.draw(&mut self.rng, number)
    }
}

async fn ask<'k>(client: &mut Client, kind: &'k Kind, count: Count, turn: Turn) -> Asked<'k> {
    let sending = Sending {
        planned: turn.planned,
        now: turn.now,
        ..Sending::default()
    };
    let values = Values::of(count);
    let exchange = client.send(&kind.step.request, &values, sending).await;
    let verdict = match (&exchange.result, client.head()) {
        (Err(failure), _) => Err(Wrong::new(failure.outcome, failure.what.clone())),
        (Ok(response), Some(head)) => kind
            .step
            .judge(head, client.body(), response.body_length, Reading::Quick)
            .map(|_| ()),
        (Ok(_), None) => Ok(()),
    };
    Asked {
        kind,
        number: count.number,
        phase: turn.phase,
        exchange,
        verdict,
    }
}

impl Log {
    /// Records what came of a request.
    fn conclude(&mut self, asked: Asked<'_>, visit: Option<u64>) -> Done {
        let Asked {
            kind,
            number,
            phase,
            exchange,
            verdict,
        } = asked;
        let moments = exchange.trace.moments;
        let ended = moments.done.unwrap_or(moments.started);
        let answered = exchange.result.is_ok();
        let operation = Operation {
            measure: kind.measure,
            user: self.user,
            number,
            visit,
            phase,
        };
        self.hear(&operation, &kind.step, (ended, answered), &verdict);
        self.worker
            .record(operation, exchange.trace, outcome(&verdict));
        Done {
            started: moments.started,
            ended,
            answered,
        }
    }

    async fn rest(&self, unanswered: u32) {
        let time = Duration::from_millis(1 << unanswered.min(10));
        self.worker.vitals.add_rest(nanos(time));
        sleep(time).await;
    }

    /// Tells of a failed operation, and takes note of whether the server still answers.
    pub(super) fn hear(
        &mut self,
        operation: &Operation,
        step: &RequestStep,
        (ended, answered): (Nanos, bool),
        verdict: &Result<(), Wrong>,
    ) {
        if let Err(wrong) = verdict {
            operation.failed(self.field.stage(), &step.plan.method, wrong);
        }
        let what = verdict.as_ref().err().map_or("", |wrong| &wrong.what);
        self.hearing.heard(&self.field, ended, answered, what);
    }
}

fn count(iteration: &mut u64, user: u32, number: u64) -> Count {
    *iteration += 1;
    Count {
        number,
        iteration: *iteration,
        user,
    }
}
