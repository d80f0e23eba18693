//! The kinds of requests of a load run, prepared as bytes.

use std::cell::RefCell;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use record::MeasureId;
use suite::{Alternative, Body, PagePlan, RequestPlan, Step};

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
    /// The last 207 that was read and found good: the same again need not be read again.
    good: RefCell<Vec<u8>>,
}

pub(super) enum KindBody {
    None,
    Fixed(Arc<[u8]>),
    Live(Prepared),
}

/// What a user does at a time: a request, or the files of a page.
pub(super) enum Unit {
    Request(usize),
    Page(Vec<usize>),
}

impl Unit {
    /// The kinds of its requests.
    pub(super) fn kinds(&self) -> &[usize] {
        match self {
            Unit::Request(kind) => std::slice::from_ref(kind),
            Unit::Page(files) => files,
        }
    }
}

/// All kinds of a run, as one thread has them.
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    /// What they are drawn from, with the weights.
    units: Vec<(f64, Unit)>,
    total: f64,
    in_turn: bool,
    have_pages: bool,
}

impl Kinds {
    /// Prepares the requests in the loops of a plan.
    ///
    /// # Errors
    /// Why one cannot be prepared.
    pub(super) fn prepare(
        stage: &Stage,
        config: &ClientConfig,
        in_turn: bool,
    ) -> Result<Kinds, String> {
        let mut found = Vec::new();
        for test in &stage.plan.tests {
            collect(&test.body, 1.0, &mut found)?;
        }
        let (mut kinds, mut units) = (Vec::new(), Vec::new());
        for (weight, found) in found {
            let first = kinds.len();
            for plan in found.requests() {
                if let Some(measure) = plan.measure {
                    kinds.push(Kind::prepare(plan, measure, stage, config)?);
                }
            }
            let unit = match (found, first..kinds.len()) {
                (_, none) if none.is_empty() => continue,
                (Found::Request(_), one) => Unit::Request(one.start),
                (Found::Page(_), files) => Unit::Page(files.collect()),
            };
            units.push((weight, unit));
        }
        match units.is_empty() {
            true => Err("the suite has no measured request to make a load of".to_owned()),
            false => Ok(Kinds {
                total: units.iter().map(|(weight, _)| weight).sum(),
                have_pages: units.iter().any(|(_, unit)| matches!(unit, Unit::Page(_))),
                kinds,
                units,
                in_turn,
            }),
        }
    }

    /// What the operation of that number, from 1, is: drawn by weight, or the next in the order of
    /// the suite.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng, number: u64) -> usize {
        let count = self.units.len();
        if count == 1 {
            return 0;
        }
        if self.in_turn {
            return (number.saturating_sub(1) % count as u64) as usize;
        }
        draw(
            rng,
            self.total,
            self.units.iter().map(|(weight, _)| *weight),
        )
    }

    pub(super) fn unit(&self, index: usize) -> &Unit {
        &self.units[index].1
    }

    pub(super) fn kind(&self, index: usize) -> &Kind {
        &self.kinds[index]
    }

    /// Some operations are more than one request.
    pub(super) fn have_pages(&self) -> bool {
        self.have_pages
    }
}

/// A step of a suite that a load can do.
enum Found {
    Request(Arc<RequestPlan>),
    Page(Arc<PagePlan>),
}

impl Found {
    fn requests(&self) -> &[Arc<RequestPlan>] {
        match self {
            Found::Request(request) => std::slice::from_ref(request),
            Found::Page(page) => &page.files,
        }
    }
}

/// What there is to do in steps, each with its weight among all.
fn collect(steps: &[Step], weight: f64, out: &mut Vec<(f64, Found)>) -> Result<(), String> {
    for step in steps {
        match step {
            Step::Request(request) if request.save.is_empty() => {
                out.push((weight, Found::Request(Arc::clone(request))));
            }
            Step::Request(request) => {
                return Err(format!(
                    "{} saves something of its answer for a later step, and a load has no steps; \
                     run the suite with `prestan run`",
                    request.method
                ));
            }
            Step::Page(page) => out.push((weight, Found::Page(Arc::clone(page)))),
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
    fn prepare(
        plan: &Arc<RequestPlan>,
        measure: MeasureId,
        stage: &Stage,
        config: &ClientConfig,
    ) -> Result<Kind, String> {
        let name = stage.plan.measures.get(usize::from(measure.0));
        let name = name.map_or("?", |measure| measure.name.as_str());
        let label = (stage.plan.suite.name.as_str(), name);
        let fail = |reason| format!("{name} cannot be part of a load: {reason}");
        let body = match &plan.body {
            Body::None => KindBody::None,
            Body::Fixed(bytes) => KindBody::Fixed(Arc::clone(bytes)),
            Body::Live(text) => KindBody::Live(Prepared::body(text.0.pieces()).map_err(fail)?),
        };
        Ok(Kind {
            head: Prepared::head(plan, &config.root, config, label).map_err(fail)?,
            body,
            measure,
            plan: Arc::clone(plan),
            good: RefCell::default(),
        })
    }

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
