//! The JSON document of a search. Its types have what those of `stats` lack: microseconds,
//! confidence bounds, and of all times only those that a search is about.

use schemars::JsonSchema;
use serde::Serialize;

use record::NoteRecord;
use stats::Tested;

use super::{Loaded, SearchResult, Tried};
use crate::fields::{Fields, IfAny, fields};
use crate::incomplete::IncompleteJson;
use crate::json::{KnownDigits, SeedJson};
use crate::times::{MEAN, P50, P99, TimeStatistic};

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
    loads: Vec<Fields<Loaded>>,
    /// Every trial, in the order of the loads.
    points: Vec<Fields<Tried>>,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Answer", deny_unknown_fields)]
struct AnswerJson {
    /// The largest load that passed; null where none did.
    holds: Option<Fields<Tested>>,
    /// The smallest load that failed, which is larger; null where none did.
    fails: Option<Fields<Tested>>,
    /// The load that passed held in at least 18 of 20 trials.
    confirmed: bool,
}

fields! {
    /// In how many trials the condition held.
    Tested, "Held", |tested| {
        /// The load.
        load = tested.load,
        /// Trials in which the condition held.
        held = tested.trials.held,
        /// All trials of this load.
        trials = tested.trials.trials(),
        /// Lower 95 % confidence bound of the share of trials in which it holds; 0.9 at most.
        at_least = tested.at_least().known(),
        /// Upper bound; 0.5 at least.
        at_most = tested.at_most().known(),
    }
}

fields! {
    /// All trials of a load. Medians of trials have no interval; those of each trial are in
    /// `points`.
    Loaded, "OfLoad", |loaded| {
        /// The load.
        load = loaded.load,
        /// Trials in which the condition held.
        held = loaded.trials.held,
        /// All trials of this load.
        trials = loaded.trials.trials(),
        /// The median of what they measured. It has no interval.
        throughput_per_s = loaded.per_second.known(),
        /// The median of their means, in microseconds. It has no interval.
        mean_us = loaded.times.map(|times| times.mean / 1e3).known(),
        /// The median of their medians. It has no interval.
        p50_us = loaded.times.map(|times| times.p50 / 1e3).known(),
        /// The median of their 99th percentiles. It has no interval.
        p99_us = loaded.times.map(|times| times.p99 / 1e3).known(),
        /// The median of their processor times of the server per operation, in microseconds. It has
        /// no interval. Absent where the server was not looked into.
        processor_us = IfAny(loaded.processor.map(|ns| (ns / 1e3).known())),
        /// Operations that failed or were dropped, in all of them.
        failures = loaded.failures,
    }
}

fields! {
    /// A trial.
    Tried, "Point", |tried| {
        /// The load.
        load = tried.load,
        /// The condition held.
        held = tried.held,
        /// Expected answers, or complete pages, a second.
        throughput_per_s = tried.rate.per_second.known(),
        /// Its 95 % interval; null where it has none, and of the sum of several requests.
        throughput_ci95_per_s = tried.rate.ci95.known(),
        /// Mean time in microseconds: of answers, in an open loop from the planned moment on, or of
        /// page loads; null where nothing was answered as expected.
        mean_us = statistic(tried, &MEAN),
        /// Its 95 % interval; null for one time.
        mean_ci95_us = interval(tried, &MEAN),
        /// Median.
        p50_us = statistic(tried, &P50),
        /// Its 95 % interval; null where there are too few times for one.
        p50_ci95_us = interval(tried, &P50),
        /// 99th percentile.
        p99_us = statistic(tried, &P99),
        /// Its 95 % interval; null where there are too few times for one.
        p99_ci95_us = interval(tried, &P99),
        /// Processor time of the server per operation, the mean of all, in microseconds. It has no
        /// interval. Absent where the server was not looked into.
        processor_us = IfAny(tried.processor.map(|ns| (ns / 1e3).known())),
        /// Operations that failed or were dropped.
        failures = tried.failures,
    }
}

/// A statistic of the times of a trial, in microseconds.
fn statistic(tried: &Tried, of: &TimeStatistic) -> Option<f64> {
    of.of(tried.times.as_ref()?).map(|ns| (ns / 1e3).known())
}

fn interval(tried: &Tried, of: &TimeStatistic) -> Option<(f64, f64)> {
    let (low, high) = of.ci95(tried.times.as_ref()?)?;
    Some((low / 1e3, high / 1e3).known())
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
                holds: found.answer.holds.as_ref().map(Fields::from),
                fails: found.answer.fails.as_ref().map(Fields::from),
                confirmed: found.answer.confirmed,
            },
            knee: found.knee.known(),
            loads: Loaded::all(found).iter().map(Fields::from).collect(),
            points: found.trials.iter().map(Fields::from).collect(),
        }
    }
}
