//! The image of the `Containerfile`, built by buildah as in a release, with a bare root as its
//! base: no registry is contacted.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::install::DEMO;
use super::target::ReleaseTarget;
use crate::project::{output_of, root};
use crate::setup;

/// The last `FROM` of the `Containerfile`.
const BASE: &str = "docker.io/library/debian:bookworm-slim";

const TOOLS: [(&str, &str); 1] = [("buildah", "/usr/bin/buildah")];

/// Builds it on a bare root of that processor, with the package in `made`, and runs it.
pub(super) fn try_on(
    bare_root: &Path,
    target: ReleaseTarget,
    made: &Path,
    scratch: &Path,
) -> Result<()> {
    setup::packages(&TOOLS)?;
    let storage = tempfile::tempdir_in(scratch).context("create a temporary directory")?;
    let store = ImageStore { storage };
    let archive = store.storage.path().join("base.tar");
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--file").arg(&archive);
    output_of(tar.arg("--directory").arg(bare_root).arg("."))?;
    // With `--arch` instead, the `TARGETARCH` of the build is that of this machine.
    let platform = format!("--platform=linux/{}", target.debian);
    let base = store.buildah(&["from", "--name=base", &platform, "scratch"])?;
    let archive = archive.to_string_lossy();
    store.buildah(&["add", base.trim(), &archive, "/"])?;
    store.buildah(&["commit", base.trim(), BASE])?;

    let packages = format!("--build-context=packages={}", made.display());
    let build = [
        "build",
        "--pull-never",
        "--file=Containerfile",
        "--tag=prestan",
    ];
    store.buildah(&[&build[..], &[&platform, &packages, "."]].concat())?;
    let container = store.buildah(&["from", "--pull-never", &platform, "prestan"])?;
    let run = ["run", container.trim(), "--", "prestan"];
    let table = store.buildah(&[&run[..], &DEMO].concat())?;
    if !table.contains("Get1K ") {
        bail!("`prestan demo` of the image measures nothing:\n{table}");
    }
    message!("xtask: the image for {}: runs", target.debian);
    Ok(())
}

/// Storage of images during a trial.
struct ImageStore {
    storage: TempDir,
}

impl ImageStore {
    fn buildah(&self, arguments: &[&str]) -> Result<String> {
        let directory = |name: &str| self.storage.path().join(name);
        let mut buildah = Command::new("buildah");
        buildah
            .args(["--storage-driver=vfs", "--root"])
            .arg(directory("images"))
            .arg("--runroot")
            .arg(directory("running"))
            .args(arguments)
            // Without a container runtime.
            .env("BUILDAH_ISOLATION", "chroot")
            .current_dir(root()?);
        output_of(&mut buildah)
    }
}
