//! Tries the files of a release: unpacks them, runs the program, reads the pages.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::content::files_of;
use super::target::ReleaseTarget;
use super::{CHECKSUMS, Release, debian, wheel};
use crate::project::output_of;

/// Checks the sums, the archive, the Debian package and the wheel of each target, and the list of
/// parts.
pub(super) fn everything(release: &Release, targets: &[ReleaseTarget], made: &Path) -> Result<()> {
    let mut sums = Command::new("sha256sum");
    output_of(
        sums.args(["--check", "--strict", CHECKSUMS])
            .current_dir(made),
    )?;
    for target in targets {
        archive(release, *target, made)?;
        debian_package(release, *target, made)?;
        wheel(release, *target, made)?;
    }
    let sbom = fs::read_to_string(made.join(release.sbom()))?;
    let sbom: Value = serde_json::from_str(&sbom)?;
    let components = sbom["components"]
        .as_array()
        .context("the list of parts is empty")?;
    for name in ["rustls", "resvg", "NotoSans-Regular.ttf"] {
        if components.iter().all(|component| component["name"] != name) {
            bail!("{name} is not in the list of parts");
        }
    }
    Ok(())
}

fn archive(release: &Release, target: ReleaseTarget, made: &Path) -> Result<()> {
    let unpacked = tempfile::tempdir().context("create a temporary directory")?;
    let archive = made.join(release.archive(target));
    output_of(
        Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(unpacked.path()),
    )?;
    let top = unpacked.path().join(release.name(target));
    program(release, target, &top.join("prestan"))?;
    pages(&top.join("man1"))?;
    let script = top.join("completions/bash/prestan");
    output_of(Command::new("bash").arg("-n").arg(script))?;
    Ok(())
}

fn debian_package(release: &Release, target: ReleaseTarget, made: &Path) -> Result<()> {
    let installed = tempfile::tempdir().context("create a temporary directory")?;
    let package = made.join(debian::file_name(release, target));
    output_of(
        Command::new("dpkg-deb")
            .arg("-x")
            .arg(&package)
            .arg(installed.path()),
    )?;
    program(release, target, &installed.path().join("usr/bin/prestan"))?;
    pages(&installed.path().join("usr/share/man/man1"))
}

fn wheel(release: &Release, target: ReleaseTarget, made: &Path) -> Result<()> {
    let unpacked = tempfile::tempdir().context("create a temporary directory")?;
    let wheel = made.join(wheel::file_in(made, target)?);
    let mut extract = Command::new("python3");
    extract.args(["-m", "zipfile", "--extract"]);
    output_of(extract.arg(&wheel).arg(unpacked.path()))?;
    let scripts = format!("prestan-{}.data/scripts", release.version);
    let script = unpacked.path().join(scripts).join("prestan");
    // Python's own unpacker ignores the modes; pip does not.
    fs::set_permissions(&script, Permissions::from_mode(0o755))
        .with_context(|| format!("the wheel has no {}", script.display()))?;
    program(release, target, &script)
}

fn program(release: &Release, target: ReleaseTarget, program: &Path) -> Result<()> {
    let version = output_of(target.command(program)?.arg("--version"))?;
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
