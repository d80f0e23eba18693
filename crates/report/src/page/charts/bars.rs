//! Mean times with their intervals: of tests, and of whole pages.

use figures::{
    Along, Axis, Figure, FigureMark, Format, MarkFill, MarkLook, MarkShape, MarkTone, Panel, Scale,
    Series, Swatch, extent,
};
use stats::{Distribution, PageSummary, TestSummary};

use super::super::tables::test_names;
use super::super::{PageRun, ReportPage};
use super::{key, us, within, words};
use crate::lists::distinct;
use crate::table::{in_words, shown_times};

/// The part of the height of a row that its bars take.
const BAND: f64 = 0.72;
/// From this factor between the least and the greatest mean on, the length of a bar no longer shows
/// the least.
const WIDEST: f64 = 1000.0;
/// Letters beside bars that have room.
const LETTERS: usize = 20;

pub(super) struct TestGroup<'a> {
    id: &'static str,
    title: &'static str,
    tests: Vec<&'a str>,
}

struct BarValue<'a> {
    times: Option<&'a Distribution>,
    failed: u64,
    /// Result in a word, for a bar without a time.
    word: &'static str,
}

/// Properties that all bars of a figure share.
struct BarsAbout {
    what: &'static str,
    operations: &'static str,
    failures: &'static str,
}

impl<'a> TestGroup<'a> {
    /// Tests of whole collections take ten times as long as the others, so they are drawn apart. Xu
    /// (2004, figure 8) leaves CopyCol, MoveCol and DeleteCol out; LockCol and UnLockCol are set
    /// apart here, too, because his Table 2 has them among the slowest. They are recognised by
    /// their name; making one collection is work on a single resource.
    pub(super) fn all(page: &ReportPage<'a>) -> Vec<TestGroup<'a>> {
        let names = test_names(page);
        if names.is_empty() {
            return Vec::new();
        }
        let is_of_collections = |name: &&str| {
            let mut rows = page.runs.iter().filter_map(|run| row(run, name));
            let method = rows.next().map(|row| row.method.as_str());
            name.ends_with("Col") && method != Some("MKCOL")
        };
        let (collections, single): (Vec<&str>, Vec<&str>) =
            names.iter().copied().partition(is_of_collections);
        let of = |id, title, tests| TestGroup { id, title, tests };
        if collections.is_empty() || single.is_empty() {
            return vec![of("all", "All tests", names)];
        }
        let both = || {
            [
                of("single", "Single resources", single.clone()),
                of("collections", "Whole collections", collections.clone()),
            ]
        };
        let is_measured = |group: &TestGroup<'_>| group.means(page).next().is_some();
        let measured: Vec<TestGroup<'_>> = both().into_iter().filter(is_measured).collect();
        if measured.is_empty() {
            both().into()
        } else {
            measured
        }
    }

    fn means(&self, page: &ReportPage<'_>) -> impl Iterator<Item = f64> {
        let tests = self.tests.iter();
        tests.flat_map(|name| {
            let rows = page.runs.iter().filter_map(|run| row(run, name));
            rows.filter_map(|row| Some(us(shown_times(row)?.mean)))
        })
    }

    /// The scales on which its means can be seen.
    pub(super) fn scales(&self, page: &ReportPage<'_>) -> &'static [Scale] {
        match extent(self.means(page).filter(|us| *us > 0.0)) {
            Some((low, high)) if high / low > WIDEST => &[Scale::Log],
            _ => &[Scale::Linear, Scale::Log],
        }
    }
}

fn row<'a>(run: &PageRun<'a>, name: &str) -> Option<&'a TestSummary> {
    run.summary.tests.iter().find(|row| row.name == name)
}

pub(super) fn bars(
    page: &ReportPage<'_>,
    names: &[String],
    group: &TestGroup<'_>,
    scale: Scale,
) -> Figure {
    let about = BarsAbout {
        what: "response time",
        operations: "operations",
        failures: "failed",
    };
    let values = page.runs.iter().map(|run| {
        let run_values = group
            .tests
            .iter()
            .map(|name| row(run, name).map(test_value));
        run_values.collect()
    });
    let values: Vec<Vec<Option<BarValue<'_>>>> = values.collect();
    drawn(names, group, &values, &about, scale)
}

fn test_value(row: &TestSummary) -> BarValue<'_> {
    BarValue {
        times: shown_times(row),
        failed: row.failed(),
        word: in_words(row).0,
    }
}

fn page_value(page: &PageSummary) -> BarValue<'_> {
    let incomplete = page.visits.incomplete;
    BarValue {
        times: page.visits.load.as_ref(),
        failed: incomplete,
        word: if incomplete > 0 {
            "never complete"
        } else {
            "not loaded"
        },
    }
}

/// The times of whole pages: from the first request to the last byte. `None` where no run has
/// pages.
pub(super) fn pages(page: &ReportPage<'_>, names: &[String]) -> Option<Figure> {
    let all = page
        .runs
        .iter()
        .filter_map(|run| run.summary.pages.as_ref());
    let all = all.flat_map(|pages| &pages.pages);
    let tests = distinct(all.map(|page| page.page.name.as_str()));
    if tests.is_empty() {
        return None;
    }
    let about = BarsAbout {
        what: "time to load",
        operations: "loads",
        failures: "incomplete",
    };
    let values = page.runs.iter().map(|run| {
        let row_values = tests.iter().map(|name| {
            let pages = run.summary.pages.iter().flat_map(|pages| &pages.pages);
            let found = pages.into_iter().find(|page| page.page.name == **name);
            found.map(page_value)
        });
        row_values.collect()
    });
    let values: Vec<Vec<Option<BarValue<'_>>>> = values.collect();
    let group = TestGroup {
        id: "",
        title: "Pages",
        tests,
    };
    let figure = drawn(names, &group, &values, &about, Scale::Linear);
    Some(Figure {
        id: String::new(),
        ..figure
    })
}

/// The figure: `values` has a list for each run, with a value for each test that the run has.
fn drawn(
    names: &[String],
    group: &TestGroup<'_>,
    values: &[Vec<Option<BarValue<'_>>>],
    about: &BarsAbout,
    scale: Scale,
) -> Figure {
    let is_log = scale == Scale::Log;
    let (scale_name, swatch) = if is_log {
        ("log", Swatch::Point)
    } else {
        ("linear", Swatch::Bar)
    };
    let times = || {
        values
            .iter()
            .flatten()
            .flatten()
            .filter_map(|value| value.times)
    };
    let means = extent(times().map(|times| us(times.mean)).filter(|us| *us > 0.0));
    let ends = times().filter_map(|times| times.ci95);
    let ends: Vec<f64> = ends.flat_map(|(low, high)| [us(low), us(high)]).collect();
    let range = within(means.unwrap_or((1.0, 10.0)), &ends, is_log);
    let count = names.len();
    // Runs of different suites share few tests: only those that have one take room in its row.
    let having = |test: usize, runs: usize| {
        let counted = values[..runs].iter();
        counted
            .filter(|run_values| run_values[test].is_some())
            .count()
    };
    let tests = 0..group.tests.len();
    let most = tests.map(|test| having(test, count)).max().unwrap_or(0);
    let height = if count == 1 {
        24.0
    } else {
        9.0 + 13.0 * most as f64
    };
    let bar = BAND / most.max(1) as f64;
    let tests = group.tests.iter().map(|name| (*name).to_owned());
    let x = Axis::numbers(range, scale, Format::Time);
    let x = x.named(format!("mean {} ({scale_name})", about.what));
    let mut panel = Panel::new(x, Axis::categories(tests, height), 0.0);
    let mut longest = 2;
    for (index, (name, run_values)) in names.iter().zip(values).enumerate() {
        let mut series = Series {
            key: (count > 1).then_some(index),
            marks: Vec::new(),
        };
        for (row, (test, value)) in group.tests.iter().zip(run_values).enumerate() {
            let Some(value) = value else { continue };
            let (above, all) = (having(row, index) as f64, having(row, count) as f64);
            let middle = row as f64 + bar * (above + 0.5 - all / 2.0);
            let word = word(value, count == 1, about);
            if value.times.is_some() {
                longest = longest.max(word.chars().count());
            }
            let cells = row_cells(test, name, value);
            marks(
                &mut series,
                value,
                (middle, bar),
                MarkLook::of(index),
                is_log,
                cells,
                word,
            );
        }
        panel.series.push(series);
    }
    panel.right = longest.min(LETTERS);
    let cut = if is_log {
        "; an arrow marks one that leaves the axis"
    } else {
        ""
    };
    let legend = names.iter().enumerate().filter(|_| count > 1);
    Figure {
        id: format!("{}-{scale_name}", group.id),
        title: format!(
            "{}: mean {} with its 95 % interval, {scale_name} scale",
            group.title, about.what
        ),
        note: format!("Whiskers are 95 % intervals of the mean{cut}."),
        columns: [
            words(["test", "run", "mean", "95 % interval", "p50", "p99", "max"]),
            words([about.operations, about.failures]),
        ]
        .concat(),
        keys: legend
            .map(|(index, name)| key(name, MarkLook::of(index), swatch))
            .collect(),
        panels: vec![panel],
    }
}

/// The word beside a bar, or instead of it.
fn word(value: &BarValue<'_>, is_alone: bool, about: &BarsAbout) -> String {
    let Some(times) = value.times else {
        return value.word.to_owned();
    };
    let mean = is_alone.then(|| Format::Time.value(us(times.mean)));
    let failed = (value.failed > 0).then(|| format!("{} {}", value.failed, about.failures));
    let parts: Vec<String> = mean.into_iter().chain(failed).collect();
    parts.join(" ")
}

fn row_cells(test: &str, name: &str, value: &BarValue<'_>) -> Vec<String> {
    let mut cells = words([test, name]);
    let time = |ns: f64| Format::Time.value(us(ns));
    match value.times {
        None => cells.extend(words([value.word, "", "", "", "", "0"])),
        Some(times) => {
            let interval = times
                .ci95
                .map(|(low, high)| format!("{} .. {}", time(low), time(high)));
            let percentiles = [times.p50, times.p99, times.max].map(|ns| time(ns as f64));
            cells.extend([time(times.mean), interval.unwrap_or_default()]);
            cells.extend(percentiles);
            cells.push(times.n.to_string());
        }
    }
    cells.push(value.failed.to_string());
    cells
}

/// A bar, or a dot where lengths mean nothing, its interval, and the word beside it.
fn marks(
    series: &mut Series,
    value: &BarValue<'_>,
    (middle, bar): (f64, f64),
    look: MarkLook,
    is_log: bool,
    cells: Vec<String>,
    word: String,
) {
    let tone = if value.times.is_none() || value.failed > 0 {
        MarkTone::Bad
    } else {
        MarkTone::Muted
    };
    let mut beside = f64::NEG_INFINITY;
    if let Some(times) = value.times {
        let mean = us(times.mean);
        let shape = if is_log {
            MarkShape::Point(mean, middle)
        } else {
            MarkShape::Rect {
                x: (0.0, mean),
                y: (middle - bar / 2.0, middle + bar / 2.0),
            }
        };
        series
            .marks
            .push(FigureMark::new(shape, look).with_row(cells));
        let ends = times.ci95.map(|(low, high)| (us(low), us(high)));
        if let Some(ends) = ends {
            let interval = MarkShape::Interval {
                along: Along::X,
                at: middle,
                ends,
                strokes: true,
            };
            series
                .marks
                .push(FigureMark::new(interval, MarkLook::toned(MarkTone::Ink)));
        }
        beside = ends.map_or(mean, |(_, high)| high.max(mean));
    } else {
        // A row of the table without a mark.
        let nowhere = MarkShape::Point(f64::NAN, middle);
        series
            .marks
            .push(FigureMark::new(nowhere, look.filled(MarkFill::None)).with_row(cells));
    }
    if !word.is_empty() {
        let text = MarkShape::Text {
            at: (beside, middle),
            shift: (if is_log { 10.0 } else { 7.0 }, 0.0),
            anchor: figures::Anchor::Start,
            text: word,
            within: None,
        };
        series
            .marks
            .push(FigureMark::new(text, MarkLook::toned(tone)));
    }
}
