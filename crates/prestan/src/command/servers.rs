//! `prestan servers`: what `--server` can start.

use testbed::real::recipes;

use crate::args::ServersArgs;
use crate::exit::{ExitStatus, Failed};
use crate::output::print_text;

pub(crate) fn servers(_: &ServersArgs) -> Result<ExitStatus, Failed> {
    let width = recipes()
        .iter()
        .map(|recipe| recipe.name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for recipe in recipes() {
        let state = match recipe.installed() {
            Ok(installed) => format!("installed: {}", installed.version),
            Err(missing) => format!("not installed: {} ({})", missing.what, missing.how),
        };
        text.push_str(&format!(
            "{:width$}  {}; {state}\n",
            recipe.name, recipe.title
        ));
    }
    print_text(&text)?;
    Ok(ExitStatus::Done)
}
