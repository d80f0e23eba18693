//! `prestan sweep`: the same suite with other parameters, and the growth of times.

mod args;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Drive, LoadDrive, Pacing, Rounds};
use report::page::{Common, ReportPage};
use report::{Incomplete, Sweep, SweepServer, Varied};
use stats::{Swept, Warning, WarningKind};
use suite::Limit;

use super::fail_if::{add_condition, printed, without_result};
use super::point_verdicts::{RunAtPoint, by_constraints};
use crate::command::run::overrides;
use crate::exit::ExitStatus;
use crate::signals::on_interrupt;
pub(crate) use args::SweepArgs;
use runner::RunnerError;
use runner::kept::{KeptRun, origins};
use runner::load::{guard, pace};
use runner::local::{LocalRunner, LocalSeries, RunTask, whole};
use runner::policy::{self, AtPoint, Levels, Listed, SweepOrder, SweepSlot};
use runner::series::{self, CompletedSeries};
use runner::servers::{TestedServer, labelled, tested_servers, with_pids};
use runner::suite_text::SuiteText;
use terminal::output::{self, ResultRequest, print_message};
use terminal::progress::{SeriesPace, SeriesProgress};

const USERS: &str = "users";
const RATE: &str = "rate";
/// Largest values of these.
const MOST_USERS: f64 = 100_000.0;
const MOST_RATE: f64 = 1e7;

pub(crate) fn sweep(args: &SweepArgs) -> Result<ExitStatus, RunnerError> {
    let request = args.result.request();
    output::check_result(&request, &[])?;
    check(args)?;
    let suite = SuiteText::find(&args.plan.suite.suite)?;
    let values = args.plan.vary.iter().map(|varied| varied.values.len());
    let points = policy::points(&values.collect::<Vec<_>>(), args.plan.design);
    let plans = plans(args, &suite, &points)?;
    let servers = servers(args)?;
    let ways = args.how.ways(&args.load.running)?;
    let seed = ways.run.seed;
    let order = SweepOrder::new(points.len(), servers.len(), args.plan.repeat, seed);
    let slots = &order.slots[..];
    print_budget(args, &plans, slots);

    let servers = labelled(servers, &args.how.labels.label)?;
    let servers = with_pids(servers, &args.how.inside.pid)?;
    let shown = SeriesProgress::new(SeriesPace::Planned, args.runs.quiet, on_interrupt);
    let with = LocalSeries {
        flames: args.flame.flame,
        ..args.how.series(ways, args.runs.storage(), &shown)
    };
    let tasks = plans.iter().map(|point| &*point.task);
    let mut runner = LocalRunner::new(servers, tasks, with)?;
    let servers = runner.reported_names();
    let mut steps = Listed::new(order.steps(&plans));
    shown.plan(steps.steps());
    let CompletedSeries { history, ended } = series::perform(&mut steps, &mut runner);
    shown.end();
    let done: Done<'_> = slots.iter().copied().zip(whole(&history)).collect();
    let incomplete = ended.as_ref().map(|end| {
        let repeat = |step: usize| slots[step - 1].repeat + 1;
        let place = |step| format!("in repeat {} of {}", repeat(step), args.plan.repeat);
        Incomplete {
            place: end.step.map(place),
            ..runner.anonymous().incomplete("sweep", &end.why)
        }
    });
    drop(runner);
    // A failed run is no failure of the sweep if there are enough results.
    let is_enough = done.len() >= 2 * slots.len() / args.plan.repeat as usize;
    let ended = ended.map(|end| end.why);
    if !is_enough && let Some(why) = ended {
        return Err(without_result(args.condition.fail_if.is_some(), why));
    }
    let name = &plans[0].task.plan.suite.name;
    let result = Sweep {
        incomplete,
        caveats: caveats(&done, &servers),
        ..result(args, name, &points, &servers, &done, seed)
    };
    let common = servers.iter().enumerate().map(|(index, server)| {
        let runs = done.iter().filter(|(at, _)| at.server == index);
        Common::of(server, runs.map(|(_, ran)| ran.side()))
    });
    let is_judged = args.condition.fail_if.is_some();
    printed(print(&result, common.collect(), &request), ended, is_judged)?;
    let constraints = by_constraints(&at_points(&done, &points, &result));
    if matches!(constraints, Ok(ExitStatus::TestFailed)) {
        return constraints;
    }
    match judge(&done, &result)? {
        ExitStatus::Done => constraints,
        status => Ok(status),
    }
}

fn servers(args: &SweepArgs) -> Result<Vec<TestedServer>, RunnerError> {
    let started = args.start.tested(&args.how.connect)?;
    let servers = tested_servers(&args.urls, &args.servers.server)?;
    Ok(servers.into_iter().chain(started).collect())
}

/// Each run with its point, in the order of the points and of the servers.
fn at_points<'r>(done: &Done<'r>, points: &[Levels], result: &Sweep) -> Vec<RunAtPoint<'r>> {
    let mut runs: Vec<(SweepSlot, &KeptRun)> = done.clone();
    runs.sort_by_key(|(at, _)| (at.point, at.server));
    let at_point = |(at, ran): (SweepSlot, &'r KeptRun)| {
        let varied = result.vary.iter().zip(&points[at.point]);
        let varied = varied.map(|(of, level)| format!("{}={}", of.name, of.written[*level]));
        let varied = varied.collect::<Vec<_>>().join(" ");
        RunAtPoint {
            point: format!("{varied} of {}", result.servers[at.server].name),
            summary: &ran.summary,
        }
    };
    runs.into_iter().map(at_point).collect()
}

/// The result for the servers.
fn judge(done: &Done<'_>, result: &Sweep) -> Result<ExitStatus, RunnerError> {
    let swept = result.rows.iter().flat_map(|row| &row.servers);
    let points = || swept.clone().flat_map(|server| &server.points);
    if points().all(|point| point.mean.is_none() && point.disqualified == 0) {
        let first = done.first();
        let first = first.and_then(|(_, ran)| report::failed_rows(&ran.summary));
        let first = first.map_or(String::new(), |rows| format!("; in the first run {rows}"));
        print_message(&format!(
            "prestan: failed: no row was measured at any point{first}"
        ));
        return Ok(ExitStatus::TestFailed);
    }
    // A law needs all of its points.
    let without = points().filter(|point| point.runs > 0 && point.disqualified == point.runs);
    match without.count() {
        0 => Ok(ExitStatus::Done),
        without => {
            let why = disqualified(done).unwrap_or_default();
            let all = points().count();
            Err(RunnerError::inconclusive(format!(
                "{without} of {all} points have no estimate: {why}"
            )))
        }
    }
}

/// Number of runs with a disqualified row, and the most frequent reason.
fn disqualified(done: &Done<'_>) -> Option<String> {
    let mut reasons: BTreeMap<WarningKind, (usize, &Warning)> = BTreeMap::new();
    let mut runs = 0;
    for (_, ran) in done {
        let warnings = ran.summary.disqualified();
        let warnings: BTreeMap<WarningKind, &Warning> = warnings
            .map(|(_, warning)| (warning.kind, warning))
            .collect();
        runs += usize::from(!warnings.is_empty());
        for (kind, warning) in warnings {
            let (times, _) = reasons.entry(kind).or_insert((0, warning));
            *times += 1;
        }
    }
    let (_, why) = reasons.into_values().max_by_key(|(times, _)| *times)?;
    let (why, all) = (report::warning(why), done.len());
    Some(format!(
        "rows are disqualified in {runs} of {all} runs: {why}"
    ))
}

/// Refuses invalid options, before a server is started.
fn check(args: &SweepArgs) -> Result<(), RunnerError> {
    let vary = &args.plan.vary;
    let usage = |text: String| Err(RunnerError::Usage(text));
    let fixed = overrides(&args.load, args.plan.suite.writes).params;
    for (index, varied) in vary.iter().enumerate() {
        let name = &varied.name;
        if fixed.contains_key(name) || name == USERS && args.load.rounds.concurrency.is_some() {
            return usage(format!(
                "`{name}` is varied, and has a value of its own as well; leave one of them out"
            ));
        }
        if vary[..index].iter().any(|other| other.name == *name) {
            return usage(format!(
                "`{name}` is varied twice; give all its values at once"
            ));
        }
        if name == RATE && !args.plan.mix {
            return usage(
                "a rate needs --mix (with --duration): a suite whose tests are done one after the \
                 other has none"
                    .to_owned(),
            );
        }
        let is_possible = |value: f64| match name.as_str() {
            USERS => value.fract() == 0.0 && (1.0..=MOST_USERS).contains(&value),
            RATE => value > 0.0 && value <= MOST_RATE,
            _ => true,
        };
        let mut values = varied.values.iter();
        if let Some((_, written)) = values.find(|(value, _)| !is_possible(*value)) {
            return usage(format!(
                "`{name}={written}` is no number of users, or no rate"
            ));
        }
    }
    Ok(())
}

fn plans(
    args: &SweepArgs,
    suite: &SuiteText,
    points: &[Levels],
) -> Result<Vec<AtPoint>, RunnerError> {
    let at = |levels: &Levels| {
        let (mut users, mut rate) = (None, None);
        let mut overrides = overrides(&args.load, args.plan.suite.writes);
        for (varied, level) in args.plan.vary.iter().zip(levels) {
            let (value, written) = &varied.values[*level];
            match varied.name.as_str() {
                USERS => users = Some(*value as u32),
                RATE => rate = Some(*value),
                name => {
                    let written = written.clone();
                    overrides.params.insert(name.to_owned(), written);
                }
            }
        }
        let mut plan = suite.resolved(&overrides)?;
        if args.plan.mix {
            guard::mix(&mut plan, args.plan.suite.writes.writes)?;
        }
        add_condition(&args.condition, &mut plan)?;
        let of_a_rate = rate.map(|_| pace::OPEN_CONNECTIONS);
        let users = users.or(args.load.rounds.concurrency).or(of_a_rate);
        Ok(AtPoint {
            task: Arc::new(RunTask::new(
                plan,
                suite.text.clone(),
                &args.how.background.request(),
            )?),
            users: users.unwrap_or(1),
            drive: drive(args, rate),
        })
    };
    points.iter().map(at).collect()
}

fn print_budget(args: &SweepArgs, plans: &[AtPoint], order: &[SweepSlot]) {
    if args.runs.quiet {
        return;
    }
    let requests = |slot: &SweepSlot| -> u64 {
        let point = &plans[slot.point];
        let users = u64::from(point.users);
        let rounds = point.task.plan.tests.iter().map(|test| match test.limit {
            Limit::Requests(requests) => u64::from(requests),
            Limit::Duration(_) => 0,
        });
        rounds.sum::<u64>() * users
    };
    let what = match args.load.duration {
        Some(duration) => {
            let all = plans[0].task.plan.tests.len();
            let tests = if args.plan.mix { 1 } else { all };
            let seconds = duration.as_secs_f64() * (order.len() * tests) as f64;
            format!("{seconds:.0} s of measuring")
        }
        None => {
            let rounds: u64 = order.iter().map(requests).sum();
            format!("{rounds} rounds of tests")
        }
    };
    print_message(&format!(
        "prestan: {} points, {} runs: {what}, and set-up and warm-up for them; Ctrl-C ends it, and shows \
         the results once two repeats are complete",
        plans.len(),
        order.len(),
    ));
}

/// Driver of the runs at a point, at that rate.
fn drive(args: &SweepArgs, rate: Option<f64>) -> Drive {
    let warmup = args.load.warmup.warmup;
    if !args.plan.mix {
        return Drive::Rounds(Rounds {
            warmup,
            ..Rounds::default()
        });
    }
    let duration = args.load.duration;
    Drive::Load(LoadDrive {
        pacing: rate.map_or(Pacing::Closed, |rate| {
            pace::at_rate(rate, duration.unwrap_or_default())
        }),
        duration,
        warmup,
        ..LoadDrive::default()
    })
}

/// Runs that ended normally, and their slots.
type Done<'r> = Vec<(SweepSlot, &'r KeptRun)>;

fn result(
    args: &SweepArgs,
    suite: &str,
    points: &[Levels],
    servers: &[String],
    done: &Done<'_>,
    seed: u64,
) -> Sweep {
    let vary = &args.plan.vary;
    let values_of = |varied: &args::Vary| varied.values.iter().map(|(value, _)| *value).collect();
    let values: Vec<Vec<f64>> = vary.iter().map(values_of).collect();
    let swept = done.iter().map(|(slot, ran)| Swept {
        server: slot.server,
        levels: &points[slot.point],
        repeat: slot.repeat,
        summary: &ran.summary,
    });
    let swept: Vec<Swept<'_>> = swept.collect();
    let varied = vary.iter().zip(&values).map(|(varied, values)| {
        let written = varied.values.iter().map(|(_, written)| written.clone());
        Varied {
            name: varied.name.clone(),
            values: values.clone(),
            written: written.collect(),
        }
    });
    let servers = servers.iter().enumerate();
    Sweep {
        suite: suite.to_owned(),
        vary: varied.collect(),
        design: args.plan.design,
        repeats: args.plan.repeat as usize,
        seed,
        same_within: args.plan.same_within,
        servers: servers
            .map(|(index, name)| described(name, index, done))
            .collect(),
        notes: report::notes_of(done.iter().map(|(_, ran)| &ran.run.plan)),
        incomplete: None,
        caveats: Vec::new(),
        rows: stats::sweep(&values, &swept, args.plan.same_within),
    }
}

fn described(name: &str, server: usize, done: &Done<'_>) -> SweepServer {
    let mut runs = done.iter().filter(|(at, _)| at.server == server);
    let ran = runs.next().map(|(_, ran)| ran);
    let said = ran.and_then(|ran| ran.run.env.server.as_ref());
    SweepServer {
        name: name.to_owned(),
        target: ran.map_or(String::new(), |ran| ran.run.plan.target.clone()),
        software: said.and_then(|server| server.software.clone()),
    }
}

fn caveats(done: &Done<'_>, names: &[String]) -> Vec<String> {
    let mut caveats = Vec::new();
    caveats.extend(disqualified(done));
    for (index, server) in names.iter().enumerate() {
        let runs = done.iter().filter(|(at, _)| at.server == index);
        let runs = origins(runs.map(|(_, ran)| *ran));
        caveats.extend(runs.into_iter().map(|caveat| format!("{server}: {caveat}")));
    }
    caveats
}

fn print(sweep: &Sweep, common: Vec<Common>, request: &ResultRequest) -> Result<(), RunnerError> {
    let page = ReportPage {
        sweep: Some(sweep),
        common,
        ..ReportPage::default()
    };
    let text = |color, width| report::sweep_text(sweep, color, width);
    output::print_result(&page, request, || report::sweep_json(sweep), None, text)
}
