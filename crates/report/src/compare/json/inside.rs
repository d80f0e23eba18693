//! Costs of operations inside of two servers, as JSON.

use record::{AsyncInterface, CallTarget};
use stats::{ComparedCost, ComparedInside, InsideCost, Ratio};

use crate::fields::{AsIs, IfAny, fields};
use crate::inside::target;
use crate::json::{KnownDigits, thousandths, us};

fields! {
    /// Costs of an operation inside of both servers.
    ComparedInside, "ComparedInside", |inside| {
        /// Pairs of runs in which the calls of both were counted.
        traced_pairs = inside.traced,
        /// An interface by which one of both servers makes calls that are not seen; null where none
        /// was found.
        unseen_calls = inside.unseen.map(AsyncInterface::name),
        /// Processor time, where some pair of runs has that of both, and kinds of system calls on
        /// the storage that one of both makes.
        costs = &inside.costs,
    }
}

fields! {
    /// A cost of an operation.
    ComparedCost, "ComparedCost", |cost| {
        /// processor, or the kind of system calls: fsync (`fdatasync` and its like, too), open,
        /// stat and so on, as in conditions.
        cost = cost.cost.name(),
        /// Mean with A: microseconds of processor time, or number of calls. There is no interval:
        /// with `is_fact` it is a fact, else that of the ratio gives the uncertainty.
        a = mean(cost.cost, cost.a),
        /// With B. There is no interval.
        b = mean(cost.cost, cost.b),
        /// Both numbers were the same in each of at least five runs.
        is_fact = cost.is_fact(),
        /// B over A, where the numbers varied.
        compared = cost.ratio(),
        /// more, less, same, inconclusive.
        verdict [stats::Verdict::OF_RATIOS.map(stats::Verdict::name_of_cost)] = cost.verdict().name_of_cost(),
        /// Calls and targets whose means differ; absent where none does.
        differing = IfAny(&cost.differing),
    }
}

fields! {
    /// B over A, pair by pair.
    Ratio, "CostRatio", |ratio| {
        /// B over A.
        ratio = ratio.value.known(),
        /// Its 95 % interval; null with a single pair of runs.
        ci95 = AsIs(ratio.evidence.as_ref().map(|found| found.ci95()).known()),
        /// Two-sided p-value of a difference; null with the interval.
        p = ratio.evidence.as_ref().map(|found| found.p).known(),
        /// The same, corrected for the number of tests (Holm).
        p_holm = ratio.evidence.as_ref().map(|found| found.p_holm).known(),
        /// The smallest difference in percent that would have been called one with a chance of 80
        /// %; null with the interval.
        detectable_percent = ratio.evidence.as_ref().map(|found| found.detectable * 100.0).known(),
    }
}

fields! {
    /// A system call on a target that one server makes more often.
    (String, CallTarget, f64, f64), "DifferingCall", |(call, of, a, b)| {
        /// Name of the system call.
        call = call,
        /// `collection` (of the run) or `file`.
        target = target(of).0,
        /// Path of the file.
        name = IfAny(target(of).1),
        /// Calls per operation with A. There is no interval.
        a = thousandths(*a),
        /// With B. There is no interval.
        b = thousandths(*b),
    }
}

fn mean(cost: InsideCost, mean: f64) -> f64 {
    match cost {
        InsideCost::Processor => us(mean).known(),
        InsideCost::Calls(_) => thousandths(mean),
    }
}
