//! A measured suite.

use std::fs;
use std::path::Path;
use std::process::Command;

use builtin::{BuiltinFile, SUITES};
use experiment::MeasuredSpec;
use rundir::{Recorded, RunDirError};
use stats::{Completeness, Distribution, Status, Summary};

use super::programs::prestan;
use super::{RunningMeasurement, TrialFailure, TrialOutcome};

/// The command that runs it.
pub(super) fn command(
    suite: &str,
    spec: &MeasuredSpec,
    url: &str,
    run: &Path,
) -> Result<Command, TrialFailure> {
    // The program has another working directory. A file named like a built-in suite is not used.
    let is_built_in = BuiltinFile::find(SUITES, suite).is_some();
    let path = fs::canonicalize(suite).ok().filter(|_| !is_built_in);
    let file = path.unwrap_or_else(|| suite.into());
    let mut command = prestan("run")?;
    command
        .arg(file)
        .args([url, "--quiet", "--save"])
        .arg(run)
        .args(&spec.arguments);
    Ok(command)
}

pub(super) fn figures(
    measurement: &mut RunningMeasurement<'_>,
    result: &mut TrialOutcome,
) -> Result<(), TrialFailure> {
    let name = measurement.name;
    result.figure(
        format!("{name}.unfinished"),
        f64::from(u8::from(measurement.is_unfinished)),
    );
    match summary_of(&measurement.output) {
        Ok(summary) if measurement.is_unfinished || summary.complete == Completeness::Complete => {
            figures_of(name, &summary, result);
            Ok(())
        }
        // A program that was ended before it began has no record.
        Err(_) if measurement.is_unfinished => Ok(()),
        Err(why)
            if measurement
                .program
                .status()
                .is_some_and(|measurement| measurement.success()) =>
        {
            Err(TrialFailure::of(&format_args!(
                "{name}: its suite has no figures: {why}"
            )))
        }
        Ok(_) | Err(_) => Err(measurement.program.failed()),
    }
}

fn summary_of(run: &Path) -> Result<Summary, RunDirError> {
    let Recorded {
        plan,
        env,
        events,
        samples,
    } = rundir::open(run)?;
    let (summary, _) = stats::summarise_from(&plan, &events, &env, || samples.pieces())?;
    Ok(summary)
}

fn figures_of(name: &str, summary: &Summary, result: &mut TrialOutcome) {
    for row in &summary.tests {
        if row.status != Status::Ok {
            let row = report::clean(&row.name);
            result.warn(format!("{name}: the row {row} is not ok"));
            continue;
        }
        let of_row = format!("{name}.{}", row.name);
        times(&of_row, row.response.as_ref(), result);
        result.maybe(format!("{of_row}.rate"), row.per_second());
    }
    // The load time of a page includes all its files, and connecting.
    for page in summary.pages.iter().flat_map(|all| &all.pages) {
        let of_page = format!("{name}.{}.page", page.page.name);
        times(&of_page, page.visits.load.as_ref(), result);
    }
}

fn times(name: &str, times: Option<&Distribution>, result: &mut TrialOutcome) {
    let Some(times) = times else {
        return;
    };
    for (end, ns) in [
        ("mean", times.mean),
        ("p50", times.p50 as f64),
        ("p99", times.p99 as f64),
    ] {
        result.figure(format!("{name}.{end}"), ns / 1e9);
    }
}

#[cfg(test)]
mod tests {
    use record::{EventKind, MeasureId, Outcome, Pace, PageRecord, Sample};
    use stats::testing::{self, RunBuilder};

    use super::*;

    const MS: u64 = 1_000_000;

    /// The time of a page is not the response time of its files.
    #[test]
    fn figures_are_those_of_rows_and_of_whole_pages() {
        let file = |measure: u16, started: u64| Sample {
            visit: Some(1),
            moments: testing::moments(started, started + MS, started + 3 * MS, started + 45 * MS),
            ..testing::sample(MeasureId(measure), 0, Outcome::Ok)
        };
        let page = PageRecord {
            name: "Serial_13".to_owned(),
            weight: 1.0,
            files: vec![MeasureId(0), MeasureId(1)],
            bytes: None,
            parts: None,
        };
        let run = RunBuilder::new(1)
            .test("Pages", &[("A", "GET"), ("B", "GET"), ("C", "GET")])
            .with(|run| {
                run.plan.load.pace = Pace::Closed;
                run.plan.load.requests = None;
                run.plan.pages = vec![page];
                run.samples = vec![file(0, 2000 * MS), file(1, 2045 * MS)];
            })
            .event_at(1000 * MS, |test| EventKind::MeasuringStarted { test })
            .event_at(11_000 * MS, |test| EventKind::MeasuringEnded { test })
            .build();
        let mut result = TrialOutcome::default();
        figures_of("pages", &stats::summarise(&run), &mut result);
        let figures: Vec<(&str, f64)> = result
            .figures
            .iter()
            .map(|(name, value)| (name.as_str(), (value * 1e6).round()))
            .collect();
        let row = |name: &str| ["mean", "p50", "p99"].map(|end| format!("pages.{name}.{end}"));
        let expected = |name: &str, us: f64| row(name).map(|name| (name, us));
        let all = [
            expected("A", 2000.0).to_vec(),
            vec![("pages.A.rate".to_owned(), 100_000.0)],
            expected("B", 2000.0).to_vec(),
            vec![("pages.B.rate".to_owned(), 100_000.0)],
            expected("Serial_13.page", 90_000.0).to_vec(),
        ]
        .concat();
        let all: Vec<(&str, f64)> = all.iter().map(|(name, us)| (name.as_str(), *us)).collect();
        assert_eq!(figures, all);
        assert_eq!(result.warnings, ["pages: the row C is not ok"]);
    }
}
