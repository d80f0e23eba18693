//! `cargo xtask bench NAME`: the benchmarks of `benches/`, with everything they need built.

use anyhow::Result;

use crate::cargo;

/// Builds `prestan` and the benchmarks for speed, and runs the latter with these arguments.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let packages = ["--package", "prestan", "--package", "benches"];
    cargo(&[&["build", "--release"][..], &packages].concat(), &[])?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = ["run", "--release", "--quiet", "--package", "benches", "--"];
    cargo(&[&run[..], &arguments].concat(), &[])
}
