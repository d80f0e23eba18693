//! The Debian package, made with `dpkg-deb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Release;
use super::content::{Content, PackageTree, THIRD_PARTY, copy, files_of, write};
use super::target::{ReleaseTarget, newest_glibc};
use crate::project::output_of;

const DOCUMENTATION: &str = "usr/share/doc/prestan";
const MANUAL: &str = "usr/share/man/man1";

/// A name and an address, as required by Debian's policy. The project has none: see `SECURITY.md`
/// for reports.
const MAINTAINER: &str = "The Prestan authors <noreply@example.org>";

/// Directories of completions: in the content, and in Debian.
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
    let tree = PackageTree::new()?;
    let top = content.top();
    tree.copy(&top.join("prestan"), "usr/bin/prestan", 0o755)?;
    for (name, page) in files_of(&top.join("man1"))? {
        compressed(&page, &tree.new_path(format!("{MANUAL}/{name}"))?)?;
    }
    for (shell, directory) in COMPLETIONS {
        for (name, script) in files_of(&top.join("completions").join(shell))? {
            tree.copy(&script, format!("{directory}/{name}"), 0o644)?;
        }
    }
    let documentation = Path::new(DOCUMENTATION);
    for document in &content.documents {
        tree.copy(&top.join(document), documentation.join(document), 0o644)?;
    }
    let path = tree.new_path(documentation.join("changelog"))?;
    write(&path, &changelog(release)?)?;
    compress(&path)?;
    let path = tree.new_path(documentation.join(THIRD_PARTY))?;
    compressed(&top.join(THIRD_PARTY), &path)?;
    tree.write(documentation.join("copyright"), &copyright(&top)?)?;
    let files = files_of(tree.path())?;
    let control = control(release, target, &top, installed_size(&files)?)?;
    tree.write("DEBIAN/control", &control)?;
    let mut sums = Command::new("md5sum");
    let sums = sums.args(files.iter().map(|(name, _)| name));
    let sums = output_of(sums.current_dir(tree.path()))?;
    tree.write("DEBIAN/md5sums", &sums)?;
    // Independent of the umask.
    output_of(
        Command::new("chmod")
            .args(["-R", "u=rwX,go=rX"])
            .arg(tree.path()),
    )?;
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "--build", "-Zgzip", "-z6"])
        .args([tree.path(), &into.join(file_name(release, target))])
        // Later times are set to it, and all files are later.
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
    compress(to)
}

fn compress(file: &Path) -> Result<()> {
    output_of(Command::new("gzip").args(["-9", "--no-name"]).arg(file))?;
    Ok(())
}

/// The changelog of a package whose version has no revision of Debian, in the form that Debian's
/// tools read.
fn changelog(release: &Release) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "--rfc-email", "--date"]);
    let date = output_of(date.arg(format!("@{}", release.epoch)).env("LC_ALL", "C"))?;
    let version = &release.version;
    Ok(format!(
        "prestan ({version}) unstable; urgency=medium\n\n  \
         * What is new stands in CHANGELOG.md beside this file.\n\n \
         -- {MAINTAINER}  {}\n",
        date.trim()
    ))
}

/// Size in KiB, each file rounded up.
fn installed_size(files: &[(String, PathBuf)]) -> Result<u64> {
    let sizes = files.iter().map(|(_, path)| {
        let about = fs::metadata(path).with_context(|| format!("read {}", path.display()))?;
        Ok(about.len().div_ceil(1024))
    });
    sizes.sum()
}

fn control(release: &Release, target: ReleaseTarget, top: &Path, size: u64) -> Result<String> {
    let (major, minor) = newest_glibc(&top.join("prestan"))?;
    let architecture = target.debian;
    let version = &release.version;
    Ok(format!(
        "Package: prestan\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Section: web\n\
         Priority: optional\n\
         Installed-Size: {size}\n\
         Maintainer: {MAINTAINER}\n\
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

/// The licence of the package, in Debian's format, and the location of those of its parts: Debian
/// does not allow the full text of a common licence in this file.
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
         Comment:\n \
         The libraries in the program, and their licences, are in\n \
         /{DOCUMENTATION}/{THIRD_PARTY}.gz.\n",
        paragraph(&read("LICENSE-MIT")?),
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
