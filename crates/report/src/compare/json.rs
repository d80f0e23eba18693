//! The JSON document of a comparison. Its types have what those of `stats` lack: percentages,
//! microseconds, intervals, and the rate of a number for its time.

mod inside;

use stats::{Compared, Estimate, Failing, RowKind};
#[cfg(feature = "schema")]
use stats::{Direction, Verdict};

use super::caveats::caveat;
use super::words::{MINUTE, as_shown, shown};
use super::{Comparisons, Versus};
#[cfg(feature = "schema")]
use crate::fields::schema_of;
use crate::fields::{AsIs, DocumentVersion, IfAny, each, fields, json_of};
use crate::json::{KnownDigits, SeedJson};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 4;

/// The comparison for programs: one JSON document.
pub fn compare_json(all: &Comparisons) -> String {
    json_of(all)
}

/// The JSON schema of [`compare_json`]: the content of `docs/compare.schema.json`.
#[cfg(feature = "schema")]
pub fn compare_schema() -> String {
    schema_of::<Comparisons>()
}

fields! {
    /// A comparison of one server (A) with others (B).
    Comparisons, "Document", |all| {
        /// Version of this document.
        schema_version = DocumentVersion::<SCHEMA_VERSION>,
        /// Why runs are missing; absent where all planned runs were measured, and of recorded runs.
        incomplete = IfAny(&all.incomplete),
        /// The one that all are compared with.
        a = FirstServer(all),
        /// The others.
        b = &all.versus,
        /// Every row of every other.
        tests = all.versus.iter().flat_map(|versus| each(&versus.comparison.rows, |row| (row, versus.name.as_str()))).collect::<Vec<_>>(),
    }
}

/// The server that all are compared with.
struct FirstServer<'a>(&'a Comparisons);

fields! {
    /// A server.
    FirstServer<'_>, "Server", |of| {
        /// How it is called: its URL, its recipe, or its run.
        name = &of.0.name,
        /// Its runs.
        runs = &of.0.runs,
        /// The seed of each of these runs: what chance decides is the same in runs of one seed.
        seeds = each(&of.0.seeds, |seed| SeedJson::from(*seed)),
        /// Notes about them by their authors (`--note`); absent without.
        notes = IfAny(&of.0.notes),
    }
}

fields! {
    /// A server that is compared with A.
    Versus, "Other", |versus| {
        /// How it is called.
        name = &versus.name,
        /// Its runs.
        runs = &versus.runs,
        /// The seed of each of these runs: what chance decides is the same in runs of one seed.
        seeds = each(&versus.seeds, |seed| SeedJson::from(*seed)),
        /// Notes about them by their authors (`--note`); absent without.
        notes = IfAny(&versus.notes),
        /// Pairs of runs.
        pairs = versus.comparison.pairs,
        /// Percent by which times may differ and still count as the same.
        same_within_percent = (versus.comparison.same_within * 100.0).known(),
        /// The moment from which the times that are compared are counted: sent, planned in an open
        /// loop, or started for total times.
        since [stats::Since::ALL.map(stats::Since::name)] = versus.comparison.since.name(),
        /// Caveats, to be read before the verdicts.
        caveats = each(&versus.comparison.caveats, caveat),
    }
}

fields! {
    /// A row of both.
    (&Compared, &str), "Test", |(row, b)| {
        /// Name of the row.
        measure = &row.name,
        /// Kind of the row: an operation, a page, or the WEBSTONE number.
        kind [RowKind::ALL.map(RowKind::name)] = row.kind.name(),
        /// HTTP method.
        method = &row.method,
        /// How B is called.
        b = *b,
        /// Estimates of A.
        a_says = (&row.a, row.kind),
        /// Estimates of B.
        b_says = (&row.b, row.kind),
        /// Mean of B over mean of A, of operations that were ok: above 1, B is slower. Of a number,
        /// B's number over A's: above 1, B is faster. Null where no pair of runs has times of both.
        ratio = row.ratio.map(|ratio| as_shown(row.kind, ratio.value)).known(),
        /// The 95 % interval of the ratio; null with it, and with a single pair of runs.
        ci95 = AsIs(row.evidence().map(|found| shown(row.kind, found.ci95())).known()),
        /// Median of B over median of A, pair by pair: what an operation usually takes.
        usual_ratio = row.ratio.map(|ratio| as_shown(row.kind, ratio.usual)).known(),
        /// Its 95 % interval.
        usual_ci95 = AsIs(row.evidence().map(|found| shown(row.kind, found.ci95_usual())).known()),
        /// How the means differ: slower, faster, same, unsure; null without an interval.
        on_average [directions()] = row.evidence().map(|found| found.on_average.name()),
        /// How the medians differ.
        usually [directions()] = row.evidence().map(|found| found.usually.name()),
        /// Two-sided p-value of a difference of times: the larger of the tests of means and of
        /// medians, in the direction in which both are surer. Null with the interval.
        p = row.evidence().map(|found| found.p).known(),
        /// The same, corrected for the number of tests (Holm).
        p_holm = row.evidence().map(|found| found.p_holm).known(),
        /// The smallest difference in percent that would have been called one with a chance of 80
        /// %, beside as many other rows; null with the interval.
        detectable_percent = row.evidence().map(|found| found.detectable * 100.0).known(),
        /// Pairs of runs with which 5 % would have been; null with the interval, and beyond 10,000.
        pairs_for_5_percent = row.evidence().and_then(|found| found.pairs_needed),
        /// Pairs of runs that are not in the ratio, because the load generator may have changed the
        /// times of one of both. With half of all pairs or more there is no verdict about times.
        disqualified_pairs = row.disqualified,
        /// Pairs of runs that are in no verdict about failures, because the load generator may have
        /// caused all failures of one of both.
        doubtful_pairs = row.doubtful,
        /// Verdict about times: faster, slower, same, inconclusive; null without times of both.
        times [verdicts_of_times()] = row.ratio.map(|ratio| ratio.verdict.name()),
        /// Verdict about failures; null where nothing failed.
        failures = &row.failing,
        /// Costs of an operation inside of both servers; absent where they were not looked into.
        inside = IfAny(&row.inside),
        /// The worse of both verdicts about times and failures, or: lost (only A can do it), gained
        /// (only B can), not_compared.
        verdict [Verdict::ALL.map(Verdict::name)] = row.verdict.name(),
    }
}

fields! {
    /// Comparison of how often both servers fail.
    Failing, "Failures", |failing| {
        /// Two-sided p-value of a difference of the shares that failed, by the signs of the
        /// differences of pairs of runs.
        p = failing.p.known(),
        /// The same, corrected for the number of tests (Holm).
        p_holm = failing.p_holm.known(),
        /// Every operation of every run failed with one server and none with the other: this needs
        /// no p-value.
        is_total = failing.is_total,
        /// broken (fails with B only, or more often), repaired (with A), inconclusive, not_compared
        /// (fails always with both).
        verdict [verdicts_of_failures()] = failing.verdict.name(),
    }
}

#[cfg(feature = "schema")]
fn directions() -> Vec<Option<&'static str>> {
    let known = Direction::ALL.map(|direction| Some(direction.name()));
    known.into_iter().chain([None]).collect()
}

#[cfg(feature = "schema")]
fn verdicts_of_times() -> Vec<Option<&'static str>> {
    use Verdict::{Faster, Inconclusive, Same, Slower};
    let known = [Faster, Slower, Same, Inconclusive].map(|verdict| Some(verdict.name()));
    known.into_iter().chain([None]).collect()
}

#[cfg(feature = "schema")]
fn verdicts_of_failures() -> [&'static str; 4] {
    use Verdict::{Broken, Inconclusive, NotCompared, Repaired};
    [Broken, Repaired, Inconclusive, NotCompared].map(Verdict::name)
}

fields! {
    /// Estimates of a row from the runs of a server.
    (&Estimate, RowKind), "Says", |(estimate, kind)| {
        /// The worst status of all its runs: ok, failed, not_supported, skipped, not_drawn.
        status = estimate.status.name(),
        /// Mean time in microseconds, over all runs; null without any, and of a number. It has no
        /// interval: that of the ratio gives the uncertainty.
        mean_us = estimate.mean.filter(|_| *kind != RowKind::Number).map(|mean| mean / 1e3).known(),
        /// Complete pages a minute, over all runs; only of a number.
        pages_per_minute = IfAny(estimate.mean.filter(|_| *kind == RowKind::Number).map(|mean| MINUTE / mean).known()),
        /// Operations with a time.
        n = estimate.n,
        /// Operations that failed, outside the windows as well.
        failed = estimate.failed,
        /// Operations that were as expected or failed, outside the windows as well.
        operations = estimate.operations,
    }
}
