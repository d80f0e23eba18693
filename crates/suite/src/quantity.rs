//! Sizes and times as people write them.

use std::time::Duration;

/// Reads a size: `512`, `1KiB`, `64 KiB`, `1MiB`, `10kB`, `1.5MB`.
///
/// # Errors
/// A sentence that says what is accepted.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(size_help(text)),
    };
    scaled(number, factor as f64)
        .filter(|bytes| bytes.fract() == 0.0 && *bytes <= 2f64.powi(53))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| size_help(text))
}

/// Reads a time: `30s`, `250ms`, `1.5s`, `10m`, `1h`, `30d`, `20us`. A bare number means seconds.
///
/// # Errors
/// A sentence that says what is accepted.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
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
        _ => return Err(duration_help(text)),
    };
    scaled(number, nanos)
        .filter(|nanos| *nanos < 1e18)
        .map(|nanos| Duration::from_nanos(nanos.round() as u64))
        .ok_or_else(|| duration_help(text))
}

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

fn size_help(text: &str) -> String {
    format!("`{text}` is no size; write 512, 1KiB, 64KiB or 1MiB")
}

fn duration_help(text: &str) -> String {
    format!("`{text}` is no time; write 250ms, 30s, 10m or 1h")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let table = [
            ("0", Some(0)),
            ("512", Some(512)),
            ("1KiB", Some(1024)),
            ("64 KiB", Some(65_536)),
            ("1.5KiB", Some(1536)),
            ("1MiB", Some(1_048_576)),
            ("10kB", Some(10_000)),
            ("", None),
            ("-1", None),
            ("1.3B", None),
            ("1 kilo", None),
            ("KiB", None),
            ("99999999999999999999", None),
        ];
        for (text, bytes) in table {
            assert_eq!(parse_size(text).ok(), bytes, "{text}");
        }
    }

    #[test]
    fn durations() {
        let table = [
            ("0s", Some(0)),
            ("30", Some(30_000_000_000)),
            ("250ms", Some(250_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("2m", Some(120_000_000_000)),
            ("20us", Some(20_000)),
            ("20\u{b5}s", Some(20_000)),
            ("20\u{3bc}s", Some(20_000)),
            ("", None),
            ("-1s", None),
            ("1 fortnight", None),
            ("1e3s", None),
            ("99999999999h", None),
        ];
        for (text, nanos) in table {
            let got = parse_duration(text)
                .ok()
                .map(|duration| duration.as_nanos());
            assert_eq!(got, nanos, "{text}");
        }
    }
}
