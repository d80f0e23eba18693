//! A server measured now: one suite after the other, then once more the rows to confirm, then with
//! several users.

use std::path::PathBuf;
use std::sync::Arc;

use report::Incomplete;
use suite::Plan;

use super::{EarlyEnd, Runs};
use crate::args::{FailIfOptions, LoadOptions, RoundsOptions, WARMUP, defaults};
use crate::command::diagnose::DiagnoseArgs;
use crate::command::fail_if::add_condition;
use crate::command::run::overrides;
use crate::signals::on_interrupt;
use runner::RunnerError;
use runner::local::{LocalRunner, LocalSeries, RunTask, whole};
use runner::policy::{DiagnosisSuites, PlannedSuite};
use runner::series;
use runner::servers::{labelled, tested_servers, with_pids};
use runner::suite_text::SuiteText;
use terminal::progress::{SeriesPace, SeriesProgress};

/// Iterations of each test of the suite `prestan` per user: a time series has 50 operations at
/// least, and 100 have a p99.
const REQUESTS: u32 = 100;

/// Users of the run with several users, and their iterations of each test.
const LOAD_USERS: u32 = 8;
const LOAD_REQUESTS: u32 = 25;

/// Measures, and returns the directories of the runs, with the reason if not all could be made.
pub(super) fn measure(args: &DiagnoseArgs) -> Result<Runs, RunnerError> {
    // Defects of suites are reported before anything is measured.
    let suites = suites(args)?;
    let servers = match args.server.tested(&args.how.connect)? {
        Some(server) => vec![server],
        None => tested_servers(&args.subjects, &[])?,
    };
    let servers = labelled(servers, &args.how.labels.label)?;
    let servers = with_pids(servers, &args.how.inside.pid)?;
    let shown = SeriesProgress::new(SeriesPace::Planned, args.runs.quiet, on_interrupt);
    let ways = args.how.ways(&args.measuring.running)?;
    let seed = ways.run.seed;
    let with = LocalSeries {
        flames: args.flame.flame,
        is_diagnosed: true,
        ..args.how.series(ways, args.runs.storage(), &shown)
    };
    let judged = suites.iter().map(|suite| suite.judged_by(&args.condition));
    let judged = judged.collect::<Result<Vec<_>, _>>()?;
    let (firsts, refused): (Vec<_>, Vec<_>) = judged.into_iter().unzip();
    if refused.iter().all(Option::is_some)
        && let Some(why) = refused.into_iter().flatten().next()
    {
        return Err(why);
    }
    let tasks: Vec<_> = firsts.iter().map(|first| Arc::clone(&first.task)).collect();
    let mut runner = LocalRunner::new(servers, tasks.iter().map(|task| &**task), with)?;
    let part = |index: usize, only: Vec<String>| {
        let suite: &RequestedSuite = &suites[index];
        let load = load_of(&load_options(args), &suite.name);
        suite.part(LoadOptions { only, ..load }, &args.measuring.rounds.skip)
    };
    let several = with_several_users(args, &suites);
    let mut policy = DiagnosisSuites::new(firsts, several, &part, (WARMUP, seed));
    let steps: Vec<_> = policy.steps().collect();
    shown.plan(steps.iter());
    let made = series::perform(&mut policy, &mut runner);
    shown.end();
    let paths = whole(&made.history).map(|run| PathBuf::from(&run.path));
    let paths: Vec<PathBuf> = paths.collect();
    let not_measured = policy.not_measured(paths.len());
    match made.ended.map(|end| end.why) {
        Some(why) if paths.is_empty() => Err(without_report(why)),
        ended => Ok(Runs {
            paths,
            early_end: ended.map(|why| EarlyEnd {
                incomplete: Incomplete {
                    not_measured,
                    ..runner.anonymous().incomplete("diagnosis", &why)
                },
                why,
            }),
        }),
    }
}

/// The first run failed: its figures are kept, but no suite can be diagnosed.
fn without_report(why: RunnerError) -> RunnerError {
    match why {
        RunnerError::Interrupted(_)
        | RunnerError::Local(_)
        | RunnerError::NotSaved(_)
        | RunnerError::Target(_) => {
            why.followed_by("; there is no diagnosis, because no suite was measured to its end")
        }
        why => why,
    }
}

/// A requested suite.
struct RequestedSuite<'a> {
    name: String,
    text: SuiteText,
    load: LoadOptions,
    args: &'a DiagnoseArgs,
}

impl RequestedSuite<'_> {
    fn resolved(&self, load: &LoadOptions) -> Result<Plan, RunnerError> {
        let overrides = overrides(load, self.args.measuring.writes);
        self.text.resolved(&overrides)
    }

    /// The suite with these options.
    fn planned(&self, load: LoadOptions) -> Result<PlannedSuite, RunnerError> {
        let plan = self.resolved(&load)?;
        self.with_plan(load, plan)
    }

    /// The suite as requested, with the condition; or the reason why that does not fit its
    /// measurements.
    fn judged_by(
        &self,
        condition: &FailIfOptions,
    ) -> Result<(PlannedSuite, Option<RunnerError>), RunnerError> {
        let mut plan = self.resolved(&self.load)?;
        let refused = add_condition(condition, &mut plan).err();
        let planned = self.with_plan(self.load.clone(), plan)?;
        Ok((planned, refused))
    }

    fn with_plan(&self, load: LoadOptions, plan: Plan) -> Result<PlannedSuite, RunnerError> {
        let background = self.args.how.background.request();
        let task = RunTask::new(plan, self.text.text.clone(), &background)?;
        Ok(PlannedSuite {
            name: self.name.clone(),
            users: load.rounds.users(),
            is_repeat: false,
            task: Arc::new(task),
        })
    }

    /// A part of the measured suite: without skipped tests.
    fn part(&self, mut load: LoadOptions, skip: &[String]) -> Result<PlannedSuite, RunnerError> {
        for pattern in skip {
            let mut skipping = load.clone();
            skipping.rounds.skip.push(pattern.clone());
            // A pattern may match nothing in this part.
            if self.resolved(&skipping).is_ok() {
                load = skipping;
            }
        }
        self.planned(load)
    }
}

/// Tests that several users execute at the same time, and those that need permission on a server
/// given by URL.
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

/// The runs with several users, of measured suites.
fn with_several_users(args: &DiagnoseArgs, suites: &[RequestedSuite<'_>]) -> Vec<PlannedSuite> {
    let measuring = &args.measuring;
    let users = measuring.load_users.unwrap_or(LOAD_USERS);
    if users <= measuring.rounds.users() {
        return Vec::new();
    }
    let is_asked = args.server.is_given() || measuring.load_users.is_some();
    let plan = |(name, tests, delicate): &(&str, &[&str], &[&str])| {
        let suite = suites.iter().find(|suite| suite.name == *name)?;
        let is_asked = |test: &&&str| is_asked || !delicate.contains(test);
        let only = tests.iter().filter(is_asked).map(|test| (*test).to_owned());
        let load = LoadOptions {
            only: only.collect(),
            rounds: RoundsOptions {
                requests: Some(LOAD_REQUESTS),
                concurrency: Some(users),
                skip: Vec::new(),
            },
            ..load_options(args)
        };
        // The rest of the suite may have none of these.
        (!load.only.is_empty()).then(|| suite.part(load, &measuring.rounds.skip).ok())?
    };
    SHARED.iter().filter_map(plan).collect()
}

/// The requested suites, each with the patterns of `--skip` that match in it.
fn suites(args: &DiagnoseArgs) -> Result<Vec<RequestedSuite<'_>>, RunnerError> {
    let mut suites = Vec::new();
    for name in &args.measuring.suite {
        suites.push(RequestedSuite {
            name: name.clone(),
            text: SuiteText::find(name)?,
            load: load_of(&load_options(args), name),
            args,
        });
    }
    for pattern in &args.measuring.rounds.skip {
        let mut is_known = Err(RunnerError::Usage("there is no suite".to_owned()));
        for suite in &mut suites {
            let only = LoadOptions {
                only: vec![pattern.clone()],
                rounds: RoundsOptions::default(),
                ..suite.load.clone()
            };
            match suite.resolved(&only) {
                Ok(_) => {
                    suite.load.rounds.skip.push(pattern.clone());
                    is_known = Ok(());
                }
                Err(error) if is_known.is_err() => is_known = Err(error),
                Err(_) => {}
            }
        }
        is_known?;
    }
    Ok(suites)
}

fn load_options(args: &DiagnoseArgs) -> LoadOptions {
    let measuring = &args.measuring;
    LoadOptions {
        rounds: RoundsOptions {
            skip: Vec::new(),
            ..measuring.rounds.clone()
        },
        running: measuring.running.clone(),
        ..defaults()
    }
}

/// Default options of a diagnosed suite.
fn load_of(load: &LoadOptions, suite: &str) -> LoadOptions {
    let mut load = load.clone();
    if suite == "prestan" {
        load.rounds.requests.get_or_insert(REQUESTS);
    }
    load
}
