//! `prestan diagnose`: most important findings, from recorded runs or from a server measured now.

mod measure;

use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;
use record::PlanRecord;
use report::page::ReportPage;
use report::{Diagnosed, DiagnosedRun, Incomplete};
use runner::RunnerError;
use runner::kept::{KeptRun, open};
use runner::sample_sink;
use runner::state;
use runner::words::number_of;
use stats::{Material, Pooled, Resolution};
use terminal::output::{self, ResultRequest};

use super::compare::side_by_side::EarlyEnd;
use super::fail_if::printed;
use super::point_verdicts::{RunAtPoint, by_constraints};
use crate::args::{
    FailIfOptions, FlameOptions, LabOptions, MeasuringOptions, ResultOptions, RoundsOptions,
    RunningOptions, RunsOptions, ServerOptions, WritesOptions, is_given, whole,
};
use crate::exit::ExitStatus;

#[derive(Debug, Args)]
#[command(override_usage = "prestan diagnose [OPTIONS] [RUN]...\n       \
                            prestan diagnose [OPTIONS] <URL>\n       \
                            prestan diagnose [OPTIONS] --server <NAME>")]
pub(crate) struct DiagnoseArgs {
    /// Recorded runs, given by directory or name, or the URL of a server to measure
    #[arg(value_name = "RUN or URL", conflicts_with_all = ["server", "start"])]
    pub(crate) subjects: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) flame: FlameOptions,

    #[command(flatten)]
    pub(crate) result: ResultOptions,

    #[command(flatten)]
    pub(crate) condition: FailIfOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Measurement of a server")]
pub(crate) struct Measuring {
    /// Suites to run: built-in ones, or suite files
    #[arg(long, value_name = "SUITE", value_delimiter = ',',
          default_values_t = ["prestan", "listing", "locks", "features"].map(String::from))]
    pub(crate) suite: Vec<String>,

    #[command(flatten)]
    pub(crate) rounds: RoundsOptions,

    #[command(flatten)]
    pub(crate) writes: WritesOptions,

    /// Users of an additional short run, which finds requests that fail under load or whose
    /// throughput does not scale; 1 disables it [default: 8]
    ///
    /// By default this run sends no LOCK to a server given by URL, because concurrent LOCK requests
    /// can damage the lock database of mod_dav_fs.
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_u32))]
    pub(crate) load_users: Option<u32>,

    #[command(flatten)]
    pub(crate) running: RunningOptions,
}

/// Measures, or reads, and prints findings.
pub(crate) fn diagnose(args: &DiagnoseArgs) -> Result<ExitStatus, RunnerError> {
    let request = args.result.request();
    output::check_result(&request, &[])?;
    let runs = runs(args)?;
    let early_end = runs.early_end;
    let drawn = request.figures.any().then_some(runs.paths.len());
    let read = runs.paths.into_iter().map(|path| read(&path, drawn));
    let patients = patients(read.collect::<Result<_, _>>()?);
    let incomplete = early_end.as_ref().map(|end| &end.incomplete);
    let patients_diagnosed = patients
        .iter()
        .map(|patient| diagnosed(patient, incomplete));
    let diagnosed: Vec<Diagnosed> = patients_diagnosed.collect();
    let result = print(&patients, &diagnosed, &request);
    let is_judged = args.condition.fail_if.is_some();
    printed(result, early_end.map(|end| end.why), is_judged)?;
    let constrained = constrained(&patients);
    match judge(&diagnosed) {
        Ok(ExitStatus::Done) => constrained,
        judged if matches!(constrained, Ok(ExitStatus::Done) | Err(_)) => judged,
        _ => constrained,
    }
}

/// The result of the runs by the constraints of their suites, and by `--fail-if`.
fn constrained(patients: &[Patient]) -> Result<ExitStatus, RunnerError> {
    let runs = patients.iter().flat_map(|patient| &patient.kept);
    let points = runs.map(|kept| RunAtPoint {
        point: format!("the suite {}", kept.run.plan.suite.name),
        summary: &kept.summary,
    });
    by_constraints(&points.collect::<Vec<_>>())
}

/// Runs to diagnose.
struct Runs {
    /// Their directories.
    paths: Vec<PathBuf>,
    early_end: Option<EarlyEnd>,
}

/// Without findings, a result with rows left out because of a warning is inconclusive.
fn judge(all: &[Diagnosed]) -> Result<ExitStatus, RunnerError> {
    let is_silent = |of: &&Diagnosed| of.diagnosis.findings.is_empty();
    let silent = all.iter().filter(is_silent);
    let left_out = silent.map(|of| of.diagnosis.disqualified().count());
    let is_unchecked = |of: &Diagnosed| {
        let rows: usize = of.runs.iter().map(|run| run.rows).sum();
        of.diagnosis.findings.is_empty() && of.diagnosis.left_out.len() >= rows
    };
    match left_out.sum() {
        0 if all.iter().any(is_unchecked) => {
            Err(RunnerError::inconclusive("no row could be checked"))
        }
        0 => Ok(ExitStatus::Done),
        rows => Err(RunnerError::inconclusive(format!(
            "nothing was found, but {} could not be checked",
            number_of(rows, "row")
        ))),
    }
}

/// The runs to diagnose: recorded ones, or new ones.
fn runs(args: &DiagnoseArgs) -> Result<Runs, RunnerError> {
    let subjects = &args.subjects;
    let is_run = |subject: &&String| state::is_run_or_no_url(subject);
    let found = subjects.iter().filter(is_run).count();
    if args.server.is_given() || (subjects.len() == 1 && found == 0) {
        return measure::measure(args);
    }
    let is_said = is_given(&args.measuring)
        || is_given(&args.how)
        || is_given(&args.flame)
        || args.condition.fail_if.is_some()
        || args.runs.save.is_some();
    if is_said {
        return Err(RunnerError::Usage(
            "recorded runs are given, so nothing is measured: leave out the options that say how to \
             measure, or give one URL"
                .to_owned(),
        ));
    }
    let run = |subject: &String| state::find_run(Some(Path::new(subject)));
    let runs = if subjects.is_empty() {
        latest()?
    } else {
        subjects.iter().map(run).collect::<Result<_, _>>()?
    };
    Ok(Runs {
        paths: runs,
        early_end: None,
    })
}

/// The last run, and earlier ones on the same server: of other suites, and of the same diagnosis.
fn latest() -> Result<Vec<PathBuf>, RunnerError> {
    let mut seen: Vec<PlanRecord> = Vec::new();
    let mut runs = Vec::new();
    for path in state::kept_runs()? {
        // An unreadable record is an error only if it is the last run.
        let plan = match rundir::open(&path) {
            Err(error) if runs.is_empty() => return Err(RunnerError::Usage(error.to_string())),
            Err(_) => break,
            Ok(recorded) => recorded.plan,
        };
        let is_of_series = |other: &PlanRecord| {
            state::series_of(&other.run_id) == state::series_of(&plan.run_id)
                && stats::does_the_same(other, &plan)
        };
        let joins = |other: &PlanRecord| {
            other.target == plan.target
                && (other.suite.name != plan.suite.name || is_of_series(other))
        };
        if !seen.iter().all(joins) {
            break;
        }
        seen.push(plan);
        runs.push(path);
    }
    runs.reverse();
    Ok(runs)
}

/// Reads a run, and the data of figures that show `drawn` runs.
fn read(path: &Path, drawn: Option<usize>) -> Result<(Material, KeptRun), RunnerError> {
    let recorded = open(path)?;
    let measures = recorded.plan.measures.len();
    let resolution = drawn.map(|runs| Resolution::for_rows(runs * measures));
    let Pooled {
        material, details, ..
    } = sample_sink::pooled(slice::from_ref(&recorded), resolution).map_err(RunnerError::Usage)?;
    let (summary, path) = (material.summary.clone(), path.display().to_string());
    let kept = KeptRun {
        details: drawn.map(|_| details),
        ..KeptRun::new(recorded.into_run(), summary, path)
    };
    Ok((material, kept))
}

/// A server with its runs.
#[derive(Default)]
struct Patient {
    materials: Vec<Material>,
    kept: Vec<KeptRun>,
}

/// Groups runs by server: those with the same URL. A second run of a suite confirms the first one,
/// unless its parameters differ: then it is separate.
fn patients(runs: Vec<(Material, KeptRun)>) -> Vec<Patient> {
    let mut patients: Vec<Patient> = Vec::new();
    for (material, kept) in runs {
        let plan = &material.plan;
        let joins = |patient: &Patient| {
            let mut others = patient.materials.iter().map(|other| &other.plan);
            others.all(|other| {
                let is_another = other.suite.name != plan.suite.name;
                other.target == plan.target && (is_another || stats::does_the_same(other, plan))
            })
        };
        let index = patients.iter().position(joins).unwrap_or(patients.len());
        if index == patients.len() {
            patients.push(Patient::default());
        }
        patients[index].materials.push(material);
        patients[index].kept.push(kept);
    }
    patients
}

fn diagnosed(Patient { materials, kept }: &Patient, incomplete: Option<&Incomplete>) -> Diagnosed {
    let runs = materials.iter().zip(kept);
    let runs = runs.map(|(material, kept)| DiagnosedRun::of(material, kept.path.clone()));
    Diagnosed {
        runs: runs.collect(),
        diagnosis: stats::diagnose(materials),
        incomplete: incomplete.cloned(),
    }
}

fn print(
    patients: &[Patient],
    diagnosed: &[Diagnosed],
    request: &ResultRequest,
) -> Result<(), RunnerError> {
    let kept = patients.iter().flat_map(|patient| &patient.kept);
    let page = ReportPage {
        runs: kept.map(|kept| kept.page_run(None)).collect(),
        diagnosed: Some(diagnosed),
        is_diagnosis: true,
        ..ReportPage::default()
    };
    let json = || report::diagnose_json(diagnosed);
    let text = |color, width| report::diagnose_text(diagnosed, color, width);
    output::print_result(&page, request, json, None, text)
}
