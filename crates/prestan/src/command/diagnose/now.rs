//! A server measured now: one suite after the other, then once more what has been seen once, then with several
//! users.

use std::path::PathBuf;
use std::slice;

use engine::Settings;
use report::{Incomplete, NotMeasured};
use runner::RunnerError;
use runner::background::{AskedBackground, BackgroundRequest};
use runner::inside::WatchedServer;
use runner::intake::pooled;
use runner::state;
use runner::suite_text::SuiteText;
use stats::Material;
use suite::Plan;

use super::{EarlyEnd, Runs};
use crate::args::{DiagnoseArgs, LoadOptions, OutputOptions, RunningOptions, defaults};
use crate::command::kept::KeptRun;
use crate::command::planned::PlannedRun;
use crate::command::run::overrides;
use crate::command::series::{AnonymousServers, RunSeries, labelled, tested_servers, with_pids};
use crate::output::tell;

/// Times each user goes through each test of the suite `prestan`: a course has 50 operations at
/// least, and 100 have a p99.
const REQUESTS: u32 = 100;

/// Users of the run with several of them, and times each of them goes through each test.
const LOAD_USERS: u32 = 8;
const LOAD_REQUESTS: u32 = 25;

/// Measures, and says where the runs are kept; and why there are no more, where they could not all be
/// made.
pub(super) fn measure(args: &DiagnoseArgs) -> Result<Runs, RunnerError> {
    // What is wrong with a suite is said before anything is measured.
    let suites = suites(args)?;
    let servers = tested_servers(&args.subjects, args.server.as_slice())?;
    let servers = labelled(servers, &args.measuring.label)?;
    let servers = with_pids(servers, &args.inside.pid)?;
    let series = RunSeries::of(servers, None, None, &[0])?;
    let of_server = series.servers[0].settings(&args.connect, &load_options(args), args.clock)?;
    let mut made = DiagnosisRuns {
        args,
        series: &series,
        of_server: &of_server,
        kept: Vec::new(),
        not_measured: Vec::new(),
    };
    let measured = made
        .measure(suites, false)
        .and_then(|()| made.measure(once_more(args, &made.kept)?, true));
    let with_several_users = with_several_users(args);
    let measured = match measured {
        Ok(()) => made.measure(with_several_users, false),
        Err(why) => {
            let missing = with_several_users.iter();
            let missing = missing.map(|planned| planned.not_measured(false));
            made.not_measured.extend(missing);
            Err(why)
        }
    };
    let DiagnosisRuns {
        kept, not_measured, ..
    } = made;
    match measured {
        Err(why) if kept.is_empty() => Err(without_report(why)),
        measured => Ok(Runs {
            paths: kept,
            early_end: measured
                .err()
                .map(|why| early_end(why, not_measured, &series.anonymous())),
        }),
    }
}

/// The first run did not go through: its figures are kept, but no suite is there to be diagnosed.
fn without_report(why: RunnerError) -> RunnerError {
    let and_so =
        |why| format!("{why}; there is no diagnosis, because no suite was measured to its end");
    match why {
        RunnerError::Interrupted(why) => RunnerError::Interrupted(and_so(why)),
        RunnerError::Local(why) => RunnerError::Local(and_so(why)),
        why => why,
    }
}

fn early_end(
    why: RunnerError,
    not_measured: Vec<NotMeasured>,
    servers: &AnonymousServers,
) -> EarlyEnd {
    let failure = match &why {
        RunnerError::Interrupted(_) => None,
        why => Some(servers.shown(&why.to_string())),
    };
    EarlyEnd {
        why,
        incomplete: Incomplete {
            failure,
            not_measured,
        },
    }
}

/// The runs of a series, as they are made.
struct DiagnosisRuns<'a> {
    args: &'a DiagnoseArgs,
    series: &'a RunSeries,
    of_server: &'a Settings,
    /// The directories of those that went through.
    kept: Vec<PathBuf>,
    /// Those that were planned and did not go through.
    not_measured: Vec<NotMeasured>,
}

impl DiagnosisRuns<'_> {
    /// Makes these runs. After one that does not go through, the others are not attempted.
    fn measure(
        &mut self,
        planned: Vec<PlannedSuite<'_>>,
        is_repeat: bool,
    ) -> Result<(), RunnerError> {
        let mut planned = planned.into_iter();
        while let Some(next) = planned.next() {
            let missing = next.not_measured(is_repeat);
            let number = self.kept.len() + 1;
            match run(self.args, self.series, self.of_server, number, next) {
                Ok(run) => self.kept.push(PathBuf::from(run.path)),
                Err(why) => {
                    self.not_measured.push(missing);
                    let missing = planned.map(|planned| planned.not_measured(is_repeat));
                    self.not_measured.extend(missing);
                    return Err(why);
                }
            }
        }
        Ok(())
    }
}

/// The tests whose rows show something that is a finding only if they show it again.
fn once_more<'a>(
    args: &'a DiagnoseArgs,
    kept: &[PathBuf],
) -> Result<Vec<PlannedSuite<'a>>, RunnerError> {
    let read = |path: &PathBuf| -> Result<Material, RunnerError> {
        let recorded = rundir::open(path).map_err(|error| RunnerError::Local(error.to_string()))?;
        let pooled = pooled(slice::from_ref(&recorded), None).map_err(RunnerError::Local)?;
        Ok(pooled.material)
    };
    let runs: Vec<Material> = kept.iter().map(read).collect::<Result<_, _>>()?;
    let seen = stats::diagnose(&runs).seen_once;
    let of_suite = |(suite, run): (&'a String, &Material)| {
        let rows = seen.iter().flat_map(|finding| &finding.tests);
        let measures = &run.plan.measures;
        let test = |row: &String| {
            let measure = measures.iter().find(|measure| measure.name == *row)?;
            Some(
                run.plan
                    .tests
                    .get(usize::from(measure.test.0))?
                    .name
                    .clone(),
            )
        };
        let mut only: Vec<String> = rows.filter_map(test).collect();
        only.sort();
        only.dedup();
        (!only.is_empty()).then(|| {
            let load = LoadOptions {
                only,
                ..load_of(&load_options(args), suite)
            };
            planned(args, (suite, SuiteText::find(suite)?, load))
        })
    };
    args.measuring
        .suite
        .iter()
        .zip(&runs)
        .filter_map(of_suite)
        .collect()
}

/// Tests that several users go through at the same time, and what they ask a server of somebody else's for only
/// where that was asked for.
const SHARED: [(&str, &[&str], &[&str]); 2] = [
    (
        "prestan",
        &[
            "PropfindLiveSingle",
            "ProppatchSingle",
            "Put1K",
            "Get1K",
            "Copy",
            "Delete",
            "Locks",
        ],
        &["Locks"],
    ),
    (
        "locks",
        &["Heldx0", "Contention"],
        &["Heldx0", "Contention"],
    ),
];

/// The runs with several users; those of suites that are measured.
fn with_several_users(args: &DiagnoseArgs) -> Vec<PlannedSuite<'_>> {
    let measuring = &args.measuring;
    let users = measuring.load_users.unwrap_or(LOAD_USERS);
    if users <= measuring.concurrency.unwrap_or(1) {
        return Vec::new();
    }
    let is_asked = args.server.is_some() || measuring.load_users.is_some();
    let plan = |(name, tests, delicate): &(&str, &[&str], &[&str])| {
        let suite = measuring.suite.iter().find(|suite| suite == name)?;
        let is_asked = |test: &&&str| is_asked || !delicate.contains(test);
        let only = tests.iter().filter(is_asked).map(|test| (*test).to_owned());
        let load = LoadOptions {
            only: only.collect(),
            requests: Some(LOAD_REQUESTS),
            concurrency: Some(users),
            ..load_options(args)
        };
        // What is left of the suite may have none of these.
        let suite = (suite.as_str(), SuiteText::find(suite).ok()?, load);
        (!suite.2.only.is_empty()).then(|| planned(args, suite).ok())?
    };
    SHARED.iter().filter_map(plan).collect()
}

fn run(
    args: &DiagnoseArgs,
    series: &RunSeries,
    of_server: &Settings,
    number: usize,
    PlannedSuite {
        name,
        suite,
        plan,
        users,
    }: PlannedSuite<'_>,
) -> Result<KeptRun, RunnerError> {
    if !args.runs.quiet {
        tell(&format!("suite {name}"));
    }
    let watched = series.servers[0].watched(&args.inside)?;
    let settings = Settings {
        inside: watched.as_ref().map(WatchedServer::record),
        run_id: format!("{}-{number}", series.name),
        seed: state::new_seed(),
        users,
        ..of_server.clone()
    };
    let output = OutputOptions {
        quiet: args.runs.quiet,
        ..defaults()
    };
    let background = AskedBackground::of(&BackgroundRequest::default(), &plan)?;
    let (save, background) = (args.runs.save.as_deref(), background.as_ref());
    PlannedRun::of_series(&plan, &suite.text, settings, save, background)?
        .watching(watched)
        .keep_on_console(&output, series.cancel.clone())
        .map_err(|incomplete| incomplete.why)
}

/// A suite that is to be run, with everything decided.
struct PlannedSuite<'a> {
    name: &'a str,
    suite: SuiteText,
    plan: Plan,
    users: u32,
}

impl PlannedSuite<'_> {
    /// How a report names it if it does not go through.
    fn not_measured(&self, is_repeat: bool) -> NotMeasured {
        NotMeasured {
            suite: self.name.to_owned(),
            users: self.users,
            is_repeat,
        }
    }
}

fn suites(args: &DiagnoseArgs) -> Result<Vec<PlannedSuite<'_>>, RunnerError> {
    let mut suites = Vec::new();
    for name in &args.measuring.suite {
        let (suite, load) = (SuiteText::find(name)?, load_of(&load_options(args), name));
        suites.push((name.as_str(), suite, load));
    }
    for pattern in &args.measuring.skip {
        let mut is_known = Err(RunnerError::Usage("there is no suite".to_owned()));
        for (_, suite, load) in &mut suites {
            let only = LoadOptions {
                only: vec![pattern.clone()],
                skip: Vec::new(),
                ..load.clone()
            };
            // Each suite is told of the patterns that mean something in it.
            match suite.resolved(&overrides(&only)) {
                Ok(_) => {
                    load.skip.push(pattern.clone());
                    is_known = Ok(());
                }
                Err(error) if is_known.is_err() => is_known = Err(error),
                Err(_) => {}
            }
        }
        is_known?;
    }
    let plan = |(name, suite, load): (_, SuiteText, LoadOptions)| {
        Ok(PlannedSuite {
            name,
            plan: suite.resolved(&overrides(&load))?,
            suite,
            users: load.concurrency.unwrap_or(1),
        })
    };
    suites.into_iter().map(plan).collect()
}

/// A part of a suite that has been measured: without what is to be skipped.
fn planned<'a>(
    args: &'a DiagnoseArgs,
    (name, suite, load): (&'a str, SuiteText, LoadOptions),
) -> Result<PlannedSuite<'a>, RunnerError> {
    let mut load = load;
    for pattern in &args.measuring.skip {
        let mut skipping = load.clone();
        skipping.skip.push(pattern.clone());
        // A pattern may mean nothing in this part.
        if suite.resolved(&overrides(&skipping)).is_ok() {
            load = skipping;
        }
    }
    Ok(PlannedSuite {
        name,
        plan: suite.resolved(&overrides(&load))?,
        suite,
        users: load.concurrency.unwrap_or(1),
    })
}

fn load_options(args: &DiagnoseArgs) -> LoadOptions {
    let measuring = &args.measuring;
    LoadOptions {
        requests: measuring.requests,
        concurrency: measuring.concurrency,
        running: RunningOptions {
            notes: measuring.notes.clone(),
            ..defaults()
        },
        ..defaults()
    }
}

/// What a suite needs to be diagnosed, unless it is said.
fn load_of(load: &LoadOptions, suite: &str) -> LoadOptions {
    let mut load = load.clone();
    if suite == "prestan" {
        load.requests = load.requests.or(Some(REQUESTS));
    }
    load
}
