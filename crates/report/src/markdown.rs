//! Foreign text in Markdown (CommonMark 0.31.2 and GitHub Flavored Markdown): text stays text.
//!
//! Reports in Markdown are posted to pull requests by machines. A server that names itself
//! `[click](http://...)`, or `@everybody`, must not make a link or a notification of it.

use crate::clean;

/// Keeps `@` from addressing a user. GitHub looks for names in the rendered text, where a backslash
/// before the `@` is gone; an invisible WORD JOINER after it remains.
const NO_MENTION: char = '\u{2060}';

/// `text` as part of a paragraph, a list item or a cell of a table, with control characters visible.
pub(crate) fn markdown(text: &str) -> String {
    let text = clean(text.trim());
    let mut escaped = String::with_capacity(text.len());
    for (place, c) in text.char_indices() {
        let (before, after) = (&text[..place], &text[place + c.len_utf8()..]);
        let before_digit = after.starts_with(|c: char| c.is_ascii_digit());
        let before_word = after.starts_with(|c: char| c.is_ascii_alphanumeric());
        let is_markup = match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '$' => true,
            '<' => before_word || after.starts_with(['/', '!', '?']),
            '&' => before_word || after.starts_with('#'),
            // A quotation, a list or a line, at the beginning only.
            '>' => before.is_empty(),
            '+' | '-' => before.is_empty() && !before_digit,
            ')' => is_number(before),
            '.' => {
                is_number(before) && !before_digit || before.to_ascii_lowercase().ends_with("www")
            }
            // Addresses become links by themselves.
            ':' => after.starts_with("//"),
            _ => false,
        };
        if is_markup {
            escaped.push('\\');
        }
        escaped.push(c);
        if c == '@' && before_word {
            escaped.push(NO_MENTION);
        }
    }
    escaped
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line of a table, of cells in which text is escaped.
pub(crate) fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// `text` as code, for names and addresses outside of tables. Inside code only a backtick means
/// something.
pub(crate) fn code(text: &str) -> String {
    let text = clean(text.trim()).replace('`', "'");
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let table = [
            ("PUT gave 500, 201 expected", "PUT gave 500, 201 expected"),
            ("10.5 ms (9.8 .. 11 ms)", "10.5 ms (9.8 .. 11 ms)"),
            ("-1.2 % .. +2.0 %", "-1.2 % .. +2.0 %"),
            ("a|b", "a\\|b"),
            ("**bold** _it_", "\\*\\*bold\\*\\* \\_it\\_"),
            ("![x](y)", "!\\[x\\](y)"),
            ("<img src=x>", "\\<img src=x>"),
            ("a < b & c > d @ 2 GHz", "a < b & c > d @ 2 GHz"),
            ("> quote", "\\> quote"),
            ("- item", "\\- item"),
            ("   1. item", "1\\. item"),
            ("&lt;&#60;", "\\&lt;\\&\\#60;"),
            ("a\nb", "a\\\\nb"),
            ("http://x/ WWW.x", "http\\://x/ WWW\\.x"),
            ("@team", "@\u{2060}team"),
        ];
        for (text, expected) in table {
            assert_eq!(markdown(text), expected);
        }
    }

    #[test]
    fn code_ends_where_it_ends() {
        assert_eq!(code("a`b|c\n"), "`a'b|c`");
        assert_eq!(code("\u{1b}[31m"), "`\\u{1b}[31m`");
    }
}
