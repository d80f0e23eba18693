//! Charts of campaigns: bars in groups, with whiskers for 95 % intervals.
//!
//! ```text
//!             504 KB               group
//!    Apache |########|--|     16   bar, value
//!     nginx |####-|           11
//! ```

mod axis;

use experiment::{CellEstimate, ChartSummary};
use figures::{
    Along, Anchor, Axis, Figure, FigureMark, FileStyle, LineStep, MarkFill, MarkLook, MarkShape,
    MarkTone, Panel, Series,
};
use maud::html;
use textwrap::core::display_width;

use super::numbers::{NOT_MEASURED, estimate, mean, published, with_unit};
use super::words::name_and_title;
use super::{CampaignReport, caveats};
use crate::clean;
use crate::document::Block;
use crate::file_names::FileNames;
use crate::page::drawn;

/// Letters of a name that have room before its bar.
const LETTERS: usize = 19;
/// Height of the row of a bar or a heading in pixels, and half the height of a bar as a part of it.
const ROW: f64 = 18.0;
const HALF: f64 = 0.33;

/// All charts, each as an SVG document with a name for its file.
pub fn campaign_charts(of: &CampaignReport<'_>) -> Vec<(String, String)> {
    let title = clean(&of.experiment.title);
    let charts = figures(of).into_iter().flatten();
    let documents = charts.map(|chart| {
        let document = figures::file(&chart, &FileStyle::default(), &title);
        (chart.id, document)
    });
    documents.collect()
}

/// The part of a page with the charts: for each one with our figures, and one with the published
/// ones, each with a separate scale.
pub(super) fn section(of: &CampaignReport<'_>) -> Block {
    let charts = figures(of);
    Block::Page(html! {
        @if !charts.is_empty() {
            section #charts {
                h2 { "Charts" }
                @if charts.iter().any(|sides| sides.len() > 1) {
                    p.note { "Scales of the two sides differ: shapes and orders are compared, not absolute values." }
                }
                @for sides in &charts {
                    div.panels { @for side in sides { (drawn::figure(side)) } }
                }
            }
        }
    })
}

/// The figures of each chart: ours, and the published ones where there are any.
fn figures(of: &CampaignReport<'_>) -> Vec<Vec<Figure>> {
    let mut names = FileNames::default();
    let charts = of.summary.charts.iter().map(|chart| {
        let mut cells = chart.values.iter().flatten();
        let is_published = cells.any(|cell| cell.published.is_some());
        let mut side = |side: ChartSide| {
            let id = names.of(&format!("{} {}", chart.name, side.word()));
            BarChart::of(chart, side, is_published).figure(id)
        };
        let measured = side(ChartSide::Measured);
        let published = is_published.then(|| side(ChartSide::Published));
        std::iter::once(measured).chain(published).collect()
    });
    charts.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChartSide {
    Measured,
    Published,
}

impl ChartSide {
    fn word(self) -> &'static str {
        match self {
            ChartSide::Measured => "measured",
            ChartSide::Published => "published",
        }
    }

    fn words(self) -> &'static str {
        match self {
            ChartSide::Measured => "measured here",
            ChartSide::Published => "published",
        }
    }
}

struct DrawnBar {
    name: String,
    look: MarkLook,
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    is_bound: bool,
    /// Behind the bar, or in place of it.
    shown: String,
    /// Its row of the table: the bar, its value, and the published one beside it.
    cells: Vec<String>,
}

/// Bars below the heading of their group; without a heading, the names of bars identify them.
struct BarGroup {
    name: String,
    has_heading: bool,
    bars: Vec<DrawnBar>,
}

struct BarChart {
    title: String,
    unit: String,
    columns: Vec<String>,
    groups: Vec<BarGroup>,
    axis: Axis,
    note: String,
}

impl BarChart {
    /// Where one side is logarithmic, so is the other: shapes are compared.
    fn of(chart: &ChartSummary, side: ChartSide, is_published: bool) -> BarChart {
        let cells = || chart.values.iter().flatten();
        let drawable = |value: &f64| axis::is_drawable(*value);
        let is_wide = axis::is_wide(cells().filter_map(|cell| cell.mean).filter(drawable))
            || axis::is_wide(cells().filter_map(|cell| cell.published).filter(drawable));
        let groups = groups(chart, side, is_published);
        let bars = || groups.iter().flat_map(|group| &group.bars);
        let values = bars().filter_map(|bar| bar.value);
        let ends = bars().filter_map(|bar| bar.interval);
        let axis = axis::axis(values, ends, is_wide);
        let (figure, unit) = &chart.figure;
        let whose = side.words();
        let scale = if axis.is_log() { ", logarithmic" } else { "" };
        let name = name_and_title(&chart.name, &chart.title);
        let figure = with_unit(&clean(figure), *unit);
        let mut columns = vec!["Group".to_owned()];
        if chart.bars.len() > 1 {
            columns.push("Bar".to_owned());
        }
        columns.push(figure.clone());
        if side == ChartSide::Measured && is_published {
            columns.push("published".to_owned());
        }
        let mut chart_of = BarChart {
            title: format!("{}: {whose}", clean(&name)),
            unit: format!("{figure} {whose}{scale}"),
            columns,
            groups,
            axis,
            note: String::new(),
        };
        chart_of.note = chart_of.notes(chart, side, is_published).join(" ");
        chart_of
    }

    fn notes(&self, chart: &ChartSummary, side: ChartSide, is_published: bool) -> Vec<String> {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let mut notes = Vec::new();
        let mut note = |is_needed: bool, text: &str| {
            if is_needed {
                notes.push(text.to_owned());
            }
        };
        let mut intervals = bars().filter_map(|bar| bar.interval);
        let mut is_cut = bars().filter_map(|bar| bar.interval);
        let is_cut = is_cut.any(|(low, high)| self.axis.cuts(low) || self.axis.cuts(high));
        note(
            intervals.next().is_some(),
            "Whiskers are 95 % intervals of the mean.",
        );
        note(
            is_cut,
            "An arrow marks an interval that goes on beyond the axis.",
        );
        note(
            bars().any(|bar| bar.is_bound),
            "\"≥\" and a pointed bar mean that repetitions did not end in time.",
        );
        note(
            self.axis.is_log(),
            "Dots on a logarithmic scale: the values are too far apart for bars that begin at zero.",
        );
        if side == ChartSide::Measured {
            // Marks stand in the table.
            notes.extend(caveats::legend(chart.values.iter().flatten()));
            if !is_published {
                notes.push("No figures of this chart were published.".to_owned());
            }
        }
        notes
    }

    fn figure(self, id: String) -> Figure {
        let mut names = Vec::new();
        let mut marks = Vec::new();
        for group in &self.groups {
            if group.has_heading {
                let heading = MarkShape::Text {
                    at: (f64::NEG_INFINITY, names.len() as f64),
                    shift: (2.0, 0.0),
                    anchor: Anchor::Start,
                    text: group.name.clone(),
                    within: Some((f64::NEG_INFINITY, f64::INFINITY)),
                };
                marks.push(FigureMark::new(heading, MarkLook::toned(MarkTone::Ink)));
                names.push(String::new());
            }
            for bar in &group.bars {
                marks.extend(self.bar(bar, names.len() as f64));
                names.push(bar.name.clone());
            }
        }
        let zero = MarkShape::Rule {
            along: Along::Y,
            at: 0.0,
            text: String::new(),
            level: 0,
        };
        if self.axis.ends().0 < 0.0 {
            marks.push(FigureMark::new(zero, MarkLook::toned(MarkTone::Muted)));
        }
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let right = bars.map(|bar| display_width(&bar.shown)).max();
        let panel = Panel {
            right: right.unwrap_or(0),
            series: vec![Series { key: None, marks }],
            ..Panel::new(
                self.axis.named(self.unit),
                Axis::categories(names, ROW),
                0.0,
            )
        };
        Figure {
            id,
            title: self.title,
            note: self.note,
            columns: self.columns,
            keys: Vec::new(),
            panels: vec![panel],
        }
    }

    fn bar(&self, bar: &DrawnBar, row: f64) -> Vec<FigureMark> {
        let words = |x: f64, look| {
            let text = MarkShape::Text {
                at: (x, row),
                shift: (6.0, 0.0),
                anchor: Anchor::Start,
                text: bar.shown.clone(),
                within: None,
            };
            FigureMark::new(text, look)
        };
        let cells = bar.cells.clone();
        let Some(value) = bar.value else {
            let look = MarkLook::toned(MarkTone::Muted).filled(MarkFill::Soft);
            return vec![words(f64::NEG_INFINITY, look).with_row(cells)];
        };
        let ink = MarkLook::toned(MarkTone::Ink);
        let mut marks = self.mark(bar, value, row);
        if let Some(last) = marks.pop() {
            marks.push(last.with_row(cells));
        }
        if let Some(ends) = bar.interval {
            let interval = MarkShape::Interval {
                along: Along::X,
                at: row,
                ends,
                strokes: true,
            };
            marks.push(FigureMark::new(interval, ink));
        }
        if bar.is_bound {
            marks.push(FigureMark::new(MarkShape::Arrow(value, row), ink));
        }
        marks.push(words(f64::INFINITY, ink));
        marks
    }

    /// A bar from zero to its value; a dot on a logarithmic axis, where lengths mean nothing.
    fn mark(&self, bar: &DrawnBar, value: f64, row: f64) -> Vec<FigureMark> {
        if self.axis.is_log() {
            let line = vec![(f64::NEG_INFINITY, row), (value, row)];
            let line = FigureMark::new(
                MarkShape::Line(line, LineStep::None),
                MarkLook::toned(MarkTone::Grid),
            );
            return vec![
                line,
                FigureMark::new(MarkShape::Point(value, row), bar.look),
            ];
        }
        let look = if bar.is_bound {
            bar.look.filled(MarkFill::Soft)
        } else {
            bar.look
        };
        let rect = MarkShape::Rect {
            x: (0.0, value),
            y: (row - HALF, row + HALF),
        };
        vec![FigureMark::new(rect, look)]
    }
}

/// The bars of one side of a chart. A chart with one bar in each group has no headings, unless
/// names are too long for the room before bars.
fn groups(chart: &ChartSummary, side: ChartSide, is_published: bool) -> Vec<BarGroup> {
    let is_single = chart.bars.len() < 2;
    let is_long = |name: &String| display_width(&clean(name)) > LETTERS;
    let is_long = chart.groups.iter().any(is_long);
    let drawn = |group: &str, number: usize, cell: Option<&CellEstimate>| {
        let nothing = CellEstimate::default();
        let cell = cell.unwrap_or(&nothing);
        let published_text = || cell.published.map(published);
        let (value, interval, shown, cells) = match side {
            ChartSide::Measured => {
                let ends = cell.interval.map(|range| (range.low, range.high));
                let shown = mean(cell).unwrap_or_else(|| NOT_MEASURED.to_owned());
                (cell.mean, ends, shown, estimate(cell).text())
            }
            ChartSide::Published => {
                let shown = published_text().unwrap_or_else(|| "not published".to_owned());
                (cell.published, None, shown.clone(), shown)
            }
        };
        let bar = chart.bars.get(number).filter(|_| !is_single);
        let beside = (side == ChartSide::Measured && is_published)
            .then(|| published_text().unwrap_or_else(|| "-".to_owned()));
        let name = match bar {
            Some(bar) => bar,
            None if is_long => "",
            None => group,
        };
        let row = [group].into_iter().chain(bar.map(String::as_str));
        let row = row.map(clean).chain([cells]).chain(beside);
        DrawnBar {
            name: clean(name),
            look: MarkLook::of(number),
            value: value.filter(|value| axis::is_drawable(*value)),
            interval: interval
                .filter(|(low, high)| axis::is_drawable(*low) && axis::is_drawable(*high)),
            is_bound: side == ChartSide::Measured && cell.unfinished > 0,
            shown,
            cells: row.collect(),
        }
    };
    let group = |(number, name): (usize, &String)| {
        let values = chart.values.get(number);
        let cell = |bar: usize| values.and_then(|values| values.get(bar));
        let bars = if is_single { 1 } else { chart.bars.len() };
        BarGroup {
            name: clean(name),
            has_heading: is_long || !is_single,
            bars: (0..bars).map(|bar| drawn(name, bar, cell(bar))).collect(),
        }
    };
    chart.groups.iter().enumerate().map(group).collect()
}
