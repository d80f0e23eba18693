//! Text of a server, shortened and escaped for a message: on one line, without control sequences.

/// Bytes of the original that are shown at most.
const SHOWN: usize = 60;

/// The beginning of `bytes` with everything but printable ASCII escaped, "..." where it was cut.
pub(crate) fn escaped_bytes(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let dots = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}

/// The beginning of `text` with control characters escaped, "..." where it was cut.
pub(crate) fn escaped_text(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN);
    let end = cut.map_or(text.len(), |(at, _)| at);
    let dots = if end < text.len() { "..." } else { "" };
    format!("{}{dots}", text[..end].escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_long_text_is_cut() {
        assert_eq!(escaped_bytes(b"a\x1b[2J\r\n"), r"a\x1b[2J\r\n");
        assert_eq!(escaped_text("gr\u{fc}n\u{1b}[2J"), r"grün\u{1b}[2J");
        assert_eq!(escaped_bytes(&[b'x'; 61]), format!("{}...", "x".repeat(60)));
        let long = "ü".repeat(60);
        assert_eq!(escaped_text(&format!("{long}ü")), format!("{long}..."));
        assert_eq!(escaped_text(&long), long);
    }
}
