//! Foreign text, made harmless for terminals.

/// Makes control characters visible, `\u{1b}` for example, and those that reorder text.
///
/// A server writes its own name and its messages. Printed as they are they could move the cursor,
/// recolour the report, or spell something else than they say (bidirectional overrides, Unicode
/// Standard Annex 9, section 2).
pub fn clean(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut out, c| {
            if is_harmful(c) {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
            out
        })
}

fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible_and_the_rest_stays() {
        let table = [
            ("Apache/2.4 (Debian)", "Apache/2.4 (Debian)"),
            ("größe 10 µs", "größe 10 µs"),
            ("\u{1b}[2Jgone\r\n", "\\u{1b}[2Jgone\\r\\n"),
            ("a\u{202e}b\u{9b}31m", "a\\u{202e}b\\u{9b}31m"),
        ];
        for (foreign, expected) in table {
            assert_eq!(clean(foreign), expected);
        }
    }
}
