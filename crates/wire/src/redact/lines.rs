//! Redaction of lines of files that describe requests.

use super::{HIDDEN, is_secret};

/// A line of a file that describes requests, up to where the value of a secret field begins:
/// `Authorization: Bearer ...`, also as a part of a longer line.
pub fn redacted_line(line: &str) -> String {
    match secret_value(line) {
        Some(begin) if !line[begin..].trim().is_empty() => format!("{} {HIDDEN}", &line[..begin]),
        _ => line.to_owned(),
    }
}

/// True if a line of such a file names a secret field.
pub fn names_secret(line: &str) -> bool {
    secret_value(line).is_some()
}

/// Offset of the value of a secret field in a line.
fn secret_value(line: &str) -> Option<usize> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    line.match_indices(':').find_map(|(at, _)| {
        let before = line[..at].trim_end_matches(['"', '\'', ' ']);
        let name = before.rsplit(|c| !is_of_name(c)).next().unwrap_or_default();
        // Some other keys of such files sound like secrets: `users`, `key`.
        let mut whole_names = ["authorization", "cookie"].iter();
        let is_field =
            name.contains('-') || whole_names.any(|whole| name.eq_ignore_ascii_case(whole));
        (is_field && is_secret(name)).then_some(at + 1)
    })
}
