//! Parts of the program: linked crates, and embedded files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::Release;
use super::content::write;
use crate::metadata::{CargoPackage, Metadata, in_tree};
use crate::project::{output_of, root};

/// Prefixes of the names of files with licences.
const LICENCES: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "notice",
    "copyright",
    "unlicense",
];

/// Parts of the program by others that are no crates.
const EMBEDDED: [EmbeddedFile; 1] = [EmbeddedFile {
    directory: "crates/terminal/font",
    name: "NotoSans-Regular.ttf",
    version: "2.004",
    copyright: "Copyright 2015 Google LLC. All Rights Reserved.",
    licence: "OFL-1.1",
    licence_text: "OFL.txt",
}];

/// A file of this repository.
struct EmbeddedFile {
    directory: &'static str,
    name: &'static str,
    version: &'static str,
    copyright: &'static str,
    /// SPDX name, and file of the text beside the file.
    licence: &'static str,
    licence_text: &'static str,
}

impl EmbeddedFile {
    fn reference(&self) -> String {
        format!("file:{}/{}", self.directory, self.name)
    }

    fn component(&self) -> Result<Value> {
        let path = root()?.join(self.directory).join(self.name);
        let sum = output_of(Command::new("sha256sum").arg(&path))?;
        let sum = sum.split(' ').next();
        Ok(json!({
            "type": "file",
            "bom-ref": self.reference(),
            "name": self.name,
            "version": self.version,
            "hashes": [{ "alg": "SHA-256", "content": sum }],
            "licenses": [{ "license": { "id": self.licence } }],
            "copyright": self.copyright,
        }))
    }
}

/// The parts of the program, sorted.
pub(super) struct Parts {
    crates: Vec<LinkedCrate>,
}

struct LinkedCrate {
    id: String,
    name: String,
    version: String,
    licence: String,
    directory: PathBuf,
    is_ours: bool,
    dependencies: Vec<String>,
}

impl Parts {
    pub(super) fn of(metadata: &Metadata) -> Result<Parts> {
        // Without crates that only the compiler runs.
        let linked = in_tree(&[
            "--package=prestan",
            "--features=png",
            "--edges=normal,no-proc-macro",
        ])?;
        let mut crates = Vec::new();
        for package in &metadata.packages {
            if linked.contains(&(package.name.clone(), package.version.clone())) {
                crates.push(LinkedCrate::of(package, metadata)?);
            }
        }
        if crates.len() != linked.len() {
            bail!(
                "cargo tree names {} crates, and cargo metadata knows {}",
                linked.len(),
                crates.len()
            );
        }
        crates.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(Parts { crates })
    }

    /// The licences of all parts by others, each text once.
    pub(super) fn licences(&self) -> Result<String> {
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut list = String::new();
        for part in self.crates.iter().filter(|part| !part.is_ours) {
            let name = format!("{} {}", part.name, part.version);
            list += &format!("  {name}: {}\n", part.licence);
            for text in licences_in(&part.directory)? {
                texts.entry(text).or_default().push(name.clone());
            }
        }
        let mut document = format!(
            "Prestan itself may be used under the terms of the MIT licence or of the Apache licence 2.0. The\n\
             program contains these libraries, under the terms of their licences:\n\n{list}\n"
        );
        for file in &EMBEDDED {
            let licence = file.licence_text;
            let path = root()?.join(file.directory).join(licence);
            let text =
                fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            document += &format!("==== embedded: {licence}\n\n{}\n\n", text.trim_end());
        }
        // In the order of the first part with each.
        let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
        texts.sort_by(|(_, a), (_, b)| a.cmp(b));
        for (text, names) in texts {
            document += &format!("==== {}\n\n{}\n\n", names.join(", "), text.trim_end());
        }
        Ok(document)
    }

    /// Writes `prestan-VERSION.cdx.json`: CycloneDX 1.5.
    pub(super) fn write_sbom(&self, release: &Release, into: &Path) -> Result<()> {
        let mut components: Vec<Value> = self.others().map(LinkedCrate::component).collect();
        for file in &EMBEDDED {
            components.push(file.component()?);
        }
        let crates = self
            .crates
            .iter()
            .map(|part| (part.id.as_str(), part.reference()));
        let references: BTreeMap<&str, String> = crates.collect();
        let dependencies: Vec<Value> = self
            .crates
            .iter()
            .map(|part| {
                let all = part.dependencies.iter();
                let linked = all.filter_map(|id| references.get(id.as_str()).cloned());
                let mut linked: BTreeSet<String> = linked.collect();
                if part.name == "prestan" {
                    linked.extend(EMBEDDED.iter().map(EmbeddedFile::reference));
                }
                json!({ "ref": part.reference(), "dependsOn": linked })
            })
            .collect();
        let program = self.crates.iter().find(|part| part.name == "prestan");
        let mut program = program
            .context("the program is no part of itself")?
            .component();
        program["type"] = "application".into();
        let ours = self
            .crates
            .iter()
            .filter(|part| part.is_ours && part.name != "prestan");
        program["components"] = ours.map(LinkedCrate::component).collect();
        let document = json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "component": program },
            "components": components,
            "dependencies": dependencies,
        });
        let text = serde_json::to_string_pretty(&document)?;
        write(&into.join(release.sbom()), &(text + "\n"))
    }

    fn others(&self) -> impl Iterator<Item = &LinkedCrate> {
        self.crates.iter().filter(|part| !part.is_ours)
    }
}

impl LinkedCrate {
    fn of(package: &CargoPackage, metadata: &Metadata) -> Result<LinkedCrate> {
        let name = &package.name;
        let licence = package.license.clone();
        let directory = package.manifest_path.parent();
        let nodes = &metadata.resolve.nodes;
        let node = nodes.iter().find(|node| node.id == package.id);
        Ok(LinkedCrate {
            id: package.id.clone(),
            name: name.clone(),
            version: package.version.clone(),
            licence: licence.with_context(|| format!("{name} names no licence"))?,
            directory: directory
                .with_context(|| format!("{name} is nowhere"))?
                .to_owned(),
            is_ours: package.source.is_none(),
            dependencies: node
                .map(|node| node.dependencies.clone())
                .unwrap_or_default(),
        })
    }

    /// Its package URL.
    fn reference(&self) -> String {
        format!(
            "pkg:cargo/{}@{}",
            self.name,
            self.version.replace('+', "%2B")
        )
    }

    fn component(&self) -> Value {
        json!({
            "type": "library",
            "bom-ref": self.reference(),
            "name": self.name,
            "version": self.version,
            // Some manifests write the `OR` of two licences as a slash.
            "licenses": [{ "expression": self.licence.replace('/', " OR ") }],
            "purl": self.reference(),
        })
    }
}

impl Release {
    pub(super) fn sbom(&self) -> String {
        format!("prestan-{}.cdx.json", self.version)
    }
}

/// Texts of the licences beside a manifest.
fn licences_in(directory: &Path) -> Result<Vec<String>> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(directory).with_context(|| format!("read {}", directory.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_lowercase();
        if path.is_file() && LICENCES.iter().any(|beginning| name.starts_with(beginning)) {
            let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            let text = String::from_utf8_lossy(&bytes).replace('\r', "");
            texts.insert(name, text.trim().to_owned());
        }
    }
    Ok(texts.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_embedded_is_named_with_its_version_and_licence() {
        let root = root().unwrap();
        let mut search = Command::new("grep");
        search.args(["-rhoE", "--include=*.rs", "--exclude-dir=tests"]);
        search.arg(r#"include_bytes!\("[^"]*""#).arg("crates");
        let embedded = output_of(search.current_dir(root)).unwrap();
        assert_eq!(embedded.lines().count(), EMBEDDED.len(), "{embedded}");
        for file in EMBEDDED {
            assert!(embedded.contains(file.name), "{embedded}");
            let directory = root.join(file.directory);
            let licence = fs::read_to_string(directory.join(file.licence_text)).unwrap();
            assert!(licence.contains("SIL OPEN FONT LICENSE Version 1.1"));
            let bytes = fs::read(directory.join(file.name)).unwrap();
            for text in [file.copyright, &format!("Version {};", file.version)] {
                let text: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
                assert!(bytes.windows(text.len()).any(|part| part == text));
            }
            let component = file.component().unwrap();
            assert_eq!(component["licenses"][0]["license"]["id"], "OFL-1.1");
            assert_eq!(
                component["hashes"][0]["content"].as_str().unwrap().len(),
                64
            );
        }
    }
}
