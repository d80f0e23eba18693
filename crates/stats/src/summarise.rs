//! Reads a run for its windows, and then for the summary of its operations in them.

use std::collections::BTreeMap;
use std::convert::Infallible;

use record::{Environment, Event, Pace, PlanRecord, Run, Sample, TestId};

use crate::judge::JudgingMoment;
use crate::pages::PageTally;
use crate::summariser::{MeasuringTimes, Summariser};
use crate::summary::Summary;
use crate::window::{MeasurementWindow, NoWindow, Span, Users};

/// Summarises a run. The order of its samples does not matter.
pub fn summarise(run: &Run) -> Summary {
    let samples = || Ok(std::iter::once(Ok::<_, Infallible>(&run.samples)));
    match summarise_from(&run.plan, &run.events, &run.env, samples) {
        Ok((summary, _)) => summary,
        Err(never) => match never {},
    }
}

/// Summarises a run whose samples are read in pieces, and returns which operations of each measure
/// count, in the order of the plan. Neither their order nor how they are cut matters. `pieces` is
/// called once for a load run and twice for a suite, whose windows are known only when all samples
/// have been seen.
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
    Ok((summary, windows.measure_windows(plan)))
}

/// Which operations of each measure count, in the order of the plan. `pieces` is called as by
/// [`summarise_from`], but for a suite only.
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
    Ok(Windows::of(plan, events, pieces)?.measure_windows(plan))
}

/// Reads all samples of a run, for its windows.
pub(crate) fn added_up<Pieces, Piece, Error>(
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
            summariser.add_one(sample, |test| windows.test_window(test));
        }
    }
    Ok((windows, summariser))
}

/// The windows of a run, which decide which of its operations count.
#[derive(Debug)]
pub(crate) enum Windows {
    /// Of a suite: of each test, the time in which all users were at work.
    Rounds(BTreeMap<TestId, Result<Span, NoWindow>>),
    /// Times of a closed loop, from the events.
    Closed(MeasuringTimes),
    /// In an open loop, all of it counts.
    Open,
}

impl Windows {
    /// Reads all samples of a suite once; of a load run, none.
    pub(crate) fn of<Pieces, Piece, Error>(
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

    pub(crate) fn measure_windows(&self, plan: &PlanRecord) -> Vec<MeasurementWindow> {
        let measures = plan.measures.iter();
        measures
            .map(|measure| self.test_window(measure.test))
            .collect()
    }

    pub(crate) fn test_window(&self, test: TestId) -> MeasurementWindow {
        match self {
            Windows::Rounds(windows) => windows
                .get(&test)
                .map_or(MeasurementWindow::Nothing, |window| (*window).into()),
            Windows::Closed(measured) => measured.window(test),
            Windows::Open => MeasurementWindow::Everything,
        }
    }

    /// The windows as times, for the operations that were added for them.
    pub(crate) fn spans(
        &self,
        all: &Summariser,
        events: &[Event],
    ) -> BTreeMap<TestId, Result<Span, NoWindow>> {
        match self {
            Windows::Rounds(windows) => windows.clone(),
            Windows::Closed(_) | Windows::Open => all.windows(events),
        }
    }

    pub(crate) fn conclude(
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
) -> Result<BTreeMap<TestId, Result<Span, NoWindow>>, Error>
where
    Piece: AsRef<[Sample]>,
{
    let tests = plan.measures.iter().map(|measure| measure.test);
    let mut users: BTreeMap<TestId, Users> = tests.map(|test| (test, Users::default())).collect();
    let shows_work = plan.shows_work();
    for piece in pieces {
        for sample in piece?.as_ref() {
            let index = usize::from(sample.measure.0);
            if shows_work.get(index) != Some(&true) {
                continue;
            }
            if let Some(users) = users.get_mut(&plan.measures[index].test) {
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
        // Beside others who are not measured, one user maintains the load, too.
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
