//! Progress of the runs of a series.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Cancel, Observer};
use record::{Event, EventKind, LeftBehind};
use runner::RunnerError;
use runner::console::{Guard, MadeOnServers, RunDisplay, SeriesConsole, ShownRun};
use runner::local::RunStep;
use runner::words::{roughly, still_there};

use crate::bar::{BarOf, TerminalBar};
use crate::forecast::{Meter, RunMeter};
use crate::output::print_message;
use crate::watch::{FRAME, Following, draw_outlook, suspended, time_left};

/// Adds a run to the progress of its series.
struct ProgressOfRun {
    series: Arc<RunsTogether>,
    meter: RunMeter,
    /// By [`record::TestId`].
    tests: Vec<String>,
}

impl Observer for ProgressOfRun {
    fn event(&self, event: &Event) {
        self.meter.event(event);
        match &event.kind {
            EventKind::TestStarted { test } => {
                if let Some(name) = self.tests.get(usize::from(test.0)) {
                    self.series.begin_test(name);
                }
            }
            EventKind::TestEnded { .. } => self.series.end_test(),
            EventKind::LeftBehind(left) => self.series.left_behind(left),
            _ => {}
        }
    }
}

/// End of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesPace {
    /// After all runs planned with [`SeriesProgress::plan`].
    Planned,
    /// After this time at most.
    Within(Duration),
    /// When a result is known.
    Open,
}

impl SeriesPace {
    fn bar(self) -> BarOf {
        match self {
            SeriesPace::Planned | SeriesPace::Within(_) => BarOf::Suite,
            SeriesPace::Open => BarOf::Trial,
        }
    }
}

/// Lets Ctrl-C cancel the measurement while the guard exists; see [`SeriesConsole::on_interrupt`].
pub type OnInterrupt = fn(Cancel, MadeOnServers) -> Result<Guard, RunnerError>;

/// Displays the progress of all runs on standard error.
pub struct SeriesProgress {
    together: Arc<RunsTogether>,
    on_interrupt: OnInterrupt,
}

/// State shared by all runs of a series.
struct RunsTogether {
    bar: Option<TerminalBar>,
    following: Mutex<Option<Following>>,
    quiet: bool,
    meter: Arc<Meter>,
    pace: SeriesPace,
    /// Tenths of the progress that were printed.
    printed_tenth: AtomicUsize,
    /// Leftovers on servers, by URL; `None` after they were reported.
    left: Mutex<BTreeMap<String, Option<LeftBehind>>>,
}

impl SeriesProgress {
    /// For a series that has not begun.
    pub fn new(pace: SeriesPace, quiet: bool, on_interrupt: OnInterrupt) -> SeriesProgress {
        let meter = Arc::new(Meter::default());
        let bar = (!quiet).then(|| TerminalBar::begin(pace.bar()));
        let together = Arc::new(RunsTogether {
            bar: bar.flatten(),
            following: Mutex::default(),
            quiet,
            meter,
            pace,
            printed_tenth: AtomicUsize::new(0),
            left: Mutex::default(),
        });
        SeriesProgress {
            together,
            on_interrupt,
        }
    }

    /// Adds steps to the planned work.
    pub fn plan<'s>(&self, steps: impl Iterator<Item = &'s RunStep>) {
        for run in steps.flat_map(|step| &step.runs) {
            let load = (run.users, &run.drive);
            self.together.meter.plan(run.group, &run.task.plan, load);
        }
    }

    /// Ends the display.
    pub fn end(&self) {
        drop(lock(&self.together.following).take());
    }
}

impl SeriesConsole for SeriesProgress {
    fn show(&self, run: ShownRun<'_>) -> RunDisplay {
        let tests = run.plan.tests.iter().map(|test| test.name.clone());
        let observer = ProgressOfRun {
            series: Arc::clone(&self.together),
            meter: RunMeter::new(
                &self.together.meter,
                run.group,
                run.progress,
                (run.plan, run.users, run.drive),
            ),
            tests: tests.collect(),
        };
        RunDisplay {
            observer: Arc::new(observer),
            following: None,
        }
    }

    fn begin_step(&self, title: Option<&str>) {
        // Not before: messages about servers and passwords would be mixed with the bar.
        self.together.follow();
        match (&self.together.bar, title) {
            (Some(bar), Some(title)) => bar.set_message(title),
            (None, Some(title)) if self.together.pace == SeriesPace::Planned => self.remark(title),
            _ => {}
        }
    }

    fn remark(&self, line: &str) {
        if !self.together.quiet {
            self.together.print_line(line);
        }
    }

    fn has_left_behind(&self, server: &str) -> bool {
        let known = lock(&self.together.left);
        let mut unreported = known.iter().filter(|(_, left)| left.is_some());
        unreported.any(|(url, _)| url.starts_with(server))
    }

    fn report_left_behind(&self, gone: &[String]) {
        let mut known = lock(&self.together.left);
        for (url, left) in known.iter_mut() {
            let is_gone = gone.iter().any(|server| url.starts_with(server));
            if let Some(left) = left.take().filter(|_| !is_gone) {
                self.together.print_line(&still_there(&left));
            }
        }
    }

    fn on_interrupt(&self, cancel: &Cancel, made: &MadeOnServers) -> Result<Guard, RunnerError> {
        (self.on_interrupt)(cancel.clone(), Arc::clone(made))
    }

    fn is_quiet(&self) -> bool {
        self.together.quiet
    }
}

impl RunsTogether {
    /// Draws the bar from now on.
    fn follow(&self) {
        let mut following = lock(&self.following);
        if self.bar.is_some() && following.is_none() {
            let (pace, meter) = (self.pace, Arc::clone(&self.meter));
            let draw = move |bar: &TerminalBar| match pace {
                SeriesPace::Within(budget) => draw_budget(bar, &meter, budget),
                SeriesPace::Planned => draw_outlook(bar, &meter, ""),
                SeriesPace::Open => bar.tick(),
            };
            *following = Some(Following::drawing(self.bar.clone(), FRAME, draw));
        }
    }

    fn begin_test(&self, name: &str) {
        let bar = self.bar.as_ref().filter(|_| self.pace != SeriesPace::Open);
        if let Some(bar) = bar {
            bar.set_message(name);
        }
    }

    /// Prints a line for each tenth, which is enough for a log.
    fn end_test(&self) {
        if self.quiet || self.bar.is_some() {
            return;
        }
        let (share, left) = match self.pace {
            SeriesPace::Open => return,
            SeriesPace::Within(budget) => {
                let share = share_of(&self.meter, budget);
                let left = budget.saturating_sub(self.meter.elapsed());
                (share, Some(at_most(left)))
            }
            SeriesPace::Planned => {
                let outlook = self.meter.outlook();
                (outlook.share, time_left(&outlook))
            }
        };
        let tenth = (share * 10.0) as usize;
        if self.printed_tenth.fetch_max(tenth, Ordering::Relaxed) < tenth {
            let left = left.map_or(String::new(), |left| format!(", {left}"));
            let elapsed = self.meter.elapsed().as_secs();
            print_message(&format!("{:3.0} %  {elapsed} s{left}", share * 100.0));
        }
    }

    /// Records a leftover on a server, once for all runs; our own also with `--quiet`. It is
    /// reported when it is known whether the server still runs.
    fn left_behind(&self, left: &LeftBehind) {
        let mut known = lock(&self.left);
        if left.own || !self.quiet {
            let url = known.entry(left.url.clone());
            url.or_insert_with(|| Some(left.clone()));
        }
    }

    fn print_line(&self, line: &str) {
        suspended(self.bar.as_ref(), || print_message(line));
    }
}

impl Drop for SeriesProgress {
    fn drop(&mut self) {
        self.report_left_behind(&[]);
    }
}

/// What a thread that panicked leaves is still valid.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves a bar that ends with a budget: `40 s, at most 20 s left`.
fn draw_budget(bar: &TerminalBar, meter: &Meter, budget: Duration) {
    let elapsed = meter.elapsed();
    let left = at_most(budget.saturating_sub(elapsed));
    bar.set_position(share_of(meter, budget));
    let (sent, _) = meter.requests();
    bar.set_prefix(&format!("{sent} requests  {} s, {left}", elapsed.as_secs()));
    bar.tick();
}

fn share_of(meter: &Meter, budget: Duration) -> f64 {
    let share = meter.elapsed().as_secs_f64() / budget.as_secs_f64();
    share.min(1.0)
}

fn at_most(left: Duration) -> String {
    format!("at most {} left", roughly(left.as_secs_f64()))
}
