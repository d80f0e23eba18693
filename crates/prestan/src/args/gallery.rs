//! The command line of `prestan gallery`. The comments on its fields are what `--help` prints.

use std::path::PathBuf;

use clap::Args;

use super::{ClockOptions, LabOptions, LoadOptions, RunsOptions, whole};

#[derive(Debug, Args)]
pub(crate) struct GalleryArgs {
    /// Directory of the site; it must be new, empty, or a gallery
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Only these servers (see `prestan servers`); may be repeated [default: all installed ones that
    /// require no password]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) server: Vec<String>,

    /// Suite to run: a built-in one, or a suite file
    #[arg(long, value_name = "SUITE", default_value = "prestan")]
    pub(crate) suite: String,

    /// Number of runs of each server, side by side
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = whole(2..=200_u32))]
    pub(crate) repeat: u32,

    #[command(flatten)]
    pub(crate) load: LoadOptions,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}
