//! Where the report of a run goes, and in which formats. The comments on fields are what `--help` prints.

use std::path::PathBuf;

use clap::Args;
use constraint::Constraint;

use report::TextLayout;
use terminal::output::{AnswerRequest, ReportRequest};
use terminal::screen::ColorChoice;
use terminal::watch::{ConsoleRequest, Talk};

use super::choices::{COLOR, INCONCLUSIVE, LAYOUT, choice};
use super::{FigureOptions, constraint};
use crate::exit::ExitStatus;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// Write the report to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) formats: FormatOptions,

    #[command(flatten)]
    pub(crate) gate: GateOptions,

    /// Exit status of an inconclusive result: pass (0) or fail (1) instead of 3
    #[arg(long, value_parser = choice(INCONCLUSIVE), value_name = "AS")]
    pub(crate) inconclusive: Option<ExitStatus>,

    /// Save the run in this directory [default: a new one in ~/.local/state/prestan/runs]
    #[arg(long, value_name = "DIR", conflicts_with = "no_save")]
    pub(crate) save: Option<PathBuf>,

    /// Do not save the run
    #[arg(long)]
    pub(crate) no_save: bool,

    /// Do not show progress
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print each test and its events during the run
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print the heads of all requests and responses to standard error, with redacted credentials
    ///
    /// The values of --header are redacted, too. Printing slows the load generator down, so the report
    /// has a warning.
    #[arg(long)]
    pub(crate) debug: bool,
}

impl OutputOptions {
    pub(crate) fn request(&self) -> ReportRequest {
        self.formats.request(&self.output)
    }

    /// What is shown while the run goes on.
    pub(crate) fn console(&self) -> ConsoleRequest {
        ConsoleRequest {
            talk: match (self.quiet, self.verbose) {
                (true, _) => Talk::Quiet,
                (_, true) => Talk::Verbose,
                _ => Talk::Normal,
            },
            shows_heads: self.debug,
        }
    }
}

/// The report as Markdown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MarkdownOptions {
    /// Write the result as Markdown, for a pull request; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

/// The packets of runs.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct CaptureFileOptions {
    /// Record the packets between this machine and the server in this file (pcapng)
    ///
    /// At most 1 GiB. It has whole packets, with what is secret in them, and needs root or CAP_NET_RAW. Where several runs
    /// are made, each has a file of its own: x.pcapng becomes x-1.pcapng, x-2.pcapng and so on.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
}

/// What a run fails by.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct GateOptions {
    /// Exit with status 1 if this is true of any row: 'p99 > 50 ms or failures > 0'
    ///
    /// In the language of constraints (docs/SUITES.md). It is judged with 99.8 % intervals: if they do not
    /// decide it, the result is inconclusive (status 3). 'p99(Get1K) > 50 ms' is about one row. Of several
    /// runs, each is judged on its own.
    #[arg(long, value_name = "CONSTRAINT", value_parser = constraint)]
    pub(crate) fail_if: Option<Constraint>,
}

/// Formats beside the text.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FormatOptions {
    /// Write the result as a JSON document; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write one CSV row per test; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write rows and constraints as test cases for CI systems: JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write one CSV row per operation: all samples of the run; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) markdown: MarkdownOptions,

    #[command(flatten)]
    pub(crate) figures: FigureOptions,

    /// Layout of the report [default: full; brief for demo]
    #[arg(long, value_parser = choice(LAYOUT), value_name = "LAYOUT")]
    pub(crate) layout: Option<TextLayout>,

    /// When to use colours
    #[arg(long, value_parser = choice(COLOR), default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

impl FormatOptions {
    /// Of a report whose text goes there.
    pub(crate) fn request(&self, output: &Option<PathBuf>) -> ReportRequest {
        ReportRequest {
            answer: AnswerRequest {
                output: output.clone(),
                json: self.json.clone(),
                markdown: self.markdown.markdown.clone(),
                figures: self.figures.request(),
                color: self.color,
            },
            csv: self.csv.clone(),
            junit: self.junit.clone(),
            log: self.log.clone(),
            layout: self.layout.unwrap_or_default(),
        }
    }
}
