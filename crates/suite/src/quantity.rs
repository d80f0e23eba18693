//! Sizes and times in the notation of traffic files.

use std::time::Duration;

use traffic::{Octets, TimeSpan};

/// Parses a size: `512`, `1KiB`, `64 KiB`, `1MiB`, `10kB`, `1.5MB`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    text.parse().map(Octets::bytes)
}

/// Parses a time: `30s`, `250ms`, `1.5s`, `10m`, `1h`, `30d`, `20us`. A bare number means seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    text.parse()
        .map(|time: TimeSpan| Duration::from_nanos(time.nanos()))
}

/// The same, but a bare number is refused: other programs mean milliseconds.
pub(crate) fn duration_with_unit(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return Err(format!(
            "`{text}` is a time without a unit; write {text}ms or {text}s"
        ));
    }
    parse_duration(text)
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
