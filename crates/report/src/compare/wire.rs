//! The JSON document of a comparison. Its types have what those of `stats` lack: percentages,
//! microseconds, intervals, and the rate of a number for its time.

use record::NoteRecord;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Compared, Estimate, Failing, RowKind};
#[cfg(feature = "schema")]
use stats::{Direction, Verdict};

use super::caveats::caveat;
use super::inside_wire::ComparedInsideJson;
use super::words::{MINUTE, as_shown, shown};
use super::{Comparisons, Versus};
use crate::incomplete::IncompleteJson;
use crate::json::{KnownDigits, SeedJson};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 4;

/// A comparison of one server (A) with others (B).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields)]
pub(crate) struct ComparisonDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// Why runs are missing; absent where all planned runs were measured, and of recorded runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<IncompleteJson>,
    /// The one that all are compared with.
    a: ServerRuns,
    /// The others.
    b: Vec<ComparedServer>,
    /// Every row of every other.
    tests: Vec<ComparedTest>,
}

/// A server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Server", deny_unknown_fields)]
struct ServerRuns {
    /// How it is called: its URL, its recipe, or its run.
    name: String,
    /// Its runs.
    runs: Vec<String>,
    /// The seed of each of these runs: what chance decides is the same in runs of one seed.
    seeds: Vec<SeedJson>,
    /// Notes about them by their authors (`--note`); absent without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteRecord>,
}

/// A server that is compared with A.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Other", deny_unknown_fields)]
struct ComparedServer {
    /// How it is called.
    name: String,
    /// Its runs.
    runs: Vec<String>,
    /// The seed of each of these runs: what chance decides is the same in runs of one seed.
    seeds: Vec<SeedJson>,
    /// Notes about them by their authors (`--note`); absent without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteRecord>,
    /// Pairs of runs.
    pairs: usize,
    /// Percent by which times may differ and still count as the same.
    same_within_percent: f64,
    /// The moment from which the times that are compared are counted: sent, planned in an open
    /// loop, or started for total times.
    #[schemars(extend("enum" = stats::Since::ALL.map(stats::Since::name)))]
    since: &'static str,
    /// Caveats, to be read before the verdicts.
    caveats: Vec<String>,
}

/// A row of both.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Test", deny_unknown_fields)]
struct ComparedTest {
    /// Name of the row.
    measure: String,
    /// Kind of the row: an operation, a page, or the WEBSTONE number.
    #[schemars(extend("enum" = RowKind::ALL.map(RowKind::name)))]
    kind: &'static str,
    /// HTTP method.
    method: String,
    /// How B is called.
    b: String,
    /// Estimates of A.
    a_says: ServerEstimate,
    /// Estimates of B.
    b_says: ServerEstimate,
    /// Mean of B over mean of A, of operations that were ok: above 1, B is slower. Of a number, B's
    /// number over A's: above 1, B is faster. Null where no pair of runs has times of both.
    ratio: Option<f64>,
    /// The 95 % interval of the ratio; null with it, and with a single pair of runs.
    ci95: Option<(f64, f64)>,
    /// Median of B over median of A, pair by pair: what an operation usually takes.
    usual_ratio: Option<f64>,
    /// Its 95 % interval.
    usual_ci95: Option<(f64, f64)>,
    /// How the means differ: slower, faster, same, unsure; null without an interval.
    #[schemars(extend("enum" = directions()))]
    on_average: Option<&'static str>,
    /// How the medians differ.
    #[schemars(extend("enum" = directions()))]
    usually: Option<&'static str>,
    /// Two-sided p-value of a difference of times: the larger of the tests of means and of medians,
    /// in the direction in which both are surer. Null with the interval.
    p: Option<f64>,
    /// The same, corrected for the number of tests (Holm).
    p_holm: Option<f64>,
    /// The smallest difference in percent that would have been called one with a chance of 80 %,
    /// beside as many other rows; null with the interval.
    detectable_percent: Option<f64>,
    /// Pairs of runs with which 5 % would have been; null with the interval, and beyond 10,000.
    pairs_for_5_percent: Option<u64>,
    /// Pairs of runs that are not in the ratio, because the load generator may have changed the
    /// times of one of both. With half of all pairs or more there is no verdict about times.
    disqualified_pairs: usize,
    /// Pairs of runs that are in no verdict about failures, because the load generator may have
    /// caused all failures of one of both.
    doubtful_pairs: usize,
    /// Verdict about times: faster, slower, same, inconclusive; null without times of both.
    #[schemars(extend("enum" = verdicts_of_times()))]
    times: Option<&'static str>,
    /// Verdict about failures; null where nothing failed.
    failures: Option<Failures>,
    /// Costs of an operation inside of both servers; absent where they were not looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<ComparedInsideJson>,
    /// The worse of both verdicts about times and failures, or: lost (only A can do it), gained
    /// (only B can), not_compared.
    #[schemars(extend("enum" = Verdict::ALL.map(Verdict::name)))]
    verdict: &'static str,
}

/// Comparison of how often both servers fail.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Failures {
    /// Two-sided p-value of a difference of the shares that failed, by the signs of the differences
    /// of pairs of runs.
    p: f64,
    /// The same, corrected for the number of tests (Holm).
    p_holm: f64,
    /// Every operation of every run failed with one server and none with the other: this needs no
    /// p-value.
    is_total: bool,
    /// broken (fails with B only, or more often), repaired (with A), inconclusive, not_compared
    /// (fails always with both).
    #[schemars(extend("enum" = verdicts_of_failures()))]
    verdict: &'static str,
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

/// Estimates of a row from the runs of a server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Says", deny_unknown_fields)]
struct ServerEstimate {
    /// The worst status of all its runs: ok, failed, not_supported, skipped, not_drawn.
    status: &'static str,
    /// Mean time in microseconds, over all runs; null without any, and of a number. It has no
    /// interval: that of the ratio gives the uncertainty.
    mean_us: Option<f64>,
    /// Complete pages a minute, over all runs; only of a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_per_minute: Option<f64>,
    /// Operations with a time.
    n: u64,
    /// Operations that failed, outside the windows as well.
    failed: u64,
    /// Operations that were as expected or failed, outside the windows as well.
    operations: u64,
}

impl From<&Comparisons> for ComparisonDocument {
    fn from(all: &Comparisons) -> ComparisonDocument {
        let tests = |versus: &'_ Versus| -> Vec<ComparedTest> {
            let rows = versus.comparison.rows.iter();
            rows.map(|row| test(row, &versus.name)).collect()
        };
        ComparisonDocument {
            schema_version: SCHEMA_VERSION,
            incomplete: all.incomplete.as_ref().map(IncompleteJson::from),
            a: ServerRuns {
                name: all.name.clone(),
                runs: all.runs.clone(),
                seeds: seeds(&all.seeds),
                notes: all.notes.clone(),
            },
            b: all.versus.iter().map(ComparedServer::from).collect(),
            tests: all.versus.iter().flat_map(tests).collect(),
        }
    }
}

impl From<&Versus> for ComparedServer {
    fn from(versus: &Versus) -> ComparedServer {
        let comparison = &versus.comparison;
        ComparedServer {
            name: versus.name.clone(),
            runs: versus.runs.clone(),
            seeds: seeds(&versus.seeds),
            notes: versus.notes.clone(),
            pairs: comparison.pairs,
            same_within_percent: (comparison.same_within * 100.0).known(),
            since: comparison.since.name(),
            caveats: comparison.caveats.iter().map(caveat).collect(),
        }
    }
}

fn seeds(seeds: &[u64]) -> Vec<SeedJson> {
    seeds.iter().copied().map(SeedJson::from).collect()
}

fn test(row: &Compared, b: &str) -> ComparedTest {
    let (ratio, evidence) = (row.ratio.as_ref(), row.evidence());
    ComparedTest {
        measure: row.name.clone(),
        kind: row.kind.name(),
        method: row.method.clone(),
        b: b.to_owned(),
        a_says: says(row.kind, &row.a),
        b_says: says(row.kind, &row.b),
        ratio: ratio.map(|ratio| as_shown(row.kind, ratio.value)).known(),
        ci95: evidence.map(|found| shown(row.kind, found.ci95())).known(),
        usual_ratio: ratio.map(|ratio| as_shown(row.kind, ratio.usual)).known(),
        usual_ci95: evidence
            .map(|found| shown(row.kind, found.ci95_usual()))
            .known(),
        on_average: evidence.map(|found| found.on_average.name()),
        usually: evidence.map(|found| found.usually.name()),
        p: evidence.map(|found| found.p).known(),
        p_holm: evidence.map(|found| found.p_holm).known(),
        detectable_percent: evidence.map(|found| found.detectable * 100.0).known(),
        pairs_for_5_percent: evidence.and_then(|found| found.pairs_needed),
        disqualified_pairs: row.disqualified,
        doubtful_pairs: row.doubtful,
        times: ratio.map(|ratio| ratio.verdict.name()),
        failures: row.failing.as_ref().map(Failures::from),
        inside: row.inside.as_ref().map(ComparedInsideJson::from),
        verdict: row.verdict.name(),
    }
}

impl From<&Failing> for Failures {
    fn from(failing: &Failing) -> Failures {
        Failures {
            p: failing.p.known(),
            p_holm: failing.p_holm.known(),
            is_total: failing.is_total,
            verdict: failing.verdict.name(),
        }
    }
}

fn says(kind: RowKind, estimate: &Estimate) -> ServerEstimate {
    let (is_number, mean) = (kind == RowKind::Number, estimate.mean);
    ServerEstimate {
        status: estimate.status.name(),
        mean_us: mean.filter(|_| !is_number).map(|mean| mean / 1e3).known(),
        pages_per_minute: mean
            .filter(|_| is_number)
            .map(|between| MINUTE / between)
            .known(),
        n: estimate.n,
        failed: estimate.failed,
        operations: estimate.operations,
    }
}
