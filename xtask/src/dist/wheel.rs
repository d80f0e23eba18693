//! The Python wheel: the program as a script, which `pip` and `uvx` install like any other.
//!
//! `maturin` would build the program itself. The rest of a wheel is two short files, a list of checksums and a
//! zip file, which Python's own library makes (`wheel.py`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::content::{Content, LICENCES, copy, write};
use super::target::{ReleaseTarget, newest_glibc};
use super::{Release, files_in};
use crate::project::output_of;

const PACK: &str = include_str!("wheel.py");

/// Writes `prestan-VERSION-py3-none-PLATFORM.whl` into a directory.
pub(super) fn package(
    release: &Release,
    target: ReleaseTarget,
    content: &Content,
    into: &Path,
) -> Result<()> {
    let temporary = tempfile::tempdir().context("create a temporary directory")?;
    let tree = temporary.path();
    let top = content.top();
    let name = format!("prestan-{}", release.version);
    let scripts = tree.join(format!("{name}.data/scripts"));
    let information = tree.join(format!("{name}.dist-info"));
    let licences = information.join("licenses");
    for directory in [&scripts, &licences] {
        fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))?;
    }
    copy(&top.join("prestan"), &scripts.join("prestan"), 0o755)?;
    for licence in LICENCES {
        copy(&top.join(licence), &licences.join(licence), 0o644)?;
    }
    let tag = tag(target, &top.join("prestan"))?;
    let kind =
        format!("Wheel-Version: 1.0\nGenerator: prestan\nRoot-Is-Purelib: false\nTag: {tag}\n");
    for (file, text) in [("METADATA", metadata(release)), ("WHEEL", kind)] {
        write(&information.join(file), &text)?;
    }
    let wheel = into.join(format!("{name}-{tag}.whl"));
    output_of(
        Command::new("python3")
            .args(["-c", PACK])
            .args([tree, &wheel]),
    )?;
    Ok(())
}

/// Name of the wheel for a target among the files of a directory: which glibc its tag has is not known
/// before.
pub(super) fn file_in(directory: &Path, target: ReleaseTarget) -> Result<String> {
    let ending = format!("_{}.whl", target.machine);
    let mut names = files_in(directory)?.into_iter();
    let found = names.find(|name| name.ends_with(&ending));
    found.with_context(|| format!("no wheel in {} ends with {ending}", directory.display()))
}

/// What the wheel runs with: any Python 3, without its libraries, on this processor with that glibc.
fn tag(target: ReleaseTarget, program: &Path) -> Result<String> {
    let (major, minor) = newest_glibc(program)?;
    let machine = target.machine;
    Ok(format!("py3-none-manylinux_{major}_{minor}_{machine}"))
}

fn metadata(release: &Release) -> String {
    let licences = LICENCES.map(|file| format!("License-File: {file}\n"));
    format!(
        "Metadata-Version: 2.4\n\
         Name: prestan\n\
         Version: {}\n\
         Summary: {}\n\
         License-Expression: {}\n\
         {}",
        release.version,
        release.summary,
        release.licence,
        licences.concat(),
    )
}
