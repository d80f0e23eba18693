//! `prestan compare`: servers side by side, or recorded runs.

mod args;
mod recorded;
pub(crate) mod side_by_side;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use report::page::ReportPage;
use report::{Comparisons, Versus};
use stats::{ComparedBy, Side};

use crate::args::{SideOptions, command_server, defaults, is_given};
use crate::command::fail_if;
use crate::command::report::diagnosed;
use crate::exit::ExitStatus;
pub(crate) use args::CompareArgs;
use runner::RunnerError;
use runner::fail_condition::{self, CheckedCondition};
use runner::kept::{KeptRun, RecordReading};
use runner::servers::{TestedServer, labelled, tested_servers, with_pids};
use runner::state;
use terminal::output::{self, ResultRequest};

use side_by_side::{Extent, MeasuredSeries, SideBySide, SideSuite};

/// Measures, or reads, and compares.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitStatus, RunnerError> {
    let request = args.result.request();
    output::check_result(&request, &[&args.cases.junit])?;
    let requested = requested(args)?;
    let labels = &args.how.labels.label;
    let is_measured = matches!(requested, ComparedRuns::Now);
    let MeasuredSeries { servers, ended, .. } = match requested {
        ComparedRuns::Recorded(sides) => MeasuredSeries::recorded(recorded::read(&sides, labels)?),
        ComparedRuns::Series(runs) => {
            let servers = recorded::read_series(&runs, labels)?;
            if args.fail_if.is_some() && servers[0].runs.len() == 1 {
                return Err(fail_condition::refuse("measure again, for longer"));
            }
            MeasuredSeries::recorded(servers)
        }
        ComparedRuns::Now => measure(args)?,
    };
    let (ended, incomplete) = ended.map(|end| (end.why, end.incomplete)).unzip();
    let comparisons = Comparisons {
        incomplete,
        ..compared(&servers, args.side.verdicts.by())?
    };
    let first = servers.first().and_then(|server| server.runs.first());
    let params = first.map_or_else(BTreeMap::new, |run| run.run.plan.params.clone());
    let checked = |condition| fail_condition::for_rows(condition, &comparisons, &params);
    let condition = match args.fail_if.as_ref().map(checked).transpose() {
        // In incomplete runs, a condition may be about missing rows.
        Err(_) if ended.is_some() => None,
        condition => condition?,
    };
    // If the series is incomplete, print the results so far.
    let is_worth_it =
        ended.is_none() || fail_condition::rows(&comparisons).any(|row| row.ratio.is_some());
    let printed = is_worth_it.then(|| {
        let junit = args.cases.junit.as_deref();
        print(
            &comparisons,
            &servers,
            condition.as_ref(),
            (&request, junit),
        )
    });
    fail_if::printed(printed.unwrap_or(Ok(())), ended, args.fail_if.is_some())?;
    if is_measured && args.runs.save.is_none() && !args.runs.quiet {
        print_report_command(&servers);
    }
    let fails = fail_condition::judge(&comparisons, condition.as_ref())?;
    Ok(if fails {
        ExitStatus::TestFailed
    } else {
        ExitStatus::Done
    })
}

/// Prints the command that shows this comparison again.
fn print_report_command(servers: &[MeasuredServer]) {
    let first = servers.first().and_then(|server| server.runs.first());
    if let Some(run) = first {
        let series = state::series_of(&run.run.plan.run_id);
        output::print_message(&format!(
            "prestan: recorded; `prestan compare {series}` prints this again"
        ));
    }
}

fn measure(args: &CompareArgs) -> Result<MeasuredSeries, RunnerError> {
    let suite = SideSuite::of(&args.side)?;
    let how = SideBySide {
        side: &args.side,
        // Without the commands, a report would not identify the builds.
        names: commands(args).map(|(a, b)| [a, b]),
        extent: match args.series.repeat {
            Some(runs) => Extent::Runs(runs),
            None => Extent::Within(args.series.budget),
        },
        measuring: &args.how,
        flames: args.flame.flame,
        runs: &args.runs,
    };
    if let Some(condition) = &args.fail_if {
        fail_condition::check(
            condition,
            args.side.verdicts.by(),
            &suite.plan,
            how.looks_inside(),
        )?;
    }
    let servers = labelled(servers_of(args)?, &args.how.labels.label)?;
    let servers = with_pids(servers, &args.how.inside.pid)?;
    side_by_side::measure(&how, suite, servers)
}

fn servers_of(args: &CompareArgs) -> Result<Vec<TestedServer>, RunnerError> {
    let Some((a, b)) = commands(args) else {
        return tested_servers(&args.sides, &args.servers.server);
    };
    let urls = match &args.sides[..] {
        [] => [None, None],
        [both] => [Some(both), Some(both)],
        [a, b] => [Some(a), Some(b)],
        _ => {
            let why = "--start-a and --start-b start two servers; give one URL for each, or one for \
                       both";
            return Err(RunnerError::Usage(why.to_owned()));
        }
    };
    let start = |((name, command), url): ((&str, &String), Option<&String>)| {
        let option = format!("--start-{}", name.to_lowercase());
        let url = url.map(String::as_str);
        command_server(&option, name, (command, url), &args.how.connect)
    };
    let sides = [("A", a), ("B", b)].into_iter().zip(urls);
    sides.map(start).collect()
}

/// The commands that start the servers.
fn commands(args: &CompareArgs) -> Option<(&String, &String)> {
    args.start_a.as_ref().zip(args.start_b.as_ref())
}

pub(crate) struct MeasuredServer {
    pub(crate) name: String,
    /// Label in place of that of its runs.
    pub(crate) label: Option<String>,
    pub(crate) runs: Vec<KeptRun>,
}

impl MeasuredServer {
    fn sides(&self) -> Vec<Side<'_>> {
        self.runs.iter().map(KeptRun::side).collect()
    }
}

/// Runs to compare.
enum ComparedRuns<'a> {
    Recorded(Vec<&'a str>),
    /// The runs of a recorded comparison.
    Series(Vec<PathBuf>),
    Now,
}

fn requested(args: &CompareArgs) -> Result<ComparedRuns<'_>, RunnerError> {
    let is_judged = args.fail_if.is_some();
    let is_one_run = is_judged && args.series.repeat == Some(1);
    let one_run = || fail_condition::refuse("leave out --repeat 1, or give a larger number");
    if commands(args).is_some() {
        return if is_one_run {
            Err(one_run())
        } else {
            Ok(ComparedRuns::Now)
        };
    }
    let sides = args.sides.len() + args.servers.server.len();
    if let ([name], []) = (&args.sides[..], &args.servers.server[..])
        && let Some(runs) = recorded::series(name)?
    {
        refuse_measuring(args)?;
        return Ok(ComparedRuns::Series(runs));
    }
    if sides < 2 {
        let given = ["nothing to compare", "only one side"][sides];
        return Err(RunnerError::Usage(format!(
            "{given} is given; a comparison needs two URLs, two recorded runs, a recorded comparison, or --server twice"
        )));
    }
    let names: Vec<&str> = args.sides.iter().map(String::as_str).collect();
    let is_recorded = |side: &&&str| recorded::is_recorded(side);
    match names.iter().filter(is_recorded).count() {
        0 if is_one_run => Err(one_run()),
        0 => Ok(ComparedRuns::Now),
        all if all == sides => {
            refuse_measuring(args)?;
            if is_judged && names.iter().all(|side| !side.contains(',')) {
                Err(fail_condition::refuse(
                    "record more, and give them as DIR,DIR,... of one server and DIR,DIR,... of the \
                     other; or measure both side by side: `prestan compare URL URL`",
                ))
            } else {
                Ok(ComparedRuns::Recorded(names))
            }
        }
        _ => {
            let servers: Vec<&str> = args.servers.server.iter().map(String::as_str).collect();
            Err(recorded::refuse_mixed(&names, &servers))
        }
    }
}

/// Refuses options of measuring for recorded runs.
fn refuse_measuring(args: &CompareArgs) -> Result<(), RunnerError> {
    // Labels apply to recorded runs, too.
    let mut how = args.how.clone();
    how.labels = defaults();
    let SideOptions { suite, load, .. } = &args.side;
    let is_said = is_given(suite)
        || is_given(&args.series)
        || is_given(load)
        || is_given(&how)
        || is_given(&args.flame)
        || args.runs.save.is_some();
    if !is_said {
        return Ok(());
    }
    Err(RunnerError::Usage(
        "these runs are recorded, so nothing is measured: leave out the options that say what to \
         measure and how"
            .to_owned(),
    ))
}

/// All runs of each server, for a page.
pub(crate) fn shown(servers: &[MeasuredServer]) -> Result<Vec<KeptRun>, RunnerError> {
    let pooled = |server: &MeasuredServer| {
        let runs = server.runs.iter();
        let paths: Vec<PathBuf> = runs.map(|run| PathBuf::from(&run.path)).collect();
        let reading = RecordReading {
            label: server.label.as_deref(),
            ..RecordReading::default()
        };
        KeptRun::pooled(&paths, servers.len(), reading)
    };
    let measured = servers.iter().filter(|server| !server.runs.is_empty());
    measured.map(pooled).collect()
}

pub(crate) fn compared(
    servers: &[MeasuredServer],
    by: ComparedBy,
) -> Result<Comparisons, RunnerError> {
    let paths = |server: &MeasuredServer| server.runs.iter().map(|run| run.path.clone()).collect();
    let seed = |run: &KeptRun| run.run.plan.load.seed;
    let seeds = |server: &MeasuredServer| server.runs.iter().map(seed).collect();
    let notes =
        |server: &MeasuredServer| report::notes_of(server.runs.iter().map(|run| &run.run.plan));
    let names = distinct_names(servers);
    let (a, others) = (&servers[0], &servers[1..]);
    let versus = others.iter().zip(&names[1..]).map(|(b, name)| {
        let comparison = stats::compare_by(&a.sides(), &b.sides(), by);
        let comparison = comparison.map_err(|error| {
            let error = report::difference(&error);
            RunnerError::Usage(format!("{} and {}: {error}", a.name, b.name))
        })?;
        Ok(Versus {
            name: name.clone(),
            runs: paths(b),
            seeds: seeds(b),
            notes: notes(b),
            comparison,
        })
    });
    Ok(Comparisons {
        name: names[0].clone(),
        runs: paths(a),
        seeds: seeds(a),
        notes: notes(a),
        versus: versus.collect::<Result<_, RunnerError>>()?,
        incomplete: None,
    })
}

/// Names of servers, with numbers for one that is given more than once.
fn distinct_names(servers: &[MeasuredServer]) -> Vec<String> {
    let name = |(index, server): (usize, &MeasuredServer)| {
        let same = |other: &&MeasuredServer| other.name == server.name;
        match servers.iter().filter(same).count() {
            1 => server.name.clone(),
            _ => {
                let number = servers[..=index].iter().filter(same).count();
                format!("{} #{number}", server.name)
            }
        }
    };
    servers.iter().enumerate().map(name).collect()
}

fn print(
    comparisons: &Comparisons,
    servers: &[MeasuredServer],
    condition: Option<&CheckedCondition<'_>>,
    (request, junit): (&ResultRequest, Option<&Path>),
) -> Result<(), RunnerError> {
    let is_drawn = request.figures.any();
    // A full disk may have kept no run; the comparison is shown nevertheless.
    let undrawn = |why: RunnerError| {
        output::print_message(&format!("prestan: warning: runs are not drawn: {why}"));
        Vec::new()
    };
    let kept = if is_drawn {
        shown(servers).unwrap_or_else(undrawn)
    } else {
        Vec::new()
    };
    let named = kept.iter().zip(distinct_names(servers));
    let diagnosed = diagnosed(&kept);
    let page = &ReportPage {
        diagnosed: is_drawn.then_some(&diagnosed),
        runs: named
            .map(|(kept, name)| kept.page_run(Some(name)))
            .collect(),
        comparison: Some(comparisons),
        ..ReportPage::default()
    };
    let markdown = request.markdown.as_deref();
    let markdown = markdown.map(|path| (path, report::compare_markdown(comparisons)));
    let junit = junit.map(|path| {
        let ends = fail_condition::case_ends(comparisons, condition);
        (path, report::compare_junit(comparisons, ends))
    });
    let more = markdown.into_iter().chain(junit);
    let json = || report::compare_json(comparisons);
    let text = |color, width| report::compare_text(comparisons, color, width);
    output::print_result(page, request, json, more, text)
}
