//! `--log`: a row for every operation of a run.

use std::io;
use std::path::Path;

use rundir::Recorded;

use crate::exit::Failed;
use crate::output;

/// Writes the samples of a run, piece by piece.
pub(crate) fn write(path: &Path, run: &Recorded) -> Result<(), Failed> {
    let Recorded {
        plan,
        events,
        samples,
        ..
    } = run;
    output::write_with(path, |file| {
        let windows = stats::counting_windows(plan, events, || samples.pieces());
        let windows = windows.map_err(io::Error::other)?;
        let pieces = samples.pieces().map_err(io::Error::other)?;
        file.write_all(report::log_header().as_bytes())?;
        for piece in pieces {
            let piece = piece.map_err(io::Error::other)?;
            file.write_all(report::log(plan, &windows, &piece).as_bytes())?;
        }
        Ok(())
    })
}
