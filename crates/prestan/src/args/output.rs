//! Formats and destinations of reports and results, and storage of runs. The comments on fields are
//! the texts of `--help`.

use std::path::PathBuf;

use clap::Args;
use constraint::Constraint;

use report::TextLayout;
use runner::local::RunStorage;
use terminal::output::{ReportRequest, ResultRequest};
use terminal::screen::ColorChoice;
use terminal::watch::{ConsoleRequest, Talk};

use super::choices::{COLOR, INCONCLUSIVE, LAYOUT, choice};
use super::{FigureOptions, constraint};
use crate::exit::ExitStatus;

/// Formats and destinations of a result: of one run, or of several.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultOptions {
    /// Write the report to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the result as a JSON document; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the result as Markdown, for a pull request; - is standard output, instead of the
    /// report
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) figures: FigureOptions,

    /// Exit status of an inconclusive result: pass (0) or fail (1) instead of 3
    #[arg(long, value_parser = choice(INCONCLUSIVE), value_name = "AS")]
    pub(crate) inconclusive: Option<ExitStatus>,

    /// When to use colours
    #[arg(long, value_parser = choice(COLOR), default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

impl ResultOptions {
    pub(crate) fn request(&self) -> ResultRequest {
        ResultRequest {
            output: self.output.clone(),
            json: self.json.clone(),
            markdown: self.markdown.clone(),
            figures: self.figures.request(),
            color: self.color,
        }
    }
}

/// Formats and destinations of the report of a run, and its storage.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    #[command(flatten)]
    pub(crate) result: ResultOptions,

    #[command(flatten)]
    pub(crate) formats: FormatOptions,

    #[command(flatten)]
    pub(crate) condition: FailIfOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    /// Do not save the run
    #[arg(long, conflicts_with = "save")]
    pub(crate) no_save: bool,

    /// Print each test and its events during the run
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Print the heads of all requests and responses to standard error, with redacted credentials
    ///
    /// The values of --header are redacted, too. Printing slows the load generator down, so the
    /// report has a warning.
    #[arg(long)]
    pub(crate) debug: bool,
}

impl OutputOptions {
    pub(crate) fn request(&self) -> ReportRequest {
        self.formats.request(&self.result)
    }

    /// Display while the run goes on.
    pub(crate) fn console(&self) -> ConsoleRequest {
        ConsoleRequest {
            talk: match (self.runs.quiet, self.verbose) {
                (true, _) => Talk::Quiet,
                (_, true) => Talk::Verbose,
                _ => Talk::Normal,
            },
            shows_heads: self.debug,
        }
    }
}

/// Storage of runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RunsOptions {
    /// Save the run in this directory, or those of a series below it [default: new directories in
    /// ~/.local/state/prestan/runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,

    /// Do not show progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl RunsOptions {
    /// Storage of the runs of a series.
    pub(crate) fn storage(&self) -> RunStorage {
        RunStorage::Series(self.save.clone())
    }
}

/// The packets of runs.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct CaptureFileOptions {
    /// Record the packets between this machine and the server in this file (pcapng)
    ///
    /// At most 1 GiB. It has whole packets, with what is secret in them, and needs root or
    /// CAP_NET_RAW. Where several runs are made, each has a file of its own: x.pcapng becomes
    /// x-1.pcapng, x-2.pcapng and so on.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
}

/// Condition that fails a run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FailIfOptions {
    /// Exit with status 1 if this is true of any row: 'p99 > 50 ms or failures > 0'
    ///
    /// In the language of constraints (docs/SUITES.md). It is judged with 99.8 % intervals, beside
    /// the constraints of the suite: if they do not decide it, the result is inconclusive (status
    /// 3). 'p99(Get1K) > 50 ms' is about one row. Of several runs, each is judged on its own.
    #[arg(long, value_name = "CONSTRAINT", value_parser = constraint)]
    pub(crate) fail_if: Option<Constraint>,
}

/// Rows as test cases.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct JunitOptions {
    /// Write rows and constraints as test cases for CI systems: JUnit XML
    ///
    /// Of a comparison, the rows of which --fail-if is true have failed.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// Formats of the report of a run, beside those of all results.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FormatOptions {
    /// Write one CSV row per test; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) cases: JunitOptions,

    /// Write one CSV row per operation: all samples of the run; - is standard output, instead of
    /// the report
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Layout of the report [default: full; brief for demo]
    #[arg(long, value_parser = choice(LAYOUT), value_name = "LAYOUT")]
    pub(crate) layout: Option<TextLayout>,
}

impl FormatOptions {
    /// The report with these formats and destinations.
    pub(crate) fn request(&self, result: &ResultOptions) -> ReportRequest {
        ReportRequest {
            result: result.request(),
            csv: self.csv.clone(),
            junit: self.cases.junit.clone(),
            log: self.log.clone(),
            layout: self.layout.unwrap_or_default(),
        }
    }
}
