//! Whom of us each crate may know.

use std::fs;

use crate::root;

/// The crates without clock, socket, file or printing, and whom of us each may know.
pub(crate) const PURE: &[(&str, &[&str])] = &[
    ("cases", &[]),
    ("nearest", &[]),
    ("yaml", &["nearest"]),
    ("template", &["nearest"]),
    ("record", &[]),
    ("wire", &[]),
    ("html", &["wire"]),
    ("constraint", &["nearest"]),
    (
        "suite",
        &[
            "constraint",
            "nearest",
            "record",
            "template",
            "traffic",
            "wire",
            "yaml",
        ],
    ),
    ("stats", &["constraint", "record"]),
    (
        "report",
        &["experiment", "figures", "record", "stats", "trace", "wire"],
    ),
    ("figures", &[]),
    ("webstone", &["suite"]),
    ("trace", &["wire"]),
    ("bare", &["trace"]),
    ("traffic", &["yaml"]),
    (
        "topology",
        &["bare", "figures", "nearest", "traffic", "yaml"],
    ),
    (
        "experiment",
        &[
            "bare", "nearest", "stats", "template", "topology", "traffic", "yaml",
        ],
    ),
];

/// Which other crates of ours an impure crate may know; the binary, its library
/// (`runner`) and the servers may know all.
const IMPURE_CRATES: &[(&str, &[&str])] = &[
    ("capture", &["trace"]),
    ("inside", &["record"]),
    ("lab", &["bare", "flow", "topology"]),
    ("flow", &["traffic"]),
    ("rundir", &["record", "yaml"]),
    ("engine", &["html", "record", "suite", "wire"]),
    (
        "terminal",
        &[
            "engine", "figures", "flow", "record", "report", "rundir", "runner", "stats", "suite",
        ],
    ),
];

/// Names of our crates.
pub(crate) fn ours() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let names = crates.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.collect()
}

/// Dependencies of ours in a manifest, beside those for tests.
fn our_dependencies(manifest: &str) -> Vec<String> {
    let ours = ours();
    let mut found = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        let name = match line.strip_prefix('[') {
            Some(section) => {
                let section = section.trim_end_matches(']');
                let (table, name) = match section.rsplit_once('.') {
                    Some((table, name)) if table.ends_with("dependencies") => (table, name),
                    _ => (section, ""),
                };
                let is_for_tests = table.ends_with("dev-dependencies");
                inside = table.ends_with("dependencies") && !is_for_tests;
                name
            }
            None => line.split(['=', '.', ' ']).next().unwrap_or_default(),
        };
        if inside && ours.iter().any(|own| own == name) {
            found.push(name.to_owned());
        }
    }
    found
}

#[test]
fn arrows_between_crates_point_one_way() {
    let manifest = "[dependencies]\nserde = \"1\"\nengine = { workspace = true }\nwire.workspace = true\n\
                    [dev-dependencies]\ntestbed = { workspace = true }\n[dependencies.webstone]\nworkspace = true\n\
                    [target.'cfg(unix)'.dependencies]\nfigures.workspace = true\n[lints]\nworkspace = true";
    assert_eq!(
        our_dependencies(manifest),
        ["engine", "wire", "webstone", "figures"]
    );
    for (name, allowed) in PURE.iter().chain(IMPURE_CRATES) {
        let path = root().join("crates").join(name).join("Cargo.toml");
        for dependency in our_dependencies(&fs::read_to_string(path).unwrap()) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} may know {allowed:?} of us, and not {dependency}"
            );
        }
    }
}
