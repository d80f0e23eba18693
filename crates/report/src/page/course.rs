//! Background traffic and what was measured beside it over the time of a run, for a figure.

use record::{BackgroundCounts, Nanos, Pace};
use serde::Serialize;
use stats::{BackgroundPart, ForegroundPart};

use super::PageRun;
use super::data::{exact, seconds};
use crate::background::rate;

/// The parts of the time, each described in all lists at the same place. Moments are in seconds since the run began.
#[derive(Serialize)]
pub(super) struct BackgroundCourseFigure {
    /// A schedule decided when operations began.
    open: bool,
    from_s: Vec<f64>,
    length_s: Vec<f64>,
    /// When the first test began to measure, and the last one ended.
    measured_s: [f64; 2],
    /// When the traffic ended before the measurement did.
    ended_s: Option<f64>,
    components: Vec<ComponentCourse>,
    /// Rows of which something happened in some part.
    rows: Vec<ForegroundCourse>,
    /// Tests of a suite in rounds, in the order of time.
    tests: Vec<TestSpan>,
}

#[derive(Serialize)]
struct ComponentCourse {
    name: String,
    /// Bits of payload per second that arrived; `null` without traffic.
    received_bps: Vec<Option<f64>>,
    /// Percent of the datagrams; `null` in a part without any. Absent of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_percent: Option<Vec<Option<f64>>>,
}

/// A row in the parts in which something happened.
#[derive(Serialize)]
struct ForegroundCourse {
    name: String,
    place: Vec<usize>,
    done: Vec<u64>,
    failed: Vec<u64>,
    p50_us: Vec<Option<f64>>,
    p99_us: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct TestSpan {
    name: String,
    from_s: f64,
    to_s: f64,
}

impl BackgroundCourseFigure {
    /// Of a run; `None` without background traffic, or where nothing was read of it.
    pub(super) fn of(shown: &PageRun<'_>) -> Option<BackgroundCourseFigure> {
        let plan = &shown.run.plan;
        let record = plan.background.as_ref()?;
        let own = shown.summary.background.as_ref()?;
        if own.seconds.is_empty() {
            return None;
        }
        let parts = &own.course.parts;
        let tests = shown.summary.tests.iter();
        let rows = tests.zip(shown.details.iter().flatten());
        let rows = rows.map(|(test, details)| row(&test.name, &details.foreground));
        let components = record.components.iter().enumerate();
        let components = components.map(|(place, component)| ComponentCourse {
            name: component.name.clone(),
            received_bps: figures(parts, place, |own, span| {
                Some(rate(own.received_bytes, span).round())
            }),
            lost_percent: (component.protocol == "udp").then(|| {
                figures(parts, place, |own, _| {
                    own.loss().map(|loss| (loss * 1e6).round() / 1e4)
                })
            }),
        });
        let spans = own.course.tests.iter().map(|test| TestSpan {
            name: test.name.clone(),
            from_s: seconds(test.from),
            to_s: seconds(test.to),
        });
        let failed = own.end.as_ref().filter(|(_, end)| end.failure.is_some());
        Some(BackgroundCourseFigure {
            open: matches!(plan.load.pace, Pace::Open { .. }),
            from_s: parts.iter().map(|part| seconds(part.from)).collect(),
            length_s: parts.iter().map(|part| seconds(part.length)).collect(),
            measured_s: [seconds(own.measured.0), seconds(own.measured.1)],
            ended_s: failed.map(|(at, _)| seconds(*at)),
            components: components.collect(),
            rows: rows.filter(|row| !row.place.is_empty()).collect(),
            tests: spans.collect(),
        })
    }
}

fn row(name: &str, parts: &[ForegroundPart]) -> ForegroundCourse {
    let percentile = |which: usize| {
        let of = |part: &ForegroundPart| part.percentiles[which].map(exact);
        parts.iter().map(of).collect()
    };
    ForegroundCourse {
        name: name.to_owned(),
        place: parts.iter().map(|part| part.place).collect(),
        done: parts.iter().map(|part| part.done).collect(),
        failed: parts.iter().map(|part| part.failed).collect(),
        p50_us: percentile(0),
        p99_us: percentile(1),
    }
}

fn figures(
    parts: &[BackgroundPart],
    place: usize,
    of: impl Fn(&BackgroundCounts, Nanos) -> Option<f64>,
) -> Vec<Option<f64>> {
    let part = |part: &BackgroundPart| of(part.components.get(place)?, part.counted);
    parts.iter().map(part).collect()
}
