//! The command line of `prestan suites`. The comments on fields are what `--help` prints.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
