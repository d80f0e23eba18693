//! Several runs of one server, put together: one row, one distribution, one time line for each measure.
//!
//! ```text
//! runs --> tallies of each --> rows over all runs, and which runs are sound for which row
//!                                  |
//! runs, one after the other -------+--> drawings   of one time line
//!                                  '--> courses    for the rules of a diagnosis
//! ```
//!
//! A mean of several runs is that of all of their operations, and its interval comes from how much the
//! runs differ. Of one run all is as [`summarise_from`](crate::summarise_from) has it.

use std::collections::BTreeMap;

use record::{
    Environment, Event, EventKind, MeasureId, MeasureRecord, Nanos, PlanRecord, Sample, TestId,
    TestRecord,
};

use crate::details::Drawing;
use crate::diagnose::{Course, Facts, Material};
use crate::generator::together;
use crate::pages::{PageTally, Pages};
use crate::row::{RunRow, pooled, sound};
use crate::window::end;
use crate::{
    ClockSummary, Completeness, Details, Generator, Resolution, Summariser, Summary, Warning,
    Windows, pages,
};

/// Connections of which it is remembered when they were opened.
const OPENED: usize = 1 << 12;

/// A recorded run, whose samples are read in pieces as by [`summarise_from`](crate::summarise_from).
#[derive(Debug, Clone, Copy)]
pub struct PoolRun<'a, P> {
    /// What was to be done.
    pub plan: &'a PlanRecord,
    /// What happened.
    pub events: &'a [Event],
    /// Where and when.
    pub env: &'a Environment,
    /// Gives all of its samples, each time it is called.
    pub pieces: P,
}

/// What several runs say together.
#[derive(Debug)]
pub struct Pooled {
    /// What rules look at, with the summary.
    pub material: Material,
    /// What figures show, one for each row; empty where no details are wanted.
    pub details: Vec<Details>,
}

impl Pooled {
    /// What all runs say.
    pub fn summary(&self) -> &Summary {
        &self.material.summary
    }
}

/// Puts runs of one server together, at least one. The first one has done all tests, the others some of
/// them perhaps. `resolution` is that of the details that are wanted.
///
/// # Errors
/// The first one of reading a piece.
///
/// # Panics
/// Without any run.
pub fn pool<P, Pieces, Piece, Error>(
    runs: &[PoolRun<'_, P>],
    resolution: Option<Resolution>,
) -> Result<Pooled, Error>
where
    P: Fn() -> Result<Pieces, Error>,
    Pieces: IntoIterator<Item = Result<Piece, Error>>,
    Piece: AsRef<[Sample]>,
{
    let plan = runs.first().expect("a pool has a run").plan;
    let added = runs.iter().map(|run| Added::of(plan, run));
    let pool = Pool {
        plan,
        runs: added.collect::<Result<_, Error>>()?,
    };
    let mut drawings = match resolution {
        None => Vec::new(),
        Some(resolution) => Vec::from_iter(plan.measures.iter().map(|_| Drawing::new(resolution))),
    };
    let mut courses = vec![Course::default(); plan.measures.len()];
    let mut opened = Vec::new();
    // Where the run begins on the time line, and where the next one will.
    let (mut begin, mut next) = (0, 0);
    for (place, (run, added)) in runs.iter().zip(&pool.runs).enumerate() {
        let wanted = pool.wanted(place);
        for piece in (run.pieces)()? {
            for sample in piece?.as_ref() {
                next = next.max(begin + end(sample));
                if place == 0 && sample.connect.is_some() && opened.len() < OPENED {
                    opened.push(sample.number);
                }
                let Some(row) = added.counted(sample).filter(|row| wanted[*row]) else {
                    continue;
                };
                courses[row].add(sample, begin);
                if let Some(drawing) = drawings.get_mut(row) {
                    drawing.add(sample, begin);
                }
            }
        }
        begin = next;
    }
    opened.sort_unstable();
    let servers = runs.iter().map(|run| run.env.server.as_ref());
    Ok(Pooled {
        material: Material {
            summary: pool.summary(),
            runs: runs.len(),
            plan: plan.clone(),
            server: servers.flatten().next().cloned(),
            courses,
            first_answers: pool.first_answers(runs),
            opened,
            facts: pool.facts(runs),
        },
        details: drawings.into_iter().map(Drawing::finish).collect(),
    })
}

/// Runs whose operations have been added up.
struct Pool<'a> {
    /// That of the first run.
    plan: &'a PlanRecord,
    runs: Vec<Added>,
}

/// A run whose operations have been added up.
struct Added {
    windows: Windows,
    summariser: Summariser,
    summary: Summary,
    pages: Option<PageTally>,
    /// For each measure of the pool, its place in this run.
    places: Vec<Option<usize>>,
    /// For each measure of this run, its place in the pool and its test.
    rows: Vec<(Option<usize>, TestId)>,
    /// For each test of this run, that of the pool.
    tests: Vec<Option<TestId>>,
}

impl Added {
    fn of<P, Pieces, Piece, Error>(pool: &PlanRecord, run: &PoolRun<'_, P>) -> Result<Added, Error>
    where
        P: Fn() -> Result<Pieces, Error>,
        Pieces: IntoIterator<Item = Result<Piece, Error>>,
        Piece: AsRef<[Sample]>,
    {
        let PoolRun {
            plan, events, env, ..
        } = *run;
        let windows = Windows::of(plan, events, &run.pieces)?;
        let mut summariser = Summariser::new(plan);
        for piece in (run.pieces)()? {
            for sample in piece?.as_ref() {
                summariser.add_one(sample, |test| windows.of_test(test));
            }
        }
        let places = places(pool, plan);
        let row = |(own, measure): (usize, &MeasureRecord)| {
            let place = places.iter().position(|place| *place == Some(own));
            (place, measure.test)
        };
        let test = |test: &TestRecord| {
            let mut tests = pool.tests.iter().zip(0..);
            let found = tests.find(|(other, _)| other.name == test.name);
            found.map(|(_, id)| TestId(id))
        };
        Ok(Added {
            summary: windows.conclude(&summariser, events, env),
            pages: summariser.closed_pages(&windows.spans(&summariser, events)),
            rows: plan.measures.iter().enumerate().map(row).collect(),
            tests: plan.tests.iter().map(test).collect(),
            windows,
            summariser,
            places,
        })
    }

    /// The row of the pool that an operation counts for.
    fn counted(&self, sample: &Sample) -> Option<usize> {
        let (row, test) = *self.rows.get(usize::from(sample.measure.0))?;
        row.filter(|_| self.windows.of_test(test).contains(sample))
    }

    /// What this run says of that row of the pool.
    fn row(&self, row: usize) -> Option<RunRow<'_>> {
        let place = self.places[row]?;
        Some((self.summariser.row(place)?, self.summary.tests.get(place)?))
    }
}

/// For each measure of the pool, its place in the plan of a run: that with the same name in a test of the
/// same name.
fn places(pool: &PlanRecord, run: &PlanRecord) -> Vec<Option<usize>> {
    fn names(plan: &PlanRecord) -> impl Iterator<Item = (Option<&str>, &str)> {
        plan.measures.iter().map(|measure| {
            let test = plan.tests.get(usize::from(measure.test.0));
            (test.map(|test| test.name.as_str()), measure.name.as_str())
        })
    }
    let place = |name| names(run).position(|other| other == name);
    names(pool).map(place).collect()
}

impl Pool<'_> {
    /// Of each row, whether that run is among those that its estimates come from.
    fn wanted(&self, run: usize) -> Vec<bool> {
        let of_row = |row: usize| {
            let rows: Vec<(usize, bool)> = self
                .runs
                .iter()
                .enumerate()
                .filter_map(|(place, run)| Some((place, run.row(row)?.1.disqualified().is_some())))
                .collect();
            sound(&rows, |(_, is_disqualified)| *is_disqualified).any(|(place, _)| *place == run)
        };
        (0..self.plan.measures.len()).map(of_row).collect()
    }

    /// What the first requests took. What is cold is so in the first run.
    fn first_answers<P>(&self, runs: &[PoolRun<'_, P>]) -> BTreeMap<MeasureId, Nanos> {
        let mut all = BTreeMap::new();
        for (run, added) in runs.iter().zip(&self.runs) {
            for event in run.events {
                if let EventKind::FirstAnswer { measure, took } = event.kind
                    && let Some((Some(row), _)) = added.rows.get(usize::from(measure.0))
                {
                    all.entry(MeasureId(*row as u16)).or_insert(took);
                }
            }
        }
        all
    }

    /// What the events of all runs tell of the server.
    fn facts<P>(&self, runs: &[PoolRun<'_, P>]) -> Facts {
        let mut facts = Facts::default();
        for (run, added) in runs.iter().zip(&self.runs) {
            let test = |test: TestId| added.tests.get(usize::from(test.0)).copied().flatten();
            let row = |measure: MeasureId| {
                let (row, _) = *added.rows.get(usize::from(measure.0))?;
                row.map(|row| MeasureId(row as u16))
            };
            for event in run.events {
                facts.add(&event.kind, test, row);
            }
        }
        facts
    }

    fn summary(&self) -> Summary {
        if let [one] = &self.runs[..] {
            return one.summary.clone();
        }
        let summaries = || self.runs.iter().map(|run| &run.summary);
        let tests: Vec<_> = (0..self.plan.measures.len())
            .map(|row| {
                let runs = self.runs.iter().filter_map(|run| run.row(row));
                pooled(&runs.collect::<Vec<RunRow<'_>>>())
            })
            .collect();
        let of_runs = summaries().flat_map(|summary| &summary.warnings);
        let of_runs = of_runs.filter(|warning| warning.is_about_run());
        let mut left_behind = Vec::new();
        for left in summaries().flat_map(|summary| &summary.left_behind) {
            if !left_behind.contains(left) {
                left_behind.push(left.clone());
            }
        }
        Summary {
            warnings: Warning::worst_of(tests.iter().flat_map(|row| &row.warnings).chain(of_runs)),
            pages: self.pages(),
            complete: summaries()
                .map(|summary| &summary.complete)
                .find(|complete| **complete != Completeness::Complete)
                .unwrap_or(&Completeness::Complete)
                .clone(),
            left_behind,
            clock: ClockSummary {
                clock: self.plan.clock,
                bias: Summariser::bias(self.runs.iter().map(|run| &run.summariser)),
                missed: tests.iter().map(|row| row.missed).sum(),
            },
            generator: self.generator(),
            goal: None,
            runs: self.runs.len(),
            tests,
        }
    }

    fn pages(&self) -> Option<Pages> {
        let runs = self.runs.iter();
        let runs = runs.filter_map(|run| Some((run.pages.clone()?, run.summary.pages.clone()?)));
        let runs: Vec<(PageTally, Pages)> = runs.collect();
        (!runs.is_empty()).then(|| pages::pooled(&runs))
    }

    /// How the load generator fared in each test of all runs.
    fn generator(&self) -> Vec<Generator> {
        let mut all: Vec<Generator> = Vec::new();
        for run in &self.runs {
            for generator in &run.summary.generator {
                let test = run
                    .tests
                    .get(usize::from(generator.test.0))
                    .copied()
                    .flatten();
                let Some(test) = test else { continue };
                let generator = Generator {
                    test,
                    ..generator.clone()
                };
                match all.iter_mut().find(|own| own.test == test) {
                    Some(own) => *own = together(own, &generator),
                    None => all.push(generator),
                }
            }
        }
        all
    }
}
