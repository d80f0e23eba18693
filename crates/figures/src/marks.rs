//! Marks: from shapes in values to paths in pixels. Those of a series that look alike are one path, which keeps pages small.

use std::fmt::Write as _;

use crate::axis::Axis;
use crate::clip::clipped;
use crate::figure::{
    Along, Anchor, Dash, LineStep, MarkFill, MarkLook, MarkShape, Panel, Series, Symbol,
};
use crate::style;
use crate::svg::{Path, Tenth, escaped, shortened, width};

/// With more points than this, a series has small ones.
const MANY: usize = 80;
/// Half the length of a stroke across the end of an interval.
const STROKE: f64 = 4.0;
/// Distance of the lines of a hatching.
const HATCH: f64 = 7.0;
/// Size of letters of texts, in pixels.
pub(crate) const LETTERS: f64 = 11.0;

/// The drawing area of a panel: its axes, and where it is.
pub(crate) struct Plot<'a> {
    pub(crate) x: &'a Axis,
    pub(crate) y: &'a Axis,
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Plot<'_> {
    pub(crate) fn across(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * self.width
    }

    pub(crate) fn down(&self, value: f64) -> f64 {
        let place = self.y.place(value);
        // Categories are read from top to bottom.
        let from_top = if self.y.names().is_some() {
            place
        } else {
            1.0 - place
        };
        self.top + from_top * self.height
    }

    fn inside_x(&self, value: f64) -> f64 {
        self.across(value).clamp(self.left, self.left + self.width)
    }

    fn inside_y(&self, value: f64) -> f64 {
        self.down(value).clamp(self.top, self.top + self.height)
    }

    /// A point that is in the area, or close to it.
    fn point(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (across, down) = (self.across(x), self.down(y));
        let near = |at: f64, from: f64, length: f64| at >= from - 1.0 && at <= from + length + 1.0;
        let is_near = near(across, self.left, self.width) && near(down, self.top, self.height);
        is_near.then_some((across, down))
    }
}

/// Paths by their classes, in the order in which each was first needed, and texts above them.
#[derive(Default)]
struct Layers {
    paths: Vec<(String, Path, Vec<usize>)>,
    texts: String,
}

impl Layers {
    fn path(&mut self, class: &str) -> &mut Path {
        let found = self.paths.iter().position(|(own, ..)| own == class);
        let place = found.unwrap_or_else(|| {
            self.paths
                .push((class.to_owned(), Path::default(), Vec::new()));
            self.paths.len() - 1
        });
        &mut self.paths[place].1
    }

    /// The mark that was drawn last with this class has this row.
    fn tell(&mut self, class: &str, row: usize) {
        let found = self.paths.iter_mut().find(|(own, ..)| own == class);
        if let Some((_, _, rows)) = found {
            rows.push(row);
        }
    }

    fn write(self, out: &mut String) {
        // A series of one shape may have asked for a path that stayed empty.
        let paths = self.paths.into_iter();
        for (class, path, rows) in paths.filter(|(_, path, _)| !path.0.is_empty()) {
            let follows = rows.windows(2).all(|pair| pair[1] == pair[0] + 1);
            let rows = if follows {
                &rows[..rows.len().min(1)]
            } else {
                &rows[..]
            };
            let rows: Vec<String> = rows.iter().map(usize::to_string).collect();
            let told = if rows.is_empty() {
                String::new()
            } else {
                format!(" data-r=\"{}\"", rows.join(" "))
            };
            // Writing to a string does not fail.
            let _ = writeln!(out, "<path class=\"{class}\" d=\"{}\"{told}/>", path.0);
        }
        out.push_str(&self.texts);
    }
}

/// Draws the series of a panel. `row` is the number of the next row of the table.
pub(crate) fn series(out: &mut String, plot: &Plot<'_>, panel: &Panel, row: &mut usize) {
    for series in &panel.series {
        match series.key {
            Some(key) => out.push_str(&format!("<g data-key=\"{key}\">\n")),
            None => out.push_str("<g>\n"),
        }
        one(out, plot, series, row);
        out.push_str("</g>\n");
    }
}

fn one(out: &mut String, plot: &Plot<'_>, series: &Series, row: &mut usize) {
    let is_point = |shape: &MarkShape| matches!(shape, MarkShape::Point(..));
    let points = series.marks.iter().filter(|mark| is_point(&mark.shape));
    let is_small = points.count() > MANY;
    let mut layers = Layers::default();
    for mark in &series.marks {
        let class = shape(&mut layers, plot, &mark.shape, mark.look, is_small);
        if !mark.row.is_empty() {
            if let Some(class) = class {
                layers.tell(&class, *row);
            }
            *row += 1;
        }
    }
    layers.write(out);
}

/// Draws a mark; returns the class of the path that it begins, if it has one.
fn shape(
    layers: &mut Layers,
    plot: &Plot<'_>,
    shape: &MarkShape,
    look: MarkLook,
    is_small: bool,
) -> Option<String> {
    match shape {
        MarkShape::Rect { x, y } => rect(layers, plot, *x, *y, look),
        MarkShape::Point(x, y) => {
            let (x, y) = plot.point(*x, *y)?;
            Some(symbol(layers, (x, y), look, is_small))
        }
        MarkShape::Line(points, step) => {
            let points = points.iter().map(|(x, y)| (plot.across(*x), plot.down(*y)));
            let class = format!("l s{}{}", style::tone(look.tone), style::dash(look.dash));
            line(layers.path(&class), plot, &stepped(points, *step));
            None
        }
        MarkShape::Area(points, step) => {
            let class = style::filled(look.tone, look.fill);
            area(layers.path(&class), plot, points, *step);
            None
        }
        MarkShape::Interval {
            along,
            at,
            ends,
            strokes,
        } => {
            interval(layers, plot, *along, *at, *ends, *strokes, look);
            None
        }
        MarkShape::Rule {
            along,
            at,
            text,
            level,
        } => {
            rule(layers, plot, *along, *at, (text, *level), look);
            None
        }
        MarkShape::Arrow(x, y) => {
            let (x, y) = plot.point(*x, *y)?;
            let class = style::filled(look.tone, MarkFill::Full);
            let steps = [(3.0, -4.0), (6.0, 4.0), (-6.0, 4.0)];
            layers.path(&class).polygon((x, y), &steps);
            None
        }
        MarkShape::Text {
            at,
            shift,
            anchor,
            text,
            within,
        } => {
            let at = (
                plot.inside_x(at.0) + shift.0,
                plot.inside_y(at.1) + shift.1 + 4.0,
            );
            let room = within.map(|(from, to)| plot.inside_x(to) - plot.inside_x(from) - 4.0);
            let shown = match room {
                Some(most) => shortened(text, LETTERS, most),
                None => text.clone(),
            };
            let class = match (within, look.fill) {
                (Some(_), _) => format!("f{}", style::tone(look.tone)),
                (None, MarkFill::Soft) => format!("ha y f{}", style::tone(look.tone)),
                (None, _) => format!("ha f{}", style::tone(look.tone)),
            };
            words(&mut layers.texts, at, *anchor, &class, &shown);
            None
        }
    }
}

/// A text element; nothing for no letters.
pub(crate) fn words(out: &mut String, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let (x, y) = (Tenth(x), Tenth(y));
    let text = escaped(text);
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" class=\"{class}\"{anchor}>{text}</text>"
    );
}

fn rect(
    layers: &mut Layers,
    plot: &Plot<'_>,
    x: (f64, f64),
    y: (f64, f64),
    look: MarkLook,
) -> Option<String> {
    let (one, other) = (plot.inside_x(x.0), plot.inside_x(x.1));
    let (left, right) = (one.min(other), one.max(other));
    let (one, other) = (plot.inside_y(y.0), plot.inside_y(y.1));
    let (top, bottom) = (one.min(other), one.max(other));
    if ![left, right, top, bottom]
        .iter()
        .all(|side| side.is_finite())
    {
        return None;
    }
    let class = style::filled(look.tone, look.fill);
    let (width, height) = ((right - left).max(0.5), (bottom - top).max(0.5));
    let path = layers.path(&class);
    path.begin(left, top);
    path.add('h', &[width]);
    path.add('v', &[height]);
    path.add('h', &[-width]);
    path.close();
    if look.dash != Dash::Solid && look.fill == MarkFill::Full {
        hatch(layers.path("i sw"), (left, top), (width, height), look.dash);
    }
    Some(class)
}

/// Lines in the colour of the ground, by which bars are told apart without colours.
pub(crate) fn hatch(
    path: &mut Path,
    (left, top): (f64, f64),
    (width, height): (f64, f64),
    dash: Dash,
) {
    let steps = (width / HATCH).min(400.0) as usize;
    let at = |place: usize| left + HATCH * place as f64;
    match dash {
        Dash::Solid => {}
        Dash::Dotted => {
            for place in 1..=steps {
                path.begin(at(place), top);
                path.add('v', &[height]);
            }
        }
        Dash::Long => {
            path.begin(left, top + height / 2.0);
            path.add('h', &[width]);
        }
        Dash::Dashed | Dash::DashDot => {
            let rises = dash == Dash::Dashed;
            for place in 1..=steps {
                // A line that would leave the bar at its right end is cut there.
                let run = height.min(left + width - at(place));
                let (from, to) = if rises { (height, -run) } else { (0.0, run) };
                path.begin(at(place), top + from);
                path.add('l', &[run, to]);
            }
        }
    }
}

/// A symbol of which `size` is about half the height.
pub(crate) fn symbol_path(path: &mut Path, at: (f64, f64), symbol: Symbol, size: f64) {
    let s = size;
    match symbol {
        Symbol::Circle => {
            path.begin(at.0, at.1);
            path.add('m', &[-s, 0.0]);
            path.add('a', &[s, s, 0.0, 1.0, 0.0, 2.0 * s, 0.0]);
            path.add('a', &[s, s, 0.0, 1.0, 0.0, -2.0 * s, 0.0]);
            path.close();
        }
        Symbol::Square => path.polygon(
            at,
            &[(-s, -s), (2.0 * s, 0.0), (0.0, 2.0 * s), (-2.0 * s, 0.0)],
        ),
        Symbol::Triangle => {
            path.polygon(at, &[(0.0, -1.2 * s), (1.2 * s, 2.2 * s), (-2.4 * s, 0.0)])
        }
        Symbol::Down => path.polygon(at, &[(0.0, 1.2 * s), (1.2 * s, -2.2 * s), (-2.4 * s, 0.0)]),
        Symbol::Right => path.polygon(at, &[(1.2 * s, 0.0), (-2.2 * s, 1.2 * s), (0.0, -2.4 * s)]),
        Symbol::Diamond => {
            let d = 1.4 * s;
            path.polygon(at, &[(0.0, -d), (d, d), (-d, d), (-d, -d)]);
        }
        Symbol::Plus => {
            let (arm, rest) = (0.8 * s, 0.9 * s);
            path.polygon(
                at,
                &[
                    (-arm / 2.0, -arm / 2.0 - rest),
                    (arm, 0.0),
                    (0.0, rest),
                    (rest, 0.0),
                    (0.0, arm),
                    (-rest, 0.0),
                    (0.0, rest),
                    (-arm, 0.0),
                    (0.0, -rest),
                    (-rest, 0.0),
                    (0.0, -arm),
                    (rest, 0.0),
                ],
            );
        }
        Symbol::Cross => {
            path.begin(at.0, at.1);
            path.add('m', &[-s, -s]);
            path.add('l', &[2.0 * s, 2.0 * s]);
            path.add('m', &[0.0, -2.0 * s]);
            path.add('l', &[-2.0 * s, 2.0 * s]);
        }
    }
}

/// Draws a symbol, and returns its class.
fn symbol(layers: &mut Layers, at: (f64, f64), look: MarkLook, is_small: bool) -> String {
    let tone = style::tone(look.tone);
    let class = match (look.symbol, look.fill) {
        (_, MarkFill::None) => "no".to_owned(),
        (Symbol::Circle, MarkFill::Full) => format!("{} s{tone}", if is_small { "q" } else { "p" }),
        (Symbol::Cross, _) => format!("l s{tone}"),
        (_, fill) => style::filled(look.tone, fill),
    };
    let path = layers.path(&class);
    match (look.symbol, look.fill) {
        (_, MarkFill::None) | (Symbol::Circle, MarkFill::Full) => {
            path.begin(at.0, at.1);
            path.add('h', &[0.0]);
        }
        (symbol, _) => symbol_path(path, at, symbol, if is_small { 1.8 } else { 3.0 }),
    }
    class
}

/// The corners of a line.
fn stepped(points: impl Iterator<Item = (f64, f64)>, step: LineStep) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        if let Some((before, height)) = out.last().copied() {
            match step {
                LineStep::None => {}
                LineStep::After => out.push((x, height)),
                LineStep::Middle => {
                    let middle = f64::midpoint(before, x);
                    out.extend([(middle, height), (middle, y)]);
                }
            }
        }
        out.push((x, y));
    }
    out
}

fn line(path: &mut Path, plot: &Plot<'_>, points: &[(f64, f64)]) {
    let area = (
        plot.left,
        plot.top,
        plot.left + plot.width,
        plot.top + plot.height,
    );
    let mut last = None;
    for pair in points.windows(2) {
        let Some((from, to)) = clipped(pair[0], pair[1], area) else {
            last = None;
            continue;
        };
        if last != Some(from) {
            path.begin(from.0, from.1);
        }
        if from.1 == to.1 {
            path.add('H', &[to.0]);
        } else {
            path.add('L', &[to.0, to.1]);
        }
        last = Some(to);
    }
}

fn area(path: &mut Path, plot: &Plot<'_>, points: &[(f64, f64, f64)], step: LineStep) {
    let edge = |of: fn(&(f64, f64, f64)) -> f64| {
        let points = points.iter();
        stepped(
            points.map(move |point| (plot.inside_x(point.0), plot.inside_y(of(point)))),
            step,
        )
    };
    let (low, high) = (edge(|point| point.1), edge(|point| point.2));
    let is_gap = |(place, (x, y)): &(usize, &(f64, f64))| !(x + y + low[*place].1).is_finite();
    let gaps = high
        .iter()
        .enumerate()
        .filter(is_gap)
        .map(|(place, _)| place);
    let mut from = 0;
    for to in gaps.chain([high.len()]) {
        let part = from..to;
        from = to + 1;
        if part.len() < 2 {
            continue;
        }
        let there = high[part.clone()].iter();
        let back = low[part].iter().rev();
        for (place, (x, y)) in there.chain(back).enumerate() {
            match place {
                0 => path.begin(*x, *y),
                _ => path.add('L', &[*x, *y]),
            }
        }
        path.close();
    }
}

fn interval(
    layers: &mut Layers,
    plot: &Plot<'_>,
    along: Along,
    at: f64,
    (low, high): (f64, f64),
    strokes: bool,
    look: MarkLook,
) {
    let tone = style::tone(look.tone);
    let (axis, middle, from, to) = match along {
        Along::X => (
            plot.x,
            plot.down(at),
            plot.inside_x(low),
            plot.inside_x(high),
        ),
        Along::Y => (
            plot.y,
            plot.across(at),
            plot.inside_y(low),
            plot.inside_y(high),
        ),
    };
    if ![middle, from, to].iter().all(|at| at.is_finite()) {
        return;
    }
    let point = |reach: f64, across: f64| match along {
        Along::X => (reach, across),
        Along::Y => (across, reach),
    };
    let path = layers.path(&format!("i s{tone}{}", style::dash(look.dash)));
    let (begin, end) = (point(from, middle), point(to, middle));
    path.begin(begin.0, begin.1);
    path.add('L', &[end.0, end.1]);
    for (value, reach) in [(low, from), (high, to)] {
        if strokes && !axis.cuts(value) {
            let (one, length) = (point(reach, middle - STROKE), point(0.0, 2.0 * STROKE));
            path.begin(one.0, one.1);
            path.add('l', &[length.0, length.1]);
        }
    }
    let path = layers.path(&style::filled(look.tone, MarkFill::Full));
    for (value, reach, other) in [(low, from, to), (high, to, from)] {
        // The axis goes on.
        if axis.cuts(value) {
            let out = if reach >= other { 1.0 } else { -1.0 };
            let steps = [(0.0, 0.0), point(-8.0 * out, -4.0), point(0.0, 8.0)];
            path.polygon(point(reach, middle), &steps);
        }
    }
}

fn rule(
    layers: &mut Layers,
    plot: &Plot<'_>,
    along: Along,
    at: f64,
    (text, level): (&str, usize),
    look: MarkLook,
) {
    let class = format!("i s{}{}", style::tone(look.tone), style::dash(look.dash));
    let place = match along {
        Along::Y => plot.across(at),
        Along::X => plot.down(at),
    };
    let (axis, ink) = (
        if along == Along::Y { plot.x } else { plot.y },
        format!("ha f{}", style::tone(look.tone)),
    );
    if !place.is_finite() || axis.cuts(at) {
        return;
    }
    let path = layers.path(&class);
    match along {
        Along::Y => {
            let top = plot.top - 13.0 * level as f64;
            path.begin(place, top);
            path.add('V', &[plot.top + plot.height]);
            // The text stays above the panel.
            let half = width(text, LETTERS) / 2.0;
            let (from, to) = (plot.left + half, plot.left + plot.width - half);
            let x = if from < to {
                place.clamp(from, to)
            } else {
                place
            };
            words(
                &mut layers.texts,
                (x, top - 4.0),
                Anchor::Middle,
                &ink,
                text,
            );
        }
        Along::X => {
            path.begin(plot.left, place);
            path.add('h', &[plot.width]);
            let at = (plot.left + 6.0, place - 4.0);
            words(&mut layers.texts, at, Anchor::Start, &ink, text);
        }
    }
}
