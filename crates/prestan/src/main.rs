//! `prestan`: parses the command line, executes it, and reports errors.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "written for a terminal: [brackets] are optional parts, <angles> are placeholders"
)]

mod args;
mod command;
mod connect;
mod exit;
mod signals;

use std::env;
use std::process::{self, ExitCode};

use clap::Parser;
use terminal::{document_file, messages, output};

use command::Cli;
use exit::ExitStatus;

fn main() -> ExitCode {
    document_file::outlive_size_limits();
    messages::listen();
    let (inconclusive, ended) = match command::refuse_mistyped_command(env::args_os().nth(1)) {
        Ok(()) => {
            let cli = Cli::try_parse().unwrap_or_else(|error| {
                process::exit(exit::print_usage(&error));
            });
            (cli.inconclusive(), cli.perform())
        }
        Err(failed) => (None, Err(failed)),
    };
    let code = ended.unwrap_or_else(|failed| {
        output::print_message(&format!("prestan: {failed}"));
        if let Some(older) = document_file::untouched() {
            output::print_message(&format!("prestan: {older}"));
        }
        ExitStatus::of(&failed)
    });
    let code = code.with(inconclusive);
    if code == ExitStatus::Interrupted {
        signals::end_by_signal();
    }
    code.into()
}
