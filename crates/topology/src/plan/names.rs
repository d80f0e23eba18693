//! Names of nodes and of kernel parameters.

use std::collections::BTreeMap;

use super::LabNodeKind;
use super::PlannedSysctl;
use crate::FileError;
use crate::file::{LabSpec, SysctlValue};

/// Longest name of a node.
const LONGEST_NAME: usize = 32;

pub(super) fn section(kind: LabNodeKind) -> &'static str {
    match kind {
        LabNodeKind::Host | LabNodeKind::Bare(_) => "hosts",
        LabNodeKind::Router => "routers",
        LabNodeKind::Switch => "switches",
        LabNodeKind::Hub(_) => "hubs",
    }
}

/// Names of all nodes, in the order of their indices.
pub(super) struct NodeNames<'a>(Vec<&'a str>);

impl<'a> NodeNames<'a> {
    pub(super) fn new(spec: &'a LabSpec) -> Result<NodeNames<'a>, FileError> {
        let sections = [
            ("hosts", spec.hosts.keys().collect::<Vec<_>>()),
            ("routers", spec.routers.keys().collect()),
            ("switches", spec.switches.keys().collect()),
            ("hubs", spec.hubs.keys().collect()),
        ];
        // Programs that look up a name ignore its case.
        let mut places: BTreeMap<String, &str> = BTreeMap::new();
        let mut names: Vec<&str> = Vec::new();
        for (section, of_section) in sections {
            for name in of_section {
                let place = format!("{section}.{name}");
                check(&place, name)?;
                if let Some(other) = places.insert(name.to_ascii_lowercase(), section) {
                    let message = format!("the name is taken by one of `{other}`");
                    return Err(FileError::new(place, message));
                }
                names.push(name);
            }
        }
        if spec.hosts.is_empty() {
            return Err(FileError::new("hosts", "there is none"));
        }
        Ok(NodeNames(names))
    }

    /// Index of the node of a name at a key.
    pub(super) fn find(&self, place: &str, name: &str) -> Result<usize, FileError> {
        let found = self.0.iter().position(|known| *known == name);
        found.ok_or_else(|| {
            let hint = nearest::hint(name, self.0.iter().copied(), "there are");
            FileError::new(place, format!("no node is called `{name}`; {hint}"))
        })
    }
}

fn check(place: &str, name: &str) -> Result<(), FileError> {
    let is_ours = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let begins = |c: char| c.is_ascii_alphanumeric();
    let message = if !(name.len() <= LONGEST_NAME
        && name.starts_with(begins)
        && name.chars().all(is_ours))
    {
        format!(
            "a name has letters, digits, - and _, {LONGEST_NAME} at most, and begins with a letter or a digit"
        )
    } else if is_number(name) {
        "programs take a number for an address (inet_aton(3)), also one that begins with 0x; write another name".to_owned()
    } else if name.eq_ignore_ascii_case("localhost") {
        "is the name that every host has for itself; write another one".to_owned()
    } else {
        return Ok(());
    };
    Err(FileError::new(place, message))
}

/// True if programs take a name for an address of one number, decimal, octal or hexadecimal.
fn is_number(name: &str) -> bool {
    let hexadecimal = name.strip_prefix("0x").or_else(|| name.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.chars().all(|c| c.is_ascii_hexdigit()),
        None => name.chars().all(|c| c.is_ascii_digit()),
    }
}

/// Kernel parameters that are always set, followed by those of the file.
pub(super) fn sysctls(
    place: &str,
    always: &[(&str, &str)],
    given: &BTreeMap<String, SysctlValue>,
) -> Result<Vec<PlannedSysctl>, FileError> {
    let always = always.iter().map(|(key, value)| PlannedSysctl {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        place: None,
    });
    let mut all: Vec<PlannedSysctl> = always.collect();
    for (key, value) in given {
        let place = format!("{place}.sysctl.{key}");
        let is_ours = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        let has_parts = key.split('.').all(|part| !part.is_empty());
        if !key.starts_with("net.") || !has_parts || !key.chars().all(is_ours) {
            return Err(FileError::new(
                place,
                "is no parameter of a network namespace: those begin with `net.`",
            ));
        }
        let value = value.to_string();
        if value.chars().any(char::is_control) {
            return Err(FileError::new(place, "has more than one line"));
        }
        all.push(PlannedSysctl {
            key: key.clone(),
            value,
            place: Some(place),
        });
    }
    Ok(all)
}
