//! The courses that the figures of a capture are drawn from, as JSON.

use serde::Serialize;
use trace::connection::ConnectionFigures;
use trace::direction::{DirectionSeries, SegmentPoint, TimedValue};
use trace::series::{BytesOverTime, TimeSeries};
use trace::waits::ConnectionEnd;

use super::super::CaptureAnalysis;
use super::super::tables::{payload, shown_connections};
use crate::json::us;

/// Connections whose courses are on the page: those with the most payload.
pub(super) const MOST_CONNECTIONS: usize = 4;

/// Part of a connection's payload from which on a direction has figures of its own.
const WORTH_DRAWING: f64 = 0.05;

/// Most intervals of the throughput.
const MOST_INTERVALS: usize = 60;

#[derive(Debug, Serialize)]
struct CourseDocument {
    directions: Vec<CourseJson>,
}

/// The courses of one direction; times in seconds since the first packet.
#[derive(Debug, Serialize)]
struct CourseJson {
    id: String,
    name: String,
    from_s: f64,
    to_s: f64,
    /// Time, first place, place behind the last.
    segments: Vec<[f64; 3]>,
    retransmissions: Vec<[f64; 3]>,
    overtaken: Vec<[f64; 3]>,
    acknowledged: Vec<[f64; 2]>,
    window_end: Vec<[f64; 2]>,
    flight: Vec<[f64; 2]>,
    round_trips_us: Vec<[f64; 2]>,
    throughput: Vec<[f64; 2]>,
    interval_s: f64,
}

/// The courses, the direction with the most payload first.
pub(super) fn document(of: &CaptureAnalysis) -> String {
    let all = &of.contents.traced.connections;
    let places = shown_connections(of, MOST_CONNECTIONS);
    let mut directions: Vec<(u64, CourseJson)> = Vec::new();
    for place in places {
        let connection = &all[place];
        for end in [ConnectionEnd::Client, ConnectionEnd::Server] {
            let bytes = connection.from(end).payload_bytes;
            if bytes > 0 && bytes as f64 >= WORTH_DRAWING * payload(connection) as f64 {
                directions.push((bytes, course(of, place, connection, end)));
            }
        }
    }
    directions.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let directions = directions.into_iter().map(|(_, course)| course).collect();
    serde_json::to_string(&CourseDocument { directions })
        .expect("only a map with keys other than strings, or a type of ours that refuses, fails")
}

fn course(
    of: &CaptureAnalysis,
    place: usize,
    connection: &ConnectionFigures,
    end: ConnectionEnd,
) -> CourseJson {
    let at = |at_ns: i64| microseconds(of.since_start_ns(at_ns)) / 1e6;
    let series: &DirectionSeries = &connection.from(end).series;
    let segments = |of: &TimeSeries<SegmentPoint>| -> Vec<[f64; 3]> {
        let points = of.points().iter();
        points
            .map(|point| [at(point.at_ns), point.first as f64, point.end as f64])
            .collect()
    };
    let values = |of: &TimeSeries<TimedValue>, value: fn(i64) -> f64| -> Vec<[f64; 2]> {
        let points = of.points().iter();
        points
            .map(|point| [at(point.at_ns), value(point.value)])
            .collect()
    };
    let plain = |value: i64| value as f64;
    let (width_ns, throughput) = throughput(&series.throughput);
    let (sender, number) = match end {
        ConnectionEnd::Client => ("client to server", place + 1),
        ConnectionEnd::Server => ("server to client", place + 1),
    };
    CourseJson {
        id: format!("{number}-{}", &sender[..6]),
        name: format!("connection {number}, {sender}"),
        from_s: at(connection.start_ns),
        to_s: at(connection.end_ns),
        segments: segments(&series.segments),
        retransmissions: segments(&series.retransmissions),
        overtaken: segments(&series.overtaken),
        acknowledged: values(&series.acknowledged, plain),
        window_end: values(&series.window_end, plain),
        flight: values(&series.flight, plain),
        round_trips_us: values(&series.round_trips, microseconds),
        throughput: throughput
            .into_iter()
            .map(|(start_ns, rate)| [at(start_ns), rate])
            .collect(),
        interval_s: width_ns as f64 / 1e9,
    }
}

/// The width of intervals, and for each its start and the bytes per second: so few intervals that bursts of single
/// round trips do not hide the course.
fn throughput(of: &BytesOverTime) -> (i64, Vec<(i64, f64)>) {
    let bins: Vec<(i64, u64)> = of.bins().collect();
    let together = bins.len().div_ceil(MOST_INTERVALS).max(1);
    let width_ns = of.width_ns().saturating_mul(together as i64).max(1);
    let rates = bins.chunks(together).map(|bins| {
        let bytes: u64 = bins.iter().map(|(_, bytes)| bytes).sum();
        (bins[0].0, (bytes as f64 * 1e9 / width_ns as f64).round())
    });
    (width_ns, rates.collect())
}

fn microseconds(ns: i64) -> f64 {
    us(ns as f64)
}
