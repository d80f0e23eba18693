//! `cargo xtask bench NAME`: the benchmarks of `benches/`, with everything they need built.

use std::env;

use anyhow::Result;

use crate::cargo;

/// Builds `prestan` and the benchmarks for speed, and hands all arguments on to the latter.
pub(crate) fn run() -> Result<()> {
    let packages = ["--package", "prestan", "--package", "benches"];
    cargo(&[&["build", "--release"][..], &packages].concat(), &[])?;
    let arguments: Vec<String> = env::args().skip(2).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = ["run", "--release", "--quiet", "--package", "benches", "--"];
    cargo(&[&run[..], &arguments].concat(), &[])
}
