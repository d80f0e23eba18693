//! The command line of `prestan compare`. The comments on fields are the texts of `--help`.

use std::time::Duration;

use clap::Args;
use runner::fail_condition::FailCondition;

use crate::args::{
    FlameOptions, JunitOptions, LabOptions, MeasuringOptions, ResultOptions, RunsOptions,
    ServersOptions, SideOptions, constraint, positive_duration, share, whole,
};

#[derive(Debug, Args)]
#[command(override_usage = "prestan compare [OPTIONS] <A> <B>...\n       \
                            prestan compare [OPTIONS] --server <A> --server <B>...\n       \
                            prestan compare [OPTIONS] --start-a <A> --start-b <B> [URL]\n       \
                            prestan compare [OPTIONS] <COMPARISON>")]
pub(crate) struct CompareArgs {
    /// URLs of servers to measure, or recorded runs: DIR, or DIR,DIR,... of one server; the name of
    /// a comparison alone shows it again
    #[arg(value_name = "A B")]
    pub(crate) sides: Vec<String>,

    #[command(flatten)]
    pub(crate) servers: ServersOptions,

    /// Start A by this command before each run, and stop it afterwards
    ///
    /// A shell runs the command in the current directory; it must stay in the foreground and end on
    /// SIGTERM. In the command and in the URLs, {{ port }} is a free port, {{ storage }} a new
    /// directory that is removed with the server, and {{ dir }} the parent of that directory.
    /// Without URLs, A and B are http://127.0.0.1:{{ port }}/.
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "start_b",
        conflicts_with_all = ["server", "unix_socket"]
    )]
    pub(crate) start_a: Option<String>,

    /// Start B by this command before each run, and stop it afterwards
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "start_a",
        conflicts_with_all = ["server", "unix_socket"]
    )]
    pub(crate) start_b: Option<String>,

    #[command(flatten)]
    pub(crate) side: SideOptions,

    #[command(flatten)]
    pub(crate) series: SeriesOptions,

    /// Exit with status 1 if this is true of any test: slower, 'slower > 5 % or inconclusive'
    ///
    /// In the language of constraints (docs/SUITES.md), with slower and faster (shares of time),
    /// broken, repaired, lost, gained and inconclusive, of each test, or of one: 'slower(Get1K) > 5
    /// %'. With --inside also cpu (the share by which B uses more processor time) and system calls
    /// on the storage, by how many B makes more: 'cpu > 2% or fsync > 0'. Tests that fail more
    /// often with B, or that only A supports, are slower than any share. 'slower 5%' is short for
    /// 'slower >= 5 %'. Tests of which it may be true, or that could not be compared, are listed as
    /// undecided; with 'slower > 5 %, undecided' these fail it as well.
    #[arg(long, value_name = "CONDITION", value_parser = fail_condition, help_heading = "Verdicts")]
    pub(crate) fail_if: Option<FailCondition>,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) flame: FlameOptions,

    #[command(flatten)]
    pub(crate) result: ResultOptions,

    #[command(flatten)]
    pub(crate) cases: JunitOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Suite and duration")]
pub(crate) struct SeriesOptions {
    /// Measure for this time; runs of the undecided tests are repeated until it is over
    ///
    /// A longer time finds smaller differences. When all rows of a test are decided, the remaining
    /// time goes to the other tests. There are at least two runs of each server.
    #[arg(long = "for", value_name = "TIME", default_value = "60s", conflicts_with = "repeat",
          value_parser = positive_duration)]
    pub(crate) budget: Duration,

    /// Number of runs of each server, with all tests, instead of a time
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32))]
    pub(crate) repeat: Option<u32>,
}

/// Parses a condition, with or without `, undecided`; its names are checked when the rows are
/// known.
fn fail_condition(text: &str) -> Result<FailCondition, String> {
    let (condition, undecided) = match text.rsplit_once(',') {
        Some((condition, end)) if end.trim() == "undecided" => (condition, true),
        _ => (text, false),
    };
    let by = condition.trim().strip_prefix("slower");
    let by = by.and_then(|by| Some((by.trim(), share(by.trim()).ok()?)));
    let written = match by {
        Some((_, 0.0)) => "slower".to_owned(),
        Some((by, _)) => format!("slower >= {by}"),
        None => condition.to_owned(),
    };
    Ok(FailCondition {
        constraint: constraint(&written)?,
        undecided,
    })
}
