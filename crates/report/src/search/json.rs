//! The JSON document of a search. Its types have what those of `stats` lack: microseconds,
//! confidence bounds, and of all times only those that a search is about.

use stats::{SearchOutcome, Tested};

use super::{Loaded, SearchResult, Tried};
#[cfg(feature = "schema")]
use crate::fields::schema_of;
use crate::fields::{DocumentVersion, IfAny, fields, json_of};
use crate::json::{KnownDigits, SeedJson};
use crate::times::{MEAN, P50, P99, TimeStatistic};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 3;

/// The search for programs: one JSON document.
pub fn search_json(found: &SearchResult) -> String {
    json_of(found)
}

/// The JSON schema of [`search_json`]: the content of `docs/search.schema.json`.
#[cfg(feature = "schema")]
pub fn search_schema() -> String {
    schema_of::<SearchResult>()
}

fields! {
    /// The largest load at which a condition holds in at least nine of ten trials.
    SearchResult, "Document" "Prestan search", |found| {
        /// Version of this document.
        schema_version = DocumentVersion::<SCHEMA_VERSION>,
        /// Why loads are missing; absent where the search went on to its end.
        incomplete = IfAny(&found.incomplete),
        /// What was searched for: users, or rate (requests a second).
        find [["users", "rate"]] = found.find.name(),
        /// The condition; null for the curve alone.
        while = &found.condition,
        /// What was counted: answers, or pages of a suite that has some.
        counted [["answers", "pages"]] = found.counted.name(),
        /// Where.
        target = &found.target,
        /// What the server says of itself; null where it says nothing.
        software = &found.software,
        /// What was sent.
        what = &found.what,
        /// What whoever made them says about the trials (`--note`); absent without.
        notes = IfAny(&found.notes),
        /// Seed of everything random: that of the first trial; each other has the next one.
        seed = SeedJson::from(found.seed),
        /// What to know before believing it.
        caveats = &found.caveats,
        /// The answer.
        answer = found.answer,
        /// The load beyond which more costs more time than it brings answers; null where it may lie
        /// beyond what was tried. It has no interval.
        knee = found.knee.known(),
        /// What all trials of a load came to, in the order of the loads.
        loads = Loaded::all(found),
        /// Every trial, in the order of the loads.
        points = &found.trials,
    }
}

fields! {
    /// The answer.
    SearchOutcome, "Answer", |outcome| {
        /// The largest load that passed; null where none did.
        holds = outcome.holds,
        /// The smallest load that failed, which is larger; null where none did.
        fails = outcome.fails,
        /// The load that passed held in at least 18 of 20 trials.
        confirmed = outcome.confirmed,
    }
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
