//! Requests written before the run, with placeholders for values that change from request to
//! request.
//!
//! A head is written once, by the same function as every other, with marks for its placeholders;
//! then it is cut at the marks. Filling it in is copying bytes, and cannot change its structure: a
//! saved value has no control character, and is in no path (`suite::template`).

use std::sync::Arc;

use record::{Http, HttpVersion};
use suite::{Arithmetic, Body, Piece, RequestPlan, Text, Variable};
use wire::request::{RequestHead, is_idempotent, write_head};
use wire::response::Version;

use crate::connection::client::{ClientConfig, PlainRequest};

/// Part of a text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Bytes(Box<[u8]>),
    /// Number of the request.
    Number,
    /// The purpose of the request in X-Prestan.
    Purpose,
    /// Path of the collection in which the user works.
    Workplace,
    /// Iteration of this user's loop, from 1.
    Iteration,
    User,
    Length,
    /// A saved value, by its slot.
    Saved(usize),
    /// Number of a repetition, by its index.
    Repetition(usize),
    Computed(Arithmetic),
}

/// Values of the placeholders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'v> {
    pub(crate) count: RequestCount,
    pub(crate) purpose: &'v str,
    /// Ends with a slash.
    pub(crate) workplace: &'v str,
    pub(crate) saved: &'v [Option<Vec<u8>>],
    /// Numbers of the current repetitions, from the outermost on.
    pub(crate) repetitions: &'v [u32],
}

impl Values<'_> {
    /// For a request without placeholders.
    pub(crate) const NONE: Values<'static> = Values {
        count: RequestCount {
            number: 0,
            iteration: 0,
            user: 0,
        },
        purpose: "",
        workplace: "",
        saved: &[],
        repetitions: &[],
    };

    fn repetition(&self, index: usize) -> u32 {
        self.repetitions.get(index).copied().unwrap_or_default()
    }

    /// An operand of arithmetic.
    fn number(&self, variable: Variable) -> i64 {
        match variable {
            Variable::Iteration => i64::try_from(self.count.iteration).unwrap_or(i64::MAX),
            Variable::User => i64::from(self.count.user),
            Variable::Repetition(index) => i64::from(self.repetition(index)),
            Variable::Saved(_) => {
                unreachable!("what a step saved is no number (`suite::template`)")
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestCount {
    /// Number of the request, as in `X-Prestan`.
    pub(crate) number: u64,
    /// Iteration of this user's loop, from 1.
    pub(crate) iteration: u64,
    pub(crate) user: u32,
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prepared {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone)]
pub(crate) struct PreparedRequest {
    /// Without the empty line that ends it.
    head: Prepared,
    body: PreparedBody,
    /// May be sent again when its connection ends.
    pub(crate) is_idempotent: bool,
    /// The method is HEAD: the response has no body.
    pub(crate) is_head: bool,
    /// The head contains Accept-Encoding.
    pub(crate) accepts_codings: bool,
}

#[derive(Debug, Clone)]
enum PreparedBody {
    None,
    Fixed(Arc<[u8]>),
    Live(Prepared),
}

/// Digits of the number in X-Prestan, so that all requests of a kind have the same length.
const DIGITS: usize = 10;

/// The mark of a part while a text is put together: a string that no suite contains.
fn mark(part: &TemplatePart) -> String {
    match part {
        TemplatePart::Bytes(_) => String::new(),
        TemplatePart::Number => "@@prestan-hole-n@@".to_owned(),
        TemplatePart::Purpose => "@@prestan-hole-p@@".to_owned(),
        TemplatePart::Workplace => "@@prestan-hole-w@@".to_owned(),
        TemplatePart::Iteration => "@@prestan-hole-i@@".to_owned(),
        TemplatePart::User => "@@prestan-hole-u@@".to_owned(),
        TemplatePart::Length => "@@prestan-hole-l@@".to_owned(),
        TemplatePart::Saved(slot) => format!("@@prestan-hole-s{slot}@@"),
        TemplatePart::Repetition(index) => format!("@@prestan-hole-r{index}@@"),
        TemplatePart::Computed(expression) => format!("@@prestan-hole-c{expression}@@"),
    }
}

/// Beginning and end of each mark.
const MARK: &[u8] = b"@@prestan-hole-";
const END: &[u8] = b"@@";

impl PreparedRequest {
    /// A request as this client sends it.
    ///
    /// # Errors
    /// The head contains something invalid.
    pub(crate) fn new(
        request: &RequestPlan,
        (config, http): (&ClientConfig, Http),
        label: &str,
    ) -> Result<PreparedRequest, String> {
        let names = request.headers.iter().map(|header| &header.name);
        let mut names = names.chain(config.headers.iter().map(|(name, _)| name));
        Ok(PreparedRequest {
            accepts_codings: names.any(|name| name.eq_ignore_ascii_case("Accept-Encoding")),
            head: head(request, (config, http), label)?,
            body: match &request.body {
                Body::None => PreparedBody::None,
                Body::Fixed(bytes) => PreparedBody::Fixed(Arc::clone(bytes)),
                Body::Live(text) => PreparedBody::Live(Prepared::from_pieces(text.0.pieces())),
            },
            is_idempotent: is_idempotent(&request.method),
            is_head: request.method == "HEAD",
        })
    }

    /// A request that is sent unchanged, once.
    ///
    /// # Errors
    /// The head contains something invalid.
    pub(crate) fn plain(
        request: &PlainRequest<'_>,
        (config, http): (&ClientConfig, Http),
    ) -> Result<PreparedRequest, String> {
        let length = request.body.map(|body| body.len().to_string());
        let head = HeadParts {
            method: request.method,
            path: request.path,
            headers: request.headers,
            length: length.as_deref(),
            label: request.label,
        };
        Ok(PreparedRequest {
            // It contains no marks.
            head: Prepared {
                parts: vec![TemplatePart::Bytes(head.bytes(config, http)?.into())],
            },
            body: match request.body {
                Some(body) => PreparedBody::Fixed(body.into()),
                None => PreparedBody::None,
            },
            is_idempotent: is_idempotent(request.method),
            is_head: request.method == "HEAD",
            accepts_codings: false,
        })
    }

    /// The same if all users work in one collection, or have one purpose: these are filled in here.
    pub(crate) fn bound(self, workplace: Option<&str>, purpose: Option<&str>) -> PreparedRequest {
        PreparedRequest {
            head: self.head.bound(workplace, purpose),
            body: match self.body {
                PreparedBody::Live(body) => PreparedBody::Live(body.bound(workplace, purpose)),
                other => other,
            },
            ..self
        }
    }

    /// True if it contains a value that a step saves.
    pub(crate) fn needs_saved(&self) -> bool {
        let body = match &self.body {
            PreparedBody::Live(body) => body.needs_saved(),
            PreparedBody::None | PreparedBody::Fixed(_) => false,
        };
        body || self.head.needs_saved()
    }

    /// The body, if it has no placeholders.
    pub(crate) fn fixed_body(&self) -> Option<&Arc<[u8]>> {
        match &self.body {
            PreparedBody::Fixed(bytes) => Some(bytes),
            PreparedBody::None | PreparedBody::Live(_) => None,
        }
    }

    /// The body, if it has placeholders, put together in `buffer`; else nothing.
    pub(crate) fn live_body<'b>(&self, values: &Values<'_>, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        buffer.clear();
        if let PreparedBody::Live(prepared) = &self.body {
            prepared.fill(buffer, values, 0);
        }
        buffer
    }

    /// Appends the head of a request with a body of this length, without the last empty line.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>, values: &Values<'_>, length: usize) {
        self.head.fill(out, values, length);
    }

    /// True if all values that it contains have been saved.
    pub(crate) fn can_be_filled(&self, values: &Values<'_>) -> bool {
        let body = match &self.body {
            PreparedBody::Live(body) => body.can_be_filled(values),
            PreparedBody::None | PreparedBody::Fixed(_) => true,
        };
        body && self.head.can_be_filled(values)
    }
}

/// X-Prestan of the requests of a suite, with placeholders: `prestan: 0000000007 (Put1K)`.
pub(crate) fn numbered_label(suite: &str) -> String {
    let (number, purpose) = (mark(&TemplatePart::Number), mark(&TemplatePart::Purpose));
    format!("{suite}: {number} ({purpose})")
}

/// The head of `request`, with placeholders; some may be in its label.
fn head(
    request: &RequestPlan,
    (config, http): (&ClientConfig, Http),
    label: &str,
) -> Result<Prepared, String> {
    let in_workplace = |path: &Text| format!("{}{}", mark(&TemplatePart::Workplace), marked(path));
    let destination = request.to.as_ref();
    let destination = destination.map(|to| config.target.absolute(&in_workplace(to)));
    let headers = request.headers.iter();
    let headers: Vec<(&str, String)> = headers
        .map(|header| (header.name.as_str(), marked(&header.value)))
        .collect();
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let destination = destination.as_deref().map(|value| ("Destination", value));
    let headers: Vec<(&str, &str)> = destination.into_iter().chain(headers).collect();
    let length = mark(&TemplatePart::Length);
    let head = HeadParts {
        method: &request.method,
        path: &in_workplace(&request.path),
        headers: &headers,
        length: (request.body != Body::None).then_some(&length),
        label,
    };
    Ok(Prepared::from_marked(&head.bytes(config, http)?))
}

/// The parts of a head, in addition to those of all heads.
struct HeadParts<'a> {
    method: &'a str,
    path: &'a str,
    headers: &'a [(&'a str, &'a str)],
    length: Option<&'a str>,
    label: &'a str,
}

impl HeadParts<'_> {
    /// The bytes, without the empty line that ends them.
    fn bytes(&self, config: &ClientConfig, http: Http) -> Result<Vec<u8>, String> {
        let agent = concat!("prestan/", env!("CARGO_PKG_VERSION"));
        let mut headers: Vec<(&str, &str)> =
            vec![("Host", &config.authority), ("User-Agent", agent)];
        let common = config.headers.iter();
        headers.extend(common.map(|(name, value)| (&**name, &**value)));
        headers.extend(self.headers);
        headers.extend(self.length.map(|length| ("Content-Length", length)));
        headers.extend(connection_header(http));
        headers.push(("X-Prestan", self.label));
        let head = RequestHead {
            method: self.method,
            target: self.path,
            version: version(http),
            headers: &headers,
        };
        let mut bytes = Vec::new();
        write_head(&mut bytes, &head).map_err(|error| error.to_string())?;
        bytes.truncate(bytes.len() - b"\r\n".len());
        Ok(bytes)
    }
}

impl Prepared {
    pub(crate) fn new(text: &Text) -> Prepared {
        Prepared::from_marked(marked(text).as_bytes())
    }

    /// The path on the server of a resource in the collection in which the user works.
    pub(crate) fn in_workplace(path: &Text) -> Prepared {
        let path = format!("{}{}", mark(&TemplatePart::Workplace), marked(path));
        Prepared::from_marked(path.as_bytes())
    }

    fn from_pieces(pieces: &[Piece]) -> Prepared {
        Prepared::from_marked(marked_pieces(pieces).as_bytes())
    }

    /// Cuts a text at its marks.
    fn from_marked(mut bytes: &[u8]) -> Prepared {
        let mut parts = Vec::new();
        while let Some((at, part, end)) = next_mark(bytes) {
            if at > 0 {
                parts.push(TemplatePart::Bytes(bytes[..at].into()));
            }
            parts.push(part);
            bytes = &bytes[end..];
        }
        if !bytes.is_empty() {
            parts.push(TemplatePart::Bytes(bytes.into()));
        }
        Prepared { parts }
    }

    /// The same with workplace and purpose filled in.
    pub(crate) fn bound(self, workplace: Option<&str>, purpose: Option<&str>) -> Prepared {
        let mut parts: Vec<TemplatePart> = Vec::new();
        for part in self.parts {
            let bytes: Box<[u8]> = match (part, workplace, purpose) {
                (TemplatePart::Bytes(bytes), ..) => bytes,
                (TemplatePart::Workplace, Some(text), _)
                | (TemplatePart::Purpose, _, Some(text)) => text.as_bytes().into(),
                (hole, ..) => {
                    parts.push(hole);
                    continue;
                }
            };
            match parts.last_mut() {
                Some(TemplatePart::Bytes(before)) => {
                    *before = [&before[..], &bytes].concat().into()
                }
                _ => parts.push(TemplatePart::Bytes(bytes)),
            }
        }
        Prepared { parts }
    }

    /// True if it contains a value that a step saves.
    pub(crate) fn needs_saved(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, TemplatePart::Saved(_)))
    }

    /// True if all values that it contains have been saved.
    pub(crate) fn can_be_filled(&self, values: &Values<'_>) -> bool {
        self.parts.iter().all(|part| match part {
            TemplatePart::Saved(slot) => values.saved.get(*slot).is_some_and(Option::is_some),
            _ => true,
        })
    }

    /// The bytes; `None` if a value was not saved.
    pub(crate) fn bytes(&self, values: &Values<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.fill(&mut out, values, 0);
        self.can_be_filled(values).then_some(out)
    }

    /// Appends it; values that were not saved are left out.
    fn fill(&self, out: &mut Vec<u8>, values: &Values<'_>, length: usize) {
        for part in &self.parts {
            match part {
                TemplatePart::Bytes(bytes) => out.extend_from_slice(bytes),
                TemplatePart::Number => push_decimal(out, values.count.number, DIGITS),
                TemplatePart::Purpose => out.extend_from_slice(values.purpose.as_bytes()),
                TemplatePart::Workplace => out.extend_from_slice(values.workplace.as_bytes()),
                TemplatePart::Iteration => push_decimal(out, values.count.iteration, 1),
                TemplatePart::User => push_decimal(out, u64::from(values.count.user), 1),
                TemplatePart::Length => push_decimal(out, length as u64, 1),
                TemplatePart::Saved(slot) => {
                    let saved = values.saved.get(*slot).and_then(Option::as_deref);
                    out.extend_from_slice(saved.unwrap_or_default());
                }
                TemplatePart::Repetition(index) => {
                    push_decimal(out, u64::from(values.repetition(*index)), 1);
                }
                TemplatePart::Computed(expression) => {
                    let value = expression.value(|variable| values.number(variable));
                    if value < 0 {
                        out.push(b'-');
                    }
                    push_decimal(out, value.unsigned_abs(), 1);
                }
            }
        }
    }
}

/// Version of HTTP in requests.
fn version(http: Http) -> Version {
    match http.version {
        HttpVersion::Http10 => Version::Http10,
        HttpVersion::Http11 => Version::Http11,
        HttpVersion::Http2 => Version::Http2,
    }
}

/// The header about the connection, if it differs from the default of the version (RFC 9112,
/// section 9.3).
fn connection_header(http: Http) -> Option<(&'static str, &'static str)> {
    match (http.version, http.keep_alive) {
        (HttpVersion::Http10, true) => Some(("Connection", "keep-alive")),
        (HttpVersion::Http10, false) | (HttpVersion::Http11, true) | (HttpVersion::Http2, _) => {
            None
        }
        (HttpVersion::Http11, false) => Some(("Connection", "close")),
    }
}

fn marked(text: &Text) -> String {
    match text {
        Text::Fixed(text) => text.clone(),
        Text::Live(live) => marked_pieces(live.pieces()),
    }
}

fn marked_pieces(pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Variable(Variable::Iteration) => mark(&TemplatePart::Iteration),
        Piece::Variable(Variable::User) => mark(&TemplatePart::User),
        Piece::Variable(Variable::Saved(slot)) => mark(&TemplatePart::Saved(*slot)),
        Piece::Variable(Variable::Repetition(index)) => mark(&TemplatePart::Repetition(*index)),
        Piece::Computed(expression) => mark(&TemplatePart::Computed(expression.clone())),
    };
    pieces.iter().map(piece).collect()
}

/// The first mark: its beginning, its meaning, its end.
fn next_mark(bytes: &[u8]) -> Option<(usize, TemplatePart, usize)> {
    let mut from = 0;
    loop {
        let at = from + find(&bytes[from..], MARK)?;
        let inner = at + MARK.len();
        let end = inner + find(&bytes[inner..], END)?;
        if let Some(part) = parsed_part(&bytes[inner..end]) {
            return Some((at, part, end + END.len()));
        }
        from = inner;
    }
}

fn parsed_part(name: &[u8]) -> Option<TemplatePart> {
    let (kind, index) = name.split_first()?;
    let written = std::str::from_utf8(index).ok()?;
    let index = || written.parse().ok();
    match (kind, name.len()) {
        (b'n', 1) => Some(TemplatePart::Number),
        (b'p', 1) => Some(TemplatePart::Purpose),
        (b'w', 1) => Some(TemplatePart::Workplace),
        (b'i', 1) => Some(TemplatePart::Iteration),
        (b'u', 1) => Some(TemplatePart::User),
        (b'l', 1) => Some(TemplatePart::Length),
        (b's', _) => index().map(TemplatePart::Saved),
        (b'r', _) => index().map(TemplatePart::Repetition),
        (b'c', _) => written.parse().ok().map(TemplatePart::Computed),
        _ => None,
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

/// Appends a number with at least this many digits.
fn push_decimal(out: &mut Vec<u8>, mut number: u64, least: usize) {
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

    fn values(saved: &[Option<Vec<u8>>]) -> Values<'_> {
        Values {
            count: RequestCount {
                number: 7,
                iteration: 12,
                user: 3,
            },
            purpose: "Put1K",
            workplace: "/dav/",
            saved,
            repetitions: &[5, 6],
        }
    }

    #[test]
    fn holes_are_filled_and_the_rest_is_copied() {
        let all = [
            TemplatePart::Number,
            TemplatePart::Purpose,
            TemplatePart::Workplace,
            TemplatePart::Iteration,
            TemplatePart::User,
            TemplatePart::Length,
            TemplatePart::Saved(1),
            TemplatePart::Repetition(1),
            TemplatePart::Computed("n_r0_add_10_rem".parse().unwrap()),
            TemplatePart::Computed("user_5_sub".parse().unwrap()),
        ];
        let text: String = all.iter().map(|part| format!("<{}>", mark(part))).collect();
        let prepared = Prepared::from_marked(text.as_bytes());
        let saved = [None, Some(b"tok\xfcn".to_vec())];
        let mut out = Vec::new();
        prepared.fill(&mut out, &values(&saved), 40);
        let filled = "<0000000007><Put1K></dav/><12><3><40><tok\\xfcn><6><7><-2>";
        assert_eq!(out.escape_ascii().to_string(), filled);
        assert!(prepared.can_be_filled(&values(&saved)));
        assert!(!prepared.can_be_filled(&values(&[None, None])));
    }

    #[test]
    fn what_all_requests_have_in_common_is_bound() {
        let all = [
            TemplatePart::Purpose,
            TemplatePart::Number,
            TemplatePart::Workplace,
            TemplatePart::Purpose,
        ];
        let text: String = all.iter().map(|part| format!("<{}>", mark(part))).collect();
        let prepared = Prepared::from_marked(text.as_bytes());
        let filled = values(&[]);
        let bound = prepared.clone();
        let bound = bound.bound(Some(filled.workplace), Some(filled.purpose));
        assert_eq!(bound.parts.len(), 3);
        assert_eq!(bound.bytes(&values(&[])), prepared.bytes(&values(&[])));
    }

    #[test]
    fn what_only_looks_like_a_mark_is_copied() {
        for text in [
            "@@prestan-hole-",
            "@@prestan-hole-x@@",
            "@@prestan-hole-s@@",
            "@@",
            "",
        ] {
            let filled = Prepared::from_marked(text.as_bytes()).bytes(&values(&[]));
            assert_eq!(filled.as_deref(), Some(text.as_bytes()));
        }
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
