//! Foreign text in Markdown (CommonMark 0.31.2 and GitHub Flavored Markdown): text stays text.
//!
//! Reports in Markdown are posted to pull requests by machines. A server that names itself
//! `[click](http://...)`, or `@everybody`, must not make a link or a notification of it, and the
//! note `disk #12` no mention in the twelfth issue.

use crate::clean;

/// Keeps text from being a reference. GitHub and GitLab look for users (`@name`), issues (`#12`,
/// `GH-12`), merge requests (`!12`), labels (`~name`) and the like in the rendered text, without
/// the backslashes; an invisible WORD JOINER remains.
const NO_REFERENCE: char = '\u{2060}';

/// Signs in front of a name or a number of which both make references.
const REFERRING: [char; 7] = ['@', '#', '!', '~', '%', '&', '$'];

/// Digits of the hash of a commit: as few as are abbreviated to, and all.
const HASH: std::ops::RangeInclusive<usize> = 7..=40;

/// `text` as part of a paragraph, a list item or a cell of a table, with control characters
/// visible.
pub(crate) fn markdown(text: &str) -> String {
    escaped("", text.trim())
}

/// `text` behind what stands `before` it in the same paragraph.
pub(crate) fn escaped(before: &str, text: &str) -> String {
    let (begin, text) = (before.len(), format!("{before}{}", clean(text)));
    let mut escaped = String::with_capacity(text.len());
    for (offset, c) in text.char_indices().filter(|(offset, _)| *offset >= begin) {
        let (before, after) = (&text[..offset], &text[offset + c.len_utf8()..]);
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
        let is_prefix = REFERRING.contains(&c) && before_word
            || c == '-' && before_digit && ends_in_prefix(before)
            || begins_hash(before, &text[offset..]);
        if is_prefix {
            escaped.push(NO_REFERENCE);
        }
    }
    escaped
}

fn ends_in_prefix(text: &str) -> bool {
    let word = text.rsplit(|c: char| !c.is_alphanumeric()).next();
    word.is_some_and(|word| word.eq_ignore_ascii_case("gh"))
}

/// `text` begins with the hash of a commit. Fewer digits than a whole hash has are a number where
/// none is a letter.
fn begins_hash(before: &str, text: &str) -> bool {
    let end = text.find(|c: char| !c.is_alphanumeric());
    let word = &text[..end.unwrap_or(text.len())];
    !before.ends_with(char::is_alphanumeric)
        && HASH.contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (word.len() == *HASH.end() || word.bytes().any(|byte| byte.is_ascii_alphabetic()))
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
            ("&lt;&#60;", "\\&\u{2060}lt;\\&\\#\u{2060}60;"),
            ("a\nb", "a\\\\nb"),
            ("http://x/ WWW.x", "http\\://x/ WWW\\.x"),
            ("@team", "@\u{2060}team"),
            ("disk #12, a/b#3", "disk \\#\u{2060}12, a/b\\#\u{2060}3"),
            ("gh-13 high-13", "gh-\u{2060}13 high-13"),
            ("!4 ~bug 10 %", "!\u{2060}4 \\~\u{2060}bug 10 %"),
            ("built from a9b0581", "built from a\u{2060}9b0581"),
            ("1234567 decade 12345678g", "1234567 decade 12345678g"),
            (
                "5cc1e3dc5cc1e3dc5cc1e3dc5cc1e3dc5cc1e3dc",
                "5\u{2060}cc1e3dc5cc1e3dc5cc1e3dc5cc1e3dc5cc1e3dc",
            ),
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
