//! How times grow with a parameter: a panel for each server, all with the same axes.

use figures::{
    Along, Anchor, Axis, Dash, Figure, FigureMark, Format, LineStep, MarkFill, MarkLook, MarkShape,
    MarkTone, Panel, Range, Scale, Series, Symbol, digits, extent, plain,
};
use stats::{Law, Since, SweepPoint, SweptRow, Term};

use super::{us, within, words};
use crate::Sweep;

/// Height of a panel and of a label in it, in pixels.
const PANEL: f64 = 170.0;
const LABEL: f64 = 13.0;
/// From this factor on, values lie far apart.
const WIDE: f64 = 20.0;
const LETTERS: usize = 24;
const PARTS: u32 = 60;

/// Points in which all other parameters are alike.
struct Line<'a> {
    server: usize,
    /// Its place among the lines of its server.
    index: usize,
    law: Option<&'a Law>,
    /// The values of the other parameters; empty where there is one line.
    others: String,
    /// Those with a time, by the value of the parameter.
    points: Vec<&'a SweepPoint>,
}

struct SweepDrawing<'a> {
    sweep: &'a Sweep,
    param: usize,
    is_log: bool,
    x: Axis,
    y: Axis,
}

/// A row by one parameter: on the usual scale, and on the other one.
pub(super) fn sweep(sweep: &Sweep, row: &SweptRow, param: usize) -> [Figure; 2] {
    let lines = lines(sweep, row, param);
    let [values, means] = extents(sweep, &lines, param);
    let spans = |ends: Option<(f64, f64)>| ends.is_some_and(|(low, high)| high / low > WIDE);
    let is_log = values.is_some_and(|(low, _)| low > 0.0) && (spans(values) || spans(means));
    [is_log, !is_log].map(|is_log| figure(sweep, row, param, &lines, is_log))
}

fn value(sweep: &Sweep, point: &SweepPoint, param: usize) -> f64 {
    sweep.vary[param].values[point.levels[param]]
}

fn written(sweep: &Sweep, param: usize, point: &SweepPoint) -> String {
    let varied = &sweep.vary[param];
    let level = point.levels[param];
    let written = varied.written.get(level).cloned();
    written.unwrap_or_else(|| plain(varied.values[level]))
}

/// The settings of a point, without those of one parameter.
fn settings(sweep: &Sweep, point: &SweepPoint, without: Option<usize>) -> String {
    let params = (0..sweep.vary.len()).filter(|param| Some(*param) != without);
    let setting = |param: usize| {
        format!(
            "{} {}",
            sweep.vary[param].name,
            written(sweep, param, point)
        )
    };
    params.map(setting).collect::<Vec<_>>().join(", ")
}

/// The lines of a panel: for each server and each setting of the other parameters. Of a sweep of
/// one parameter at a time, those in which the others are as in most of its points.
fn lines<'a>(sweep: &Sweep, row: &'a SweptRow, param: usize) -> Vec<Line<'a>> {
    let server_lines = |(server, swept): (usize, &'a stats::SweptServer)| {
        let mut by_others: Vec<(String, Vec<&'a SweepPoint>)> = Vec::new();
        for point in &swept.points {
            let others = settings(sweep, point, Some(param));
            match by_others.iter_mut().find(|(known, _)| *known == others) {
                Some((_, points)) => points.push(point),
                None => by_others.push((others, vec![point])),
            }
        }
        let is_one = by_others.len() == 1;
        by_others.retain(|(_, points)| points.len() > 1 || is_one);
        let several = by_others.len() > 1;
        let lines = by_others.into_iter().enumerate();
        lines.map(move |(index, (others, points))| {
            let mut points = points;
            points.retain(|point| point.mean.is_some());
            points.sort_by_key(|point| point.levels[param]);
            Line {
                server,
                index,
                law: swept.growth.law.as_ref(),
                others: if several { others } else { String::new() },
                points,
            }
        })
    };
    row.servers
        .iter()
        .enumerate()
        .flat_map(server_lines)
        .collect()
}

/// The least and the greatest value of the parameter, and mean above zero, in microseconds.
fn extents(sweep: &Sweep, lines: &[Line<'_>], param: usize) -> [Option<(f64, f64)>; 2] {
    let points = || lines.iter().flat_map(|line| &line.points);
    let means = points().filter_map(|point| Some(us(point.mean?)));
    [
        extent(points().map(|point| value(sweep, point, param))),
        extent(means.filter(|us| *us > 0.0)),
    ]
}

fn figure(sweep: &Sweep, row: &SweptRow, param: usize, lines: &[Line<'_>], is_log: bool) -> Figure {
    let points = || lines.iter().flat_map(|line| &line.points);
    let [values, means] = extents(sweep, lines, param);
    let ends = points().filter_map(|point| point.ci95);
    let ends: Vec<f64> = ends.flat_map(|(low, high)| [us(low), us(high)]).collect();
    let scale = if is_log { Scale::Log } else { Scale::Linear };
    // Nothing and less have no place on a logarithmic scale.
    let has_zero = values.is_some_and(|(low, _)| low <= 0.0);
    let x_scale = if has_zero { Scale::Linear } else { scale };
    // Where a schedule decides when operations begin, times count from the planned moment.
    let times = match row.since {
        Since::Planned => "latency from schedule",
        Since::Sent => "response time",
        Since::Started => "total time",
    };
    let mut ticks: Vec<(f64, String)> = points()
        .map(|point| (value(sweep, point, param), written(sweep, param, point)))
        .collect();
    ticks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    ticks.dedup_by(|(one, _), (other, _)| one == other);
    let drawn = SweepDrawing {
        sweep,
        param,
        is_log: x_scale == Scale::Log,
        x: Axis::numbers(Range::from_zero(values), x_scale, Format::Plain).with_ticks(ticks),
        y: Axis::numbers(
            within(means.unwrap_or((1.0, 10.0)), &ends, is_log),
            scale,
            Format::Time,
        )
        .named(format!("mean {times}")),
    };
    let mut servers: Vec<usize> = lines.iter().map(|line| line.server).collect();
    servers.dedup();
    let longest = lines.iter().map(|line| line.others.chars().count()).max();
    let name = &sweep.vary[param].name;
    let panels = servers.iter().enumerate().map(|(index, server)| {
        let server_lines: Vec<&Line<'_>> =
            lines.iter().filter(|line| line.server == *server).collect();
        let is_last = index + 1 == servers.len();
        let x = drawn
            .x
            .clone()
            .named(if is_last { name.as_str() } else { "" });
        let law = server_lines
            .first()
            .and_then(|line| line.law)
            .map(|law| formula(sweep, law));
        let server = sweep
            .servers
            .get(*server)
            .map_or("server", |server| &server.name);
        // A single server is named by the page, and its URL would leave no room for the law.
        let is_alone = servers.len() == 1 && law.is_some();
        let title = (!is_alone).then(|| server.to_owned());
        let title = title.into_iter().chain(law);
        Panel {
            title: title
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(": "),
            right: longest.unwrap_or(0).clamp(3, LETTERS),
            series: drawn.series(&server_lines, server),
            ..Panel::new(x, drawn.y.clone(), PANEL)
        }
    });
    let mut panels: Vec<Panel> = panels.collect();
    if points().next().is_none() {
        panels.clear();
    }
    let mut note = vec![
        "Marks are means, with their 95 % intervals; an arrow marks an interval that reaches beyond the axis. The curve is the law that was fitted, whose formula stands above it; dashed lines join marks without a law.".to_owned(),
    ];
    let failed = row.servers.iter().flat_map(|of| &of.points);
    match failed.filter(|point| point.mean.is_none()).count() {
        0 => {}
        1 => note.push("One point has no time and no mark: the table says why.".to_owned()),
        count => note.push(format!(
            "{count} points have no time and no mark: the table says why."
        )),
    }
    if has_zero && is_log {
        note.push(format!(
            "Zero has no place on a logarithmic scale, so that of {name} is linear."
        ));
    }
    Figure {
        id: format!("{name}-{}", row.name),
        title: format!("{}: mean {times} by {name}", row.name),
        note: note.join(" "),
        columns: words([
            "server",
            "at",
            "mean",
            "95 % interval",
            "operations",
            "failed",
        ]),
        keys: Vec::new(),
        panels,
    }
}

impl SweepDrawing<'_> {
    fn series(&self, lines: &[&Line<'_>], server: &str) -> Vec<Series> {
        // How far the label of each line's last mark has to move down, so that none covers another.
        let down = |line: &Line<'_>| {
            let last = line.points.last()?.mean?;
            Some((1.0 - self.y.position(us(last))) * PANEL)
        };
        let mut ends: Vec<(usize, f64)> = lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| Some((index, down(line)?)))
            .collect();
        ends.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let mut moved = vec![0.0; lines.len()];
        let mut above = f64::NEG_INFINITY;
        for (index, end) in ends {
            let y = end.max(above + LABEL);
            moved[index] = y - end;
            above = y;
        }
        let lines = lines.iter().zip(moved);
        lines
            .map(|(line, down)| self.line(line, server, down))
            .collect()
    }

    fn line(&self, line: &Line<'_>, server: &str, down: f64) -> Series {
        let fill = if line.index % 2 == 1 {
            MarkFill::Hollow
        } else {
            MarkFill::Full
        };
        let look = MarkLook {
            tone: MarkLook::of(line.server).tone,
            symbol: Symbol::ALL[(line.server + line.index) % Symbol::ALL.len()],
            dash: Dash::ALL[line.index % Dash::ALL.len()],
            fill,
        };
        let at = |point: &SweepPoint| {
            let mean = us(point.mean.unwrap_or(f64::NAN));
            (value(self.sweep, point, self.param), mean)
        };
        let mut marks = Vec::new();
        let curve = self.fitted(line);
        if curve.is_empty() {
            let join = line.points.iter().map(|point| at(point)).collect();
            marks.push(FigureMark::new(
                MarkShape::Line(join, LineStep::None),
                look.dashed(Dash::Dashed),
            ));
        } else {
            marks.push(FigureMark::new(
                MarkShape::Line(curve, LineStep::None),
                look,
            ));
        }
        for point in &line.points {
            let ends = point.ci95.map(|(low, high)| (us(low), us(high)));
            if let Some(ends) = ends {
                let interval = MarkShape::Interval {
                    along: Along::Y,
                    at: at(point).0,
                    ends,
                    strokes: true,
                };
                marks.push(FigureMark::new(interval, MarkLook::toned(look.tone)));
            }
        }
        for point in &line.points {
            let (x, mean) = at(point);
            let time = |us| Format::Time.value(us);
            let ends = point
                .ci95
                .map(|(low, high)| format!("{} .. {}", time(us(low)), time(us(high))));
            let cells = [
                server.to_owned(),
                settings(self.sweep, point, None),
                time(mean),
                ends.unwrap_or_default(),
                point.operations.to_string(),
                point.failed.to_string(),
            ];
            marks.push(FigureMark::new(MarkShape::Point(x, mean), look).with_row(cells));
        }
        // The last mark has the settings of the other parameters beside it.
        if let Some(last) = line.points.last().filter(|_| !line.others.is_empty()) {
            let text = MarkShape::Text {
                at: at(last),
                shift: (9.0, down),
                anchor: Anchor::Start,
                text: line.others.clone(),
                within: None,
            };
            marks.push(FigureMark::new(text, MarkLook::toned(MarkTone::Muted)));
        }
        Series { key: None, marks }
    }

    /// The law along a line; nothing without one, or for one point.
    fn fitted(&self, line: &Line<'_>) -> Vec<(f64, f64)> {
        let (Some(law), [first, .., last]) = (line.law, &line.points[..]) else {
            return Vec::new();
        };
        let power = |x: f64, exponent: f64| if x == 0.0 { 0.0 } else { x.powf(exponent) };
        // Terms of other parameters are constant along the line.
        let term = |term: &Term, x: f64| {
            let of = if term.of == self.param {
                x
            } else {
                value(self.sweep, first, term.of)
            };
            us(term.per_unit.value) * power(of, term.exponent)
        };
        let fit =
            |x: f64| us(law.base.value) + law.terms.iter().map(|part| term(part, x)).sum::<f64>();
        let ends = [first, last].map(|point| value(self.sweep, point, self.param));
        let [low, high] = ends;
        let x_at = |part: f64| {
            if self.is_log && low > 0.0 {
                low * (high / low).powf(part)
            } else {
                low + (high - low) * part
            }
        };
        let parts = (0..=PARTS).map(|part| x_at(f64::from(part) / f64::from(PARTS)));
        let curve = parts.map(|x| (x, fit(x)));
        curve.filter(|(_, y)| *y > 0.0).collect()
    }
}

/// `6.92 ms + 237 µs × width + 30 ns × size^0.5`.
fn formula(sweep: &Sweep, law: &Law) -> String {
    let small = |ns: f64| match us(ns) {
        us if us.abs() >= 0.1 => Format::Time.value(us),
        _ => format!("{} ns", digits(ns)),
    };
    let power = |term: &Term| {
        let name = &sweep.vary[term.of].name;
        match term.exponent {
            exponent if (exponent - 1.0).abs() < 0.005 => name.clone(),
            exponent => format!("{name}^{}", plain((exponent * 100.0).round() / 100.0)),
        }
    };
    let mut out = String::new();
    if law.base.value != 0.0 {
        out += &small(law.base.value);
    }
    for term in &law.terms {
        let sign = if term.per_unit.value < 0.0 {
            "−"
        } else {
            "+"
        };
        out += &format!(
            " {sign} {} × {}",
            small(term.per_unit.value.abs()),
            power(term)
        );
    }
    out.strip_prefix(" + ").map(str::to_owned).unwrap_or(out)
}
