//! Words of command lines and of messages.

/// Whether a text can be a URL: `localhost`, or with a dot, a slash or a colon in it; a path that
/// begins with a dot or a slash cannot.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_words() {
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
}
