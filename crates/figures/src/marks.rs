//! Marks: shapes in values become paths in pixels. Those of a series with the same look are one
//! path, which keeps pages small.

use std::fmt::Write as _;

use crate::axis::Axis;
use crate::clip::clipped;
use crate::figure::{
    Along, Anchor, Dash, LineStep, MarkFill, MarkLook, MarkShape, Panel, Series, Symbol,
};
use crate::style;
use crate::svg::{Path, PlacedTexts, Tenth, shortened, width};

/// With more points than this, a series has small ones.
const MANY: usize = 80;
/// Half the length of a stroke across the end of an interval.
const STROKE: f64 = 4.0;
/// Size of letters of texts, in pixels.
pub(crate) const LETTERS: f64 = 11.0;

/// The drawing area of a panel: its axes, and its position.
pub(crate) struct Plot<'a> {
    pub(crate) x: &'a Axis,
    pub(crate) y: &'a Axis,
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Width of the whole figure.
    pub(crate) pixels: f64,
}

impl Plot<'_> {
    pub(crate) fn across(&self, value: f64) -> f64 {
        self.left + self.x.position(value) * self.width
    }

    pub(crate) fn down(&self, value: f64) -> f64 {
        let position = self.y.position(value);
        // Categories are read from top to bottom.
        let from_top = if self.y.names().is_some() {
            position
        } else {
            1.0 - position
        };
        self.top + from_top * self.height
    }

    fn inside_x(&self, value: f64) -> f64 {
        self.across(value).clamp(self.left, self.left + self.width)
    }

    fn inside_y(&self, value: f64) -> f64 {
        self.down(value).clamp(self.top, self.top + self.height)
    }

    /// A point in the area, or close to it.
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
    paths: Vec<Layer>,
    texts: PlacedTexts,
}

/// A path of marks with the same look. All of them have a row of the table, or none: the script of
/// a page takes them one by one, each with its row.
struct Layer {
    /// Its attributes.
    look: String,
    has_rows: bool,
    path: Path,
    rows: Vec<usize>,
}

impl Layers {
    fn layer(&mut self, look: String, has_rows: bool) -> &mut Layer {
        let is_it = |layer: &Layer| layer.look == look && layer.has_rows == has_rows;
        let found = self.paths.iter().position(is_it);
        let position = found.unwrap_or_else(|| {
            self.paths.push(Layer {
                look,
                has_rows,
                path: Path::default(),
                rows: Vec::new(),
            });
            self.paths.len() - 1
        });
        &mut self.paths[position]
    }

    fn path(&mut self, class: &str) -> &mut Path {
        &mut self.layer(format!("class=\"{class}\""), false).path
    }

    fn thick(&mut self, class: &str, pixels: f64) -> &mut Path {
        let look = format!("class=\"{class}\" stroke-width=\"{}\"", Tenth(pixels));
        &mut self.layer(look, false).path
    }

    /// The path for one mark that may have a row. The mark has to end where it begins, so that the
    /// script finds the next one.
    fn mark(&mut self, class: &str, row: Option<usize>) -> &mut Path {
        let layer = self.layer(format!("class=\"{class}\""), row.is_some());
        layer.rows.extend(row);
        &mut layer.path
    }

    fn write(self, out: &mut String) {
        // A series of one shape may have added a path that stayed empty.
        let paths = self.paths.into_iter();
        for layer in paths.filter(|layer| !layer.path.d.is_empty()) {
            let rows = &layer.rows;
            let follows = rows.windows(2).all(|pair| pair[1] == pair[0] + 1);
            let listed = if follows { 1 } else { rows.len() };
            let rows: Vec<String> = rows.iter().take(listed).map(usize::to_string).collect();
            let rows = if rows.is_empty() {
                String::new()
            } else {
                format!(" data-r=\"{}\"", rows.join(" "))
            };
            let (look, d) = (layer.look, layer.path.d);
            // Writing to a string does not fail.
            let _ = writeln!(out, "<path {look} d=\"{d}\"{rows}/>");
        }
        self.texts.write(out);
    }
}

/// Draws the series of a panel. `row` is the number of the next row of the table.
pub(crate) fn series(out: &mut String, plot: &Plot<'_>, panel: &Panel, row: &mut usize) {
    for series in &panel.series {
        let mut drawn = String::new();
        one(&mut drawn, plot, series, row);
        match series.key {
            _ if drawn.is_empty() => {}
            Some(key) => out.extend([&format!("<g data-key=\"{key}\">\n"), &*drawn, "</g>\n"]),
            None => out.push_str(&drawn),
        }
    }
}

fn one(out: &mut String, plot: &Plot<'_>, series: &Series, row: &mut usize) {
    let is_point = |shape: &MarkShape| matches!(shape, MarkShape::Point(..));
    let points = series.marks.iter().filter(|mark| is_point(&mark.shape));
    let is_small = points.count() > MANY;
    let mut layers = Layers::default();
    for mark in &series.marks {
        let row_of_mark = (!mark.row.is_empty()).then_some(*row);
        shape(
            &mut layers,
            plot,
            &mark.shape,
            mark.look,
            is_small,
            row_of_mark,
        );
        *row += usize::from(row_of_mark.is_some());
    }
    layers.write(out);
}

/// Draws a mark with this row of the table.
fn shape(
    layers: &mut Layers,
    plot: &Plot<'_>,
    shape: &MarkShape,
    look: MarkLook,
    is_small: bool,
    row: Option<usize>,
) {
    match shape {
        MarkShape::Rect { x, y } => rect(layers, plot, *x, *y, look, row),
        MarkShape::Point(x, y) => {
            if let Some(at) = plot.point(*x, *y) {
                symbol(layers, at, look, is_small, row);
            }
        }
        MarkShape::Line(points, step) => {
            let points = points.iter().map(|(x, y)| (plot.across(*x), plot.down(*y)));
            let class = format!("l s{}{}", style::tone(look.tone), style::dash(look.dash));
            line(layers.path(&class), plot, &stepped(points, *step));
        }
        MarkShape::Area(points, step) => {
            let class = style::filled(look.tone, look.fill);
            area(layers.path(&class), plot, points, *step);
        }
        MarkShape::Interval {
            along,
            at,
            ends,
            strokes,
        } => interval(layers, plot, *along, *at, *ends, *strokes, look),
        MarkShape::Rule {
            along,
            at,
            text,
            level,
        } => rule(layers, plot, *along, *at, (text, *level), look),
        MarkShape::Arrow(x, y) => {
            if let Some((x, y)) = plot.point(*x, *y) {
                let path = layers.path(&style::filled(look.tone, MarkFill::Full));
                path.polygon((x + 3.0, y - 4.0), &[(6.0, 4.0), (-6.0, 4.0)]);
            }
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
            let tone = style::tone(look.tone);
            if let Some((from, to)) = within {
                let room = plot.inside_x(*to) - plot.inside_x(*from) - 4.0;
                let shown = shortened(text, LETTERS, room);
                layers.texts.add(at, *anchor, &format!("f{tone}"), &shown);
                return;
            }
            let slant = if look.fill == MarkFill::Soft {
                " y"
            } else {
                ""
            };
            let class = format!("ha{slant} f{tone}");
            free(&mut layers.texts, plot, at, *anchor, &class, text);
        }
    }
}

/// Words that end within the figure, wherever they should be.
fn free(
    texts: &mut PlacedTexts,
    plot: &Plot<'_>,
    (x, y): (f64, f64),
    anchor: Anchor,
    class: &str,
    text: &str,
) {
    if !(x + y).is_finite() {
        return;
    }
    let text = shortened(text, LETTERS, plot.pixels - 4.0);
    let wide = width(&text, LETTERS);
    let before = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => wide / 2.0,
        Anchor::End => wide,
    };
    let x = (x - before).min(plot.pixels - 2.0 - wide).max(2.0) + before;
    texts.add((x, y), anchor, class, &text);
}

fn rect(
    layers: &mut Layers,
    plot: &Plot<'_>,
    x: (f64, f64),
    y: (f64, f64),
    look: MarkLook,
    row: Option<usize>,
) {
    let (one, other) = (plot.inside_x(x.0), plot.inside_x(x.1));
    let (left, right) = (one.min(other), one.max(other));
    let (one, other) = (plot.inside_y(y.0), plot.inside_y(y.1));
    let (top, bottom) = (one.min(other), one.max(other));
    if ![left, right, top, bottom]
        .iter()
        .all(|side| side.is_finite())
    {
        return;
    }
    let class = style::filled(look.tone, look.fill);
    let (width, height) = ((right - left).max(0.5), (bottom - top).max(0.5));
    let path = layers.mark(&class, row);
    path.rect((left, top), (width, height));
    if look.dash != Dash::Solid && look.fill == MarkFill::Full {
        stripes(layers, (left, top), (width, height), look.dash);
    }
}

/// Stripes in the colour of the ground along a bar, which distinguish bars without colours: the
/// dashes of one line as thick as the bar, because a page has thousands of them.
fn stripes(layers: &mut Layers, (left, top): (f64, f64), (width, height): (f64, f64), dash: Dash) {
    let (class, thick) = style::stripes(dash, height);
    let path = layers.thick(class, thick);
    path.begin(left, top + height / 2.0);
    path.line_to(left + width, top + height / 2.0);
}

/// A symbol, of which `size` is about half the height: a separate mark that ends where it begins.
pub(crate) fn symbol_path(path: &mut Path, (x, y): (f64, f64), symbol: Symbol, size: f64) {
    let s = size;
    // For symbols with a point, which look smaller, and for their other half.
    let (far, wide) = ((1.3 * s).round(), (2.3 * s).round());
    match symbol {
        Symbol::Circle => path.circle(x, y, s),
        Symbol::Square => path.rect((x - s, y - s), (2.0 * s, 2.0 * s)),
        Symbol::Triangle => path.polygon((x, y - far), &[(far, wide), (-2.0 * far, 0.0)]),
        Symbol::Down => path.polygon((x, y + far), &[(far, -wide), (-2.0 * far, 0.0)]),
        Symbol::Right => path.polygon((x + far, y), &[(-wide, far), (0.0, -2.0 * far)]),
        Symbol::Diamond => path.polygon((x, y - far), &[(far, far), (-far, far), (-far, -far)]),
        Symbol::Plus => {
            let (arm, rest) = (s.round() - 1.0, (0.9 * s).round());
            path.polygon(
                (x - arm / 2.0, y - arm / 2.0 - rest),
                &[
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
            let back = |dx: f64, dy: f64| [(dx, dy), (-dx, -dy)];
            path.begin(x, y);
            path.steps(&[back(-s, -s), back(s, s), back(s, -s), back(-s, s)].concat());
        }
    }
}

fn symbol(layers: &mut Layers, at: (f64, f64), look: MarkLook, is_small: bool, row: Option<usize>) {
    let tone = style::tone(look.tone);
    let (dot, square) = if is_small { ("q", "t") } else { ("p", "u") };
    let class = match (look.symbol, look.fill) {
        (_, MarkFill::None) => "no".to_owned(),
        (Symbol::Circle, MarkFill::Full) => format!("{dot} s{tone}"),
        (Symbol::Square, MarkFill::Full) => format!("{square} s{tone}"),
        (Symbol::Cross, _) => format!("l s{tone}"),
        (_, fill) => style::filled(look.tone, fill),
    };
    let path = layers.mark(&class, row);
    match (look.symbol, look.fill) {
        (_, MarkFill::None) | (Symbol::Circle | Symbol::Square, MarkFill::Full) => {
            path.dot(at.0, at.1);
        }
        (symbol, _) => symbol_path(path, at, symbol, if is_small { 2.0 } else { 3.0 }),
    }
}

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
        path.line_to(to.0, to.1);
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
    let is_gap =
        |(position, (x, y)): &(usize, &(f64, f64))| !(x + y + low[*position].1).is_finite();
    let gaps = high
        .iter()
        .enumerate()
        .filter(is_gap)
        .map(|(position, _)| position);
    let mut from = 0;
    for to in gaps.chain([high.len()]) {
        let part = from..to;
        from = to + 1;
        if part.len() < 2 {
            continue;
        }
        let there = high[part.clone()].iter();
        let back = low[part].iter().rev();
        for (position, (x, y)) in there.chain(back).enumerate() {
            match position {
                0 => path.begin(*x, *y),
                _ => path.line_to(*x, *y),
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
    path.line_to(end.0, end.1);
    for (value, reach) in [(low, from), (high, to)] {
        if strokes && !axis.cuts(value) {
            let one = point(reach, middle - STROKE);
            path.begin(one.0, one.1);
            path.steps(&[point(0.0, 2.0 * STROKE)]);
        }
    }
    let path = layers.path(&style::filled(look.tone, MarkFill::Full));
    for (value, reach, other) in [(low, from, to), (high, to, from)] {
        // The axis continues.
        if axis.cuts(value) {
            let out = if reach >= other { 1.0 } else { -1.0 };
            let steps = [point(-8.0 * out, -4.0), point(0.0, 8.0)];
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
    let position = match along {
        Along::Y => plot.across(at),
        Along::X => plot.down(at),
    };
    let (axis, ink) = (
        if along == Along::Y { plot.x } else { plot.y },
        format!("ha f{}", style::tone(look.tone)),
    );
    if !position.is_finite() || axis.cuts(at) {
        return;
    }
    let path = layers.path(&class);
    match along {
        Along::Y => {
            let top = plot.top - 13.0 * level as f64;
            path.begin(position, top);
            path.line_to(position, plot.top + plot.height);
            let at = (position, top - 4.0);
            free(&mut layers.texts, plot, at, Anchor::Middle, &ink, text);
        }
        Along::X => {
            path.begin(plot.left, position);
            path.line_to(plot.left + plot.width, position);
            let at = (plot.left + 6.0, position - 4.0);
            free(&mut layers.texts, plot, at, Anchor::Start, &ink, text);
        }
    }
}
