//! `docs/STABILITY.md` against the schemas in `docs`: each document with a version stands there,
//! with the number of today.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Names of the schemas of documents with a version, with these.
fn versions_of_schemas() -> BTreeMap<String, u64> {
    let mut versions = BTreeMap::new();
    for entry in fs::read_dir(docs()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.ends_with(".schema.json") {
            continue;
        }
        let schema: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let version = &schema["properties"]["schema_version"];
        if version.is_object() {
            let number = version["const"].as_u64();
            versions.insert(name.clone(), number.unwrap_or_else(|| panic!("{name}")));
        }
    }
    versions
}

/// Names and versions in the rows of a table whose last column links to a schema.
fn versions_in_table(page: &str) -> BTreeMap<String, u64> {
    let rows = page
        .lines()
        .filter(|line| line.ends_with(".schema.json) |"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let name = cells[2].split(['[', ']']).nth(1).unwrap();
        (name.to_owned(), cells[1].parse().unwrap())
    })
    .collect()
}

#[test]
fn the_page_has_the_versions_of_today() {
    let page = fs::read_to_string(docs().join("STABILITY.md")).unwrap();
    let today = versions_of_schemas();
    assert!(today.len() >= 9, "{today:?}");
    assert_eq!(versions_in_table(&page), today);
    let stale = page.replace(" | 3 | [search", " | 2 | [search");
    assert_ne!(versions_in_table(&stale), today);
}
