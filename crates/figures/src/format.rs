//! Formats of numbers on axes and in tables.

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// No unit.
    Plain,
    /// A time in microseconds.
    Time,
    /// A share of one, as percent.
    Percent,
    /// Bits per second.
    Bits,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    ByteRate,
}

const TIMES: [(&str, f64); 3] = [("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
const BITS: [(&str, f64); 4] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
];
const BYTES: [(&str, f64); 4] = [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];
const BYTE_RATES: [(&str, f64); 4] = [("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)];

/// The largest unit of which there is one.
fn unit(units: &[(&'static str, f64)], value: f64) -> (&'static str, f64) {
    let fits = |(_, scale): &&(&str, f64)| value.abs() / scale >= 0.9995;
    units.iter().rev().find(fits).copied().unwrap_or(units[0])
}

impl Format {
    /// A round number, as on an axis: `1.5 ms`.
    pub fn tick(self, value: f64) -> String {
        let with_unit = |units| match unit(units, value) {
            _ if value == 0.0 => "0".to_owned(),
            (unit, scale) => format!("{} {unit}", plain(value / scale)),
        };
        match self {
            Format::Plain => plain(value),
            Format::Time => with_unit(&TIMES),
            Format::Bits => with_unit(&BITS),
            Format::Bytes => with_unit(&BYTES),
            Format::ByteRate => with_unit(&BYTE_RATES),
            Format::Percent => format!("{} %", significant(value * 100.0, 5)),
        }
    }

    /// With three digits, as in a table: `1.53 ms`.
    pub fn value(self, value: f64) -> String {
        let with_unit = |units| {
            let (unit, scale) = unit(units, value);
            format!("{} {unit}", digits(value / scale))
        };
        match self {
            Format::Plain => digits(value),
            Format::Time => with_unit(&TIMES),
            Format::Bits => with_unit(&BITS),
            Format::Bytes => with_unit(&BYTES),
            Format::ByteRate => with_unit(&BYTE_RATES),
            Format::Percent => format!("{} %", digits(value * 100.0)),
        }
    }
}

/// Three significant digits: `0.412`, `4.12`, `41.2`, `412`, `4123`.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// A round number without needless zeros.
pub fn plain(value: f64) -> String {
    let value = significant(value, 6);
    // A thousandth of a tick's unit, and less, is written without a row of zeros.
    match value.abs() {
        size if size != 0.0 && !(1e-5..1e15).contains(&size) => format!("{value:e}"),
        // There is no negative zero.
        _ => (value + 0.0).to_string(),
    }
}

/// Rounded to this many digits.
pub(crate) fn significant(value: f64, digits: usize) -> f64 {
    let written = format!("{value:.*e}", digits.saturating_sub(1));
    written.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_shortly() {
        let table = [
            (Format::Time, 412.3, "412.3 µs", "412 µs"),
            (Format::Time, 0.0, "0", "0.000 µs"),
            (Format::Time, 999.6, "0.9996 ms", "1.00 ms"),
            (Format::Time, 1.5e6, "1.5 s", "1.50 s"),
            (Format::Plain, 0.1 + 0.2, "0.3", "0.300"),
            (Format::Plain, -0.0, "0", "-0.000"),
            (Format::Plain, 1e-9, "1e-9", "0.000"),
            (Format::Plain, 1e12, "1000000000000", "1000000000000"),
            (Format::Percent, 0.25, "25 %", "25.0 %"),
            (Format::Percent, 0.123_456_7, "12.346 %", "12.3 %"),
            (Format::Bits, 94_300_000.0, "94.3 Mbit/s", "94.3 Mbit/s"),
            (Format::Bytes, 1460.0, "1.46 kB", "1.46 kB"),
            (Format::ByteRate, 2e6, "2 MB/s", "2.00 MB/s"),
        ];
        for (format, number, tick, value) in table {
            assert_eq!(format.tick(number), tick);
            assert_eq!(format.value(number), value);
        }
    }
}
