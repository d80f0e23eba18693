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

/// The same of the time to load a page: with all its files, connecting included.
const FIGURES_OF_PAGES: [(&str, &str, f64); 3] = [
    ("page.mean", "/retrieved/page_us/mean", 1e-6),
    ("page.p50", "/retrieved/page_us/p50", 1e-6),
    ("page.p99", "/retrieved/page_us/p99", 1e-6),
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
        read(row, &format!("{name}.{measure}"), &FIGURES, result);
    }
    let pages = document
        .pointer("/webstone/pages")
        .and_then(Value::as_array);
    for page in pages.into_iter().flatten() {
        if let Some(title) = page["name"].as_str() {
            let of_page = format!("{name}.{title}");
            read(page, &of_page, &FIGURES_OF_PAGES, result);
        }
    }
    Ok(())
}

/// The figures that a part of the document has.
fn read(part: &Value, name: &str, figures: &[(&str, &str, f64)], result: &mut TrialOutcome) {
    for (end, place, unit) in figures {
        let value = part.pointer(place).and_then(Value::as_f64);
        result.maybe(format!("{name}.{end}"), value.map(|value| value * unit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of a page is not the response time of its files.
    #[test]
    fn figures_of_pages_are_those_of_whole_pages() {
        let page = serde_json::json!({"retrieved": {
            "page_us": {"mean": 93_000.0, "p50": 90_000.0, "p99": null},
            "response_us": {"mean": 1_850.0},
        }});
        let mut result = TrialOutcome::default();
        read(&page, "pages.Serial_13", &FIGURES_OF_PAGES, &mut result);
        let figures: Vec<(&str, f64)> = result
            .figures
            .iter()
            .map(|(name, value)| (name.as_str(), (value * 1e6).round()))
            .collect();
        assert_eq!(
            figures,
            [
                ("pages.Serial_13.page.mean", 93_000.0),
                ("pages.Serial_13.page.p50", 90_000.0)
            ]
        );
    }
}
