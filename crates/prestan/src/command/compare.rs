//! `prestan compare`: servers side by side, or runs that were recorded before.

pub(crate) mod side_by_side;

use std::path::{Path, PathBuf};

use engine::rundir;
use report::page::Page;
use report::{Comparisons, Versus};
use stats::{Caveat, Compared, Side, Verdict};

use super::series::Ran;
use crate::args::{CompareArgs, Slower, is_given};
use crate::command::report::{Kept, diagnosed};
use crate::exit::{Code, Failed};
use crate::intake::summary_of_kept;
use crate::{output, state};

use side_by_side::{Measured, SideBySide};

/// Differences up to this share count as the same, where nobody says otherwise (`--same-within`).
pub(crate) const SAME_WITHIN: f64 = 0.02;

/// Measures, or reads, and compares.
pub(crate) fn compare(args: &CompareArgs) -> Result<Code, Failed> {
    check(args)?;
    let Measured { servers, ended } = match asked(args)? {
        Asked::Recorded(sides) => Measured {
            servers: sides.into_iter().map(recorded).collect::<Result<_, _>>()?,
            ended: None,
        },
        Asked::Now => measure(args)?,
    };
    let comparisons = compared(&servers, args.question.same_within)?;
    // Where not all could be done, what was is told all the same.
    if ended.is_none() || rows(&comparisons).any(|row| row.ratio.is_some()) {
        print(&comparisons, &servers, args)?;
    }
    match ended {
        Some(why) => Err(why),
        None => judge(&comparisons, args.question.fail_if),
    }
}

fn measure(args: &CompareArgs) -> Result<Measured, Failed> {
    let how = SideBySide {
        suite: &args.series.suite,
        repeat: args.series.repeat,
        load: &args.load,
        clock: args.clock,
        connect: &args.connect,
        save: args.runs.save.as_deref(),
        quiet: args.runs.quiet,
    };
    side_by_side::measure(&how, &args.sides, &args.server)
}

/// A server and its runs.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) runs: Vec<Ran>,
}

impl Server {
    fn sides(&self) -> Vec<Side<'_>> {
        let runs = self.runs.iter();
        runs.map(|ran| Side {
            plan: &ran.plan,
            env: &ran.env,
            summary: &ran.summary,
        })
        .collect()
    }
}

/// What is to be compared.
enum Asked<'a> {
    Recorded(Vec<&'a str>),
    Now,
}

fn asked(args: &CompareArgs) -> Result<Asked<'_>, Failed> {
    let sides = args.sides.len() + args.server.len();
    if sides < 2 {
        return Err(Failed::Usage(format!(
            "there is {} to compare; give two URLs, two recorded runs, or --server twice",
            if sides == 0 { "nothing" } else { "one thing" }
        )));
    }
    let names: Vec<&str> = args.sides.iter().map(String::as_str).collect();
    let is_run = |side: &&&str| state::find_run(first(side)).is_ok();
    match names.iter().filter(is_run).count() {
        0 => Ok(Asked::Now),
        all if all == sides => {
            refuse_measuring(args)?;
            Ok(Asked::Recorded(names))
        }
        _ => Err(Failed::Usage(
            "some of these are recorded runs and some are not; a run of today beside one of \
             another day would compare the days: measure both now, or run the other first \
             (`prestan run`, and then `prestan compare` of both runs)"
                .to_owned(),
        )),
    }
}

/// Recorded runs are as they are.
fn refuse_measuring(args: &CompareArgs) -> Result<(), Failed> {
    let is_said = is_given(&args.series)
        || is_given(&args.load)
        || is_given(&args.clock)
        || is_given(&args.connect)
        || args.runs.save.is_some();
    match is_said {
        false => Ok(()),
        true => Err(Failed::Usage(
            "these are recorded runs, and they are compared as they are: leave out the options \
             that say what to measure and how"
                .to_owned(),
        )),
    }
}

fn first(side: &str) -> Option<&Path> {
    side.split(',').next().map(Path::new)
}

/// Reads the runs of a server.
fn recorded(side: &str) -> Result<Server, Failed> {
    let runs = side.split(',').map(|name| {
        let path = state::find_run(Some(Path::new(name)))?;
        let recorded = rundir::open(&path).map_err(|error| Failed::Usage(error.to_string()))?;
        let summary = summary_of_kept(&recorded).map_err(Failed::Usage)?;
        Ok(Ran {
            plan: recorded.plan,
            summary,
            env: recorded.env,
            path: path.display().to_string(),
        })
    });
    Ok(Server {
        name: side.to_owned(),
        runs: runs.collect::<Result<_, Failed>>()?,
    })
}

/// The first run of each server, for a page: the comparison is of all of them.
pub(crate) fn shown(servers: &[Server]) -> Result<Vec<Kept>, Failed> {
    let first = servers.iter().filter_map(|server| server.runs.first());
    first
        .map(|run| Kept::read(PathBuf::from(&run.path), Some(servers.len())))
        .collect()
}

pub(crate) fn compared(servers: &[Server], same_within: f64) -> Result<Comparisons, Failed> {
    let paths = |server: &Server| server.runs.iter().map(|run| run.path.clone()).collect();
    let names = told_apart(servers);
    let (a, others) = (&servers[0], &servers[1..]);
    let versus = others.iter().zip(&names[1..]).map(|(b, name)| {
        let comparison = stats::compare(&a.sides(), &b.sides(), same_within)
            .map_err(|error| Failed::Usage(format!("{} and {}: {error}", a.name, b.name)))?;
        Ok(Versus {
            name: name.clone(),
            runs: paths(b),
            comparison,
        })
    });
    Ok(Comparisons {
        name: names[0].clone(),
        runs: paths(a),
        versus: versus.collect::<Result<_, Failed>>()?,
    })
}

/// Names of servers; where one is given more than once, numbers tell them apart.
fn told_apart(servers: &[Server]) -> Vec<String> {
    let name = |(place, server): (usize, &Server)| {
        let same = |other: &&Server| other.name == server.name;
        match servers.iter().filter(same).count() {
            1 => server.name.clone(),
            _ => {
                let number = servers[..=place].iter().filter(same).count();
                format!("{} #{number}", server.name)
            }
        }
    };
    servers.iter().enumerate().map(name).collect()
}

fn check(args: &CompareArgs) -> Result<(), Failed> {
    let same_within = args.question.same_within;
    if let Some(Slower(by)) = args.question.fail_if.filter(|slower| slower.0 > 0.0)
        && by < same_within
    {
        return Err(Failed::Usage(format!(
            "--fail-if 'slower {}%': times that differ by {}% count as the same; give a smaller \
             --same-within as well",
            by * 100.0,
            same_within * 100.0
        )));
    }
    output::check_answer(&args.answer, &[&args.markdown])
}

fn print(comparisons: &Comparisons, servers: &[Server], args: &CompareArgs) -> Result<(), Failed> {
    let is_drawn = args.answer.figures.any();
    // A disk that was full may have kept no run; the comparison is there all the same.
    let undrawn = |why: Failed| {
        output::tell(&format!("prestan: warning: runs are not drawn: {why}"));
        Vec::new()
    };
    let kept = match is_drawn {
        true => shown(servers).unwrap_or_else(undrawn),
        false => Vec::new(),
    };
    let named = kept.iter().zip(told_apart(servers));
    let diagnosed = diagnosed(&kept);
    let page = &Page {
        diagnosed: is_drawn.then_some(&diagnosed),
        runs: named.map(|(kept, name)| kept.shown(Some(name))).collect(),
        comparison: Some(comparisons),
        ..Page::default()
    };
    let markdown = args.markdown.as_deref();
    let markdown = markdown.map(|path| (path, report::compare_markdown(comparisons)));
    let json = || report::compare_json(comparisons);
    let text = |color, width| report::compare_text(comparisons, color, width);
    output::print_answer(page, &args.answer, json, markdown, text)
}

fn rows(comparisons: &Comparisons) -> impl Iterator<Item = &Compared> {
    let versus = comparisons.versus.iter();
    versus.flat_map(|versus| &versus.comparison.rows)
}

/// Whether what was not to happen has happened. Where nobody knows, that is not good enough either.
fn judge(comparisons: &Comparisons, fail_if: Option<Slower>) -> Result<Code, Failed> {
    // What was slow or failed then may have been for the generator's sake.
    if let Some(why) = most_inconclusive(comparisons) {
        return Err(why);
    }
    let Some(Slower(by)) = fail_if else {
        return Ok(Code::Done);
    };
    if rows(comparisons).all(|row| row.verdict == Verdict::NotCompared) {
        output::tell("prestan: not good enough: no test could be compared");
        return Ok(Code::TestFailed);
    }
    let is_too_slow = |row: &&Compared| match row.verdict {
        Verdict::Slower => row.ratio.is_some_and(|ratio| ratio.value >= 1.0 + by),
        other => other.is_worse(),
    };
    let slow: Vec<String> = rows(comparisons)
        .filter(is_too_slow)
        .map(|row| format!("{} ({})", row.name, row.verdict.name()))
        .collect();
    if slow.is_empty() {
        return Ok(Code::Done);
    }
    output::tell(&format!("prestan: not good enough: {}", slow.join(", ")));
    Ok(Code::TestFailed)
}

/// Where the generator was the bottleneck in half of the runs or more.
fn most_inconclusive(comparisons: &Comparisons) -> Option<Failed> {
    comparisons.versus.iter().find_map(|versus| {
        let caveats = &versus.comparison.caveats;
        let inconclusive = caveats.iter().find_map(|caveat| match caveat {
            Caveat::Inconclusive(inconclusive) => Some(*inconclusive),
            _ => None,
        })?;
        Failed::mostly_bottleneck(inconclusive, 2 * versus.comparison.pairs)
    })
}
