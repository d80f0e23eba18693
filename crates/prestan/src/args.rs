//! The command line. The comments on its fields are what `--help` prints.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "written for a terminal: [brackets] are optional parts, <angles> are placeholders"
)]

mod answer;
mod compare;
mod connect;
mod diagnose;
mod figures;
mod gallery;
mod load;
mod search;
mod sweep;
mod webstone;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use answer::{AnswerOptions, RunsOptions};
pub(crate) use compare::{CompareArgs, Gate};
pub(crate) use connect::{AuthArg, CONNECTING, ConnectOptions, TlsResumptionArg};
pub(crate) use diagnose::DiagnoseArgs;
pub(crate) use figures::FigureOptions;
pub(crate) use gallery::GalleryArgs;
pub(crate) use load::{ArrivalsArg, LoadArgs, PaceOptions, RequestOptions};
pub(crate) use search::{FindArg, SearchArgs, SearchOptions};
pub(crate) use sweep::{DesignArg, SweepArgs, Vary};
pub(crate) use webstone::{ChildrenOptions, PagesOptions, WebstoneArgs};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const ABOUT: &str = "Measures WebDAV and HTTP servers from the client side.";

const LONG_ABOUT: &str = "\
Measures WebDAV and HTTP servers from the client side.

`prestan URL` runs the 23 tests of the original Prestan (Xu 2004): PROPPATCH, PROPFIND, PUT, GET, \
COPY, MOVE, DELETE, MKCOL, LOCK and UNLOCK, on single resources and on whole collections. The \
response time of an operation is the time from the last byte of the request sent to the first \
byte of the response received.

Prestan works only below a collection PrestanTest-<run id>/ that it makes itself, and removes it \
at the end, after an error, and on Ctrl-C.";

const AFTER: &str = "\
Examples:
  prestan http://127.0.0.1:8080/dav -r 100
  prestan dav.example.org/files --user ann --password-file secret -c 15
  prestan run prestan --server apache
  prestan demo

Environment:
  PRESTAN_USER, PRESTAN_PASSWORD, PRESTAN_TOKEN  credentials, kept out of the process list
  NETRC           the file that --netrc reads, instead of ~/.netrc
  XDG_STATE_HOME  runs are kept below its prestan/runs, instead of ~/.local/state/prestan/runs
  NO_COLOR        no colours, unless asked for
  COLUMNS         width of the report

Exit status:
  0    done
  1    a test failed, or something could not be written here
  2    wrong usage, or a bad suite file
  3    nothing failed, but the result is inconclusive: the load generator was the bottleneck
       (--inconclusive pass|fail makes it 0 or 1)
  4    the target could not be reached, or is not WebDAV
  130  interrupted";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "prestan",
    version,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = "`prestan --help` says more; `prestan demo` shows it at work.",
    after_long_help = AFTER,
    styles = STYLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_help_heading = "More commands",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) classic: ClassicArgs,
}

impl Cli {
    /// What an inconclusive result counts as; `None` for a command that has none, too.
    pub(crate) fn inconclusive(&self) -> Option<InconclusiveArg> {
        let Some(command) = &self.command else {
            return self.classic.options.output.inconclusive;
        };
        match command {
            Command::Run(args) => args.options.output.inconclusive,
            Command::Load(args) => args.output.inconclusive,
            Command::Webstone(args) => args.output.inconclusive,
            Command::Demo(args) => args.output.inconclusive,
            Command::Compare(args) => args.answer.inconclusive,
            Command::Sweep(args) => args.answer.inconclusive,
            Command::Search(args) => args.answer.inconclusive,
            Command::Diagnose(args) => args.answer.inconclusive,
            Command::Report(_)
            | Command::Gallery(_)
            | Command::Suites(_)
            | Command::Servers(_)
            | Command::Serve(_)
            | Command::Clean(_)
            | Command::Completions { .. }
            | Command::Man => None,
        }
    }
}

/// What an inconclusive result counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InconclusiveArg {
    /// Exit status 0
    Pass,
    /// Exit status 1
    Fail,
}

/// The line of 2004: `prestan URL [USER PASSWORD] [options]`.
#[derive(Debug, Args)]
pub(crate) struct ClassicArgs {
    /// The collection below which to measure: [http[s]://]host[:port]/path
    #[arg(value_name = "URL", required = true)]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) login: Login,

    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// User and password as in 2004.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Login {
    /// User name; better with --user, which keeps the password out of the process list
    #[arg(value_name = "USER", requires = "login_password")]
    pub(crate) login_user: Option<String>,

    /// Password; every user of this machine can read it in the process list
    #[arg(value_name = "PASSWORD")]
    pub(crate) login_password: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a suite: a built-in one, or a file of your own
    Run(Box<RunArgs>),
    /// Drive one request, or a mix of requests, at full speed or at a given rate
    ///
    /// Without --rate it is a closed loop: each user sends its next request when the last one is
    /// answered. With --rate it is an open loop: a schedule says when requests begin, whatever the
    /// server does, and response times are also given from the planned moments.
    ///
    /// Methods that only read need no permission, nor does PUT where nothing is: what it made is
    /// removed at the end. Everything else needs --writes.
    Load(Box<LoadArgs>),
    /// Print a recorded run again, without touching the server
    ///
    /// All numbers are worked out anew from the samples in the run's directory, and are the same
    /// as at the end of the run.
    Report(ReportArgs),
    /// Compare servers: is this one slower than that one, and how sure is it?
    ///
    /// A and B are servers that are measured now, side by side and test by test in turns, so that
    /// whatever this machine does meanwhile happens to both: URLs, or recipes (--server). Or they
    /// are recorded runs: directories or names, several runs of one server with commas between
    /// them. With more than two, each is compared with the first.
    Compare(Box<CompareArgs>),
    /// Vary something, and see how times grow with it
    ///
    /// The same suite again and again with other parameters, in random order: which operations
    /// become slower with what, and by which law (a constant plus a power law, with intervals).
    Sweep(Box<SweepArgs>),
    /// Find the largest load under which a condition holds
    ///
    /// prestan search http://127.0.0.1:8080/index.html --find users --while 'p99 < 50ms and
    /// failures == 0' doubles the load until that breaks, goes to and fro until it knows where, and
    /// confirms it. Methods that only read need no permission, everything else needs --writes.
    Search(Box<SearchArgs>),
    /// Load pages from many clients, as WebSTONE did in 1995
    ///
    /// prestan webstone general http://127.0.0.1:8080/ --prepare --children 24 --duration 1m has 24
    /// children fetch pages of several files, drawn by weight, as fast as the server sends them, and
    /// reports complete pages a minute beside the WEBSTONE number.
    Webstone(Box<WebstoneArgs>),
    /// Measure all servers that are installed, and write a site about them
    ///
    /// Every recipe of `prestan servers` is started, and all are measured side by side, test by test
    /// in turns. The site has a page for each server and each test, a comparison, and how it was
    /// measured.
    Gallery(Box<GalleryArgs>),
    /// Find what should be fixed first: findings, each with its evidence and what to look at
    ///
    /// Of recorded runs, by directory or name; without any, of the last one and of those of other
    /// suites on the same server just before it. Or of a server that is measured now, with the
    /// suites prestan, listing and locks: a URL, or a recipe (--server). That takes some minutes.
    Diagnose(Box<DiagnoseArgs>),
    /// List, print or check suites
    Suites(SuitesArgs),
    /// List the servers that Prestan can start by itself
    Servers(ServersArgs),
    /// Start an embedded server and measure it: a first look, with nothing to set up
    Demo(DemoArgs),
    /// Serve a directory by WebDAV, on this machine only, until Ctrl-C
    Serve(ServeArgs),
    /// Remove what a killed run left on a server
    ///
    /// Runs work in collections PrestanTest-<run id>/ and put a marker into them. Those that have
    /// it, and whose run has ended, are removed, with the locks in them. Nothing else is touched.
    /// Whether a run on another machine or in another container has ended is only known after a
    /// day. Where a server hides the tokens of locks, those that a run of this user on this machine
    /// held are released all the same: until it ends it keeps them in ~/.local/state/prestan/locks.
    Clean(CleanArgs),
    /// Print a completion script for a shell
    ///
    /// For bash: prestan completions bash > ~/.local/share/bash-completion/completions/prestan
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    ///
    /// To read it: prestan man | man -l -
    Man,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Name of a built-in suite (see `prestan suites`), or a file
    #[arg(value_name = "SUITE")]
    pub(crate) suite: String,

    /// The collection below which to measure: [http[s]://]host[:port]/path
    #[arg(value_name = "URL", required_unless_present = "server")]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) login: Login,

    /// Start this server (see `prestan servers`), measure it, stop it
    #[arg(long, value_name = "NAME", conflicts_with = "url", conflicts_with_all = CONNECTING)]
    pub(crate) server: Option<String>,

    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// Options as they are where none is given.
pub(crate) fn defaults<T: Args>() -> T {
    let matches = T::augment_args(clap::Command::new("")).try_get_matches_from([""]);
    let defaults = matches.and_then(|matches| T::from_arg_matches(&matches));
    defaults.unwrap_or_else(|error| unreachable!("no option is required: {error}"))
}

/// Whether one of these options was given.
pub(crate) fn is_given<T: Args + PartialEq>(options: &T) -> bool {
    *options != defaults()
}

/// Times each user goes through each test before measuring, unless something else is said.
pub(crate) const WARMUP: u32 = 3;

/// Options of everything that measures.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) load: LoadOptions,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) connect: ConnectOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "What to do")]
pub(crate) struct LoadOptions {
    /// Times each user goes through each test [default: 10, or as the suite says]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests: Option<u32>,

    /// Users at work at the same time, each on a connection and in a collection of its own
    /// [default: 1]
    #[arg(short, long, visible_alias = "users", value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) concurrency: Option<u32>,

    /// Dead properties that are written and read [default: 10]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) properties: Option<u32>,

    /// Levels of the collections that the tests make [default: 10]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) depth: Option<u32>,

    /// Members of the lowest level of these collections [default: 100]
    #[arg(short, long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) width: Option<u32>,

    /// Set another parameter of the suite; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(crate) params: Vec<(String, String)>,

    /// Only these tests, by name or pattern ('Put*', '*Col'); may be repeated
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Not these tests, by name or pattern; may be repeated
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,

    /// Measure each test this long (250ms, 30s, 10m) instead of a number of requests
    #[arg(long, value_name = "TIME", conflicts_with = "requests", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// Times each user goes through each test before measuring, not recorded
    #[arg(long, value_name = "N", default_value_t = WARMUP)]
    pub(crate) warmup: u32,

    #[command(flatten)]
    pub(crate) running: RunningOptions,
}

/// Options of every run, whatever it does.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "How to run it")]
pub(crate) struct RunningOptions {
    /// Give an operation up that has no complete answer after this long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive_duration)]
    pub(crate) timeout: Duration,

    /// Seed of everything random [default: drawn, and kept with the run]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Threads the users are spread over
    ///
    /// One thread serves hundreds of users. More than one takes processor time from a server on
    /// the same machine.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: u32,

    /// Name of the run, and of its collections on servers [default: time and a random part]
    #[arg(long, value_name = "NAME", value_parser = run_id)]
    pub(crate) run_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Args)]
#[command(next_help_heading = "How to time")]
pub(crate) struct ClockOptions {
    /// Which clock says when a request left and its answer arrived
    #[arg(long, value_enum, default_value_t = ClockArg::Auto, value_name = "CLOCK")]
    pub(crate) clock: ClockArg,

    /// Also ask the kernel when the server's TCP had acknowledged the whole request
    #[arg(long)]
    pub(crate) acks: bool,
}

/// Which clock to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ClockArg {
    /// The kernel's where the system has time stamps, else that of user space, with a warning
    #[default]
    Auto,
    /// The kernel's time stamps of packets
    Kernel,
    /// Read around the system calls: cheaper, and late by the time it takes to wake up
    User,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What comes out")]
pub(crate) struct OutputOptions {
    /// Write the report to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) formats: FormatOptions,

    /// What an inconclusive result counts as (exit status 0 or 1 in place of 3)
    #[arg(long, value_enum, value_name = "AS")]
    pub(crate) inconclusive: Option<InconclusiveArg>,

    /// Keep the run in this directory [default: one below ~/.local/state/prestan/runs]
    #[arg(long, value_name = "DIR", conflicts_with = "no_save")]
    pub(crate) save: Option<PathBuf>,

    /// Keep nothing of the run
    #[arg(long)]
    pub(crate) no_save: bool,

    /// No progress while it runs
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Tell what happens, test by test, while it runs
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Show the heads of all requests and responses on standard error, without credentials
    ///
    /// Nor are the values of --header shown. This takes time from measuring, and the report says
    /// so.
    #[arg(long)]
    pub(crate) debug: bool,
}

/// Formats beside the text.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FormatOptions {
    /// Write the result as one JSON document; - is standard output instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a row a test; - is standard output instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write a row an operation: all samples of the run, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) figures: FigureOptions,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = ColorArg::Auto, value_name = "WHEN")]
    pub(crate) color: ColorArg,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorArg {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Directory of the run, or its name [default: the latest run]
    ///
    /// Several are drawn side by side, with --html, --svg or --png.
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,

    /// Write the report to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) formats: FormatOptions,
}

#[derive(Debug, Args)]
pub(crate) struct SuitesArgs {
    #[command(subcommand)]
    pub(crate) action: Option<SuitesAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuitesAction {
    /// List the built-in suites
    List,
    /// Print a built-in suite: a starting point for one of your own
    Show {
        /// Its name
        name: String,
    },
    /// Check a suite file
    Check {
        /// The file, or the name of a built-in suite
        file: String,
    },
    /// Print the JSON schema of suite files, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) load: LoadOptions,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directory to serve [default: a temporary one, removed at the end]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Port on 127.0.0.1; 0 is a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// The collection in which runs took place: [http[s]://]host[:port]/path
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) login: Login,

    /// Only say what would be removed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Remove also those of another machine or container, whose run may still go on
    #[arg(long)]
    pub(crate) force: bool,

    /// Show the heads of requests and responses, without credentials
    #[arg(long)]
    pub(crate) debug: bool,

    #[command(flatten)]
    pub(crate) connect: ConnectOptions,
}

fn duration(text: &str) -> Result<Duration, String> {
    suite::parse_duration(text)
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it must be more than 0".to_owned()),
        duration => Ok(duration),
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn run_id(text: &str) -> Result<String, String> {
    match engine::is_run_id(text) {
        true => Ok(text.to_owned()),
        false => Err("use up to 64 letters, digits, - and _".to_owned()),
    }
}
