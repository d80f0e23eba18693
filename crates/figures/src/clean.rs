//! Foreign text, made harmless for terminals.

/// Makes control characters visible, `\u{1b}` for example, and those that reorder or hide text.
///
/// A server writes its own name and its messages. Printed as they are they could move the cursor,
/// recolour the report, or spell something else than they say (bidirectional overrides, Unicode
/// Standard Annex 9, section 2; characters without a width, UTS 39).
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

/// The letters of a text after [`clean()`], by which it may be shortened: what stands for a harmful one is one of them.
pub fn letters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_hex = |inner: &str| inner.chars().all(|c| c.is_ascii_hexdigit());
        let code = rest
            .strip_prefix("\\u{")
            .and_then(|rest| rest.split_once('}'));
        let length = match code {
            Some((code, _)) if is_hex(code) => code.len() + "\\u{}".len(),
            _ if ["\\n", "\\r", "\\t"]
                .iter()
                .any(|known| rest.starts_with(known)) =>
            {
                2
            }
            _ => first.len_utf8(),
        };
        let (letter, others) = rest.split_at(length);
        rest = others;
        Some(letter)
    })
}

/// Whether a terminal or a reader could take `c` for something else than a letter.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_letter_is_one() {
        let table: [(&str, &[&str]); 4] = [
            ("aü", &["a", "ü"]),
            ("a\u{202e}b\n", &["a", "\\u{202e}", "b", "\\n"]),
            ("\\u{x}", &["\\", "u", "{", "x", "}"]),
            ("\\u{20", &["\\", "u", "{", "2", "0"]),
        ];
        for (text, expected) in table {
            assert_eq!(letters(&clean(text)).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn control_characters_become_visible_and_the_rest_stays() {
        let table = [
            ("Apache/2.4 (Debian)", "Apache/2.4 (Debian)"),
            ("größe 10 µs", "größe 10 µs"),
            ("\u{1b}[2Jgone\r\n", "\\u{1b}[2Jgone\\r\\n"),
            ("a\u{202e}b\u{9b}31m", "a\\u{202e}b\\u{9b}31m"),
            ("ab\u{200b}\u{e0061}", "ab\\u{200b}\\u{e0061}"),
            ("x\\nWarning: y", "x\\nWarning: y"),
        ];
        for (foreign, expected) in table {
            assert_eq!(clean(foreign), expected);
        }
    }
}
