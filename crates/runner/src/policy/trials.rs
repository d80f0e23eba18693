//! Trials of a search: the load of the next trial, and the evaluation of its condition.

use std::sync::Arc;
use std::time::Duration;

use engine::{Drive, LoadDrive, Pacing};
use record::Outcome;
use report::{Find, Tried};
use stats::{
    Conclusion, EstimatedRate, InsideFigure, OfferedLoad, PagesSummary, Search, Summary, Tally,
    TestSummary,
};

use crate::RunnerError;
use crate::kept::KeptRun;
use crate::load::pace;
use crate::local::{RunStep, RunTask, StepRun, StepRuns};
use crate::series::{NextStep, Policy, SeriesHistory};
use crate::words::roughly;

/// Inconclusive trials in a row that end the search: a single one may be caused by other programs.
const PATIENCE: u32 = 3;

/// Settings of trials, except their load.
pub struct TrialLoad {
    /// Goal of the search.
    pub find: Find,
    /// Duration of a trial.
    pub duration: Duration,
    /// Operations of each user before the measurement.
    pub warmup: u32,
    /// Operations follow in their order, and are not drawn at random.
    pub in_turn: bool,
    /// Connections that share a rate.
    pub connections: u32,
    /// Seed before that of the first trial.
    pub seed: u64,
}

/// Trials until the largest load is found under which the condition holds.
pub struct Trials {
    search: Search,
    load: TrialLoad,
    task: Arc<RunTask>,
    /// Remaining trials of the current load that may be inconclusive.
    patience: u32,
    /// The conclusive trials, each with the index of its step.
    made: Vec<(usize, Tried)>,
}

impl Trials {
    /// Trials of this search.
    pub fn new(search: Search, load: TrialLoad, task: Arc<RunTask>) -> Trials {
        Trials {
            search,
            load,
            task,
            patience: PATIENCE,
            made: Vec::new(),
        }
    }

    /// Goal of the search.
    pub fn find(&self) -> Find {
        self.load.find
    }

    /// State of the search.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// The conclusive trials, with their runs.
    pub fn made<'h>(
        &self,
        history: &'h SeriesHistory<RunStep, StepRuns>,
    ) -> (Vec<Tried>, Vec<&'h KeptRun>) {
        let run = |(step, tried): &(usize, Tried)| (*tried, &history.steps[*step].outcome.runs[0]);
        self.made.iter().map(run).unzip()
    }

    /// Description of the load of the trial that could not be made.
    pub fn under_way(&self) -> Option<String> {
        let load = self.search.next_load()?;
        Some(self.load.find.amount(load))
    }

    /// Evaluates a trial under that load; returns a remark.
    fn learn(
        &mut self,
        load: OfferedLoad,
        history: &SeriesHistory<RunStep, StepRuns>,
    ) -> Result<Option<String>, RunnerError> {
        let number = history.steps.len();
        let Some(last) = history.steps.last() else {
            return Ok(None);
        };
        let amount = self.load.find.amount(load);
        let summary = &last.outcome.runs[0].summary;
        if let Some(rows) = report::inconclusive(summary) {
            let why = format!("{amount}: {rows}");
            return self.once_more(number, why).map(Some);
        }
        if let Some(row) = idle(summary) {
            return Err(RunnerError::Usage(format!(
                "{amount}: no request of {row} was sent in a trial, so the condition cannot be evaluated; \
                 give a longer --duration"
            )));
        }
        let condition = summary.constraints.last();
        let held = condition.is_some_and(|condition| condition.verdict == Conclusion::Pass);
        let tried = tried(load, held && is_there(summary), summary);
        // If nothing failed, the server is not the reason.
        if let (Some(condition), 0) = (condition, tried.failures)
            && condition.verdict == Conclusion::Inconclusive
        {
            let words = report::constraint_in_words(condition);
            let why = format!("{amount}: the condition is not decided: {words}");
            return self.once_more(number, why).map(Some);
        }
        self.patience = PATIENCE;
        self.search.learn(load, tried.held);
        self.made.push((number - 1, tried));
        Ok(Some(self.outcome(number, &tried, history)))
    }

    /// Repeats an inconclusive trial, or fails after too many.
    fn once_more(&mut self, number: usize, why: String) -> Result<String, RunnerError> {
        self.patience -= 1;
        if self.patience == 0 {
            return Err(RunnerError::inconclusive(why));
        }
        Ok(format!("prestan: trial {number}, {why}; repeated"))
    }

    fn outcome(
        &self,
        number: usize,
        tried: &Tried,
        history: &SeriesHistory<RunStep, StepRuns>,
    ) -> String {
        let p99 = tried.times.map_or("no response".to_owned(), |times| {
            format!("p99 {}", report::human(times.p99 as f64))
        });
        let trials = self.search.trials_of(tried.load);
        format!(
            "prestan: trial {number}, {}: {} ({p99}, {:.0} responses/s, {} failures), held in {} of {}{}",
            self.load.find.amount(tried.load),
            if tried.held { "holds" } else { "fails" },
            tried.rate.per_second,
            tried.failures,
            trials.held,
            trials.trials(),
            self.time_left(history),
        )
    }

    /// Title of the next trial, under that load.
    fn title(&self, load: OfferedLoad, history: &SeriesHistory<RunStep, StepRuns>) -> String {
        let so_far = match self.search.trials_of(load) {
            trials if trials.trials() == 0 => String::new(),
            Tally { held, failed } => format!(", held in {held} of {} so far", held + failed),
        };
        format!(
            "trial {}: {}{so_far}{}",
            history.steps.len() + 1,
            self.load.find.amount(load),
            self.time_left(history)
        )
    }

    /// Estimate of the remaining time; empty before the first trial and after the last.
    fn time_left(&self, history: &SeriesHistory<RunStep, StepRuns>) -> String {
        if self.search.next_load().is_none() || history.steps.is_empty() {
            return String::new();
        }
        let each = history.elapsed.as_secs_f64() / history.steps.len() as f64;
        let left = self.search.left();
        let time = |trials: u32| roughly(each * f64::from(trials));
        let likely = if left.is_least { "at least" } else { "about" };
        let (about, most) = (time(left.likely), time(left.most));
        format!("; {likely} {about} left, at most {most}")
    }

    fn step(&self, load: OfferedLoad, history: &SeriesHistory<RunStep, StepRuns>) -> RunStep {
        let number = history.steps.len() + 1;
        let (users, pacing) = match self.load.find {
            Find::Users => (load as u32, Pacing::Closed),
            Find::Rate => {
                let pacing = pace::at_rate(load, self.load.duration);
                (self.load.connections, pacing)
            }
        };
        let run = StepRun {
            server: 0,
            group: 0,
            name: Some(number.to_string()),
            task: Arc::clone(&self.task),
            users,
            drive: Drive::Load(LoadDrive {
                pacing,
                duration: Some(self.load.duration),
                warmup: self.load.warmup,
                in_turn: self.load.in_turn,
                ..LoadDrive::default()
            }),
            seed: self.load.seed.wrapping_add(number as u64),
        };
        RunStep {
            title: Some(self.title(load, history)),
            ..RunStep::single(history.steps.len(), 1, run)
        }
    }
}

impl Policy for Trials {
    type Step = RunStep;
    type Outcome = StepRuns;

    fn next(
        &mut self,
        history: &SeriesHistory<RunStep, StepRuns>,
    ) -> Result<NextStep<RunStep>, RunnerError> {
        let remark = match self.search.next_load() {
            Some(load) => self.learn(load, history)?,
            None => None,
        };
        let next = self.search.next_load();
        Ok(NextStep {
            remark,
            step: next.map(|load| self.step(load, history)),
        })
    }
}

/// A row without requests.
fn idle(summary: &Summary) -> Option<&str> {
    let is_idle = |row: &&TestSummary| row.operations() == 0 && row.failed() == 0;
    summary.tests.iter().find(is_idle).map(|row| &*row.name)
}

/// The server accepted all connections. Otherwise it holds no load, whatever the condition: its
/// figures are of the time before it ended.
fn is_there(summary: &Summary) -> bool {
    let refused = |row: &TestSummary| {
        let all = row.outcomes.plus(&row.left_out_outcomes);
        all.of(Outcome::ConnectFailed)
    };
    summary.tests.iter().map(refused).sum::<u64>() == 0
}

/// Result of a trial. With a mix of requests, times are those of the slowest of them; with pages,
/// those of the pages.
pub fn tried(load: OfferedLoad, held: bool, summary: &Summary) -> Tried {
    if let Some(pages) = &summary.pages {
        return page_trial((load, held), summary, pages);
    }
    let rows = || summary.tests.iter();
    let times = rows().filter_map(|row| row.first_byte_times());
    let slowest = times.max_by(|one, other| one.mean.total_cmp(&other.mean));
    Tried {
        load,
        held,
        rate: EstimatedRate {
            per_second: rows().filter_map(TestSummary::per_second).sum(),
            ci95: match &summary.tests[..] {
                [only] => only.rate.and_then(|rate| rate.ci95),
                _ => None,
            },
        },
        times: slowest.copied(),
        processor: processor(summary),
        failures: rows().map(|row| row.failed()).sum(),
    }
}

/// Processor time of the server per operation.
fn processor(summary: &Summary) -> Option<f64> {
    let rows = summary.inside.iter().flat_map(|inside| &inside.rows);
    let (mut spent, mut operations) = (0.0, 0.0);
    for row in rows {
        if let Some(processor) = row.mean(InsideFigure::Processor) {
            spent += processor.mean * row.operations as f64;
            operations += row.operations as f64;
        }
    }
    (operations > 0.0).then(|| spent / operations)
}

fn page_trial((load, held): (OfferedLoad, bool), summary: &Summary, pages: &PagesSummary) -> Tried {
    Tried {
        load,
        held,
        rate: EstimatedRate {
            per_second: pages.per_minute / 60.0,
            ci95: pages
                .per_minute_ci95
                .map(|(low, high)| (low / 60.0, high / 60.0)),
        },
        times: pages.all.load,
        processor: processor(summary),
        failures: pages.all.incomplete + pages.left_out.incomplete,
    }
}
