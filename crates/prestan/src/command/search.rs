//! `prestan search`: the largest load under which a condition holds.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use constraint::{Characteristic, Constraint, PartOfRun};
use record::ConstraintSense;
use report::page::{Common, ReportPage};
use report::{CountedUnit, Find, SearchResult, Tried};
use runner::RunnerError;
use runner::fitting::constraint_for;
use runner::kept::{KeptRun, origins};
use runner::load::{LoadWorkload, guard::Permission, pace};
use runner::local::{LocalRunner, RunTask};
use runner::policy::{TrialLoad, Trials};
use runner::series::{self, SeriesEnd};
use runner::servers::{one_labelled, with_pids};
use stats::{OfferedLoad, Search, SearchOutcome, Trial};
use terminal::output;
use terminal::output::ResultRequest;
use terminal::progress::{SeriesPace, SeriesProgress};

use super::fail_if::printed;
use crate::args::choices::{FIND, choice};
use crate::args::{
    LabOptions, MeasuringOptions, RequestOptions, ResultOptions, RunningOptions, RunsOptions,
    ServerOptions, WarmupOptions, constraint, positive_duration, rate, whole,
};
use crate::exit::ExitStatus;
use crate::signals::on_interrupt;

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
    pub(crate) result: ResultOptions,

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
    /// In the language of constraints (docs/SUITES.md): mean, p50, p99, p99.9, max, failures,
    /// failure_rate, rate and others, of each row, or of one: p99(Get1K). Times and shares have
    /// units: 50 ms, 1 %. With --find rate, times are latencies from schedule. A trial holds as it
    /// was measured, without intervals. A search usually makes 40 to 80 trials, and at most 150.
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

const MOST_USERS: f64 = 4096.0;
const MOST_RATE: f64 = 1e6;
const FIRST_RATE: f64 = 10.0;
/// Least mean number of requests of a trial: with random arrivals, a trial of few may have none.
const REQUESTS_AT_LEAST: f64 = 10.0;

/// Tries loads until the largest is found.
pub(crate) fn search(args: &SearchArgs) -> Result<ExitStatus, RunnerError> {
    let request = args.result.request();
    output::check_result(&request, &[])?;
    let words = args.server.words(args.request.clone())?;
    let mut sending = LoadWorkload::of(&words, &args.options.request())?;
    if let (Permission::IfAbsent, may_write) = sending.permission {
        if !may_write {
            return Err(RunnerError::Usage(
                "a search with PUT writes the resource repeatedly and does not remove it; allow that \
                 with --writes"
                    .to_owned(),
            ));
        }
        if !args.server.is_given() {
            output::print_message(&format!(
                "prestan: the search does not remove what {} makes at {}",
                sending.what,
                sending.target.url()
            ));
        }
    }
    // A suite may have constraints on whole runs: a trial is judged by the condition only.
    let condition = &args.search.condition;
    let constraint = constraint_for("--while", condition, ConstraintSense::Trial, &sending.plan)?;
    sending.plan.constraints = vec![constraint];
    let of_stage = |of: &Characteristic| matches!(of.part, PartOfRun::Stage(_));
    if condition.characteristics().any(of_stage) {
        return Err(RunnerError::Usage(
            "--while: the trials of a search have no stages; leave `stage` out".to_owned(),
        ));
    }
    let search = begin(&args.search)?;
    made(args, (sending, search), &request)
}

/// Makes the trials, and prints the result.
fn made(
    args: &SearchArgs,
    (sending, search): (LoadWorkload, Search),
    request: &ResultRequest,
) -> Result<ExitStatus, RunnerError> {
    let background = args.how.background.request();
    let task = RunTask::new(sending.plan, sending.suite_text, &background)?;
    let task = Arc::new(task);
    let ways = args.how.ways(&args.search.running)?;
    let seed = ways.run.seed;
    let load = TrialLoad {
        find: args.search.find,
        duration: args.search.duration,
        warmup: args.search.warmup.warmup,
        in_turn: sending.in_turn,
        connections: args.search.connections.unwrap_or(pace::OPEN_CONNECTIONS),
        seed,
    };
    let server = args.server.serving(sending.target, &args.how.connect)?;
    let server = one_labelled(server, &args.how.labels.label)?;
    let servers = with_pids(vec![server], &args.how.inside.pid)?;
    let shown = SeriesProgress::new(SeriesPace::Open, args.runs.quiet, on_interrupt);
    let with = args.how.series(ways, args.runs.storage(), &shown);
    let mut runner = LocalRunner::new(servers, [&*task], with)?;
    let mut trials = Trials::new(search, load, task);
    let series = series::perform(&mut trials, &mut runner);
    shown.end();
    let ended = series.ended.map(|end| not_tried(end, trials.under_way()));
    let (made, ran) = trials.made(&series.history);
    let target = runner.reported_names().swap_remove(0);
    let mut found = SearchResult {
        condition: Some(args.search.condition.to_string()),
        what: sending.what,
        answer: trials.search().outcome(),
        ..found(trials.find(), target, (made, seed), &ran)
    };
    let incomplete = |why| runner.anonymous().incomplete("search", why);
    found.incomplete = ended.as_ref().map(incomplete);
    drop(runner);
    let printed_result = (ended.is_none() || !ran.is_empty()).then(|| {
        let common = Common::of(&found.target, ran.iter().map(|ran| ran.side()));
        print(&found, common, request)
    });
    printed(printed_result.unwrap_or(Ok(())), ended, false)?;
    // In CI, this is a failure: the smallest load is too much.
    if found.answer.holds.is_none() {
        let answer = report::answer_in_words(&found);
        output::print_message(&format!("prestan: failed: {answer}"));
        return Ok(ExitStatus::TestFailed);
    }
    Ok(ExitStatus::Done)
}

/// The reason of the end of the trials. If this machine cannot create the load `under_way`, the
/// limit is that of the machine.
fn not_tried(end: SeriesEnd, under_way: Option<String>) -> RunnerError {
    match (end.why, under_way) {
        (RunnerError::Resources(why), Some(load)) if end.has_begun => RunnerError::Inconclusive(
            format!("inconclusive, because {load} could not be tried: {why}"),
        ),
        (why, _) => why,
    }
}

/// Result of these trials, without the condition.
pub(super) fn found(
    find: Find,
    target: String,
    (mut made, seed): (Vec<Tried>, u64),
    ran: &[&KeptRun],
) -> SearchResult {
    made.sort_by(|one, other| one.load.total_cmp(&other.load));
    let server = ran.last().and_then(|ran| ran.run.env.server.as_ref());
    SearchResult {
        find,
        condition: None,
        counted: counted(ran),
        target,
        software: server.and_then(|server| server.software.clone()),
        what: String::new(),
        answer: SearchOutcome::default(),
        knee: knee(&made),
        notes: report::notes_of(ran.iter().map(|one| &one.run.plan)),
        caveats: origins(ran.iter().copied()),
        seed,
        incomplete: None,
        trials: made,
    }
}

fn begin(options: &SearchOptions) -> Result<Search, RunnerError> {
    let (first, most) = match options.find {
        Find::Users => (1.0, MOST_USERS),
        Find::Rate => (FIRST_RATE, MOST_RATE),
    };
    let (from, to) = (options.from.unwrap_or(first), options.to.unwrap_or(most));
    if from > to {
        return Err(RunnerError::Usage(format!(
            "--from {from} is more than --to {to}"
        )));
    }
    match options.find {
        Find::Users if options.connections.is_some() => Err(RunnerError::Usage(
            "--connections is for --find rate: with --find users, each user has one connection"
                .to_owned(),
        )),
        Find::Rate => {
            let least = REQUESTS_AT_LEAST / options.duration.as_secs_f64();
            if from < least {
                return Err(RunnerError::Usage(format!(
                    "a trial of {:?} at {from} requests/s has too few requests; give a longer --duration, \
                     or --from {} or more",
                    options.duration,
                    least.ceil()
                )));
            }
            Ok(Search::for_rate(from, to, least))
        }
        Find::Users if from.fract() != 0.0 || to.fract() != 0.0 || to > 100_000.0 || from < 1.0 => {
            Err(RunnerError::Usage(
                "the number of users is a whole number from 1 to 100000; change --from or --to"
                    .to_owned(),
            ))
        }
        Find::Users => Ok(Search::for_users(from as u32, to as u32)),
    }
}

/// The load from which more load costs more than it brings.
fn knee(made: &[Tried]) -> Option<OfferedLoad> {
    let trial = |tried: &Tried| {
        Some(Trial {
            load: tried.load,
            per_second: tried.rate.per_second,
            mean: tried.times?.mean,
        })
    };
    stats::knee(&made.iter().filter_map(trial).collect::<Vec<_>>())
}

/// Unit that trials count.
fn counted(ran: &[&KeptRun]) -> CountedUnit {
    if ran.iter().any(|ran| ran.summary.pages.is_some()) {
        CountedUnit::Pages
    } else {
        CountedUnit::Answers
    }
}

pub(super) fn print(
    found: &SearchResult,
    common: Common,
    request: &ResultRequest,
) -> Result<(), RunnerError> {
    let page = ReportPage {
        search: Some(found),
        common: vec![common],
        ..ReportPage::default()
    };
    let text = |color, width| report::search_text(found, color, width);
    output::print_result(&page, request, || report::search_json(found), None, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_load_for_which_there_is_no_room_is_beyond_this_machine() {
        let ended = |why: fn(String) -> RunnerError, has_begun| SeriesEnd {
            why: why("no".to_owned()),
            step: Some(3),
            has_begun,
        };
        let load = || Some("800 users".to_owned());
        let beyond = not_tried(ended(RunnerError::Resources, true), load());
        assert!(
            matches!(&beyond, RunnerError::Inconclusive(why) if why.contains("800 users could not be tried: no")),
            "{beyond}"
        );
        let full_disk = not_tried(ended(RunnerError::Local, true), load());
        assert!(matches!(full_disk, RunnerError::Local(_)), "{full_disk}");
        let before = not_tried(ended(RunnerError::Resources, false), load());
        assert!(matches!(before, RunnerError::Resources(_)), "{before}");
    }
}
