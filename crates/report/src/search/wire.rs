//! The JSON document of a search.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Found, Tried};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// The largest load under which a condition holds.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, title = "Prestan search")]
pub(crate) struct Document {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// What was searched for: users, or rate (requests a second).
    #[schemars(extend("enum" = ["users", "rate"]))]
    find: &'static str,
    /// The condition; null for the curve alone.
    #[serde(rename = "while")]
    condition: Option<String>,
    /// What was counted: answers, or pages of a suite that has some.
    #[schemars(extend("enum" = ["answers", "pages"]))]
    counted: &'static str,
    /// Where.
    target: String,
    /// What the server says of itself; null where it says nothing.
    software: Option<String>,
    /// What was sent.
    what: String,
    /// The answer.
    answer: Answer,
    /// The load beyond which more costs more time than it brings answers; null where it may lie
    /// beyond what was tried.
    knee: Option<f64>,
    /// Why the generator, and not the server, ended the search; null where it did not.
    inconclusive: Option<String>,
    /// Every trial, in the order of the loads.
    points: Vec<Point>,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Answer {
    /// The largest load under which the condition held; null where it did under none.
    held: Option<f64>,
    /// The smallest load above that under which it broke; null where it did under none.
    broken: Option<f64>,
    /// The load that held did so in most of three trials.
    confirmed: bool,
}

/// A trial.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Point {
    /// The load.
    load: f64,
    /// The condition held.
    held: bool,
    /// Expected answers, or complete pages, a second.
    throughput_per_s: f64,
    /// Mean time in microseconds: of answers, in an open loop from the planned moment on, or of
    /// page loads; null where nothing was answered as expected.
    mean_us: Option<f64>,
    /// Median.
    p50_us: Option<f64>,
    /// 99th percentile.
    p99_us: Option<f64>,
    /// Operations that failed or were dropped.
    failures: u64,
}

impl From<&Found> for Document {
    fn from(found: &Found) -> Document {
        Document {
            schema_version: SCHEMA_VERSION,
            find: found.find.name(),
            condition: found.condition.clone(),
            counted: found.counted.name(),
            target: found.target.clone(),
            software: found.software.clone(),
            what: found.what.clone(),
            answer: Answer {
                held: found.answer.held,
                broken: found.answer.broken,
                confirmed: found.answer.confirmed,
            },
            knee: found.knee,
            inconclusive: found.inconclusive.clone(),
            points: found.trials.iter().map(Point::from).collect(),
        }
    }
}

impl From<&Tried> for Point {
    fn from(tried: &Tried) -> Point {
        let us = |of: fn((f64, f64, f64)) -> f64| tried.times.map(|times| of(times) / 1e3);
        Point {
            load: tried.load,
            held: tried.held,
            throughput_per_s: tried.per_second,
            mean_us: us(|(mean, _, _)| mean),
            p50_us: us(|(_, p50, _)| p50),
            p99_us: us(|(_, _, p99)| p99),
            failures: tried.failures,
        }
    }
}
