//! Installs the files of a release like a user, and runs the program, in bare Debian roots: the
//! base system and Python, without Rust and without a compiler. Programs for other processors run
//! in an emulator.
//!
//! ```text
//! debootstrap --> root --> tar, dpkg, pip, uvx, buildah --> prestan --version, prestan demo
//! ```

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::content::copy;
use super::target::ReleaseTarget;
use super::{Release, debian, image, wheel};
use crate::project::{finish, output_of};
use crate::setup;

/// The release in which the program is built, so that its glibc is the oldest.
const DEBIAN: &str = "bookworm";

const TOOLS: [(&str, &str); 2] = [
    ("debootstrap", "/usr/sbin/debootstrap"),
    ("python3-pip", "/usr/bin/pip3"),
];

/// Makes the kernel start programs of other processors.
const EMULATION: [(&str, &str); 1] = [("binfmt-support", "/usr/sbin/update-binfmts")];

/// A short demonstration.
pub(super) const DEMO: [&str; 5] = ["demo", "--only", "Get1K,Put1K", "--requests", "2"];

/// Tries each target, with the files in `made`. Needs root, Debian's packages, and PyPI.
pub(super) fn everywhere(
    release: &Release,
    targets: &[ReleaseTarget],
    made: &Path,
    scratch: &Path,
) -> Result<()> {
    setup::packages(&TOOLS)?;
    for target in targets {
        let root = BareRoot::create(*target, scratch)?;
        let path = |file: &str| format!("/{file}");
        image::try_on(root.directory.path(), *target, made, scratch)?;

        let archive = release.archive(*target);
        root.take(&made.join(&archive), &archive)?;
        root.run(&["tar", "-xf", &path(&archive), "-C", "/opt"])?;
        root.demonstrate(
            &archive,
            release,
            &[&format!("/opt/{}/prestan", release.name(*target))],
        )?;

        let package = debian::file_name(release, *target);
        root.take(&made.join(&package), &package)?;
        root.run(&["dpkg", "--install", &path(&package)])?;
        root.demonstrate(&package, release, &["/usr/bin/prestan"])?;
        root.run(&["dpkg", "--purge", "prestan"])?;

        let wheel = wheel::file_in(made, *target)?;
        root.take(&made.join(&wheel), &wheel)?;
        root.run(&["python3", "-m", "venv", "/opt/python"])?;
        root.run(&[
            "/opt/python/bin/pip",
            "install",
            "--no-index",
            &path(&wheel),
        ])?;
        root.demonstrate(&wheel, release, &["/opt/python/bin/prestan"])?;

        root.take_uv(scratch)?;
        let uvx = ["uvx", "--offline", "--from", &path(&wheel), "prestan"];
        root.demonstrate(&format!("{wheel} by uvx"), release, &uvx)?;
    }
    Ok(())
}

/// A minimal Debian in a directory, which is removed when this is dropped.
struct BareRoot {
    target: ReleaseTarget,
    directory: TempDir,
}

impl BareRoot {
    fn create(target: ReleaseTarget, scratch: &Path) -> Result<BareRoot> {
        if !target.is_host()? {
            setup::packages(&EMULATION)?;
            let emulator = format!("qemu-{}", target.machine);
            let mut enable = Command::new("update-binfmts");
            output_of(enable.args(["--enable", &emulator]))
                .context("have the kernel start programs in the emulator")?;
        }
        let directory = tempfile::Builder::new()
            .prefix("bare-root-")
            .tempdir_in(scratch)
            .with_context(|| format!("create a directory in {}", scratch.display()))?;
        let architecture = target.debian;
        message!("xtask: a bare root of Debian {DEBIAN} for {architecture}");
        let mut debootstrap = Command::new("debootstrap");
        debootstrap
            .args(["--variant=minbase", "--include=python3-venv"])
            .args([&format!("--arch={architecture}"), DEBIAN])
            .arg(directory.path());
        output_of(&mut debootstrap)?;
        let root = BareRoot { target, directory };
        let compilers = root.run(&["sh", "-c", "command -v cc gcc rustc cargo || true"])?;
        if !compilers.is_empty() {
            bail!("the bare root has a compiler: {compilers}");
        }
        Ok(root)
    }

    /// Copies a file to the top of the root.
    fn take(&self, file: &Path, name: &str) -> Result<()> {
        copy(file, &self.directory.path().join(name), 0o644)
    }

    /// Puts `uv` and `uvx` from PyPI into the root.
    fn take_uv(&self, scratch: &Path) -> Result<()> {
        let temporary = tempfile::tempdir_in(scratch).context("create a temporary directory")?;
        let mut pip = Command::new("/usr/bin/python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
        ]);
        for glibc in ["manylinux2014", "manylinux_2_28"] {
            pip.args(["--platform", &format!("{glibc}_{}", self.target.machine)]);
        }
        pip.env("PIP_ROOT_USER_ACTION", "ignore")
            .arg("--target")
            .args([temporary.path().as_os_str(), "uv".as_ref()]);
        finish(&mut pip)?;
        for program in ["uv", "uvx"] {
            let installed = self.directory.path().join("usr/local/bin").join(program);
            copy(
                &temporary.path().join("bin").join(program),
                &installed,
                0o755,
            )?;
        }
        Ok(())
    }

    /// Runs a program in the root, and returns its output. Its `/proc` ends with it.
    fn run(&self, command: &[&str]) -> Result<String> {
        let root = format!("--root={}", self.directory.path().display());
        let mut program = Command::new("unshare");
        program
            .args(["--pid", "--fork", "--mount-proc", &root])
            .args(command)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/root")
            .env("LC_ALL", "C.UTF-8");
        output_of(&mut program)
    }

    /// Runs an installed program: its version, and a demonstration.
    fn demonstrate(&self, file: &str, release: &Release, program: &[&str]) -> Result<()> {
        let run = |arguments: &[&str]| {
            self.run(&[program, arguments].concat())
                .with_context(|| format!("run the program of {file}"))
        };
        let version = run(&["--version"])?;
        if version.trim() != format!("prestan {}", release.version) {
            bail!("the program of {file} is {version}");
        }
        let table = run(&DEMO)?;
        if !table.contains("Get1K ") {
            bail!("`prestan demo` of {file} measures nothing:\n{table}");
        }
        message!("xtask: {file}: {}, runs", version.trim());
        Ok(())
    }
}
