//! Foreign text, made harmless for terminals.

/// Makes control characters visible, `\u{1b}` for example, and those that reorder or hide text.
///
/// A server chooses its name and its messages. Printed unchanged they could move the cursor,
/// recolour the report, or be displayed as other text (bidirectional overrides, Unicode Standard
/// Annex 9, section 2; characters without a width, UTS 39). Characters that no document of XML can
/// hold (XML 1.0, section 2.2) become visible, too.
///
/// The two joiners stay inside of words whose letters they shape, and of emoji.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (offset, c) in text.char_indices() {
        let after = text.get(offset + c.len_utf8()..).unwrap_or_default();
        let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
        let joins =
            || out.chars().next_back().is_some_and(is_shaped) && after.starts_with(is_shaped);
        if is_harmful(c) && !(is_joiner && joins()) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// True if a joiner beside `c` can be visible: in scripts from Hebrew on, and beside signs. Between
/// other letters it would only hide that two words differ.
fn is_shaped(c: char) -> bool {
    c >= '\u{590}' && !c.is_whitespace() && !is_harmful(c)
}

/// The letters of a text after [`clean()`], by which it may be shortened: the replacement of a
/// harmful character is one of them.
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

/// True if a terminal or a reader could take `c` for something other than a letter.
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
        || is_noncharacter(c)
}

/// Code points that are never characters (Unicode, section 23.7). XML forbids two of them.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe
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
            (
                "a\u{fffe}\u{ffff}\u{1fffe}",
                "a\\u{fffe}\\u{ffff}\\u{1fffe}",
            ),
            // Joiners: in Persian, in Hindi, in an emoji; and where they would be invisible.
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("क्\u{200d}ष", "क्\u{200d}ष"),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
            ("pay\u{200d}pal", "pay\\u{200d}pal"),
            ("\u{200d}💻 👩\u{200c}", "\\u{200d}💻 👩\\u{200c}"),
            ("م\u{200c}\u{202e}م", "م\\u{200c}\\u{202e}م"),
        ];
        for (foreign, expected) in table {
            assert_eq!(clean(foreign), expected);
        }
    }
}
