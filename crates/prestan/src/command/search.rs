//! `prestan search`: the largest load under which a condition holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use constraint::{Characteristic, PartOfRun};
use engine::{Cancel, Drive, Pacing, Settings};
use record::{ConstraintSense, Outcome};
use report::page::{Common, ReportPage};
use report::{CountedUnit, Find, SearchResult, Tried};
use runner::RunnerError;
use runner::background::AskedBackground;
use runner::fitting::constraint_for;
use runner::load::guard::Permission;
use runner::load::{LoadWorkload, pace};
use stats::{Conclusion, OfferedLoad, PagesSummary, Search, Summary, Tally, TestSummary, Trial};

use super::kept::{KeptRun, origins};
use super::planned::PlannedRun;
use super::series::{SeriesProgress, name_of};
use crate::args::{AnswerOptions, FindArg, Login, SearchArgs, SearchOptions};
use crate::bar::{BarOf, TerminalBar};
use crate::connect::connection_to;
use crate::exit::ExitStatus;
use crate::forecast::roughly;
use crate::output::{self, tell};
use crate::signals::on_interrupt;
use crate::watch::Following;

/// Greatest loads that are tried, unless something else is said.
const MOST_USERS: f64 = 4096.0;
const MOST_RATE: f64 = 1e6;
/// Rate that is begun with.
const FIRST_RATE: f64 = 10.0;
/// Requests that a trial has to have, on average: at random moments there may be none in a trial of
/// few.
const REQUESTS_AT_LEAST: f64 = 10.0;
/// Inconclusive trials in a row, before the search ends: a single one may be a neighbour's fault.
const PATIENCE: u32 = 3;

/// Tries loads until the largest is found.
pub(crate) fn search(args: &SearchArgs) -> Result<ExitStatus, RunnerError> {
    output::check_answer(&args.answer, &[])?;
    let words: Vec<&str> = args.request.iter().map(String::as_str).collect();
    let mut sending = LoadWorkload::of(&words, &args.options.request())?;
    if sending.permission == Permission::IfAbsent {
        if !args.options.writes {
            return Err(RunnerError::Usage(
                "a search with PUT writes the resource repeatedly and does not remove it; allow that \
                 with --writes"
                    .to_owned(),
            ));
        }
        output::tell(&format!(
            "prestan: the search does not remove what {} makes at {}",
            sending.what,
            sending.target.url()
        ));
    }
    // A suite of its own may have constraints, on whole runs: a trial is judged by the condition.
    sending.plan.constraints = vec![constraint_for(
        "--while",
        &args.search.condition,
        ConstraintSense::Trial,
        &sending.plan,
    )?];
    let of_stage = |of: &Characteristic| matches!(of.part, PartOfRun::Stage(_));
    if args.search.condition.characteristics().any(of_stage) {
        return Err(RunnerError::Usage(
            "--while: the trials of a search have no stages; leave `stage` out".to_owned(),
        ));
    }
    let mut search = begin(&args.search)?;
    let mut trials = Trials::new(args, &sending)?;
    let ended = trials.go_on(&mut search).err();
    let is_known = ended.is_none() || !trials.made.is_empty();
    let common = Common::of(&trials.target(), trials.ran.iter().map(KeptRun::side));
    let found = trials.found(&search, ended.as_ref());
    if is_known {
        print(&found, common, &args.answer)?;
    }
    match ended {
        Some(why) => Err(why),
        // A gate of CI: the smallest load is too much.
        None if found.answer.holds.is_none() => Ok(ExitStatus::TestFailed),
        None => Ok(ExitStatus::Done),
    }
}

fn begin(options: &SearchOptions) -> Result<Search, RunnerError> {
    let (from, to) = match options.find {
        FindArg::Users => (
            options.from.unwrap_or(1.0),
            options.to.unwrap_or(MOST_USERS),
        ),
        FindArg::Rate => (
            options.from.unwrap_or(FIRST_RATE),
            options.to.unwrap_or(MOST_RATE),
        ),
    };
    if from > to {
        return Err(RunnerError::Usage(format!(
            "--from {from} is more than --to {to}"
        )));
    }
    match options.find {
        FindArg::Users if options.connections.is_some() => Err(RunnerError::Usage(
            "--connections is for --find rate: with --find users, each user has one connection"
                .to_owned(),
        )),
        FindArg::Rate => {
            let least = REQUESTS_AT_LEAST / options.duration.as_secs_f64();
            if from < least {
                return Err(RunnerError::Usage(format!(
                    "a trial of {:?} at {from} requests/s has too few requests; give a longer --duration, \
                     or --from {} or more",
                    options.duration,
                    least.ceil()
                )));
            }
            Ok(Search::of_rate(from, to, least))
        }
        FindArg::Users
            if from.fract() != 0.0 || to.fract() != 0.0 || to > 100_000.0 || from < 1.0 =>
        {
            Err(RunnerError::Usage(
                "the number of users is a whole number from 1 to 100000; change --from or --to"
                    .to_owned(),
            ))
        }
        FindArg::Users => Ok(Search::of_users(from as u32, to as u32)),
    }
}

/// Trials that were made, and how to make one.
struct Trials<'a> {
    args: &'a SearchArgs,
    sending: &'a LoadWorkload,
    /// Of all of them, but for their loads.
    settings: Settings,
    background: Option<AskedBackground>,
    /// Trials that were begun, those that were inconclusive among them.
    number: u32,
    made: Vec<Tried>,
    /// The runs of all of them.
    ran: Vec<KeptRun>,
    begun: Instant,
    /// What is under way, on a terminal.
    bar: Option<TerminalBar>,
}

/// How often the bar moves while a trial is under way.
const TICK: Duration = Duration::from_secs(1);

impl<'a> Trials<'a> {
    fn new(args: &'a SearchArgs, sending: &'a LoadWorkload) -> Result<Self, RunnerError> {
        let bar = if args.runs.quiet {
            None
        } else {
            TerminalBar::begin(BarOf::Trial)
        };
        Ok(Trials {
            args,
            sending,
            settings: settings(args, sending)?,
            background: AskedBackground::of(
                &args.search.running.background.request(),
                &sending.plan,
            )?,
            number: 0,
            made: Vec::new(),
            ran: Vec::new(),
            begun: Instant::now(),
            bar,
        })
    }

    /// Makes trials until there is an answer, or until one cannot be made.
    fn go_on(&mut self, search: &mut Search) -> Result<(), RunnerError> {
        let cancel = Cancel::default();
        let _interruptible = on_interrupt(cancel.clone(), None)?;
        self.begun = Instant::now();
        let _following = Following::drawing(self.bar.clone(), TICK, TerminalBar::tick);
        self.make_all(search, &cancel)
    }

    fn make_all(&mut self, search: &mut Search, cancel: &Cancel) -> Result<(), RunnerError> {
        while let Some(load) = search.next_load() {
            self.show(search, load);
            let tried = self.make(load, cancel)?;
            search.learn(load, tried.held);
            self.tell_outcome(search, &tried);
        }
        Ok(())
    }

    /// Shows which trial is under way.
    fn show(&self, search: &Search, load: OfferedLoad) {
        if let Some(bar) = &self.bar {
            let amount = self.find().amount(load);
            let so_far = match search.trials_of(load) {
                trials if trials.trials() == 0 => String::new(),
                Tally { held, failed } => format!(", held in {held} of {} so far", held + failed),
            };
            let left = self.time_left(search);
            let left = left.map_or(String::new(), |left| format!("; {left}"));
            bar.set_message(&format!(
                "trial {}: {amount}{so_far}{left}",
                self.number + 1
            ));
        }
    }

    fn tell_outcome(&self, search: &Search, tried: &Tried) {
        let p99 = tried.times.map_or("no response".to_owned(), |times| {
            format!("p99 {}", report::human(times.p99 as f64))
        });
        let trials = search.trials_of(tried.load);
        let left = self.time_left(search);
        let left = left.map_or(String::new(), |left| format!("; {left}"));
        self.tell(&format!(
            "trial {}, {}: {} ({p99}, {:.0} responses/s, {} failures), held in {} of {}{left}",
            self.number,
            self.find().amount(tried.load),
            if tried.held { "holds" } else { "fails" },
            tried.per_second,
            tried.failures,
            trials.held,
            trials.trials(),
        ));
    }

    /// How long the search may still take; `None` before the first trial and after the last.
    fn time_left(&self, search: &Search) -> Option<String> {
        search.next_load().filter(|_| self.number > 0)?;
        let each = self.begun.elapsed().as_secs_f64() / f64::from(self.number);
        let left = search.left();
        let time = |trials: u32| roughly(each * f64::from(trials));
        let likely = if left.is_least { "at least" } else { "about" };
        Some(format!(
            "{likely} {} left, at most {}",
            time(left.likely),
            time(left.most)
        ))
    }

    /// A trial under that load. One in which the load generator was the bottleneck is repeated.
    fn make(&mut self, load: OfferedLoad, cancel: &Cancel) -> Result<Tried, RunnerError> {
        let mut why = String::new();
        for left in (0..PATIENCE).rev() {
            let ran = self.run(load, cancel)?;
            if let Some(rows) = report::inconclusive(&ran.summary) {
                why = format!("{}: {rows}", self.find().amount(load));
                let once_more = if left > 0 { "; repeated" } else { "" };
                self.tell(&format!("trial {}, {why}{once_more}", self.number));
                continue;
            }
            if let Some(row) = idle(&ran.summary) {
                return Err(RunnerError::Usage(format!(
                    "{}: no request of {row} was sent in a trial, so the condition cannot be evaluated; \
                     give a longer --duration",
                    self.find().amount(load)
                )));
            }
            let condition = ran.summary.constraints.last();
            let verdict = condition.map(|own| own.verdict);
            let held = verdict == Some(Conclusion::Pass);
            let tried = tried(load, held && is_there(&ran.summary), &ran.summary);
            // Where nothing failed, the server is not the reason.
            if let (Some(condition), 0) = (condition, tried.failures)
                && condition.verdict == Conclusion::Inconclusive
            {
                why = format!(
                    "{}: the condition is not decided: {}",
                    self.find().amount(load),
                    report::constraint_in_words(condition)
                );
                continue;
            }
            self.made.push(tried);
            self.ran.push(ran);
            return Ok(tried);
        }
        Err(RunnerError::inconclusive(why))
    }

    fn run(&mut self, load: OfferedLoad, cancel: &Cancel) -> Result<KeptRun, RunnerError> {
        self.number += 1;
        let (users, pacing) = under(load, &self.args.search);
        let settings = Settings {
            run_id: format!("{}-{}", self.settings.run_id, self.number),
            users,
            drive: Drive::Load(engine::LoadDrive {
                pacing,
                duration: Some(self.args.search.duration),
                warmup: self.args.search.warmup,
                in_turn: self.sending.in_turn,
                ..engine::LoadDrive::default()
            }),
            seed: self.settings.seed.wrapping_add(u64::from(self.number)),
            ..self.settings.clone()
        };
        let LoadWorkload {
            plan, suite_text, ..
        } = self.sending;
        let save = self.args.runs.save.as_deref();
        let background = self.background.as_ref();
        let job = PlannedRun::of_series(plan, suite_text, settings, save, background)?;
        let ran = job.keep(cancel, (&Arc::new(SeriesProgress::new(true)), 0), None);
        ran.map_err(|ended| match ended.why {
            // No trial of this load can be made here: the limit is this machine's.
            RunnerError::Local(why) => RunnerError::Inconclusive(format!(
                "inconclusive, because {} could not be tried: {why}",
                self.find().amount(load)
            )),
            why => why,
        })
    }

    fn tell(&self, line: &str) {
        let line = format!("prestan: {line}");
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(&line)),
            None if self.args.runs.quiet => {}
            None => tell(&line),
        }
    }

    /// What reports call the target.
    fn target(&self) -> String {
        let label = self.settings.label.clone();
        label.unwrap_or_else(|| self.sending.target.url())
    }

    fn find(&self) -> Find {
        match self.args.search.find {
            FindArg::Users => Find::Users,
            FindArg::Rate => Find::Rate,
        }
    }

    fn found(mut self, search: &Search, ended: Option<&RunnerError>) -> SearchResult {
        let server = self.ran.last().and_then(|ran| ran.run.env.server.as_ref());
        self.made
            .sort_by(|one, other| one.load.total_cmp(&other.load));
        SearchResult {
            find: self.find(),
            condition: Some(self.args.search.condition.to_string()),
            counted: counted(&self.ran),
            target: self.target(),
            software: server.and_then(|server| server.software.clone()),
            what: self.sending.what.clone(),
            answer: search.answer(),
            knee: knee(&self.made),
            notes: report::notes_of(self.ran.iter().map(|one| &one.run.plan)),
            caveats: origins(&self.ran),
            inconclusive: ended.map(|why| shown_reason(why, &self.settings)),
            trials: self.made,
        }
    }
}

/// Why a series ended, as its report says it.
pub(crate) fn shown_reason(why: &RunnerError, settings: &Settings) -> String {
    let urls: Vec<String> = settings
        .endpoints()
        .map(|endpoint| endpoint.target.url())
        .collect();
    let label = settings.label.iter().map(|label| (&**label, &*urls));
    report::labelled_text(label, &why.to_string())
}

/// How all trials are done, but for their loads.
fn settings(args: &SearchArgs, sending: &LoadWorkload) -> Result<Settings, RunnerError> {
    let options = &args.search;
    let target = sending.target.clone();
    let connection = connection_to(target, &Login::default(), &args.connect)?;
    Ok(Settings {
        run_id: name_of(options.running.run_id.as_deref())?,
        ..connection.settings_of_run(options.running.request(args.clock))?
    })
}

/// A row that nothing was asked of.
fn idle(summary: &Summary) -> Option<&str> {
    let is_idle = |row: &&TestSummary| row.operations() == 0 && row.failed() == 0;
    summary.tests.iter().find(is_idle).map(|row| &*row.name)
}

/// Whether the server took all connections. One that is gone holds no load, whatever the condition says:
/// its figures are those of the time before.
fn is_there(summary: &Summary) -> bool {
    let refused = |row: &TestSummary| {
        let all = row.outcomes.plus(&row.left_out_outcomes);
        all.of(Outcome::ConnectFailed)
    };
    summary.tests.iter().map(refused).sum::<u64>() == 0
}

/// Users and pace under that load.
fn under(load: OfferedLoad, options: &SearchOptions) -> (u32, Pacing) {
    match options.find {
        FindArg::Users => (load as u32, Pacing::Closed),
        FindArg::Rate => (
            options.connections.unwrap_or(pace::OPEN_CONNECTIONS),
            pace::at_rate(load, options.duration),
        ),
    }
}

/// Where more load begins to cost more than it brings.
pub(super) fn knee(made: &[Tried]) -> Option<OfferedLoad> {
    let trial = |tried: &Tried| {
        Some(Trial {
            load: tried.load,
            per_second: tried.per_second,
            mean: tried.times?.mean,
        })
    };
    stats::knee(&made.iter().filter_map(trial).collect::<Vec<_>>())
}

/// What trials are of.
fn counted(ran: &[KeptRun]) -> CountedUnit {
    if ran.iter().any(|ran| ran.summary.pages.is_some()) {
        CountedUnit::Pages
    } else {
        CountedUnit::Answers
    }
}

/// What a trial came to. With a mix of requests, the times are those of the slowest of them, and
/// with pages, those of the pages.
pub(super) fn tried(load: OfferedLoad, held: bool, summary: &Summary) -> Tried {
    if let Some(pages) = &summary.pages {
        return of_pages(load, held, pages);
    }
    let rows = || summary.tests.iter();
    let slowest = rows()
        .filter_map(|row| row.waited())
        .max_by(|one, other| one.mean.total_cmp(&other.mean));
    Tried {
        load,
        held,
        per_second: rows().filter_map(|row| row.per_second).sum(),
        per_second_ci95: match &summary.tests[..] {
            [only] => only.per_second_ci95,
            _ => None,
        },
        times: slowest.copied(),
        failures: rows().map(|row| row.failed()).sum(),
    }
}

fn of_pages(load: OfferedLoad, held: bool, pages: &PagesSummary) -> Tried {
    Tried {
        load,
        held,
        per_second: pages.per_minute / 60.0,
        per_second_ci95: pages
            .per_minute_ci95
            .map(|(low, high)| (low / 60.0, high / 60.0)),
        times: pages.all.load,
        failures: pages.all.incomplete + pages.left_out.incomplete,
    }
}

pub(super) fn print(
    found: &SearchResult,
    common: Common,
    options: &AnswerOptions,
) -> Result<(), RunnerError> {
    let page = ReportPage {
        search: Some(found),
        common: vec![common],
        ..ReportPage::default()
    };
    let text = |color, width| report::search_text(found, color, width);
    output::print_answer(&page, options, || report::search_json(found), None, text)
}
