//! The command line of `prestan gallery`. The comments on its fields are what `--help` prints.

use std::path::PathBuf;

use clap::Args;

use crate::args::{CaptureFileOptions, ClockOptions, LabOptions, RunsOptions, SideOptions, whole};

#[derive(Debug, Args)]
pub(crate) struct GalleryArgs {
    /// Directory of the site; it must be new, empty, or a gallery
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Only these servers (see `prestan servers`); may be repeated [default: all installed ones that
    /// require no password]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) server: Vec<String>,

    /// Number of runs of each server, side by side
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = whole(2..=200_u32), help_heading = "Suite and duration")]
    pub(crate) repeat: u32,

    #[command(flatten)]
    pub(crate) side: SideOptions,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) packets: CaptureFileOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}
