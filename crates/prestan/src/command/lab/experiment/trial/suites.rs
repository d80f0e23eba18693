//! A suite that is measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use experiment::MeasuredSpec;
use serde_json::Value;
use suite::Builtin;

use super::programs::prestan;
use super::{RunningMeasurement, TrialFailure, TrialOutcome};

/// Figures of a row: their ends, and where the document has them, in which unit.
const FIGURES: [(&str, &str, f64); 4] = [
    ("mean", "/response_us/mean", 1e-6),
    ("p50", "/response_us/p50", 1e-6),
    ("p99", "/response_us/p99", 1e-6),
    ("rate", "/per_second", 1.0),
];

/// The command that runs it.
pub(super) fn command(
    suite: &str,
    spec: &MeasuredSpec,
    url: &str,
    document: &Path,
) -> Result<Command, TrialFailure> {
    // The program has another working directory. What lies here under the name of a built-in suite is not meant.
    let is_built_in = Builtin::find(suite).is_some();
    let path = fs::canonicalize(suite).ok().filter(|_| !is_built_in);
    let file = path.unwrap_or_else(|| suite.into());
    let mut command = prestan("run")?;
    command
        .arg(file)
        .args([url, "--no-save", "--quiet", "--json"])
        .arg(document)
        .args(&spec.arguments);
    Ok(command)
}

/// The figures of its rows.
pub(super) fn figures(
    own: &mut RunningMeasurement<'_>,
    result: &mut TrialOutcome,
) -> Result<(), TrialFailure> {
    let name = own.name;
    let failed = |what: &dyn std::fmt::Display| {
        TrialFailure::Failed(format!("{name}: its suite has no figures: {what}"))
    };
    result.figure(
        format!("{name}.unfinished"),
        f64::from(u8::from(own.is_unfinished)),
    );
    let text = match fs::read_to_string(&own.output) {
        Ok(text) => text,
        Err(_) if own.is_unfinished => return Ok(()),
        Err(_) => return Err(own.program.failed()),
    };
    let document: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    for row in document["tests"].as_array().into_iter().flatten() {
        let Some(measure) = row["measure"].as_str() else {
            continue;
        };
        if row["status"] != "ok" {
            result.warn(format!(
                "{name}: the row {} is not ok",
                report::clean(measure)
            ));
            continue;
        }
        for (end, place, unit) in FIGURES {
            let value = row.pointer(place).and_then(Value::as_f64);
            result.maybe(
                format!("{name}.{measure}.{end}"),
                value.map(|value| value * unit),
            );
        }
    }
    Ok(())
}
