//! A single measured request.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use record::Outcome;

use super::programs::prestan;
use super::{RunningMeasurement, TrialFailure, TrialOutcome};

/// The command that sends it. The trial ends it, not its own time limit.
pub(super) fn command(url: &str, longest: Duration, run: &Path) -> Result<Command, TrialFailure> {
    let timeout = longest + Duration::from_secs(60);
    let mut command = prestan("load")?;
    command
        .args(["GET", url, "--total", "1", "--warmup", "0"])
        .args(["--no-keep-alive", "--quiet"])
        .args(["--timeout", &format!("{}ms", timeout.as_millis()), "--save"])
        .arg(run);
    Ok(command)
}

/// Figures that its client reports. Returns true if it ended.
pub(super) fn figures(
    measurement: &mut RunningMeasurement<'_>,
    result: &mut TrialOutcome,
) -> Result<bool, TrialFailure> {
    let name = measurement.name;
    // A program that was ended before it began has no record.
    let run = rundir::load(&measurement.output);
    let sample = match (&run, measurement.is_unfinished) {
        (Ok(run), _) => run.samples.first(),
        (Err(_), true) => None,
        (Err(_), false) => return Err(measurement.program.failed()),
    };
    let outcome = sample.map_or(Outcome::Cancelled, |sample| sample.outcome);
    let is_finished = match outcome {
        Outcome::Ok => true,
        Outcome::Cancelled | Outcome::Timeout => false,
        Outcome::Reset | Outcome::ConnectFailed => {
            result.warn(format!(
                "{name}: the connection failed ({outcome}), and counts as unfinished"
            ));
            false
        }
        other => {
            let status = sample.and_then(|sample| sample.status);
            let status = status.map_or(String::new(), |status| format!(", status {status}"));
            return Err(TrialFailure::Failed(format!("{name}: {other}{status}")));
        }
    };
    result.figure(
        format!("{name}.unfinished"),
        f64::from(u8::from(!is_finished)),
    );
    let response = sample.and_then(|sample| sample.moments.response());
    result.maybe(
        format!("{name}.response_time"),
        response.map(|ns| ns as f64 / 1e9),
    );
    Ok(is_finished)
}
