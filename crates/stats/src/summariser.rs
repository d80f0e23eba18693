//! Adds up operations as they come, in bounded memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use record::{
    Clock, Environment, Event, EventKind, Generator, MeasureId, MeasureRecord, Nanos, Pace,
    PlanRecord, Sample, TestId,
};

use crate::background::{BackgroundFaults, BackgroundSummary};
use crate::bias::{Bias, Differences};
use crate::conclusion::may_be_no_failure;
use crate::estimated::RunEstimates;
use crate::generator::Strain;
use crate::inside::InsideSummary;
use crate::judge::{self, JudgingMoment};
use crate::load_steps::LoadSteps;
use crate::pages::{PageRow, PageTally};
use crate::parts::PartsOfRun;
use crate::row::{Around, RowTally, row};
use crate::run_events::RunEvents;
use crate::server_view::ServerView;
use crate::warning::{self, RowFacts, Stalls, TestFacts, Warning};
use crate::window::{MeasurementWindow, NoWindow, Span};
use crate::{ClockSummary, Completeness, Outcomes, Summary, TestSummary};

/// Adds up the operations of a run: give it all of them, in any order and in pieces of any size,
/// then the events. Several of the same plan, one for each thread or machine,
/// [merge](Summariser::merge) into what one would have come to.
#[derive(Debug, Clone)]
pub struct Summariser {
    plan: PlanRecord,
    open: bool,
    rows: Vec<RowTally>,
    tests: BTreeMap<TestId, TestTally>,
    pages: Option<PageTally>,
    orphans: u64,
    /// Of each measure, whether its samples tell when users are at work.
    shows_work: Vec<bool>,
    parts: PartsOfRun,
    /// Where the number of users changes.
    steps: Option<LoadSteps>,
}

#[derive(Debug, Clone, Default)]
struct TestTally {
    /// Indices of its measures.
    indices: Vec<usize>,
    /// Operations but for those that only kept the load up.
    recorded: u64,
    /// From the first beginning to the last end.
    hull: Option<Span>,
    /// Nanoseconds of requests under way inside the window, of all users together.
    under_way: u128,
    /// Of those that belong to no page.
    alone_under_way: u128,
}

impl Summariser {
    /// Nothing yet, of a run of that plan.
    pub fn new(plan: &PlanRecord) -> Summariser {
        let mut tests: BTreeMap<TestId, TestTally> = BTreeMap::new();
        for (index, measure) in plan.measures.iter().enumerate() {
            tests.entry(measure.test).or_default().indices.push(index);
        }
        Summariser {
            plan: plan.clone(),
            open: matches!(plan.load.pace, Pace::Open { .. }),
            rows: vec![RowTally::default(); plan.measures.len()],
            tests,
            pages: PageTally::new(plan),
            orphans: 0,
            parts: PartsOfRun::of(plan),
            steps: plan.load.adapt.as_ref().map(|_| LoadSteps::default()),
            shows_work: plan.shows_work(),
        }
    }

    /// Adds operations, of which those that begin in the window count, and how many do not.
    ///
    /// In a load run the window begins at
    /// [`MeasuringStarted`](record::EventKind::MeasuringStarted). Its end may stay open
    /// ([`u64::MAX`]) for operations that were over before
    /// [`MeasuringEnded`](record::EventKind::MeasuringEnded); those recorded later need the true
    /// one. Where a number of operations was asked for it is [`MeasurementWindow::Asked`], and in
    /// an open loop [`MeasurementWindow::Everything`].
    pub fn add(&mut self, samples: &[Sample], window: MeasurementWindow) {
        for sample in samples {
            self.add_one(sample, |_| window);
        }
    }

    pub(crate) fn add_one(
        &mut self,
        sample: &Sample,
        window: impl FnOnce(TestId) -> MeasurementWindow,
    ) {
        let index = usize::from(sample.measure.0);
        let (Some(row), Some(measure)) = (self.rows.get_mut(index), self.plan.measures.get(index))
        else {
            self.orphans += 1;
            return;
        };
        let window = window(measure.test);
        let shows_work = self.shows_work[index];
        if let Some(test) = self.tests.get_mut(&measure.test).filter(|_| shows_work) {
            let span = Span::from_sample(sample);
            test.recorded += u64::from(!window.is_before(sample));
            test.hull = Some(test.hull.map_or(span, |hull| hull.hull(span)));
            let is_request = !measure.stop_watch;
            let inside = u128::from(window.share_of(sample)) * u128::from(is_request);
            test.under_way += inside;
            if sample.visit.is_none() {
                test.alone_under_way += inside;
            }
        }
        if let Some(pages) = &mut self.pages {
            pages.add(sample, window);
        }
        self.parts.add(sample, measure.test, window);
        row.add_end(sample, window);
        if window.contains(sample) {
            let steps = self.steps.as_mut().filter(|_| !measure.stop_watch);
            steps.into_iter().for_each(|steps| steps.add(sample));
            row.add(sample, self.open);
        } else {
            row.leave_out(sample);
        }
    }

    /// Takes in what another one of the same plan has added up.
    pub fn merge(&mut self, other: &Summariser) {
        self.orphans += other.orphans;
        self.parts.merge(&other.parts);
        if let (Some(steps), Some(others)) = (&mut self.steps, &other.steps) {
            steps.merge(others);
        }
        if let (Some(pages), Some(others)) = (&mut self.pages, &other.pages) {
            pages.merge(others);
        }
        for (row, others) in self.rows.iter_mut().zip(&other.rows) {
            row.merge(others);
        }
        for (test, others) in self.tests.values_mut().zip(other.tests.values()) {
            test.recorded += others.recorded;
            test.under_way += others.under_way;
            test.alone_under_way += others.alone_under_way;
            test.hull = match (test.hull, others.hull) {
                (Some(hull), Some(other)) => Some(hull.hull(other)),
                (hull, other) => hull.or(other),
            };
        }
    }

    /// What the operations and the events say. More operations may follow, and a later summary is
    /// then one of all of them.
    ///
    /// Windows are those that the events tell of, and without any they span all operations.
    pub fn finish(&self, events: &[Event], env: &Environment) -> Summary {
        self.conclude(events, env, &self.windows(events), JudgingMoment::END)
            .0
    }

    pub(crate) fn windows(&self, events: &[Event]) -> BTreeMap<TestId, Result<Span, NoWindow>> {
        let measured = MeasuringTimes::by(&self.plan, events);
        let window = |test, tally: &TestTally| match self.plan.load.pace {
            Pace::Closed => measured.closed_window(test, tally.hull),
            Pace::Open { .. } => measured.open_window(test, tally.hull),
            Pace::Rounds => tally.hull.ok_or(NoWindow::Nothing),
        };
        let tests = self.tests.iter();
        tests
            .map(|(test, tally)| (*test, window(*test, tally)))
            .collect()
    }

    /// From the first beginning to the last end, of each test.
    pub(crate) fn hulls(&self) -> BTreeMap<TestId, Result<Span, NoWindow>> {
        let hull = |tally: &TestTally| tally.hull.ok_or(NoWindow::Nothing);
        self.tests
            .iter()
            .map(|(test, tally)| (*test, hull(tally)))
            .collect()
    }

    /// What operations and events say, for the windows with which the operations were added, and
    /// the pages, those included that still miss a file: they were not completed.
    pub(crate) fn conclude(
        &self,
        events: &[Event],
        env: &Environment,
        windows: &BTreeMap<TestId, Result<Span, NoWindow>>,
        judged: JudgingMoment,
    ) -> (Summary, Option<PageTally>) {
        let run_events = RunEvents::by(events, self.plan.load.users);
        let complete = Completeness::of(events, env);
        let together = self.together();
        let is_load = self.plan.load.pace != Pace::Rounds;
        let was_any_done = together.values().any(|all| all.total() > 0);
        let nothing_due = self.open && self.tests.values().all(|test| test.recorded == 0);
        let rows = self.plan.measures.iter().zip(&self.rows).zip(0..);
        let mut tests: Vec<TestSummary> = rows
            .map(|((measure, tally), index)| {
                let window = windows.get(&measure.test).and_then(|window| window.ok());
                let together = together[&measure.test];
                let were_others_drawn = if is_load {
                    was_any_done
                } else {
                    together.total() > 0
                };
                let around = Around {
                    plan: &self.plan,
                    id: MeasureId(index),
                    together,
                    never_drawn: self.was_never_drawn(MeasureId(index)) && were_others_drawn,
                    nothing_due,
                    window,
                    run_events: &run_events,
                    complete: &complete,
                };
                row(tally, &around)
            })
            .collect();
        let facts = windows
            .iter()
            .map(|(test, window)| self.facts(*test, *window, &tests, &run_events, &complete));
        // In a load, users do all tests in one window.
        let facts: Vec<TestFacts> = match self.plan.load.pace {
            Pace::Rounds => facts.collect(),
            Pace::Closed | Pace::Open { .. } => {
                facts.reduce(TestFacts::beside).into_iter().collect()
            }
        };
        let clock = self.clock(&tests);
        let generator: Vec<Generator> = run_events.generators.values().flatten().cloned().collect();
        let background_faults = BackgroundFaults::of(events, |test| self.name_of_part(test));
        let strain = Strain::of(&generator, |test| self.name_of_part(test));
        let warnings = warning::all(&warning::WarningInputs {
            load: &self.plan.load,
            ended_early: complete != Completeness::Complete,
            rows: &tests,
            row_facts: &self.row_facts(&run_events),
            tests: &facts,
            strain: &strain,
            orphans: self.orphans,
            clock_steps: run_events.clock_steps,
            recorded: &run_events.warnings,
            background: &background_faults,
        });
        self.warn(&mut tests, &warnings, &run_events);
        let tests_of_pages = self.tests_of_pages();
        let spans = tests_of_pages
            .iter()
            .filter_map(|test| windows.get(test)?.ok());
        let spans: Vec<Span> = spans.collect();
        let under_way = tests_of_pages
            .iter()
            .filter_map(|test| self.tests.get(test));
        let under_way = under_way.map(|tally| tally.under_way).sum();
        let pages = self.pages.as_ref().map(|pages| pages.closed(&spans));
        let background = BackgroundSummary::of(&self.plan, events);
        let constraints = judge::constraints(&judge::FiguresOfRun {
            plan: &self.plan,
            estimates: &RunEstimates::of(Cow::Borrowed(self), events, windows.clone()),
            parts: &self.parts.estimates(&self.plan, windows, judged.goes_on),
            rows: &tests,
            background: background.as_ref(),
            moment: judged,
        });
        let steps = self.steps.as_ref();
        let load_steps = steps.map_or(Vec::new(), |steps| steps.described(&run_events));
        let summary = Summary {
            tests,
            constraints,
            pages: pages
                .as_ref()
                .map(|pages| pages.describe(&spans, under_way)),
            warnings,
            complete,
            left_behind: run_events.left_behind,
            clock,
            generator,
            goal: run_events.goal,
            load_steps,
            background,
            inside: InsideSummary::of(&self.plan, events),
            server_view: ServerView::of(events),
            ended_early: run_events.ended.into_iter().map(|(_, by)| by).collect(),
            runs: 1,
        };
        (summary, pages)
    }

    /// What the load generator recorded of that test; a load has one record for all of them.
    fn generator<'t>(&self, run_events: &'t RunEvents, test: TestId) -> Option<&'t Generator> {
        match self.plan.load.pace {
            Pace::Rounds => run_events.generators_of(test).first(),
            _ => run_events.generators.values().flatten().next(),
        }
    }

    fn row_facts(&self, run_events: &RunEvents) -> Vec<RowFacts> {
        let PlanRecord { load, clock, .. } = &self.plan;
        let rows = self.plan.measures.iter().zip(&self.rows);
        let facts = |(measure, row): (&MeasureRecord, &RowTally)| {
            let stalls = Stalls::of(self.generator(run_events, measure.test)?, load)?;
            Some(row.facts(&stalls, load, *clock))
        };
        rows.map(|row| facts(row).unwrap_or_default()).collect()
    }

    fn warn(&self, rows: &mut [TestSummary], warnings: &[Warning], run_events: &RunEvents) {
        let timeout_s = self.plan.load.timeout_s;
        let warnings_of = warning::by_rows(warnings);
        for (row, measure) in rows.iter_mut().zip(&self.plan.measures) {
            row.warnings = warnings_of(&row.name, &self.name_of_part(measure.test));
            let generator = self.generator(run_events, measure.test);
            let longest = generator.map_or(0, |generator| generator.longest_stall);
            let all = row.outcomes.plus(&row.left_out_outcomes);
            row.may_be_no_failure = row.status == crate::Status::Failed
                && may_be_no_failure(&all, &row.warnings, longest, timeout_s);
        }
    }

    fn tests_of_pages(&self) -> BTreeSet<TestId> {
        let files = self.plan.pages.iter().flat_map(|page| &page.files);
        let measures = files.filter_map(|file| self.plan.measures.get(usize::from(file.0)));
        measures.map(|measure| measure.test).collect()
    }

    pub(crate) fn plan(&self) -> &PlanRecord {
        &self.plan
    }

    pub(crate) fn shows_work(&self, index: usize) -> bool {
        self.shows_work[index]
    }

    pub(crate) fn row(&self, index: usize) -> Option<&RowTally> {
        self.rows.get(index)
    }

    pub(crate) fn page(&self, index: usize) -> Option<&PageRow> {
        self.pages.as_ref()?.row(index)
    }

    /// Whether chance decides about a measure, but never chose it, nor another file of its page.
    fn was_never_drawn(&self, id: MeasureId) -> bool {
        let load = &self.plan.load;
        let of = |id: &MeasureId| usize::from(id.0);
        let by_chance = match load.pace {
            Pace::Rounds => self.plan.measures[of(&id)].by_chance,
            _ => !load.in_turn || self.plan.measures[of(&id)].conditional,
        };
        let mut pages = self.plan.pages.iter();
        let alone = [id];
        // The first file of a page decides whether it has parts.
        let page = pages.find(|page| page.files.contains(&id) && page.parts != Some(id));
        let drawn_together = page.map_or(&alone[..], |page| &page.files);
        let was_done = |id| {
            let row = self.rows.get(of(id));
            row.is_some_and(|row| row.all_outcomes().total() > 0)
        };
        by_chance && !drawn_together.iter().any(was_done)
    }

    fn together(&self) -> BTreeMap<TestId, Outcomes> {
        let mut together: BTreeMap<TestId, Outcomes> = BTreeMap::new();
        for (measure, row) in self.plan.measures.iter().zip(&self.rows) {
            let outcomes = together.entry(measure.test).or_default();
            *outcomes = outcomes.plus(&row.all_outcomes());
        }
        together
    }

    /// What is done in one window: a test, or all of a load.
    fn name_of_part(&self, test: TestId) -> String {
        match self.plan.load.pace {
            Pace::Closed | Pace::Open { .. } if self.plan.tests.len() > 1 => {
                self.plan.suite.name.clone()
            }
            _ => self.plan.name_of_test(test),
        }
    }

    fn facts(
        &self,
        test: TestId,
        window: Result<Span, NoWindow>,
        rows: &[TestSummary],
        run_events: &RunEvents,
        complete: &Completeness,
    ) -> TestFacts {
        let nothing = TestTally::default();
        let tally = self.tests.get(&test).unwrap_or(&nothing);
        let its_rows = || tally.indices.iter().filter_map(|index| rows.get(*index));
        TestFacts {
            name: self.name_of_part(test),
            missing: window.err(),
            counted: its_rows().map(TestSummary::operations).sum(),
            recorded: tally.recorded,
            not_supported: its_rows().all(|row| row.status.is_beyond_the_server()),
            under_way: match &self.pages {
                Some(pages) => pages.under_way(window.into()) + tally.alone_under_way,
                None => tally.under_way,
            },
            of_each_user: warning::operations_of_each_user(&self.plan),
            rested: (!run_events.generators.is_empty() || *complete == Completeness::Complete)
                .then(|| {
                    run_events
                        .generators_of(test)
                        .iter()
                        .map(|generator| generator.rested)
                        .sum()
                }),
            window: window.map_or(0, |window| window.end - window.start),
        }
    }

    fn clock(&self, tests: &[TestSummary]) -> ClockSummary {
        ClockSummary {
            clock: self.plan.clock,
            bias: Summariser::bias(std::iter::once(self)),
            missed: tests.iter().map(|test| test.missed).sum(),
        }
    }

    /// What user space would have added to the response times; only with the kernel's clock.
    pub(crate) fn bias<'a>(runs: impl Iterator<Item = &'a Summariser>) -> Option<Bias> {
        let of_run = |run: &Summariser| {
            let mut all = Differences::default();
            run.rows.iter().for_each(|row| row.add_bias_to(&mut all));
            all
        };
        let runs = runs.filter(|run| run.plan.clock == Clock::Kernel);
        let runs: Vec<Differences> = runs.map(of_run).collect();
        Differences::describe_runs(&runs.iter().collect::<Vec<_>>())
    }
}

/// When the measured part of each test began and ended, as far as the events say.
#[derive(Debug, Default)]
pub(crate) struct MeasuringTimes {
    /// A number of operations was asked for.
    is_asked: bool,
    started: BTreeMap<TestId, Nanos>,
    ended: BTreeMap<TestId, Nanos>,
}

impl MeasuringTimes {
    pub(crate) fn by(plan: &PlanRecord, events: &[Event]) -> MeasuringTimes {
        let mut measured = MeasuringTimes {
            is_asked: plan.load.requests.is_some(),
            ..MeasuringTimes::default()
        };
        for event in events {
            match event.kind {
                EventKind::MeasuringStarted { test } => {
                    measured.started.entry(test).or_insert(event.at);
                }
                EventKind::MeasuringEnded { test } => {
                    measured.ended.entry(test).or_insert(event.at);
                }
                _ => {}
            }
        }
        measured
    }

    /// When users of a test stopped, or went on only to keep the load up.
    pub(crate) fn ended(&self, test: TestId) -> Option<Nanos> {
        self.ended.get(&test).copied()
    }

    /// The window of a test in a closed loop; its end is open where the run was cut off.
    pub(crate) fn window(&self, test: TestId) -> MeasurementWindow {
        let Some(start) = self.started.get(&test).copied() else {
            return MeasurementWindow::Nothing;
        };
        let end = self.ended(test).unwrap_or(Nanos::MAX);
        if self.is_asked {
            MeasurementWindow::Asked { start, end }
        } else {
            MeasurementWindow::Between { start, end }
        }
    }

    fn closed_window(&self, test: TestId, hull: Option<Span>) -> Result<Span, NoWindow> {
        let hull = hull.ok_or(NoWindow::Nothing)?;
        let start = *self.started.get(&test).ok_or(NoWindow::Nothing)?;
        let end = self.ended.get(&test).copied().unwrap_or(hull.end);
        if start > end {
            return Err(NoWindow::Nothing);
        }
        Ok(Span { start, end })
    }

    /// In an open loop, from the beginning of the schedule to the last answer: a rate that was not
    /// kept up with is not reported as one that was.
    fn open_window(&self, test: TestId, hull: Option<Span>) -> Result<Span, NoWindow> {
        let hull = hull.ok_or(NoWindow::Nothing)?;
        let start = self.started.get(&test).copied().unwrap_or(hull.start);
        let end = self.ended.get(&test).copied().unwrap_or(hull.end);
        Ok(Span {
            start: start.min(hull.end),
            end: end.max(hull.end),
        })
    }
}
