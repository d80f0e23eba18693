//! The properties that a request names, read from the body of a PROPFIND or a PROPPATCH (RFC 4918,
//! sections 14.19 and 14.20).

use super::multistatus::PropName;
use super::xml::{Walker, XmlError, XmlLimits, xml_text};

/// The properties that the body of a PROPFIND requests by name, or that of a PROPPATCH sets or
/// removes: each once, in order.
///
/// For a property that they do not have, some servers send 404, others omit it, and some
/// acknowledge other properties than those of the request, so a response is compared with the
/// request. Empty for `allprop`, `propname`, and any other body.
pub fn requested_properties(body: &[u8]) -> Vec<PropName> {
    named(body).unwrap_or_default()
}

fn named(body: &[u8]) -> Result<Vec<PropName>, XmlError> {
    let limits = XmlLimits::default();
    let text = xml_text(body, &limits)?;
    let mut walker = Walker::new(&text, &limits)?;
    let root = walker.root()?;
    let mut names = Vec::new();
    if root.is_dav("propfind") {
        read_props(&mut walker, &mut names)?;
    } else if root.is_dav("propertyupdate") {
        while let Some(child) = walker.child()? {
            if child.is_dav("set") || child.is_dav("remove") {
                read_props(&mut walker, &mut names)?;
            } else {
                walker.skip()?;
            }
        }
    }
    Ok(names)
}

/// Reads the names inside the `prop` elements of the current element, and leaves it.
fn read_props(walker: &mut Walker<'_>, names: &mut Vec<PropName>) -> Result<(), XmlError> {
    while let Some(child) = walker.child()? {
        if !child.is_dav("prop") {
            walker.skip()?;
            continue;
        }
        while let Some(property) = walker.child()? {
            walker.skip()?;
            let name = PropName::from(property);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(body: &str) -> Vec<String> {
        let names = requested_properties(body.as_bytes());
        names.iter().map(PropName::to_string).collect()
    }

    #[test]
    fn names_are_listed_once_with_their_namespaces() {
        let body = r#"<?xml version="1.0"?>
            <d:propfind xmlns:d="DAV:"><d:prop><d:getetag/><x xmlns="urn:y">z</x>
            <d:supportedlock/><supportedlock xmlns="DAV:"/></d:prop></d:propfind>"#;
        assert_eq!(requested(body), ["getetag", "{urn:y}x", "supportedlock"]);
    }

    #[test]
    fn a_proppatch_names_what_it_sets_and_what_it_removes() {
        let body = r#"<d:propertyupdate xmlns:d="DAV:" xmlns:y="urn:y">
            <d:set><d:prop><y:a>1</y:a><b>2</b></d:prop></d:set>
            <d:remove><d:prop><y:c/></d:prop></d:remove>
            <d:set><d:prop><y:a>3</y:a></d:prop></d:set>
            <y:ignored><d:prop><y:d/></d:prop></y:ignored></d:propertyupdate>"#;
        assert_eq!(requested(body), ["{urn:y}a", "{}b", "{urn:y}c"]);
    }

    #[test]
    fn nothing_is_requested_by_name() {
        for body in [
            "",
            "plain text",
            r#"<propfind xmlns="DAV:"><allprop/></propfind>"#,
            r#"<propfind xmlns="DAV:"><propname/></propfind>"#,
            r#"<propfind xmlns="DAV:"><prop><a/>"#,
            r#"<lockinfo xmlns="DAV:"><prop><a/></prop></lockinfo>"#,
            r#"<propertyupdate xmlns="DAV:"><prop><a/></prop></propertyupdate>"#,
        ] {
            assert!(requested(body).is_empty(), "{body}");
        }
    }
}
