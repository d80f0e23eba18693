//! What Prestan says of each operation.

use std::path::Path;

use anyhow::{Context, Result};
use record::{Outcome, Sample};
use trace::on_wire::ReportedTime;

/// The operations of a run that are ok and have a response time.
///
/// # Errors
/// Where there is no such run, or it is damaged.
pub fn read(run: &Path) -> Result<Vec<ReportedTime>> {
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
    // Not `response()`, which has no negative ones: that would be a difference to be seen here.
    let response_ns = moments.first?.cast_signed() - moments.sent?.cast_signed();
    (sample.outcome == Outcome::Ok).then_some(ReportedTime {
        number: sample.number,
        response_ns,
    })
}
