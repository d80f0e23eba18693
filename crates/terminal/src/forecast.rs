//! Remaining time of runs: the rest of the planned requests, at the pace of those that were sent.
//!
//! ```text
//! left of a kind = requests left * seconds a request + time that is known before
//! left           = sum over all kinds * (time elapsed / time that tests took)
//! ```
//!
//! A *kind* is a test on a server, at a point of a sweep: its duration is about the same in each
//! run. A kind without a known pace gets the mean pace of all. The last factor is more than
//! one if time passes between tests, and less if several runs go on at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Drive, LoadDrive, Pacing, Progress};
use record::{Event, EventKind};
use suite::{Limit, Plan, TestPlan, UserWork};

/// Tests of about the same duration: a group of runs, and the name of a test.
pub(crate) type Kind = (usize, String);

/// The share of all requests that an estimate needs: the first ones are cold, and few tests may be
/// atypical.
const EARLY: f64 = 0.03;

/// Planned and completed work, by kind.
#[derive(Debug, Default)]
pub(crate) struct Forecast {
    kinds: BTreeMap<Kind, KindProgress>,
    /// A test or its warm-up lasts for a given time, with as many requests as fit into it.
    is_open_ended: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct KindProgress {
    planned: UserWork,
    done: UserWork,
    took: Duration,
}

/// A running test.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TestUnderWay {
    pub(crate) planned: UserWork,
    pub(crate) sent: u64,
    pub(crate) elapsed: Duration,
}

/// Progress of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// Share of the whole time that has passed.
    pub share: f64,
    /// `None` as long as it cannot be estimated.
    pub left: Option<Duration>,
}

impl Forecast {
    /// Adds the tests of a run, in a group of runs that are alike, to the planned work.
    pub(crate) fn plan(&mut self, group: usize, plan: &Plan, (users, drive): (u32, &Drive)) {
        let goes_by_time = |test: &TestPlan| matches!(test.limit, Limit::Duration(_));
        self.is_open_ended |= match drive {
            Drive::Rounds(rounds) => {
                !rounds.steady_within.is_zero() || plan.tests.iter().any(goes_by_time)
            }
            Drive::Load(_) => true,
        };
        for (name, work) in workloads(plan, users, drive) {
            let course = self.kinds.entry((group, name)).or_default();
            course.planned = course.planned + work;
        }
    }

    /// Adds a test that has ended, for whatever reason.
    pub(crate) fn add(&mut self, kind: &Kind, planned: UserWork, took: Duration) {
        let course = self.kinds.entry(kind.clone()).or_default();
        course.done = course.done + planned;
        course.took += took;
    }

    /// Planned requests; `None` if unknown.
    pub(crate) fn requests(&self) -> Option<u64> {
        let courses = self.kinds.values();
        let requests: f64 = courses.map(|course| course.planned.requests).sum();
        (!self.is_open_ended && requests > 0.0).then_some(requests.round() as u64)
    }

    /// Progress of the runs, `elapsed` after their start, with these running tests.
    pub(crate) fn outlook(&self, elapsed: Duration, under_way: &[(Kind, TestUnderWay)]) -> Outlook {
        let mut courses = self.kinds.clone();
        for (kind, test) in under_way {
            let course = courses.entry(kind.clone()).or_default();
            course.done = course.done + test.done();
            course.took += test.elapsed;
        }
        let plus = |sum: KindProgress, one: &KindProgress| KindProgress {
            planned: sum.planned + one.planned,
            done: sum.done + one.done,
            took: sum.took + one.took,
        };
        let all = courses.values().fold(KindProgress::default(), plus);
        let left = |course: &KindProgress| -> Option<f64> {
            let requests = (course.planned.requests - course.done.requests).max(0.0);
            let time = course.planned.time.saturating_sub(course.done.time);
            let pace = course.pace().or_else(|| all.pace());
            // Beside a known time, requests without a pace are the smaller part.
            let is_unknown = requests > 0.0 && pace.is_none() && time.is_zero();
            (!is_unknown).then(|| requests * pace.unwrap_or(0.0) + time.as_secs_f64())
        };
        let left: Option<f64> = courses.values().map(left).sum();
        let is_early = all.done.requests < EARLY * all.planned.requests;
        let left = left.filter(|_| !courses.is_empty() && !is_early);
        let (took, passed) = (all.took.as_secs_f64(), elapsed.as_secs_f64());
        let stretch = if took > 0.0 { passed / took } else { 1.0 };
        let left = left.map(|left| left * stretch);
        let known = left.filter(|_| passed > 0.0);
        Outlook {
            share: known.map_or(0.0, |left| passed / (passed + left)),
            left: left.and_then(|left| Duration::try_from_secs_f64(left).ok()),
        }
    }
}

impl KindProgress {
    /// Seconds per request, beside the time that was known before; `None` before the first.
    fn pace(&self) -> Option<f64> {
        let took = self.took.saturating_sub(self.done.time).as_secs_f64();
        (self.done.requests > 0.0 && took > 0.0).then(|| took / self.done.requests)
    }
}

impl TestUnderWay {
    /// Completed work: users go on until the slowest has finished, so more may be sent than
    /// planned.
    fn done(&self) -> UserWork {
        let requests = (self.sent as f64).min(self.planned.requests);
        // Requests sent between the pauses are not counted separately: both progress together.
        let most = if self.planned.requests > 0.0 {
            self.planned.time.mul_f64(requests / self.planned.requests)
        } else {
            self.planned.time
        };
        UserWork {
            requests,
            time: self.elapsed.min(most),
        }
    }
}

/// Measures the progress of tests on the clock of this machine.
#[derive(Debug)]
pub struct Meter {
    begun: Instant,
    state: Mutex<MeterState>,
}

#[derive(Debug, Default)]
struct MeterState {
    forecast: Forecast,
    /// By the address of their counts: a run executes one test at a time.
    running: Vec<Running>,
    /// Requests of runs that have ended.
    sent: u64,
}

/// A run, and its current test.
#[derive(Debug)]
struct Running {
    progress: Arc<Progress>,
    test: Option<RunningTest>,
}

#[derive(Debug)]
struct RunningTest {
    kind: Kind,
    planned: UserWork,
    begun: Instant,
    /// Requests that the run had sent before.
    sent_before: u64,
}

impl Default for Meter {
    fn default() -> Self {
        Meter {
            begun: Instant::now(),
            state: Mutex::default(),
        }
    }
}

impl Meter {
    /// Adds the tests of a run to the planned work.
    pub fn plan(&self, group: usize, plan: &Plan, force: (u32, &Drive)) {
        self.state().forecast.plan(group, plan, force);
    }

    /// Starts a test of the run with these counts.
    pub(crate) fn begin(&self, progress: &Arc<Progress>, kind: Kind, planned: UserWork) {
        let test = RunningTest {
            kind,
            planned,
            begun: Instant::now(),
            sent_before: progress.requests(),
        };
        let mut state = self.state();
        match state.running(progress) {
            Some(run) => run.test = Some(test),
            None => state.running.push(Running {
                progress: Arc::clone(progress),
                test: Some(test),
            }),
        }
    }

    pub(crate) fn end(&self, progress: &Arc<Progress>) {
        let mut state = self.state();
        let test = state.running(progress).and_then(|run| run.test.take());
        if let Some(test) = test {
            let took = test.begun.elapsed();
            state.forecast.add(&test.kind, test.planned, took);
        }
    }

    pub(crate) fn end_run(&self, progress: &Arc<Progress>) {
        self.end(progress);
        let mut state = self.state();
        state.sent += progress.requests();
        let running = &mut state.running;
        running.retain(|run| !Arc::ptr_eq(&run.progress, progress));
    }

    /// Time since the start of the runs.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Progress of the runs.
    pub fn outlook(&self) -> Outlook {
        let state = self.state();
        let tests = state.running.iter().filter_map(|run| {
            let test = run.test.as_ref()?;
            let under_way = TestUnderWay {
                planned: test.planned,
                sent: run.progress.requests().saturating_sub(test.sent_before),
                elapsed: test.begun.elapsed(),
            };
            Some((test.kind.clone(), under_way))
        });
        let tests: Vec<(Kind, TestUnderWay)> = tests.collect();
        state.forecast.outlook(self.begun.elapsed(), &tests)
    }

    /// Requests sent, and requests planned if their number is known.
    pub fn requests(&self) -> (u64, Option<u64>) {
        let state = self.state();
        let running = state.running.iter().map(|run| run.progress.requests());
        let sent = state.sent + running.sum::<u64>();
        (sent, state.forecast.requests())
    }

    fn state(&self) -> MutexGuard<'_, MeterState> {
        // Estimates of a thread that panicked are still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MeterState {
    fn running(&mut self, progress: &Arc<Progress>) -> Option<&mut Running> {
        let mut running = self.running.iter_mut();
        running.find(|run| Arc::ptr_eq(&run.progress, progress))
    }
}

/// Passes the tests of one run to a meter.
#[derive(Debug)]
pub struct RunMeter {
    pub(crate) meter: Arc<Meter>,
    group: usize,
    progress: Arc<Progress>,
    /// By [`record::TestId`].
    tests: Vec<(String, UserWork)>,
    /// All tests run at the same time, from beginning to end.
    is_load: bool,
}

impl RunMeter {
    /// For a run of this plan, in a group of runs that are alike, with these counts.
    pub fn new(
        meter: &Arc<Meter>,
        group: usize,
        progress: &Arc<Progress>,
        (plan, users, drive): (&Plan, u32, &Drive),
    ) -> RunMeter {
        let tests = workloads(plan, users, drive);
        if let (Drive::Load(_), [(name, planned)]) = (drive, &tests[..]) {
            meter.begin(progress, (group, name.clone()), *planned);
        }
        RunMeter {
            meter: Arc::clone(meter),
            group,
            progress: Arc::clone(progress),
            tests,
            is_load: matches!(drive, Drive::Load(_)),
        }
    }

    /// Handles an event, such as the beginning or end of a test.
    pub fn event(&self, event: &Event) {
        match &event.kind {
            EventKind::TestStarted { test } if !self.is_load => {
                if let Some((name, planned)) = self.tests.get(usize::from(test.0)) {
                    let kind = (self.group, name.clone());
                    self.meter.begin(&self.progress, kind, *planned);
                }
            }
            EventKind::TestEnded { .. } if !self.is_load => self.meter.end(&self.progress),
            _ => {}
        }
    }
}

impl Drop for RunMeter {
    fn drop(&mut self) {
        self.meter.end_run(&self.progress);
    }
}

/// Work of all users in each test of a run, with simultaneous pauses, or in a load.
fn workloads(plan: &Plan, users: u32, drive: &Drive) -> Vec<(String, UserWork)> {
    let rounds = match drive {
        Drive::Rounds(rounds) => rounds,
        Drive::Load(load) => return vec![(LOAD.to_owned(), load_work(load))],
    };
    let all = plan.tests.iter().map(|test| {
        let mut work = UserWork::default();
        for (of_role, one) in test.work_of_roles(rounds.warmup) {
            let part = f64::from(of_role) / f64::from(test.users_of_roles().max(1));
            work.requests += one.requests * part * f64::from(users);
            work.time = work.time.max(one.time);
        }
        (test.name.clone(), work)
    });
    all.collect()
}

/// The whole of a load, which does its tests at once.
const LOAD: &str = "";

fn load_work(load: &LoadDrive) -> UserWork {
    let measured = match &load.pacing {
        Pacing::Open { stages, .. } => {
            let seconds = stages.iter().map(|stage| stage.duration_s).sum();
            Duration::try_from_secs_f64(seconds).ok()
        }
        Pacing::Closed => load.duration,
    };
    match (measured, load.requests) {
        (Some(measured), _) => UserWork {
            requests: 0.0,
            time: load.warmup_time.saturating_add(measured),
        },
        (None, requests) => UserWork {
            requests: requests.unwrap_or(0) as f64,
            time: load.warmup_time,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(requests: f64, seconds: u64) -> UserWork {
        UserWork {
            requests,
            time: Duration::from_secs(seconds),
        }
    }

    fn kind(group: usize, name: &str) -> Kind {
        (group, name.to_owned())
    }

    fn under_way(
        name: &str,
        planned: UserWork,
        (sent, seconds): (u64, u64),
    ) -> [(Kind, TestUnderWay); 1] {
        let elapsed = Duration::from_secs(seconds);
        let test = TestUnderWay {
            planned,
            sent,
            elapsed,
        };
        [(kind(0, name), test)]
    }

    fn forecast(planned: &[(usize, &str, UserWork)]) -> Forecast {
        let mut forecast = Forecast::default();
        for (group, name, work) in planned {
            let course = forecast.kinds.entry(kind(*group, name)).or_default();
            course.planned = course.planned + *work;
        }
        forecast
    }

    fn left(forecast: &Forecast, elapsed: u64, under_way: &[(Kind, TestUnderWay)]) -> Option<f64> {
        let outlook = forecast.outlook(Duration::from_secs(elapsed), under_way);
        outlook.left.map(|left| left.as_secs_f64())
    }

    #[test]
    fn few_requests_say_nothing_of_many() {
        let mut forecast = forecast(&[(0, "Get", work(10.0, 0)), (0, "MkCol", work(1000.0, 0))]);
        forecast.add(&kind(0, "Get"), work(10.0, 0), Duration::from_secs(1));
        assert_eq!(left(&forecast, 1, &[]), None);
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let nothing = Forecast::default().outlook(Duration::from_secs(3), &[]);
        assert_eq!((nothing.share, nothing.left), (0.0, None));
        let forecast = forecast(&[(0, "Get", work(100.0, 0))]);
        let outlook = forecast.outlook(Duration::from_secs(3), &[]);
        assert_eq!((outlook.share, outlook.left), (0.0, None));
    }

    #[test]
    fn tests_weigh_as_many_requests_as_they_send() {
        let mut forecast = forecast(&[(0, "Get", work(100.0, 0)), (0, "MkCol", work(1100.0, 0))]);
        forecast.add(&kind(0, "Get"), work(100.0, 0), Duration::from_secs(1));
        assert_eq!(left(&forecast, 1, &[]), Some(11.0));
        // From its first requests on, the pace of a test is known.
        let now = under_way("MkCol", work(1100.0, 0), (100, 1));
        assert_eq!(left(&forecast, 2, &now), Some(10.0));
        let outlook = forecast.outlook(Duration::from_secs(2), &now);
        assert!((outlook.share - 2.0 / 12.0).abs() < 1e-9);
    }

    #[test]
    fn a_run_teaches_how_long_the_next_one_takes() {
        let both = |work| [(0, "Copy", work), (1, "Copy", work)];
        let mut forecast = forecast(&both(work(20.0, 0)));
        forecast.add(&kind(0, "Copy"), work(10.0, 0), Duration::from_secs(10));
        forecast.add(&kind(1, "Copy"), work(10.0, 0), Duration::from_secs(40));
        // One after the other, with a pause of ten seconds between them.
        assert_eq!(left(&forecast, 60, &[]), Some(60.0));
        // Both at once.
        assert_eq!(left(&forecast, 25, &[]), Some(25.0));
    }

    #[test]
    fn time_that_is_known_is_not_estimated() {
        let mut forecast = forecast(&[(0, "Timed", work(10.0, 30)), (0, "Next", work(10.0, 30))]);
        let timed = under_way("Timed", work(10.0, 30), (5000, 12));
        assert_eq!(left(&forecast, 12, &timed), Some(48.0));
        forecast.add(&kind(0, "Timed"), work(10.0, 30), Duration::from_secs(32));
        assert_eq!(left(&forecast, 32, &[]), Some(32.0));
    }

    #[test]
    fn a_test_that_sends_more_than_planned_is_done_once() {
        let forecast = forecast(&[(0, "Get", work(100.0, 0))]);
        let get = under_way("Get", work(100.0, 0), (250, 2));
        assert_eq!(left(&forecast, 2, &get), Some(0.0));
    }
}
