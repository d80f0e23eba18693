//! `prestan URL` and `prestan run`: plan, measure, keep, report.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use engine::rundir::RunDir;
use engine::{Cancel, Finished, Observer, Progress, Settings, Watch};
use record::{Environment, Event, PlanRecord};
use suite::{Builtin, Overrides, Plan, Selection};
use testbed::RealServer;
use wire::auth::{Credentials, Secret};

use crate::args::{ClassicArgs, LoadOptions, OutputOptions, RunArgs};
use crate::connect::{Connection, connection, to_own_server};
use crate::exit::{Code, Failed};
use crate::output;
use crate::state;
use crate::watch::{Console, on_interrupt};

/// `prestan URL [USER PASSWORD] [options]`: the line of 2004.
pub(crate) fn classic(args: &ClassicArgs) -> Result<Code, Failed> {
    let url = args.url.as_deref().unwrap_or_default();
    let connection = connection(url, &args.login, &args.options.connect)?;
    let task = Task::new("prestan", &args.options.load, &args.options.output)?;
    measure(task, connection)
}

/// `prestan run SUITE URL` or `prestan run SUITE --server NAME`.
pub(crate) fn run(args: &RunArgs) -> Result<Code, Failed> {
    // A bad suite file or option is reported before a server is started for it.
    let task = Task::new(&args.suite, &args.options.load, &args.options.output)?;
    let Some(name) = &args.server else {
        let url = args.url.as_deref().unwrap_or_default();
        let connection = connection(url, &args.login, &args.options.connect)?;
        return measure(task, connection);
    };
    let server = start_server(name)?;
    let credentials = server
        .credentials()
        .map(|(user, password)| Credentials::Password {
            user,
            password: Secret::new(password),
        });
    let connection = to_own_server(&server.url(), credentials)?;
    measure(task, connection)
}

fn start_server(name: &str) -> Result<RealServer, Failed> {
    let recipe = testbed::real::Recipe::named(name).ok_or_else(|| {
        let names: Vec<&str> = testbed::real::recipes()
            .iter()
            .map(|recipe| recipe.name.as_str())
            .collect();
        Failed::Usage(format!(
            "no server is called `{name}`; there are {}",
            names.join(", ")
        ))
    })?;
    RealServer::start(recipe).map_err(|error| Failed::Target(error.to_string()))
}

/// The text of a suite, built in or from a file.
pub(crate) struct SuiteText {
    /// Name of the file, for messages.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl SuiteText {
    /// A built-in suite of that name, or else a file.
    pub(crate) fn find(name: &str) -> Result<SuiteText, Failed> {
        if let Some(builtin) = Builtin::find(name) {
            return Ok(SuiteText {
                name: format!("suite {name}"),
                text: builtin.text.to_owned(),
            });
        }
        let text = fs::read_to_string(name).map_err(|error| {
            let names: Vec<&str> = suite::BUILTIN.iter().map(|builtin| builtin.name).collect();
            Failed::Usage(format!(
                "`{name}` is no built-in suite ({}), and reading it as a file failed: {error}",
                names.join(", ")
            ))
        })?;
        Ok(SuiteText {
            name: name.to_owned(),
            text,
        })
    }

    /// The plan, with what the command line changes.
    fn plan(&self, load: &LoadOptions) -> Result<Plan, Failed> {
        let spec = suite::parse(&self.name, &self.text).map_err(usage)?;
        suite::resolve(&self.name, &self.text, &spec, &overrides(load)).map_err(usage)
    }
}

fn usage(error: suite::SuiteError) -> Failed {
    Failed::Usage(error.to_string())
}

fn overrides(load: &LoadOptions) -> Overrides {
    let numbers = [
        ("requests", load.requests),
        ("properties", load.properties),
        ("depth", load.depth),
        ("width", load.width),
    ];
    let mut params: BTreeMap<String, serde_json::Value> = numbers
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.into())))
        .collect();
    for (name, value) in &load.params {
        let number = value.parse::<i64>().map(serde_json::Value::from).ok();
        params.insert(
            name.clone(),
            number.unwrap_or_else(|| value.as_str().into()),
        );
    }
    let selection = Selection {
        only: load.only.clone(),
        skip: load.skip.clone(),
    };
    Overrides {
        params,
        duration: load.duration,
        selection,
    }
}

/// What is to be done, made sense of before anything is begun.
pub(crate) struct Task<'a> {
    suite: SuiteText,
    plan: Plan,
    load: &'a LoadOptions,
    output: &'a OutputOptions,
}

impl<'a> Task<'a> {
    /// The suite of that name, or in that file, with these options.
    pub(crate) fn new(
        suite: &str,
        load: &'a LoadOptions,
        output: &'a OutputOptions,
    ) -> Result<Self, Failed> {
        let suite = SuiteText::find(suite)?;
        let plan = suite.plan(load)?;
        output::check(&output.formats, output.output.as_deref())?;
        Ok(Task {
            suite,
            plan,
            load,
            output,
        })
    }
}

/// Runs a suite on a server, keeps the run, prints the report.
pub(crate) fn measure(task: Task<'_>, connection: Connection) -> Result<Code, Failed> {
    let Task {
        suite,
        plan,
        load,
        output,
    } = task;
    let settings = settings(connection, load);
    let record = engine::plan_record(&plan, &settings);
    let kept = keep(&record, &suite, output)?;

    let cancel = Cancel::default();
    let progress = Arc::new(Progress::default());
    let console = Arc::new(Console::new(
        output,
        Arc::clone(&progress),
        record.tests.clone(),
        record.measures.clone(),
    ));
    let collection = (plan.workspace == suite::Workspace::Collection).then(|| {
        let name = engine::collection_name(&settings.run_id);
        format!("{}{name}/", settings.target.url())
    });
    on_interrupt(cancel.clone(), collection)?;
    let observers = Arc::new(Observers {
        console: Arc::clone(&console),
        kept,
    });
    let following = console.follow();
    let watch = Watch {
        cancel,
        progress,
        observer: Arc::clone(&observers) as Arc<dyn Observer>,
    };
    let finished = engine::run(plan, &settings, &watch);
    drop(following);

    finish(&finished, observers.kept.as_ref(), output)
}

fn settings(connection: Connection, load: &LoadOptions) -> Settings {
    Settings {
        run_id: load.run_id.clone().unwrap_or_else(state::new_run_id),
        users: load.concurrency,
        warmup: load.warmup,
        timeout: load.timeout,
        seed: load.seed.unwrap_or_else(state::new_seed),
        threads: load.threads,
        ..connection.settings()
    }
}

/// Opens the run directory, unless nothing is to be kept.
fn keep(
    record: &PlanRecord,
    suite: &SuiteText,
    output: &OutputOptions,
) -> Result<Option<RunDir>, Failed> {
    if output.no_save {
        return Ok(None);
    }
    let path = match &output.save {
        Some(path) => path.clone(),
        None => state::run_directory(&record.run_id)?,
    };
    let env = Environment {
        machine: engine::machine(),
        server: None,
        started_at: engine::time_of_day(),
        ended_at: None,
    };
    Ok(Some(RunDir::create(&path, record, &suite.text, &env)?))
}

/// Whoever wants to know what happens.
struct Observers {
    console: Arc<Console>,
    kept: Option<RunDir>,
}

impl Observer for Observers {
    fn event(&self, event: &Event) {
        self.console.event(event);
        if let Some(kept) = &self.kept {
            // A full disk is reported when the run is written as a whole.
            let _ = kept.append(event);
        }
    }
}

/// Keeps and prints what was measured, and says how it went.
fn finish(
    finished: &Finished,
    kept: Option<&RunDir>,
    output: &OutputOptions,
) -> Result<Code, Failed> {
    let run = &finished.run;
    let keeping = kept.map(|kept| kept.finish(run));
    if let Some(Err(error)) = &keeping {
        output::tell(&format!("prestan: warning: the run is not kept: {error}"));
    }
    let saved_to = kept
        .filter(|_| matches!(keeping, Some(Ok(()))))
        .map(|kept| kept.path().display().to_string());
    if let Some(error) = &finished.error {
        if let Some(path) = &saved_to {
            output::tell(&format!("prestan: what is known of the run is in {path}"));
        }
        return Err(Failed::from(error.clone()));
    }
    let summary = stats::summarise(run);
    output::print(
        run,
        &summary,
        &output.formats,
        output.output.as_deref(),
        saved_to,
    )?;
    code_of(&summary)
}

fn code_of(summary: &stats::Summary) -> Result<Code, Failed> {
    match &summary.complete {
        stats::Completeness::Interrupted => Err(Failed::Interrupted(
            "the run was interrupted; the report is of what was done".to_owned(),
        )),
        stats::Completeness::Aborted(reason) => Err(Failed::Local(format!(
            "the run could not be finished: {reason}"
        ))),
        stats::Completeness::Complete if summary.any_failed() => Ok(Code::TestFailed),
        stats::Completeness::Complete => Ok(Code::Done),
    }
}
