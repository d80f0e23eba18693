//! `prestan URL` and `prestan run`: plan, measure, save, report.

mod args;

use engine::{Drive, Rounds};
use runner::RunnerError;
use runner::access::{AccessRequest, read_target};
use runner::beside::BesideTask;
use runner::local::RunTask;
use runner::run::RunEnds;
use runner::servers::{RunWays, TestedServer, one_labelled};
use runner::suite_text::SuiteText;
use suite::{Overrides, Plan, Selection};

use crate::args::{LoadOptions, MeasuringOptions, OutputOptions, WritesOptions, defaults};
use crate::command::single::{SingleRun, single};
use crate::connect::access;
use crate::exit::ExitStatus;
pub(crate) use args::{ClassicArgs, RunArgs};
use terminal::output;

/// `prestan URL [USER PASSWORD] [options]`: the line of 2004.
pub(crate) fn classic(args: &ClassicArgs) -> Result<ExitStatus, RunnerError> {
    let url = args.url.as_deref().unwrap_or_default();
    let options = &args.options;
    let server = TestedServer::running(vec![read_target(url)?]);
    let task = SuiteTask::of("prestan", (&options.load, &options.output), defaults())?;
    let access = access(&args.login, &options.how.connect)?;
    measure(task, server, access, (&options.how, options.flame.flame))
}

/// `prestan run SUITE URL` or `prestan run SUITE --server NAME`.
pub(crate) fn run(args: &RunArgs) -> Result<ExitStatus, RunnerError> {
    let options = &args.options;
    // A bad suite file or option is reported before a server is started for it.
    let mut task = SuiteTask {
        beside: BesideTask::all(&args.beside.beside)?,
        ..SuiteTask::of(&args.suite, (&options.load, &options.output), args.writes)?
    };
    if args.beside.compete {
        task.compete(&args.suite)?;
    }
    let url = args.url.as_deref();
    let server = match args.server.tested(&options.how.connect)? {
        Some(server) => server,
        None => TestedServer::running(vec![read_target(url.unwrap_or_default())?]),
    };
    let access = access(&args.login, &options.how.connect)?;
    measure(task, server, access, (&options.how, options.flame.flame))
}

pub(crate) fn overrides(load: &LoadOptions, writes: WritesOptions) -> Overrides {
    let numbers = [
        ("requests", load.rounds.requests),
        ("properties", load.properties),
        ("depth", load.depth),
        ("width", load.width),
    ];
    let numbers = numbers.into_iter();
    let numbers = numbers.filter_map(|(name, value)| Some((name.to_owned(), value?.to_string())));
    Overrides {
        params: numbers.chain(load.params.iter().cloned()).collect(),
        duration: load.duration,
        selection: Selection {
            only: load.only.clone(),
            skip: load.rounds.skip.clone(),
        },
        verify: load.verify.verify,
        labels_of_2004: load.x_prestan.is_some(),
        may_post: writes.writes,
    }
}

/// A task checked and resolved before anything begins.
pub(crate) struct SuiteTask<'a> {
    suite: SuiteText,
    plan: Plan,
    overrides: Overrides,
    load: &'a LoadOptions,
    output: &'a OutputOptions,
    beside: Vec<BesideTask>,
}

impl<'a> SuiteTask<'a> {
    /// The suite of that name, or in that file, with these options.
    pub(crate) fn of(
        suite: &str,
        (load, output): (&'a LoadOptions, &'a OutputOptions),
        writes: WritesOptions,
    ) -> Result<Self, RunnerError> {
        output::check_report(&output.request())?;
        let suite = SuiteText::find(suite)?;
        let overrides = overrides(load, writes);
        Ok(SuiteTask {
            plan: suite.resolved(&overrides)?,
            suite,
            overrides,
            load,
            output,
            beside: Vec::new(),
        })
    }
}

impl SuiteTask<'_> {
    /// Executes all tests at the same time: the first is measured, the others are loads beside it.
    fn compete(&mut self, suite: &str) -> Result<(), RunnerError> {
        let [first, _, ..] = &self.plan.tests[..] else {
            return Err(RunnerError::Usage(format!(
                "--compete: of {} only one test is selected, and nothing competes with it",
                self.plan.suite.name
            )));
        };
        let users = self.load.rounds.users();
        // The names are those after --skip.
        self.overrides.selection = Selection::default();
        let competing = BesideTask::competing(suite, &self.plan, users, &self.overrides)?;
        self.overrides.selection.only = vec![first.name.clone()];
        self.plan = self.suite.resolved(&self.overrides)?;
        self.beside = competing;
        Ok(())
    }
}

/// Runs a suite on a server, saves the run, prints the report.
pub(crate) fn measure(
    task: SuiteTask<'_>,
    server: TestedServer,
    access: AccessRequest,
    (how, flames): (&MeasuringOptions, bool),
) -> Result<ExitStatus, RunnerError> {
    let (load, running) = (task.load, &task.load.running);
    let run = SingleRun {
        server: one_labelled(server, &how.labels.label)?,
        ways: RunWays {
            access,
            run: running.request(how.clock),
        },
        task: RunTask {
            beside: task.beside,
            ..RunTask::new(task.plan, task.suite.text, &how.background.request())?
        },
        users: load.rounds.users(),
        drive: Drive::Rounds(Rounds {
            warmup: load.warmup.warmup,
            ..Rounds::default()
        }),
        ends: RunEnds::default(),
        how,
        flames,
    };
    single(run, task.output)
}
