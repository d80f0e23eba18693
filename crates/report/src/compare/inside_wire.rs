//! What operations cost inside of two servers, as JSON.

use record::{AsyncInterface, CallTarget};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{CallsCertainty, ComparedCalls, ComparedInside, ComparedProcessor, Ratio};

use crate::inside::target;
use crate::json::{KnownDigits, thousandths, us};

/// What an operation costs inside of both servers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComparedInside", deny_unknown_fields)]
pub(super) struct ComparedInsideJson {
    /// Processor time; null where no pair of runs has that of both.
    processor: Option<ComparedProcessorJson>,
    /// Pairs of runs in which the calls of both were counted.
    traced_pairs: usize,
    /// An interface by which one of both servers makes calls that are not seen; null where none was found.
    unseen_calls: Option<&'static str>,
    /// Kinds of system calls on the storage that one of both makes.
    calls: Vec<ComparedCallsJson>,
}

/// Processor time of both servers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComparedProcessor", deny_unknown_fields)]
struct ComparedProcessorJson {
    /// Mean with A in microseconds, over all operations of all runs. It has no interval: that of the ratio says what is known.
    a_us: f64,
    /// Mean with B.
    b_us: f64,
    /// B over A.
    #[serde(flatten)]
    compared: CostRatio,
    /// more, less, same, inconclusive.
    #[schemars(extend("enum" = stats::CostVerdict::ALL.map(stats::CostVerdict::name)))]
    verdict: &'static str,
}

/// B over A, pair by pair.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CostRatio")]
struct CostRatio {
    /// B over A.
    ratio: f64,
    /// Its 95 % interval; null with a single pair of runs.
    ci95: Option<(f64, f64)>,
    /// Two-sided p-value of a difference; null with the interval.
    p: Option<f64>,
    /// The same, corrected for the number of tests (Holm).
    p_holm: Option<f64>,
    /// The smallest difference in percent that would have been called one with a chance of 80 %; null with the interval.
    detectable_percent: Option<f64>,
}

/// System calls of a kind on the storage.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComparedCalls", deny_unknown_fields)]
struct ComparedCallsJson {
    /// The kind: fsync (`fdatasync` and its like, too), open, stat and so on, as in conditions.
    call: &'static str,
    /// Calls per operation with A. There is no interval: with `is_fact` it is a fact, else that of the ratio says what is known.
    a: f64,
    /// With B. There is no interval.
    b: f64,
    /// Both numbers were the same in each of at least five runs.
    is_fact: bool,
    /// B over A, where the numbers varied.
    compared: Option<CostRatio>,
    /// more, less, same, inconclusive.
    #[schemars(extend("enum" = stats::CostVerdict::ALL.map(stats::CostVerdict::name)))]
    verdict: &'static str,
    /// Calls and targets whose means differ.
    differing: Vec<DifferingCallJson>,
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
            processor: inside.processor.as_ref().map(ComparedProcessorJson::from),
            traced_pairs: inside.traced,
            unseen_calls: inside.unseen.map(AsyncInterface::name),
            calls: inside.calls.iter().map(ComparedCallsJson::from).collect(),
        }
    }
}

impl From<&ComparedProcessor> for ComparedProcessorJson {
    fn from(processor: &ComparedProcessor) -> ComparedProcessorJson {
        ComparedProcessorJson {
            a_us: us(processor.a).known(),
            b_us: us(processor.b).known(),
            compared: CostRatio::from(&processor.ratio),
            verdict: processor.verdict().name(),
        }
    }
}

impl From<&Ratio> for CostRatio {
    fn from(ratio: &Ratio) -> CostRatio {
        let evidence = ratio.evidence.as_ref();
        CostRatio {
            ratio: ratio.value.known(),
            ci95: evidence.map(|found| found.ci95()).known(),
            p: evidence.map(|found| found.p).known(),
            p_holm: evidence.map(|found| found.p_holm).known(),
            detectable_percent: evidence.map(|found| found.detectable * 100.0).known(),
        }
    }
}

impl From<&ComparedCalls> for ComparedCallsJson {
    fn from(calls: &ComparedCalls) -> ComparedCallsJson {
        ComparedCallsJson {
            call: calls.call.name(),
            a: thousandths(calls.a),
            b: thousandths(calls.b),
            is_fact: calls.is_fact(),
            compared: match &calls.certainty {
                CallsCertainty::Varying { ratio, added: 0.0 } => Some(CostRatio::from(ratio)),
                _ => None,
            },
            verdict: calls.verdict().name(),
            differing: calls.differing.iter().map(of_call).collect(),
        }
    }
}

fn of_call((call, of, a, b): &(String, CallTarget, f64, f64)) -> DifferingCallJson {
    let (target, name) = target(of);
    DifferingCallJson {
        call: call.clone(),
        target,
        name,
        a: thousandths(*a),
        b: thousandths(*b),
    }
}
