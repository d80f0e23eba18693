//! The command line of `prestan lab`. The comments on fields are the texts of `--help`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use terminal::figure_files::PagePlace;
use terminal::screen::ColorChoice;
use topology::QueueSpec;
use traffic::{BitRate, Percentage, TimeSpan};

use crate::args::choices::{COLOR, choice};
use crate::args::whole;

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) action: LabAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabAction {
    /// List the built-in labs
    List,
    /// Print the topology of a lab: nodes with their addresses, and links
    Show {
        /// Name of a built-in lab (see `prestan lab list`), or a lab file
        #[arg(value_name = "LAB")]
        lab: String,

        /// Write a picture of it, too
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Build a lab, and measure rate, delay and loss of every link in each direction
    ///
    /// Exit status 1 if a link is not as described: the rate differs by more than 2 %, the delay by
    /// more than 0.1 ms, or the loss by more than chance.
    Check {
        /// Name of a built-in lab, or a lab file
        #[arg(value_name = "LAB")]
        lab: String,

        /// Write the result as a JSON document; - is standard output, instead of the table
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Start a shell in a host of a lab
    Shell(LabShellArgs),
    /// Run a command in a host of a lab
    ///
    /// The lab ends with the command, and so do all programs in it. The exit status is that of the
    /// command. A `prestan` in the lab starts servers (--server) in the lab's host for servers.
    /// Inside a lab, --lab is not needed: the command runs in another host of the same one.
    Exec(LabExecArgs),
    /// Run a command at one end of a link; servers that it starts are at the other
    ///
    /// The hosts are `client`, in which the command runs, and `server`, in which a `prestan` in it
    /// starts servers (--server). Each option holds for both directions: a round trip has twice the
    /// delay. What is not given is as fast as this machine.
    Link(LabLinkArgs),
    /// List the built-in experiments
    Experiments {
        /// Print the JSON schema of experiment files instead, for editors
        #[arg(long)]
        schema: bool,
    },
    /// Measure an experiment: every cell in a laboratory built for it, several times
    ///
    /// The cells are measured in random order, once in each repetition. What has been measured is
    /// kept: the same command goes on with a campaign that was interrupted. At the end it prints
    /// tables with published figures beside those that were measured, and findings, and writes a
    /// page.
    ///
    /// Exit status 4 if nothing could be measured.
    Run(Box<LabRunArgs>),
    /// Print the report of a campaign again, from its record
    Report(LabReportArgs),
    /// Print the JSON schema of lab files, for editors
    Schema,
}

/// A lab, and the host of its servers.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhichLab {
    /// Name of a built-in lab, or a lab file [default: the lab around this command]
    #[arg(long, value_name = "LAB")]
    pub(crate) lab: Option<String>,

    /// Host in which servers are started [default: that of the lab file, or `server`]
    #[arg(long, value_name = "HOST", requires = "lab")]
    pub(crate) server_host: Option<String>,

    /// Servers listen at the IPv6 address of their host
    #[arg(long, requires = "lab")]
    pub(crate) server_ipv6: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabShellArgs {
    /// Name of the host
    #[arg(value_name = "HOST")]
    pub(crate) host: String,

    #[command(flatten)]
    pub(crate) which: WhichLab,
}

#[derive(Debug, Args)]
pub(crate) struct LabExecArgs {
    #[command(flatten)]
    pub(crate) which: WhichLab,

    /// Name of the host
    #[arg(value_name = "HOST")]
    pub(crate) host: String,

    /// Command, with its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        num_args = 1..
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct LabLinkArgs {
    /// Rate: 10mbit, 1gbit
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<BitRate>,

    /// Time that a packet is on the wire, in each direction: 50ms; without a unit it is in seconds
    #[arg(long, value_name = "TIME")]
    pub(crate) delay: Option<TimeSpan>,

    /// Most that the delay is longer or shorter
    #[arg(long, value_name = "TIME", requires = "delay")]
    pub(crate) jitter: Option<TimeSpan>,

    /// Share of packets that is lost: 1%
    #[arg(long, value_name = "PERCENT")]
    pub(crate) loss: Option<Percentage>,

    /// Room for packets that wait for the rate: a number of packets, a size (64KiB), codel or
    /// fq-codel [default: 100]
    #[arg(long, value_name = "LENGTH", requires = "rate")]
    pub(crate) queue: Option<QueueSpec>,

    /// Largest packet in bytes [default: 1500]
    #[arg(long, value_name = "BYTES", value_parser = whole(1280..=65_535_u32))]
    pub(crate) mtu: Option<u32>,

    /// Congestion control of both hosts: cubic, reno, bbr
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(crate) congestion: String,

    /// Servers listen at the IPv6 address of their host
    #[arg(long)]
    pub(crate) server_ipv6: bool,

    /// Command, with its arguments
    #[arg(value_name = "COMMAND", last = true, required = true, num_args = 1..)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct LabRunArgs {
    /// Name of a built-in experiment (see `prestan lab experiments`), or an experiment file
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: String,

    /// Measure only cells with these levels, by FACTOR=LEVEL[,LEVEL], or by a level that only one
    /// factor has; may be repeated
    #[arg(long, value_name = "[FACTOR=]LEVEL")]
    pub(crate) scenario: Vec<String>,

    /// Measure these servers instead of those of the experiment
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    pub(crate) server: Vec<String>,

    /// Measure this suite instead of what the experiment measures: a built-in one (see `prestan
    /// suites`), or a suite file
    ///
    /// The suite runs between the same hosts beside the same background.
    #[arg(long, value_name = "SUITE")]
    pub(crate) suite: Option<String>,

    /// Of the suite, only these tests, by name or pattern ('Put*', '*Col'); may be repeated
    #[arg(long, value_name = "TEST", value_delimiter = ',', requires = "suite")]
    pub(crate) only: Vec<String>,

    /// Of the suite, requests of each test in each trial
    #[arg(short = 'r', long, value_name = "N", default_value_t = 3, requires = "suite", value_parser = whole(1..=100_000_u32))]
    pub(crate) requests: u32,

    /// Repetitions of each cell [default: as in the experiment]
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32))]
    pub(crate) repeat: Option<u32>,

    /// Measure all cells, not only those of the short version
    #[arg(long)]
    pub(crate) full: bool,

    /// Begin a new campaign, instead of going on with an unfinished one
    #[arg(long)]
    pub(crate) new: bool,

    /// Seed of the order of trials, and of everything random in them [default: random, and
    /// recorded]
    #[arg(long, value_name = "N", value_parser = whole(0_u64..))]
    pub(crate) seed: Option<u64>,

    /// Keep the campaign in this directory [default: a new one in ~/.local/state/prestan/campaigns]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,

    /// List the trials and how long they will take, and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Keep the captures of all trials [default: those of the last repetition of each cell]
    #[arg(long)]
    pub(crate) keep_captures: bool,

    #[command(flatten)]
    pub(crate) documents: CampaignDocuments,
}

#[derive(Debug, Args)]
pub(crate) struct LabReportArgs {
    /// Directory of a campaign, or the beginning of its name
    #[arg(value_name = "DIR")]
    pub(crate) campaign: PathBuf,

    /// Tables, charts, findings and published figures of this experiment, instead of those of the
    /// record
    #[arg(long, value_name = "EXPERIMENT")]
    pub(crate) experiment: Option<String>,

    /// Another campaign of the same experiment: how many of its means are where this one predicts
    /// them
    #[arg(long, value_name = "DIR")]
    pub(crate) beside: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) documents: CampaignDocuments,
}

/// Documents of a campaign beside the text.
#[derive(Debug, Clone, Args)]
pub(crate) struct CampaignDocuments {
    /// Write the page with tables and charts; for DIR/, with style and script beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PagePlace>,

    /// Write the result as a JSON document; - is standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write one CSV row for each cell and figure; - is standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write the findings as a Markdown table; - is standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_parser = choice(COLOR), default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

impl CampaignDocuments {
    /// Destinations of the documents, except the page.
    pub(crate) fn paths(&self) -> [&Option<PathBuf>; 3] {
        [&self.json, &self.csv, &self.markdown]
    }
}
