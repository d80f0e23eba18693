//! Allowed dependencies between the crates.

use std::fs;
use std::iter;

use toml::{Table, Value};

use crate::root;

/// The crates without clock, socket, file or printing, and their allowed dependencies.
pub(crate) const PURE: &[(&str, &[&str])] = &[
    ("builtin", &[]),
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
    ("bare", &["topology", "trace"]),
    ("traffic", &["yaml"]),
    (
        "topology",
        &["figures", "nearest", "trace", "traffic", "yaml"],
    ),
    (
        "experiment",
        &[
            "builtin", "nearest", "stats", "template", "topology", "traffic", "yaml",
        ],
    ),
];

/// Allowed dependencies of other crates; the binary and its library (`runner`) may use all.
const IMPURE_CRATES: &[(&str, &[&str])] = &[
    (
        "campaign",
        &[
            "bare",
            "builtin",
            "capture",
            "engine",
            "experiment",
            "lab",
            "limits",
            "record",
            "report",
            "rundir",
            "runner",
            "stats",
            "suite",
            "testbed",
            "topology",
            "trace",
            "traffic",
        ],
    ),
    ("capture", &["trace"]),
    ("inside", &["record"]),
    ("lab", &["bare", "flow", "topology"]),
    ("flow", &["traffic"]),
    ("rundir", &["record", "yaml"]),
    ("engine", &["html", "limits", "record", "suite", "wire"]),
    ("limits", &["record"]),
    ("recipe", &["builtin", "template", "yaml"]),
    ("testbed", &["lab", "limits", "recipe"]),
    (
        "terminal",
        &[
            "engine", "figures", "flow", "limits", "record", "report", "rundir", "runner", "stats",
            "suite",
        ],
    ),
];

/// Names of our crates.
pub(crate) fn ours() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let names = crates.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.collect()
}

/// The crates that a manifest names, whatever they are called in it, beside those for tests.
pub(crate) fn dependencies(manifest: &str) -> Vec<String> {
    let manifest: Table = toml::from_str(manifest).unwrap();
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values);
    let places = iter::once(&manifest).chain(targets.filter_map(Value::as_table));
    let tables = places.flat_map(|place| {
        let tables = ["dependencies", "build-dependencies"].map(|name| place.get(name));
        tables.into_iter().flatten().filter_map(Value::as_table)
    });
    let own_name = |(name, named): (&String, &Value)| {
        let package = named.get("package").and_then(Value::as_str);
        package.unwrap_or(name).to_owned()
    };
    tables.flatten().map(own_name).collect()
}

/// Crates of ours in the manifest of this crate that are not allowed.
fn strangers(name: &str, manifest: &str) -> Vec<String> {
    let mut rules = PURE.iter().chain(IMPURE_CRATES);
    let allowed = rules
        .find(|(of, _)| *of == name)
        .map(|(_, allowed)| *allowed);
    let ours = ours();
    let is_strange = |own: &String| {
        let is_known = allowed.is_none_or(|allowed| allowed.contains(&own.as_str()));
        ours.contains(own) && !is_known
    };
    let found = dependencies(manifest).into_iter().filter(is_strange);
    found.collect()
}

#[test]
fn arrows_between_crates_point_one_way() {
    let manifest = "[dependencies]\nserde = \"1\"\nengine = { workspace = true }\nwire.workspace = true\n\
                    [dev-dependencies]\ntestbed = { workspace = true }\n[dependencies.webstone]\nworkspace = true\n\
                    [target.'cfg(unix)'.dependencies]\npictures = { package = \"figures\" }\n[lints]\nworkspace = true";
    let mut named = dependencies(manifest);
    named.sort();
    assert_eq!(named, ["engine", "figures", "serde", "webstone", "wire"]);
    assert_eq!(strangers("webstone", manifest).len(), 4);
    let to_terminal = "[dependencies]\nengine.workspace = true\nterminal.workspace = true";
    assert_eq!(strangers("campaign", to_terminal), ["terminal"]);
    for (name, allowed) in PURE.iter().chain(IMPURE_CRATES) {
        let path = root().join("crates").join(name).join("Cargo.toml");
        let strangers = strangers(name, &fs::read_to_string(path).unwrap());
        assert!(
            strangers.is_empty(),
            "{name} may know {allowed:?} of us, and not {strangers:?}"
        );
    }
}
