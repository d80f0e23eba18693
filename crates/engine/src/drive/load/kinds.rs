//! The kinds of requests of a load run, prepared as bytes.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use record::MeasureId;
use suite::{Alternative, Body, PagePlan, Piece, RequestPlan, Step, Text, Variable};

use crate::connection::client::ClientConfig;
use crate::drive::chance::draw;
use crate::drive::stage::Stage;
use crate::drive::step::{Preparer, RequestStep};

/// One kind of request.
pub(super) struct Kind {
    pub(super) measure: MeasureId,
    pub(super) step: RequestStep,
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
        let mut preparer = Preparer::new(stage, config);
        for test in &stage.plan.tests {
            collect(&test.body, 1.0, &mut found)?;
        }
        let (mut kinds, mut units) = (Vec::new(), Vec::new());
        for (weight, found) in found {
            let first = kinds.len();
            for plan in found.requests() {
                if let Some(measure) = plan.measure {
                    refuse_what_needs_steps(plan)?;
                    let mut step = preparer.request(plan)?;
                    step.request = step.request.bound(&config.root, &step.purpose);
                    kinds.push(Kind { measure, step });
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

/// Refuses a request that cannot stand by itself.
fn refuse_what_needs_steps(plan: &RequestPlan) -> Result<(), String> {
    let headers = plan.headers.iter().map(|header| &header.value);
    let texts = headers
        .chain([&plan.path])
        .chain(&plan.to)
        .chain(&plan.expect.contains);
    let of_body: &[Piece] = match &plan.body {
        Body::Live(text) => text.0.pieces(),
        Body::None | Body::Fixed(_) => &[],
    };
    let of_body = of_body.iter().filter_map(|piece| match piece {
        Piece::Variable(variable) => Some(*variable),
        Piece::Literal(_) => None,
    });
    for variable in texts.flat_map(Text::variables).chain(of_body) {
        let why = match variable {
            Variable::Iteration | Variable::User => continue,
            Variable::Saved(_) => "it needs what another request has to save first",
            Variable::Repetition(_) => {
                "it needs the number of a repetition, and in a mix nothing is repeated in order"
            }
        };
        return Err(format!("{} cannot be part of a load: {why}", plan.method));
    }
    Ok(())
}
