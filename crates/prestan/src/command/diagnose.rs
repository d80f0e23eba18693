//! `prestan diagnose`: what should be fixed first, from recorded runs or from a server measured now.

mod now;

use std::path::{Path, PathBuf};

use engine::rundir;
use report::page::Page;
use report::{Diagnosed, DiagnosedRun};
use stats::Material;

use crate::args::{AnswerOptions, DiagnoseArgs, FigureOptions, is_given};
use crate::exit::{Code, Failed};
use crate::intake::material_of_kept;
use crate::{output, state};

/// Measures, or reads, and says what is conspicuous.
pub(crate) fn diagnose(args: &DiagnoseArgs) -> Result<Code, Failed> {
    output::check_answer(&args.answer, &[])?;
    let (runs, ended) = runs(args)?;
    let patients = patients(runs.into_iter().map(Kept::read).collect::<Result<_, _>>()?);
    let diagnosed: Vec<Diagnosed> = patients.into_iter().map(diagnosed).collect();
    print(&diagnosed, &args.answer)?;
    ended.map_or(Ok(Code::Done), Err)
}

/// The directories of the runs to look at; and why these are not all, where they were to be made now.
fn runs(args: &DiagnoseArgs) -> Result<(Vec<PathBuf>, Option<Failed>), Failed> {
    let subjects = &args.subjects;
    let is_run = |subject: &&String| state::find_run(Some(Path::new(subject.as_str()))).is_ok();
    let found = subjects.iter().filter(is_run).count();
    if args.server.is_some() || (subjects.len() == 1 && found == 0) {
        return now::measure(args);
    }
    let is_said = is_given(&args.measuring)
        || is_given(&args.clock)
        || is_given(&args.connect)
        || args.runs.save.is_some();
    if is_said {
        return Err(Failed::Usage(
            "nothing is measured now, and recorded runs are as they are: leave out the options that \
             say how to measure, or give one URL"
                .to_owned(),
        ));
    }
    let run = |subject: &String| state::find_run(Some(Path::new(subject)));
    let runs = match subjects.is_empty() {
        true => latest()?,
        false => subjects.iter().map(run).collect::<Result<_, _>>()?,
    };
    Ok((runs, None))
}

/// The last run, and those just before it of other suites on the same server.
fn latest() -> Result<Vec<PathBuf>, Failed> {
    let mut seen: Vec<(String, String)> = Vec::new();
    let mut runs = Vec::new();
    for path in state::kept_runs()? {
        // What cannot be read is an error of the last run, and of no other.
        let plan = match rundir::open(&path) {
            Err(error) if runs.is_empty() => return Err(Failed::Usage(error.to_string())),
            Err(_) => break,
            Ok(recorded) => recorded.plan,
        };
        let is_another = seen
            .iter()
            .all(|(target, suite)| *target == plan.target && *suite != plan.suite.name);
        if !is_another {
            break;
        }
        seen.push((plan.target, plan.suite.name));
        runs.push(path);
    }
    runs.reverse();
    Ok(runs)
}

/// A run and where it is kept.
struct Kept {
    material: Material,
    path: String,
}

impl Kept {
    fn read(path: PathBuf) -> Result<Kept, Failed> {
        let recorded = rundir::open(&path).map_err(|error| Failed::Usage(error.to_string()))?;
        let material = material_of_kept(&recorded).map_err(Failed::Usage)?;
        let path = path.display().to_string();
        Ok(Kept { material, path })
    }
}

/// Puts together what is known of each server: runs of different suites at the same URL. A second
/// run of a suite stands for itself.
fn patients(runs: Vec<Kept>) -> Vec<Vec<Kept>> {
    let mut patients: Vec<Vec<Kept>> = Vec::new();
    for run in runs {
        let (plan, own) = (&run.material.plan, |kept: &Kept| kept.material.plan.clone());
        let joins = |patient: &&mut Vec<Kept>| {
            patient
                .iter()
                .map(own)
                .all(|other| other.target == plan.target && other.suite.name != plan.suite.name)
        };
        match patients.iter_mut().find(joins) {
            Some(patient) => patient.push(run),
            None => patients.push(vec![run]),
        }
    }
    patients
}

fn diagnosed(patient: Vec<Kept>) -> Diagnosed {
    let (materials, paths): (Vec<Material>, Vec<String>) = patient
        .into_iter()
        .map(|kept| (kept.material, kept.path))
        .unzip();
    let runs = materials.iter().zip(paths);
    Diagnosed {
        runs: runs
            .map(|(material, path)| DiagnosedRun::of(material, path))
            .collect(),
        diagnosis: stats::diagnose(&materials),
    }
}

fn print(diagnosed: &[Diagnosed], options: &AnswerOptions) -> Result<(), Failed> {
    let kept = shown(diagnosed, &options.figures)?;
    let page = Page {
        runs: kept.iter().map(|kept| kept.shown(None)).collect(),
        diagnosed: Some(diagnosed),
        ..Page::default()
    };
    let json = || report::diagnose_json(diagnosed);
    let text = |color, width| report::diagnose_text(diagnosed, color, width);
    output::print_answer(&page, options, json, None, text)
}

/// The runs as a page shows them, where one is wanted.
fn shown(
    diagnosed: &[Diagnosed],
    figures: &FigureOptions,
) -> Result<Vec<super::report::Kept>, Failed> {
    let runs = diagnosed.iter().flat_map(|diagnosed| &diagnosed.runs);
    let paths: Vec<PathBuf> = match figures.any() {
        true => runs.map(|run| PathBuf::from(&run.name)).collect(),
        false => Vec::new(),
    };
    let count = paths.len();
    let read = |path| super::report::Kept::read(path, Some(count));
    paths.into_iter().map(read).collect()
}
