//! The lists in `WWW-Authenticate` and `Authentication-Info` (RFC 9110, section 11).
//!
//! A comma separates parameters as well as challenges, and may occur in a quoted string, so a list
//! cannot be split at commas. Text that is neither a scheme nor a parameter is skipped up to the
//! next comma: a broken third challenge does not affect the first two.

use std::borrow::Cow;

use crate::request::is_token_byte;

/// One challenge: a scheme, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// `Basic`, `Digest`..., as the server spelt it.
    pub scheme: String,
    /// The blob that some schemes have in place of parameters (`Negotiate oRQwEqA=`).
    pub token68: Option<String>,
    /// Names, and the bytes of their values, unquoted: a digest is one of bytes (RFC 7616, section
    /// 3.4.2).
    pub params: Vec<(String, Vec<u8>)>,
}

impl Challenge {
    /// The value of the first parameter of that name, in any case.
    pub fn param(&self, name: &str) -> Option<&[u8]> {
        param(&self.params, name)
    }

    /// The same value as text: UTF-8, or ISO 8859-1 where it is not UTF-8.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.param(name)?;
        Some(match str::from_utf8(value) {
            Ok(text) => text.into(),
            Err(_) => latin1(value).into(),
        })
    }

    /// True if the scheme is `scheme`, in any case.
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }
}

/// The value of the first of `params` of that name, in any case.
pub(super) fn param<'a>(params: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a [u8]> {
    let mut params = params.iter();
    let found = params.find(|(field, _)| field.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_slice())
}

/// Decodes ISO 8859-1: one character for each byte.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The challenges in the value of one `WWW-Authenticate` header.
pub fn parse_challenges(value: &[u8]) -> Vec<Challenge> {
    let mut challenges: Vec<Challenge> = Vec::new();
    let value = latin1(value);
    let mut cursor = Cursor { rest: &value };
    while cursor.skip_separators() {
        if let Some(param) = cursor.parameter() {
            // A parameter before the first scheme belongs to no challenge.
            if let Some(challenge) = challenges.last_mut() {
                challenge.params.push(param);
            }
        } else if let Some(scheme) = cursor.token() {
            let token68 = cursor.token68();
            challenges.push(Challenge {
                scheme,
                token68,
                params: Vec::new(),
            });
        } else {
            cursor.skip_to_comma();
        }
    }
    challenges
}

/// The parameters in the value of an `Authentication-Info` header.
pub(super) fn parse_params(value: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut params = Vec::new();
    let value = latin1(value);
    let mut cursor = Cursor { rest: &value };
    while cursor.skip_separators() {
        match cursor.parameter() {
            Some(param) => params.push(param),
            None => cursor.skip_to_comma(),
        }
    }
    params
}

struct Cursor<'a> {
    /// The input as ISO 8859-1: a character for each byte.
    rest: &'a str,
}

impl Cursor<'_> {
    /// Skips commas and blanks; true if anything is left.
    fn skip_separators(&mut self) -> bool {
        self.rest = self.rest.trim_start_matches([',', ' ', '\t']);
        !self.rest.is_empty()
    }

    /// Skips at least one character.
    fn skip_to_comma(&mut self) {
        let next = self.rest.char_indices().skip(1).find(|&(_, c)| c == ',');
        self.rest = next.map_or("", |(at, _)| &self.rest[at..]);
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn token(&mut self) -> Option<String> {
        let end = self.rest.bytes().position(|byte| !is_token_byte(byte));
        let (token, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        (!token.is_empty()).then(|| token.to_owned())
    }

    /// Reads `name = value`; consumes nothing if the input does not begin with one.
    fn parameter(&mut self) -> Option<(String, Vec<u8>)> {
        let mut ahead = Cursor { rest: self.rest };
        let name = ahead.token()?;
        ahead.skip_blanks();
        ahead.rest = ahead.rest.strip_prefix('=')?;
        ahead.skip_blanks();
        let value = match ahead.rest.strip_prefix('"') {
            Some(rest) => {
                ahead.rest = rest;
                ahead.quoted()
            }
            None => ahead.bare(),
        };
        self.rest = ahead.rest;
        Some((name, value.chars().map(|c| c as u8).collect()))
    }

    /// Reads a quoted string after its opening quote; the end of the input closes it as well.
    fn quoted(&mut self) -> String {
        let mut value = String::new();
        let mut chars = self.rest.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => value.extend(chars.next()),
                c => value.push(c),
            }
        }
        self.rest = chars.as_str();
        value
    }

    /// A value without quotes. Servers put more than a token there, so it goes up to a separator.
    fn bare(&mut self) -> String {
        let end = self.rest.find([',', ' ', '\t', '"']);
        let (value, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        value.to_owned()
    }

    /// The blob after a scheme; consumes nothing if parameters or the next challenge follow.
    fn token68(&mut self) -> Option<String> {
        let ahead = self.rest.trim_start_matches([' ', '\t']);
        if ahead.len() == self.rest.len() {
            return None;
        }
        let legal = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
        let padding = ahead.trim_start_matches(legal);
        let rest = padding.trim_start_matches('=');
        let after = rest.trim_start_matches([' ', '\t']);
        let blob = &ahead[..ahead.len() - rest.len()];
        if blob.is_empty() || !(after.is_empty() || after.starts_with(',')) {
            return None;
        }
        self.rest = after;
        Some(blob.to_owned())
    }
}
