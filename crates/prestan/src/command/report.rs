//! `prestan report`: recorded runs, printed again or drawn side by side.

use std::path::{Path, PathBuf};

use record::Run;
use report::page::{PageRun, ReportPage};
use report::{Comparisons, Diagnosed, Versus};
use rundir::Recorded;
use stats::{Side, Summary};

use super::compare::SAME_WITHIN;
use crate::args::{FormatOptions, ReportArgs};
use crate::exit::{Code, Failed};
use crate::intake::{Drawn, Record, drawn, summary_of_kept};
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
    } = match args.formats.figures.any() {
        true => Kept::drawn(&[path], 1)?,
        false => Kept::read(path)?,
    };
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
    let recorded = open(run)?;
    log::write(file, &recorded.plan, &recorded.samples)
}

/// A run that was recorded, or several of one server, put together.
pub(crate) struct Kept {
    /// The one, or the first of those with the most rows.
    pub(crate) run: Run,
    /// What all of them say.
    pub(crate) summary: Summary,
    pub(crate) drawn: Option<Drawn>,
    /// Where that one is.
    pub(crate) path: String,
}

impl Kept {
    /// Reads a run.
    pub(crate) fn read(path: PathBuf) -> Result<Kept, Failed> {
        let recorded = open(&path)?;
        Ok(Kept {
            summary: summary_of_kept(&recorded).map_err(Failed::Usage)?,
            drawn: None,
            path: path.display().to_string(),
            run: recorded.into_run(),
        })
    }

    /// Reads runs of one server, at least one, and what figures need that show so many servers.
    pub(crate) fn drawn(paths: &[PathBuf], servers: usize) -> Result<Kept, Failed> {
        let opened = paths.iter().map(|path| open(path));
        let mut recorded = opened.collect::<Result<Vec<Recorded>, Failed>>()?;
        let records: Vec<Record<'_>> = recorded.iter().map(Record::of).collect();
        let rows = servers * records[0].plan.measures.len();
        let (summary, drawn) = drawn(&records, rows).map_err(Failed::Usage)?;
        Ok(Kept {
            summary,
            path: paths[drawn.base].display().to_string(),
            run: recorded.swap_remove(drawn.base).into_run(),
            drawn: Some(drawn),
        })
    }

    fn side(&self) -> Side<'_> {
        Side {
            plan: &self.run.plan,
            env: &self.run.env,
            summary: &self.summary,
        }
    }

    /// The server on a page.
    pub(crate) fn shown(&self, name: Option<String>) -> PageRun<'_> {
        PageRun {
            name,
            run: &self.run,
            summary: &self.summary,
            details: self.drawn.as_ref().map(|drawn| drawn.details.clone()),
        }
    }
}

fn open(path: &Path) -> Result<Recorded, Failed> {
    rundir::open(path).map_err(|error| Failed::Usage(error.to_string()))
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
        .map(|run| Kept::drawn(&[state::find_run(Some(run))?], paths.len()))
        .collect::<Result<Vec<Kept>, Failed>>()?;
    let mut page = ReportPage {
        runs: kept.iter().map(|kept| kept.shown(None)).collect(),
        ..ReportPage::default()
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
        .inspect_err(|why| {
            let why = report::difference(why);
            output::tell(&format!("prestan: the runs are not compared: {why}"));
        })
        .ok()?;
    Some(Comparisons {
        name: names[0].clone(),
        runs: vec![a.path.clone()],
        versus,
    })
}
