//! Tries what was made: unpacks it, runs the program, reads the pages.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::content::files_of;
use super::{CHECKSUMS, Release, debian};
use crate::project::output_of;

/// Checks the sums, the archive, the Debian package and the list of parts.
pub(super) fn everything(release: &Release, made: &Path) -> Result<()> {
    let mut sums = Command::new("sha256sum");
    output_of(
        sums.args(["--check", "--strict", CHECKSUMS])
            .current_dir(made),
    )?;

    let unpacked = tempfile::tempdir().context("create a temporary directory")?;
    let archive = made.join(release.archive());
    output_of(
        Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(unpacked.path()),
    )?;
    let top = unpacked.path().join(release.name());
    program(release, &top.join("prestan"))?;
    pages(&top.join("man1"))?;
    let script = top.join("completions/bash/prestan");
    output_of(Command::new("bash").arg("-n").arg(script))?;

    let installed = tempfile::tempdir().context("create a temporary directory")?;
    let package = made.join(debian::file_name(release)?);
    output_of(
        Command::new("dpkg-deb")
            .arg("-x")
            .arg(&package)
            .arg(installed.path()),
    )?;
    program(release, &installed.path().join("usr/bin/prestan"))?;
    pages(&installed.path().join("usr/share/man/man1"))?;

    let sbom = std::fs::read_to_string(made.join(release.sbom()))?;
    let sbom: Value = serde_json::from_str(&sbom)?;
    let components = sbom["components"]
        .as_array()
        .context("the list of parts is empty")?;
    for name in ["rustls", "resvg"] {
        if components.iter().all(|component| component["name"] != name) {
            bail!("{name} is not in the list of parts");
        }
    }
    Ok(())
}

fn program(release: &Release, program: &Path) -> Result<()> {
    let version = output_of(Command::new(program).arg("--version"))?;
    let expected = format!("prestan {}", release.version);
    if version.trim() != expected {
        bail!("{} is {version}, and not {expected}", program.display());
    }
    Ok(())
}

fn pages(directory: &Path) -> Result<()> {
    let pages = files_of(directory)?;
    if pages.len() < 2 {
        bail!("{} pages in {}", pages.len(), directory.display());
    }
    for (_, page) in pages {
        let mut man = Command::new("man");
        man.args(["--local-file", "--warnings", "--encoding=UTF-8"]);
        let text = output_of(man.arg(&page).env("MANPAGER", "cat").env("MANWIDTH", "80"))?;
        if !text.contains("prestan") {
            bail!("man shows nothing of {}", page.display());
        }
    }
    Ok(())
}
