//! A server measured now: one suite after the other, then once more what has been seen once, then with several
//! users.

use std::path::PathBuf;

use engine::Settings;
use stats::Material;
use suite::Plan;

use crate::args::{DiagnoseArgs, FormatOptions, LoadOptions, OutputOptions, defaults};
use crate::command::job::Job;
use crate::command::run::SuiteText;
use crate::command::series::{Series, wanted};
use crate::exit::Failed;
use crate::intake::{Record, pooled};
use crate::output::tell;
use crate::state;

/// Times each user goes through each test of the suite `prestan`: a course has 50 operations at
/// least, and 100 have a p99.
const REQUESTS: u32 = 100;

/// Users of the run with several of them, and times each of them goes through each test.
const LOAD_USERS: u32 = 8;
const LOAD_REQUESTS: u32 = 25;

/// Measures, and says where the runs are kept; and why there are no more, where they could not all be
/// made.
pub(super) fn measure(args: &DiagnoseArgs) -> Result<(Vec<PathBuf>, Option<Failed>), Failed> {
    // What is wrong with a suite is said before anything is measured.
    let suites = suites(args)?;
    let series = Series::of(wanted(&args.subjects, args.server.as_slice())?, None, None)?;
    let of_server = series.servers[0].settings(&args.connect, &load_options(args), args.clock)?;
    let mut kept = Vec::new();
    let measure = |planned: Vec<Planned<'_>>, kept: &mut Vec<PathBuf>| -> Result<(), Failed> {
        for planned in planned {
            kept.push(run(args, &series, &of_server, kept.len() + 1, planned)?);
        }
        Ok(())
    };
    let all = measure(suites, &mut kept)
        .and_then(|()| measure(once_more(args, &kept)?, &mut kept))
        .and_then(|()| measure(with_several_users(args), &mut kept));
    match all {
        Err(why) if kept.is_empty() => Err(why),
        all => Ok((kept, all.err())),
    }
}

/// The name that the runs of a series have in common.
pub(super) fn series_of(run_id: &str) -> &str {
    run_id.rsplit_once('-').map_or(run_id, |(series, _)| series)
}

/// The tests whose rows show something that is a finding only if they show it again.
fn once_more<'a>(args: &'a DiagnoseArgs, kept: &[PathBuf]) -> Result<Vec<Planned<'a>>, Failed> {
    let read = |path: &PathBuf| -> Result<Material, Failed> {
        let recorded = rundir::open(path).map_err(|error| Failed::Local(error.to_string()))?;
        let pooled = pooled(&[Record::of(&recorded)], None).map_err(Failed::Local)?;
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
fn with_several_users(args: &DiagnoseArgs) -> Vec<Planned<'_>> {
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
    series: &Series,
    of_server: &Settings,
    number: usize,
    Planned {
        name,
        suite,
        plan,
        users,
    }: Planned<'_>,
) -> Result<PathBuf, Failed> {
    if !args.runs.quiet {
        tell(&format!("suite {name}"));
    }
    let settings = Settings {
        run_id: format!("{}-{number}", series.name),
        seed: state::new_seed(),
        users,
        ..of_server.clone()
    };
    let directory = state::directory_of(&settings.run_id, args.runs.save.as_deref())?;
    let output = output_options(args, directory);
    let job = Job {
        suite_text: suite.text,
        plan,
        settings,
        until: None,
        makes_target: false,
        cancel: Some(series.cancel.clone()),
        output: &output,
    };
    job.keep()
}

/// A suite that is to be run, with everything decided.
struct Planned<'a> {
    name: &'a str,
    suite: SuiteText,
    plan: Plan,
    users: u32,
}

fn suites(args: &DiagnoseArgs) -> Result<Vec<Planned<'_>>, Failed> {
    let mut suites = Vec::new();
    for name in &args.measuring.suite {
        let (suite, load) = (SuiteText::find(name)?, load_of(&load_options(args), name));
        suites.push((name.as_str(), suite, load));
    }
    for pattern in &args.measuring.skip {
        let mut is_known = Err(Failed::Usage("there is no suite".to_owned()));
        for (_, suite, load) in &mut suites {
            let only = LoadOptions {
                only: vec![pattern.clone()],
                skip: Vec::new(),
                ..load.clone()
            };
            // Each suite is told of the patterns that mean something in it.
            match suite.plan(&only) {
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
        Ok(Planned {
            name,
            plan: suite.plan(&load)?,
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
) -> Result<Planned<'a>, Failed> {
    let mut load = load;
    for pattern in &args.measuring.skip {
        let mut skipping = load.clone();
        skipping.skip.push(pattern.clone());
        // A pattern may mean nothing in this part.
        if suite.plan(&skipping).is_ok() {
            load = skipping;
        }
    }
    Ok(Planned {
        name,
        plan: suite.plan(&load)?,
        suite,
        users: load.concurrency.unwrap_or(1),
    })
}

fn load_options(args: &DiagnoseArgs) -> LoadOptions {
    let measuring = &args.measuring;
    LoadOptions {
        requests: measuring.requests,
        concurrency: measuring.concurrency,
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

fn output_options(args: &DiagnoseArgs, directory: PathBuf) -> OutputOptions {
    OutputOptions {
        output: None,
        formats: FormatOptions {
            json: None,
            ..FormatOptions::default()
        },
        inconclusive: None,
        save: Some(directory),
        no_save: false,
        quiet: args.runs.quiet,
        verbose: false,
        debug: false,
    }
}
