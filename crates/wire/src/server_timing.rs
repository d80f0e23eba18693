//! Server-Timing, in which a server reports its times (W3C Server Timing, section 3.1).
//!
//! ```text
//! Server-Timing: db;dur=12.3;desc="users, groups", cache;desc=hit
//! ```
use crate::request::is_token;

/// Longest duration that is accepted: a day, in milliseconds.
const LONGEST: f64 = 86_400_000.0;

/// A metric of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimingMetric<'a> {
    /// Its name, a token.
    pub name: &'a str,
    /// Duration in nanoseconds; `None` where it is missing or not a number.
    pub duration: Option<u64>,
}

/// The metrics of one field, in order. Malformed ones are skipped.
pub fn server_timing(value: &str) -> impl Iterator<Item = TimingMetric<'_>> {
    elements(value, b',').filter_map(metric)
}

fn metric(element: &str) -> Option<TimingMetric<'_>> {
    let mut parts = elements(element, b';');
    let name = parts.next().filter(|name| is_token(name))?;
    // Of several parameters of a name the first one counts.
    let duration = parts.find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let is_duration = key.trim().eq_ignore_ascii_case("dur");
        is_duration.then(|| nanoseconds(value.trim()))
    });
    Some(TimingMetric {
        name,
        duration: duration.flatten(),
    })
}

/// The parts between separators that are in no quoted string, trimmed.
fn elements(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut is_quoted, mut is_escaped) = (false, false);
        let end = text.bytes().position(|byte| {
            let is_end = byte == separator && !is_quoted;
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_quoted => is_escaped = true,
                b'"' => is_quoted = !is_quoted,
                _ => {}
            }
            is_end
        });
        let (element, behind) = match end {
            Some(end) => (&text[..end], Some(&text[end + 1..])),
            None => (text, None),
        };
        rest = behind;
        Some(element.trim())
    })
}

/// Nanoseconds of a number of milliseconds, a token or in quotes.
fn nanoseconds(value: &str) -> Option<u64> {
    let inner = value.strip_prefix('"');
    let value = inner.map_or(Some(value), |inner| inner.strip_suffix('"'))?;
    let number: f64 = value.parse().ok()?;
    let is_accepted = (0.0..=LONGEST).contains(&number);
    is_accepted.then(|| (number * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(value: &str) -> Vec<(&str, Option<u64>)> {
        let metrics = server_timing(value);
        metrics
            .map(|metric| (metric.name, metric.duration))
            .collect()
    }

    #[test]
    fn metrics_have_names_and_perhaps_durations() {
        for (value, expected) in [
            ("db;dur=53", &[("db", Some(53_000_000))][..]),
            (
                "miss, db;dur=53, app;dur=47.2",
                &[
                    ("miss", None),
                    ("db", Some(53_000_000)),
                    ("app", Some(47_200_000)),
                ],
            ),
            (
                "customView, dc;desc=atl",
                &[("customView", None), ("dc", None)],
            ),
            (
                "cache;desc=\"Read, or; not\";dur=23.2",
                &[("cache", Some(23_200_000))],
            ),
            (
                "a;desc=\"say \\\"b;dur=1\\\", \";dur=2,c",
                &[("a", Some(2_000_000)), ("c", None)],
            ),
            (" x ; DUR = \"0.000001\" ", &[("x", Some(1))]),
            ("x;dur=1;dur=2", &[("x", Some(1_000_000))]),
            ("x;dur=1e3", &[("x", Some(1_000_000_000))]),
        ] {
            assert_eq!(read(value), expected, "{value}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for value in [
            "-1", "nan", "NaN", "inf", "-inf", "infinity", "1e400", "86400001", "", "1 2", "0x10",
            "\"1", "1\"", "ms", "1;",
        ] {
            let text = format!("x;dur={value}");
            let expected = (value == "1;").then_some(1_000_000);
            assert_eq!(read(&text), [("x", expected)], "{value}");
        }
        for value in [
            "",
            ",",
            ";",
            ", ;dur=1,",
            "a b;dur=1",
            "\u{1b}[2J;dur=1",
            "\u{e9};dur=3",
            "\"x\";dur=1",
        ] {
            assert_eq!(read(value), [], "{value}");
        }
    }

    /// Text that looks like the header often enough to get deep into it.
    fn almost() -> impl Strategy<Value = String> {
        let parts = vec![
            "db", ";", ",", "dur", "=", "1.5", "\"", "\\", "desc", " ", "nan", "-", "1e308",
            "\u{e9}",
        ];
        prop::collection::vec(prop::sample::select(parts), 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read(text in prop_oneof![almost(), any::<String>()]) {
            let metrics: Vec<TimingMetric<'_>> = server_timing(&text).collect();
            prop_assert!(metrics.len() <= text.len() + 1);
            for metric in metrics {
                prop_assert!(is_token(metric.name) && text.contains(metric.name));
                prop_assert!(metric.duration.is_none_or(|nanos| nanos <= 86_400_000_000_000));
            }
        }

        #[test]
        fn what_was_written_is_read(written in prop::collection::vec(("[a-zA-Z][a-z0-9_.-]{0,8}", prop::option::of(0..10_000_000_u64), "[ -~]{0,12}"), 0..6)) {
            let field = |(name, duration, text): &(String, Option<u64>, String)| {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                let duration = duration.map_or(String::new(), |micros| format!(" ; dur={}", micros as f64 / 1000.0));
                format!("{name};desc=\"{text}\"{duration}")
            };
            let value: Vec<String> = written.iter().map(field).collect();
            let value = value.join(" , ");
            let expected: Vec<(&str, Option<u64>)> =
                written.iter().map(|(name, micros, _)| (name.as_str(), micros.map(|micros| micros * 1000))).collect();
            prop_assert_eq!(read(&value), expected);
        }
    }
}
