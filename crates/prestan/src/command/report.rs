//! `prestan report`: recorded runs, printed again or drawn side by side.

use std::path::{Path, PathBuf};

use clap::Args;
use record::{ConstraintRecord, ConstraintSense, PlanRecord};
use report::page::ReportPage;
use report::{BesideResult, Comparisons, Diagnosed, Versus};
use rundir::RunFolder;
use runner::RunnerError;
use runner::access::labels_of;
use runner::kept::{KeptRun, RecordReading, open};
use runner::state;
use runner::text_file;
use terminal::output::{self, ReportRequest};
use terminal::sample_log;

use super::fail_if::FAIL_IF;
use crate::args::{
    FailIfOptions, FormatOptions, LabelOptions, ResultOptions, VerdictOptions, defaults,
};
use crate::exit::{ExitStatus, code_of_all};

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Name of the run, its beginning, or directory [default: the latest run]
    ///
    /// Several runs are shown side by side, with --html, --svg or --png.
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,

    /// Judge the run by the constraints of this file instead of its own: a suite, or `constraints:`
    /// alone
    ///
    /// The exit status is then that of the verdict: 0, 1 (fail) or 3 (inconclusive).
    #[arg(long, value_name = "FILE")]
    pub(crate) judge: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) condition: FailIfOptions,

    #[command(flatten)]
    pub(crate) labels: LabelOptions,

    #[command(flatten)]
    pub(crate) result: ResultOptions,

    #[command(flatten)]
    pub(crate) formats: FormatOptions,
}

pub(crate) fn report(args: &ReportArgs) -> Result<ExitStatus, RunnerError> {
    let request = args.formats.request(&args.result);
    output::check_report(&request)?;
    match &args.runs[..] {
        [] | [_] => one(args, &request),
        _ if args.judge.is_some() || args.condition.fail_if.is_some() => Err(RunnerError::Usage(
            "--judge and --fail-if are for one run; judge one after the other".to_owned(),
        )),
        several => side_by_side(several, args),
    }
}

fn one(args: &ReportArgs, request: &ReportRequest) -> Result<ExitStatus, RunnerError> {
    let path = state::find_run(args.runs.first().map(PathBuf::as_path))?;
    let logged = match &request.log {
        Some(file) => write_log(file, &path),
        None => Ok(()),
    };
    let constraints = constraints(args, &path)?;
    let labels = labels_of(&args.labels.label, 1)?;
    let reading = RecordReading {
        constraints: constraints.as_deref(),
        label: labels[0].as_deref(),
    };
    let kept = if request.result.figures.any() {
        KeptRun::pooled(std::slice::from_ref(&path), 1, reading)?
    } else {
        KeptRun::read(&path, reading)?
    };
    let beside = loads_beside(&kept, &path, reading.label)?;
    let beside: Vec<BesideResult<'_>> = beside.iter().map(KeptRun::beside).collect();
    let printed = output::print(
        kept.page_run(None),
        kept.diagnosed.clone(),
        &beside,
        request,
        Some(kept.path.clone()),
    );
    printed.and(logged)?;
    let PlanRecord { side, series, .. } = &kept.run.plan;
    if let ([], Some(series), Some(_)) = (&args.runs[..], series, side) {
        output::print_message(&format!(
            "prestan: this is one of the runs of a comparison; `prestan compare {series}` prints all of it"
        ));
    }
    match constraints {
        Some(_) => code_of_all(std::iter::once(&kept.summary)),
        None => Ok(ExitStatus::Done),
    }
}

/// Constraints in place of those of a recorded run, if it is judged again.
fn constraints(
    args: &ReportArgs,
    run: &Path,
) -> Result<Option<Vec<ConstraintRecord>>, RunnerError> {
    if args.judge.is_none() && args.condition.fail_if.is_none() {
        return match args.result.inconclusive {
            Some(_) => Err(RunnerError::Usage(
                "--inconclusive is about --judge or --fail-if; give one of them as well".to_owned(),
            )),
            None => Ok(None),
        };
    }
    let plan = open(run)?.plan;
    let mut constraints = match &args.judge {
        Some(file) => constraints_of(file, &plan)?,
        None => plan.constraints.clone(),
    };
    if let Some(condition) = &args.condition.fail_if {
        constraints.retain(|constraint| constraint.name != FAIL_IF);
        let sense = ConstraintSense::FailsIf;
        let constraint = suite::constraint_for_recorded(FAIL_IF, condition, sense, &plan);
        constraints.push(constraint.map_err(RunnerError::Usage)?);
    }
    Ok(Some(constraints))
}

/// The constraints of a file, for a recorded run.
fn constraints_of(file: &Path, plan: &PlanRecord) -> Result<Vec<ConstraintRecord>, RunnerError> {
    let name = file.display().to_string();
    let text = text_file::read(file)
        .map_err(|error| RunnerError::Usage(format!("reading {name} failed: {error}")))?;
    let constraints = suite::constraints_for(&name, &text, plan);
    constraints.map_err(|error| RunnerError::Usage(error.to_string()))
}

/// Loads beside a kept run.
fn loads_beside(
    kept: &KeptRun,
    path: &Path,
    label: Option<&str>,
) -> Result<Vec<(String, KeptRun)>, RunnerError> {
    let reading = RecordReading {
        label,
        ..RecordReading::default()
    };
    let loads = kept.run.plan.beside.iter();
    let read = |load: &record::BesideRecord| {
        let folder = RunFolder::open(path).and_then(|run| run.load_beside(&load.name));
        Ok((load.name.clone(), KeptRun::of(folder, reading)?))
    };
    loads.map(read).collect()
}

fn write_log(file: &Path, run: &Path) -> Result<(), RunnerError> {
    let recorded = open(run)?;
    sample_log::write(file, &recorded, None)
}

fn side_by_side(paths: &[PathBuf], args: &ReportArgs) -> Result<ExitStatus, RunnerError> {
    let (result, formats) = (&args.result, &args.formats);
    if result.inconclusive.is_some() {
        return Err(RunnerError::Usage(
            "--inconclusive is about a run that is judged, and several runs are not; leave it out"
                .to_owned(),
        ));
    }
    let figures = result.figures.request();
    let of_one_run = [
        &result.output,
        &result.json,
        &result.markdown,
        &formats.csv,
        &formats.cases.junit,
        &formats.log,
    ];
    let is_of_one_run = of_one_run.iter().any(|file| file.is_some()) || formats.layout.is_some();
    if is_of_one_run || !figures.any() {
        return Err(RunnerError::Usage(
            "several runs are drawn side by side: write --html FILE, --svg DIR or --png DIR; as \
             text, JSON, JUnit or CSV they are printed one by one, and `prestan compare` compares them"
                .to_owned(),
        ));
    }
    let labels = labels_of(&args.labels.label, paths.len())?;
    let read = |(run, label): (&PathBuf, &Option<String>)| {
        let reading = RecordReading {
            label: label.as_deref(),
            ..RecordReading::default()
        };
        KeptRun::pooled(&[state::find_run(Some(run))?], paths.len(), reading)
    };
    let kept = paths.iter().zip(&labels).map(read);
    let kept = kept.collect::<Result<Vec<KeptRun>, RunnerError>>()?;
    let mut page = ReportPage {
        runs: kept.iter().map(|kept| kept.page_run(None)).collect(),
        ..ReportPage::default()
    };
    let diagnosed = diagnosed(&kept);
    page.diagnosed = Some(&diagnosed);
    let comparison = compared(&kept, &page.names());
    page.comparison = comparison.as_ref();
    output::draw(&page, &figures)?;
    Ok(ExitStatus::Done)
}

/// Findings in each of the runs that are shown together.
pub(crate) fn diagnosed(kept: &[KeptRun]) -> Vec<Diagnosed> {
    let diagnosed = kept.iter().filter_map(|kept| kept.diagnosed.clone());
    diagnosed.collect()
}

/// Comparison of all others with the first, if their tests are the same.
fn compared(kept: &[KeptRun], names: &[String]) -> Option<Comparisons> {
    let (a, others) = kept.split_first()?;
    let by = defaults::<VerdictOptions>().by();
    let versus = |(b, name): (&KeptRun, &String)| {
        let comparison = stats::compare_by(&[a.side()], &[b.side()], by)?;
        Ok(Versus {
            name: name.clone(),
            runs: vec![b.path.clone()],
            seeds: vec![b.run.plan.load.seed],
            notes: b.run.plan.notes.clone(),
            comparison,
        })
    };
    let versus = others.iter().zip(&names[1..]).map(versus);
    let versus: Result<Vec<Versus>, stats::Difference> = versus.collect();
    let undone = |why: &stats::Difference| {
        let why = report::difference(why);
        output::print_message(&format!("prestan: the runs are not compared: {why}"));
    };
    let versus = versus.inspect_err(undone).ok()?;
    Some(Comparisons {
        name: names[0].clone(),
        runs: vec![a.path.clone()],
        seeds: vec![a.run.plan.load.seed],
        notes: a.run.plan.notes.clone(),
        versus,
        incomplete: None,
    })
}
