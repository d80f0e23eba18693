//! `prestan report`: recorded runs, printed again or drawn side by side.

use std::path::{Path, PathBuf};

use engine::rundir::{self, RunDirError};
use record::Run;
use report::page::{Page, PageRun};
use report::{Comparisons, Diagnosed, Versus};
use stats::{Side, Summary};

use super::compare::SAME_WITHIN;
use crate::args::{FormatOptions, ReportArgs};
use crate::exit::{Code, Failed};
use crate::intake::{Drawn, drawn_of_kept, summary_of_kept};
use crate::{log, output, state};

pub(crate) fn report(args: &ReportArgs) -> Result<Code, Failed> {
    output::check_report(&args.formats, &args.output)?;
    match &args.runs[..] {
        [] | [_] => one(args),
        several => side_by_side(several, args),
    }
}

fn one(args: &ReportArgs) -> Result<Code, Failed> {
    let path = state::find_run(args.runs.first().map(PathBuf::as_path))?;
    let Kept {
        run,
        summary,
        drawn,
        path,
    } = Kept::read(path, args.formats.figures.any().then_some(1))?;
    let logged = match &args.formats.log {
        Some(file) => write_log(file, Path::new(&path)),
        None => Ok(()),
    };
    let printed = output::print(
        &run,
        &summary,
        drawn,
        &args.formats,
        args.output.as_deref(),
        Some(path),
    );
    printed.and(logged)?;
    Ok(Code::Done)
}

fn write_log(file: &Path, run: &Path) -> Result<(), Failed> {
    let recorded = rundir::open(run).map_err(|error| Failed::Usage(error.to_string()))?;
    log::write(file, &recorded.plan, &recorded.samples)
}

/// A run that was recorded.
pub(crate) struct Kept {
    pub(crate) run: Run,
    pub(crate) summary: Summary,
    pub(crate) drawn: Option<Drawn>,
    /// Where it is.
    pub(crate) path: String,
}

impl Kept {
    /// Reads a run, and what figures need where they show so many runs.
    pub(crate) fn read(path: PathBuf, drawn: Option<usize>) -> Result<Kept, Failed> {
        let unreadable = |error: RunDirError| Failed::Usage(error.to_string());
        let recorded = rundir::open(&path).map_err(unreadable)?;
        let (summary, drawn) = match drawn {
            None => (summary_of_kept(&recorded).map_err(Failed::Usage)?, None),
            Some(runs) => {
                let rows = runs * recorded.plan.measures.len();
                let (summary, drawn) = drawn_of_kept(&recorded, rows).map_err(Failed::Usage)?;
                (summary, Some(drawn))
            }
        };
        Ok(Kept {
            summary,
            drawn,
            path: path.display().to_string(),
            run: recorded.into_run(),
        })
    }

    fn side(&self) -> Side<'_> {
        Side {
            plan: &self.run.plan,
            env: &self.run.env,
            summary: &self.summary,
        }
    }

    /// The run on a page.
    pub(crate) fn shown(&self, name: Option<String>) -> PageRun<'_> {
        PageRun {
            name,
            run: &self.run,
            summary: &self.summary,
            details: self.drawn.as_ref().map(|drawn| drawn.details.clone()),
        }
    }
}

fn side_by_side(paths: &[PathBuf], args: &ReportArgs) -> Result<Code, Failed> {
    let FormatOptions {
        json,
        csv,
        log,
        figures,
        ..
    } = &args.formats;
    let of_one_run = [json, csv, log, &args.output];
    if of_one_run.iter().any(|file| file.is_some()) || !figures.any() {
        return Err(Failed::Usage(
            "several runs are drawn side by side: write --html FILE, --svg DIR or --png DIR; as \
             text, JSON or CSV they are printed one by one, and `prestan compare` compares them"
                .to_owned(),
        ));
    }
    let kept = paths
        .iter()
        .map(|run| Kept::read(state::find_run(Some(run))?, Some(paths.len())))
        .collect::<Result<Vec<Kept>, Failed>>()?;
    let mut page = Page {
        runs: kept.iter().map(|kept| kept.shown(None)).collect(),
        ..Page::default()
    };
    let diagnosed = diagnosed(&kept);
    page.diagnosed = Some(&diagnosed);
    let comparison = compared(&kept, &page.names());
    page.comparison = comparison.as_ref();
    output::draw(&page, figures)?;
    Ok(Code::Done)
}

/// What is conspicuous in each of the runs that are shown together.
pub(crate) fn diagnosed(kept: &[Kept]) -> Vec<Diagnosed> {
    let drawn = kept.iter().filter_map(|kept| kept.drawn.as_ref());
    drawn.map(|drawn| drawn.diagnosed.clone()).collect()
}

/// All others beside the first, where they did the same.
fn compared(kept: &[Kept], names: &[String]) -> Option<Comparisons> {
    let (a, others) = kept.split_first()?;
    let versus = |(b, name): (&Kept, &String)| {
        let comparison = stats::compare(&[a.side()], &[b.side()], SAME_WITHIN)?;
        Ok(Versus {
            name: name.clone(),
            runs: vec![b.path.clone()],
            comparison,
        })
    };
    let versus: Result<Vec<Versus>, stats::Difference> =
        others.iter().zip(&names[1..]).map(versus).collect();
    let versus = versus
        .inspect_err(|why| output::tell(&format!("prestan: the runs are not compared: {why}")))
        .ok()?;
    Some(Comparisons {
        name: names[0].clone(),
        runs: vec![a.path.clone()],
        versus,
    })
}
