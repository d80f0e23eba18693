//! `prestan lab run`, `experiments` and `report`: experiments in laboratories.

mod campaign_report;
mod progress;

use builtin::{BuiltinFile, EXPERIMENTS};
use campaign::{CampaignRequest, ResolvedCampaign, SuiteRequest};
use engine::Cancel;
use experiment::{ExperimentSpec, FileError};
use runner::RunnerError;
use runner::console::MadeOnServers;
use runner::words::number_of;

use super::become_root;
use crate::command::lab::LabRunArgs;
use crate::exit::ExitStatus;
use crate::signals::on_interrupt;
use runner::words::roughly;
use terminal::output::{check_documents, print_described, print_named};

use progress::CampaignConsole;

pub(super) use campaign_report::report;

/// Lists the built-in experiments.
pub(super) fn list() -> Result<(), RunnerError> {
    let item = |file: &BuiltinFile| {
        let spec = ExperimentSpec::read(file.name, file.text).map_err(|error| usage(&error))?;
        Ok((file.name, spec.title))
    };
    let items: Result<Vec<_>, RunnerError> = EXPERIMENTS.iter().map(item).collect();
    print_named(&items?)
}

/// Measures an experiment.
pub(super) fn run(args: &LabRunArgs) -> Result<ExitStatus, RunnerError> {
    let documents = &args.documents;
    check_documents(&documents.paths(), documents.html.as_ref())?;
    let asked = ResolvedCampaign::of(request(args))?;
    if args.dry_run {
        return print_trials(&asked);
    }
    become_root()?;
    let cancel = Cancel::default();
    let _interruptible = on_interrupt(cancel.clone(), MadeOnServers::default())?;
    let measured = campaign::measure(&asked, &mut CampaignConsole::default(), &cancel)?;
    if measured.is_reported() {
        campaign_report::print(&measured.kept, documents)?;
    }
    measured.ended.map(|()| ExitStatus::Done)
}

fn request(args: &LabRunArgs) -> CampaignRequest {
    CampaignRequest {
        experiment: args.experiment.clone(),
        scenarios: args.scenario.clone(),
        servers: args.server.clone(),
        suite: args.suite.as_ref().map(|suite| SuiteRequest {
            name: suite.clone(),
            only: args.only.clone(),
            requests: args.requests,
        }),
        repeat: args.repeat,
        full: args.full,
        new: args.new,
        seed: args.seed,
        save: args.save.clone(),
        keep_captures: args.keep_captures,
    }
}

/// Lists the cells, and how long all trials will take.
fn print_trials(asked: &ResolvedCampaign) -> Result<ExitStatus, RunnerError> {
    let mut text = format!("{}\n\n", asked.title());
    for cell in asked.cells() {
        text += &format!("{cell}\n");
    }
    let (about, note) = if asked.measures_suites() {
        (
            "more than",
            "How long suites take is known after the first trials, whose lines then have the time that is left.\n",
        )
    } else {
        ("about", "")
    };
    text += &format!(
        "\n{} with {} each: {}, {about} {}, and up to {} if nothing that is measured ends by itself\n{note}",
        number_of(asked.cells().len(), "cell"),
        number_of(asked.repetitions(), "repetition"),
        number_of(asked.trials(), "trial"),
        roughly(asked.forecast(0).left(0.0)),
        roughly(asked.longest())
    );
    print_described(&text)?;
    Ok(ExitStatus::Done)
}

fn usage(error: &FileError) -> RunnerError {
    RunnerError::Usage(error.to_string())
}
