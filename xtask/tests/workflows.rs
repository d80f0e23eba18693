//! The files that run things elsewhere, read as YAML: their scripts are shell, and the chores that
//! they name are there. What the scripts of `action.yml` and `ci/` do is tested with the program
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

/// The list of tasks printed by `cargo xtask`.
fn tasks() -> String {
    let usage = Command::new(env!("CARGO_BIN_EXE_xtask")).output();
    usage.map_or(String::new(), |usage| {
        String::from_utf8_lossy(&usage.stderr).into_owned()
    })
}

/// True if a script runs only these tasks.
fn names_only(tasks: &str, script: &str) -> bool {
    script.split("cargo xtask ").skip(1).all(|rest| {
        let task = rest.split_whitespace().next().unwrap_or_default();
        tasks.contains(&format!("\n  {task} "))
    })
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
    let tasks = tasks();
    assert!(!names_only(&tasks, "cargo xtask nonsense --all"));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let document: Value = yaml::read(&text).unwrap();
        let scripts = scripts(&document);
        assert!(!scripts.is_empty(), "{}", file.display());
        for script in scripts {
            assert!(is_shell(&script), "{}: {script}", file.display());
            assert!(names_only(&tasks, &script), "{script}");
            if script.starts_with(".ci/") {
                assert!(root().join(script.trim()).exists(), "{script}");
            }
        }
    }
}

/// The step of a release that adds the site, with a `cargo` that does nothing.
#[test]
fn checksums_of_a_release_are_those_of_all_its_files() {
    let text = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let scripts = scripts(&yaml::read(&text).unwrap());
    let packs = scripts.iter().find(|script| script.contains("site.tar.gz"));
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    for directory in ["target/dist", "target/docs/site", "bin"] {
        fs::create_dir_all(path(directory)).unwrap();
    }
    fs::write(path("target/dist/prestan-1.tar.gz"), "archive").unwrap();
    fs::write(path("target/dist/SHA256SUMS"), "").unwrap();
    std::os::unix::fs::symlink("/bin/true", path("bin/cargo")).unwrap();
    let mut bash = Command::new("bash");
    let bash = bash.args(["-eo", "pipefail", "-c", packs.unwrap()]);
    let bash = bash.current_dir(home.path()).env("GITHUB_REF_NAME", "v1");
    let tools = format!("{}:/usr/bin:/bin", path("bin").display());
    assert!(bash.env("PATH", tools).status().unwrap().success());
    let sums = fs::read_to_string(path("target/dist/SHA256SUMS")).unwrap();
    let names: Vec<&str> = sums.lines().map(|line| &line[66..]).collect();
    assert_eq!(names, ["prestan-1-site.tar.gz", "prestan-1.tar.gz"]);
    let mut check = Command::new("sha256sum");
    let check = check.args(["--check", "--strict", "SHA256SUMS"]);
    assert!(
        check
            .current_dir(path("target/dist"))
            .status()
            .unwrap()
            .success()
    );
}

/// Instructions of a `Containerfile`, each with its continued lines, as their words.
fn instructions(text: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

/// No engine for containers is needed for this; nightly builds the image.
#[test]
fn the_image_is_made_of_what_is_there() {
    let text = fs::read_to_string(root().join("Containerfile")).unwrap();
    let instructions = instructions(&text);
    let mut stages = Vec::new();
    for words in &instructions {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["FROM", _, "AS", name] => stages.push(*name),
            ["RUN", script @ ..] => {
                let script = script.join(" ");
                assert!(is_shell(&script), "{script}");
                assert!(names_only(&tasks(), &script), "{script}");
            }
            ["COPY", from, ..] if from.starts_with("--from=") => {
                assert!(stages.contains(&&from["--from=".len()..]), "{from}");
            }
            ["COPY", sources @ .., _] => {
                for source in sources {
                    assert!(root().join(source).exists(), "{source}");
                }
            }
            _ => {}
        }
    }
    // docker reads `.dockerignore` alone, and podman and buildah prefer `.containerignore`: one
    // file for all.
    let ignored = fs::read_to_string(root().join(".dockerignore")).unwrap();
    assert!(!root().join(".containerignore").exists());
    for built in [".git", "**/target"] {
        assert!(ignored.lines().any(|line| line == built), "{ignored}");
    }
    // Releases put the packages of `dist` in the place of a stage.
    let release = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let contexts: Vec<&str> = release.split("--build-context ").skip(1).collect();
    assert_eq!(contexts.len(), 2);
    for context in contexts {
        let (name, rest) = context.split_once('=').unwrap();
        assert!(stages.contains(&name), "{name}");
        assert!(rest.starts_with("target/dist "), "{rest}");
    }
    // The compiler is the oldest that the manifest permits, as in CI.
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let rust = text
        .split("FROM rust:")
        .nth(1)
        .unwrap()
        .split('-')
        .next()
        .unwrap();
    assert!(
        manifest.contains(&format!("\nrust-version = \"{rust}\"\n")),
        "{rust}"
    );
}
