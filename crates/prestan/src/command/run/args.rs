//! The command line of `prestan URL` and `prestan run`. The comments on fields are the texts of
//! `--help`.

use clap::Args;

use crate::args::{BesideOptions, LabOptions, Login, RunOptions, ServerOptions, WritesOptions};

/// The line of 2004: `prestan URL [USER PASSWORD] [options]`.
#[derive(Debug, Args)]
pub(crate) struct ClassicArgs {
    /// Collection to measure in: [http[s]://]host[:port]/path
    #[arg(value_name = "URL", required = true)]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) login: Login,

    #[command(flatten)]
    pub(crate) options: RunOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Name of a built-in suite (see `prestan suites`), or a suite file
    #[arg(value_name = "SUITE")]
    pub(crate) suite: String,

    /// Collection to measure in: [http[s]://]host[:port]/path
    #[arg(
        value_name = "URL",
        required_unless_present_any = ["server", "start"],
        conflicts_with_all = ["server", "start"]
    )]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) login: Login,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) writes: WritesOptions,

    #[command(flatten)]
    pub(crate) beside: BesideOptions,

    #[command(flatten)]
    pub(crate) options: RunOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}
