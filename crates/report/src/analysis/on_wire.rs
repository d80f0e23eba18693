//! Response times of a recorded run beside those on the wire.

use schemars::JsonSchema;
use serde::Serialize;
use trace::on_wire::{MOST_OPERATIONS, TimePairs, rank};

use crate::document::{Block, ListLook};

/// A recorded run beside a capture of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOnWire {
    /// Its name or directory.
    pub run: String,
    /// Operations that are both in the run and in the capture.
    pub pairs: TimePairs,
}

/// Percentiles of times or differences, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Percentiles")]
pub(super) struct WirePercentiles {
    /// 1st percentile.
    p1: f64,
    /// Median.
    p50: f64,
    /// 99th percentile.
    p99: f64,
    /// Maximum.
    max: f64,
}

impl WirePercentiles {
    /// Of nanoseconds, in any order; `None` of nothing.
    pub(super) fn of(ns: &[i64]) -> Option<WirePercentiles> {
        let mut sorted = ns.to_vec();
        sorted.sort_unstable();
        let us = |share| Some(*rank(&sorted, share)? as f64 / 1000.0);
        Some(WirePercentiles {
            p1: us(0.01)?,
            p50: us(0.5)?,
            p99: us(0.99)?,
            max: us(1.0)?,
        })
    }
}

pub(super) fn section(of: &RunOnWire) -> Block {
    let pairs = &of.pairs;
    let joined = pairs.difference.len();
    let mut lines = vec![format!(
        "Run {}: {joined} operations are in the capture, {} are not; {} exchanges of the capture belong to \
         no measured operation.",
        of.run,
        pairs.unmatched,
        of.unjoined_exchanges()
    )];
    if pairs.left_out > 0 {
        lines.push(format!(
            "{} operations behind the first {MOST_OPERATIONS} are not compared.",
            pairs.left_out
        ));
    }
    if joined == 0 {
        lines.push(
            "The numbers stand in the header X-Prestan: they cannot be read where a connection is \
             encrypted, or where the capture cut packets off before them."
                .to_owned(),
        );
    }
    let rows = [
        ("on the wire", &pairs.wire),
        ("reported", &pairs.reported),
        ("reported minus wire", &pairs.difference),
    ];
    for (name, ns) in rows {
        let Some(WirePercentiles { p1, p50, p99, max }) = WirePercentiles::of(ns) else {
            continue;
        };
        lines.push(format!(
            "{name}: p1 {p1:.1}, p50 {p50:.1}, p99 {p99:.1}, max {max:.1} µs"
        ));
    }
    if let Some(within) = pairs.within() {
        lines.push(format!("99 % of the differences are within {within:.1} µs"));
    }
    let heading = "Reported and on the wire".to_owned();
    Block::Section(
        "run",
        heading,
        vec![Block::list("", ListLook::Bullets, lines)],
    )
}

impl RunOnWire {
    /// Numbered exchanges that belong to no operation of the run: of warm-up, or repeated.
    pub(super) fn unjoined_exchanges(&self) -> u64 {
        self.pairs
            .numbered
            .saturating_sub(self.pairs.difference.len() as u64)
    }
}
