//! Where the body of a response ends, and whether the connection outlives it.

use super::{Headers, ProtocolError, ResponseHead, Version};
use crate::excerpt;

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// Where a body ends, and what follows for the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyFraming {
    pub(super) body: Framing,
    /// The server keeps the connection open, and its next response certainly begins where this one
    /// ends.
    pub(super) reusable: bool,
}

/// The rules of RFC 9112, section 6.3, in its order.
pub(super) fn framing(
    head: &ResponseHead,
    request_is_head: bool,
) -> Result<BodyFraming, ProtocolError> {
    let fields = FramingFields::new(&head.headers);
    let has_body = !request_is_head && !matches!(head.status, 204 | 304);
    let chunked = has_body
        && match fields.coding {
            Coding::None => false,
            Coding::Chunked => true,
            Coding::Odd => is_chunked(&head.headers)?,
        };
    let (body, trusted) = if !has_body {
        (Framing::None, true)
    } else if chunked {
        let trusted = head.version == Version::Http11 && fields.length == Length::None;
        (Framing::Chunked, trusted)
    } else {
        let length = match fields.length {
            Length::None => None,
            Length::Plain(length) => Some(length),
            Length::Odd => content_length(&head.headers)?,
        };
        let framing = length.map_or(Framing::UntilClose, Framing::Length);
        (framing, length.is_some())
    };
    Ok(BodyFraming {
        body,
        reusable: trusted && fields.persists(head.version),
    })
}

/// The fields that decide about the body, gathered in one pass over all fields. Unusual values are
/// left to a closer look, which few heads need.
pub(super) struct FramingFields {
    close: bool,
    keep_alive: bool,
    length: Length,
    coding: Coding,
}

#[derive(PartialEq)]
enum Length {
    None,
    Plain(u64),
    Odd,
}

enum Coding {
    None,
    Chunked,
    Odd,
}

impl FramingFields {
    pub(super) fn new(headers: &Headers) -> FramingFields {
        let mut fields = FramingFields {
            close: false,
            keep_alive: false,
            length: Length::None,
            coding: Coding::None,
        };
        // Lengths of the three names below.
        let is_of_interest = |length| matches!(length, 10 | 14 | 17);
        for (name, value) in headers.with_name_length(is_of_interest) {
            if name.eq_ignore_ascii_case("Connection") {
                for option in value.split(',').map(str::trim) {
                    fields.close |= option.eq_ignore_ascii_case("close");
                    fields.keep_alive |= option.eq_ignore_ascii_case("keep-alive");
                }
            } else if name.eq_ignore_ascii_case("Content-Length") {
                fields.length = match (fields.length, number(value)) {
                    (Length::None, Some(number)) => Length::Plain(number),
                    _ => Length::Odd,
                };
            } else if name.eq_ignore_ascii_case("Transfer-Encoding") {
                let is_plain = value.eq_ignore_ascii_case("chunked");
                fields.coding = match fields.coding {
                    Coding::None if is_plain => Coding::Chunked,
                    _ => Coding::Odd,
                };
            }
        }
        fields
    }

    /// The server intends to keep the connection open (RFC 9112, section 9.3).
    pub(super) fn persists(&self, version: Version) -> bool {
        match version {
            _ if self.close => false,
            Version::Http11 | Version::Http2 => true,
            Version::Http10 => self.keep_alive,
        }
    }
}

/// `chunked` is the only supported coding; `identity` once meant none.
fn is_chunked(headers: &Headers) -> Result<bool, ProtocolError> {
    let mut codings = headers
        .list("Transfer-Encoding")
        .filter(|coding| !coding.eq_ignore_ascii_case("identity"));
    match (codings.next(), codings.next()) {
        (None, _) => Ok(false),
        (Some(only), None) if only.eq_ignore_ascii_case("chunked") => Ok(true),
        _ => {
            let all: Vec<_> = headers.get_all("Transfer-Encoding").collect();
            let all = excerpt::escaped_text(&all.join(", "));
            Err(ProtocolError::TransferEncoding(all))
        }
    }
}

/// The same number several times is one number; anything else is an error.
fn content_length(headers: &Headers) -> Result<Option<u64>, ProtocolError> {
    let mut length = None;
    let values = headers.get_all("Content-Length");
    for value in values.flat_map(|value| value.split(',')) {
        let value = value.trim_matches([' ', '\t']);
        let Some(number) = number(value) else {
            return Err(ProtocolError::ContentLength(excerpt::escaped_text(value)));
        };
        match length {
            Some(other) if other != number => {
                return Err(ProtocolError::ContentLengths(other, number));
            }
            _ => length = Some(number),
        }
    }
    Ok(length)
}

/// Digits and nothing else; `parse` would accept a leading plus.
fn number(text: &str) -> Option<u64> {
    let number = text.parse().ok()?;
    (!text.starts_with('+')).then_some(number)
}
