//! Server times reported in responses: the header Server-Timing, added up by row and metric.
//!
//! A response without it costs a look at the lengths of its header names. Everything has a bound,
//! because a server may send anything.

use std::cell::RefCell;

use record::{EventKind, MeasureId, Nanos, ServerTimeBatches, ServerTimeSource, ServerTimes};
use wire::response::Headers;
use wire::server_timing::server_timing;

/// Most metrics of a row.
const MOST_METRICS: usize = 16;
/// Most metrics of a response that are read.
const MOST_IN_RESPONSE: usize = 64;
/// Longest name of a metric, in bytes.
const LONGEST_NAME: usize = 64;

/// The times reported to the users of one thread.
#[derive(Default)]
pub(crate) struct ServerTimings {
    /// Times by index of the row.
    rows: RefCell<Vec<RowTimings>>,
}

#[derive(Default)]
struct RowTimings {
    /// Responses with the header.
    responses: u64,
    metrics: Vec<MetricTimes>,
    /// Some metrics were left out.
    has_more: bool,
}

struct MetricTimes {
    name: String,
    operations: u64,
    batches: ServerTimeBatches,
    /// The number of the last response with the metric.
    last: u64,
    /// Its time in that response, the sum of all occurrences.
    time: Option<Nanos>,
}

impl ServerTimings {
    /// Adds the response to an operation that was ok, with this response time.
    pub(crate) fn add(&self, row: MeasureId, headers: &Headers, response: Option<Nanos>) {
        let mut fields = headers.get_all("Server-Timing").peekable();
        if fields.peek().is_none() {
            return;
        }
        let mut rows = self.rows.borrow_mut();
        let index = usize::from(row.0);
        if rows.len() <= index {
            rows.resize_with(index + 1, RowTimings::default);
        }
        rows[index].add(fields, response);
    }

    /// The events for the record.
    pub(crate) fn end(&self) -> Vec<EventKind> {
        let rows = self.rows.take().into_iter();
        let rows_by_index = (0..=u16::MAX).map(MeasureId);
        let rows = rows_by_index.zip(rows);
        rows.flat_map(|(measure, row)| row.end(measure)).collect()
    }
}

impl RowTimings {
    fn add<'h>(&mut self, fields: impl Iterator<Item = &'h str>, response: Option<Nanos>) {
        self.responses += 1;
        let mut metrics = fields.flat_map(server_timing);
        for metric in metrics.by_ref().take(MOST_IN_RESPONSE) {
            let Some(times) = self.metric(metric.name) else {
                self.has_more = true;
                continue;
            };
            // A metric may occur several times: then its times are added.
            times.time = match (times.time, metric.duration) {
                (Some(before), Some(time)) => Some(before + time),
                (before, time) => before.or(time),
            };
        }
        self.has_more |= metrics.next().is_some();
        let now = self.responses;
        for times in self.metrics.iter_mut().filter(|metric| metric.last == now) {
            times.operations += 1;
            if let (Some(time), Some(response)) = (times.time.take(), response) {
                times.batches.push(time, response);
            }
        }
    }

    /// A metric of this response.
    fn metric(&mut self, name: &str) -> Option<&mut MetricTimes> {
        let known = self.metrics.iter().position(|metric| metric.name == name);
        let index = match known {
            Some(index) => index,
            None if self.metrics.len() == MOST_METRICS || name.len() > LONGEST_NAME => return None,
            None => {
                self.metrics.push(MetricTimes {
                    name: name.to_owned(),
                    operations: 0,
                    batches: ServerTimeBatches::default(),
                    last: 0,
                    time: None,
                });
                self.metrics.len() - 1
            }
        };
        let times = &mut self.metrics[index];
        times.last = self.responses;
        Some(times)
    }

    fn end(self, measure: MeasureId) -> impl Iterator<Item = EventKind> {
        let note = self.has_more.then(|| EventKind::Note {
            measure,
            text: format!(
                "responses have more metrics in Server-Timing than the first {MOST_METRICS} with names of at most \
                 {LONGEST_NAME} bytes, which are kept"
            ),
        });
        let times = self.metrics.into_iter().map(move |times| {
            EventKind::ServerTimes(ServerTimes {
                measure,
                source: ServerTimeSource::Header { metric: times.name },
                operations: times.operations,
                resolution: 1,
                batches: times.batches.into_batches(),
            })
        });
        times.chain(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: MeasureId = MeasureId(2);

    fn responses(all: &[(&[&str], Option<Nanos>)]) -> Vec<EventKind> {
        let timings = ServerTimings::default();
        for (values, response) in all {
            let mut headers: Headers = [("Server", "x"), ("ServerXTiming", "no;dur=1")]
                .into_iter()
                .collect();
            for value in *values {
                headers.push("server-timing", value.as_bytes());
            }
            timings.add(ROW, &headers, *response);
        }
        timings.end()
    }

    fn recorded_times(events: Vec<EventKind>) -> Vec<(String, u64, u64, Nanos, Nanos)> {
        let one = |event| match event {
            EventKind::ServerTimes(times) => {
                assert_eq!(times.measure, ROW);
                let ServerTimeSource::Header { metric } = times.source else {
                    panic!("it comes from a header")
                };
                let sum =
                    |of: fn(&record::ServerTimeBatch) -> u64| times.batches.iter().map(of).sum();
                (
                    metric,
                    times.operations,
                    sum(|times| times.operations),
                    sum(|times| times.server),
                    sum(|batch| batch.ours),
                )
            }
            other => panic!("{other:?}"),
        };
        events.into_iter().map(one).collect()
    }

    #[test]
    fn times_are_added_by_metric() {
        assert_eq!(recorded_times(responses(&[(&[], Some(5))])), []);
        let all = recorded_times(responses(&[
            (&["db;dur=0.001, miss", "app;dur=0.004"], Some(5000)),
            (&["db;dur=0.002, db, db;dur=0.003"], Some(7000)),
            (&[], Some(100_000)),
            // No response time, and no valid duration.
            (&["db;dur=9"], None),
            (&["app;dur=-1"], Some(9000)),
        ]));
        let row = |name: &str, operations, timed, server, ours| {
            (name.to_owned(), operations, timed, server, ours)
        };
        let expected = [
            row("db", 3, 2, 6000, 12_000),
            row("miss", 1, 0, 0, 0),
            row("app", 2, 1, 4000, 5000),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_server_that_sends_too_much_is_bounded_and_reported() {
        let many: Vec<String> = (0..1000).map(|index| format!("m{index};dur=1")).collect();
        let (many, long) = (many.join(","), format!("{};dur=1", "n".repeat(65)));
        let is_note = |event: &EventKind| matches!(event, EventKind::Note { measure: ROW, .. });
        for value in [many, long, "x,".repeat(65)] {
            let mut events = responses(&[(&[&value], Some(1)), (&[&value], Some(1))]);
            assert!(events.pop().is_some_and(|last| is_note(&last)), "{value}");
            assert!(events.len() <= MOST_METRICS && !events.iter().any(is_note));
        }
        assert!(!responses(&[(&["x;dur=1"], None)]).iter().any(is_note));
    }
}
