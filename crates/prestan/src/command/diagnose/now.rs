//! A server measured now, one suite after the other.

use std::path::PathBuf;
use std::time::Duration;

use engine::Cancel;
use suite::Plan;
use testbed::RealServer;

use crate::args::{
    ColorArg, DiagnoseArgs, FigureOptions, FormatOptions, LoadOptions, Login, OutputOptions,
};
use crate::command::job::Job;
use crate::command::run::{SuiteText, credentials_of, settings, start_server};
use crate::connect::{Connection, connection, to_own_server};
use crate::exit::Failed;
use crate::output::tell;
use crate::state;
use crate::watch::on_interrupt;

/// Times each user goes through each test of the suite `prestan`: a course has 50 operations at
/// least, and 100 have a p99.
const REQUESTS: u32 = 100;

/// Measures, and says where the runs are kept.
pub(super) fn measure(args: &DiagnoseArgs) -> Result<Vec<PathBuf>, Failed> {
    // What is wrong with a suite is said before anything is measured.
    let suites = suites(args)?;
    let server = args.server.as_deref().map(start_server).transpose()?;
    let id = state::new_run_id();
    let cancel = Cancel::default();
    on_interrupt(cancel.clone(), None)?;
    let mut kept = Vec::new();
    for (number, planned) in (1..).zip(suites) {
        let Planned {
            name,
            suite,
            plan,
            load,
        } = planned;
        if !args.measuring.quiet {
            tell(&format!("suite {name}"));
        }
        let mut settings = settings(reach(args, server.as_ref())?, &load, args.clock)?;
        settings.run_id = format!("{id}-{number}");
        let directory = match &args.measuring.save {
            Some(directory) => directory.join(&settings.run_id),
            None => state::run_directory(&settings.run_id)?,
        };
        let output = output_options(args, directory);
        let job = Job {
            suite_text: suite.text,
            plan,
            settings,
            until: None,
            makes_target: false,
            cancel: Some(cancel.clone()),
            output: &output,
        };
        kept.push(job.keep()?);
    }
    Ok(kept)
}

/// A suite that is to be run, with everything decided.
struct Planned<'a> {
    name: &'a str,
    suite: SuiteText,
    plan: Plan,
    load: LoadOptions,
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
    let planned = |(name, suite, load): (_, SuiteText, _)| {
        Ok(Planned {
            name,
            plan: suite.plan(&load)?,
            suite,
            load,
        })
    };
    suites.into_iter().map(planned).collect()
}

fn reach(args: &DiagnoseArgs, server: Option<&RealServer>) -> Result<Connection, Failed> {
    match server {
        Some(server) => to_own_server(&server.url(), credentials_of(server)),
        None => {
            let url = args.subjects.first().map_or("", String::as_str);
            connection(url, &Login::default(), &args.connect)
        }
    }
}

fn load_options(args: &DiagnoseArgs) -> LoadOptions {
    let measuring = &args.measuring;
    LoadOptions {
        requests: measuring.requests,
        concurrency: measuring.concurrency,
        properties: None,
        depth: None,
        width: None,
        params: Vec::new(),
        only: Vec::new(),
        skip: Vec::new(),
        duration: None,
        warmup: 3,
        timeout: Duration::from_secs(30),
        seed: None,
        threads: 1,
        run_id: None,
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
            csv: None,
            figures: FigureOptions::default(),
            color: ColorArg::Auto,
        },
        save: Some(directory),
        no_save: false,
        quiet: args.measuring.quiet,
        verbose: false,
    }
}
