//! The Python wheel: the program as a script, which `pip` and `uvx` install like any other.
//!
//! `maturin` would build the program itself. The rest of a wheel is two short files, a list of
//! checksums and a zip file, which Python's own library makes (`wheel.py`).

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::content::{Content, LICENCES, PackageTree};
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
    let tree = PackageTree::new()?;
    let top = content.top();
    let name = format!("prestan-{}", release.version);
    let script = format!("{name}.data/scripts/prestan");
    tree.copy(&top.join("prestan"), script, 0o755)?;
    let information = format!("{name}.dist-info");
    for licence in LICENCES {
        let path = format!("{information}/licenses/{licence}");
        tree.copy(&top.join(licence), path, 0o644)?;
    }
    let tag = tag(target, &top.join("prestan"))?;
    let kind =
        format!("Wheel-Version: 1.0\nGenerator: prestan\nRoot-Is-Purelib: false\nTag: {tag}\n");
    for (file, text) in [("METADATA", metadata(release)), ("WHEEL", kind)] {
        tree.write(format!("{information}/{file}"), &text)?;
    }
    pack(
        tree.path(),
        &into.join(format!("{name}-{tag}.whl")),
        &release.epoch,
    )
}

fn pack(tree: &Path, wheel: &Path, epoch: &str) -> Result<()> {
    let mut python = Command::new("python3");
    output_of(python.args(["-c", PACK]).args([tree, wheel]).arg(epoch)).map(drop)
}

/// Name of the wheel for a target among the files of a directory: the glibc version in its tag is
/// not known in advance.
pub(super) fn file_in(directory: &Path, target: ReleaseTarget) -> Result<String> {
    let ending = format!("_{}.whl", target.machine);
    let mut names = files_in(directory)?.into_iter();
    let found = names.find(|name| name.ends_with(&ending));
    found.with_context(|| format!("no wheel in {} ends with {ending}", directory.display()))
}

/// Requirements of the wheel: any Python 3, without its libraries, on this processor with that
/// glibc.
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_same_files_make_the_same_wheel_under_every_umask() {
        let packed = |directory: u32, file: u32, program: u32, epoch: &str| {
            let tree = PackageTree::new().unwrap();
            let into = PackageTree::new().unwrap();
            tree.write("a.dist-info/METADATA", "Name: a\n").unwrap();
            tree.write("a.data/scripts/a", "#!/bin/sh\n").unwrap();
            for (name, mode) in [
                ("a.dist-info", directory),
                ("a.dist-info/METADATA", file),
                ("a.data/scripts/a", program),
            ] {
                let path = tree.path().join(name);
                fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            }
            let wheel = into.path().join("a.whl");
            pack(tree.path(), &wheel, epoch).unwrap();
            fs::read(wheel).unwrap()
        };
        let usual = packed(0o755, 0o644, 0o755, "1700000000");
        assert_eq!(packed(0o775, 0o664, 0o775, "1700000000"), usual);
        assert_eq!(packed(0o700, 0o600, 0o700, "1700000000"), usual);
        assert_ne!(packed(0o755, 0o644, 0o644, "1700000000"), usual);
        // The archive includes the time, which cannot be before 1980.
        assert_ne!(packed(0o755, 0o644, 0o755, "1700000002"), usual);
        packed(0o755, 0o644, 0o755, "0");
    }
}
