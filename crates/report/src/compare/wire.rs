//! The JSON document of a comparison.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Compared, Estimate, Since, Verdict};

use super::{Comparisons, Versus};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// A comparison of one server (A) with others (B).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Document {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// The one that all are compared with.
    a: Server,
    /// The others.
    b: Vec<Other>,
    /// Every row of every other.
    tests: Vec<Test>,
}

/// A server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Server {
    /// How it is called: its URL, its recipe, or its run.
    name: String,
    /// Its runs.
    runs: Vec<String>,
}

/// A server that is compared with A.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Other {
    /// How it is called.
    name: String,
    /// Its runs.
    runs: Vec<String>,
    /// Pairs of runs.
    pairs: usize,
    /// Percent by which times may differ and still count as the same.
    same_within_percent: f64,
    /// The moment from which the times that are compared are counted: sent, or planned in an open
    /// loop.
    #[schemars(extend("enum" = Since::ALL.map(Since::name)))]
    since: &'static str,
    /// What to know before believing it.
    caveats: Vec<String>,
}

/// A row of both.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Test {
    /// Name of the row.
    name: String,
    /// HTTP method.
    method: String,
    /// How B is called.
    b: String,
    /// What A does.
    a_says: Says,
    /// What B does.
    b_says: Says,
    /// Mean of B over mean of A: above 1, B is slower; null where one of them has no times, or
    /// failed.
    ratio: Option<f64>,
    /// The 95 % interval of the ratio; null with it.
    ci95: Option<(f64, f64)>,
    /// How probable such a difference is where there is none: of times, the larger p-value of both
    /// tests; of a row that failed, that of Fisher's test of the shares that failed. Null where
    /// nothing was tested.
    p: Option<f64>,
    /// The same, corrected for the number of rows (Holm).
    p_holm: Option<f64>,
    /// The smallest difference in percent that would have been called one with a chance of 80 %,
    /// beside as many other rows; null where there are too few operations for any.
    detectable_percent: Option<f64>,
    /// The means differ surely, and what is usual does not: few slow operations make the
    /// difference; null with the ratio.
    by_few: Option<bool>,
    /// The answer: faster, slower, same, unclear, broken (fails with B only, or more often),
    /// repaired (with A), lost (only A can do it), gained (only B can), not_compared.
    #[schemars(extend("enum" = Verdict::ALL.map(Verdict::name)))]
    verdict: &'static str,
}

/// What the runs of a server say of a row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Says {
    /// The worst status of all its runs: ok, failed, not_supported, skipped, not_drawn.
    status: &'static str,
    /// Mean time in microseconds, over all runs; null without any.
    mean_us: Option<f64>,
    /// Operations with a time.
    n: u64,
    /// Operations that failed, outside the windows as well.
    failed: u64,
    /// Operations that were as expected or failed, outside the windows as well.
    operations: u64,
}

impl From<&Comparisons> for Document {
    fn from(all: &Comparisons) -> Document {
        let tests = |versus: &'_ Versus| -> Vec<Test> {
            let rows = versus.comparison.rows.iter();
            rows.map(|row| test(row, &versus.name)).collect()
        };
        Document {
            schema_version: SCHEMA_VERSION,
            a: Server {
                name: all.name.clone(),
                runs: all.runs.clone(),
            },
            b: all.versus.iter().map(Other::from).collect(),
            tests: all.versus.iter().flat_map(tests).collect(),
        }
    }
}

impl From<&Versus> for Other {
    fn from(versus: &Versus) -> Other {
        let comparison = &versus.comparison;
        Other {
            name: versus.name.clone(),
            runs: versus.runs.clone(),
            pairs: comparison.pairs,
            same_within_percent: comparison.same_within * 100.0,
            since: comparison.since.name(),
            caveats: comparison.caveats.iter().map(ToString::to_string).collect(),
        }
    }
}

fn test(row: &Compared, b: &str) -> Test {
    let ratio = row.ratio.as_ref();
    let tested = row.tested();
    Test {
        name: row.name.clone(),
        method: row.method.clone(),
        b: b.to_owned(),
        a_says: (&row.a).into(),
        b_says: (&row.b).into(),
        ratio: ratio.map(|ratio| ratio.value),
        ci95: ratio.map(|ratio| ratio.ci95),
        p: tested.map(|(p, _)| p),
        p_holm: tested.map(|(_, p_holm)| p_holm),
        detectable_percent: ratio
            .and_then(|ratio| ratio.detectable)
            .map(|share| share * 100.0),
        by_few: ratio.map(|ratio| ratio.by_few),
        verdict: row.verdict.name(),
    }
}

impl From<&Estimate> for Says {
    fn from(estimate: &Estimate) -> Says {
        Says {
            status: estimate.status.name(),
            mean_us: estimate.mean.map(|mean| mean / 1e3),
            n: estimate.n,
            failed: estimate.failed,
            operations: estimate.operations,
        }
    }
}
