//! How a load went: throughput, latencies and statuses over time. There is a panel for each run,
//! all with the same axes.

use std::collections::{BTreeMap, BTreeSet};

use figures::{
    Axis, Dash, Figure, FigureMark, Format, LegendKey, LineStep, MarkFill, MarkLook, MarkShape,
    MarkTone, Panel, Range, Scale, Series, Swatch, extent,
};
use record::{Nanos, Outcome};
use stats::{LoadCourse, LoadPart, OutcomeWithStatus};

use super::over_time::{CourseLine, key_of, keys, moment, rate, seconds_axis};
use super::{FigureKind, RunDetails, us};
use crate::page::data::seconds;

/// More statuses than these are put together.
const MOST: usize = 7;

const HEIGHT: f64 = 130.0;

const SINCE: &str = "seconds since the first operation";

/// Expected endings are blue and green, and all others warm or grey, whichever comes first.
const EXPECTED: [u8; 3] = [0, 2, 5];
const UNEXPECTED: [u8; 5] = [1, 4, 3, 6, 7];

#[derive(Clone, Copy)]
struct RunLoad<'a> {
    name: &'a str,
    course: &'a LoadCourse,
}

/// The figures of a load. They are empty for runs without one.
pub(super) fn all(test: &str, runs: &[RunDetails<'_>]) -> [(FigureKind, Figure); 3] {
    let runs = runs.iter().filter_map(|run| {
        Some(RunLoad {
            name: run.name,
            course: run.details.load.as_ref()?,
        })
    });
    let runs = runs.filter(|run| !run.course.parts.is_empty());
    let courses = Courses::of(test, runs.collect());
    [
        (FigureKind::Throughput, courses.throughput()),
        (FigureKind::Percentiles, courses.percentiles()),
        (FigureKind::Status, courses.status()),
    ]
}

/// Loads of one test, side by side.
struct Courses<'a> {
    test: &'a str,
    runs: Vec<RunLoad<'a>>,
    /// A schedule decided when operations began.
    is_open: bool,
    /// End of the longest, in seconds.
    end: f64,
}

impl<'a> Courses<'a> {
    fn of(test: &'a str, runs: Vec<RunLoad<'a>>) -> Courses<'a> {
        let ends = runs.iter().filter_map(|run| {
            let last = run.course.parts.last()?;
            Some(since(run.course, last.from + last.length))
        });
        Courses {
            test,
            is_open: runs.iter().any(|run| run.course.open),
            end: ends.fold(0.0, f64::max).max(1e-6),
            runs,
        }
    }

    fn throughput(&self) -> Figure {
        let of = |name: &str, course: &LoadCourse, look, count: fn(&LoadPart) -> u64| CourseLine {
            name: name.to_owned(),
            look,
            points: rates(course, count),
        };
        let lines = |course: &LoadCourse| {
            let planned = MarkLook::toned(MarkTone::Muted).dashed(Dash::Dashed);
            let answered = MarkLook::of(0).dashed(Dash::Dotted);
            let sent = MarkLook::of(1).dashed(Dash::Solid);
            let planned = of("planned", course, planned, |part| part.planned);
            let mut lines = vec![
                of("sent", course, sent, |part| part.sent),
                of("answered", course, answered, |part| part.done),
            ];
            if course.open {
                lines.insert(0, planned);
            }
            lines
        };
        let (what, planned) = if self.is_open {
            (
                "planned, sent and answered",
                "Planned: operations of the schedule. Where fewer are sent, the load generator or the server fell behind. ",
            )
        } else {
            ("sent and answered", "")
        };
        self.figure(DrawnLines {
            title: format!("{}: {what} operations per second", self.test),
            note: format!(
                "{planned}Answered: expected responses, at the time at which they were complete."
            ),
            axis: "operations/s",
            scale: Scale::Linear,
            format: Format::Plain,
            lines: self.runs.iter().map(|run| lines(run.course)).collect(),
        })
    }

    fn percentiles(&self) -> Figure {
        let what = if self.is_open {
            "latency from schedule"
        } else {
            "response time"
        };
        let lines = |course: &LoadCourse| {
            let names = ["p50", "p90", "p99"].into_iter().enumerate();
            let lines = names.map(|(index, name)| CourseLine {
                name: name.to_owned(),
                look: MarkLook::of(index),
                points: points(course, |part| {
                    part.percentiles[index].map(|ns| us(ns as f64))
                }),
            });
            lines.filter(CourseLine::has_points).collect()
        };
        self.figure(DrawnLines {
            title: format!("{}: percentiles of {what} over time", self.test),
            note: "Each value describes the operations that began in that part of the time and succeeded, without an interval. \
                   p99 is not drawn where there are fewer than 100 of them, p90 where there are fewer than 10."
                .to_owned(),
            axis: what,
            scale: Scale::Auto,
            format: Format::Time,
            lines: self.runs.iter().map(|run| lines(run.course)).collect(),
        })
    }

    fn figure(&self, drawn: DrawnLines) -> Figure {
        let legend = keys(drawn.lines.iter().flatten());
        let values = drawn.lines.iter().flatten().flat_map(CourseLine::positive);
        let range = Range::from_zero(extent(values).or(Some((0.0, 1.0))));
        let axis = Axis::numbers(range, drawn.scale, drawn.format).named(drawn.axis);
        let panels = self.runs.iter().zip(&drawn.lines).enumerate();
        let panels = panels.map(|(index, (run, lines))| {
            let series = lines.iter().map(|line| {
                line.series(&legend, |at, value| {
                    self.row(run, &line.name, at, drawn.shown(value))
                })
            });
            self.panel(index, axis.clone(), series.collect())
        });
        Figure {
            id: self.test.to_owned(),
            panels: panels.collect(),
            columns: self.columns(),
            keys: legend,
            title: drawn.title,
            note: drawn.note,
        }
    }

    fn status(&self) -> Figure {
        let courses: Vec<StatusCourse> = self
            .runs
            .iter()
            .map(|run| StatusCourse::of(run.course))
            .collect();
        let legend = status_keys(courses.iter().flat_map(|course| &course.endings));
        let tops = courses.iter().flat_map(|course| {
            let endings = || course.endings.iter();
            let sum = move |part: &Option<f64>, index: usize| {
                let counts = endings().map(|ending| ending.counts[index] as f64);
                part.map(|length| counts.sum::<f64>() / length)
            };
            let lengths = course.lengths.iter().enumerate();
            lengths.filter_map(move |(index, length)| sum(length, index))
        });
        let range = Range::from_zero(extent(tops.filter(|top| *top > 0.0)).or(Some((0.0, 1.0))));
        let axis = Axis::numbers(range, Scale::Linear, Format::Plain).named("operations/s");
        let panels = self.runs.iter().zip(&courses).enumerate();
        let panels = panels.map(|(index, (run, course))| {
            let row = |name: &str, at, rate| self.row(run, name, at, per_second(rate));
            self.panel(index, axis.clone(), course.series(&legend, &row))
        });
        Figure {
            id: self.test.to_owned(),
            title: format!("{}: operations per second by status", self.test),
            note: "The areas are stacked. Operations without a response appear with their outcome instead of a status; dropped \
                   operations were planned and never sent."
                .to_owned(),
            columns: self.columns(),
            panels: panels.collect(),
            keys: legend,
        }
    }

    fn panel(&self, index: usize, y: Axis, series: Vec<Series>) -> Panel {
        let is_last = index + 1 == self.runs.len();
        let x = seconds_axis(self.end, is_last.then_some(SINCE));
        Panel {
            title: self.runs[index].name.to_owned(),
            series,
            ..Panel::new(x, y, HEIGHT)
        }
    }

    fn is_one(&self) -> bool {
        self.runs.len() == 1
    }

    fn columns(&self) -> Vec<String> {
        let columns = ["run", "what", "at", "value"].into_iter();
        let columns = columns.skip(usize::from(self.is_one()));
        columns.map(str::to_owned).collect()
    }

    fn row(&self, run: &RunLoad<'_>, what: &str, at: f64, value: String) -> Vec<String> {
        let row = [run.name.to_owned(), what.to_owned(), moment(at), value];
        row.into_iter().skip(usize::from(self.is_one())).collect()
    }
}

struct DrawnLines {
    title: String,
    note: String,
    /// Title of the axis of values, with their unit.
    axis: &'static str,
    scale: Scale,
    format: Format,
    lines: Vec<Vec<CourseLine>>,
}

impl DrawnLines {
    fn shown(&self, value: f64) -> String {
        match self.format {
            Format::Plain => per_second(value),
            format => format.value(value),
        }
    }
}

fn per_second(rate: f64) -> String {
    format!("{}/s", figures::digits(rate))
}

/// A moment in seconds since the load began.
fn since(course: &LoadCourse, at: Nanos) -> f64 {
    let begin = course.parts.first().map_or(0, |part| part.from);
    seconds(at.saturating_sub(begin))
}

/// A value for the middle of each part.
fn points(
    course: &LoadCourse,
    value: impl Fn(&LoadPart) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    let parts = course.parts.iter();
    let points = parts.map(|part| (since(course, part.from + part.length / 2), value(part)));
    points.collect()
}

fn rates(course: &LoadCourse, count: fn(&LoadPart) -> u64) -> Vec<(f64, Option<f64>)> {
    let longest = longest(course);
    points(course, |part| {
        rate(count(part) as f64, seconds(part.length), longest)
    })
}

fn longest(course: &LoadCourse) -> f64 {
    let lengths = course.parts.iter().map(|part| seconds(part.length));
    lengths.fold(0.0, f64::max)
}

/// How many operations of each part ended in one way.
struct EndingCount {
    name: String,
    is_expected: bool,
    counts: Vec<u64>,
}

impl EndingCount {
    fn sum(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, counts: impl IntoIterator<Item = u64>) {
        for (sum, more) in self.counts.iter_mut().zip(counts) {
            *sum += more;
        }
    }
}

/// The statuses of a load over time.
struct StatusCourse {
    /// The middle of each part, in seconds.
    moments: Vec<f64>,
    /// The length of each that is long enough.
    lengths: Vec<Option<f64>>,
    /// The most frequent ways in which operations ended, and the others together.
    endings: Vec<EndingCount>,
}

impl StatusCourse {
    fn of(course: &LoadCourse) -> StatusCourse {
        let longest = longest(course);
        let long_enough = |part: &LoadPart| {
            let length = seconds(part.length);
            rate(1.0, length, longest).map(|_| length)
        };
        StatusCourse {
            moments: points(course, |_| None)
                .into_iter()
                .map(|(at, _)| at)
                .collect(),
            lengths: course.parts.iter().map(long_enough).collect(),
            endings: endings(course),
        }
    }

    /// The areas, the first one lowest.
    fn series(
        &self,
        keys: &[LegendKey],
        row: &dyn Fn(&str, f64, f64) -> Vec<String>,
    ) -> Vec<Series> {
        let mut below = vec![0.0; self.moments.len()];
        let endings = self.endings.iter();
        let series = endings.map(|ending| {
            let key = key_of(keys, &ending.name);
            let look = key.map_or(MarkLook::of(0), |key| keys[key].look);
            let mut area = Vec::new();
            let mut points = Vec::new();
            for (index, at) in self.moments.iter().copied().enumerate() {
                let Some(length) = self.lengths[index] else {
                    area.push((at, f64::NAN, f64::NAN));
                    continue;
                };
                let rate = ending.counts[index] as f64 / length;
                let low = below[index];
                let high = low + rate;
                below[index] = high;
                area.push((at, low, high));
                if rate > 0.0 {
                    let point =
                        FigureMark::new(MarkShape::Point(at, high), look.filled(MarkFill::None));
                    points.push(point.with_row(row(&ending.name, at, rate)));
                }
            }
            let top = area.iter().map(|(at, _, high)| (*at, *high)).collect();
            let area = FigureMark::new(
                MarkShape::Area(area, LineStep::Middle),
                look.filled(MarkFill::Soft),
            );
            let top = FigureMark::new(MarkShape::Line(top, LineStep::Middle), look);
            Series {
                key,
                marks: [area, top].into_iter().chain(points).collect(),
            }
        });
        series.collect()
    }
}

/// The legend of statuses, with separate colours for the expected ones.
fn status_keys<'e>(endings: impl Iterator<Item = &'e EndingCount>) -> Vec<LegendKey> {
    let mut keys: Vec<LegendKey> = Vec::new();
    let mut seen = [0, 0];
    for ending in endings {
        if key_of(&keys, &ending.name).is_some() {
            continue;
        }
        let colours: &[u8] = if ending.is_expected {
            &EXPECTED
        } else {
            &UNEXPECTED
        };
        let used = &mut seen[usize::from(ending.is_expected)];
        let tone = MarkTone::Series(colours[*used % colours.len()]);
        *used += 1;
        let dash = Dash::ALL[keys.len() % Dash::ALL.len()];
        keys.push(LegendKey {
            name: ending.name.clone(),
            look: MarkLook::toned(tone).dashed(dash),
            swatch: Swatch::Area,
        });
    }
    keys
}

fn endings(course: &LoadCourse) -> Vec<EndingCount> {
    let kinds = course.parts.iter();
    let kinds: BTreeSet<OutcomeWithStatus> = kinds
        .flat_map(|part| part.endings.keys().copied())
        .collect();
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<EndingCount> = Vec::new();
    for kind in kinds {
        let parts = course.parts.iter();
        let counts = parts.map(|part| part.endings.get(&kind).copied().unwrap_or(0));
        let name = ended(kind);
        match by_name.get(&name) {
            Some(index) => all[*index].add(counts),
            None => {
                by_name.insert(name.clone(), all.len());
                all.push(EndingCount {
                    name,
                    is_expected: kind.outcome == Outcome::Ok,
                    counts: counts.collect(),
                });
            }
        }
    }
    all.sort_by_key(|ending| std::cmp::Reverse(ending.sum()));
    if all.len() > MOST {
        let rest = all.split_off(MOST - 1);
        let mut others = EndingCount {
            name: format!("{} others", rest.len()),
            is_expected: false,
            counts: vec![0; course.parts.len()],
        };
        rest.into_iter()
            .for_each(|ending| others.add(ending.counts));
        all.push(others);
    }
    all
}

/// `200`, `404`, `200 (wrong body)`, `timeout`: a status that was not expected needs no more words.
fn ended(OutcomeWithStatus { status, outcome }: OutcomeWithStatus) -> String {
    let word = outcome.name().replace('_', " ");
    match (status, outcome) {
        (None, _) => word,
        (
            Some(status),
            Outcome::Ok | Outcome::WrongStatus | Outcome::Unsupported | Outcome::Refused,
        ) => status.to_string(),
        (Some(status), _) => format!("{status} ({word})"),
    }
}
