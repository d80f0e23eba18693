//! Samples -> estimates: what a recorded run says, in numbers.
//!
//! ```text
//! events  --> told ------------------------------------+--> status --+
//!              |  `--> generator (its strain) -----+    |             |
//!              v                                  |    |             |
//! samples --> window --> counted? --> Summariser --+----+--> row ------+--> Summary
//!                                        |                            |
//!               times, bins, bias, spread, interval             warnings, conclusion
//! ```
//!
//! Everything here is a pure function of a [`Run`]: no clock, no socket, no file, no randomness,
//! and the order of the samples does not matter. Samples need not be in memory: [`summarise_from`]
//! reads them in pieces, and a [`Summariser`] takes them while they come. The rules, each in the
//! module it names:
//!
//! - With several users only what happens while all of them are at work counts (`window`). What
//!   lies outside is counted beside it, and never enters a time.
//! - Failed operations never enter a time. A server that fails fast never looks fast: the rate is
//!   that of the expected answers, too.
//! - Percentiles are never averaged (`distribution`). Those of up to [`EXACT`] values are exact,
//!   and beyond that within 0.05 % (`times`).
//! - The interval of a mean allows for correlated neighbours ([`interval`]); a run can go on until
//!   one is narrow enough ([`Convergence`]).
//! - *Ok*, *failed* and *not supported* are three things (`status`).
//! - Warnings are a closed list ([`Warning`]), and belong to rows. Some of them disqualify a row: the
//!   load generator was measured and not the server. What rests on such a row is inconclusive
//!   ([`Conclusion`]).

mod inside;
pub mod interval;
pub mod units;

mod adaptation;
mod background;
mod batch;
mod bias;
mod bins;
mod compare;
mod conclusion;
mod convergence;
mod details;
mod diagnose;
mod distribution;
mod estimated;
mod failures;
mod foreground;
mod generator;
mod growth;
mod judge;
mod judged;
mod least_squares;
mod live;
mod load_course;
mod load_steps;
mod origins;
mod outcomes;
mod pages;
mod parts;
mod pool;
mod row;
mod search;
mod sequential;
mod server_view;
mod spread;
mod status;
mod summariser;
mod sweep;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod throughput;
mod times;
mod told;
mod until;
mod warning;
mod window;

use std::collections::BTreeMap;
use std::convert::Infallible;

use record::{
    Clock, EndedBy, Environment, Event, Generator, Goal, LeftBehind, Pace, PlanRecord, Run, Sample,
    TestId,
};

pub use adaptation::{Adaptation, LoadWish};
pub use background::{
    BackgroundCourse, BackgroundFigures, BackgroundPart, BackgroundSummary, LATE_BLOCKS,
    MeasuredPart, UNSENT_BLOCKS,
};
pub use bias::Bias;
pub use bins::Sum as Batch;
pub use compare::{
    ALPHA, Caveat, Certainty, Compared, ComparedBy, ComparedCost, ComparedInside, ComparedTimes,
    Comparison, CostCertainty, Difference, Direction, EARLY, Early, Estimate, Failing, Inference,
    InsideCost, LEAST_STARTS, LEAST_TOTAL, Observations, Ratio, RowKind, Setting, Side, TotalTimes,
    Verdict, WORTH_DETECTING, compare, compare_by, compared_names, holm, infer, is_finer,
};
pub use conclusion::Conclusion;
pub use constraint::PartOfRun;
pub use convergence::Convergence;
pub use details::{
    Bucket, Details, DistributionStep, DrawnOperation, Resolution, TimeLine, details_from,
};
pub use diagnose::{
    Diagnosis, DiagnosisRule, Evidence, Finding, LeftOut, MANY, Material, NamedQuantity, Quantity,
    ResponsePart, WhyLeftOut, all_rules, diagnose, diagnose_pooled, does_the_same, material_from,
};
pub use distribution::Distribution;
pub use estimated::{
    EstimatedStatistic, FactOfRow, JudgedEstimate, MISS, NoEstimate, RunEstimates, estimated_from,
    miss_at_look,
};
pub use failures::FailureGroup;
pub use foreground::ForegroundPart;
pub use generator::{BUSY, LATE, LEAST_WALL, LONG_STALL, QUEUED, SATURATED, together};
pub use growth::{
    EXPONENTS, Effect, Fitted, Growing, Growth, Law, Observation, Shape, Term, growth,
};
pub use inside::flame::{FunctionShare, StackProfile};
pub use inside::{
    InsideFigure, InsideMean, InsideRow, InsideSummary, TracedShares, slowed, tells_shares,
};
pub use judged::{ConstraintReading, JudgedConstraint, ReadFigure, ReadingUnit, WhyUnknown};
pub use live::LiveJudge;
pub use load_course::{LoadCourse, LoadPart, OutcomeWithStatus};
pub use load_steps::LoadStep;
pub use origins::{ResponseOrigins, origin_warnings};
pub use outcomes::Outcomes;
pub use pages::{BodySizes, FilesCame, PageSummary, PagesSummary, ServerSummary, Visits};
pub use pool::{PoolRun, Pooled, pool};
pub use row::{Connects, Note, SegmentCount, Since, TestSummary};
pub use search::{OfferedLoad, Search, SearchOutcome, Tested, Trial, TrialsLeft, knee};
pub use sequential::{Decision, ProbabilityTest, Tally};
pub use server_view::{ServerView, ServerViewFigure, ServerViewRow, ServerViewTimes};
pub use spread::Bar;
pub use status::{Status, StatusReason};
pub use summariser::Summariser;
pub use sweep::{
    CallGrowth, CallLaw, PointRatio, SweepPoint, Swept, SweptInside, SweptRow, SweptServer, sweep,
};
pub use times::EXACT;
pub use told::Completeness;
pub use until::{TimedStatistic, Until, UntilError};
pub use warning::{
    BIAS, BIAS_SHARE, Detail, IN_PROGRESS, IN_PROGRESS_HALF, Lately, MISSED, P99_NEEDS, RunLimit,
    Share, TOLERATED, Warning, WarningKind, WarningSubject, warnings_about,
};
pub use window::MeasurementWindow;

use judge::JudgingMoment;
use pages::PageTally;
use summariser::MeasuringTimes;
use told::RunEvents;
use window::Users;

/// What a run says: one row for each measure of the plan, in its order, and the warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// One row for each measure of the plan, in the order of the plan.
    pub tests: Vec<TestSummary>,
    /// What its pages came to, where the plan has some.
    pub pages: Option<PagesSummary>,
    /// The warnings of all rows, each once and with the names of the rows or tests that it is about,
    /// and those about the run as a whole.
    pub warnings: Vec<Warning>,
    /// Whether the run went through to its end.
    pub complete: Completeness,
    /// Collections of ours that are still on the server.
    pub left_behind: Vec<LeftBehind>,
    /// Which clock gave the times, and what the other one would have said.
    pub clock: ClockSummary,
    /// How the generator fared, test by test, as far as the record tells.
    pub generator: Vec<Generator>,
    /// How near a load run came to what it was to go on for.
    pub goal: Option<Goal>,
    /// What a load came to with each number of users, where that changed.
    pub load_steps: Vec<LoadStep>,
    /// Background traffic beside the run, where there was some.
    pub background: Option<BackgroundSummary>,
    /// What went on inside of the server, where that was watched.
    pub inside: Option<InsideSummary>,
    /// Times that the server gives, where it gives some.
    pub server_view: Option<ServerView>,
    /// What ended measurements before their time.
    pub ended_early: Vec<EndedBy>,
    /// What the constraints of its plan came to.
    pub constraints: Vec<JudgedConstraint>,
    /// Runs that are put together in it: one, but on pages that show several runs of a server.
    pub runs: usize,
}

/// Which clock gave the times of a run, over all its operations that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSummary {
    /// The clock.
    pub clock: Clock,
    /// What user space would have added to the response times; only with the kernel's clock.
    pub bias: Option<Bias>,
    /// Expected operations without a response time, because the kernel's stamps never came.
    pub missed: u64,
}

impl Summary {
    /// Operations outside the windows, of all tests.
    pub fn left_out(&self) -> u64 {
        self.tests.iter().map(TestSummary::left_out).sum()
    }
}

/// Summarises a run. The order of its samples does not matter.
pub fn summarise(run: &Run) -> Summary {
    let samples = || Ok(std::iter::once(Ok::<_, Infallible>(&run.samples)));
    match summarise_from(&run.plan, &run.events, &run.env, samples) {
        Ok((summary, _)) => summary,
        Err(never) => match never {},
    }
}

/// Summarises a run whose samples are read in pieces, and says which operations of each measure count, in the order of the
/// plan. Neither their order nor how they are cut matters. `pieces` is called once for a load run and twice for a suite, whose windows are known
/// only when all samples have been seen.
///
/// # Errors
/// The first one of reading a piece.
pub fn summarise_from<Pieces, Piece, Error>(
    plan: &PlanRecord,
    events: &[Event],
    env: &Environment,
    pieces: impl Fn() -> Result<Pieces, Error>,
) -> Result<(Summary, Vec<MeasurementWindow>), Error>
where
    Pieces: IntoIterator<Item = Result<Piece, Error>>,
    Piece: AsRef<[Sample]>,
{
    let (windows, summariser) = added_up(plan, events, pieces)?;
    let (summary, _) = windows.conclude(&summariser, events, env);
    Ok((summary, windows.of_measures(plan)))
}

/// Which operations of each measure count, in the order of the plan. `pieces` is called as by [`summarise_from`], but
/// for a suite only.
///
/// # Errors
/// The first one of reading a piece.
pub fn counting_windows<Pieces, Piece, Error>(
    plan: &PlanRecord,
    events: &[Event],
    pieces: impl Fn() -> Result<Pieces, Error>,
) -> Result<Vec<MeasurementWindow>, Error>
where
    Pieces: IntoIterator<Item = Result<Piece, Error>>,
    Piece: AsRef<[Sample]>,
{
    Ok(Windows::of(plan, events, pieces)?.of_measures(plan))
}

/// Reads all samples of a run, for its windows.
fn added_up<Pieces, Piece, Error>(
    plan: &PlanRecord,
    events: &[Event],
    pieces: impl Fn() -> Result<Pieces, Error>,
) -> Result<(Windows, Summariser), Error>
where
    Pieces: IntoIterator<Item = Result<Piece, Error>>,
    Piece: AsRef<[Sample]>,
{
    let windows = Windows::of(plan, events, &pieces)?;
    let mut summariser = Summariser::new(plan);
    for piece in pieces()? {
        for sample in piece?.as_ref() {
            summariser.add_one(sample, |test| windows.of_test(test));
        }
    }
    Ok((windows, summariser))
}

/// The windows of a run, which say what of its operations counts.
#[derive(Debug)]
enum Windows {
    /// Of a suite: of each test, the time in which all users were at work.
    Rounds(BTreeMap<TestId, Result<window::Span, window::NoWindow>>),
    /// Of a closed loop, as the events tell.
    Closed(MeasuringTimes),
    /// In an open loop, all of it counts.
    Open,
}

impl Windows {
    /// Reads all samples of a suite once; of a load run, none.
    fn of<Pieces, Piece, Error>(
        plan: &PlanRecord,
        events: &[Event],
        pieces: impl Fn() -> Result<Pieces, Error>,
    ) -> Result<Windows, Error>
    where
        Pieces: IntoIterator<Item = Result<Piece, Error>>,
        Piece: AsRef<[Sample]>,
    {
        Ok(match plan.load.pace {
            Pace::Rounds => Windows::Rounds(windows_of_rounds(plan, events, pieces()?)?),
            Pace::Closed => Windows::Closed(MeasuringTimes::by(plan, events)),
            Pace::Open { .. } => Windows::Open,
        })
    }

    /// Those of all measures, in the order of the plan.
    fn of_measures(&self, plan: &PlanRecord) -> Vec<MeasurementWindow> {
        let measures = plan.measures.iter();
        measures.map(|measure| self.of_test(measure.test)).collect()
    }

    fn of_test(&self, test: TestId) -> MeasurementWindow {
        match self {
            Windows::Rounds(windows) => windows
                .get(&test)
                .map_or(MeasurementWindow::Nothing, |window| (*window).into()),
            Windows::Closed(measured) => measured.window(test),
            Windows::Open => MeasurementWindow::Everything,
        }
    }

    /// The windows as times, for the operations that were added for them.
    fn spans(
        &self,
        all: &Summariser,
        events: &[Event],
    ) -> BTreeMap<TestId, Result<window::Span, window::NoWindow>> {
        match self {
            Windows::Rounds(windows) => windows.clone(),
            Windows::Closed(_) | Windows::Open => all.windows(events),
        }
    }

    /// What the operations say that were added for these windows.
    fn conclude(
        &self,
        all: &Summariser,
        events: &[Event],
        env: &Environment,
    ) -> (Summary, Option<PageTally>) {
        all.conclude(events, env, &self.spans(all, events), JudgingMoment::END)
    }
}

/// The windows of a suite: of each test, the time in which all users were at work.
fn windows_of_rounds<Piece, Error>(
    plan: &PlanRecord,
    events: &[Event],
    pieces: impl IntoIterator<Item = Result<Piece, Error>>,
) -> Result<BTreeMap<TestId, Result<window::Span, window::NoWindow>>, Error>
where
    Piece: AsRef<[Sample]>,
{
    let tests = plan.measures.iter().map(|measure| measure.test);
    let mut users: BTreeMap<TestId, Users> = tests.map(|test| (test, Users::default())).collect();
    let shows_work = plan.shows_work();
    for piece in pieces {
        for sample in piece?.as_ref() {
            let place = usize::from(sample.measure.0);
            if shows_work.get(place) != Some(&true) {
                continue;
            }
            if let Some(users) = users.get_mut(&plan.measures[place].test) {
                users.add(sample);
            }
        }
    }
    let measured = MeasuringTimes::by(plan, events);
    let measured_users = plan.measured_users();
    let window = |(test, users): (TestId, Users)| {
        let through = measured.ended(test);
        let at_work = measured_users[&test];
        let window = users.window(at_work, through);
        // Beside others who are not measured, one user keeps the load up, too.
        let is_one_of_several = at_work <= 1 && plan.load.users > 1;
        let window = window.map(|mut window| {
            if let (true, Some(through)) = (is_one_of_several, through) {
                window.end = window.end.min(through).max(window.start);
            }
            window
        });
        (test, window)
    };
    Ok(users.into_iter().map(window).collect())
}
