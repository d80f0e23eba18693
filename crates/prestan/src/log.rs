//! `--log`: a row for every operation of a run.

use std::io;
use std::path::Path;

use record::PlanRecord;
use rundir::Samples;

use crate::exit::Failed;
use crate::output;

/// Writes the samples of a run of that plan, piece by piece.
pub(crate) fn write(path: &Path, plan: &PlanRecord, samples: &Samples) -> Result<(), Failed> {
    output::write_with(path, |file| {
        let pieces = samples.pieces().map_err(io::Error::other)?;
        file.write_all(report::log_header().as_bytes())?;
        for piece in pieces {
            let piece = piece.map_err(io::Error::other)?;
            file.write_all(report::log(plan, &piece).as_bytes())?;
        }
        Ok(())
    })
}
