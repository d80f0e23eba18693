//! Content codings (RFC 9110, section 8.4): how a server compresses a body for a client that
//! accepts it.

use std::borrow::Cow;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use thiserror::Error;

use crate::excerpt;

/// Why a body cannot be decoded. Text of the server in it is cut and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodingError {
    /// A coding other than gzip, the only one that is offered.
    #[error("its Content-Encoding is \"{0}\", and only gzip was offered")]
    Unknown(String),
    /// The body is not in the coding that the header names.
    #[error("the body is not gzip, unlike its Content-Encoding: {0}")]
    Broken(String),
    /// More bytes than the limit: a small body can decode to a very large one.
    #[error("it is longer than {0} bytes when it is unpacked")]
    TooLong(usize),
}

/// Decodes a body by the value of its header `Content-Encoding`; at most `limit` bytes.
///
/// # Errors
/// The body cannot be decoded.
pub fn decoded<'a>(
    coding: Option<&str>,
    body: &'a [u8],
    limit: usize,
) -> Result<Cow<'a, [u8]>, CodingError> {
    match Packing::parse(coding)? {
        Packing::None => Ok(Cow::Borrowed(body)),
        Packing::Gzip => {
            let mut unpacked = Vec::new();
            unpack(body, limit, &mut unpacked).map_err(|error| broken(&error))?;
            if unpacked.len() > limit {
                return Err(CodingError::TooLong(limit));
            }
            Ok(Cow::Owned(unpacked))
        }
    }
}

/// Decodes at most `limit` bytes from the beginning of a body, which may be incomplete; and whether
/// more follow.
///
/// # Errors
/// The body cannot be decoded.
pub fn beginning<'a>(
    coding: Option<&str>,
    body: &'a [u8],
    is_whole: bool,
    limit: usize,
) -> Result<(Cow<'a, [u8]>, bool), CodingError> {
    let mut document = match Packing::parse(coding)? {
        Packing::None => Cow::Borrowed(body),
        Packing::Gzip => {
            let mut unpacked = Vec::new();
            match unpack(body, limit, &mut unpacked) {
                Err(error) if is_whole || error.kind() != io::ErrorKind::UnexpectedEof => {
                    return Err(broken(&error));
                }
                _ => Cow::Owned(unpacked),
            }
        }
    };
    let has_more = !is_whole || document.len() > limit;
    match &mut document {
        Cow::Borrowed(document) => *document = &document[..document.len().min(limit)],
        Cow::Owned(document) => document.truncate(limit),
    }
    Ok((document, has_more))
}

enum Packing {
    None,
    Gzip,
}

impl Packing {
    fn parse(coding: Option<&str>) -> Result<Packing, CodingError> {
        match coding.map(str::trim).unwrap_or_default() {
            "" => Ok(Packing::None),
            plain if plain.eq_ignore_ascii_case("identity") => Ok(Packing::None),
            gzip if gzip.eq_ignore_ascii_case("gzip") || gzip.eq_ignore_ascii_case("x-gzip") => {
                Ok(Packing::Gzip)
            }
            other => Err(CodingError::Unknown(excerpt::escaped_text(other))),
        }
    }
}

/// Unpacks one byte more than the limit, where there is more.
fn unpack(body: &[u8], limit: usize, into: &mut Vec<u8>) -> io::Result<usize> {
    MultiGzDecoder::new(body)
        .take((limit as u64).saturating_add(1))
        .read_to_end(into)
}

fn broken(error: &io::Error) -> CodingError {
    CodingError::Broken(excerpt::escaped_text(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_body_is_what_its_header_says() {
        for plain in [None, Some(""), Some("identity"), Some("Identity")] {
            assert_eq!(decoded(plain, b"<a/>", 9).unwrap(), &b"<a/>"[..]);
        }
        for packed in ["gzip", "GZip", " x-gzip "] {
            let body = gzip(b"<a/>");
            assert_eq!(decoded(Some(packed), &body, 9).unwrap(), &b"<a/>"[..]);
        }
        // Members of a gzip follow one another (RFC 1952, section 2.2).
        let both = [gzip(b"<a>"), gzip(b"</a>")].concat();
        assert_eq!(decoded(Some("gzip"), &both, 9).unwrap(), &b"<a></a>"[..]);
    }

    #[test]
    fn what_cannot_be_unpacked_is_said_so() {
        let unknown = decoded(Some("br\u{1b}"), b"x", 9).unwrap_err();
        assert_eq!(unknown, CodingError::Unknown(r"br\u{1b}".to_owned()));
        let twice = decoded(Some("gzip, gzip"), b"x", 9).unwrap_err();
        assert!(matches!(twice, CodingError::Unknown(_)), "{twice}");
        let mut cut = gzip(b"<a/>");
        cut.pop();
        for broken in [&b"<a/>"[..], b"", &cut] {
            let error = decoded(Some("gzip"), broken, 9).unwrap_err();
            assert!(matches!(error, CodingError::Broken(_)), "{error}");
        }
    }

    #[test]
    fn a_long_body_is_cut() {
        let packed = gzip(b"<html>");
        let read = |body, is_whole, limit| {
            let (document, has_more) = beginning(Some("gzip"), body, is_whole, limit)?;
            Ok((document.into_owned(), has_more))
        };
        assert_eq!(read(&packed, true, 6), Ok((b"<html>".to_vec(), false)));
        assert_eq!(read(&packed, true, 5), Ok((b"<html".to_vec(), true)));
        // Noise does not compress, so a part of it is still a part after it is unpacked.
        let noise = |n: u32| (n.wrapping_mul(n) >> 7) as u8;
        let noise: Vec<u8> = (0..9_000).map(noise).collect();
        let cut = &gzip(&noise)[..4_000];
        let (document, has_more) = beginning(Some("gzip"), cut, false, 1 << 20).unwrap();
        assert!(has_more && noise.starts_with(&document) && document.len() > 1_000);
        for (body, is_whole) in [(cut, true), (&b"no gzip at all"[..], false)] {
            let error = read(body, is_whole, 1 << 20).unwrap_err();
            assert!(matches!(error, CodingError::Broken(_)), "{error}");
        }
        let plain = beginning(None, b"<html>", true, 5).unwrap();
        assert_eq!(plain, (Cow::Borrowed(&b"<html"[..]), true));
        let part = beginning(None, b"<htm", false, 5).unwrap();
        assert_eq!(part, (Cow::Borrowed(&b"<htm"[..]), true));
        let unknown = beginning(Some("br"), b"", true, 5);
        assert!(matches!(unknown, Err(CodingError::Unknown(_))));
    }

    #[test]
    fn a_small_body_does_not_become_a_large_one() {
        let bomb = gzip(&[b' '; 1 << 20]);
        assert!(bomb.len() < 2_000);
        let error = decoded(Some("gzip"), &bomb, 1 << 16).unwrap_err();
        assert_eq!(error, CodingError::TooLong(1 << 16));
        let whole = decoded(Some("gzip"), &bomb, 1 << 20).unwrap();
        assert_eq!(whole.len(), 1 << 20);
    }
}
