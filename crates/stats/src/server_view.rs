//! Times that the server reports, beside those that were measured of the same operations.
//!
//! Means and shares are ratios of two sums over batches, with the interval of a ratio estimator
//! ([`crate::interval`]) over at most [`MOST`] groups of batches. Several threads record batches at
//! the same time: their groups are merged one by one, so that an event that affects all threads at
//! once is in one group.

use std::collections::BTreeMap;

use record::{
    AccessLogRecord, Event, EventKind, MeasureId, Nanos, ServerTimeBatch, ServerTimeSource,
    ServerTimes,
};

use crate::interval::{MOST, ratio_interval};

/// Times that a server reported of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerView {
    /// In the order of the plan, and for each row the metrics by name, and then the access log.
    pub rows: Vec<ServerViewRow>,
    /// How its access log was joined, where it was read.
    pub access_log: Option<AccessLogRecord>,
}

/// A time that a server gives for the operations of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerViewRow {
    /// The row.
    pub measure: MeasureId,
    /// Where it gives it.
    pub source: ServerTimeSource,
    /// Operations with a report of the server, also without a time.
    pub operations: u64,
    /// Smallest step of its times.
    pub resolution: Nanos,
    /// The times, where there are some.
    pub times: Option<ServerViewTimes>,
}

/// Means over operations of which both times are known, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerViewTimes {
    /// Number of operations.
    pub operations: u64,
    /// The server's time.
    pub server: ServerViewFigure,
    /// The measured time.
    pub ours: f64,
    /// The server's part of the measured time; `None` where it is below the server's resolution.
    pub share: Option<ServerViewFigure>,
}

/// A figure and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerViewFigure {
    /// The figure.
    pub value: f64,
    /// Its interval; `None` with fewer than two batches, and below the resolution of the server.
    pub interval: Option<(f64, f64)>,
}

impl ServerView {
    /// Reads the events of a run; `None` where neither the server nor its log reported anything.
    pub(crate) fn of(events: &[Event]) -> Option<ServerView> {
        let mut rows: BTreeMap<(MeasureId, &ServerTimeSource), Vec<&ServerTimes>> = BTreeMap::new();
        let mut access_log = None;
        for event in events {
            match &event.kind {
                EventKind::ServerTimes(times) => {
                    let of_row = rows.entry((times.measure, &times.source)).or_default();
                    of_row.push(times);
                }
                EventKind::AccessLog(record) => access_log = Some(record.clone()),
                _ => {}
            }
        }
        let is_told = !rows.is_empty() || access_log.is_some();
        let rows = rows.into_iter();
        is_told.then(|| ServerView {
            rows: rows
                .map(|((measure, source), threads)| {
                    ServerViewRow::of(measure, source.clone(), &threads)
                })
                .collect(),
            access_log,
        })
    }
}

impl ServerViewRow {
    fn of(measure: MeasureId, source: ServerTimeSource, threads: &[&ServerTimes]) -> ServerViewRow {
        let resolutions = threads.iter().map(|times| times.resolution);
        let resolution = resolutions.max().unwrap_or_default();
        ServerViewRow {
            measure,
            source,
            operations: threads.iter().map(|times| times.operations).sum(),
            resolution,
            times: ServerViewTimes::of(&groups(threads), resolution),
        }
    }
}

impl ServerViewTimes {
    fn of(groups: &[ServerTimeBatch], resolution: Nanos) -> Option<ServerViewTimes> {
        let mut all = ServerTimeBatch::default();
        groups.iter().for_each(|group| all.add(group));
        if all.operations == 0 {
            return None;
        }
        let ratio = |over: fn(&ServerTimeBatch) -> u64, under: fn(&ServerTimeBatch) -> u64| {
            let parts = groups.iter();
            let parts = parts.map(|group| (over(group) as f64, under(group) as f64));
            let value = over(&all) as f64 / under(&all) as f64;
            ServerViewFigure {
                value,
                interval: ratio_interval(parts, value),
            }
        };
        let mut server = ratio(|batch| batch.server, |batch| batch.operations);
        let is_resolved = server.value >= resolution as f64;
        server.interval = server.interval.filter(|_| is_resolved);
        Some(ServerViewTimes {
            operations: all.operations,
            server,
            ours: all.ours as f64 / all.operations as f64,
            share: (is_resolved && all.ours > 0)
                .then(|| ratio(|batch| batch.server, |batch| batch.ours)),
        })
    }
}

/// At most [`MOST`] groups of batches: those of each thread that follow each other, and those of
/// all threads that were recorded at about the same time.
fn groups(threads: &[&ServerTimes]) -> Vec<ServerTimeBatch> {
    let mut groups: Vec<ServerTimeBatch> = Vec::new();
    for thread in threads {
        let size = thread.batches.len().div_ceil(MOST).max(1);
        for (index, batches) in thread.batches.chunks(size).enumerate() {
            if index == groups.len() {
                groups.push(ServerTimeBatch::default());
            }
            batches.iter().for_each(|batch| groups[index].add(batch));
        }
    }
    groups
}
