//! Times for people: three significant digits and a unit that fits.

use record::TimeUnit;

/// Units from the finest on: name and nanoseconds.
const UNITS: [(&str, f64); 3] = [("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A time in nanoseconds as `412 µs`, `14.2 ms` or `1.30 s`.
///
/// Below a microsecond it stays in microseconds (`0.041 µs`), above 1000 s in seconds.
pub fn human(ns: f64) -> String {
    human_in(None, ns)
}

/// The same in the requested unit, if there is one: `0.041 ms`.
pub fn human_in(unit: Option<TimeUnit>, ns: f64) -> String {
    let (unit, scale) = unit.map_or_else(|| unit_for(ns), TimeUnit::sign_and_nanos);
    let value = ns / scale;
    format!("{value:.*} {unit}", decimals(value))
}

/// Two times in nanoseconds with one unit, that of the greater: `13.9 .. 14.6 ms`.
///
/// As many digits as the greater one needs, and a few more where both would read the same.
pub fn human_range(ends: (f64, f64)) -> String {
    human_range_in(None, ends)
}

/// The same in the requested unit, if there is one.
pub fn human_range_in(unit: Option<TimeUnit>, (low, high): (f64, f64)) -> String {
    let (unit, scale) = unit.map_or_else(|| unit_for(high), TimeUnit::sign_and_nanos);
    let (low, high) = (low / scale, high / scale);
    let least = decimals(high);
    let digits = (least..=least + 2)
        .find(|digits| format!("{low:.digits$}") != format!("{high:.digits$}"))
        .unwrap_or(least);
    format!("{low:.digits$} .. {high:.digits$} {unit}")
}

/// A multiple: `16`, `3.4`, `1.52`. Two digits distinguish 1.04 from 1.
pub fn factor(ratio: f64) -> String {
    let digits = usize::from(ratio < 9.95) + usize::from(ratio < 1.995);
    format!("{ratio:.digits$}")
}

/// The coarsest unit in which the time, rounded to three digits, is at least one.
fn unit_for(ns: f64) -> (&'static str, f64) {
    let fits = |(_, scale): &&(&str, f64)| ns / scale >= 0.9995;
    *UNITS.iter().rev().find(fits).unwrap_or(&UNITS[0])
}

/// Decimals that make three significant digits, after rounding.
fn decimals(value: f64) -> usize {
    match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit_that_fits() {
        let table = [
            (0.0, "0.000 µs"),
            (41.0, "0.041 µs"),
            (999.6, "1.00 µs"),
            (1_234.0, "1.23 µs"),
            (9_996.0, "10.0 µs"),
            (99_960.0, "100 µs"),
            (412_499.0, "412 µs"),
            (999_499.0, "999 µs"),
            (999_500.0, "1.00 ms"),
            (14_248_123.0, "14.2 ms"),
            (999_500_000.0, "1.00 s"),
            (1_304_000_000.0, "1.30 s"),
            (4_321e9, "4321 s"),
        ];
        for (ns, expected) in table {
            assert_eq!(human(ns), expected, "{ns}");
        }
    }

    #[test]
    fn a_unit_that_was_asked_for_is_kept() {
        let table = [
            (41_000.0, "0.041 ms", "0.041 .. 82.000 ms"),
            (1_304_000_000.0, "1304 ms", "1304 .. 2608 ms"),
        ];
        let unit = Some(TimeUnit::Milliseconds);
        for (ns, expected, range) in table {
            assert_eq!(human_in(unit, ns), expected, "{ns}");
            if ns > 1e6 {
                assert_eq!(human_range_in(unit, (ns, 2.0 * ns)), range);
            }
        }
        assert_eq!(human_in(Some(TimeUnit::Minutes), 90e9), "1.50 min");
    }

    #[test]
    fn a_factor_has_the_digits_that_say_something() {
        let table = [
            (0.5, "0.50"),
            (1.039, "1.04"),
            (1.994, "1.99"),
            (1.996, "2.0"),
            (9.94, "9.9"),
            (9.96, "10"),
            (163.4, "163"),
        ];
        for (ratio, expected) in table {
            assert_eq!(factor(ratio), expected, "{ratio}");
        }
    }

    #[test]
    fn a_range_has_one_unit_and_reads_as_two_values() {
        let table = [
            ((13.91e6, 14.58e6), "13.9 .. 14.6 ms"),
            ((0.0, 1.5e6), "0.00 .. 1.50 ms"),
            ((900e3, 1.2e6), "0.90 .. 1.20 ms"),
            ((14.236e6, 14.244e6), "14.236 .. 14.244 ms"),
            ((14.231e6, 14.239e6), "14.23 .. 14.24 ms"),
            ((5e3, 5e3), "5.00 .. 5.00 µs"),
        ];
        for (range, expected) in table {
            assert_eq!(human_range(range), expected, "{range:?}");
        }
    }
}
