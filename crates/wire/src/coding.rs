//! Content codings (RFC 9110, section 8.4): what a server made of a body that a client would take
//! compressed.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use thiserror::Error;

use crate::excerpt;

/// Why a body cannot be read. Text of the server in it is cut and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodingError {
    /// Another coding than gzip, the only one that is offered.
    #[error("its Content-Encoding is \"{0}\", and only gzip was offered")]
    Unknown(String),
    /// Not what the header says.
    #[error("the body is not gzip, unlike its Content-Encoding: {0}")]
    Broken(String),
    /// More than the limit, of which a small body can be the beginning.
    #[error("it is longer than {0} bytes when it is unpacked")]
    TooLong(usize),
}

/// The body without its content coding, which is the value of the header `Content-Encoding`; at
/// most so many bytes of it.
///
/// # Errors
/// Why it cannot be read.
pub fn decoded<'a>(
    coding: Option<&str>,
    body: &'a [u8],
    limit: usize,
) -> Result<Cow<'a, [u8]>, CodingError> {
    match coding.map(str::trim).unwrap_or_default() {
        "" => Ok(Cow::Borrowed(body)),
        plain if plain.eq_ignore_ascii_case("identity") => Ok(Cow::Borrowed(body)),
        gzip if gzip.eq_ignore_ascii_case("gzip") || gzip.eq_ignore_ascii_case("x-gzip") => {
            unpacked(body, limit).map(Cow::Owned)
        }
        other => Err(CodingError::Unknown(excerpt::of_text(other))),
    }
}

fn unpacked(body: &[u8], limit: usize) -> Result<Vec<u8>, CodingError> {
    let mut unpacked = Vec::new();
    // One byte beyond the limit tells that there is more.
    MultiGzDecoder::new(body)
        .take((limit as u64).saturating_add(1))
        .read_to_end(&mut unpacked)
        .map_err(|error| CodingError::Broken(excerpt::of_text(&error.to_string())))?;
    if unpacked.len() > limit {
        Err(CodingError::TooLong(limit))
    } else {
        Ok(unpacked)
    }
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
    fn a_small_body_does_not_become_a_large_one() {
        let bomb = gzip(&[b' '; 1 << 20]);
        assert!(bomb.len() < 2_000);
        assert_eq!(
            decoded(Some("gzip"), &bomb, 1 << 16).unwrap_err(),
            CodingError::TooLong(1 << 16)
        );
        assert_eq!(
            decoded(Some("gzip"), &bomb, 1 << 20).unwrap().len(),
            1 << 20
        );
    }
}
