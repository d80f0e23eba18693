//! Output of `cargo metadata`: the packages that the workspace needs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::project::{cargo_output, output};

/// Targets of releases.
pub(crate) const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// All packages of `Cargo.lock` that one of [`TARGETS`] needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<CargoPackage>,
    pub(crate) resolve: DependencyGraph,
    pub(crate) target_directory: PathBuf,
}

/// A package: ours, or a dependency.
#[derive(Debug, Deserialize)]
pub(crate) struct CargoPackage {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) manifest_path: PathBuf,
    /// `None` for ours.
    pub(crate) source: Option<String>,
}

/// Dependencies between packages.
#[derive(Debug, Deserialize)]
pub(crate) struct DependencyGraph {
    pub(crate) nodes: Vec<DependencyNode>,
}

/// A package and its dependencies.
#[derive(Debug, Deserialize)]
pub(crate) struct DependencyNode {
    pub(crate) id: String,
    pub(crate) dependencies: Vec<String>,
}

impl Metadata {
    /// # Errors
    /// Cargo fails, for example because `Cargo.lock` is not up to date.
    pub(crate) fn read() -> Result<Metadata> {
        let platforms = TARGETS.map(|target| ["--filter-platform", target]);
        let metadata = [
            "metadata",
            "--locked",
            "--format-version=1",
            "--features=prestan/png",
        ];
        let text = cargo_output(&[&metadata, platforms.as_flattened()].concat())?;
        serde_json::from_str(&text).context("read what cargo metadata prints")
    }

    pub(crate) fn package(&self, name: &str) -> Result<&CargoPackage> {
        let package = self.packages.iter().find(|package| package.name == name);
        package.with_context(|| format!("no package {name} in the workspace"))
    }
}

/// The triple of this system in rustc.
pub(crate) fn host() -> Result<String> {
    let version = output("rustc", &["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Names and versions of the crates that `cargo tree` prints with these arguments, for [`TARGETS`].
///
/// Cargo's metadata has more: also crates that no enabled feature needs.
pub(crate) fn in_tree(arguments: &[&str]) -> Result<BTreeSet<(String, String)>> {
    let tree = ["tree", "--locked", "--prefix=none", "--format={p}"];
    let targets = TARGETS.map(|target| ["--target", target]);
    let text = cargo_output(&[&tree, targets.as_flattened(), arguments].concat())?;
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            bail!("cargo tree prints {line}");
        };
        let version = version.strip_prefix('v').unwrap_or(version);
        found.insert((name.to_owned(), version.to_owned()));
    }
    Ok(found)
}
