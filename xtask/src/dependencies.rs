//! The rules of `deny.toml` for dependencies: licences, sources, and versions of one crate.
//!
//! The file is that of cargo-deny, which the nightly run uses, with the advisories. cargo-deny
//! takes minutes to build, which CI does not have, so `cargo xtask lint` applies the same rules
//! with this module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::metadata::{CargoPackage, Metadata, in_tree};
use crate::project::root;

/// The part of `deny.toml` that is applied here.
#[derive(Debug, Deserialize)]
struct DependencyRules {
    licenses: LicenceRules,
    bans: DuplicateRules,
}

#[derive(Debug, Deserialize)]
struct LicenceRules {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct DuplicateRules {
    skip: Vec<SkippedCrate>,
}

/// A version that is allowed beside another one of its crate.
#[derive(Debug, Deserialize)]
struct SkippedCrate {
    /// `NAME@VERSION`.
    #[serde(rename = "crate")]
    version: String,
}

/// # Errors
/// A dependency does not follow the rules.
pub(crate) fn check() -> Result<()> {
    message!("xtask: dependencies against deny.toml");
    let path = root()?.join("deny.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let rules: DependencyRules = toml::from_str(&text).context("read deny.toml")?;
    // Dependencies of fuzzing only are not distributed.
    let used = in_tree(&[
        "--workspace",
        "--exclude=prestan-fuzz",
        "--features=prestan/png",
        "--edges=normal,build,dev",
    ])?;
    let metadata = Metadata::read()?;
    let packages = metadata.packages.iter();
    let is_used =
        |package: &&CargoPackage| used.contains(&(package.name.clone(), package.version.clone()));
    let used: Vec<&CargoPackage> = packages.filter(is_used).collect();
    let defects = rules.defects(&used);
    let list = defects.join("\n");
    ensure!(
        defects.is_empty(),
        "dependencies that deny.toml forbids:\n{list}"
    );
    Ok(())
}

impl DependencyRules {
    fn defects(&self, packages: &[&CargoPackage]) -> Vec<String> {
        let mut defects = Vec::new();
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for package in packages {
            let (name, version) = (&package.name, &package.version);
            let licence = package.license.as_deref().unwrap_or_default();
            if !is_allowed(licence, &self.licenses.allow) {
                defects.push(format!("{name} {version} has the licence `{licence}`"));
            }
            let source = package.source.as_deref();
            if source.is_some_and(|source| !source.ends_with("/rust-lang/crates.io-index")) {
                defects.push(format!("{name} {version} is not from crates.io"));
            }
            let id = format!("{name}@{version}");
            if self.bans.skip.iter().all(|skipped| skipped.version != id) {
                versions.entry(name).or_default().insert(version);
            }
        }
        versions.retain(|_, versions| versions.len() > 1);
        for (name, versions) in versions {
            let versions = Vec::from_iter(versions).join(", ");
            defects.push(format!("{name} is there in versions {versions}"));
        }
        let is_stale = |skipped: &&SkippedCrate| {
            let id = |package: &&CargoPackage| format!("{}@{}", package.name, package.version);
            packages
                .iter()
                .all(|package| id(package) != skipped.version)
        };
        let stale = self.bans.skip.iter().filter(is_stale);
        defects.extend(stale.map(|skipped| format!("{} is not used any more", skipped.version)));
        defects
    }
}

/// True if an SPDX expression can be fulfilled with these licences. The slash of old manifests is
/// an `OR`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ");
    let spaced = spaced.replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let is_allowed = any_of(&mut words, allowed);
    is_allowed && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// `A OR B`, in which `AND` binds closer.
fn any_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut is_allowed = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        is_allowed |= all_of(words, allowed);
    }
    is_allowed
}

fn all_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut is_allowed = one_of(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_allowed &= one_of(words, allowed);
    }
    is_allowed
}

/// One licence, possibly with an exception, or an expression in brackets.
fn one_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    match words.next() {
        Some("(") => any_of(words, allowed) & (words.next() == Some(")")),
        Some(licence) => {
            let mut licence = licence.to_owned();
            if words.next_if_eq(&"WITH").is_some() {
                licence += " WITH ";
                licence += words.next().unwrap_or_default();
            }
            allowed.contains(&licence)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_expressions() {
        let allowed = ["MIT", "ISC", "Zlib WITH exception"].map(str::to_owned);
        let table = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("GPL-3.0 AND ISC OR MIT", true),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("ISC AND (GPL-3.0 OR BSD)", false),
            ("Zlib", false),
            ("Zlib WITH exception", true),
            ("MIT)", false),
            ("(MIT", false),
        ];
        for (expression, expected) in table {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn rules_find_licences_sources_and_duplicates() {
        let rules: DependencyRules = toml::from_str(
            "[licenses]\nallow = ['MIT']\n[bans]\nskip = [{ crate = 'c@1.0.0', reason = 'old' }]",
        )
        .expect("rules");
        let package =
            |name: &str, version: &str, licence: &str, source: Option<&str>| CargoPackage {
                id: format!("{name} {version}"),
                name: name.to_owned(),
                version: version.to_owned(),
                license: Some(licence.to_owned()),
                description: None,
                manifest_path: "Cargo.toml".into(),
                source: source.map(str::to_owned),
            };
        let usual = Some("registry+https://example.org/rust-lang/crates.io-index");
        let all = [
            package("ours", "0.1.0", "MIT", None),
            package("c", "1.0.0", "MIT", usual),
            package("c", "2.0.0", "MIT", usual),
        ];
        let all: Vec<&CargoPackage> = all.iter().collect();
        assert_eq!(rules.defects(&all), [] as [String; 0]);
        let more = [
            package("a", "1.0.0", "GPL-3.0", usual),
            package("a", "1.1.0", "MIT", Some("git+https://example.org/a")),
        ];
        let more: Vec<&CargoPackage> = more.iter().collect();
        let defects = rules.defects(&more);
        assert_eq!(defects.len(), 4, "{defects:?}");
    }
}
