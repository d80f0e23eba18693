//! Several runs of one server together: one row, one distribution, one time line per measure.
//!
//! ```text
//! runs --> tallies of each --> rows over all runs, and which runs are sound for which row
//!                                  |
//! runs, one after the other -------+--> drawings   of one time line
//!                                  '--> courses    for the rules of a diagnosis
//! ```
//!
//! A mean of several runs is that of all of their operations, and its interval comes from how much
//! the runs differ. Of one run all is as [`summarise_from`](crate::summarise_from) has it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use record::{
    Environment, Event, EventKind, Generator, MeasureId, MeasureRecord, Nanos, PlanRecord, Sample,
    TestId, TestRecord,
};

use crate::background::BackgroundCourse;
use crate::details::DetailsBuilder;
use crate::diagnose::{Course, Material, ServerFacts};
use crate::generator::together;
use crate::pages::{PageTally, PagesSummary};
use crate::row::{RunRow, each_once, pooled, sound};
use crate::summarise::{Windows, added_up};
use crate::window::end;
use crate::{
    ClockSummary, Completeness, Details, Resolution, Summariser, Summary, TestSummary, Warning,
    pages,
};

/// Connections of which it is remembered when they were opened.
const OPENED: usize = 1 << 12;

/// A recorded run, whose samples are read in pieces as by
/// [`summarise_from`](crate::summarise_from).
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
    /// The same of the earlier and the later half of the runs that each row is estimated from;
    /// empty for a single run. A row that was measured in one run is in neither half.
    pub halves: Vec<Material>,
    /// What figures show, one for each row; empty where no details are wanted.
    pub details: Vec<Details>,
    /// The run whose rows these are, by its index.
    pub base: usize,
}

impl Pooled {
    /// What all runs say.
    pub fn summary(&self) -> &Summary {
        &self.material.summary
    }
}

/// Puts runs of one server together, at least one. Rows are those of the run with the most of them;
/// the others may have done some of these. `resolution` is that of the details that are wanted.
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
    let base = most_rows(runs.iter().map(|run| run.plan));
    let plan = runs[base].plan;
    let added = runs.iter().map(|run| Added::of(plan, run));
    let pool = Pool {
        plan,
        runs: added.collect::<Result<_, Error>>()?,
    };
    // Several runs have no time line in common.
    let background = match runs {
        [run] => BackgroundCourse::of(run.plan, run.events).map(Arc::new),
        _ => None,
    };
    let mut drawings =
        match resolution {
            None => Vec::new(),
            Some(resolution) => Vec::from_iter(plan.measures.iter().map(|_| {
                DetailsBuilder::new(resolution, &plan.load.pace).beside(background.as_ref())
            })),
        };
    // Of all runs first, and then of each half of them.
    let mut selections = pool.selections();
    let mut opened = Vec::new();
    // Where the run begins on the time line, and where the next one will.
    let (mut begin, mut next) = (0, 0);
    for (index, (run, added)) in runs.iter().zip(&pool.runs).enumerate() {
        for selection in &mut selections {
            pool.begin_run(selection, index, begin);
        }
        for piece in (run.pieces)()? {
            for sample in piece?.as_ref() {
                next = next.max(begin + end(sample));
                if index == 0 && sample.connect.is_some() && opened.len() < OPENED {
                    opened.push(sample.number);
                }
                let Some(row) = added.counted(sample) else {
                    continue;
                };
                for selection in &mut selections {
                    if selection.chosen[row].contains(&index) {
                        selection.courses[row].add(sample);
                    }
                }
                let is_drawn = selections[0].chosen[row].contains(&index);
                if let Some(drawing) = drawings.get_mut(row).filter(|_| is_drawn) {
                    drawing.add(sample, begin);
                }
            }
        }
        begin = next;
    }
    opened.sort_unstable();
    let server = runs.iter().find_map(|run| run.env.server.clone());
    let material = |(index, selection): (usize, ChosenRuns)| Material {
        summary: pool.summary((index > 0).then_some(&selection.chosen)),
        plan: plan.clone(),
        server: server.clone(),
        courses: selection.courses,
        first_responses: pool.first_responses(runs),
        opened: opened.clone(),
        facts: pool.facts(runs),
    };
    let mut materials = selections.into_iter().enumerate().map(material);
    Ok(Pooled {
        material: materials.next().expect("all runs are a selection"),
        halves: materials.collect(),
        details: drawings.into_iter().map(DetailsBuilder::finish).collect(),
        base,
    })
}

/// The first one of the plans with the most rows.
fn most_rows<'a>(plans: impl Iterator<Item = &'a PlanRecord>) -> usize {
    let rows = plans.map(|plan| plan.measures.len()).enumerate();
    let most = rows.max_by_key(|(index, rows)| (*rows, Reverse(*index)));
    most.expect("a pool has a run").0
}

struct Pool<'a> {
    plan: &'a PlanRecord,
    runs: Vec<Added>,
}

struct ChosenRuns {
    /// Of each row, the runs that its estimates come from.
    chosen: Vec<Vec<usize>>,
    courses: Vec<Course>,
}

struct Added {
    windows: Windows,
    summariser: Summariser,
    summary: Summary,
    pages: Option<PageTally>,
    /// For each measure of the pool, its index in this run.
    indices: Vec<Option<usize>>,
    /// For each measure of this run, its index in the pool and its test.
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
        let (windows, summariser) = added_up(plan, events, &run.pieces)?;
        let indices = indices(pool, plan);
        let row = |(in_run, measure): (usize, &MeasureRecord)| {
            let index = indices.iter().position(|index| *index == Some(in_run));
            (index, measure.test)
        };
        let test = |test: &TestRecord| {
            let mut tests = pool.tests.iter().zip(0..);
            let found = tests.find(|(other, _)| other.name == test.name);
            found.map(|(_, id)| TestId(id))
        };
        let (summary, pages) = windows.conclude(&summariser, events, env);
        Ok(Added {
            summary,
            pages,
            rows: plan.measures.iter().enumerate().map(row).collect(),
            tests: plan.tests.iter().map(test).collect(),
            windows,
            summariser,
            indices,
        })
    }

    fn counted(&self, sample: &Sample) -> Option<usize> {
        let (row, test) = *self.rows.get(usize::from(sample.measure.0))?;
        row.filter(|_| self.windows.test_window(test).contains(sample))
    }

    fn row(&self, row: usize) -> Option<RunRow<'_>> {
        let index = self.indices[row]?;
        Some((self.summariser.row(index)?, self.summary.tests.get(index)?))
    }
}

/// For each measure of the pool, its index in the plan of a run: by its name and its test's.
fn indices(pool: &PlanRecord, run: &PlanRecord) -> Vec<Option<usize>> {
    fn names(plan: &PlanRecord) -> impl Iterator<Item = (Option<&str>, &str)> {
        plan.measures.iter().map(|measure| {
            let test = plan.tests.get(usize::from(measure.test.0));
            (test.map(|test| test.name.as_str()), measure.name.as_str())
        })
    }
    let index = |name| names(run).position(|other| other == name);
    names(pool).map(index).collect()
}

impl Pool<'_> {
    /// All runs that the estimates of each row come from, and each half of several.
    fn selections(&self) -> Vec<ChosenRuns> {
        let rows = 0..self.plan.measures.len();
        let all: Vec<Vec<usize>> = rows.map(|row| self.sound(row)).collect();
        let half = |half: fn(&[usize]) -> &[usize]| {
            let halves = all.iter().map(|runs| match runs.len() {
                1 => Vec::new(),
                _ => half(runs).to_vec(),
            });
            self.selection(halves.collect())
        };
        let mut selections = Vec::new();
        if self.runs.len() > 1 {
            selections.push(half(|runs| &runs[..runs.len() / 2]));
            selections.push(half(|runs| &runs[runs.len() / 2..]));
        }
        selections.insert(0, self.selection(all));
        selections
    }

    fn sound(&self, row: usize) -> Vec<usize> {
        let runs = self.runs.iter().enumerate();
        let rows = runs.filter_map(|(index, run)| {
            let (_, summary) = run.row(row)?;
            Some((index, summary.disqualified().is_some()))
        });
        let rows: Vec<(usize, bool)> = rows.collect();
        let sound = sound(&rows, |(_, is_disqualified)| *is_disqualified);
        sound.map(|(index, _)| *index).collect()
    }

    /// These runs of each row, with courses that nothing was added to.
    fn selection(&self, chosen: Vec<Vec<usize>>) -> ChosenRuns {
        let course = |(row, runs): (usize, &Vec<usize>)| {
            let longest = self.longest(row, runs);
            let longest = longest.and_then(|index| self.runs[index].row(row));
            Course::with_seconds(longest.and_then(|(_, summary)| summary.window_s))
        };
        ChosenRuns {
            courses: chosen.iter().enumerate().map(course).collect(),
            chosen,
        }
    }

    /// Of these runs of a row, the one with the most operations: what goes on in the course of a
    /// run is looked for in it.
    fn longest(&self, row: usize, runs: &[usize]) -> Option<usize> {
        let operations = |index: usize| {
            let row = self.runs[index].row(row);
            row.map_or(0, |(_, summary)| summary.operations())
        };
        let runs = runs.iter().copied();
        runs.max_by_key(|index| (operations(*index), Reverse(*index)))
    }

    /// From here on comes the run of that index, which begins there on the time line.
    fn begin_run(&self, selection: &mut ChosenRuns, index: usize, begin: Nanos) {
        let rows = selection.chosen.iter().zip(&mut selection.courses);
        for (row, (runs, course)) in rows.enumerate() {
            if runs.contains(&index) {
                course.begin_run(begin, self.longest(row, runs) == Some(index));
            }
        }
    }

    /// What the first requests took. What is cold is so in the first run.
    fn first_responses<P>(&self, runs: &[PoolRun<'_, P>]) -> BTreeMap<MeasureId, Nanos> {
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

    fn facts<P>(&self, runs: &[PoolRun<'_, P>]) -> ServerFacts {
        let mut facts = ServerFacts::default();
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

    /// What these runs of each row say, or all of them.
    fn summary(&self, chosen: Option<&Vec<Vec<usize>>>) -> Summary {
        if let [one] = &self.runs[..] {
            return one.summary.clone();
        }
        let summaries = || self.runs.iter().map(|run| &run.summary);
        let tests: Vec<_> = (0..self.plan.measures.len())
            .map(|row| {
                let is_wanted =
                    |index: usize| chosen.is_none_or(|chosen| chosen[row].contains(&index));
                let runs = self.runs.iter().enumerate();
                let runs = runs.filter(|(index, _)| is_wanted(*index));
                let runs: Vec<RunRow<'_>> = runs.filter_map(|(_, run)| run.row(row)).collect();
                if runs.is_empty() {
                    self.without_times(row)
                } else {
                    pooled(self.plan, MeasureId(row as u16), &runs)
                }
            })
            .collect();
        let of_runs = summaries().flat_map(|summary| &summary.warnings);
        let of_runs = of_runs.filter(|warning| warning.is_about_run());
        Summary {
            warnings: Warning::worst_of(tests.iter().flat_map(|row| &row.warnings).chain(of_runs)),
            pages: self.pages(),
            complete: summaries()
                .map(|summary| &summary.complete)
                .find(|complete| **complete != Completeness::Complete)
                .unwrap_or(&Completeness::Complete)
                .clone(),
            left_behind: each_once(summaries().flat_map(|summary| &summary.left_behind)),
            clock: ClockSummary {
                clock: self.plan.clock,
                bias: Summariser::bias(self.runs.iter().map(|run| &run.summariser)),
                missed: tests.iter().map(|row| row.missed).sum(),
            },
            generator: self.generator(),
            goal: None,
            load_steps: Vec::new(),
            background: None,
            inside: None,
            server_view: None,
            ended_early: Vec::new(),
            // They are judged run by run.
            constraints: Vec::new(),
            runs: self.runs.len(),
            tests,
        }
    }

    /// The row where no run of it is wanted.
    fn without_times(&self, row: usize) -> TestSummary {
        let (_, summary) = self
            .runs
            .iter()
            .find_map(|run| run.row(row))
            .expect("a row of some run");
        TestSummary {
            response: None,
            planned: None,
            ..summary.clone()
        }
    }

    /// The pages of the runs in which no warning disqualifies any of their files, or of all runs.
    fn pages(&self) -> Option<PagesSummary> {
        let is_disqualified = |run: &Added| run.summary.disqualified().next().is_some();
        let runs = sound(&self.runs, is_disqualified);
        let runs = runs.filter_map(|run| Some((run.pages.clone()?, run.summary.pages.clone()?)));
        let runs: Vec<(PageTally, PagesSummary)> = runs.collect();
        (!runs.is_empty()).then(|| pages::pooled(&runs))
    }

    fn generator(&self) -> Vec<Generator> {
        let mut all: Vec<Generator> = Vec::new();
        for run in &self.runs {
            for generator in &run.summary.generator {
                let Some(Some(test)) = run.tests.get(usize::from(generator.test.0)) else {
                    continue;
                };
                let generator = Generator {
                    test: *test,
                    ..generator.clone()
                };
                match all.iter_mut().find(|known| known.test == *test) {
                    Some(known) => *known = together(known, &generator),
                    None => all.push(generator),
                }
            }
        }
        all
    }
}
