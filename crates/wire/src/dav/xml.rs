//! A bounded walk through an untrusted XML document.
//!
//! [`Walker`] reduces the events of the parser to three methods (next child, text, end of this
//! element), and fails at the first thing beyond its [limits](XmlLimits). The only entities are the
//! five of XML, because a DOCTYPE is refused.

use std::borrow::Cow;

use quick_xml::NsReader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use thiserror::Error;

use crate::excerpt;

const DAV: &str = "DAV:";

/// Length of the longest XML declaration, with room for blanks.
const LONGEST_DECLARATION: usize = 200;

/// Limits of a body, beyond which it is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XmlLimits {
    /// Bytes of the body.
    pub bytes: usize,
    /// Elements within one another.
    pub depth: usize,
    /// Hrefs in all `response` elements.
    pub responses: usize,
    /// Properties in all responses together.
    pub properties: usize,
}

impl Default for XmlLimits {
    /// 64 MiB, 64 levels, 200 000 responses, 2 000 000 properties.
    fn default() -> XmlLimits {
        XmlLimits {
            bytes: 64 * 1024 * 1024,
            depth: 64,
            responses: 200_000,
            properties: 2_000_000,
        }
    }
}

/// Why a body cannot be read. Text of the server in it is cut and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum XmlError {
    /// No element at all.
    #[error("the body is not XML: it begins with \"{0}\"")]
    NotXml(String),
    /// The root is another element.
    #[error("the body's root element is {0}, not multistatus (RFC 4918, section 13)")]
    NotMultistatus(String),
    /// XML that the parser rejects.
    #[error("the body is not well-formed XML, at byte {at}: {problem}")]
    Malformed {
        /// Byte offset.
        at: u64,
        /// Message of the parser.
        problem: String,
    },
    /// The body ended within an element.
    #[error("the XML ends before its root element does")]
    Truncated,
    /// Content after the root element, where only comments, instructions and blanks may stand.
    #[error("the XML has \"{0}\" behind its root element (XML 1.0, section 2.1)")]
    Behind(String),
    /// Bytes that are invalid in the declared character encoding.
    #[error("the XML is not {encoding}, from byte {at} on{declared}")]
    Encoding {
        /// UTF-8 or UTF-16.
        encoding: &'static str,
        /// Byte offset.
        at: usize,
        /// The declared encoding, where it is neither of the two.
        declared: String,
    },
    /// A DOCTYPE, which could define entities.
    #[error("the XML has a DOCTYPE, which WebDAV has no use for (RFC 4918, section 20.6)")]
    Doctype,
    /// An entity that is not one of the five of XML.
    #[error("the XML has the undefined entity \"&{0};\"")]
    Entity(String),
    /// More than [`XmlLimits::bytes`].
    #[error("the XML is longer than {0} bytes")]
    TooLong(usize),
    /// More than [`XmlLimits::depth`].
    #[error("the XML is nested deeper than {0} elements")]
    TooDeep(usize),
    /// More than [`XmlLimits::responses`].
    #[error("the multistatus has more than {0} responses")]
    TooManyResponses(usize),
    /// More than [`XmlLimits::properties`].
    #[error("the multistatus has more than {0} properties")]
    TooManyProperties(usize),
    /// A response without the resource that it describes.
    #[error("a response in the multistatus has no href (RFC 4918, section 14.24)")]
    NoHref,
    /// A response without a status.
    #[error("a propstat has no status (RFC 4918, section 14.22)")]
    NoStatus,
    /// A status that is not a status line.
    #[error("\"{0}\" in the multistatus is not a status line (RFC 4918, section 14.28)")]
    Status(String),
}

/// An element's name, with its namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Node {
    pub(super) fn is_dav(&self, name: &str) -> bool {
        self.namespace == DAV && self.name == name
    }
}

/// Position in a document. Each element that [`child`](Walker::child) entered is left by a `child`
/// that returns `None`, by [`text`](Walker::text) or by [`skip`](Walker::skip).
pub(super) struct Walker<'a> {
    reader: NsReader<&'a [u8]>,
    /// Bytes dropped before the reader's text.
    trimmed: u64,
    depth: usize,
    max_depth: usize,
}

/// The events of the parser that matter.
enum Token {
    Open(Node),
    Text(String),
    Close,
    End,
}

/// The text of a body: UTF-8 or UTF-16, which every processor must read (RFC 4918, section 19), or
/// ISO 8859-1 where it is declared.
///
/// UTF-16 is recognised by the first bytes (XML 1.0, appendix F), so a body that declares UTF-16
/// and is UTF-8 is read, too.
///
/// # Errors
/// The body is in none of these encodings, or it or its text is longer than the limit.
pub fn xml_text<'a>(body: &'a [u8], limits: &XmlLimits) -> Result<Cow<'a, str>, XmlError> {
    if body.len() > limits.bytes {
        return Err(XmlError::TooLong(limits.bytes));
    }
    let (pairs, _) = body.as_chunks::<2>();
    let units = |unit: fn([u8; 2]) -> u16| pairs.iter().map(move |pair| unit(*pair));
    match body {
        [0xfe, 0xff, ..] | [0, b'<', ..] => return utf16(units(u16::from_be_bytes), limits),
        [0xff, 0xfe, ..] | [b'<', 0, ..] => return utf16(units(u16::from_le_bytes), limits),
        _ => {}
    }
    let declared = declared_encoding(body).unwrap_or("utf-8");
    if declared.eq_ignore_ascii_case("iso-8859-1") {
        let length = body.len() + body.iter().filter(|byte| !byte.is_ascii()).count();
        if length > limits.bytes {
            return Err(XmlError::TooLong(limits.bytes));
        }
        return Ok(body.iter().map(|byte| char::from(*byte)).collect());
    }
    let text = str::from_utf8(body).map_err(|error| XmlError::Encoding {
        encoding: "UTF-8",
        at: error.valid_up_to(),
        declared: if declared.eq_ignore_ascii_case("utf-8") {
            String::new()
        } else {
            let declared = excerpt::escaped_text(declared);
            format!("; it declares {declared}, and UTF-8, UTF-16 and ISO-8859-1 are read")
        },
    })?;
    Ok(Cow::Borrowed(text))
}

fn utf16<'a>(
    units: impl Iterator<Item = u16>,
    limits: &XmlLimits,
) -> Result<Cow<'a, str>, XmlError> {
    let mut text = String::new();
    for c in char::decode_utf16(units) {
        let c = c.map_err(|_| XmlError::Encoding {
            encoding: "UTF-16",
            at: 2 * text.encode_utf16().count(),
            declared: String::new(),
        })?;
        if text.len() + c.len_utf8() > limits.bytes {
            return Err(XmlError::TooLong(limits.bytes));
        }
        text.push(c);
    }
    Ok(Cow::Owned(text))
}

/// The name in `<?xml version="1.0" encoding="..."?>`.
fn declared_encoding(body: &[u8]) -> Option<&str> {
    let rest = body.trim_ascii_start().strip_prefix(b"<?xml")?;
    let mut declaration = rest.iter().take(LONGEST_DECLARATION);
    let end = declaration.position(|byte| *byte == b'>')?;
    let declaration = str::from_utf8(&rest[..end]).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| "\"'".contains(*c))?;
    value[1..].split(quote).next()
}

impl<'a> Walker<'a> {
    /// A walker through a body that [`xml_text`] returned.
    pub(super) fn new(body: &'a str, limits: &XmlLimits) -> Result<Walker<'a>, XmlError> {
        // Blanks before the declaration are not well-formed, and some servers send them.
        let text = body.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        if !text.starts_with('<') {
            return Err(XmlError::NotXml(excerpt::escaped_text(text)));
        }
        let mut reader = NsReader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Ok(Walker {
            reader,
            trimmed: (body.len() - text.len()) as u64,
            depth: 0,
            max_depth: limits.depth,
        })
    }

    pub(super) fn root(&mut self) -> Result<Node, XmlError> {
        loop {
            match self.token()? {
                Token::Open(node) => return Ok(node),
                Token::Text(text) if !text.trim().is_empty() => {
                    return Err(XmlError::NotXml(excerpt::escaped_text(&text)));
                }
                Token::Text(_) | Token::Close => {}
                Token::End => return Err(XmlError::Truncated),
            }
        }
    }

    /// Enters the next child of the current element, skipping text, or leaves the element.
    pub(super) fn child(&mut self) -> Result<Option<Node>, XmlError> {
        loop {
            match self.token()? {
                Token::Open(node) => return Ok(Some(node)),
                Token::Close => return Ok(None),
                Token::Text(_) => {}
                Token::End => return Err(XmlError::Truncated),
            }
        }
    }

    /// The text of the current element without that of its children, trimmed; leaves the element.
    pub(super) fn text(&mut self) -> Result<String, XmlError> {
        let mut text = String::new();
        let level = self.depth;
        loop {
            match self.token()? {
                Token::Text(piece) if self.depth == level => text.push_str(&piece),
                Token::Close if self.depth < level => return Ok(text.trim().to_owned()),
                Token::Text(_) | Token::Open(_) | Token::Close => {}
                Token::End => return Err(XmlError::Truncated),
            }
        }
    }

    /// Leaves the current element and all within it.
    pub(super) fn skip(&mut self) -> Result<(), XmlError> {
        let level = self.depth;
        while self.depth >= level {
            if matches!(self.token()?, Token::End) {
                return Err(XmlError::Truncated);
            }
        }
        Ok(())
    }

    /// Skips what may follow the root element, after that is left.
    pub(super) fn end(&mut self) -> Result<(), XmlError> {
        loop {
            let behind = match self.token()? {
                Token::Text(text) => text,
                Token::Open(node) => format!("<{}>", node.name),
                Token::Close => continue,
                Token::End => return Ok(()),
            };
            if !behind.trim().is_empty() {
                return Err(XmlError::Behind(excerpt::escaped_text(&behind)));
            }
        }
    }

    fn token(&mut self) -> Result<Token, XmlError> {
        loop {
            let event = self.reader.read_event();
            let event = event.map_err(|error| XmlError::Malformed {
                at: self.trimmed + self.reader.error_position(),
                problem: excerpt::escaped_text(&error.to_string()),
            })?;
            return Ok(match event {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > self.max_depth {
                        return Err(XmlError::TooDeep(self.max_depth));
                    }
                    Token::Open(resolve(&self.reader, &start))
                }
                // Unreachable, as empty elements are expanded into a start and an end.
                Event::Empty(_) => continue,
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Token::Close
                }
                Event::Text(text) => Token::Text(text.xml10_content().into_owned()),
                Event::CData(text) => Token::Text(text.xml10_content().into_owned()),
                Event::GeneralRef(entity) => Token::Text(expand(&entity)?),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
                Event::DocType(_) => return Err(XmlError::Doctype),
                Event::Eof => Token::End,
            });
        }
    }
}

/// Resolves a name. An undeclared prefix stands for itself, except that `DAV` is taken for the
/// namespace of WebDAV:
///
/// lighttpd 1.4.69 responds to a refused PROPPATCH with `<DAV:getetag/>` and no declaration, which
/// is malformed for a namespace-aware reader.
fn resolve(reader: &NsReader<&[u8]>, start: &BytesStart<'_>) -> Node {
    let (namespace, local) = reader.resolver().resolve_element(start.name());
    let namespace = match namespace {
        ResolveResult::Bound(namespace) => namespace.into_inner().to_owned(),
        ResolveResult::Unbound => String::new(),
        ResolveResult::Unknown(prefix) if prefix == "DAV" => DAV.to_owned(),
        ResolveResult::Unknown(prefix) => prefix,
    };
    Node {
        namespace,
        name: local.into_inner().to_owned(),
    }
}

fn expand(entity: &BytesRef<'_>) -> Result<String, XmlError> {
    let name = entity.xml10_content();
    let unknown = || XmlError::Entity(excerpt::escaped_text(&name));
    if entity.is_char_ref() {
        let resolved = entity.resolve_char_ref().ok().flatten();
        return resolved.map(String::from).ok_or_else(unknown);
    }
    let expanded = match &*name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => return Err(unknown()),
    };
    Ok(expanded.to_owned())
}
