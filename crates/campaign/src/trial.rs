//! One trial: a laboratory is built for it alone, servers start, background begins, and after it
//! has settled, all measurements begin at the same time.
//!
//! ```text
//! build - probe paths - servers - captures - background . . . settle . . . measured ------- end - figures
//! ```

mod captured;
mod links;
mod paths;
mod programs;
mod requests;
mod servers;
mod single;
mod suites;
mod traffic;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::Cancel;
use experiment::{MeasuredSpec, TrialSpec};
use lab::{BuiltLab, LabError};
use topology::LabNetwork;

use captured::TrialCaptures;
use links::TrialLinks;
use programs::LabProgram;
use requests::BackgroundRequests;
use servers::TrialServers;
use traffic::TrialTraffic;

use runner::laboratory;

/// Interval between two checks for ended programs.
const LOOK: Duration = Duration::from_millis(10);

/// Time limit for a program to end after a signal.
const ENDING: Duration = Duration::from_secs(10);

/// Largest deviation of background from its rate where no link is congested.
const TOLERANCE: f64 = 0.02;

pub(crate) struct TrialTask<'a> {
    pub(crate) spec: &'a TrialSpec,
    pub(crate) network: &'a LabNetwork,
    pub(crate) seed: u64,
    pub(crate) cancel: &'a Cancel,
    /// Directory, and prefix of the names, of its captures, if they are kept.
    pub(crate) kept_captures: Option<(&'a Path, String)>,
}

#[derive(Debug, Default)]
pub(crate) struct TrialOutcome {
    pub(crate) figures: BTreeMap<String, f64>,
    pub(crate) warnings: Vec<String>,
    pub(crate) facts: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrialFailure {
    Interrupted,
    Failed(String),
}

impl TrialFailure {
    fn of(error: &dyn std::fmt::Display) -> TrialFailure {
        // The logs of a server have several lines.
        let text = error.to_string().replace("\n  ", "; ").replace('\n', " ");
        TrialFailure::Failed(report::clean(&text))
    }

    fn while_trying(attempt: &str) -> impl Fn(io::Error) -> TrialFailure + use<'_> {
        move |error| TrialFailure::Failed(format!("{attempt} failed: {error}"))
    }
}

impl From<LabError> for TrialFailure {
    fn from(error: LabError) -> TrialFailure {
        TrialFailure::of(&error)
    }
}

impl TrialOutcome {
    fn figure(&mut self, name: String, value: f64) {
        if value.is_finite() {
            self.figures.insert(name, value);
        }
    }

    /// A figure that may be missing.
    fn maybe(&mut self, name: String, value: Option<f64>) {
        if let Some(value) = value {
            self.figure(name, value);
        }
    }

    fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// A running trial. Fields are dropped in this order: programs end before the laboratory.
struct RunningTrial<'a> {
    measured: Vec<RunningMeasurement<'a>>,
    requests: Vec<BackgroundRequests<'a>>,
    traffic: Option<TrialTraffic>,
    captures: TrialCaptures,
    servers: TrialServers,
    links: TrialLinks,
    lab: BuiltLab,
}

struct RunningMeasurement<'a> {
    name: &'a str,
    spec: &'a MeasuredSpec,
    program: LabProgram,
    output: PathBuf,
    /// The program had to be ended.
    is_unfinished: bool,
}

impl TrialTask<'_> {
    pub(crate) fn run(&self) -> Result<TrialOutcome, TrialFailure> {
        let lab = laboratory::build(self.network).map_err(|error| TrialFailure::of(&error))?;
        let mut result = TrialOutcome::default();
        paths::probe(&lab, self.spec, &mut result)?;
        self.go_on()?;
        let servers = TrialServers::start(&lab, (self.spec, self.cancel), &mut result)?;
        let captures = TrialCaptures::begin(&lab, &self.spec.captures)?;
        let traffic = self.spec.traffic.as_ref();
        let mut trial = RunningTrial {
            measured: Vec::new(),
            requests: Vec::new(),
            traffic: traffic
                .map(|traffic| TrialTraffic::listen(&lab, traffic, self))
                .transpose()?,
            captures,
            servers,
            links: TrialLinks::begin(&lab)?,
            lab,
        };
        let (begun, begun_ns) = (Instant::now(), now_ns());
        if let Some(traffic) = &mut trial.traffic {
            traffic.send(&trial.lab, self)?;
        }
        for (name, spec) in &self.spec.requests {
            let requests = BackgroundRequests::start(name, spec, &trial.lab, &trial.servers, self);
            trial.requests.extend(requests?);
        }
        let settle = Duration::from_nanos(self.spec.settle.nanos());
        self.wait(begun + settle, &mut trial, |_| false)?;
        self.measure(&mut trial)?;
        self.end(trial, begun_ns, result)
    }

    fn go_on(&self) -> Result<(), TrialFailure> {
        if self.cancel.is_cancelled() {
            return Err(TrialFailure::Interrupted);
        }
        Ok(())
    }

    /// Waits for a moment, or for everything to end before it.
    fn wait(
        &self,
        until: Instant,
        trial: &mut RunningTrial<'_>,
        mut is_over: impl FnMut(&mut RunningTrial<'_>) -> bool,
    ) -> Result<(), TrialFailure> {
        loop {
            self.go_on()?;
            if is_over(trial) {
                return Ok(());
            }
            trial.check_background()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }

    /// Begins all measurements, and waits for their end.
    fn measure<'a>(&'a self, trial: &mut RunningTrial<'a>) -> Result<(), TrialFailure> {
        let longest = Duration::from_nanos(self.spec.longest.nanos());
        for (name, spec) in &self.spec.measured {
            let output = trial.lab.temporary_files().join(format!("measured-{name}"));
            let path = spec.path.as_deref();
            let url = trial.servers.url(&trial.lab, self.spec, &spec.to, path)?;
            let mut command = match &spec.suite {
                Some(suite) => suites::command(suite, spec, &url, &output)?,
                None => single::command(&url, longest, &output)?,
            };
            trial.servers.introduce(&spec.to, &mut command);
            let label = format!("{name}, from {} to {}", spec.from, spec.to);
            trial.measured.push(RunningMeasurement {
                name,
                spec,
                program: LabProgram::start(&trial.lab, &spec.from, label, command)?,
                output,
                is_unfinished: false,
            });
        }
        let begun = Instant::now();
        let all_ended = |trial: &mut RunningTrial<'_>| {
            let mut measured = trial.measured.iter_mut();
            measured.all(|measured| measured.program.status().is_some())
        };
        self.wait(begun + longest, trial, all_ended)?;
        for measured in &mut trial.measured {
            measured.is_unfinished = measured.program.status().is_none();
            match (measured.is_unfinished, &measured.spec.suite) {
                (false, _) => {}
                // The program reports its results so far.
                (true, Some(_)) => measured.program.interrupt(),
                // Figures of a single request are in the captures.
                (true, None) => measured.program.kill(),
            }
        }
        for measured in &mut trial.measured {
            measured.program.wait(ENDING);
        }
        Ok(())
    }

    /// Ends everything, and gathers its figures.
    fn end(
        &self,
        mut trial: RunningTrial<'_>,
        begun_ns: i64,
        mut result: TrialOutcome,
    ) -> Result<TrialOutcome, TrialFailure> {
        let span = (begun_ns, now_ns());
        let is_congested = trial.links.figures(&trial.lab, &mut result)?;
        for requests in &mut trial.requests {
            requests.program.interrupt();
        }
        if let Some(traffic) = &mut trial.traffic {
            traffic.interrupt();
        }
        let captures = trial.captures.end();
        for requests in &mut trial.requests {
            requests.program.wait(ENDING);
        }
        if let Some(traffic) = &mut trial.traffic {
            traffic.end();
        }
        trial.servers.check()?;
        let captures = captured::read(&trial.lab, captures, span, &mut result)?;
        for measured in &mut trial.measured {
            measured.figures(self.spec, &captures, &trial.lab, &mut result)?;
        }
        for requests in &trial.requests {
            requests.figures(is_congested, &mut result)?;
        }
        if let Some(traffic) = &trial.traffic {
            traffic.figures(is_congested, &mut result)?;
        }
        servers::bare_figures(&trial.lab, &mut result);
        if let Some((directory, name)) = &self.kept_captures {
            captured::keep(&captures, directory, name)?;
        }
        Ok(result)
    }
}

impl RunningTrial<'_> {
    /// An early end is a failure of the trial.
    fn check_background(&mut self) -> Result<(), TrialFailure> {
        for requests in &mut self.requests {
            if requests.program.status().is_some() {
                return Err(requests.program.failed());
            }
        }
        self.traffic.as_mut().map_or(Ok(()), TrialTraffic::check)
    }
}

impl RunningMeasurement<'_> {
    fn figures(
        &mut self,
        spec: &TrialSpec,
        captures: &captured::ReadCaptures,
        lab: &BuiltLab,
        result: &mut TrialOutcome,
    ) -> Result<(), TrialFailure> {
        if self.spec.suite.is_some() {
            return suites::figures(self, result);
        }
        let longest = spec.longest.nanos() as f64 / 1e9;
        let is_finished = single::figures(self, result)?;
        let traced = captures.request(lab, self.spec);
        captured::figures(self.name, traced, is_finished, longest, result);
        Ok(())
    }
}

/// Time of day, in nanoseconds since 1970.
fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
}
