//! The kinds of requests of a load run, prepared as bytes.

use std::cell::RefCell;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use record::MeasureId;
use suite::{Alternative, Body, RequestPlan, Step};

use crate::chance::draw;
use crate::check::{Answered, Wrong, check};
use crate::client::{Client, ClientConfig};
use crate::connection::Response;
use crate::prepared::Prepared;
use crate::stage::Stage;

/// Largest 207 that is remembered as good.
const REMEMBERED: usize = 1 << 20;

/// One kind of request.
pub(super) struct Kind {
    pub(super) plan: Arc<RequestPlan>,
    pub(super) measure: MeasureId,
    pub(super) head: Prepared,
    pub(super) body: KindBody,
    weight: f64,
    /// The last 207 that was read and found good: the same again need not be read again.
    good: RefCell<Vec<u8>>,
}

pub(super) enum KindBody {
    None,
    Fixed(Arc<[u8]>),
    Live(Prepared),
}

/// All kinds of a run, as one thread has them.
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    total: f64,
}

impl Kinds {
    /// Prepares the requests in the loops of a plan.
    ///
    /// # Errors
    /// Why one cannot be prepared.
    pub(super) fn prepare(stage: &Stage, config: &ClientConfig) -> Result<Kinds, String> {
        let mut requests = Vec::new();
        for test in &stage.plan.tests {
            collect(&test.body, 1.0, &mut requests)?;
        }
        let mut kinds = Vec::new();
        for (weight, plan) in requests {
            let Some(measure) = plan.measure else {
                continue;
            };
            let name = stage.plan.measures.get(usize::from(measure.0));
            let name = name.map_or("?", |measure| measure.name.as_str());
            let label = (stage.plan.suite.name.as_str(), name);
            let fail = |reason| format!("{name} cannot be part of a load: {reason}");
            let body = match &plan.body {
                Body::None => KindBody::None,
                Body::Fixed(bytes) => KindBody::Fixed(Arc::clone(bytes)),
                Body::Live(text) => KindBody::Live(Prepared::body(text.0.pieces()).map_err(fail)?),
            };
            kinds.push(Kind {
                head: Prepared::head(&plan, &stage.root, config, label).map_err(fail)?,
                body,
                measure,
                weight,
                plan,
                good: RefCell::default(),
            });
        }
        match kinds.is_empty() {
            true => Err("the suite has no measured request to make a load of".to_owned()),
            false => Ok(Kinds {
                total: kinds.iter().map(|kind| kind.weight).sum(),
                kinds,
            }),
        }
    }

    /// Draws a kind by its weight.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> usize {
        if self.kinds.len() == 1 {
            return 0;
        }
        draw(rng, self.total, self.kinds.iter().map(|kind| kind.weight))
    }

    pub(super) fn kind(&self, index: usize) -> &Kind {
        &self.kinds[index]
    }
}

/// Requests in steps, each with its weight among all.
fn collect(
    steps: &[Step],
    weight: f64,
    out: &mut Vec<(f64, Arc<RequestPlan>)>,
) -> Result<(), String> {
    for step in steps {
        match step {
            Step::Request(request) if request.save.is_empty() => {
                out.push((weight, Arc::clone(request)));
            }
            Step::Request(request) => {
                return Err(format!(
                    "{} saves something of its answer for a later step, and a load has no steps; \
                     run the suite with `prestan run`",
                    request.method
                ));
            }
            Step::Repeat { times, steps, .. } => collect(steps, weight * f64::from(*times), out)?,
            Step::Choose(alternatives) => {
                let total: f64 = alternatives.iter().map(|one| one.weight).sum();
                for Alternative { weight: own, steps } in alternatives {
                    collect(steps, weight * own / total, out)?;
                }
            }
            Step::Think(_) => {
                return Err("a load has no pauses: its schedule is --users or --rate".to_owned());
            }
        }
    }
    Ok(())
}

impl Kind {
    /// Whether an answer is the expected one.
    pub(super) fn judge(&self, client: &Client, response: &Response) -> Result<(), Wrong> {
        let Some(head) = client.head() else {
            return Ok(());
        };
        self.judge_answer(head, client.body(), response.body_length)
    }

    pub(super) fn judge_answer(
        &self,
        head: &wire::response::ResponseHead,
        body: &[u8],
        length: u64,
    ) -> Result<(), Wrong> {
        let is_multistatus = head.status == 207;
        if is_multistatus && !body.is_empty() && *self.good.borrow() == body {
            return Ok(());
        }
        let answered = Answered {
            head,
            body,
            length,
            first: false,
            contains: &[],
        };
        check(&self.plan, &answered)?;
        if is_multistatus && body.len() <= REMEMBERED {
            let mut good = self.good.borrow_mut();
            good.clear();
            good.extend_from_slice(body);
        }
        Ok(())
    }
}
