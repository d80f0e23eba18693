//! Completions and the manual pages, generated from the description of the command line.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use runner::RunnerError;

use crate::command::Cli;
use crate::exit::ExitStatus;
use terminal::document_file;
use terminal::figure_files;
use terminal::output::print_text;

pub(crate) fn completions(shell: Shell) -> Result<ExitStatus, RunnerError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "prestan", &mut script);
    print_text(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}

/// Prints the page of the program, or writes it and one for each command and sub-command into a
/// directory.
pub(crate) fn man(directory: Option<&Path>) -> Result<ExitStatus, RunnerError> {
    // `help` has no page.
    let mut program = Cli::command().disable_help_subcommand(true);
    // Adds the parent commands to the names of sub-commands: `prestan run`, not `run`.
    program.build();
    let Some(directory) = directory else {
        print_text(&page(program.clone(), "prestan")?)?;
        return Ok(ExitStatus::Done);
    };
    figure_files::make_directory(directory)?;
    for (title, command) in pages(&program) {
        let path = directory.join(format!("{title}.1"));
        document_file::write_drawn(&path, page(command, &title)?.as_bytes())?;
    }
    Ok(ExitStatus::Done)
}

/// A command and all its sub-commands, each with the title of its page.
fn pages(command: &Command) -> Vec<(String, Command)> {
    let title = command.get_display_name().unwrap_or(command.get_name());
    let page = (title.to_owned(), command.clone());
    let below = command.get_subcommands().flat_map(pages);
    std::iter::once(page).chain(below).collect()
}

fn page(command: Command, title: &str) -> Result<String, RunnerError> {
    let mut page = Vec::new();
    let manual = clap_mangen::Man::new(command).title(title);
    let rendered = manual.render(&mut page);
    rendered
        .map_err(|error| RunnerError::Local(format!("writing the page {title} failed: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
