//! The load curve: throughput with one, two, four ... children, and its knee.

use std::sync::Arc;

use report::page::Common;
use report::{CountedUnit, Find, SearchResult, Tried};
use stats::Conclusion;

use super::Loads;
use crate::args::{MeasuringOptions, OutputOptions};
use crate::command::fail_if::{add_condition, printed};
use crate::command::point_verdicts::{RunAtPoint, by_constraints};
use crate::command::search::{found, print};
use crate::exit::ExitStatus;
use crate::signals::on_interrupt;
use runner::RunnerError;
use runner::kept::KeptRun;
use runner::local::{LocalRunner, RunStep, RunTask, StepRuns, whole};
use runner::policy::{Listed, curve_steps, tried};
use runner::series::{self, PastStep};
use runner::servers::{RunWays, TestedServer};
use terminal::output::{self, ResultRequest};
use terminal::progress::{SeriesPace, SeriesProgress};

/// A run for each number of children.
pub(super) struct ChildrenCurve<'a> {
    pub(super) server: TestedServer,
    pub(super) ways: RunWays,
    pub(super) loads: &'a Loads<'a>,
    pub(super) how: &'a MeasuringOptions,
    pub(super) options: &'a OutputOptions,
}

/// Makes the runs, and prints the result of all of them.
pub(super) fn curve(
    curve: ChildrenCurve<'_>,
    mut task: RunTask,
) -> Result<ExitStatus, RunnerError> {
    let ChildrenCurve {
        server,
        ways,
        loads,
        how,
        options,
    } = curve;
    let request = result_request(options)?;
    output::check_result(&request, &[])?;
    add_condition(&options.condition, &mut task.plan)?;
    let task = Arc::new(task);
    let shown = SeriesProgress::new(SeriesPace::Planned, options.runs.quiet, on_interrupt);
    let seed = ways.run.seed;
    let with = how.series(ways, options.runs.storage(), &shown);
    let mut runner = LocalRunner::new(vec![server.looked_into(&how.inside.pid)], [&*task], with)?;
    let remark = |past: &PastStep<RunStep, StepRuns>| {
        progress_line(&past.outcome.runs[0], past.step.runs[0].users)
    };
    let drive = |children| loads.drive(children);
    let steps = curve_steps(&task, loads.children, drive, seed);
    let mut steps = Listed::new(steps).remarking(&remark);
    shown.plan(steps.steps());
    let series = series::perform(&mut steps, &mut runner);
    shown.end();
    let ran: Vec<&KeptRun> = whole(&series.history).collect();
    let ended = series.ended.map(|end| end.why);
    let made = loads.children.iter().zip(&ran);
    let made: Vec<Tried> = made
        .map(|(children, one)| tried(f64::from(*children), true, &one.summary))
        .collect();
    let printed_result = (!made.is_empty()).then(|| {
        let target = runner.reported_names().swap_remove(0);
        let incomplete = |why| runner.anonymous().incomplete("curve", why);
        let mut found = SearchResult {
            counted: CountedUnit::Pages,
            what: format!("{}: {}", task.plan.suite.name, task.plan.suite.title),
            incomplete: ended.as_ref().map(incomplete),
            ..found(Find::Users, target, (made, seed), &ran)
        };
        found.caveats.extend(inconclusive(&ran));
        let common = Common::of(&found.target, ran.iter().map(|ran| ran.side()));
        print(&found, common, &request)
    });
    let is_judged = options.condition.fail_if.is_some() && printed_result.is_some();
    printed(printed_result.unwrap_or(Ok(())), ended, is_judged)?;
    let points: Vec<RunAtPoint<'_>> = loads.children.iter().zip(&ran).map(at_point).collect();
    for RunAtPoint { point, summary } in &points {
        if let Some(rows) = report::failed_rows(summary) {
            output::print_message(&format!("prestan: failed: {rows} with {point}"));
        }
    }
    let by_constraints = by_constraints(&points);
    let worst = ran.iter().map(|one| one.summary.conclusion()).max();
    match (worst, inconclusive(&ran)) {
        (Some(Conclusion::Fail), _) => Ok(ExitStatus::TestFailed),
        // The error of a constraint names the numbers of children.
        (_, Some(why)) if by_constraints.is_ok() => Err(RunnerError::inconclusive(why)),
        _ => by_constraints,
    }
}

fn at_point<'r>((children, ran): (&u32, &&'r KeptRun)) -> RunAtPoint<'r> {
    RunAtPoint {
        point: CountedUnit::Pages.amount(Find::Users, f64::from(*children)),
        summary: &ran.summary,
    }
}

fn progress_line(ran: &KeptRun, children: u32) -> String {
    let pages = ran.summary.pages.as_ref();
    let number = pages.map_or(0.0, |pages| pages.per_minute);
    let why = report::inconclusive(&ran.summary);
    let why = why.map_or(String::new(), |why| format!("; inconclusive: {why}"));
    let amount = CountedUnit::Pages.amount(Find::Users, f64::from(children));
    format!(
        "prestan: {amount}: WEBSTONE number {:.0}, kept in {}{why}",
        number.floor(),
        ran.path
    )
}

/// Number of runs with inconclusive rows.
fn inconclusive(ran: &[&KeptRun]) -> Option<String> {
    let summaries = ran.iter().map(|run| &run.summary);
    let why: Vec<String> = summaries.filter_map(report::inconclusive).collect();
    let first = why.first()?;
    Some(format!("{} of {} runs: {first}", why.len(), ran.len()))
}

/// Destinations of the curve. Options about a single run are refused.
fn result_request(options: &OutputOptions) -> Result<ResultRequest, RunnerError> {
    let formats = &options.formats;
    let of_one_run = [
        ("--csv", formats.csv.is_some()),
        ("--log", formats.log.is_some()),
        ("--junit", formats.cases.junit.is_some()),
        ("--layout", formats.layout.is_some()),
        ("--no-save", options.no_save),
        ("--verbose", options.verbose),
        ("--debug", options.debug),
    ];
    match of_one_run.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(RunnerError::Usage(format!(
            "{option} is for one run, and several --children are a run each"
        ))),
        None => Ok(options.result.request()),
    }
}
