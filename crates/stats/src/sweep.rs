//! A sweep: the same suite with other parameters, again and again, on one server or several.
//!
//! ```text
//! runs, each at one point --> rows of each server --> points: mean over repeats, its interval,
//!                                                |            ratio to the first server
//!                                                '--> growth of all rows together
//! ```

mod inside;

use crate::compare::{Inference, infer};
use crate::growth::{Growth, Observation, growth};
use crate::interval::ratio_interval;
use crate::{Since, Status, Summary, TestSummary};

pub use inside::{CallGrowth, CallLaw, SweptInside};

/// A run of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct Swept<'a> {
    /// Which server: an index.
    pub server: usize,
    /// For each parameter, which of its values: an index.
    pub levels: &'a [usize],
    /// Which repeat.
    pub repeat: usize,
    /// The results of the run.
    pub summary: &'a Summary,
}

/// Results of a sweep for one row of the suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptRow {
    /// Name of the row.
    pub name: String,
    /// HTTP method.
    pub method: String,
    /// The moment from which its times are counted.
    pub since: Since,
    /// One for each server.
    pub servers: Vec<SweptServer>,
}

/// Results of a sweep for a row of one server.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptServer {
    /// One for each point that was measured, in the order of the levels.
    pub points: Vec<SweepPoint>,
    /// Growth of its time with the varied parameters.
    pub growth: Growth,
    /// Growth of its costs inside of the server; `None` where the server was not traced.
    pub inside: Option<SweptInside>,
}

/// Results of the runs at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPoint {
    /// For each parameter, which of its values: an index.
    pub levels: Vec<usize>,
    /// Runs.
    pub runs: usize,
    /// The worst of them.
    pub status: Status,
    /// Those of them in which a warning disqualifies the row, so that they are in no mean.
    pub disqualified: usize,
    /// Operations that count.
    pub operations: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Mean time in nanoseconds, over all operations of all runs; `None` where the status is not
    /// ok, or all runs are disqualified.
    pub mean: Option<f64>,
    /// Its 95 % interval, from how much the runs differ; `None` for fewer than two runs.
    pub ci95: Option<(f64, f64)>,
    /// Its time over that of the first server; `None` for the first server itself, where one of
    /// both means is missing, and where no repeat has both.
    pub ratio: Option<PointRatio>,
}

/// The time of a server over that of the first one, at the same point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointRatio {
    /// The estimate, from the ratios of the repeats: above 1, this server takes more time.
    pub value: f64,
    /// Its 95 % interval, uncorrected for the number of points; `None` for a single repeat.
    pub ci95: Option<(f64, f64)>,
}

/// The results of a sweep, row by row. `values` are those of each parameter, ascending. Effects up
/// to the share `same_within` do not matter. Times are
/// [those to the first byte](TestSummary::first_byte_times).
pub fn sweep(values: &[Vec<f64>], runs: &[Swept<'_>], same_within: f64) -> Vec<SweptRow> {
    let servers = runs.iter().map(|run| run.server + 1).max().unwrap_or(0);
    let mut names: Vec<(&str, &str)> = Vec::new();
    for row in runs.iter().flat_map(|run| &run.summary.tests) {
        if !names.contains(&(row.name.as_str(), row.method.as_str())) {
            names.push((&row.name, &row.method));
        }
    }
    let cells: Vec<(&str, usize)> = names
        .iter()
        .flat_map(|(name, _)| (0..servers).map(move |server| (*name, server)))
        .collect();
    let points: Vec<Vec<SweepPoint>> = cells
        .iter()
        .map(|(name, server)| points(name, *server, runs))
        .collect();
    let observations = cells
        .iter()
        .zip(&points)
        .map(|((name, server), points)| observations(name, *server, runs, points));
    let of_processors = cells
        .iter()
        .map(|(name, server)| inside::processors(name, *server, runs));
    // All are judged together. Where no server was traced, there are no effects to be tested.
    let all: Vec<Vec<Observation>> = observations.chain(of_processors).collect();
    let mut growths = growth(values, &all, same_within);
    let processors = growths.split_off(cells.len());
    let insides = cells
        .iter()
        .zip(processors)
        .map(|((name, server), processor)| {
            let calls = inside::calls(name, *server, runs, values);
            let is_looked_into = !calls.is_empty() || processor.effects.iter().any(Option::is_some);
            is_looked_into.then(|| SweptInside {
                processor,
                calls,
                unseen: inside::unseen(name, *server, runs),
            })
        });
    let insides: Vec<Option<SweptInside>> = insides.collect();
    let mut results = points.into_iter().zip(growths).zip(insides);
    let row = |(name, method): &(&str, &str)| SweptRow {
        name: (*name).to_owned(),
        method: (*method).to_owned(),
        since: {
            let tests = runs.iter().flat_map(|run| &run.summary.tests);
            Since::of(tests.filter(|row| row.name == *name))
        },
        servers: results
            .by_ref()
            .take(servers)
            .map(|((points, growth), inside)| SweptServer {
                points,
                growth,
                inside,
            })
            .collect(),
    };
    names.iter().map(row).collect()
}

/// The runs of a server with their row of that name.
fn rows<'a>(
    name: &str,
    server: usize,
    runs: &'a [Swept<'a>],
) -> impl Iterator<Item = (&'a Swept<'a>, &'a TestSummary)> {
    let of_server = runs.iter().filter(move |run| run.server == server);
    of_server.filter_map(move |run| {
        let row = run.summary.tests.iter().find(|row| row.name == name)?;
        Some((run, row))
    })
}

fn points(name: &str, server: usize, runs: &[Swept<'_>]) -> Vec<SweepPoint> {
    let mut all: Vec<&[usize]> = rows(name, server, runs)
        .map(|(run, _)| run.levels)
        .collect();
    all.sort();
    all.dedup();
    let point = |levels: &[usize]| {
        let at_point = || rows(name, server, runs).filter(|(run, _)| run.levels == levels);
        let worst = at_point()
            .map(|(_, row)| row.status)
            .max_by_key(|status| status.badness());
        let status = worst.unwrap_or(Status::Failed);
        let is_disqualified = |row: &TestSummary| row.disqualified().is_some();
        let sound = at_point().filter(|(_, row)| !is_disqualified(row));
        let times = sound.filter_map(|(_, row)| row.first_byte_times());
        let times = times.filter(|_| status == Status::Ok);
        let sums: Vec<(f64, f64)> = times
            .map(|times| (times.mean * times.n as f64, times.n as f64))
            .collect();
        let (sum, n) = sums
            .iter()
            .fold((0.0, 0.0), |(sum, n), (total, of)| (sum + total, n + of));
        let mean = (n > 0.0).then_some(sum / n);
        SweepPoint {
            levels: levels.to_vec(),
            runs: at_point().count(),
            disqualified: at_point().filter(|(_, row)| is_disqualified(row)).count(),
            status,
            operations: at_point().map(|(_, row)| row.operations()).sum(),
            failed: at_point().map(|(_, row)| row.failed()).sum(),
            mean,
            ci95: mean.and_then(|mean| ratio_interval(sums.iter().copied(), mean)),
            ratio: mean.and_then(|_| ratio(name, server, runs, levels)),
        }
    };
    all.into_iter().map(point).collect()
}

/// Both servers of a repeat were measured under the same conditions as far as possible, so each
/// repeat is a pair, as in a comparison: an effect of the machine on both is not in their ratio.
fn ratio(name: &str, server: usize, runs: &[Swept<'_>], levels: &[usize]) -> Option<PointRatio> {
    let at = |server| rows(name, server, runs).filter(|(run, _)| run.levels == levels);
    if server == 0 || at(0).any(|(_, row)| row.status != Status::Ok) {
        return None;
    }
    let logs = |server: usize| -> Vec<(usize, f64)> {
        let sound = at(server).filter(|(_, row)| row.disqualified().is_none());
        let timed = sound.filter_map(|(run, row)| {
            // A time of zero has no logarithm; a nanosecond is the unit of the clock.
            Some((run.repeat, row.first_byte_times()?.mean.max(1.0).ln()))
        });
        timed.collect()
    };
    let (first, of_server) = (logs(0), logs(server));
    let ratios: Vec<f64> = of_server
        .iter()
        .filter_map(|(repeat, log)| {
            let (_, of_first) = first.iter().find(|(other, _)| other == repeat)?;
            Some(log - of_first)
        })
        .collect();
    match infer(&ratios) {
        Some(Inference { estimate, ci95, .. }) => Some(PointRatio {
            value: estimate.exp(),
            ci95: Some((ci95.0.exp(), ci95.1.exp())),
        }),
        None => ratios.first().map(|log| PointRatio {
            value: log.exp(),
            ci95: None,
        }),
    }
}

/// The observations for a fit of growth: points where a run failed are left out, and so are runs in
/// which the row is disqualified.
fn observations(
    name: &str,
    server: usize,
    runs: &[Swept<'_>],
    points: &[SweepPoint],
) -> Vec<Observation> {
    let is_ok = |levels: &[usize]| {
        let point = points.iter().find(|point| point.levels == levels);
        point.is_some_and(|point| point.status == Status::Ok)
    };
    let measured = rows(name, server, runs).filter(|(run, _)| is_ok(run.levels));
    let sound = measured.filter(|(_, row)| row.disqualified().is_none());
    sound
        .filter_map(|(run, row)| {
            Some(Observation {
                levels: run.levels.to_vec(),
                repeat: run.repeat,
                mean: row.first_byte_times()?.mean,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use record::Outcome;

    use super::*;
    use crate::testing::RunBuilder;
    use crate::{Growing, summarise};

    /// A run of two rows: one grows with the width, one fails at the largest.
    fn run(width: u64, repeat: u64) -> Summary {
        let builder = RunBuilder::new(1)
            .test("CopyCol", &[("CopyCol", "COPY")])
            .ok("CopyCol", 20, |_| 100 + 10 * width + repeat)
            .test("Get1K", &[("Get1K", "GET")])
            .ok("Get1K", 20, |_| 50 + (repeat * 7 + width) % 3);
        let builder = match width {
            300 => builder.ops("Get1K", 1, Outcome::WrongStatus, |_| 1),
            _ => builder,
        };
        summarise(&builder.build())
    }

    /// The ratio of the second server in a sweep of one point over two servers, where `times` are
    /// those of both in each repeat, in microseconds; no time is a failure.
    fn ratio_of(times: &[(Option<u64>, Option<u64>)]) -> Option<PointRatio> {
        let summary = |us: Option<u64>| {
            let builder = RunBuilder::new(1).test("Get1K", &[("Get1K", "GET")]);
            summarise(&match us {
                Some(us) => builder.ok("Get1K", 20, |_| us).build(),
                None => builder
                    .ops("Get1K", 20, Outcome::WrongStatus, |_| 1)
                    .build(),
            })
        };
        let summaries: Vec<(usize, usize, Summary)> = times
            .iter()
            .enumerate()
            .flat_map(|(repeat, (a, b))| [(0, repeat, summary(*a)), (1, repeat, summary(*b))])
            .collect();
        let runs: Vec<Swept<'_>> = summaries
            .iter()
            .map(|(server, repeat, summary)| Swept {
                server: *server,
                levels: &[0],
                repeat: *repeat,
                summary,
            })
            .collect();
        let rows = sweep(&[vec![1.0]], &runs, 0.05);
        assert_eq!(rows[0].servers[0].points[0].ratio, None);
        rows[0].servers[1].points[0].ratio
    }

    #[test]
    fn the_ratio_at_a_point_pairs_the_runs_of_a_repeat() {
        // The machine becomes slower from repeat to repeat, for both servers alike.
        let drift = [(100, 200), (200, 402), (400, 798), (800, 1600)];
        let found = ratio_of(&drift.map(|(a, b)| (Some(a), Some(b)))).unwrap();
        let (low, high) = found.ci95.unwrap();
        assert!((found.value - 2.0).abs() < 0.01, "{found:?}");
        assert!(
            low > 1.95 && low < 2.0 && high > 2.0 && high < 2.05,
            "{found:?}"
        );
        // One repeat does not show how much repeats differ.
        let single = ratio_of(&[(Some(100), Some(150))]).unwrap();
        assert!((single.value - 1.5).abs() < 1e-9 && single.ci95.is_none());
        // Where a run failed, there is no mean, and so no ratio.
        let good = (Some(100), Some(200));
        assert_eq!(ratio_of(&[good, good, (Some(100), None)]), None);
        assert_eq!(ratio_of(&[good, good, (None, Some(200))]), None);
        assert_eq!(ratio_of(&[(None, None)]), None);
    }

    #[test]
    fn rows_points_and_growth() {
        let widths: [u64; 4] = [10, 30, 100, 300];
        let values = vec![widths.map(|width| width as f64).to_vec()];
        let runs = (0..3).flat_map(|repeat| (0..4).map(move |level| (repeat, level)));
        let summaries: Vec<([usize; 1], usize, Summary)> = runs
            .map(|(repeat, level)| ([level], repeat, run(widths[level], repeat as u64)))
            .collect();
        let runs: Vec<Swept<'_>> = summaries
            .iter()
            .map(|(levels, repeat, summary)| Swept {
                server: 0,
                levels,
                repeat: *repeat,
                summary,
            })
            .collect();
        let rows = sweep(&values, &runs, 0.05);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["CopyCol", "Get1K"]);
        let copy = &rows[0].servers[0];
        assert_eq!(copy.points.len(), 4);
        let first = &copy.points[0];
        assert_eq!((first.runs, first.operations, first.failed), (3, 60, 0));
        // Over all operations of all runs.
        let mean = first.mean.unwrap();
        assert!((mean - 201_000.0).abs() < 1e-6, "{mean}");
        let (low, high) = first.ci95.unwrap();
        assert!(low > 198_000.0 && low < mean && high > mean && high < 204_000.0);
        let effect = copy.growth.effects[0].as_ref().unwrap();
        assert_eq!(effect.verdict, Growing::Grows);
        let law = copy.growth.law.as_ref().unwrap();
        assert!(
            (law.terms[0].per_unit.value - 10e3).abs() < 200.0,
            "{law:?}"
        );
        // A failed row has no time, and the law is that of the other points.
        let get = &rows[1].servers[0];
        let last = &get.points[3];
        assert_eq!(
            (last.status, last.failed, last.mean),
            (Status::Failed, 3, None)
        );
        let effect = get.growth.effects[0].as_ref().unwrap();
        assert_eq!(
            (effect.between, effect.verdict),
            ((10.0, 100.0), Growing::Not)
        );
        assert!(sweep(&values, &[], 0.05).is_empty());
    }
}
