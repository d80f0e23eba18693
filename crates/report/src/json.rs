//! Numbers of documents for programs, and how a document is written.

use figures::is_harmful;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
pub(crate) fn schema_of<T: schemars::JsonSchema>() -> String {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    pretty(&settings.into_generator().into_root_schema_for::<T>())
}

pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value)
        .expect("only a map with keys other than strings, or a type of ours that refuses, fails");
    visible(&text) + "\n"
}

/// The same document, and harmless on a terminal: JSON itself escapes only the control characters
/// of ASCII. Others can stand in strings only, where an escape means the same.
pub(crate) fn visible(json: &str) -> String {
    let mut units = [0; 2];
    json.chars()
        .fold(String::with_capacity(json.len()), |mut out, c| {
            if c != '\n' && is_harmful(c) {
                let units = c.encode_utf16(&mut units).iter();
                out.extend(units.map(|unit| format!("\\u{unit:04x}")));
            } else {
                out.push(c);
            }
            out
        })
}

/// Nanoseconds as microseconds, exact to the nanosecond: the quotient is the double nearest to a
/// decimal number with three places, and is printed as that number.
pub(crate) fn us(ns: f64) -> f64 {
    ns.round() / 1000.0
}

/// An estimate as documents have it: six significant digits. Nothing is known to more, and the
/// others differ from machine to machine.
pub(crate) trait KnownDigits {
    fn known(self) -> Self;
}

impl KnownDigits for f64 {
    fn known(self) -> f64 {
        format!("{self:.5e}").parse().unwrap_or(self)
    }
}

impl KnownDigits for (f64, f64) {
    fn known(self) -> (f64, f64) {
        (self.0.known(), self.1.known())
    }
}

impl KnownDigits for [f64; 2] {
    fn known(self) -> [f64; 2] {
        self.map(f64::known)
    }
}

impl<T: KnownDigits> KnownDigits for Option<T> {
    fn known(self) -> Option<T> {
        self.map(T::known)
    }
}

/// A seed: a number, or the digits of one above 9007199254740991 as text, because many readers of
/// JSON have no other numbers than doubles (RFC 8259, section 6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Seed")]
pub enum SeedJson {
    /// Exact as a double.
    Number(u64),
    /// Digits.
    Text(String),
}

impl From<u64> for SeedJson {
    fn from(seed: u64) -> SeedJson {
        const LARGEST: u64 = (1 << 53) - 1;
        match seed {
            ..=LARGEST => SeedJson::Number(seed),
            _ => SeedJson::Text(seed.to_string()),
        }
    }
}

/// Rounded to three decimals, enough for rates and seconds a person may read.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Both ends of the interval of a rate.
pub(crate) fn rates((low, high): (f64, f64)) -> (f64, f64) {
    (thousandths(low), thousandths(high))
}

pub(crate) fn percent(share: f64) -> f64 {
    thousandths(share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_six_digits() {
        for (value, expected) in [
            (1.0 / 3.0, 0.333333),
            (1_234_567.8, 1_234_570.0),
            (0.05 * 100.0 + 1e-15, 5.0),
            (-2e-300 / 3.0, -6.66667e-301),
            (0.0, 0.0),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(value.known().to_bits(), f64::to_bits(expected), "{value}");
        }
        assert_eq!(Some((2.0 / 3.0, 2.0)).known(), Some((0.666667, 2.0)));
    }

    #[test]
    fn seeds_that_are_no_doubles_are_texts() {
        for (seed, expected) in [
            (7, "7"),
            ((1 << 53) - 1, "9007199254740991"),
            (1 << 53, "\"9007199254740992\""),
            (u64::MAX, "\"18446744073709551615\""),
        ] {
            let written = serde_json::to_string(&SeedJson::from(seed));
            assert_eq!(written.ok().as_deref(), Some(expected));
        }
    }
}
