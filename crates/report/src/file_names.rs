//! Names of files from names of tests, which anybody may write into a suite.

use std::collections::BTreeSet;

/// Longest name, in characters, so that every file system takes it.
const LONGEST: usize = 100;

/// Names of files that were given.
#[derive(Debug, Default)]
pub struct FileNames(BTreeSet<String>);

impl FileNames {
    /// A name for a file without an ending: letters, digits, `-` and `_`, and each only once, also
    /// where capitals do not count.
    pub fn of(&mut self, wanted: &str) -> String {
        let safe = |c: char| match c {
            c if c.is_ascii_alphanumeric() || c == '-' || c == '_' => c,
            _ => '-',
        };
        let name: String = wanted.chars().map(safe).take(LONGEST).collect();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.clone())
            .chain(numbered)
            .find(|name| self.0.insert(name.to_ascii_lowercase()))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_never_twice() {
        let mut names = FileNames::default();
        let long = "x".repeat(300);
        let table = [
            ("ecdf-CopyCol", "ecdf-CopyCol"),
            ("ecdf-copycol", "ecdf-copycol-2"),
            ("../../etc/passwd", "------etc-passwd"),
            ("a/b\0\u{202e}ü", "a-b---"),
            ("a.b", "a-b"),
            ("a:b", "a-b-2"),
            ("a b", "a-b-3"),
            (&long, &long[..LONGEST]),
        ];
        for (wanted, expected) in table {
            assert_eq!(names.of(wanted), expected);
        }
    }
}
