//! Costs of operations inside of two servers, as JSON.

use record::{AsyncInterface, CallTarget};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{ComparedCost, ComparedInside, InsideCost, Ratio};

use crate::inside::target;
use crate::json::{KnownDigits, thousandths, us};

/// Costs of an operation inside of both servers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComparedInside", deny_unknown_fields)]
pub(super) struct ComparedInsideJson {
    /// Pairs of runs in which the calls of both were counted.
    traced_pairs: usize,
    /// An interface by which one of both servers makes calls that are not seen; null where none was
    /// found.
    unseen_calls: Option<&'static str>,
    /// Processor time, where some pair of runs has that of both, and kinds of system calls on the
    /// storage that one of both makes.
    costs: Vec<ComparedCostJson>,
}

/// A cost of an operation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComparedCost", deny_unknown_fields)]
struct ComparedCostJson {
    /// processor, or the kind of system calls: fsync (`fdatasync` and its like, too), open, stat
    /// and so on, as in conditions.
    cost: &'static str,
    /// Mean with A: microseconds of processor time, or number of calls. There is no interval: with
    /// `is_fact` it is a fact, else that of the ratio gives the uncertainty.
    a: f64,
    /// With B. There is no interval.
    b: f64,
    /// Both numbers were the same in each of at least five runs.
    is_fact: bool,
    /// B over A, where the numbers varied.
    compared: Option<CostRatio>,
    /// more, less, same, inconclusive.
    #[schemars(extend("enum" = stats::Verdict::OF_RATIOS.map(stats::Verdict::name_of_cost)))]
    verdict: &'static str,
    /// Calls and targets whose means differ; absent where none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differing: Vec<DifferingCallJson>,
}

/// B over A, pair by pair.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CostRatio", deny_unknown_fields)]
struct CostRatio {
    /// B over A.
    ratio: f64,
    /// Its 95 % interval; null with a single pair of runs.
    ci95: Option<(f64, f64)>,
    /// Two-sided p-value of a difference; null with the interval.
    p: Option<f64>,
    /// The same, corrected for the number of tests (Holm).
    p_holm: Option<f64>,
    /// The smallest difference in percent that would have been called one with a chance of 80 %;
    /// null with the interval.
    detectable_percent: Option<f64>,
}

/// A system call on a target that one server makes more often.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DifferingCall", deny_unknown_fields)]
struct DifferingCallJson {
    /// Name of the system call.
    call: String,
    /// `collection` (of the run) or `file`.
    target: &'static str,
    /// Path of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Calls per operation with A. There is no interval.
    a: f64,
    /// With B. There is no interval.
    b: f64,
}

impl From<&ComparedInside> for ComparedInsideJson {
    fn from(inside: &ComparedInside) -> ComparedInsideJson {
        ComparedInsideJson {
            traced_pairs: inside.traced,
            unseen_calls: inside.unseen.map(AsyncInterface::name),
            costs: inside.costs.iter().map(compared_cost).collect(),
        }
    }
}

fn compared_cost(cost: &ComparedCost) -> ComparedCostJson {
    let [a, b] = [cost.a, cost.b].map(|mean| match cost.cost {
        InsideCost::Processor => us(mean).known(),
        InsideCost::Calls(_) => thousandths(mean),
    });
    ComparedCostJson {
        cost: cost.cost.name(),
        a,
        b,
        is_fact: cost.is_fact(),
        compared: cost.ratio().map(cost_ratio),
        verdict: cost.verdict().name_of_cost(),
        differing: cost.differing.iter().map(differing_call).collect(),
    }
}

fn cost_ratio(ratio: &Ratio) -> CostRatio {
    let evidence = ratio.evidence.as_ref();
    CostRatio {
        ratio: ratio.value.known(),
        ci95: evidence.map(|found| found.ci95()).known(),
        p: evidence.map(|found| found.p).known(),
        p_holm: evidence.map(|found| found.p_holm).known(),
        detectable_percent: evidence.map(|found| found.detectable * 100.0).known(),
    }
}

fn differing_call((call, of, a, b): &(String, CallTarget, f64, f64)) -> DifferingCallJson {
    let (target, name) = target(of);
    DifferingCallJson {
        call: call.clone(),
        target,
        name,
        a: thousandths(*a),
        b: thousandths(*b),
    }
}
