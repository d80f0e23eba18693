//! `--log`: a row for every operation of a run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use record::PlanRecord;
use rundir::{RunDirError, Samples};

use crate::exit::Failed;

/// Writes the samples of a run of that plan, piece by piece.
pub(crate) fn write(path: &Path, plan: &PlanRecord, samples: &Samples) -> Result<(), Failed> {
    let failed = |error: &dyn std::fmt::Display| {
        Failed::Local(format!("writing {} failed: {error}", path.display()))
    };
    let file = File::create(path).map_err(|error| failed(&error))?;
    let mut log = BufWriter::new(file);
    let pieces = samples.pieces().map_err(|error| failed(&error))?;
    let mut write = |text: &str| {
        let written = log.write_all(text.as_bytes()).and_then(|()| log.flush());
        written.map_err(|error: io::Error| failed(&error))
    };
    write(&report::log_header())?;
    for piece in pieces {
        let piece = piece.map_err(|error: RunDirError| failed(&error))?;
        write(&report::log(plan, &piece))?;
    }
    Ok(())
}
