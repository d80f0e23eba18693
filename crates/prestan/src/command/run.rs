//! `prestan URL` and `prestan run`: plan, measure, keep, report.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{Drive, Rounds, Settings};
use record::HttpVersion;
use suite::{Overrides, Plan, Selection};
use testbed::RealServer;
use testbed::real::Recipe;
use wire::auth::{Credentials, Secret};

use crate::args::{ClassicArgs, ClockOptions, LoadOptions, OutputOptions, RunArgs, RunOptions};
use crate::command::beside::BesideTask;
use crate::command::planned::PlannedRun;
use crate::connect::connection;
use crate::exit::ExitStatus;
use crate::output;
use crate::series::servers::{ENDS_WITHIN, server_ended};
use runner::RunnerError;
use runner::access::{ServerAccess, to_own_server};
use runner::background::AskedBackground;
use runner::inside::WatchedServer;
use runner::place::server_place;
use runner::suite_text::SuiteText;

/// `prestan URL [USER PASSWORD] [options]`: the line of 2004.
pub(crate) fn classic(args: &ClassicArgs) -> Result<ExitStatus, RunnerError> {
    let url = args.url.as_deref().unwrap_or_default();
    let connection = connection(url, &args.login, &args.options.connect)?;
    let task = SuiteTask::allowed("prestan", &args.options, false)?;
    let watched = watched(&args.options, None)?;
    measure(task, args.options.clock, connection, watched)
}

/// `prestan run SUITE URL` or `prestan run SUITE --server NAME`.
pub(crate) fn run(args: &RunArgs) -> Result<ExitStatus, RunnerError> {
    // A bad suite file or option is reported before a server is started for it.
    let mut task = SuiteTask {
        beside: BesideTask::all(&args.beside.beside)?,
        ..SuiteTask::allowed(&args.suite, &args.options, args.writes)?
    };
    if args.beside.compete {
        task.compete(&args.suite)?;
    }
    let Some(name) = &args.server else {
        let url = args.url.as_deref().unwrap_or_default();
        let connection = connection(url, &args.login, &args.options.connect)?;
        let watched = watched(&args.options, None)?;
        return measure(task, args.options.clock, connection, watched);
    };
    let place = server_place()?;
    let server = RealServer::start_at(&recipe(name)?, &[], place.as_ref());
    let mut server = server.map_err(|error| RunnerError::Target(error.to_string()))?;
    let connection = to_own_server(&server.url(), credentials_of(&server), version_of(&server))?;
    let watched = watched(&args.options, Some(&server))?;
    let watched = watched.map(|watched| watched.with_log(&server));
    let measured = measure(task, args.options.clock, connection, watched);
    // A server that fails may be about to end.
    let within = match measured {
        Ok(ExitStatus::Done) => Duration::ZERO,
        _ => ENDS_WITHIN,
    };
    match (server.ended(within), measured) {
        (None, measured) => measured,
        (Some(_), Err(why @ RunnerError::Interrupted(_))) => Err(why),
        (Some(ended), measured) => {
            if let Err(why) = measured {
                output::tell(&format!("prestan: warning: {why}"));
            }
            Err(server_ended(name, "the run", &ended))
        }
    }
}

/// Who may use a server of our own.
pub(crate) fn credentials_of(server: &RealServer) -> Option<Credentials> {
    let (user, password) = server.credentials()?;
    Some(Credentials::Password {
        user,
        password: Secret::new(password),
    })
}

/// The version of HTTP that a server of our own is for.
pub(crate) fn version_of(server: &RealServer) -> HttpVersion {
    if server.recipe().is_http2 {
        HttpVersion::Http2
    } else {
        HttpVersion::Http11
    }
}

/// The recipe of that name, with its parameters.
pub(crate) fn recipe(text: &str) -> Result<Recipe, RunnerError> {
    let recipe = Recipe::with_parameters(text);
    recipe.map_err(|error| RunnerError::Usage(format!("--server {text}: {error}")))
}

pub(crate) fn overrides(load: &LoadOptions) -> Overrides {
    let numbers = [
        ("requests", load.requests),
        ("properties", load.properties),
        ("depth", load.depth),
        ("width", load.width),
    ];
    let mut params: BTreeMap<String, String> = numbers
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_string())))
        .collect();
    params.extend(load.params.iter().cloned());
    let selection = Selection {
        only: load.only.clone(),
        skip: load.skip.clone(),
    };
    Overrides {
        params,
        duration: load.duration,
        selection,
        verify: load.verify,
        labels_of_2004: load.x_prestan.is_some(),
        may_post: false,
    }
}

/// What is to be done, made sense of before anything is begun.
pub(crate) struct SuiteTask<'a> {
    suite: SuiteText,
    plan: Plan,
    load: &'a LoadOptions,
    output: &'a OutputOptions,
    /// What goes on beside it.
    beside: Vec<BesideTask>,
}

impl<'a> SuiteTask<'a> {
    /// The suite of that name, or in that file, with these options.
    pub(crate) fn new(
        suite: &str,
        load: &'a LoadOptions,
        output: &'a OutputOptions,
    ) -> Result<Self, RunnerError> {
        SuiteTask::of(suite, load, output, false)
    }

    /// The same, and a suite with `needs: cgi` may send POST where `writes` says so.
    fn allowed(suite: &str, options: &'a RunOptions, writes: bool) -> Result<Self, RunnerError> {
        SuiteTask::of(suite, &options.load, &options.output, writes)
    }

    fn of(
        suite: &str,
        load: &'a LoadOptions,
        output: &'a OutputOptions,
        may_post: bool,
    ) -> Result<Self, RunnerError> {
        output::check_report(&output.request())?;
        let suite = SuiteText::find(suite)?;
        let plan = suite.resolved(&Overrides {
            may_post,
            ..overrides(load)
        })?;
        Ok(SuiteTask {
            suite,
            plan,
            load,
            output,
            beside: Vec::new(),
        })
    }
}

impl SuiteTask<'_> {
    /// Has all tests at work at the same time: the first is measured, the others are loads beside it.
    fn compete(&mut self, suite: &str) -> Result<(), RunnerError> {
        let [first, _, ..] = &self.plan.tests[..] else {
            return Err(RunnerError::Usage(format!(
                "--compete: of {} only one test is selected, and nothing competes with it",
                self.plan.suite.name
            )));
        };
        let mut overrides = overrides(self.load);
        let users = self.load.concurrency.unwrap_or(1);
        // The names are those that --skip has left.
        overrides.selection = Selection::default();
        let competing = BesideTask::competing(suite, &self.plan, users, &overrides)?;
        overrides.selection.only = vec![first.name.clone()];
        self.plan = self.suite.resolved(&overrides)?;
        self.beside = competing;
        Ok(())
    }
}

/// What is watched of a server that these options name, or of one that was started.
fn watched(
    options: &RunOptions,
    server: Option<&RealServer>,
) -> Result<Option<WatchedServer>, RunnerError> {
    let watched = WatchedServer::of(&options.looks_inside(), server)?;
    Ok(watched.map(|watched| watched.with_flames(options.flame.flame)))
}

/// Runs a suite on a server, which may be looked into, keeps the run, prints the report.
pub(crate) fn measure(
    task: SuiteTask<'_>,
    clock: ClockOptions,
    connection: ServerAccess,
    watched: Option<WatchedServer>,
) -> Result<ExitStatus, RunnerError> {
    let mut settings = settings(connection, task.load, clock)?;
    let (plan, output) = (task.plan, task.output);
    let background = AskedBackground::of(&task.load.running.background.request(), &plan)?;
    if watched.is_some() && !task.beside.is_empty() {
        return Err(RunnerError::Usage(
            "what the server does for the loads beside the run cannot be told apart from what it does for the run; leave \
             out --inside and --pid, or --beside and --compete"
                .to_owned(),
        ));
    }
    settings.inside = watched.as_ref().map(WatchedServer::record);
    let beside = (task.beside, background.as_ref());
    let run = PlannedRun::beside(plan, &task.suite.text, settings, output, beside)?;
    run.watching(watched).report(output)
}

/// How a run is to be done.
pub(crate) fn settings(
    connection: ServerAccess,
    load: &LoadOptions,
    clock: ClockOptions,
) -> Result<Settings, RunnerError> {
    Ok(Settings {
        users: load.concurrency.unwrap_or(1),
        drive: Drive::Rounds(Rounds {
            warmup: load.warmup,
            ..Rounds::default()
        }),
        ..connection.settings_of_run(load.running.request(clock))?
    })
}
