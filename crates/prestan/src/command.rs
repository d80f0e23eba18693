//! The command line: one file, or directory, for each sub-command. The comments are the texts of
//! `--help`.

pub(crate) mod analyze;
pub(crate) mod capture;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod diagnose;
pub(crate) mod fail_if;
pub(crate) mod gallery;
pub(crate) mod generate;
pub(crate) mod lab;
pub(crate) mod load;
mod point_verdicts;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod servers;
mod single;
pub(crate) mod suites;
pub(crate) mod sweep;
pub(crate) mod traffic;
pub(crate) mod webstone;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{CommandFactory, Parser, Subcommand};
use runner::RunnerError;
use runner::words::may_be_url;

use crate::args::{LabOptions, ResultOptions};
use crate::exit::ExitStatus;

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
    pub(crate) classic: run::ClassicArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a suite: a built-in one, or a suite file
    Run(Box<run::RunArgs>),
    /// Repeat one request, or a suite, at full speed or at a given rate
    ///
    /// Without --rate the load is a closed loop: each user sends its next request when it has the
    /// response to the last one. With --rate it is an open loop: a schedule decides when requests
    /// begin, whatever the server does, and latencies from schedule are reported beside response
    /// times.
    ///
    /// Methods that only read need no permission, nor does PUT to a new name: the resource is
    /// removed at the end. All others need --writes.
    Load(Box<load::LoadArgs>),
    /// Print the report of a recorded run again, without the server
    ///
    /// All numbers are computed from the samples in the run's directory, and are the same as at the
    /// end of the run.
    Report(Box<report::ReportArgs>),
    /// List, show, rename and remove recorded runs
    ///
    /// A command that takes a run accepts its name, an unambiguous beginning of its name, or its
    /// directory. A run in progress is neither renamed nor removed.
    Runs(runs::RunsArgs),
    /// Compare servers: a verdict for each test (slower, faster, same, inconclusive)
    ///
    /// A and B are servers, given by URL, recipe (--server) or command (--start-a, --start-b). They
    /// are measured side by side, in turns within each test, so that other activity on this machine
    /// affects both. Alternatively, A and B are recorded runs, given by directory or name; several
    /// runs of one server are separated by commas. If more than two are given, each is compared
    /// with the first.
    Compare(Box<compare::CompareArgs>),
    /// Vary parameters, and find how response times depend on them
    ///
    /// Runs a suite repeatedly with different parameters, in random order, and reports which
    /// operations become slower with which parameter, and by which law (a constant plus a power
    /// law, with intervals).
    Sweep(Box<sweep::SweepArgs>),
    /// Find the largest load under which a condition holds
    ///
    /// prestan search http://127.0.0.1:8080/index.html --find users --while 'p99 < 50ms and
    /// failures == 0' doubles the load until the condition fails, then bisects, and confirms the
    /// result. Methods that only read need no permission; all others need --writes.
    Search(Box<search::SearchArgs>),
    /// Fetch pages with many clients, as WebSTONE did in 1995
    ///
    /// Example: prestan webstone general http://127.0.0.1:8080/ --prepare --children 24 --duration
    /// 1m. 24 children fetch pages of several files, chosen by weight, as fast as the server sends
    /// them. The report gives complete pages per minute and the WEBSTONE number.
    Webstone(Box<webstone::WebstoneArgs>),
    /// Measure all installed servers, and write a web site with the results
    ///
    /// Starts every recipe of `prestan servers`, and measures all of them side by side, in turns
    /// within each test. The site has a page for each server and for each test, a comparison, and a
    /// page that describes the measurement.
    Gallery(Box<gallery::GalleryArgs>),
    /// Find what to fix first: findings, each with its evidence and what to look at
    ///
    /// Reads recorded runs, given by directory or name (default: the last run, and the runs of
    /// other suites on the same server just before it), or measures a server, given by URL or
    /// recipe (--server), with the suites prestan, listing, locks and features. A measurement takes
    /// some minutes.
    Diagnose(Box<diagnose::DiagnoseArgs>),
    /// Analyse a packet capture: why transfers were slow, connections, requests, round trips
    ///
    /// Reads captures of any program (pcap, pcapng). Findings stand first, most costly first, each
    /// with its packets and what to look at; then connections and requests. docs/CAPTURES.md
    /// defines the figures.
    Analyze(Box<analyze::AnalyzeArgs>),
    /// List, print or check suites
    Suites(suites::SuitesArgs),
    /// List the servers that Prestan can start
    Servers(servers::ServersArgs),
    /// Start an embedded server and measure it: a demonstration without any set-up
    Demo(Box<demo::DemoArgs>),
    /// Serve a directory over WebDAV, on this machine only, until Ctrl-C
    Serve(demo::ServeArgs),
    /// Send, receive and describe background traffic (docs/TRAFFIC.md)
    ///
    /// A traffic file describes flows that load a network while a suite is measured. `--background
    /// FILE` of commands that measure (`run`, `load`, `webstone`, `compare`, `sweep`, `search`)
    /// sends them beside the measurement.
    Traffic(traffic::TrafficArgs),
    /// Record packets in a file
    ///
    /// Packets of loopback are recorded once, as the client sees them: requests when they leave it,
    /// responses when they arrive. The file has whole packets, with passwords in them that were not
    /// encrypted, and is readable by its owner only. `prestan run --capture FILE` records the
    /// packets of a run.
    ///
    /// Capturing needs root or CAP_NET_RAW, or --isolated.
    Capture(capture::CaptureArgs),
    /// Build networks of hosts and links on this machine, and run programs in them (docs/LABS.md)
    ///
    /// A lab is a set of network namespaces: hosts, routers and switches, with links that have a
    /// rate, a queue, a delay and loss. It ends with the command that built it. Root is not needed
    /// where the system allows user namespaces. For example, Apache over a link of 10 Mbit/s and 50
    /// ms:
    ///
    /// prestan lab link --rate 10mbit --delay 50ms -- prestan run prestan --server apache
    Lab(lab::LabArgs),
    /// Clean up: remove the leftovers of a killed run from a server
    ///
    /// A run works in collections PrestanTest-<run id>/ and puts a marker into each. Collections
    /// with a marker whose run has ended are removed, with the locks in them; nothing else is
    /// changed. A run on another machine or in another container counts as ended after a day. If a
    /// server hides lock tokens, locks of this user's runs on this machine are released all the
    /// same: a run keeps its tokens in ~/.local/state/prestan/locks until it ends. A lock granted
    /// at the moment of the kill has no saved token, and expires by its timeout.
    Clean(Box<clean::CleanArgs>),
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
        /// Directory in which to write prestan.1, prestan-load.1 and so on [default: print the page
        /// of prestan]
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

impl Cli {
    pub(crate) fn perform(&self) -> Result<ExitStatus, RunnerError> {
        if let (_, Some(options)) = self.common()
            && options.lab.is_some()
        {
            return lab::run_inside(options);
        }
        let Some(command) = &self.command else {
            return run::classic(&self.classic);
        };
        match command {
            Command::Run(args) => run::run(args),
            Command::Load(args) => load::load(args),
            Command::Report(args) => report::report(args),
            Command::Runs(args) => runs::runs(args),
            Command::Compare(args) => compare::compare(args),
            Command::Sweep(args) => sweep::sweep(args),
            Command::Search(args) => search::search(args),
            Command::Webstone(args) => webstone::webstone(args),
            Command::Gallery(args) => gallery::gallery(args),
            Command::Diagnose(args) => diagnose::diagnose(args),
            Command::Analyze(args) => analyze::analyze(args),
            Command::Suites(args) => suites::suites(args),
            Command::Servers(args) => servers::servers(args),
            Command::Demo(args) => demo::demo(args),
            Command::Serve(args) => demo::serve(args),
            Command::Traffic(args) => traffic::traffic(args),
            Command::Capture(args) => capture::capture(args),
            Command::Lab(args) => lab::lab(args),
            Command::Clean(args) => clean::clean(args),
            Command::Completions { shell } => generate::completions(*shell),
            Command::Man { directory } => generate::man(directory.as_deref()),
        }
    }

    /// Exit status of an inconclusive result; `None` also for a command without one.
    pub(crate) fn inconclusive(&self) -> Option<ExitStatus> {
        let (result, _) = self.common();
        result.and_then(|result| result.inconclusive)
    }

    /// Common options of a command: formats of its result, and its lab.
    fn common(&self) -> (Option<&ResultOptions>, Option<&LabOptions>) {
        let Some(command) = &self.command else {
            let line = &self.classic;
            return (Some(&line.options.output.result), Some(&line.lab));
        };
        match command {
            Command::Run(args) => (Some(&args.options.output.result), Some(&args.lab)),
            Command::Load(args) => (Some(&args.output.result), Some(&args.lab)),
            Command::Webstone(args) => (Some(&args.output.result), Some(&args.lab)),
            Command::Compare(args) => (Some(&args.result), Some(&args.lab)),
            Command::Sweep(args) => (Some(&args.result), Some(&args.lab)),
            Command::Search(args) => (Some(&args.result), Some(&args.lab)),
            Command::Diagnose(args) => (Some(&args.result), Some(&args.lab)),
            Command::Gallery(args) => (None, Some(&args.lab)),
            Command::Demo(args) => (Some(&args.output.result), None),
            Command::Report(args) => (Some(&args.result), None),
            Command::Runs(_)
            | Command::Analyze(_)
            | Command::Suites(_)
            | Command::Servers(_)
            | Command::Serve(_)
            | Command::Traffic(_)
            | Command::Capture(_)
            | Command::Lab(_)
            | Command::Clean(_)
            | Command::Completions { .. }
            | Command::Man { .. } => (None, None),
        }
    }
}

/// Refuses a first word that is similar to a command, and neither a command nor a URL: it would be
/// used as the name of a host.
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
