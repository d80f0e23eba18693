//! Estimates for people, with no more digits than are known.

use crate::units::{human, human_range};

/// Ratios beyond which none is printed: nobody needs to know by how much more.
const MOST: f64 = 1000.0;

/// A share of two digits: `3.2 %`, `14 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = usize::from(percent.abs() < 9.95);
    format!("{percent:.digits$} %")
}

/// What a ratio changes: `+3.2 %`, `-12 %`, and from twofold on `×2.4`, `×14`, `÷14`.
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        more if more >= 1.995 => format!("×{}", fold(more)),
        less if less <= 1.0 / 1.995 => format!("÷{}", fold(1.0 / less)),
        ratio => match percent(ratio - 1.0) {
            less if ratio < 1.0 => less,
            more => format!("+{more}"),
        },
    }
}

/// Two digits of a factor that is larger than one.
fn fold(factor: f64) -> String {
    match factor {
        f if f > MOST => format!("{MOST} or more"),
        f if f < 9.95 => format!("{f:.1}"),
        f if f < 99.5 => format!("{f:.0}"),
        f => format!("{:.0}", (f / 10.0).round() * 10.0),
    }
}

/// Decimals of a figure with this interval: its half width has one or two digits.
pub(crate) fn decimals((low, high): (f64, f64)) -> usize {
    let half = (high - low) / 2.0;
    match half > 0.0 {
        true => (-half.log10().floor()).clamp(0.0, 2.0) as usize,
        false => 2,
    }
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
            (1.0, "+0.0 %"),
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
            (21_086.3, "×1000 or more"),
            (f64::INFINITY, "×1000 or more"),
            (0.0, "÷1000 or more"),
        ];
        for (ratio, expected) in table {
            assert_eq!(change(ratio), expected, "{ratio}");
        }
        assert_eq!(percent(13.016), "1302 %");
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
