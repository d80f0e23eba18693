//! `prestan`: parse the command line, do it, say how it went.

mod args;
mod command;
mod connect;
mod exit;
mod signals;

use std::env;
use std::process::{self, ExitCode};

use clap::Parser;
use terminal::{document_file, messages, output};

use args::{Cli, Command};
use exit::ExitStatus;
use runner::RunnerError;

fn main() -> ExitCode {
    document_file::outlive_size_limits();
    messages::listen();
    let (inconclusive, ended) = match args::refuse_mistyped_command(env::args_os().nth(1)) {
        Ok(()) => {
            let cli = Cli::try_parse().unwrap_or_else(|error| {
                process::exit(exit::tell_usage(&error));
            });
            (cli.inconclusive(), dispatch(cli))
        }
        Err(failed) => (None, Err(failed)),
    };
    let code = ended.unwrap_or_else(|failed| {
        output::tell(&format!("prestan: {failed}"));
        if let Some(older) = document_file::untouched() {
            output::tell(&format!("prestan: {older}"));
        }
        ExitStatus::of(&failed)
    });
    let code = code.with(inconclusive);
    if code == ExitStatus::Interrupted {
        signals::end_by_signal();
    }
    code.into()
}

fn dispatch(cli: Cli) -> Result<ExitStatus, RunnerError> {
    if let Some(options) = cli.lab() {
        return command::lab::run_inside(options);
    }
    match cli.command {
        None => command::run::classic(&cli.classic),
        Some(Command::Run(args)) => command::run::run(&args),
        Some(Command::Load(args)) => command::load::load(&args),
        Some(Command::Report(args)) => command::report::report(&args),
        Some(Command::Runs(args)) => command::runs::runs(&args),
        Some(Command::Compare(args)) => command::compare::compare(&args),
        Some(Command::Sweep(args)) => command::sweep::sweep(&args),
        Some(Command::Search(args)) => command::search::search(&args),
        Some(Command::Webstone(args)) => command::webstone::webstone(&args),
        Some(Command::Gallery(args)) => command::gallery::gallery(&args),
        Some(Command::Diagnose(args)) => command::diagnose::diagnose(&args),
        Some(Command::Analyze(args)) => command::analyze::analyze(&args),
        Some(Command::Suites(args)) => command::suites::suites(&args),
        Some(Command::Servers(args)) => command::servers::servers(&args),
        Some(Command::Demo(args)) => command::demo::demo(&args),
        Some(Command::Serve(args)) => command::demo::serve(&args),
        Some(Command::Traffic(args)) => command::traffic::traffic(&args),
        Some(Command::Capture(args)) => command::capture::capture(&args),
        Some(Command::Lab(args)) => command::lab::lab(&args),
        Some(Command::Clean(args)) => command::clean::clean(&args),
        Some(Command::Completions { shell }) => command::generate::completions(shell),
        Some(Command::Man { directory }) => command::generate::man(directory.as_deref()),
    }
}
