//! Input of the rules from a run: its plan, its summary, and the course of each measure.

use std::collections::BTreeMap;

use record::{Environment, Event, MeasureId, Nanos, PlanRecord, Sample, Server};

use super::course::Course;
use super::facts::ServerFacts;
use crate::{PoolRun, Summary, pool};

/// A recorded run, made ready to be diagnosed.
#[derive(Debug, Clone)]
pub struct Material {
    /// The plan of the run.
    pub plan: PlanRecord,
    /// The server as its responses described it.
    pub server: Option<Server>,
    /// The results of the run.
    pub summary: Summary,
    /// One for each measure of the plan.
    pub(crate) courses: Vec<Course>,
    /// Times of the first requests, in the warm-up.
    pub(crate) first_responses: BTreeMap<MeasureId, Nanos>,
    /// Numbers of the requests that opened connections, the first ones of the (first) run.
    pub(crate) opened: Vec<u64>,
    pub(crate) facts: ServerFacts,
}

/// Makes a run ready whose samples are read in pieces, as
/// [`summarise_from`](crate::summarise_from) does.
///
/// # Errors
/// The first one of reading a piece.
pub fn material_from<Pieces, Piece, Error>(
    plan: &PlanRecord,
    events: &[Event],
    env: &Environment,
    pieces: impl Fn() -> Result<Pieces, Error>,
) -> Result<Material, Error>
where
    Pieces: IntoIterator<Item = Result<Piece, Error>>,
    Piece: AsRef<[Sample]>,
{
    let run = PoolRun {
        plan,
        events,
        env,
        pieces,
    };
    Ok(pool(&[run], None)?.material)
}
