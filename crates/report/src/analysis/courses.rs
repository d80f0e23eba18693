//! Courses of TCP connections as figures: the time-sequence graph as tcptrace draws it, round
//! trips, throughput, bytes in flight.

use figures::{
    Axis, Dash, Figure, FigureMark, Format, LegendKey, LineStep, MarkFill, MarkLook, MarkShape,
    MarkTone, Panel, Range, Scale, Series, Swatch, extent,
};
use maud::html;
use trace::connection::ConnectionFigures;
use trace::direction::{DirectionSeries, SegmentPoint, TimedValue};
use trace::series::{BytesOverTime, TimeSeries};
use trace::waits::ConnectionEnd;

use super::CaptureAnalysis;
use super::figures::{end_name, from_to};
use super::tables::{payload, shown_connections};
use crate::document::Block;
use crate::json::us;
use crate::page::drawn;

/// Connections that have figures: those with the most payload.
const MOST_CONNECTIONS: usize = 4;

/// Part of a connection's payload from which on a direction has figures of its own.
const WORTH_DRAWING: f64 = 0.05;

const MOST_INTERVALS: usize = 60;

const TALL: f64 = 360.0;
const HEIGHT: f64 = 230.0;

/// Of the length of the axes: half the width of the stroke of a segment, of one that is to be
/// noticed, and the least height of both.
const STROKE: f64 = 0.0012;
const THICK: f64 = 0.0028;
const LEAST: f64 = 0.006;

struct CourseOfDirection {
    /// `connection 1, server to client`.
    name: String,
    figures: Vec<Figure>,
}

/// The figures of each direction, of which the first one is open.
pub(super) fn section(of: &CaptureAnalysis) -> Block {
    let courses = courses(of);
    let drawn = match &courses[..] {
        [only] => html! { div.figures { (drawn::figures(&only.figures)) } },
        courses => html! {
            @for (number, course) in courses.iter().enumerate() {
                details.figures open[number == 0] {
                    summary { (course.name) }
                    (drawn::figures(&course.figures))
                }
            }
        },
    };
    Block::Section("figures", "Courses".to_owned(), vec![Block::Page(drawn)])
}

/// The courses, the direction with the most payload first.
fn courses(of: &CaptureAnalysis) -> Vec<CourseOfDirection> {
    let all = &of.contents.traced.connections;
    let indices = shown_connections(of, MOST_CONNECTIONS);
    let mut directions: Vec<(u64, CourseOfDirection)> = Vec::new();
    for index in indices {
        let connection = &all[index];
        for end in [ConnectionEnd::Client, ConnectionEnd::Server] {
            let bytes = connection.from(end).payload_bytes;
            if bytes > 0 && bytes as f64 >= WORTH_DRAWING * payload(connection) as f64 {
                directions.push((
                    bytes,
                    CapturedDirection::of(of, index, connection, end).course(),
                ));
            }
        }
    }
    directions.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    directions.into_iter().map(|(_, course)| course).collect()
}

/// A direction of a connection. Times are microseconds since the first packet of the capture.
struct CapturedDirection<'a> {
    analysis: &'a CaptureAnalysis,
    id: String,
    name: String,
    ends: (f64, f64),
    series: &'a DirectionSeries,
}

struct DirectionCourse {
    id: &'static str,
    title: &'static str,
    note: String,
    columns: [&'static str; 2],
    height: f64,
    axis: Axis,
    keys: Vec<LegendKey>,
    series: Vec<Series>,
}

impl<'a> CapturedDirection<'a> {
    fn of(
        analysis: &'a CaptureAnalysis,
        index: usize,
        connection: &'a ConnectionFigures,
        end: ConnectionEnd,
    ) -> CapturedDirection<'a> {
        let number = index + 1;
        let at = |at_ns| microseconds(analysis.since_start_ns(at_ns));
        let (from, to) = (at(connection.start_ns), at(connection.end_ns));
        CapturedDirection {
            analysis,
            id: format!("{number}-{}", end_name(end)),
            name: format!("connection {number}, {}", from_to(end)),
            ends: (from, to.max(from + 1e3)),
            series: &connection.from(end).series,
        }
    }

    fn course(self) -> CourseOfDirection {
        let figures = [
            self.sequence(),
            self.round_trips(),
            self.throughput(),
            self.flight(),
        ];
        CourseOfDirection {
            figures: figures.into_iter().filter(|of| !of.is_empty()).collect(),
            name: self.name,
        }
    }

    fn at(&self, at_ns: i64) -> f64 {
        microseconds(self.analysis.since_start_ns(at_ns))
    }

    fn figure(&self, of: DirectionCourse) -> Figure {
        let exact = Range {
            exact: true,
            ..Range::of(Some(self.ends))
        };
        let x = Axis::numbers(exact, Scale::Linear, Format::Time);
        let panel = Panel {
            series: of.series,
            ..Panel::new(x.named("since the first packet"), of.axis, of.height)
        };
        let [what, value] = of.columns;
        Figure {
            id: format!("{}-{}", of.id, self.id),
            title: format!("{}: {}", of.title, self.name),
            note: of.note,
            columns: ["At", what, value].map(str::to_owned).to_vec(),
            keys: of.keys,
            panels: vec![panel],
        }
    }

    fn values(&self, of: &TimeSeries<TimedValue>, value: fn(i64) -> f64) -> Vec<(f64, f64)> {
        let points = of.points().iter();
        let points = points.map(|point| (self.at(point.at_ns), value(point.value)));
        points.collect()
    }

    fn sequence(&self) -> Figure {
        let of = self.series;
        let offsets = [&of.segments, &of.retransmissions].into_iter();
        let offsets = offsets.flat_map(|series| series.points());
        let offsets = offsets.flat_map(|point| [point.first as f64, point.end as f64]);
        // The window can reach far beyond all that was sent.
        let (low, high) = extent(offsets).unwrap_or((0.0, 1.0));
        let low = low.min(0.0);
        let high = high + ((high - low) * 0.08).max(1.0);
        let range = Range {
            exact: true,
            ..Range::of(Some((low, high)))
        };
        let strokes = Strokes {
            of: self,
            length: high - low,
        };
        let window = MarkLook::of(4).dashed(Dash::Dashed);
        let acknowledged = MarkLook::of(2).dashed(Dash::Solid);
        let plain = |value: i64| value as f64;
        let parts = [
            self.steps(
                "window",
                window,
                &self.values(&of.window_end, plain),
                "window ends at byte",
            ),
            self.steps(
                "acknowledged",
                acknowledged,
                &self.values(&of.acknowledged, plain),
                "acknowledged up to byte",
            ),
            strokes.series(
                "segments",
                MarkLook::toned(MarkTone::Ink),
                STROKE,
                &of.segments,
            ),
            strokes.series("out of order", MarkLook::of(3), THICK, &of.overtaken),
            strokes.series("sent again", MarkLook::of(1), THICK, &of.retransmissions),
        ];
        let parts = parts
            .into_iter()
            .filter(|(_, series)| !series.marks.is_empty());
        let (keys, mut series): (Vec<LegendKey>, Vec<Series>) = parts.unzip();
        if of.segments.points().is_empty() {
            series.clear();
        }
        for (index, series) in series.iter_mut().enumerate() {
            series.key = Some(index);
        }
        self.figure(DirectionCourse {
            id: "sequence",
            title: "Time and sequence",
            note: "As tcptrace draws it: each stroke is a segment, from its first to its last byte. The lower line is what the \
                   receiver has acknowledged, the upper one where its window ends."
                .to_owned(),
            columns: ["What", "Bytes"],
            height: TALL,
            axis: Axis::numbers(range, Scale::Linear, Format::Bytes).named("place in the stream"),
            keys,
            series,
        })
    }

    /// A line that keeps its height until the next point.
    fn steps(
        &self,
        name: &str,
        look: MarkLook,
        points: &[(f64, f64)],
        what: &str,
    ) -> (LegendKey, Series) {
        let point_marks = points.iter().map(|(at, offset)| {
            let point =
                FigureMark::new(MarkShape::Point(*at, *offset), look.filled(MarkFill::None));
            point.with_row([Format::Time.value(*at), what.to_owned(), offset.to_string()])
        });
        let line = held(points, self.ends.1);
        let line = FigureMark::new(MarkShape::Line(line, LineStep::After), look);
        let line = (!points.is_empty()).then_some(line);
        let key = LegendKey {
            name: name.to_owned(),
            // Its points are not drawn.
            look: look.filled(MarkFill::None),
            swatch: Swatch::Line,
        };
        let marks = line.into_iter().chain(point_marks).collect();
        (key, Series { key: None, marks })
    }

    fn round_trips(&self) -> Figure {
        let points = self.values(&self.series.round_trips, microseconds);
        let positive = points.iter().map(|(_, us)| *us).filter(|us| *us > 0.0);
        let range = Range::from_zero(extent(positive));
        let look = MarkLook::of(0);
        let point_marks = points.iter().map(|(at, us)| {
            let row = [
                Format::Time.value(*at),
                "round trip".to_owned(),
                Format::Time.value(*us),
            ];
            FigureMark::new(MarkShape::Point(*at, *us), look).with_row(row)
        });
        let line = MarkShape::Line(points.clone(), LineStep::None);
        let line = FigureMark::new(line, MarkLook::toned(MarkTone::Grid));
        let marks = if points.is_empty() {
            Vec::new()
        } else {
            std::iter::once(line).chain(point_marks).collect()
        };
        self.figure(DirectionCourse {
            id: "rtt",
            title: "Round trips",
            note: "From a segment to its acknowledgment at the place of capture, with the receiver's delay of acknowledgments."
                .to_owned(),
            columns: ["What", "Time"],
            height: HEIGHT,
            axis: Axis::numbers(range, Scale::Auto, Format::Time).named("round trip"),
            keys: Vec::new(),
            series: vec![Series { key: None, marks }],
        })
    }

    fn throughput(&self) -> Figure {
        let of: &BytesOverTime = &self.series.throughput;
        let bins: Vec<(i64, u64)> = of.bins().collect();
        let (width_ns, rates) = throughput(&bins, of.width_ns());
        let points: Vec<(f64, f64)> = rates
            .into_iter()
            .map(|(start_ns, rate)| (self.at(start_ns), rate))
            .collect();
        let interval = Format::Time.value(width_ns as f64 / 1e3);
        self.area(
            "throughput",
            "Throughput",
            "bytes per second",
            Format::ByteRate,
            points,
            format!("Payload without what was sent again, in intervals of {interval}."),
        )
    }

    fn flight(&self) -> Figure {
        let points = self.values(&self.series.flight, |value| value as f64);
        let note = "Bytes that were sent and not yet acknowledged, at the place of capture.";
        self.area(
            "flight",
            "Flight size",
            "bytes in flight",
            Format::Bytes,
            points,
            note.to_owned(),
        )
    }

    fn area(
        &self,
        id: &'static str,
        title: &'static str,
        what: &'static str,
        format: Format,
        points: Vec<(f64, f64)>,
        note: String,
    ) -> Figure {
        let look = MarkLook::of(0);
        let held = held(&points, self.ends.1);
        let below = held.iter().map(|(at, value)| (*at, 0.0, *value));
        let below = MarkShape::Area(below.collect(), LineStep::After);
        let point_marks = points.iter().map(|(at, value)| {
            let row = [
                Format::Time.value(*at),
                what.to_owned(),
                format.value(*value),
            ];
            FigureMark::new(MarkShape::Point(*at, *value), look.filled(MarkFill::None))
                .with_row(row)
        });
        let range = Range::from_zero(extent(points.iter().map(|(_, value)| *value)));
        let mut marks = Vec::new();
        if !points.is_empty() {
            marks.push(FigureMark::new(below, look.filled(MarkFill::Soft)));
            marks.push(FigureMark::new(
                MarkShape::Line(held, LineStep::After),
                look,
            ));
        }
        marks.extend(point_marks);
        self.figure(DirectionCourse {
            id,
            title,
            note,
            columns: ["What", "Value"],
            height: HEIGHT,
            axis: Axis::numbers(range, Scale::Linear, format).named(what),
            keys: Vec::new(),
            series: vec![Series { key: None, marks }],
        })
    }
}

/// Segments as strokes from their first to their last byte.
struct Strokes<'d, 'a> {
    of: &'d CapturedDirection<'a>,
    /// Of the vertical axis.
    length: f64,
}

impl Strokes<'_, '_> {
    fn series(
        &self,
        name: &str,
        look: MarkLook,
        half: f64,
        of: &TimeSeries<SegmentPoint>,
    ) -> (LegendKey, Series) {
        let (from, to) = self.of.ends;
        let half = half * (to - from);
        let marks = of.points().iter().map(|point| {
            let at = self.of.at(point.at_ns);
            let (first, end) = (point.first as f64, point.end as f64);
            let room = (self.length * LEAST - (end - first)).max(0.0) / 2.0;
            let stroke = MarkShape::Rect {
                x: (at - half, at + half),
                y: (first - room, end + room),
            };
            let bytes = format!("{} to {}", point.first, point.end);
            let row = [Format::Time.value(at), name.to_owned(), bytes];
            FigureMark::new(stroke, look).with_row(row)
        });
        let key = LegendKey {
            name: name.to_owned(),
            look,
            swatch: Swatch::Bar,
        };
        let marks = marks.collect();
        (key, Series { key: None, marks })
    }
}

/// The width of intervals, and for each its start and the bytes per second: so few intervals that
/// bursts of single round trips do not hide the course.
fn throughput(bins: &[(i64, u64)], bin_ns: i64) -> (i64, Vec<(i64, f64)>) {
    let together = bins.len().div_ceil(MOST_INTERVALS).max(1);
    let width_ns = bin_ns.saturating_mul(together as i64).max(1);
    let rates = bins.chunks(together).map(|bins| {
        let bytes: u64 = bins.iter().map(|(_, bytes)| bytes).sum();
        // The last interval may have fewer bins.
        let length_ns = bin_ns as f64 * bins.len() as f64;
        (bins[0].0, (bytes as f64 * 1e9 / length_ns).round())
    });
    (width_ns, rates.collect())
}

/// Points of which the last holds until the end.
fn held(points: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    let last = points.last().map(|(at, value)| (at.max(end), *value));
    points.iter().copied().chain(last).collect()
}

fn microseconds(ns: i64) -> f64 {
    us(ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_interval_that_is_shorter_has_its_own_rate() {
        let bins: Vec<(i64, u64)> = (0..61).map(|bin| (bin * 1_000_000, 500)).collect();
        let (width_ns, rates) = throughput(&bins, 1_000_000);
        assert_eq!((width_ns, rates.len()), (2_000_000, 31));
        assert!(
            rates.iter().all(|(_, rate)| *rate == 500_000.0),
            "{rates:?}"
        );
    }

    #[test]
    fn a_value_alone_is_a_line() {
        assert_eq!(held(&[(1.0, 5.0)], 9.0), [(1.0, 5.0), (9.0, 5.0)]);
        assert_eq!(held(&[], 9.0), []);
    }
}
