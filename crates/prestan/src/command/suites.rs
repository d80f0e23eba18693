//! `prestan suites`: lists built-in suites, and checks files.

use std::path::{Path, PathBuf};

use builtin::{BuiltinFile, SUITES};
use clap::{Args, Subcommand};
use runner::RunnerError;
use runner::background::{BackgroundRequest, RequestedBackground};
use runner::fitting::check_background;
use runner::suite_text::SuiteText;
use runner::text_file;
use runner::words::number_of;
use suite::{OperationKind, Plan};
use terminal::document_file;
use terminal::output::{print_list, print_message, print_named, print_text};

use crate::exit::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct SuitesArgs {
    #[command(subcommand)]
    pub(crate) action: Option<SuitesAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuitesAction {
    /// List the built-in suites
    List,
    /// Print a built-in suite: a starting point for another one
    Show {
        /// Name of the suite
        name: String,
    },
    /// Check a suite file
    Check {
        /// Suite file, or name of a built-in suite
        file: String,
    },
    /// Format the expressions of a suite file: constraints and conditions
    Fmt {
        /// Suite file, which is changed
        file: PathBuf,
        /// Change nothing; exit status 1 if the file is not formatted
        #[arg(long)]
        check: bool,
    },
    /// Print the JSON schema of suite files, for editors
    Schema,
}

pub(crate) fn suites(args: &SuitesArgs) -> Result<ExitStatus, RunnerError> {
    match args.action.as_ref().unwrap_or(&SuitesAction::List) {
        SuitesAction::List => print_named(&list()?)?,
        SuitesAction::Show { name } => {
            let builtin = BuiltinFile::find(SUITES, name).ok_or_else(|| {
                let names = SUITES.iter().map(|builtin| builtin.name);
                let hint = nearest::hint(name, names, "built in are");
                RunnerError::Usage(format!("no suite is called `{name}`; {hint}"))
            })?;
            print_text(builtin.text)?;
        }
        SuitesAction::Check { file } => print_list([check(file)?], "  ")?,
        SuitesAction::Fmt { file, check } => return format(file, *check),
        SuitesAction::Schema => print_text(suite::SCHEMA)?,
    }
    Ok(ExitStatus::Done)
}

fn format(file: &Path, check: bool) -> Result<ExitStatus, RunnerError> {
    let name = file.display().to_string();
    let text = text_file::read(file)
        .map_err(|error| RunnerError::Usage(format!("reading {name} failed: {error}")))?;
    let formatted = suite::formatted(&name, &text);
    let formatted = formatted.map_err(|error| RunnerError::Usage(error.to_string()))?;
    if formatted == text {
        return Ok(ExitStatus::Done);
    }
    if check {
        print_message(&format!(
            "prestan: {name} is not formatted; `prestan suites fmt {name}` does it"
        ));
        return Ok(ExitStatus::TestFailed);
    }
    document_file::write(file, formatted.as_bytes())?;
    Ok(ExitStatus::Done)
}

fn list() -> Result<Vec<(&'static str, String)>, RunnerError> {
    let item = |builtin: &BuiltinFile| {
        let spec = suite::parse(builtin.name, builtin.text)
            .map_err(|error| RunnerError::Local(error.to_string()))?;
        Ok((builtin.name, spec.title))
    };
    SUITES.iter().map(item).collect()
}

fn check(file: &str) -> Result<String, RunnerError> {
    let overrides = suite::Overrides {
        may_post: true,
        ..suite::Overrides::default()
    };
    let plan = SuiteText::find(file)?.resolved(&overrides)?;
    let background = RequestedBackground::of(&BackgroundRequest::default(), &plan)?;
    if let Some(background) = background {
        check_background(&plan, Some(&background.planned()?))?;
    }
    let measures = plan.measures.iter();
    let names: Vec<&str> = measures.map(|measure| measure.name.as_str()).collect();
    Ok(format!(
        "{file}: suite {}, {}, measures {}; {}",
        plan.suite.name,
        number_of(plan.tests.len(), "test"),
        names.join(", "),
        as_load(&plan)
    ))
}

/// Description of the suite as a load (`load --mix`).
fn as_load(plan: &Plan) -> String {
    let operations = plan.operations();
    let mut all = operations.iter();
    let steps = all.find(|operation| operation.kind == OperationKind::Steps);
    let but = steps.map_or(String::new(), |steps| {
        let test = &plan.tests[usize::from(steps.test.0)].name;
        format!(", not with --pipeline, because steps of {test} follow one another")
    });
    let count = number_of(operations.len(), "operation");
    format!("as a load (--mix) {count}{but}")
}
