//! Conditions on comparisons, in the language of constraints: `slower(Get1K) > 5 % or broken`.
//!
//! A difference counts only where the verdict on the times of its row finds one, which holds the
//! promised rate of errors over all rows. How large it is, and how large it may be, is as measured:
//!
//! ```text
//! verdict     slower is from    to
//! slower      the estimate      the upper end of the interval
//! another     0                 the upper end, or 0 if that counts as the same
//! ```
//!
//! The same holds for more processor time (`cpu`). How many more calls B makes (`fsync`) is a fact
//! where both numbers are.

use constraint::{
    CheckedConstraint, ComparedCharacteristic, ConstraintFigure, FigureSource, Known, PartOfRun,
    Quantifier, RowTruth, Statistic, StorageCall, WhyUnknown,
};
use record::{MeasureRecord, PageRecord};

use super::rows::{NUMBER, page_row};
use super::{
    Compared, ComparedCost, Comparison, CostCertainty, InsideCost, LEAST_STARTS, Ratio, Verdict,
};

/// The least difference that is one, for the language: more than nothing.
const LEAST: f64 = f64::MIN_POSITIVE;
const JUST_BELOW: f64 = 1.0 - 1e-9;

impl Comparison {
    /// Of which rows a condition is true; of none where nothing is known.
    pub fn judged_by(&self, condition: &CheckedConstraint) -> Vec<RowTruth> {
        condition.judge_rows(self)
    }
}

impl FigureSource for Comparison {
    fn rows(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }

    fn figure(&self, statistic: Statistic, measurement: &str, _: PartOfRun) -> ConstraintFigure {
        let row = self.rows.iter().find(|row| row.name == measurement);
        match (row, statistic) {
            (Some(row), Statistic::Compared(of)) => {
                let (low, high) = span(row, of, self.same_within);
                ConstraintFigure::Known(known(low, high, self.pairs))
            }
            _ => ConstraintFigure::Unknown(WhyUnknown::NotMeasured),
        }
    }
}

/// True if a condition distinguishes differences that count as the same. Then it never fails for
/// some of those that it names.
pub fn is_finer(condition: &CheckedConstraint, same_within: f64) -> bool {
    struct Alike(f64);
    impl FigureSource for Alike {
        fn rows(&self) -> Vec<String> {
            vec![String::new()]
        }

        fn figure(&self, statistic: Statistic, _: &str, _: PartOfRun) -> ConstraintFigure {
            use ComparedCharacteristic::{Faster, Processor, Slower};
            ConstraintFigure::Known(match statistic {
                Statistic::Compared(Slower | Processor) => known(LEAST, self.0 * JUST_BELOW, 0),
                // The same ratio, as a share of the other time.
                Statistic::Compared(Faster) => {
                    known(LEAST, self.0 / (1.0 + self.0) * JUST_BELOW, 0)
                }
                _ => known(0.0, 0.0, 0),
            })
        }
    }
    same_within > 0.0
        && condition
            .holds(&Alike(same_within), Quantifier::All)
            .is_none()
}

/// Names of the rows of a comparison of runs with these measures and pages.
pub fn compared_names(measures: &[MeasureRecord], pages: &[PageRecord]) -> Vec<String> {
    let number = (!pages.is_empty()).then(|| NUMBER.to_owned());
    let pages = pages.iter().map(|page| page_row(&page.name));
    let measures = measures.iter().map(|measure| measure.name.clone());
    number.into_iter().chain(pages).chain(measures).collect()
}

fn known(low: f64, high: f64, pairs: usize) -> Known {
    Known {
        value: low,
        low,
        high,
        samples: pairs as u64,
        seconds: 0.0,
    }
}

/// Range of a characteristic of a row; for one that is true or false, 1 or 0.
fn span(row: &Compared, of: ComparedCharacteristic, same_within: f64) -> (f64, f64) {
    use ComparedCharacteristic as Of;
    let is = |verdict: Verdict| match row.verdict {
        // The row always failed with both, or no pair of runs reached it.
        Verdict::NotCompared => (0.0, 1.0),
        found if found == verdict => (1.0, 1.0),
        _ => (0.0, 0.0),
    };
    let fails = |verdict: Verdict| match is(verdict) {
        (0.0, _) if !is_failing_decided(row) => (0.0, 1.0),
        known => known,
    };
    match of {
        Of::Slower => slower(row, same_within),
        Of::Faster => faster(row, same_within),
        Of::Broken => fails(Verdict::Broken),
        Of::Repaired => fails(Verdict::Repaired),
        Of::Lost => is(Verdict::Lost),
        Of::Gained => is(Verdict::Gained),
        Of::Inconclusive => is(Verdict::Inconclusive),
        Of::Processor => more_processor(row, same_within),
        Of::Calls(call) => more_calls(row, call),
    }
}

/// Range of a characteristic inside of the servers of which nothing is known.
const UNKNOWN: (f64, f64) = (0.0, f64::INFINITY);

fn more_processor(row: &Compared, same_within: f64) -> (f64, f64) {
    let inside = row.inside.as_ref();
    let processor = inside.and_then(|inside| inside.cost(InsideCost::Processor));
    let Some(ratio) = processor.and_then(ComparedCost::ratio) else {
        return UNKNOWN;
    };
    let most = ratio.evidence.map_or(f64::INFINITY, |found| found.most());
    at_least(ratio, most, same_within)
}

fn more_calls(row: &Compared, call: StorageCall) -> (f64, f64) {
    let Some(inside) = row.inside.as_ref().filter(|inside| inside.traced > 0) else {
        return UNKNOWN;
    };
    let Some(cost) = inside.cost(InsideCost::Calls(call)) else {
        // Neither made one in any run.
        let is_certain = inside.traced >= LEAST_STARTS;
        return if is_certain { (0.0, 0.0) } else { UNKNOWN };
    };
    let more = (cost.b - cost.a).max(0.0);
    match cost.certainty {
        CostCertainty::Constant => (more, more),
        CostCertainty::Varying { ratio, added } => {
            let most = ratio.evidence.map_or(f64::INFINITY, |found| found.most());
            let low = match ratio.verdict {
                Verdict::Same => return (0.0, 0.0),
                Verdict::Slower => more,
                _ => 0.0,
            };
            (low, ((most - 1.0) * (cost.a + added)).max(low))
        }
        CostCertainty::FewStarts | CostCertainty::Unknown => UNKNOWN,
    }
}

/// The share by which a ratio is more than 1, as its verdict has it, and the most that it may be.
fn at_least(ratio: &Ratio, most: f64, same_within: f64) -> (f64, f64) {
    let is_more = ratio.verdict == Verdict::Slower;
    let low = if is_more { ratio.value - 1.0 } else { 0.0 };
    let most = most - 1.0;
    let is_same = !is_more && most < same_within;
    (low, if is_same { 0.0 } else { most.max(low) })
}

/// A response that fails, or that B cannot give, takes longer than any other.
fn slower(row: &Compared, same_within: f64) -> (f64, f64) {
    match row.verdict {
        Verdict::Broken | Verdict::Lost => return (f64::INFINITY, f64::INFINITY),
        Verdict::Gained => return (0.0, 0.0),
        // Nothing is known of times that A does not have.
        Verdict::Repaired if row.ratio.is_none() => return (0.0, 0.0),
        _ => {}
    }
    let Some(ratio) = &row.ratio else {
        return UNKNOWN;
    };
    let is_clear = !row.is_disqualified() && is_more_failing_excluded(row);
    // A few slow runs are in the means over all of them, and not in their usual ratio.
    let most = ratio.evidence.filter(|_| is_clear);
    let most = most.map_or(f64::INFINITY, |found| found.most());
    at_least(ratio, most, same_within)
}

fn faster(row: &Compared, same_within: f64) -> (f64, f64) {
    match row.verdict {
        Verdict::Broken | Verdict::Lost => return (0.0, 0.0),
        Verdict::Gained => return (1.0, 1.0),
        _ => {}
    }
    let is_clear = !row.is_disqualified() && is_more_failing_excluded(row);
    let found = row.ratio.filter(|ratio| ratio.verdict == Verdict::Faster);
    let low = found
        .filter(|_| is_clear)
        .map_or(0.0, |ratio| 1.0 - ratio.value);
    let least = row.evidence().filter(|_| !row.is_disqualified());
    let most = least.map_or(1.0, |found| 1.0 - found.least());
    let is_same = found.is_none() && most < same_within / (1.0 + same_within);
    (low, if is_same { 0.0 } else { most.max(low) })
}

fn is_failing_decided(row: &Compared) -> bool {
    let is_open = |failing: super::Failing| failing.verdict == Verdict::Inconclusive;
    row.doubtful == 0 && !row.failing.is_some_and(is_open)
}

fn is_more_failing_excluded(row: &Compared) -> bool {
    let is_repaired = |failing: super::Failing| failing.verdict == Verdict::Repaired;
    row.doubtful == 0 && row.failing.is_none_or(is_repaired)
}
