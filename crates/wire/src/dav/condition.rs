//! Precondition and postcondition codes: the inside of a DAV:error (RFC 4918, section 16).

use super::xml::{Walker, XmlError, XmlLimits, xml_text};

/// Characters of a code at most; those of RFC 4918, RFC 3253 and RFC 3744 have 40.
const LONGEST: usize = 64;

/// The first code of the namespace `DAV:` in the body of a response: `propfind-finite-depth`, for
/// example. `None` as well where the body is not such XML. The end of the body may be missing.
/// Longer names and names with other characters are not codes.
pub fn condition(body: &[u8]) -> Option<String> {
    first(body).ok().flatten()
}

fn first(body: &[u8]) -> Result<Option<String>, XmlError> {
    let limits = XmlLimits::default();
    let text = xml_text(body, &limits)?;
    let mut walker = Walker::new(&text, &limits)?;
    if !walker.root()?.is_dav("error") {
        return Ok(None);
    }
    while let Some(child) = walker.child()? {
        if child.is_dav(&child.name) {
            return Ok(Some(child.name).filter(|name| is_code(name)));
        }
        walker.skip()?;
    }
    Ok(None)
}

fn is_code(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.len() <= LONGEST && name.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_the_first_element_of_webdav_in_an_error() {
        let table = [
            (
                "<?xml version='1.0'?>\n<D:error xmlns:D='DAV:'><D:propfind-finite-depth/></D:error>",
                Some("propfind-finite-depth"),
            ),
            (
                "<error xmlns='DAV:'><m:text xmlns:m='urn:m'>no</m:text><lock-token-submitted>",
                Some("lock-token-submitted"),
            ),
            ("<error xmlns='DAV:'/>", None),
            ("<error xmlns='DAV:'><gr\u{fc}n/></error>", None),
            ("<error><propfind-finite-depth/></error>", None),
            ("<html><propfind-finite-depth/></html>", None),
            ("Forbidden", None),
            ("", None),
        ];
        for (body, wanted) in table {
            assert_eq!(condition(body.as_bytes()).as_deref(), wanted, "{body}");
        }
    }
}
