//! Rates, sizes and times as people write them.
//!
//! `suite::parse_size` and `suite::parse_duration` read sizes and times by these types, too.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// A number or a text of the file, before its unit is known.
#[derive(Debug, Clone)]
struct WrittenNumber(String);

impl<'de> Deserialize<'de> for WrittenNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = WrittenNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, with its unit")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<WrittenNumber, E> {
                Ok(WrittenNumber(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<WrittenNumber, E> {
                Ok(WrittenNumber(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<WrittenNumber, E> {
                Ok(WrittenNumber(value.to_string()))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<WrittenNumber, E> {
                Ok(WrittenNumber(value.to_owned()))
            }
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A whole number within limits, for the attribute `deserialize_with`: an error describes the
/// permitted values.
fn whole<'de, D: Deserializer<'de>, N: FromStr>(
    deserializer: D,
    what: &str,
) -> Result<N, D::Error> {
    let written = WrittenNumber::deserialize(deserializer)?.0;
    let wrong = || de::Error::custom(format!("`{written}` is no {what}"));
    written.parse().map_err(|_| wrong())
}

/// A number of instances.
pub(crate) fn instances<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let what = "number of instances; write a whole number from 1 on";
    whole(deserializer, what)
}

/// A port, if the key is present.
pub(crate) fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    whole(deserializer, "port; write a whole number from 1 to 65535").map(Some)
}

/// A quantity that a random variable can have: a time, a size or a number of blocks.
pub trait DrawnQuantity: FromStr<Err = String> {
    /// The number in the base unit: nanoseconds, bytes or blocks.
    fn number(&self) -> f64;
}

macro_rules! written_as_text {
    ($quantity:ident, $schema:literal, $example:literal) => {
        impl TryFrom<WrittenNumber> for $quantity {
            type Error = String;
            fn try_from(written: WrittenNumber) -> Result<Self, String> {
                written.0.parse()
            }
        }

        impl From<$quantity> for String {
            fn from(quantity: $quantity) -> String {
                quantity.to_string()
            }
        }

        #[cfg(feature = "schema")]
        impl JsonSchema for $quantity {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", "number"], "description": $example })
            }
        }
    };
}

/// A rate of payload in whole bits per second: `64kbit`, `10mbit`, `1.5 Mbit/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "WrittenNumber", into = "String")]
pub struct BitRate(u64);

impl BitRate {
    /// A rate in bits per second; it is at least 1.
    pub fn from_bits_per_second(rate: u64) -> Self {
        BitRate(rate.max(1))
    }

    /// Bits per second, never 0.
    pub fn bits_per_second(self) -> u64 {
        self.0
    }
}

impl FromStr for BitRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || format!("`{text}` is no rate; write 64kbit, 10mbit or 1.5gbit (per second)");
        let (number, unit) = split(text);
        let unit = unit.to_ascii_lowercase();
        let factor = match unit.strip_suffix("/s").unwrap_or(&unit) {
            "bit" => 1.0,
            "kbit" => 1e3,
            "mbit" => 1e6,
            "gbit" => 1e9,
            _ => return Err(help()),
        };
        let rate = scaled(number, factor).ok_or_else(help)?;
        if rate.fract() != 0.0 || !(1.0..=1e13).contains(&rate) {
            return Err(format!(
                "`{text}` is not between 1bit and 10000gbit, in whole bits per second"
            ));
        }
        Ok(BitRate(rate as u64))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1000, "kbit")];
        let unit = units
            .iter()
            .find(|(factor, _)| self.0.is_multiple_of(*factor));
        let (factor, unit) = unit.copied().unwrap_or((1, "bit"));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

written_as_text!(BitRate, "Rate", "A rate: `64kbit`, `10mbit`, `1gbit`.");

/// A size in bytes: `1460`, `8KiB`, `1.5MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "WrittenNumber", into = "String")]
pub struct Octets(u64);

impl Octets {
    /// A size in bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Octets(bytes)
    }

    /// Bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Octets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || format!("`{text}` is no size; write 512, 1KiB, 64KiB or 1MiB");
        let (number, unit) = split(text);
        let factor = match unit {
            "" | "B" => 1.0,
            "KiB" => 1024.0,
            "MiB" => 1_048_576.0,
            "GiB" => 1_073_741_824.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            _ => return Err(help()),
        };
        scaled(number, factor)
            .filter(|bytes| bytes.fract() == 0.0 && *bytes <= 2f64.powi(53))
            .map(|bytes| Octets(bytes as u64))
            .ok_or_else(help)
    }
}

impl fmt::Display for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let unit = units
            .iter()
            .find(|(factor, _)| self.0 > 0 && self.0.is_multiple_of(*factor));
        let (factor, unit) = unit.copied().unwrap_or((1, ""));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

written_as_text!(Octets, "Size", "A size: `1460`, `8KiB`, `2MB`.");

impl DrawnQuantity for Octets {
    fn number(&self) -> f64 {
        self.0 as f64
    }
}

/// A time in nanoseconds: `20ms`, `1.5s`, `250us`, `10m`. A bare number means seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "WrittenNumber", into = "String")]
pub struct TimeSpan(u64);

impl TimeSpan {
    /// A time in nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        TimeSpan(nanos)
    }

    /// Nanoseconds.
    pub fn nanos(self) -> u64 {
        self.0
    }
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || format!("`{text}` is no time; write 250ms, 30s, 10m or 1h");
        let (number, unit) = split(text);
        let nanos = match unit {
            "ns" => 1.0,
            // MICRO SIGN and GREEK SMALL LETTER MU look the same.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e3,
            "ms" => 1e6,
            "s" | "" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            _ => return Err(help()),
        };
        scaled(number, nanos)
            .filter(|nanos| *nanos < 1e18)
            .map(|nanos| TimeSpan(libm::round(nanos) as u64))
            .ok_or_else(help)
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
        let unit = units
            .iter()
            .find(|(factor, _)| self.0.is_multiple_of(*factor));
        let (factor, unit) = unit.copied().unwrap_or((1, "ns"));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

written_as_text!(TimeSpan, "Time", "A time: `20ms`, `1.5s`, `10m`.");

impl DrawnQuantity for TimeSpan {
    fn number(&self) -> f64 {
        self.0 as f64
    }
}

/// A number of blocks, which may have a fraction where it is a mean: `1`, `2.5`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "WrittenNumber", into = "String")]
pub struct BlockCount(f64);

impl BlockCount {
    /// One block.
    pub const ONE: BlockCount = BlockCount(1.0);
}

impl FromStr for BlockCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = match split(text) {
            (number, "") => scaled(number, 1.0),
            _ => None,
        };
        number
            .filter(|number| *number <= 1e9)
            .map(BlockCount)
            .ok_or_else(|| format!("`{text}` is no number of blocks; write 1 or 2.5"))
    }
}

impl fmt::Display for BlockCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

written_as_text!(BlockCount, "Blocks", "A number of blocks: `1`, `2.5`.");

impl DrawnQuantity for BlockCount {
    fn number(&self) -> f64 {
        self.0
    }
}

/// A part of a whole: `45%`, `22.5 %`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "WrittenNumber", into = "String")]
pub struct Percentage(f64);

impl Percentage {
    /// Per cent: 45 for `45%`.
    pub fn percent(self) -> f64 {
        self.0
    }
}

impl FromStr for Percentage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = match split(text) {
            (number, "%") => scaled(number, 1.0),
            _ => None,
        };
        percent
            .filter(|percent| *percent <= 100.0)
            .map(Percentage)
            .ok_or_else(|| format!("`{text}` is no share; write 45% (at most 100%)"))
    }
}

impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

written_as_text!(Percentage, "Percentage", "A part of the whole: `45%`.");

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn scaled(number: &str, factor: f64) -> Option<f64> {
    let value: f64 = number.parse().ok()?;
    Some(value * factor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates() {
        let table = [
            ("64kbit", Some(64_000)),
            ("10mbit", Some(10_000_000)),
            ("10 Mbit/s", Some(10_000_000)),
            ("1.5gbit", Some(1_500_000_000)),
            ("1bit", Some(1)),
            ("0bit", None),
            ("0.5bit", None),
            ("10", None),
            ("10MB", None),
            ("-1mbit", None),
            ("", None),
            ("99999999gbit", None),
        ];
        for (text, rate) in table {
            let read: Option<BitRate> = text.parse().ok();
            assert_eq!(read.map(BitRate::bits_per_second), rate, "{text}");
        }
    }

    #[test]
    fn sizes_times_counts_and_shares() {
        let size = |text: &str| text.parse().ok().map(Octets::bytes);
        assert_eq!(size("8KiB"), Some(8192));
        assert_eq!(size("1.3B"), None);
        assert_eq!(size("1 kilo"), None);
        let time = |text: &str| text.parse().ok().map(TimeSpan::nanos);
        assert_eq!(time("20ms"), Some(20_000_000));
        assert_eq!(time("30"), Some(30_000_000_000));
        assert_eq!(time("1e3s"), None);
        let count = |text: &str| text.parse::<BlockCount>().ok().map(|count| count.number());
        assert_eq!(count("2.5"), Some(2.5));
        assert_eq!(count("2ms"), None);
        let share = |text: &str| text.parse().ok().map(Percentage::percent);
        assert_eq!(share("22.5 %"), Some(22.5));
        assert_eq!(share("0.5"), None);
        assert_eq!(share("101%"), None);
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_as_the_same(number in 1u64..10_000_000_000_000) {
            let rate = BitRate::from_bits_per_second(number);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            let size = Octets::from_bytes(number);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
            let time = TimeSpan::from_nanos(number);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,20}") {
            let _ = text.parse::<BitRate>();
            let _ = text.parse::<Octets>();
            let _ = text.parse::<TimeSpan>();
            let _ = text.parse::<BlockCount>();
            let _ = text.parse::<Percentage>();
        }
    }
}
