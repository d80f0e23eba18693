//! `prestan servers`: what `--server` can start.

use clap::Args;
use runner::RunnerError;
use terminal::output::print_list;
use testbed::real::{Recipe, recipes};

use crate::exit::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {}

pub(crate) fn servers(_: &ServersArgs) -> Result<ExitStatus, RunnerError> {
    let width = recipes()
        .iter()
        .map(|recipe| recipe.name.len())
        .max()
        .unwrap_or(0);
    let item = |recipe: &Recipe| {
        let state = match recipe.installed() {
            Ok(installed) => format!("installed: {}", installed.version),
            Err(missing) => format!("not installed: {} ({})", missing.what, missing.how),
        };
        let item = format!("{:width$}  {}; {state}", recipe.name, recipe.title);
        match recipe.limits.as_str() {
            "" => item,
            limits => format!("{item}. {limits}"),
        }
    };
    print_list(recipes().iter().map(item), &" ".repeat(width + 2))?;
    Ok(ExitStatus::Done)
}
