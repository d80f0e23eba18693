//! Estimates for people, with no more digits than are known.

use stats::Distribution;

use crate::times::{MAX, MEAN, P50, P90, P99};
use crate::units::{human, human_range};

/// Ratios beyond which none is printed: nobody needs to know by how much more.
const MOST: f64 = 1000.0;

/// A share of two digits, and of one where the second is a zero: `3.2 %`, `14 %`, `5 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let is_whole = (percent - percent.round()).abs() < 1e-6;
    let digits = usize::from(percent.abs() < 9.95 && !is_whole);
    format!("{percent:.digits$} %")
}

/// What a ratio changes: `+3.2 %`, `-12 %`, and from twofold on `×2.4`, `×14`, `÷14`.
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        more if more >= 1.995 => fold('×', more, MOST),
        less if less <= 1.0 / 1.995 => fold('÷', 1.0 / less, MOST),
        ratio => match percent(ratio - 1.0) {
            less if ratio < 1.0 => less,
            more => format!("+{more}"),
        },
    }
}

/// A factor of two digits behind its sign: `×2.4`, `×160`, and beyond the largest one that is told
/// `more than ×1000`.
pub(crate) fn fold(sign: char, factor: f64, most: f64) -> String {
    match factor {
        f if f > most => format!("more than {sign}{most}"),
        f if f < 9.95 => format!("{sign}{f:.1}"),
        f if f < 99.5 => format!("{sign}{f:.0}"),
        f => format!("{sign}{:.0}", (f / 10.0).round() * 10.0),
    }
}

/// Decimals of a figure with this interval: its half width has one or two digits.
pub(crate) fn decimals((low, high): (f64, f64)) -> usize {
    let half = (high - low) / 2.0;
    if half > 0.0 {
        (-half.log10().floor()).clamp(0.0, 2.0) as usize
    } else {
        2
    }
}

/// A rate with the digits that its 95 % interval leaves, and the interval: `984`, `970 .. 998`.
pub(crate) fn rate(rate: f64, ci95: Option<(f64, f64)>) -> (String, Option<String>) {
    let digits = match ci95 {
        Some(ends) => decimals(ends),
        None => usize::from(rate < 99.95) + usize::from(rate < 9.995),
    };
    let range = ci95.map(|(low, high)| format!("{low:.digits$} .. {high:.digits$}"));
    (format!("{rate:.digits$}"), range)
}

/// An estimate with its interval in brackets, or the sign that it has none: `984 (970 .. 998)`.
pub(crate) fn with_interval(estimate: &str, interval: Option<String>) -> String {
    format!("{estimate} ({})", interval.as_deref().unwrap_or(NONE))
}

/// Stands for an interval where there is none.
pub(crate) const NONE: &str = "no interval";

/// `mean 24.8 ms (24.1 .. 25.5 ms), p50 24.0 ms (23.2 .. 24.7 ms), ..., max 45.0 ms`.
pub(crate) fn times(of: &Distribution) -> String {
    let shown = [&MEAN, &P50, &P90, &P99, &MAX].map(|statistic| {
        let shown = statistic.shown(None, of);
        let shown = match statistic.without_interval() {
            Some(_) => with_interval(&shown, statistic.range(None, of)),
            None => shown,
        };
        format!("{} {shown}", statistic.label)
    });
    shown.join(", ")
}

/// A time in nanoseconds and its 95 % interval: `38.0 us (37.1 .. 38.9 us)`.
pub(crate) fn time(ns: f64, ci95: (f64, f64)) -> String {
    format!("{} ({})", human(ns), human_range(ci95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_percentage_and_past_twofold_a_factor() {
        let table = [
            (1.0, "+0 %"),
            (1.05, "+5 %"),
            (1.032, "+3.2 %"),
            (0.968, "-3.2 %"),
            (1.12, "+12 %"),
            (0.6, "-40 %"),
            (1.99, "+99 %"),
            (2.0, "×2.0"),
            (0.5, "÷2.0"),
            (14.02, "×14"),
            (1.0 / 14.02, "÷14"),
            (163.4, "×160"),
            (21_086.3, "more than ×1000"),
            (f64::INFINITY, "more than ×1000"),
            (0.0, "more than ÷1000"),
        ];
        for (ratio, expected) in table {
            assert_eq!(change(ratio), expected, "{ratio}");
        }
        assert_eq!(percent(13.016), "1302 %");
    }

    #[test]
    fn a_rate_has_the_digits_of_its_interval_and_a_sign_without_one() {
        let table = [
            (984.04, Some((969.7, 998.2)), "984 (970 .. 998)"),
            (12.34, Some((12.21, 12.49)), "12.3 (12.2 .. 12.5)"),
            (984.04, None, "984 (no interval)"),
            (12.34, None, "12.3 (no interval)"),
            (1.234, None, "1.23 (no interval)"),
        ];
        for (value, ci95, expected) in table {
            let (shown, range) = rate(value, ci95);
            assert_eq!(with_interval(&shown, range), expected);
        }
    }

    #[test]
    fn decimals_follow_the_interval() {
        let table = [
            ((0.95, 1.01), 2),
            ((0.5, 1.6), 1),
            ((11.9, 12.9), 1),
            ((10.0, 14.0), 0),
            ((1.0, 1.0), 2),
            ((100.0, 300.0), 0),
        ];
        for (interval, expected) in table {
            assert_eq!(decimals(interval), expected, "{interval:?}");
        }
    }
}
