//! Documents of packages: those for users, and all documents linked from these and from each other,
//! with the same paths.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::content::files_of;
use crate::docs::{joined, links};

const FIRST: [&str; 2] = ["README.md", "CHANGELOG.md"];

/// Their paths in a project; for a linked directory, all files.
///
/// # Errors
/// A link leads nowhere or out of the project.
pub(super) fn linked(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut open: Vec<PathBuf> = FIRST.map(PathBuf::from).to_vec();
    while let Some(document) = open.pop() {
        let path = root.join(&document);
        if path.is_dir() {
            let files = files_of(&path)?;
            open.extend(files.into_iter().map(|(name, _)| document.join(name)));
        } else if found.insert(document.clone())
            && document.extension().is_some_and(|end| end == "md")
        {
            let page = document.display();
            let text = fs::read_to_string(&path).with_context(|| format!("read {page}"))?;
            for link in links(&text) {
                let target = joined(document.parent().unwrap_or(&document), link);
                if target.is_absolute() || !root.join(&target).exists() {
                    bail!("{page} links to {link}, which is no file of the project");
                }
                open.push(target);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_bring_those_to_which_they_link() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "README.md",
            "[a](docs/a.md#x) [up](#x) [web](https://a.example/b.md)",
        );
        write("CHANGELOG.md", "");
        write("docs/a.md", "![b](../images) [README](../README.md)");
        write("docs/unlinked.md", "");
        write("images/b/c.svg", "[no page](no.md)");
        let found = linked(root.path()).unwrap();
        let expected = ["CHANGELOG.md", "README.md", "docs/a.md", "images/b/c.svg"];
        assert!(found.iter().eq(expected.map(Path::new)), "{found:?}");
        for link in ["none.md", "../../etc/passwd", "/etc/passwd"] {
            write("docs/a.md", &format!("[x]({link})"));
            let error = linked(root.path()).unwrap_err().to_string();
            let message = format!("docs/a.md links to {link}, which is no file of the project");
            assert_eq!(error, message);
        }
    }
}
