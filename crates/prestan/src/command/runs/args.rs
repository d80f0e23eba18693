//! The command line of `prestan runs`. The comments on its fields are what `--help` prints.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use runner::listing::KeepLimits;

use crate::args::{duration, run_id, size, whole};

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,

    /// List each run of a comparison, sweep or other series, not the series as one
    #[arg(long)]
    pub(crate) all: bool,

    /// Write the runs as a JSON document; - is standard output, instead of the list
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List runs, the latest first; those of a series (a comparison, a sweep) as one
    List {
        /// List each run of a series
        #[arg(long)]
        all: bool,
    },
    /// Show a run: its plan and environment, without its samples
    Show {
        /// Name, its beginning, or directory of the run; that of a series lists its runs
        #[arg(value_name = "RUN")]
        run: PathBuf,
    },
    /// Give a run another name
    Name {
        /// Name, its beginning, or directory of the run
        #[arg(value_name = "RUN")]
        run: PathBuf,

        /// New name, which no other run has
        #[arg(value_name = "NEW", value_parser = run_id)]
        new: String,
    },
    /// Remove runs
    Remove {
        /// Names, their beginnings, or directories of the runs; a series stands for all its runs
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<PathBuf>,
    },
    /// Remove old runs that exceed any of the limits
    ///
    /// A series (a comparison, a sweep) is kept or removed as a whole, and counts as one run. Runs that were
    /// given a name, by `prestan runs name` or --run-id, are neither counted nor removed.
    Prune(PruneArgs),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true, args = ["older_than", "keep_size", "keep"])]
pub(crate) struct PruneArgs {
    /// Remove runs older than this (30d, 12h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,

    /// Keep the latest runs whose files together have at most this size (1GiB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) keep_size: Option<u64>,

    /// Keep this number of the latest runs
    #[arg(long, value_name = "N", value_parser = whole(0_u32..))]
    pub(crate) keep: Option<u32>,

    /// Count and remove also runs that were given a name
    #[arg(long)]
    pub(crate) named: bool,

    /// Only list what would be removed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

impl PruneArgs {
    pub(crate) fn limits(&self) -> KeepLimits {
        KeepLimits {
            older_than: self.older_than,
            keep_size: self.keep_size,
            keep: self.keep,
            named: self.named,
        }
    }
}
