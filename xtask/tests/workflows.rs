//! The files that run things elsewhere, read as YAML: their scripts are shell, and the chores that they
//! name are there. What the scripts of `action.yml` and `ci/` do is tested with the program
//! (`crates/prestan/tests/prestan/pull_requests.rs`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All scripts of a document: what stands under `run` and `script`.
fn scripts(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match (name.as_str(), value) {
                ("run", Value::String(script)) => vec![script.clone()],
                ("script", Value::Array(parts)) => parts
                    .iter()
                    .filter_map(|part| part.as_str().map(str::to_owned))
                    .collect(),
                _ => scripts(value),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(scripts).collect(),
        _ => Vec::new(),
    }
}

fn is_shell(script: &str) -> bool {
    let status = Command::new("bash").args(["-n", "-c", script]).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn workflows_run_what_is_there() {
    assert!(!is_shell("if true; then"));
    let workflows = fs::read_dir(root().join(".github/workflows")).unwrap();
    let mut files: Vec<PathBuf> = workflows.map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 3, "{files:?}");
    files.extend([
        root().join("action.yml"),
        root().join("ci/gitlab-compare.yml"),
    ]);
    let usage = Command::new(env!("CARGO_BIN_EXE_xtask")).output().unwrap();
    let usage = String::from_utf8(usage.stderr).unwrap();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let document: Value = yaml::read(&text).unwrap();
        let scripts = scripts(&document);
        assert!(!scripts.is_empty(), "{}", file.display());
        for script in scripts {
            assert!(is_shell(&script), "{}: {script}", file.display());
            for rest in script.split("cargo xtask ").skip(1) {
                let task = rest.split_whitespace().next().unwrap();
                assert!(usage.contains(&format!("\n  {task} ")), "{task}");
            }
            if script.starts_with(".ci/") {
                assert!(root().join(script.trim()).exists(), "{script}");
            }
        }
    }
}
