//! Background traffic beside what was measured, over the time of a run: panels one below the other,
//! with one time axis.

use std::collections::BTreeMap;

use figures::{
    Along, Anchor, Axis, Dash, Figure, FigureMark, Format, MarkFill, MarkLook, MarkShape, MarkTone,
    Panel, Range, Scale, Series, extent,
};
use record::{BackgroundComponent, BackgroundCounts, BackgroundRecord, Nanos, Pace};
use stats::{BackgroundPart, BackgroundSummary, ForegroundPart, MeasuredPart};

use super::over_time::{CourseLine, keys, moment, rate, seconds_axis};
use super::{us, words};
use crate::background;
use crate::page::PageRun;
use crate::page::data::seconds;

/// Rows or components with separate colours; further ones share one.
const MOST: usize = 4;

/// Heights of the panels, and of the line of names of tests above them.
const HEIGHT: f64 = 120.0;
const NAMES: f64 = 15.0;

/// Letters that have room above the panels on a phone.
const LETTERS: f64 = 34.0;

const SINCE: &str = "seconds since the beginning of the run";

/// The figure of a run, which is called `name` where there are several; `None` without background
/// traffic, or where nothing was read of it.
pub(super) fn background(shown: &PageRun<'_>, id: String, name: Option<&str>) -> Option<Figure> {
    let record = shown.run.plan.background.as_ref()?;
    let summary = shown.summary.background.as_ref()?;
    if summary.seconds.is_empty() {
        return None;
    }
    let course = BackgroundOverTime {
        shown,
        record,
        summary,
        parts: &summary.course.parts,
    };
    Some(course.figure(id, name))
}

struct BackgroundOverTime<'a> {
    shown: &'a PageRun<'a>,
    record: &'a BackgroundRecord,
    summary: &'a BackgroundSummary,
    parts: &'a [BackgroundPart],
}

/// A row in the parts in which something happened.
type ForegroundRow<'a> = (&'a str, &'a [ForegroundPart]);

/// A panel before it has a place.
struct CoursePanel {
    title: &'static str,
    axis: &'static str,
    scale: Scale,
    format: Format,
    /// How a value is written in the table.
    shown: fn(f64) -> String,
    /// Each with its name in the table.
    lines: Vec<(CourseLine, String)>,
}

impl CoursePanel {
    fn has_points(&self) -> bool {
        self.lines.iter().any(|(line, _)| line.has_points())
    }
}

impl<'a> BackgroundOverTime<'a> {
    fn figure(&self, id: String, name: Option<&str>) -> Figure {
        let panels = [
            self.responses(),
            self.latencies(),
            self.received(),
            self.lost(),
        ];
        let panels: Vec<CoursePanel> = panels.into_iter().filter(CoursePanel::has_points).collect();
        // A single line needs no name: the title of its panel describes it.
        let is_named = |panel: &&CoursePanel| panel.lines.len() > 1 || panel.format == Format::Bits;
        let named = panels.iter().filter(is_named);
        let legend = keys(named.flat_map(|panel| &panel.lines).map(|(line, _)| line));
        let (_, measured_to) = self.measured();
        let ends = self.parts.iter().map(|part| seconds(part.to()));
        let end = ends.fold(measured_to, f64::max).max(1e-6);
        let tests = self.tests();
        let count = panels.len();
        let mut drawn: Vec<Panel> = Vec::new();
        for (index, panel) in panels.iter().enumerate() {
            let values = panel.lines.iter().flat_map(|(line, _)| line.positive());
            let range = Range::from_zero(extent(values).or(Some((0.0, 1.0))));
            let y = Axis::numbers(range, panel.scale, panel.format).named(panel.axis);
            let x = seconds_axis(end, (index + 1 == count).then_some(SINCE));
            let lines = panel.lines.iter().map(|(line, what)| {
                let row = |at, value| vec![what.clone(), moment(at), (panel.shown)(value)];
                line.series(&legend, row)
            });
            let series = bands(tests).into_iter().chain(lines);
            let series = series.chain([self.marks(index == 0)]);
            drawn.push(Panel {
                title: panel.title.to_owned(),
                series: series.collect(),
                ..Panel::new(x, y, HEIGHT)
            });
        }
        let numbered = numbered(tests, end);
        if !drawn.is_empty() && !tests.is_empty() {
            drawn.insert(0, names(tests, numbered, end));
        }
        Figure {
            id,
            title: format!(
                "Background traffic beside {} over time",
                name.unwrap_or("the measurement")
            ),
            note: self.note(&panels, numbered),
            columns: words(["what", "at", "value"]),
            keys: legend,
            panels: drawn,
        }
    }

    fn note(&self, panels: &[CoursePanel], numbered: bool) -> String {
        let is_long = self.longest() > 1.5;
        let length = if is_long {
            "several seconds"
        } else {
            "about a second"
        };
        let mut note = vec![format!(
            "Each value describes {length} of the run, without an interval. Dashed lines enclose the measurement."
        )];
        let tests = self.tests();
        if !tests.is_empty() {
            note.push("Bands are the tests of the suite.".to_owned());
        }
        if numbered {
            let names = tests.iter().enumerate();
            let names = names.map(|(index, test)| format!("{} {}", index + 1, test.name));
            let names = names.collect::<Vec<_>>().join(", ");
            note.push(format!("Tests by their numbers: {names}."));
        }
        let lines = panels.iter().flat_map(|panel| &panel.lines);
        if lines.into_iter().any(|(line, _)| line.name == "p99") {
            note.push("p99 is not drawn where there are fewer than 100 operations.".to_owned());
        }
        if self.rows().next().is_none() {
            note.push("The samples of the measurement are not there.".to_owned());
        }
        note.join(" ")
    }

    /// When the first test began to measure, and the last one ended.
    fn measured(&self) -> (f64, f64) {
        let (from, to) = self.summary.measured;
        (seconds(from), seconds(to))
    }

    /// The tests that follow one another; none where they overlap.
    fn tests(&self) -> &'a [MeasuredPart] {
        let tests = &self.summary.course.tests;
        let follow = |pair: &[MeasuredPart]| pair[0].to <= pair[1].from;
        if tests.windows(2).all(follow) {
            tests
        } else {
            &[]
        }
    }

    fn rows(&self) -> impl Iterator<Item = ForegroundRow<'a>> {
        let tests = self.shown.summary.tests.iter();
        let rows = tests.zip(self.shown.details.iter().flatten());
        let rows = rows.map(|(test, details)| (&*test.name, &*details.foreground));
        rows.filter(|(_, parts)| !parts.is_empty())
    }

    fn longest(&self) -> f64 {
        let lengths = self.parts.iter().map(|part| seconds(part.length));
        lengths.fold(0.0, f64::max)
    }

    /// A value for the middle of each part.
    fn points(
        &self,
        of: impl Fn(usize, &BackgroundPart) -> Option<f64>,
    ) -> Vec<(f64, Option<f64>)> {
        let parts = self.parts.iter().enumerate();
        let points = parts.map(|(index, part)| {
            (
                seconds(part.from) + seconds(part.length) / 2.0,
                of(index, part),
            )
        });
        points.collect()
    }

    /// Responses per second, of all rows together: zero where something was measured and no
    /// response came.
    fn responses(&self) -> CoursePanel {
        let mut done = vec![0_u64; self.parts.len()];
        let mut has_rows = false;
        for (_, parts) in self.rows() {
            has_rows = true;
            for part in parts {
                if let Some(sum) = done.get_mut(part.index) {
                    *sum += part.done;
                }
            }
        }
        let (longest, (begin, end)) = (self.longest(), self.measured());
        let points = self.points(|index, part| {
            // Of the parts at both ends, the measured time is shorter.
            let length = seconds(part.to()).min(end) - seconds(part.from).max(begin);
            let rate = rate(done[index] as f64, length, longest);
            rate.filter(|_| has_rows)
        });
        let line = CourseLine {
            name: "answered".to_owned(),
            look: MarkLook::toned(MarkTone::Ink),
            points,
        };
        CoursePanel {
            title: "Measured: expected responses per second",
            axis: "responses/s",
            scale: Scale::Linear,
            format: Format::Plain,
            shown: |value| format!("{}/s", figures::digits(value)),
            lines: vec![(line, "responses".to_owned())],
        }
    }

    /// The median and p99 of one row, the medians of a few, and all medians alike of many.
    fn latencies(&self) -> CoursePanel {
        let has_times =
            |(_, parts): &ForegroundRow<'_>| parts.iter().any(|part| part.percentiles[0].is_some());
        let rows: Vec<ForegroundRow<'a>> = self.rows().filter(has_times).collect();
        let line = |name: String, look, (_, parts): &ForegroundRow<'_>, which: usize| {
            let known = parts.iter();
            let known: BTreeMap<usize, Option<Nanos>> = known
                .map(|part| (part.index, part.percentiles[which]))
                .collect();
            CourseLine {
                name,
                look,
                points: self.points(|index, _| Some(us((*known.get(&index)?)? as f64))),
            }
        };
        let lines: Vec<(CourseLine, String)> = match &rows[..] {
            [row] => {
                let lines = ["p50", "p99"].into_iter().enumerate();
                let lines = lines.map(|(which, name)| {
                    let description = format!("{name} of {}", row.0);
                    (
                        line(name.to_owned(), MarkLook::of(which), row, which),
                        description,
                    )
                });
                lines.filter(|(line, _)| line.has_points()).collect()
            }
            rows => {
                let lines = rows.iter().enumerate();
                let lines = lines.map(|(index, row)| {
                    let description = format!("p50 of {}", row.0);
                    let (name, look) = if rows.len() <= MOST {
                        (description.clone(), MarkLook::of(index))
                    } else {
                        ("p50 of each row".to_owned(), MarkLook::of(0))
                    };
                    (line(name, look, row, 0), description)
                });
                lines.collect()
            }
        };
        let is_open = matches!(self.shown.run.plan.load.pace, Pace::Open { .. });
        let (title, axis) = if is_open {
            ("Measured: latency from schedule", "latency from schedule")
        } else {
            ("Measured: response time", "response time")
        };
        CoursePanel {
            title,
            axis,
            scale: Scale::Auto,
            format: Format::Time,
            shown: |value| Format::Time.value(value),
            lines,
        }
    }

    fn components(&self) -> impl Iterator<Item = (usize, &'a BackgroundComponent, MarkLook)> {
        let components = self.record.components.iter().enumerate();
        components.map(|(index, component)| {
            let look = MarkLook::of(MOST + index);
            let dash = Dash::ALL[index % Dash::ALL.len()];
            (index, component, look.dashed(dash))
        })
    }

    fn counted(
        &self,
        component: usize,
        of: impl Fn(&BackgroundCounts, &BackgroundPart) -> Option<f64>,
    ) -> Vec<(f64, Option<f64>)> {
        self.points(|_, part| of(part.components.get(component)?, part))
    }

    fn received(&self) -> CoursePanel {
        let longest = self.longest();
        let received = |counts: &BackgroundCounts, part: &BackgroundPart| {
            rate(1.0, seconds(part.length), longest)?;
            Some(background::rate(counts.received_bytes, part.counted).round())
        };
        CoursePanel {
            title: "Background: rate that was received",
            axis: "received",
            scale: Scale::Linear,
            format: Format::Bits,
            shown: |value| Format::Bits.value(value),
            lines: self.lines("received", |_| true, received),
        }
    }

    fn lost(&self) -> CoursePanel {
        CoursePanel {
            title: "Background: datagrams that were lost",
            axis: "lost",
            scale: Scale::Linear,
            format: Format::Percent,
            shown: crate::figure::percent,
            lines: self.lines("lost", |of| of.protocol == "udp", |counts, _| counts.loss()),
        }
    }

    /// A line for each of these components, named in the table with this word.
    fn lines(
        &self,
        word: &str,
        is_shown: fn(&BackgroundComponent) -> bool,
        value: impl Fn(&BackgroundCounts, &BackgroundPart) -> Option<f64>,
    ) -> Vec<(CourseLine, String)> {
        let components = self.components();
        let components = components.filter(|(_, component, _)| is_shown(component));
        let lines = components.map(|(index, component, look)| {
            let points = self.counted(index, &value);
            let name = component.name.clone();
            let in_table = format!("{name}, {word}");
            (CourseLine { name, look, points }, in_table)
        });
        lines.collect()
    }

    /// The ends of the measurement, and of the traffic where that was before.
    fn marks(&self, is_first: bool) -> Series {
        let rule = |at, look, text: &str| {
            let rule = MarkShape::Rule {
                along: Along::Y,
                at,
                text: text.to_owned(),
                level: 0,
            };
            FigureMark::new(rule, look)
        };
        let (begin, end) = self.measured();
        let dashed = MarkLook::toned(MarkTone::Muted).dashed(Dash::Dashed);
        let mut marks: Vec<FigureMark> = [begin, end].map(|at| rule(at, dashed, "")).to_vec();
        let failed = self.summary.end.as_ref();
        if let Some((at, _)) = failed.filter(|(_, end)| end.failure.is_some()) {
            let text = if is_first { "traffic ended" } else { "" };
            marks.push(rule(seconds(*at), MarkLook::toned(MarkTone::Bad), text));
        }
        Series { key: None, marks }
    }
}

/// A band for every other test.
fn bands(tests: &[MeasuredPart]) -> Option<Series> {
    let marks = tests.iter().step_by(2).map(|test| {
        let band = MarkShape::Rect {
            x: (seconds(test.from), seconds(test.to)),
            y: (f64::NEG_INFINITY, f64::INFINITY),
        };
        FigureMark::new(band, MarkLook::toned(MarkTone::Grid).filled(MarkFill::Soft))
    });
    let marks: Vec<FigureMark> = marks.collect();
    (!marks.is_empty()).then_some(Series { key: None, marks })
}

/// Tests are called by numbers: a name has no room above its band.
fn numbered(tests: &[MeasuredPart], end: f64) -> bool {
    let has_room = |test: &MeasuredPart| {
        let share = (seconds(test.to) - seconds(test.from)) / end;
        test.name.chars().count() as f64 <= share * LETTERS
    };
    !tests.iter().all(has_room)
}

/// The names of tests, or their numbers, in a line above all panels.
fn names(tests: &[MeasuredPart], numbered: bool, end: f64) -> Panel {
    let marks = tests.iter().enumerate().map(|(index, test)| {
        let (from, to) = (seconds(test.from), seconds(test.to));
        let name = MarkShape::Text {
            at: ((from + to) / 2.0, 0.5),
            shift: (0.0, 0.0),
            anchor: Anchor::Middle,
            text: if numbered {
                (index + 1).to_string()
            } else {
                test.name.clone()
            },
            within: Some((from, to)),
        };
        FigureMark::new(name, MarkLook::toned(MarkTone::Muted))
    });
    let series = Series {
        key: None,
        marks: marks.collect(),
    };
    Panel {
        series: vec![series],
        ..Panel::new(Axis::bare(0.0, end), Axis::bare(0.0, 1.0), NAMES)
    }
}
