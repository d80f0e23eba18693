//! The command line of `prestan diagnose`. The comments on its fields are what `--help` prints.

use clap::Args;

use crate::args::{
    AnswerOptions, FlameOptions, GateOptions, LabOptions, MeasuringOptions, RoundsOptions,
    RunningOptions, RunsOptions, ServerOptions, WritesOptions, whole,
};

#[derive(Debug, Args)]
#[command(override_usage = "prestan diagnose [OPTIONS] [RUN]...\n       \
                            prestan diagnose [OPTIONS] <URL>\n       \
                            prestan diagnose [OPTIONS] --server <NAME>")]
pub(crate) struct DiagnoseArgs {
    /// Recorded runs, given by directory or name, or the URL of a server to measure
    #[arg(value_name = "RUN or URL", conflicts_with_all = ["server", "start"])]
    pub(crate) subjects: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) flame: FlameOptions,

    #[command(flatten)]
    pub(crate) answer: AnswerOptions,

    #[command(flatten)]
    pub(crate) gate: GateOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Measurement of a server")]
pub(crate) struct Measuring {
    /// Suites to run: built-in ones, or suite files
    #[arg(long, value_name = "SUITE", value_delimiter = ',',
          default_values_t = ["prestan", "listing", "locks", "features"].map(String::from))]
    pub(crate) suite: Vec<String>,

    #[command(flatten)]
    pub(crate) rounds: RoundsOptions,

    #[command(flatten)]
    pub(crate) writes: WritesOptions,

    /// Users of an additional short run, which finds requests that fail under load or whose throughput
    /// does not scale; 1 disables it [default: 8]
    ///
    /// By default this run sends no LOCK to a server given by URL, because concurrent LOCK requests can
    /// damage the lock database of mod_dav_fs.
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_u32))]
    pub(crate) load_users: Option<u32>,

    #[command(flatten)]
    pub(crate) running: RunningOptions,
}
