//! Figures of campaigns for people, each rounded to its precision.

use experiment::{CellEstimate, EstimateWarning, FigureRange, ShownUnit};

use crate::document::Words;
use crate::figure::NONE;

/// Figures of this size and more are written with an exponent.
const LARGE: f64 = 1e9;
/// The same of figures below this one.
const SMALL: f64 = 5e-4;
/// Half of an interval, as a share of its ends, up to which all values are the same.
const NEGLIGIBLE: f64 = 1e-6;
const MOST_DECIMALS: f64 = 4.0;

pub(super) const NOT_MEASURED: &str = "not measured";

/// Reasons why an interval is unreliable: a mark behind it, the name in documents, and the meaning
/// of the mark.
pub(super) const WARNINGS: [(EstimateWarning, &str, &str, &str); 3] = [
    (
        EstimateWarning::HeavyTail,
        "*",
        "heavy_tail",
        "now and then a repetition differs by much; the interval is of the spread of all cells together",
    ),
    (
        EstimateWarning::Changing,
        "~",
        "changing",
        "the machine changed during the campaign",
    ),
    (
        EstimateWarning::Undetermined,
        "?",
        "undetermined",
        "the repetitions differ too much for an interval",
    ),
];

/// How a unit is written behind a figure; nothing for a number.
pub(super) fn sign(unit: ShownUnit) -> &'static str {
    match unit {
        ShownUnit::S => "s",
        ShownUnit::Ms => "ms",
        ShownUnit::Mbit => "Mbit/s",
        ShownUnit::Percent => "%",
        ShownUnit::Number => "",
    }
}

/// A title and its unit: `Delay (s)`.
pub(super) fn with_unit(title: &str, unit: ShownUnit) -> String {
    match sign(unit) {
        "" => title.to_owned(),
        sign => format!("{title} ({sign})"),
    }
}

/// A figure in seconds, bit/s or as a share, in its unit.
pub(super) fn in_unit(base: f64, unit: ShownUnit) -> f64 {
    match unit {
        ShownUnit::S | ShownUnit::Number => base,
        ShownUnit::Ms => base * 1e3,
        ShownUnit::Mbit => base / 1e6,
        ShownUnit::Percent => base * 1e2,
    }
}

/// The other way round; `None` for what is no number. The quotients of decimal numbers are decimal
/// numbers again.
pub(super) fn in_base(shown: f64, unit: ShownUnit) -> Option<f64> {
    let base = match unit {
        ShownUnit::S | ShownUnit::Number => shown,
        ShownUnit::Ms => shown / 1e3,
        ShownUnit::Mbit => shown * 1e6,
        ShownUnit::Percent => shown / 1e2,
    };
    base.is_finite().then_some(base)
}

fn three_digits(value: f64) -> usize {
    if value == 0.0 {
        return 0;
    }
    (2.0 - value.abs().log10().floor()).clamp(0.0, MOST_DECIMALS) as usize
}

/// Decimals of a figure with this interval: its half width has two digits up to 29, and one from 3
/// on, so that rounding changes it by a sixth at most.
fn decimals(range: FigureRange) -> Option<usize> {
    let half = (range.high - range.low) / 2.0;
    // Values that are always the same may differ by the error of the computation.
    let size = range.high.abs().max(range.low.abs());
    let is_known = half.is_finite() && half > size * NEGLIGIBLE;
    is_known.then(|| (-(half / 2.999_999).log10().floor()).clamp(0.0, MOST_DECIMALS) as usize)
}

fn written(value: f64, decimals: usize) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".to_owned();
    }
    let is_lost = size > 0.0 && size < SMALL && decimals >= MOST_DECIMALS as usize;
    if size >= LARGE || is_lost {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| c == '0' || c == '.') => zero.to_owned(),
        _ => text,
    }
}

/// A figure that is known exactly, or whose precision is unknown: three significant digits.
pub(super) fn three(value: f64) -> String {
    written(value, three_digits(value))
}

/// A published figure: as it was published, but for more than four significant digits.
pub(super) fn published(value: f64) -> String {
    let text = written(value, three_digits(value) + 1);
    if text.contains('e') || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The mean alone: `16.3`, `≥ 120` where it is a lower bound; `None` without one.
pub(super) fn mean(of: &CellEstimate) -> Option<String> {
    let mean = of.mean?;
    let digits = of.interval.and_then(decimals);
    // An interval above 0 that is far wider than its mean leaves the mean a digit.
    let first_digit = match of.interval {
        Some(range) if range.low > 0.0 => three_digits(mean).saturating_sub(2),
        _ => 0,
    };
    let digits = digits.map(|digits| digits.max(first_digit));
    let text = written(mean, digits.unwrap_or_else(|| three_digits(mean)));
    let bound = if of.unfinished > 0 { "≥ " } else { "" };
    Some(format!("{bound}{text}"))
}

pub(super) fn range(of: FigureRange, mean: Option<f64>) -> String {
    let digits = decimals(of).unwrap_or_else(|| three_digits(mean.unwrap_or(of.high)));
    let ends = [of.low, of.high].map(|end| written(end, digits));
    ends.join(" .. ")
}

/// The interval with the marks of the warnings about it: `14.1 .. 18.4 *`.
fn marked_interval(of: &CellEstimate) -> Option<String> {
    let marks = WARNINGS
        .iter()
        .filter(|(warning, ..)| of.warnings.contains(warning));
    let marks: String = marks.map(|(_, mark, ..)| *mark).collect();
    let marked = format!("{} {marks}", range(of.interval?, of.mean));
    Some(marked.trim_end().to_owned())
}

/// All of a mean: `16.3 (14.1 .. 18.4)`, `≥ 120 (no interval; 1 of 3 unfinished)`.
pub(super) fn estimate(of: &CellEstimate) -> Words {
    let Some(mean) = mean(of) else {
        return NOT_MEASURED.into();
    };
    let mut aside = marked_interval(of).unwrap_or_else(|| NONE.to_owned());
    if of.unfinished > 0 {
        let all = of.count.max(of.unfinished);
        aside += &format!("; {} of {all} unfinished", of.unfinished);
    }
    Words::from(mean).aside(aside)
}

pub(super) fn with_sign(of: &CellEstimate, unit: Option<ShownUnit>) -> String {
    match (mean(of), unit.map(sign)) {
        (Some(mean), Some(sign)) if !sign.is_empty() => {
            let range = marked_interval(of).map(|range| format!(" ({range})"));
            format!("{mean} {sign}{}", range.unwrap_or_default())
        }
        _ => estimate(of).text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mean: f64, ends: Option<(f64, f64)>) -> CellEstimate {
        CellEstimate {
            count: 3,
            mean: Some(mean),
            interval: ends.map(|(low, high)| FigureRange { low, high }),
            ..CellEstimate::default()
        }
    }

    #[test]
    fn a_mean_has_the_digits_of_its_interval() {
        let table = [
            (of(16.271, Some((14.08, 18.46))), "16.3 (14.1 .. 18.5)"),
            (of(16.271, Some((15.9, 16.6))), "16.3 (15.9 .. 16.6)"),
            (
                of(0.0412, Some((0.0398, 0.0421))),
                "0.0412 (0.0398 .. 0.0421)",
            ),
            (of(3.0, Some((3.0, 3.0))), "3.00 (3.00 .. 3.00)"),
            (
                of(100.0, Some((100.0 - 1e-11, 100.0 + 1e-11))),
                "100 (100 .. 100)",
            ),
            (of(-0.4, Some((-3.0, 2.2))), "-0.4 (-3.0 .. 2.2)"),
            (of(-0.4, Some((-33.0, 32.2))), "0 (-33 .. 32)"),
            (of(0.31, Some((3.4e-4, 3764.0))), "0.3 (0 .. 3764)"),
            (of(1234.5, None), "1234 (no interval)"),
            (of(0.0, None), "0 (no interval)"),
            (of(2.5e-6, None), "2.50e-6 (no interval)"),
            (
                of(1e300, Some((1e299, 1e301))),
                "1.00e300 (1.00e299 .. 1.00e301)",
            ),
            (of(f64::NAN, Some((f64::NEG_INFINITY, 1.0))), "- (- .. 1)"),
        ];
        for (estimate_of, expected) in table {
            assert_eq!(estimate(&estimate_of).text(), expected);
        }
        let bound = CellEstimate {
            unfinished: 1,
            ..of(120.0, None)
        };
        assert_eq!(
            estimate(&bound).text(),
            "≥ 120 (no interval; 1 of 3 unfinished)"
        );
        assert_eq!(estimate(&CellEstimate::default()).text(), NOT_MEASURED);
    }

    #[test]
    fn a_published_figure_stays_as_it_is() {
        let table = [
            (16.27, "16.27"),
            (42.2, "42.2"),
            (84.0, "84"),
            (0.1, "0.1"),
            (1234.0, "1234"),
            (30.166_666_667, "30.17"),
            (0.0, "0"),
            (-3.5, "-3.5"),
        ];
        for (value, expected) in table {
            assert_eq!(published(value), expected);
        }
    }

    #[test]
    fn units_there_and_back() {
        for unit in [
            ShownUnit::S,
            ShownUnit::Ms,
            ShownUnit::Mbit,
            ShownUnit::Percent,
            ShownUnit::Number,
        ] {
            assert_eq!(in_base(in_unit(0.25, unit), unit), Some(0.25));
        }
        assert_eq!(in_base(16.27, ShownUnit::Ms), Some(0.01627));
        assert_eq!(in_base(f64::NAN, ShownUnit::S), None);
    }
}
