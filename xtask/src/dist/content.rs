//! The files of an installation, and the archive of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::target::ReleaseTarget;
use super::{Release, files_in};
use crate::project::{output_of, root};

/// Texts at the top of the archive.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Licences at the top of the archive: ours, and those of all other parts.
pub(super) const LICENCES: [&str; 3] =
    ["LICENSE-APACHE", "LICENSE-MIT", "LICENSES-THIRD-PARTY.txt"];

/// Texts of `docs` that explain how to use the program.
const GUIDES: [&str; 4] = ["METHODOLOGY.md", "SUITES.md", "PAPERS.md", "DECISIONS.md"];

/// Shells, and what each calls the file that completes the words after a command.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "prestan"),
    ("zsh", "_prestan"),
    ("fish", "prestan.fish"),
];

/// All files of an installation, in a temporary directory:
///
/// ```text
/// prestan  README.md ...  LICENSES-THIRD-PARTY.txt  docs/  man1/  completions/SHELL/
/// ```
pub(super) struct Content {
    directory: TempDir,
    /// Of the directory in the archive.
    name: String,
}

impl Content {
    pub(super) fn gather(
        release: &Release,
        target: ReleaseTarget,
        program: &Path,
        licences: &str,
    ) -> Result<Content> {
        let directory = tempfile::tempdir().context("create a temporary directory")?;
        let name = release.name(target);
        let content = Content { directory, name };
        let top = content.top();
        let create = |directory: &Path| {
            fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))
        };
        create(&top.join("docs"))?;
        let root = root()?;
        for document in DOCUMENTS {
            copy(&root.join(document), &top.join(document), 0o644)?;
        }
        for guide in GUIDES {
            copy(
                &root.join("docs").join(guide),
                &top.join("docs").join(guide),
                0o644,
            )?;
        }
        write(&top.join("LICENSES-THIRD-PARTY.txt"), licences)?;
        let installed = top.join("prestan");
        copy(program, &installed, 0o755)?;
        output_of(target.command(&installed)?.arg("man").arg(top.join("man1")))?;
        for (shell, file) in SHELLS {
            let script = output_of(target.command(&installed)?.args(["completions", shell]))?;
            let place = top.join("completions").join(shell);
            create(&place)?;
            write(&place.join(file), &script)?;
        }
        Ok(content)
    }

    /// The directory with all files, named as in the archive.
    pub(super) fn top(&self) -> PathBuf {
        self.directory.path().join(&self.name)
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
        .arg(self.directory.path())
        .arg(&self.name);
        output_of(&mut tar)?;
        Ok(())
    }
}

impl Release {
    /// Name of the archive without an ending, and of the directory in it.
    pub(super) fn name(&self, target: ReleaseTarget) -> String {
        format!("prestan-{}-{}", self.version, target.triple)
    }

    pub(super) fn archive(&self, target: ReleaseTarget) -> String {
        format!("{}.tar.gz", self.name(target))
    }
}

/// Files of a directory of the content, with their paths.
pub(super) fn files_of(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let names = files_in(directory)?.into_iter();
    Ok(names
        .map(|name| (name.clone(), directory.join(name)))
        .collect())
}

pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    fs::copy(from, to)
        .and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(mode)))
        .with_context(|| format!("copy {} to {}", from.display(), to.display()))
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
