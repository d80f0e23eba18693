//! Charts of campaigns: bars in groups, with whiskers for 95 % intervals, as SVG.
//!
//! ```text
//! 504 KB                            group
//!    Apache |########|--|     16    bar, value
//!     nginx |####-|           11
//! ```
//!
//! Bars lie on their sides, so that names of any length have room and thirty bars make a chart long, not narrow.
//! Colours are attributes; on pages the style adapts those of letters and lines to a dark ground.

mod axis;

use experiment::{CellEstimate, ChartSummary};
use maud::{Markup, Render, html};
use textwrap::core::display_width;

use super::numbers::{NOT_MEASURED, mean, published, with_unit};
use crate::clean;
use axis::BarAxis;

/// Width of a panel.
const WIDTH: f64 = 460.0;
/// Room for values behind bars, and for names before them.
const VALUES: f64 = 66.0;
const NARROWEST_NAMES: f64 = 30.0;
const WIDEST_NAMES: f64 = 150.0;
/// Width of a letter of a name.
const LETTER: f64 = 7.1;
/// Letters of a heading of a group.
const HEADING_LETTERS: usize = 58;
/// Heights.
const ROW: f64 = 18.0;
const HEADING: f64 = 20.0;
const AXIS: f64 = 40.0;
const BAR: f64 = 12.0;

/// Okabe and Ito (2008), as the figures of all pages.
const PALETTE: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c7b00", "#666666",
];
const GROUND: &str = "#ffffff";
const INK: &str = "#1b1f23";
const MUTED: &str = "#5b636b";
const LINE: &str = "#dfe3e7";

/// Whose figures a panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PanelSide {
    /// Ours.
    Measured,
    /// The published ones.
    Published,
}

/// One bar.
struct DrawnBar {
    name: String,
    color: &'static str,
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    /// The value is a lower bound.
    is_bound: bool,
    shown: String,
}

/// Bars below the heading of their group; without one, names of bars say what they are.
struct BarGroup {
    heading: Option<String>,
    bars: Vec<DrawnBar>,
}

/// A panel of a chart.
pub(super) struct BarPanel {
    title: String,
    unit: String,
    groups: Vec<BarGroup>,
    axis: BarAxis,
}

impl BarPanel {
    /// One side of a chart. Where one side is logarithmic, so is the other: shapes are compared.
    pub(super) fn of(chart: &ChartSummary, side: PanelSide) -> BarPanel {
        let cells = || chart.values.iter().flatten();
        let drawable = |value: &f64| axis::is_drawable(*value);
        let is_wide = axis::is_wide(cells().filter_map(|cell| cell.mean).filter(drawable))
            || axis::is_wide(cells().filter_map(|cell| cell.published).filter(drawable));
        let groups = groups(chart, side);
        let bars = || groups.iter().flat_map(|group| &group.bars);
        let values = bars().filter_map(|bar| bar.value);
        let ends = bars().filter_map(|bar| bar.interval);
        let axis = BarAxis::of(values, ends, is_wide);
        let (figure, unit) = &chart.figure;
        let whose = match side {
            PanelSide::Measured => "measured here",
            PanelSide::Published => "published",
        };
        let scale = if axis.is_log() { ", logarithmic" } else { "" };
        BarPanel {
            title: format!("{}: {whose}", clean(&chart.title)),
            unit: format!("{} {whose}{scale}", with_unit(&clean(figure), *unit)),
            groups,
            axis,
        }
    }

    /// Whether its axis is logarithmic.
    pub(super) fn is_log(&self) -> bool {
        self.axis.is_log()
    }

    /// Whether an interval leaves its axis.
    pub(super) fn is_cut(&self) -> bool {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let mut intervals = bars.filter_map(|bar| bar.interval);
        intervals.any(|(low, high)| self.axis.cuts(low) || self.axis.cuts(high))
    }

    /// The panel as an SVG element that stands for itself.
    pub(super) fn svg(&self) -> Markup {
        let names = self.width_of_names();
        let plot = Plot {
            left: names,
            width: WIDTH - names - VALUES,
            axis: &self.axis,
        };
        let height = self.height();
        let bottom = height - AXIS;
        // A logarithmic axis has no zero, and begins at the left.
        let zero = plot.x(0.0);
        html! {
            svg.bars xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(self.title)
                viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height)
                font-family="Inter, 'Noto Sans', system-ui, sans-serif" font-size="12" {
                rect.ground width="100%" height="100%" fill=(GROUND) {}
                (plot.grid(bottom))
                line.edge x1=(Tenth(zero)) y1="0" x2=(Tenth(zero)) y2=(Tenth(bottom)) stroke=(MUTED) {}
                (self.rows(&plot))
                text.muted x=(Tenth(plot.left + plot.width / 2.0)) y=(Tenth(height - 6.0)) text-anchor="middle" fill=(MUTED) {
                    (shortened(&self.unit, HEADING_LETTERS))
                }
            }
        }
    }

    fn height(&self) -> f64 {
        let rows = self.groups.iter().map(|group| {
            let heading = group.heading.as_ref().map_or(0.0, |_| HEADING);
            heading + ROW * group.bars.len() as f64
        });
        rows.sum::<f64>() + AXIS + 4.0
    }

    fn width_of_names(&self) -> f64 {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let widths = bars.map(|bar| width_of(&bar.name));
        widths.fold(NARROWEST_NAMES, f64::max).min(WIDEST_NAMES)
    }

    fn rows(&self, plot: &Plot<'_>) -> Markup {
        let mut y = 2.0;
        let mut drawn = Vec::new();
        for group in &self.groups {
            if let Some(heading) = &group.heading {
                drawn.push(html! {
                    text.ink.halo x="0" y=(Tenth(y + 15.0)) font-weight="600" fill=(INK) stroke=(GROUND)
                        stroke-width="4" paint-order="stroke" {
                        (shortened(heading, HEADING_LETTERS))
                        @if display_width(heading) > HEADING_LETTERS { title { (heading) } }
                    }
                });
                y += HEADING;
            }
            for bar in &group.bars {
                drawn.push(plot.row(bar, y));
                y += ROW;
            }
        }
        html! { @for row in drawn { (row) } }
    }
}

/// Room that a name needs before its bar.
fn width_of(name: &str) -> f64 {
    display_width(name) as f64 * LETTER + 14.0
}

/// The bars of one side of a chart. A chart with one bar in each group has no headings, unless names are too long for
/// the room before bars.
fn groups(chart: &ChartSummary, side: PanelSide) -> Vec<BarGroup> {
    let is_single = chart.bars.len() < 2;
    let is_long = chart
        .groups
        .iter()
        .any(|name| width_of(&clean(name)) > WIDEST_NAMES);
    let drawn = |name: &str, place: usize, cell: Option<&CellEstimate>| {
        let nothing = CellEstimate::default();
        let cell = cell.unwrap_or(&nothing);
        let (value, interval, shown) = match side {
            PanelSide::Measured => {
                let ends = cell.interval.map(|range| (range.low, range.high));
                (cell.mean, ends, mean(cell))
            }
            PanelSide::Published => (cell.published, None, cell.published.map(published)),
        };
        let missing = match side {
            PanelSide::Measured => NOT_MEASURED,
            PanelSide::Published => "not published",
        };
        DrawnBar {
            name: clean(name),
            color: PALETTE[place % PALETTE.len()],
            value: value.filter(|value| axis::is_drawable(*value)),
            interval: interval
                .filter(|(low, high)| axis::is_drawable(*low) && axis::is_drawable(*high)),
            is_bound: side == PanelSide::Measured && cell.unfinished > 0,
            shown: shown.unwrap_or_else(|| missing.to_owned()),
        }
    };
    let group = |(place, name): (usize, &String)| {
        let values = chart.values.get(place);
        let cell = |bar: usize| values.and_then(|values| values.get(bar));
        if is_single {
            let (heading, own) = if is_long {
                (Some(clean(name)), "")
            } else {
                (None, name.as_str())
            };
            return BarGroup {
                heading,
                bars: vec![drawn(own, 0, cell(0))],
            };
        }
        let bars = chart.bars.iter().enumerate();
        BarGroup {
            heading: Some(clean(name)),
            bars: bars
                .map(|(bar, name)| drawn(name, bar, cell(bar)))
                .collect(),
        }
    };
    chart.groups.iter().enumerate().map(group).collect()
}

/// The first letters of a text that is too long.
fn shortened(text: &str, letters: usize) -> String {
    if display_width(text) <= letters {
        return text.to_owned();
    }
    let mut width = 0;
    let kept = text.chars().take_while(|c| {
        width += textwrap::core::display_width(c.encode_utf8(&mut [0; 4]));
        width < letters
    });
    kept.collect::<String>() + "…"
}

/// A coordinate with one decimal.
struct Tenth(f64);

impl Render for Tenth {
    fn render_to(&self, buffer: &mut String) {
        // Whatever the values are, a coordinate is a number.
        let value = if self.0.is_finite() { self.0 } else { 0.0 };
        buffer.push_str(&((value * 10.0).round() / 10.0).to_string());
    }
}

/// Where values lie in a panel.
struct Plot<'a> {
    left: f64,
    width: f64,
    axis: &'a BarAxis,
}

impl Plot<'_> {
    fn x(&self, value: f64) -> f64 {
        self.left + self.axis.place(value) * self.width
    }

    fn grid(&self, bottom: f64) -> Markup {
        html! {
            @for (value, label) in self.axis.ticks() {
                @let x = Tenth(self.x(value));
                line.grid x1=(x) y1="0" x2=(x) y2=(Tenth(bottom)) stroke=(LINE) {}
                text.muted x=(x) y=(Tenth(bottom + 15.0)) text-anchor="middle" font-size="11" fill=(MUTED) { (label) }
            }
        }
    }

    fn row(&self, bar: &DrawnBar, y: f64) -> Markup {
        let base = y + 13.0;
        let letters = ((self.left - 14.0) / LETTER).round() as usize;
        html! {
            text.ink x=(Tenth(self.left - 8.0)) y=(Tenth(base)) text-anchor="end" fill=(INK) {
                (shortened(&bar.name, letters))
                @if display_width(&bar.name) > letters { title { (bar.name) } }
            }
            @if let Some(value) = bar.value {
                (self.mark(bar, value, y))
                text.ink x=(Tenth(WIDTH)) y=(Tenth(base)) text-anchor="end" fill=(INK) { (bar.shown) }
            } @else {
                text.muted.halo x=(Tenth(self.left + 6.0)) y=(Tenth(base)) font-style="italic" fill=(MUTED) stroke=(GROUND)
                    stroke-width="4" paint-order="stroke" { (bar.shown) }
            }
        }
    }

    /// A bar from zero to its value; a dot on a logarithmic axis, where lengths mean nothing.
    fn mark(&self, bar: &DrawnBar, value: f64, y: f64) -> Markup {
        let middle = y + ROW / 2.0;
        let x = self.x(value);
        let zero = self.x(0.0);
        html! {
            @if self.axis.is_log() {
                line.grid x1=(Tenth(self.left)) y1=(Tenth(middle)) x2=(Tenth(x)) y2=(Tenth(middle)) stroke=(LINE) {}
                circle cx=(Tenth(x)) cy=(Tenth(middle)) r="5" fill=(bar.color) {}
            } @else {
                rect x=(Tenth(x.min(zero))) y=(Tenth(middle - BAR / 2.0)) width=(Tenth((x - zero).abs()))
                    height=(Tenth(BAR)) fill=(bar.color) fill-opacity=(if bar.is_bound { "0.45" } else { "0.85" }) {}
            }
            @if let Some((low, high)) = bar.interval { (self.whisker(low, high, middle)) }
            @if bar.is_bound { (arrow(x + 3.0, middle, 6.0)) }
        }
    }

    /// A stroke from end to end, with a bar across an end that is there, and an arrow where it goes on beyond the axis.
    fn whisker(&self, low: f64, high: f64, middle: f64) -> Markup {
        let end = |value: f64, outwards: f64| {
            let x = self.x(value);
            html! {
                @if self.axis.cuts(value) {
                    (arrow(x, middle, 5.0 * outwards))
                } @else {
                    line.mark x1=(Tenth(x)) y1=(Tenth(middle - 3.5)) x2=(Tenth(x)) y2=(Tenth(middle + 3.5)) stroke=(INK) {}
                }
            }
        };
        html! {
            line.mark x1=(Tenth(self.x(low))) y1=(Tenth(middle)) x2=(Tenth(self.x(high))) y2=(Tenth(middle)) stroke=(INK) {}
            (end(low, -1.0))
            (end(high, 1.0))
        }
    }
}

/// The point of an arrow whose back is at `x`.
fn arrow(x: f64, middle: f64, length: f64) -> Markup {
    let points = [(x, middle - 4.0), (x + length, middle), (x, middle + 4.0)];
    let points = points.map(|(x, y)| format!("{},{}", Tenth(x).render().0, Tenth(y).render().0));
    html! { polygon.point points=(points.join(" ")) fill=(INK) {} }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_name_that_is_too_long_ends_in_dots() {
        let table = [
            ("Apache", 6, "Apache"),
            ("Apache 2", 6, "Apach…"),
            ("漢字漢字", 6, "漢字…"),
            ("", 0, ""),
        ];
        for (name, letters, expected) in table {
            assert_eq!(shortened(name, letters), expected);
        }
    }
}
