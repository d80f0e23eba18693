//! The fields of a head.

use std::fmt;
use std::ops::Range;

/// Header fields in the order they came; names are compared without regard to case.
///
/// All text lies in one buffer, so a head costs two allocations however many fields it has.
/// Values are text: bytes that are not UTF-8 are taken for ISO 8859-1, as HTTP once said.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    text: String,
    fields: Vec<Field>,
}

/// Where a field lies in [`Headers::text`].
#[derive(Clone, PartialEq, Eq)]
struct Field {
    name: Range<usize>,
    value: Range<usize>,
}

impl Headers {
    /// No fields at all.
    pub fn new() -> Headers {
        Headers::default()
    }

    /// The value of the first field of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).next()
    }

    /// The values of all fields of that name, in order.
    pub fn get_all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.iter()
            .filter(move |(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Names, as the server spelt them, and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|field| {
            (
                &self.text[field.name.clone()],
                &self.text[field.value.clone()],
            )
        })
    }

    /// The elements of all fields of that name whose values are lists (RFC 9110, section 5.6.1):
    /// split at commas, trimmed, empty ones left out. Not for lists with quoted strings.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        self.get_all(name)
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|element| !element.is_empty())
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// There is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Appends a field. `value` is decoded, trimmed, and loses its line folds.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let start = self.text.len();
        self.text.push_str(name);
        let middle = self.text.len();
        match str::from_utf8(value) {
            Ok(value) => push_unfolded(&mut self.text, value),
            Err(_) => {
                let latin1: String = value.iter().map(|&byte| char::from(byte)).collect();
                push_unfolded(&mut self.text, &latin1);
            }
        }
        self.fields.push(Field {
            name: start..middle,
            value: middle..self.text.len(),
        });
    }
}

/// A fold is a line end and the blanks around it, and means one space (RFC 9112, section 5.2).
fn push_unfolded(text: &mut String, value: &str) {
    let blank = [' ', '\t', '\r'];
    let mut lines = value.split('\n').map(|line| line.trim_matches(blank));
    text.push_str(lines.next().unwrap_or_default());
    for line in lines.filter(|line| !line.is_empty()) {
        text.push(' ');
        text.push_str(line);
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Headers {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(fields: I) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.push(name, value.as_bytes());
        }
        headers
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_values_in_order() {
        let headers: Headers = [
            ("DAV", "1, 2"),
            ("Date", "now"),
            ("dav", "<x>,"),
            ("Dav", ""),
        ]
        .into_iter()
        .collect();
        assert_eq!(headers.len(), 4);
        assert_eq!(headers.get("dAv"), Some("1, 2"));
        assert_eq!(headers.get("da"), None);
        assert_eq!(
            headers.get_all("DAV").collect::<Vec<_>>(),
            ["1, 2", "<x>,", ""]
        );
        assert_eq!(headers.list("DAV").collect::<Vec<_>>(), ["1", "2", "<x>"]);
        assert_eq!(headers.iter().nth(2), Some(("dav", "<x>,")));
        assert!(!headers.is_empty() && Headers::new().is_empty());
    }

    #[test]
    fn values_are_unfolded_trimmed_and_decoded() {
        let cases: [(&[u8], &str); 7] = [
            (b"plain", "plain"),
            (b"one\r\n two\r\n\t three", "one two three"),
            (b"one\n  \n two", "one two"),
            (b" \t padded \t", "padded"),
            (b"", ""),
            ("grün".as_bytes(), "grün"),
            (b"gr\xfcn", "grün"),
        ];
        for (raw, expected) in cases {
            let mut headers = Headers::new();
            headers.push("x", raw);
            assert_eq!(headers.get("X"), Some(expected), "{}", raw.escape_ascii());
        }
    }
}
