//! Packets of a run, recorded to a file.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use capture::{
    CaptureError, CaptureLimits, PacketSelection, Recording, RecordingEnd, RecordingOptions,
    RecordingSummary,
};
use engine::{Route, RunPlace};
use suite::CapturePlan;

use crate::error::RunnerError;
use crate::run::{Companion, EndedRun, had_no_response};
use crate::words::number_of;

/// Largest file of a run.
const LONGEST_OF_RUN: u64 = 1 << 30;

/// Refuses a file that exists.
///
/// # Errors
///
/// The file exists.
pub fn check_absent(file: &Path) -> Result<(), RunnerError> {
    if file.symlink_metadata().is_ok() {
        return Err(RunnerError::Usage(format!(
            "{} is there already, and a capture would replace it; choose another name",
            file.display()
        )));
    }
    Ok(())
}

/// The error of packets that cannot be recorded.
pub fn failed(error: CaptureError) -> RunnerError {
    match error {
        CaptureError::NoInterface { .. } | CaptureError::Filter { .. } => {
            RunnerError::Usage(error.to_string())
        }
        other => RunnerError::Local(other.to_string()),
    }
}

/// The content of a file, and the reason why the recording ended.
pub fn described(summary: &RecordingSummary, file: &Path) -> String {
    let packets = usize::try_from(summary.packets).unwrap_or(usize::MAX);
    let end = match summary.end {
        RecordingEnd::Stopped => "",
        RecordingEnd::Bytes => "; the file is as long as it may be",
        RecordingEnd::Packets => "; that number was asked for",
        RecordingEnd::Time => "; the time is over",
    };
    format!(
        "{} in {} ({} KiB){end}",
        number_of(packets, "packet"),
        file.display(),
        summary.bytes.div_ceil(1024)
    )
}

/// Warns of packets that are missing in the file.
pub fn warn_of_lost(summary: &RecordingSummary) {
    let dropped = summary.counters.dropped;
    if dropped > 0 {
        log::warn!(
            "the kernel lost {dropped} packets, because they were not written fast enough; \
             select hosts and ports, or keep less of each packet (--snap 128)"
        );
    }
}

/// The packets between a run and its servers.
pub struct RunCapture {
    recording: Recording,
    file: PathBuf,
    is_quiet: bool,
}

impl RunCapture {
    /// Begins to record packets: of each as much as is planned, or all of it. With `is_quiet`, only
    /// lost packets and a full file are logged.
    pub fn start(
        file: &Path,
        planned: Option<CapturePlan>,
        (run_id, place): (&str, &RunPlace),
        is_quiet: bool,
    ) -> Result<RunCapture, RunnerError> {
        check_absent(file)?;
        let usual = RecordingOptions::default();
        let snap = planned.and_then(|planned| planned.snap_length);
        let snap = snap.and_then(|bytes| u32::try_from(bytes).ok());
        let most_bytes = planned.and_then(|planned| planned.most_bytes);
        let (mut hosts, mut ports): (Vec<IpAddr>, Vec<u16>) = Default::default();
        for endpoint in place.endpoints() {
            let Route::Tcp(addresses) = &endpoint.route else {
                return Err(RunnerError::Usage(format!(
                    "--capture: {} is reached by a local socket, which has no packets",
                    endpoint.target.url()
                )));
            };
            hosts.extend(addresses.iter().map(|address| address.ip()));
            ports.extend(addresses.iter().map(|address| address.port()));
        }
        hosts.sort();
        hosts.dedup();
        ports.sort_unstable();
        ports.dedup();
        let options = RecordingOptions {
            selection: PacketSelection { hosts, ports },
            limits: CaptureLimits {
                bytes: Some(most_bytes.unwrap_or(LONGEST_OF_RUN)),
                ..CaptureLimits::default()
            },
            snap_length: snap.map_or(usual.snap_length, |snap| snap.min(usual.snap_length)),
            comment: Some(format!("run {run_id}")),
            ..usual
        };
        let recording = Recording::start(file, &options, Arc::default());
        let recording = recording.map_err(|error| match failed(error) {
            RunnerError::Local(what) => RunnerError::Local(format!("--capture: {what}")),
            other => other,
        })?;
        Ok(RunCapture {
            recording,
            file: file.to_owned(),
            is_quiet,
        })
    }

    /// Ends the recording, and logs its content. A recording without packets, or of a server that
    /// refused connections so that nothing was measured, is removed.
    fn stop(self, is_of_nothing: bool, place: &RunPlace) -> Result<(), RunnerError> {
        let RunCapture {
            recording,
            file,
            is_quiet,
        } = self;
        let summary = recording
            .stop()
            .map_err(|error| RunnerError::Local(format!("--capture: {error}")))?;
        let is_empty = || summary.packets == 0 || engine::refusal(place, Duration::ZERO).is_some();
        if is_of_nothing && is_empty() {
            // A file that cannot be removed is no second reason.
            let _ = fs::remove_file(&file);
            return Ok(());
        }
        if !is_quiet || summary.end != RecordingEnd::Stopped {
            log::info!("{}", described(&summary, &file));
        }
        warn_of_lost(&summary);
        Ok(())
    }
}

impl Companion for RunCapture {
    fn end(self: Box<Self>, run: &mut EndedRun<'_>) {
        run.saved = self.stop(had_no_response(&run.finished), run.place);
    }

    fn discard(self: Box<Self>) {
        // The result of a recording that is removed is of no interest.
        let _ = self.recording.stop();
        let _ = fs::remove_file(&self.file);
    }
}
