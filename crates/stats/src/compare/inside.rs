//! Costs of operations inside of two servers: processor time, and system calls on their storage.
//!
//! Processor time is compared as times are: an observation is the logarithm of B over A in one pair
//! of runs ([`super::ratio`]), so that differences from start to start are in the spread of the
//! pairs, and its p-value is corrected together with those of all times.
//!
//! Numbers of calls mostly do not differ at all: a server makes two `fsync` for each PUT. Where a
//! number is the same in each of at least [`LEAST_STARTS`] runs of A, and in each of B, both
//! numbers are facts, and so is their difference. They are facts about these starts. If a server
//! decided at each start by chance between two numbers, all `n` runs of A would have the one and
//! all of B the other with a probability of at most `2 / (2n choose n)`, whatever the chance: 0.8 %
//! for five. A number that varies is compared as processor time is, and with fewer than twenty
//! pairs by the ranks of all runs as well ([`super::rank_sum`]): the larger of both p-values
//! counts. Where some run has none, so that there is no logarithm, one is added to all.

use std::collections::BTreeSet;

use constraint::StorageCall;
use record::{AsyncInterface, CallTarget};

use super::{Observations, Ratio, Side, Verdict, rank_sum, signed_rank};
use crate::inside::storage::{CallKey, CallsInRun};
use crate::inside::{InsideFigure, InsideRow};

/// Runs of each server, each after a start, from which on a number that never varied is a fact.
pub const LEAST_STARTS: usize = 5;

/// Costs of an operation of a row inside of both servers.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedInside {
    /// Processor time, where some pair of runs has that of both, and calls on the storage by kind:
    /// those that one of both makes.
    pub costs: Vec<ComparedCost>,
    /// Pairs of runs in which the calls of both were counted.
    pub traced: usize,
    /// The interface by which one of both makes calls that are not seen, in any run.
    pub unseen: Option<AsyncInterface>,
}

/// Kinds of costs of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsideCost {
    /// Processor time in nanoseconds.
    Processor,
    /// Number of system calls of a kind on the storage.
    Calls(StorageCall),
}

impl InsideCost {
    /// The name used in files: `processor`, `fsync`.
    pub fn name(self) -> &'static str {
        match self {
            InsideCost::Processor => "processor",
            InsideCost::Calls(call) => call.name(),
        }
    }
}

/// A cost of an operation with both servers.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCost {
    /// The kind.
    pub cost: InsideCost,
    /// Mean with A.
    pub a: f64,
    /// Mean with B.
    pub b: f64,
    /// Calls and targets whose means differ: the system call, its target, the means with A and B.
    pub differing: Vec<(String, CallTarget, f64, f64)>,
    /// How certain the difference is.
    pub certainty: CostCertainty,
}

/// How certain it is that a cost differs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a row has a few of them, and a box would take the copy away"
)]
pub enum CostCertainty {
    /// The number was the same in each run of A, and in each of B.
    Constant,
    /// As [`Constant`](CostCertainty::Constant), in fewer than [`LEAST_STARTS`] runs of each.
    FewStarts,
    /// Varied from run to run.
    Varying {
        /// B over A, of numbers to which `added` was added: *slower* is more.
        ratio: Ratio,
        /// 0, or 1 where some run had none.
        added: f64,
    },
    /// Varied, and there was one pair of runs only.
    Unknown,
}

/// A row inside of both servers, in one pair of runs.
pub(super) type PairInside<'a> = (&'a InsideRow, &'a InsideRow);

impl ComparedInside {
    /// The costs of a row in these pairs, not judged yet; `None` where not counted for both.
    pub(super) fn of(a: &[Side<'_>], b: &[Side<'_>], row: &str) -> Option<ComparedInside> {
        let pairs = a.iter().zip(b);
        let pairs: Vec<PairInside<'_>> = pairs
            .filter_map(|(a, b)| a.summary.inside_of(row).zip(b.summary.inside_of(row)))
            .collect();
        ComparedInside::from_pairs(&pairs)
    }

    pub(super) fn from_pairs(pairs: &[PairInside<'_>]) -> Option<ComparedInside> {
        let traced: Vec<(CallsInRun, CallsInRun)> = pairs
            .iter()
            .filter_map(|(a, b)| CallsInRun::of(a).zip(CallsInRun::of(b)))
            .collect();
        let processor = ComparedCost::processor(pairs).into_iter();
        let costs: Vec<ComparedCost> = processor.chain(ComparedCost::calls(&traced)).collect();
        let unseen = pairs.iter().find_map(|(a, b)| a.unseen.or(b.unseen));
        let is_known = !costs.is_empty() || !traced.is_empty() || unseen.is_some();
        is_known.then_some(ComparedInside {
            costs,
            traced: traced.len(),
            unseen,
        })
    }

    /// A cost of this kind, where one of both has it.
    pub fn cost(&self, cost: InsideCost) -> Option<&ComparedCost> {
        self.costs.iter().find(|compared| compared.cost == cost)
    }

    /// The ratios in it that have p-values.
    pub(super) fn ratios(&mut self) -> impl Iterator<Item = &mut Ratio> {
        let costs = self.costs.iter_mut();
        costs.filter_map(|cost| match &mut cost.certainty {
            CostCertainty::Varying { ratio, .. } => Some(ratio),
            _ => None,
        })
    }

    /// True if more pairs may change the verdicts, as some of this number of tests.
    pub(super) fn is_open(&self, same_within: f64, tests: usize) -> bool {
        let processor = self.cost(InsideCost::Processor);
        let processor = processor.and_then(ComparedCost::ratio);
        let is_uncounted = self.traced > 0 && self.traced < LEAST_STARTS;
        is_uncounted || processor.is_some_and(|ratio| ratio.is_open(same_within, tests))
    }
}

/// The ratio of these log ratios of pairs, where all together have such means.
fn ratio_of(means: Vec<f64>, (a, b): (f64, f64)) -> Option<Ratio> {
    Ratio::new(&Observations {
        medians: means.clone(),
        means,
        pooled: b.ln() - a.ln(),
    })
}

impl ComparedCost {
    fn processor(pairs: &[PairInside<'_>]) -> Option<ComparedCost> {
        let mut sums = [(0.0, 0.0), (0.0, 0.0)];
        let mut means = Vec::new();
        for (a, b) in pairs {
            let mean = |row: &InsideRow| row.mean(InsideFigure::Processor).map(|found| found.mean);
            let both = mean(a).zip(mean(b));
            let Some((mean_a, mean_b)) = both.filter(|(a, b)| *a > 0.0 && *b > 0.0) else {
                continue;
            };
            means.push(mean_b.ln() - mean_a.ln());
            for (sum, row) in sums.iter_mut().zip([a, b]) {
                sum.0 += row.counted.processor as f64;
                sum.1 += row.operations as f64;
            }
        }
        let [a, b] = sums.map(|(processor, operations)| processor / operations);
        let ratio = ratio_of(means, (a, b))?;
        Some(ComparedCost {
            cost: InsideCost::Processor,
            a,
            b,
            differing: Vec::new(),
            certainty: CostCertainty::Varying { ratio, added: 0.0 },
        })
    }

    fn calls(traced: &[(CallsInRun, CallsInRun)]) -> impl Iterator<Item = ComparedCost> {
        let kinds: BTreeSet<StorageCall> =
            keys(traced).into_iter().map(|(kind, ..)| *kind).collect();
        kinds.into_iter().map(|kind| {
            let numbers = numbers(traced, |(of, ..)| *of == kind);
            let (a, b) = means(&numbers);
            ComparedCost {
                cost: InsideCost::Calls(kind),
                a,
                b,
                differing: differing(traced, kind),
                certainty: CostCertainty::of(&numbers),
            }
        })
    }

    /// The verdict on it: *slower* is more.
    pub fn verdict(&self) -> Verdict {
        match self.certainty {
            _ if self.is_fact() && self.a < self.b => Verdict::Slower,
            _ if self.is_fact() && self.a > self.b => Verdict::Faster,
            CostCertainty::Constant => Verdict::Same,
            CostCertainty::Varying { ratio, .. } => ratio.verdict,
            CostCertainty::FewStarts | CostCertainty::Unknown => Verdict::Inconclusive,
        }
    }

    /// B over A, where the numbers of all runs have one.
    pub fn ratio(&self) -> Option<&Ratio> {
        match &self.certainty {
            CostCertainty::Varying { ratio, added: 0.0 } => Some(ratio),
            _ => None,
        }
    }

    /// Both numbers are facts.
    pub fn is_fact(&self) -> bool {
        self.certainty == CostCertainty::Constant
    }
}

impl CostCertainty {
    fn of(numbers: &[(f64, f64)]) -> CostCertainty {
        if numbers.iter().all(|pair| pair == &numbers[0]) {
            return if numbers.len() < LEAST_STARTS {
                CostCertainty::FewStarts
            } else {
                CostCertainty::Constant
            };
        }
        let have_all_some = numbers.iter().all(|(a, b)| *a > 0.0 && *b > 0.0);
        let added = if have_all_some { 0.0 } else { 1.0 };
        let log = |(a, b): &(f64, f64)| (b + added).ln() - (a + added).ln();
        let (a, b) = means(numbers);
        let ratio = ratio_of(numbers.iter().map(log).collect(), (a + added, b + added));
        let Some(mut ratio) = ratio else {
            return CostCertainty::Unknown;
        };
        if let Some(found) = &mut ratio.evidence
            && numbers.len() < signed_rank::LEAST
        {
            let (a, b): (Vec<f64>, Vec<f64>) = numbers.iter().copied().unzip();
            found.p = found.p.max(rank_sum::p_value(&a, &b));
        }
        CostCertainty::Varying { ratio, added }
    }
}

fn means(numbers: &[(f64, f64)]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| numbers.iter().map(of).sum::<f64>() / count;
    (mean(|(a, _)| *a), mean(|(_, b)| *b))
}

fn keys(traced: &[(CallsInRun, CallsInRun)]) -> BTreeSet<&CallKey> {
    let runs = traced.iter().flat_map(|(a, b)| [a, b]);
    runs.flat_map(|run| run.counts.keys()).collect()
}

/// How often it is called for an operation, pair by pair.
fn numbers(
    traced: &[(CallsInRun, CallsInRun)],
    is_chosen: impl Fn(&CallKey) -> bool,
) -> Vec<(f64, f64)> {
    let pair = |(a, b): &(CallsInRun, CallsInRun)| (a.number(&is_chosen), b.number(&is_chosen));
    traced.iter().map(pair).collect()
}

/// System calls of a kind and targets of which the means over all runs differ.
fn differing(
    traced: &[(CallsInRun, CallsInRun)],
    kind: StorageCall,
) -> Vec<(String, CallTarget, f64, f64)> {
    let keys = keys(traced).into_iter().filter(|(of, ..)| *of == kind);
    let both = keys.map(|key| {
        let (a, b) = means(&numbers(traced, |other| other == key));
        (key.1.clone(), key.2.clone(), a, b)
    });
    both.filter(|(_, _, a, b)| a != b).collect()
}
