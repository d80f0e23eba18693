//! Options of all commands that measure. The comments on fields are the texts of `--help`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use engine::ClockChoice;
use runner::RunnerError;
use runner::console::SeriesConsole;
use runner::inside::InsideRequest;
use runner::local::{LocalSeries, RunStorage};
use runner::servers::RunWays;

use record::NoteRecord;

use super::choices::{CLOCK, choice};
use super::{
    BackgroundArgs, CaptureFileOptions, ConnectOptions, OutputOptions, duration, label,
    name_and_value, note, positive_duration, run_id, verify, whole,
};

pub(crate) const WARMUP: u32 = 3;

/// Options of all commands that measure: access to servers, clocks, and views inside.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct MeasuringOptions {
    #[command(flatten)]
    pub(crate) labels: LabelOptions,

    #[command(flatten)]
    pub(crate) background: BackgroundArgs,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) connect: ConnectOptions,

    #[command(flatten)]
    pub(crate) inside: InsideOptions,

    #[command(flatten)]
    pub(crate) packets: CaptureFileOptions,
}

impl MeasuringOptions {
    /// Access to the servers of a series or a run.
    pub(crate) fn ways(&self, running: &RunningOptions) -> Result<RunWays, RunnerError> {
        Ok(RunWays {
            access: self.connect.request()?,
            run: running.request(self.clock),
        })
    }

    /// A series that is kept in `storage`, with these views inside.
    pub(crate) fn series<'a>(
        &self,
        ways: RunWays,
        storage: RunStorage,
        console: &'a dyn SeriesConsole,
    ) -> LocalSeries<'a> {
        LocalSeries {
            inside: self.inside.request(),
            capture: self.packets.capture.clone(),
            ..LocalSeries::new(ways, storage, console)
        }
    }
}

/// Options of the line of 2004, and of `prestan run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) load: LoadOptions,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) flame: FlameOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct RoundsOptions {
    /// Iterations of each test for each user [default: 10, or as in the suite; of a diagnosis, 100
    /// for prestan]
    #[arg(short, long, value_name = "N", value_parser = whole(1_u32..))]
    pub(crate) requests: Option<u32>,

    /// Concurrent users, each with its own connection and collection [default: 1]
    #[arg(short, long, visible_alias = "users", value_name = "N",
          value_parser = whole(1..=100_000_u32))]
    pub(crate) concurrency: Option<u32>,

    /// Not these tests, by name or pattern ('*x10000'); may be repeated
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
}

impl RoundsOptions {
    pub(crate) fn users(&self) -> u32 {
        self.concurrency.unwrap_or(1)
    }
}

#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct LoadOptions {
    #[command(flatten)]
    pub(crate) rounds: RoundsOptions,

    /// Dead properties to write and read [default: 10]
    #[arg(short, long, value_name = "N", value_parser = whole(1..=10_000_u32))]
    pub(crate) properties: Option<u32>,

    /// Levels of the collections that the tests create [default: 10]
    #[arg(short, long, value_name = "N", value_parser = whole(1..=1_000_u32))]
    pub(crate) depth: Option<u32>,

    /// Members in the lowest level of these collections [default: 100]
    #[arg(short, long, value_name = "N",
          value_parser = whole(0..=1_000_000_u32))]
    pub(crate) width: Option<u32>,

    /// Set another parameter of the suite; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(crate) params: Vec<(String, String)>,

    /// Only these tests, by name or pattern ('Put*', '*Col'); may be repeated
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Measure each test for this time (250ms, 30s, 10m) instead of a number of requests
    #[arg(long, value_name = "TIME", conflicts_with = "requests", value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    #[command(flatten)]
    pub(crate) verify: VerifyOptions,

    #[command(flatten)]
    pub(crate) warmup: WarmupOptions,

    /// Value of X-Prestan in requests [default: suite, number of the request, and name of the
    /// measure]
    ///
    /// 2004: as printed in the paper (Xu 2004, section 5), '(null): 6 (put1K)' for example; only
    /// for the tests of the suite prestan. Requests have no numbers then.
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) x_prestan: Option<XPrestanArg>,

    #[command(flatten)]
    pub(crate) running: RunningOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum XPrestanArg {
    /// Number and name of the test case, as printed in 2004
    #[value(name = "2004")]
    Of2004,
}

#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunningOptions {
    /// Abort an operation that has no complete response after this time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive_duration)]
    pub(crate) timeout: Duration,

    /// Seed of all random numbers [default: random, and recorded]
    #[arg(long, value_name = "N", value_parser = whole(0_u64..))]
    pub(crate) seed: Option<u64>,

    /// Leave Nagle's algorithm on: an experiment (with --two-writes: Xu 2004, figure 1)
    ///
    /// Prestan usually switches it off (TCP_NODELAY). With it, a small segment waits for the
    /// acknowledgement of the one before it, which many systems delay by 40 ms. The wait is part of
    /// response times with --clock user; with the kernel clock it precedes the moment at which the
    /// request has left, and is part of total times.
    #[arg(long, help_heading = "Connection")]
    pub(crate) nagle: bool,

    /// Send head and body of each request in two writes: an experiment (Xu 2004, figures 1 and 2)
    ///
    /// Prestan usually sends both in one, up to 32 KiB. Only for HTTP/1.
    #[arg(long, help_heading = "Connection")]
    pub(crate) two_writes: bool,

    /// Note for the report: hardware, software, tuning ('disk=NVMe, ext4'); may be repeated
    #[arg(long = "note", value_name = "NAME=TEXT", value_parser = note)]
    pub(crate) notes: Vec<NoteRecord>,

    /// Worker threads, among which the users are divided
    ///
    /// One thread is enough for hundreds of users. Further threads take processor time from a
    /// server on the same machine.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = whole(1..=256_u32))]
    pub(crate) threads: u32,

    /// Name of the run, and of its collections on the server [default: time and a random part]
    #[arg(long, value_name = "NAME", value_parser = run_id)]
    pub(crate) run_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct LabelOptions {
    /// Name of the server in reports, in place of its URL, addresses and Server header
    ///
    /// For results of servers that are not to be named. May be repeated: one for each server of a
    /// comparison or sweep, or for each run that `prestan report` shows, in their order. Records
    /// keep all; do not publish them.
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) label: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Args)]
pub(crate) struct SuiteOptions {
    /// Suite to run: a built-in one, or a suite file
    #[arg(long, value_name = "SUITE", default_value = "prestan")]
    pub(crate) suite: String,

    #[command(flatten)]
    pub(crate) writes: WritesOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Args)]
pub(crate) struct WritesOptions {
    /// Allow requests whose effects on the server remain, or that change what is there
    ///
    /// Of load and search, methods that do not only read, and PUT where a resource is replaced; of
    /// a suite as a load (--mix), one that changes the server, in a collection of the run. Of a
    /// suite with `needs: cgi` and of a list of pages, POST.
    #[arg(long)]
    pub(crate) writes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Args)]
pub(crate) struct VerifyOptions {
    /// How much of the responses is verified: full, first, head or none [default: as in the suite;
    /// first for one request]
    ///
    /// full compares the whole body of every response, first that of the first response of each
    /// user; both where the suite gives the content. head compares status, headers and length. With
    /// none every complete response is the expected one.
    #[arg(long, value_name = "WHAT", value_parser = verify)]
    pub(crate) verify: Option<record::Verify>,
}

#[derive(Debug, Clone, Copy, PartialEq, Args)]
pub(crate) struct WarmupOptions {
    /// Iterations of each test or request for each user before measuring, not recorded
    #[arg(long, value_name = "N", default_value_t = WARMUP, value_parser = whole(0_u32..))]
    pub(crate) warmup: u32,
}

/// Requests that do not wait for each other.
#[derive(Debug, Clone, Args)]
pub(crate) struct PipelineOptions {
    /// Requests in flight on each connection: a pipeline, or with --http 2 streams
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1_000_u32))]
    pub(crate) pipeline: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Server on this machine")]
pub(crate) struct InsideOptions {
    /// Look inside of the server: processor time, waiting, system calls and bytes of each operation
    ///
    /// For a server that runs on this machine: one that --server or --start starts, or one that
    /// --pid names. Figures are told for rows that can be told apart: all of a single user; of
    /// several users, those of tests with one kind of request. Where `prestan run` starts the
    /// server, times in its access log stand beside ours, too.
    #[arg(long)]
    pub(crate) inside: bool,

    /// Look inside of this process, of all that it has started, and of its service or container;
    /// may be repeated
    ///
    /// Where several servers are measured that run already, once for each of their URLs, in the
    /// same order.
    #[arg(long, value_name = "PID", value_parser = whole(1_u32..))]
    pub(crate) pid: Vec<u32>,

    /// Do not trace the server to count its system calls
    ///
    /// With --inside and --pid, a few operations of each row are repeated after the run while the
    /// server is traced (ptrace). Attaching interrupts calls that wait: epoll_wait fails with
    /// EINTR, and a server that takes that for fatal ends.
    #[arg(long)]
    pub(crate) no_trace: bool,
}

impl InsideOptions {
    pub(crate) fn request(&self) -> InsideRequest {
        InsideRequest {
            is_wanted: self.inside,
            no_trace: self.no_trace,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Args)]
#[command(next_help_heading = "Server on this machine")]
pub(crate) struct FlameOptions {
    /// Draw a flame graph of the server for each row, on the page (--html); implies --inside
    ///
    /// After the run, each test is repeated for a moment while the stacks of the server's threads
    /// are sampled (perf_event_open). The report names the functions with the most samples, and
    /// JSON has all stacks.
    #[arg(long)]
    pub(crate) flame: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Args)]
#[command(next_help_heading = "Timing")]
pub(crate) struct ClockOptions {
    /// Clock for the moments at which requests leave and responses arrive
    #[arg(long, value_parser = choice(CLOCK), default_value = "auto", value_name = "CLOCK")]
    pub(crate) clock: ClockChoice,

    /// Also record when the server's TCP had acknowledged the whole request (kernel clock only)
    #[arg(long)]
    pub(crate) acks: bool,
}
