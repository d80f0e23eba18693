//! Chores of this project: `cargo xtask TASK`.

mod bench;
mod dependencies;
mod dist;
mod docs;
mod experiments;
mod fuzz;
mod gallery;
mod guides;
mod metadata;
mod nightly;
mod project;
mod screenshots;
mod setup;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use tempfile::TempDir;

use project::{cargo, cargo_with};

const USAGE: &str = "\
usage: cargo xtask TASK

  test    install what the tests need, then run them all
  lint    formatting, dependencies, clippy, documentation, fuzz targets: no warning is let through
  setup   only install what the tests need; with --peers, also what benchmarks compare with
  bless   write the snapshots and schemas anew, to be read with `git diff`
  gallery measure all servers anew, for docs/gallery and the table of its guide
  bench   accuracy, branches, cost, inside, pages, scale, suite, threads, verdicts or verify: measure Prestan itself; --quick,
          --docs, scale --full
  dist    build what is published into target/dist: archive, Debian package, list of parts, checksums
  experiments
          measure the built-in experiments, or those that are named, for docs/FINDINGS.md; --full: all cells
  screenshots DIR
          the pages in a directory as pictures, on a screen and a phone, light and dark, in target/screenshots
  guides  run the commands of README and the guides in full, and put their figures there
  docs    make a web site of the documents, in target/docs/site
  fuzz    feed every fuzz target for a minute; TARGET ..., --seconds N
  nightly everything that is too long for CI: tests, fuzz, bench, links; or only the steps that are named";

fn main() -> ExitCode {
    let task = env::args().nth(1);
    let rest: Vec<String> = env::args().skip(2).collect();
    let outcome = match task.as_deref() {
        Some("test") => setup::run().and_then(|()| test()),
        Some("lint") => lint(),
        Some("setup") => setup::run().and_then(|()| match env::args().nth(2).as_deref() {
            Some("--peers") => setup::peers(),
            Some(other) => bail!("setup takes --peers, and not {other}"),
            None => Ok(()),
        }),
        Some("dist") => dist::run(&rest),
        Some("docs") => docs::run(),
        Some("experiments") => experiments::run(&rest),
        Some("screenshots") => screenshots::run(&rest),
        Some("guides") => guides::run(),
        Some("bench") => bench::run(&rest),
        Some("fuzz") => fuzz::run(&rest),
        Some("nightly") => nightly::run(&rest),
        Some("gallery") => setup::run().and_then(|()| gallery::run()),
        Some("bless") => setup::run().and_then(|()| bless()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<()> {
    let memory = directory_in_memory();
    let path = memory.as_ref().map(|directory| directory.path().into());
    let files: Vec<(&str, OsString)> = path.map(|path| ("TMPDIR", path)).into_iter().collect();
    cargo_with(&["test", "--workspace"], &files)
}

/// Where the servers of the tests keep their files: in memory, if the system has a directory for that with
/// enough room. It is removed at the end.
///
/// They create and remove files by the ten thousand, and ext4 looks through the inodes that were freed during
/// the last five seconds for each new file: a run that takes 7 s in memory takes 55 s on a disk.
fn directory_in_memory() -> Option<TempDir> {
    const ROOM: u64 = 4 << 30;
    let memory = Path::new("/dev/shm");
    let space = rustix::fs::statvfs(memory).ok()?;
    let has_room = space.f_bavail.saturating_mul(space.f_frsize) >= ROOM;
    if env::var_os("TMPDIR").is_some() || !has_room {
        return None;
    }
    let prefix = "prestan-tests-";
    tempfile::Builder::new()
        .prefix(prefix)
        .tempdir_in(memory)
        .ok()
}

fn lint() -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    dependencies::check()?;
    cargo(
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features=prestan/png",
            "--",
            "--deny",
            "warnings",
        ],
        &[],
    )?;
    let no_warnings = [("RUSTDOCFLAGS", "--deny warnings")];
    cargo(
        &[
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ],
        &no_warnings,
    )?;
    // The fuzz targets stand outside the workspace, because only cargo-fuzz can link them.
    cargo(&["check", "--manifest-path", "fuzz/Cargo.toml"], &[])
}

fn bless() -> Result<()> {
    cargo(
        &["test", "--workspace", "--no-fail-fast"],
        &[("INSTA_UPDATE", "always"), ("PRESTAN_BLESS", "1")],
    )
}
