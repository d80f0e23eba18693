//! A row of a comparison in words and figures, each rounded to its precision.

use stats::{
    Certainty, Compared, ComparedCost, Direction, Estimate, Failing, Ratio, RowKind, Since,
    Verdict, WORTH_DETECTING,
};

use crate::document::{TableCell, Tone, Words};
use crate::figure::{fold, percent};
use crate::json::us;
use crate::units::human;

/// Name of the times: `mean {...}`.
pub(crate) fn times_since(since: Since) -> &'static str {
    match since {
        Since::Sent => "response times",
        Since::Started => "total times (to the last byte of the response)",
        Since::Planned => {
            "times from the planned moment on (response time, and the wait before it)"
        }
    }
}

pub(super) const MINUTE: f64 = 60e9;

/// Ratios beyond which, and below the inverse of which, none is printed.
const MOST: f64 = 100.0;

/// A figure of a row with both servers: the cells of its table.
pub(crate) struct ComparedCells {
    pub(crate) a: TableCell,
    /// B, B / A, 95 % interval, p (Holm), verdict.
    pub(crate) b: [TableCell; 5],
    pub(crate) tone: Tone,
}

/// Times of a row, or pages a minute.
pub(crate) fn times_of(row: &Compared) -> ComparedCells {
    let kind = row.kind;
    let mean = |of: &Estimate| {
        let value = of.mean.filter(|_| kind != RowKind::Number);
        TableCell::figure(mean(kind, of), value.map(us))
    };
    let interval = row.evidence().map(|found| shown(kind, found.ci95()));
    let ratio = row.ratio.map(|of| (as_shown(kind, of.value), of.value));
    compared_cells(
        [mean(&row.a), mean(&row.b)],
        ratio,
        interval,
        p_holm(row),
        row.verdict,
        verdict(row),
    )
}

pub(crate) fn cost_of(cost: &ComparedCost) -> ComparedCells {
    let mean = |ns: f64| TableCell::figure(human(ns), Some(us(ns)));
    let evidence = cost.ratio().and_then(|ratio| ratio.evidence);
    let ratio = cost.ratio().map(|ratio| (ratio.value, ratio.value));
    let word = cost.verdict().name_of_cost();
    let verdict = match (cost.verdict(), ratio, evidence) {
        (Verdict::Slower | Verdict::Faster, Some((ratio, _)), _) => by_how_much(word, ratio).into(),
        (Verdict::Inconclusive, _, Some(found)) => Words::from(word).aside(detectable(&found)),
        _ => word.into(),
    };
    compared_cells(
        [mean(cost.a), mean(cost.b)],
        ratio,
        evidence.map(|found| found.ci95()),
        evidence.map(|found| found.p_holm),
        cost.verdict(),
        verdict,
    )
}

/// Of a ratio as it is shown, and of B's time over A's.
fn compared_cells(
    [a, b]: [TableCell; 2],
    ratios: Option<(f64, f64)>,
    interval: Option<(f64, f64)>,
    p: Option<f64>,
    verdict: Verdict,
    says: Words,
) -> ComparedCells {
    let (shown, range) = match ratios {
        Some((of, _)) => ratio(of, interval),
        None => (String::new(), None),
    };
    let ratio = TableCell {
        heat: Some(heat(verdict, ratios.map_or(1.0, |(_, times)| times))),
        ..TableCell::figure(shown, ratios.map(|(_, times)| times))
    };
    let width = interval.map(|(low, high)| high - low);
    ComparedCells {
        a,
        b: [
            b,
            ratio,
            TableCell::figure(range.unwrap_or_default(), width),
            p.map_or(String::new(), probability).into(),
            says.into(),
        ],
        tone: tone(verdict),
    }
}

pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        verdict if verdict.is_worse() => Tone::Bad,
        verdict if verdict.is_better() => Tone::Good,
        _ => Tone::Plain,
    }
}

pub(crate) fn heat_of(row: &Compared) -> i8 {
    heat(row.verdict, row.ratio.map_or(1.0, |ratio| ratio.value))
}

/// Minus three (much faster) to three (much slower): from blue by grey to orange, whose full colour
/// is a factor of two.
fn heat(verdict: Verdict, ratio: f64) -> i8 {
    let step = match ratio.log2().abs() {
        size if size >= 1.0 => 3,
        size if size >= 0.3 => 2,
        _ => 1,
    };
    match verdict {
        Verdict::Broken | Verdict::Lost => 3,
        Verdict::Repaired | Verdict::Gained => -3,
        verdict if verdict.is_worse() => step,
        verdict if verdict.is_better() => -step,
        _ => 0,
    }
}

fn probability(p: f64) -> String {
    match p {
        p if p < 0.0001 => "< 0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

/// A ratio with the digits that its 95 % interval leaves, and the interval: `1.23`, `1.10 .. 1.38`.
pub(crate) fn ratio(value: f64, ci95: Option<(f64, f64)>) -> (String, Option<String>) {
    let digits = digits(ci95);
    let range =
        ci95.map(|(low, high)| format!("{} .. {}", figure(low, digits), figure(high, digits)));
    (figure(value, digits), range)
}

fn mean(kind: RowKind, estimate: &Estimate) -> String {
    match (kind, estimate.mean) {
        (_, None) => estimate.status.name().replace('_', " "),
        (RowKind::Number, Some(between)) => {
            let number = MINUTE / between;
            let digits = usize::from(number < 99.95);
            format!("{number:.digits$}/min")
        }
        (_, Some(mean)) => human(mean),
    }
}

/// The ratio that is shown: of times, or of pages a minute, of which more are better.
pub(crate) fn as_shown(kind: RowKind, ratio: f64) -> f64 {
    match kind {
        RowKind::Number => 1.0 / ratio,
        RowKind::Operation | RowKind::Page => ratio,
    }
}

pub(crate) fn shown(kind: RowKind, (low, high): (f64, f64)) -> (f64, f64) {
    match kind {
        RowKind::Number => (1.0 / high, 1.0 / low),
        RowKind::Operation | RowKind::Page => (low, high),
    }
}

/// Decimals of a ratio: two digits of the half of its interval, three decimals at most.
fn digits(interval: Option<(f64, f64)>) -> usize {
    let half = interval.map_or(0.05, |(low, high)| (high - low) / 2.0);
    match half {
        half if half < 0.05 => 3,
        half if half < 1.0 => 2,
        half if half < 10.0 => 1,
        _ => 0,
    }
}

fn figure(ratio: f64, digits: usize) -> String {
    if ratio > MOST {
        format!("> {MOST}")
    } else if ratio < 1.0 / MOST {
        format!("< {}", 1.0 / MOST)
    } else if ratio < 0.95 {
        // Never 0, however wide its interval is.
        format!("{ratio:.*}", digits.max(2))
    } else {
        format!("{ratio:.digits$}")
    }
}

/// The p-value of the test that the verdict comes from.
fn p_holm(row: &Compared) -> Option<f64> {
    let times = row.evidence().map(|found| found.p_holm);
    match row.failing {
        Some(failing) if failing.is_total => None,
        Some(failing) if failing.verdict == row.verdict || times.is_none() => Some(failing.p_holm),
        _ => times,
    }
}

/// Both verdicts of a row, that about failures first.
fn verdict(row: &Compared) -> Words {
    match row.verdict {
        Verdict::Lost => return "only A can do it".into(),
        Verdict::Gained => return "only B can do it".into(),
        _ => {}
    }
    let failures = match row.failing {
        Some(failing) => failures(row, &failing),
        None => doubtful(row),
    };
    let times = match row.ratio {
        _ if row.is_disqualified() => disqualified(row),
        Some(ratio) => times(row.kind, &ratio, row.reached),
        None => Words::default(),
    };
    let both = failures.then("; ", times);
    if both.is_empty() {
        "not compared".into()
    } else {
        both
    }
}

fn doubtful(row: &Compared) -> Words {
    match row.doubtful {
        0 => Words::default(),
        doubtful => Words::from("failures inconclusive").aside(format!(
            "the load generator may have caused those of {doubtful} of {} pairs",
            row.reached
        )),
    }
}

fn disqualified(row: &Compared) -> Words {
    Words::from("inconclusive").aside(format!(
        "the load generator may have changed the times of {} of {} pairs",
        row.disqualified, row.reached
    ))
}

/// The verdict about times, of a row that this number of pairs of runs reached.
fn times(kind: RowKind, ratio: &Ratio, pairs: usize) -> Words {
    let says = match (ratio.verdict, &ratio.evidence) {
        (Verdict::Same, _) => "same".into(),
        (Verdict::Slower | Verdict::Faster, _) => difference(kind, ratio.value).into(),
        (_, Some(found)) => Words::from("inconclusive").aside(why(ratio, found)),
        (_, None) => "inconclusive".into(),
    };
    match pairs.saturating_sub(ratio.pairs) {
        0 => says,
        _ => says.aside(format!("times of {} of {pairs} pairs", ratio.pairs)),
    }
}

/// `slower by 4.9 %`, `faster, ×2.4`.
fn difference(kind: RowKind, ratio: f64) -> String {
    let word = match (kind, ratio > 1.0) {
        (RowKind::Number, true) => "slower: fewer pages a minute",
        (RowKind::Number, false) => "faster: more pages a minute",
        (_, true) => "slower",
        (_, false) => "faster",
    };
    by_how_much(word, as_shown(kind, ratio))
}

fn by_how_much(word: &str, ratio: f64) -> String {
    let times = ratio.max(1.0 / ratio);
    if times > 2.0 {
        format!("{word}, {}", fold('×', times, MOST))
    } else {
        format!("{word} by {}", percent((ratio - 1.0).abs()))
    }
}

fn why(ratio: &Ratio, found: &Certainty) -> String {
    use Direction::{Faster, Same, Slower, Unsure};
    if ratio.is_contradicted() {
        let (usually, on_average) = if ratio.value > 1.0 {
            ("slower", "faster")
        } else {
            ("faster", "slower")
        };
        return format!("median {usually}, mean {on_average} because of a few slow runs");
    }
    match (found.usually, found.on_average) {
        (Faster, Slower) => {
            "median faster, mean slower because of a few slow operations".to_owned()
        }
        (Slower, Faster) => {
            "median slower, mean faster because A has a few slow operations".to_owned()
        }
        (Same, Slower) => {
            "median the same, mean slower because of a few slow operations".to_owned()
        }
        (Same, Faster) => {
            "median the same, mean faster because A has a few slow operations".to_owned()
        }
        (Slower | Faster, Same) => {
            format!("median {}, mean the same", found.usually.name())
        }
        (Unsure, Slower | Faster) => {
            let mean = found.on_average.name();
            format!(
                "mean {mean}, median not significantly; {}",
                detectable(found)
            )
        }
        (Slower | Faster, Unsure) => {
            let median = found.usually.name();
            format!(
                "median {median}, mean not significantly; {}",
                detectable(found)
            )
        }
        _ => detectable(found),
    }
}

/// The smallest detectable difference, and the effort for 5 % where that is more than twofold.
fn detectable(found: &Certainty) -> String {
    let smallest = match found.detectable {
        share if share > MOST => "no difference is detectable with so few pairs of runs".to_owned(),
        share if share > 1.0 => {
            format!(
                "smallest detectable difference: {}",
                fold('×', 1.0 + share, MOST)
            )
        }
        share => return format!("smallest detectable difference: {}", percent(share)),
    };
    let needed = match found.pairs_needed {
        Some(pairs) => format!("about {}", rounded(pairs)),
        None => "more than 10,000".to_owned(),
    };
    format!(
        "{smallest}; {} takes {needed} runs of each",
        percent(WORTH_DETECTING)
    )
}

/// Two significant digits.
fn rounded(count: u64) -> u64 {
    let unit = 10_u64.pow(count.max(1).ilog10().saturating_sub(1));
    count.div_ceil(unit) * unit
}

fn failures(row: &Compared, failing: &Failing) -> Words {
    match failing.verdict {
        Verdict::Broken => fails_with("B", (&row.b, &row.a)).into(),
        Verdict::Repaired => fails_with("A", (&row.a, &row.b)).into(),
        Verdict::NotCompared => "fails with both".into(),
        _ => {
            let needed = failing.pairs_needed.map_or(String::new(), |pairs| {
                format!("; at least {pairs} runs of each are needed")
            });
            Words::from("failures inconclusive").aside(format!(
                "{} failed with A, {} with B{needed}",
                share(&row.a),
                share(&row.b)
            ))
        }
    }
}

fn fails_with(side: &str, (bad, good): (&Estimate, &Estimate)) -> String {
    let bad = match bad.failed {
        0 => "not measured".to_owned(),
        _ => format!("{} failed", share(bad)),
    };
    let good = match good.failed {
        0 => String::new(),
        _ => format!(", and {} with the other", share(good)),
    };
    format!("fails with {side}: {bad}{good}")
}

/// Failures among all operations: `2 of 60`, and the runs in which nothing was measured.
fn share(of: &Estimate) -> String {
    let failed = format!("{} of {}", of.failed, of.operations);
    match of.unmeasured {
        0 => failed,
        1 => format!("{failed} and 1 whole run"),
        runs => format!("{failed} and {runs} whole runs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_the_digits_that_are_known() {
        let table = [
            (RowKind::Operation, 1.0049, "slower by 0.5 %"),
            (RowKind::Operation, 1.0486, "slower by 4.9 %"),
            (RowKind::Operation, 1.486, "slower by 49 %"),
            (RowKind::Operation, 2.4, "slower, ×2.4"),
            (RowKind::Operation, 14.016, "slower, ×14"),
            (RowKind::Operation, 21_085.3, "slower, more than ×100"),
            (RowKind::Operation, 0.9, "faster by 10 %"),
            (RowKind::Page, 0.25, "faster, ×4.0"),
            (RowKind::Number, 0.8, "faster: more pages a minute by 25 %"),
            (
                RowKind::Number,
                1.25,
                "slower: fewer pages a minute by 20 %",
            ),
        ];
        for (kind, ratio, expected) in table {
            assert_eq!(difference(kind, ratio), expected);
        }
    }

    #[test]
    fn ratios_have_the_digits_that_their_interval_leaves() {
        let table = [
            (1.4861, Some((1.4812, 1.4903)), "1.486"),
            (1.49, Some((1.2, 1.9)), "1.49"),
            (5.27, Some((2.0, 17.0)), "5.3"),
            (13.2, Some((0.001, 9_000.0)), "13"),
            (9_000.0, Some((0.001, 9_000.0)), "> 100"),
            (0.035, Some((0.001, 21.0)), "0.04"),
            (0.001, Some((0.001, 9_000.0)), "< 0.01"),
            (1.486, None, "1.49"),
        ];
        for (ratio, interval, expected) in table {
            assert_eq!(figure(ratio, digits(interval)), expected);
        }
    }

    #[test]
    fn what_cannot_be_detected_is_said_in_words() {
        let pairs = |values: &[f64]| stats::Observations {
            means: values.to_vec(),
            medians: values.to_vec(),
            pooled: 0.0,
        };
        let evidence = |values: &[f64], share, needed| {
            let ratio = Ratio::new(&pairs(values)).unwrap();
            Certainty {
                detectable: share,
                pairs_needed: needed,
                ..ratio.evidence.unwrap()
            }
        };
        let values = [0.1, -0.1];
        let table = [
            (0.084, Some(12), "smallest detectable difference: 8.4 %"),
            (
                2.55,
                Some(1_234),
                "smallest detectable difference: ×3.5; 5 % takes about 1300 runs of each",
            ),
            (
                21_085.3,
                None,
                "no difference is detectable with so few pairs of runs; 5 % takes more than 10,000 runs \
                 of each",
            ),
        ];
        for (share, needed, expected) in table {
            assert_eq!(detectable(&evidence(&values, share, needed)), expected);
        }
    }
}
