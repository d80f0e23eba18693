//! `--log`: a row for every operation of a run.

use std::io;
use std::path::Path;

use rundir::Recorded;
use runner::RunnerError;
use stats::MeasurementWindow;

use crate::output;

/// Writes the samples of a run in pieces. If the windows of its measures are unknown, the samples
/// are read for them first.
pub fn write(
    path: &Path,
    run: &Recorded,
    windows: Option<Vec<MeasurementWindow>>,
) -> Result<(), RunnerError> {
    let Recorded {
        plan,
        events,
        samples,
        ..
    } = run;
    output::write_with(path, |file| {
        let windows = match windows {
            Some(known) => known,
            None => stats::counting_windows(plan, events, || samples.pieces())
                .map_err(io::Error::other)?,
        };
        let pieces = samples.pieces().map_err(io::Error::other)?;
        file.write_all(report::log_header().as_bytes())?;
        for piece in pieces {
            let piece = piece.map_err(io::Error::other)?;
            file.write_all(report::log(plan, &windows, &piece).as_bytes())?;
        }
        Ok(())
    })
}
