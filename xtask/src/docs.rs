//! `cargo xtask docs`: the documents as a web site with search, in `target/docs/site`.
//!
//! ```text
//! docs/SUMMARY.md --> pages, and the files they link to --> target/docs/src --> mdBook --> target/docs/site
//! ```
//!
//! The pages keep their paths, so that links between them are the same as in the repository. The
//! gallery of servers is part of the site if it has been made (`cargo xtask gallery`). Links of the
//! finished site are checked.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::{finish, root};
use crate::{gallery, setup};

/// List of the pages of the site; its links are relative to itself.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Text of a page that names the gallery, and the link that replaces it in the site.
const GALLERY: (&str, &str) = ("`target/gallery`", "[the gallery](../gallery/index.html)");

pub(crate) fn run() -> Result<()> {
    let mdbook = setup::published(setup::MDBOOK)?;
    let root = root()?;
    let book = root.join("target/docs");
    if book.exists() {
        fs::remove_dir_all(&book).with_context(|| format!("remove {}", book.display()))?;
    }
    let gallery = gallery::directory()?;
    let gallery = gallery.is_dir().then_some(&*gallery);
    if gallery.is_none() {
        message!(
            "xtask: the site is made without the gallery of servers; `cargo xtask gallery` measures it, best on a machine \
             at rest, and `cargo xtask docs` then includes it"
        );
    }
    stage(root, gallery, &book.join("src"))?;
    fs::copy(root.join("docs/book.toml"), book.join("book.toml")).context("copy docs/book.toml")?;
    finish(Command::new(mdbook).arg("build").arg(&book))?;
    let site = book.join("site");
    let broken = broken_links(&site)?;
    if !broken.is_empty() {
        bail!("links of the site lead nowhere:\n{}", broken.join("\n"));
    }
    message!("xtask: {}", site.join("index.html").display());
    Ok(())
}

/// Copies the pages and the files that they link to below `to`, with the gallery if there is one.
fn stage(root: &Path, gallery: Option<&Path>, to: &Path) -> Result<()> {
    let read = |path: &Path| {
        fs::read_to_string(root.join(path)).with_context(|| format!("read {}", path.display()))
    };
    let summary = read(Path::new(SUMMARY))?;
    let docs = Path::new("docs");
    let pages: BTreeSet<PathBuf> = links(&summary).map(|link| joined(docs, link)).collect();
    // mdBook expects its summary at the top.
    let mut moved = summary.clone();
    for link in links(&summary) {
        let page = joined(docs, link);
        moved = moved.replace(&format!("]({link})"), &format!("]({})", page.display()));
    }
    write(&to.join("SUMMARY.md"), moved.as_bytes())?;
    copy_directory(&root.join("docs"), &to.join("docs"))?;
    if let Some(gallery) = gallery {
        copy_directory(gallery, &to.join("docs/gallery"))?;
    }
    for page in &pages {
        let mut text = read(page)?;
        if gallery.is_some() {
            text = text.replace(GALLERY.0, GALLERY.1);
        }
        write(&to.join(page), text.as_bytes())?;
        let directory = page.parent().unwrap_or(Path::new(""));
        for link in links(&text) {
            let target = joined(directory, link);
            let page = page.display();
            if target.extension() == Some(OsStr::new("md")) {
                if !pages.contains(&target) {
                    bail!("{page} links to {link}, which {SUMMARY} does not list");
                }
            } else if root.join(&target).is_dir() {
                bail!(
                    "{page} links to {link}, a directory, which a site does not list; name it as `{link}`, or link to a file"
                );
            } else if root.join(&target).is_file() && !target.starts_with("docs") {
                let bytes = fs::read(root.join(&target))?;
                write(&to.join(&target), &bytes)?;
            }
        }
    }
    Ok(())
}

/// Destinations of the links of a page in this project, without the anchor.
pub(crate) fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|link| !link.contains("://") && !link.starts_with('#') && !link.contains(' '))
        .filter_map(|link| link.split('#').next())
}

/// A relative link from a directory, without `..` in it.
pub(crate) fn joined(directory: &Path, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in directory.join(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, bytes).with_context(|| format!("write {}", path.display()))
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let path = entry?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        let ending = path.extension().and_then(OsStr::to_str);
        if path.is_dir() {
            copy_directory(&path, &copy)?;
        } else if !matches!(ending, Some("md" | "toml")) {
            write(&copy, &fs::read(&path)?)?;
        }
    }
    Ok(())
}

/// Links of the pages of a site to missing files.
fn broken_links(site: &Path) -> Result<Vec<String>> {
    let (mut broken, mut directories) = (Vec::new(), vec![site.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension() == Some(OsStr::new("html")) {
                let text = fs::read_to_string(&path)?;
                let page = path.strip_prefix(site).unwrap_or(&path).display();
                let lost = |link: &&str| !leads_somewhere(&directory, link);
                let links = text.split("href=\"").skip(1);
                let links = links.filter_map(|rest| rest.split('"').next());
                broken.extend(links.filter(lost).map(|link| format!("{page}: {link}")));
            }
        }
    }
    Ok(broken)
}

fn leads_somewhere(directory: &Path, link: &str) -> bool {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    // `/` begins links of the 404 page, which is served for any address.
    let is_elsewhere = link.contains(':') || path.is_empty() || path.starts_with('/');
    is_elsewhere || directory.join(path.replace("%20", " ")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_summary_are_staged_with_what_they_link_to() {
        let to = tempfile::tempdir().unwrap();
        stage(root().unwrap(), None, to.path()).unwrap();
        let summary = fs::read_to_string(to.path().join("SUMMARY.md")).unwrap();
        for page in links(&summary) {
            assert!(to.path().join(page).is_file(), "{page}");
        }
        assert!(!to.path().join("docs/gallery").exists());
        let guide = fs::read_to_string(to.path().join("docs/guides/servers.md")).unwrap();
        assert!(guide.contains(GALLERY.0) && !guide.contains(GALLERY.1));
    }

    #[test]
    fn the_gallery_is_staged_and_linked_to_where_it_was_made() {
        let (gallery, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(gallery.path().join("assets")).unwrap();
        fs::write(gallery.path().join("index.html"), "").unwrap();
        fs::write(gallery.path().join("assets/prestan.js"), "").unwrap();
        stage(root().unwrap(), Some(gallery.path()), to.path()).unwrap();
        let guides = to.path().join("docs/guides");
        let guide = fs::read_to_string(guides.join("servers.md")).unwrap();
        assert!(guide.contains(GALLERY.1));
        for file in ["index.html", "assets/prestan.js"] {
            assert!(guides.join("../gallery").join(file).is_file(), "{file}");
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let site = tempfile::tempdir().unwrap();
        let page = r##"<a href="b.html#x"></a><a href="https://x/"></a><a href="#y"></a><a href="c.html"></a>"##;
        fs::write(site.path().join("a.html"), page).unwrap();
        fs::write(site.path().join("b.html"), "").unwrap();
        assert_eq!(broken_links(site.path()).unwrap(), ["a.html: c.html"]);
    }
}
