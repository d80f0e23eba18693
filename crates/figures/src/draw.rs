//! Drawing of a figure as SVG: positions of panels, axes and legends.

use std::fmt::Write as _;

use crate::figure::{Anchor, Dash, Figure, LegendKey, MarkFill, Panel, Swatch, Symbol};
use crate::marks::{LETTERS, Plot, series, symbol_path};
use crate::style;
use crate::svg::{Path, PlacedTexts, Tenth, escaped, shortened, width};

/// Size of letters of names and titles, in pixels.
const NAMES: f64 = 12.0;
/// Height of a line of the legend, a title, the labels below a panel, and the name of an axis.
const LINE: f64 = 19.0;
/// Between panels.
const GAP: f64 = 14.0;
/// Width of a swatch, and the distance to its name.
const SWATCH: (f64, f64) = (24.0, 6.0);

/// A drawing without its surroundings.
pub(crate) struct DrawnFigure {
    pub(crate) marks: String,
    pub(crate) height: f64,
}

/// The figure as an `svg` element for a page, this many pixels wide. The page has its title and its
/// note, in elements whose ids are that of the figure with `-t` and `-d`. It needs the
/// [`style`](crate::style()) of pages; the page draws the legend.
pub fn svg(figure: &Figure, pixels: u32) -> String {
    let DrawnFigure { marks, height } = body(figure, f64::from(pixels));
    let id = &figure.id;
    let note = match &figure.note[..] {
        "" => String::new(),
        _ => format!(" aria-describedby=\"{id}-d\""),
    };
    format!(
        "<svg class=\"fig\" role=\"img\" aria-labelledby=\"{id}-t\"{note} viewBox=\"0 0 {pixels} {height}\">\n{marks}</svg>"
    )
}

pub(crate) fn body(figure: &Figure, pixels: f64) -> DrawnFigure {
    let mut marks = String::new();
    let mut top = 4.0;
    let mut row = 0;
    let left = figure.panels.iter().map(|panel| left_of(panel, pixels));
    let left = left.fold(0.0, f64::max);
    let right = figure.panels.iter().map(|panel| right_of(panel, pixels));
    let right = right.fold(8.0, f64::max);
    let mut named = "";
    for (index, panel) in figure.panels.iter().enumerate() {
        if index > 0 {
            top += GAP;
        }
        if !panel.title.is_empty() {
            let title = shortened(&panel.title, NAMES, pixels - left);
            let mut texts = PlacedTexts::default();
            texts.add((left, top + 13.0), Anchor::Start, "n fi", &title);
            texts.write(&mut marks);
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
            pixels,
        };
        // The panel below has the same values at the same positions.
        let next = figure.panels.get(index + 1);
        let shares = next.is_some_and(|next| next.x.is_like(&panel.x));
        // A name that all panels share is drawn once.
        let name = (panel.y.name != named).then_some(&*panel.y.name);
        named = &panel.y.name;
        axes(&mut marks, &plot, shares, name);
        series(&mut marks, &plot, panel, &mut row);
        top += plot.height + if shares { 8.0 } else { below(panel) };
    }
    DrawnFigure {
        marks,
        height: top.ceil(),
    }
}

/// Width left of a drawing area: names, or ticks and the name of the axis.
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
    let wanted = panel.right as f64 * LETTERS * 0.64 + 8.0;
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
fn axes(out: &mut String, plot: &Plot<'_>, shares: bool, name: Option<&str>) {
    let (left, top) = (plot.left, plot.top);
    let (right, bottom) = (left + plot.width, top + plot.height);
    let mut grid = Path::default();
    let mut line = Path::default();
    let mut labels = PlacedTexts::default();
    // Names of categories, and lines and labels of numbers.
    if let Some(names) = plot.y.names() {
        for (index, name) in names.iter().enumerate() {
            let shown = shortened(name, NAMES, left - 10.0);
            let at = (left - 8.0, plot.down(index as f64) + 4.0);
            labels.add(at, Anchor::End, "n fi", &shown);
        }
        if plot.x.names().is_none() {
            line.begin(left, top);
            line.line_to(left, bottom);
        }
    }
    let mut above = f64::INFINITY;
    for (value, label) in plot.y.ticks(plot.height / 40.0) {
        let y = plot.down(value);
        grid.begin(left, y);
        grid.line_to(right, y);
        // A tick that would cover the label below it is left out.
        if (above - y).abs() >= LETTERS + 1.0 {
            labels.add((left - 6.0, y + 4.0), Anchor::End, "fm", &label);
            above = y;
        }
    }
    if let Some(names) = plot.x.names() {
        let room = plot.width / names.len().max(1) as f64 - 6.0;
        for (index, name) in names.iter().enumerate() {
            let at = (plot.across(index as f64), top - 6.0);
            let shown = shortened(name, NAMES, room);
            labels.add(at, Anchor::Middle, "n fi", &shown);
        }
    }
    let mut before = f64::NEG_INFINITY;
    let has_names = plot.y.names().is_some();
    for (value, label) in plot.x.ticks((plot.width / 65.0).max(3.0)) {
        let x = plot.across(value);
        let half = width(&label, LETTERS) / 2.0;
        let (from, to) = if has_names {
            (top, bottom)
        } else {
            (bottom, bottom + 4.0)
        };
        grid.begin(x, from);
        grid.line_to(x, to);
        let at = x.min(plot.pixels - half - 1.0);
        if !shares && at - half >= before + 4.0 {
            labels.add((at, bottom + 15.0), Anchor::Middle, "fm", &label);
            before = at + half;
        }
    }
    if plot.x.is_drawn() && plot.x.names().is_none() {
        line.begin(left, bottom);
        line.line_to(right, bottom);
    }
    for (class, path) in [("i sg", grid), ("i sm", line)] {
        if !path.d.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(out, "<path class=\"{class}\" d=\"{}\"/>", path.d);
        }
    }
    names(out, &mut labels, plot, name);
    labels.write(out);
}

fn names(out: &mut String, texts: &mut PlacedTexts, plot: &Plot<'_>, vertical: Option<&str>) {
    let name = shortened(&plot.x.name, NAMES, plot.pixels - 8.0);
    let half = width(&name, NAMES) / 2.0;
    // It stays within the figure.
    let middle = plot.left + plot.width / 2.0;
    let x = middle.min(plot.pixels - half - 2.0).max(half + 2.0);
    let y = match plot.x.names() {
        Some(_) => plot.top - LINE - 8.0,
        None => plot.top + plot.height + 32.0,
    };
    texts.add((x, y), Anchor::Middle, "n fm", &name);
    if let Some(name) = vertical.filter(|name| plot.y.names().is_none() && !name.is_empty()) {
        let y = Tenth(plot.top + plot.height / 2.0);
        let room = plot.height + 2.0 * (plot.top - 2.0).min(20.0);
        let name = escaped(&shortened(name, NAMES, room));
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<text class=\"n fm c\" transform=\"translate(12 {y})rotate(-90)\">{name}</text>"
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
    let mut texts = PlacedTexts::default();
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
        texts.add(at, Anchor::Start, "n fm", &name);
        x += wide + 16.0;
    }
    texts.write(&mut marks);
    DrawnFigure {
        marks,
        height: y + LINE + 4.0,
    }
}

/// The swatch of a series, as a separate `svg` element for the legend of a page.
pub fn swatch(key: &LegendKey) -> String {
    format!(
        "<svg class=\"fig\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">{}</svg>",
        swatch_marks(key)
    )
}

fn swatch_marks(key: &LegendKey) -> String {
    let look = key.look;
    let tone = style::tone(look.tone);
    let path = |class: &str, d: &str| format!("<path class=\"{class}\" d=\"{d}\"/>");
    let symbol = |fill: MarkFill| {
        let mut drawn = Path::default();
        symbol_path(&mut drawn, (12.0, 6.0), look.symbol, 3.2);
        match look.symbol {
            Symbol::Cross => path(&format!("l s{tone}"), &drawn.d),
            _ => path(&style::filled(look.tone, fill), &drawn.d),
        }
    };
    let line = |height: &str| {
        let class = format!("l s{tone}{}", style::dash(look.dash));
        path(&class, &format!("M0 {height}h24"))
    };
    match key.swatch {
        Swatch::Bar => {
            let bar = path(&style::filled(look.tone, look.fill), "M0 1h24v10H0z");
            if look.dash == Dash::Solid || look.fill != MarkFill::Full {
                return bar;
            }
            let (class, thick) = style::stripes(look.dash, 10.0);
            bar + &format!("<path class=\"{class}\" stroke-width=\"{thick}\" d=\"M0 6h24\"/>")
        }
        Swatch::Area => {
            path(&style::filled(look.tone, MarkFill::Soft), "M0 2h24v9H0z") + &line("2")
        }
        Swatch::Line if look.fill == MarkFill::None => line("6"),
        Swatch::Line => line("6") + &symbol(look.fill),
        Swatch::Point => symbol(look.fill),
    }
}
