//! `prestan servers`: servers for `--server`.

use clap::Args;
use runner::RunnerError;
use terminal::output::print_named;
use testbed::real::{Recipe, recipes};

use crate::exit::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {}

pub(crate) fn servers(_: &ServersArgs) -> Result<ExitStatus, RunnerError> {
    let item = |recipe: &'static Recipe| {
        let state = match recipe.installed() {
            Ok(installed) => format!("installed: {}", installed.version),
            Err(missing) => format!("not installed: {} ({})", missing.what, missing.how),
        };
        let item = format!("{}; {state}", recipe.title);
        let item = match recipe.limits.as_str() {
            "" => item,
            limits => format!("{item}. {limits}"),
        };
        (&*recipe.name, item)
    };
    print_named(&recipes().iter().map(item).collect::<Vec<_>>())?;
    Ok(ExitStatus::Done)
}
