//! The fields of a head.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Header fields in the order of arrival; names are compared without regard to case.
///
/// All text lies in one buffer, so a head costs two allocations however many fields it has, and
/// none where the memory of another is reused. Values are text: bytes that are not UTF-8 are taken
/// for ISO 8859-1, as earlier versions of HTTP specified.
#[derive(Clone, Default)]
pub struct Headers {
    /// Names and values, with the bytes between them.
    text: String,
    fields: Vec<Field>,
}

/// Position of a field in [`Headers::text`].
#[derive(Clone)]
struct Field {
    name: Range<usize>,
    value: Range<usize>,
    /// The value was not UTF-8.
    is_latin1: bool,
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
        self.with_name_length(|length| length == name.len())
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The value of the first field of that name as the bytes received, without folds.
    pub fn get_bytes(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.get_all_bytes(name).next()
    }

    /// The same for all fields of that name, because the text no longer shows whether it was UTF-8.
    pub(crate) fn get_all_bytes(&self, name: &str) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let fields = self.fields.iter();
        fields.filter_map(move |field| {
            let (field_name, value) = self.cut_out(field);
            field_name.eq_ignore_ascii_case(name).then(|| {
                if field.is_latin1 {
                    value.chars().map(|c| c as u8).collect()
                } else {
                    value.as_bytes().into()
                }
            })
        })
    }

    /// Names, as the server spelt them, and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|field| self.cut_out(field))
    }

    /// The fields whose names have a length of interest: a cheap way to skip nearly all others.
    pub(super) fn with_name_length(
        &self,
        is_of_interest: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .filter(move |field| is_of_interest(field.name.len()))
            .map(|field| self.cut_out(field))
    }

    #[inline]
    fn cut_out(&self, field: &Field) -> (&str, &str) {
        (
            &self.text[field.name.clone()],
            &self.text[field.value.clone()],
        )
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
        let value = trim_blank(value);
        let decoded = str::from_utf8(value);
        let is_latin1 = decoded.is_err();
        match decoded {
            Ok(line) if !value.contains(&b'\n') => self.text.push_str(line),
            _ => push_unfolded(&mut self.text, value, !is_latin1),
        }
        self.fields.push(Field {
            name: start..middle,
            value: middle..self.text.len(),
            is_latin1,
        });
    }

    /// Removes all fields and keeps the memory for others.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
    }

    /// Replaces all fields by those that were found in `text`, which have no folds and nothing to
    /// trim.
    ///
    /// One copy of the whole is much cheaper than two for each field.
    pub(super) fn take_over(&mut self, text: &str, fields: &[httparse::Header<'_>]) {
        self.clear();
        self.text.push_str(text);
        for field in fields {
            let name = range_within(text, field.name.as_bytes());
            let value = range_within(text, field.value);
            match (name, value) {
                (Some(name), Some(value)) => self.fields.push(Field {
                    name,
                    value,
                    is_latin1: false,
                }),
                _ => self.push(field.name, field.value),
            }
        }
    }

    /// Releases memory beyond this many bytes, except what is in use.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        self.text.shrink_to(bytes);
        self.fields.shrink_to(bytes / size_of::<Field>());
    }
}

/// The range of `part` in `text`; `None` if it lies elsewhere.
fn range_within(text: &str, part: &[u8]) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start + part.len();
    (end <= text.len()).then_some(start..end)
}

/// A fold is a line end and the blanks around it, and means one space (RFC 9112, section 5.2).
fn push_unfolded(text: &mut String, value: &[u8], is_utf8: bool) {
    let lines = value.split(|&byte| byte == b'\n').map(trim_blank);
    for (number, line) in lines.enumerate() {
        match (number, line) {
            (1.., []) => continue,
            (1.., _) => text.push(' '),
            (0, _) => {}
        }
        match str::from_utf8(line) {
            Ok(line) if is_utf8 => text.push_str(line),
            _ => text.extend(line.iter().map(|&byte| char::from(byte))),
        }
    }
}

fn trim_blank(mut line: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r', rest @ ..] | [rest @ .., b' ' | b'\t' | b'\r'] = line {
        line = rest;
    }
    line
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

impl PartialEq for Headers {
    /// Compares fields, regardless of the text between them.
    fn eq(&self, other: &Headers) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Headers {}

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
        let all: Vec<_> = headers.get_all("DAV").collect();
        assert_eq!(all, ["1, 2", "<x>,", ""]);
        assert_eq!(headers.list("DAV").collect::<Vec<_>>(), ["1", "2", "<x>"]);
        assert_eq!(headers.iter().nth(2), Some(("dav", "<x>,")));
        assert!(!headers.is_empty() && Headers::new().is_empty());
    }

    #[test]
    fn headers_are_the_same_if_their_fields_are_whatever_stood_between_them() {
        let pushed: Headers = [("A", "b"), ("C", "")].into_iter().collect();
        let text = "A:   b \r\nC:\r\n";
        let field = |name, value| httparse::Header { name, value };
        let fields = [
            field(&text[..1], &text.as_bytes()[5..6]),
            field(&text[9..10], &text.as_bytes()[11..11]),
        ];
        let mut taken: Headers = [("lost", "x")].into_iter().collect();
        taken.take_over(text, &fields);
        assert_eq!(taken, pushed);
        // Fields that lie elsewhere are copied.
        taken.take_over("", &fields);
        assert_eq!(taken, pushed);
        assert_ne!(taken, [("A", "b"), ("C", "d")].into_iter().collect());
        assert_ne!(taken, Headers::new());
    }

    #[test]
    fn values_are_unfolded_trimmed_and_decoded() {
        let cases: [(&[u8], &str); 9] = [
            (b"plain", "plain"),
            (b"one\r\n two\r\n\t three", "one two three"),
            (b"one\n  \n two", "one two"),
            (b" \t padded \t", "padded"),
            (b"", ""),
            ("grün".as_bytes(), "grün"),
            (b"gr\xfcn", "grün"),
            (b"\xfc\r\n gr\xc3\xbcn\n", "ü grÃ¼n"),
            (b"\n fold", " fold"),
        ];
        for (raw, expected) in cases {
            let mut headers = Headers::new();
            headers.push("x", raw);
            assert_eq!(headers.get("X"), Some(expected), "{}", raw.escape_ascii());
        }
    }

    #[test]
    fn bytes_are_those_that_came() {
        let cases: [(&[u8], &[u8]); 4] = [
            (b" gr\xfcn", b"gr\xfcn"),
            ("grün".as_bytes(), "grün".as_bytes()),
            (b"\xfc\r\n gr\xc3\xbcn\n", b"\xfc gr\xc3\xbcn"),
            (b"\x80\x9f\xff", b"\x80\x9f\xff"),
        ];
        for (raw, expected) in cases {
            let mut headers: Headers = [("y", "other")].into_iter().collect();
            headers.push("x", raw);
            let bytes: Vec<_> = headers.get_all_bytes("X").collect();
            assert_eq!(bytes, [expected], "{}", raw.escape_ascii());
        }
    }
}
