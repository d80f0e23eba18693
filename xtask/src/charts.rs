//! `cargo xtask charts`: makes the chart library of the pages anew.
//!
//! `crates/report/page/vendor` says which versions (`package.json`, with the checksums of
//! `package-lock.json`) and which parts of them (`charts.js`). npm and esbuild are needed for this
//! alone; what comes out is in the repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::root;

/// What the recipe is made of.
const RECIPE: [&str; 3] = ["package.json", "package-lock.json", "charts.js"];
const MADE: &str = "echarts.min.js";

/// Installs what the recipe says and puts it into one file.
pub(crate) fn run() -> Result<()> {
    let root = root()?;
    let vendor = root.join("crates/report/page/vendor");
    let workshop = root.join("target/charts");
    fs::create_dir_all(&workshop).with_context(|| format!("create {}", workshop.display()))?;
    for file in RECIPE {
        copy(&vendor, &workshop, file)?;
    }
    npm(&workshop, &["ci", "--no-audit", "--no-fund"])?;
    npm(&workshop, &["run", "build"])?;
    copy(&workshop, &vendor, MADE)
}

fn copy(from: &Path, to: &Path, file: &str) -> Result<()> {
    fs::copy(from.join(file), to.join(file))
        .with_context(|| format!("copy {file} from {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn npm(directory: &Path, arguments: &[&str]) -> Result<()> {
    let command = format!("npm {}", arguments.join(" "));
    eprintln!("xtask: {command}");
    let status = Command::new("npm")
        .args(arguments)
        .current_dir(directory)
        .status()
        .with_context(|| format!("starting `{command}`; Node.js brings npm"))?;
    if !status.success() {
        bail!("`{command}` failed ({status})");
    }
    Ok(())
}
