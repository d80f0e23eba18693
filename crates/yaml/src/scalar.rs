//! Scalars: the core schema of YAML 1.2 (section 10.3.2), with `_` between digits.

/// Type of a plain scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlainScalar {
    /// `null`, or nothing.
    Null,
    /// `true` or `false`.
    Truth(bool),
    /// A whole number that is not negative.
    Natural(u64),
    /// A whole number below zero.
    Negative(i64),
    /// Any other number, also a whole one of more than 64 bits.
    Real(f64),
    /// Anything else.
    Text,
}

impl PlainScalar {
    /// The type of a text by the rules for plain scalars.
    pub fn of(text: &str) -> PlainScalar {
        if is_null(text) {
            return PlainScalar::Null;
        }
        match text {
            "true" | "True" | "TRUE" => PlainScalar::Truth(true),
            "false" | "False" | "FALSE" => PlainScalar::Truth(false),
            _ => number(text).unwrap_or(PlainScalar::Text),
        }
    }

    /// A number without a fraction as a whole one, unless it may have lost digits.
    pub(crate) fn as_whole(self) -> PlainScalar {
        const EXACT: f64 = (1_u64 << 53) as f64;
        match self {
            PlainScalar::Real(real) if real.fract() == 0.0 && real.abs() <= EXACT => {
                let whole = real as i64;
                u64::try_from(whole).map_or(PlainScalar::Negative(whole), PlainScalar::Natural)
            }
            _ => self,
        }
    }
}

pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// A truth value where one is expected, including those of YAML 1.1.
pub fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" => Some(true),
        "false" | "no" | "n" | "off" => Some(false),
        _ => None,
    }
}

/// The number of a text by the rules for plain scalars, in decimal digits: `0x400` is `1024`, and
/// so is `1_024`. For texts that may be numbers; `None` for others.
pub fn decimal(text: &str) -> Option<String> {
    Some(match number(text)? {
        PlainScalar::Natural(number) => number.to_string(),
        PlainScalar::Negative(number) => number.to_string(),
        // A whole number of more than 64 bits would lose digits.
        PlainScalar::Real(_) if is_whole(text) => return None,
        PlainScalar::Real(number) => number.to_string(),
        PlainScalar::Null | PlainScalar::Truth(_) | PlainScalar::Text => return None,
    })
}

/// The number of a text.
pub(crate) fn number(text: &str) -> Option<PlainScalar> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    match digits {
        ".inf" | ".Inf" | ".INF" if is_negative => {
            return Some(PlainScalar::Real(f64::NEG_INFINITY));
        }
        ".inf" | ".Inf" | ".INF" => return Some(PlainScalar::Real(f64::INFINITY)),
        ".nan" | ".NaN" | ".NAN" if digits == text => return Some(PlainScalar::Real(f64::NAN)),
        _ => {}
    }
    if let Some(whole) = whole(digits) {
        if !is_negative {
            return Some(PlainScalar::Natural(whole));
        }
        let negative = 0_i64.checked_sub_unsigned(whole);
        return Some(negative.map_or(PlainScalar::Real(-(whole as f64)), PlainScalar::Negative));
    }
    // Rust's names of numbers are texts here, and a number too large is not infinity.
    let is_real = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !(digits.len() > 1
            && digits.bytes().all(|bytes| bytes.is_ascii_digit())
            && digits.starts_with('0'));
    let real = is_real.then(|| text.parse::<f64>().ok()).flatten()?;
    real.is_finite().then_some(PlainScalar::Real(real))
}

/// True if it is written as a whole number, of any size.
pub(crate) fn is_whole(text: &str) -> bool {
    whole_digits(text.strip_prefix(['-', '+']).unwrap_or(text)).is_some()
}

/// A whole number without its sign.
fn whole(digits: &str) -> Option<u64> {
    let (radix, digits) = whole_digits(digits)?;
    u64::from_str_radix(&digits, radix).ok()
}

/// The base of a whole number, and its digits. A leading zero, which means octal in YAML 1.1, makes
/// it a text.
fn whole_digits(digits: &str) -> Option<(u32, String)> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', b'o', ..] => (8, &digits[2..]),
        [b'0', _, ..] => return None,
        _ => (10, digits),
    };
    let is_joined = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    let plain = digits.replace('_', "");
    let is_whole = !plain.is_empty() && plain.chars().all(|digit| digit.is_digit(radix));
    (is_whole && !is_joined).then_some((radix, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_what_the_core_schema_says() {
        let cases = [
            ("", PlainScalar::Null),
            ("~", PlainScalar::Null),
            ("null", PlainScalar::Null),
            ("nUll", PlainScalar::Text),
            ("true", PlainScalar::Truth(true)),
            ("FALSE", PlainScalar::Truth(false)),
            ("yes", PlainScalar::Text),
            ("0", PlainScalar::Natural(0)),
            ("+12", PlainScalar::Natural(12)),
            ("-12", PlainScalar::Negative(-12)),
            ("-0", PlainScalar::Negative(0)),
            ("1_000_000", PlainScalar::Natural(1_000_000)),
            ("1__0", PlainScalar::Text),
            ("_1", PlainScalar::Text),
            ("1_", PlainScalar::Text),
            ("0x1F", PlainScalar::Natural(31)),
            ("0o17", PlainScalar::Natural(15)),
            ("017", PlainScalar::Text),
            ("00", PlainScalar::Text),
            ("0x", PlainScalar::Text),
            ("0x+1", PlainScalar::Text),
            ("+-1", PlainScalar::Text),
            ("++1", PlainScalar::Text),
            ("18446744073709551615", PlainScalar::Natural(u64::MAX)),
            (
                "18446744073709551616",
                PlainScalar::Real(18_446_744_073_709_551_616.0),
            ),
            ("-9223372036854775808", PlainScalar::Negative(i64::MIN)),
            (
                "-9223372036854775809",
                PlainScalar::Real(-9_223_372_036_854_775_809.0),
            ),
            ("1.5", PlainScalar::Real(1.5)),
            ("-1.5e3", PlainScalar::Real(-1500.0)),
            ("0.25", PlainScalar::Real(0.25)),
            (".5", PlainScalar::Real(0.5)),
            ("1e3", PlainScalar::Real(1000.0)),
            ("1e999", PlainScalar::Text),
            (".inf", PlainScalar::Real(f64::INFINITY)),
            ("-.INF", PlainScalar::Real(f64::NEG_INFINITY)),
            ("inf", PlainScalar::Text),
            ("nan", PlainScalar::Text),
            ("-nan", PlainScalar::Text),
            ("-.nan", PlainScalar::Text),
            ("infinity", PlainScalar::Text),
            ("1.2.3", PlainScalar::Text),
            ("1 KiB", PlainScalar::Text),
            ("1ms", PlainScalar::Text),
            ("-", PlainScalar::Text),
            (".", PlainScalar::Text),
            ("e3", PlainScalar::Text),
            ("ü", PlainScalar::Text),
        ];
        for (text, expected) in cases {
            assert_eq!(PlainScalar::of(text), expected, "{text}");
        }
        assert!(matches!(PlainScalar::of(".nan"), PlainScalar::Real(real) if real.is_nan()));
    }
}
