//! The command line of `prestan diagnose`. The comments on its fields are what `--help` prints.

use clap::Args;

use super::{AnswerOptions, CONNECTING, ClockOptions, ConnectOptions, RunsOptions};

#[derive(Debug, Args)]
#[command(override_usage = "prestan diagnose [OPTIONS] [RUN]...\n       \
                            prestan diagnose [OPTIONS] <URL>\n       \
                            prestan diagnose [OPTIONS] --server <NAME>")]
pub(crate) struct DiagnoseArgs {
    /// Recorded runs, by directory or name, or the URL of a server to measure now
    #[arg(value_name = "RUN or URL")]
    pub(crate) subjects: Vec<String>,

    /// Start this server (see `prestan servers`), measure it, stop it
    #[arg(long, value_name = "NAME", conflicts_with = "subjects", conflicts_with_all = CONNECTING)]
    pub(crate) server: Option<String>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) connect: ConnectOptions,

    #[command(flatten)]
    pub(crate) answer: AnswerOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,
}

#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "How to measure, where it is done now")]
pub(crate) struct Measuring {
    /// Suites to measure with: built-in ones, or files
    #[arg(long, value_name = "SUITE", value_delimiter = ',',
          default_values_t = ["prestan", "listing", "locks", "features"].map(String::from))]
    pub(crate) suite: Vec<String>,

    /// Times each user goes through each test [default: 100 of prestan, and as the others say]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests: Option<u32>,

    /// Users at work at the same time, each on a connection and in a collection of its own
    /// [default: 1]
    #[arg(short, long, visible_alias = "users", value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) concurrency: Option<u32>,

    /// Users of a further, short run, which looks for requests that fail or are not done sooner when
    /// several users are at work; 1 for none. Where it is not given, a server at a URL is asked for no
    /// LOCK in it: one lock database is known that does not survive that (mod_dav_fs) [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) load_users: Option<u32>,

    /// Not these tests, by name or pattern ('*x10000'); may be repeated
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
}
