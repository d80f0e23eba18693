//! From the value to SVG: where panels, axes and legends are.

use std::fmt::Write as _;

use crate::axis::Axis;
use crate::figure::{Anchor, Dash, Figure, LegendKey, MarkFill, Panel, Swatch, Symbol};
use crate::marks::{LETTERS, Plot, series, symbol_path, words};
use crate::style;
use crate::svg::{Path, Tenth, escaped, shortened, width};

/// Size of letters of names and titles, in pixels.
const NAMES: f64 = 12.0;
/// Height of a line of the legend, of a title, of the labels below a panel, and of the name of an axis.
const LINE: f64 = 19.0;
/// Between panels.
const GAP: f64 = 14.0;
/// Width of a swatch, and what is between it and its name.
const SWATCH: (f64, f64) = (24.0, 6.0);

/// A drawing without its surroundings.
pub(crate) struct DrawnFigure {
    pub(crate) marks: String,
    pub(crate) height: f64,
}

/// The figure as an `svg` element for a page, this many pixels wide. `suffix` makes its ids differ from those of the same
/// figure in another width. It needs the [`style`](crate::style()) of pages; a legend is up to the page.
pub fn svg(figure: &Figure, pixels: u32, suffix: &str) -> String {
    let drawn = body(figure, f64::from(pixels));
    let size = format!(
        "width=\"{pixels}\" height=\"{}\" viewBox=\"0 0 {pixels} {0}\"",
        Tenth(drawn.height)
    );
    element(figure, suffix, &size, &drawn.marks)
}

/// An `svg` element with title and description.
pub(crate) fn element(figure: &Figure, suffix: &str, size: &str, inner: &str) -> String {
    let id = format!("{}{suffix}", figure.id);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" role=\"img\" \
         aria-labelledby=\"{id}-t\" aria-describedby=\"{id}-d\" {size}>\n\
         <title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n{inner}</svg>",
        escaped(&figure.title),
        escaped(&figure.note)
    )
}

/// All panels.
pub(crate) fn body(figure: &Figure, pixels: f64) -> DrawnFigure {
    let mut marks = String::new();
    let mut top = 4.0;
    let mut row = 0;
    let left = figure.panels.iter().map(|panel| left_of(panel, pixels));
    let left = left.fold(0.0, f64::max);
    let right = figure.panels.iter().map(|panel| right_of(panel, pixels));
    let right = right.fold(8.0, f64::max);
    for (place, panel) in figure.panels.iter().enumerate() {
        if place > 0 {
            top += GAP;
        }
        if !panel.title.is_empty() {
            let title = shortened(&panel.title, NAMES, pixels - left);
            words(
                &mut marks,
                (left, top + 13.0),
                Anchor::Start,
                "n fi",
                &title,
            );
            top += LINE;
        }
        top += above(panel);
        let plot = Plot {
            x: &panel.x,
            y: &panel.y,
            left,
            top,
            width: (pixels - left - right).max(40.0),
            height: panel.y.height().unwrap_or(panel.height),
        };
        // The panel below has the same values at the same places.
        let next = figure.panels.get(place + 1);
        let shares = next.is_some_and(|next| next.x.ends() == panel.x.ends());
        axes(&mut marks, &plot, pixels, shares);
        series(&mut marks, &plot, panel, &mut row);
        top += plot.height + if shares { 8.0 } else { below(panel) };
    }
    DrawnFigure {
        marks,
        height: top.ceil(),
    }
}

/// What is left of a drawing area: names, or ticks and the name of the axis.
fn left_of(panel: &Panel, pixels: f64) -> f64 {
    let widest = |names: &mut dyn Iterator<Item = f64>| names.fold(0.0, f64::max);
    match panel.y.names() {
        Some(names) => {
            let widest = widest(&mut names.iter().map(|name| width(name, NAMES)));
            (widest + 14.0).clamp(40.0, pixels * 0.42)
        }
        None if !panel.y.is_drawn() => 2.0,
        None => {
            let ticks = panel.y.ticks(panel.height / 40.0);
            let labels = ticks.iter().map(|(_, label)| width(label, LETTERS));
            let name = if panel.y.name.is_empty() { 0.0 } else { 18.0 };
            widest(&mut labels.into_iter()) + 12.0 + name
        }
    }
}

fn right_of(panel: &Panel, pixels: f64) -> f64 {
    let wanted = panel.right as f64 * LETTERS * 0.56 + 8.0;
    wanted.min(pixels * 0.36)
}

/// Texts of rules, and names of categories, stand above a panel.
fn above(panel: &Panel) -> f64 {
    let marks = panel.series.iter().flat_map(|series| &series.marks);
    let rules = marks.filter_map(|mark| match &mark.shape {
        crate::MarkShape::Rule {
            along: crate::Along::Y,
            text,
            level,
            ..
        } if !text.is_empty() => Some(15.0 + 13.0 * *level as f64),
        _ => None,
    });
    let rules = rules.fold(0.0, f64::max);
    match panel.x.names() {
        Some(_) if panel.x.name.is_empty() => LINE,
        Some(_) => 2.0 * LINE,
        None => rules.max(4.0),
    }
}

/// Labels of ticks, and the name of the axis.
fn below(panel: &Panel) -> f64 {
    let is_numbers = panel.x.names().is_none() && panel.x.is_drawn();
    match (is_numbers, panel.x.name.is_empty()) {
        (true, true) => LINE,
        (true, false) => 2.0 * LINE,
        (false, _) => 4.0,
    }
}

/// Axes with their labels; without those of x where the panel below has them.
fn axes(out: &mut String, plot: &Plot<'_>, pixels: f64, shares: bool) {
    let (left, top) = (plot.left, plot.top);
    let (right, bottom) = (left + plot.width, top + plot.height);
    let mut grid = Path::default();
    let mut line = Path::default();
    let mut labels = String::new();
    // Names of categories, and lines and labels of numbers.
    if let Some(names) = plot.y.names() {
        for (place, name) in names.iter().enumerate() {
            let shown = shortened(name, NAMES, left - 10.0);
            let at = (left - 8.0, plot.down(place as f64) + 4.0);
            words(&mut labels, at, Anchor::End, "n fi", &shown);
        }
        if plot.x.names().is_none() {
            line.begin(left, top);
            line.add('V', &[bottom]);
        }
    }
    let mut above = f64::INFINITY;
    for (value, label) in plot.y.ticks(plot.height / 40.0) {
        let y = plot.down(value);
        grid.begin(left, y);
        grid.add('H', &[right]);
        // One that would cover the label below it is left out.
        if (above - y).abs() >= LETTERS + 1.0 {
            words(
                &mut labels,
                (left - 6.0, y + 4.0),
                Anchor::End,
                "fm",
                &label,
            );
            above = y;
        }
    }
    if let Some(names) = plot.x.names() {
        let room = plot.width / names.len().max(1) as f64 - 6.0;
        for (place, name) in names.iter().enumerate() {
            let at = (plot.across(place as f64), top - 6.0);
            let shown = shortened(name, NAMES, room);
            words(&mut labels, at, Anchor::Middle, "n fi", &shown);
        }
    }
    let mut before = f64::NEG_INFINITY;
    let has_names = plot.y.names().is_some();
    for (value, label) in plot.x.ticks((plot.width / 65.0).max(3.0)) {
        let x = plot.across(value);
        let half = width(&label, LETTERS) / 2.0;
        grid.begin(x, if has_names { top } else { bottom });
        grid.add('V', &[if has_names { bottom } else { bottom + 4.0 }]);
        let at = x.min(pixels - half - 1.0);
        if !shares && at - half >= before + 6.0 {
            words(
                &mut labels,
                (at, bottom + 15.0),
                Anchor::Middle,
                "fm",
                &label,
            );
            before = at + half;
        }
    }
    if plot.x.is_drawn() && plot.x.names().is_none() {
        line.begin(left, bottom);
        line.add('H', &[right]);
    }
    for (class, path) in [("i sg", grid), ("i sm", line)] {
        if !path.0.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(out, "<path class=\"{class}\" d=\"{}\"/>", path.0);
        }
    }
    out.push_str(&labels);
    names(out, plot, pixels);
}

/// Names of both axes.
fn names(out: &mut String, plot: &Plot<'_>, pixels: f64) {
    let middle = plot.left + plot.width / 2.0;
    let horizontal = |axis: &Axis, y: f64, out: &mut String| {
        let name = shortened(&axis.name, NAMES, pixels - 8.0);
        let half = width(&name, NAMES) / 2.0;
        // It stays within the figure.
        let x = middle.min(pixels - half - 2.0).max(half + 2.0);
        words(out, (x, y), Anchor::Middle, "n fm", &name);
    };
    if plot.x.names().is_some() {
        horizontal(plot.x, plot.top - LINE - 8.0, out);
    } else {
        horizontal(plot.x, plot.top + plot.height + 32.0, out);
    }
    if plot.y.names().is_none() && !plot.y.name.is_empty() {
        let (x, y) = (Tenth(12.0), Tenth(plot.top + plot.height / 2.0));
        let name = escaped(&shortened(&plot.y.name, NAMES, plot.height + 40.0));
        let turned = format!("transform=\"rotate(-90 {x} {y})\"");
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" class=\"n fm\" text-anchor=\"middle\" {turned}>{name}</text>"
        );
    }
}

/// The legend in as many lines as it needs, and their height; nothing where there is one entry.
pub(crate) fn legend(keys: &[LegendKey], pixels: f64) -> DrawnFigure {
    let mut marks = String::new();
    if keys.len() < 2 {
        return DrawnFigure { marks, height: 0.0 };
    }
    let (mut x, mut y) = (0.0, 0.0);
    for key in keys {
        let name = shortened(&key.name, NAMES, pixels - 60.0);
        let wide = SWATCH.0 + SWATCH.1 + width(&name, NAMES);
        if x > 0.0 && x + wide > pixels {
            (x, y) = (0.0, y + LINE);
        }
        let at = (x + SWATCH.0 + SWATCH.1, y + 14.0);
        let _ = writeln!(
            marks,
            "<g transform=\"translate({} {})\">{}</g>",
            Tenth(x),
            Tenth(y + 4.0),
            swatch_marks(key)
        );
        words(&mut marks, at, Anchor::Start, "n fm", &name);
        x += wide + 16.0;
    }
    DrawnFigure {
        marks,
        height: y + LINE + 4.0,
    }
}

/// What stands for a series, as an `svg` element of its own for the legend of a page.
pub fn swatch(key: &LegendKey) -> String {
    format!(
        "<svg class=\"fig\" width=\"24\" height=\"12\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">{}</svg>",
        swatch_marks(key)
    )
}

fn swatch_marks(key: &LegendKey) -> String {
    let look = key.look;
    let tone = style::tone(look.tone);
    let symbol = |fill: MarkFill| {
        let mut path = Path::default();
        symbol_path(&mut path, (12.0, 6.0), look.symbol, 3.2);
        let class = match look.symbol {
            Symbol::Cross => format!("l s{tone}"),
            _ => style::filled(look.tone, fill),
        };
        format!("<path class=\"{class}\" d=\"{}\"/>", path.0)
    };
    let line = format!(
        "<path class=\"l s{tone}{}\" d=\"M0 6H24\"/>",
        style::dash(look.dash)
    );
    match key.swatch {
        Swatch::Bar => {
            let class = style::filled(look.tone, look.fill);
            let mut hatching = Path::default();
            if look.dash != Dash::Solid && look.fill == MarkFill::Full {
                crate::marks::hatch(&mut hatching, (0.0, 1.0), (24.0, 10.0), look.dash);
            }
            format!(
                "<path class=\"{class}\" d=\"M0 1h24v10h-24z\"/><path class=\"i sw\" d=\"{}\"/>",
                hatching.0
            )
        }
        Swatch::Line if look.fill == MarkFill::None => line,
        Swatch::Line => line + &symbol(look.fill),
        Swatch::Point => symbol(look.fill),
    }
}
