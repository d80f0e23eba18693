//! Tasks of this project: `cargo xtask TASK`.

#[macro_use]
mod project;

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
mod screenshots;
mod setup;
mod test;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};

use project::cargo;
use test::TestRequest;

const USAGE: &str = "\
usage: cargo xtask TASK

  test    install what the tests need, then run them all, or those with one of the given words in their names;
          --include-ignored, --times; --release: those of speed and memory, optimised and alone
  lint    formatting, dependencies, clippy, documentation, fuzz targets: no warning is let through
  setup   only install what the tests need; with --peers, also what benchmarks compare with
  bless   write the snapshots and schemas anew, to be read with `git diff`
  gallery measure all servers, and make a site of them in target/gallery; its guide gets the table and pictures
  bench   accuracy, branches, build, cost, inside, pages, scale, suite, threads, verdicts or verify: measure Prestan
          itself; --quick, --docs, scale --full, build --build-only --times N --against COMMIT
  dist    build what is published into target/dist: archives, Debian packages, wheels, list of parts, checksums;
          --target TRIPLE: for one processor, --program FILE: built already, --install: and try it in bare roots
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
        Some("test") => TestRequest::parse(&rest).and_then(test::run),
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
        Some("bless") => bless(&rest),
        _ => {
            message!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            message!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
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
    let no_warnings = [("RUSTDOCFLAGS", "--deny warnings".into())];
    cargo(
        &[
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ],
        &no_warnings,
    )
}

/// Makes tests write the snapshots and schemas that they compare with.
fn bless(words: &[String]) -> Result<()> {
    let mut request = TestRequest::parse(words)?;
    let variables = [("INSTA_UPDATE", "always"), ("PRESTAN_BLESS", "1")];
    request
        .environment
        .extend(variables.map(|(name, value)| (name, value.into())));
    test::run(request)
}
