//! The body of a 207 (RFC 4918, section 13).
//!
//! ```text
//! multistatus
//!   response *         href+ and a status: the members, and how each of them went
//!   response *         href and propstat+: a member, and how its properties went
//!     propstat         prop and a status
//! ```
//!
//! Elements may be in any order, unknown elements are skipped (RFC 4918, section 17), and values of
//! properties are dropped but for those that a measurement needs: `resourcetype`, `lockdiscovery`
//! and `supportedlock`.

use std::fmt;

use super::lock::{ActiveLock, active_locks};
use super::xml::{Node, Walker, XmlError, XmlLimits, xml_text};
use crate::excerpt;
use crate::response::status_code;

/// A multistatus: the statuses of several resources in one response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Multistatus {
    /// One for each href, in the server's order, which is arbitrary.
    pub responses: Vec<ResourceResponse>,
}

impl Multistatus {
    /// The only resource is missing: the form in which most servers send a 404.
    pub fn is_missing(&self) -> bool {
        !self.responses.is_empty() && self.responses.iter().all(ResourceResponse::is_missing)
    }
}

/// Status and properties of one resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceResponse {
    /// The resource, as the server wrote it. See [`same_resource`](super::same_resource).
    pub href: String,
    /// Status of the resource as a whole; `None` where the propstats have it.
    pub status: Option<u16>,
    /// Statuses of its properties.
    pub propstats: Vec<Propstat>,
    /// Its `resourcetype` contains `collection`.
    pub is_collection: bool,
    /// The locks in its `lockdiscovery`.
    pub locks: Vec<ActiveLock>,
    /// Its `supportedlock` names a kind of lock.
    pub can_be_locked: bool,
    /// The server's description of the status, for people.
    pub description: Option<String>,
}

impl ResourceResponse {
    /// All statuses: that of the resource, and those of its propstats.
    pub fn statuses(&self) -> impl Iterator<Item = u16> {
        let propstats = self.propstats.iter().map(|propstat| propstat.status);
        self.status.into_iter().chain(propstats)
    }

    /// The resource does not exist: it has the status 404 or, from nginx-dav-ext before version 2,
    /// nothing but 404 for a property without a name. A 404 for named properties applies to these
    /// only.
    pub fn is_missing(&self) -> bool {
        let names_nothing =
            |propstat: &Propstat| propstat.status == 404 && propstat.props.is_empty();
        match self.status {
            Some(status) => status == 404,
            None => !self.propstats.is_empty() && self.propstats.iter().all(names_nothing),
        }
    }
}

/// Properties with the same status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Propstat {
    /// Their status.
    pub status: u16,
    /// The properties.
    pub props: Vec<PropName>,
}

/// Name of a property.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropName {
    /// Namespace; empty for none. For an undeclared prefix, the prefix.
    pub namespace: String,
    /// Name within the namespace.
    pub name: String,
}

impl fmt::Display for PropName {
    /// Writes `getetag` for a property of WebDAV, `{namespace}name` for others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "DAV:" => f.write_str(&self.name),
            namespace => write!(f, "{{{namespace}}}{}", self.name),
        }
    }
}

/// Reads the body of a 207.
pub fn parse_multistatus(body: &[u8], limits: &XmlLimits) -> Result<Multistatus, XmlError> {
    let text = xml_text(body, limits)?;
    let mut walker = Walker::new(&text, limits)?;
    let root = walker.root()?;
    if !root.is_dav("multistatus") {
        let name = PropName::from(root).to_string();
        return Err(XmlError::NotMultistatus(excerpt::escaped_text(&name)));
    }
    let mut reading = MultistatusReader {
        walker,
        limits,
        properties: 0,
    };
    let mut multistatus = Multistatus::default();
    while let Some(child) = reading.walker.child()? {
        if child.is_dav("response") {
            reading.response(&mut multistatus.responses)?;
        } else {
            reading.walker.skip()?;
        }
    }
    reading.walker.end()?;
    Ok(multistatus)
}

impl From<Node> for PropName {
    fn from(node: Node) -> PropName {
        PropName {
            namespace: node.namespace,
            name: node.name,
        }
    }
}

#[derive(Default)]
struct Prop {
    names: Vec<PropName>,
    is_collection: bool,
    locks: Vec<ActiveLock>,
    can_be_locked: bool,
}

struct MultistatusReader<'a, 'b> {
    walker: Walker<'a>,
    limits: &'b XmlLimits,
    properties: usize,
}

impl MultistatusReader<'_, '_> {
    /// Reads the content of a `response`; several hrefs share it.
    fn response(&mut self, responses: &mut Vec<ResourceResponse>) -> Result<(), XmlError> {
        let first = responses.len();
        let mut shared = ResourceResponse::default();
        while let Some(child) = self.walker.child()? {
            if child.is_dav("href") {
                if responses.len() == self.limits.responses {
                    return Err(XmlError::TooManyResponses(self.limits.responses));
                }
                let href = self.walker.text()?;
                responses.push(ResourceResponse {
                    href,
                    ..ResourceResponse::default()
                });
            } else if child.is_dav("status") {
                shared.status = Some(parse_status(&self.walker.text()?)?);
            } else if child.is_dav("propstat") {
                self.propstat(&mut shared)?;
            } else if child.is_dav("responsedescription") {
                shared.description = Some(self.walker.text()?);
            } else {
                self.walker.skip()?;
            }
        }
        match &mut responses[first..] {
            [] => Err(XmlError::NoHref),
            [only] => {
                let href = std::mem::take(&mut only.href);
                *only = ResourceResponse { href, ..shared };
                Ok(())
            }
            // Only a status can be shared (RFC 4918, section 14.24); copies of property lists
            // would let a small body grow large.
            several => {
                several
                    .iter_mut()
                    .for_each(|response| response.status = shared.status);
                Ok(())
            }
        }
    }

    fn propstat(&mut self, response: &mut ResourceResponse) -> Result<(), XmlError> {
        let mut prop = Prop::default();
        let mut status = None;
        while let Some(child) = self.walker.child()? {
            if child.is_dav("prop") {
                self.prop(&mut prop)?;
            } else if child.is_dav("status") {
                status = Some(parse_status(&self.walker.text()?)?);
            } else if child.is_dav("responsedescription") {
                let text = self.walker.text()?;
                response.description.get_or_insert(text);
            } else {
                self.walker.skip()?;
            }
        }
        let status = status.ok_or(XmlError::NoStatus)?;
        if (200..300).contains(&status) {
            response.is_collection |= prop.is_collection;
            response.locks.append(&mut prop.locks);
            response.can_be_locked |= prop.can_be_locked;
        }
        response.propstats.push(Propstat {
            status,
            props: prop.names,
        });
        Ok(())
    }

    fn prop(&mut self, prop: &mut Prop) -> Result<(), XmlError> {
        while let Some(child) = self.walker.child()? {
            if self.properties == self.limits.properties {
                return Err(XmlError::TooManyProperties(self.limits.properties));
            }
            self.properties += 1;
            if child.is_dav("resourcetype") {
                while let Some(kind) = self.walker.child()? {
                    prop.is_collection |= kind.is_dav("collection");
                    self.walker.skip()?;
                }
            } else if child.is_dav("lockdiscovery") {
                active_locks(&mut self.walker, &mut prop.locks)?;
            } else if child.is_dav("supportedlock") {
                while let Some(kind) = self.walker.child()? {
                    prop.can_be_locked |= kind.is_dav("lockentry");
                    self.walker.skip()?;
                }
            } else {
                self.walker.skip()?;
            }
            prop.names.push(child.into());
        }
        Ok(())
    }
}

/// Reads the status of `HTTP/1.1 207 Multi-Status`, `HTTP/1.1 207 `, `HTTP/1.1 409 (status)`.
fn parse_status(line: &str) -> Result<u16, XmlError> {
    let mut words = line.split_ascii_whitespace();
    let version = words.next().filter(|version| version.starts_with("HTTP/"));
    let status = version.and(words.next()).and_then(status_code);
    status.ok_or_else(|| XmlError::Status(excerpt::escaped_text(line)))
}
