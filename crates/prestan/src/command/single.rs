//! A single run and its report.

use std::path::Path;
use std::sync::Arc;

use engine::{Cancel, Drive, Finished};
use record::Run;
use report::BesideResult;
use report::page::PageRun;
use rundir::Recorded;
use runner::RunnerError;
use runner::console::{Guard, MadeOnServers, RunDisplay, SeriesConsole, ShownRun};
use runner::kept::KeptRun;
use runner::local::{LocalRunner, LocalSeries, RunStep, RunStorage, RunTask, StepRun};
use runner::run::{CompletedRun, IncompleteRun, RunEnds, cut_short, not_measured, with_unsaved};
use runner::sample_sink::{Drawn, drawn};
use runner::servers::{RunWays, TestedServer};

use super::fail_if::{add_condition, without_result};
use crate::args::{MeasuringOptions, OutputOptions};
use crate::exit::{ExitStatus, code_of_all};
use crate::signals::on_interrupt;
use terminal::forecast::{Meter, RunMeter};
use terminal::output::{self, ReportRequest};
use terminal::sample_log;
use terminal::watch::Console;

/// A single run.
pub(crate) struct SingleRun<'a> {
    pub(crate) server: TestedServer,
    pub(crate) ways: RunWays,
    pub(crate) task: RunTask,
    pub(crate) users: u32,
    pub(crate) drive: Drive,
    pub(crate) ends: RunEnds,
    pub(crate) how: &'a MeasuringOptions,
    pub(crate) flames: bool,
}

/// Makes the run, saves it, prints its report.
pub(crate) fn single(
    run: SingleRun<'_>,
    output: &OutputOptions,
) -> Result<ExitStatus, RunnerError> {
    let SingleRun {
        server,
        ways,
        mut task,
        users,
        drive,
        ends,
        how,
        flames,
    } = run;
    add_condition(&output.condition, &mut task.plan)?;
    let server = server.looked_into(&how.inside.pid);
    let seed = ways.run.seed;
    let console = SingleConsole(output);
    let request = output.request();
    let storage = if output.no_save {
        RunStorage::Nowhere
    } else {
        RunStorage::Single(output.runs.save.clone())
    };
    let with = LocalSeries {
        flames,
        ends,
        needs_samples: request.result.figures.any() || request.log.is_some(),
        ..how.series(ways, storage, &console)
    };
    let mut runner = LocalRunner::new(vec![server], [&task], with)?;
    let run = StepRun {
        server: 0,
        group: 0,
        name: None,
        task: Arc::new(task),
        users,
        drive,
        seed,
    };
    let step = RunStep::single(0, 1, run);
    let (completed, gone) = runner.single(&step)?;
    let is_judged = output.condition.fail_if.is_some() && completed.was_cut_short();
    let reported = report(completed, &request);
    let Some(gone) = gone else {
        let without = |why| without_result(is_judged, why);
        return reported.map_err(without);
    };
    if let Err(why) = reported {
        output::print_message(&format!("prestan: warning: {why}"));
    }
    Err(without_result(is_judged, gone))
}

/// Displays a single run.
struct SingleConsole<'a>(&'a OutputOptions);

impl SeriesConsole for SingleConsole<'_> {
    fn show(&self, run: ShownRun<'_>) -> RunDisplay {
        let meter = Arc::new(Meter::default());
        meter.plan(run.group, run.plan, (run.users, run.drive));
        let work = (run.plan, run.users, run.drive);
        let meter = RunMeter::new(&meter, run.group, run.progress, work);
        let (progress, live) = (Arc::clone(run.progress), Arc::clone(run.live));
        let request = self.0.console();
        let console = Arc::new(Console::new(request, progress, run.record, live, meter));
        RunDisplay {
            following: Some(Box::new(console.follow())),
            observer: console,
        }
    }

    fn begin_step(&self, _: Option<&str>) {}

    fn remark(&self, line: &str) {
        output::print_message(line);
    }

    fn has_left_behind(&self, _: &str) -> bool {
        false
    }

    fn report_left_behind(&self, _: &[String]) {}

    fn on_interrupt(&self, cancel: &Cancel, made: &MadeOnServers) -> Result<Guard, RunnerError> {
        on_interrupt(cancel.clone(), Arc::clone(made))
    }

    fn is_quiet(&self) -> bool {
        self.0.runs.quiet
    }
}

/// Prints the report of a single run. The reason of a failed run has priority over that of one that
/// is not saved; both are printed.
fn report(completed: CompletedRun, request: &ReportRequest) -> Result<ExitStatus, RunnerError> {
    let CompletedRun {
        finished,
        summary,
        samples,
        windows,
        path,
        saved,
        beside,
    } = completed;
    let warn = |why: &RunnerError| output::print_message(&format!("prestan: warning: {why}"));
    let (beside, mut broken_off) = measured_beside(beside);
    let Finished {
        plan,
        env,
        events,
        error,
    } = finished;
    if let Some(error) = error {
        broken_off.iter().for_each(warn);
        let kept = path.filter(|_| saved.is_ok());
        let why = not_measured(error, &plan.suite.name, kept.as_deref());
        return Err(with_unsaved(why, saved));
    }
    let summary = summary.map_err(|why| {
        broken_off.iter().for_each(warn);
        RunnerError::Local(why)
    })?;
    let (logged, drawn, run) = match samples {
        Some(samples) => {
            let recorded = Recorded {
                plan,
                env,
                events,
                samples,
            };
            let log = request.log.as_deref();
            let logged = log.map_or(Ok(()), |log| {
                sample_log::write(log, &recorded, Some(windows))
            });
            let is_drawn = request.result.figures.any();
            let drawn = is_drawn.then(|| draw(&recorded)).flatten();
            (logged, drawn, recorded.into_run())
        }
        None => {
            let run = Run {
                plan,
                env,
                events,
                samples: Vec::new(),
            };
            (not_logged(request.log.as_deref()), None, run)
        }
    };
    let (details, diagnosed) = drawn.map(|drawn| (drawn.details, drawn.diagnosed)).unzip();
    let shown = PageRun {
        name: None,
        run: &run,
        summary: &summary,
        details,
    };
    let path = path.filter(|_| saved.is_ok());
    let cut = cut_short(&summary.complete, &run.plan.suite.name, path.as_deref());
    let loads: Vec<BesideResult<'_>> = beside.iter().map(KeptRun::beside).collect();
    output::print(shown, diagnosed, &loads, request, path)?;
    // The last failure is the result; the others are printed as well.
    let failed = [logged.err(), saved.err(), cut];
    let mut failures: Vec<RunnerError> = failed.into_iter().flatten().collect();
    // The result of the run itself has priority over that of a load.
    failures.splice(0..0, broken_off.drain(..));
    let Some(last) = failures.pop() else {
        let of_beside = beside.iter().map(|(_, load)| &load.summary);
        return code_of_all(std::iter::once(&summary).chain(of_beside));
    };
    failures.iter().for_each(warn);
    Err(last)
}

/// Results of the loads beside a run, and the reasons why some of them ended early.
fn measured_beside(
    ended: Vec<(String, Result<KeptRun, IncompleteRun>)>,
) -> (Vec<(String, KeptRun)>, Vec<RunnerError>) {
    let (mut measured, mut broken_off) = (Vec::new(), Vec::new());
    for (name, ended) in ended {
        match ended {
            Ok(run) => measured.push((name, run)),
            Err(IncompleteRun { why, run }) => {
                measured.extend(run.map(|run| (name.clone(), *run)));
                let what = format!("the load {name} beside the run: {why}");
                broken_off.push(match why {
                    RunnerError::Interrupted(_) => RunnerError::Interrupted(what),
                    _ => RunnerError::Local(what),
                });
            }
        }
    }
    (measured, broken_off)
}

/// Without samples, `--log` writes nothing.
fn not_logged(log: Option<&Path>) -> Result<(), RunnerError> {
    let Some(file) = log else { return Ok(()) };
    Err(RunnerError::Local(format!(
        "{} is not written: the samples of the run are lost",
        file.display()
    )))
}

/// Data of figures; without it, figures show less, with a warning.
fn draw(recorded: &Recorded) -> Option<Drawn> {
    let drawn = drawn(std::slice::from_ref(recorded), recorded.plan.measures.len());
    let warn = |why: &String| {
        output::print_message(&format!(
            "prestan: warning: distributions are not drawn: {why}"
        ));
    };
    drawn.inspect_err(warn).ok()
}
