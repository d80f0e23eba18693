//! Request heads written before the run, with holes for what changes from request to request.
//!
//! A head is written once, by the same function as every other, with marks where a number goes;
//! then it is cut at the marks. Filling it in is copying bytes.

use record::Nanos;
use suite::{Piece, RequestPlan, Text, Variable};
use wire::request::{RequestHead, is_idempotent, write_head};

use crate::client::{ClientConfig, connection_header, version};

/// Part of a head, or of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Bytes(Box<[u8]>),
    /// Number of the request.
    Number,
    /// How often this user has sent a request of this kind, from 1.
    Iteration,
    User,
    /// Length of the body.
    Length,
}

/// What fills the holes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values {
    pub(crate) number: u64,
    pub(crate) iteration: u64,
    pub(crate) user: u32,
    pub(crate) length: u64,
}

/// A head with holes, without the empty line that ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prepared {
    parts: Vec<Part>,
    /// The request may be sent once more when its connection dies.
    pub(crate) is_idempotent: bool,
}

/// A head with what fills its holes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreparedHead<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) values: Values,
}

/// Digits of the number in X-Prestan: all requests of a kind are equally long.
const DIGITS: usize = 10;

/// Stands for a part while a head is written: a text that nobody writes.
fn mark(part: &Part) -> &'static str {
    match part {
        Part::Bytes(_) => "",
        Part::Number => "@@prestan-hole-0@@",
        Part::Iteration => "@@prestan-hole-1@@",
        Part::User => "@@prestan-hole-2@@",
        Part::Length => "@@prestan-hole-3@@",
    }
}

const HOLES: [Part; 4] = [Part::Number, Part::Iteration, Part::User, Part::Length];

impl Prepared {
    /// The head of `request`, below `root`, as this client sends it.
    ///
    /// # Errors
    /// What cannot stand in a head.
    pub(crate) fn head(
        request: &RequestPlan,
        root: &str,
        config: &ClientConfig,
        label: (&str, &str),
    ) -> Result<Prepared, String> {
        let path = format!("{root}{}", marked(&request.path)?);
        let destination = match &request.to {
            Some(to) => Some(config.target.absolute(&format!("{root}{}", marked(to)?))),
            None => None,
        };
        let mut own = Vec::new();
        for header in &request.headers {
            own.push((header.name.as_str(), marked(&header.value)?));
        }
        let (suite, measure) = label;
        let label = format!("{suite}: {} ({measure})", mark(&Part::Number));
        let agent = concat!("prestan/", env!("CARGO_PKG_VERSION"));
        let mut headers: Vec<(&str, &str)> =
            vec![("Host", &config.authority), ("User-Agent", agent)];
        headers.extend(
            config
                .headers
                .iter()
                .map(|(name, value)| (&**name, &**value)),
        );
        headers.extend(destination.as_deref().map(|value| ("Destination", value)));
        headers.extend(own.iter().map(|(name, value)| (*name, value.as_str())));
        if request.body != suite::Body::None {
            headers.push(("Content-Length", mark(&Part::Length)));
        }
        headers.extend(connection_header(config.http));
        headers.push(("X-Prestan", &label));
        let head = RequestHead {
            method: &request.method,
            target: &path,
            version: version(config.http),
            headers: &headers,
        };
        let mut bytes = Vec::new();
        write_head(&mut bytes, &head).map_err(|error| error.to_string())?;
        bytes.truncate(bytes.len() - b"\r\n".len());
        Ok(Prepared {
            parts: cut(&bytes),
            is_idempotent: is_idempotent(&request.method),
        })
    }

    /// A body with run-time variables.
    ///
    /// # Errors
    /// When it needs something that a step has to save.
    pub(crate) fn body(pieces: &[Piece]) -> Result<Prepared, String> {
        let text = marked_pieces(pieces)?;
        Ok(Prepared {
            parts: cut(text.as_bytes()),
            is_idempotent: false,
        })
    }

    /// Appends it to `out`.
    pub(crate) fn fill(&self, out: &mut Vec<u8>, values: Values) {
        for part in &self.parts {
            match part {
                Part::Bytes(bytes) => out.extend_from_slice(bytes),
                Part::Number => push_decimal(out, values.number, DIGITS),
                Part::Iteration => push_decimal(out, values.iteration, 1),
                Part::User => push_decimal(out, u64::from(values.user), 1),
                Part::Length => push_decimal(out, values.length, 1),
            }
        }
    }
}

impl PreparedHead<'_> {
    /// Appends the whole head to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, authorization: Option<&str>) {
        self.prepared.fill(out, self.values);
        if let Some(value) = authorization {
            out.extend_from_slice(b"Authorization: ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn marked(text: &Text) -> Result<String, String> {
    match text {
        Text::Fixed(text) => Ok(text.clone()),
        Text::Live(live) => marked_pieces(live.pieces()),
    }
}

fn marked_pieces(pieces: &[Piece]) -> Result<String, String> {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => Ok(text.as_str()),
            Piece::Variable(Variable::Iteration) => Ok(mark(&Part::Iteration)),
            Piece::Variable(Variable::User) => Ok(mark(&Part::User)),
            Piece::Variable(Variable::Saved(_)) => {
                Err("it needs what another request has to save first".to_owned())
            }
            Piece::Variable(Variable::Repetition(_)) => Err(
                "it needs the number of a repetition, and in a mix nothing is repeated in \
                     order"
                    .to_owned(),
            ),
        })
        .collect()
}

/// Cuts a text at its marks.
fn cut(mut bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    loop {
        let next = HOLES
            .iter()
            .filter_map(|hole| Some((find(bytes, mark(hole).as_bytes())?, hole)))
            .min_by_key(|(at, _)| *at);
        let Some((at, hole)) = next else {
            parts.push(Part::Bytes(bytes.into()));
            return parts;
        };
        parts.push(Part::Bytes(bytes[..at].into()));
        parts.push(hole.clone());
        bytes = &bytes[at + mark(hole).len()..];
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

/// Appends a number with at least so many digits.
fn push_decimal(out: &mut Vec<u8>, mut number: Nanos, least: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let at = at.min(digits.len() - least);
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VALUES: Values = Values {
        number: 7,
        iteration: 12,
        user: 3,
        length: 40,
    };

    #[test]
    fn holes_are_filled_and_the_rest_is_copied() {
        let text = format!(
            "a{}b{}{}c{}",
            mark(&Part::Number),
            mark(&Part::Iteration),
            mark(&Part::User),
            mark(&Part::Length)
        );
        let prepared = Prepared {
            parts: cut(text.as_bytes()),
            is_idempotent: false,
        };
        let mut out = Vec::new();
        prepared.fill(&mut out, VALUES);
        assert_eq!(out.escape_ascii().to_string(), "a0000000007b123c40");
    }

    #[test]
    fn the_end_of_a_head_comes_with_it() {
        let prepared = Prepared {
            parts: cut(b"GET / HTTP/1.1\r\nHost: h\r\n"),
            is_idempotent: true,
        };
        let head = PreparedHead {
            prepared: &prepared,
            values: VALUES,
        };
        let written = |authorization| {
            let mut out = Vec::new();
            head.write(&mut out, authorization);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(None), "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(
            written(Some("Basic x")),
            "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic x\r\n\r\n"
        );
    }

    #[test]
    fn what_must_be_saved_first_cannot_be_prepared() {
        let pieces = [Piece::Variable(Variable::Saved(0))];
        assert!(Prepared::body(&pieces).is_err());
    }

    proptest! {
        #[test]
        fn numbers_are_decimal(number: u64, least in 1..=DIGITS) {
            let mut out = Vec::new();
            push_decimal(&mut out, number, least);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{number:0least$}"));
        }
    }
}
