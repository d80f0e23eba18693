//! A server measured now, one suite after the other.

use std::path::PathBuf;

use engine::Settings;
use suite::Plan;

use crate::args::{DiagnoseArgs, FormatOptions, LoadOptions, OutputOptions, defaults};
use crate::command::job::Job;
use crate::command::run::SuiteText;
use crate::command::series::Series;
use crate::exit::Failed;
use crate::output::tell;
use crate::state;

/// Times each user goes through each test of the suite `prestan`: a course has 50 operations at
/// least, and 100 have a p99.
const REQUESTS: u32 = 100;

/// Measures, and says where the runs are kept; and why there are no more, where they could not all be
/// made.
pub(super) fn measure(args: &DiagnoseArgs) -> Result<(Vec<PathBuf>, Option<Failed>), Failed> {
    // What is wrong with a suite is said before anything is measured.
    let suites = suites(args)?;
    let series = Series::of(&args.subjects, args.server.as_slice(), None)?;
    let of_server = series.servers[0].settings(&args.connect, &load_options(args), args.clock)?;
    let mut kept = Vec::new();
    for (number, planned) in (1..).zip(suites) {
        match run(args, &series, &of_server, number, planned) {
            Ok(path) => kept.push(path),
            Err(why) if kept.is_empty() => return Err(why),
            Err(why) => return Ok((kept, Some(why))),
        }
    }
    Ok((kept, None))
}

fn run(
    args: &DiagnoseArgs,
    series: &Series,
    of_server: &Settings,
    number: usize,
    Planned { name, suite, plan }: Planned<'_>,
) -> Result<PathBuf, Failed> {
    if !args.runs.quiet {
        tell(&format!("suite {name}"));
    }
    let settings = Settings {
        run_id: format!("{}-{number}", series.name),
        seed: state::new_seed(),
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
    let planned = |(name, suite, load): (_, SuiteText, LoadOptions)| {
        Ok(Planned {
            name,
            plan: suite.plan(&load)?,
            suite,
        })
    };
    suites.into_iter().map(planned).collect()
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
        save: Some(directory),
        no_save: false,
        quiet: args.runs.quiet,
        verbose: false,
        debug: false,
    }
}
