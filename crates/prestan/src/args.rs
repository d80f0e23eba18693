//! The command line. The comments on its fields are what `--help` prints.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "written for a terminal: [brackets] are optional parts, <angles> are placeholders"
)]

mod analyze;
mod beside;
mod capture;
mod choices;
mod compare;
mod connect;
mod diagnose;
mod figures;
mod gallery;
mod lab;
mod load;
mod options;
mod output;
mod runs;
mod search;
mod server;
mod suites;
mod sweep;
#[cfg(test)]
mod tests;
mod traffic;
mod webstone;

use record::NoteRecord;
use std::ffi::OsString;
use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, CommandFactory, Parser, Subcommand};
use constraint::Constraint;
use runner::RunnerError;
use runner::words::may_be_url;
use testbed::Slowdown;

use crate::exit::ExitStatus;

pub(crate) use analyze::AnalyzeArgs;
pub(crate) use beside::BesideOptions;
pub(crate) use capture::CaptureArgs;
pub(crate) use compare::{CompareArgs, SideOptions, VerdictOptions};
pub(crate) use connect::ConnectOptions;
use connect::connecting;
pub(crate) use diagnose::DiagnoseArgs;
pub(crate) use figures::FigureOptions;
pub(crate) use gallery::GalleryArgs;
pub(crate) use lab::{
    CampaignDocuments, LabAction, LabArgs, LabExecArgs, LabLinkArgs, LabOptions, LabReportArgs,
    LabRunArgs, LabShellArgs, WhichLab,
};
pub(crate) use load::{LoadArgs, RequestOptions};
pub(crate) use options::{
    ClockOptions, FlameOptions, LabelOptions, LoadOptions, MeasuringOptions, PipelineOptions,
    RoundsOptions, RunOptions, RunningOptions, SuiteOptions, VerifyOptions, WARMUP, WarmupOptions,
    WritesOptions,
};
pub(crate) use output::{
    AnswerOptions, CaptureFileOptions, FormatOptions, GateOptions, JunitOptions, OutputOptions,
    RunsOptions,
};
pub(crate) use runs::{RunsAction, RunsArgs};
pub(crate) use search::{SearchArgs, SearchOptions};
pub(crate) use server::{ServerOptions, ServersArgs, ServersOptions, StartOptions, of_command};
pub(crate) use suites::{SuitesAction, SuitesArgs};
pub(crate) use sweep::{SweepArgs, Vary};
pub(crate) use traffic::{
    AllowedNetwork, BackgroundArgs, MaxRate, TrafficAction, TrafficArgs, TrafficRunArgs,
    TrafficSinkArgs,
};
pub(crate) use webstone::{ChildrenOptions, PagesOptions, WebstoneArgs};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const ABOUT: &str = "Benchmark WebDAV and HTTP servers, with latencies you can trust.";

const LONG_ABOUT: &str = "\
Benchmark WebDAV and HTTP servers, with latencies you can trust.

`prestan URL` runs the 23 tests of the original Prestan (Xu 2004): PROPPATCH, PROPFIND, PUT, GET, \
COPY, MOVE, DELETE, MKCOL, LOCK and UNLOCK, on single resources and on whole collections. The \
response time of an operation is the time from the last byte of the request sent to the first \
byte of the response received.

Prestan works only below a collection PrestanTest-<run id>/, which it creates, and which it removes at \
the end, after an error, and on Ctrl-C.";

const AFTER: &str = "\
Examples:
  prestan http://127.0.0.1:8080/dav -r 100
  prestan dav.example.org/files --user ann --password-file secret -c 15
  prestan run prestan --server apache
  prestan demo

Environment:
  PRESTAN_USER, PRESTAN_PASSWORD, PRESTAN_TOKEN  credentials, which the process list does not show
  NETRC           file that --netrc reads, instead of ~/.netrc
  XDG_STATE_HOME  runs are saved in its prestan/runs, instead of ~/.local/state/prestan/runs
  NO_COLOR        no colours, unless --color always is given
  CLICOLOR_FORCE  colours in pipes, too
  TERM            dumb, or none: no colours, and lines instead of a progress bar
  LC_ALL, LANG    without UTF-8: signs in ASCII, such as us for microseconds
  COLUMNS         width of the report, from 40 to 160

Exit status:
  0    success
  1    a test or a constraint failed, --fail-if was true, or a file could not be written on this machine
  2    wrong usage, or an invalid suite file
  3    nothing failed, but the result is inconclusive: too few operations, a constraint that is not decided,
       or the load generator may have changed it
       (--inconclusive pass|fail makes it 0 or 1)
  4    the target could not be reached, or is not a WebDAV server
  130  interrupted by Ctrl-C (SIGINT), 143 by SIGTERM, 129 by SIGHUP: after cleaning up, it ends
       by the signal; one that is ignored when it starts (nohup) stays ignored";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "prestan",
    version,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = "See `prestan --help` for details; `prestan demo` measures an embedded server.",
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
    pub(crate) fn inconclusive(&self) -> Option<ExitStatus> {
        let Some(command) = &self.command else {
            return self.classic.options.output.answer.inconclusive;
        };
        match command {
            Command::Run(args) => args.options.output.answer.inconclusive,
            Command::Load(args) => args.output.answer.inconclusive,
            Command::Webstone(args) => args.output.answer.inconclusive,
            Command::Demo(args) => args.output.answer.inconclusive,
            Command::Compare(args) => args.answer.inconclusive,
            Command::Sweep(args) => args.answer.inconclusive,
            Command::Search(args) => args.answer.inconclusive,
            Command::Diagnose(args) => args.answer.inconclusive,
            Command::Report(args) => args.answer.inconclusive,
            Command::Runs(_)
            | Command::Gallery(_)
            | Command::Analyze(_)
            | Command::Suites(_)
            | Command::Servers(_)
            | Command::Serve(_)
            | Command::Traffic(_)
            | Command::Capture(_)
            | Command::Lab(_)
            | Command::Clean(_)
            | Command::Completions { .. }
            | Command::Man { .. } => None,
        }
    }
}

/// The line of 2004: `prestan URL [USER PASSWORD] [options]`.
#[derive(Debug, Args)]
pub(crate) struct ClassicArgs {
    /// Collection to measure in: [http[s]://]host[:port]/path
    #[arg(value_name = "URL", required = true)]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) login: Login,

    #[command(flatten)]
    pub(crate) options: RunOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

/// User and password as in 2004.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Login {
    /// User name; --user is safer, because the process list does not show its password
    #[arg(value_name = "USER", requires = "login_password")]
    pub(crate) login_user: Option<String>,

    /// Password; visible to every user of this machine in the process list
    #[arg(value_name = "PASSWORD")]
    pub(crate) login_password: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a suite: a built-in one, or a suite file
    Run(Box<RunArgs>),
    /// Repeat one request, or a suite, at full speed or at a given rate
    ///
    /// Without --rate the load is a closed loop: each user sends its next request when it has the
    /// response to the last one. With --rate it is an open loop: a schedule decides when requests
    /// begin, whatever the server does, and latencies from schedule are reported beside response
    /// times.
    ///
    /// Methods that only read need no permission, nor does PUT to a new name: the resource is removed
    /// at the end. All others need --writes.
    Load(Box<LoadArgs>),
    /// Print the report of a recorded run again, without the server
    ///
    /// All numbers are computed from the samples in the run's directory, and are the same as at the
    /// end of the run.
    Report(Box<ReportArgs>),
    /// List, show, rename and remove recorded runs
    ///
    /// A command that takes a run accepts its name, an unambiguous beginning of its name, or its
    /// directory. A run in progress is neither renamed nor removed.
    Runs(RunsArgs),
    /// Compare servers: a verdict for each test (slower, faster, same, inconclusive)
    ///
    /// A and B are servers, given by URL, recipe (--server) or command (--start-a, --start-b). They are
    /// measured side by side, in turns within each test, so that other activity on this machine affects
    /// both. Alternatively, A and B are recorded runs, given by directory or name; several runs of one
    /// server are separated by commas. If more than two are given, each is compared with the first.
    Compare(Box<CompareArgs>),
    /// Vary parameters, and find how response times depend on them
    ///
    /// Runs a suite repeatedly with different parameters, in random order, and reports which
    /// operations become slower with which parameter, and by which law (a constant plus a power law,
    /// with intervals).
    Sweep(Box<SweepArgs>),
    /// Find the largest load under which a condition holds
    ///
    /// prestan search http://127.0.0.1:8080/index.html --find users --while 'p99 < 50ms and
    /// failures == 0' doubles the load until the condition fails, then bisects, and confirms the
    /// result. Methods that only read need no permission; all others need --writes.
    Search(Box<SearchArgs>),
    /// Fetch pages with many clients, as WebSTONE did in 1995
    ///
    /// Example: prestan webstone general http://127.0.0.1:8080/ --prepare --children 24 --duration 1m.
    /// 24 children fetch pages of several files, chosen by weight, as fast as the server sends them.
    /// The report gives complete pages per minute and the WEBSTONE number.
    Webstone(Box<WebstoneArgs>),
    /// Measure all installed servers, and write a web site with the results
    ///
    /// Starts every recipe of `prestan servers`, and measures all of them side by side, in turns
    /// within each test. The site has a page for each server and for each test, a comparison, and a
    /// page that describes the measurement.
    Gallery(Box<GalleryArgs>),
    /// Find what to fix first: findings, each with its evidence and what to look at
    ///
    /// Reads recorded runs, given by directory or name (default: the last run, and the runs of other
    /// suites on the same server just before it), or measures a server, given by URL or recipe
    /// (--server), with the suites prestan, listing, locks and features. A measurement takes some
    /// minutes.
    Diagnose(Box<DiagnoseArgs>),
    /// Analyse a packet capture: why transfers were slow, connections, requests, round trips
    ///
    /// Reads captures of any program (pcap, pcapng). Findings stand first, most costly first, each with
    /// its packets and what to look at; then connections and requests. docs/CAPTURES.md defines the
    /// figures.
    Analyze(Box<AnalyzeArgs>),
    /// List, print or check suites
    Suites(SuitesArgs),
    /// List the servers that Prestan can start
    Servers(ServersArgs),
    /// Start an embedded server and measure it: a demonstration without any set-up
    Demo(Box<DemoArgs>),
    /// Serve a directory over WebDAV, on this machine only, until Ctrl-C
    Serve(ServeArgs),
    /// Send, receive and describe background traffic (docs/TRAFFIC.md)
    ///
    /// A traffic file describes flows that load a network while a suite is measured. `--background FILE` of
    /// commands that measure (`run`, `load`, `webstone`, `compare`, `sweep`, `search`) sends them beside the
    /// measurement.
    Traffic(TrafficArgs),
    /// Record packets in a file
    ///
    /// Packets of loopback are recorded once, as the client sees them: requests when they leave it, responses when
    /// they arrive. The file has whole packets, with passwords in them that were not encrypted, and is
    /// readable by its owner only. `prestan run --capture FILE` records the packets of a run.
    ///
    /// Capturing needs root or CAP_NET_RAW, or --isolated.
    Capture(CaptureArgs),
    /// Build networks of hosts and links on this machine, and run programs in them (docs/LABS.md)
    ///
    /// A lab is a set of network namespaces: hosts, routers and switches, with links that have a rate, a queue, a
    /// delay and loss. It ends with the command that built it. Root is not needed where the system allows
    /// user namespaces. For example, Apache over a link of 10 Mbit/s and 50 ms:
    ///
    /// prestan lab link --rate 10mbit --delay 50ms -- prestan run prestan --server apache
    Lab(LabArgs),
    /// Clean up: remove the leftovers of a killed run from a server
    ///
    /// A run works in collections PrestanTest-<run id>/ and puts a marker into each. Collections with
    /// a marker whose run has ended are removed, with the locks in them; nothing else is changed. A
    /// run on another machine or in another container counts as ended after a day. If a server
    /// hides lock tokens, locks of this user's runs on this machine are released all the same: a run
    /// keeps its tokens in ~/.local/state/prestan/locks until it ends. A lock granted at the moment of
    /// the kill has no saved token, and expires by its timeout.
    Clean(Box<CleanArgs>),
    /// Print a completion script for a shell
    ///
    /// For bash: prestan completions bash > ~/.local/share/bash-completion/completions/prestan
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one for each command
    ///
    /// To read it: prestan man | man -l -
    Man {
        /// Directory in which to write prestan.1, prestan-load.1 and so on [default: print the page of
        /// prestan]
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Name of a built-in suite (see `prestan suites`), or a suite file
    #[arg(value_name = "SUITE")]
    pub(crate) suite: String,

    /// Collection to measure in: [http[s]://]host[:port]/path
    #[arg(
        value_name = "URL",
        required_unless_present_any = ["server", "start"],
        conflicts_with_all = ["server", "start"]
    )]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) login: Login,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) writes: WritesOptions,

    #[command(flatten)]
    pub(crate) beside: BesideOptions,

    #[command(flatten)]
    pub(crate) options: RunOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

/// Refuses a first word that is neither a command nor a URL, and similar to a command: it would be
/// taken for the name of a host.
pub(crate) fn refuse_mistyped_command(first: Option<OsString>) -> Result<(), RunnerError> {
    let Some(word) = first.as_ref().and_then(|word| word.to_str()) else {
        return Ok(());
    };
    if word.starts_with('-') || may_be_url(word) {
        return Ok(());
    }
    let program = Cli::command();
    let commands = program.get_subcommands().map(clap::Command::get_name);
    let commands: Vec<&str> = commands.chain(["help"]).collect();
    match nearest::meant(word, commands.iter().copied()) {
        Some(command) if !commands.contains(&word) => Err(RunnerError::Usage(format!(
            "`{word}` is not a command; did you mean `{command}`? (to measure a host of this name, \
             write http://{word}/)"
        ))),
        _ => Ok(()),
    }
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

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Name of the run, its beginning, or directory [default: the latest run]
    ///
    /// Several runs are shown side by side, with --html, --svg or --png.
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,

    /// Judge the run by the constraints of this file instead of its own: a suite, or `constraints:` alone
    ///
    /// The exit status is then that of the verdict: 0, 1 (fail) or 3 (inconclusive).
    #[arg(long, value_name = "FILE")]
    pub(crate) judge: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) gate: GateOptions,

    #[command(flatten)]
    pub(crate) labels: LabelOptions,

    #[command(flatten)]
    pub(crate) answer: AnswerOptions,

    #[command(flatten)]
    pub(crate) formats: FormatOptions,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) load: LoadOptions,

    #[command(flatten)]
    pub(crate) labels: LabelOptions,

    #[command(flatten)]
    pub(crate) background: BackgroundArgs,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) packets: CaptureFileOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directory to serve [default: a temporary one, removed at the end]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = whole(0..=65_535_u16))]
    pub(crate) port: u16,

    /// Delay each response to METHOD by this time, to try out comparisons: PROPFIND=50us
    ///
    /// The server computes for this time before it responds.
    #[arg(long, value_name = "METHOD=TIME", value_parser = slowdown)]
    pub(crate) slow: Option<Slowdown>,
}

fn slowdown(text: &str) -> Result<Slowdown, String> {
    let (method, time) = text
        .split_once('=')
        .ok_or("expected a method and a time: PROPFIND=50us")?;
    let by = positive_duration(time)?;
    if by > LONGEST_DELAY {
        return Err(format!("the longest delay is {LONGEST_DELAY:?}"));
    }
    Ok(Slowdown {
        of: method.to_ascii_uppercase(),
        by,
    })
}

/// The server works so long for each request.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Collection in which the run worked: [http[s]://]host[:port]/path
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) login: Login,

    /// Only list what would be removed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Also remove collections of other machines or containers, whose runs may still be in progress
    #[arg(long)]
    pub(crate) force: bool,

    /// Print the heads of requests and responses, with redacted credentials
    #[arg(long)]
    pub(crate) debug: bool,

    #[command(flatten)]
    pub(crate) connect: ConnectOptions,
}

fn duration(text: &str) -> Result<Duration, String> {
    suite::parse_duration(text)
}

/// Reads a constraint; its names are checked when the plan is known.
fn constraint(text: &str) -> Result<Constraint, String> {
    Constraint::parse(text).map_err(|error| error.marked(text))
}

fn size(text: &str) -> Result<u64, String> {
    suite::parse_size(text)
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it must be more than 0".to_owned()),
        duration => Ok(duration),
    }
}

/// Reads a whole number in a range.
fn whole<T>(
    range: impl RangeBounds<T> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    let bound = |word: &str, bound: Bound<&T>| match bound {
        Bound::Included(number) => format!(" {word} {number}"),
        Bound::Excluded(_) | Bound::Unbounded => String::new(),
    };
    let (from, to) = (
        bound("from", range.start_bound()),
        bound("to", range.end_bound()),
    );
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("write a whole number{from}{to}")),
    }
}

/// Reads `full`.
fn verify(text: &str) -> Result<record::Verify, String> {
    let mut all = record::Verify::ALL.into_iter();
    all.find(|verify| verify.name() == text)
        .ok_or_else(|| "write full, first, head or none".to_owned())
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// A note for the report.
fn note(text: &str) -> Result<NoteRecord, String> {
    let (name, text) = name_and_value(text).map_err(|_| "write NAME=TEXT")?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/');
    if name.is_empty() || name.chars().count() > 40 || !name.chars().all(is_name) {
        return Err(format!(
            "`{name}` is no name for a note; use up to 40 letters, digits, blanks, - _ . and /"
        ));
    }
    if text.is_empty() || text.chars().count() > 500 || text.chars().any(char::is_control) {
        return Err("the text of a note has up to 500 characters on one line".to_owned());
    }
    Ok(NoteRecord { name, text })
}

/// What reports call a server.
fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 60 || text.chars().any(char::is_control) {
        return Err("a label has up to 60 characters on one line".to_owned());
    }
    Ok(text.to_owned())
}

fn run_id(text: &str) -> Result<String, String> {
    let id = engine::is_run_id(text).then(|| text.to_owned());
    id.ok_or_else(|| "use up to 64 letters, digits, - and _".to_owned())
}
