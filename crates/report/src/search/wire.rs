//! The JSON document of a search. Its types have what those of `stats` lack: microseconds, confidence bounds,
//! and of all times only those that a search is about.

use schemars::JsonSchema;
use serde::Serialize;

use record::{Nanos, NoteRecord};
use stats::Tested;

use super::{Loaded, Medians, SearchResult, Tried};
use crate::incomplete::IncompleteJson;
use crate::json::{KnownDigits, SeedJson};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 3;

/// The largest load at which a condition holds in at least nine of ten trials.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields, title = "Prestan search")]
pub(crate) struct SearchDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// Why loads are missing; absent where the search went on to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<IncompleteJson>,
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
    /// What whoever made them says about the trials (`--note`); absent without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteRecord>,
    /// Seed of everything random: that of the first trial; each other has the next one.
    seed: SeedJson,
    /// What to know before believing it.
    caveats: Vec<String>,
    /// The answer.
    answer: AnswerJson,
    /// The load beyond which more costs more time than it brings answers; null where it may lie
    /// beyond what was tried. It has no interval.
    knee: Option<f64>,
    /// What all trials of a load came to, in the order of the loads.
    loads: Vec<LoadResult>,
    /// Every trial, in the order of the loads.
    points: Vec<TrialResult>,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Answer", deny_unknown_fields)]
struct AnswerJson {
    /// The largest load that passed; null where none did.
    holds: Option<TestedLoad>,
    /// The smallest load that failed, which is larger; null where none did.
    fails: Option<TestedLoad>,
    /// The load that passed held in at least 18 of 20 trials.
    confirmed: bool,
}

/// In how many trials the condition held.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Held", deny_unknown_fields)]
struct TestedLoad {
    /// The load.
    load: f64,
    /// Trials in which the condition held.
    held: u32,
    /// All trials of this load.
    trials: u32,
    /// Lower 95 % confidence bound of the share of trials in which it holds; 0.9 at most.
    at_least: f64,
    /// Upper bound; 0.5 at least.
    at_most: f64,
}

/// All trials of a load. Medians of trials have no interval; those of each trial are in `points`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfLoad", deny_unknown_fields)]
struct LoadResult {
    /// The load.
    load: f64,
    /// Trials in which the condition held.
    held: u32,
    /// All trials of this load.
    trials: u32,
    /// The median of what they measured. It has no interval.
    throughput_per_s: f64,
    /// The median of their means, in microseconds. It has no interval.
    mean_us: Option<f64>,
    /// The median of their medians. It has no interval.
    p50_us: Option<f64>,
    /// The median of their 99th percentiles. It has no interval.
    p99_us: Option<f64>,
    /// The median of their processor times of the server per operation, in microseconds. It has no interval. Absent where the
    /// server was not looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_us: Option<f64>,
    /// Operations that failed or were dropped, in all of them.
    failures: u64,
}

/// A trial.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Point", deny_unknown_fields)]
struct TrialResult {
    /// The load.
    load: f64,
    /// The condition held.
    held: bool,
    /// Expected answers, or complete pages, a second.
    throughput_per_s: f64,
    /// Its 95 % interval; null where it has none, and of the sum of several requests.
    throughput_ci95_per_s: Option<[f64; 2]>,
    /// Mean time in microseconds: of answers, in an open loop from the planned moment on, or of
    /// page loads; null where nothing was answered as expected.
    mean_us: Option<f64>,
    /// Its 95 % interval; null for one time.
    mean_ci95_us: Option<[f64; 2]>,
    /// Median.
    p50_us: Option<f64>,
    /// Its 95 % interval; null where there are too few times for one.
    p50_ci95_us: Option<[f64; 2]>,
    /// 99th percentile.
    p99_us: Option<f64>,
    /// Its 95 % interval; null where there are too few times for one.
    p99_ci95_us: Option<[f64; 2]>,
    /// Processor time of the server per operation, the mean of all, in microseconds. It has no interval. Absent where the server
    /// was not looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_us: Option<f64>,
    /// Operations that failed or were dropped.
    failures: u64,
}

impl From<&SearchResult> for SearchDocument {
    fn from(found: &SearchResult) -> SearchDocument {
        SearchDocument {
            schema_version: SCHEMA_VERSION,
            incomplete: found.incomplete.as_ref().map(IncompleteJson::from),
            find: found.find.name(),
            condition: found.condition.clone(),
            counted: found.counted.name(),
            target: found.target.clone(),
            software: found.software.clone(),
            what: found.what.clone(),
            notes: found.notes.clone(),
            seed: found.seed.into(),
            caveats: found.caveats.clone(),
            answer: AnswerJson {
                holds: found.answer.holds.map(TestedLoad::from),
                fails: found.answer.fails.map(TestedLoad::from),
                confirmed: found.answer.confirmed,
            },
            knee: found.knee.known(),
            loads: Loaded::all(found).iter().map(LoadResult::from).collect(),
            points: found.trials.iter().map(TrialResult::from).collect(),
        }
    }
}

impl From<Tested> for TestedLoad {
    fn from(tested: Tested) -> TestedLoad {
        TestedLoad {
            load: tested.load,
            held: tested.trials.held,
            trials: tested.trials.trials(),
            at_least: tested.at_least().known(),
            at_most: tested.at_most().known(),
        }
    }
}

impl From<&Loaded> for LoadResult {
    fn from(loaded: &Loaded) -> LoadResult {
        let us = |of: fn(Medians) -> f64| loaded.times.map(|times| of(times) / 1e3).known();
        LoadResult {
            load: loaded.load,
            held: loaded.trials.held,
            trials: loaded.trials.trials(),
            throughput_per_s: loaded.per_second.known(),
            mean_us: us(|times| times.mean),
            p50_us: us(|times| times.p50),
            p99_us: us(|times| times.p99),
            processor_us: loaded.processor.map(|ns| (ns / 1e3).known()),
            failures: loaded.failures,
        }
    }
}

impl From<&Tried> for TrialResult {
    fn from(tried: &Tried) -> TrialResult {
        let us = |ns: f64| (ns / 1e3).known();
        let times = tried.times.as_ref();
        let percentile = |ends: Option<(Nanos, Nanos)>| {
            ends.map(|(low, high)| [us(low as f64), us(high as f64)])
        };
        TrialResult {
            load: tried.load,
            held: tried.held,
            throughput_per_s: tried.per_second.known(),
            throughput_ci95_per_s: tried.per_second_ci95.map(<[f64; 2]>::from).known(),
            mean_us: times.map(|times| us(times.mean)),
            mean_ci95_us: times
                .and_then(|times| times.ci95)
                .map(|(low, high)| [us(low), us(high)]),
            p50_us: times.map(|times| us(times.p50 as f64)),
            p50_ci95_us: times.and_then(|times| percentile(times.percentiles_ci95[0])),
            p99_us: times.map(|times| us(times.p99 as f64)),
            p99_ci95_us: times.and_then(|times| percentile(times.percentiles_ci95[3])),
            processor_us: tried.processor.map(us),
            failures: tried.failures,
        }
    }
}
