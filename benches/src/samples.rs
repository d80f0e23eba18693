//! Prestan's report of each operation.

use std::path::Path;

use anyhow::{Context, Result};
use record::{Outcome, Sample};
use trace::on_wire::ReportedTime;

/// The operations of a run that are ok and have a response time.
pub(crate) fn read(run: &Path) -> Result<Vec<ReportedTime>> {
    let what = || format!("read the run in {}", run.display());
    let recorded = rundir::open(run).with_context(what)?;
    let mut samples = Vec::new();
    for piece in recorded.samples.pieces().with_context(what)? {
        samples.extend(piece.with_context(what)?.iter().filter_map(reported));
    }
    Ok(samples)
}

fn reported(sample: &Sample) -> Option<ReportedTime> {
    let moments = sample.moments;
    // Not `response()`, which is never negative: a negative time would be a relevant difference
    // here.
    let response_ns = moments.first?.cast_signed() - moments.sent?.cast_signed();
    (sample.outcome == Outcome::Ok).then_some(ReportedTime {
        number: sample.number,
        response_ns,
    })
}
