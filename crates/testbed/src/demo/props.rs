//! Dead properties of all resources, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dav_server::davpath::DavPath;

/// Name of a property; an empty namespace is none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredName {
    pub(super) namespace: String,
    pub(super) local: String,
}

/// Complete XML elements by property name.
pub(super) type Props = BTreeMap<StoredName, String>;

/// Dead properties by path; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct DeadProps(Arc<Mutex<BTreeMap<Vec<u8>, Props>>>);

impl DeadProps {
    pub(super) fn of(&self, path: &DavPath) -> Props {
        self.lock().get(key(path)).cloned().unwrap_or_default()
    }

    /// Sets a property to the element, or removes it when there is none (which is no error where
    /// it did not exist: RFC 4918, section 14.23).
    pub(super) fn patch(&self, path: &DavPath, name: StoredName, element: Option<String>) {
        let mut all = self.lock();
        let props = all.entry(key(path).to_vec()).or_default();
        match element {
            Some(element) => props.insert(name, element),
            None => props.remove(&name),
        };
    }

    /// Forgets the properties of a resource and of everything below it.
    pub(super) fn remove(&self, path: &DavPath) {
        take_tree(&mut self.lock(), key(path));
    }

    /// Moves the properties of a resource and of everything below it.
    pub(super) fn rename(&self, from: &DavPath, to: &DavPath) {
        let mut all = self.lock();
        let moved = take_tree(&mut all, key(from));
        take_tree(&mut all, key(to));
        for (path, props) in moved {
            all.insert([key(to), &path[key(from).len()..]].concat(), props);
        }
    }

    /// Gives a copy the properties of its source, and those of all members when `deep`.
    pub(super) fn copy(&self, from: &DavPath, to: &DavPath, deep: bool) {
        let mut all = self.lock();
        let copied = if deep {
            tree(&all, key(from))
        } else {
            all.get_key_value(key(from))
                .into_iter()
                .map(owned)
                .collect()
        };
        for (path, props) in copied {
            all.insert([key(to), &path[key(from).len()..]].concat(), props);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Props>> {
        // Every change is complete at any moment, so a panic elsewhere has spoilt nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A collection is the same resource with and without its slash.
fn key(path: &DavPath) -> &[u8] {
    let bytes = path.as_bytes();
    bytes.strip_suffix(b"/").unwrap_or(bytes)
}

fn owned((path, props): (&Vec<u8>, &Props)) -> (Vec<u8>, Props) {
    (path.clone(), props.clone())
}

fn tree(all: &BTreeMap<Vec<u8>, Props>, top: &[u8]) -> Vec<(Vec<u8>, Props)> {
    // `/a-b` sorts between `/a` and `/a/c`, and is not below `/a`.
    let below = |path: &[u8]| path.len() == top.len() || path[top.len()] == b'/';
    all.range(top.to_vec()..)
        .take_while(|(path, _)| path.starts_with(top))
        .filter(|(path, _)| below(path))
        .map(owned)
        .collect()
}

fn take_tree(all: &mut BTreeMap<Vec<u8>, Props>, top: &[u8]) -> Vec<(Vec<u8>, Props)> {
    let taken = tree(all, top);
    for (path, _) in &taken {
        all.remove(path);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> DavPath {
        DavPath::new(text).unwrap()
    }

    #[test]
    fn a_neighbour_with_the_same_beginning_is_not_a_member() {
        let props = DeadProps::default();
        let name = StoredName {
            namespace: String::new(),
            local: "p".to_owned(),
        };
        for resource in ["/a", "/a-b", "/a/c", "/ab"] {
            props.patch(&path(resource), name.clone(), Some(resource.to_owned()));
        }
        props.rename(&path("/a/"), &path("/z"));
        assert!(props.of(&path("/a")).is_empty());
        assert!(props.of(&path("/a/c")).is_empty());
        assert_eq!(props.of(&path("/a-b"))[&name], "/a-b");
        assert_eq!(props.of(&path("/ab"))[&name], "/ab");
        assert_eq!(props.of(&path("/z/"))[&name], "/a");
        assert_eq!(props.of(&path("/z/c"))[&name], "/a/c");
    }
}
