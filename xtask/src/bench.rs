//! `cargo xtask bench NAME`: the benchmarks of `benches/`, with everything they need built.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::dist;
use crate::project::root;

/// Builds `prestan` and the benchmarks as they are published, and runs the latter with these arguments.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let programs = dist::build(&["prestan", "benches"])?;
    let mut benches = Command::new(programs.join("benches"));
    let status = benches
        .args(arguments)
        .current_dir(root()?)
        .status()
        .context("starting the benchmarks")?;
    if !status.success() {
        bail!("the benchmark failed ({status})");
    }
    Ok(())
}
