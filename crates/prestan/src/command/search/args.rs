//! The command line of `prestan search`. The comments on its fields are what `--help` prints.

use std::time::Duration;

use clap::Args;
use constraint::Constraint;
use report::Find;

use crate::args::choices::{FIND, choice};
use crate::args::{
    AnswerOptions, LabOptions, MeasuringOptions, RequestOptions, RunningOptions, RunsOptions,
    ServerOptions, WarmupOptions, constraint, positive_duration, rate, whole,
};

#[derive(Debug, Args)]
#[command(
    override_usage = "prestan search [OPTIONS] --find <WHAT> --while <CONSTRAINT> [METHOD] <URL>\n       \
                            prestan search [OPTIONS] --find <WHAT> --while <CONSTRAINT> --mix <SUITE> <URL>\n       \
                            prestan search [OPTIONS] --find <WHAT> --while <CONSTRAINT> --server <NAME> [PATH]"
)]
pub(crate) struct SearchArgs {
    /// Method [default: GET] and resource; only a collection with --mix
    #[arg(value_name = "METHOD URL", required_unless_present_any = ["urls", "server", "start"], num_args = 1..=2)]
    pub(crate) request: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) options: RequestOptions,

    #[command(flatten)]
    pub(crate) search: SearchOptions,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) answer: AnswerOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchOptions {
    /// Load to maximise
    #[arg(long, value_parser = choice(FIND), value_name = "WHAT")]
    pub(crate) find: Find,

    /// Condition that must hold in at least 9 of 10 trials: 'p99 < 50 ms and failures == 0'
    ///
    /// In the language of constraints (docs/SUITES.md): mean, p50, p99, p99.9, max, failures, failure_rate,
    /// rate and others, of each row, or of one: p99(Get1K). Times and shares have units: 50 ms, 1 %. With
    /// --find rate, times are latencies from schedule. A trial holds as it was measured, without
    /// intervals. A search usually makes 40 to 80 trials, and at most 150.
    #[arg(long = "while", value_name = "CONSTRAINT", value_parser = constraint)]
    pub(crate) condition: Constraint,

    /// First load to try [default: 1 user, 10 requests/s]
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) from: Option<f64>,

    /// Largest load to try [default: 4096 users, 1000000 requests/s]
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) to: Option<f64>,

    /// Length of each trial
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = positive_duration)]
    pub(crate) duration: Duration,

    /// Connections of an open loop (--find rate) [default: 64]
    #[arg(long, value_name = "N", value_parser = whole(1..=100_000_u32))]
    pub(crate) connections: Option<u32>,

    #[command(flatten)]
    pub(crate) warmup: WarmupOptions,

    #[command(flatten)]
    pub(crate) running: RunningOptions,
}
