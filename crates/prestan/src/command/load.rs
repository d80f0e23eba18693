//! `prestan load`: one repeated request, or a mix.

use std::time::Duration;

use clap::Args;
use record::Arrivals;
use runner::RunnerError;
use runner::failing::MaxFailures;
use runner::load::pace::PaceRequest;
use runner::load::{LoadWorkload, pace};
use runner::local::RunTask;
use runner::servers::one_labelled;
use terminal::output;

use crate::args::choices::{ARRIVALS, choice};
use crate::args::{
    LabOptions, MeasuringOptions, OutputOptions, PipelineOptions, RequestOptions, RunningOptions,
    ServerOptions, WarmupOptions, duration, positive_duration, rate, whole,
};
use crate::command::single::{SingleRun, single};
use crate::exit::ExitStatus;

#[derive(Debug, Args)]
#[command(
    override_usage = "prestan load [OPTIONS] [METHOD] <URL>\n       \
                            prestan load [OPTIONS] --urls <FILE> [METHOD] [URL]\n       \
                            prestan load [OPTIONS] --mix <SUITE> <URL>\n       \
                            prestan load [OPTIONS] --server <NAME> [PATH]",
    // As in curl. In the line of 2004, -d is the depth.
    mut_arg("body", |arg| arg.short('d')),
    mut_arg("header", |arg| arg.short('H')),
    mut_arg("insecure", |arg| arg.short('k')),
    mut_arg("user", |arg| arg.short('u'))
)]
pub(crate) struct LoadArgs {
    /// Method: GET, PROPFIND, PUT... [default: GET, or POST with a body]; none with --mix
    #[arg(value_name = "METHOD", required_unless_present_any = ["urls", "server", "start"])]
    pub(crate) first: Option<String>,

    /// Resource, or collection with --mix: [http[s]://]host[:port]/path[?query]
    ///
    /// The path may be a template: 'file-{{ n % 1000 }}' is another file for each request of a
    /// user, with the number of the request (n, from 1) and that of the user (user, from 0), + - *
    /// // % and ( ).
    #[arg(value_name = "URL")]
    pub(crate) second: Option<String>,

    /// Method, instead of the one before the URL
    #[arg(short = 'X', long, value_name = "METHOD", conflicts_with_all = ["second", "mix"],
          help_heading = "Request")]
    pub(crate) method: Option<String>,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) request: RequestOptions,

    #[command(flatten)]
    pub(crate) pace: PaceOptions,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

impl LoadArgs {
    /// Method and URL, if given.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = [&self.method, &self.first, &self.second];
        words.into_iter().flatten().cloned().collect()
    }
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct PaceOptions {
    /// Concurrent users, each with a connection of its own [default: 1; with --rate or --stages 64]
    #[arg(short = 'c', long, visible_aliases = ["concurrency", "connections"], value_name = "N",
          value_parser = whole(1..=100_000_u32))]
    pub(crate) users: Option<u32>,

    /// Open loop: requests per second
    #[arg(long, value_name = "N", value_parser = rate, conflicts_with = "stages")]
    pub(crate) rate: Option<f64>,

    /// Open loop with several rates: 100/s@30s,500/s@1m
    #[arg(long, value_name = "STAGES", value_parser = stages, conflicts_with = "duration")]
    pub(crate) stages: Option<Stages>,

    /// Open loop: distribution of arrivals [default: poisson]
    #[arg(long, value_parser = choice(ARRIVALS), value_name = "HOW")]
    pub(crate) arrivals: Option<Arrivals>,

    /// Open loop: requests that may wait for a free connection [default: 10000]
    ///
    /// Further requests are dropped and counted.
    #[arg(long, value_name = "N", value_parser = whole(0_u32..))]
    pub(crate) max_waiting: Option<u32>,

    /// Measure this number of requests, of all users together (-r and --requests of other commands
    /// are iterations of each user)
    #[arg(short = 'n', long = "total", alias = "requests", short_alias = 'r', value_name = "N", value_parser = whole(1_u64..))]
    pub(crate) requests: Option<u64>,

    /// Length of the measurement window [default: 10s; 10m with --until; none with --total]
    ///
    /// In a closed loop a run-in of a tenth of this time precedes the window, and users continue
    /// after it, uncounted, until the last operation that counts has ended.
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) duration: Option<Duration>,

    /// End when the 95 % interval of a statistic is narrow enough: 'p99 ±5%', 'mean ±1%'
    ///
    /// The statistic is that of response times, or in an open loop of latencies from schedule. The
    /// run also ends when --total or --duration is reached.
    #[arg(long, value_name = "GOAL")]
    pub(crate) until: Option<stats::Until>,

    /// End the load when more than this number or share of operations has failed: 100, 5%, or none
    /// [default: when all of the first 1000 operations, or all in 5 s, have failed]
    ///
    /// Shares apply from 100 operations on. The results until then are reported, with exit status
    /// 1.
    #[arg(long, value_name = "N|P%|none")]
    pub(crate) max_failures: Option<MaxFailures>,

    #[command(flatten)]
    pub(crate) warmup: WarmupOptions,

    /// Open a new connection for each request
    #[arg(long)]
    pub(crate) no_keep_alive: bool,

    #[command(flatten)]
    pub(crate) pipeline: PipelineOptions,

    /// Connections to open per second before measuring
    #[arg(long, value_name = "N", default_value = "2000", value_parser = rate)]
    pub(crate) connect_rate: f64,

    /// Open loop: spin for this time before a scheduled request, 20µs for example
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) spin: Option<Duration>,

    #[command(flatten)]
    pub(crate) running: RunningOptions,
}

impl PaceOptions {
    pub(crate) fn request(&self) -> PaceRequest {
        PaceRequest {
            users: self.users,
            rate: self.rate,
            stages: self.stages.as_ref().map(|stages| stages.0.clone()),
            arrivals: self.arrivals,
            max_waiting: self.max_waiting,
            spin: self.spin,
            requests: self.requests,
            duration: self.duration,
            until: self.until,
            keep_alive: !self.no_keep_alive,
            pipeline: self.pipeline.pipeline,
            max_failures: self.max_failures.unwrap_or_default(),
            warmup: self.warmup.warmup,
            connect_rate: self.connect_rate,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stages(pub(crate) Vec<record::Stage>);

/// Parses `100/s@30s,500/s@1m`.
fn stages(text: &str) -> Result<Stages, String> {
    let stage = |part: &str| {
        let help = || format!("`{part}` is not a stage; write RATE/s@TIME, 100/s@30s for example");
        let (per_second, time) = part.split_once('@').ok_or_else(help)?;
        let duration = positive_duration(time.trim()).map_err(|_| help())?;
        Ok(record::Stage {
            rate: rate(per_second.trim()).map_err(|_| help())?,
            duration_s: duration.as_secs_f64(),
        })
    };
    let stages: Result<Vec<_>, String> = text.split(',').map(stage).collect();
    stages.map(Stages)
}

pub(crate) fn load(args: &LoadArgs) -> Result<ExitStatus, RunnerError> {
    output::check_report(&args.output.request())?;
    let words = args.server.words(args.words())?;
    let LoadWorkload {
        plan,
        suite_text,
        target,
        permission,
        in_turn,
        ..
    } = LoadWorkload::of(&words, &args.request.request())?;
    let pace = args.pace.request();
    let server = args.server.serving(target, &args.how.connect)?;
    let version = server.version();
    let version = version.unwrap_or(args.how.connect.http);
    pace::check(&pace, version, &plan)?;
    let mut ways = args.how.ways(&args.pace.running)?;
    (ways.run.keep_alive, ways.run.pipeline) = (pace.keep_alive, pace.pipeline);
    let run = SingleRun {
        server: one_labelled(server, &args.how.labels.label)?,
        ways,
        task: RunTask {
            permission: Some(permission),
            ..RunTask::new(plan, suite_text, &args.how.background.request())?
        },
        users: pace::users(&pace),
        drive: pace::drive(&pace, in_turn),
        ends: pace::ends(&pace),
        how: &args.how,
        flames: false,
    };
    single(run, &args.output)
}
