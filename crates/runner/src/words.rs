//! Words of command lines and of messages.

use record::LeftBehind;

/// True if a text can be a URL: `localhost`, or with a dot, a slash or a colon; a path that begins
/// with a dot or a slash cannot.
pub fn may_be_url(text: &str) -> bool {
    let is_path = text.starts_with(['.', '/']);
    let has_parts = text.contains(['.', '/', ':']);
    !is_path && (has_parts || text.eq_ignore_ascii_case("localhost"))
}

/// `1 run`, `2 runs`.
pub fn number_of(count: usize, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// An estimated time: `40 s`, `12 min`, `2.5 h`.
pub fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 9.5 => format!("{:.0} s", s.max(1.0)),
        s if s < 95.0 => format!("{:.0} s", (s / 10.0).round() * 10.0),
        s if s < 5700.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Description of a leftover.
pub fn still_there(left: &LeftBehind) -> String {
    format!("still on the server: {} ({})", left.url, left.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_differ_from_words() {
        for url in [
            "localhost",
            "LocalHost",
            "h/dav",
            "h:81",
            "[::1]",
            "dav.example",
        ] {
            assert!(may_be_url(url), "{url}");
        }
        for word in ["GET", "lod", "nas", "./run", "/run", ""] {
            assert!(!may_be_url(word), "{word}");
        }
    }

    #[test]
    fn estimates_are_rounded() {
        let table = [
            (0.2, "1 s"),
            (7.4, "7 s"),
            (44.0, "40 s"),
            (700.0, "12 min"),
            (9000.0, "2.5 h"),
        ];
        for (seconds, expected) in table {
            assert_eq!(roughly(seconds), expected);
        }
    }
}
