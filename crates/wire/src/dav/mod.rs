//! WebDAV (RFC 4918): bodies, lock tokens, hrefs, and the headers that WebDAV defines.

mod condition;
mod href;
mod lock;
mod multistatus;
mod requested;
mod xml;

pub use condition::condition;
pub use href::{encode_segment, href_path, is_within, last_segment, level, path_of, same_resource};
pub use lock::{ActiveLock, lock_token_from_body, lock_token_from_header};
pub use multistatus::{Multistatus, PropName, Propstat, ResourceResponse, parse_multistatus};
pub use requested::requested_properties;
pub use xml::{XmlError, XmlLimits, xml_text};

use crate::response::Headers;

/// The compliance classes and extensions a server claims (RFC 4918, section 10.1).
///
/// Servers send several `DAV` headers and repeat tokens; each token is listed once, in order.
pub fn dav_tokens(headers: &Headers) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for token in headers.list("DAV") {
        if !tokens.iter().any(|known| known == token) {
            tokens.push(token.to_owned());
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dav_headers_are_joined_and_deduplicated() {
        let apache = [
            ("DAV", "1,2"),
            ("Allow", "OPTIONS"),
            ("dav", " <http://apache.org/dav/propset/fs/1> , 2,"),
        ];
        let headers: Headers = apache.into_iter().collect();
        let expected = ["1", "2", "<http://apache.org/dav/propset/fs/1>"];
        assert_eq!(dav_tokens(&headers), expected);
        assert!(dav_tokens(&Headers::new()).is_empty());
    }
}
