//! A row of a comparison in words and figures, each rounded to what is known.

use stats::{
    Certainty, Compared, ComparedProcessor, CostVerdict, Direction, Estimate, Failing, Ratio,
    RowKind, Since, Verdict, WORTH_DETECTING,
};

use crate::clean;
use crate::figure::{fold, percent};
use crate::units::human;

/// What times are called: `mean {...}`.
pub(crate) fn times_since(since: Since) -> &'static str {
    match since {
        Since::Sent => "response times",
        Since::Started => "total times (to the last byte of the response)",
        Since::Planned => {
            "times from the planned moment on (response time, and the wait before it)"
        }
    }
}

/// Number of columns.
pub(crate) const COLUMNS: usize = 7;

/// Nanoseconds of a minute.
pub(super) const MINUTE: f64 = 60e9;

/// Ratios beyond which, and below the inverse of which, none is printed.
const MOST: f64 = 100.0;

/// The cells of a row: name, A, B, ratio, interval, p-value, verdict.
pub(crate) fn cells(row: &Compared) -> [String; COLUMNS] {
    let interval = row.evidence().map(|found| shown(row.kind, found.ci95()));
    let (ratio, range) = row
        .ratio
        .map(|of| ratio(as_shown(row.kind, of.value), interval))
        .unwrap_or_default();
    [
        clean(&row.name),
        mean(row.kind, &row.a),
        mean(row.kind, &row.b),
        ratio,
        range.unwrap_or_default(),
        p_holm(row).map_or(String::new(), probability),
        verdict(row),
    ]
}

/// The cells of processor time of a row of this name, in the same order.
pub(crate) fn processor_cells(name: &str, of: &ComparedProcessor) -> [String; COLUMNS] {
    let evidence = of.ratio.evidence;
    let (ratio, range) = ratio(of.ratio.value, evidence.map(|found| found.ci95()));
    let says = match (of.verdict(), evidence) {
        (CostVerdict::Same, _) => "same".to_owned(),
        (CostVerdict::More, _) => by_how_much("more", of.ratio.value),
        (CostVerdict::Less, _) => by_how_much("less", of.ratio.value),
        (CostVerdict::Inconclusive, Some(found)) => {
            format!("inconclusive ({})", detectable(&found))
        }
        (CostVerdict::Inconclusive, None) => "inconclusive".to_owned(),
    };
    [
        clean(name),
        human(of.a),
        human(of.b),
        ratio,
        range.unwrap_or_default(),
        evidence.map_or(String::new(), |found| probability(found.p_holm)),
        says,
    ]
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

/// The interval of what is shown.
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
fn verdict(row: &Compared) -> String {
    match row.verdict {
        Verdict::Lost => return "only A can do it".to_owned(),
        Verdict::Gained => return "only B can do it".to_owned(),
        _ => {}
    }
    let failures = row.failing.map(|failing| failures(row, &failing));
    let failures = failures.or_else(|| doubtful(row));
    let times = if row.is_disqualified() {
        Some(disqualified(row))
    } else {
        row.ratio.map(|ratio| times(row.kind, &ratio, row.reached))
    };
    let said: Vec<String> = failures.into_iter().chain(times).collect();
    if said.is_empty() {
        "not compared".to_owned()
    } else {
        said.join("; ")
    }
}

/// There is no verdict about failures.
fn doubtful(row: &Compared) -> Option<String> {
    let Compared {
        doubtful, reached, ..
    } = row;
    (*doubtful > 0).then(|| {
        format!(
            "failures inconclusive (the load generator may have caused those of {doubtful} of {reached} \
             pairs)"
        )
    })
}

/// There is no verdict about times.
fn disqualified(row: &Compared) -> String {
    format!(
        "inconclusive (the load generator may have changed the times of {} of {} pairs)",
        row.disqualified, row.reached
    )
}

/// The verdict about times, of a row that so many pairs of runs reached.
fn times(kind: RowKind, ratio: &Ratio, pairs: usize) -> String {
    let said = match (ratio.verdict, &ratio.evidence) {
        (Verdict::Same, _) => "same".to_owned(),
        (Verdict::Slower | Verdict::Faster, _) => difference(kind, ratio.value),
        (_, Some(found)) => format!("inconclusive ({})", why(ratio, found)),
        (_, None) => "inconclusive".to_owned(),
    };
    match pairs.saturating_sub(ratio.pairs) {
        0 => said,
        _ => format!("{said} (times of {} of {pairs} pairs)", ratio.pairs),
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

/// Why a row is inconclusive.
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

/// What would have been detected, and what 5 % would take where that is more than twofold.
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

/// The verdict about failures.
fn failures(row: &Compared, failing: &Failing) -> String {
    match failing.verdict {
        Verdict::Broken => fails_with("B", (&row.b, &row.a)),
        Verdict::Repaired => fails_with("A", (&row.a, &row.b)),
        Verdict::NotCompared => "fails with both".to_owned(),
        _ => {
            let needed = failing.pairs_needed.map_or(String::new(), |pairs| {
                format!("; at least {pairs} runs of each are needed")
            });
            format!(
                "failures inconclusive ({} failed with A, {} with B{needed})",
                share(&row.a),
                share(&row.b)
            )
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

/// What failed of all: `2 of 60`, and the runs in which nothing was measured.
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
