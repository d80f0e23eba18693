//! The server's own view, as JSON.

use record::{AccessLogRecord, ServerTimeSource};
use stats::{ServerView, ServerViewFigure, ServerViewRow, Summary, TestSummary};

use crate::fields::fields;
use crate::inside::test_of;
use crate::json::{percent, us};

pub(crate) struct ServerViewDocument<'a> {
    view: &'a ServerView,
    summary: &'a Summary,
}

fields! {
    /// Times that the server gives, beside ours of the same operations.
    ServerViewDocument<'_>, "ServerView", |of| {
        /// One entry for each row of the report and each time that the server gives.
        rows = of.view.rows.iter().filter_map(|row| Some((row, test_of(of.summary, row.measure)?))).collect::<Vec<_>>(),
        /// How the access log was joined with the operations; null where it was not read.
        access_log = &of.view.access_log,
    }
}

fields! {
    /// A time that the server gives for the operations of a row that were ok.
    (&ServerViewRow, &TestSummary), "ServerViewRow", |(row, test)| {
        /// Name of the row.
        measure = &test.name,
        /// `server_timing` (the header) or `access_log`.
        source = source(row).0,
        /// Name of the metric in Server-Timing; null for the access log.
        metric = source(row).1,
        /// Operations of which the server says something, also without a time.
        operations = row.operations,
        /// Smallest step of its times in microseconds.
        resolution_us = us(row.resolution as f64),
        /// Operations of which both times are known: the following figures are about these.
        timed = row.times.as_ref().map_or(0, |times| times.operations),
        /// Mean of the server's time in microseconds; null where it gives none. Below
        /// `resolution_us` it says little.
        server_us = row.times.as_ref().map(|times| in_unit(times.server, us)),
        /// Mean of our time in microseconds: the response time for the header, the total time for
        /// the access log. There is no interval; that of the row is in `tests`.
        ours_us = row.times.as_ref().map(|times| us(times.ours)),
        /// The server's time in percent of ours; null where it is below what the server can
        /// resolve.
        share_percent = row.times.as_ref().and_then(|times| Some(in_unit(times.share?, percent))),
    }
}

fields! {
    /// A figure with its interval.
    ServerViewFigure, "ServerViewFigure", |figure| {
        /// The mean.
        mean = figure.value,
        /// Its 95 % interval; null with too few operations, and for a mean below what the server
        /// can resolve.
        ci95 = figure.interval,
    }
}

fields! {
    /// How an access log was joined with the operations of a run that were ok.
    AccessLogRecord, "AccessLog", |log| {
        /// Operations that were looked for.
        operations = log.operations,
        /// Those with one line.
        joined = log.joined,
        /// Those without a line.
        missing = log.missing,
        /// Those with several lines.
        ambiguous = log.ambiguous,
        /// Further operations, which were not looked for.
        beyond = log.beyond,
        /// Lines of other requests.
        other_lines = log.other_lines,
        /// Lines that could not be read.
        unreadable_lines = log.unreadable_lines,
    }
}

/// `None` where the server gives no times.
pub(crate) fn run_document(summary: &Summary) -> Option<ServerViewDocument<'_>> {
    let view = summary.server_view.as_ref()?;
    Some(ServerViewDocument { view, summary })
}

/// Where the time is from, and the name of its metric.
fn source(row: &ServerViewRow) -> (&'static str, Option<&str>) {
    match &row.source {
        ServerTimeSource::Header { metric } => ("server_timing", Some(metric)),
        ServerTimeSource::AccessLog => ("access_log", None),
    }
}

fn in_unit(figure: ServerViewFigure, unit: fn(f64) -> f64) -> ServerViewFigure {
    ServerViewFigure {
        value: unit(figure.value),
        interval: figure.interval.map(|(low, high)| (unit(low), unit(high))),
    }
}
