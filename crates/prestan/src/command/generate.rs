//! Completions and the manual pages, generated from the command line's own description.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{ExitStatus, Failed};
use crate::output::print_text;

pub(crate) fn completions(shell: Shell) -> Result<ExitStatus, Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "prestan", &mut script);
    print_text(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}

/// One page for the program and each sub-command: a file each in `directory`, or one after the other on
/// standard output.
pub(crate) fn man(directory: Option<&Path>) -> Result<ExitStatus, Failed> {
    if let Some(directory) = directory {
        fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
            .map_err(|error| {
                let place = directory.display();
                Failed::Local(format!("writing manual pages to {place} failed: {error}"))
            })?;
        return Ok(ExitStatus::Done);
    }
    let mut page = Vec::new();
    let failed = |error: std::io::Error| Failed::Local(format!("writing the page failed: {error}"));
    let mut command = Cli::command();
    // So that sub-commands know what stands in front of them: `prestan run`, not `run`.
    command.build();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(failed)?;
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        let title = format!("prestan-{}", sub.get_name());
        clap_mangen::Man::new(sub.clone())
            .title(title)
            .render(&mut page)
            .map_err(failed)?;
    }
    print_text(&String::from_utf8_lossy(&page))?;
    Ok(ExitStatus::Done)
}
