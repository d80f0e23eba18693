//! The Debian package, made with `dpkg-deb`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Release;
use super::content::{Content, copy, files_of, write};
use super::target::{ReleaseTarget, newest_glibc};
use crate::project::output_of;

const DOCUMENTATION: &str = "usr/share/doc/prestan";
const MANUAL: &str = "usr/share/man/man1";

/// Directories of completions: in the content, and where each shell of Debian looks.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions"),
    ("zsh", "usr/share/zsh/vendor-completions"),
    ("fish", "usr/share/fish/vendor_completions.d"),
];

/// Writes `prestan_VERSION_ARCH.deb` into a directory.
pub(super) fn package(
    release: &Release,
    target: ReleaseTarget,
    content: &Content,
    into: &Path,
) -> Result<()> {
    let temporary = tempfile::tempdir().context("create a temporary directory")?;
    let tree = &temporary.path().join("tree");
    let top = content.top();
    let create = |directory: &str| {
        let directory = tree.join(directory);
        fs::create_dir_all(&directory).with_context(|| format!("create {}", directory.display()))
    };
    for directory in ["usr/bin", "DEBIAN", MANUAL, DOCUMENTATION] {
        create(directory)?;
    }
    copy(&top.join("prestan"), &tree.join("usr/bin/prestan"), 0o755)?;
    for (name, page) in files_of(&top.join("man1"))? {
        compressed(&page, &tree.join(MANUAL).join(name))?;
    }
    for (shell, place) in COMPLETIONS {
        create(place)?;
        for (name, script) in files_of(&top.join("completions").join(shell))? {
            copy(&script, &tree.join(place).join(name), 0o644)?;
        }
    }
    let documentation = tree.join(DOCUMENTATION);
    copy(
        &top.join("README.md"),
        &documentation.join("README.md"),
        0o644,
    )?;
    for (name, guide) in files_of(&top.join("docs"))? {
        copy(&guide, &documentation.join(name), 0o644)?;
    }
    // What Debian calls the changelog of a package that it did not make itself.
    compressed(&top.join("CHANGELOG.md"), &documentation.join("changelog"))?;
    write(&documentation.join("copyright"), &copyright(&top)?)?;
    write(
        &tree.join("DEBIAN/control"),
        &control(release, target, &top)?,
    )?;
    // Whatever the umask of this shell is.
    output_of(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(tree))?;
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "--build", "-Zgzip", "-z6"])
        .args([tree, &into.join(file_name(release, target))])
        // Times after this one are set to it, and all files were made after it.
        .env("SOURCE_DATE_EPOCH", &release.epoch);
    output_of(&mut dpkg).context("dpkg-deb makes the Debian package; it is there on Debian")?;
    Ok(())
}

pub(super) fn file_name(release: &Release, target: ReleaseTarget) -> String {
    format!("prestan_{}_{}.deb", release.version, target.debian)
}

/// Copies a file, compressed and with `.gz` at the end of its name.
fn compressed(from: &Path, to: &Path) -> Result<()> {
    copy(from, to, 0o644)?;
    output_of(Command::new("gzip").args(["-9", "--no-name"]).arg(to))?;
    Ok(())
}

fn control(release: &Release, target: ReleaseTarget, top: &Path) -> Result<String> {
    let (major, minor) = newest_glibc(&top.join("prestan"))?;
    let architecture = target.debian;
    let version = &release.version;
    Ok(format!(
        "Package: prestan\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Section: web\n\
         Priority: optional\n\
         Maintainer: The Prestan authors\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1\n\
         Recommends: ca-certificates\n\
         Suggests: apache2-bin, lighttpd, nginx-light, rclone\n\
         Description: benchmark of WebDAV and HTTP servers\n \
         Prestan measures the response times of WebDAV and HTTP servers with the time\n \
         stamps of the kernel, each estimate with its confidence interval. It compares\n \
         servers side by side, searches for the largest load that a server holds, and\n \
         names what to fix first.\n"
    ))
}

/// The licence of the package and of all its parts, in the form that Debian asks for.
fn copyright(top: &Path) -> Result<String> {
    let read =
        |name: &str| fs::read_to_string(top.join(name)).with_context(|| format!("read {name}"));
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: prestan\n\
         \n\
         Files: *\n\
         Copyright: The Prestan authors\n\
         License: Expat or Apache-2.0\n\
         \n\
         License: Expat\n{}\n\
         License: Apache-2.0\n \
         See /usr/share/common-licenses/Apache-2.0.\n\
         Comment:\n{}",
        paragraph(&read("LICENSE-MIT")?),
        paragraph(&read("LICENSES-THIRD-PARTY.txt")?),
    ))
}

/// A text as the lines of a field: each begins with a blank, and an empty one is a full stop.
fn paragraph(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_end() {
        "" => " .\n".to_owned(),
        line => format!(" {line}\n"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_no_empty_line() {
        assert_eq!(paragraph("a\n\nb \n"), " a\n .\n b\n");
    }
}
