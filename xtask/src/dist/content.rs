//! The files of an installation, and the archive of them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::target::ReleaseTarget;
use super::{Release, documents};
use crate::project::{output_of, root};

/// Licences at the top of the archive: ours, and those of all other parts.
pub(super) const LICENCES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", THIRD_PARTY];

pub(super) const THIRD_PARTY: &str = "LICENSES-THIRD-PARTY.txt";

/// Licences in this repository.
const OWN_LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Shells, and the name of the completion file of a command in each.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "prestan"),
    ("zsh", "_prestan"),
    ("fish", "prestan.fish"),
];

/// A temporary directory in which a package is laid out.
pub(super) struct PackageTree {
    directory: TempDir,
}

impl PackageTree {
    pub(super) fn new() -> Result<PackageTree> {
        let directory = tempfile::tempdir().context("create a temporary directory")?;
        Ok(PackageTree { directory })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A path in it, in an existing directory.
    pub(super) fn new_path(&self, name: impl AsRef<Path>) -> Result<PathBuf> {
        let path = self.path().join(name);
        let directory = path.parent().unwrap_or(self.path());
        fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))?;
        Ok(path)
    }

    pub(super) fn copy(&self, from: &Path, to: impl AsRef<Path>, mode: u32) -> Result<()> {
        copy(from, &self.new_path(to)?, mode)
    }

    pub(super) fn write(&self, to: impl AsRef<Path>, text: &str) -> Result<()> {
        write(&self.new_path(to)?, text)
    }
}

/// All files of an installation:
///
/// ```text
/// prestan  README.md ...  LICENSES-THIRD-PARTY.txt  docs/  man1/  completions/SHELL/
/// ```
pub(super) struct Content {
    tree: PackageTree,
    /// Name of the directory in the archive.
    name: String,
    /// Paths in it.
    pub(super) documents: BTreeSet<PathBuf>,
}

impl Content {
    pub(super) fn gather(
        release: &Release,
        target: ReleaseTarget,
        program: &Path,
        licences: &str,
    ) -> Result<Content> {
        let root = root()?;
        let content = Content {
            tree: PackageTree::new()?,
            name: release.name(target),
            documents: documents::linked(root)?,
        };
        let (tree, top) = (&content.tree, content.top());
        let documents = content.documents.iter();
        for document in documents.chain(&OWN_LICENCES.map(PathBuf::from)) {
            tree.copy(&root.join(document), top.join(document), 0o644)?;
        }
        tree.write(top.join(THIRD_PARTY), licences)?;
        let installed = top.join("prestan");
        tree.copy(program, &installed, 0o755)?;
        output_of(target.command(&installed)?.arg("man").arg(top.join("man1")))?;
        for (shell, file) in SHELLS {
            let script = output_of(target.command(&installed)?.args(["completions", shell]))?;
            tree.write(top.join("completions").join(shell).join(file), &script)?;
        }
        Ok(content)
    }

    /// The directory with all files, named as in the archive.
    pub(super) fn top(&self) -> PathBuf {
        self.tree.path().join(&self.name)
    }

    /// Writes the archive into a directory.
    pub(super) fn archive(
        &self,
        release: &Release,
        target: ReleaseTarget,
        into: &Path,
    ) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.args([
            "--create",
            "--format=ustar",
            "--sort=name",
            "--numeric-owner",
        ])
        .args(["--owner=0", "--group=0", "--mode=u=rwX,go=rX"])
        .arg(format!("--mtime=@{}", release.epoch))
        // Without the name and the time that gzip would add.
        .arg("--use-compress-program=gzip --no-name")
        .arg("--file")
        .arg(into.join(release.archive(target)))
        .arg("--directory")
        .arg(self.tree.path())
        .arg(&self.name);
        output_of(&mut tar)?;
        Ok(())
    }
}

impl Release {
    /// Name of the archive without its extension, and of the directory in it.
    pub(super) fn name(&self, target: ReleaseTarget) -> String {
        format!("prestan-{}-{}", self.version, target.triple)
    }

    pub(super) fn archive(&self, target: ReleaseTarget) -> String {
        format!("{}.tar.gz", self.name(target))
    }
}

/// Files in and below a directory: their relative paths, sorted, and their paths.
pub(super) fn files_of(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("read {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory)?.to_string_lossy().into_owned();
                files.push((name, path));
            }
        }
    }
    files.sort();
    Ok(files)
}

pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    fs::copy(from, to)
        .and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(mode)))
        .with_context(|| format!("copy {} to {}", from.display(), to.display()))
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
