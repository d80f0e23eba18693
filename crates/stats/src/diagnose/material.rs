//! What a run gives to the rules: its plan, its summary, and the course of each measure.

use std::collections::BTreeMap;

use record::{Environment, Event, EventKind, MeasureId, Nanos, PlanRecord, Sample, Server};

use super::course::Course;
use crate::window::Window;
use crate::{Summariser, Summary, Windows};

/// Connections of which it is remembered when they were opened.
const OPENED: usize = 1 << 12;

/// A recorded run, made ready to be diagnosed.
#[derive(Debug, Clone)]
pub struct Material {
    /// What was run.
    pub plan: PlanRecord,
    /// What the server said of itself.
    pub server: Option<Server>,
    /// What came of it.
    pub summary: Summary,
    /// One for each measure of the plan.
    pub(crate) courses: Vec<Course>,
    /// What the first requests took, in the warm-up.
    pub(crate) first_answers: BTreeMap<MeasureId, Nanos>,
    /// Numbers of the requests for which connections were opened, the first ones of the run.
    pub(crate) opened: Vec<u64>,
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
    let windows = Windows::of(plan, events, &pieces)?;
    let mut summariser = Summariser::new(plan);
    let mut courses = vec![Course::default(); plan.measures.len()];
    let mut opened = Vec::new();
    for piece in pieces()? {
        for sample in piece?.as_ref() {
            if sample.connect.is_some() && opened.len() < OPENED {
                opened.push(sample.number);
            }
            let mut counts = Window::Nothing;
            summariser.add_one(sample, |test| {
                counts = windows.of_test(test);
                counts
            });
            let course = courses.get_mut(usize::from(sample.measure.0));
            if let Some(course) = course.filter(|_| counts.contains(sample)) {
                course.add(sample);
            }
        }
    }
    opened.sort_unstable();
    let first = |event: &Event| match event.kind {
        EventKind::FirstAnswer { measure, took } => Some((measure, took)),
        _ => None,
    };
    Ok(Material {
        plan: plan.clone(),
        server: env.server.clone(),
        summary: windows.conclude(&summariser, events, env),
        courses,
        first_answers: events.iter().filter_map(first).collect(),
        opened,
    })
}
