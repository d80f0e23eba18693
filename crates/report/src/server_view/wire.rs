//! The server's own view, as JSON.

use record::{AccessLogRecord, ServerTimeSource};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{ServerViewFigure, ServerViewRow, Summary};

use crate::fields::{Fields, fields};
use crate::inside::test_of;
use crate::json::{thousandths, us};

/// Times that the server gives, beside ours of the same operations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "ServerView")]
pub(crate) struct ServerViewJson {
    /// One entry for each row of the report and each time that the server gives.
    pub(crate) rows: Vec<ServerViewRowJson>,
    /// How the access log was joined with the operations; null where it was not read.
    pub(crate) access_log: Option<Fields<AccessLogRecord>>,
}

/// A time that the server gives for the operations of a row that were ok.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "ServerViewRow")]
pub(crate) struct ServerViewRowJson {
    /// Name of the row.
    pub(crate) measure: String,
    /// `server_timing` (the header) or `access_log`.
    pub(crate) source: &'static str,
    /// Name of the metric in Server-Timing; null for the access log.
    pub(crate) metric: Option<String>,
    /// Operations of which the server says something, also without a time.
    pub(crate) operations: u64,
    /// Smallest step of its times in microseconds.
    pub(crate) resolution_us: f64,
    /// Operations of which both times are known: the following figures are about these.
    pub(crate) timed: u64,
    /// Mean of the server's time in microseconds; null where it gives none. Below `resolution_us`
    /// it says little.
    pub(crate) server_us: Option<ServerViewFigureJson>,
    /// Mean of our time in microseconds: the response time for the header, the total time for the
    /// access log. There is no interval; that of the row is in `tests`.
    pub(crate) ours_us: Option<f64>,
    /// The server's time in percent of ours; null where it is below what the server can resolve.
    pub(crate) share_percent: Option<ServerViewFigureJson>,
}

/// A figure with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "ServerViewFigure")]
pub(crate) struct ServerViewFigureJson {
    /// The mean.
    pub(crate) mean: f64,
    /// Its 95 % interval; null with too few operations, and for a mean below what the server can
    /// resolve.
    pub(crate) ci95: Option<[f64; 2]>,
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

impl ServerViewFigureJson {
    fn of(figure: ServerViewFigure, unit: impl Fn(f64) -> f64) -> ServerViewFigureJson {
        ServerViewFigureJson {
            mean: unit(figure.value),
            ci95: figure.interval.map(|(low, high)| [unit(low), unit(high)]),
        }
    }
}

/// What the server says of its times; `None` where it says nothing.
pub(crate) fn of_run(summary: &Summary) -> Option<ServerViewJson> {
    let view = summary.server_view.as_ref()?;
    let rows = view.rows.iter().filter_map(|row| of_row(row, summary));
    Some(ServerViewJson {
        rows: rows.collect(),
        access_log: view.access_log.as_ref().map(Fields::from),
    })
}

fn of_row(row: &ServerViewRow, summary: &Summary) -> Option<ServerViewRowJson> {
    let test = test_of(summary, row.measure)?;
    let (source, metric) = match &row.source {
        ServerTimeSource::Header { metric } => ("server_timing", Some(metric.clone())),
        ServerTimeSource::AccessLog => ("access_log", None),
    };
    let times = row.times.as_ref();
    let percent = |share: f64| thousandths(share * 100.0);
    Some(ServerViewRowJson {
        measure: test.name.clone(),
        source,
        metric,
        operations: row.operations,
        resolution_us: us(row.resolution as f64),
        timed: times.map_or(0, |own| own.operations),
        server_us: times.map(|own| ServerViewFigureJson::of(own.server, us)),
        ours_us: times.map(|own| us(own.ours)),
        share_percent: times
            .and_then(|own| own.share)
            .map(|share| ServerViewFigureJson::of(share, percent)),
    })
}
