//! Options of all that answers a question from several runs. The comments on fields are what
//! `--help` prints.

use std::path::PathBuf;

use clap::Args;

use runner::local::RunStorage;
use terminal::output::AnswerRequest;
use terminal::screen::ColorChoice;

use super::choices::{COLOR, INCONCLUSIVE, choice};
use super::{FigureOptions, MarkdownOptions};
use crate::exit::ExitStatus;

/// Where the answer goes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct AnswerOptions {
    /// Write the report to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the result as a JSON document; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) markdown: MarkdownOptions,

    #[command(flatten)]
    pub(crate) figures: FigureOptions,

    /// Exit status of an inconclusive result: pass (0) or fail (1) instead of 3
    #[arg(long, value_parser = choice(INCONCLUSIVE), value_name = "AS")]
    pub(crate) inconclusive: Option<ExitStatus>,

    /// When to use colours
    #[arg(long, value_parser = choice(COLOR), default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

impl AnswerOptions {
    pub(crate) fn request(&self) -> AnswerRequest {
        AnswerRequest {
            output: self.output.clone(),
            json: self.json.clone(),
            markdown: self.markdown.markdown.clone(),
            figures: self.figures.request(),
            color: self.color,
        }
    }
}

/// What becomes of the runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RunsOptions {
    /// Save the runs in this directory [default: ~/.local/state/prestan/runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,

    /// Do not show progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl RunsOptions {
    /// Where the runs of a series are kept.
    pub(crate) fn storage(&self) -> RunStorage {
        RunStorage::Series(self.save.clone())
    }
}
