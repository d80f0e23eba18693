//! The body of a PROPFIND, read back (RFC 4918, section 14.20).

use super::multistatus::PropName;
use super::xml::{Walker, XmlLimits};

/// The properties that a PROPFIND body asks for by name, each once, in order.
///
/// Some servers answer a property that they do not have with 404, others leave it out: who wants
/// to know what is missing has to know what was asked for. None for `allprop`, `propname`, and a
/// body that is no PROPFIND.
pub fn requested_properties(body: &[u8]) -> Vec<PropName> {
    named(body).unwrap_or_default()
}

fn named(body: &[u8]) -> Option<Vec<PropName>> {
    let mut walker = Walker::new(body, &XmlLimits::default()).ok()?;
    if !walker.root().ok()?.is_dav("propfind") {
        return None;
    }
    let mut names = Vec::new();
    while let Some(child) = walker.child().ok()? {
        if !child.is_dav("prop") {
            walker.skip().ok()?;
            continue;
        }
        while let Some(property) = walker.child().ok()? {
            walker.skip().ok()?;
            let name = PropName {
                namespace: property.namespace,
                name: property.name,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(body: &str) -> Vec<String> {
        requested_properties(body.as_bytes())
            .iter()
            .map(PropName::to_string)
            .collect()
    }

    #[test]
    fn names_are_listed_once_with_their_namespaces() {
        let body = r#"<?xml version="1.0"?>
            <d:propfind xmlns:d="DAV:"><d:prop><d:getetag/><x xmlns="urn:y">z</x>
            <d:supportedlock/><supportedlock xmlns="DAV:"/></d:prop></d:propfind>"#;
        assert_eq!(requested(body), ["getetag", "{urn:y}x", "supportedlock"]);
    }

    #[test]
    fn nothing_is_asked_for_by_name() {
        for body in [
            "",
            "plain text",
            r#"<propfind xmlns="DAV:"><allprop/></propfind>"#,
            r#"<propfind xmlns="DAV:"><propname/></propfind>"#,
            r#"<propfind xmlns="DAV:"><prop><a/>"#,
            r#"<lockinfo xmlns="DAV:"><prop><a/></prop></lockinfo>"#,
        ] {
            assert!(requested(body).is_empty(), "{body}");
        }
    }
}
